"""A node's cells are the same whether they were counted into a histogram, marked or sorted.

Rows that lie `here`, in a table with many other values `there`, have many codes for few rows: their cells are marked,
and sorted if they are fewer than 64. In a table of their own the same rows fill a histogram.
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
    answers,
    binary_part,
    estimator,
    fitted,
    holed,
    same_bits,
    simulated,
)
from numpy.typing import NDArray
from reference.tree import Twin

CRITERIA = ("squared_error", "entropy", "gini")
N_THERE = 1_500  # all of other values: too many codes for a histogram of fewer than 375 rows


def task_of(criterion: str) -> str:
    return "regression" if criterion == "squared_error" else "classification"


@dataclass(frozen=True)
class Places:
    """Rows here, and a table in which they lie beside rows from there, parted from them by the last column."""

    X: Floats
    y: NDArray[Any]
    weight: Floats | None
    X_both: Floats
    y_both: NDArray[Any]
    weight_both: Floats | None

    def alone(self, criterion: str, max_depth: int, **parameters: Any) -> Any:
        model = estimator(task_of(criterion), criterion=criterion, max_depth=max_depth, **parameters)
        return model.fit(here(self.X), self.y, sample_weight=self.weight)

    def beside(self, criterion: str, max_depth: int, **parameters: Any) -> Any:
        model = estimator(task_of(criterion), criterion=criterion, max_depth=max_depth + 1, **parameters)
        model.fit(self.X_both, self.y_both, sample_weight=self.weight_both)
        assert model.tree_.column[0] == self.X.shape[1]  # parted at the root
        return model


def here(X: Floats) -> Floats:
    return np.column_stack([X, np.zeros(len(X))])


def places(
    criterion: str,
    n_rows: int,
    seed: int,
    *,
    holes: float = 0.0,
    weighted: bool = False,
    coarse: bool = False,
) -> Places:
    """Return rows whose response is on a dyadic grid, so that its sums are exact whatever lies beside."""
    rng = np.random.default_rng(seed)
    task = task_of(criterion)
    X, y = simulated(n_rows, 3, seed=seed, task=task)
    X = np.round(X * 4) / 4 if coarse else X
    if task == "regression":
        y = np.round(y * 4) / 4
    else:
        y[:3] = 0, 1, 2
    X[rng.random(X.shape) < holes] = np.nan
    there = np.column_stack([rng.normal(size=(N_THERE, 3)), np.ones(N_THERE)])
    y_there = np.full(N_THERE, 300.0) if task == "regression" else np.full(N_THERE, 3)
    weight = rng.choice([0.25, 0.5, 1.0, 3.0], n_rows) if weighted else None
    return Places(
        X,
        y,
        weight,
        np.vstack([here(X), there]),
        np.concatenate([y, y_there]),
        None if weight is None else np.concatenate([weight, np.ones(N_THERE)]),
    )


def of_classes_here(answer: Floats) -> Floats:
    return answer if answer.ndim == 1 else answer[:, :3]


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "majority"])
@pytest.mark.parametrize("criterion", CRITERIA)
@given(
    n_rows=st.integers(60, 70) | st.integers(20, 370),
    seed=st.integers(0, 2**32 - 1),
    holes=st.sampled_from([0.0, 0.2, 0.6]),
    coarse=st.booleans(),
    weighted=st.booleans(),
)
def test_rows_among_many_other_values_grow_the_tree_that_they_grow_alone(
    criterion: str, missing: str, n_rows: int, seed: int, holes: float, coarse: bool, weighted: bool
) -> None:
    rows = places(criterion, n_rows, seed, holes=holes, weighted=weighted, coarse=coarse)
    settings: dict[str, Any] = {"missing": missing, "min_samples_leaf": 4}
    alone = rows.alone(criterion, 3, **settings)
    beside = rows.beside(criterion, 3, **settings)
    asked = here(holed(rows.X, 0.2))
    np.testing.assert_allclose(
        of_classes_here(answers(beside, asked)), answers(alone, asked), rtol=0, atol=1e-12
    )
    tree, branch = alone.tree_, beside.tree_
    expected = [(depth + 1, column, at) for depth, column, at in binary_part(tree)]
    np.testing.assert_array_equal(list(binary_part(branch, int(branch.left[0]))), expected)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_among_many_other_values_grow_the_tree_of_the_twin(criterion: str, missing: str) -> None:
    rows = places(criterion, 70, seed=0, holes=0.2, weighted=True)
    settings: dict[str, Any] = {"missing": missing, "min_samples_leaf": 6}
    twin = Twin(task=task_of(criterion), criterion=criterion, max_depth=2, **settings)
    twin.fit(here(rows.X), rows.y, rows.weight)
    asked = here(holed(rows.X, 0.2))
    found = of_classes_here(answers(rows.beside(criterion, 2, **settings), asked))
    np.testing.assert_allclose(found, twin.predict(asked), rtol=0, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_nodes_of_a_large_tree_hold_the_tree_of_their_own_rows(task: str) -> None:
    X, y = simulated(6_000, 3, task=task)
    y = np.round(y * 4) / 4 if task == "regression" else y
    model = fitted(X, y, max_depth=7, min_samples_leaf=5)
    tree = model.tree_
    nodes = model.apply(X)
    parent = np.full(len(tree.column), -1)
    for children in (tree.left, tree.right):
        parent[children[children >= 0]] = np.flatnonzero(children >= 0)
    for _ in range(4):  # the nodes three levels down: some hundred rows of 6,000 values
        nodes = np.where(tree.depth[nodes] > 3, parent[nodes], nodes)
    checked = 0
    for node in np.unique(nodes[tree.depth[nodes] == 3]):
        held = nodes == node
        own = fitted(X[held], y[held], max_depth=4, min_samples_leaf=5)
        if len(np.unique(y[held])) < (3 if task == "classification" else 2):
            continue
        checked += 1
        np.testing.assert_allclose(answers(own, X[held]), answers(model, X[held]), rtol=0, atol=1e-12)
    assert checked >= 3


def test_cells_of_one_column_leave_nothing_behind_for_the_next() -> None:
    X, y = simulated(1_200, 3, holes=0.1, seed=1)
    twice = np.column_stack([X, X[:, ::-1]])  # the later of equal columns is never better
    rows = holed(X, 0.2)[:300]
    rows_twice = np.column_stack([rows, rows[:, ::-1]])
    once = fitted(X, y, max_depth=6, missing="majority", n_jobs=1)
    again = fitted(twice, y, max_depth=6, missing="majority", n_jobs=1)
    assert same_bits(once.predict(rows), again.predict(rows_twice))


def test_trees_of_other_widths_in_between_change_no_cell() -> None:
    X, y = simulated(2_000, 3, holes=0.1)
    classes = np.digitize(y, np.quantile(y, np.linspace(0, 1, 8)[1:-1]))
    weight = np.random.default_rng(0).exponential(size=len(y))
    before = fitted(X, y, max_depth=6, n_jobs=1).predict(X)
    fitted(X, classes, weight, max_depth=6, n_jobs=1)
    fitted(X[:900], classes[:900], max_depth=6, n_jobs=1)
    assert same_bits(fitted(X, y, max_depth=6, n_jobs=1).predict(X), before)
