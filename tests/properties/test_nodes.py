"""Every node holds the rows, the depth and the value that its place in the tree implies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, TASKS, Floats, answers, binary_part, fitted, simulated, training_loss
from numpy.typing import NDArray


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_complete_data_give_every_strategy_the_same_splits(task: str, missing: str) -> None:
    X, y = simulated(300, task=task)
    expected = list(binary_part(fitted(X, y, missing="majority").tree_))
    np.testing.assert_array_equal(list(binary_part(fitted(X, y, missing=missing).tree_)), expected)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_complete_data_give_every_strategy_the_same_predictions(task: str, missing: str) -> None:
    X, y = simulated(300, task=task)
    expected = answers(fitted(X, y, missing="majority"), X)
    np.testing.assert_allclose(answers(fitted(X, y, missing=missing), X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_row_with_no_observed_column_gets_the_root_value(task: str) -> None:
    X, y = simulated(300, holes=0.2, task=task)
    weight = np.random.default_rng(3).exponential(size=len(y))
    empty = answers(fitted(X, y, weight), np.full((1, X.shape[1]), np.nan)).ravel()
    if task == "regression":
        expected = np.atleast_1d(np.average(y, weights=weight))
    else:
        expected = np.bincount(y, weights=weight) / weight.sum()
    np.testing.assert_allclose(empty, expected, rtol=0, atol=1e-12)


# Under these strategies a deeper tree splits the training rows of a leaf further, also those with holes.
@pytest.mark.parametrize("missing", ["majority", "mia", "surrogate"])
@pytest.mark.parametrize("task", TASKS)
def test_training_loss_never_rises_with_depth(task: str, missing: str) -> None:
    X, y = simulated(400, holes=0.2, task=task)
    assert_loss_never_rises(X, y, missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_training_loss_on_complete_data_never_rises_with_depth(task: str, missing: str) -> None:
    X, y = simulated(400, task=task)
    assert_loss_never_rises(X, y, missing)


def assert_loss_never_rises(X: Floats, y: NDArray[Any], missing: str) -> None:
    losses = [training_loss(fitted(X, y, missing=missing, max_depth=depth), X, y) for depth in range(1, 7)]
    assert all(deeper <= shallower * (1 + 1e-12) for shallower, deeper in pairwise(losses))
    assert losses[-1] < losses[0]


def rows_by_node(tree: Any, X: Floats) -> dict[int, NDArray[np.bool_]]:
    """Return for each node which training rows it holds, from the splits of a tree on numeric columns."""
    LEFT, RIGHT = 0, 1
    held = {0: np.ones(len(X), dtype=bool)}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if tree.column[node] < 0:
            continue
        values = X[:, tree.column[node]]
        missing = np.isnan(values)
        left, right = values < tree.threshold[node], values >= tree.threshold[node]
        left |= missing & (tree.missing_to[node] == LEFT)
        right |= missing & (tree.missing_to[node] == RIGHT)
        everything = np.ones(len(X), dtype=bool)
        for child, part in ((tree.left, left), (tree.right, right), (tree.third, everything)):
            if child[node] >= 0:
                held[int(child[node])] = held[node] & part
                waiting.append(int(child[node]))
    return held


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "majority"])
def test_every_node_counts_the_rows_that_its_splits_send_there(missing: str) -> None:
    X, y = simulated(300, holes=0.3)
    model = fitted(X, y, missing=missing)
    model.grow_all()
    tree = model.tree_
    held = rows_by_node(tree, X)
    assert [int(tree.rows[node]) for node in sorted(held)] == [int(held[node].sum()) for node in sorted(held)]


def test_left_right_and_missing_rows_add_up() -> None:
    X, y = simulated(300, holes=0.3)
    model = fitted(X, y, missing="trinary")
    model.grow_all()
    tree = model.tree_
    held = rows_by_node(tree, X)
    inner = np.flatnonzero(tree.column >= 0)
    missing = np.array([np.isnan(X[held[i], tree.column[i]]).sum() for i in inner])
    total = tree.rows[tree.left[inner]] + tree.rows[tree.right[inner]] + missing
    np.testing.assert_array_equal(total, tree.rows[inner])


@pytest.mark.parametrize("field", ["rows", "depth", "weight", "loss"])
def test_third_branch_has_the_rows_and_the_depth_of_its_node(field: str) -> None:
    X, y = simulated(300, holes=0.3)
    tree = fitted(X, y, missing="trinary").grow_all().tree_
    inner = np.flatnonzero(tree.column >= 0)
    of_nodes = getattr(tree, field)
    np.testing.assert_array_equal(of_nodes[tree.third[inner]], of_nodes[inner])


@pytest.mark.parametrize("missing", STRATEGIES)
def test_no_side_of_a_split_has_fewer_rows_than_allowed(missing: str) -> None:
    X, y = simulated(300, holes=0.3)
    model = fitted(X, y, missing=missing, min_samples_leaf=17)
    model.grow_all()
    assert model.tree_.rows.min() >= 17


def test_rows_that_weigh_little_beside_others_keep_the_digits_of_their_mean() -> None:
    X = np.array([[np.nan]] * 16 + [[-2.0], [-1.0]])
    y = np.array([0.0] * 14 + [2048.0, 0.0, 0.0, -1 / 1024])
    weight = np.array([1e-6] * 17 + [0.1])
    tree = fitted(X, y, weight, missing="mia", max_depth=1, min_samples_leaf=1, split_on_missing=False).tree_
    assert tree.value[tree.rows == 17, 0] == pytest.approx(2048 / 17, rel=1e-14)
