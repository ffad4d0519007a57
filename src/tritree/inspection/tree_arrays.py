"""Flat arrays of a tree, one entry per node, as the core hands them out: the form in which views read every tree."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core

    TreeArrays: TypeAlias = _core.Tree

UNGROWN = -2  # a child that has not been grown


class Branch(IntEnum):
    """Where a split sends rows, numbered as in the core; ``NONE`` in a leaf."""

    NONE = -1
    LEFT = 0
    RIGHT = 1
    THIRD = 2
    BOTH = 3
    SURROGATES = 4

    @property
    def word(self) -> str:
        """The branch as descriptions name it."""
        return self.name.lower()


# The core decides where rows go (cpp/split/routing.hpp). These two are all that Python says about it: descriptions
# have their results, from which captions, the page and ONNX models are made. Tests compare them with decision paths.


def missing_branch(tree: TreeArrays) -> NDArray[np.int8]:
    """Return the branch of each node for missing values."""
    has_no_surrogate = np.diff(tree.surrogate_begin) == 0
    is_undecided = (tree.missing_to == Branch.SURROGATES) & has_no_surrogate
    return np.where(is_undecided, tree.larger_side, tree.missing_to)


def unseen_branch(tree: TreeArrays) -> NDArray[np.int8]:
    """Return the branch of each node for categories not seen in it: never the side chosen for missing values."""
    joins_side = (tree.missing_to == Branch.LEFT) | (tree.missing_to == Branch.RIGHT)
    return np.where(joins_side, tree.larger_side, missing_branch(tree))
