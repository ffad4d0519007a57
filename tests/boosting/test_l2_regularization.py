"""L2 regularisation of classes: it counts as many rows for any number of classes."""

from __future__ import annotations

import numpy as np
import pytest

from tritree import TrinaryBoostingClassifier

ROWS = 30  # of each class


@pytest.mark.parametrize("n_classes", [3, 5, 10])
def test_l2_weighs_as_many_rows_as_for_two_classes(n_classes: int) -> None:
    y = np.repeat(np.arange(n_classes), ROWS)
    X = np.eye(n_classes)[y]  # a column for each class, so that its tree has two leaves
    model = TrinaryBoostingClassifier(
        max_iter=1, l2_regularization=10, split_penalty=0, max_features=1.0, random_state=0
    )
    raw = model.fit(X, y).decision_function(X[:1])[0]
    p = 1 / n_classes
    rows_of_l2 = 10 / (1 / 4)  # for two classes, a row's second derivative is a quarter
    step_of_own = ROWS * (1 - p) / (p * (1 - p) * (ROWS + rows_of_l2))
    n_others = ROWS * (n_classes - 1)
    step_of_others = -n_others * p / (p * (1 - p) * (n_others + rows_of_l2))
    np.testing.assert_allclose(raw[0] - raw[1:], model.learning_rate * (step_of_own - step_of_others))
