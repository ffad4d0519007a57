"""Third branches grown on demand are those of a tree that was fitted without the missing columns.

Under "trinary" a row with some columns missing gets the prediction of the tree fitted without these columns, which
grows nothing on demand and builds its histograms level by level.
"""

from __future__ import annotations

import pickle
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from models import Floats, estimator, fitted, predictions, same_bits, simulated, with_missing
from numpy.typing import NDArray

N_ROWS, N_COLUMNS, DEPTH = 20_000, 6, 4

#: task, whether rows have weights, criterion
TARGETS: dict[str, tuple[str, bool, str]] = {
    "numbers": ("regression", False, "squared_error"),
    "weighted numbers": ("regression", True, "squared_error"),
    "classes": ("classification", False, "entropy"),
    "weighted classes": ("classification", True, "gini"),
}


@cache
def table(target: str) -> tuple[Floats, NDArray[Any], Floats | None]:
    """Return a large table with missing values, its target and its weights, some of which are zero."""
    task, weighted, _ = TARGETS[target]
    X, y = simulated(N_ROWS, N_COLUMNS, missing=0.1, task=task)
    weight = np.random.default_rng(1).exponential(size=N_ROWS)
    weight[::7] = 0
    return X, y, weight if weighted else None


def fit_tree(target: str, columns: Any = slice(None), **parameters: Any) -> Any:
    """Return a tree fitted to some columns of the table, before any growth on demand."""
    X, y, weight = table(target)
    task, _, criterion = TARGETS[target]
    model = estimator(
        task, criterion=criterion, **({"max_depth": DEPTH, "min_samples_leaf": 10} | parameters)
    )
    return model.fit(X[:, columns], y, sample_weight=weight)


def patterns(seed: int, n: int) -> list[list[int]]:
    """Return some sets of up to four missing columns, the first columns among them."""
    every = [
        list(missing_columns) for k in range(1, 5) for missing_columns in combinations(range(N_COLUMNS), k)
    ]
    chosen = np.random.default_rng(seed).permutation(len(every))[:n]
    return [[0], [0, 1], *(every[i] for i in chosen)]


@pytest.mark.parametrize("max_bins", [16, 255, None])
@pytest.mark.parametrize("target", TARGETS)
def test_row_with_missing_columns_is_predicted_as_by_the_tree_without_them(
    target: str, max_bins: int | None
) -> None:
    model = fit_tree(target, max_bins=max_bins)
    complete = simulated(400, N_COLUMNS, seed=9)[0]
    for missing_columns in patterns(seed=1, n=4):
        observed_columns = [j for j in range(N_COLUMNS) if j not in missing_columns]
        rows = complete.copy()
        rows[:, missing_columns] = np.nan
        without = fit_tree(target, observed_columns, max_bins=max_bins)
        assert same_bits(predictions(model, rows), predictions(without, rows[:, observed_columns])), (
            missing_columns
        )
        assert without.n_grown_ == 0


@pytest.mark.parametrize("target", TARGETS)
def test_nodes_grown_on_demand_have_the_statistics_of_fitted_nodes(target: str) -> None:
    model = fit_tree(target, max_bins=64)
    rows = simulated(400, N_COLUMNS, seed=9)[0]
    missing_columns = [0, 2]
    observed_columns = [j for j in range(N_COLUMNS) if j not in missing_columns]
    rows[:, missing_columns] = np.nan
    without = fit_tree(target, observed_columns, max_bins=64)
    nodes, expected = model.apply(rows), without.apply(rows[:, observed_columns])
    tree, fit = model.tree_, without.tree_
    for field in ("rows", "depth", "weight", "loss", "value"):
        np.testing.assert_array_equal(
            getattr(tree, field)[nodes], getattr(fit, field)[expected], err_msg=field
        )


@pytest.mark.parametrize("max_bins", [16, None])
@pytest.mark.parametrize("target", ["numbers", "weighted classes"])
def test_order_of_single_row_predictions_changes_no_bit(target: str, max_bins: int | None) -> None:
    rows = with_missing(simulated(60, N_COLUMNS, seed=9)[0], 0.4)
    expected = predictions(fit_tree(target, max_bins=max_bins), rows)
    for seed in (1, 2):
        model = fit_tree(target, max_bins=max_bins)
        order = np.random.default_rng(seed).permutation(len(rows))
        found = {
            int(i): predictions(model, rows[i : i + 1])[0] for i in order
        }  # now one child, now the other
        assert same_bits(np.array([found[i] for i in range(len(rows))]), expected)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
@pytest.mark.parametrize("target", TARGETS)
def test_copies_of_a_partly_grown_tree_grow_alike(target: str, missing: str) -> None:
    rows = with_missing(simulated(500, N_COLUMNS, seed=9)[0], 0.3)
    original = fit_tree(target, missing=missing, max_bins=32)
    expected = predictions(fit_tree(target, missing=missing, max_bins=32), rows)
    for begin in (0, 3, 40):
        # branches grown below later splits of the ladder: a copy has to recompute their rows
        predictions(original, rows[begin : begin + 3])
        copy = pickle.loads(pickle.dumps(original))
        backwards = np.concatenate([predictions(copy, part) for part in np.array_split(rows, 5)[::-1]][::-1])
        assert same_bits(backwards, expected)


@pytest.mark.parametrize("target", ["numbers", "weighted classes"])
def test_fully_grown_copy_of_a_partly_grown_tree_is_the_full_tree(target: str) -> None:
    rows = with_missing(simulated(1_000, N_COLUMNS, seed=9)[0], 0.4)
    parameters: dict[str, Any] = {"max_bins": 16, "max_depth": 3}
    partly_grown = fit_tree(target, **parameters)
    predictions(partly_grown, rows[:5])
    full, copy = (
        fit_tree(target, **parameters).grow_all(),
        pickle.loads(pickle.dumps(partly_grown)).grow_all(),
    )
    assert copy.n_nodes_ == full.n_nodes_
    assert same_bits(predictions(copy, rows), predictions(full, rows))
    assert same_bits(predictions(fit_tree(target, **parameters), rows), predictions(full, rows))


