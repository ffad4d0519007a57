"""The response of a table, the task that it sets, and the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tritree.cli.messages import Mendable
from tritree.cli.tables import check_column, import_pandas
from tritree.cli.typed import as_numbers
from tritree.errors import shortened
from tritree.inspection.formatting import count

__all__ = ["MOST_CLASSES", "Roles", "Training", "take_apart"]

#: Whole numbers are classes if there are no more different ones than this.
MOST_CLASSES = 10


@dataclass(frozen=True, slots=True)
class Training:
    """A table taken apart: what a tree is fitted to."""

    columns: Any
    response: Any
    weights: Any
    task: str
    #: Why it is that task, in words.
    reason: str
    #: Rows left out because they have no response.
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Roles:
    """What columns of a table are for; all others are learned from."""

    response: str
    weights: str | None = None
    drop: tuple[str, ...] = ()


def take_apart(frame: Any, table: str, roles: Roles, *, task: str | None, skip_missing: bool) -> Training:
    """Return what a tree is fitted to: columns, response and weights of a table, and the task."""
    names, response, weights, drop = list(frame.columns), roles.response, roles.weights, roles.drop
    for name in (response, *drop, *([] if weights is None else [weights])):
        check_column(name, names, table)
    if response in drop or response == weights:
        raise Mendable(f"{response!r} is the response; it cannot be dropped or hold the weights as well")
    frame, skipped = _with_response(frame, response, skip_missing)
    left_out = {response, *drop} | (set() if weights is None else {weights})
    columns = frame[[name for name in names if name not in left_out]]
    if not len(columns.columns):
        raise Mendable(f"{table} has no columns besides {response!r} to learn from")
    values = _undecimal(frame[response])
    found, reason = find_task(values, response)
    chosen = task or found
    read = _as_classes if chosen == "classification" else _as_response
    return Training(
        columns,
        read(values, response),
        None if weights is None else as_numbers(frame[weights], weights).to_numpy(),
        chosen,
        reason if chosen == found else "as asked for",
        skipped,
    )


def _with_response(frame: Any, response: str, skip_missing: bool) -> tuple[Any, int]:
    """Return the rows that have a response, and how many have none; unless that is allowed, it is an error."""
    holes = frame[response].isna().to_numpy()
    n_holes = int(holes.sum())
    if n_holes == len(frame):
        raise Mendable(f"the response {response!r} is missing in every row; name another column")
    if n_holes and not skip_missing:
        raise Mendable(
            f"the response {response!r} is missing in {n_holes:,} of {len(frame):,} rows, first in row "
            f"{int(holes.argmax())}; complete it, or leave these rows out with --skip-missing-response"
        )
    return (frame[~holes].reset_index(drop=True), n_holes) if n_holes else (frame, 0)


def _undecimal(values: Any) -> Any:
    """Return decimal numbers, which Parquet may hold as objects, as numbers."""
    pandas = import_pandas()
    return pandas.to_numeric(values) if pandas.api.types.infer_dtype(values) == "decimal" else values


def find_task(values: Any, name: str) -> tuple[str, str]:
    """Return the task that a response sets, and why.

    Text, true and false, and categories are classes. So are whole numbers, if there are at most `MOST_CLASSES`
    different ones. All else is numbers.
    """
    types = import_pandas().api.types
    if not types.is_numeric_dtype(values.dtype) or types.is_bool_dtype(values.dtype):
        return "classification", f"{name} holds {_kind(values)}"
    numbers = values.to_numpy(dtype=float)
    different = values.nunique()
    if (numbers % 1 == 0).all() and different <= MOST_CLASSES:
        return "classification", f"{name} holds {count(different, 'different whole number')}"
    return "regression", f"{name} holds {count(different, 'different number')}"


def _kind(values: Any) -> str:
    inferred = str(import_pandas().api.types.infer_dtype(values, skipna=True))
    return {"boolean": "true and false", "categorical": "categories", "string": "text"}.get(
        inferred, inferred
    )


def _as_response(values: Any, name: str) -> Any:
    """Return the numbers of a regression."""
    pandas = import_pandas()
    if not pandas.api.types.is_numeric_dtype(values.dtype):
        if pandas.to_numeric(values, errors="coerce").notna().sum() == 0:
            raise Mendable(
                f"the response {name!r} holds {_kind(values)} ({shortened(values.iloc[0], 40)} in row 0), which cannot "
                "be learned as a number; use --task classification"
            )
        values = as_numbers(values, name)
    numbers = values.to_numpy(dtype=float)
    _refuse_infinite(numbers, name)
    return numbers


def _refuse_infinite(numbers: Any, name: str) -> None:
    import numpy as np

    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise Mendable(
            f"the response {name!r} holds {numbers[row]:g} in row {row}, which cannot be learned; mend it, or make it "
            "missing with --na and leave out such rows with --skip-missing-response"
        )


def _as_classes(values: Any, name: str) -> Any:
    """Return the labels of a classification: whole numbers as such, all else as it is."""
    import numpy as np

    types = import_pandas().api.types
    if types.is_bool_dtype(values.dtype) or not types.is_numeric_dtype(values.dtype):
        labels = values.to_numpy(dtype=object)
        return labels.astype(bool) if _kind(values) == "true and false" else labels
    numbers = values.to_numpy(dtype=float)
    whole = numbers % 1 == 0
    if not whole.all():
        row = int(np.argmin(whole))
        raise Mendable(
            f"the response {name!r} holds {numbers[row]:g} in row {row}, and numbers with fractions are no classes; "
            "use --task regression"
        )
    return numbers.astype(np.int64)
