"""The training data in a table: features, target and weights, and the task that the target implies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_integer_dtype, is_numeric_dtype

from tritree.cli.advice import advise
from tritree.cli.cells import MAX_CELL, decimal_commas_to_numbers, is_text, to_numbers
from tritree.cli.columns import find_column, is_pattern, select_columns
from tritree.cli.messages import UserError
from tritree.cli.tables import warn_of_unnamed_columns
from tritree.dates import find_text_format
from tritree.errors import shortened
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.options import ColumnRoles
    from tritree.cli.tables import TableSource

Task = Literal["regression", "classification"]
#: Maximum number of distinct integers in a target that is read as classes.
_MAX_CLASSES = 10
#: What targets cannot be, by the types that pandas infers, and how to turn it into numbers.
_TIMES = {
    "datetime64": "dates",
    "datetime": "dates",
    "date": "dates",
    "timedelta64": "durations",
    "timedelta": "durations",
    "time": "times of day",
}
_AS_NUMBERS = {"dates": "days since a date", "durations": "hours", "times of day": "hours since midnight"}
#: Maximum number of texts among numbers that a message advises to make missing.
_MAX_TEXTS = 3
#: Fraction of numbers from which on a text column was probably meant to be numeric.
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a model is fitted to."""

    #: What columns are for, by their names in the table.
    roles: ColumnRoles
    features: Any
    target: Any
    weights: Any
    task: Task
    #: Why it is that task, in words.
    reason: str
    #: Number of rows that were left out because their target is missing.
    n_skipped: int = 0

    def counts(self) -> Counts:
        """Return what the data consist of."""
        n_missing = int(self.features.isna().to_numpy().sum())
        return Counts(len(self.features), self.n_skipped, len(self.features.columns), n_missing)


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of rows, of rows that were left out because their target is missing, of columns, and of missing cells."""

    rows: int
    rows_skipped: int
    columns: int
    missing_cells: int


def read_training_data(source: TableSource, roles: ColumnRoles) -> TrainingData:
    """Return the training data in a table; without a task the target implies it."""
    frame = source.read()
    roles = resolve_roles(roles, list(frame.columns), source.name)
    frame = convert_columns(frame, roles)
    frame, n_skipped = drop_missing_target(frame, roles.target, roles.skip_missing_target)
    features = frame.drop(columns=roles.not_features)
    check_features(features.columns, source.name, roles)
    values = without_decimals(frame[roles.target])
    task, reason = find_task(values, roles)
    if task == "classification":
        _warn_of_many_classes(values, roles.target)
    return TrainingData(
        roles,
        features,
        convert_target(values, roles.target, task),
        None if roles.weights is None else to_numbers(frame[roles.weights], roles.weights).to_numpy(),
        task,
        reason,
        n_skipped,
    )


def check_features(features: Any, table: str, roles: ColumnRoles) -> None:
    """Raise a UserError if there are no features."""
    if not len(features):
        raise UserError(f"{table} has no columns besides {roles.target!r} to learn from")


def without_decimals(values: Any) -> Any:
    """Return a column with numbers instead of decimals, which Parquet may hold as objects."""
    return pd.to_numeric(values) if infer_dtype(values) == "decimal" else values


def find_task(values: Any, roles: ColumnRoles) -> tuple[Task, str]:
    """Return the task, by default the one that the values of the target imply, and why it is that."""
    check_no_times(values, roles.target, also_text=roles.task != "classification")
    implied, reason = _implied_task(values, roles.target)
    task = roles.task or implied
    return task, reason if task == implied else "set with --task"


def convert_target(values: Any, name: str, task: Task) -> Any:
    """Return the target as the estimators take it."""
    return (to_classes if task == "classification" else to_regression_target)(values, name)


def resolve_roles(roles: ColumnRoles, columns: list[str], table: str) -> ColumnRoles:
    """Return the roles with the names of columns instead of lists, patterns and positions."""
    found = replace(
        roles,
        target=find_column(roles.target, columns, table),
        weights=None if roles.weights is None else find_column(roles.weights, columns, table),
        drop=select_columns("--drop", roles.drop, columns, table),
        categorical=select_columns("--categorical", roles.categorical, columns, table),
        numeric=select_columns("--numeric", roles.numeric, columns, table),
    )
    if both := set(found.categorical or ()) & set(found.numeric or ()):
        raise UserError(f"column {both.pop()!r} cannot be both --categorical and --numeric")
    if found.target in (found.drop or ()) and (pattern := _pattern_of(roles, found.target, columns)):
        raise UserError(
            f"--drop {pattern!r} matches the target {found.target!r}, too; use a narrower pattern, or name the columns"
        )
    if found.target in (found.drop or ()) or found.target == found.weights:
        raise UserError(f"{found.target!r} is the target; it cannot be dropped or hold the weights as well")
    return found


def _pattern_of(roles: ColumnRoles, name: str, columns: list[str]) -> str | None:
    """Return the value of --drop that matches a column by a pattern, if there is one."""
    matching = (text for text in roles.drop or () if name in select_columns("--drop", [text], columns, ""))
    return next((text for text in matching if text not in columns and is_pattern(text)), None)


def convert_columns(frame: Any, roles: ColumnRoles, *, warns: bool = True) -> Any:
    """Return a table whose columns have the types that were asked for; dropped columns cause no warnings."""
    for name in roles.numeric or ():
        frame[name] = to_numbers(frame[name], name)
    if warns:
        warn_of_unnamed_columns(frame, roles.not_features)
        _warn_of_suspicious_columns(frame.drop(columns=roles.drop or [], errors="ignore"))
    return frame.astype(dict.fromkeys(roles.categorical or (), "category"))


def _warn_of_suspicious_columns(frame: Any) -> None:
    """Warn of columns that were probably not meant to be read as they are."""
    for name in frame.columns:
        if is_text(frame[name]) and (remedy := _remedy_for_text(frame[name])):
            warnings.warn(f"column {name!r} is read as text, but {remedy}", stacklevel=2)


def _remedy_for_text(column: Any) -> str | None:
    """Return how to read a text column that is numeric except for a few cells or for its decimal commas, else None."""
    counts = column.value_counts()
    if not counts.sum():
        return None
    cells = counts.index.to_series()
    valid = pd.to_numeric(cells, errors="coerce").notna().to_numpy()
    if valid.all():
        return None  # text on purpose: in a CSV file these cells would have been read as numbers
    if counts[valid].sum() >= _MOSTLY * counts.sum():
        texts = [str(cell) for cell in counts.index[~valid]]
        if max(map(len, texts)) > MAX_CELL or len(texts) > _MAX_TEXTS:
            return f"most cells are numbers; correct {shortened(texts[0], MAX_CELL)} and the like"
        return (
            f"most cells are numbers; make the others missing with {advise('--na', *texts)}, or correct them"
        )
    valid = decimal_commas_to_numbers(cells).notna().to_numpy()
    if counts[valid].sum() >= _MOSTLY * counts.sum():
        return "numbers with a decimal comma are read with --decimal ,"
    return None


def drop_missing_target(frame: Any, target: str, skip: bool) -> tuple[Any, int]:
    """Return the rows that have a target and the number of the others, which must be 0 unless ``skip`` is true."""
    missing = frame[target].isna().to_numpy()
    n_missing = int(missing.sum())
    check_missing_target(target, n_missing, len(frame), f"row {int(missing.argmax())}", skip)
    return (frame[~missing].reset_index(drop=True), n_missing) if n_missing else (frame, 0)


def check_missing_target(target: str, n_missing: int, n_rows: int, first: str, skip: bool) -> None:
    """Raise a UserError if all rows lack a target, or some of them, the ``first`` among them, unless ``skip``."""
    if n_missing == n_rows:
        raise UserError(f"the target {target!r} is missing in every row; name another column")
    if n_missing and not skip:
        raise UserError(
            f"the target {target!r} is missing in {n_missing:,} of {n_rows:,} rows, first in {first}; complete it, or "
            "leave these rows out with --skip-missing-target"
        )


def _implied_task(values: Any, name: str) -> tuple[Task, str]:
    """Return the task that a target implies, and why."""
    if not _is_numeric(values):
        return "classification", f"{name} holds {_content(values)}"
    n_distinct = values.nunique()
    if (values.to_numpy(dtype=float) % 1 == 0).all() and n_distinct <= _MAX_CLASSES:
        return "classification", f"{name} holds {count(n_distinct, 'distinct integer')}"
    return "regression", f"{name} holds {count(n_distinct, 'distinct number')}"


def _is_numeric(values: Any) -> bool:
    return bool(is_numeric_dtype(values.dtype)) and not is_bool_dtype(values.dtype)


def _content(values: Any) -> str:
    inferred = str(infer_dtype(values, skipna=True))
    return {"boolean": "booleans", "categorical": "categories", "string": "text"}.get(inferred, inferred)


def check_no_times(values: Any, name: str, *, also_text: bool = False) -> None:
    """Raise a UserError if a target holds dates, durations or times of day, or text of such."""
    times, classes = _TIMES.get(infer_dtype(values, skipna=True)), "into text if they are classes"
    if times is None and also_text and is_text(values):
        counts = values.value_counts()
        found = find_text_format(list(counts.index), counts.to_numpy())
        times = None if found is None else "times of day" if found == "time of day" else "dates"
        classes = "use --task classification if they are classes"
    if times is not None:
        raise UserError(
            f"the target {name!r} holds {times} ({shortened(str(values.iloc[0]), 40)} in row 0); turn them into "
            f"numbers, such as {_AS_NUMBERS[times]}, or {classes}"
        )


def _warn_of_many_classes(values: Any, name: str) -> None:
    n_classes = values.nunique()
    if n_classes > max(_MAX_CLASSES, len(values) / 2):
        warnings.warn(
            f"the target {name!r} has {n_classes:,} classes in {len(values):,} rows, too many to learn; is it the "
            "right column?",
            stacklevel=2,
        )


def to_regression_target(values: Any, name: str, remedy: str = "use --task classification") -> Any:
    """Return the target of a regression as finite numbers, or raise a UserError with this remedy for other content."""
    if not is_numeric_dtype(values.dtype):
        if pd.to_numeric(values, errors="coerce").notna().sum() == 0:
            raise UserError(
                f"the target {name!r} holds {_content(values)} ({shortened(values.iloc[0], 40)} in row 0), not "
                f"numbers; {remedy}"
            )
        values = to_numbers(values, name)
    numbers = values.to_numpy(dtype=float)
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise UserError(
            f"the target {name!r} holds {numbers[row]:g} in row {row}; correct it, or make it missing with --na and "
            "leave such rows out with --skip-missing-target"
        )
    return numbers


def to_classes(values: Any, name: str, remedy: str = "use --task regression") -> Any:
    """Return class labels: integers where all values are whole, all else unchanged."""
    if not _is_numeric(values):
        labels = values.to_numpy(dtype=object)
        return labels.astype(bool) if infer_dtype(values, skipna=True) == "boolean" else labels
    if is_integer_dtype(values.dtype):
        return np.array(values.tolist())  # floats would round large ones
    numbers = values.to_numpy(dtype=float)
    whole = numbers % 1 == 0
    if not whole.all():
        row = int(np.argmin(whole))
        raise UserError(
            f"the target {name!r} holds {numbers[row]:g} in row {row}, and classes must be integers, text or "
            f"booleans; {remedy}"
        )
    return numbers.astype(np.int64)
