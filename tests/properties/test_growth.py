"""Growth on demand does not change predictions: they are those of the fully grown tree, until it is detached."""

from __future__ import annotations

import pickle
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import (
    STRATEGIES,
    TASKS,
    WITH_THIRD_BRANCHES,
    Floats,
    as_array,
    estimator,
    fitted,
    predictions,
    same_bits,
    simulated,
    with_missing,
)
from numpy.typing import NDArray
from properties.strategies import Problem, problems

from tritree import GrowthLimitError, UngrownBranchWarning

CRITERIA = ("squared_error", "entropy", "gini")


def task_of(criterion: str) -> str:
    return "regression" if criterion == "squared_error" else "classification"


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data(), max_leaf_nodes=st.none() | st.integers(2, 6))
def test_demand_grown_tree_predicts_the_bits_of_the_full_tree(
    criterion: str, missing: str, data: st.DataObject, max_leaf_nodes: int | None
) -> None:
    problem: Problem = data.draw(problems(task_of(criterion)))

    def fresh() -> Any:
        model = estimator(
            task_of(criterion),
            missing=missing,
            criterion=criterion,
            max_depth=problem.max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=problem.min_samples_leaf,
            categorical_features=problem.categorical,
        )
        return model.fit(as_array(problem.X), np.array(problem.y), sample_weight=problem.weight)

    rows = as_array(problem.X_test)
    expected = predictions(fresh().grow_all(), rows)
    assert same_bits(predictions(fresh(), rows), expected)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    for one_by_one in (order, order[::-1]):
        model = fresh()
        found = {int(i): predictions(model, rows[i : i + 1])[0] for i in one_by_one}
        assert same_bits(np.array([found[i] for i in range(len(rows))]), expected)


@pytest.mark.parametrize("task", TASKS)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_of_predictions_changes_no_bit(task: str, seed: int) -> None:
    X, y = simulated(150, missing=0.2, task=task)
    rows = with_missing(X[:40], 0.4)
    at_once = predictions(fitted(X, y), rows)
    model = fitted(X, y)
    order = np.random.default_rng(seed).permutation(len(rows))
    one_by_one = np.empty_like(at_once)
    for i in order:
        one_by_one[i] = predictions(model, rows[i : i + 1])[0]
    assert same_bits(at_once, one_by_one)


def test_growth_on_demand_changes_no_attribute() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    before = dict(vars(model))
    model.predict(with_missing(X, 0.5))
    assert model.n_grown_ > 0
    assert {name: id(value) for name, value in vars(model).items()} == {k: id(v) for k, v in before.items()}


def test_nothing_is_grown_on_demand_right_after_fitting_complete_data() -> None:
    X, y = simulated(200)
    assert fitted(X, y).n_grown_ == 0


def test_complete_rows_grow_nothing() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    n_nodes = model.n_nodes_
    model.predict(X)
    assert (model.n_nodes_, model.n_grown_) == (n_nodes, 0)


def test_n_grown_counts_the_nodes_added_after_the_fit() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    n_nodes = model.n_nodes_
    model.predict(with_missing(X, 0.3))
    assert model.n_grown_ > 0
    assert model.n_nodes_ == n_nodes + model.n_grown_


def test_number_of_nodes_is_the_length_of_the_arrays() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    model.predict(with_missing(X, 0.3))
    assert model.n_nodes_ == len(model.tree_.column)


def test_fully_grown_tree_does_not_grow() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    model.grow_all()
    n_nodes = model.n_nodes_
    model.predict(with_missing(X, 0.6))
    assert model.n_nodes_ == n_nodes


def test_fully_grown_tree_has_no_ungrown_branch() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    model.grow_all()
    tree = model.tree_
    assert min(tree.left.min(), tree.right.min(), tree.third.min()) >= -1


