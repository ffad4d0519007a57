"""Tables as numbers, read as tritree reads them, and their conversion to the format that another library takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tritree.columns import ColumnType
from tritree.encoder import EncoderOptions, TableEncoder
from tritree.table import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A frame with categorical columns, a frame with text columns, a dict of columns, or an array.
TableFormat = Literal["frame", "text", "columns", "numbers"]

#: The missing category of libraries that refuse missing values in text.
MISSING = "(missing)"
_UNUSED = (ColumnType.IDENTIFIER, ColumnType.EMPTY)


@dataclass(frozen=True)
class EncodedTable:
    """A table as numbers: NaN is missing, a category is its position among those of the training data."""

    values: NDArray[np.float64]
    #: Number of categories of each column; 0 for numeric columns.
    categories: tuple[int, ...]

    def with_values(self, values: NDArray[np.float64], n_numeric: int = 0) -> EncodedTable:
        """Return other rows of the same columns, followed by ``n_numeric`` numeric columns."""
        return EncodedTable(values, self.categories + (0,) * n_numeric)

    def select(self, columns: NDArray[np.intp]) -> EncodedTable:
        """Return some of the columns."""
        return EncodedTable(self.values[:, columns], tuple(self.categories[i] for i in columns))


class Encoder:
    """Encoder of the columns that tritree would learn from, fitted to a training table.

    Dates and times are numbers, identifiers and columns without observed values are left out, and booleans are 0 and 1.
    """

    def __init__(self, X: Any) -> None:
        self._encoder, _ = TableEncoder.fit(read_table(X), EncoderOptions())
        columns = self._encoder.columns
        self._used = [i for i, column in enumerate(columns) if column.type not in _UNUSED]
        self._categories = tuple(
            0 if columns[i].categories is None or columns[i].type is ColumnType.BOOLEAN else n
            for i, n in enumerate(self._encoder.n_categories)
        )

    def transform(self, X: Any) -> EncodedTable:
        """Return the encoded table; categories not seen in training are missing."""
        table = read_table(X)
        values = np.full((table.n_rows, len(self._categories)), np.nan)
        for i, column in enumerate(self._encoder.encode(table, type(self).__name__)):
            if column is None:
                continue
            codes = np.asarray(column, dtype=np.float64)
            is_code = self._encoder.columns[i].categories is not None
            values[:, i] = np.where(codes < 0, np.nan, codes) if is_code else codes
        return EncodedTable(values, self._categories).select(np.array(self._used, dtype=np.intp))


def in_format(table: EncodedTable, table_format: TableFormat, max_categories: int | None = None) -> Any:
    """Return the table in a library's format; a column with more categories than a library takes is numeric."""
    if table_format == "numbers":
        return table.values
    columns = {
        f"c{i}": _column(table.values[:, i], n, table_format)
        if n and (max_categories is None or n <= max_categories)
        else table.values[:, i]
        for i, n in enumerate(table.categories)
    }
    return columns if table_format == "columns" else pd.DataFrame(columns)


def _column(values: NDArray[np.float64], n_categories: int, table_format: TableFormat) -> Any:
    missing = np.isnan(values)
    positions = np.where(missing, -1, values).astype(np.intp)
    if table_format == "frame":
        return pd.Categorical.from_codes(positions, categories=range(n_categories))
    names = np.array([*(f"k{i}" for i in range(n_categories)), "" if table_format == "columns" else MISSING])
    return names[positions]  # the last name is that of missing values, at position -1
