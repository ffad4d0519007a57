"""Cells of a table of any library set to missing, in a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from tritree.errors import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def collected(table: Any) -> Any:
    """Return the table with its rows in memory: a lazy frame is collected, any other table is returned as it is."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        return table  # read_table raises the error that names the column
    if isinstance(frame, nw.LazyFrame):
        warn_caller("the lazy frame is collected: all its columns are read into memory")
        return frame.collect().to_native()
    return table


def set_missing(table: Any, rows: Mapping[int, NDArray[np.intp]]) -> Any:
    """Return a copy of a table, of the same type, with some rows missing in each column, given by position."""
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.DataFrame) and getattr(frame, "_level", "full") != "interchange":
        return _set_in_frame(frame, rows)
    if isinstance(frame, nw.DataFrame) or not (
        hasattr(table, "__array__") or isinstance(table, (list, tuple))
    ):
        raise TypeError(
            f"values of a {type(table).__name__} cannot be set to missing; convert it to a NumPy array or a frame of "
            "pandas, polars or pyarrow"
        )
    return _set_in_array(table, rows)


def _set_in_frame(frame: nw.DataFrame[Any], rows: Mapping[int, NDArray[np.intp]]) -> Any:
    series: list[Any] = list(frame.iter_columns())
    changed = []
    for position, missing in rows.items():
        if len(missing):
            keep = np.ones(len(frame), dtype=bool)
            keep[missing] = False
            changed.append(_masked(series[position], keep))
    # cloned, because older pandas would share the unchanged columns; Arrow's are immutable
    copy = frame if frame.implementation.is_pyarrow() else frame.clone()
    return copy.with_columns(*changed).to_native()


def _masked(series: nw.Series[Any], keep: NDArray[np.bool_]) -> nw.Series[Any]:
    """Return a series that is missing where ``keep`` is false; the library chooses its dtype."""
    if series.implementation.is_pyarrow():
        masked: nw.Series[Any] = nw.from_native(_masked_in_arrow(series.to_native(), keep), series_only=True)
    else:
        mask = nw.new_series("keep", keep, nw.Boolean, backend=nw.get_native_namespace(series))
        # renamed, because names of pandas columns may be any object
        values = series.alias("values").to_frame().with_columns(mask)
        masked = values.select(nw.when(nw.col("keep")).then(nw.col("values")))["values"]
    return masked.alias(series.name)


def _masked_in_arrow(native: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the same for an Arrow column; narwhals would lose unused categories and the order of ordered ones."""
    import pyarrow as pa

    if str(native.type) == "string_view":  # Arrow has no take() for views of text
        values = [text if kept else None for text, kept in zip(native.to_pylist(), keep, strict=True)]
        return pa.chunked_array([pa.array(values, native.type)])
    if pa.types.is_dictionary(native.type):
        native = native.unify_dictionaries()
    return native.take(pa.array(np.arange(len(keep)), mask=~keep))


def _set_in_array(table: Any, rows: Mapping[int, NDArray[np.intp]]) -> NDArray[Any]:
    """Return an array with NaN in the rows: of floats if it held numbers, else of objects."""
    array: NDArray[Any]
    missing: Any
    if isinstance(table, np.ma.MaskedArray):
        array, missing = table.copy(), np.ma.masked
    else:
        array, missing = np.asarray(table), np.nan
        if isinstance(table, (list, tuple)) and array.dtype.kind not in "fiub":
            array = np.asarray(table, dtype=object)  # NumPy would convert numbers beside text to text
        is_float, is_int = array.dtype.kind == "f", array.dtype.kind in "iu"
        array = array.copy() if is_float else array.astype(np.float64 if is_int else np.object_)
    for position, some in rows.items():
        array[some, position] = missing
    return array
