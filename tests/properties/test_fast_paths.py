"""Fast paths of growth agree with the slow ones: histogram subtraction, bins, fixed-point scales, category order."""

from __future__ import annotations

import numpy as np
import pytest
from models import STRATEGIES, TASKS, Floats, estimator, fitted, predictions, simulated, with_missing
from numpy.typing import NDArray
from reference.tree import ReferenceTree


def coarse_table(n_rows: int, seed: int = 0) -> tuple[Floats, NDArray[np.float64]]:
    """Return a table of few distinct values, in which a histogram is always cheaper than sorting."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n_rows, 4)).astype(float)
    y = X[:, 0] * X[:, 1] - 2 * X[:, 2] + rng.integers(-8, 8, n_rows) / 4
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


@pytest.mark.parametrize("missing", STRATEGIES)
def test_tree_from_subtracted_histograms_is_that_of_the_reference(missing: str) -> None:
    X, y = coarse_table(250)
    parameters = {"missing": missing, "max_depth": 3, "min_samples_leaf": 5}
    rows = with_missing(X[:40], 0.3)
    reference = ReferenceTree(task="regression", categorical=(1,), **parameters).fit(as_lists(X), y.tolist())
    core = estimator("regression", categorical_features=[1], **parameters).fit(X, y)
    np.testing.assert_allclose(predictions(core, rows), reference.predict(as_lists(rows)), rtol=0, atol=1e-9)


def as_lists(X: Floats) -> list[list[float | int | None]]:
    """Return the rows as lists, with column 1 categorical."""
    return [[None if np.isnan(v) else int(v) if j == 1 else float(v) for j, v in enumerate(row)] for row in X]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", ["majority", "mia", "trinary", "trinary_mia"])
def test_statistics_derived_from_other_nodes_are_those_of_the_rows(task: str, missing: str) -> None:
    X, y = simulated(3_000, 4, missing=0.1, task=task)
    X, rows = np.round(2 * X), with_missing(np.round(2 * X[:200]), 0.3)
    derived = fitted(X, y, missing=missing, max_depth=5)
    read = fitted(X, y, np.ones(len(y)), missing=missing, max_depth=5)  # weighted rows are always read
    np.testing.assert_array_equal(predictions(derived, rows), predictions(read, rows))
    np.testing.assert_array_equal(derived.tree_.loss, read.tree_.loss)
    np.testing.assert_array_equal(derived.grow_all().predict(rows), read.predict(rows))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", ["trinary", "mia"])
def test_binned_tree_of_a_large_table_is_the_exact_tree_of_its_bins(task: str, missing: str) -> None:
    X, y = simulated(30_000, 4, missing=0.2, task=task)
    edges = np.quantile(X[~np.isnan(X)], np.linspace(0, 1, 41)[1:-1])
    binned = np.where(np.isnan(X), np.nan, np.digitize(X, edges))
    exact = fitted(binned, y, missing=missing, max_depth=5)
    through_bins = fitted(binned, y, missing=missing, max_depth=5, max_bins=255)
    rows = with_missing(binned[:500], 0.3)
    np.testing.assert_array_equal(predictions(exact, rows), predictions(through_bins, rows))


@pytest.mark.parametrize("far", [1e6, 1e12])
def test_targets_of_other_magnitude_do_not_reduce_precision(far: float) -> None:
    X, y = simulated(400, 3)
    here, there = np.column_stack([X, np.zeros(400)]), np.column_stack([X, np.ones(400)])
    alone = fitted(here, y, max_depth=3)
    together = fitted(np.vstack([here, there]), np.concatenate([y, y + far]), max_depth=4)
    np.testing.assert_allclose(together.predict(here), alone.predict(here), rtol=0, atol=1e-9)


@pytest.mark.parametrize("light", [1e-3, 1e-9])
def test_rows_of_small_weight_are_split_precisely_in_their_own_branch(light: float) -> None:
    X, y = simulated(400, 3)
    heavy_first = np.column_stack([X, np.ones(400)]), np.column_stack([X, np.zeros(400)])
    table, target = np.vstack(heavy_first), np.concatenate([y + 1e6, y])
    weight = np.repeat([1.0, light], 400)
    alone = fitted(heavy_first[1], y, max_depth=3)
    together = fitted(table, target, weight, max_depth=4)
    np.testing.assert_allclose(
        together.predict(heavy_first[1]), alone.predict(heavy_first[1]), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_many_categories_of_three_classes_are_split_along_the_principal_component(criterion: str) -> None:
    rng = np.random.default_rng(0)
    n_categories, n_rows = 25, 4_000
    category = rng.integers(0, n_categories, n_rows)
    class_probabilities = rng.dirichlet(np.ones(3), n_categories)
    y = np.array([rng.choice(3, p=class_probabilities[c]) for c in category])
    tree = fitted(
        category[:, None].astype(float),
        y,
        criterion=criterion,
        categorical_features=[0],
        max_depth=1,
        min_samples_leaf=1,
    ).tree_

    counts = np.array([np.bincount(y[category == c], minlength=3) for c in range(n_categories)], dtype=float)
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    covariance = np.cov(probabilities.T, aweights=counts.sum(axis=1))
    order = np.argsort(probabilities @ np.linalg.eigh(covariance)[1][:, -1])
    losses = [loss(counts[order[:k]], criterion) + loss(counts[order[k:]], criterion) for k in range(1, 25)]
    assert tree.loss[1:].sum() == pytest.approx(min(losses), rel=1e-9)


def loss(counts: Floats, criterion: str) -> float:
    """Return the loss of the rows of some categories at their own class probabilities."""
    total = counts.sum(axis=0)
    probability = total / total.sum()
    if criterion == "gini":
        return float(total.sum() * (1 - (probability**2).sum()))
    return float(-(total[total > 0] * np.log(probability[total > 0])).sum())
