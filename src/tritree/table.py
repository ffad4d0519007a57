"""Reading of tables: arrays and the frames of any table library. Only this module distinguishes the libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import check_array

from tritree.errors import ColumnError, warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["RawColumn", "Table", "read_matrix", "read_table", "read_vector"]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
#: Maximum number of cells of a pandas frame that is converted to an array as a whole.
_MAX_CONVERTED_CELLS = 4096


@dataclass(frozen=True, slots=True)
class RawColumn:
    """A column as its table library holds it: values, or codes and their labels for text and categories."""

    #: The values, or, if there are labels, positions in them, -1 where missing.
    values: NDArray[Any]
    #: Whether the dtype of the column is categorical.
    is_categorical: bool = False
    #: The ordered categories, lowest first; None if the categories have no order.
    order: tuple[Any, ...] | None = None
    #: The labels that codes stand for; None if ``values`` holds values. Labels may be unused, or missing values.
    labels: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose columns are read one at a time, when they are needed."""

    n_rows: int
    n_columns: int
    #: Column names of a frame, all of them text or none; None for an array.
    column_names: list[Any] | None
    _column: Callable[[int], RawColumn]

    @property
    def feature_names(self) -> list[str] | None:
        """Return the column names if they are text, as scikit-learn's ``feature_names_in_``."""
        return self.column_names if self.column_names and isinstance(self.column_names[0], str) else None

    def column(self, position: int) -> RawColumn:
        """Return the column at a position."""
        return self._column(position)

    def name(self, position: int) -> Any:
        """Return the name of the column at a position; the position itself if the table has no names."""
        return position if self.column_names is None else self.column_names[position]


def read_table(X: Any) -> Table:
    """Return a table, given an array, a frame of any table library, or a list of rows."""
    if _is_matrix(X):
        return Table(X.shape[0], X.shape[1], None, lambda j: RawColumn(X[:, j]))
    try:
        return _read_any(X)
    except nw.exceptions.DuplicateError as error:
        details = " ".join(str(error).split())
        raise ColumnError(
            None, f"column names occur more than once ({details})", "rename or drop columns"
        ) from None


def _is_matrix(X: Any) -> bool:
    """Return whether a table is an array of floats that can be used without conversion."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS and X.size > 0 and X.flags.aligned


def read_matrix(X: Any, column_names: tuple[Any, ...] | None, n_columns: int) -> NDArray[Any] | None:
    """Return a table as one array of floats if it has the training columns in their order, else None.

    A fast path for single rows: reading every column takes ten times as long as predicting. pandas makes an array of
    floats of a frame if and only if every column is numeric.
    """
    if column_names is None:
        return X if _is_matrix(X) and X.shape[1] == n_columns else None
    if type(X).__module__.partition(".")[0] != "pandas" or type(X).__name__ != "DataFrame":
        return None
    if not 0 < X.size <= _MAX_CONVERTED_CELLS or X.shape[1] != n_columns:
        return None
    if X.columns.tolist() != list(column_names):
        return None
    array = X.to_numpy()
    return array if _is_matrix(array) else None


def _read_any(X: Any) -> Table:
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        warn_caller("the lazy frame is collected: all its columns are read into memory")
        frame = frame.collect()
    # narwhals takes what has the interchange protocol for a frame, but cannot read it
    is_unreadable = isinstance(frame, nw.DataFrame) and getattr(frame, "_level", "full") == "interchange"
    is_unknown = not isinstance(frame, nw.DataFrame) and not hasattr(X, "__array__")
    if (is_unreadable or is_unknown) and hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        frame, is_unreadable = nw.from_native(pa.table(X)), False
    if is_unreadable:
        raise TypeError(
            f"a table of type {type(X).__name__} cannot be read; turn it into a frame of pandas, polars or pyarrow"
        )
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    return _read_array(X)


def read_vector(y: Any) -> Any:
    """Return a series of any table library as a NumPy array; everything else is returned unchanged."""
    numpy_dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if numpy_dtype is not None:  # a nullable dtype of pandas, which becomes objects if values are missing
        return np.asarray(y, dtype=object if np.asarray(y.isna()).any() else numpy_dtype)
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return y
    return _to_numpy(series)


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    series: list[Any] = list(frame.iter_columns())
    if not series or len(frame) == 0:
        axis = "sample" if series else "feature"
        raise ValueError(  # as scikit-learn
            f"Found array with 0 {axis}(s) (shape=({len(frame)}, {len(series)})) while a minimum of 1 is required."
        )
    names = list(frame.columns)
    _check_column_names(names)
    return Table(len(frame), len(series), names, lambda j: _read_series(series[j]))


def _check_column_names(names: list[Any]) -> None:
    """Raise a TypeError if some column names are text and others are not."""
    if len({isinstance(name, str) for name in names}) > 1:
        types = sorted({type(name).__name__ for name in names})
        raise TypeError(
            f"column names are of several types ({', '.join(types)}); make all of them text, for example with "
            "X.columns = X.columns.astype(str)"
        )


def _read_series(series: nw.Series[Any]) -> RawColumn:
    dtype = series.dtype
    is_categorical = isinstance(dtype, (nw.Categorical, nw.Enum))
    order = _order(series) if is_categorical else None
    if is_categorical or isinstance(dtype, (nw.String, nw.Object)):
        factorized = _factorize(series)
        if factorized is not None:
            codes, labels = factorized
            return RawColumn(codes, is_categorical, order, labels)
    if isinstance(dtype, nw.Decimal):
        series = series.cast(nw.Float64)
    return RawColumn(_to_numpy(series), is_categorical, order)


def _order(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    """Return the ordered categories, or None. A polars Enum is a closed set of names without an order."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        return tuple(native.cat.categories.tolist()) if getattr(native.dtype, "ordered", False) else None
    if series.implementation.is_pyarrow() and native.type.ordered:
        chunks = native.unify_dictionaries().chunks
        return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()
    return None


