"""Any table gives the same tree and the same predictions, whichever library holds it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from table.frames import FRAMES, WITHOUT_NAMES, N, Y, as_pandas, as_polars, as_pyarrow

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.encoder import EncoderOptions, TableEncoder
from tritree.table import read_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def expected() -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y).predict(as_pandas())


@pytest.mark.parametrize("make", FRAMES + WITHOUT_NAMES)
def test_every_library_gives_the_same_predictions(make: Any, expected: Any) -> None:
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(make(), Y)
    np.testing.assert_array_equal(tree.predict(make()), expected)
    assert len(np.unique(expected)) > 5


@pytest.mark.parametrize("make", FRAMES)
def test_tree_fitted_to_pandas_predicts_any_other_frame(make: Any, expected: Any) -> None:
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y)
    np.testing.assert_array_equal(tree.predict(make()), expected)


@pytest.mark.parametrize("series", [pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array([y]), list])
def test_target_and_weights_may_be_of_any_library(series: Any) -> None:
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
def test_labels_may_be_of_any_library(labels: Any) -> None:
    y = ["high" if value > 4 else "low" for value in Y]
    tree = TrinaryTreeClassifier().fit(as_polars(), labels(y))
    assert tree.classes_.tolist() == ["high", "low"]
    assert tree.score(as_polars(), y) > 0.7


def test_lazy_frame_is_collected_with_a_warning(expected: Any) -> None:
    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_polars(), Y)
    with pytest.warns(UserWarning, match="lazy frame is collected"):
        np.testing.assert_array_equal(tree.predict(as_polars().lazy()), expected)


def test_frame_with_arrow_protocol_is_read(expected: Any) -> None:
    class ArrowStream:
        def __arrow_c_stream__(self, requested_schema=None):
            return as_pyarrow().__arrow_c_stream__(requested_schema)

    tree = TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pyarrow(), Y)
    np.testing.assert_array_equal(tree.predict(ArrowStream()), expected)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_number_type_and_order_are_read(dtype: Any, order: Any) -> None:
    X = np.random.default_rng(1).integers(0, 50, (N, 3))
    y = X[:, 0] - X[:, 1]
    expected = TrinaryTreeRegressor().fit(X, y).predict(X)
    table = np.asarray(X, dtype=dtype, order=order)
    table.flags.writeable = False
    np.testing.assert_array_equal(TrinaryTreeRegressor().fit(table, y).predict(table[::-1])[::-1], expected)


def test_boolean_array_is_categorical_and_takes_missing_later() -> None:
    X = np.random.default_rng(1).random((N, 2)) < 0.5
    tree = TrinaryTreeRegressor().fit(X, X[:, 0] * 2.0)
    np.testing.assert_array_equal(tree.predict([[1.0, np.nan], [0.0, 1.0]]), [2, 0])
    np.testing.assert_allclose(tree.predict([[np.nan, np.nan]]), X[:, 0].mean() * 2)
    assert "x0 is False" in tree.to_text()


@pytest.mark.parametrize(
    "array", [np.zeros((5, 2)), np.zeros((5, 2), np.float32), np.zeros((10, 4))[::2, ::2]]
)
def test_float_columns_are_not_copied(array: Any) -> None:
    _, columns = TableEncoder.fit(read_table(array), EncoderOptions())
    assert all(np.shares_memory(column, array) for column in columns)


@pytest.mark.parametrize("library", [pd, pl])
def test_float_columns_of_frames_are_not_copied(library: Any) -> None:
    frame = library.DataFrame({"a": np.arange(5.0), "b": np.arange(5.0)})
    _, columns = TableEncoder.fit(read_table(frame), EncoderOptions())
    assert np.shares_memory(columns[0], frame["a"].to_numpy())


USE = """
X = np.random.default_rng(0).normal(size=(100, 3))
TrinaryTreeRegressor().fit(X, X[:, 0]).predict(X)
TrinaryTreeRegressor().fit(X.tolist(), X[:, 0].tolist()).to_text()
"""
LIBRARIES = ["matplotlib", "pandas", "polars", "pyarrow", "rich"]


def test_table_libraries_stay_unimported() -> None:
    # scikit-learn imports some of them on its own, so what it brings does not count
    program = (
        "import sys, numpy as np, sklearn.base, sklearn.utils\n"
        "brought = set(sys.modules)\n"
        f"from tritree import TrinaryTreeRegressor\n{USE}\n"
        f"assert not (set(sys.modules) - brought) & set({LIBRARIES}), set(sys.modules) - brought\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_table_libraries_need_not_be_installed() -> None:
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
