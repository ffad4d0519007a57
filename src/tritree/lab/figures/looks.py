"""How methods look in every figure, and how figures are laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tritree.inspection.formatting import as_name
from tritree.lab.ranks.names import METHODS, kind_of, method_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ACROSS", "PANEL", "WIDEST", "Look", "called", "given", "looks"]

#: Panels beside one another, in a figure of our own, and how large they are in inches.
ACROSS = 3
PANEL = (3.5, 2.9)
#: Letters of a name.
WIDEST = 24


class Look(NamedTuple):
    """How a method is drawn, everywhere."""

    colour: str
    marker: str
    line: Any
    #: How much of the marker is filled, as matplotlib has it.
    fill: str = "full"


# Told apart by every kind of sight, and seen on white and on black; those of the paper's five are Okabe and Ito's.
_COLOURS = ("#707070", "#0072b2", "#1aa67c", "#d55e00", "#cc79a7", "#45a6dc", "#9a7bff")
_MARKERS = ("s", "^", "v", "o", "D", "P", "X")
# kinds of models have a line each, and markers filled in full, half or not at all
_OF_KIND: dict[str, tuple[Any, str]] = {
    "tree": ("-", "full"),
    "forest": ((0, (1, 1)), "bottom"),
    "boosting": ((0, (7, 1.5)), "none"),
}
# methods of the user's own: other colours, and a line of another kind, since there may be any number of them
_MORE_COLOURS = ("#7e503a", "#a08a00", "#aa3377", "#117733", "#5b5fc7")
_MORE_MARKERS = ("<", ">", "p", "h", "*", "d")
_MORE_LINE = (0, (5, 1.2, 1.2, 1.2))


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """Return how methods are drawn: the lab's own always in the same way, others by their place in the alphabet.

    A strategy has a colour and a marker, a kind of model a line and how its markers are filled.

    Examples
    --------
    >>> looks(["trinary", "LightGBM"])["trinary"] == looks(["trinary"])["trinary"]
    True
    """
    known = {method: _look(*found) for method in methods if (found := kind_of(method)) is not None}
    others = [name for name in method_order(methods) if name not in known]
    more = {
        name: Look(_MORE_COLOURS[i % len(_MORE_COLOURS)], _MORE_MARKERS[i % len(_MORE_MARKERS)], _MORE_LINE)
        for i, name in enumerate(others)
    }
    return {name: (known | more)[name] for name in method_order(methods)}


def _look(kind: str, strategy: str) -> Look:
    place = METHODS.index(strategy)
    line, fill = _OF_KIND[kind]
    return Look(_COLOURS[place], _MARKERS[place], line, fill)


def called(method: str, names: Mapping[str, str]) -> str:
    """Return what a method is called in a figure."""
    return as_name(names.get(method, method), WIDEST)


def given(axes: Any, n: int, what: str) -> Any:
    """Return the axes to draw on, one for each of n; too few are refused."""
    panels = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(panels) < n:
        raise ValueError(f"there are {n} {what} to draw, and {len(panels)} axes; give {n} of them")
    return panels[:n]
