"""Paths of rows through a tree.

The core hands out the steps of rows as arrays; nothing here decides where a row goes. ``page/traversal.js`` is the one
other implementation, and tests hold it to the core.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tritree.inspection.tree_arrays import Branch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.tree_arrays import TreeArrays

_MAX_PARTS = 2**20  # parts of rows traversed at a time, which bounds the memory


@dataclass
class Steps:
    """The next steps of rows from a node to a child, one entry each; a row that goes both ways takes two of them."""

    row: NDArray[np.int64]
    #: Fraction of the row that takes the step.
    fraction: NDArray[np.float64]
    node: NDArray[np.int64]
    #: The child; the node itself if the branch is not grown, or the row stays there.
    to: NDArray[np.int64]
    branch: NDArray[np.int8]
    #: The column that decides: that of the split, or of the surrogate used.
    decided_by: NDArray[np.int32]
    #: Whether the row has no usable value for the split of the node.
    lacks_value: NDArray[np.bool_]
    #: Index of the step before, or of the row at first.
    origin: NDArray[np.int64]


class Traversal:
    """The steps of many rows through a tree, as far as it is grown."""

    def __init__(self, tree: TreeArrays, columns: _core.Columns, n_rows: int) -> None:
        self._tree, self._columns, self._n_rows = tree, columns, n_rows

    def blocks(
        self, rows: NDArray[np.int64] | None = None, max_parts: int = _MAX_PARTS
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the row numbers, or some of them, in blocks with at most ``max_parts`` parts of rows."""
        rows = np.arange(self._n_rows) if rows is None else rows
        # a row that goes both ways may reach every leaf
        goes_both_ways = (self._tree.missing_to == Branch.BOTH).any()
        parts_per_row = np.count_nonzero(self._tree.column < 0) if goes_both_ways else 1
        size = max(1, max_parts // parts_per_row)
        return (rows[begin : begin + size] for begin in range(0, len(rows), size))

    def steps(self, rows: NDArray[np.int64]) -> Iterator[Steps]:
        """Yield the first steps of some rows, then their second steps, and so on."""
        found = self._tree.decision_paths(self._columns, self._n_rows, rows)
        found["lacks_value"] = found["lacks_value"].astype(bool)
        for begin, end in pairwise(found.pop("level_begin").tolist()):
            yield Steps(**{name: array[begin:end] for name, array in found.items()})

    def all_steps(self, rows: NDArray[np.int64] | None = None) -> Iterator[Steps]:
        """Yield all steps of all rows, or of some of them."""
        return (steps for block in self.blocks(rows) for steps in self.steps(block))


class PathStep(NamedTuple):
    """A step on the path of one row; the fields are those of `Steps`."""

    node: int
    #: The child; None if the branch is not grown, or the row stays in the node.
    to: int | None
    branch: str
    fraction: float
    lacks_value: bool
    decided_by: int


def paths(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> list[list[PathStep]]:
    """Return the path of each row; where a row goes both ways, the steps of the right branch come first."""
    at_node: list[dict[int, list[PathStep]]] = [defaultdict(list) for _ in range(n_rows)]
    for steps in Traversal(tree, columns, n_rows).all_steps():
        to = [
            None if to == node else to
            for to, node in zip(steps.to.tolist(), steps.node.tolist(), strict=True)
        ]
        words = [Branch(branch).word for branch in steps.branch.tolist()]
        others = (steps.fraction.tolist(), steps.lacks_value.tolist(), steps.decided_by.tolist())
        for row, *step in zip(steps.row.tolist(), steps.node.tolist(), to, words, *others, strict=True):
            at_node[row][step[0]].append(PathStep(*step))
    return [_depth_first(of_row) for of_row in at_node]


def _depth_first(at_node: Mapping[int, list[PathStep]]) -> list[PathStep]:
    path, stack = [], [0]
    while stack:
        taken = at_node.get(stack.pop(), [])
        path += taken
        stack += [step.to for step in taken if step.to is not None]
    return path


def end_nodes(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.int64]:
    """Return the distinct nodes in which rows end: leaves, and where a row stays or needs an ungrown branch."""
    of_steps = (
        steps.to[(tree.column[steps.to] < 0) | (steps.to == steps.node)]
        for steps in Traversal(tree, columns, n_rows).all_steps()
    )
    root = np.zeros(int(tree.column[0] < 0), np.int64)  # if it is a leaf
    return np.unique(np.concatenate([root, *of_steps]))
