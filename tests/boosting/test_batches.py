"""Many rows at once are predicted by other code than few; they must end in the same leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 200  # rows for which trees are not completed


def check_alike(model: Any, rows: NDArray[Any]) -> None:
    """Check that rows get the same at once and in parts: nodes, predictions, and ungrown branches."""
    before = model.n_ungrown_hits_
    at_once, nodes = model.predict(rows), model.apply(rows)
    of_all, before = model.n_ungrown_hits_ - before, model.n_ungrown_hits_
    parts = [rows[first : first + FEW] for first in range(0, len(rows), FEW)]
    np.testing.assert_array_equal(at_once, np.concatenate([model.predict(part) for part in parts]))
    assert of_all == model.n_ungrown_hits_ - before
    np.testing.assert_array_equal(nodes, np.concatenate([model.apply(part) for part in parts]))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    missing=st.sampled_from(["trinary_mia", "trinary", "mia", "majority"]),
    max_depth=st.sampled_from([1, 3, 6, 8, 9, None]),
    max_leaf_nodes=st.sampled_from([None, 5, 31]),
    max_bins=st.sampled_from([2, 16, 255, 1000]),
    missing_in_training=st.sampled_from([0.0, 0.2]),
    rows_with_missing=st.sampled_from([0.0, 0.05, 0.9]),
)
def test_many_rows_at_once_are_predicted_like_few(
    seed: int,
    missing: str,
    max_depth: int | None,
    max_leaf_nodes: int | None,
    max_bins: int,
    missing_in_training: float,
    rows_with_missing: float,
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 5)).round(rng.integers(1, 4))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=len(X)) / 10
    X[:, 4] = np.nan  # a column that no tree splits on
    model = TrinaryBoostingRegressor(
        missing=missing,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        max_bins=max_bins,
        min_samples_leaf=2,
        max_iter=4,
        random_state=0,
    ).fit(np.where(rng.random(X.shape) < missing_in_training, np.nan, X), y)
    rows = rng.normal(size=(1_100, 5)) * 2
    rows[(rng.random(rows.shape) < 0.3) & (rng.random((len(rows), 1)) < rows_with_missing)] = np.nan
    check_alike(model, rows)


@pytest.mark.parametrize("categorical", [[], [1, 3]])
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_many_rows_of_classes_and_categories_are_predicted_like_few(
    n_jobs: int, categorical: list[int]
) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, size=(900, 4)).astype(float)
    y = (X[:, 0] > 4).astype(int) + (X[:, 1] % 3 == 0)
    model = TrinaryBoostingClassifier(
        max_iter=5, categorical_features=categorical, max_leaf_nodes=7, n_jobs=n_jobs, random_state=0
    ).fit(X, y)
    rows = rng.integers(0, 12, size=(900, 4)).astype(float)  # some categories are unknown
    rows[rng.random(rows.shape) < 0.03] = np.nan
    check_alike(model, rows)


# the bin of an unknown category is the last one that fits
@pytest.mark.parametrize("n_categories", [65_533, 65_534])
def test_unknown_category_of_a_column_that_no_split_uses_does_not_matter(n_categories: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_categories + 2_000, 11))
    y = np.where(X > 1, 3, 0).sum(axis=1) + (X > 0).sum(axis=1)
    X[:, 0] = np.arange(len(X)) % n_categories
    model = TrinaryBoostingRegressor(
        max_iter=6, max_leaf_nodes=5, max_features=0.1, categorical_features=[0], random_state=0
    ).fit(X, y)
    rows = rng.normal(size=(600, 11))
    rows[:, 0] = 1e6
    check_alike(model, rows)
    assert model.n_ungrown_hits_ == 0
