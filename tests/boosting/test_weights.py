"""Weights count as they should, in whatever unit they are and however far apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

X, Y = load_diabetes(return_X_y=True)
WITH_MISSING = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)


def test_unit_of_weights_does_not_matter_to_third_branches() -> None:
    weight = np.random.default_rng(1).integers(1, 5, len(Y)).astype(float)
    small, large = (
        TrinaryBoostingRegressor(max_iter=5, random_state=0, l2_regularization=0).fit(X, Y, weight * unit)
        for unit in (2.0**-13, 1.0)
    )
    np.testing.assert_array_equal(small.predict(WITH_MISSING), large.predict(WITH_MISSING))
    assert small.n_grown_ == large.n_grown_


def test_weights_that_sum_to_one_teach_as_much_as_those_around_one() -> None:
    weight = np.random.default_rng(1).integers(0, 5, len(Y)).astype(float)
    for y, kind in ((Y, TrinaryBoostingRegressor), (Y > 140, TrinaryBoostingClassifier)):
        small, usual = (
            kind(random_state=0).fit(X, y, w).score(X, y, weight)
            for w in (weight / weight.sum(), weight / weight.mean())
        )
        assert small > usual - 0.02


@pytest.mark.parametrize("mean", [1 - 1e-15, 1 - 1e-6])
def test_weights_with_a_mean_of_about_one_stay_as_they_are(mean: float) -> None:
    found, expected = (
        TrinaryBoostingRegressor(max_iter=10, random_state=0).fit(X, Y, w).predict(X)
        for w in (np.full(len(Y), mean), np.ones(len(Y)))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_one_heavy_row_does_not_silence_the_others() -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(size=(300_000, 2))  # the more rows, the fewer bits are left for each
    y = many[:, 0] + 0.1 * rng.normal(size=len(many))
    weight = np.ones(len(many))
    weight[0] = 3e7
    model = TrinaryBoostingRegressor(max_iter=15, learning_rate=0.5, max_features=1.0, random_state=0)
    predicted = model.fit(many, y, weight).predict(many)
    assert np.mean((y - predicted) ** 2) < 0.2 * np.var(y)


def test_counts_that_are_zero_wherever_they_have_weight_are_refused() -> None:
    y = np.array([0.0, 0.0, 0.0, 4.0] * 10)
    with pytest.raises(ValueError, match="y is zero in every row that has a weight; loss='poisson'"):
        TrinaryBoostingRegressor(loss="poisson").fit(X[:40], y, (y == 0).astype(float))


def test_validation_score_of_rows_with_missing_values_is_that_of_their_predictions() -> None:
    labels = (Y > 150).astype(int) + (Y > 220)
    model = TrinaryBoostingClassifier(max_iter=6, early_stopping=False, random_state=0)
    model.fit(X, labels, X_val=WITH_MISSING, y_val=labels)
    probabilities = model.predict_proba(WITH_MISSING)[np.arange(len(Y)), labels]
    assert model.validation_scores_[-1] == pytest.approx(np.log(probabilities).mean(), rel=1e-12)
    fresh = TrinaryBoostingClassifier(max_iter=6, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(fresh.predict_proba(WITH_MISSING), model.predict_proba(WITH_MISSING))


@pytest.mark.parametrize("missing", ["mia", "majority", "fractional"])
def test_strategies_without_third_branches_keep_no_rows(missing: str) -> None:
    model = TrinaryBoostingRegressor(max_iter=2, missing=missing).fit(WITH_MISSING, Y)
    assert model._model.is_detached
    assert not {"bins8", "bins16", "weight"} & model._model.core.state(with_rows=True)["bins"].keys()


def test_rows_of_weight_zero_do_not_count() -> None:
    weight = (np.arange(len(Y)) % 2).astype(float)
    spoiled = np.where(weight > 0, Y, 1e4)
    model = TrinaryBoostingRegressor(max_iter=15, max_depth=3, min_samples_leaf=1, random_state=0)
    assert model.fit(X, spoiled, weight).predict(X).max() < 1000


def test_balanced_classes_raise_the_rare_one() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    few_zeros = np.flatnonzero((y == 1) | (np.arange(len(y)) % 8 == 0))
    plain = TrinaryBoostingClassifier(max_iter=5, random_state=0).fit(X[few_zeros], y[few_zeros])
    balanced = TrinaryBoostingClassifier(max_iter=5, class_weight="balanced", random_state=0).fit(
        X[few_zeros], y[few_zeros]
    )
    assert balanced.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()
