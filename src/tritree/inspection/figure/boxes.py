"""Boxes of a figure: the text in and around each node, fitted to a common width, and their places.

Children are below their node, the third branch is to its right at the same height.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, name_of
from tritree.inspection.figure.fitted_text import LARGE, truncate, widest, width_of, wrap
from tritree.inspection.formatting import as_percent, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.inspection.node_selection import Selection

# in inches
PAD = 0.06  # between a box and its text
_NARROWEST, _WIDEST = 0.8, 1.5  # width of the text in a box
_NOTE = 0.9  # and beside it

# The extent of a block: its leftmost and rightmost point per level, its top level first.
_Outline = list[tuple[float, float]]


@dataclass(slots=True)
class Box:
    """A node with the text in and around its box, or an ungrown branch: a note without a box."""

    to_left: float  # extent to either side of the centre
    to_right: float
    below: list[int] = field(default_factory=list)  # the numbers of its branches
    aside: int | None = None
    x: float = 0.0  # of the centre, from the left edge
    level: int = 0
    number: int | None = None
    condition: list[str] = field(default_factory=list)  # of its branch, above the box
    value: str = ""
    counts: list[str] = field(default_factory=list)
    column: str = ""  # of the split
    surrogates: str = ""
    beside: list[str] = field(default_factory=list)  # first line above the third branch, the others below it
    note: list[str] = field(default_factory=list)  # below the box


class BoxMaker:
    """Makes the boxes of the nodes that are drawn, all of the same width."""

    def __init__(self, tree: dict[str, Any], selection: Selection, digits: int) -> None:
        self._nodes, self._classes, self._open = tree["nodes"], tree["classes"], selection.open
        self.text = TreeText(tree, selection.drawn, digits)
        drawn = [self._nodes[number] for number in selection.drawn]
        headings = {name_of(node["split"]) for node in drawn if node["split"] is not None}
        headings.update(map(self._value, drawn))
        heading = max(width_of(text, LARGE, "bold") for text in headings)
        counts = widest([text for node in drawn for text in self._counts(node)])
        self.text_width = max(_NARROWEST, min(heading, _WIDEST), counts)

    def boxes(self) -> list[Box]:
        """Return the boxes of nodes and ungrown branches, each before its branches."""
        boxes: list[Box] = []
        stack: list[tuple[Any, str, list[str], int]] = [(0, "", [], 0)]
        while stack:
            number, branch, condition, parent = stack.pop()
            here = len(boxes)
            if branch == "third":
                boxes[parent].aside = here
            elif branch:
                boxes[parent].below.append(here)
            if number == "ungrown":
                boxes.append(self._stub(condition, self._nodes[boxes[parent].number]))
                continue
            node = self._nodes[number]
            boxes.append(self._box(number, node, condition))
            if node["split"] is not None and number in self._open:
                left, right = self._conditions(node)
                branches = [("left", left), ("right", right), ("third", [])]
                stack.extend(
                    (node[name], name, lines, here)
                    for name, lines in reversed(branches)
                    if name != "third" or isinstance(node["third"], int)
                )
        return boxes

    def _conditions(self, node: dict[str, Any]) -> list[list[str]]:
        """Return the conditions of the left and right branch, in lines."""
        split = node["split"]
        sides = [self._lines(side) for side in self.text.sides(split)]
        if split["missing_to"] == "both" and "evidence" not in split:
            for side, fraction in zip(
                sides, (split["left_fraction"], 1 - split["left_fraction"]), strict=True
            ):
                side.append(f"and {as_percent(fraction)} of missing")
        return sides

    def _lines(self, condition: str) -> list[str]:
        """Return a condition in lines as wide as a box, or wider if there would be more than two."""
        for unbroken in ("in {", "… ", " more}", "or missing"):
            condition = condition.replace(unbroken, unbroken.replace(" ", "\u00a0"))
        lines = wrap(condition, self.text_width)
        lines = lines if len(lines) <= 2 else wrap(condition, _WIDEST)
        return [line.replace("\u00a0", " ") for line in lines]

    def _stub(self, condition: list[str], parent: dict[str, Any]) -> Box:
        note = wrap(self.text.ungrown(parent), _NOTE)
        half = widest([*condition, *note]) / 2
        return Box(half, half, condition=condition, note=note)

    def _box(self, number: int, node: dict[str, Any], condition: list[str]) -> Box:
        half = max(self.text_width / 2 + PAD, widest(condition) / 2)
        box = Box(half, half, number=number, condition=condition)
        box.value, box.counts = truncate(self._value(node), self.text_width), self._counts(node)
        split = node["split"]
        if split is None:
            return box
        box.column, box.surrogates = truncate(name_of(split), self.text_width), self._surrogates(split)
        if number not in self._open:
            box.note = [self.text.hidden_nodes(number)]
        elif node["third"] is not None:
            ungrown = self.text.ungrown(node) if node["third"] == "ungrown" else ""
            box.beside = ["missing", *wrap(ungrown, _NOTE)]
            box.to_right = max(half, self.text_width / 2 + 2 * PAD + widest(box.beside))
        return box

    def _value(self, node: dict[str, Any]) -> str:
        return self.text.best(node) if self._classes else f"{self.text.terms.value} {self.text.mean(node)}"

    def _counts(self, node: dict[str, Any]) -> list[str]:
        counts = [count(node["rows"], "row")]
        if self.text.has_weights:
            counts.append(f"weight {self.text.weight(node)}")
        if self._classes:
            counts[-1] = f"{as_percent(max(node['value']))} of {counts[-1]}"
        return counts

    def _surrogates(self, split: dict[str, Any]) -> str:
        names = [name_of(surrogate) for surrogate in split["surrogates"]]
        for n in range(len(names), 0, -1):
            text = f"or {', '.join(names[:n])}" + (f", … {len(names) - n} more" if n < len(names) else "")
            if width_of(text) <= self.text_width:
                return text
        return f"or {count(len(names), 'surrogate')}" if names else ""


def arrange(boxes: Sequence[Box], gap: float) -> None:
    """Set the places of boxes; ``boxes[0]`` is the root, and each other box is a branch of one before it.

    A block is a box with everything below and beside it, and is moved as a whole::

        box ┄┄┄┄┄┄┄┄┄┄ aside         level 0
         ╭─┴─╮          ╭─┴─╮
        left right     left right    level 1

    Blocks are as close as the gap allows at every level. A box is centred above its children. On every level the
    boxes are in depth-first order, so that no two branches cross.
    """
    shifts = [0.0] * len(boxes)  # from the centre of the parent to that of the box
    outlines: list[_Outline] = [[] for _ in boxes]
    for number in reversed(range(len(boxes))):
        outlines[number] = _block(boxes[number], outlines, shifts, gap)
    boxes[0].x = -min(left for left, _ in outlines[0])
    for box in boxes:
        for child in box.below:
            boxes[child].x, boxes[child].level = box.x + shifts[child], box.level + 1
        if box.aside is not None:
            boxes[box.aside].x, boxes[box.aside].level = box.x + shifts[box.aside], box.level


def _block(box: Box, outlines: list[_Outline], shifts: list[float], gap: float) -> _Outline:
    """Place the branches of a box next to each other, and return the outline of its block."""
    outline: _Outline = []
    for child in box.below:
        shifts[child] = _nearest(outline, outlines[child], gap)
        outline = _join(outline, outlines[child], shifts[child])
    middle = (shifts[box.below[0]] + shifts[box.below[-1]]) / 2 if box.below else 0.0
    for child in box.below:
        shifts[child] -= middle
        outlines[child] = []  # part of this outline now
    outline = [(-box.to_left, box.to_right), *((a - middle, b - middle) for a, b in outline)]
    if box.aside is not None:
        shifts[box.aside] = _nearest(outline, outlines[box.aside], gap)
        outline = _join(outline, outlines[box.aside], shifts[box.aside])
        outlines[box.aside] = []
    return outline


def _nearest(outline: _Outline, other: _Outline, gap: float) -> float:
    """Return the shift that puts the other block to the right of the first, on every level they share."""
    return max((b - c + gap for (_, b), (c, _) in zip(outline, other, strict=False)), default=0.0)


def _join(outline: _Outline, other: _Outline, shift: float) -> _Outline:
    """Return the outline of two blocks, the other one shifted to the right."""
    shared = [(a, d + shift) for (a, _), (_, d) in zip(outline, other, strict=False)]
    rest = outline[len(shared) :] or [(c + shift, d + shift) for c, d in other[len(shared) :]]
    return shared + rest
