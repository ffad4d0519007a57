"""The bins of a table that is read part by part are those of the whole."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritree import _core

# numeric columns, by how their values are spread
COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "float32": lambda rng, n: rng.exponential(size=n).astype(np.float32),
    "few values": lambda rng, n: rng.integers(0, 50, n).astype(float),
    "many integers": lambda rng, n: rng.integers(0, 70_000, n).astype(float),
    "many zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.lognormal(0, 5, n)),
    "all missing": lambda _, n: np.full(n, np.nan),
    "dates": lambda rng, n: 1.6e15 + rng.integers(0, 3 * 10**13, n).astype(float),
    "far from zero": lambda rng, n: 1e9 + rng.normal(size=n),
    "signed zeros": lambda rng, n: rng.choice([-0.0, 0.0, 5e-324, -5e-324], n),
}


def bin_in_parts(columns, n_categories, max_bins, cuts):
    """Return the binned table, and how many columns had to be sorted."""
    n, n_sorted = len(columns[0]), 0
    edges = [0, *cuts, n]
    parts = [[column[begin:end] for column in columns] for begin, end in itertools.pairwise(edges)]
    counts = _core.TableCounts(len(columns))
    for part in parts:
        numeric = [column if k < 0 else None for column, k in zip(part, n_categories, strict=True)]
        counts.add(numeric, len(part[0]), 2)
    bounds = [np.empty(0, np.uint64)] * len(columns)
    for j, k in enumerate(n_categories):
        if k < 0 and (found := counts.bounds(j, n, max_bins)) is None:
            found, n_sorted = _core.sorted_bounds(columns[j], max_bins), n_sorted + 1
        if k < 0:
            bounds[j] = found
    binner = _core.TableBinner(n, bounds, n_categories)
    for part in parts:
        binner.append(part, len(part[0]), 2)
    return binner.finish(), n_sorted


def assert_same(binned, expected, n_categories):
    assert binned.n_bins == expected.n_bins
    for j, k in enumerate(n_categories):
        np.testing.assert_array_equal(binned.bins(j), expected.bins(j))
        if k < 0:
            np.testing.assert_array_equal(binned.bounds(j), expected.bounds(j))


@pytest.mark.parametrize("max_bins", [2, 255, 256, 65_534])
@pytest.mark.parametrize("n_rows", [1, 1_000, 65_535, 65_536, 150_000])
def test_bins_do_not_depend_on_parts(n_rows, max_bins):
    rng = np.random.default_rng(n_rows)
    columns = [draw(rng, n_rows) for draw in COLUMNS.values()]
    columns.append(rng.integers(-1, 7, n_rows).astype(np.int32))
    n_categories = [-1] * len(COLUMNS) + [7]
    cuts = sorted(rng.integers(0, n_rows + 1, 4).tolist())
    binned, _ = bin_in_parts(columns, n_categories, max_bins, cuts)
    assert_same(binned, _core.BinnedColumns(columns, n_categories, max_bins, 2), n_categories)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.floats(allow_infinity=False), min_size=1, max_size=60),
    max_bins=st.integers(2, 10),
    data=st.data(),
)
def test_bins_of_any_values(values, max_bins, data):
    column = np.array(values)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3)))
    binned, _ = bin_in_parts([column], [-1], max_bins, cuts)
    assert_same(binned, _core.BinnedColumns([column], [-1], max_bins, 1), [-1])


def test_usual_columns_need_no_sorting():
    rng = np.random.default_rng(0)
    usual = ("normal", "float32", "few values", "missing", "all missing")
    columns = [COLUMNS[name](rng, 200_000) for name in usual]
    assert bin_in_parts(columns, [-1] * len(columns), 255, [100_000])[1] == 0


@pytest.mark.parametrize("change", [lambda x: x + 1, lambda x: np.where(x == x.max(), 0, x)])
def test_other_values_than_those_counted_are_refused(change):
    column = np.arange(10.0)
    counts = _core.TableCounts(1)
    counts.add([column], 10, 1)
    binner = _core.TableBinner(10, [counts.bounds(0, 10, 255)], [-1])
    binner.append([change(column)], 10, 1)
    with pytest.raises(ValueError, match="not those that were counted"):
        binner.finish()


def test_number_of_rows_is_checked():
    binner = _core.TableBinner(3, [np.empty(0, np.uint64)], [2])
    codes = np.zeros(2, np.int32)
    binner.append([codes], 2, 1)
    with pytest.raises(ValueError, match="more rows"):
        binner.append([codes], 2, 1)
    with pytest.raises(ValueError, match="fewer rows"):
        binner.finish()


def test_infinite_values_are_refused():
    with pytest.raises(_core.InfiniteValueError):
        _core.TableCounts(1).add([np.array([1.0, np.inf])], 2, 1)
