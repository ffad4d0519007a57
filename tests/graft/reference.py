"""Plain traversal of the trees of other libraries, a row and a node at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.graft.source import SourceColumn, SourceModel, SourceTree


def raw_predictions(model: SourceModel, rows: Any) -> NDArray[np.float64]:
    """Return the sums over trees as the source has them, of shape (n_rows, n_outputs).

    Cells of numeric columns are numbers, those of categorical columns codes, with -1 for an unknown category. NaN is
    missing.
    """
    table = np.asarray(rows, np.float64)
    sums = np.tile(np.asarray(model.baseline, np.float64), (len(table), 1))
    for number, tree in enumerate(model.trees):
        for i, row in enumerate(table):
            sums[i, number % model.n_outputs] += tree.value[leaf_of(tree, row, model.columns)]
    return sums


def leaf_of(tree: SourceTree, row: NDArray[np.float64], columns: list[SourceColumn]) -> int:
    """Return the leaf that the source sends a row to."""
    node = 0
    while tree.column[node] >= 0:
        column = int(tree.column[node])
        goes_left = _goes_left(tree, node, float(row[column]), columns[column])
        node = int((tree.left if goes_left else tree.right)[node])
    return node


def _goes_left(tree: SourceTree, node: int, cell: float, column: SourceColumn) -> bool:
    if np.isnan(cell) or (column.zero_is_missing and abs(cell) <= float(np.float32(1e-35))):
        return bool(tree.missing_left[node])
    if node not in tree.left_categories:
        return bool(cell < tree.threshold[node])
    if cell < 0:
        return bool(tree.unknown_left[node])
    return int(cell) in tree.left_categories[node]


def one_ulp(model: SourceModel, rows: Any) -> NDArray[np.float64]:
    """Return how far sums of float32 or another order of the trees may be from `raw_predictions`.

    It is one float32 ulp of the largest partial sum of each row and output.
    """
    table = np.asarray(rows, np.float64)
    sums = np.tile(np.asarray(model.baseline, np.float64), (len(table), 1))
    largest = np.abs(sums)
    for number, tree in enumerate(model.trees):
        output = number % model.n_outputs
        for i, row in enumerate(table):
            sums[i, output] += tree.value[leaf_of(tree, row, model.columns)]
        largest[:, output] = np.maximum(largest[:, output], np.abs(sums[:, output]))
    return np.spacing(np.maximum(largest, np.finfo(np.float32).tiny).astype(np.float32)).astype(np.float64)
