"""Branches of a large tree grown on demand, from what their base has counted, are those of a tree grown from the start.

Under "trinary" a row that lacks some columns is answered by the tree that never had them: such a tree, fitted without
the columns, grows nothing on demand, and every node of it counts its rows in the order of the levels.
"""

from __future__ import annotations

import pickle
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from models import Floats, answers, estimator, fitted, holed, same_bits, simulated
from numpy.typing import NDArray

N_ROWS, N_COLUMNS, DEPTH = 20_000, 6, 4

#: task, whether rows have weights, criterion
RESPONSES: dict[str, tuple[str, bool, str]] = {
    "numbers": ("regression", False, "squared_error"),
    "weighted numbers": ("regression", True, "squared_error"),
    "classes": ("classification", False, "entropy"),
    "weighted classes": ("classification", True, "gini"),
}


@cache
def table(kind: str) -> tuple[Floats, NDArray[Any], Floats | None]:
    """Return a large table with holes, its response and its weights, some of which are zero."""
    task, weighted, _ = RESPONSES[kind]
    X, y = simulated(N_ROWS, N_COLUMNS, holes=0.1, task=task)
    weight = np.random.default_rng(1).exponential(size=N_ROWS)
    weight[::7] = 0
    return X, y, weight if weighted else None


def grown(kind: str, columns: Any = slice(None), **parameters: Any) -> Any:
    """Return a tree right after its fit to some columns of the table."""
    X, y, weight = table(kind)
    task, _, criterion = RESPONSES[kind]
    model = estimator(
        task, criterion=criterion, **({"max_depth": DEPTH, "min_samples_leaf": 10} | parameters)
    )
    return model.fit(X[:, columns], y, sample_weight=weight)


def patterns(seed: int, n: int) -> list[list[int]]:
    """Return some of the ways in which up to four columns may be missing, the first columns among them."""
    every = [list(gone) for k in range(1, 5) for gone in combinations(range(N_COLUMNS), k)]
    chosen = np.random.default_rng(seed).permutation(len(every))[:n]
    return [[0], [0, 1], *(every[i] for i in chosen)]


@pytest.mark.parametrize("max_bins", [16, 255, None])
@pytest.mark.parametrize("kind", RESPONSES)
def test_row_without_some_columns_is_answered_by_the_tree_that_never_had_them(
    kind: str, max_bins: int | None
) -> None:
    model = grown(kind, max_bins=max_bins)
    complete = simulated(400, N_COLUMNS, seed=9)[0]
    for gone in patterns(seed=1, n=4):
        rest = [j for j in range(N_COLUMNS) if j not in gone]
        rows = complete.copy()
        rows[:, gone] = np.nan
        without = grown(kind, rest, max_bins=max_bins)
        assert same_bits(answers(model, rows), answers(without, rows[:, rest])), gone
        assert without.n_grown_ == 0


@pytest.mark.parametrize("kind", RESPONSES)
def test_nodes_grown_on_demand_say_of_their_rows_what_nodes_of_a_fit_say(kind: str) -> None:
    model = grown(kind, max_bins=64)
    rows = simulated(400, N_COLUMNS, seed=9)[0]
    gone = [0, 2]
    rest = [j for j in range(N_COLUMNS) if j not in gone]
    rows[:, gone] = np.nan
    without = grown(kind, rest, max_bins=64)
    nodes, expected = model.apply(rows), without.apply(rows[:, rest])
    tree, fit = model.tree_, without.tree_
    for field in ("rows", "depth", "weight", "loss", "value"):
        np.testing.assert_array_equal(
            getattr(tree, field)[nodes], getattr(fit, field)[expected], err_msg=field
        )


@pytest.mark.parametrize("max_bins", [16, None])
@pytest.mark.parametrize("kind", ["numbers", "weighted classes"])
def test_rows_that_come_one_by_one_in_any_order_get_the_same_bits(kind: str, max_bins: int | None) -> None:
    rows = holed(simulated(60, N_COLUMNS, seed=9)[0], 0.4)
    expected = answers(grown(kind, max_bins=max_bins), rows)
    for seed in (1, 2):
        model = grown(kind, max_bins=max_bins)
        order = np.random.default_rng(seed).permutation(len(rows))
        found = {int(i): answers(model, rows[i : i + 1])[0] for i in order}  # now one daughter, now the other
        assert same_bits(np.array([found[i] for i in range(len(rows))]), expected)


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
@pytest.mark.parametrize("kind", RESPONSES)
def test_copies_of_a_half_grown_tree_grow_the_rest_alike(kind: str, missing: str) -> None:
    rows = holed(simulated(500, N_COLUMNS, seed=9)[0], 0.3)
    original = grown(kind, missing=missing, max_bins=32)
    expected = answers(grown(kind, missing=missing, max_bins=32), rows)
    for begin in (0, 3, 40):
        # what was grown for the first rows is off the first rungs: a copy has to find the rows of it again
        answers(original, rows[begin : begin + 3])
        copy = pickle.loads(pickle.dumps(original))
        backwards = np.concatenate([answers(copy, part) for part in np.array_split(rows, 5)[::-1]][::-1])
        assert same_bits(backwards, expected)


