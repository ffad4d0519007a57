"""Splits, values and losses of nodes follow from the definitions of the strategies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, TASKS, Floats, binary_part, fitted, predictions, simulated, training_loss
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
    expected = predictions(fitted(X, y, missing="majority"), X)
    np.testing.assert_allclose(predictions(fitted(X, y, missing=missing), X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_row_with_no_observed_column_gets_the_root_value(task: str) -> None:
    X, y = simulated(300, missing=0.2, task=task)
    weight = np.random.default_rng(3).exponential(size=len(y))
    empty = predictions(fitted(X, y, weight), np.full((1, X.shape[1]), np.nan)).ravel()
    if task == "regression":
        expected = np.atleast_1d(np.average(y, weights=weight))
    else:
        expected = np.bincount(y, weights=weight) / weight.sum()
    np.testing.assert_allclose(empty, expected, rtol=0, atol=1e-12)


# Under these strategies a deeper tree splits the training rows of a leaf further, including those with missing values.
@pytest.mark.parametrize("missing", ["majority", "mia", "surrogate"])
@pytest.mark.parametrize("task", TASKS)
def test_training_loss_never_rises_with_depth(task: str, missing: str) -> None:
    X, y = simulated(400, missing=0.2, task=task)
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


@pytest.mark.parametrize("field", ["rows", "depth", "weight", "loss"])
def test_third_branch_has_the_rows_and_depth_of_its_node(field: str) -> None:
    X, y = simulated(300, missing=0.3)
    tree = fitted(X, y, missing="trinary").grow_all().tree_
    inner = np.flatnonzero(tree.column >= 0)
    of_nodes = getattr(tree, field)
    np.testing.assert_array_equal(of_nodes[tree.third[inner]], of_nodes[inner])


def test_mean_of_rows_with_small_weights_is_precise() -> None:
    X = np.array([[np.nan]] * 16 + [[-2.0], [-1.0]])
    y = np.array([0.0] * 14 + [2048.0, 0.0, 0.0, -1 / 1024])
    weight = np.array([1e-6] * 17 + [0.1])
    tree = fitted(X, y, weight, missing="mia", max_depth=1, min_samples_leaf=1, split_on_missing=False).tree_
    assert tree.value[tree.rows == 17, 0] == pytest.approx(2048 / 17, rel=1e-14)
