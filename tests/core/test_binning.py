"""Bins keep the order of values, have one more for missing values, and do not depend on the order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tritree import _core

EXACT = 65_534
NUMBERS = st.one_of(
    st.floats(allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, -5e-324, 1.7e308, -1.7e308, 0.1, np.nan]),
)


def binned(
    values: Any, max_bins: int = EXACT, n_threads: int = 1
) -> tuple[NDArray[np.uint16], _core.BinnedColumns]:
    found = _core.BinnedColumns([np.asarray(values)], [-1], max_bins, n_threads)
    return found.bins(0), found


def skewed(n: int, seed: int = 0) -> NDArray[np.float64]:
    """Return a column with an outlier, a common value, and many values that differ late in their digits."""
    rng = np.random.default_rng(seed)
    values = np.concatenate(
        [rng.normal(size=n), np.full(n, 0.25), 1.7e9 + rng.random(n), 10.0 ** rng.uniform(-300, 300, n)]
    )
    values[rng.random(len(values)) < 0.1] = np.nan
    return rng.permutation(values)


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_exact_bins_are_the_ranks_of_the_distinct_values(values: list[float]) -> None:
    bins, found = binned(values)
    column = np.array(values) + 0.0  # -0.0 and 0.0 are one value
    observed = ~np.isnan(column)
    distinct, ranks = np.unique(column[observed], return_inverse=True)
    assert found.n_bins == [len(distinct)]
    np.testing.assert_array_equal(bins[observed], ranks)
    assert (bins[~observed] == len(distinct)).all()
    for bounds in found.bounds(0):
        np.testing.assert_array_equal(bounds, distinct)


@given(st.lists(NUMBERS, min_size=1, max_size=200), st.integers(2, 20))
def test_equal_values_share_a_bin_and_bins_keep_the_order_of_values(
    values: list[float], max_bins: int
) -> None:
    bins, found = binned(values, max_bins)
    column = np.array(values)
    observed = ~np.isnan(column)
    assert found.n_bins[0] == min(max_bins, len(np.unique(column[observed] + 0.0)))
    smallest, largest = found.bounds(0)
    assert (smallest <= largest).all()
    assert (largest[:-1] < smallest[1:]).all()
    assert (smallest[bins[observed]] <= column[observed]).all()
    assert (column[observed] <= largest[bins[observed]]).all()


@pytest.mark.parametrize("max_bins", [2, 16, 255, 300, 3000])
def test_bins_of_distinct_values_hold_equally_many_rows(max_bins: int) -> None:
    values = np.random.default_rng(0).normal(size=20_000)
    bins, found = binned(values, max_bins)
    counts = np.bincount(bins, minlength=max_bins)
    assert found.n_bins == [max_bins]
    assert counts.max() - counts.min() <= 1 + counts.max() // 10


def test_common_value_does_not_reduce_the_bins_of_the_others() -> None:
    values = np.concatenate([np.zeros(9_000), np.arange(1.0, 1_001.0)])
    bins, _ = binned(values, 11)
    assert np.bincount(bins[9_000:], minlength=11)[1:].tolist() == [100] * 10


@pytest.mark.parametrize("max_bins", [2, 63, 255, 4_000, EXACT])
def test_bins_do_not_depend_on_the_order_of_rows(max_bins: int) -> None:
    values = skewed(3_000)
    order = np.random.default_rng(1).permutation(len(values))
    straight, found = binned(values, max_bins)
    shuffled, again = binned(values[order], max_bins)
    np.testing.assert_array_equal(shuffled, straight[order])
    np.testing.assert_array_equal(np.vstack(found.bounds(0)), np.vstack(again.bounds(0)))


N_LONG = 80_000  # rows enough for bins to be found by counting instead of sorting
LONG_COLUMNS = {
    "normal": lambda rng: rng.normal(size=N_LONG),
    "heavy tails": lambda rng: rng.standard_cauchy(N_LONG),
    "many magnitudes": lambda rng: 10.0 ** rng.uniform(-300, 300, N_LONG),
    "negative": lambda rng: -rng.random(N_LONG),
    "subnormal": lambda rng: 1e-310 * rng.random(N_LONG),
    "far from zero": lambda rng: 1e9 + rng.random(N_LONG),
    "single precision": lambda rng: rng.normal(size=N_LONG).astype(np.float32),
    "whole numbers": lambda rng: rng.integers(-9, 2_000, N_LONG).astype(float),
    "few values": lambda rng: rng.integers(0, 300, N_LONG) / 8,
    "mostly zero": lambda rng: np.where(rng.random(N_LONG) < 0.7, 0.0, rng.normal(size=N_LONG)),
    "mostly missing": lambda rng: np.where(rng.random(N_LONG) < 0.9, np.nan, rng.normal(size=N_LONG)),
    "nothing": lambda rng: np.full(N_LONG, np.nan),
}


@pytest.mark.parametrize("max_bins", [2, 100, 255])
@pytest.mark.parametrize("kind", LONG_COLUMNS)
def test_bins_of_a_long_column_keep_order_and_bounds(kind: str, max_bins: int) -> None:
    values = LONG_COLUMNS[kind](np.random.default_rng(0))
    bins, found = binned(values, max_bins)
    observed = ~np.isnan(values)
    smallest, largest = found.bounds(0)
    assert len(smallest) <= max_bins
    assert (largest[:-1] < smallest[1:]).all()
    assert (smallest[bins[observed]] <= values[observed]).all()
    assert (values[observed] <= largest[bins[observed]]).all()
    assert (bins[~observed] == found.n_bins[0]).all()
    assert np.isin(np.concatenate([smallest, largest]), values).all()


@pytest.mark.parametrize("max_bins", [2, 100, 255])
@pytest.mark.parametrize("kind", LONG_COLUMNS)
def test_bins_of_a_long_column_do_not_depend_on_the_order_of_rows(kind: str, max_bins: int) -> None:
    values = LONG_COLUMNS[kind](np.random.default_rng(0))
    straight, _ = binned(values, max_bins)
    np.testing.assert_array_equal(binned(values[::-1].copy(), max_bins)[0], straight[::-1])


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "negative", "far from zero", "single precision"])
def test_bins_of_a_long_column_hold_about_equally_many_rows(kind: str) -> None:
    bins, found = binned(LONG_COLUMNS[kind](np.random.default_rng(0)), 255)
    relative = np.bincount(bins, minlength=255) * 255 / N_LONG
    assert found.n_bins == [255]
    assert relative.min() > 0.8
    assert relative.max() < 1.2


@pytest.mark.parametrize("max_bins", [255, EXACT])
def test_bins_do_not_depend_on_threads_nor_on_other_columns(max_bins: int) -> None:
    columns = [skewed(2_000, seed) for seed in range(5)]
    together = _core.BinnedColumns(columns, [-1] * 5, max_bins, 4)
    for j, column in enumerate(columns):
        np.testing.assert_array_equal(together.bins(j), binned(column, max_bins)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_columns_of_any_stride_and_dtype_are_binned_alike(dtype: type, step: int) -> None:
    wide = np.random.default_rng(0).normal(size=(500, 4)).astype(dtype)
    wide.flags.writeable = False
    strided = wide[::step, 2]
    np.testing.assert_array_equal(binned(strided)[0], binned(strided.copy().astype(np.float64))[0])


def test_more_distinct_values_than_bins_fill_all_bins() -> None:
    bins, found = binned(np.random.default_rng(0).permutation(70_000).astype(float))
    assert found.n_bins == [EXACT]
    assert bins.max() == EXACT - 1


def test_column_without_values_has_only_the_bin_of_missing_values() -> None:
    bins, found = binned([np.nan] * 3)
    assert found.n_bins == [0]
    assert bins.tolist() == [0, 0, 0]


def test_categories_keep_their_numbers() -> None:
    found = _core.BinnedColumns([np.array([2, -1, 0], dtype=np.int32)], [4], EXACT, 1)
    assert found.n_bins == [4]
    assert found.bins(0).tolist() == [2, 4, 0]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_value_is_named_by_column_and_row(value: float) -> None:
    column = np.array([0.0, 1.0, value])
    with pytest.raises(_core.InfiniteValueError) as error:
        _core.BinnedColumns([np.zeros(3), column], [-1, -1], EXACT, 1)
    assert error.value.args == (1, 2, value)