@pytest.mark.parametrize("kind", ["numbers", "weighted classes"])
def test_copy_of_a_half_grown_tree_grown_in_full_is_the_full_tree(kind: str) -> None:
    rows = holed(simulated(1_000, N_COLUMNS, seed=9)[0], 0.4)
    parameters: dict[str, Any] = {"max_bins": 16, "max_depth": 3}
    half = grown(kind, **parameters)
    answers(half, rows[:5])
    full, copy = grown(kind, **parameters).grow_all(), pickle.loads(pickle.dumps(half)).grow_all()
    assert copy.n_nodes_ == full.n_nodes_
    assert same_bits(answers(copy, rows), answers(full, rows))
    assert same_bits(answers(grown(kind, **parameters), rows), answers(full, rows))


@pytest.mark.parametrize("kind", ["numbers", "weighted numbers"])
def test_node_with_a_unit_of_its_own_below_a_third_branch_is_that_of_a_fit(kind: str) -> None:
    # responses of very different sizes: a daughter's sums are then not its base's less its sister's
    X, y, weight = table(kind)
    sized = y * np.where(X[:, 1] > 0, 1e-6, 1.0) * np.where(X[:, 2] > 0.5, 1e-4, 1.0)
    settings: dict[str, Any] = {"max_bins": 32, "max_depth": DEPTH, "min_samples_leaf": 10}
    model = fitted(X, sized, weight, **settings)
    rows = simulated(400, N_COLUMNS, seed=9)[0]
    rows[:, [0, 3]] = np.nan
    rest = [1, 2, 4, 5]
    assert same_bits(
        model.predict(rows), fitted(X[:, rest], sized, weight, **settings).predict(rows[:, rest])
    )


def test_tree_that_has_dropped_the_rows_of_old_bases_finds_them_again() -> None:
    # the bases of this tree have 25 million rows together, of which at most 16 million are kept
    X, y = simulated(N_ROWS, 12, holes=0.1)
    settings: dict[str, Any] = {"max_bins": 16, "max_depth": 5, "min_samples_leaf": 200}
    full = fitted(X, y, **settings).grow_all(max_nodes=10_000_000)
    rows = holed(simulated(300, 12, seed=9)[0], 0.3)
    assert same_bits(full.predict(rows), fitted(X, y, **settings).predict(rows))


# ------------------------------------------------------------------------------------------ leaves on demand


@pytest.mark.parametrize("max_depth", [1, 2, 4])
def test_weights_of_one_change_no_leaf_grown_on_demand(max_depth: int) -> None:
    X, y = simulated(3_000, 5, holes=0.1)
    rows = holed(X, 0.4)
    plain = fitted(X, y, max_depth=max_depth).predict(rows)
    assert same_bits(fitted(X, y, np.ones(len(y)), max_depth=max_depth).predict(rows), plain)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_weights_of_one_change_no_class_leaf_grown_on_demand(criterion: str) -> None:
    X, y = simulated(3_000, 5, holes=0.1, task="classification")
    rows = holed(X, 0.4)
    plain = fitted(X, y, criterion=criterion, max_depth=2).predict_proba(rows)
    weighted = fitted(X, y, np.ones(len(y)), criterion=criterion, max_depth=2).predict_proba(rows)
    np.testing.assert_allclose(weighted, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("values", [(0.1, 0.3), (1e-300, 1e300), (-1 / 3, 1 / 3)])
def test_pure_leaf_grown_on_demand_says_just_what_its_rows_say(
    values: tuple[float, float], weighted: bool
) -> None:
    rng = np.random.default_rng(0)
    high = rng.random(300) < 0.4
    X = np.column_stack([high, high * 2.0, high * 3.0, rng.random(300)])
    y = np.where(high, values[1], values[0])
    weight = None
    if weighted:  # rows of no weight say something else, the first and the last of either leaf among them
        weight = rng.exponential(size=300)
        for side in (high, ~high):
            unheard = np.flatnonzero(side)[[0, 1, 5, -1]]
            weight[unheard], y[unheard] = 0, (values[0] + values[1]) / 2
    model = fitted(X, y, weight, max_depth=1)
    for gone in ([0], [0, 1]):
        rows = X.copy()
        rows[:, gone] = np.nan
        np.testing.assert_array_equal(model.predict(rows), np.where(high, values[1], values[0]))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_of_no_weight_change_no_answer_of_branches_grown_on_demand(task: str) -> None:
    X, y = simulated(600, 4, task=task)
    wild = -1e6 * y if task == "regression" else (y + 1) % 3
    rows = holed(X, 0.4)
    without = fitted(X, y, np.ones(600), min_samples_leaf=1, max_depth=2)
    # no limit on rows and no new value: what counts nothing moves no threshold
    beside = fitted(
        np.vstack([X, X]),
        np.concatenate([y, wild]),
        np.repeat([1.0, 0.0], 600),
        min_samples_leaf=1,
        max_depth=2,
    )
    np.testing.assert_allclose(answers(beside, rows), answers(without, rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RESPONSES)
def test_leaf_grown_on_demand_holds_the_average_of_its_rows(kind: str) -> None:
    X, y, weight = table(kind)
    model = grown(kind, max_depth=1)
    root = model.tree_.column[0]
    row = np.zeros((1, N_COLUMNS))
    row[0, root] = np.nan
    answer = answers(model, row)[0]
    third = model.tree_.third[0]
    held = X[:, model.tree_.column[third]] < model.tree_.threshold[third]
    if row[0, model.tree_.column[third]] >= model.tree_.threshold[third]:
        held = X[:, model.tree_.column[third]] >= model.tree_.threshold[third]
    each = y[held] if y.dtype.kind == "f" else np.eye(3)[y[held]]
    expected = np.average(each, axis=0, weights=None if weight is None else weight[held])
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-12)
