"""Boosted trees and their third branches equal those of the reference implementation, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.boosted_tree import GrowthParameters, Row
from reference.boosting import ReferenceBinaryBoosting, ReferenceBoosting
from reference.fractional import ReferenceFractionalBoosting
from sklearn.utils import check_random_state

import tritree.estimators.base_boosting as boosting
from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.validation import BOOSTING_STRATEGIES as STRATEGIES

WHOLE_ROWS = [
    missing for missing in STRATEGIES if missing != "fractional"
]  # a node holds all of a row, or nothing


def seed_of(random_state: int) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


def rows_of(X: np.ndarray) -> list[Row]:
    return [[None if np.isnan(v) else int(v) for v in row] for row in X]


def compare(
    X: np.ndarray,
    y: np.ndarray,
    Z: np.ndarray,
    categorical: list[bool],
    n_iterations: int = 4,
    weight: np.ndarray | None = None,
    **parameters: Any,
) -> tuple[Any, ReferenceBoosting]:
    """Check that estimator and reference give the same predictions; X holds bin numbers, each at least once.

    Where y are booleans, the predictions are log-odds.
    """
    names = {"l2_regularization": "l2", "monotonic_cst": "monotonic"}
    rules = GrowthParameters(
        n_bins=[int(np.nanmax(column)) + 1 for column in X.T],
        categorical=categorical,
        seed=seed_of(0),
        **{names.get(name, name): value for name, value in parameters.items()},
    )
    kind = ReferenceFractionalBoosting if rules.missing == "fractional" else ReferenceBoosting
    estimator: Any = TrinaryBoostingRegressor
    if y.dtype == bool:
        kind, estimator = ReferenceBinaryBoosting, TrinaryBoostingClassifier
    weights = None if weight is None else weight.tolist()
    reference = kind(rules, rows_of(X), y.astype(float).tolist(), 0.3, n_iterations, weights)
    plain: dict[str, Any] = {"l2_regularization": 0.0, "max_features": 1.0}
    model = estimator(
        max_iter=n_iterations,
        learning_rate=0.3,
        categorical_features=categorical,
        random_state=0,
        **(plain | parameters),
    ).fit(X, y, weight)
    expected = np.array([reference.predict(row) for row in rows_of(Z)])
    found = model.decision_function(Z) if y.dtype == bool else model.predict(Z)
    np.testing.assert_array_equal(found, expected)
    return model, reference


def make(
    seed: int, missing_fraction: float, n: int = 60, n_columns: int = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a training table of bins, a target and rows to predict."""
    random = np.random.default_rng(seed)
    X = random.integers(0, [6, 3, 9, 4][:n_columns], size=(n, n_columns)).astype(float)
    y = np.round(X[:, 0] * 2 - X[:, 1] ** 2 + random.normal(size=n) * 2, 2)
    Z = random.permuted(X, axis=0)
    Z[random.random(Z.shape) < 0.5] = np.nan
    X[random.random(X.shape) < missing_fraction] = np.nan
    for j, top in enumerate([6, 3, 9, 4][:n_columns]):
        X[:top, j] = np.arange(top)  # every bin occurs
    return X, y, Z


def weights_of_mean_one(seed: int, n: int, *, some_are_zero: bool = False) -> np.ndarray:
    """Return weights, of which n is a multiple of four, whose mean is 1 to the last bit."""
    some = [0.0, 0.5, 1.0, 2.5] if some_are_zero else [0.25, 0.5, 1.0, 2.25]
    return np.random.default_rng(seed).permutation(np.resize(some, n))


@pytest.mark.parametrize("missing_fraction", [0.0, 0.3])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_predictions_are_those_of_the_reference(missing: str, missing_fraction: float) -> None:
    for seed in range(3):
        X, y, Z = make(seed, missing_fraction)
        compare(X, y, Z, [False] * 4, missing=missing, max_depth=3, min_samples_leaf=5)


@pytest.mark.parametrize("missing", ["trinary_mia", "fractional"])
def test_wide_tables_are_fitted_as_by_the_reference(missing: str) -> None:
    random = np.random.default_rng(0)  # histograms are built 64 columns at a time
    X = random.integers(0, 3, size=(60, 130)).astype(float)
    y = np.round(X[:, 0] - X[:, 63] * X[:, 64] + X[:, 129] + random.normal(size=60), 2)
    X[random.random(X.shape) < 0.2] = np.nan
    X[:3] = np.arange(3)[:, None]  # every bin occurs
    compare(X, y, X[:20], [False] * 130, n_iterations=2, missing=missing, max_depth=3, min_samples_leaf=5)


