"""Rows predicted together get the predictions they get alone, in every memory layout."""

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
from models import TASKS, WITH_THIRD_BRANCHES, Floats, fitted, predictions, same_bits, simulated, with_missing
from numpy.typing import NDArray

from tritree import ColumnError, UngrownBranchWarning

#: The strategies under which a row ends in a single leaf.
SINGLE_LEAF = ("trinary", "trinary_mia", "mia", "majority")
N_COLUMNS = 4


@cache
def training(task: str) -> tuple[Floats, NDArray[Any]]:
    """Return a table with missing values in one column, which are informative of the target."""
    X, y = simulated(150, N_COLUMNS, task=task)
    X[np.random.default_rng(1).random(150) < 0.3, 1] = np.nan
    if task == "regression":
        y = y + np.isnan(X[:, 1])
    return X, y


@cache
def pickled(task: str, missing: str) -> bytes:
    """Return a fitted tree before any growth on demand."""
    X, y = training(task)
    return pickle.dumps(fitted(X, y, missing=missing, max_depth=3, min_samples_leaf=8))


def fresh(task: str, missing: str) -> Any:
    return pickle.loads(pickled(task, missing))


def rows_to_predict(task: str, n_rows: int, seed: int) -> Floats:
    """Return rows of training values, thresholds and missing values."""
    rng = np.random.default_rng(seed)
    X = training(task)[0]
    thresholds = fresh(task, "majority").tree_.threshold
    pool = np.concatenate([X.ravel()[:40], thresholds[np.isfinite(thresholds)], [np.nan] * 12])
    return rng.choice(pool, (n_rows, N_COLUMNS))


def alone(predict: Callable[[Floats], NDArray[Any]], rows: Floats) -> NDArray[Any]:
    """Return the predictions for the rows, one at a time: a single row is never predicted in blocks."""
    return np.concatenate([predict(rows[i : i + 1]) for i in range(len(rows))])


def core_predict(core: Any, columns: Any, n_rows: int, n_threads: int = 1) -> Floats:
    values: Floats = core.predict(columns, n_rows, 0, 1, n_threads)[0]
    return values


def strided(rows: Floats) -> Floats:
    """Return the rows as every other column and every third row of a larger table of infinite values."""
    larger = np.full((3 * len(rows), 2 * N_COLUMNS), np.inf)
    larger[::3, ::2] = rows
    return larger[::3, ::2]


LAYOUTS: dict[str, Callable[[Floats], Floats]] = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "rows reversed": lambda rows: rows[::-1].copy()[::-1],
    "columns reversed": lambda rows: rows[:, ::-1].copy()[:, ::-1],
    "rows and columns reversed": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "strided": strided,
    "column-major, reversed": lambda rows: np.asfortranarray(rows[::-1, ::-1])[::-1, ::-1],
    "single precision": lambda rows: rows.astype(np.float32),
    "single precision, column-major": lambda rows: np.asfortranarray(rows, dtype=np.float32),
    "single precision, strided": lambda rows: strided(rows).astype(np.float32)[:, :],
}


@pytest.mark.parametrize("missing", SINGLE_LEAF)
@pytest.mark.parametrize("task", TASKS)
@given(n_rows=st.integers(1, 40), layout=st.sampled_from(sorted(LAYOUTS)), seed=st.integers(0, 2**32 - 1))
def test_rows_in_any_layout_get_the_predictions_they_get_alone(
    task: str, missing: str, n_rows: int, layout: str, seed: int
) -> None:
    rows = LAYOUTS[layout](rows_to_predict(task, n_rows, seed))
    model = fresh(task, missing)
    together = predictions(model, rows)
    assert same_bits(together, alone(lambda row: predictions(model, row), rows.astype(np.float64)))


@pytest.mark.parametrize("missing", SINGLE_LEAF)
@pytest.mark.parametrize("task", TASKS)
@given(n_rows=st.integers(1, 60), layout=st.sampled_from(sorted(LAYOUTS)), seed=st.integers(0, 2**32 - 1))
def test_rows_in_any_layout_get_the_leaf_assignments_they_get_alone(
    task: str, missing: str, n_rows: int, layout: str, seed: int
) -> None:
    rows = LAYOUTS[layout](rows_to_predict(task, n_rows, seed))
    model = fresh(task, missing)
    together = model.apply(rows)
    np.testing.assert_array_equal(together, alone(model.apply, rows.astype(np.float64)))


