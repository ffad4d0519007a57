"""The colours of a figure, and the small picture of its responses in each node."""

from __future__ import annotations

import math
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from tritree.inspection.formatting import number_format
from tritree.inspection.values import best_of
from tritree.inspection.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["INK", "REST", "TRACE", "Paint", "line_to"]

_HISTOGRAM, _BAR = 0.25, 0.11  # inches, the height of what shows the responses
INK, TRACE, REST = (
    "#222222",
    "#888888",
    "#bbbbbb",
)  # of letters on boxes, of branches, of classes without a colour
_BARS, _MEAN = "#4d5d6c", "#ee7733"
# Paul Tol's bright and muted colours, told apart by every kind of sight
_FEW = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_MANY = ("#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee", "#882255", "#44aa99", "#999933", "#aa4499")


class Paint:
    """The colours of nodes, and in each of them a small picture of its responses."""

    def __init__(self, tree: dict[str, Any], drawn: list[dict[str, Any]]) -> None:
        self._edges: list[float] | None = tree.get("edges")
        self.height = _HISTOGRAM if self._edges else _BAR
        self.classes: dict[int, str] = {}
        if tree["classes"] is None:
            has_spread = [bool(self._edges and node.get("spread")) for node in drawn]
            kinds = ["distribution"] * any(has_spread) + ["standard deviation"] * (not all(has_spread))
            self._shown = f"{' or '.join(kinds)} of the response, its mean in orange"
            if not any("loss" in node for node in drawn):
                self._shown = f"the {words_of(tree).value} in orange"
            self._ends = self._edges or [end for node in drawn for end in _reach(node) if math.isfinite(end)]
            self._at = _scale(self._ends)
            self._shade = _scale([node["value"][0] for node in drawn])
        else:
            n_classes, often = len(tree["classes"]), Counter(map(best_of, drawn))
            shown = sorted(range(n_classes), key=lambda k: (-often[k], -drawn[0]["value"][k], k))
            palette = _FEW if n_classes <= len(_FEW) else _MANY
            self.classes = dict(zip(sorted(shown[: len(palette)]), palette, strict=False))

    def fill(self, node: dict[str, Any]) -> tuple[float, ...]:
        """Return the colour of a node's box, light enough for dark letters."""
        if not self.classes:
            return tuple(mpl.colormaps["YlGnBu"](0.06 + 0.44 * self._shade(node["value"][0])))
        best, least = best_of(node), 1 / len(node["value"])
        purity = (node["value"][best] - least) / (1 - least) if least < 1 else 1.0
        strength = 0.1 + 0.45 * max(purity, 0.0)
        return tuple(1 - strength * (1 - part) for part in to_rgb(self.classes.get(best, REST)))

    def responses(self, node: dict[str, Any], x: float, y: float, width: float) -> list[Any]:
        """Return class shares as a bar, responses as a histogram with their mean, or as mean and spread."""
        if self.classes:
            return self._bar(node["value"], x, y, width)
        low, mean, high = (x + width * self._at(value) for value in _reach(node))
        base, shares = y + self.height, node.get("spread")
        if self._edges and shares:
            tops = [base - self.height * share / (max(shares) or 1) for share in shares]
            ends = [x + width * i / len(shares) for i in range(len(shares) + 1)]
            bars = StepPatch(tops, ends, baseline=base, fill=True, facecolor=_BARS, linewidth=0, zorder=3)
            ground = line_to((x, base), (x + width, base), INK, 0.6)
            return [bars, ground, line_to((mean, y), (mean, base), _MEAN, 1.4)]
        middle = base - _BAR / 2
        return [
            line_to((x, middle), (x + width, middle), TRACE, 0.8),
            line_to((low, middle), (high, middle), _BARS, 4),
            line_to((mean, middle - _BAR / 2), (mean, base), _MEAN, 2),
        ]

    def explained(self, digits: int) -> str:
        """Return what the small pictures of a regression tree show."""
        write = number_format(self._ends, digits)
        low, high = write(min(self._ends)), write(max(self._ends))
        return f"in the boxes, from {low} to {high}: {self._shown}"

    def _bar(self, shares: list[float], x: float, y: float, width: float) -> list[Any]:
        parts = [(shares[k], colour) for k, colour in self.classes.items()]
        parts.append((1 - sum(share for share, _ in parts), REST))
        ends = accumulate((width * share for share, _ in parts), initial=x)
        return [
            Rectangle((end, y), width * share, self.height, facecolor=colour, linewidth=0, zorder=3)
            for end, (share, colour) in zip(ends, parts, strict=False)
            if share > 1e-9
        ]


def line_to(
    begin: tuple[float, float], end: tuple[float, float], colour: str, width: float, **style: Any
) -> Any:
    """Return a straight line."""
    look = {"solid_capstyle": "butt", "zorder": 3} | style
    return Line2D([begin[0], end[0]], [begin[1], end[1]], color=colour, linewidth=width, **look)


def _scale(values: Sequence[float]) -> Callable[[float], float]:
    """Return the function that tells where a value is among these, from 0, the least, to 1."""
    low, high = min(values) / 2, max(values) / 2  # halves, because the difference may be too large
    return lambda value: min(max((value / 2 - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def _reach(node: dict[str, Any]) -> tuple[float, float, float]:
    """Return the mean of a node's responses between one standard deviation less and one more."""
    mean = node["value"][0]
    # both are sums over weighted rows
    variance = node["loss"] / node["weight"] if node.get("weight") and "loss" in node else 0.0
    deviation = math.sqrt(variance) if 0 < variance < math.inf else 0.0
    return mean - deviation, mean, mean + deviation
