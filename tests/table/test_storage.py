"""The same cells are the same table, whatever library holds them and however it stores them."""

from __future__ import annotations

import itertools
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES

from tritree import ColumnError, TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 240
rng = np.random.default_rng(3)


def with_missing(values: Any) -> list[Any]:
    return [None if rng.random() < 0.2 else value for value in values]


# a column of each type: all values are exact in float16, and integers where they have to be
CELLS: dict[str, list[Any]] = {
    "number": with_missing((rng.integers(-40, 40, N) / 4).tolist()),
    "integer": with_missing(rng.integers(0, 9, N).tolist()),
    "text": with_missing(rng.choice(["red", "green", "blue", ""], N).tolist()),
    "flag": with_missing(rng.choice([True, False], N).tolist()),
}
Y = np.array(
    [
        (n or 0) + (w or 5) / 2 + 4 * (t == "red") - 3 * (t is None) + 2 * (f is True)
        for n, w, t, f in zip(*CELLS.values(), strict=True)
    ]
)


def fit_tree(table: Any, **parameters: Any) -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5, **parameters).fit(table, Y)


def nan_for_none(values: list[Any]) -> list[Any]:
    return [np.nan if value is None else value for value in values]


def arrow_stream(table: Any) -> Any:
    """An object whose only method is Arrow's stream protocol."""

    class Unreadable:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    return Unreadable()


FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame({name: nan_for_none(values) for name, values in CELLS.items()}),
    "pandas objects": pd.DataFrame(CELLS, dtype=object),
    "pandas nullable": pd.DataFrame(CELLS).convert_dtypes(),
    "pandas arrow": pa.table(CELLS).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": pd.DataFrame(CELLS).astype({"text": "category"}),
    "polars": pl.DataFrame(CELLS),
    "polars Categorical": pl.DataFrame(CELLS).cast({"text": pl.Categorical}),
    "polars Enum": pl.DataFrame(CELLS).cast({"text": pl.Enum(["", "green", "never", "blue", "red"])}),
    "pyarrow": pa.table(CELLS),
    "pyarrow dictionary": pa.table(CELLS | {"text": pa.array(CELLS["text"]).dictionary_encode()}),
    "Arrow stream": arrow_stream(pa.table(CELLS)),
    "Arrow stream with a dictionary": arrow_stream(
        pa.table(CELLS | {"text": pa.array(CELLS["text"]).dictionary_encode()})
    ),
    "Arrow stream of polars": arrow_stream(pl.DataFrame(CELLS)),
}


@pytest.fixture(scope="module")
def expected() -> Any:
    found = fit_tree(FRAMES["pandas"]).predict(FRAMES["pandas"])
    assert len(np.unique(found)) > 10
    return found


# ---- across libraries


@pytest.mark.parametrize(("training", "rows"), list(itertools.product(FRAMES, FRAMES)))
def test_tree_of_one_library_predicts_the_same_for_every_other(
    training: str, rows: str, expected: Any
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        np.testing.assert_array_equal(fit_tree(FRAMES[training]).predict(FRAMES[rows]), expected)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_strategy_and_class_is_the_same_in_every_library(kind: str) -> None:
    labels = np.where(Y > 3, "high", np.where(Y > 0, "middle", "low"))
    for missing in STRATEGIES:
        model = TrinaryTreeClassifier(missing=missing, max_depth=3)
        probabilities = model.fit(FRAMES["pandas"], labels).predict_proba(FRAMES["pandas"])
        np.testing.assert_array_equal(
            model.fit(FRAMES[kind], labels).predict_proba(FRAMES[kind]), probabilities, err_msg=missing
        )


@pytest.mark.parametrize("kind", FRAMES)
def test_names_and_categories_are_the_same_in_every_library(kind: str) -> None:
    model = fit_tree(FRAMES[kind])
    assert model.feature_names_in_.tolist() == list(CELLS)
    assert [column["categories"] for column in model.to_dict()["columns"]] == [
        None,
        None,
        ["", "blue", "green", "red"],
        [False, True],
    ]


def test_lazy_frame_is_collected_with_a_warning_at_fit_and_at_predict(expected: Any) -> None:
    lazy = pl.LazyFrame(CELLS)
    with pytest.warns(UserWarning, match="the lazy frame is collected") as seen:
        model = fit_tree(lazy)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="the lazy frame is collected") as seen:
        np.testing.assert_array_equal(model.predict(lazy), expected)
    assert len(seen) == 1


# ---- one column, however it is stored

