"""Training tables that are read batch by batch: once to learn the columns and bins, and once to bin the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.errors import ColumnError, list_names
from tritree.out_of_core.batches import batch_errors
from tritree.out_of_core.summary import TableSummary, encode_columns, find_bounds
from tritree.progress import bar
from tritree.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tritree.encoder import EncoderOptions, TableEncoder
    from tritree.out_of_core.batches import Batch, Batches
    from tritree.out_of_core.summary import ColumnValues
    from tritree.table import RawColumn, Table

__all__ = ["TrainingBatches"]


class TrainingBatches:
    """A training table that is read batch by batch; ``y`` and ``sample_weight`` name columns of it."""

    def __init__(
        self,
        batches: Batches,
        y: Any,
        sample_weight: Any,
        *,
        n_threads: int,
        show_progress: bool,
        scratch: _core.Scratch | None = None,
        also_rows: bool = False,
    ) -> None:
        for argument, name in {"y": y, "sample_weight": sample_weight}.items():
            if not (isinstance(name, str) or (name is None and argument == "sample_weight")):
                raise TypeError(
                    f"{argument} must be the name of a column, since {batches.name} is read batch by batch; got "
                    f"{type(name).__name__}"
                )
        self._batches, self._n_threads, self._show_progress = batches, n_threads, show_progress
        self._scratch, self._also_rows = scratch, also_rows
        self._roles = [y] if sample_weight is None else [y, sample_weight]
        self._names: set[str] = set()
        self._summary: TableSummary | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows read so far."""
        return 0 if self._summary is None else self._summary.n_rows

    def learn(self, options: EncoderOptions) -> tuple[TableEncoder, ColumnValues, ColumnValues]:
        """Return the encoder of the columns, the target and the weights, which may be empty."""
        for batch, table, roles in self._read("rows read"):
            if self._summary is None:
                self._summary = TableSummary(table, options.categorical_features)
            with batch_errors(batch):
                self._summary.add(table, roles, self._n_threads)
        if self._summary is None:
            raise ValueError(f"{self._batches.name} has no rows")
        return self._summary.encoder(options), self._summary.target, self._summary.weights

    def bin(self, encoder: TableEncoder, max_bins: int) -> _core.BinnedColumns:
        """Return the binned rows."""
        assert self._summary is not None
        bounds = find_bounds(self._summary, encoder, self, max_bins)
        binner = _core.TableBinner(self.n_rows, bounds, encoder.n_categories, self._scratch, self._also_rows)
        changed = (
            f"{self._batches.name} is not what it was when it was first read; it must not change during fit"
        )
        n_binned = 0
        for _, table, _ in self._read("rows binned"):
            n_binned += table.n_rows
            if n_binned > self.n_rows:
                break
            binner.append(encode_columns(encoder, table), table.n_rows, self._n_threads)
        if n_binned != self.n_rows:
            raise ValueError(changed)
        try:
            return binner.finish()
        except ValueError:
            raise ValueError(changed) from None

    def count(self, encoder: TableEncoder, positions: set[int]) -> _core.TableCounts:
        """Count the values of some encoded columns."""
        counts = _core.TableCounts(len(encoder.columns))
        for _, table, _ in self._read("rows counted"):
            encoded = encode_columns(encoder, table)
            chosen = [values if k in positions else None for k, values in enumerate(encoded)]
            counts.add(chosen, table.n_rows, self._n_threads)
        return counts

    def column(self, encoder: TableEncoder, position: int) -> NDArray[Any]:
        """Return an encoded column."""
        parts: list[Any] = [
            encode_columns(encoder, table)[position] for _, table, _ in self._read("rows sorted")
        ]
        return np.concatenate(parts)

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
