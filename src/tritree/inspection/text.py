"""The tree as text: one line per node, its branches below it, its numbers in columns to the right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tritree.inspection.formatting import as_percent, pad, width_of
from tritree.inspection.node_selection import Choice, choose
from tritree.inspection.rules import Rules
from tritree.inspection.values import Values, headline, hidden, left_out, remarks
from tritree.inspection.words import is_boosted, words_of
from tritree.validation import check_int

__all__ = ["MAX_NODES", "draw_text", "headline"]

#: Nodes that are drawn unless more are asked for.
MAX_NODES = 1_000


@dataclass(slots=True)
class _Line:
    """A line: the drawing and the rule on the left, cells of numbers on the right."""

    text: str
    cells: list[str] = field(default_factory=list)
    note: str = ""


def draw_text(
    tree: dict[str, Any],
    *,
    max_depth: int | None = None,
    max_nodes: int | None = MAX_NODES,
    digits: int = 4,
) -> str:
    """Return a description of `describe` drawn as text.

    Nodes down to ``max_depth`` are drawn, and no more than ``max_nodes``, those nearest to the root; None draws
    everything. Values have ``digits`` significant digits; for thresholds see `ThresholdFormat`.
    """
    check_int("max_depth", max_depth, 0, or_none="draws every depth")
    check_int("max_nodes", max_nodes, 1, or_none="draws everything")
    check_int("digits", digits, 1)
    choice = choose(tree["nodes"], max_depth, max_nodes)
    drawing = _Drawing(tree, int(digits), choice)
    lines = drawing.lines()  # first, because the legend explains what is in them
    return "\n".join([headline(tree), *drawing.legend(), "", *lines, *left_out(tree, choice)])


class _Drawing:
    """The lines of one tree."""

    def __init__(self, tree: dict[str, Any], digits: int, choice: Choice) -> None:
        self._tree = tree
        self._nodes = tree["nodes"]
        self._classes = tree["classes"]
        self._open = choice.open
        self._has_shares = len(choice.drawn) > 1  # of the rows above: the root has none above it
        self._rules = Rules(self._nodes, digits)
        self._values = Values(tree, choice.drawn, digits)
        self._words = words_of(tree)

    def legend(self) -> list[str]:
        """Return what the signs and numbers mean that are not plain; the lines must have been drawn."""
        above = "weight" if self._values.has_weights else "rows"
        signs = ["● leaf"]
        if self._has_shares:
            signs.append(f"share: of the {above} above")
        if any(node["third"] is not None for node in self._nodes):
            signs.append(f"┄ third branch: {self._words.third}")
        if any(node["split"] is not None and node["split"]["surrogates"] for node in self._nodes):
            signs.append("┊ for rows whose value is missing: the first of these that is observed decides")
        return ["   ".join(signs), *remarks(self._tree, self._values, self._rules)]

    def lines(self) -> list[str]:
        """Return the drawing, its numbers aligned under their headings."""
        headings = self._headings()
        drawn = [_Line("", headings), *self._draw()]
        text_width = max(width_of(line.text) for line in drawn if line.cells or line.note)
        widths = [max(width_of(line.cells[i]) for line in drawn if line.cells) for i in range(len(headings))]
        class_at = None if self._classes is None else headings.index("class")
        result = []
        for line in drawn:
            cells = [
                pad(cell, width, right=i != class_at)
                for i, (cell, width) in enumerate(zip(line.cells, widths, strict=False))
            ]
            parts = [pad(line.text, text_width), *cells, line.note] if cells or line.note else [line.text]
            result.append("  ".join(parts).rstrip())
        return result

    def _draw(self) -> list[_Line]:
        """Return a line per node, depth first; a stack, because a ladder may be as long as the table is wide."""
        lines: list[_Line] = []
        # the root stands for the node above it, which nobody asks for
        stack: list[tuple[Any, str, str, str, dict[str, Any]]] = [(0, "all rows", "", "", self._nodes[0])]
        while stack:
            number, rule, branch, indent, parent = stack.pop()
            if number == "ungrown":
                lines.append(_Line(branch + rule, note=self._values.ungrown(parent)))
                continue
            node = self._nodes[number]
            split = node["split"]
            lines.append(_Line(branch + rule, self._cells(node, parent), "●" if split is None else ""))
            if split is None:
                continue
            if number not in self._open:
                lines[-1].note = hidden(self._nodes, number)
                continue
            if split["surrogates"]:
                lines.append(_Line(indent + "┊  " + self._rules.surrogates(split)))
            below = [(name, text) for name, text in self._rules.branches(node) if node[name] is not None]
            for i, (name, text) in reversed(list(enumerate(below))):
                last = i == len(below) - 1
                corner = ("╰" if last else "├") + ("┄ " if name == "third" else "─ ")
                further = indent + ("   " if last else "│  ")
                stack.append((node[name], text, indent + corner, further, node))
        return lines

    def _headings(self) -> list[str]:
        counts = ["rows"]
        if self._values.has_weights:
            counts.append("weight")
        if self._has_shares:
            counts.append("share")
        if self._classes is None:
            return [*counts, self._words.value]
        return [*counts, "class", *(self._values.classes or ["its share"])]

    def _cells(self, node: dict[str, Any], above: dict[str, Any]) -> list[str]:
        values = self._values
        cells = [values.rows(node)]
        if values.has_weights:
            cells.append(values.weight(node))
        if self._has_shares:
            size = "weight" if values.has_weights else "rows"
            # a third branch of boosting is fitted to some of the rows, which are no part of those that go there
            is_sample = is_boosted(self._tree) and node["depth"] == above["depth"]
            is_known = node is not above and above[size] and not is_sample
            cells.append(as_percent(node[size] / above[size]) if is_known else "")
        if self._classes is None:
            return [*cells, values.mean(node)]
        return [*cells, values.best(node), *values.shares(node)]