NUMBER, INTEGER, TEXT, FLAG = CELLS.values()
DECIMALS = [None if value is None else Decimal(str(value)) for value in NUMBER]
SPLIT = N // 3


def chunks(values: Any, *types: Any) -> Any:
    """A column in three parts, an empty one among them."""
    array = pa.array(values, *types)
    return pa.chunked_array([array[:SPLIT], array[:0], array[SPLIT:]])


def polars_chunks(values: Any) -> Any:
    series = pl.Series(values)
    return series[:SPLIT].append(series[SPLIT:])


def sliced(values: list[Any]) -> Any:
    """A column that begins and ends within another one."""
    return pa.array([values[3], None, *values, values[5]])[2:-1]


COLUMNS: dict[str, list[Any]] = {
    "number": [
        np.array(nan_for_none(NUMBER), dtype="float16"),
        np.array(nan_for_none(NUMBER), dtype="float32"),
        np.array(nan_for_none(NUMBER), dtype=">f8"),
        np.array(nan_for_none(NUMBER))[::-1].copy()[::-1],
        pd.Series(NUMBER, dtype=object),
        pd.Series([pd.NA if v is None else v for v in NUMBER], dtype=object),
        pd.Series([pd.NaT if v is None else np.float32(v) for v in NUMBER], dtype=object),
        pd.Series(DECIMALS, dtype=object),
        pd.array(NUMBER, dtype="Float32"),
        pd.array(NUMBER, dtype="Float64"),
        pd.array(NUMBER, dtype="float32[pyarrow]"),
        pd.array(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(6, 2))),
        pd.arrays.SparseArray(nan_for_none(NUMBER)),
        pl.Series(NUMBER),
        pl.Series(nan_for_none(NUMBER)),
        pl.Series(NUMBER, dtype=pl.Float32),
        pl.Series(DECIMALS, dtype=pl.Decimal(6, 2)),
        polars_chunks(NUMBER),
        pa.array(NUMBER),
        pa.array(nan_for_none(NUMBER), from_pandas=False),
        pa.array(NUMBER, pa.float32()),
        pa.array(np.array(nan_for_none(NUMBER), dtype="float16"), from_pandas=True),
        pa.array(DECIMALS, pa.decimal128(6, 2)),
        chunks(NUMBER),
        sliced(NUMBER),
    ],
    "integer": [
        np.array(nan_for_none(INTEGER)),
        *(pd.array(INTEGER, dtype=kind) for kind in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt64")),
        *(pd.array(INTEGER, dtype=f"{kind}[pyarrow]") for kind in ("int8", "uint16", "int64")),
        pd.Series([pd.NA if v is None else np.int16(v) for v in INTEGER], dtype=object),
        *(pl.Series(INTEGER, dtype=kind) for kind in (pl.Int8, pl.UInt16, pl.Int32, pl.UInt64)),
        *(pa.array(INTEGER, kind) for kind in (pa.int8(), pa.uint16(), pa.int32(), pa.uint64())),
        chunks(INTEGER),
        sliced(INTEGER),
    ],
    "text": [
        pd.Series(TEXT, dtype=object),
        pd.Series(nan_for_none(TEXT), dtype=object),
        pd.Series([pd.NA if v is None else np.str_(v) for v in TEXT], dtype=object),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype="string[python]"),
        pd.Series(TEXT, dtype="string[pyarrow]"),
        pd.Series(TEXT, dtype=pd.ArrowDtype(pa.large_string())),
        pd.Series(TEXT, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        pd.Series(TEXT, dtype="category"),
        pd.Series(pd.Series(TEXT, dtype="string[pyarrow]"), dtype="category"),
        pd.Categorical(TEXT, categories=["never", "red", "", "green", "blue"]),
        pl.Series(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pl.Series(TEXT, dtype=pl.Enum(["red", "green", "blue", ""])),
        polars_chunks(TEXT),
        pa.array(TEXT),
        pa.array(TEXT, pa.large_string()),
        pa.array(TEXT).dictionary_encode(),
        pa.array(TEXT, pa.large_string()).dictionary_encode(),
        chunks(TEXT),
        chunks(TEXT).dictionary_encode(),
        sliced(TEXT),
        sliced(TEXT).dictionary_encode(),
    ],
    "flag": [
        pd.Series(FLAG, dtype=object),
        pd.Series([np.nan if v is None else np.bool_(v) for v in FLAG], dtype=object),
        pd.array(FLAG, dtype="boolean"),
        pd.array(FLAG, dtype="bool[pyarrow]"),
        pd.Categorical(FLAG),
        pl.Series(FLAG),
        polars_chunks(FLAG),
        pa.array(FLAG),
        pa.array(FLAG).dictionary_encode(),
        chunks(FLAG),
        sliced(FLAG),
    ],
}


def replaced(name: str, column: Any) -> Any:
    """The table in the library of a column, with this column in it."""
    if isinstance(column, pl.Series):
        return FRAMES["polars"].with_columns(column.alias(name))
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return FRAMES["pyarrow"].set_column(list(CELLS).index(name), name, column)
    return FRAMES["pandas"].assign(**{name: column})


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, columns in COLUMNS.items() for at in range(len(columns))]
)
def test_column_is_the_same_however_it_is_stored(name: str, at: int, expected: Any) -> None:
    table = replaced(name, COLUMNS[name][at])
    np.testing.assert_array_equal(fit_tree(table).predict(table), expected)
    np.testing.assert_array_equal(fit_tree(FRAMES["pandas"]).predict(table), expected)


