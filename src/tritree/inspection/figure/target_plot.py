"""Small plot of the target in each node of a figure: a histogram, mean and deviation, or class probabilities."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from tritree.inspection.captions import terms_of
from tritree.inspection.colours import OTHER_CLASS, scale
from tritree.inspection.formatting import number_format

if TYPE_CHECKING:
    from tritree.inspection.colours import NodeColours

_HISTOGRAM, _BAR = 0.25, 0.11  # height in inches
INK, TRACE = "#222222", "#888888"  # colours of text in boxes and of branches
_BARS, _MEAN = "#4d5d6c", "#ee7733"


class TargetPlot:
    """Draws the target in each node."""

    def __init__(self, tree: dict[str, Any], drawn: list[dict[str, Any]], colours: NodeColours) -> None:
        self._edges: list[float] | None = tree.get("edges")
        self.height = _HISTOGRAM if self._edges else _BAR
        self._colours = colours.classes
        if tree["classes"] is None:
            is_known = [bool(self._edges and node.get("distribution")) for node in drawn]
            kinds = ["distribution"] * any(is_known) + ["standard deviation"] * (not all(is_known))
            self._shown = f"{' or '.join(kinds)} of the target, its mean in orange"
            if not any("loss" in node for node in drawn):
                self._shown = f"the {terms_of(tree).value} in orange"
            ends = [end for node in drawn for end in _mean_and_deviation(node)]
            self._ends = self._edges or [end for end in ends if math.isfinite(end)]
            self._position = scale(self._ends)

    def artists(self, node: dict[str, Any], x: float, y: float, width: float) -> list[Any]:
        """Return class probabilities as a bar, the target as a histogram with its mean, or as mean and deviation."""
        if self._colours:
            return self._bar(node["value"], x, y, width)
        low, mean, high = (x + width * self._position(value) for value in _mean_and_deviation(node))
        base, bins = y + self.height, node.get("distribution")
        if self._edges and bins:
            tops = [base - self.height * fraction / (max(bins) or 1) for fraction in bins]
            ends = [x + width * i / len(bins) for i in range(len(bins) + 1)]
            bars = StepPatch(tops, ends, baseline=base, fill=True, facecolor=_BARS, linewidth=0, zorder=3)
            ground = line_to((x, base), (x + width, base), INK, 0.6)
            return [bars, ground, line_to((mean, y), (mean, base), _MEAN, 1.4)]
        middle = base - _BAR / 2
        return [
            line_to((x, middle), (x + width, middle), TRACE, 0.8),
            line_to((low, middle), (high, middle), _BARS, 4),
            line_to((mean, middle - _BAR / 2), (mean, base), _MEAN, 2),
        ]

    def caption(self, digits: int) -> str:
        """Return the caption of the plots of a regression tree."""
        write = number_format(self._ends, digits)
        low, high = write(min(self._ends)), write(max(self._ends))
        return f"in the boxes, from {low} to {high}: {self._shown}"

    def _bar(self, probabilities: list[float], x: float, y: float, width: float) -> list[Any]:
        parts = [(probabilities[k], colour) for k, colour in self._colours.items()]
        parts.append((1 - sum(p for p, _ in parts), OTHER_CLASS))
        ends = accumulate((width * p for p, _ in parts), initial=x)
        return [
            Rectangle((end, y), width * p, self.height, facecolor=colour, linewidth=0, zorder=3)
            for end, (p, colour) in zip(ends, parts, strict=False)
            if p > 1e-9
        ]


def line_to(
    begin: tuple[float, float], end: tuple[float, float], colour: str, width: float, **style: Any
) -> Any:
    """Return a straight line."""
    look = {"solid_capstyle": "butt", "zorder": 3} | style
    return Line2D([begin[0], end[0]], [begin[1], end[1]], color=colour, linewidth=width, **look)


def _mean_and_deviation(node: dict[str, Any]) -> tuple[float, float, float]:
    """Return the mean of the target in a node, and one standard deviation to either side."""
    mean = node["value"][0]
    # both are sums over weighted rows
    variance = node["loss"] / node["weight"] if node.get("weight") and "loss" in node else 0.0
    deviation = math.sqrt(variance) if 0 < variance < math.inf else 0.0
    return mean - deviation, mean, mean + deviation
