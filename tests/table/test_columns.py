"""Columns: their types, categories and order, and errors about values that are unsupported."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from table.frames import N, Y, as_pandas

from tritree import ColumnError, TrinaryTreeRegressor
from tritree.columns import ColumnType
from tritree.encoder import EncoderOptions, TableEncoder
from tritree.table import read_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def test_ordered_categories_are_numeric_in_their_order() -> None:
    sizes = ["small", "middle", "large"]
    values = [sizes[i] for i in np.random.default_rng(2).integers(3, size=N)]
    y = np.array([sizes.index(value) for value in values], dtype=float)
    frames = [
        pd.DataFrame({"size": pd.Categorical(values, categories=sizes, ordered=True)}),
        pa.table(
            {
                "size": pa.DictionaryArray.from_arrays(
                    pa.array(y.astype("int8")), pa.array(sizes), ordered=True
                )
            }
        ),
    ]
    for frame in frames:
        tree = TrinaryTreeRegressor().fit(frame, y)
        np.testing.assert_array_equal(tree.predict(frame), y)
        np.testing.assert_array_equal(
            tree.predict(pl.DataFrame({"size": ["large", None, "small"]})), [2, y.mean(), 0]
        )
        assert "size ≤ small" in tree.to_text()
        assert "size ≥ large" in tree.to_text()
        with pytest.raises(
            ColumnError, match=r"column 'size' holds 'huge' in row 1, .*'small', 'middle', 'large'"
        ):
            tree.predict(pd.DataFrame({"size": ["small", "huge"]}))


def fit_encoder(frame: Any) -> Any:
    """The encoder of the column of a frame, and its encoded values."""
    encoder, columns = TableEncoder.fit(read_table(frame), EncoderOptions())
    return encoder.columns[0], columns[0].tolist()


def arrow_dictionary(codes, labels, **options):
    return pa.table({"a": pa.DictionaryArray.from_arrays(codes, pa.array(labels), **options)})


TEXT = ["b", None, "a", "b"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical(TEXT, categories=["unused", "b", "a"])}),
        pd.DataFrame({"a": pd.Categorical(TEXT, categories=[3, "b", "a"])}),
        pd.DataFrame({"a": pd.Series(["b", np.nan, "a", "b"], dtype=object)}),
        pd.DataFrame({"a": pd.Series(["b", pd.NaT, "a", np.str_("b")], dtype=object)}),
        pd.DataFrame({"a": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}),
        pl.DataFrame({"a": pl.Series(TEXT, dtype=pl.Enum(["unused", "b", "a"]))}),
        pl.DataFrame({"a": pl.Series(["other", *TEXT], dtype=pl.Categorical)[1:]}),
        pa.table(
            {"a": pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXT[:1], TEXT[1:])])}
        ),
        arrow_dictionary(pa.array([1, None, 2, 1], type=pa.uint8()), ["unused", "b", "a"]),
        arrow_dictionary(pa.array([0, 1, 2, 0]), ["b", None, "a"]),
        arrow_dictionary(pa.array([0, None, 1, 2]), ["b", "a", "b"]),
        pa.table(
            {"a": pa.chunked_array([pa.array([], type=pa.large_string()), pa.array(TEXT, pa.large_string())])}
        ),
        np.array([TEXT], dtype=object).T,
    ],
)
def test_categories_are_the_labels_that_occur_however_they_are_stored(frame: Any) -> None:
    column, values = fit_encoder(frame)
    assert column.categories == ("a", "b")
    assert values == [1, -1, 0, 1]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical([3, 1, None, 3], categories=[1, 2, 3])}),
        arrow_dictionary(pa.array([0, 1, None, 0]), [3, 1]),
    ],
)
def test_numbers_may_be_labels_of_categories(frame: Any) -> None:
    column, values = fit_encoder(frame)
    assert column.categories == (1, 3)
    assert values == [1, 0, -1, 1]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical([None, None], categories=["x"])}),
        pd.DataFrame({"a": pd.Series([None, np.nan], dtype=object)}),
        pd.DataFrame({"a": pd.Series([None, None], dtype="string")}),
        pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String)}),
        pl.DataFrame({"a": [None, None]}),
        pa.table({"a": pa.nulls(2, pa.string())}),
        arrow_dictionary(pa.array([0, 0]), [None, "unused"]),
    ],
)
def test_text_column_without_a_value_is_empty(frame: Any) -> None:
    column, values = fit_encoder(frame)
    assert column.categories is None
    assert np.isnan(values).all()


def test_equal_values_of_several_types_are_mixed_types() -> None:
    with pytest.raises(ColumnError, match=r"mixes values of type bool, int \(True in row 1, 1 in row 0\)"):
        fit_encoder(pd.DataFrame({"a": pd.Series([1, True], dtype=object)}))


def test_message_about_a_label_names_a_row_that_holds_it() -> None:
    values = pd.Categorical([None, "b", 1, "b"], categories=["unused", 1, "b"])
    with pytest.raises(ColumnError, match=r"mixes values of type int, str \(1 in row 2, 'b' in row 1\)"):
        fit_encoder(pd.DataFrame({"a": values}))


@pytest.mark.parametrize("value", [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")])
def test_dates_as_labels_are_dates(value: Any) -> None:
    encoder, values = fit_encoder(pd.DataFrame({"a": pd.Categorical([value, None])}))
    assert encoder.type is ColumnType.DATE
    assert values[0] == value.timestamp() * 1e6


def test_order_of_numeric_categories_applies_to_plain_numbers() -> None:
    order = pd.CategoricalDtype([3, 1, 2], ordered=True)
    tree = TrinaryTreeRegressor(min_samples_leaf=1)
    tree.fit(pd.DataFrame({"a": pd.Series([3, 1, 2] * 20, dtype=order)}), [0.0, 1.0, 2.0] * 20)
    np.testing.assert_array_equal(tree.predict(pd.DataFrame({"a": [2.0, 3.0, np.nan]})), [2, 0, 1])
    with pytest.raises(ColumnError, match=r"column 'a' holds 4.0 in row 1, .*\(3, 1, 2\)"):
        tree.predict(pd.DataFrame({"a": [2.0, 4.0]}))


def test_numbers_listed_as_categorical_are_categories() -> None:
    X = np.tile([1.0, 2.0, 3.0], (2, 50)).T
    y = np.where(X[:, 0] == 2, 5.0, 0.0)
    by_position = TrinaryTreeRegressor(categorical_features=[0]).fit(X, y)
    by_mask = TrinaryTreeRegressor(categorical_features=[True, False]).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    by_name = TrinaryTreeRegressor(categorical_features=["a"]).fit(frame, y)
    for tree, rows in [(by_position, X), (by_mask, X), (by_name, frame)]:
        np.testing.assert_array_equal(tree.predict(rows), y)
        assert "in {1, 3}" in tree.to_text()


def test_without_categories_booleans_are_numbers_and_text_is_refused() -> None:
    tree = TrinaryTreeRegressor(categorical_features=None).fit(as_pandas()[["number", "flag"]], Y)
    assert "flag < 0.5" in tree.to_text() or "number <" in tree.to_text()
    with pytest.raises(
        ColumnError, match="column 'colour' holds text, which can only be categorical; name it in"
    ):
        TrinaryTreeRegressor(categorical_features=["flag"]).fit(as_pandas(), Y)


def test_unknown_category_is_not_missing() -> None:
    frame = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 30 + [None] * 50, "b": np.arange(130.0)})
    y = np.repeat([0.0, 1.0, 5.0], [50, 30, 50])
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=10).fit(frame[["a"]], y)
    unknown, missing = tree.predict(pd.DataFrame({"a": ["z", None]}))
    assert missing == 5
    assert unknown < 1


def test_column_without_a_value_in_training_may_hold_anything_later() -> None:
    frame = as_pandas()[["number"]].assign(empty=None)
    tree = TrinaryTreeRegressor().fit(frame, Y)
    np.testing.assert_array_equal(tree.predict(frame.assign(empty="text")), tree.predict(frame))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.period_range("2020-01", periods=N, freq="M"), "column 'bad' holds periods; turn them into dates"),
        ([dt.date(2020, 1, 1), dt.time(3)] * (N // 2), "column 'bad' mixes values of type date, time"),
        ([[1, 2]] * N, "column 'bad' holds lists; spread it over columns"),
        ([1, "a"] * (N // 2), r"column 'bad' mixes values of type int, str \(1 in row 0, 'a' in row 1\)"),
        ([True, 3.5] * (N // 2), "column 'bad' mixes values of type bool, float"),
        ([b"raw"] * N, "column 'bad' holds bytes; decode it"),
        ([1j] * N, "column 'bad' holds complex numbers"),
        ([object] * N, "column 'bad' holds objects of type type"),
        ([0.0, -np.inf] * (N // 2), "column 'bad' holds -inf in row 1; replace infinite values"),
    ],
)
def test_error_about_an_unsupported_column_names_it_and_the_remedy(values: Any, message: Any) -> None:
    frame = as_pandas().assign(bad=values)
    with pytest.raises(ColumnError, match=message):
        TrinaryTreeRegressor().fit(frame, Y)
    tree = TrinaryTreeRegressor().fit(as_pandas().assign(bad=0.5), Y)
    if "inf" not in message:
        with pytest.raises(ColumnError, match=message):
            tree.predict(frame)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_lists_of_other_libraries_are_refused_too(make: Any) -> None:
    with pytest.raises(ColumnError, match=r"column 'bad' holds (lists|arrays)"):
        TrinaryTreeRegressor().fit(make({"bad": [[1], [2], [3]]}), [1, 2, 3])


def test_too_many_categories_are_an_error_that_names_the_column() -> None:
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(65_535)]})
    with pytest.raises(ColumnError, match=r"column 'name' has 65,535 categories, at most 65,534"):
        TrinaryTreeRegressor(drop_identifiers=False).fit(frame, np.zeros(len(frame)))


def test_sparse_matrix_is_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="dense data is required"):
        TrinaryTreeRegressor().fit(sparse.csr_matrix(np.eye(5)), np.arange(5))


@pytest.mark.parametrize("dtype", [float, int, object])
def test_masked_value_is_missing(dtype: type) -> None:
    values = np.arange(600).reshape(300, 2).astype(dtype)
    mask = np.random.default_rng(0).random(values.shape) < 0.3
    with_nan = np.where(mask, np.nan, values.astype(float))
    y = with_nan[:, 1].copy()
    y[np.isnan(y)] = -1
    masked = TrinaryTreeRegressor().fit(np.ma.masked_array(values, mask), y)
    np.testing.assert_array_equal(
        masked.predict(with_nan), TrinaryTreeRegressor().fit(with_nan, y).predict(with_nan)
    )


def test_error_about_booleans_and_numbers_shows_one_of_each() -> None:
    mixed = pd.DataFrame({"a": pd.Series([True, 3] * 15, dtype=object)})
    with pytest.raises(ColumnError, match=r"True in row 0, 3 in row 1"):
        TrinaryTreeRegressor().fit(mixed, np.zeros(30))
