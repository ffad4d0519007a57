"""The depth of trees: as it was given, or tuned as the paper did."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tritree.lab.methods import spelled, versions_of
from tritree.lab.trial import loss_of
from tritree.progress import bar
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tritree.lab.data import Dataset
    from tritree.lab.methods import Methods
    from tritree.lab.store import Store
    from tritree.lab.trial import Folds

__all__ = ["DEEPEST", "TUNED", "given_depths", "loss_without_holes", "tuned_depth", "tuned_depths"]

#: What stands for a depth that is yet to be tuned.
TUNED = "tuned"
#: The depth at which tuning ends.
DEEPEST = 5


def given_depths(depth: Any, datasets: Iterable[Dataset]) -> dict[str, Any]:
    """Return the depth that was given for each data set: a number, None for no limit, or "tuned"."""
    given = {one.name: depth.get(one.name, TUNED) if hasattr(depth, "get") else depth for one in datasets}
    for name, found in given.items():
        if found != TUNED:
            check_int("depth", found, 0, or_none="no limit")
            given[name] = None if found is None else int(found)
    return given


def tuned_depths(
    datasets: Iterable[Dataset], methods: Methods, folds: Folds, store: Store, *, shown: bool = False
) -> dict[str, int]:
    """Return the tuned depths of data sets by their fingerprints; those that the store has are not tuned again."""
    by_fingerprint = {dataset.fingerprint: dataset for dataset in datasets}
    descriptions = {name: _described(dataset, methods, folds) for name, dataset in by_fingerprint.items()}
    depths = {name: store.depth(description) for name, description in descriptions.items()}
    waiting = [name for name, depth in depths.items() if depth is None]
    total = len(waiting) * (DEEPEST + 1) * folds.n
    with bar(total, "trees to tune the depth", shown=shown and total > 0) as done:
        for name in waiting:
            depths[name] = depth = tuned_depth(by_fingerprint[name], methods, folds, done)
            store.put_depth(descriptions[name], depth)
    return {name: depth for name, depth in depths.items() if depth is not None}


def _described(dataset: Dataset, methods: Methods, folds: Folds) -> dict[str, Any]:
    """Return all that a tuned depth depends on."""
    tree = methods.tree("majority", dataset.task, DEEPEST)
    return {
        "fingerprint": dataset.fingerprint,
        "method": spelled(tree),
        "folds": asdict(folds),
        "versions": versions_of(tree),
    }


def tuned_depth(
    dataset: Dataset, methods: Methods, folds: Folds, done: Callable[[], None] = lambda: None
) -> int:
    """Return the depth at which the loss of a majority tree on the complete data set stops falling, at most 5.

    ``done`` is called once for each tree of each depth, also of those that need not be grown.
    """
    best = loss_without_holes(dataset, methods, folds, 0, done)
    for depth in range(1, DEEPEST + 1):
        deeper = loss_without_holes(dataset, methods, folds, depth, done)
        if deeper >= best:
            for _ in range((DEEPEST - depth) * folds.n):
                done()
            return depth - 1
        best = deeper
    return DEEPEST


def loss_without_holes(
    dataset: Dataset, methods: Methods, folds: Folds, depth: int, done: Callable[[], None] = lambda: None
) -> float:
    """Return the cross-validated loss, over all rows, of a majority tree on the complete data set."""
    total = 0.0
    for train, test in folds.split(dataset):
        tree = methods.tree("majority", dataset.task, depth)
        tree.fit(dataset.X.iloc[train], dataset.y[train], dataset.weights_of(train))
        of_test = dataset.X.iloc[test], dataset.y[test], dataset.task, dataset.weights_of(test)
        total += loss_of(tree, *of_test) * len(test)
        done()
    return total / dataset.n_rows
