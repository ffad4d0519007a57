"""The depth of trees, tuned as the paper did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritree.lab.trial import loss_of

if TYPE_CHECKING:
    from tritree.lab.data import Dataset
    from tritree.lab.methods import Methods
    from tritree.lab.trial import Folds

__all__ = ["DEEPEST", "loss_without_holes", "tuned_depth"]

#: The depth at which tuning ends.
DEEPEST = 5


def tuned_depth(dataset: Dataset, methods: Methods, folds: Folds) -> int:
    """Return the depth at which the loss of a majority tree on the complete data set stops falling, at most 5."""
    best = loss_without_holes(dataset, methods, folds, 0)
    for depth in range(1, DEEPEST + 1):
        deeper = loss_without_holes(dataset, methods, folds, depth)
        if deeper >= best:
            return depth - 1
        best = deeper
    return DEEPEST


def loss_without_holes(dataset: Dataset, methods: Methods, folds: Folds, depth: int) -> float:
    """Return the cross-validated loss, over all rows, of a majority tree on the complete data set."""
    total = 0.0
    for train, test in folds.split(dataset):
        tree = methods.tree("majority", dataset.task, depth).fit(dataset.X.iloc[train], dataset.y[train])
        total += loss_of(tree, dataset.X.iloc[test], dataset.y[test], dataset.task) * len(test)
    return total / dataset.n_rows
