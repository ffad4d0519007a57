"""Traversal: the paths of rows through a tree, and where those with missing values go.

The core hands out the steps of rows as arrays; nothing here decides where a row goes. ``page/traversal.js`` is the one
other implementation, and tests hold it to the core.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tritree.inspection.tree_arrays import Branch, parents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.tree_arrays import TreeArrays

__all__ = [
    "LeafAssignments",
    "PathStep",
    "Steps",
    "Transitions",
    "Traversal",
    "ascend",
    "assign_leaves",
    "end_nodes",
    "missing_branch",
    "observed_side",
    "other_side",
    "paths",
    "unknown_branch",
]

_MAX_PARTS = 2**20  # parts of rows traversed at a time, which bounds the memory


# ---------------------------------------------------------------------------------- splits, as descriptions have them


def other_side(side: str) -> str:
    """Return the opposite of "left" and "right"."""
    return "right" if side == "left" else "left"


def observed_side(split: Mapping[str, Any]) -> str:
    """Return the side of observed values of a split "missing against observed"."""
    return other_side(split["missing_to"])


def missing_branch(split: Mapping[str, Any]) -> str:
    """Return where missing values go: "left", "right", "third", "both" or "surrogates"."""
    if split["missing_to"] == "surrogates" and not split["surrogates"]:
        return str(split["larger_side"])
    return str(split["missing_to"])


def unknown_branch(split: Mapping[str, Any]) -> str:
    """Return where a category goes that the node has not seen: never to the side chosen for missing values."""
    return str(split["larger_side"]) if split["missing_to"] in ("left", "right") else missing_branch(split)


# ------------------------------------------------------------------------------------------------ from root to leaves


@dataclass
class Transitions:
    """Rows that pass from a node to a child, one entry each; a row that goes both ways has two of them."""

    row: NDArray[np.int64]
    #: Fraction of the row that passes.
    fraction: NDArray[np.float64]
    node: NDArray[np.int64]
    #: The child; the node itself if the branch is not grown.
    to: NDArray[np.int64]
    #: The column that decides: that of the split, or of the surrogate used.
    decided_by: NDArray[np.int32]


@dataclass
class Steps(Transitions):
    """The next transitions of rows that are traversed together."""

    branch: NDArray[np.int8]
    #: Whether the row has no usable value for the split of the node.
    lacks_value: NDArray[np.bool_]
    #: Index of the step before, or of the row at first.
    origin: NDArray[np.int64]


class Traversal:
    """The steps of many rows through a tree, as far as it is grown; the core decides where they go."""

    def __init__(self, tree: TreeArrays, columns: _core.Columns) -> None:
        self._tree, self._columns = tree, columns
        # a row that goes both ways may reach every leaf
        goes_both_ways = (tree.missing_to == Branch.BOTH).any()
        self._parts_per_row = int((tree.column < 0).sum()) if goes_both_ways else 1

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return self._columns.shape[1] if isinstance(self._columns, np.ndarray) else len(self._columns)

    def blocks(self, n_rows: int, max_parts: int = _MAX_PARTS) -> Iterator[NDArray[np.int64]]:
        """Yield the row numbers in blocks with at most ``max_parts`` parts."""
        n = max(1, max_parts // self._parts_per_row)
        return (np.arange(begin, min(begin + n, n_rows)) for begin in range(0, n_rows, n))

    def steps(self, rows: NDArray[np.int64]) -> Iterator[Steps]:
        """Yield the first steps of some rows, then their second steps, and so on."""
        columns = [self._columns] if isinstance(self._columns, np.ndarray) else self._columns
        n_rows = next(
            (len(column) for column in columns if column is not None), int(rows.max(initial=-1)) + 1
        )
        found = self._tree.decision_paths(self._columns, n_rows, rows)
        for begin, end in pairwise(found.pop("level_begin").tolist()):
            level = {name: array[begin:end] for name, array in found.items()}
            level["lacks_value"] = level["lacks_value"].astype(bool)
            yield Steps(**level)


class PathStep(NamedTuple):
    """A step on the path of one row; the fields are those of `Steps`."""

    node: int
    #: The child; None if the branch is not grown.
    to: int | None
    branch: str
    fraction: float
    lacks_value: bool
    decided_by: int


def paths(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> list[list[PathStep]]:
    """Return the path of each row; where a row goes both ways, the steps of the right branch come first."""
    at_node: list[dict[int, list[PathStep]]] = [defaultdict(list) for _ in range(n_rows)]
    traversal = Traversal(tree, columns)
    for rows in traversal.blocks(n_rows):
        for steps in traversal.steps(rows):
            fields = (steps.row, steps.node, steps.to, steps.branch, steps.fraction, steps.lacks_value)
            for row, node, to, branch, fraction, lacks_value, decided_by in zip(
                *(field.tolist() for field in (*fields, steps.decided_by)), strict=True
            ):
                child = None if to == node else to
                step = PathStep(node, child, Branch(branch).word, fraction, lacks_value, decided_by)
                at_node[row][node].append(step)
    return [_depth_first(of_row) for of_row in at_node]


def _depth_first(at_node: Mapping[int, list[PathStep]]) -> list[PathStep]:
    path, stack = [], [0]
    while stack:
        taken = at_node.get(stack.pop(), [])
        path += taken
        stack += [step.to for step in taken if step.to is not None]
    return path


def end_nodes(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.int64]:
    """Return the distinct nodes in which rows end: leaves, and nodes with an ungrown branch that a row needs."""
    ends = [np.zeros(1, np.int64)] if tree.column[0] < 0 else []
    traversal = Traversal(tree, columns)
    for rows in traversal.blocks(n_rows):
        ends += [
            steps.to[(tree.column[steps.to] < 0) | (steps.to == steps.node)]
            for steps in traversal.steps(rows)
        ]
    return np.unique(np.concatenate(ends)) if ends else np.empty(0, np.int64)


# ---------------------------------------------------------------------- from the leaves that the core assigns, upwards


@dataclass(frozen=True)
class LeafAssignments:
    """Nodes in which rows end in one tree."""

    row: NDArray[np.int64]
    node: NDArray[np.int32]
    #: Fraction of the row that ends there; None if every row ends in one node.
    fraction: NDArray[np.float64] | None = None

    def of_rows(self, rows: NDArray[np.intp], n_rows: int) -> LeafAssignments:
        """Return the assignments of some of ``n_rows`` rows, renumbered in their order."""
        if self.fraction is None:
            return LeafAssignments(np.arange(len(rows)), self.node[rows])
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        own = np.flatnonzero(place[self.row] >= 0)
        return LeafAssignments(place[self.row[own]], self.node[own], self.fraction[own])


def assign_leaves(
    core: _core.BoostedModel, columns: _core.Columns, n_rows: int, n_threads: int
) -> Sequence[LeafAssignments]:
    """Return the leaf assignments of rows, one per tree of boosting, grown as far as the rows need."""
    if core.params["missing"] == "fractional":
        begin, row, node, fraction = core.leaf_fractions(columns, n_rows, n_threads)
        return [LeafAssignments(row[a:b], node[a:b], fraction[a:b]) for a, b in pairwise(begin.tolist())]
    nodes, every = core.apply(columns, n_rows, n_threads), np.arange(n_rows)
    return [LeafAssignments(every, of_tree) for of_tree in nodes.T]


def ascend(tree: TreeArrays, leaves: LeafAssignments) -> Iterator[Transitions]:
    """Yield the last transitions of rows, given their leaves, then the ones before, up to the root."""
    row, to = leaves.row, leaves.node.astype(np.int64)
    fraction = np.ones(len(row)) if leaves.fraction is None else leaves.fraction
    ungrown = np.flatnonzero(tree.column[to] >= 0)  # rows that need a third branch that is not grown
    stay = to[ungrown]
    yield Transitions(row[ungrown], fraction[ungrown], stay, stay, tree.column[stay])
    parent = parents(tree)
    while len(at := np.flatnonzero(parent[to] >= 0)):
        row, fraction, to = row[at], fraction[at], to[at]
        node = parent[to].astype(np.int64)
        yield Transitions(row, fraction, node, to, tree.column[node])
        to = node
