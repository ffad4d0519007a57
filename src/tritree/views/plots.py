"""Views drawn with matplotlib, each on an ``Axes`` that is given or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.views.notation import as_name, number_format

try:
    from matplotlib import pyplot as plt
except ImportError as error:
    raise ImportError(
        f"plots need matplotlib, which cannot be imported ({error}); pip install tritree[plot]"
    ) from error

if TYPE_CHECKING:
    from tritree.views.explain import Explanation

__all__ = ["plot_explanation"]

_UP, _DOWN, _LEVEL = (
    "#4477aa",
    "#cc6677",
    "#888888",
)  # told apart by every kind of sight, on white and on black
_WIDEST_NAME = 30


def plot_explanation(explanation: Explanation, ax: Any) -> Any:
    """Draw how each column has moved the value, from the root's to the prediction; return the ``Axes``."""
    best = 0 if explanation.classes is None else explanation.classes.index(explanation.prediction)
    what = "mean" if explanation.classes is None else f"share of {explanation.prediction}"
    moved = {column: shares[best] for column, shares in explanation.contributions.items() if shares[best]}
    ranked = sorted(moved, key=lambda column: -abs(moved[column]))
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.36 * (len(ranked) + 2)), layout="constrained")
    say = number_format([explanation.start[best], explanation.value[best], *moved.values()], 3)
    at = explanation.start[best]
    ax.axvline(at, color=_LEVEL, linewidth=0.8, linestyle=":")
    for place, column in enumerate(ranked, start=1):
        step = moved[column]
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
    ends = {0: explanation.start[best], len(ranked) + 1: explanation.value[best]}
    for place, value in ends.items():
        ax.plot(value, place, marker="D", color=_LEVEL)
        ax.annotate(
            say(value), (value, place), xytext=(8, 0), textcoords="offset points", verticalalignment="center"
        )
    names = ["all rows", *(as_name(column, _WIDEST_NAME) for column in ranked), "prediction"]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(what)
    ax.use_sticky_edges = False  # bars end within the frame
    ax.margins(x=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
