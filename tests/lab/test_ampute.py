"""Amputation: how many values are removed, which ones, and from what kinds of tables."""

from __future__ import annotations

import math
import time

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritree import ColumnError
from tritree.inspection.missing_patterns import summarise_missing
from tritree.lab import ampute
from tritree.lab.ampute import MECHANISMS, highest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 400
RATES = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)


def numbers(n_rows=N, n_columns=4):
    return np.random.default_rng(7).normal(size=(n_rows, n_columns)) @ np.triu(
        np.ones((n_columns, n_columns))
    )


def target(n_rows=N):
    return np.random.default_rng(8).normal(size=n_rows)


def make_mixed():
    random = np.random.default_rng(9)
    return pd.DataFrame(
        {
            "whole": random.integers(0, 50, N),
            "number": random.normal(size=N),
            "text": random.choice(["red", "green", "blue"], N),
            "category": pd.Categorical(random.choice(["p", "q"], N)),
            "yes": random.random(N) < 0.5,
        }
    )


def make_tables():
    mixed = make_mixed()
    return {
        "numpy": numbers(),
        "pandas": mixed,
        "pandas-nullable": mixed.convert_dtypes(),
        "polars": pl.from_pandas(mixed),
        "pyarrow": pa.Table.from_pandas(mixed, preserve_index=False),
    }


TABLES = make_tables()
KINDS = pytest.mark.parametrize("kind", TABLES)
ALL = pytest.mark.parametrize("mechanism", MECHANISMS)


def missing(table):
    return [column["missing"] for column in summarise_missing(table)["columns"]]


def is_nan(array):
    return np.isnan(array.astype(float))


# number of missing cells


@ALL
@KINDS
@pytest.mark.parametrize("rate", RATES)
def test_missing_rate_is_exact_in_every_amputed_column(kind, mechanism, rate):
    counts = missing(ampute(TABLES[kind], rate, mechanism, target=target()))
    expected = {math.floor(rate * N)} | ({0} if mechanism == "mar" else set())
    assert set(counts) == expected


@pytest.mark.parametrize(
    ("n", "rate", "expected"), [(210, 0.1, 21), (210, 0.299, 62), (100, 0.29, 29), (9, 0.1, 0)]
)
def test_number_of_missing_cells_is_rounded_down(n, rate, expected):
    assert missing(ampute(numbers(n), rate))[0] == expected


@ALL
def test_cells_missing_at_a_lower_rate_are_missing_at_a_higher_one(mechanism):
    table = np.round(numbers(), 1)  # with ties
    before = np.zeros(table.shape, dtype=bool)
    for rate in RATES:
        now = is_nan(ampute(table, rate, mechanism, target=target(), seed=3))
        assert now[before].all()
        before = now


def test_cells_that_are_missing_already_stay_so_and_are_not_counted():
    table = numbers()
    table[:100, 0] = np.nan
    result = is_nan(ampute(table, 0.5))
    assert result[:100, 0].all()
    assert result[100:, 0].sum() == 150
    assert result[:, 1].sum() == 200


def test_column_without_values_stays_as_it_is():
    table = numbers()
    table[:, 1] = np.nan
    assert is_nan(ampute(table, 0.5, "im"))[:, 1].all()


def test_only_the_selected_columns_are_amputed():
    assert missing(ampute(TABLES["pandas"], 0.5, columns=["text", "number"])) == [0, 200, 200, 0, 0]


@pytest.mark.parametrize("columns", ["number", ["number"], 1, [1], -4, np.array([1]), ("number",)])
def test_columns_are_given_by_name_or_position(columns):
    assert missing(ampute(TABLES["polars"], 0.5, columns=columns)) == [0, 200, 0, 0, 0]


def test_number_is_a_name_where_names_are_numbers():
    frame = pd.DataFrame(numbers(), columns=[3, 2, 1, 0])
    assert missing(ampute(frame, 0.5, columns=[3])) == [200, 0, 0, 0]


