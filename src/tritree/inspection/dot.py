"""The tree in the language of Graphviz: daughters below their node, its third branch dotted to its right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import count, width_of
from tritree.inspection.node_selection import choose
from tritree.inspection.rules import Rules
from tritree.inspection.values import Values, best_of, headline, hidden, left_out, remarks
from tritree.inspection.words import words_of
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.inspection.node_selection import Choice

__all__ = ["MAX_NODES", "draw_dot"]

#: Nodes that are drawn unless more are asked for: Graphviz lays them out in a second or two.
MAX_NODES = 200

_WIDEST_LINE = 32  # letters of a rule before it is broken
_BETWEEN_PARTS, _BETWEEN_STAND_INS = r"(?<=[,;]) ", r"(?<=: by) |(?<=\),) "  # where that may be
_LAYOUT = 'labelloc=t, labeljust=l, fontname="Helvetica", fontsize=11, ordering=out, nodesep=0.3, ranksep=0.4'
_STYLES = (
    'node [shape=box, style="rounded,filled", color="#667788", fontname="Helvetica", fontsize=11]',
    'edge [color="#667788", fontname="Helvetica", fontsize=10, arrowsize=0.7]',
)
_ASIDE = 'shape=plaintext, style="", fontsize=9, fontcolor="#556677", margin="0.08,0.02", height=0.25'
_UNGROWN = 'style=dashed, fontsize=9, fontcolor="#556677", margin="0.08,0.02", height=0.25, width=0'
# Paul Tol's bright and then some of his muted colours, told apart by every kind of sight; more classes take turns
_BRIGHT = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_COLOURS = (*_BRIGHT, "#332288", "#44aa99", "#999933", "#882255", "#117733", "#aa4499")
_FAINTEST, _STRONGEST = 0.08, 0.62  # parts of the colour in the fill; black letters stay readable on both


def draw_dot(
    tree: dict[str, Any],
    *,
    max_depth: int | None = None,
    max_nodes: int | None = MAX_NODES,
    digits: int = 4,
) -> str:
    """Return a description of `describe` as a graph of Graphviz; the options are those of `draw_text`."""
    check_int("max_depth", max_depth, 0, or_none="draws every depth")
    check_int("max_nodes", max_nodes, 1, or_none="draws everything")
    check_int("digits", digits, 1)
    return _Graph(tree, int(digits), choose(tree["nodes"], max_depth, max_nodes)).text()


class _Graph:
    """The statements of one tree; node ``n7`` is number 7 of ``to_dict()["nodes"]``."""

    def __init__(self, tree: dict[str, Any], digits: int, choice: Choice) -> None:
        self._tree, self._nodes, self._choice = tree, tree["nodes"], choice
        self._rules = Rules(self._nodes, digits)
        self._values = Values(tree, choice.drawn, digits)
        self._words = words_of(tree)
        # halves, because the difference of two very large numbers may be none
        halves = [self._nodes[number]["value"][0] / 2 for number in choice.drawn]
        self._low, self._high = min(halves), max(halves)

    def text(self) -> str:
        """Return the whole graph."""
        statements = [line for number in self._choice.drawn for line in self._node(number)]
        # the title comes last, because it tells whether thresholds have been rounded
        title = f"graph [{_label(self._title(), left=True)}, {_LAYOUT}]"
        lines = [title, *_STYLES, *statements]
        return "\n".join(["digraph tree {", *(f"  {line}" for line in lines), "}", ""])

    def _title(self) -> list[str]:
        lines = [headline(self._tree)]
        if any(self._nodes[number]["third"] is not None for number in self._choice.open):
            lines.append(f"dotted: third branch, {self._words.third}")
        return [*lines, *remarks(self._tree, self._values, self._rules), *left_out(self._tree, self._choice)]

    def _node(self, number: int) -> Iterator[str]:
        """Yield a node, and with it what hangs on it: edges to its branches, and notes."""
        node, name = self._nodes[number], f"n{number}"
        yield f'{name} [{_label(self._told(node))}, fillcolor="{self._fill(node)}"]'
        split = node["split"]
        if split is None:
            return
        if number not in self._choice.open:
            yield f"{name}_more [{_label([hidden(self._nodes, number)])}, {_ASIDE}]"
            yield f"{name} -> {name}_more [style=dashed, arrowhead=none]"
            return
        if split["surrogates"]:
            stand_ins = _broken(self._rules.surrogates(split), _BETWEEN_STAND_INS)
            yield f"{name}_missing [{_label(stand_ins, left=True)}, {_ASIDE}]"
            yield from _beside(name, f"{name}_missing", "style=dotted, arrowhead=none")
        for branch, rule in self._rules.branches(node):
            if node[branch] is not None:
                yield from self._branch(number, branch, rule)

    def _branch(self, number: int, branch: str, rule: str) -> Iterator[str]:
        node, name, child = self._nodes[number], f"n{number}", f"n{self._nodes[number][branch]}"
        label = _label(
            [f" {line} " for line in _broken(rule, _BETWEEN_PARTS)]
        )  # some room between a rule and its line
        if node[branch] == "ungrown":
            child = f"{name}_{branch}"
            yield f"{child} [{_label([self._values.ungrown(node)])}, {_UNGROWN}]"
        if branch == "third":
            yield from _beside(name, child, f"{label}, style=dotted")
        else:
            yield f"{name} -> {child} [{label}]"

    def _told(self, node: dict[str, Any]) -> list[str]:
        """Return what a node says, line by line."""
        values = self._values
        lines = [count(node["rows"], "row")]
        if values.has_weights:
            lines.append(f"weight {values.weight(node)}")
        if self._tree["classes"] is None:
            return [*lines, f"{self._words.value} {values.mean(node)}"]
        if values.classes is None:
            return [*lines, f"class {values.best(node)}", *values.shares(node)]
        shares = zip(values.classes, values.shares(node), strict=True)
        return [*lines, f"class {values.best(node)}", *(f"{label} {share}" for label, share in shares)]

    def _fill(self, node: dict[str, Any]) -> str:
        """Return a colour: by the mean among those drawn, or by the best class and how sure it is."""
        value = node["value"]
        if self._tree["classes"] is None:
            room = self._high - self._low
            return _mixed(_COLOURS[0], (value[0] / 2 - self._low) / room if room else 0.0)
        best, chance = best_of(node), 1 / len(value)
        sureness = (value[best] - chance) / (1 - chance) if chance < 1 else 1.0
        return _mixed(_COLOURS[best % len(_COLOURS)], sureness)


def _beside(name: str, other: str, style: str) -> Iterator[str]:
    """Yield an edge to a node at the same height.

    Graphviz puts the head of such an edge to the right, unless it is told ``constraint=false``: then anywhere.
    """
    yield f"{name} -> {other} [{style}]"
    yield f"{{ rank=same; {name}; {other} }}"


def _mixed(colour: str, share: float) -> str:
    """Return white with some of a colour in it: the more, the larger the share."""
    part = _FAINTEST + min(max(share, 0.0), 1.0) * (_STRONGEST - _FAINTEST)
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - part * (255 - value)):02x}" for value in parts)


def _broken(text: str, between: str) -> list[str]:
    """Return a rule in lines: where it is long, some of the spaces that the pattern finds become line breaks."""
    first, *pieces = re.split(between, text)
    lines = [first]
    for piece in pieces:
        if width_of(f"{lines[-1]} {piece}") > _WIDEST_LINE:
            lines.append(piece)
        else:
            lines[-1] += f" {piece}"
    return lines


def _label(lines: list[str], *, left: bool = False) -> str:
    """Return lines as a label. Within it a backslash and an ampersand have a meaning of their own to Graphviz."""
    end = r"\l" if left else r"\n"
    signs = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
    text = end.join(line.translate(signs) for line in lines)
    return f'label="{text}{end if left else ""}"'
