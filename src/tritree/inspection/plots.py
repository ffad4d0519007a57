"""Bar charts of contributions and importances, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from tritree.inspection.axes import plt
from tritree.inspection.colours import LOWERS, RAISES
from tritree.inspection.formatting import as_name, as_percent, count, number_format

if TYPE_CHECKING:
    from collections.abc import Sequence

_BAR, _NEUTRAL = "#4477aa", "#888888"  # legible on white and on black
_LINE = 0.3  # inches per column


def draw_contributions(
    contributions: Sequence[tuple[str, float]], start: float, value: float, label: str, ax: Any
) -> Any:
    """Draw named contributions as a waterfall from a base value to a value; return the ``Axes``."""
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.36 * (len(contributions) + 2)), layout="constrained")
    text_of = number_format([start, value, *(step for _, step in contributions)], 3)
    at = start
    ax.axvline(at, color=_NEUTRAL, linewidth=0.8, linestyle=":")
    for place, (_, step) in enumerate(contributions, start=1):
        ax.barh(place, step, left=at, height=0.6, color=RAISES if step > 0 else LOWERS)
        ax.annotate(
            f"{'+' if step > 0 else ''}{text_of(step)}",
            (at + max(step, 0), place),
            xytext=(4, 0),
            textcoords="offset points",
            verticalalignment="center",
        )
        at += step
        ax.plot([at, at], [place - 0.3, place + 1.3], color=_NEUTRAL, linewidth=0.8)
    for place, at in ((0, start), (len(contributions) + 1, value)):
        ax.plot(at, place, marker="D", color=_NEUTRAL)
        ax.annotate(
            text_of(at), (at, place), xytext=(8, 0), textcoords="offset points", verticalalignment="center"
        )
    names = ["base value", *(name for name, _ in contributions), "f(x)"]
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(label, parse_math=False)
    ax.use_sticky_edges = False  # leave space around the bars
    ax.margins(x=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_importance(names: Sequence[str], importances: Sequence[float], ax: Any, max_columns: int) -> Any:
    """Draw the importances of columns as bars, the largest first; return the ``Axes``."""
    ranked = sorted(range(len(names)), key=lambda column: -importances[column])
    drawn = [column for column in ranked[:max_columns] if importances[column] > 0]
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.1 + _LINE * max(len(drawn), 2)), layout="constrained")
    fractions = [importances[column] for column in drawn]
    ax.set_axisbelow(True)  # below: a grid, if the style has one
    bars = ax.barh(range(len(drawn)), fractions, height=0.6, color=_BAR)
    ax.bar_label(bars, [as_percent(fraction) for fraction in fractions], padding=4)
    shown = [as_name(names[column]) for column in drawn]
    ax.set_yticks(range(len(drawn)), shown, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(drawn), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.15 * max(fractions, default=1.0))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("fraction of the reduction of the training loss" + _rest(importances, drawn))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _rest(importances: Sequence[float], drawn: Sequence[int]) -> str:
    """Return a note on the columns that are not drawn."""
    n_rest = len(importances) - len(drawn)
    if not n_rest:
        return ""
    if not drawn:
        return "\nno column reduces it"
    rest = sum(importances) - sum(importances[column] for column in drawn)
    total = f"{as_percent(rest)} in total" if rest > 1e-9 else "nothing"
    return f"\n… {count(n_rest, 'more column')}: {total}"
