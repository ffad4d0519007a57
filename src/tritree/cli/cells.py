"""Cells of a table: text, numbers, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.advice import advise
from tritree.cli.messages import UserError
from tritree.cli.sniffing import is_number
from tritree.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Maximum number of characters of a cell that a message shows, and advises an option for.
MAX_CELL = 40


def is_text(column: Any) -> bool:
    """Return whether a column holds text."""
    types = pd.api.types
    return bool(types.is_string_dtype(column.dtype)) and types.infer_dtype(column, skipna=True) == "string"


def shown(cell: Any) -> str:
    """Return a cell for a message; numbers are not those of NumPy."""
    return shortened(cell.item() if hasattr(cell, "item") else cell, MAX_CELL)


def is_number_type(column: Any) -> bool:
    """Return whether a column has a type of numbers, which booleans are not."""
    types = pd.api.types
    return bool(types.is_numeric_dtype(column.dtype)) and not types.is_bool_dtype(column.dtype)


def to_text(column: Any) -> Any:
    """Return a column as text, in which a whole number has no decimals."""
    present = column.dropna()
    texts = [str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell) for cell in present]
    return pd.Series(texts, index=present.index, dtype=object).reindex(column.index)


def is_declared_missing(column: Any, na: Iterable[str]) -> Any:
    """Return which cells of a column that has types are among texts for missing values, or numbers of these texts."""
    texts = list(na)
    return column.isin(
        [float(text) for text in texts if is_number(text)] if is_number_type(column) else texts
    )


def to_numbers(column: Any, name: str, why: str = "", remedy: str = "") -> Any:
    """Return a column as numbers, or raise a UserError that names the first cell that is no number.

    ``remedy`` is for a problem in the first row.
    """
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(float)
    numbers = pd.to_numeric(column, errors="coerce")
    invalid = numbers.isna() & column.notna()
    if not invalid.any():
        return numbers
    row = int(invalid.to_numpy().argmax())
    cell = column.iloc[row]
    if row or not remedy:
        remedy = "correct it"
        if len(str(cell)) <= MAX_CELL:
            remedy += f", or make it missing with {advise('--na', str(cell))}"
        if decimal_commas_to_numbers(column.iloc[[row]].astype(str)).notna().all():
            remedy = "if the comma is a decimal separator, add --decimal ,"
    raise UserError(f"column {name!r} holds {shown(cell)} in row {row}, which is not a number{why}; {remedy}")


def decimal_commas_to_numbers(cells: Any) -> Any:
    """Return texts such as "1234,5" as numbers; NaN where they are none."""
    with_points = cells.str.contains(".", regex=False)
    plain = cells.str.replace(",", ".", regex=False)
    return pd.to_numeric(plain, errors="coerce").where(~with_points.astype(bool))