def test_tuple_may_be_the_name_of_a_column():
    frame = pd.DataFrame(numbers(n_columns=2), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert missing(ampute(frame, 0.5, columns=("a", 2))) == [0, 200]


# which cells


@ALL
def test_same_seed_gives_the_same_missing_cells_and_another_seed_others(mechanism):
    table = make_mixed()
    first, again, other = (ampute(table, 0.3, mechanism, target=target(), seed=s) for s in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_same_cells_are_missing_in_every_library():
    frames = [ampute(TABLES[kind], 0.3, "im") for kind in ("pandas", "pandas-nullable", "polars", "pyarrow")]
    summaries = [summarise_missing(frame) for frame in frames]
    assert all(summary == summaries[0] for summary in summaries)


def test_mcar_of_a_column_does_not_depend_on_other_columns():
    table = numbers()
    assert np.array_equal(is_nan(ampute(table, 0.3))[:, :2], is_nan(ampute(table[:, :2], 0.3)))


def test_mcar_of_two_columns_is_independent():
    result = is_nan(ampute(np.zeros((20_000, 2)), 0.5))
    assert abs(np.corrcoef(result.T)[0, 1]) < 0.03


def test_noise_is_independent_of_data_made_with_the_same_seed():
    data = np.random.default_rng(5).permutation(20_000).astype(float)[:, None]
    result = is_nan(ampute(data, 0.5, seed=5))[:, 0]
    assert abs(np.corrcoef(result, data[:, 0])[0, 1]) < 0.03


@pytest.mark.parametrize("direction", ["largest", "smallest"])
def test_im_removes_the_largest_or_smallest_values_first(direction):
    table = numbers()
    result = is_nan(ampute(table, 0.3, "im", direction=direction))
    for values, gone in zip(table.T, result.T, strict=True):
        if direction == "largest":
            assert values[gone].min() > values[~gone].max()
        else:
            assert values[gone].max() < values[~gone].min()


def test_im_is_random_among_equal_values():
    table = np.repeat([0.0, 1.0], 5000)[:, None]
    result = is_nan(ampute(table, 0.25, "im"))[:, 0]
    assert not result[:5000].any()
    assert 1150 < result[5000:7500].sum() < 1350


@pytest.mark.parametrize("kind", ["pandas", "pandas-nullable", "polars", "pyarrow"])
@pytest.mark.parametrize("column", ["text", "category", "yes"])
def test_im_removes_one_category_after_the_other(kind, column):
    values = make_mixed()[column].astype(str).to_numpy()
    for rate in (0.2, 0.5, 0.8):
        gone = is_missing(ampute(TABLES[kind], rate, "im", columns=[column])[column])
        shares = [gone[values == value].mean() for value in np.unique(values)]
        assert sum(0 < share < 1 for share in shares) <= 1


def is_missing(series):
    """Return which values of a series are missing, by asking its library."""
    return np.asarray(series.isna() if isinstance(series, pd.Series) else series.is_null())


def test_order_of_categories_depends_on_the_seed():
    table = pd.DataFrame({"text": np.repeat(list("abcd"), 50)})
    firsts = {ampute(table, 0.25, "im", seed=seed)["text"].isna().idxmax() for seed in range(20)}
    assert len(firsts) == 4


@pytest.mark.parametrize("labels", [["low", "mid", "high"], [3, 1, 2]])
def test_ordered_categories_go_in_their_order(labels):
    values = pd.Categorical(np.random.default_rng(0).choice(labels, N), categories=labels, ordered=True)
    result = ampute(pd.DataFrame({"o": values}), 0.5, "im")["o"]
    codes, gone = values.codes, result.isna().to_numpy()
    assert codes[gone].min() >= codes[~gone].max()
    assert result.cat.categories.tolist() == labels


def log_odds_slope(score, gone):
    """Return the slope of a logistic regression of missingness on a score, by Newton's method."""
    design, beta = np.column_stack([np.ones(len(score)), score]), np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (gone - p))
    return beta[1]


@pytest.mark.parametrize("strength", [0.0, 1.0, 3.0])
def test_log_odds_of_missing_rise_with_the_value_by_the_strength(strength):
    values = np.random.default_rng(3).normal(size=(20_000, 1))
    gone = is_nan(ampute(values, 0.3, "mnar", strength=strength))[:, 0]
    assert log_odds_slope(values[:, 0], gone) == pytest.approx(strength, abs=0.15)


def test_smallest_values_are_more_likely_to_be_removed_with_direction_smallest():
    values = np.random.default_rng(3).normal(size=(20_000, 1))
    gone = is_nan(ampute(values, 0.3, "mnar", direction="smallest", strength=1.0))[:, 0]
    assert log_odds_slope(values[:, 0], gone) == pytest.approx(-1, abs=0.15)


def test_log_odds_of_missing_rise_with_the_target_by_the_strength():
    y = np.random.default_rng(4).normal(size=20_000)
    gone = is_nan(ampute(np.zeros((20_000, 2)), 0.4, "predictive", target=y, strength=2.0))
    assert log_odds_slope(y, gone[:, 0]) == pytest.approx(2, abs=0.15)
    assert log_odds_slope(y, gone[:, 1]) == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_mar_depends_on_complete_columns_only(seed):
    table = np.random.default_rng(6).normal(size=(20_000, 3))
    gone = is_nan(ampute(table, 0.3, "mar", columns=[0], strength=2.0, seed=seed))
    assert not gone[:, 1:].any()
    slopes = [log_odds_slope(values, gone[:, 0]) for values in table.T]
    assert abs(slopes[0]) < 0.1
    assert max(np.abs(slopes[1:])) > 0.5


@pytest.mark.parametrize(("n_columns", "n_complete"), [(2, 1), (3, 1), (4, 1), (6, 2), (9, 3)])
def test_mar_leaves_a_third_of_the_columns_complete(n_columns, n_complete):
    counts = missing(ampute(numbers(n_columns=n_columns), 0.3, "mar"))
    assert counts.count(0) == n_complete
    assert counts.count(120) == n_columns - n_complete


def test_missing_cell_of_a_complete_column_scores_as_average():
    table = np.column_stack([np.zeros(4000), np.repeat([-1.0, np.nan, 1.0, np.nan], 1000)])
    gone = is_nan(ampute(table, 0.5, "mar", columns=[0]))[:, 0]
    low, average, high = sorted([gone[:1000].mean(), gone[1000:2000].mean(), gone[2000:3000].mean()])
    assert low < 0.3 < average < 0.7 < high
    assert gone[1000:2000].mean() == average


# types of tables


@KINDS
@ALL
def test_table_has_the_same_type_and_observed_values_are_unchanged(kind, mechanism):
    table = TABLES[kind]
    result = ampute(table, 0.3, mechanism, target=target())
    assert type(result) is type(table)
    before, after = (pd.DataFrame(t) if kind == "numpy" else as_pandas(t) for t in (table, result))
    assert list(before) == list(after)
    for name in before:
        observed = after[name].notna().to_numpy()
        assert before[name][observed].tolist() == after[name][observed].tolist()


def as_pandas(table):
    return table if isinstance(table, pd.DataFrame) else table.to_pandas()


def test_input_table_is_not_changed():
    for kind, table in make_tables().items():
        ampute(table, 0.5)
        assert sum(missing(table)) == 0, kind


def test_copy_of_pandas_can_be_changed_without_changing_the_table():
    table = make_mixed()
    result = ampute(table, 0.5, columns=["number"])
    result.loc[:, "whole"] = -1
    assert (table["whole"] >= 0).all()


@pytest.mark.parametrize("kind", ["pandas-nullable", "polars", "pyarrow"])
def test_types_of_columns_stay_if_they_allow_missing_values(kind):
    table = TABLES[kind]
    result = ampute(table, 0.5)
    if kind == "pandas-nullable":
        assert result.dtypes.equals(table.dtypes)
    else:
        assert result.schema == table.schema


def test_pandas_makes_floats_of_integers_with_missing_values_and_keeps_categories():
    result = ampute(make_mixed(), 0.5).dtypes
    assert result["whole"] == np.dtype(np.float64)
    assert result["category"] == make_mixed().dtypes["category"]


def test_pandas_keeps_its_index_even_with_equal_labels():
    frame = pd.DataFrame(numbers(), index=np.repeat(["a", "b"], N // 2))
    result = ampute(frame, 0.5)
    assert result.index.equals(frame.index)
    assert np.array_equal(is_nan(result.to_numpy()), is_nan(ampute(numbers(), 0.5)))


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(8).reshape(4, 2), np.float64),
        (np.arange(8, dtype=np.uint8).reshape(4, 2), np.float64),
        (np.arange(8, dtype=np.float32).reshape(4, 2), np.float32),
        (np.array([[True], [False]]), object),
        (np.array([["a"], ["b"]]), object),
        (np.array([[1, "a"], [2, "b"]], dtype=object), object),
    ],
)
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_array_becomes_floats_or_objects_whatever_the_rate(array, dtype, rate):
    result = ampute(array, rate)
    assert result.dtype == dtype
    assert set(missing(result)) == {math.floor(rate * len(array))}


