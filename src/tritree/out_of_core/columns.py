"""Columns that come in batches, summarised as one whose encoder is that of the whole column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import TIME_TYPES, ColumnType, TypedColumn
from tritree.dates import resolution_of
from tritree.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnSummary"]

#: Maximum number of texts of a column that are kept: more than there may be categories. Of a column with more,
#: these first ones decide whether it holds identifiers, or dates.
_MAX_LABELS = 1_000_000


class ColumnSummary:
    """What the encoder of a column follows from, gathered batch by batch; ``keep_values``: the values themselves."""

    def __init__(self, *, keep_values: bool) -> None:
        self._keep_values = keep_values
        self._first: TypedColumn | None = None  # with an observed value
        self._empty: TypedColumn | None = None
        self._counts: dict[str, int] = {}
        self._values: NDArray[np.float64] = np.empty(0)
        self._rounded: tuple[int, Any] | None = None

    def add(self, column: TypedColumn, first_row: int) -> None:
        """Add a batch of the column, which begins at a row of the table."""
        if column.type is ColumnType.EMPTY:
            self._empty = _without_values(column)
            return
        self._add_kind(column)
        if column.rounded is not None and self._rounded is None:
            row, value = column.rounded
            self._rounded = first_row + row, value
        if column.type is ColumnType.TEXT:
            self._count_labels(column)
        elif column.type in TIME_TYPES:
            resolutions = [*self._values.tolist(), resolution_of(column.values)]
            self._values = np.array([min(resolutions)], float)  # as a value, it has the resolution of all
        elif self._keep_values or column.is_categorical or column.type is ColumnType.BOOLEAN:
            self._values = np.union1d(self._values, column.values[~np.isnan(column.values)])

    def merge(self, later: ColumnSummary, first_row: int) -> None:
        """Add what was gathered of later rows, which begin at a row of the table."""
        if later._first is None:
            self._empty = later._empty
            return
        self._add_kind(later._first)
        if later._rounded is not None and self._rounded is None:
            row, value = later._rounded
            self._rounded = first_row + row, value
        for label, count in later._counts.items():
            self._add_label(label, count)
        if later.type in TIME_TYPES:
            self._values = np.array([min([*self._values.tolist(), *later._values.tolist()])], float)
        else:
            self._values = np.union1d(self._values, later._values)

    def _add_kind(self, column: TypedColumn) -> None:
        if self._first is None:
            self._first = _without_values(column)
        self._check_same(self._first, column)

    def _check_same(self, first: TypedColumn, column: TypedColumn) -> None:
        """Raise a ColumnError if a batch of the column is of another kind than the first one."""
        if column.type is not first.type:
            problem = f"holds {column.type.value}, and {first.type.value} in an earlier batch"
        elif column.time_zone != first.time_zone:
            problem = f"has the time zone {column.time_zone}, and {first.time_zone} in an earlier batch"
        elif column.order != first.order:
            problem = "has other ordered categories than in an earlier batch"
        else:
            return
        raise ColumnError(column.name, problem, "give the column one type in all batches")

    def _count_labels(self, column: TypedColumn) -> None:
        for label, count in zip(column.labels, column.label_counts().tolist(), strict=True):
            self._add_label(label, count)

    def _add_label(self, label: str, count: int) -> None:
        if label in self._counts or len(self._counts) <= _MAX_LABELS:
            self._counts[label] = self._counts.get(label, 0) + count

    @property
    def type(self) -> ColumnType:
        """The type of the observed values."""
        return ColumnType.EMPTY if self._first is None else self._first.type

    def column(self) -> TypedColumn:
        """Return a column with the encoder of the whole one."""
        like = self._empty if self._first is None else self._first
        assert like is not None
        return TypedColumn(
            like.name,
            like.type,
            self._values,
            like.is_categorical,
            like.order,
            tuple(self._counts),
            like.time_zone,
            rounded=self._rounded,
            counts=np.fromiter(self._counts.values(), np.int64, len(self._counts)),
        )


def _without_values(column: TypedColumn) -> TypedColumn:
    return replace(column, values=column.values[:0], labels=(), counts=None)