def _factorize(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return text or categories as codes and labels, computed by the table library; None if it cannot."""
    if series.implementation.is_pandas_like():
        return _pandas_codes(series)
    if isinstance(series.dtype, nw.Object):
        return None
    if series.implementation.is_polars():
        return _polars_codes(series.to_native())
    if series.implementation.is_pyarrow():
        return _pyarrow_codes(series)
    return None


def _pandas_codes(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    native = series.to_native()
    if hasattr(native.dtype, "categories"):
        return np.asarray(native.cat.codes), np.asarray(native.cat.categories)
    if native.dtype == object:
        # only text may be compared by equality: 1, 1.0 and True are equal, but different values
        types = nw.get_native_namespace(series).api.types
        if types.infer_dtype(native, skipna=True) != "string":
            return None
    codes, labels = native.factorize()
    return np.asarray(codes), np.asarray(labels, dtype=object)


def _polars_codes(native: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    # not polars' own codes of categories, which depend on what else the process has read
    labels = native.unique().drop_nulls()
    if not len(labels):
        return np.full(len(native), -1, dtype=np.int32), np.empty(0, dtype=object)
    codes = native.replace_strict(labels, np.arange(len(labels), dtype=np.int32), default=-1)
    return codes.to_numpy(), np.array(labels.to_list(), dtype=object)


def _pyarrow_codes(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    native = series.to_native()
    encoded = native if isinstance(series.dtype, nw.Categorical) else native.dictionary_encode()
    encoded = encoded.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int32").fill_null(-1)
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_numpy(zero_copy_only=False)


def _to_numpy(series: nw.Series[Any]) -> NDArray[Any]:
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        # to_numpy would lose the missing values of a dictionary array
        native = series.to_native()
        series = nw.from_native(native.cast(native.type.value_type), series_only=True)
    return np.asarray(series.to_numpy())


def _read_array(X: Any) -> Table:
    if isinstance(X, np.ma.MaskedArray):  # masked values are missing
        mask, X = np.ma.getmaskarray(X), np.ma.getdata(X)
        X = X.astype(np.float64 if X.dtype.kind in "fiub" else object)
        X[mask] = np.nan
    if isinstance(X, (list, tuple)) and np.asarray(X, dtype=object).ndim == 2:
        # NumPy would turn numbers into text if there is text in another column
        array = np.asarray(X)
        X = np.asarray(X, dtype=object) if array.dtype.kind not in "fiub" else array
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.names is not None:
        raise ColumnError(None, "a structured array is not a table", "pass a data frame made from it")
    return Table(array.shape[0], array.shape[1], None, lambda j: RawColumn(array[:, j]))
