"""Ordinal encoding of a frame, and its conversion to the format that a library takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EncodedTable", "Encoder", "TableFormat", "in_format"]

#: A frame with categorical columns, a frame with text columns, a dict of columns, or an array.
TableFormat = Literal["frame", "text", "columns", "numbers"]

#: The missing category of libraries that refuse missing values in text.
MISSING = "(missing)"
_MAX_CATEGORIES = 255  # of HistGradientBoosting; a column with more is passed as numbers


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
    """Ordinal encoder of the categorical columns of a training table."""

    def __init__(self, X: Any) -> None:
        self._labels = [_labels(X.iloc[:, i]) for i in range(X.shape[1])]

    def transform(self, X: Any) -> EncodedTable:
        """Return the encoded table; categories not seen in training are missing."""
        values = np.empty(X.shape)
        for i, labels in enumerate(self._labels):
            column = X.iloc[:, i]
            if labels is None:
                values[:, i] = column.to_numpy(dtype=np.float64, na_value=np.nan)
                continue
            codes = labels.get_indexer(column.astype(object)).astype(np.float64)
            codes[(codes < 0) | column.isna().to_numpy()] = np.nan
            values[:, i] = codes
        return EncodedTable(
            values, tuple(0 if labels is None else max(len(labels), 1) for labels in self._labels)
        )


def _labels(column: Any) -> pd.Index | None:
    """Return the sorted categories of a column; None if it is numeric."""
    if types.is_numeric_dtype(column.dtype):  # includes booleans
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Index(column.cat.remove_unused_categories().cat.categories.astype(object))
    return pd.Index(sorted(column.dropna().unique(), key=str), dtype=object)


def in_format(table: EncodedTable, table_format: TableFormat) -> Any:
    """Return the table in a library's format."""
    if table_format == "numbers":
        return table.values
    columns = {
        f"c{i}": _column(table.values[:, i], n, table_format) if n else table.values[:, i]
        for i, n in enumerate(table.categories)
    }
    return columns if table_format == "columns" else pd.DataFrame(columns)


def _column(values: NDArray[np.float64], n_categories: int, table_format: TableFormat) -> Any:
    missing = np.isnan(values)
    positions = np.where(missing, -1, values).astype(np.intp)
    if table_format == "frame":
        is_categorical = n_categories <= _MAX_CATEGORIES
        return (
            pd.Categorical.from_codes(positions, categories=range(n_categories)) if is_categorical else values
        )
    names = np.array([*(f"k{i}" for i in range(n_categories)), "" if table_format == "columns" else MISSING])
    return names[positions]  # the last name is that of missing values, at position -1
