"""Graphviz view of a tree: children below their node, the third branch dotted to the right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, headline
from tritree.inspection.colours import NodeColours
from tritree.inspection.formatting import count, width_of
from tritree.inspection.node_selection import select_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.inspection.node_selection import Selection

_WIDEST_LINE = 32  # characters of a rule before a line break
_BETWEEN_PARTS, _BETWEEN_SURROGATES = r"(?<=[,;]) ", r"(?<=: by) |(?<=\),) "  # where breaks are allowed
_LAYOUT = 'labelloc=t, labeljust=l, fontname="Helvetica", fontsize=11, ordering=out, nodesep=0.3, ranksep=0.4'
_STYLES = (
    'node [shape=box, style="rounded,filled", color="#667788", fontname="Helvetica", fontsize=11]',
    'edge [color="#667788", fontname="Helvetica", fontsize=10, arrowsize=0.7]',
)
_ASIDE = 'shape=plaintext, style="", fontsize=9, fontcolor="#556677", margin="0.08,0.02", height=0.25'
_UNGROWN = 'style=dashed, fontsize=9, fontcolor="#556677", margin="0.08,0.02", height=0.25, width=0'


def tree_to_dot(
    tree: dict[str, Any], *, max_depth: int | None = None, max_nodes: int | None = None, digits: int = 4
) -> str:
    """Return a tree in the DOT language, given its description; the options are those of `tree_to_text`."""
    return _Graph(tree, select_nodes(tree["nodes"], max_depth, max_nodes), digits).text()


class _Graph:
    """The statements of one tree; node ``n7`` is number 7 of ``to_dict()["nodes"]``."""

    def __init__(self, tree: dict[str, Any], selection: Selection, digits: int) -> None:
        self._tree, self._nodes, self._selection = tree, tree["nodes"], selection
        self._text = TreeText(tree, selection.drawn, digits)
        self._colours = NodeColours(tree, [self._nodes[number] for number in selection.drawn])

    def text(self) -> str:
        """Return the whole graph."""
        statements = [line for number in self._selection.drawn for line in self._node(number)]
        # the title comes last, because it mentions whether thresholds have been rounded
        title = f"graph [{_label(self._title(), left=True)}, {_LAYOUT}]"
        lines = [title, *_STYLES, *statements]
        return "\n".join(["digraph tree {", *(f"  {line}" for line in lines), "}", ""])

    def _title(self) -> list[str]:
        lines = [headline(self._tree)]
        if any(self._nodes[number]["third"] is not None for number in self._selection.open):
            lines.append(f"dotted: third branch, {self._text.terms.third}")
        lines += self._text.notes()
        return lines + self._text.omitted_nodes(self._selection)

    def _node(self, number: int) -> Iterator[str]:
        """Yield the statements of a node: the node, edges to its branches, and notes."""
        node, name = self._nodes[number], f"n{number}"
        yield f'{name} [{_label(self._lines(node))}, fillcolor="{self._colours.fill(node)}"]'
        split = node["split"]
        if split is None:
            return
        if number not in self._selection.open:
            yield f"{name}_more [{_label([self._text.hidden_nodes(number)])}, {_ASIDE}]"
            yield f"{name} -> {name}_more [style=dashed, arrowhead=none]"
            return
        if rule := self._text.missing_rule(split):
            lines = _broken(rule, _BETWEEN_SURROGATES)
            yield f"{name}_missing [{_label(lines, left=True)}, {_ASIDE}]"
            yield from _beside(name, f"{name}_missing", "style=dotted, arrowhead=none")
        for branch, rule in self._text.branches(node):
            if node[branch] is not None:
                yield from self._branch(number, branch, rule)

    def _branch(self, number: int, branch: str, rule: str) -> Iterator[str]:
        node, name, child = self._nodes[number], f"n{number}", f"n{self._nodes[number][branch]}"
        # spaces, to keep a rule off its edge
        label = _label([f" {line} " for line in _broken(rule, _BETWEEN_PARTS)])
        if node[branch] == "ungrown":
            child = f"{name}_{branch}"
            yield f"{child} [{_label([self._text.ungrown(node)])}, {_UNGROWN}]"
        if branch == "third":
            yield from _beside(name, child, f"{label}, style=dotted")
        else:
            yield f"{name} -> {child} [{label}]"

    def _lines(self, node: dict[str, Any]) -> list[str]:
        """Return the lines of a node's label."""
        text = self._text
        lines = [count(node["rows"], "row")]
        if text.has_weights:
            lines.append(f"weight {text.weight(node)}")
        if self._tree["classes"] is None:
            return [*lines, f"{self._text.terms.value} {text.mean(node)}"]
        if text.classes is None:
            return [*lines, f"class {text.best(node)}", *text.probabilities(node)]
        probabilities = zip(text.classes, text.probabilities(node), strict=True)
        return [*lines, f"class {text.best(node)}", *(f"{label} {p}" for label, p in probabilities)]


def _beside(name: str, other: str, style: str) -> Iterator[str]:
    """Yield an edge to a node at the same height.

    Graphviz puts the head of such an edge to the right, unless it is told ``constraint=false``: then anywhere.
    """
    yield f"{name} -> {other} [{style}]"
    yield f"{{ rank=same; {name}; {other} }}"


def _broken(text: str, between: str) -> list[str]:
    """Return a rule in lines: where it is long, some spaces that match the pattern become line breaks."""
    first, *pieces = re.split(between, text)
    lines = [first]
    for piece in pieces:
        if width_of(f"{lines[-1]} {piece}") > _WIDEST_LINE:
            lines.append(piece)
        else:
            lines[-1] += f" {piece}"
    return lines


def _label(lines: list[str], *, left: bool = False) -> str:
    """Return lines as a label, escaped: Graphviz interprets backslashes and ampersands."""
    end = r"\l" if left else r"\n"
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
    text = end.join(line.translate(escapes) for line in lines)
    return f'label="{text}{end if left else ""}"'
