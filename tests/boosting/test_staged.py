"""Staged predictions are those of the model that they began with."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

X, y = load_diabetes(return_X_y=True)


def test_refit_does_not_change_staged_predictions_that_have_begun() -> None:
    model = TrinaryBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    expected = list(model.staged_predict(X))
    stages = model.staged_predict(X)
    found = [next(stages) for _ in range(10)]
    model.set_params(max_iter=5).fit(X[:, :3], y)
    np.testing.assert_array_equal(found + list(stages), expected)


def test_refit_with_other_classes_does_not_change_staged_labels_that_have_begun() -> None:
    X, y = load_iris(return_X_y=True)
    model = TrinaryBoostingClassifier(max_iter=6, random_state=0).fit(X, y)
    expected = list(model.staged_predict(X))
    stages = model.staged_predict(X)
    found = [next(stages)]
    model.fit(X, np.where(y == 0, "a", "b"))
    np.testing.assert_array_equal(found + list(stages), expected)
