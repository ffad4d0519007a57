"""Holes put into a table of any library; the table itself stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from tritree.errors import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["in_memory", "punch"]


def in_memory(table: Any) -> Any:
    """Return a table whose rows are in memory: a lazy frame is collected, anything else is as it was."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        return table  # whoever reads it says what is wrong
    if isinstance(frame, nw.LazyFrame):
        warn_caller("the lazy frame is collected: all its columns are read into memory")
        return frame.collect().to_native()
    return table


def punch(table: Any, holes: Mapping[int, NDArray[np.intp]]) -> Any:
    """Return a copy of a table, of the same kind, with holes in the given rows of columns, by position."""
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if getattr(frame, "_level", "full") == "interchange":
            raise _no_table(table)
        return _punch_frame(frame, holes)
    if not hasattr(table, "__array__") and not isinstance(table, (list, tuple)):
        raise _no_table(table)
    return _punch_array(table, holes)


def _no_table(table: Any) -> TypeError:
    return TypeError(
        f"a {type(table).__name__} cannot be given holes here; turn it into a NumPy array or a frame of pandas, polars "
        "or pyarrow"
    )


def _punch_frame(frame: nw.DataFrame[Any], holes: Mapping[int, NDArray[np.intp]]) -> Any:
    series: list[Any] = list(frame.iter_columns())
    changed = []
    for position, rows in holes.items():
        if len(rows):
            keep = np.ones(len(frame), dtype=bool)
            keep[rows] = False
            changed.append(_keep(series[position], keep))
    # cloned, because older pandas would share the columns that stay as they are; Arrow's cannot be changed
    own = frame if frame.implementation.is_pyarrow() else frame.clone()
    return own.with_columns(*changed).to_native()


def _keep(series: nw.Series[Any], keep: NDArray[np.bool_]) -> nw.Series[Any]:
    """Return a series that lacks the values that are not kept; its library decides how to hold the rest."""
    if series.implementation.is_pyarrow():
        kept: nw.Series[Any] = nw.from_native(_keep_in_arrow(series.to_native(), keep), series_only=True)
    else:
        mask = nw.new_series("keep", keep, nw.Boolean, backend=nw.get_native_namespace(series))
        # a name of our own: those of pandas may be anything
        values = series.alias("values").to_frame().with_columns(mask)
        kept = values.select(nw.when(nw.col("keep")).then(nw.col("values")))["values"]
    return kept.alias(series.name)


def _keep_in_arrow(native: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the same for a column of Arrow, which would lose unused categories, and the order of others, if asked."""
    import pyarrow as pa

    if str(native.type) == "string_view":  # nothing can be taken from views of text
        values = zip(native.to_pylist(), keep, strict=True)
        return pa.chunked_array([pa.array([text if kept else None for text, kept in values], native.type)])
    if pa.types.is_dictionary(native.type):
        native = native.unify_dictionaries()
    return native.take(pa.array(np.arange(len(keep)), mask=~keep))


def _punch_array(table: Any, holes: Mapping[int, NDArray[np.intp]]) -> NDArray[Any]:
    """Return an array with holes: of floats where there were numbers, of objects where there was anything else."""
    if isinstance(table, np.ma.MaskedArray):
        masked: NDArray[Any] = table.copy()
        for position, rows in holes.items():
            masked[rows, position] = np.ma.masked
        return masked
    array = np.asarray(table)
    if isinstance(table, (list, tuple)) and array.dtype.kind not in "fiub":
        array = np.asarray(table, dtype=object)  # NumPy would turn the numbers beside a text into text
    if array.dtype.kind == "f":
        array = array.copy()
    else:
        array = array.astype(np.float64 if array.dtype.kind in "iu" else np.object_)
    for position, rows in holes.items():
        array[rows, position] = np.nan
    return array
