"""Cross-validation: trials of an experiment, and the depth of single trees, tuned as in the paper."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tritree.lab.identity import canonical_repr, package_versions
from tritree.lab.methods import fit_estimator
from tritree.lab.store import FoldResult, key_of
from tritree.metrics import mean_loss, predictions
from tritree.progress import bar
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tritree.lab.dataset import Dataset
    from tritree.lab.methods import Methods
    from tritree.lab.scenarios import Amputation, Scenario
    from tritree.lab.store import Store

    Split = tuple[NDArray[np.intp], NDArray[np.intp]]

#: Stands for a depth that is to be tuned.
TUNED = "tuned"
#: Maximum depth that is tried.
MAX_TUNED_DEPTH = 5
#: Metric of classification that is stored beside those of `tritree.metrics.METRICS`.
CALIBRATION = "expected_calibration_error"


@dataclass(frozen=True, slots=True)
class Folds:
    """K-fold cross-validation: number of folds and seed of the shuffle, the same for all methods and scenarios."""

    n: int = 10
    seed: int = 11

    def __post_init__(self) -> None:
        check_int("folds", self.n, 2)
        check_int("the seed of folds", self.seed, 0)
        for name in ("n", "seed"):  # part of the key of results, so NumPy's integers must not differ
            object.__setattr__(self, name, int(getattr(self, name)))

    def split(self, dataset: Dataset) -> list[Split]:
        """Return the training and test rows of each fold, stratified by class."""
        splitter = KFold if dataset.task == "regression" else StratifiedKFold
        rows = np.zeros((dataset.n_rows, 1))
        return list(splitter(self.n, shuffle=True, random_state=self.seed).split(rows, dataset.y))


@dataclass(frozen=True)
class Trial:
    """Everything that results depend on: one method on one data set, scenario, missing rate and seed."""

    dataset: str
    fingerprint: str
    task: str
    scenario: Scenario
    rate: float
    method: str
    estimator: Any
    seed: int
    folds: Folds

    @property
    def training(self) -> tuple[Amputation, float, int] | None:
        """Return how training rows are amputed, or None; trials with equal ones share the fitted methods."""
        if self.rate == 0 or self.scenario.train is None:
            return None
        return self.scenario.train, self.rate, self.seed

    @cached_property
    def estimator_repr(self) -> str:
        """Return the estimator with all its parameters."""
        return canonical_repr(self.estimator)

    def description(self) -> dict[str, Any]:
        """Return the trial as plain data, without what does not affect the results, such as the seed at rate 0."""
        train, test = (
            amputation.to_dict() if amputation and self.rate > 0 else None
            for amputation in (self.scenario.train, self.scenario.test)
        )
        return {
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "train": train,
            "test": test,
            "rate": self.rate,
            "method": self.estimator_repr,
            "seed": self.seed if train or test else None,
            "folds": asdict(self.folds),
            "versions": package_versions(self.estimator),
        }

    @cached_property
    def key(self) -> str:
        """Return the key of the results; it does not depend on the name of the data set."""
        return key_of({name: part for name, part in self.description().items() if name != "dataset"})


def run_trial(trial: Trial, source: Dataset | str) -> list[FoldResult]:
    """Return the results of the folds; ``source`` is the data set or the path of its pickle."""
    dataset = _load(source)
    X_train, X_test = _amputed_tables(trial, source)
    results = []
    for fold, (train, test) in enumerate(_split(source, trial.folds)):
        begin = time.perf_counter()
        key = (trial.fingerprint, trial.estimator_repr, trial.folds, trial.training), fold
        model = _models.get(key)
        if model is None:
            rows = X_train.iloc[train], dataset.y[train], dataset.task, dataset.weights_of(train)
            model = fit_estimator(trial.estimator, *rows)
        fitted = time.perf_counter()
        found = predictions(model, X_test.iloc[test], dataset.task)
        predicted = time.perf_counter()
        _keep_model(key, model)
        of_test = dataset.y[test], dataset.weights_of(test)
        loss = found.loss(*of_test)
        if math.isnan(loss):
            raise ValueError(f"predictions in fold {fold} are not numbers")
        seconds = fitted - begin, predicted - fitted
        metrics = found.metrics(*of_test)
        if trial.task == "classification":
            metrics[CALIBRATION] = found.calibration_error(*of_test)
        results.append(FoldResult(fold, loss, len(test), *seconds, metrics))
    return results


def tune_depths(
    datasets: Iterable[Dataset], methods: Methods, folds: Folds, store: Store, *, shown: bool = False
) -> dict[str, int]:
    """Return the tuned depths by fingerprint of the data set, from the store if they are there."""
    depths, waiting = {}, {}
    for dataset in datasets:
        tree = methods.tree("majority", dataset.task, MAX_TUNED_DEPTH)
        description = {  # everything that a tuned depth depends on
            "fingerprint": dataset.fingerprint,
            "method": canonical_repr(tree),
            "folds": asdict(folds),
            "versions": package_versions(tree),
        }
        stored = store.depth(description)
        if stored is None:
            waiting[dataset.fingerprint] = dataset, description
        else:
            depths[dataset.fingerprint] = stored
    total = len(waiting) * (MAX_TUNED_DEPTH + 1) * folds.n
    with bar(total, "trees to tune the depth", shown=shown and total > 0) as done:
        for key, (dataset, description) in waiting.items():
            depths[key] = tune_depth(dataset, methods, folds, done)
            store.put_depth(description, depths[key])
    return depths


def tune_depth(dataset: Dataset, methods: Methods, folds: Folds, done: Callable[[], None]) -> int:
    """Return the depth at which the loss of a majority tree on the complete data set stops falling, at most 5.

    ``done`` is called for each depth and fold, also for those that need not be fitted.
    """
    best = math.inf
    for depth in range(MAX_TUNED_DEPTH + 1):
        total = 0.0
        for train, test in folds.split(dataset):
            tree = methods.tree("majority", dataset.task, depth)
            tree.fit(dataset.X.iloc[train], dataset.y[train], dataset.weights_of(train))
            rows = dataset.X.iloc[test], dataset.y[test], dataset.task, dataset.weights_of(test)
            total += mean_loss(tree, *rows) * len(test)
            done()
        loss = total / dataset.n_rows
        if depth and loss >= best:
            for _ in range((MAX_TUNED_DEPTH - depth) * folds.n):
                done()
            return depth - 1
        best = loss
    return MAX_TUNED_DEPTH


# Caches of a worker process, for consecutive trials that share a data set, a table or a fitted method

_MAX_BYTES = 500_000_000  # of the fitted methods, about; and of the tables
_CELL_BYTES = 16  # of a table for training and one for the test
_MAX_MODELS = 32
_lock = threading.Lock()  # trials may run in threads of one process

_ModelKey = tuple[tuple[Any, ...], int]
_tables: dict[tuple[Dataset | str, Scenario, float, int], tuple[Any, Any]] = {}
_models: dict[_ModelKey, Any] = {}


def clear_caches() -> None:
    """Free what this process has cached for further trials."""
    with _lock:
        _models.clear()
        _tables.clear()
    for cached in (_read, _split):
        cached.cache_clear()


def _load(source: Dataset | str) -> Dataset:
    return _read(source) if isinstance(source, str) else source


@lru_cache(maxsize=4)
def _read(path: str) -> Dataset:
    dataset: Dataset = joblib.load(Path(path))
    return dataset


@lru_cache(maxsize=4)
def _split(source: Dataset | str, folds: Folds) -> Sequence[Split]:
    return folds.split(_load(source))


def _amputed_tables(trial: Trial, source: Dataset | str) -> tuple[Any, Any]:
    dataset = _load(source)
    key = (source, trial.scenario, trial.rate, trial.seed)
    with _lock:
        tables = _tables.pop(key, None)
    tables = tables or trial.scenario.tables(dataset, trial.rate, trial.seed)
    with _lock:
        _tables[key] = tables  # the most recently used is last
        while len(_tables) > 1 and len(_tables) * dataset.X.size * _CELL_BYTES > _MAX_BYTES:
            del _tables[next(iter(_tables))]
    return tables


def _keep_model(key: _ModelKey, model: Any) -> None:
    """Cache a fitted method, which may have grown while predicting, if there is room.

    Models of other methods are evicted first, then this one: the folds come in a fixed order, so those that are cached
    are needed before it.
    """
    with _lock:
        _models[key] = model
        while len(_models) > _MAX_MODELS or sum(map(_size, _models.values())) > _MAX_BYTES:
            del _models[next((other for other in _models if other[0] != key[0]), key)]


def _size(model: Any) -> int:
    """Return the approximate size in bytes of a model of tritree (measured on digits), 0 for others.

    A node of a tree or a forest may hold a ladder with a split per column; those of boosting do not.
    """
    per_node = 100 if hasattr(model, "background_rows") else 45 * getattr(model, "n_features_in_", 0)
    return int(getattr(model, "n_nodes_", 0)) * per_node
