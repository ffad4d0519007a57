"""Where predictions are a non-linear function of the sum over trees, the variance left by missing values counts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from models import with_missing
from sklearn.datasets import load_breast_cancer, load_wine

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor, load

QUICK: dict[str, Any] = {"max_iter": 60, "max_depth": 3, "random_state": 0}


def softmax(raw: np.ndarray) -> np.ndarray:
    both = np.column_stack([np.zeros(len(raw)), raw]) if raw.ndim == 1 else raw
    odds = np.exp(both - both.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_what_is_observed(n_classes: int) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(6_000, 2))

    def truth(rows: np.ndarray) -> np.ndarray:
        scores = np.column_stack([3 * rows[:, 0] + rows[:, 1], -2 * rows[:, 1], np.zeros(len(rows))])
        return softmax(scores[:, 3 - n_classes :] if n_classes == 3 else scores[:, [2, 0]])

    y = (truth(X).cumsum(axis=1) < generator.random((len(X), 1))).sum(axis=1)
    model = TrinaryBoostingClassifier(max_depth=3, max_features=1.0, random_state=0).fit(X, y)
    Z = np.column_stack([np.full(41, np.nan), np.linspace(-2, 2, 41)])
    among = generator.normal(size=2_000)
    expected = np.array([truth(np.column_stack([among, np.full(2_000, x)])).mean(axis=0) for x in Z[:, 1]])
    bare = softmax(model.decision_function(Z))
    assert np.abs(model.predict_proba(Z) - expected).mean() < 0.7 * np.abs(bare - expected).mean()


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_mean_predictions_of_rows_with_missing_values_are_not_too_low(loss: str) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4_000, 3))
    y = np.exp(X[:, 0] + X[:, 1] / 2)
    model = TrinaryBoostingRegressor(loss=loss, max_depth=4, max_features=1.0, random_state=0).fit(X, y)
    Z = X.copy()
    Z[:, 0] = np.nan
    raw, variance = model._raw_predict(Z)
    expected = np.exp(X[:, 1] / 2).mean() * np.exp(0.5)  # of a normal logarithm with variance 1
    assert model.predict(Z).mean() == pytest.approx(expected, rel=0.1)
    assert np.exp(raw).mean() < 0.75 * expected
    assert variance.mean() == pytest.approx(1.0, abs=0.2)


def test_complete_rows_have_no_variance() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = TrinaryBoostingClassifier(**QUICK).fit(X, y)
    _, variance = model._raw_predict(X)
    np.testing.assert_array_equal(variance, 0)
    np.testing.assert_allclose(model.predict_proba(X), softmax(model.decision_function(X)), rtol=1e-12)


def test_variance_grows_with_the_number_of_missing_values() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = TrinaryBoostingClassifier(**QUICK).fit(X, y)
    means = [model._raw_predict(with_missing(X, rate, seed=0))[1].mean() for rate in (0.1, 0.4, 0.8)]
    assert means[0] < means[1] < means[2]


def test_growing_in_another_order_leaves_the_same_open() -> None:
    X, y = load_wine(return_X_y=True)
    Z = with_missing(X, 0.4, seed=0)
    one, two = (TrinaryBoostingClassifier(n_jobs=n, **QUICK).fit(X, y) for n in (1, 2))
    expected = one.predict_proba(Z)
    rows = [two.predict_proba(Z[i : i + 1])[0] for i in reversed(range(len(Z)))]
    np.testing.assert_array_equal(rows[::-1], expected)


def test_what_is_left_open_is_saved_staged_and_warm_started(tmp_path: Any) -> None:
    X, y = load_wine(return_X_y=True)
    Z = with_missing(X, 0.4, seed=0)
    model = TrinaryBoostingClassifier(**QUICK).fit(X, y)
    expected = model.predict_proba(Z)
    *_, last = model.staged_predict_proba(Z)
    np.testing.assert_allclose(last, expected, rtol=1e-12)
    model.detach()
    model.save(tmp_path / "model.tritree")
    np.testing.assert_array_equal(load(tmp_path / "model.tritree").predict_proba(Z), expected)
    parts = TrinaryBoostingClassifier(warm_start=True, **(QUICK | {"max_iter": 30})).fit(X, y)
    parts.predict_proba(Z)  # grows, which must change nothing
    np.testing.assert_allclose(parts.set_params(max_iter=60).fit(X, y).predict_proba(Z), expected, rtol=1e-9)


def test_monotonic_constraints_leave_no_variance_so_that_probabilities_stay_in_order() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 4))
    y = X[:, 0] + X[:, 1] + generator.normal(size=500) > 0
    model = TrinaryBoostingClassifier(monotonic_cst=[1, 0, 0, 0], **QUICK).fit(X, y)
    Z = np.full((50, 4), np.nan)
    Z[:, 0] = np.linspace(-3, 3, 50)
    assert model._raw_predict(Z)[1] is None
    assert (np.diff(model.predict_proba(Z)[:, 1]) >= 0).all()


def test_explanation_shows_the_standard_deviation_of_the_sum() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = TrinaryBoostingClassifier(**QUICK).fit(X, y)
    rows = np.vstack([X[:1], with_missing(X[:1], 0.5, seed=0)])
    complete, incomplete = model.explain(rows)
    assert complete.std == 0
    assert "±" not in str(complete)
    assert incomplete.std == np.sqrt(model._raw_predict(rows)[1][1, 0])
    shown = re.search(r"f\(x\) = (\S+) ± (\S+), the log-odds of \d: (\S+)%$", str(incomplete))
    assert shown is not None
    assert [float(text) for text in shown.groups()] == pytest.approx(
        [incomplete.value, incomplete.std, 100 * incomplete.predicted_value], abs=0.05
    )
    assert incomplete.predicted_value == model.predict_proba(rows)[1].max()