def test_lists_of_rows_become_an_array_that_keeps_numbers_beside_text():
    result = ampute([[1, "a"], [2, "b"], [3, "c"], [4, "d"]], 0.25)
    assert result.shape == (4, 2)
    assert {type(value) for value in result[:, 0]} == {int, float}


def test_more_cells_of_a_masked_array_are_masked():
    table = np.ma.masked_array(np.arange(8).reshape(4, 2), np.eye(4, 2, dtype=bool))
    result = ampute(table, 1.0)
    assert result.mask.all()
    assert table.mask.sum() == 2


def test_ordered_categories_of_arrow_keep_their_labels_and_order():
    labels = pa.array(["low", "mid", "high"])
    chunk = pa.DictionaryArray.from_arrays(pa.array([2, 0]), labels, ordered=True)
    table = pa.table({"o": pa.chunked_array([chunk, chunk])})
    result = ampute(table, 0.5, "im")
    assert result.schema == table.schema
    assert result["o"].to_pylist() == [None, "low", None, "low"]
    assert result["o"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]


def test_string_views_of_arrow_stay_views():
    table = pa.table({"t": pa.array(["a", "b", "c", "d"], pa.string_view())})
    result = ampute(table, 0.5)
    assert result.schema == table.schema
    assert result["t"].null_count == 2


