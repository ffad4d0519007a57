"""Small subtrees of a forest are grown by code of their own, and must equal those of a single tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from forest.test_forest import DIABETES, drawn_columns
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.boosted_tree import splitmix64

from tritree import (
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
)

WITHOUT_FRACTIONS = ("trinary", "trinary_mia", "mia", "majority")
#: A forest of one tree with all rows and columns.
ONE_TREE: dict[str, Any] = {
    "min_missing_third": 0,
    "n_estimators": 1,
    "bootstrap": False,
    "max_features": 1.0,
    "category_penalty": 0.0,
    "max_bins": 255,
}


def nodes_of(tree: Any) -> list[tuple[Any, ...]]:
    """Return the facts of the nodes that `fit` has grown, parents before children, left before right."""
    found: list[tuple[Any, ...]] = []
    stack = [0]
    while stack:
        node = stack.pop()
        found.append(
            (
                tree.column[node],
                None if np.isnan(tree.threshold[node]) else tree.threshold[node],
                tree.missing_to[node],
                tree.left_fraction[node],
                tree.depth[node],
                tree.rows[node],
                tree.weight[node],
                tree.loss[node],
                *np.atleast_1d(tree.value[node]),
            )
        )
        stack += [child for child in (tree.right[node], tree.left[node]) if child >= 0]
    return found


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray | None]:
    """Draw a table with missing values, rows to predict, a target and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, distinct = draw(st.integers(2, 700)), draw(st.sampled_from([2, 5, 40, 10**9]))
    missing_fraction = draw(st.sampled_from([0.0, 0.1, 0.6]))

    def table(rate: float) -> pd.DataFrame:
        numbers = np.floor(rng.normal(size=(n, 3)) * distinct) / distinct
        frame = pd.DataFrame(np.where(rng.random((n, 3)) < rate, np.nan, numbers), columns=list("abc"))
        kinds = pd.Categorical.from_codes(rng.integers(-(rate > 0), 5, n), list("uvwxy"))
        return frame.assign(d=kinds)

    X = table(missing_fraction)
    y = X["a"].fillna(1).to_numpy() + rng.normal(size=n).round(draw(st.sampled_from([0, 1, 9])))
    weights = {
        "none": None,
        "few": rng.integers(1, 4, n) / 4.0,
        "some zero": rng.integers(0, 3, n) / 4.0 + (np.arange(n) == 0),
        "of all magnitudes": 10.0 ** rng.integers(-12, 1, n),
    }
    return X, table(0.5), y, weights[draw(st.sampled_from(list(weights)))]


@pytest.mark.parametrize("missing", WITHOUT_FRACTIONS)
@settings(max_examples=25)
@given(drawn=tables(), min_samples_leaf=st.integers(1, 4), max_depth=st.sampled_from([3, 9, None]))
def test_numbers_are_those_of_a_single_tree(
    missing: str, drawn: Any, min_samples_leaf: int, max_depth: int | None
) -> None:
    X, Z, y, weight = drawn
    common: dict[str, Any] = {
        "missing": missing,
        "min_samples_leaf": min_samples_leaf,
        "max_depth": max_depth,
    }
    forest = TrinaryForestRegressor(**ONE_TREE, **common)
    tree = TrinaryTreeRegressor(max_bins=255, **common).fit(X, y, weight)
    core = forest.fit(X, y, weight)._model.core
    assert nodes_of(core.tree(0)) == nodes_of(tree.tree_)
    np.testing.assert_array_equal(forest.predict(Z), tree.predict(Z))


def test_rows_of_tiny_weight_are_split_as_in_a_single_tree() -> None:
    X = np.array([[0, np.nan, 0], [0, 0, 0], [0, 1, 1], [9, 0, 0]])
    common: dict[str, Any] = {"min_samples_leaf": 1, "max_depth": None}
    for tiny in 1e-10 * (1 + np.arange(200) / 300):
        y, weight = np.array([0.0, 0, 2, 100]), np.array([1.0, 0.1, tiny, 1])
        forest = TrinaryForestRegressor(**ONE_TREE, **common)
        core = forest.fit(X, y, weight)._model.core
        assert nodes_of(core.tree(0)) == nodes_of(
            TrinaryTreeRegressor(max_bins=255, **common).fit(X, y, weight).tree_
        )


@pytest.mark.parametrize("missing", WITHOUT_FRACTIONS)
@settings(max_examples=15)
@given(drawn=tables(), criterion=st.sampled_from(["entropy", "gini"]))
def test_classes_are_those_of_a_single_tree(missing: str, drawn: Any, criterion: str) -> None:
    X, Z, y, weight = drawn
    y = np.digitize(y, [-0.5, 0.7])
    common: dict[str, Any] = {"missing": missing, "min_samples_leaf": 1, "criterion": criterion}
    forest = TrinaryForestClassifier(**ONE_TREE, **common)
    tree = TrinaryTreeClassifier(max_depth=None, max_bins=255, **common).fit(X, y, weight)
    core = forest.fit(X, y, weight)._model.core
    assert nodes_of(core.tree(0)) == nodes_of(tree.tree_)
    np.testing.assert_array_equal(forest.predict_proba(Z), tree.predict_proba(Z))


def test_every_node_uses_the_best_split_of_its_own_sample_of_columns() -> None:
    X, y = DIABETES
    forest = TrinaryForestRegressor(
        n_estimators=1, bootstrap=False, max_features=0.3, min_samples_leaf=5, max_bins=None, random_state=0
    ).fit(X, y)
    tree = forest._model.core.tree(0)
    seed = int(np.random.RandomState(0).randint(1, 2**31 - 1, size=1)[0])
    stack = [(0, seed, np.arange(len(y)))]
    while stack:
        node, path, rows = stack.pop()
        assert tree.rows[node] == len(rows)
        if (column := tree.column[node]) < 0:
            continue
        some = drawn_columns(path, 10, 3)
        best = (
            TrinaryTreeRegressor(max_depth=1, min_samples_leaf=5, max_bins=None)
            .fit(X[rows][:, some], y[rows])
            .tree_
        )
        if best.column[0] >= 0:  # else more columns were drawn
            assert (column, tree.threshold[node]) == (some[best.column[0]], best.threshold[0])
        goes_left = X[rows, column] < tree.threshold[node]
        stack.append((tree.left[node], splitmix64(path, 1), rows[goes_left]))
        stack.append((tree.right[node], splitmix64(path, 2), rows[~goes_left]))
