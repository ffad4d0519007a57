"""Node statistics are the same whether computed from the parent's histogram or from the rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from models import Floats, estimator, same_bits, simulated, with_missing
from numpy.typing import NDArray

N_ROWS, N_COLUMNS = 4_000, 4

#: targets for which the histogram is precise enough, and some for which the rows are needed
SHAPES: dict[str, Any] = {
    "plain": lambda y: y,
    "far off": lambda y: 1e9 + y,
    "heavy tails": lambda y: np.exp(3 * y),
    "a few values": lambda y: np.round(y / 3),
    "nearly constant": lambda y: np.where(y > 4, y, 1.0),
}


def table(shape: str) -> tuple[Floats, NDArray[Any]]:
    """Return a complete table, and a target of this shape."""
    X, y = simulated(N_ROWS, N_COLUMNS)
    return X, SHAPES[shape](y)


def leaf_rows(tree: Any, X: Floats) -> dict[int, NDArray[np.bool_]]:
    """Return the training rows of every leaf; the rows are complete, and a third branch has those of its parent."""
    rows = {0: np.ones(len(X), dtype=bool)}
    for node in range(len(tree.column)):
        if tree.column[node] < 0:
            continue
        left = X[:, tree.column[node]] < tree.threshold[node]
        rows[int(tree.left[node])] = rows[node] & left
        rows[int(tree.right[node])] = rows[node] & ~left
        rows[int(tree.third[node])] = rows[node]
    return {node: rows[node] for node in rows if tree.column[node] < 0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_leaf_statistics_are_those_of_its_rows(shape: str, weighted: bool) -> None:
    X, y = table(shape)
    weight = np.random.default_rng(2).integers(1, 5, N_ROWS).astype(float) if weighted else np.ones(N_ROWS)
    model = estimator("regression", max_depth=3, max_bins=64, min_samples_leaf=5)
    tree = model.fit(X, y, sample_weight=weight if weighted else None).grow_all().tree_
    for leaf, rows in leaf_rows(tree, X).items():
        targets, w = y[rows].astype(np.longdouble), weight[rows]
        mean, largest = np.average(targets, weights=w), float(np.abs(targets).max())
        assert tree.rows[leaf] == rows.sum()
        assert tree.weight[leaf] == pytest.approx(w.sum(), rel=1e-12)
        assert tree.value[leaf] == pytest.approx(float(mean), rel=0, abs=1e-12 * largest)
        assert tree.loss[leaf] == pytest.approx(
            float(w @ (targets - mean) ** 2), rel=1e-8, abs=1e-24 * largest**2
        )


@pytest.mark.parametrize("max_bins", [64, None])
@pytest.mark.parametrize("shape", [*SHAPES, "classes"])
def test_leaves_of_full_growth_are_those_grown_on_demand(shape: str, max_bins: int | None) -> None:
    task = "classification" if shape == "classes" else "regression"
    X, y = simulated(N_ROWS, N_COLUMNS, task=task) if shape == "classes" else table(shape)
    by_rows = estimator(task, max_depth=3, max_bins=max_bins).fit(X, y)
    by_histogram = copy.deepcopy(by_rows).grow_all()
    rows = with_missing(X, 0.5)
    nodes, expected = by_histogram.apply(rows), by_rows.apply(rows)
    assert by_rows.n_grown_ < by_histogram.n_grown_
    for field in ("rows", "weight", "loss", "value"):
        found, from_rows = getattr(by_histogram.tree_, field)[nodes], getattr(by_rows.tree_, field)[expected]
        assert same_bits(found, from_rows), field
