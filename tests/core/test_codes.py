"""Codes keep the order of values, give missing a code of its own, and do not depend on the order of rows."""

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


def code(values: Any, max_bins: int = EXACT, n_threads: int = 1) -> tuple[NDArray[np.uint16], _core.Codes]:
    coded = _core.Codes([np.asarray(values)], [-1], max_bins, n_threads)
    return coded.codes(0), coded


def skewed(n: int, seed: int = 0) -> NDArray[np.float64]:
    """Return a column with an outlier, a common value, and many values that differ late in their digits."""
    rng = np.random.default_rng(seed)
    values = np.concatenate(
        [rng.normal(size=n), np.full(n, 0.25), 1.7e9 + rng.random(n), 10.0 ** rng.uniform(-300, 300, n)]
    )
    values[rng.random(len(values)) < 0.1] = np.nan
    return rng.permutation(values)


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_exact_codes_are_the_ranks_of_the_distinct_values(values: list[float]) -> None:
    codes, coded = code(values)
    column = np.array(values) + 0.0  # -0.0 and 0.0 are one value
    observed = ~np.isnan(column)
    distinct, ranks = np.unique(column[observed], return_inverse=True)
    assert coded.n_codes == [len(distinct)]
    np.testing.assert_array_equal(codes[observed], ranks)
    assert (codes[~observed] == len(distinct)).all()
    for bounds in coded.bounds(0):
        np.testing.assert_array_equal(bounds, distinct)


@given(st.lists(NUMBERS, min_size=1, max_size=200), st.integers(2, 20))
def test_bins_keep_the_order_of_values_and_never_part_equal_ones(values: list[float], max_bins: int) -> None:
    codes, coded = code(values, max_bins)
    column = np.array(values)
    observed = ~np.isnan(column)
    assert coded.n_codes[0] == min(max_bins, len(np.unique(column[observed] + 0.0)))
    smallest, largest = coded.bounds(0)
    assert (smallest <= largest).all()
    assert (largest[:-1] < smallest[1:]).all()
    assert (smallest[codes[observed]] <= column[observed]).all()
    assert (column[observed] <= largest[codes[observed]]).all()


@pytest.mark.parametrize("max_bins", [2, 16, 255, 300, 3000])
def test_bins_of_distinct_values_hold_equally_many_rows(max_bins: int) -> None:
    values = np.random.default_rng(0).normal(size=20_000)
    codes, coded = code(values, max_bins)
    counts = np.bincount(codes, minlength=max_bins)
    assert coded.n_codes == [max_bins]
    assert counts.max() - counts.min() <= 1 + counts.max() // 10


def test_common_value_does_not_cost_the_others_their_bins() -> None:
    values = np.concatenate([np.zeros(9_000), np.arange(1.0, 1_001.0)])
    codes, _ = code(values, 11)
    assert np.bincount(codes[9_000:], minlength=11)[1:].tolist() == [100] * 10


@pytest.mark.parametrize("max_bins", [2, 63, 255, 4_000, EXACT])
def test_codes_do_not_depend_on_the_order_of_rows(max_bins: int) -> None:
    values = skewed(3_000)
    order = np.random.default_rng(1).permutation(len(values))
    straight, coded = code(values, max_bins)
    shuffled, again = code(values[order], max_bins)
    np.testing.assert_array_equal(shuffled, straight[order])
    np.testing.assert_array_equal(np.vstack(coded.bounds(0)), np.vstack(again.bounds(0)))


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
    codes, coded = code(values, max_bins)
    observed = ~np.isnan(values)
    smallest, largest = coded.bounds(0)
    assert len(smallest) <= max_bins
    assert (largest[:-1] < smallest[1:]).all()
    assert (smallest[codes[observed]] <= values[observed]).all()
    assert (values[observed] <= largest[codes[observed]]).all()
    assert (codes[~observed] == coded.n_codes[0]).all()
    assert np.isin(np.concatenate([smallest, largest]), values).all()


@pytest.mark.parametrize("max_bins", [2, 100, 255])
@pytest.mark.parametrize("kind", LONG_COLUMNS)
def test_bins_of_a_long_column_do_not_depend_on_the_order_of_rows(kind: str, max_bins: int) -> None:
    values = LONG_COLUMNS[kind](np.random.default_rng(0))
    straight, _ = code(values, max_bins)
    np.testing.assert_array_equal(code(values[::-1].copy(), max_bins)[0], straight[::-1])


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "negative", "far from zero", "single precision"])
def test_bins_of_a_long_column_hold_about_equally_many_rows(kind: str) -> None:
    codes, coded = code(LONG_COLUMNS[kind](np.random.default_rng(0)), 255)
    share = np.bincount(codes, minlength=255) * 255 / N_LONG
    assert coded.n_codes == [255]
    assert share.min() > 0.8
    assert share.max() < 1.2


@pytest.mark.parametrize("max_bins", [255, EXACT])
def test_codes_do_not_depend_on_threads_nor_on_neighbours(max_bins: int) -> None:
    columns = [skewed(2_000, seed) for seed in range(5)]
    together = _core.Codes(columns, [-1] * 5, max_bins, 4)
    for j, column in enumerate(columns):
        np.testing.assert_array_equal(together.codes(j), code(column, max_bins)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_columns_are_read_where_they_lie(dtype: type, step: int) -> None:
    wide = np.random.default_rng(0).normal(size=(500, 4)).astype(dtype)
    wide.flags.writeable = False
    strided = wide[::step, 2]
    np.testing.assert_array_equal(code(strided)[0], code(strided.copy().astype(np.float64))[0])


def test_more_distinct_values_than_codes_are_binned_to_as_many() -> None:
    codes, coded = code(np.random.default_rng(0).permutation(70_000).astype(float))
    assert coded.n_codes == [EXACT]
    assert codes.max() == EXACT - 1


def test_column_without_values_has_no_codes_but_missing() -> None:
    codes, coded = code([np.nan] * 3)
    assert coded.n_codes == [0]
    assert codes.tolist() == [0, 0, 0]


def test_categories_keep_their_numbers() -> None:
    coded = _core.Codes([np.array([2, -1, 0], dtype=np.int32)], [4], EXACT, 1)
    assert coded.n_codes == [4]
    assert coded.codes(0).tolist() == [2, 4, 0]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_value_is_named_by_column_and_row(value: float) -> None:
    column = np.array([0.0, 1.0, value])
    with pytest.raises(_core.BadValue) as refused:
        _core.Codes([np.zeros(3), column], [-1, -1], EXACT, 1)
    assert refused.value.args == (1, 2, value)
