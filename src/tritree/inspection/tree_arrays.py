"""Flat arrays of a tree, one entry per node, as the core hands them out: the form in which views read every tree."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core

    TreeArrays: TypeAlias = _core.Tree

__all__ = ["UNGROWN", "Branch", "TreeArrays", "parents"]

UNGROWN = -2  # a child that has not been grown


class Branch(IntEnum):
    """Where a split sends rows whose value is missing, numbered as in the core."""

    LEFT = 0
    RIGHT = 1
    THIRD = 2
    BOTH = 3
    SURROGATES = 4

    @property
    def word(self) -> str:
        """The branch as descriptions name it."""
        return self.name.lower()


def parents(tree: TreeArrays) -> NDArray[np.int32]:
    """Return the parent of each node, -1 for the root."""
    parent = np.full(len(tree.column), -1, dtype=np.int32)
    for branch in (tree.left, tree.right, tree.third):
        grown = np.flatnonzero(branch >= 0)
        parent[branch[grown]] = grown
    return parent
