"""Masked copies: trees are also fitted to copies of the training rows with random missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.boosted_tree import splitmix64

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor, load
from tritree.estimators.stored_rows import StoredRows

random = np.random.default_rng(3)
X = random.integers(0, 20, size=(200, 4)).astype(float)
X[random.random(X.shape) < 0.1] = np.nan
NUMBERS = np.nan_to_num(X[:, 0]) / 4 - np.nan_to_num(X[:, 1]) / 7 + random.normal(size=len(X))
LABELS = np.digitize(NUMBERS, [0.5, 2.5])
QUICK: dict[str, Any] = {"max_iter": 8, "max_depth": 3, "min_samples_leaf": 5, "random_state": 0}


def copies_of(table: np.ndarray, n_copies: int, seed: int) -> np.ndarray:
    """Return the table and its masked copies, cell by cell from the definition."""

    def uniform(a: int, b: int) -> float:
        return (splitmix64(a, b) >> 11) * 2.0**-53

    found = np.tile(table, (n_copies + 1, 1))
    for row in range(len(table), len(found)):
        for column in range(table.shape[1]):
            if uniform(splitmix64(seed, column + 1), row) < uniform(seed, row):
                found[row, column] = np.nan
    return found


@pytest.mark.parametrize("missing", ["mia", "majority", "fractional"])
@pytest.mark.parametrize(
    ("kind", "y"),
    [(TrinaryBoostingRegressor, NUMBERS), (TrinaryBoostingClassifier, LABELS)],
    ids=["number", "classes"],
)
def test_model_is_that_of_a_table_with_its_copies(kind: Any, y: np.ndarray, missing: str) -> None:
    weight = random.integers(1, 4, len(y)).astype(float)
    model = kind(missing=missing, masked_copies=3, **QUICK).fit(X, y, weight)
    table = copies_of(X, 3, model._model.core.params["seed"])
    assert 0.4 < np.isnan(table[len(X) :]).mean() < 0.65
    expected = kind(missing=missing, **QUICK).fit(table, np.tile(y, 4), np.tile(weight, 4))
    predict = "predict" if kind is TrinaryBoostingRegressor else "predict_proba"
    np.testing.assert_array_equal(getattr(model, predict)(table), getattr(expected, predict)(table))


def test_third_branches_grow_from_the_training_rows_alone() -> None:
    model = TrinaryBoostingRegressor(masked_copies=2, **QUICK).fit(np.nan_to_num(X), NUMBERS)
    assert StoredRows(model._model, model._encoder).n_rows == len(X)


def test_copies_help_where_missing_values_told_the_target_in_training_only() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1_200, 4))
    y = table[:, 0] + table[:, 1] + rng.normal(scale=0.3, size=len(table))
    train, test = slice(0, 800), slice(800, None)
    told = np.where((y[:, None] > 0.8) & (rng.random(table.shape) < 0.6), np.nan, table)[train]
    at_random = np.where(rng.random(table.shape) < 0.3, np.nan, table)[test]
    errors = [
        np.mean(
            (
                TrinaryBoostingRegressor(masked_copies=n, random_state=0)
                .fit(told, y[train])
                .predict(at_random)
                - y[test]
            )
            ** 2
        )
        for n in (0, 4)
    ]
    assert errors[1] < 0.8 * errors[0]


def test_threads_files_and_validation_rows_make_no_difference(tmp_path: Any) -> None:
    one, two = (
        TrinaryBoostingClassifier(masked_copies=2, n_jobs=n, early_stopping=True, **QUICK).fit(X, LABELS)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert len(one.train_scores_) == len(one.validation_scores_)
    one.save(tmp_path / "model.tritree")
    np.testing.assert_array_equal(load(tmp_path / "model.tritree").predict_proba(X), two.predict_proba(X))


def test_train_scores_are_those_of_the_training_rows() -> None:
    model = TrinaryBoostingRegressor(missing="mia", masked_copies=2, **QUICK).fit(
        X, NUMBERS, X_val=X, y_val=NUMBERS
    )
    np.testing.assert_allclose(model.train_scores_, model.validation_scores_, rtol=1e-12)


def test_warm_start_is_refused_with_a_remedy() -> None:
    model = TrinaryBoostingRegressor(masked_copies=1, warm_start=True, **QUICK).fit(X, NUMBERS)
    with pytest.raises(
        ValueError, match="cannot continue a model with masked_copies=1; fit all iterations at once"
    ):
        model.set_params(max_iter=10).fit(X, NUMBERS)
