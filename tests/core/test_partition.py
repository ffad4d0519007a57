"""Every node holds the rows that the splits above it send there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, Floats, fitted, simulated
from numpy.typing import NDArray


def rows_by_node(tree: Any, X: Floats) -> dict[int, NDArray[np.bool_]]:
    """Return the training rows of each node, by applying the splits of a tree on numeric columns."""
    LEFT, RIGHT = 0, 1
    rows_of = {0: np.ones(len(X), dtype=bool)}
    queue = [0]
    while queue:
        node = queue.pop()
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
                rows_of[int(child[node])] = rows_of[node] & part
                queue.append(int(child[node]))
    return rows_of


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "mia", "majority"])
def test_every_node_counts_the_rows_that_the_splits_send_there(missing: str) -> None:
    X, y = simulated(300, missing=0.3)
    model = fitted(X, y, missing=missing)
    model.grow_all()
    tree = model.tree_
    rows_of = rows_by_node(tree, X)
    assert [int(tree.rows[node]) for node in sorted(rows_of)] == [
        int(rows_of[node].sum()) for node in sorted(rows_of)
    ]


def test_left_right_and_missing_rows_add_up_to_the_node() -> None:
    X, y = simulated(300, missing=0.3)
    model = fitted(X, y, missing="trinary")
    model.grow_all()
    tree = model.tree_
    rows_of = rows_by_node(tree, X)
    inner = np.flatnonzero(tree.column >= 0)
    missing = np.array([np.isnan(X[rows_of[i], tree.column[i]]).sum() for i in inner])
    total = tree.rows[tree.left[inner]] + tree.rows[tree.right[inner]] + missing
    np.testing.assert_array_equal(total, tree.rows[inner])


@pytest.mark.parametrize("missing", STRATEGIES)
def test_no_child_has_fewer_rows_than_min_samples_leaf(missing: str) -> None:
    X, y = simulated(300, missing=0.3)
    model = fitted(X, y, missing=missing, min_samples_leaf=17)
    model.grow_all()
    assert model.tree_.rows.min() >= 17
