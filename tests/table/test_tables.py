"""Any table gives the same tree and the same predictions, and a bad one an error that helps."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import warnings

import numpy as np
import pytest

from tritree import ColumnError, ColumnMatchWarning, TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.encoder import TableEncoder
from tritree.table import read_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 300
rng = np.random.default_rng(0)
NUMBER = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N))
INTEGER = rng.integers(0, 6, N)
INTEGER_WITH_MISSING = [None if rng.random() < 0.2 else int(value) for value in INTEGER]
COLOUR = [None if rng.random() < 0.2 else ["red", "green", "blue"][rng.integers(3)] for _ in range(N)]
FLAG = [None if rng.random() < 0.2 else bool(rng.integers(2)) for _ in range(N)]
Y = (
    np.nan_to_num(NUMBER)
    + INTEGER
    + np.array([3.0 if colour == "red" else 0.0 for colour in COLOUR])
    + np.array([2.0 if flag else 0.0 for flag in FLAG])
)


def as_dict():
    return {
        "number": NUMBER,
        "integer": INTEGER,
        "missing": INTEGER_WITH_MISSING,
        "colour": COLOUR,
        "flag": FLAG,
    }


def as_pandas():
    return pd.DataFrame(as_dict() | {"missing": [np.nan if v is None else v for v in INTEGER_WITH_MISSING]})


def as_pandas_objects():
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in as_dict().items()})


def as_pandas_nullable():
    types = {
        "number": "Float64",
        "integer": "Int32",
        "missing": "Int64",
        "colour": "string",
        "flag": "boolean",
    }
    return pd.DataFrame({name: pd.array(list(as_dict()[name]), dtype=dtype) for name, dtype in types.items()})


def as_pandas_arrow():
    types = {"number": "float64", "integer": "int16", "missing": "int64", "colour": "string", "flag": "bool"}
    frame = {}
    for name, dtype in types.items():
        values = pd.array([None if v != v else v for v in as_dict()[name]], dtype=f"{dtype}[pyarrow]")
        frame[name] = values
    return pd.DataFrame(frame)


def as_pandas_categories():
    return as_pandas().assign(colour=pd.Categorical(COLOUR))


def as_polars():
    return pl.DataFrame(as_dict() | {"number": NUMBER.tolist()}, strict=False)


def as_polars_nulls():
    return as_polars().with_columns(pl.col("number").fill_nan(None), pl.col("colour").cast(pl.Categorical))


def as_polars_enum():
    return as_polars().with_columns(pl.col("colour").cast(pl.Enum(["red", "green", "blue"])))


def as_pyarrow():
    return pa.table({name: pa.array(list(values), from_pandas=True) for name, values in as_dict().items()})


def as_pyarrow_dictionary():
    return as_pyarrow().set_column(3, "colour", pa.array(COLOUR).dictionary_encode())


def as_numpy_objects():
    return np.array(list(zip(*as_dict().values(), strict=True)), dtype=object)


def as_lists():
    return [list(row) for row in zip(*as_dict().values(), strict=True)]


TABLES = [
    as_pandas,
    as_pandas_objects,
    as_pandas_nullable,
    as_pandas_arrow,
    as_pandas_categories,
    as_polars,
    as_polars_nulls,
    as_polars_enum,
    as_pyarrow,
    as_pyarrow_dictionary,
]
WITHOUT_NAMES = [as_numpy_objects, as_lists]


@pytest.fixture(scope="module")
def expected():
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y).predict(as_pandas())


@pytest.mark.parametrize("make", TABLES + WITHOUT_NAMES)
def test_every_library_gives_the_same_predictions(make, expected):
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(make(), Y)
    np.testing.assert_array_equal(tree.predict(make()), expected)
    assert len(np.unique(expected)) > 5


@pytest.mark.parametrize("make", TABLES)
def test_tree_fitted_to_pandas_predicts_any_other_frame(make, expected):
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y)
    np.testing.assert_array_equal(tree.predict(make()), expected)


@pytest.mark.parametrize("series", [pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array([y]), list])
def test_target_and_weights_may_be_of_any_library(series):
    weight = np.arange(1.0, N + 1)
    expected = TrinaryTreeRegressor().fit(as_pandas(), Y, weight).predict(as_pandas())
    tree = TrinaryTreeRegressor().fit(as_pandas(), series(Y), series(weight))
    np.testing.assert_array_equal(tree.predict(as_pandas()), expected)


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        pl.Series,
        lambda y: pl.Series(y, dtype=pl.Categorical),
        lambda y: pa.array(y).dictionary_encode(),
    ],
)
def test_labels_may_be_of_any_library(labels):
    y = ["high" if value > 4 else "low" for value in Y]
    tree = TrinaryTreeClassifier().fit(as_polars(), labels(y))
    assert tree.classes_.tolist() == ["high", "low"]
    assert tree.score(as_polars(), y) > 0.7


def test_lazy_frame_is_collected_with_a_warning(expected):
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_polars(), Y)
    with pytest.warns(UserWarning, match="lazy frame is collected"):
        np.testing.assert_array_equal(tree.predict(as_polars().lazy()), expected)


def test_frame_with_arrow_protocol_is_read(expected):
    class Stranger:
        def __arrow_c_stream__(self, requested_schema=None):
            return as_pyarrow().__arrow_c_stream__(requested_schema)

    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pyarrow(), Y)
    np.testing.assert_array_equal(tree.predict(Stranger()), expected)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_number_type_and_order_are_read(dtype, order):
    X = np.random.default_rng(1).integers(0, 50, (N, 3))
    y = X[:, 0] - X[:, 1]
    expected = TrinaryTreeRegressor().fit(X, y).predict(X)
    table = np.asarray(X, dtype=dtype, order=order)
    table.flags.writeable = False
    np.testing.assert_array_equal(TrinaryTreeRegressor().fit(table, y).predict(table[::-1])[::-1], expected)


def test_boolean_array_is_categorical_and_takes_missing_later():
    X = np.random.default_rng(1).random((N, 2)) < 0.5
    tree = TrinaryTreeRegressor().fit(X, X[:, 0] * 2.0)
    np.testing.assert_array_equal(tree.predict([[1.0, np.nan], [0.0, 1.0]]), [2, 0])
    np.testing.assert_allclose(tree.predict([[np.nan, np.nan]]), X[:, 0].mean() * 2)
    assert "x0 is False" in tree.to_text()


@pytest.mark.parametrize(
    "array", [np.zeros((5, 2)), np.zeros((5, 2), np.float32), np.zeros((10, 4))[::2, ::2]]
)
def test_float_columns_are_not_copied(array):
    _, columns = TableEncoder.fit(read_table(array), "from_dtype")
    assert all(np.shares_memory(column, array) for column in columns)


@pytest.mark.parametrize("library", [pd, pl])
def test_float_columns_of_frames_are_not_copied(library):
    frame = library.DataFrame({"a": np.arange(5.0), "b": np.arange(5.0)})
    _, columns = TableEncoder.fit(read_table(frame), "from_dtype")
    assert np.shares_memory(columns[0], frame["a"].to_numpy())


USE = """
X = np.random.default_rng(0).normal(size=(100, 3))
TrinaryTreeRegressor().fit(X, X[:, 0]).predict(X)
TrinaryTreeRegressor().fit(X.tolist(), X[:, 0].tolist()).to_text()
"""
LIBRARIES = ["matplotlib", "pandas", "polars", "pyarrow", "rich"]


def test_table_libraries_stay_unimported():
    # scikit-learn imports some of them on its own, so what it brings does not count
    program = (
        "import sys, numpy as np, sklearn.base, sklearn.utils\n"
        "brought = set(sys.modules)\n"
        f"from tritree import TrinaryTreeRegressor\n{USE}\n"
        f"assert not (set(sys.modules) - brought) & set({LIBRARIES}), set(sys.modules) - brought\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_table_libraries_need_not_be_installed():
    program = (
        "import sys\n"
        "class NotInstalled:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {LIBRARIES}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NotInstalled())\n"
        f"import numpy as np\nfrom tritree import TrinaryTreeRegressor\n{USE}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- kinds of columns


def test_ordered_categories_are_numeric_in_their_order():
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


def fit_encoder(frame):
    """The encoder of the column of a frame, and its encoded values."""
    encoder, columns = TableEncoder.fit(read_table(frame), "from_dtype")
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
def test_categories_are_the_labels_that_occur_however_they_are_stored(frame):
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
def test_numbers_may_be_labels_of_categories(frame):
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
def test_text_column_without_a_value_is_empty(frame):
    column, values = fit_encoder(frame)
    assert column.categories is None
    assert np.isnan(values).all()


def test_equal_values_of_several_types_are_mixed_types():
    with pytest.raises(ColumnError, match=r"mixes values of type bool, int \(True in row 1, 1 in row 0\)"):
        fit_encoder(pd.DataFrame({"a": pd.Series([1, True], dtype=object)}))


def test_message_about_a_label_names_a_row_that_holds_it():
    values = pd.Categorical([None, "b", 1, "b"], categories=["unused", 1, "b"])
    with pytest.raises(ColumnError, match=r"mixes values of type int, str \(1 in row 2, 'b' in row 1\)"):
        fit_encoder(pd.DataFrame({"a": values}))


@pytest.mark.parametrize("value", [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")])
def test_dates_as_labels_are_refused(value):
    with pytest.raises(ColumnError, match="column 'a' holds dates"):
        fit_encoder(pd.DataFrame({"a": pd.Categorical([value, None])}))


def test_order_of_numeric_categories_applies_to_plain_numbers():
    order = pd.CategoricalDtype([3, 1, 2], ordered=True)
    tree = TrinaryTreeRegressor(min_samples_leaf=1)
    tree.fit(pd.DataFrame({"a": pd.Series([3, 1, 2] * 20, dtype=order)}), [0.0, 1.0, 2.0] * 20)
    np.testing.assert_array_equal(tree.predict(pd.DataFrame({"a": [2.0, 3.0, np.nan]})), [2, 0, 1])
    with pytest.raises(ColumnError, match=r"column 'a' holds 4.0 in row 1, .*\(3, 1, 2\)"):
        tree.predict(pd.DataFrame({"a": [2.0, 4.0]}))


def test_numbers_listed_as_categorical_are_categories():
    X = np.tile([1.0, 2.0, 3.0], (2, 50)).T
    y = np.where(X[:, 0] == 2, 5.0, 0.0)
    by_position = TrinaryTreeRegressor(categorical_features=[0]).fit(X, y)
    by_mask = TrinaryTreeRegressor(categorical_features=[True, False]).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    by_name = TrinaryTreeRegressor(categorical_features=["a"]).fit(frame, y)
    for tree, rows in [(by_position, X), (by_mask, X), (by_name, frame)]:
        np.testing.assert_array_equal(tree.predict(rows), y)
        assert "in {1, 3}" in tree.to_text()


def test_without_categories_booleans_are_numbers_and_text_is_refused():
    tree = TrinaryTreeRegressor(categorical_features=None).fit(as_pandas()[["number", "flag"]], Y)
    assert "flag < 0.5" in tree.to_text() or "number <" in tree.to_text()
    with pytest.raises(
        ColumnError, match="column 'colour' holds text, which can only be categorical; name it in"
    ):
        TrinaryTreeRegressor(categorical_features=["flag"]).fit(as_pandas(), Y)


def test_unknown_category_is_not_missing():
    frame = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 30 + [None] * 50, "b": np.arange(130.0)})
    y = np.repeat([0.0, 1.0, 5.0], [50, 30, 50])
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=10).fit(frame[["a"]], y)
    never_seen, missing = tree.predict(pd.DataFrame({"a": ["z", None]}))
    assert missing == 5
    assert never_seen < 1


def test_column_without_a_value_in_training_may_hold_anything_later():
    frame = as_pandas()[["number"]].assign(empty=None)
    tree = TrinaryTreeRegressor().fit(frame, Y)
    np.testing.assert_array_equal(tree.predict(frame.assign(empty="text")), tree.predict(frame))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2020-01-01", periods=N), r"column 'bad' holds dates; turn it into a number \(days"),
        (pd.timedelta_range("1 day", periods=N), "column 'bad' holds durations; turn it into a number"),
        ([dt.date(2020, 1, 1)] * N, "column 'bad' holds dates"),
        ([[1, 2]] * N, "column 'bad' holds lists; spread it over columns"),
        ([1, "a"] * (N // 2), r"column 'bad' mixes values of type int, str \(1 in row 0, 'a' in row 1\)"),
        ([True, 3.5] * (N // 2), "column 'bad' mixes values of type bool, float"),
        ([b"raw"] * N, "column 'bad' holds bytes; decode it"),
        ([1j] * N, "column 'bad' holds complex numbers"),
        ([object] * N, "column 'bad' holds objects of type type"),
        ([0.0, -np.inf] * (N // 2), "column 'bad' holds -inf in row 1; replace infinite values"),
    ],
)
def test_error_about_an_unsupported_column_names_it_and_the_remedy(values, message):
    frame = as_pandas().assign(bad=values)
    with pytest.raises(ColumnError, match=message):
        TrinaryTreeRegressor().fit(frame, Y)
    tree = TrinaryTreeRegressor().fit(as_pandas().assign(bad=0.5), Y)
    if "inf" not in message:
        with pytest.raises(ColumnError, match=message):
            tree.predict(frame)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_dates_and_lists_of_other_libraries_are_refused_too(make):
    with pytest.raises(ColumnError, match="column 'bad' holds dates"):
        TrinaryTreeRegressor().fit(make({"bad": [dt.datetime(2020, 1, 1)] * 3}), [1, 2, 3])
    with pytest.raises(ColumnError, match="column 'bad' holds dates"):
        TrinaryTreeRegressor().fit(make({"bad": [dt.date(2020, 1, 1)] * 3}), [1, 2, 3])
    with pytest.raises(ColumnError, match="column 'bad' holds durations"):
        TrinaryTreeRegressor().fit(make({"bad": [dt.timedelta(1)] * 3}), [1, 2, 3])
    with pytest.raises(ColumnError, match=r"column 'bad' holds (lists|arrays)"):
        TrinaryTreeRegressor().fit(make({"bad": [[1], [2], [3]]}), [1, 2, 3])


def test_too_many_categories_are_an_error_that_names_the_column():
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(65_535)]})
    with pytest.raises(ColumnError, match=r"column 'name' has 65,535 categories, at most 65,534"):
        TrinaryTreeRegressor().fit(frame, np.zeros(len(frame)))


def test_sparse_matrix_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="dense data is required"):
        TrinaryTreeRegressor().fit(sparse.csr_matrix(np.eye(5)), np.arange(5))


# ---- matching


@pytest.fixture(scope="module")
def tree():
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y)


def test_order_of_columns_does_not_matter(tree, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            tree.predict(as_polars().select(reversed(as_polars().columns))), expected
        )


def test_absent_column_counts_as_missing_with_one_warning_that_names_it(tree):
    with pytest.warns(
        ColumnMatchWarning, match="absent from the table, so missing in every row: 'colour'"
    ) as seen:
        found = tree.predict(as_pandas().drop(columns="colour"))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(found, tree.predict(as_pandas().assign(colour=None)))


def test_extra_columns_are_ignored_with_one_warning(tree, expected):
    with pytest.warns(ColumnMatchWarning, match="not in training, so ignored: 'when', 'why'") as seen:
        found = tree.predict(as_pandas().assign(when=pd.Timestamp("2020-01-01"), why=[[1]] * N))
    assert len(seen) == 1
    np.testing.assert_array_equal(found, expected)


def test_frame_without_any_known_column_is_an_error(tree):
    with pytest.raises(ValueError, match=r"none of the columns of training \('number', "):
        tree.predict(pd.DataFrame({"other": [1.0]}))


def test_array_of_another_width_is_an_error(tree):
    with pytest.raises(
        ValueError, match="X has 3 features, but TrinaryTreeRegressor is expecting 5 features as input"
    ):
        tree.predict(np.zeros((2, 3)))


def test_array_is_matched_by_position_with_scikit_learns_warning(tree, expected):
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but TrinaryTreeRegressor was fitted with"
    ):
        np.testing.assert_array_equal(tree.predict(as_numpy_objects()), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"number": "text"},
            "column 'number' holds text now and held numbers in training; turn it back into numbers",
        ),
        ({"colour": 1.5}, "column 'colour' holds numbers now and held text in training"),
    ],
)
def test_column_whose_type_changed_is_an_error(tree, change, message):
    with pytest.raises(ColumnError, match=message):
        tree.predict(as_pandas().assign(**change))


def test_column_names_of_several_types_are_an_error():
    with pytest.raises(TypeError, match="column names are of several types"):
        TrinaryTreeRegressor().fit(pd.DataFrame({"a": [1.0, 2.0], 1: [1.0, 2.0]}), [1, 2])


def test_number_names_of_columns_are_positions():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)))
    tree = TrinaryTreeRegressor().fit(frame, frame[0])
    assert not hasattr(tree, "feature_names_in_")
    np.testing.assert_array_equal(tree.predict(frame), tree.predict(frame.to_numpy()))
