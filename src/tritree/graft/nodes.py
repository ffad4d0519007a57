"""The nodes of all trees of a source model as one structure of arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.graft.source import SourceTree

__all__ = ["Nodes"]

_LEAF = -1


@dataclass(frozen=True)
class Nodes:
    """The nodes of trees, those of one tree after those of another; a child comes after its parent."""

    #: The number of the tree that a node is in.
    tree: NDArray[np.int32]
    #: The column of each split; -1 in leaves.
    column: NDArray[np.int32]
    #: Observed values below it go left; NaN in categorical splits and leaves.
    threshold: NDArray[np.float64]
    #: Children among the nodes of all trees; -1 in leaves.
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    #: Where the source sends missing values and unknown categories.
    missing_left: NDArray[np.bool_]
    unknown_left: NDArray[np.bool_]
    missing_learned: NDArray[np.int8]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    #: Entry of the list of category sets; -1 in other nodes.
    category_set: NDArray[np.int64]

    @classmethod
    def join(cls, trees: Sequence[SourceTree]) -> tuple[Nodes, list[frozenset[int]]]:
        """Return the nodes of trees, and the categories that go left at the categorical splits."""
        sizes = [len(tree) for tree in trees]
        firsts = np.cumsum([0, *sizes])[:-1]
        of_tree = np.repeat(np.arange(len(trees), dtype=np.int32), sizes)
        column = np.concatenate([tree.column for tree in trees]).astype(np.int32)
        is_split = column >= 0

        def joined(name: str, default: float) -> NDArray[np.float64]:
            arrays = (getattr(tree, name) for tree in trees)
            parts = [
                array if len(array) else np.full(n, default) for array, n in zip(arrays, sizes, strict=True)
            ]
            return np.concatenate(parts)

        def child(name: str) -> NDArray[np.int64]:
            return np.where(is_split, joined(name, _LEAF).astype(np.int64) + firsts[of_tree], _LEAF)

        sets: list[frozenset[int]] = []
        category_set = np.full(len(column), -1, np.int64)
        for first, tree in zip(firsts.tolist(), trees, strict=True):
            for node, codes in tree.left_categories.items():
                category_set[first + node] = len(sets)
                sets.append(codes)
        gain = joined("gain", 0)
        return cls(
            tree=of_tree,
            column=column,
            threshold=np.where(is_split & (category_set < 0), joined("threshold", np.nan), np.nan),
            left=child("left"),
            right=child("right"),
            missing_left=joined("missing_left", 0).astype(bool),
            unknown_left=joined("unknown_left", 0).astype(bool),
            missing_learned=joined("missing_learned", 0).astype(np.int8),
            value=joined("value", 0).astype(np.float64),
            gain=np.where(np.isfinite(gain), np.maximum(gain, 0), 0.0),
            category_set=category_set,
        ), sets

    def __len__(self) -> int:
        return len(self.column)

    @property
    def is_split(self) -> NDArray[np.bool_]:
        """Whether a node is a split."""
        return self.column >= 0

    @property
    def first(self) -> NDArray[np.int64]:
        """The first node of each tree, its root."""
        return np.flatnonzero(np.diff(self.tree, prepend=-1))

    def by_column(self, n_columns: int) -> list[NDArray[np.int64]]:
        """Return the splits on each column."""
        order = np.argsort(self.column, kind="stable")
        bounds = np.searchsorted(self.column[order], np.arange(n_columns + 1))
        return [order[begin:end] for begin, end in pairwise(bounds.tolist())]

    def levels(self) -> Iterator[NDArray[np.int64]]:
        """Yield the nodes of each level of all trees, the roots first."""
        level = self.first
        while len(level):
            yield level
            splits = level[self.is_split[level]]
            level = np.concatenate([self.left[splits], self.right[splits]])

    def replaced_by(self, child: NDArray[np.int64]) -> tuple[Nodes, NDArray[np.int64]]:
        """Return the nodes with some splits replaced by one of their children, and the numbers that they had.

        ``child`` is -1 for splits that stay.
        """
        to = np.arange(len(self))
        for node in np.flatnonzero(child >= 0)[::-1]:  # a child comes after its parent
            to[node] = to[child[node]]
        left, right = (np.where(self.is_split, to[of], _LEAF) for of in (self.left, self.right))
        reached = np.zeros(len(self), bool)
        level = to[self.first]
        while len(level):
            reached[level] = True
            splits = level[self.is_split[level]]
            level = np.concatenate([left[splits], right[splits]])
        number = np.append(np.cumsum(reached) - 1, _LEAF)  # the last one is that of no child
        chosen = {field.name: getattr(self, field.name)[reached] for field in fields(self)}
        children = {"left": number[left[reached]], "right": number[right[reached]]}
        return Nodes(**chosen | children), np.flatnonzero(reached)

    def with_sides_exchanged(self, nodes: NDArray[np.bool_]) -> Nodes:
        """Return the nodes with the sides of some splits exchanged, whose thresholds and sets no longer hold."""
        return replace(
            self,
            left=np.where(nodes, self.right, self.left),
            right=np.where(nodes, self.left, self.right),
            missing_left=self.missing_left ^ nodes,
            unknown_left=self.unknown_left ^ nodes,
        )
