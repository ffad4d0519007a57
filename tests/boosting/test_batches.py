"""Many rows at once are led down trees in another way than few; they must end in the same leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

FEW = 200  # rows for which trees are not filled up


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    missing=st.sampled_from(["trinary_mia", "trinary", "mia", "majority"]),
    max_depth=st.sampled_from([1, 3, 6, 8, 9, None]),
    max_leaf_nodes=st.sampled_from([None, 5, 31]),
    max_bins=st.sampled_from([2, 16, 255, 1000]),
    holes_in_training=st.sampled_from([0.0, 0.2]),
    rows_with_holes=st.sampled_from([0.0, 0.05, 0.9]),
)
def test_many_rows_at_once_are_told_what_few_are(
    seed: int,
    missing: str,
    max_depth: int | None,
    max_leaf_nodes: int | None,
    max_bins: int,
    holes_in_training: float,
    rows_with_holes: float,
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 5)).round(rng.integers(1, 4))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=len(X)) / 10
    model = TrinaryBoostingRegressor(
        missing=missing,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        max_bins=max_bins,
        min_samples_leaf=2,
        max_iter=4,
        random_state=0,
    ).fit(np.where(rng.random(X.shape) < holes_in_training, np.nan, X), y)
    rows = rng.normal(size=(1_100, 5)) * 2
    rows[(rng.random(rows.shape) < 0.3) & (rng.random((len(rows), 1)) < rows_with_holes)] = np.nan
    at_once = model.predict(rows)
    in_parts = [model.predict(rows[first : first + FEW]) for first in range(0, len(rows), FEW)]
    np.testing.assert_array_equal(at_once, np.concatenate(in_parts))


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_many_rows_of_classes_and_categories_are_told_what_few_are(n_jobs: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, size=(900, 4)).astype(float)
    y = (X[:, 0] > 4).astype(int) + (X[:, 1] % 3 == 0)
    for categorical in ([], [1, 3]):
        model = TrinaryBoostingClassifier(max_iter=5, categorical_features=categorical, n_jobs=n_jobs).fit(
            X, y
        )
        parts = [model.predict_proba(X[first : first + FEW]) for first in range(0, len(X), FEW)]
        np.testing.assert_array_equal(model.predict_proba(X), np.concatenate(parts))
