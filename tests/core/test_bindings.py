"""The core checks every size, range and dtype that it is given; nothing reads beyond an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tritree import TrinaryBoostingClassifier, TrinaryForestRegressor, TrinaryTreeRegressor, _core

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + X[:, 1]
CLASSES = np.digitize(Y, [-0.5, 0.5])
COLUMNS = [X[:, j].copy() for j in range(3)]
NAN, INF = float("nan"), float("inf")
HUGE = 2**63


def array(*values: int, dtype: Any = np.int32) -> Any:
    return np.array(values, dtype=dtype)


def binned(columns: Any = COLUMNS, n_categories: Any = (-1, -1, -1), max_bins: int = 255) -> Any:
    return _core.BinnedColumns(columns, list(n_categories), max_bins, 1)


def parameters(**changed: Any) -> Any:
    return _core.GrowthParameters(**({"missing": "trinary", "max_depth": 3, "min_samples_leaf": 2} | changed))


def ladder_model(y: Any = Y, weight: Any = None, **changed: Any) -> Any:
    return _core.LadderModel(binned(), y, weight, parameters(**changed))


def boosted_model(*baseline: float) -> Any:
    return _core.BoostedModel(binned(), parameters(), list(baseline))


def booster(model: Any = None, **changed: Any) -> Any:
    arguments = {
        "binned": binned(),
        "model": model or boosted_model(0.0),
        "loss": "squared_error",
        "quantile": 0.5,
        "y": Y,
        "weight": None,
        "learning_rate": 0.1,
        "subsample": 1.0,
        "n_threads": 1,
    }
    return _core.Booster(**(arguments | changed))


def resume(columns: Any = COLUMNS, raw: Any = None) -> Any:
    raw = np.zeros(200) if raw is None else raw
    return _core.Booster.resume(columns, raw, boosted_model(0.0), "squared_error", 0.5, Y, None, 0.1, 1.0, 1)


def tree() -> Any:
    return TrinaryTreeRegressor(max_depth=3).fit(X, Y)._model.core


def forest() -> Any:
    return TrinaryForestRegressor(n_estimators=3).fit(X, Y)._model.core


def three_classes() -> Any:
    return TrinaryBoostingClassifier(max_iter=3).fit(X, CLASSES)._model.core


REFUSED = {
    "iterations in reverse": lambda: three_classes().predict(COLUMNS, 200, 2, 1, 1),
    "iterations that overflow with three outputs": lambda: three_classes().predict(COLUMNS, 200, 1, HUGE, 1),
    "more iterations than there are": lambda: forest().predict(COLUMNS, 200, 0, 4, 1),
    "more rows than memory, tree": lambda: tree().predict([None] * 3, 2**61, 0, 1, 1),
    "more rows than memory, boosting": lambda: three_classes().predict([None] * 3, 2**61, 0, 1, 1),
    "more rows than memory, apply": lambda: three_classes().apply([None] * 3, 2**61, 1),
    "rows that the columns do not have": lambda: tree().predict(COLUMNS, 201, 0, 1, 1),
    "too few columns": lambda: tree().predict(COLUMNS[:2], 200, 0, 1, 1),
    "columns that are no arrays": lambda: tree().predict("abc", 3, 0, 1, 1),
    "columns of integers": lambda: tree().predict([array(*range(200), dtype=np.int64)] * 3, 200, 0, 1, 1),
    "unaligned column": lambda: tree().predict(
        [np.ndarray((9,), np.float64, buffer=bytearray(73), offset=1)] * 3, 9, 0, 1, 1
    ),
    "column without a dimension": lambda: binned([np.array(1.0)], [-1]),
    "column of two dimensions": lambda: binned([np.zeros((3, 3))], [-1]),
    "absent training column": lambda: binned([None], [-1]),
    "categories of other columns": lambda: binned([np.zeros(3)], [-1, 2]),
    "category out of range": lambda: binned([array(0, 5)], [3]),
    "more categories than bins": lambda: binned([array(0, 1)], [2**40]),
    "numbers as categories": lambda: binned([np.zeros(3)], [2]),
    "unknown strategy": lambda: parameters(missing="guess"),
    "criterion of the other task": lambda: parameters(criterion="gini"),
    "max_features of NaN": lambda: parameters(max_features=NAN),
    "infinite l2": lambda: parameters(l2=INF),
    "target of another length": lambda: ladder_model(Y[:10].copy()),
    "target of NaN": lambda: ladder_model(np.full(200, NAN)),
    "class out of range": lambda: ladder_model(np.full(200, 2, np.int32), criterion="gini", n_classes=2),
    "target of the wrong dtype": lambda: ladder_model(np.full(200, "a")),
    "infinite weight": lambda: ladder_model(weight=np.full(200, INF)),
    "negative weight": lambda: ladder_model(weight=np.full(200, -1.0)),
    "no weight": lambda: ladder_model(weight=np.zeros(200)),
    "weights without rows": lambda: ladder_model(weight=np.zeros(0)),
    "sampled row out of range": lambda: ladder_model().add_trees([1], [array(200, dtype=np.uint32)], 1),
    "sampled rows out of order": lambda: ladder_model().add_trees([1], [array(2, 1, dtype=np.uint32)], 1),
    "no sampled rows": lambda: ladder_model().add_trees([1], [array(dtype=np.uint32)], 1),
    "fewer samples than seeds": lambda: ladder_model().add_trees([1, 2], [array(1, dtype=np.uint32)], 1),
    "distribution of no node": lambda: tree().target_distribution(0, array(-1)),
    "distribution of no tree": lambda: tree().target_distribution(HUGE, array(0)),
    "no such tree": lambda: forest().tree(HUGE),
    "copy of no tree": lambda: forest().copy_of_tree(3),
    "branch of no node": lambda: tree().grow_branches(0, array(99_999), array(2), 5, 1),
    "unknown branch": lambda: tree().grow_branches(0, array(0), array(4), 5, 1),
    "negative number of nodes": lambda: tree().grow_branches(0, array(0), array(2), -5, 1),
    "no outputs": lambda: boosted_model(),
    "baseline of NaN": lambda: boosted_model(NAN),
    "constraints of other columns": lambda: _core.BoostedModel(binned(), parameters(monotonic=[1]), [0.0]),
    "no background rows": lambda: boosted_model(0.0).keep_background(binned(), None, 0, 1),
    "negative background weights": lambda: boosted_model(0.0).keep_background(
        binned(), np.full(200, -1.0), 9, 1
    ),
    "background of other bins": lambda: boosted_model(0.0).keep_background(binned(max_bins=9), None, 9, 1),
    "rows of other bins": lambda: booster(binned=binned(max_bins=9)),
    "rows of other columns": lambda: booster(binned=binned([array(*[0] * 200)] * 3, [3] * 3)),
    "unknown loss": lambda: booster(loss="hinge"),
    "softmax of one output": lambda: booster(loss="softmax"),
    "squared error of two outputs": lambda: booster(boosted_model(0.0, 0.0)),
    "class beyond the outputs": lambda: booster(
        boosted_model(0.0, 0.0, 0.0), loss="softmax", y=np.full(200, 3.0)
    ),
    "class that is no integer": lambda: booster(loss="log_loss", y=np.full(200, 0.5)),
    "negative count": lambda: booster(loss="poisson", y=np.full(200, -1.0)),
    "gamma target of zero": lambda: booster(loss="gamma", y=np.zeros(200)),
    "quantile of NaN": lambda: booster(loss="quantile", quantile=NAN),
    "learning rate of NaN": lambda: booster(learning_rate=NAN),
    "subsample above 1": lambda: booster(subsample=1e300),
    "subsample of NaN": lambda: booster(subsample=NAN),
    "boosting target of NaN": lambda: booster(y=np.full(200, NAN)),
    "boosting weights of infinity": lambda: booster(weight=np.full(200, INF)),
    "boosting weights of another length": lambda: booster(weight=np.ones(9)),
    "raw predictions of another length": lambda: resume(raw=np.zeros(9)),
    "raw predictions of infinity": lambda: resume(raw=np.full(200, INF)),
    "too few columns to continue with": lambda: resume(COLUMNS[:2]),
    "path of a row that is not there": lambda: (
        tree().tree(0).decision_paths(COLUMNS, 200, array(200, dtype=np.int64))
    ),
    "paths without columns": lambda: tree().tree(0).decision_paths([], 200, array(0, dtype=np.int64)),
    "state without entries": lambda: _core.LadderModel.from_state({}),
    "boosted state without entries": lambda: _core.BoostedModel.from_state({"params": {}}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_core_refuses(case: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError, MemoryError)):
        REFUSED[case]()


@pytest.mark.parametrize("n_threads", [-5, 0, 2**31 - 1])
def test_any_number_of_threads_will_do(n_threads: int) -> None:
    for core in (tree(), forest(), three_classes()):
        n = core.n_iterations
        expected = core.predict(COLUMNS, 200, 0, n, 1)[0]
        assert np.array_equal(core.predict(COLUMNS, 200, 0, n, n_threads)[0], expected)


def test_columns_of_another_type_than_in_training_are_read_within_their_bounds() -> None:
    for core in (tree(), three_classes()):
        found, _ = core.predict([np.zeros(200, np.int32)] * 3, 200, 0, 1, 1)
        assert np.isfinite(found).all()


def test_keeping_more_iterations_than_there_are_keeps_all() -> None:
    core = three_classes()
    core.keep_iterations(HUGE)
    assert core.n_iterations == 3
