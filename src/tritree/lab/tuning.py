"""Maximum depth of single trees: as specified, or tuned by cross-validation as in the paper."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tritree.lab.identity import canonical_repr, package_versions
from tritree.lab.trial import mean_loss
from tritree.progress import bar
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tritree.lab.dataset import Dataset
    from tritree.lab.methods import Methods
    from tritree.lab.store import Store
    from tritree.lab.trial import Folds

#: Stands for a depth that is to be tuned.
TUNED = "tuned"
#: Maximum depth that is tried.
MAX_TUNED_DEPTH = 5


def specified_depths(max_depth: Any, datasets: Iterable[Dataset]) -> dict[str, Any]:
    """Return the depth specified for each data set: an int, None for no limit, or "tuned"."""
    depths = {
        dataset.name: max_depth.get(dataset.name, TUNED) if hasattr(max_depth, "get") else max_depth
        for dataset in datasets
    }
    for name, depth in depths.items():
        if depth != TUNED:
            check_int("max_depth", depth, 0, or_none="no limit")
            depths[name] = None if depth is None else int(depth)
    return depths


def tune_depths(
    datasets: Iterable[Dataset], methods: Methods, folds: Folds, store: Store, *, shown: bool = False
) -> dict[str, int]:
    """Return the tuned depths by fingerprint of the data set, from the store if they are there."""
    by_fingerprint = {dataset.fingerprint: dataset for dataset in datasets}
    descriptions = {key: _describe(dataset, methods, folds) for key, dataset in by_fingerprint.items()}
    stored = {key: store.depth(description) for key, description in descriptions.items()}
    depths = {key: depth for key, depth in stored.items() if depth is not None}
    waiting = [key for key in stored if key not in depths]
    total = len(waiting) * (MAX_TUNED_DEPTH + 1) * folds.n
    with bar(total, "trees to tune the depth", shown=shown and total > 0) as done:
        for key in waiting:
            depths[key] = tune_depth(by_fingerprint[key], methods, folds, done)
            store.put_depth(descriptions[key], depths[key])
    return depths


def _describe(dataset: Dataset, methods: Methods, folds: Folds) -> dict[str, Any]:
    """Return everything that a tuned depth depends on."""
    tree = methods.tree("majority", dataset.task, MAX_TUNED_DEPTH)
    return {
        "fingerprint": dataset.fingerprint,
        "method": canonical_repr(tree),
        "folds": asdict(folds),
        "versions": package_versions(tree),
    }


def tune_depth(
    dataset: Dataset, methods: Methods, folds: Folds, done: Callable[[], None] = lambda: None
) -> int:
    """Return the depth at which the loss of a majority tree on the complete data set stops falling, at most 5.

    ``done`` is called for each depth and fold, also for those that need not be fitted.
    """
    best = _complete_loss(dataset, methods, folds, 0, done)
    for depth in range(1, MAX_TUNED_DEPTH + 1):
        loss = _complete_loss(dataset, methods, folds, depth, done)
        if loss >= best:
            for _ in range((MAX_TUNED_DEPTH - depth) * folds.n):
                done()
            return depth - 1
        best = loss
    return MAX_TUNED_DEPTH


def _complete_loss(
    dataset: Dataset, methods: Methods, folds: Folds, depth: int, done: Callable[[], None] = lambda: None
) -> float:
    """Return the cross-validated loss of a majority tree on the complete data set."""
    total = 0.0
    for train, test in folds.split(dataset):
        tree = methods.tree("majority", dataset.task, depth)
        tree.fit(dataset.X.iloc[train], dataset.y[train], dataset.weights_of(train))
        rows = dataset.X.iloc[test], dataset.y[test], dataset.task, dataset.weights_of(test)
        total += mean_loss(tree, *rows) * len(test)
        done()
    return total / dataset.n_rows
