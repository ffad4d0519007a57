"""How much of the rows' predictions passes through missing branches, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.inspection.walk import Walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.arrays import TreeArrays

__all__ = ["reliance"]

_MOST_MARKS = 2**24  # marks of columns met, held at once: bounds the memory, and stays near the caches


def reliance(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.float64]:
    """Return per column the mean part of a row that comes to a split on it without a usable value.

    A part that meets such splits of a column more than once counts once. The tree is grown as far as the rows need,
    or ends where it was cut short.
    """
    walk = Walk(tree, columns)
    used = np.unique(tree.column[tree.column >= 0])
    total = np.zeros(walk.n_columns)
    for rows in walk.blocks(n_rows, _MOST_MARKS // max(1, len(used))):
        total += _relied(walk, tree.column, used, rows)
    return total / n_rows


def _relied(
    walk: Walk, column_of: NDArray[np.int32], used: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return per column how much of some rows has met a split on it without a usable value."""
    total, place = np.zeros(walk.n_columns), np.zeros(walk.n_columns, dtype=np.int64)
    place[used] = np.arange(len(used))
    met = np.zeros((len(rows), len(used)), dtype=bool)
    for turns in walk.turns(rows):
        met = met[turns.part]
        lacking = np.flatnonzero(turns.lacks)
        column = column_of[turns.node[lacking]]
        new = ~met[lacking, place[column]]
        total += np.bincount(column[new], turns.share[lacking[new]], minlength=len(total))
        met[lacking, place[column]] = True
    return total
