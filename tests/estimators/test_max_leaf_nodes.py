"""A tree with a maximum number of leaves grows best-first, third branches included."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import (
    STRATEGIES,
    TASKS,
    WITH_THIRD_BRANCHES,
    estimator,
    predictions,
    same_bits,
    simulated,
    with_missing,
)
from sklearn.tree import DecisionTreeRegressor

from tritree import (
    GrowthLimitError,
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
    load,
)


def leaves_below(tree: Any, node: int) -> int:
    """Return the number of leaves below left and right branches."""
    if tree.column[node] < 0:
        return 1
    return leaves_below(tree, tree.left[node]) + leaves_below(tree, tree.right[node])


@pytest.mark.parametrize("missing", STRATEGIES)
def test_tree_has_as_many_leaves_as_allowed(missing: str) -> None:
    X, y = simulated(400, missing=0.1)
    for most in (2, 3, 7, 20):
        model = TrinaryTreeRegressor(missing=missing, max_leaf_nodes=most, max_depth=None, min_samples_leaf=5)
        assert leaves_below(model.fit(X, y).tree_, 0) == most


def test_tree_on_complete_rows_splits_as_scikit_learn() -> None:
    X, y = simulated(500)
    ours = TrinaryTreeRegressor(max_leaf_nodes=12, max_depth=None, min_samples_leaf=4).fit(X, y)
    theirs = DecisionTreeRegressor(max_leaf_nodes=12, min_samples_leaf=4).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


def test_limit_that_no_tree_reaches_changes_no_bit() -> None:
    X, y = simulated(300, missing=0.2)
    rows = with_missing(X, 0.4)
    limited, free = (
        TrinaryTreeRegressor(max_leaf_nodes=most, max_depth=4).fit(X, y).predict(rows)
        for most in (10_000, None)
    )
    assert same_bits(limited, free)


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_third_branch_of_a_full_tree_has_at_most_the_leaves_of_the_other_two(missing: str) -> None:
    X, y = simulated(300, 4)
    model = TrinaryTreeRegressor(missing=missing, max_leaf_nodes=6, min_samples_leaf=5).fit(X, y).grow_all()
    tree = model.tree_
    thirds = [node for node in range(tree.n_fitted) if tree.third[node] >= 0]
    assert len(thirds) == 5
    for node in thirds:
        assert leaves_below(tree, tree.third[node]) <= leaves_below(tree, node)


@pytest.mark.parametrize("task", TASKS)
def test_saved_and_pickled_trees_go_on_growing_to_the_bit(task: str, tmp_path: Path) -> None:
    X, y = simulated(300, missing=0.15, task=task)
    rows = with_missing(X, 0.5)
    model = estimator(task, max_leaf_nodes=8, max_depth=None).fit(X, y)
    model.predict(rows[:5])
    model.save(tmp_path / "model.tritree")
    pickled = pickle.loads(pickle.dumps(model))
    expected = predictions(model, rows)
    assert same_bits(predictions(load(tmp_path / "model.tritree"), rows), expected)
    assert same_bits(predictions(pickled, rows), expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_number_of_threads_changes_no_bit_of_a_forest(n_jobs: int) -> None:
    X, y = simulated(2_000, 8, missing=0.1)
    rows = with_missing(X[:200], 0.5)
    forest = TrinaryForestRegressor(
        n_estimators=5, max_leaf_nodes=30, max_features="sqrt", random_state=0, n_jobs=n_jobs
    )
    alone = forest.set_params(n_jobs=1).fit(X, y).predict(rows)
    assert same_bits(forest.set_params(n_jobs=n_jobs).fit(X, y).predict(rows), alone)


def test_trees_of_a_forest_have_at_most_the_leaves_allowed() -> None:
    X, y = simulated(600, missing=0.1, task="classification")
    forest = TrinaryForestClassifier(n_estimators=4, max_leaf_nodes=9, random_state=0).fit(X, y)
    assert [leaves_below(tree.tree_, 0) for tree in forest.estimators_] == [9] * 4


def test_warm_start_refuses_another_number_of_leaves() -> None:
    X, y = simulated(200)
    forest = TrinaryForestRegressor(n_estimators=2, max_leaf_nodes=4, warm_start=True, random_state=0).fit(
        X, y
    )
    with pytest.raises(ValueError, match="max_leaf_nodes"):
        forest.set_params(n_estimators=3, max_leaf_nodes=5).fit(X, y)


@pytest.mark.parametrize("max_third_nodes", [0, 1, 40])
def test_nodes_grown_on_demand_exceed_their_limit_by_at_most_one_third_branch(max_third_nodes: int) -> None:
    X, y = simulated(500, 6)
    rows = with_missing(X, 0.5)
    forest = TrinaryForestRegressor(
        n_estimators=2, max_leaf_nodes=8, max_third_nodes=max_third_nodes, min_missing_third=0, random_state=0
    )
    forest.fit(X, y)
    with pytest.warns(UngrownBranchWarning):
        forest.predict(rows)
    most = max_third_nodes and max_third_nodes + 2 * 8 - 2
    assert (max_third_nodes > 0) * 2 <= forest.n_grown_ <= 2 * most


def test_grow_all_exceeds_its_limit_by_at_most_one_third_branch() -> None:
    X, y = simulated(500, 6)
    model = TrinaryTreeRegressor(max_leaf_nodes=20, min_samples_leaf=5, max_depth=None).fit(X, y)
    with pytest.raises(GrowthLimitError):
        model.grow_all(max_nodes=300)
    assert 300 <= model.n_nodes_ < 300 + 2 * 20


@pytest.mark.parametrize("max_leaf_nodes", [None, 8])
def test_grow_all_is_not_limited_by_growth_on_demand(max_leaf_nodes: int | None) -> None:
    X, y = simulated(100, 4)
    forest = TrinaryForestRegressor(
        n_estimators=2, max_leaf_nodes=max_leaf_nodes, max_third_nodes=5, min_samples_leaf=10, random_state=0
    )
    assert -2 not in forest.fit(X, y).grow_all().estimators_[0].tree_.third


@pytest.mark.parametrize("max_third_nodes", [0, 50])
def test_importances_and_pages_do_not_depend_on_the_limit_of_growth_on_demand(max_third_nodes: int) -> None:
    X, y = simulated(500, 6, missing=0.3)
    limited, free = (
        TrinaryForestRegressor(n_estimators=2, max_leaf_nodes=31, max_third_nodes=most, random_state=0).fit(
            X, y
        )
        for most in (max_third_nodes, 10**6)
    )
    np.testing.assert_array_equal(limited.feature_importances_, free.feature_importances_)
    assert limited.to_html().startswith("<!")


def test_importances_count_training_rows_in_third_branches() -> None:
    X, y = simulated(400, missing=0.3)
    model = TrinaryTreeRegressor(max_leaf_nodes=3).fit(X, y)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert set(np.flatnonzero(importances)) > set(model.tree_.column[model.tree_.column >= 0])
    grown = TrinaryTreeRegressor(max_leaf_nodes=3).fit(X, y).grow_for(X)
    assert grown.n_grown_ > model.n_grown_ == 0
    assert same_bits(grown.feature_importances_, importances)
