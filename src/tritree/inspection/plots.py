"""Views drawn with matplotlib, each on an ``Axes`` that is given or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from tritree.inspection.axes import plt
from tritree.inspection.formatting import as_label, as_name, as_percent, count, number_format
from tritree.inspection.rules import WIDEST_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.inspection.explain import Explanation

__all__ = ["WIDEST_NAME", "draw_importance", "plot_explanation", "plot_moves"]

_UP, _DOWN, _LEVEL = (
    "#4477aa",
    "#cc6677",
    "#888888",
)  # told apart by every kind of sight, on white and on black
WIDEST_NAME = 30
_LINE = 0.3  # inches from one column to the next


def plot_explanation(explanation: Explanation, ax: Any) -> Any:
    """Draw how each column has moved the value, from the root's to the prediction; return the ``Axes``."""
    best = 0 if explanation.classes is None else explanation.classes.index(explanation.prediction)
    label = as_label(explanation.prediction, WIDEST_LABEL)
    what = "mean" if explanation.classes is None else f"share of {label}"
    moved = {column: shares[best] for column, shares in explanation.contributions.items() if shares[best]}
    ranked = sorted(moved, key=lambda column: -abs(moved[column]))
    named = [(as_name(column, WIDEST_NAME), moved[column]) for column in ranked]
    return plot_moves(named, explanation.start[best], explanation.value[best], what, "prediction", ax)


def plot_moves(
    moved: Sequence[tuple[str, float]], start: float, value: float, what: str, end: str, ax: Any
) -> Any:
    """Draw moves, each with its name, on the way from a start to a value; return the ``Axes``."""
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.36 * (len(moved) + 2)), layout="constrained")
    say = number_format([start, value, *(step for _, step in moved)], 3)
    at = start
    ax.axvline(at, color=_LEVEL, linewidth=0.8, linestyle=":")
    for place, (_, step) in enumerate(moved, start=1):
        ax.barh(place, step, left=at, height=0.6, color=_UP if step > 0 else _DOWN)
        ax.annotate(
            f"{'+' if step > 0 else ''}{say(step)}",
            (at + max(step, 0), place),
            xytext=(4, 0),
            textcoords="offset points",
            verticalalignment="center",
        )
        at += step
        ax.plot([at, at], [place - 0.3, place + 1.3], color=_LEVEL, linewidth=0.8)
    for place, at in ((0, start), (len(moved) + 1, value)):
        ax.plot(at, place, marker="D", color=_LEVEL)
        ax.annotate(
            say(at), (at, place), xytext=(8, 0), textcoords="offset points", verticalalignment="center"
        )
    names = ["all rows", *(name for name, _ in moved), end]
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(what, parse_math=False)
    ax.use_sticky_edges = False  # bars end within the frame
    ax.margins(x=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_importance(names: Sequence[str], importances: Sequence[float], ax: Any, max_columns: int) -> Any:
    """Draw the importances of columns as bars, the largest first; return the ``Axes``."""
    ranked = sorted(range(len(names)), key=lambda column: -importances[column])
    drawn = [column for column in ranked[:max_columns] if importances[column] > 0]
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.1 + _LINE * max(len(drawn), 2)), layout="constrained")
    shares = [importances[column] for column in drawn]
    ax.set_axisbelow(True)  # a grid, where the style has one
    bars = ax.barh(range(len(drawn)), shares, height=0.6, color=_UP)
    ax.bar_label(bars, [as_percent(share) for share in shares], padding=4)
    shown = [as_name(names[column], WIDEST_NAME) for column in drawn]
    ax.set_yticks(range(len(drawn)), shown, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(drawn), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.15 * max(shares, default=1.0))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("share of the reduction of the training loss" + _rest(importances, drawn))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _rest(importances: Sequence[float], drawn: Sequence[int]) -> str:
    """Return a line about the columns that are not drawn."""
    n_rest = len(importances) - len(drawn)
    if not n_rest:
        return ""
    if not drawn:
        return "\nno column lowers it"
    rest = sum(importances) - sum(importances[column] for column in drawn)
    much = f"{as_percent(rest)} in all" if rest > 1e-9 else "nothing"
    return f"\n… {count(n_rest, 'more column')}: {much}"
