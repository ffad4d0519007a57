"""The boxes of a figure: the words in and around each, cut to the room that all of them have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tritree.inspection.figure.lettering import LARGE, cut, widest, width_of, wrap
from tritree.inspection.formatting import as_percent, count
from tritree.inspection.layout import Item
from tritree.inspection.rules import Rules, name_of
from tritree.inspection.values import Values, hidden
from tritree.inspection.words import words_of

if TYPE_CHECKING:
    from tritree.inspection.node_selection import Choice

__all__ = ["PAD", "Box", "Wording"]

PAD = 0.06  # inches between a box and its words
_NARROWEST, _WIDEST = 0.8, 1.5  # room for words in a box
_NOTE = 0.9  # and beside it


@dataclass(slots=True)
class Box(Item):
    """A node with the words in and around its box, or a branch that is not grown: a note without a box."""

    number: int | None = None
    condition: list[str] = field(default_factory=list)  # what leads to it, above
    value: str = ""
    counts: list[str] = field(default_factory=list)
    question: str = ""  # the column that is asked
    stand_ins: str = ""  # and those that answer in its place
    beside: list[str] = field(default_factory=list)  # above the third branch the first line, the others below
    note: list[str] = field(default_factory=list)  # below


class Wording:
    """The words of the nodes that are drawn, cut to the room in a box."""

    def __init__(self, tree: dict[str, Any], choice: Choice, digits: int) -> None:
        self._nodes, self._classes, self._open = tree["nodes"], tree["classes"], choice.open
        self.rules = Rules(self._nodes, digits)
        self.values = Values(tree, choice.drawn, digits)
        self.words = words_of(tree)
        drawn = [self._nodes[number] for number in choice.drawn]
        headings = {name_of(node["split"]) for node in drawn if node["split"] is not None}
        headings.update(map(self._value, drawn))
        heading = max(width_of(text, LARGE, "bold") for text in headings)
        counts = widest([text for node in drawn for text in self._counts(node)])
        self.room = max(_NARROWEST, min(heading, _WIDEST), counts)

    def boxes(self) -> list[Box]:
        """Return the boxes of the nodes and of the branches that are not grown, each before its branches."""
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
        """Return what leads left and what leads right, in lines."""
        split = node["split"]
        sides = [self._lines(side) for side in self.rules.sides(split)]
        if split["missing_to"] == "both":
            for side, share in zip(sides, (split["share"], 1 - split["share"]), strict=True):
                side.append(f"and {as_percent(share)} of missing")
        return sides

    def _lines(self, condition: str) -> list[str]:
        """Return a condition in lines as wide as a box, or wider if they would be many."""
        for words in ("in {", "… ", " more}", "or missing"):  # which belong together
            condition = condition.replace(words, words.replace(" ", "\u00a0"))
        lines = wrap(condition, self.room)
        lines = lines if len(lines) <= 2 else wrap(condition, _WIDEST)
        return [line.replace("\u00a0", " ") for line in lines]

    def _stub(self, condition: list[str], parent: dict[str, Any]) -> Box:
        note = wrap(self.values.ungrown(parent), _NOTE)
        half = widest([*condition, *note]) / 2
        return Box(half, half, condition=condition, note=note)

    def _box(self, number: int, node: dict[str, Any], condition: list[str]) -> Box:
        half = max(self.room / 2 + PAD, widest(condition) / 2)
        box = Box(half, half, number=number, condition=condition)
        box.value, box.counts = cut(self._value(node), self.room), self._counts(node)
        split = node["split"]
        if split is None:
            return box
        box.question, box.stand_ins = cut(name_of(split), self.room), self._stand_ins(split)
        if number not in self._open:
            box.note = [hidden(self._nodes, number)]
        elif node["third"] is not None:
            ungrown = self.values.ungrown(node) if node["third"] == "ungrown" else ""
            box.beside = ["missing", *wrap(ungrown, _NOTE)]
            box.to_right = max(half, self.room / 2 + 2 * PAD + widest(box.beside))
        return box

    def _value(self, node: dict[str, Any]) -> str:
        return self.values.best(node) if self._classes else f"{self.words.value} {self.values.mean(node)}"

    def _counts(self, node: dict[str, Any]) -> list[str]:
        counts = [count(node["rows"], "row")]
        if self.values.has_weights:
            counts.append(f"weight {self.values.weight(node)}")
        if self._classes:
            counts[-1] = f"{as_percent(max(node['value']))} of {counts[-1]}"
        return counts

    def _stand_ins(self, split: dict[str, Any]) -> str:
        names = [name_of(surrogate) for surrogate in split["surrogates"]]
        for n in range(len(names), 0, -1):
            text = f"or {', '.join(names[:n])}" + (f", … {len(names) - n} more" if n < len(names) else "")
            if width_of(text) <= self.room:
                return text
        return f"or {count(len(names), 'stand-in')}" if names else ""
