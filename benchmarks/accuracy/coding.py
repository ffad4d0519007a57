"""A frame as numbers with holes, and these as the kind of table that a library takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Coder", "Codes", "Kind", "as_kind"]

#: What a library takes: a frame with categories, one with text in their place, columns by name, or plain numbers.
Kind = Literal["frame", "text", "columns", "numbers"]

#: What stands for a missing category where a library refuses holes in text.
MISSING = "(missing)"
_MOST_CATEGORIES = 255  # that HistGradientBoosting takes; a column with more is given as numbers


@dataclass(frozen=True)
class Codes:
    """A table as numbers: NaN is missing, a category is its place among those that training has."""

    values: NDArray[np.float64]
    #: How many categories a column has; 0 for a column of numbers.
    categories: tuple[int, ...]

    def with_values(self, values: NDArray[np.float64], more_numbers: int = 0) -> Codes:
        """Return other rows of the same columns, and so many columns of numbers behind them."""
        return Codes(values, self.categories + (0,) * more_numbers)

    def of_columns(self, chosen: NDArray[np.intp]) -> Codes:
        """Return some of the columns."""
        return Codes(self.values[:, chosen], tuple(self.categories[i] for i in chosen))


class Coder:
    """What a training table teaches about its columns: which are categories, and which there are."""

    def __init__(self, X: Any) -> None:
        self._labels = [_labels(X.iloc[:, i]) for i in range(X.shape[1])]

    def __call__(self, X: Any) -> Codes:
        """Return a table as numbers; a category that training has not seen is missing."""
        values = np.empty(X.shape)
        for i, labels in enumerate(self._labels):
            column = X.iloc[:, i]
            if labels is None:
                values[:, i] = column.to_numpy(dtype=np.float64, na_value=np.nan)
                continue
            codes = labels.get_indexer(column.astype(object)).astype(np.float64)
            codes[(codes < 0) | column.isna().to_numpy()] = np.nan
            values[:, i] = codes
        return Codes(values, tuple(0 if labels is None else max(len(labels), 1) for labels in self._labels))


def _labels(column: Any) -> pd.Index | None:
    """Return the categories that a column has, in their order; None of a column of numbers."""
    if types.is_numeric_dtype(column.dtype):  # truth values are numbers, too
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Index(column.cat.remove_unused_categories().cat.categories.astype(object))
    return pd.Index(sorted(column.dropna().unique(), key=str), dtype=object)


def as_kind(codes: Codes, kind: Kind) -> Any:
    """Return a table as a library takes it."""
    if kind == "numbers":
        return codes.values
    columns = {
        f"c{i}": _column(codes.values[:, i], n, kind) if n else codes.values[:, i]
        for i, n in enumerate(codes.categories)
    }
    return columns if kind == "columns" else pd.DataFrame(columns)


def _column(values: NDArray[np.float64], n_categories: int, kind: Kind) -> Any:
    missing = np.isnan(values)
    places = np.where(missing, -1, values).astype(np.intp)
    if kind == "frame":
        few = n_categories <= _MOST_CATEGORIES
        return pd.Categorical.from_codes(places, categories=range(n_categories)) if few else values
    names = np.array([*(f"k{i}" for i in range(n_categories)), "" if kind == "columns" else MISSING])
    return names[places]  # the last name is that of missing, whose place is -1