def test_lazy_frame_is_collected_with_a_warning():
    with pytest.warns(UserWarning, match="collected"):
        result = ampute(TABLES["polars"].lazy(), 0.5)
    assert isinstance(result, pl.DataFrame)


# errors


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rate": 20}, r"rate must be a fraction from 0 to 1, got 20; 20 percent is 0\.2"),
        ({"rate": -0.1}, r"from 0 to 1, got -0\.1"),
        ({"rate": float("nan")}, "from 0 to 1, got nan"),
        ({"rate": "0.1"}, "from 0 to 1, got '0.1'"),
        ({"rate": True}, "from 0 to 1, got True"),
        ({"mechanism": "random"}, "one of 'mcar', 'im', 'mar', 'mnar', 'predictive', got 'random'"),
        ({"direction": "up"}, "one of 'largest', 'smallest', got 'up'"),
        ({"strength": -1}, "strength .* finite number of at least 0, got -1"),
        ({"strength": float("inf")}, "strength .* got inf"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": None}, "seed must be an integer of at least 0, got None"),
        ({"columns": ["txt"]}, "columns has 'txt', which is not a column of the table; did you mean 'text'"),
        ({"columns": ["zzz"]}, "it has 'whole', 'number', 'text', 'category', 'yes'"),
        ({"columns": [5]}, "columns has position 5; valid positions are 0 to 4"),
        ({"columns": [True]}, "columns has True, which is not a column"),
        ({"mechanism": "predictive"}, "needs the target; pass it as target="),
        ({"mechanism": "predictive", "target": [1, 2]}, r"shape \(2,\), and the table has 400 rows"),
        ({"mechanism": "predictive", "target": "whole"}, "got 'whole'; pass the column, not its name"),
        ({"mechanism": "predictive", "target": [1.0] * 399 + [None]}, "missing in row 399; drop"),
        ({"mechanism": "predictive", "target": [None] * 400}, "holds only missing values"),
        ({"mechanism": "mar", "columns": [0, 1, 2, 3, 4]}, "columns has all of the table's; leave one out"),
    ],
)
def test_invalid_parameter_is_named_with_its_valid_values(parameters, message):
    with pytest.raises(ValueError, match=message):
        ampute(make_mixed(), **({"rate": 0.5} | parameters))