@pytest.mark.parametrize(
    "categories",
    [
        pd.Categorical(INTEGER),
        pd.Categorical(nan_for_none(INTEGER)),
        pd.Series(pd.array(INTEGER, dtype="Int64"), dtype="category"),
        pa.array(INTEGER).dictionary_encode(),
        chunks(INTEGER, pa.uint8()).dictionary_encode(),
        pa.array(nan_for_none(INTEGER), pa.float32(), from_pandas=True).dictionary_encode(),
    ],
)
def test_numbers_as_categories_are_the_same_however_they_are_stored(categories: Any) -> None:
    listed = fit_tree(FRAMES["polars"], categorical_features=["integer", "text", "flag"])
    table = replaced("integer", categories)
    model = fit_tree(table)
    assert model.to_dict()["columns"] == listed.to_dict()["columns"]
    np.testing.assert_array_equal(model.predict(table), listed.predict(FRAMES["polars"]))


@pytest.mark.parametrize(
    "index", [np.arange(N)[::-1], np.zeros(N), pd.MultiIndex.from_product([range(N // 2), ["x", "y"]])]
)
def test_index_of_a_pandas_frame_is_ignored(index: Any, expected: Any) -> None:
    table = FRAMES["pandas"].set_axis(index, axis=0)
    np.testing.assert_array_equal(fit_tree(table).predict(table), expected)


# ---- arrays


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("missing", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_any_missing_value_among_objects_is_missing(missing: Any, order: str, expected: Any) -> None:
    rows = [[missing if v is None else v for v in cells] for cells in zip(*CELLS.values(), strict=True)]
    table = np.array(rows, dtype=object, order=order)
    np.testing.assert_array_equal(fit_tree(table).predict(table), expected)
    np.testing.assert_array_equal(fit_tree(table).predict(rows), expected)


NUMBERS = rng.integers(0, 100, (N, 3))


@pytest.mark.parametrize("dtype", [*"efdg", *"bhiq", *"BHIQ", ">i4", ">f4", ">f8", object])
@pytest.mark.parametrize(
    "view",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
        lambda a: np.broadcast_to(a[None], (2, *a.shape))[1],
    ],
    ids=["C", "Fortran", "every other cell", "backwards", "read-only"],
)
def test_array_of_numbers_is_the_same_however_it_lies_in_memory(dtype: Any, view: Any) -> None:
    y = NUMBERS[:, 0] - NUMBERS[:, 1] % 7
    reference = TrinaryTreeRegressor(min_samples_leaf=5).fit(NUMBERS, y)
    table = view(NUMBERS.astype(dtype))
    before = table.tobytes()
    model = TrinaryTreeRegressor(min_samples_leaf=5).fit(table, y)
    np.testing.assert_array_equal(model.predict(table), reference.predict(NUMBERS))
    np.testing.assert_array_equal(reference.predict(table), reference.predict(NUMBERS))
    assert table.tobytes() == before


@pytest.mark.parametrize("view", [np.ascontiguousarray, np.asfortranarray, lambda a: a[:, ::-1]])
def test_booleans_are_the_same_in_arrays_and_frames(view: Any) -> None:
    flags = view(NUMBERS % 2 == 1)
    y = flags @ [4.0, 2.0, 1.0]
    expected = (
        TrinaryTreeRegressor()
        .fit(pd.DataFrame(flags).add_prefix("c"), y)
        .predict(pl.DataFrame(flags, schema=["c0", "c1", "c2"]))
    )
    model = TrinaryTreeRegressor().fit(flags, y)
    for rows in (flags, flags.astype(object), flags.astype("int8"), flags.tolist()):
        np.testing.assert_array_equal(model.predict(rows), expected)


@pytest.mark.parametrize("dtype", ["U", "T", object])
def test_array_of_text_is_categorical(dtype: Any) -> None:
    if dtype == "T" and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy has text of any length since 2.0")
    words = np.array(["red", "green", "blue"])[NUMBERS[:, :2] % 3]
    table = words.astype(np.dtypes.StringDType() if dtype == "T" else dtype)
    y = np.where(words[:, 0] == "green", 1.0, 0.0)
    np.testing.assert_array_equal(TrinaryTreeRegressor().fit(table, y).predict(table), y)


# ---- other table libraries


def test_record_batch_reader_is_read(expected: Any) -> None:
    table = pa.Table.from_batches(FRAMES["pyarrow"].to_batches(max_chunksize=50))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    np.testing.assert_array_equal(fit_tree(reader).predict(table), expected)


class Interchangeable:
    """A table that also has the data frame interchange protocol, as many do."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return FRAMES["pyarrow"].__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return FRAMES["pyarrow"].__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize("table", [Interchangeable(), FRAMES["pyarrow"].combine_chunks().to_batches()[0]])
def test_frame_with_arrow_and_interchange_protocols_is_read(table: Any, expected: Any) -> None:
    np.testing.assert_array_equal(fit_tree(FRAMES["pandas"]).predict(table), expected)


def test_decimal_nan_is_missing() -> None:
    values = ["u", Decimal("NaN"), "v"] * 80
    model = fit_tree(pd.DataFrame({"a": pd.Series(values, dtype=object)}))
    assert model.to_dict()["columns"][0]["categories"] == ["u", "v"]


def test_decimals_among_text_are_reported_as_mixed_types() -> None:
    with pytest.raises(ColumnError, match=r"mixes values of type float, str \(Decimal\('1.5'\) in row 1"):
        fit_tree(pd.DataFrame({"a": pd.Series(["u", Decimal("1.5")] * 120, dtype=object)}))


@pytest.mark.parametrize("numbers", [np.array([2**53, 2**53 + 1]), np.array([-(2**53), 0])])
def test_categories_that_float64_cannot_tell_apart_are_refused(numbers: Any) -> None:
    with pytest.raises(ColumnError, match="cannot be told apart; turn it into text"):
        fit_tree(np.tile(numbers, 120)[:, None], categorical_features=[0])


@pytest.mark.parametrize("odd", [2**53, pd.Timestamp("2020-01-01")])
def test_unsupported_ordered_category_is_refused_even_if_unused(odd: Any) -> None:
    kind = pd.CategoricalDtype([1, 2, odd], ordered=True)
    with pytest.raises(ColumnError, match="'a'"):
        fit_tree(pd.DataFrame({"a": pd.Series([1, 2] * 120, dtype=kind)}))


def test_frame_without_arrow_protocol_is_refused_with_a_remedy() -> None:
    class Unreadable:
        def __dataframe__(self, **options: Any) -> Any:
            return pa.table({"a": [1.0]}).__dataframe__(**options)

    with pytest.raises(TypeError, match="turn it into a frame of pandas, polars or pyarrow"):
        fit_tree(Unreadable())


def test_date_column_without_a_date_is_empty() -> None:
    model = fit_tree(pd.DataFrame({"a": np.arange(N, dtype=float), "b": pd.NaT}))
    assert model.n_features_in_ == 2
    assert len(model.predict(pd.DataFrame({"a": pd.to_datetime([None, None]), "b": 1.0}))) == 2


def test_numeric_column_names_match_their_text() -> None:
    frame = pd.DataFrame(rng.normal(size=(N, 3)))
    model = fit_tree(frame)
    again = frame[[2, 0, 1]].rename(columns=str)
    np.testing.assert_array_equal(model.predict(again), model.predict(frame))


def test_text_column_that_identifies_rows_gets_a_warning() -> None:
    with pytest.warns(UserWarning, match="'id' has 240 different values in 240 rows, so it is left out"):
        fit_tree(pd.DataFrame({"id": [f"P{i}" for i in range(N)], "x": np.arange(N, dtype=float)}))


def test_name_of_thousands_of_characters_is_shortened_in_messages() -> None:
    with pytest.raises(ColumnError) as caught:
        fit_tree(pd.DataFrame({"n" * 10_000: [b"bytes"] * N}))
    assert len(str(caught.value)) < 300
