"""Layout of the boxes of a tree: children below their node, the third branch to its right at the same height."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# The extent of a block: its leftmost and rightmost point per level, its top level first.
_Outline = list[tuple[float, float]]


@dataclass(slots=True)
class Item:
    """A box to place: its extent to either side of its centre, and the numbers of its branches."""

    to_left: float
    to_right: float
    below: list[int] = field(default_factory=list)
    aside: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The centre of an item, measured from the left edge, and its level; the root is at level 0."""

    x: float
    level: int


def arrange(items: Sequence[Item], gap: float) -> list[Place]:
    """Return a place for each item; ``items[0]`` is the root, and each other item is a branch of one before it.

    A block is an item with everything below and beside it, and is moved as a whole::

        item ┄┄┄┄┄┄┄┄┄ aside         level 0
         ╭─┴─╮          ╭─┴─╮
        left right     left right    level 1

    Blocks are as close as the gap allows at every level. An item is centred above its children. On every level the
    items are in depth-first order, so that no two branches cross.
    """
    shifts = [0.0] * len(items)  # from the centre of the parent to that of the item
    outlines: list[_Outline] = [[] for _ in items]
    for number in reversed(range(len(items))):
        outlines[number] = _block(items[number], outlines, shifts, gap)
    places = [Place(-min(left for left, _ in outlines[0]), 0)] * len(items)
    for number, item in enumerate(items):
        x, level = places[number].x, places[number].level
        for child in item.below:
            places[child] = Place(x + shifts[child], level + 1)
        if item.aside is not None:
            places[item.aside] = Place(x + shifts[item.aside], level)
    return places


def _block(item: Item, outlines: list[_Outline], shifts: list[float], gap: float) -> _Outline:
    """Place the branches of an item next to each other, and return the outline of its block."""
    outline: _Outline = []
    for child in item.below:
        shifts[child] = _nearest(outline, outlines[child], gap)
        outline = _join(outline, outlines[child], shifts[child])
    middle = (shifts[item.below[0]] + shifts[item.below[-1]]) / 2 if item.below else 0.0
    for child in item.below:
        shifts[child] -= middle
        outlines[child] = []  # part of this outline now
    outline = [(-item.to_left, item.to_right), *((a - middle, b - middle) for a, b in outline)]
    if item.aside is not None:
        shifts[item.aside] = _nearest(outline, outlines[item.aside], gap)
        outline = _join(outline, outlines[item.aside], shifts[item.aside])
        outlines[item.aside] = []
    return outline


def _nearest(outline: _Outline, other: _Outline, gap: float) -> float:
    """Return the shift that puts the other block to the right of the first, on every level they share."""
    return max((b - c + gap for (_, b), (c, _) in zip(outline, other, strict=False)), default=0.0)


def _join(outline: _Outline, other: _Outline, shift: float) -> _Outline:
    """Return the outline of two blocks, the other one shifted to the right."""
    shared = [(a, d + shift) for (a, _), (_, d) in zip(outline, other, strict=False)]
    rest = outline[len(shared) :] or [(c + shift, d + shift) for c, d in other[len(shared) :]]
    return shared + rest
