"""Where the boxes of a tree go: daughters below their node, the third branch to its right at the same height."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_NODES", "Item", "Place", "arrange"]

#: Nodes that are drawn unless more are asked for: those of a binary tree of depth 4, which a screen can show.
MAX_NODES = 31

# The room that a block takes: its leftmost and rightmost point per level, its top level first.
_Outline = list[tuple[float, float]]


@dataclass(slots=True)
class Item:
    """What is to be placed: how far it reaches to either side of its centre, and the numbers of its branches."""

    to_left: float
    to_right: float
    below: list[int] = field(default_factory=list)
    aside: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The centre of an item, from the left end of the picture, and its level, the root's being 0."""

    x: float
    level: int


def arrange(items: Sequence[Item], gap: float) -> list[Place]:
    """Return a place for each item; ``items[0]`` is the root, and each other is a branch of one item.

    A block is an item with all that hangs on it, and is moved as a whole::

        item ┄┄┄┄┄┄┄┄┄ aside         level 0
         ╭─┴─╮          ╭─┴─╮
        left right     left right    level 1

    Blocks are as near as the gap allows at every level. An item is centred above its daughters. On every level the
    items have the order of a walk through the tree, so that no two branches cross.
    """
    order = _walk(items)
    moves = [0.0] * len(items)  # from the centre of the item that a block hangs on to its own
    outlines: list[_Outline] = [[] for _ in items]
    for number in reversed(order):
        outlines[number] = _block(items[number], outlines, moves, gap)
    places = [Place(-min(left for left, _ in outlines[0]), 0)] * len(items)
    for number in order:
        item, place = items[number], places[number]
        for child in item.below:
            places[child] = Place(place.x + moves[child], place.level + 1)
        if item.aside is not None:
            places[item.aside] = Place(place.x + moves[item.aside], place.level)
    return places


def _walk(items: Sequence[Item]) -> list[int]:
    """Return the numbers of the items, each before its branches; a ladder may be too long for recursion."""
    order, stack = [], [0]
    while stack:
        number = stack.pop()
        order.append(number)
        item = items[number]
        stack.extend(item.below)
        if item.aside is not None:
            stack.append(item.aside)
    return order


def _block(item: Item, outlines: list[_Outline], moves: list[float], gap: float) -> _Outline:
    """Return the outline of an item's block, having moved its branches next to each other."""
    outline: _Outline = []
    for child in item.below:
        moves[child] = _nearest(outline, outlines[child], gap)
        outline = _join(outline, outlines[child], moves[child])
    middle = (moves[item.below[0]] + moves[item.below[-1]]) / 2 if item.below else 0.0
    for child in item.below:
        moves[child] -= middle
        outlines[child] = []  # it is part of this one now
    outline = [(-item.to_left, item.to_right), *((a - middle, b - middle) for a, b in outline)]
    if item.aside is not None:
        moves[item.aside] = _nearest(outline, outlines[item.aside], gap)
        outline = _join(outline, outlines[item.aside], moves[item.aside])
        outlines[item.aside] = []
    return outline


def _nearest(outline: _Outline, other: _Outline, gap: float) -> float:
    """Return how far the other block must be moved to be to the right of the first, on every level they share."""
    return max((b - c + gap for (_, b), (c, _) in zip(outline, other, strict=False)), default=0.0)


def _join(outline: _Outline, other: _Outline, move: float) -> _Outline:
    """Return the outline of two blocks together, the other being to the right and moved there."""
    shared = [(a, d + move) for (a, _), (_, d) in zip(outline, other, strict=False)]
    rest = outline[len(shared) :] or [(c + move, d + move) for c, d in other[len(shared) :]]
    return shared + rest
