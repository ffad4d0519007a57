"""Node histograms are the same whether dense, marked, sorted or obtained by subtraction.

Rows that are `embedded` in a table with many other values have few rows per bin: only occupied bins are marked, or the
rows are sorted if there are fewer than 64. In a table of their own the same rows fill a dense histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import (
    STRATEGIES,
    TASKS,
    Floats,
    binary_part,
    estimator,
    fitted,
    predictions,
    same_bits,
    simulated,
    with_missing,
)
from numpy.typing import NDArray
from reference.tree import ReferenceTree

CRITERIA = ("squared_error", "entropy", "gini")
N_OTHER = 1_500  # with other values: too many bins for a dense histogram of fewer than 375 rows


def task_of(criterion: str) -> str:
    return "regression" if criterion == "squared_error" else "classification"


@dataclass(frozen=True)
class Embedded:
    """Rows, and a table in which they are embedded among other rows; the last column separates the two."""

    X: Floats
    y: NDArray[Any]
    weight: Floats | None
    X_both: Floats
    y_both: NDArray[Any]
    weight_both: Floats | None

    def alone(self, criterion: str, max_depth: int, **parameters: Any) -> Any:
        model = estimator(task_of(criterion), criterion=criterion, max_depth=max_depth, **parameters)
        return model.fit(with_marker(self.X), self.y, sample_weight=self.weight)

    def among_others(self, criterion: str, max_depth: int, **parameters: Any) -> Any:
        model = estimator(task_of(criterion), criterion=criterion, max_depth=max_depth + 1, **parameters)
        model.fit(self.X_both, self.y_both, sample_weight=self.weight_both)
        assert model.tree_.column[0] == self.X.shape[1]  # separated at the root
        return model


def with_marker(X: Floats) -> Floats:
    return np.column_stack([X, np.zeros(len(X))])


def embedded(
    criterion: str,
    n_rows: int,
    seed: int,
    *,
    missing_rate: float = 0.0,
    weighted: bool = False,
    coarse: bool = False,
) -> Embedded:
    """Return rows whose target is on a dyadic grid, so that its sums are exact whatever the other rows."""
    rng = np.random.default_rng(seed)
    task = task_of(criterion)
    X, y = simulated(n_rows, 3, seed=seed, task=task)
    X = np.round(X * 4) / 4 if coarse else X
    if task == "regression":
        y = np.round(y * 4) / 4
    else:
        y[:3] = 0, 1, 2
    X[rng.random(X.shape) < missing_rate] = np.nan
    others = np.column_stack([rng.normal(size=(N_OTHER, 3)), np.ones(N_OTHER)])
    y_others = np.full(N_OTHER, 300.0) if task == "regression" else np.full(N_OTHER, 3)
    weight = rng.choice([0.25, 0.5, 1.0, 3.0], n_rows) if weighted else None
    return Embedded(
        X,
        y,
        weight,
        np.vstack([with_marker(X), others]),
        np.concatenate([y, y_others]),
        None if weight is None else np.concatenate([weight, np.ones(N_OTHER)]),
    )


def of_own_classes(prediction: Floats) -> Floats:
    return prediction if prediction.ndim == 1 else prediction[:, :3]


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "majority"])
@pytest.mark.parametrize("criterion", CRITERIA)
@given(
    n_rows=st.integers(60, 70) | st.integers(20, 370),
    seed=st.integers(0, 2**32 - 1),
    missing_rate=st.sampled_from([0.0, 0.2, 0.6]),
    coarse=st.booleans(),
    weighted=st.booleans(),
)
def test_sparse_histogram_grows_the_tree_of_the_dense_one(
    criterion: str, missing: str, n_rows: int, seed: int, missing_rate: float, coarse: bool, weighted: bool
) -> None:
    rows = embedded(criterion, n_rows, seed, missing_rate=missing_rate, weighted=weighted, coarse=coarse)
    parameters: dict[str, Any] = {"missing": missing, "min_samples_leaf": 4}
    alone = rows.alone(criterion, 3, **parameters)
    among_others = rows.among_others(criterion, 3, **parameters)
    rows_to_predict = with_marker(with_missing(rows.X, 0.2))
    np.testing.assert_allclose(
        of_own_classes(predictions(among_others, rows_to_predict)),
        predictions(alone, rows_to_predict),
        rtol=0,
        atol=1e-12,
    )
    tree, branch = alone.tree_, among_others.tree_
    expected = [(depth + 1, column, at) for depth, column, at in binary_part(tree)]
    np.testing.assert_array_equal(list(binary_part(branch, int(branch.left[0]))), expected)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_sparse_histogram_grows_the_tree_of_the_reference(criterion: str, missing: str) -> None:
    rows = embedded(criterion, 70, seed=0, missing_rate=0.2, weighted=True)
    parameters: dict[str, Any] = {"missing": missing, "min_samples_leaf": 6}
    reference = ReferenceTree(task=task_of(criterion), criterion=criterion, max_depth=2, **parameters)
    reference.fit(with_marker(rows.X), rows.y, rows.weight)
    rows_to_predict = with_marker(with_missing(rows.X, 0.2))
    found = of_own_classes(predictions(rows.among_others(criterion, 2, **parameters), rows_to_predict))
    np.testing.assert_allclose(found, reference.predict(rows_to_predict), rtol=0, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_subtree_of_a_large_tree_is_the_tree_of_its_rows(task: str) -> None:
    X, y = simulated(6_000, 3, task=task)
    y = np.round(y * 4) / 4 if task == "regression" else y
    model = fitted(X, y, max_depth=7, min_samples_leaf=5)
    tree = model.tree_
    nodes = model.apply(X)
    parent = np.full(len(tree.column), -1)
    for children in (tree.left, tree.right):
        parent[children[children >= 0]] = np.flatnonzero(children >= 0)
    for _ in range(4):  # ancestors at depth 3: some hundred rows of 6,000 values
        nodes = np.where(tree.depth[nodes] > 3, parent[nodes], nodes)
    checked = 0
    for node in np.unique(nodes[tree.depth[nodes] == 3]):
        in_node = nodes == node
        own = fitted(X[in_node], y[in_node], max_depth=4, min_samples_leaf=5)
        if len(np.unique(y[in_node])) < (3 if task == "classification" else 2):
            continue
        checked += 1
        np.testing.assert_allclose(
            predictions(own, X[in_node]), predictions(model, X[in_node]), rtol=0, atol=1e-12
        )
    assert checked >= 3


def test_histogram_of_a_column_does_not_affect_the_next() -> None:
    X, y = simulated(1_200, 3, missing=0.1, seed=1)
    twice = np.column_stack([X, X[:, ::-1]])  # the later of equal columns is never better
    rows = with_missing(X, 0.2)[:300]
    rows_twice = np.column_stack([rows, rows[:, ::-1]])
    once = fitted(X, y, max_depth=6, missing="majority", n_jobs=1)
    again = fitted(twice, y, max_depth=6, missing="majority", n_jobs=1)
    assert same_bits(once.predict(rows), again.predict(rows_twice))


def test_fits_of_other_histogram_layouts_in_between_change_no_bit() -> None:
    X, y = simulated(2_000, 3, missing=0.1)
    classes = np.digitize(y, np.quantile(y, np.linspace(0, 1, 8)[1:-1]))
    weight = np.random.default_rng(0).exponential(size=len(y))
    before = fitted(X, y, max_depth=6, n_jobs=1).predict(X)
    fitted(X, classes, weight, max_depth=6, n_jobs=1)
    fitted(X[:900], classes[:900], max_depth=6, n_jobs=1)
    assert same_bits(fitted(X, y, max_depth=6, n_jobs=1).predict(X), before)
