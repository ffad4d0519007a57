"""Reading of tables: arrays and the frames of any table library. Only this module distinguishes the libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import check_array

from tritree.columns import LARGEST_EXACT, is_missing
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
    #: Time zone of dates, which are in UTC; None if they have none.
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose columns are read one at a time, when they are needed."""

    n_rows: int
    n_columns: int
    #: Column names of a frame, all of them text or none; None for an array.
    column_names: list[Any] | None
    #: Return the column at a position.
    column: Callable[[int], RawColumn]

    @property
    def feature_names(self) -> list[str] | None:
        """Return the column names if they are text, as scikit-learn's ``feature_names_in_``."""
        return self.column_names if self.column_names and isinstance(self.column_names[0], str) else None

    def name(self, position: int) -> Any:
        """Return the name of the column at a position; the position itself if the table has no names."""
        return position if self.column_names is None else self.column_names[position]


def read_table(X: Any) -> Table:
    """Return a table, given an array, a frame of any table library, or a list of rows."""
    if _is_matrix(X):
        return Table(X.shape[0], X.shape[1], None, lambda j: RawColumn(X[:, j]))
    try:
        frame = _to_frame(X)
        return _read_array(X) if frame is None else _read_frame(frame)
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
    if not 0 < X.size <= _MAX_CONVERTED_CELLS or X.columns.tolist() != list(column_names):
        return None
    array = X.to_numpy()
    return array if _is_matrix(array) else None


def _to_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a frame of any table library as one of narwhals; None if it is none."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        warn_caller("the lazy frame is collected: all its columns are read into memory")
        frame = frame.collect()
    # narwhals takes what has the interchange protocol for a frame, but cannot read it
    is_frame = isinstance(frame, nw.DataFrame)
    is_unreadable = is_frame and getattr(frame, "_level", "full") == "interchange"
    if (is_unreadable or not (is_frame or hasattr(X, "__array__"))) and hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        table: nw.DataFrame[Any] = nw.from_native(pa.table(X), eager_only=True)
        return table
    if is_unreadable:
        raise TypeError(
            f"a table of type {type(X).__name__} cannot be read; turn it into a frame of pandas, polars or pyarrow"
        )
    return frame if is_frame else None


def read_vector(y: Any) -> Any:
    """Return a series of any table library as a NumPy array; everything else is returned unchanged."""
    numpy_dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if numpy_dtype is not None:  # a nullable dtype of pandas, which becomes objects if values are missing
        return np.asarray(y, dtype=object if np.asarray(y.isna()).any() else numpy_dtype)
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return y
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        # to_numpy would lose the missing values of a dictionary array
        native = series.to_native()
        series = nw.from_native(native.cast(native.type.value_type), series_only=True)
    return np.asarray(series.to_numpy())


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    series: list[Any] = list(frame.iter_columns())
    if not series or len(frame) == 0:
        axis = "sample" if series else "feature"
        raise ValueError(  # as scikit-learn
            f"Found array with 0 {axis}(s) (shape=({len(frame)}, {len(series)})) while a minimum of 1 is required."
        )
    names: list[Any] = list(frame.columns)
    if len({isinstance(name, str) for name in names}) > 1:
        types = sorted({type(name).__name__ for name in names})
        raise TypeError(
            f"column names are of several types ({', '.join(types)}); make all of them text, for example with "
            "X.columns = X.columns.astype(str)"
        )
    if any(map(_is_missing_name, names)):
        raise TypeError(
            "a column name is missing (NaN or None); give every column a name, or pass X.to_numpy() to go by position"
        )
    return Table(len(frame), len(series), names, lambda j: _read_series(series[j]))


def _is_missing_name(name: Any) -> bool:
    return any(map(_is_missing_name, name)) if isinstance(name, tuple) else is_missing(name)