@pytest.mark.parametrize("threshold", [None, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_trees_without_splits_have_the_values_of_the_reference(seed: int, threshold: float | None) -> None:
    X, y, Z = make(seed, 0.3)  # a step is halved up to 63 times, which one evaluation of the loss replaces
    y = y if threshold is None else y > threshold
    compare(X, y, Z, [False] * 4, n_iterations=80, min_samples_leaf=40)


@pytest.mark.parametrize("kinds", [[True, False, True, False], [False, True, False, True]])
@pytest.mark.parametrize("missing_fraction", [0.0, 0.3])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_categories_are_partitioned_as_by_the_reference(
    missing: str, missing_fraction: float, kinds: list[bool]
) -> None:
    for seed in range(4):
        X, y, Z = make(seed, missing_fraction)
        compare(X, y, Z, kinds, missing=missing, max_depth=3, min_samples_leaf=3)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_trees_are_fitted_to_the_rows_drawn_and_may_miss_a_category(missing: str) -> None:
    for seed in range(4):
        X, y, Z = make(seed, 0.2)
        X[:, 1] = np.where(X[:, 1] > 1, 1, X[:, 1])
        X[7, 1] = 2  # of a category with one row, most iterations see nothing
        compare(
            X,
            y,
            Z,
            [False, True, False, True],
            missing=missing,
            max_depth=3,
            min_samples_leaf=3,
            subsample=0.6,
        )


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("missing", WHOLE_ROWS)
def test_nodes_look_at_the_columns_drawn_for_their_paths(missing: str, fraction: float) -> None:
    for seed in range(3):
        X, y, Z = make(seed, 0.3)
        kinds = [False, True, False, False]
        compare(X, y, Z, kinds, missing=missing, max_depth=4, min_samples_leaf=3, max_features=fraction)


def test_third_branches_are_fitted_to_a_sample_of_the_rows() -> None:
    X, y, Z = make(1, 0.1, n=90)
    compare(X, y, Z, [False] * 4, max_depth=3, min_samples_leaf=5, third_rows=17)


@pytest.mark.parametrize("missing_fraction", [0.0, 0.3])
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary"])
def test_variance_is_that_of_the_reference(
    missing: str, missing_fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = boosting.boosting_parameters
    monkeypatch.setattr(
        boosting,
        "boosting_parameters",
        lambda *args, nonlinear_link: parameters(*args, nonlinear_link=not nonlinear_link),
    )
    X, y, Z = make(5, missing_fraction)
    model, reference = compare(
        X, y, Z, [False, True, False, False], missing=missing, max_depth=3, min_samples_leaf=4
    )
    _, variance = model._raw_predict(Z)
    expected = np.array([reference.variance(row) for row in rows_of(Z)])
    assert expected.any()
    np.testing.assert_array_equal(variance[:, 0], expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing_fraction", [0.0, 0.3])
@pytest.mark.parametrize("missing", WHOLE_ROWS)
def test_log_odds_of_two_classes_are_those_of_the_reference(
    missing: str, missing_fraction: float, weighted: bool
) -> None:
    for seed in range(2):
        X, y, Z = make(seed, missing_fraction)
        weight = weights_of_mean_one(seed, len(y)) if weighted else None
        kinds = [False, True, False, False]
        compare(X, y > 1, Z, kinds, weight=weight, missing=missing, max_depth=3, min_samples_leaf=4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary"])
def test_variance_shrinks_probabilities_of_two_classes_to_one_half(missing: str, weighted: bool) -> None:
    X, y, Z = make(6, 0.0)
    weight = weights_of_mean_one(6, len(y)) if weighted else None
    model, reference = compare(
        X, y > 1, Z, [False] * 4, weight=weight, missing=missing, max_depth=3, min_samples_leaf=4
    )
    raw, variance = (
        np.array([method(row) for row in rows_of(Z)]) for method in (reference.predict, reference.variance)
    )
    assert variance.any()
    expected = 1 / (1 + np.exp(-raw / np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0))))
    np.testing.assert_allclose(model.predict_proba(Z)[:, 1], expected, rtol=1e-12)


def test_third_branches_use_fewer_bins() -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.permutation(150), random.permutation(150) % 70, random.permutation(150) % 5])
    y = X[:, 0] / 20 - X[:, 1] / 15 + random.normal(size=150)
    Z = np.where(random.random(X.shape) < 0.4, np.nan, X)
    compare(X.astype(float), np.round(y, 3), Z, [False] * 3, n_iterations=2, max_depth=3, min_samples_leaf=5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most", [2, 3, 6])
@pytest.mark.parametrize("missing", WHOLE_ROWS)
def test_leaves_with_the_highest_gain_are_split_until_there_are_enough(
    missing: str, most: int, weighted: bool
) -> None:
    for seed in range(2):
        X, y, Z = make(seed, 0.2)
        weight = weights_of_mean_one(seed, len(y)) if weighted else None
        parameters = {"missing": missing, "max_depth": 6, "min_samples_leaf": 2, "max_leaf_nodes": most}
        model, _ = compare(X, y, Z, [False, True, False, False], weight=weight, **parameters)
        assert model.n_nodes_ - model.n_grown_ == 4 * (2 * most - 1)


def test_of_leaves_with_equal_gain_the_older_is_split() -> None:
    # below the first column both sides gain the same by the other
    X = np.array([[i, j] for i in (0, 1) for j in (0, 1) for _ in range(6)], dtype=float)
    y = 8 * X[:, 0] + X[:, 1]
    compare(X, y, X, [False] * 2, n_iterations=1, max_depth=2, min_samples_leaf=2, max_leaf_nodes=3)


def test_third_branches_may_be_deeper() -> None:
    X, y, Z = make(2, 0.1)
    compare(X, y, Z, [False] * 4, max_depth=2, min_samples_leaf=5, third_depth_extra=2)


@pytest.mark.parametrize("missing", ["trinary_mia", "fractional"])
@pytest.mark.parametrize("missing_fraction", [0.0, 0.3])
def test_monotonic_constraints_bound_values_as_in_the_reference(
    missing_fraction: float, missing: str
) -> None:
    X, y, Z = make(3, missing_fraction)
    parameters = {"max_depth": 3, "min_samples_leaf": 4, "monotonic_cst": [1, -1, 0, 1]}
    compare(X, y, Z, [False] * 4, missing=missing, **parameters)


@pytest.mark.parametrize("missing", ["trinary_mia", "fractional"])
def test_leaf_values_are_shrunk_to_zero(missing: str) -> None:
    X, y, Z = make(4, 0.2)
    parameters = {"max_depth": 3, "min_samples_leaf": 2, "l2_regularization": 3.5}
    compare(X, y, Z, [False] * 4, missing=missing, **parameters)


@pytest.mark.parametrize("kinds", [[False] * 4, [True, False, True, False]])
@pytest.mark.parametrize("missing", ["mia", "majority", "fractional"])
def test_rows_count_by_their_weights(missing: str, kinds: list[bool]) -> None:
    X, y, Z = make(5, 0.3)
    weight = np.random.default_rng(0).integers(1, 9, size=len(y)) / 4
    compare(X, y, Z, kinds, weight=weight, missing=missing, max_depth=4, min_samples_leaf=3)


@pytest.mark.parametrize("kinds", [[False] * 4, [True, False, True, False]])
@pytest.mark.parametrize("some_are_zero", [False, True])
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary"])
def test_rows_count_by_their_weights_in_third_branches(
    missing: str, some_are_zero: bool, kinds: list[bool]
) -> None:
    for seed in range(3):
        X, y, Z = make(seed, 0.3)
        weight = weights_of_mean_one(seed, len(y), some_are_zero=some_are_zero)
        compare(X, y, Z, kinds, weight=weight, missing=missing, max_depth=4, min_samples_leaf=3)


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_predictions_are_those_of_the_reference_whatever_the_table(data: st.DataObject) -> None:
    n, p = data.draw(st.integers(4, 40)), data.draw(st.integers(1, 3))
    n_bins = [data.draw(st.integers(2, 4)) for _ in range(p)]
    cells = st.one_of(st.none(), st.integers(0, 3))
    table = [[data.draw(cells) for _ in range(p)] for _ in range(n)]
    X = np.array(
        [[np.nan if c is None else min(c, k - 1) for c, k in zip(row, n_bins, strict=True)] for row in table]
    )
    for j, k in enumerate(n_bins):
        X[:k, j] = np.arange(k)[:n]
    y = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=n, max_size=n)), dtype=float)
    Z = np.where(np.random.default_rng(n).random(X.shape) < 0.4, np.nan, X)
    compare(
        X,
        y,
        Z,
        [data.draw(st.booleans()) for _ in range(p)],
        n_iterations=2,
        missing=data.draw(st.sampled_from(STRATEGIES)),
        max_depth=data.draw(st.integers(1, 3)),
        min_samples_leaf=data.draw(st.integers(1, 4)),
    )


@given(
    seed=st.integers(0, 10_000),
    missing_fraction=st.sampled_from([0.0, 0.1, 0.4]),
    missing=st.sampled_from(WHOLE_ROWS),
    is_classes=st.booleans(),
    weighted=st.booleans(),
    max_features=st.sampled_from([0.3, 0.5, 1.0]),
    max_leaf_nodes=st.sampled_from([None, 4]),
    subsample=st.sampled_from([0.7, 1.0]),
    l2_regularization=st.sampled_from([0.0, 10.0]),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_predictions_are_those_of_the_reference_whatever_goes_together(
    seed: int, missing_fraction: float, is_classes: bool, weighted: bool, **parameters: Any
) -> None:
    X, y, Z = make(seed, missing_fraction)
    compare(
        X,
        y > np.median(y) if is_classes else y,
        Z,
        [False, True, False, True],
        n_iterations=3,
        weight=weights_of_mean_one(seed, len(y), some_are_zero=seed % 2 == 0) if weighted else None,
        max_depth=4,
        min_samples_leaf=2,
        **parameters,
    )
