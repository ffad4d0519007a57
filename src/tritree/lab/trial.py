"""One cell of an experiment: a method on a data set with its holes, cross-validated."""

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
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from tritree.lab.methods import fitted, spelled, versions_of
from tritree.lab.store import FoldResult, key_of
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.lab.data import Dataset
    from tritree.lab.scenarios import Amputation, Scenario

__all__ = ["Folds", "Trial", "forget", "loss_of", "run_trial"]

_SMALLEST_SHARE = 1e-15  # a class that is predicted with less costs no more


@dataclass(frozen=True, slots=True)
class Folds:
    """How rows are parted: the same way for every method, scenario and rate."""

    n: int = 10
    seed: int = 11

    def __post_init__(self) -> None:
        check_int("folds", self.n, 2)
        check_int("the seed of folds", self.seed, 0)
        for name in ("n", "seed"):  # they are part of what results are found by, however they were counted
            object.__setattr__(self, name, int(getattr(self, name)))

    def split(self, dataset: Dataset) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return for each fold the rows of training and those of the test; classes are in proportion."""
        kind = KFold if dataset.task == "regression" else StratifiedKFold
        rows = np.zeros((dataset.n_rows, 1))
        return list(kind(self.n, shuffle=True, random_state=self.seed).split(rows, dataset.y))


@dataclass(frozen=True)
class Trial:
    """All that a cell's results depend on."""

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
        """Return how training's holes are made; None if it has none. Equal ones make the same fitted methods."""
        if self.rate == 0 or self.scenario.train is None:
            return None
        return self.scenario.train, self.rate, self.seed

    @cached_property
    def spelling(self) -> str:
        """Return the method with all its parameters."""
        return spelled(self.estimator)

    def description(self) -> dict[str, Any]:
        """Return the cell as plain data: what makes no difference is left out, so that it is looked up only once."""
        holes = [
            None if self.rate == 0 or part is None else part.to_dict()
            for part in (self.scenario.train, self.scenario.test)
        ]
        return {
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "train": holes[0],
            "test": holes[1],
            "rate": self.rate,
            "method": self.spelling,
            "seed": self.seed if any(holes) else None,
            "folds": asdict(self.folds),
            "versions": versions_of(self.estimator),
        }

    @cached_property
    def key(self) -> str:
        """Return what tells the cell from all others; what its data set is called makes no difference."""
        return key_of({name: part for name, part in self.description().items() if name != "dataset"})


def run_trial(trial: Trial, source: Dataset | str) -> list[FoldResult]:
    """Return the results of a cell, fold by fold; the data set is given, or the name of a file that has it."""
    dataset = _loaded(source) if isinstance(source, str) else source
    for_training, for_test = _tables(source, trial.scenario, trial.rate, trial.seed)
    results = []
    for fold, (train, test) in enumerate(_parted(source, trial.folds)):
        begin = time.perf_counter()
        model = _fitted(trial, source, fold, for_training, train)
        fitted = time.perf_counter()
        loss = loss_of(model, for_test.iloc[test], dataset.y[test], dataset.task, dataset.weights_of(test))
        done = time.perf_counter()
        _keep(_key(trial, fold), model)
        if math.isnan(loss):
            raise ValueError(f"what it predicts in fold {fold} is not a number")
        results.append(FoldResult(fold, loss, len(test), fitted - begin, done - fitted))
    return results


def loss_of(model: Any, X: Any, y: NDArray[Any], task: str, weights: Any = None) -> float:
    """Return the mean squared error, or the mean cross-entropy, of a fitted method on some rows, as they weigh."""
    if task == "regression":
        # some give a column, which would be held against every response
        predicted = np.asarray(model.predict(X), dtype=float).reshape(len(y))
        return float(np.average(np.square(predicted - y), weights=weights))
    shares = np.asarray(model.predict_proba(X), dtype=float)
    column = pd.Index(np.asarray(model.classes_)).get_indexer(y)
    share = np.where(
        column >= 0, shares[np.arange(len(y)), column], 0.0
    )  # of a class never seen: -1, and nothing
    return float(np.average(-np.log(np.clip(share, _SMALLEST_SHARE, 1.0)), weights=weights))


# What neighbouring cells share is kept by the process that runs them.

_MOST_BYTES = 500_000_000  # that fitted methods take together, about; and as many for tables
_CELL = 16  # bytes of a cell of the tables of training and test
_keeping = threading.Lock()  # cells may run in threads of one process


@lru_cache(maxsize=4)
def _loaded(path: str) -> Dataset:
    dataset: Dataset = joblib.load(Path(path))
    return dataset


_punched: dict[tuple[Dataset | str, Scenario, float, int], tuple[Any, Any]] = {}


def _tables(source: Dataset | str, scenario: Scenario, rate: float, seed: int) -> tuple[Any, Any]:
    dataset = _loaded(source) if isinstance(source, str) else source
    key = (source, scenario, rate, seed)
    with _keeping:
        found = _punched.pop(key, None)
    found = found or scenario.tables(dataset, rate, seed)
    with _keeping:
        _punched[key] = found  # last, so that it goes last
        while len(_punched) > 1 and len(_punched) * dataset.X.size * _CELL > _MOST_BYTES:
            del _punched[next(iter(_punched))]
    return found


@lru_cache(maxsize=4)
def _parted(source: Dataset | str, folds: Folds) -> Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    return folds.split(_loaded(source) if isinstance(source, str) else source)


_MOST_KEPT = 32  # fitted methods, which are asked again by neighbours
_Key = tuple[tuple[Any, ...], int]
_kept: dict[_Key, Any] = {}


def _key(trial: Trial, fold: int) -> _Key:
    return (trial.fingerprint, trial.spelling, trial.folds, trial.training), fold


def _fitted(trial: Trial, source: Dataset | str, fold: int, X: Any, train: NDArray[np.intp]) -> Any:
    dataset = _loaded(source) if isinstance(source, str) else source
    kept = _kept.get(_key(trial, fold))
    if kept is not None:
        return kept
    weights = dataset.weights_of(train)
    return fitted(trial.estimator, X.iloc[train], dataset.y[train], dataset.task, weights)


def _keep(key: _Key, model: Any) -> None:
    """Keep a method that has been asked, and may have grown, for the next cell, if there is room.

    What other methods have left goes first. Folds come round in turn, so that those which are kept already will be
    wanted before this one.
    """
    with _keeping:
        _kept[key] = model
        while len(_kept) > _MOST_KEPT or sum(map(_size, _kept.values())) > _MOST_BYTES:
            del _kept[next((other for other in _kept if other[0] != key[0]), key)]


def _size(model: Any) -> int:
    """Return about how many bytes the nodes of a fitted method take, if it is one of ours; measured on digits.

    A node of a tree has a ladder, with a rung for each column, and so has one of a forest once it was opened; those of
    boosting have none.
    """
    per_node = 100 if hasattr(model, "background_rows") else 45 * getattr(model, "n_features_in_", 0)
    return int(getattr(model, "n_nodes_", 0)) * per_node


def forget() -> None:
    """Let go of what this process keeps for the next cell."""
    with _keeping:
        _kept.clear()
        _punched.clear()
    for kept in (_loaded, _parted):
        kept.cache_clear()
