"""The tree as text: one line per node, its branches below it, its numbers in columns to the right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tritree.parameters import check_int
from tritree.views.choice import Choice, choose, grown
from tritree.views.notation import as_label, as_percent, number_format, pad, width_of
from tritree.views.rules import WIDEST_LABEL, Rules

__all__ = ["MAX_NODES", "draw_text"]

#: Nodes that are drawn unless more are asked for.
MAX_NODES = 1_000

_MOST_CLASSES = 6  # classes whose shares are all shown


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
    everything. Values have ``digits`` significant digits; for thresholds see `Thresholds`.
    """
    check_int("max_depth", max_depth, 0, or_none="draws every depth")
    check_int("max_nodes", max_nodes, 1, or_none="draws everything")
    check_int("digits", digits, 1)
    choice = choose(tree["nodes"], max_depth, max_nodes)
    drawing = _Drawing(tree, int(digits), choice)
    lines = drawing.lines()  # first, because the legend explains what is in them
    return "\n".join([_headline(tree), *drawing.legend(), "", *lines, *_left_out(tree, choice)])


def _headline(tree: dict[str, Any]) -> str:
    kind = "mean response" if tree["classes"] is None else f"{len(tree['classes'])} classes"
    parts = [_count(len(tree["nodes"]), "node"), _count(tree["n_leaves"], "leaf", "leaves")]
    if tree["n_grown"]:
        parts.append(f"{tree['n_grown']:,} grown on demand")
    if tree["n_ungrown"]:
        branches = _count(tree["n_ungrown"], "branch", "branches")
        parts.append(f"{branches} not grown" + (" before detach()" if tree["detached"] else " yet"))
    return f"{tree['missing']} tree, {kind}: {', '.join(parts)}"


def _left_out(tree: dict[str, Any], choice: Choice) -> list[str]:
    """Return a line that tells what is not drawn and how to see it, if there is such."""
    n_left_out = len(tree["nodes"]) - len(choice.drawn)
    if not n_left_out:
        return []
    means = {"max_nodes": "max_nodes=None draws everything", "max_depth": "a larger max_depth draws more"}
    verb = "is" if n_left_out == 1 else "are"
    remedy = ", ".join(means[limit] for limit in sorted(choice.limits))
    return [f"… {_count(n_left_out, 'node')} {verb} left out: {remedy}"]


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


class _Drawing:
    """The lines of one tree."""

    def __init__(self, tree: dict[str, Any], digits: int, choice: Choice) -> None:
        self._tree = tree
        self._nodes = tree["nodes"]
        self._classes = tree["classes"]
        self._digits = digits
        self._open = choice.open
        self._rules = Rules(self._nodes, digits)
        drawn = [self._nodes[number] for number in choice.drawn]
        self._has_weights = any(not _is_weight_of_rows(node) for node in drawn)
        self._value_text = number_format([node["value"][0] for node in drawn], digits)
        weights = [node["weight"] for node in drawn]
        whole = all(weight.is_integer() and weight < 1e15 for weight in weights)
        self._weight_text = "{:,.0f}".format if whole else number_format(weights, digits)

    def legend(self) -> list[str]:
        """Return what the signs and numbers mean that are not plain; the lines must have been drawn."""
        above = "weight" if self._has_weights else "rows"
        signs = ["● leaf", f"share: of the {above} above"]
        if any(node["third"] is not None for node in self._nodes):
            signs.append("┄ third branch: all rows of the node, for those whose value is missing")
        if any(node["split"] is not None and node["split"]["surrogates"] for node in self._nodes):
            signs.append("┊ for rows whose value is missing: the first of these that is observed decides")
        lines = ["   ".join(signs)]
        is_fractional = self._tree["missing"] == "fractional"
        if self._has_weights and is_fractional:
            lines.append(
                "a row whose value is missing counts on both sides in rows, and by its parts in weight"
            )
        if self._has_weights and not (is_fractional and _is_weight_of_rows(self._nodes[0])):
            values = "means" if self._classes is None else "class shares"
            lines.append(f"{values} are weighted, rows are counted")
        if self._tree["detached"] and self._tree["n_ungrown"]:
            lines.append("a branch that was not grown before detach() answers with the value of its node")
        if self._rules.thresholds.rounded:
            lines.append("thresholds with many digits are rounded; digits=17 shows them in full")
        return lines

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
        root = (0, "all rows", "", "", None)
        stack: list[tuple[Any, str, str, str, dict[str, Any] | None]] = [root]
        while stack:
            number, rule, branch, indent, parent = stack.pop()
            if number == "ungrown":
                lines.append(_Line(branch + rule, note=self._ungrown_note(parent)))
                continue
            node = self._nodes[number]
            split = node["split"]
            lines.append(_Line(branch + rule, self._cells(node, parent), "●" if split is None else ""))
            if split is None:
                continue
            if number not in self._open:
                lines[-1].note = f"… {_count(self._size(node) - 1, 'node')} below"
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

    def _ungrown_note(self, node: dict[str, Any] | None) -> str:
        if node is None or not self._tree["detached"]:
            return "not grown yet"
        if self._classes is None:
            return f"not grown: answers {self._value_text(node['value'][0])}"
        best = _best(node)
        return f"not grown: answers {as_label(self._classes[best], WIDEST_LABEL)}, {node['value'][best]:.1%}"

    def _size(self, node: dict[str, Any]) -> int:
        """Return the number of grown nodes of the tree under a node, itself included."""
        size, stack = 0, [node]
        while stack:
            here = stack.pop()
            size += 1
            stack.extend(self._nodes[child] for child in grown(here))
        return size

    def _headings(self) -> list[str]:
        counts = ["rows", "weight", "share"] if self._has_weights else ["rows", "share"]
        if self._classes is None:
            return [*counts, "mean"]
        shares = [as_label(label, 12) for label in self._classes] if self._lists_shares() else ["its share"]
        return [*counts, "class", *shares]

    def _lists_shares(self) -> bool:
        return self._classes is not None and len(self._classes) <= _MOST_CLASSES

    def _cells(self, node: dict[str, Any], parent: dict[str, Any] | None) -> list[str]:
        size = "weight" if self._has_weights else "rows"
        share = "" if parent is None or not parent[size] else as_percent(node[size] / parent[size])
        weight = [self._weight_text(node["weight"])] if self._has_weights else []
        counts = [f"{node['rows']:,}", *weight, share]
        value = node["value"]
        if self._classes is None:
            return [*counts, self._value_text(value[0])]
        best = _best(node)
        shares = value if self._lists_shares() else [value[best]]
        label = as_label(self._classes[best], WIDEST_LABEL)
        return [*counts, label, *(f"{share:.1%}" for share in shares)]


def _is_weight_of_rows(node: dict[str, Any]) -> bool:
    """Return whether every row of the node has counted as one."""
    return bool(abs(node["weight"] - node["rows"]) <= 1e-9 * node["rows"])


def _best(node: dict[str, Any]) -> int:
    """Return the number of the most probable class, the first of equals."""
    value = node["value"]
    return max(range(len(value)), key=value.__getitem__)