@pytest.mark.parametrize("target", ["numbers", "weighted numbers"])
def test_node_with_its_own_fixed_point_scale_below_a_third_branch_is_that_of_a_fit(target: str) -> None:
    # targets of very different magnitude: histogram subtraction is then not possible
    X, y, weight = table(target)
    scaled = y * np.where(X[:, 1] > 0, 1e-6, 1.0) * np.where(X[:, 2] > 0.5, 1e-4, 1.0)
    parameters: dict[str, Any] = {"max_bins": 32, "max_depth": DEPTH, "min_samples_leaf": 10}
    model = fitted(X, scaled, weight, **parameters)
    rows = simulated(400, N_COLUMNS, seed=9)[0]
    rows[:, [0, 3]] = np.nan
    observed_columns = [1, 2, 4, 5]
    assert same_bits(
        model.predict(rows),
        fitted(X[:, observed_columns], scaled, weight, **parameters).predict(rows[:, observed_columns]),
    )


def test_tree_that_dropped_the_rows_of_old_nodes_recomputes_them() -> None:
    # the nodes of this tree have 25 million row indices in total, of which at most 16 million are stored
    X, y = simulated(N_ROWS, 12, missing=0.1)
    parameters: dict[str, Any] = {"max_bins": 16, "max_depth": 5, "min_samples_leaf": 200}
    full = fitted(X, y, **parameters).grow_all(max_nodes=10_000_000)
    rows = with_missing(simulated(300, 12, seed=9)[0], 0.3)
    assert same_bits(full.predict(rows), fitted(X, y, **parameters).predict(rows))


# ------------------------------------------------------------------------------------------ leaves grown on demand


@pytest.mark.parametrize("max_depth", [1, 2, 4])
def test_weights_of_one_change_no_leaf_grown_on_demand(max_depth: int) -> None:
    X, y = simulated(3_000, 5, missing=0.1)
    rows = with_missing(X, 0.4)
    plain = fitted(X, y, max_depth=max_depth).predict(rows)
    assert same_bits(fitted(X, y, np.ones(len(y)), max_depth=max_depth).predict(rows), plain)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_weights_of_one_change_no_class_leaf_grown_on_demand(criterion: str) -> None:
    X, y = simulated(3_000, 5, missing=0.1, task="classification")
    rows = with_missing(X, 0.4)
    plain = fitted(X, y, criterion=criterion, max_depth=2).predict_proba(rows)
    weighted = fitted(X, y, np.ones(len(y)), criterion=criterion, max_depth=2).predict_proba(rows)
    np.testing.assert_allclose(weighted, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("values", [(0.1, 0.3), (1e-300, 1e300), (-1 / 3, 1 / 3)])
def test_pure_leaf_grown_on_demand_has_exactly_the_value_of_its_rows(
    values: tuple[float, float], weighted: bool
) -> None:
    rng = np.random.default_rng(0)
    high = rng.random(300) < 0.4
    X = np.column_stack([high, high * 2.0, high * 3.0, rng.random(300)])
    y = np.where(high, values[1], values[0])
    weight = None
    if weighted:  # rows of zero weight have other targets, the first and the last of either leaf among them
        weight = rng.exponential(size=300)
        for side in (high, ~high):
            weightless = np.flatnonzero(side)[[0, 1, 5, -1]]
            weight[weightless], y[weightless] = 0, (values[0] + values[1]) / 2
    model = fitted(X, y, weight, max_depth=1)
    for missing_columns in ([0], [0, 1]):
        rows = X.copy()
        rows[:, missing_columns] = np.nan
        np.testing.assert_array_equal(model.predict(rows), np.where(high, values[1], values[0]))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_of_zero_weight_change_no_branch_grown_on_demand(task: str) -> None:
    X, y = simulated(600, 4, task=task)
    other_y = -1e6 * y if task == "regression" else (y + 1) % 3
    rows = with_missing(X, 0.4)
    without = fitted(X, y, np.ones(600), min_samples_leaf=1, max_depth=2)
    # no minimum of rows and no new feature value: rows of zero weight cannot move a threshold
    with_weightless = fitted(
        np.vstack([X, X]),
        np.concatenate([y, other_y]),
        np.repeat([1.0, 0.0], 600),
        min_samples_leaf=1,
        max_depth=2,
    )
    np.testing.assert_allclose(
        predictions(with_weightless, rows), predictions(without, rows), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("target", TARGETS)
def test_leaf_grown_on_demand_has_the_mean_of_its_rows(target: str) -> None:
    X, y, weight = table(target)
    model = fit_tree(target, max_depth=1)
    root = model.tree_.column[0]
    row = np.zeros((1, N_COLUMNS))
    row[0, root] = np.nan
    prediction = predictions(model, row)[0]
    third = model.tree_.third[0]
    in_leaf = X[:, model.tree_.column[third]] < model.tree_.threshold[third]
    if row[0, model.tree_.column[third]] >= model.tree_.threshold[third]:
        in_leaf = X[:, model.tree_.column[third]] >= model.tree_.threshold[third]
    each = y[in_leaf] if y.dtype.kind == "f" else np.eye(3)[y[in_leaf]]
    expected = np.average(each, axis=0, weights=None if weight is None else weight[in_leaf])
    np.testing.assert_allclose(prediction, expected, rtol=0, atol=1e-12)
