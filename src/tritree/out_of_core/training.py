"""Training tables that are read batch by batch: once to learn the columns and bins, and once to bin the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.columns import TIME_TYPES, ColumnType, is_missing, read_column
from tritree.encoder import TableEncoder, categorical_positions, infinite_value_error
from tritree.errors import ColumnError, DataError, SampleWeightError, TargetError, list_names
from tritree.out_of_core.batches import batch_errors
from tritree.out_of_core.columns import ColumnSummary
from tritree.progress import bar
from tritree.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.encoder import EncoderOptions
    from tritree.out_of_core.batches import Batch, Batches
    from tritree.table import RawColumn, Table

__all__ = ["TrainingBatches"]

#: Types whose values the core gets as they are, if the column is not categorical.
_NUMBERS = TIME_TYPES | {ColumnType.NUMERIC, ColumnType.BOOLEAN}


class TrainingBatches:
    """A training table that is read batch by batch; ``y`` and ``sample_weight`` name columns of it."""

    def __init__(
        self, batches: Batches, y: Any, sample_weight: Any, *, n_threads: int, show_progress: bool
    ) -> None:
        for argument, name in {"y": y, "sample_weight": sample_weight}.items():
            if not (isinstance(name, str) or (name is None and argument == "sample_weight")):
                raise TypeError(
                    f"{argument} must be the name of a column, since {batches.name} is read batch by batch; got "
                    f"{type(name).__name__}"
                )
        self._batches, self._n_threads, self._show_progress = batches, n_threads, show_progress
        self._roles = [y] if sample_weight is None else [y, sample_weight]
        self._names: set[str] = set()
        self._summaries: list[ColumnSummary] = []
        self.n_rows = 0

    def learn(self, options: EncoderOptions) -> tuple[TableEncoder, _Values, _Values]:
        """Return the encoder of the columns, the target and the weights, which may be empty."""
        target, weights = _Values(TargetError), _Values(SampleWeightError)
        like: Table | None = None
        for batch, table, roles in self._read("rows read"):
            if like is None:
                like = table
                categorical = categorical_positions(options.categorical_features, table) or set()
                self._summaries = [
                    ColumnSummary(keep_values=j in categorical) for j in range(table.n_columns)
                ]
                self._counts = _core.TableCounts(table.n_columns)
            with batch_errors(batch):
                self._learn_columns(table)
                for values, role in zip((target, weights), roles, strict=False):
                    values.add(role)
            self.n_rows += table.n_rows
        if like is None:
            raise ValueError(f"{self._batches.name} has no rows")
        columns = [summary.column() for summary in self._summaries]
        return TableEncoder.fit_columns(columns, like, options), target, weights

    def _learn_columns(self, table: Table) -> None:
        columns = [read_column(table.column(j), table.name(j)) for j in range(table.n_columns)]
        for summary, column in zip(self._summaries, columns, strict=True):
            summary.add(column, self.n_rows)
        numbers = [column.values if column.type in _NUMBERS else None for column in columns]
        self._count(self._counts, numbers, table.n_rows, [column.name for column in columns])

    def bin(self, encoder: TableEncoder, max_bins: int) -> _core.BinnedColumns:
        """Return the binned rows."""
        binner = _core.TableBinner(self.n_rows, self._bounds(encoder, max_bins), encoder.n_categories)
        changed = (
            f"{self._batches.name} is not what it was when it was first read; it must not change during fit"
        )
        n_binned = 0
        for _, table, _ in self._read("rows binned"):
            n_binned += table.n_rows
            if n_binned > self.n_rows:
                break
            binner.append(_encode(encoder, table), table.n_rows, self._n_threads)
        if n_binned != self.n_rows:
            raise ValueError(changed)
        try:
            return binner.finish()
        except ValueError:
            raise ValueError(changed) from None

    def _bounds(self, encoder: TableEncoder, max_bins: int) -> list[NDArray[np.uint64]]:
        """Return the bounds of the bins of each encoded column; none where it is not numeric."""
        bounds: list[NDArray[np.uint64] | None] = [np.empty(0, np.uint64)] * len(encoder.columns)
        uncounted, column = [], -1
        for position, own in enumerate(encoder.columns):
            column += own.part is None
            if own.categories is not None or own.type in (ColumnType.EMPTY, ColumnType.IDENTIFIER):
                continue
            if own.part is None and own.order is None and self._summaries[column].type in _NUMBERS:
                bounds[position] = self._counts.bounds(column, self.n_rows, max_bins)
            else:
                uncounted.append(position)
        if uncounted:  # dates as text, parts of dates, ordered categories: numbers once the encoder is known
            counts = _core.TableCounts(len(encoder.columns))
            for _, table, _ in self._read("rows counted"):
                encoded = _encode(encoder, table)
                chosen = [values if k in uncounted else None for k, values in enumerate(encoded)]
                counts.add(chosen, table.n_rows, self._n_threads)
            for position in uncounted:
                bounds[position] = counts.bounds(position, self.n_rows, max_bins)
        return [
            self._sorted_bounds(encoder, position, max_bins) if found is None else found
            for position, found in enumerate(bounds)
        ]

    def _sorted_bounds(self, encoder: TableEncoder, position: int, max_bins: int) -> NDArray[np.uint64]:
        """Return the bounds of a column that has too many values too close to each other to be counted."""
        parts: list[Any] = [_encode(encoder, table)[position] for _, table, _ in self._read("rows sorted")]
        return _core.sorted_bounds(np.concatenate(parts), max_bins)

    def _count(
        self, counts: _core.TableCounts, columns: Sequence[Any], n_rows: int, names: Sequence[Any]
    ) -> None:
        try:
            counts.add(columns, n_rows, self._n_threads)
        except _core.InfiniteValueError as bad:
            position, row, value = bad.args
            raise infinite_value_error(names[position], row, value) from None

    def _read(self, what: str) -> Iterator[tuple[Batch, Table, list[RawColumn]]]:
        """Yield each batch with its features, and its columns of target and weights."""
        total = self.n_rows or self._batches.n_rows
        with bar(total, what, shown=self._show_progress) as advance:
            for batch in self._batches:
                if not self._names:
                    self._set_names(batch.frame.columns)
                with batch_errors(batch):
                    self._check_names(batch.frame.columns)
                    table = read_table(batch.frame.select(self._features))
                    roles = [read_table(batch.frame.select(name)).column(0) for name in self._roles]
                yield batch, table, roles
                advance(table.n_rows)

    def _set_names(self, names: list[str]) -> None:
        for name in self._roles:
            if name not in names:
                raise ColumnError(None, f"there is no column {name!r}; the columns are {list_names(names)}")
        self._names = set(names)
        self._features = [name for name in names if name not in self._roles]

    def _check_names(self, names: list[str]) -> None:
        """Raise a ColumnError unless a batch has the columns of the first one."""
        for name in sorted(self._names ^ set(names)):
            problem = "is not in the first batch" if name in names else "is absent, and is in the first batch"
            raise ColumnError(name, problem, "give all batches the same columns")


class _Values:
    """The values of a column in all batches; texts as codes of labels, so that they take little memory."""

    def __init__(self, error: type[DataError]) -> None:
        self._error = error
        self._parts: list[NDArray[Any]] = []
        self._codes: dict[Any, int] = {}
        self._is_text: bool | None = None

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, column: RawColumn) -> None:
        is_text = column.labels is not None
        if column.values.dtype == object and all(map(is_missing, column.values.tolist())):
            raise self._error("is missing in all rows", "drop these rows before fitting")
        if self._is_text not in (None, is_text):
            raise self._error("mixes text and other values", "make all of them one type")
        self._is_text = is_text
        if column.labels is None:
            self._parts.append(column.values)
        else:
            codes = [self._codes.setdefault(label, len(self._codes)) for label in column.labels.tolist()]
            self._parts.append(np.array([*codes, -1], dtype=np.int32)[column.values])

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


def _encode(encoder: TableEncoder, table: Table) -> list[_core.Column]:
    """Return the columns of a batch as the core takes them."""
    return [
        own.encode_training(column, table.n_rows)
        for own, column in encoder.match(table, "fit")
        if column is not None
    ]
