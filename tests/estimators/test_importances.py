"""Importances are the reduction of the loss of the training rows that pass through the splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, Floats, estimator, simulated
from numpy.typing import NDArray

CATEGORICAL = 2  # the column of the table that holds categories
LEFT, RIGHT, THIRD, BOTH, SURROGATES = range(5)

Memberships = dict[int, float]  # row number -> membership, which is 1 except under `fractional`


def mixed_table(task: str) -> tuple[Floats, NDArray[Any]]:
    """Return a table of three numeric columns and one of categories, with missing values in all of them."""
    X, y = simulated(300, 4, missing=0.2, task=task)
    X[:, CATEGORICAL] = np.digitize(X[:, CATEGORICAL], [-1, -0.3, 0.3, 1]) + 0 * X[:, CATEGORICAL]
    return X, y


# ---- reference: a traversal of the arrays, row by row


def side(tree: Any, prefix: str, i: int, cell: float) -> int | None:
    """Return the side that a rule of the tree sends an observed cell to; None if it does not know the category."""
    words = int(getattr(tree, prefix + "set_words")[i])
    if words == 0:
        return LEFT if cell < getattr(tree, prefix + "threshold")[i] else RIGHT
    begin, category = int(getattr(tree, prefix + "set_begin")[i]), int(cell)
    for offset, branch in ((0, LEFT), (words, RIGHT)):
        if int(tree.sets[begin + offset + category // 64]) >> (category % 64) & 1:
            return branch
    return None


def branch_of(tree: Any, node: int, row: Floats) -> int:
    """Return the branch that a training row takes."""
    cell = row[tree.column[node]]
    if not np.isnan(cell):
        seen = side(tree, "", node, cell)
        if seen is not None:
            return seen
    to = int(tree.missing_to[node])
    if to != SURROGATES:
        return to
    for i in range(tree.surrogate_begin[node], tree.surrogate_begin[node + 1]):
        cell = row[tree.surrogate_column[i]]
        found = None if np.isnan(cell) else side(tree, "surrogate_", i, cell)
        if found is not None:
            is_below_right = int(tree.surrogate_set_words[i]) == 0 and tree.surrogate_below[i] == RIGHT
            return 1 - found if is_below_right else found
    return int(tree.larger_side[node])


def partitions(tree: Any, X: Floats) -> Iterator[tuple[int, int, Memberships]]:
    """Yield the training rows that go from a node to its left or right child: (node, child, memberships)."""
    stack: list[tuple[int, Memberships]] = [(0, dict.fromkeys(range(len(X)), 1.0))]
    while stack:
        node, memberships = stack.pop()
        if tree.column[node] < 0:
            continue
        parts: dict[int, Memberships] = {LEFT: {}, RIGHT: {}, THIRD: {}}
        for i, membership in memberships.items():
            branch = branch_of(tree, node, X[i])
            if branch == BOTH:
                parts[LEFT][i] = membership * tree.left_fraction[node]
                parts[RIGHT][i] = membership * (1 - tree.left_fraction[node])
            else:
                parts[branch][i] = membership
        for branch, children in ((LEFT, tree.left), (RIGHT, tree.right), (THIRD, tree.third)):
            if not parts[branch]:
                continue
            child = int(children[node])
            assert child >= 0, "a branch that training rows reach has been grown"
            stack.append((child, parts[branch]))
            if branch != THIRD:
                yield node, child, parts[branch]


def row_loss(value: Floats, y: Any, criterion: str) -> float:
    """Return the loss of a target under the value of a node."""
    if criterion == "squared_error":
        return float((y - value[0]) ** 2)
    if criterion == "entropy":
        return float(-np.log(value[y]))
    return float(((np.arange(len(value)) == y) - value) @ ((np.arange(len(value)) == y) - value))


def reference_importances(tree: Any, X: Floats, y: NDArray[Any], weight: Floats, criterion: str) -> Floats:
    reduction = np.zeros(X.shape[1])
    for node, child, memberships in partitions(tree, X):
        for i, membership in memberships.items():
            before, after = (row_loss(tree.value[at], y[i], criterion) for at in (node, child))
            reduction[tree.column[node]] += weight[i] * membership * (before - after)
    reduction = reduction.clip(min=0)
    return reduction / reduction.sum()


# ---- tests


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["squared_error", "entropy", "gini"])
def test_importances_are_the_reductions_of_the_loss_by_splits(
    criterion: str, missing: str, weighted: bool
) -> None:
    task = "regression" if criterion == "squared_error" else "classification"
    X, y = mixed_table(task)
    weight = np.random.default_rng(3).exponential(size=len(y)) if weighted else np.ones(len(y))
    parameters = {"max_depth": 3, "min_samples_leaf": 5, "categorical_features": [CATEGORICAL]}
    model = estimator(task, missing=missing, criterion=criterion, **parameters)
    model.fit(X, y, sample_weight=weight if weighted else None)
    n_nodes = model.n_nodes_
    found = model.feature_importances_
    assert model.n_nodes_ == n_nodes  # branches that training rows need have been grown in a copy
    model.grow_for(X)
    np.testing.assert_allclose(
        found, reference_importances(model.tree_, X, y, weight, criterion), rtol=1e-9, atol=1e-12
    )
    assert found.sum() == pytest.approx(1)
    assert (found > 0).sum() >= 3


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_third_branches_count(missing: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[:, 1] = X[:, 0] + rng.normal(size=600)
    y = np.sign(X[:, 0])
    X[:300, 0] = np.nan  # the better column; half of the rows have only the other one
    model = estimator("regression", missing=missing, max_depth=1).fit(X, y)
    assert model.tree_.column[0] == 0
    assert model.feature_importances_[1] > 0.1
