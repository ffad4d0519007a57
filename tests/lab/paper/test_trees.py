"""Trees grow as in the author's runs in the paper's experiment only."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.lab import Dataset, Experiment
from tritree.lab.paper.experiment import AuthorClassifier, AuthorExperiment, AuthorRegressor


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        (AuthorExperiment, (AuthorRegressor, AuthorClassifier)),
        (Experiment, (TrinaryTreeRegressor, TrinaryTreeClassifier)),
    ],
)
def test_trees_grow_as_the_authors_only_in_his_experiment(kind: Any, classes: tuple[Any, Any]) -> None:
    table = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40) % 2})
    methods = kind(Dataset.from_table("table", table, "y"), methods=["fractional"])._methods
    made = [methods.make("fractional", task, 2) for task in ("regression", "classification")]
    assert tuple(map(type, made)) == classes


def brute_force(X: np.ndarray, y: np.ndarray, least: int) -> tuple[int, float]:
    """The column and threshold whose parts have the least loss, each cross-entropy times its rows."""

    def loss(labels: np.ndarray, shares: np.ndarray | None = None) -> float:
        if not len(labels):
            return 0.0
        own = np.bincount(labels, minlength=2) / len(labels)
        shares = own if shares is None else shares
        return -len(labels) * np.log(shares[labels]).sum()

    node = np.bincount(y) / len(y)
    best = (np.inf, -1, np.nan)
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        values = np.unique(X[seen, j])
        for low, high in itertools.pairwise(values):
            left, right = y[seen & (X[:, j] <= low)], y[seen & (X[:, j] > low)]
            if min(len(left), len(right)) >= least:
                best = min(best, (loss(left) + loss(right) + loss(y[~seen], node), j, (low + high) / 2))
    return best[1], best[2]


@pytest.mark.parametrize("seed", range(12))
def test_criterion_of_the_authors_runs_finds_the_expected_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(80, 3)).astype(float)
    y = (X[:, 0] + rng.normal(scale=3, size=80) > 4).astype(int)
    X[rng.random(X.shape) < 0.25] = np.nan
    model = AuthorClassifier(missing="trinary", max_depth=1, min_samples_leaf=4)
    tree = model.fit(X, y).tree_
    assert (tree.column[0], tree.threshold[0]) == brute_force(X, y, 4)


@pytest.mark.parametrize(("kind", "splits"), [(TrinaryTreeRegressor, False), (AuthorRegressor, True)])
def test_missing_rows_count_on_both_sides_in_the_papers_runs_only(kind: type, splits: bool) -> None:
    # three observed on the left, seven on the right, ten missing: by their shares six and fourteen rows,
    # counted twice thirteen and seventeen
    X = np.array([[0.0]] * 3 + [[1.0]] * 7 + [[np.nan]] * 10)
    y = np.nan_to_num(X[:, 0], nan=0.7)
    tree = kind(missing="fractional", min_samples_leaf=7).fit(X, y)
    assert (tree.tree_.column[0] == 0) == splits
