"""Traversal: the paths of rows through a tree, and where those with missing values go.

The only place in Python that routes rows. The core does the same when it predicts, and so does ``page/traversal.js``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tritree.encoder import MISSING as NO_CATEGORY
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

# result of comparing a value with a split; from _MISSING on there is no usable value
_LEFT, _RIGHT, _MISSING, _UNKNOWN = range(4)
_WORD = 64  # categories per word of a set
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
        return str(split["larger"])
    return str(split["missing_to"])


def unknown_branch(split: Mapping[str, Any]) -> str:
    """Return where a category goes that the node has not seen: never to the side chosen for missing values."""
    return str(split["larger"]) if split["missing_to"] in ("left", "right") else missing_branch(split)


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


@dataclass(slots=True)
class _Parts:
    """Rows at nodes; a row that went both ways has several parts."""

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    fraction: NDArray[np.float64]


class Traversal:
    """Traverses a tree with many rows at once, as far as it is grown."""

    def __init__(self, tree: TreeArrays, columns: _core.Columns) -> None:
        self._tree = tree
        self._values = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
        self._children = np.stack([tree.left, tree.right, tree.third])
        # a row that goes both ways may reach every leaf
        goes_both_ways = (tree.missing_to == Branch.BOTH).any()
        self._parts_per_row = int((tree.column < 0).sum()) if goes_both_ways else 1

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return len(self._values)

    def blocks(self, n_rows: int, max_parts: int = _MAX_PARTS) -> Iterator[NDArray[np.int64]]:
        """Yield the row numbers in blocks with at most ``max_parts`` parts."""
        n = max(1, max_parts // self._parts_per_row)
        return (np.arange(begin, min(begin + n, n_rows)) for begin in range(0, n_rows, n))

    def steps(self, rows: NDArray[np.int64]) -> Iterator[Steps]:
        """Yield the first steps of some rows, then their second steps, and so on."""
        n, tree = len(rows), self._tree
        parts, number = _Parts(rows, np.zeros(n, np.int64), np.ones(n)), np.arange(n)
        while True:
            inner = np.flatnonzero(tree.column[parts.node] >= 0)
            parts = _Parts(parts.row[inner], parts.node[inner], parts.fraction[inner])
            if not len(inner):
                return
            steps = self._step(parts, number[inner])
            yield steps
            going = np.flatnonzero(steps.to != steps.node)
            parts, number = _Parts(steps.row[going], steps.to[going], steps.fraction[going]), going

    def _step(self, parts: _Parts, number: NDArray[np.int64]) -> Steps:
        """Return the next steps of parts at inner nodes."""
        tree, found = self._tree, self._compare_with_splits(parts)
        side, decided_by = found.copy(), tree.column[parts.node]
        lacking = np.flatnonzero(found >= _MISSING)
        missing_to = tree.missing_to[parts.node[lacking]]
        side[lacking] = missing_to
        # an unknown category does not inherit the meaning of missing
        one_sided = lacking[(missing_to <= Branch.RIGHT) & (found[lacking] == _UNKNOWN)]
        side[one_sided] = tree.larger_side[parts.node[one_sided]]
        by_surrogate = lacking[missing_to == Branch.SURROGATES]
        if len(by_surrogate):
            side[by_surrogate], decided_by[by_surrogate] = self._ask_surrogates(parts, by_surrogate)
        both = np.flatnonzero(side == Branch.BOTH)
        # parts that go left keep their place, those that go right are appended
        taken = np.concatenate([np.arange(len(side)), both])
        side, right = side[taken], np.arange(len(both)) + len(side)
        side[both], side[right] = Branch.LEFT, Branch.RIGHT
        node, fraction = parts.node[taken], parts.fraction[taken]
        left_fraction = tree.left_fraction[node[both]]
        fraction[both] *= left_fraction
        fraction[right] *= 1 - left_fraction
        to = self._children[side, node].astype(np.int64)
        return Steps(
            row=parts.row[taken],
            fraction=fraction,
            node=node,
            to=np.where(to >= 0, to, node),
            decided_by=decided_by[taken],
            branch=side,
            lacks_value=(found >= _MISSING)[taken],
            origin=number[taken],
        )

    def _compare_with_splits(self, parts: _Parts) -> NDArray[np.int8]:
        """Return the result of the split of each part's node."""
        tree, column = self._tree, self._tree.column[parts.node]
        sets = tree.set_begin[parts.node], tree.set_words[parts.node]
        return self._compare(parts.row, column, tree.threshold[parts.node], *sets)

    def _ask_surrogates(
        self, parts: _Parts, which: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Return the side of the first observed surrogate, else the larger one, and the column that decides."""
        tree, node, row = self._tree, parts.node[which], parts.row[which]
        side, decided_by = tree.larger_side[node], tree.column[node]
        surrogate, end = tree.surrogate_begin[node].copy(), tree.surrogate_begin[node + 1]
        waiting = np.flatnonzero(surrogate < end)
        while len(waiting):
            s = surrogate[waiting]
            found = self._compare(
                row[waiting],
                tree.surrogate_column[s],
                tree.surrogate_threshold[s],
                tree.surrogate_set_begin[s],
                tree.surrogate_set_words[s],
            )
            # sets are stored by the side of the split; a threshold may be reversed
            is_reversed = (tree.surrogate_set_begin[s] < 0) & (tree.surrogate_below[s] == Branch.RIGHT)
            is_usable = found < _MISSING
            side[waiting[is_usable]] = (found ^ is_reversed)[is_usable]
            decided_by[waiting[is_usable]] = tree.surrogate_column[s[is_usable]]
            surrogate[waiting] += 1
            waiting = waiting[~is_usable & (surrogate[waiting] < end[waiting])]
        return side, decided_by

    def _compare(
        self,
        row: NDArray[np.int64],
        column: NDArray[np.int32],
        threshold: NDArray[np.float64],
        set_begin: NDArray[np.int64],
        set_words: NDArray[np.int32],
    ) -> NDArray[np.int8]:
        """Return the results of splits for rows, column by column."""
        result = np.full(len(row), _MISSING, dtype=np.int8)
        order = np.argsort(column, kind="stable")
        starts = np.flatnonzero(np.diff(column[order], prepend=-1))
        for at in np.split(order, starts[1:]):
            values = self._values[column[at[0]]]
            if values is None:
                continue
            value = values[row[at]]
            if value.dtype.kind == "f":
                result[at] = np.where(np.isnan(value), _MISSING, value >= threshold[at])
            else:
                result[at] = self._compare_categories(value, set_begin[at], set_words[at])
        return result

    def _compare_categories(
        self, category: NDArray[Any], begin: NDArray[np.int64], words: NDArray[np.int32]
    ) -> NDArray[np.int8]:
        sets, n_words = self._tree.sets, words.astype(np.int64)
        is_known = (category >= 0) & (category < _WORD * n_words)
        number = np.where(is_known, category, 0).astype(np.int64)
        word, bit = begin + number // _WORD, (number % _WORD).astype(np.uint64)
        is_left, is_right = (is_known & (sets[at] >> bit & np.uint64(1) > 0) for at in (word, word + n_words))
        result = np.where(is_left, _LEFT, np.where(is_right, _RIGHT, _UNKNOWN))
        unknown = np.flatnonzero(result == _UNKNOWN)
        result[unknown[_is_empty(sets, begin[unknown], n_words[unknown])]] = _RIGHT
        return np.where(category == NO_CATEGORY, _MISSING, result).astype(np.int8)


def _is_empty(
    sets: NDArray[np.uint64], begin: NDArray[np.int64], n_words: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether a split has no categories: missing against observed, with every observed value on the right."""
    first, which = np.unique(begin, return_index=True)
    empty = [not sets[at : at + n].any() for at, n in zip(first, n_words[which], strict=True)]
    return np.array(empty, dtype=bool)[np.searchsorted(first, begin)]


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
    core: _core.GrowingModel, columns: _core.Columns, n_rows: int, n_threads: int
) -> Sequence[LeafAssignments]:
    """Return the leaf assignments of rows, one per tree of a model, grown as far as the rows need."""
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
