"""Any table in, columns and names out. This is the one place where table libraries are told apart."""

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
#: The most cells of a frame that are worth copying to save looking at its columns.
_FEW_CELLS = 4096


@dataclass(frozen=True, slots=True)
class RawColumn:
    """A column as its table library gave it: values, or for text and categories codes and their labels."""

    #: The values themselves; where there are labels, positions in them, -1 where missing.
    values: NDArray[Any]
    #: Whether the library itself says that the column holds categories.
    is_category: bool = False
    #: The labels of ordered categories, lowest first.
    order: tuple[Any, ...] | None = None
    #: What the codes stand for; None where the values are there themselves. Labels may be unused, or missing cells.
    labels: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table, read one at a time when asked for."""

    n_rows: int
    n_columns: int
    #: What the columns of a frame are called: text, or else whatever all of them are; None for an array.
    keys: list[Any] | None
    _column: Callable[[int], RawColumn]

    @property
    def names(self) -> list[str] | None:
        """Return the column names, if they are text."""
        return self.keys if self.keys and isinstance(self.keys[0], str) else None

    def column(self, position: int) -> RawColumn:
        """Return the column at a position."""
        return self._column(position)

    def name(self, position: int) -> Any:
        """Return the name of the column at a position; the position itself if the table has no names."""
        return position if self.keys is None else self.keys[position]


def read_table(X: Any) -> Table:
    """Return the table behind any object that holds one: an array, a frame, lists of rows."""
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
    """Return whether a table is an array of floats that is fine as it is."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS and X.size > 0 and X.flags.aligned


def read_matrix(X: Any, keys: tuple[Any, ...] | None, n_columns: int) -> NDArray[Any] | None:
    """Return the rows as one array of floats if they have the columns of training in their order; None if not.

    A short cut for single rows: to look at every column takes ten times as long as to answer. pandas makes an array
    of floats of a frame if and only if every column holds numbers.
    """
    if keys is None:
        return X if _is_matrix(X) and X.shape[1] == n_columns else None
    if type(X).__module__.partition(".")[0] != "pandas" or type(X).__name__ != "DataFrame":
        return None
    if not 0 < X.size <= _FEW_CELLS or not (X.shape[1] == n_columns and X.columns.tolist() == list(keys)):
        return None
    array = X.to_numpy()
    return array if _is_matrix(array) else None


def _read_any(X: Any) -> Table:
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        warn_caller("the lazy frame is collected: all its columns are read into memory")
        frame = frame.collect()
    # what speaks the interchange protocol is a frame to narwhals, of which it can read nothing
    stranger = isinstance(frame, nw.DataFrame) and getattr(frame, "_level", "full") == "interchange"
    unread = not isinstance(frame, nw.DataFrame) and not hasattr(X, "__array__")
    if (stranger or unread) and hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa  # a stranger that speaks Arrow: pyarrow reads it

        frame, stranger = nw.from_native(pa.table(X)), False
    if stranger:
        raise TypeError(
            f"a {type(X).__name__} is no table that can be read here; turn it into a frame of pandas, polars or pyarrow"
        )
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    return _read_array(X)


def read_vector(y: Any) -> Any:
    """Return a series of any table library as a NumPy array, and everything else as it is."""
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if plain is not None:  # pandas' nullable types: as they are without missing cells, with them as objects
        holes = np.asarray(y.isna())
        return np.asarray(y, dtype=object if holes.any() else plain)
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return y
    return _to_numpy(_plain_dictionary(series))


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    series: list[Any] = list(frame.iter_columns())
    if not series or len(frame) == 0:
        what = "sample" if series else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape=({len(frame)}, {len(series)})) while a minimum of 1 is required."
        )
    return Table(len(frame), len(series), _keys(list(frame.columns)), lambda j: _read_series(series[j]))


def _keys(columns: list[Any]) -> list[Any]:
    """Return the column names, if none or all of them are text."""
    are_text = [isinstance(name, str) for name in columns]
    if any(are_text) and not all(are_text):
        found = sorted({type(name).__name__ for name in columns})
        raise TypeError(
            f"column names are of several types ({', '.join(found)}); make all of them text, for example with "
            "X.columns = X.columns.astype(str)"
        )
    return columns


def _read_series(series: nw.Series[Any]) -> RawColumn:
    dtype = series.dtype
    is_category = isinstance(dtype, (nw.Categorical, nw.Enum))
    order = _order(series) if is_category else None
    if is_category or isinstance(dtype, (nw.String, nw.Object)):
        coded = _codes_and_labels(series)
        if coded is not None:
            codes, labels = coded
            return RawColumn(codes, is_category, order, labels)
    if isinstance(dtype, nw.Decimal):
        series = series.cast(nw.Float64)
    return RawColumn(_to_numpy(_plain_dictionary(series)), is_category, order)


def _order(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    """Return the labels of ordered categories, or None. An Enum of polars is a closed set of names, not an order."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        return tuple(native.cat.categories.tolist()) if getattr(native.dtype, "ordered", False) else None
    if series.implementation.is_pyarrow() and native.type.ordered:
        chunks = native.unify_dictionaries().chunks
        return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()
    return None


def _codes_and_labels(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return text or categories as positions in their labels, found by the library itself; None where it cannot."""
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
        # only text may be looked up by equality: 1, 1.0 and True are equal, and not the same
        types = nw.get_native_namespace(series).api.types
        if types.infer_dtype(native, skipna=True) != "string":
            return None
    codes, labels = native.factorize()
    return np.asarray(codes), np.asarray(labels, dtype=object)


def _polars_codes(native: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    # not the codes that polars itself has for categories: they count what the whole process has seen
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


def _plain_dictionary(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return the series without Arrow's dictionary coding, which would lose its missing cells in to_numpy."""
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        native = series.to_native()
        decoded: nw.Series[Any] = nw.from_native(native.cast(native.type.value_type), series_only=True)
        return decoded
    return series


def _to_numpy(series: nw.Series[Any]) -> NDArray[Any]:
    return np.asarray(series.to_numpy())


def _read_array(X: Any) -> Table:
    if isinstance(X, np.ma.MaskedArray):  # masked is missing
        mask, X = np.ma.getmaskarray(X), np.ma.getdata(X)
        X = X.astype(np.float64 if X.dtype.kind in "fiub" else object)
        X[mask] = np.nan
    if isinstance(X, (list, tuple)) and np.asarray(X, dtype=object).ndim == 2:
        # rows of mixed lists: NumPy would turn the numbers beside a text into text
        array = np.asarray(X)
        X = np.asarray(X, dtype=object) if array.dtype.kind not in "fiub" else array
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.names is not None:
        raise ColumnError(None, "a structured array is not a table", "pass a data frame made from it")
    return Table(array.shape[0], array.shape[1], None, lambda j: RawColumn(array[:, j]))
