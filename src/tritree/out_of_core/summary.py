"""What is learned of a training table before its rows are binned; summaries of its parts are merged."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tritree import _core
from tritree.columns import TIME_TYPES, ColumnType, is_missing, read_column
from tritree.encoder import TableEncoder, categorical_positions, infinite_value_error
from tritree.errors import DataError, SampleWeightError, TargetError
from tritree.out_of_core.columns import ColumnSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tritree.encoder import EncoderOptions
    from tritree.table import RawColumn, Table

__all__ = ["ColumnValues", "EncodedTable", "TableSummary", "count_columns", "encode_columns", "find_bounds"]

#: Types whose values the core gets as they are, if the column is not categorical.
_NUMBERS = TIME_TYPES | {ColumnType.NUMERIC, ColumnType.BOOLEAN}


class TableSummary:
    """What the encoder, the bins, the target and the weights follow from, of the rows that were added so far.

    ``like`` is some rows of the table.
    """

    def __init__(self, like: Table, categorical_features: Any) -> None:
        categorical = categorical_positions(categorical_features, like) or set()
        self._like = replace(like, column=_no_column)
        self._columns = [ColumnSummary(keep_values=j in categorical) for j in range(like.n_columns)]
        self._counts = _core.TableCounts(like.n_columns)
        self.target, self.weights = ColumnValues(TargetError), ColumnValues(SampleWeightError)
        self.n_rows = 0

    def add(self, table: Table, roles: Sequence[RawColumn], n_threads: int) -> None:
        """Add rows of the table; ``roles`` are their target and, if there are any, their weights."""
        columns = [read_column(table.column(j), table.name(j)) for j in range(table.n_columns)]
        for summary, column in zip(self._columns, columns, strict=True):
            summary.add(column, self.n_rows)
        numbers = [column.values if column.type in _NUMBERS else None for column in columns]
        count_columns(self._counts, numbers, table.n_rows, [column.name for column in columns], n_threads)
        for values, role in zip((self.target, self.weights), roles, strict=False):
            values.add(role)
        self.n_rows += table.n_rows

    def merge(self, later: TableSummary) -> None:
        """Add what was gathered of later rows."""
        for column, its_column in zip(self._columns, later._columns, strict=True):
            column.merge(its_column, self.n_rows)
        self._counts.merge(later._counts)
        self.target.merge(later.target)
        self.weights.merge(later.weights)
        self.n_rows += later.n_rows

    def without_values(self) -> TableSummary:
        """Return the summary without target and weights."""
        summary = copy(self)
        summary.target, summary.weights = ColumnValues(TargetError), ColumnValues(SampleWeightError)
        return summary

    def encoder(self, options: EncoderOptions) -> TableEncoder:
        """Return the encoder of the columns."""
        return TableEncoder.fit_columns([summary.column() for summary in self._columns], self._like, options)

    def bounds(self, encoder: TableEncoder, max_bins: int) -> dict[int, NDArray[np.uint64] | None]:
        """Return the bounds of the bins of encoded columns whose values were counted.

        None where they were not counted finely enough; none where the encoded column is not numeric.
        """
        found: dict[int, NDArray[np.uint64] | None] = {}
        column = -1
        for position, own in enumerate(encoder.columns):
            column += own.part is None
            if own.categories is not None or own.type in (ColumnType.EMPTY, ColumnType.IDENTIFIER):
                found[position] = np.empty(0, np.uint64)
            elif own.part is None and own.order is None and self._columns[column].type in _NUMBERS:
                found[position] = self._counts.bounds(column, self.n_rows, max_bins)
        return found


class EncodedTable(Protocol):
    """A table whose encoder is known, wherever its rows are."""

    def count(self, encoder: TableEncoder, positions: set[int]) -> _core.TableCounts:
        """Count the values of some encoded columns."""

    def column(self, encoder: TableEncoder, position: int) -> NDArray[Any]:
        """Return an encoded column."""


def find_bounds(
    summary: TableSummary, encoder: TableEncoder, table: EncodedTable, max_bins: int
) -> list[NDArray[np.uint64]]:
    """Return the bounds of the bins of each encoded column; none where it is not numeric."""
    found = summary.bounds(encoder, max_bins)
    # dates as text, parts of dates, ordered categories: numbers once the encoder is known
    if uncounted := set(range(len(encoder.columns))) - found.keys():
        counts = table.count(encoder, uncounted)
        found |= {position: counts.bounds(position, summary.n_rows, max_bins) for position in uncounted}
    bounds = []
    for position in range(len(encoder.columns)):
        own = found[position]
        if own is None:  # too many values too close to each other
            own = _core.sorted_bounds(table.column(encoder, position), max_bins)
        bounds.append(own)
    return bounds


def count_columns(
    counts: _core.TableCounts, columns: Sequence[Any], n_rows: int, names: Sequence[Any], n_threads: int
) -> None:
    """Count the values of columns; those that are None are skipped."""
    try:
        counts.add(columns, n_rows, n_threads)
    except _core.InfiniteValueError as bad:
        position, row, value = bad.args
        raise infinite_value_error(names[position], row, value) from None


class ColumnValues:
    """The values of a column that comes in batches; texts as codes of labels, so that they take little memory."""

    def __init__(self, error: type[DataError]) -> None:
        self._error = error
        self._parts: list[NDArray[Any]] = []
        self._codes: dict[Any, int] = {}
        self._is_text: bool | None = None

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, column: RawColumn) -> None:
        """Add the values of a batch."""
        is_text = column.labels is not None
        if column.values.dtype == object and all(map(is_missing, column.values.tolist())):
            raise self._error("is missing in all rows", "drop these rows before fitting")
        if self._is_text not in (None, is_text):
            raise self._error("mixes text and other values", "make all of them one type")
        self._is_text = is_text
        if column.labels is None:
            self._parts.append(column.values)
        else:
            used, own = np.unique(column.values, return_inverse=True)  # labels may be unused
            labels = [column.labels[code] if code >= 0 else None for code in used.tolist()]
            codes = [
                -1 if label is None else self._codes.setdefault(label, len(self._codes)) for label in labels
            ]
            self._parts.append(np.array(codes, dtype=np.int32)[own])

    def merge(self, later: ColumnValues) -> None:
        """Add the values of later rows."""
        if not later:
            return
        if self._is_text not in (None, later._is_text):
            raise self._error("mixes text and other values", "make all of them one type")
        self._is_text = later._is_text
        if self._is_text:
            codes = [self._codes.setdefault(label, len(self._codes)) for label in later._codes]
            here = np.array([*codes, -1], dtype=np.int32)
            self._parts += [here[part] for part in later._parts]
        else:
            self._parts += later._parts

    def values(self) -> NDArray[Any]:
        """Return the values as an array."""
        values = np.concatenate(self._parts)
        return np.array([*self._codes, None], dtype=object)[values] if self._is_text else values

    def read(
        self, read: Callable[[Any, int], tuple[NDArray[Any] | None, NDArray[Any]]]
    ) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """Return classes and target; ``read`` returns them for an array and its number of rows."""
        codes = np.concatenate(self._parts)
        if not self._is_text or (codes < 0).any():
            return read(self.values(), len(codes))
        classes, code_of_label = read(np.array(list(self._codes), dtype=object), len(self._codes))
        return classes, code_of_label[codes]


def encode_columns(encoder: TableEncoder, table: Table) -> list[_core.Column]:
    """Return the columns of a batch as the core takes them."""
    return [
        own.encode_training(column, table.n_rows)
        for own, column in encoder.match(table, "fit")
        if column is not None
    ]


def _no_column(position: int) -> RawColumn:
    raise AssertionError(f"column {position} of a summary, which has no rows")
