"""Flat arrays of a tree, one entry per node, as the core hands them out: the form in which views read every tree."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tritree import _core

    TreeArrays: TypeAlias = _core.Tree

UNGROWN = -2  # a child that has not been grown


class Branch(IntEnum):
    """Where a split sends rows, numbered as in the core; ``NONE`` in a leaf, and where rows stay in the node."""

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