def test_growth_past_max_nodes_is_an_error_that_keeps_the_tree_usable() -> None:
    X, y = simulated(200)
    model = fitted(X, y)
    rows = with_missing(X, 0.5)
    expected = fitted(X, y).predict(rows)
    with pytest.raises(RuntimeError, match="max_nodes"):
        model.grow_all(max_nodes=model.n_nodes_ + 3)
    assert same_bits(model.predict(rows), expected)


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_growth_never_exceeds_max_nodes(missing: str) -> None:
    X, y = simulated(120, 4, missing=0.1)
    rows = with_missing(X, 0.3)
    n_fitted = fitted(X, y, missing=missing).n_nodes_
    full = fitted(X, y, missing=missing).grow_all()
    expected = full.predict(rows)
    for max_nodes in [*range(1, 60), *range(60, full.n_nodes_ + 20, 17), full.n_nodes_ - 1, full.n_nodes_]:
        model = fitted(X, y, missing=missing)
        with suppress(GrowthLimitError):
            model.grow_all(max_nodes=max_nodes)
            assert model.n_nodes_ == full.n_nodes_
        assert model.n_nodes_ <= max(max_nodes, n_fitted), max_nodes
        assert same_bits(model.predict(rows), expected)


# -------------------------------------------------------------------------- detached and pickled trees


def test_ungrown_branch_of_a_detached_tree_predicts_the_value_of_its_node() -> None:
    X, y = simulated(300)
    model = fitted(X, y)
    root = model.tree_.value[0]
    row = X[:1].copy()
    row[0, model.tree_.column[0]] = np.nan
    model.detach()
    with pytest.warns(UngrownBranchWarning):
        prediction = model.predict(row)
    assert same_bits(prediction, root)


def test_detached_tree_warns_once() -> None:
    X, y = simulated(300)
    model = fitted(X, y).detach()
    row = np.full((1, X.shape[1]), np.nan)
    with pytest.warns(UngrownBranchWarning):
        model.predict(row)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(model.predict(row)) == 1


def test_detached_tree_keeps_its_grown_branches() -> None:
    X, y = simulated(300)
    rows = with_missing(X, 0.3)
    model = fitted(X, y)
    expected = model.predict(rows)
    model.detach()
    assert same_bits(model.predict(rows), expected)


def test_detached_tree_does_not_grow() -> None:
    X, y = simulated(300)
    model = fitted(X, y).detach()
    n_nodes = model.n_nodes_
    with pytest.warns(UngrownBranchWarning):
        model.predict(with_missing(X, 0.5))
    assert model.n_nodes_ == n_nodes


def partly_grown(X: Floats, y: NDArray[Any], **parameters: Any) -> Any:
    model = fitted(X, y, **parameters)
    model.predict(with_missing(X[:20], 0.3))
    return model


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_pickled_tree_predicts_the_same_bits(task: str, missing: str) -> None:
    X, y = simulated(300, missing=0.2, task=task)
    rows = with_missing(X, 0.4)
    copy = pickle.loads(pickle.dumps(partly_grown(X, y, missing=missing)))
    assert same_bits(predictions(copy, rows), predictions(fitted(X, y, missing=missing), rows))


def test_pickled_partly_grown_tree_has_the_same_nodes() -> None:
    X, y = simulated(300)
    model = partly_grown(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.n_nodes_, copy.n_grown_) == (model.n_nodes_, model.n_grown_)


def test_pickled_partly_grown_tree_can_grow() -> None:
    X, y = simulated(300)
    copy = pickle.loads(pickle.dumps(partly_grown(X, y)))
    n_nodes = copy.n_nodes_
    copy.predict(with_missing(X, 0.6))
    assert copy.n_nodes_ > n_nodes


def test_pickled_detached_tree_stays_detached() -> None:
    X, y = simulated(300)
    copy = pickle.loads(pickle.dumps(fitted(X, y).detach()))
    n_nodes = copy.n_nodes_
    with pytest.warns(UngrownBranchWarning):
        copy.predict(with_missing(X, 0.5))
    assert copy.n_nodes_ == n_nodes
