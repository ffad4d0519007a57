"""What each column has moved in the mean over the trees of a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.inspection.moves import made_exact, usual_size
from tritree.inspection.walk import Walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.estimators.growing_model import ForestModel
    from tritree.inspection.arrays import TreeArrays
    from tritree.inspection.moves import Moves

__all__ = ["add_up"]

_MOST_PARTS = 2**20  # of rows that are led down at once: bounds the memory


def add_up(
    model: ForestModel, columns: _core.Columns, chosen: NDArray[np.intp], total: NDArray[np.float64]
) -> Moves:
    """Return what each column has moved in the mean of the class that is chosen for each row, given these means.

    The trees are grown as far as the rows need. Where there are no classes, 0 is chosen.
    """
    n_columns, n_outputs = model.cores[0].n_columns, model.n_outputs
    moved, asked = np.zeros((len(chosen), n_columns)), np.zeros((len(chosen), n_columns), np.int32)
    start, usual = np.zeros(n_outputs), np.zeros(n_outputs)
    for core in model.cores:
        tree = core.tree()
        start += tree.value[0]
        usual += usual_size(tree, len(tree.column) - core.n_grown)
        asked += _follow(tree, columns, chosen, moved)
    n = model.n_trees
    return made_exact(total, start[chosen] / n, moved / n, asked, usual[chosen] / n)


def _follow(
    tree: TreeArrays, columns: _core.Columns, chosen: NDArray[np.intp], moved: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Add to ``moved`` what each turn of the rows has added; return the columns that were asked."""
    asked, cells, walk = np.zeros(moved.shape, dtype=bool), moved.reshape(-1), Walk(tree, columns)
    for rows in walk.blocks(len(chosen), _MOST_PARTS):
        for turns in walk.turns(rows):
            number = chosen[turns.row]
            step = turns.share * (tree.value[turns.to, number] - tree.value[turns.node, number])
            # parts of a row may come to the same column side by side
            np.add.at(cells, turns.row * moved.shape[1] + turns.decided_by, step)
            asked[turns.row, tree.column[turns.node]] = True
            asked[turns.row, turns.decided_by] = True
    return asked
