"""Predictions depend neither on threads nor on the order of rows, and copies predict the same."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from boosting.tables import DIABETES, QUICK
from models import with_missing

from tritree import (
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
)
from tritree.validation import BOOSTING_STRATEGIES

pytestmark = pytest.mark.threads


@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_threads_and_the_order_of_rows_to_predict_change_nothing(missing: str) -> None:
    X, y = DIABETES
    X, Z = with_missing(X, 0.1, seed=0), with_missing(X, 0.5, 1)
    one = TrinaryBoostingRegressor(missing=missing, n_jobs=1, subsample=0.8, max_features=0.5, **QUICK).fit(
        X, y
    )
    two = TrinaryBoostingRegressor(missing=missing, n_jobs=2, subsample=0.8, max_features=0.5, **QUICK).fit(
        X, y
    )
    expected = one.predict(Z)
    one_by_one = np.concatenate([two.predict(Z[i : i + 1]) for i in range(len(Z) - 1, -1, -1)])[::-1]
    np.testing.assert_array_equal(one_by_one, expected)


@pytest.mark.parametrize("is_classes", [False, True])
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary", "mia", "majority"])
def test_many_rows_give_the_same_predictions_with_one_two_and_three_threads(
    missing: str, is_classes: bool
) -> None:
    # histograms and partitions of a node use blocks of 4,096 to 65,536 rows: fewer rows are the work of one thread
    random = np.random.default_rng(0)
    X = random.normal(size=(70_000, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X))
    X, Z = with_missing(X, 0.2, seed=0), with_missing(X, 0.5, 1)
    parameters = {"missing": missing, "max_iter": 5, "max_features": 0.5, "random_state": 0}

    def predictions(n_jobs: int) -> list[np.ndarray]:
        if is_classes:
            model = TrinaryBoostingClassifier(n_jobs=n_jobs, **parameters).fit(X, y > 0)
            return [model.predict_proba(rows) for rows in (X, Z)]
        model = TrinaryBoostingRegressor(n_jobs=n_jobs, **parameters).fit(X, y)
        return [model.predict(rows) for rows in (X, Z)]

    one, two, three = (predictions(n_jobs) for n_jobs in (1, 2, 3))
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(three, one)


def test_many_threads_may_predict_at_once() -> None:
    model, other = (TrinaryBoostingRegressor(**QUICK).fit(*DIABETES) for _ in range(2))
    Z = with_missing(DIABETES[0], 0.4, seed=0)
    expected = other.predict(Z)
    found: dict[int, np.ndarray] = {}

    def predict(number: int) -> None:
        order = np.random.default_rng(number).permutation(len(Z))
        found[number] = model.predict(Z[order])[np.argsort(order)]

    threads = [threading.Thread(target=predict, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for predictions in found.values():
        np.testing.assert_array_equal(predictions, expected)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_predict_and_grow_alike(again: Any) -> None:
    X, y = DIABETES
    Z = with_missing(X, 0.4, seed=0)
    model = TrinaryBoostingRegressor(monotonic_cst=[0, 0, 1] + [0] * 7, **QUICK).fit(X, y)
    model.predict(Z[:50])  # grows some of the branches
    other = again(model)
    assert other.n_grown_ == model.n_grown_
    np.testing.assert_array_equal(other.predict(Z), model.predict(Z))


def test_wide_rows_give_the_same_predictions_with_one_two_and_three_threads() -> None:
    # 64 columns are a task of their own; three threads share the rows of two such tasks as well
    random = np.random.default_rng(0)
    X = random.normal(size=(9_000, 100)).astype(np.float32)
    y = X[:, 0] + X[:, 50] * X[:, 99] + random.normal(size=len(X))

    def predictions(n_jobs: int) -> np.ndarray:
        return TrinaryBoostingRegressor(max_iter=3, random_state=0, n_jobs=n_jobs).fit(X, y).predict(X)

    one, two, three = (predictions(n_jobs) for n_jobs in (1, 2, 3))
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(three, one)
