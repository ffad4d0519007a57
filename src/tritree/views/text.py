"""The tree as text: one line per node, its branches below it, its numbers in columns to the right."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

__all__ = ["draw_text"]

_WIDEST_SET = 40  # characters that a list of categories may take
_MOST_CLASSES = 6  # classes whose shares are all shown


@dataclass(slots=True)
class _Line:
    """A line: the drawing and the rule on the left, cells of numbers on the right."""

    text: str
    cells: list[str] = field(default_factory=list)
    note: str = ""


def draw_text(
    tree: dict[str, Any], *, max_depth: int | None = None, max_nodes: int | None = None, digits: int = 4
) -> str:
    """Return a description of `describe` drawn as text."""
    drawing = _Drawing(tree, digits, _shown(tree, max_depth, max_nodes))
    return "\n".join([_headline(tree), _legend(tree), "", *drawing.lines()])


def _shown(tree: dict[str, Any], max_depth: int | None, max_nodes: int | None) -> set[int]:
    """Return the nodes to draw: those nearest to the root, with a third branch one step from its node."""
    shown: set[int] = set()
    queue = deque([0])
    while queue and (max_nodes is None or len(shown) < max_nodes):
        number = queue.popleft()
        node = tree["nodes"][number]
        if max_depth is not None and node["depth"] > max_depth:
            continue
        shown.add(number)
        queue.extend(child for child in _children(node) if child != "ungrown")
    return shown


def _children(node: dict[str, Any]) -> list[Any]:
    return [node[branch] for branch in ("left", "right", "third") if node[branch] is not None]


def _headline(tree: dict[str, Any]) -> str:
    nodes = tree["nodes"]
    kind = "mean response" if tree["classes"] is None else f"{len(tree['classes'])} classes"
    parts = [_count(len(nodes), "node"), _count(tree["n_leaves"], "leaf", "leaves")]
    if tree["n_grown"]:
        parts.append(f"{tree['n_grown']:,} grown on demand")
    if tree["n_ungrown"]:
        parts.append(f"{_count(tree['n_ungrown'], 'branch', 'branches')} not grown yet")
    return f"{tree['missing']} tree, {kind}: {', '.join(parts)}"


def _legend(tree: dict[str, Any]) -> str:
    has_third = any(node["third"] is not None for node in tree["nodes"])
    return "● leaf" + (
        "   ┄ third branch: all rows of the node, for those whose value is missing" if has_third else ""
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


class _Drawing:
    """The lines of one tree."""

    def __init__(self, tree: dict[str, Any], digits: int, shown: set[int]) -> None:
        self._nodes = tree["nodes"]
        self._classes = tree["classes"]
        self._digits = digits
        self._shown = shown
        self._decimals = _decimals([value for node in shown for value in self._nodes[node]["value"]], digits)

    def lines(self) -> list[str]:
        """Return the drawing, its numbers aligned under their headings."""
        drawn = [_Line("", self._headings()), *self._draw()]
        text_width = max(len(line.text) for line in drawn if line.cells or line.note)
        widths = [max(len(line.cells[i]) for line in drawn if line.cells) for i in range(len(drawn[0].cells))]
        left_aligned = {2} if self._classes is not None else set()
        result = []
        for line in drawn:
            cells = [
                cell.ljust(width) if i in left_aligned else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line.cells, widths, strict=False))
            ]
            parts = [line.text.ljust(text_width), *cells, line.note] if cells or line.note else [line.text]
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
                lines.append(_Line(branch + rule, note="not grown yet"))
                continue
            node = self._nodes[number]
            lines.append(_Line(branch + rule, self._cells(node, parent), self._note(node)))
            below = [] if node["split"] is None else _branches(node["split"], self._digits)
            below = [(name, text) for name, text in below if node[name] is not None]
            hidden = [
                node[name] for name, _ in below if node[name] != "ungrown" and node[name] not in self._shown
            ]
            if hidden:
                lines[-1].note = f"… {_count(self._size(node) - 1, 'node')} below"
                continue
            if below and node["split"]["surrogates"]:
                lines.append(_Line(indent + "┊  " + _surrogate_text(node["split"], self._digits)))
            for i, (name, text) in reversed(list(enumerate(below))):
                last = i == len(below) - 1
                if name == "third":
                    text = _third_text(node, self._nodes)
                corner = ("╰" if last else "├") + ("┄ " if name == "third" else "─ ")
                further = indent + ("   " if last else "│  ")
                stack.append((node[name], text, indent + corner, further, node))
        return lines

    def _size(self, node: dict[str, Any]) -> int:
        """Return the number of grown nodes of the tree under a node, itself included."""
        size, stack = 0, [node]
        while stack:
            here = stack.pop()
            size += 1
            stack.extend(self._nodes[child] for child in _children(here) if child != "ungrown")
        return size

    def _headings(self) -> list[str]:
        if self._classes is None:
            return ["rows", "share", "mean"]
        shares = (
            [_short(str(label), 12) for label in self._classes] if self._lists_shares() else ["its share"]
        )
        return ["rows", "share", "class", *shares]

    def _lists_shares(self) -> bool:
        return self._classes is not None and len(self._classes) <= _MOST_CLASSES

    def _cells(self, node: dict[str, Any], parent: dict[str, Any] | None) -> list[str]:
        share = "" if parent is None or not parent["rows"] else f"{node['rows'] / parent['rows']:.0%}"
        counts = [f"{node['rows']:,}", share]
        value = node["value"]
        if self._classes is None:
            return [*counts, f"{value[0]:,.{self._decimals}f}"]
        best = max(range(len(value)), key=value.__getitem__)
        shares = value if self._lists_shares() else [value[best]]
        return [*counts, _short(str(self._classes[best]), 20), *(f"{share:.1%}" for share in shares)]

    def _note(self, node: dict[str, Any]) -> str:
        return "●" if node["split"] is None else ""


def _branches(split: dict[str, Any], digits: int) -> list[tuple[str, str]]:
    """Return the branches of a split with the rule that leads into each."""
    left, right = _sides(split, digits)
    missing_to = split["missing_to"]
    if missing_to == "surrogates" and not split["surrogates"]:
        missing_to = split["larger"]
    if split["rule"] != "missing":
        if missing_to == "left":
            left += " or missing"
        elif missing_to == "right":
            right += " or missing"
        elif missing_to == "both":
            left += f", missing with {split['share']:.0%}"
            right += f", missing with {1 - split['share']:.0%}"
    return [("left", left), ("right", right), ("third", "")]


def _sides(split: dict[str, Any], digits: int) -> tuple[str, str]:
    """Return what holds for the rows on the left and for those on the right."""
    name = _short(str(split["name"]), 30)
    if split["rule"] == "missing":
        sides = f"{name} missing", f"{name} observed"
        return sides if split["missing_to"] == "left" else sides[::-1]
    if split["rule"] == "threshold":
        threshold = _number(split["threshold"], digits)
        return f"{name} < {threshold}", f"{name} ≥ {threshold}"
    if split["rule"] == "order":
        return f"{name} ≤ {split['left'][-1]}", f"{name} ≥ {split['right'][0]}"
    return _member(name, split["left"]), _member(name, split["right"])


def _third_text(node: dict[str, Any], nodes: list[dict[str, Any]]) -> str:
    name = _short(str(node["split"]["name"]), 30)
    if node["third"] == "ungrown":
        return f"{name} missing"
    split = nodes[node["third"]]["split"]
    if split is None:
        return f"{name} missing, no other column helps"
    return f"{name} missing, {_short(str(split['name']), 30)} takes over"


def _surrogate_text(split: dict[str, Any], digits: int) -> str:
    """Return which splits stand in when the value is missing, in their order."""
    stand_ins = []
    for surrogate in split["surrogates"]:
        left, right = _sides(surrogate, digits)
        stand_ins.append(left if surrogate["below"] == "left" else right)
    name = _short(str(split["name"]), 30)
    return f"{name} missing: left where {', else by '.join(stand_ins)}, else {split['larger']}"


def _member(name: str, categories: list[Any]) -> str:
    if len(categories) == 1:
        return f"{name} is {_short(str(categories[0]), _WIDEST_SET)}"
    return f"{name} in {{{_listed(categories)}}}"


def _listed(categories: list[Any]) -> str:
    """Return as many categories as fit, and how many more there are."""
    shown: list[str] = []
    for category in categories:
        text = _short(str(category), 20)
        if shown and len(", ".join([*shown, text])) > _WIDEST_SET:
            return f"{', '.join(shown)}, … {len(categories) - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)


def _short(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _number(value: float, digits: int) -> str:
    """Return a number with that many significant digits, large ones in full."""
    if abs(value) >= 10 ** max(digits, 4):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def _decimals(values: list[float], digits: int) -> int:
    """Return how many decimals show the largest of the values with that many significant digits."""
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or not math.isfinite(largest):
        return 1
    return max(0, digits - 1 - math.floor(math.log10(largest)))