def _read_series(series: nw.Series[Any]) -> RawColumn:
    """Return a column; text and categories are factorized by the table library where it can."""
    is_categorical = isinstance(series.dtype, (nw.Categorical, nw.Enum))
    if is_categorical or isinstance(series.dtype, (nw.String, nw.Object)):
        library, column = series.implementation, None
        if library.is_pandas_like():
            column = _factorize_pandas(series, is_categorical)
        elif library.is_polars() and not isinstance(series.dtype, nw.Object):
            column = _factorize_polars(series.to_native(), is_categorical)
        elif library.is_pyarrow():
            column = _factorize_pyarrow(series.to_native(), is_categorical)
        if column is not None:
            return column
    if isinstance(series.dtype, nw.Time):  # NumPy has no such dtype
        return RawColumn(np.array(series.to_list(), dtype=object))
    if isinstance(series.dtype, nw.Datetime) and (time_zone := series.dtype.time_zone) is not None:
        in_utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return RawColumn(np.asarray(in_utc.to_numpy()), time_zone=str(time_zone))
    is_decimal = isinstance(series.dtype, nw.Decimal)
    if is_decimal or (
        series.dtype.is_integer() and series.null_count()
    ):  # to_numpy would make floats of them
        observed = series.drop_nulls()
        if len(observed) and max(abs(observed.max()), abs(observed.min())) > LARGEST_EXACT:
            return RawColumn(np.array(series.to_list(), dtype=object), is_categorical)
    if is_decimal:
        series = series.cast(nw.Float64)
    return RawColumn(np.asarray(series.to_numpy()), is_categorical)


def _factorize_pandas(series: nw.Series[Any], is_categorical: bool) -> RawColumn | None:
    native = series.to_native()
    if hasattr(native.dtype, "categories"):
        categories = native.cat.categories
        order = tuple(categories.tolist()) if native.dtype.ordered else None
        return RawColumn(np.asarray(native.cat.codes), is_categorical, order, np.asarray(categories))
    if native.dtype == object:
        # only text may be compared by equality: 1, 1.0 and True are equal, but different values
        types = nw.get_native_namespace(series).api.types
        if types.infer_dtype(native, skipna=True) != "string":
            return None
    codes, labels = native.factorize()
    return RawColumn(np.asarray(codes), is_categorical, labels=np.asarray(labels, dtype=object))


def _factorize_polars(native: Any, is_categorical: bool) -> RawColumn:
    # not polars' own codes of categories, which depend on what else the process has read; an Enum has no order
    labels = native.unique().drop_nulls()
    codes = np.full(len(native), -1, dtype=np.int32)
    if len(labels):
        codes = native.replace_strict(labels, np.arange(len(labels), dtype=np.int32), default=-1).to_numpy()
    return RawColumn(codes, is_categorical, labels=np.array(labels.to_list(), dtype=object))


def _factorize_pyarrow(native: Any, is_categorical: bool) -> RawColumn:
    encoded = native if is_categorical else native.dictionary_encode()
    encoded = encoded.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
    order = tuple(encoded.dictionary.to_pylist()) if encoded.type.ordered else None
    return RawColumn(codes, is_categorical, order, encoded.dictionary.to_numpy(zero_copy_only=False))


def _read_array(X: Any) -> Table:
    if isinstance(X, np.ma.MaskedArray):  # masked values are missing
        missing: Any = np.nan if X.dtype.kind in "fiub" else None
        X = np.where(np.ma.getmaskarray(X), missing, np.ma.getdata(X))
    if isinstance(X, (list, tuple)) and np.asarray(X, dtype=object).ndim == 2:
        # NumPy would turn numbers into text if there is text in another column
        array = np.asarray(X)
        X = np.asarray(X, dtype=object) if array.dtype.kind not in "fiub" else array
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.names is not None:
        raise ColumnError(None, "a structured array is not a table", "pass a data frame made from it")
    return Table(array.shape[0], array.shape[1], None, lambda j: RawColumn(array[:, j]))
