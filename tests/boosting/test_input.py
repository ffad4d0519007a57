"""Boosting reads any table and target, and refuses wrong parameters and data with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from boosting.tables import DIABETES, QUICK
from models import with_missing
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tritree import (
    ColumnError,
    ColumnMatchWarning,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
)


def test_frames_are_matched_by_name_and_absent_columns_are_missing() -> None:
    frame = pd.DataFrame(DIABETES[0], columns=list("abcdefghij"))
    model = TrinaryBoostingRegressor(**QUICK).fit(frame, DIABETES[1])
    expected = model.predict(frame.assign(c=np.nan))
    with pytest.warns(ColumnMatchWarning, match="'c'"):
        np.testing.assert_array_equal(model.predict(frame[list("jihgfedba")]), expected)


def test_categories_are_learned_and_unknown_ones_have_no_information() -> None:
    random = np.random.default_rng(0)
    kind = random.choice(["oak", "elm", "ash", "fir"], size=400)
    y = np.select([kind == "oak", kind == "elm", kind == "ash"], [1.0, 5.0, 2.0], 9.0)
    frame = pd.DataFrame({"kind": kind, "noise": random.normal(size=400)})
    model = TrinaryBoostingRegressor(
        max_iter=60, l2_regularization=0.0, max_features=1.0, random_state=0
    ).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=0.1)
    unknown, nothing = (model.predict(pd.DataFrame({"kind": [k], "noise": [0.0]}))[0] for k in ("yew", None))
    assert unknown == nothing
    with pytest.raises(ColumnError, match="yew"):
        model.set_params(unknown_category="error").predict(pd.DataFrame({"kind": ["yew"], "noise": [0.0]}))


def test_more_categories_than_a_byte_holds() -> None:
    random = np.random.default_rng(0)
    number = random.integers(0, 900, size=6000)
    frame = pd.DataFrame({"kind": pd.Categorical([f"k{n}" for n in number]), "x": random.normal(size=6000)})
    y = (number % 2) * 3.0 + frame["x"]
    model = TrinaryBoostingRegressor(max_iter=60, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert np.isfinite(model.predict(frame.assign(x=np.nan))).all()


def test_three_classes_with_labels() -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TrinaryBoostingClassifier(max_iter=20, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.95
    np.testing.assert_allclose(model.predict_proba(with_missing(X, 0.5, seed=0)).sum(axis=1), 1)
    assert model.decision_function(X).shape == (150, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be a number above 0 and at most 100, got 0"),
        ({"max_iter": 0}, "max_iter"),
        ({"loss": "huber"}, "loss must be one of 'squared_error'"),
        ({"missing": "surrogate"}, "missing must be one of 'trinary_mia'"),
        ({"subsample": 1.5}, "subsample must be a number above 0 and at most 1"),
        ({"early_stopping": "yes"}, "early_stopping must be True, False or 'auto', got 'yes'"),
        ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries, X has 10 columns"),
        ({"monotonic_cst": [2] + [0] * 9}, "must be 1, -1 or 0, got 2"),
        ({"monotonic_cst": {"bmi": 1}}, "X has none"),
        ({"monotonic_cst": {0: 1}}, "a dict of column names, and X has none; pass a list"),
        ({"validation_fraction": 1}, "validation_fraction must be a number above 0 and below 1, got 1"),
        ({"quantile": 2}, "quantile"),
        ({"monotonic_cst": "weight"}, r"one entry per column, got 'weight'; write \{'weight': 1\}"),
        ({"monotonic_cst": 1}, "one entry per column, got 1;"),
        ({"max_features": 0}, "max_features must be an integer of at least 1"),
        ({"max_features": 1.5}, r"a float above 0 and at most 1 .*, or None \(all columns\), got 1.5"),
        ({"warm_start": "no"}, "warm_start must be True or False, got 'no'"),
        ({"verbose": "no"}, "verbose must be True or False, got 'no'"),
        ({"random_state": -1}, "random_state must be an integer of at least 0 .*got -1"),
        ({"random_state": "a"}, "random_state must be an integer .*or None, got 'a'"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrinaryBoostingRegressor(**parameters).fit(*DIABETES)


def test_sizes_may_be_larger_than_any_table() -> None:
    names = ("max_depth", "max_leaf_nodes", "background_rows", "third_rows", "max_third_nodes")
    X, y = DIABETES
    model = TrinaryBoostingRegressor(max_iter=2, random_state=0, **dict.fromkeys(names, 10**30)).fit(X, y)
    assert model.predict(np.where(X < 0, np.nan, X)).std() > 0
    assert TrinaryBoostingRegressor(min_samples_leaf=10**30, max_iter=2).fit(X, y).n_nodes_ == 2


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_targets_whose_squares_overflow_are_refused(loss: str) -> None:
    X, y = DIABETES
    small = f"y holds 3.46e.* too small for loss='{loss}'; give it in another unit"
    large = r"y holds 1\.51e.* in row 0; targets of .* must not exceed 1e\+100 in absolute value; give it in another"
    for scale, message in ((1e-200, small), (1e200, large)):
        with pytest.raises(ValueError, match=message):
            TrinaryBoostingRegressor(loss=loss).fit(X, y * scale)
    assert TrinaryBoostingRegressor(max_iter=2).fit(X, y * 0).predict(X).any() == 0


@pytest.mark.parametrize("number", [1.5, "a", [0]])
def test_tree_is_chosen_by_an_integer(number: Any) -> None:
    with pytest.raises(ValueError, match="tree must be an integer, got"):
        TrinaryBoostingRegressor(max_iter=2).fit(*DIABETES).plot(tree=number)


def test_booleans_may_be_of_numpy() -> None:
    model = TrinaryBoostingRegressor(max_iter=1, warm_start=np.True_, verbose=np.False_).fit(*DIABETES)
    assert model.set_params(max_iter=2).fit(*DIABETES).n_iter_ == 2


def test_targets_that_the_loss_is_not_for_are_refused() -> None:
    X, y = DIABETES
    with pytest.raises(
        ValueError, match=r"y holds -1\.0 in row 3; loss='poisson' requires targets of at least 0"
    ):
        TrinaryBoostingRegressor(loss="poisson").fit(X, np.where(np.arange(len(y)) == 3, -1.0, y))
    with pytest.raises(ValueError, match="loss='gamma' requires targets above 0"):
        TrinaryBoostingRegressor(loss="gamma").fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="y is zero in every row"):
        TrinaryBoostingRegressor(loss="poisson").fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="one class only, 'a'"):
        TrinaryBoostingClassifier().fit(X, ["a"] * len(y))


def test_infinite_values_are_named() -> None:
    X = DIABETES[0].copy()
    X[7, 3] = np.inf
    with pytest.raises(ColumnError, match="inf in row 7"):
        TrinaryBoostingRegressor(**QUICK).fit(X, DIABETES[1])
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    with pytest.raises(ColumnError, match="inf in row 7"):
        model.predict(X)


def test_unfitted_model_raises() -> None:
    with pytest.raises(NotFittedError):
        TrinaryBoostingRegressor().predict(DIABETES[0])