def test_columns_must_be_a_list():
    with pytest.raises(TypeError, match=r"columns must be a list of names or positions, got 1\.5"):
        ampute(numbers(), 0.5, columns=1.5)


def test_array_has_no_column_names():
    with pytest.raises(ValueError, match="an array has no column names; pass positions from 0 to 3"):
        ampute(numbers(), 0.5, columns=["a"])


def test_mar_needs_two_columns():
    with pytest.raises(ValueError, match="the table has only one; add a column, or use 'mnar'"):
        ampute(numbers(n_columns=1), 0.5, "mar")


def test_mar_needs_a_complete_column_that_varies():
    frame = make_mixed().assign(same=1)[["number", "same"]]
    with pytest.raises(ValueError, match=r"a column that varies among .* \(column 'same'\)"):
        ampute(frame, 0.5, "mar", columns=["number"])


def test_lists_are_refused_only_in_amputed_columns():
    frame = make_mixed().assign(tags=[[1]] * N)
    with pytest.raises(ColumnError, match="column 'tags' holds lists"):
        ampute(frame, 0.5)
    assert ampute(frame, 0.5, columns=["number"])["number"].isna().sum() == 200


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dates_go_missing_like_numbers(make):
    days = pd.date_range("2020", periods=N).to_pydatetime().tolist()
    amputed = ampute(make({"joined": days, "x": list(range(N))}), 0.5, columns=["joined"])
    assert sum(pd.isna(day) for day in nw.from_native(amputed, eager_only=True)["joined"].to_list()) == N // 2


def test_equal_column_names_are_refused():
    with pytest.raises(ColumnError, match="occur more than once"):
        ampute(pd.DataFrame(numbers(n_columns=2), columns=["a", "a"]), 0.5)


def test_stream_is_refused_with_a_remedy():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1, 2]}).__arrow_c_stream__(requested_schema)

    with pytest.raises(
        TypeError, match="values of a Stream cannot be set to missing; convert it to a NumPy array or a frame"
    ):
        ampute(Stream(), 0.5)


# the choice of rows, and its reference implementation


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=30), st.data())
def test_highest_rows_are_those_that_sorting_finds(scores, data):
    noise = np.array(data.draw(st.permutations(range(len(scores)))))
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    n_rows = data.draw(st.integers(0, len(rows)))
    found = highest(np.array(scores, dtype=float), noise, rows, n_rows)
    expected = sorted(rows, key=lambda row: (scores[row], noise[row]))[len(rows) - n_rows :]
    assert sorted(found) == sorted(expected)


def test_half_a_million_rows_take_well_under_a_second_of_processor_time():
    table = np.random.default_rng(0).normal(size=(550_000, 5))
    begin = time.process_time()
    ampute(table, 0.3)
    assert time.process_time() - begin < 1.5  # about 0.2 s; room for slow machines
