"""Colours of nodes and classes: the same in figures, in Graphviz and in the page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import best_class

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Paul Tol's bright colours, then muted ones, distinguishable with colour blindness
_BRIGHT = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_PALETTE = (*_BRIGHT, "#332288", "#44aa99", "#999933", "#882255", "#117733", "#aa4499")
#: Colour of classes beyond the palette.
OTHER_CLASS = "#bbbbbb"
#: Contributions that raise and lower a prediction: SHAP's red and blue.
RAISES, LOWERS = "#ff0051", "#008bfb"
_LOW, _HIGH = "#f4f8fc", "#5b9bd0"  # fill of the nodes with the lowest and the highest value
#: Fills in the page, which mixes them by itself: dark ones are used on a dark background.
PAGE_COLOURS = {"low": _LOW, "high": _HIGH, "dark_low": "#232a32", "dark_high": "#2f6fa6"}
#: Contributions in the page; texts have darker colours, so that they can be read on white.
CONTRIBUTION_COLOURS = {
    "up": RAISES,
    "down": LOWERS,
    "dark_up": "#ff4d7f",
    "dark_down": "#3aa5ff",
    "up_ink": "#d6004a",
    "down_ink": "#0069c2",
}
_FAINTEST, _STRONGEST = 0.1, 0.55  # fraction of a class's colour in a fill; dark text stays readable on both


def class_colours(n_classes: int) -> list[str]:
    """Return the colours of classes by their number."""
    return [_PALETTE[k] if k < len(_PALETTE) else OTHER_CLASS for k in range(n_classes)]


class NodeColours:
    """Colours of the nodes that a view draws, and of the classes."""

    def __init__(self, tree: dict[str, Any], drawn: Sequence[dict[str, Any]]) -> None:
        #: The colour of each class by its number, of the most frequent ones if there are many; empty in regression.
        self.classes: dict[int, str] = {}
        if tree["classes"] is None:
            self._position = scale([node["value"][0] for node in drawn])
            return
        often = Counter(map(best_class, drawn))
        ranked = sorted(range(len(tree["classes"])), key=lambda k: (-often[k], -drawn[0]["value"][k], k))
        self.classes = dict(zip(sorted(ranked[: len(_PALETTE)]), _PALETTE, strict=False))

    def of_class(self, k: int) -> str:
        """Return the colour of a class."""
        return self.classes.get(k, OTHER_CLASS)

    def strength(self, node: dict[str, Any]) -> float:
        """Return the fraction of colour in the fill of a node: by its value, or by the purity of its classes."""
        value = node["value"]
        if not self.classes:
            return self._position(value[0])
        chance = 1 / len(value)
        purity = (max(value) - chance) / (1 - chance) if chance < 1 else 1.0
        return _FAINTEST + max(purity, 0.0) * (_STRONGEST - _FAINTEST)

    def fill(self, node: dict[str, Any]) -> str:
        """Return the fill of a node, light enough for dark text."""
        colour, strength = (self.of_class(best_class(node)) if self.classes else _HIGH), self.strength(node)
        mixed = (
            (1 - strength) * low + strength * high for low, high in zip(_rgb(_LOW), _rgb(colour), strict=True)
        )
        return "#" + "".join(f"{round(part):02x}" for part in mixed)


def scale(values: Sequence[float]) -> Callable[[float], float]:
    """Return the function that maps these values to their position from 0, the lowest, to 1."""
    low, high = min(values) / 2, max(values) / 2  # halves, because the difference may overflow
    return lambda value: min(max((value / 2 - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
