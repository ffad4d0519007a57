"""The training data in a table: features, target and weights, and the task that the target implies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_integer_dtype, is_numeric_dtype

from tritree.cli.messages import UserError
from tritree.cli.tables import (
    check_column,
    decimal_commas_to_numbers,
    is_text,
    to_numbers,
    warn_of_unnamed_columns,
)
from tritree.errors import shortened
from tritree.inspection.formatting import count

if TYPE_CHECKING:
    from tritree.cli.options import ColumnRoles
    from tritree.cli.tables import TableSource

Task = Literal["regression", "classification"]
#: Maximum number of distinct integers in a target that is read as classes.
_MAX_CLASSES = 10
#: Fraction of numbers from which on a text column was probably meant to be numeric.
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a model is fitted to."""

    features: Any
    target: Any
    weights: Any
    task: Task
    #: Why it is that task, in words.
    reason: str
    #: Number of rows that were left out because their target is missing.
    n_skipped: int = 0


def read_training_data(source: TableSource, roles: ColumnRoles) -> TrainingData:
    """Return the training data in a table; without a task the target implies it."""
    frame = _read_columns(source, roles)
    frame, n_skipped = drop_missing_target(frame, roles.target, roles.skip_missing_target)
    features = frame.drop(columns=roles.not_features)
    if not len(features.columns):
        raise UserError(f"{source.name} has no columns besides {roles.target!r} to learn from")
    values = frame[roles.target]
    if infer_dtype(values) == "decimal":  # which Parquet may hold as objects
        values = pd.to_numeric(values)
    implied, reason = _implied_task(values, roles.target)
    task = roles.task or implied
    return TrainingData(
        features,
        (to_classes if task == "classification" else to_regression_target)(values, roles.target),
        None if roles.weights is None else to_numbers(frame[roles.weights], roles.weights).to_numpy(),
        task,
        reason if task == implied else "set with --task",
        n_skipped,
    )


def _read_columns(source: TableSource, roles: ColumnRoles) -> Any:
    """Return a table whose columns have the types that were asked for; dropped columns cause no warnings."""
    frame = source.read()
    categorical, numeric = roles.categorical or [], roles.numeric or []
    for name in (*categorical, *numeric, *roles.not_features):
        check_column(name, list(frame.columns), source.name)
    if both := set(categorical) & set(numeric):
        raise UserError(f"column {both.pop()!r} cannot be both --categorical and --numeric")
    if roles.target in (roles.drop or []) or roles.target == roles.weights:
        raise UserError(f"{roles.target!r} is the target; it cannot be dropped or hold the weights as well")
    for name in numeric:
        frame[name] = to_numbers(frame[name], name)
    warn_of_unnamed_columns(frame, roles.not_features)
    _warn_of_suspicious_columns(frame.drop(columns=roles.drop or []))
    return frame.astype(dict.fromkeys(categorical, "category"))


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
        cell = str(counts.index[~valid][0])
        return f"most cells are numbers; make {cell!r} missing with --na {cell!r}, or correct it"
    valid = decimal_commas_to_numbers(cells).notna().to_numpy()
    if counts[valid].sum() >= _MOSTLY * counts.sum():
        return "numbers with a decimal comma are read with --decimal ,"
    return None


def drop_missing_target(frame: Any, target: str, skip: bool) -> tuple[Any, int]:
    """Return the rows that have a target and the number of the others, which must be 0 unless ``skip`` is true."""
    missing = frame[target].isna().to_numpy()
    n_missing = int(missing.sum())
    if n_missing == len(frame):
        raise UserError(f"the target {target!r} is missing in every row; name another column")
    if n_missing and not skip:
        raise UserError(
            f"the target {target!r} is missing in {n_missing:,} of {len(frame):,} rows, first in row "
            f"{int(missing.argmax())}; complete it, or leave these rows out with --skip-missing-target"
        )
    return (frame[~missing].reset_index(drop=True), n_missing) if n_missing else (frame, 0)


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


def to_regression_target(values: Any, name: str) -> Any:
    """Return the target of a regression as finite numbers, or raise a UserError."""
    if not is_numeric_dtype(values.dtype):
        if pd.to_numeric(values, errors="coerce").notna().sum() == 0:
            raise UserError(
                f"the target {name!r} holds {_content(values)} ({shortened(values.iloc[0], 40)} in row 0), not "
                "numbers; use --task classification"
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


def to_classes(values: Any, name: str) -> Any:
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
            "booleans; use --task regression"
        )
    return numbers.astype(np.int64)
