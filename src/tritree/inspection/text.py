"""Text view of a tree: one line per node, its branches below, numbers in columns on the right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.captions import TreeText, headline
from tritree.inspection.formatting import align, as_name, as_percent, count, pad, width_of
from tritree.inspection.node_selection import Selection, select_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tritree.inspection.tree_arrays import TreeArrays

_MAX_COLUMNS = 10  # of a summary


@dataclass(slots=True)
class _Line:
    """A line: branches and rule on the left, cells of numbers on the right."""

    text: str
    cells: list[str] = field(default_factory=list)
    note: str = ""


def tree_to_text(
    tree: dict[str, Any], *, max_depth: int | None = None, max_nodes: int | None = None, digits: int = 4
) -> str:
    """Return a tree as text, given its description.

    Nodes down to ``max_depth`` are shown, and at most ``max_nodes``, those nearest to the root; None shows everything.
    """
    view = _TextView(tree, select_nodes(tree["nodes"], max_depth, max_nodes), digits)
    lines = view.lines()  # first, because the legend depends on them
    omitted = view.text.omitted_nodes(view.selection)
    return "\n".join([headline(tree), *view.legend(), "", *lines, *omitted])


def summary_to_text(
    summary: dict[str, Any],
    trees: Iterable[TreeArrays],
    names: Sequence[str],
    importances: NDArray[np.float64] | None,
) -> str:
    """Return a summary of many trees: their size, and the columns that matter most.

    These are the columns with the most splits if their importances are not known.
    """
    n_trees = n_nodes = n_leaves = depth = 0
    n_splits, n_used = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for tree in trees:
        column = tree.column[tree.column >= 0]
        n_trees += 1
        n_nodes += len(tree.column)
        n_leaves += len(tree.column) - len(column)
        depth = max(depth, int(tree.depth.max()))
        n_splits += np.bincount(column, minlength=len(names))
        n_used[np.unique(column)] += 1
    target = "regression" if summary["classes"] is None else f"{len(summary['classes'])} classes"
    kind = f"{summary['missing']} {'forest' if summary['aggregation'] == 'mean' else 'boosting'}"
    parts = [f"{summary['aggregation']} of {count(n_trees, 'tree')}", f"depth up to {depth}"]
    parts += [count(n_nodes, "node"), count(n_leaves, "leaf", "leaves")]
    if summary["n_grown"]:
        parts.append(f"{summary['n_grown']:,} grown on demand")
    lines = [f"{summary.get('model', kind)}, {target}: {', '.join(parts)}", ""]
    order = np.argsort(-n_splits if importances is None else -importances, kind="stable")
    ranked = [j for j in order.tolist() if n_splits[j]]
    table = [["", "importance", "splits", "trees"]]
    for j in ranked[:_MAX_COLUMNS]:
        importance = "" if importances is None else as_percent(importances[j])
        table.append([as_name(names[j]), importance, f"{n_splits[j]:,}", f"{n_used[j]:,}"])
    lines += align(table if importances is not None else [[name, *counts] for name, _, *counts in table])
    if len(ranked) > _MAX_COLUMNS:
        lines.append(f"… {count(len(ranked) - _MAX_COLUMNS, 'more column')}")
    return "\n".join(lines)


class _TextView:
    """The lines of one tree."""

    def __init__(self, tree: dict[str, Any], selection: Selection, digits: int) -> None:
        self._nodes, self._classes, self.selection = tree["nodes"], tree["classes"], selection
        self.text = TreeText(tree, selection.drawn, digits)
        # of the rows of the parent, which the root does not have
        self._has_fractions = len(selection.drawn) > 1
        self._size = "weight" if self.text.has_weights else "rows"

    def legend(self) -> list[str]:
        """Return the legend of symbols and numbers; the lines must have been drawn."""
        symbols = ["● leaf"]
        if self._has_fractions:
            symbols.append(f"fraction: of the parent's {self._size}")
        if any(node["third"] is not None for node in self._nodes):
            symbols.append(f"┄ third branch: {self.text.terms.third}")
        if any(node["split"] is not None and node["split"]["surrogates"] for node in self._nodes):
            symbols.append(
                "┊ surrogates: for rows whose value is missing, the first that is observed decides"
            )
        return ["   ".join(symbols), *self.text.notes()]

    def lines(self) -> list[str]:
        """Return the lines, with numbers aligned under their headings."""
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
        """Return a line per node, depth first; not recursive, because a ladder may be as long as the table is wide."""
        lines: list[_Line] = []
        # the root stands in for its own parent, which is not used
        stack: list[tuple[Any, str, str, str, dict[str, Any]]] = [(0, "all rows", "", "", self._nodes[0])]
        while stack:
            number, rule, branch, indent, parent = stack.pop()
            if number == "ungrown":
                lines.append(_Line(branch + rule, note=self.text.ungrown(parent)))
                continue
            node = self._nodes[number]
            split = node["split"]
            lines.append(_Line(branch + rule, self._cells(node, parent), "●" if split is None else ""))
            if split is None:
                continue
            if number not in self.selection.open:
                lines[-1].note = self.text.hidden_nodes(number)
                continue
            if rule := self.text.missing_rule(split):
                lines.append(_Line(indent + "┊  " + rule))
            below = [(name, text) for name, text in self.text.branches(node) if node[name] is not None]
            for i, (name, text) in reversed(list(enumerate(below))):
                last = i == len(below) - 1
                corner = ("╰" if last else "├") + ("┄ " if name == "third" else "─ ")
                further = indent + ("   " if last else "│  ")
                stack.append((node[name], text, indent + corner, further, node))
        return lines

    def _headings(self) -> list[str]:
        counts = ["rows"]
        if self.text.has_weights:
            counts.append("weight")
        if self._has_fractions:
            counts.append("fraction")
        if self._classes is None:
            return [*counts, self.text.terms.value]
        return [*counts, "class", *(self.text.classes or ["probability"])]

    def _cells(self, node: dict[str, Any], parent: dict[str, Any]) -> list[str]:
        text = self.text
        cells = [f"{node['rows']:,}"]
        if text.has_weights:
            cells.append(text.weight(node))
        if self._has_fractions:
            # a third branch of boosting is fitted to a sample of the rows of its node
            is_sample = self.text.is_boosted and node["depth"] == parent["depth"]
            is_known = node is not parent and parent[self._size] and not is_sample
            cells.append(as_percent(node[self._size] / parent[self._size]) if is_known else "")
        if self._classes is None:
            return [*cells, text.mean(node)]
        return [*cells, text.best(node), *text.probabilities(node)]