@pytest.mark.parametrize("missing", SINGLE_LEAF)
@given(n_rows=st.integers(1, 60), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_columns_of_any_dtype_and_stride_are_predicted_as_a_matrix(
    missing: str, n_rows: int, seed: int, data: st.DataObject
) -> None:
    rows = rows_to_predict("regression", n_rows, seed).astype(np.float32).astype(np.float64)
    absent = data.draw(st.sets(st.integers(0, N_COLUMNS - 1)))
    rows[:, list(absent)] = np.nan
    kinds = data.draw(st.lists(st.sampled_from(["C", "F", "back", "f4"]), min_size=4, max_size=4))
    tables = {"C": rows, "F": rows.copy("F"), "back": rows[::-1].copy()[::-1], "f4": rows.astype(np.float32)}
    columns = [None if j in absent else tables[kind][:, j] for j, kind in enumerate(kinds)]
    core = fresh("regression", missing)._model.core
    expected = core_predict(core, np.ascontiguousarray(rows), n_rows)
    assert same_bits(core_predict(core, columns, n_rows), expected)


@pytest.mark.parametrize("absent", [[0], [3], [0, 1], [1, 2], [0, 2, 3]])
@pytest.mark.parametrize("missing", SINGLE_LEAF)
def test_absent_column_is_predicted_as_one_of_missing_values(missing: str, absent: list[int]) -> None:
    rows = rows_to_predict("regression", 100, seed=1)
    rows[:, absent] = np.nan
    core = fresh("regression", missing)._model.core
    columns = [None if j in absent else rows[:, j] for j in range(N_COLUMNS)]
    found = core_predict(core, columns, 100)  # grows, so that nothing is left to grow the second time
    assert same_bits(found, core_predict(core, rows, 100))
    assert same_bits(found, core_predict(core, columns, 100))
    one_by_one = [core_predict(core, rows[i : i + 1], 1) for i in range(100)]
    assert same_bits(found, np.concatenate(one_by_one))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", SINGLE_LEAF)
def test_unused_categorical_column_changes_no_prediction(missing: str, task: str) -> None:
    X, y = training(task)
    rows = rows_to_predict(task, 1_000, seed=2)
    numbers = fitted(X, y, missing=missing)
    beside = fitted(np.column_stack([X, np.zeros(len(X))]), y, missing=missing, categorical_features=[4])
    assert same_bits(
        predictions(numbers, rows), predictions(beside, np.column_stack([rows, np.zeros(1_000)]))
    )


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
def test_missing_against_observed_split_sends_many_rows_as_single_ones(missing: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.4] = np.nan
    y = 10.0 * np.isnan(X[:, 0]) + 5.0 * np.isnan(X[:, 1]) + rng.normal(size=400)
    model = fitted(X, y, missing=missing)
    assert model.tree_.threshold[0] == -np.inf
    rows = np.vstack([with_missing(X, 0.2), [[-1e308, 1e308, 0.0], [-np.finfo(float).tiny, -0.0, 5e-324]]])
    together = model.predict(rows)
    assert same_bits(together, alone(model.predict, rows))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_rows", [1023, 1024, 1025, 5_003])
def test_predictions_at_block_boundaries_are_those_of_columns(n_rows: int, n_threads: int) -> None:
    rows = rows_to_predict("regression", n_rows, seed=3)
    core = fresh("regression", "trinary")._model.core
    columns = [*rows.T[:3].copy(), rows[:, 3]]  # of different strides
    from_columns = core_predict(core, columns, n_rows)
    found = core_predict(fresh("regression", "trinary")._model.core, rows, n_rows, n_threads)
    assert same_bits(found, from_columns)


def test_broadcast_row_is_predicted_every_time() -> None:
    row = rows_to_predict("regression", 1, seed=4)
    model = fresh("regression", "trinary")
    found = model.predict(np.broadcast_to(row, (100, N_COLUMNS)))
    assert same_bits(found, np.repeat(model.predict(row), 100))


def test_tree_of_one_leaf_predicts_its_value() -> None:
    model = fitted(np.zeros((30, 2)), np.arange(30.0))
    np.testing.assert_array_equal(model.predict(with_missing(np.ones((13, 2)), 0.5)), np.full(13, 14.5))


# ------------------------------------------------------------------------------------ ungrown branches


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("task", TASKS)
@given(seed=st.integers(0, 2**32 - 1), n_before=st.integers(0, 4))
def test_rows_that_reach_ungrown_branches_get_the_predictions_of_the_full_tree(
    task: str, missing: str, seed: int, n_before: int
) -> None:
    rows = rows_to_predict(task, 60, seed)
    model = fresh(task, missing)
    if n_before:
        predictions(model, rows[:n_before])  # somewhere a branch is grown, and the next one is not
    full = fresh(task, missing).grow_all()
    assert same_bits(predictions(model, rows), alone(lambda row: predictions(full, row), rows))


def detached(task: str, missing: str, n_before: int) -> Any:
    """Return a tree that was grown for a few rows and then detached."""
    model = fresh(task, missing)
    predictions(model, rows_to_predict(task, n_before, seed=5))
    return model.detach()


def without_warning(predict: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UngrownBranchWarning)
        return predict()


@pytest.mark.parametrize("layout", ["row-major", "single precision, column-major", "strided"])
@pytest.mark.parametrize("n_before", [1, 5, 20])
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_detached_tree_warns_how_many_rows_reached_an_ungrown_branch(
    missing: str, n_before: int, layout: str
) -> None:
    model = detached("regression", missing, n_before)
    copy = pickle.loads(pickle.dumps(model))
    rows = rows_to_predict("regression", 1_501, seed=6).astype(np.float32).astype(np.float64)
    nodes = without_warning(lambda: alone(copy.apply, rows))
    n_ungrown = int((copy.tree_.column[nodes] >= 0).sum())
    assert n_ungrown > 0
    with pytest.warns(UngrownBranchWarning, match=rf"^{n_ungrown:,} times a row reached a third branch"):
        model.predict(LAYOUTS[layout](rows))


@pytest.mark.parametrize("n_before", [1, 5, 20])
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("task", TASKS)
def test_detached_tree_predicts_rows_together_as_alone(task: str, missing: str, n_before: int) -> None:
    model = detached(task, missing, n_before)
    rows = rows_to_predict(task, 203, seed=7)
    together = without_warning(lambda: predictions(model, rows))
    assert same_bits(together, without_warning(lambda: alone(lambda row: predictions(model, row), rows)))
    nodes = without_warning(lambda: model.apply(rows))
    assert same_bits(together, model.tree_.value[nodes].reshape(together.shape))


# -------------------------------------------------------------------------------------------- infinite values


@cache
def wide_tree(missing: str) -> Any:
    X, y = simulated(200, 3)
    return fitted(X, y, missing=missing)


#: Other values of the row, which must neither hide the infinite one nor be taken for it.
OTHER_VALUES = {np.float64: (0.0, np.nan, 1.7e308, -3.5e38), np.float32: (0.0, np.nan, 3.4e38)}


@pytest.mark.parametrize("missing", ["trinary", "fractional", "surrogate"])
@given(data=st.data())
def test_infinite_value_is_named_at_any_position(missing: str, data: st.DataObject) -> None:
    n_rows = data.draw(st.sampled_from([1, 2, 9, 1023, 1024, 1025, 4_099]))
    row = data.draw(st.sampled_from([0, n_rows // 2, n_rows - 1]) | st.integers(0, n_rows - 1))
    column = data.draw(st.integers(0, 2))
    value = data.draw(st.sampled_from([np.inf, -np.inf]))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    order = data.draw(st.sampled_from(["C", "F"]))
    step = data.draw(st.sampled_from([1, -1, 2]))
    beside = data.draw(st.sampled_from(OTHER_VALUES[dtype]))
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


def test_infinite_values_between_the_strides_are_ignored() -> None:
    rows = np.full((60, 8), np.inf)
    rows[::2, 1:7:2] = simulated(30, 3)[0]
    inner = rows[::2, 1:7:2]
    assert same_bits(wide_tree("trinary").predict(inner), wide_tree("trinary").predict(inner.copy()))
