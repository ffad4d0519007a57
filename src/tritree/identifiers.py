"""Columns that identify rows, from which nothing can be learned."""

from __future__ import annotations

import re

import numpy as np

from tritree.columns import ColumnType, TypedColumn
from tritree.errors import IdentifierWarning, warn_caller

__all__ = ["n_rows_of_identifier", "warn_of_integer_identifier"]

# a text column with more values than this, and fewer than two rows per value, is taken for an identifier
_FEW_CATEGORIES = 20
_ID_NAME = re.compile(r"(^|[_\W])([iI][dD]|[kK]ey|uuid|UUID|guid)($|[_\W])|[a-z]I[dD]$")


def n_rows_of_identifier(column: TypedColumn) -> int:
    """Return the number of observed rows of a text column with fewer than two rows per value on average; else 0."""
    if column.type is not ColumnType.TEXT or column.is_categorical:
        return 0
    n_observed = int(column.label_counts().sum())
    return n_observed if len(column.labels) > max(_FEW_CATEGORIES, n_observed / 2) else 0


def warn_of_integer_identifier(column: TypedColumn) -> None:
    """Warn if whole numbers are different in every row, or in almost every row and sorted, as identifiers are."""
    values = column.values
    if not column.is_integer or (n_rows := len(values)) <= _FEW_CATEGORIES:
        return
    steps = np.diff(values)
    is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
    if is_sorted:
        n_values = int(np.count_nonzero(steps)) + 1
    elif values.max() - values.min() < 2 * n_rows or _ID_NAME.search(str(column.name)):
        n_values = len(np.unique(values))
    else:
        return
    if n_values == n_rows or (is_sorted and n_values >= 0.95 * n_rows):
        warn_caller(IdentifierWarning(column.name, n_values, n_rows, is_dropped=False))
