"""Many rows that are led at once end where each of them ends alone, wherever their numbers lie in memory."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import TASKS, WITH_THIRD_BRANCHES, Floats, answers, fitted, holed, same_bits, simulated
from numpy.typing import NDArray

from tritree import ColumnError, UngrownBranchWarning

#: The strategies whose rows go one way each.
ONE_WAY = ("trinary", "trinary_mia", "mia", "majority")
N_COLUMNS = 4


@cache
def training(task: str) -> tuple[Floats, NDArray[Any]]:
    """Return a table that is complete but for one column, whose holes say something about the response."""
    X, y = simulated(150, N_COLUMNS, task=task)
    X[np.random.default_rng(1).random(150) < 0.3, 1] = np.nan
    if task == "regression":
        y = y + np.isnan(X[:, 1])
    return X, y


@cache
def pickled(task: str, missing: str) -> bytes:
    """Return a tree right after its fit, in a form that anyone may grow on."""
    X, y = training(task)
    return pickle.dumps(fitted(X, y, missing=missing, max_depth=3, min_samples_leaf=8))


def fresh(task: str, missing: str) -> Any:
    return pickle.loads(pickled(task, missing))


def rows_to_ask(task: str, n_rows: int, seed: int) -> Floats:
    """Return rows of training values, of thresholds and of holes."""
    rng = np.random.default_rng(seed)
    X = training(task)[0]
    thresholds = fresh(task, "majority").tree_.threshold
    pool = np.concatenate([X.ravel()[:40], thresholds[np.isfinite(thresholds)], [np.nan] * 12])
    return rng.choice(pool, (n_rows, N_COLUMNS))


def alone(ask: Callable[[Floats], NDArray[Any]], rows: Floats) -> NDArray[Any]:
    """Return the answers to the rows, asked for one at a time: one row is always walked."""
    return np.concatenate([ask(rows[i : i + 1]) for i in range(len(rows))])


def spread(rows: Floats) -> Floats:
    """Return the rows as every other column and every third row of a larger table of infinite values."""
    larger = np.full((3 * len(rows), 2 * N_COLUMNS), np.inf)
    larger[::3, ::2] = rows
    return larger[::3, ::2]


LAYOUTS: dict[str, Callable[[Floats], Floats]] = {
    "rows side by side": np.ascontiguousarray,
    "columns side by side": np.asfortranarray,
    "rows backwards": lambda rows: rows[::-1].copy()[::-1],
    "columns backwards": lambda rows: rows[:, ::-1].copy()[:, ::-1],
    "all backwards": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "among others": spread,
    "columns side by side, backwards": lambda rows: np.asfortranarray(rows[::-1, ::-1])[::-1, ::-1],
    "single precision": lambda rows: rows.astype(np.float32),
    "single precision, columns side by side": lambda rows: np.asfortranarray(rows, dtype=np.float32),
    "single precision, among others": lambda rows: spread(rows).astype(np.float32)[:, :],
}


@pytest.mark.parametrize("missing", ONE_WAY)
@pytest.mark.parametrize("task", TASKS)
@given(n_rows=st.integers(1, 40), layout=st.sampled_from(sorted(LAYOUTS)), seed=st.integers(0, 2**32 - 1))
def test_rows_in_any_layout_get_the_answers_they_get_alone(
    task: str, missing: str, n_rows: int, layout: str, seed: int
) -> None:
    rows = LAYOUTS[layout](rows_to_ask(task, n_rows, seed))
    model = fresh(task, missing)
    together = answers(model, rows)
    assert same_bits(together, alone(lambda row: answers(model, row), rows.astype(np.float64)))


@pytest.mark.parametrize("missing", ONE_WAY)
@pytest.mark.parametrize("task", TASKS)
@given(n_rows=st.integers(1, 60), layout=st.sampled_from(sorted(LAYOUTS)), seed=st.integers(0, 2**32 - 1))
def test_rows_in_any_layout_end_in_the_nodes_they_end_in_alone(
    task: str, missing: str, n_rows: int, layout: str, seed: int
) -> None:
    rows = LAYOUTS[layout](rows_to_ask(task, n_rows, seed))
    model = fresh(task, missing)
    together = model.apply(rows)
    np.testing.assert_array_equal(together, alone(model.apply, rows.astype(np.float64)))


@pytest.mark.parametrize("missing", ONE_WAY)
@given(n_rows=st.integers(1, 60), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_columns_of_any_types_and_steps_are_led_as_those_of_a_matrix(
    missing: str, n_rows: int, seed: int, data: st.DataObject
) -> None:
    rows = rows_to_ask("regression", n_rows, seed).astype(np.float32).astype(np.float64)
    absent = data.draw(st.sets(st.integers(0, N_COLUMNS - 1)))
    rows[:, list(absent)] = np.nan
    kinds = data.draw(st.lists(st.sampled_from(["C", "F", "back", "f4"]), min_size=4, max_size=4))
    tables = {"C": rows, "F": rows.copy("F"), "back": rows[::-1].copy()[::-1], "f4": rows.astype(np.float32)}
    columns = [None if j in absent else tables[kind][:, j] for j, kind in enumerate(kinds)]
    core = fresh("regression", missing)._model.core
    expected = core.predict(np.ascontiguousarray(rows), n_rows, 1)
    assert same_bits(core.predict(columns, n_rows, 1), expected)


@pytest.mark.parametrize("absent", [[0], [3], [0, 1], [1, 2], [0, 2, 3]])
@pytest.mark.parametrize("missing", ONE_WAY)
def test_column_that_is_absent_leads_as_one_of_holes_only(missing: str, absent: list[int]) -> None:
    rows = rows_to_ask("regression", 100, seed=1)
    rows[:, absent] = np.nan
    core = fresh("regression", missing)._model.core
    columns = [None if j in absent else rows[:, j] for j in range(N_COLUMNS)]
    led = core.predict(columns, 100, 1)  # grows, so that all steps are there the second time
    assert same_bits(led, core.predict(rows, 100, 1))
    assert same_bits(led, core.predict(columns, 100, 1))
    one_by_one = [core.predict(rows[i : i + 1], 1, 1) for i in range(100)]
    assert same_bits(led, np.concatenate(one_by_one))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", ONE_WAY)
def test_tree_with_a_category_beside_answers_as_the_tree_of_numbers_alone(missing: str, task: str) -> None:
    X, y = training(task)
    rows = rows_to_ask(task, 1_000, seed=2)
    numbers = fitted(X, y, missing=missing)
    beside = fitted(np.column_stack([X, np.zeros(len(X))]), y, missing=missing, categorical_features=[4])
    assert same_bits(answers(numbers, rows), answers(beside, np.column_stack([rows, np.zeros(1_000)])))


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
def test_missing_against_observed_parts_many_rows_as_it_parts_one(missing: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.4] = np.nan
    y = 10.0 * np.isnan(X[:, 0]) + 5.0 * np.isnan(X[:, 1]) + rng.normal(size=400)
    model = fitted(X, y, missing=missing)
    assert model.tree_.threshold[0] == -np.inf
    rows = np.vstack([holed(X, 0.2), [[-1e308, 1e308, 0.0], [-np.finfo(float).tiny, -0.0, 5e-324]]])
    together = model.predict(rows)
    assert same_bits(together, alone(model.predict, rows))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_rows", [1023, 1024, 1025, 5_003])
def test_blocks_of_rows_meet_without_a_gap(n_rows: int, n_threads: int) -> None:
    rows = rows_to_ask("regression", n_rows, seed=3)
    core = fresh("regression", "trinary")._model.core
    walked = core.predict([*rows.T[:3].copy(), rows[:, 3]], n_rows, 1)  # columns of different steps
    led = fresh("regression", "trinary")._model.core.predict(rows, n_rows, n_threads)
    assert same_bits(led, walked)


def test_one_row_given_many_times_over_without_a_copy_is_answered_every_time() -> None:
    row = rows_to_ask("regression", 1, seed=4)
    model = fresh("regression", "trinary")
    found = model.predict(np.broadcast_to(row, (100, N_COLUMNS)))
    assert same_bits(found, np.repeat(model.predict(row), 100))


def test_tree_of_one_leaf_answers_every_row_with_it() -> None:
    model = fitted(np.zeros((30, 2)), np.arange(30.0))
    np.testing.assert_array_equal(model.predict(holed(np.ones((13, 2)), 0.5)), np.full(13, 14.5))


# ------------------------------------------------------------------------------------ trees that are not grown


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("task", TASKS)
@given(seed=st.integers(0, 2**32 - 1), n_before=st.integers(0, 4))
def test_rows_that_meet_ungrown_branches_get_the_answers_of_the_full_tree(
    task: str, missing: str, seed: int, n_before: int
) -> None:
    rows = rows_to_ask(task, 60, seed)
    model = fresh(task, missing)
    if n_before:
        answers(model, rows[:n_before])  # somewhere a branch is grown, and the next one is not
    full = fresh(task, missing).grow_all()
    assert same_bits(answers(model, rows), alone(lambda row: answers(full, row), rows))


def detached(task: str, missing: str, n_before: int) -> Any:
    """Return a tree that has grown for a few rows and can grow no more."""
    model = fresh(task, missing)
    answers(model, rows_to_ask(task, n_before, seed=5))
    return model.detach()


def unwarned(ask: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UngrownBranchWarning)
        return ask()


@pytest.mark.parametrize(
    "layout", ["rows side by side", "single precision, columns side by side", "among others"]
)
@pytest.mark.parametrize("n_before", [1, 5, 20])
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_detached_tree_says_how_many_rows_it_cut_short(missing: str, n_before: int, layout: str) -> None:
    model = detached("regression", missing, n_before)
    copy = pickle.loads(pickle.dumps(model))
    rows = rows_to_ask("regression", 1_501, seed=6).astype(np.float32).astype(np.float64)
    nodes = unwarned(lambda: alone(copy.apply, rows))
    n_short = int((copy.tree_.column[nodes] >= 0).sum())
    assert n_short > 0
    with pytest.warns(UngrownBranchWarning, match=rf"^{n_short:,} rows met a third branch"):
        model.predict(LAYOUTS[layout](rows))


@pytest.mark.parametrize("n_before", [1, 5, 20])
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("task", TASKS)
def test_detached_tree_answers_rows_together_as_it_answers_them_alone(
    task: str, missing: str, n_before: int
) -> None:
    model = detached(task, missing, n_before)
    rows = rows_to_ask(task, 203, seed=7)
    together = unwarned(lambda: answers(model, rows))
    assert same_bits(together, unwarned(lambda: alone(lambda row: answers(model, row), rows)))
    nodes = unwarned(lambda: model.apply(rows))
    assert same_bits(together, model.tree_.value[nodes].reshape(together.shape))


# -------------------------------------------------------------------------------------------- infinite values


@cache
def wide_tree(missing: str) -> Any:
    X, y = simulated(200, 3)
    return fitted(X, y, missing=missing)


#: Values that stand beside the infinite one, and must neither hide it nor be taken for it.
BESIDE = {np.float64: (0.0, np.nan, 1.7e308, -3.5e38), np.float32: (0.0, np.nan, 3.4e38)}


@pytest.mark.parametrize("missing", ["trinary", "fractional", "surrogate"])
@given(data=st.data())
def test_infinite_value_is_named_wherever_it_stands(missing: str, data: st.DataObject) -> None:
    n_rows = data.draw(st.sampled_from([1, 2, 9, 1023, 1024, 1025, 4_099]))
    row = data.draw(st.sampled_from([0, n_rows // 2, n_rows - 1]) | st.integers(0, n_rows - 1))
    column = data.draw(st.integers(0, 2))
    value = data.draw(st.sampled_from([np.inf, -np.inf]))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    order = data.draw(st.sampled_from(["C", "F"]))
    step = data.draw(st.sampled_from([1, -1, 2]))
    beside = data.draw(st.sampled_from(BESIDE[dtype]))
    rows = np.full((n_rows * abs(step), 3), beside, dtype=dtype, order=order)[::step]
    rows[row, column] = value
    with pytest.raises(ColumnError, match=rf"^column {column} holds {value} in row {row};"):
        wide_tree(missing).predict(rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_first_infinite_value_of_several_in_a_block_is_that_of_the_first_column(
    order: Any, dtype: Any
) -> None:
    rows = np.zeros((2_000, 3), dtype=dtype, order=order)
    rows[5, 2] = rows[700, 1] = rows[800, 1] = np.inf
    with pytest.raises(ColumnError, match=re.escape("column 1 holds inf in row 700;")):
        wide_tree("trinary").predict(rows)


def test_infinite_value_beside_the_rows_is_nobodys_business() -> None:
    rows = np.full((60, 8), np.inf)
    rows[::2, 1:7:2] = simulated(30, 3)[0]
    inner = rows[::2, 1:7:2]
    assert same_bits(wide_tree("trinary").predict(inner), wide_tree("trinary").predict(inner.copy()))
