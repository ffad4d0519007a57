"""The columns of a table that was read, as a tree is to take them: numbers, text, categories."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import Mendable
from tritree.cli.tables import check_column, import_pandas
from tritree.errors import shortened

if TYPE_CHECKING:
    from tritree.cli.tables import Reading, Source

__all__ = ["as_numbers", "read_rows", "read_typed", "text_columns", "warn_of_odd_columns"]

#: From this share on, text that reads as numbers was probably meant to be numbers.
_MOSTLY = 0.9


def read_rows(model: Any, source: Source, reading: Reading) -> Any:
    """Return rows for a model: a column that was text in training is text here, whatever it looks like."""
    frame = source.read(reading, text_columns(model))
    for name in _numeric_columns(model):
        if name in frame.columns and _is_text(frame[name]):
            frame[name] = as_numbers(frame[name], name, " (it held numbers in training)")
    return frame


def read_typed(
    source: Source, reading: Reading, categorical: list[str], numeric: list[str], drop: list[str]
) -> Any:
    """Return a table to learn from, with the columns of the kinds that were asked for.

    Nothing is said of columns that are to be dropped, however odd they are; they are there all the same.
    """
    frame = source.read(reading)
    for name in (*categorical, *numeric):
        check_column(name, list(frame.columns), source.name)
    both = set(categorical) & set(numeric)
    if both:
        raise Mendable(f"column {both.pop()!r} cannot be both --categorical and --numeric")
    for name in numeric:
        frame[name] = as_numbers(frame[name], name)
    warn_of_odd_columns(frame.drop(columns=drop, errors="ignore"))
    return frame.astype(dict.fromkeys(categorical, "category"))


def text_columns(model: Any) -> list[str]:
    """Return the names of the columns that held text in training."""
    return _columns_of(model, "text")


def _numeric_columns(model: Any) -> list[str]:
    return _columns_of(model, "numbers")


def _columns_of(model: Any, content: str) -> list[str]:
    encoder = model._encoder
    named = zip(encoder.column_names or (), encoder.columns, strict=False)
    return [str(key) for key, column in named if column.type.value == content and column.order is None]


def _is_text(column: Any) -> bool:
    types = import_pandas().api.types
    return bool(types.is_string_dtype(column.dtype)) and types.infer_dtype(column, skipna=True) == "string"


def as_numbers(column: Any, name: str, why: str = "") -> Any:
    """Return a column as numbers; a cell that is none is named, with what to do about it."""
    pandas = import_pandas()
    if pandas.api.types.is_bool_dtype(column.dtype):
        return column.astype(float)
    numbers = pandas.to_numeric(column, errors="coerce")
    bad = numbers.isna() & column.notna()
    if bad.any():
        row = int(bad.to_numpy().argmax())
        cell = column.iloc[row]
        raise Mendable(
            f"column {name!r} holds {shortened(cell, 40)} in row {row}, which is no number{why}{_remedy(cell)}"
        )
    return numbers


def _remedy(cell: Any) -> str:
    text = str(cell).strip()
    if _reads_as_number(text.replace(".", "").replace(",", ".")):
        return "; if the comma marks the decimals, say --decimal ,"
    return f"; mend it, or make it missing with --na {shortened(cell, 40)}"


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def warn_of_odd_columns(frame: Any) -> None:
    """Warn of columns that were read as something that they were probably not meant to be."""
    for name in frame.columns:
        column = frame[name]
        if _is_text(column):
            _warn_of_almost_numbers(column, name)
    if not len(frame.columns):
        return
    first = frame.columns[0]
    if str(first).startswith("Unnamed: ") and (frame[first].to_numpy() == range(len(frame))).all():
        warnings.warn(
            f"the first column has no name and counts the rows; leave it out with --drop {str(first)!r}",
            stacklevel=2,
        )


def _warn_of_almost_numbers(column: Any, name: str) -> None:
    """Warn of a text column whose cells are numbers but for a few, or but for their commas."""
    pandas = import_pandas()
    counts = column.value_counts()
    cells = counts.index.to_series()
    for decimal, numbers in (
        (".", pandas.to_numeric(cells, errors="coerce")),
        (",", pandas.to_numeric(cells.str.replace(".", "").str.replace(",", "."), errors="coerce")),
    ):
        good = numbers.notna().to_numpy()
        if not counts.sum() or counts[good].sum() < _MOSTLY * counts.sum():
            continue
        if decimal == "." and good.all():
            return  # text on purpose: a text file would not have it as text
        if decimal == ",":
            remedy = "numbers with a decimal comma are read with --decimal ,"
        else:
            odd = str(counts.index[~good][0])
            remedy = f"most of it is numbers; make {odd!r} missing with --na {odd!r}, or mend it"
        warnings.warn(f"column {name!r} is read as text, but {remedy}", stacklevel=2)
        return
