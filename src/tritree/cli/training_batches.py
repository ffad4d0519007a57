"""The training data in a table that is read batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.cells import to_numbers
from tritree.cli.training import (
    Counts,
    check_features,
    check_missing_target,
    convert_columns,
    convert_target,
    find_task,
    resolve_roles,
    without_decimals,
)
from tritree.out_of_core.batches import Batches
from tritree.out_of_core.parquet import FilePart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.cli.batches import BatchTable
    from tritree.cli.options import ColumnRoles
    from tritree.cli.training import Task

#: Number of distinct values of a target from which on no more are gathered.
_MANY = 1_000


@dataclass(slots=True)
class BatchTrainingData:
    """What a model is fitted to; the target and the weights are columns of the table."""

    table: BatchTable
    #: What columns are for, by their names in the table.
    roles: ColumnRoles
    task: Task
    #: Why it is that task, in words.
    reason: str
    n_rows: int
    n_skipped: int
    #: Number of missing cells in the rows read so far, and whether these are all.
    _n_missing: int = field(default=0, init=False)
    _is_counted: bool = field(default=False, init=False)

    @property
    def features(self) -> Batches:
        """The batches, with target and weights."""
        return Batches(self.table.name, self._parts, self.n_rows)

    @property
    def target(self) -> str:
        """The column of the target."""
        return self.roles.target

    @property
    def weights(self) -> str | None:
        """The column of the weights, if there is one."""
        return self.roles.weights

    def counts(self) -> Counts:
        """Return what the data consist of; the missing cells are counted when a model is fitted."""
        n_columns = len(_feature_names(self.table, self.roles))
        return Counts(self.n_rows, self.n_skipped, n_columns, self._n_missing)

    def _parts(self) -> Iterator[FilePart]:
        roles, features = self.roles, _feature_names(self.table, self.roles)
        names = [name for name in self.table.columns if name not in (roles.drop or ())]
        first = not self._is_counted
        if first:
            self._n_missing = 0
        for part in self.table.parts(names):
            with part.errors():
                frame = self._convert(part.frame, warns=first)
            first = False
            if not self._is_counted:
                self._n_missing += int(frame[features].isna().to_numpy().sum())
            yield FilePart(part.path, part.first_row, frame)
        self._is_counted = True

    def _convert(self, frame: Any, *, warns: bool) -> Any:
        """Return rows that have a target, with columns of the types that were asked for."""
        roles = self.roles
        frame = convert_columns(frame, roles, warns=warns)
        missing = frame[roles.target].isna()
        if missing.any():
            frame = frame[~missing].reset_index(drop=True)
        values = without_decimals(frame[roles.target])
        if len(frame):
            frame = frame.assign(**{roles.target: convert_target(values, roles.target, self.task)})
        if roles.weights is not None:
            frame = frame.assign(**{roles.weights: to_numbers(frame[roles.weights], roles.weights)})
        return frame


def _feature_names(table: BatchTable, roles: ColumnRoles) -> list[str]:
    return [name for name in table.columns if name not in roles.not_features]


def read_training_batches(table: BatchTable, roles: ColumnRoles) -> BatchTrainingData:
    """Return the training data in a table, of which only the target is read; it implies the task if there is none."""
    roles = resolve_roles(roles, table.columns, table.name)
    check_features(_feature_names(table, roles), table.name, roles)
    n_rows = n_missing = 0
    first_missing, found = "", pd.Series(dtype=object)
    for part in table.parts([roles.target]):
        values = part.frame[roles.target]
        missing = values.isna().to_numpy()
        if missing.any() and not n_missing:
            first_missing = f"row {part.first_row + int(missing.argmax()):,} of {part.path!r}"
        n_rows, n_missing = n_rows + len(values), n_missing + int(missing.sum())
        if len(found) <= _MANY:
            distinct = without_decimals(values[~missing].drop_duplicates())
            found = pd.concat([found, distinct]).drop_duplicates() if len(found) else distinct
    check_missing_target(roles.target, n_missing, n_rows, first_missing, roles.skip_missing_target)
    task, reason = find_task(found.reset_index(drop=True), roles)
    if len(found) > _MANY:
        reason = reason.replace(f"{len(found):,}", f"more than {_MANY:,}")
    return BatchTrainingData(table, roles, task, reason, n_rows - n_missing, n_missing)
