"""Predictions do not depend on the order of rows and columns or on the scale of weights."""

from __future__ import annotations

import numpy as np
import pytest
from models import (
    STRATEGIES,
    TASKS,
    WITH_THIRD_BRANCHES,
    fitted,
    predictions,
    same_bits,
    simulated,
    with_missing,
)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_order_of_training_rows_changes_no_bit(missing: str) -> None:
    X, y = simulated(300, missing=0.2)
    weight = np.random.default_rng(3).exponential(size=len(y))
    order = np.random.default_rng(4).permutation(len(y))
    rows = with_missing(X, 0.3)
    original = fitted(X, y, weight, missing=missing)
    shuffled = fitted(X[order], y[order], weight[order], missing=missing)
    assert same_bits(original.predict(rows), shuffled.predict(rows))


@pytest.mark.parametrize("missing", STRATEGIES)
def test_order_of_columns_changes_no_bit_without_ties(missing: str) -> None:
    X, y = simulated(300, missing=0.2)
    weight = np.random.default_rng(3).exponential(size=len(y))  # no two surrogates agree equally often
    order = np.array([3, 0, 4, 1, 2])
    rows = with_missing(X, 0.3)
    original = fitted(X, y, weight, missing=missing)
    shuffled = fitted(X[:, order], y, weight, missing=missing)
    assert same_bits(original.predict(rows), shuffled.predict(rows[:, order]))


@pytest.mark.parametrize("factor", [2.0**-20, 0.5, 2.0**20])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_weights_times_a_power_of_two_change_no_bit(missing: str, factor: float) -> None:
    X, y = simulated(300, missing=0.2)
    weight = np.random.default_rng(3).exponential(size=len(y))
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, weight, missing=missing).predict(rows)
    assert same_bits(plain, fitted(X, y, weight * factor, missing=missing).predict(rows))


@pytest.mark.parametrize("missing", STRATEGIES)
def test_weights_times_three_change_predictions_by_rounding_only(missing: str) -> None:
    X, y = simulated(300, missing=0.2)
    weight = np.random.default_rng(3).exponential(size=len(y))
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, weight, missing=missing).predict(rows)
    np.testing.assert_allclose(
        fitted(X, y, weight * 3, missing=missing).predict(rows), plain, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("missing", STRATEGIES)
def test_weights_of_one_are_the_same_as_no_weights(missing: str) -> None:
    X, y = simulated(300, missing=0.2)
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, missing=missing).predict(rows)
    assert same_bits(plain, fitted(X, y, np.ones(len(y)), missing=missing).predict(rows))


# The other strategies determine the larger side by rows, not by weights.
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("task", TASKS)
def test_integer_weights_are_the_same_as_repeated_rows(task: str, missing: str) -> None:
    X, y = simulated(200, missing=0.2, task=task)
    times = np.random.default_rng(5).integers(1, 4, size=len(y))
    rows = with_missing(X, 0.3)
    weighted = fitted(X, y, times, missing=missing, min_samples_leaf=1)
    repeated = fitted(np.repeat(X, times, axis=0), np.repeat(y, times), missing=missing, min_samples_leaf=1)
    np.testing.assert_allclose(predictions(weighted, rows), predictions(repeated, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("far", [1e6, 1e15])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_a_row_of_zero_weight_changes_no_split_and_no_value(missing: str, far: float) -> None:
    X, y = simulated(200)
    # min_samples_leaf=1 is never active, and the row repeats another one, so it moves no threshold
    parameters = {"missing": missing, "min_samples_leaf": 1}
    without = fitted(X, y, np.ones(len(y)), **parameters).tree_
    with_weightless = fitted(
        np.vstack([X, X[:1]]), np.append(y, far), np.append(np.ones(len(y)), 0.0), **parameters
    ).tree_
    for field in ("column", "threshold", "left", "right", "third", "missing_to"):
        np.testing.assert_array_equal(getattr(with_weightless, field), getattr(without, field), err_msg=field)
    np.testing.assert_allclose(with_weightless.value, without.value, rtol=1e-12)
    np.testing.assert_allclose(with_weightless.weight, without.weight, rtol=1e-12)
    np.testing.assert_allclose(with_weightless.loss, without.loss, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_a_row_of_zero_weight_and_another_class_changes_no_split_and_no_value(criterion: str) -> None:
    X, y = simulated(200, task="classification")
    parameters = {"criterion": criterion, "min_samples_leaf": 1}
    without = fitted(X, y, np.ones(len(y)), **parameters).tree_
    weight = np.append(np.ones(len(y)), 0.0)
    with_weightless = fitted(np.vstack([X, X[:1]]), np.append(y, (y[0] + 1) % 3), weight, **parameters).tree_
    for field in ("column", "threshold", "left", "right", "third"):
        np.testing.assert_array_equal(getattr(with_weightless, field), getattr(without, field), err_msg=field)
    np.testing.assert_allclose(with_weightless.value, without.value, rtol=0, atol=1e-12)
