"""The partitions of Dask collections: checked before anything is computed, and read on the workers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from tritree.columns import is_missing
from tritree.errors import ColumnError, DataError, SampleWeightError, TargetError, list_names
from tritree.table import RawColumn, Table, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Partition",
    "delayed_partitions",
    "find_partitions",
    "is_array",
    "is_frame",
    "partition_errors",
    "read_partition",
    "whole_rows",
]


@dataclass(frozen=True)
class Partition:
    """A partition of a training table, as delayed objects of Dask, and what it must look like."""

    number: int
    features: Any
    #: The target and, if there are any, the weights: delayed objects, or names of columns of ``features``.
    roles: tuple[Any, ...]
    #: The dtypes of the columns by name; None of an array.
    dtypes: dict[Any, Any] | None


def find_partitions(X: Any, y: Any, sample_weight: Any) -> list[Partition]:
    """Return the partitions of Dask collections; raise an error if they do not belong together."""
    roles = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    if not (is_frame(X) or is_array(X)):
        raise TypeError(
            f"X must be a DataFrame or an array of Dask, got {type(X).__name__}; the local estimator fits other tables"
        )
    if is_array(X):
        X = whole_rows(X)
    columns = {name: _delayed_role(X, role, name) for name, role in roles.items()}
    dtypes = dict(X.dtypes) if is_frame(X) else None
    return [
        Partition(
            number, features, tuple(r if isinstance(r, str) else r[number] for r in columns.values()), dtypes
        )
        for number, features in enumerate(delayed_partitions(X))
    ]


def is_frame(X: Any) -> bool:
    """Return whether a table is a frame of Dask."""
    return hasattr(X, "map_partitions") and hasattr(X, "dtypes") and hasattr(X, "columns")


def is_array(X: Any) -> bool:
    """Return whether a table is an array of Dask."""
    return hasattr(X, "map_blocks") and hasattr(X, "chunks")


def whole_rows(X: Any) -> Any:
    """Return an array of Dask whose blocks have all columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got an array of {X.ndim} dimensions")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def delayed_partitions(collection: Any) -> list[Any]:
    """Return the partitions of a collection of Dask, each with all its columns."""
    if is_array(collection) and collection.ndim == 2:
        collection = whole_rows(collection)
    delayed = collection.to_delayed()
    return list(delayed.ravel()) if isinstance(delayed, np.ndarray) else list(delayed)


def _delayed_role(X: Any, role: Any, name: str) -> str | list[Any]:
    """Return the column name of a target or of weights, or its partitions; they must be those of X."""
    if isinstance(role, str) and is_frame(X):
        if role not in X.columns:
            raise ColumnError(None, f"there is no column {role!r}; the columns are {list_names(X.columns)}")
        return role
    if not (hasattr(role, "to_delayed") and hasattr(role, "ndim")):
        wanted = "a series or an array of Dask" + (", or the name of a column of X" if is_frame(X) else "")
        raise TypeError(f"{name} must be {wanted}, got {type(role).__name__}")
    if role.ndim != 1:
        raise ValueError(f"{name} must have one column, got {role.ndim} dimensions")
    if X.npartitions != role.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {name} {role.npartitions}; make them the same, for example with "
            "repartition(divisions=...) or rechunk()"
        )
    _check_divisions(X, role, name)
    return delayed_partitions(role)


def _check_divisions(X: Any, role: Any, name: str) -> None:
    """Raise an error if it is known beforehand that partitions of X and a role have other rows."""
    if hasattr(X, "divisions") and hasattr(role, "divisions"):
        known = X.known_divisions and role.known_divisions
        ours, theirs = (X.divisions, role.divisions) if known else ((), ())
        differs = "begins at {} in X and at {} in {}"
    elif is_array(X) and is_array(role):
        ours, theirs = X.chunks[0], role.chunks[0]
        differs = "has {} rows in X and {} in {}"
    else:
        return
    for number, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        if own != other and not (is_missing(own) or is_missing(other)):
            raise ValueError(
                f"partition {number} {differs.format(own, other, name)}; partition them alike, for example with "
                "repartition(divisions=...) or rechunk()"
            )


@contextmanager
def partition_errors(partition: str) -> Iterator[None]:
    """Say in errors about data which partition they are about."""
    try:
        yield
    except DataError as error:
        if error.argument is None:
            error.argument = partition
        raise
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in {partition}: {error}") from None


def read_partition(
    features: Any, roles: tuple[Any, ...], dtypes: dict[Any, Any] | None
) -> tuple[Table, list[RawColumn]] | None:
    """Return the features of a partition, and its columns of target and weights; None if it has no rows."""
    if dtypes is not None:
        _check_columns(features, dtypes)
    for role, name in zip(roles, ("y", "sample_weight"), strict=False):
        if not isinstance(role, str):
            _check_alignment(features, role, name)
    if len(features) == 0:
        return None
    if dtypes is not None:
        features = features[list(dtypes)]  # in one order in all partitions
    names = [role for role in roles if isinstance(role, str)]
    table = read_table(features.drop(columns=names) if names else features)
    columns = [read_table(_one_column(features[r] if isinstance(r, str) else r)).column(0) for r in roles]
    for column, error in zip(columns, (TargetError, SampleWeightError), strict=False):
        _check_observed(column, error)
    return table, columns


def _check_columns(frame: Any, dtypes: dict[Any, Any]) -> None:
    """Raise a ColumnError unless a frame has the columns that Dask says it has."""
    remedy = "give all partitions the same columns"
    for name in frame.columns:
        if name not in dtypes:
            raise ColumnError(name, "is not a column of the other partitions", remedy)
    for name, dtype in dtypes.items():
        if name not in frame.columns:
            raise ColumnError(name, "is absent, and is in the other partitions", remedy)
        if not len(frame) or frame[name].isna().all():
            continue
        found, expected = _kind(frame[name].dtype), _kind(dtype)
        if found != expected and "objects" not in (found, expected):  # what objects are is found out later
            raise ColumnError(
                name,
                f"holds {found}, and {expected} in the other partitions",
                "give it one dtype in all of them",
            )


def _kind(dtype: Any) -> str:
    """Return what a column of a dtype holds."""
    if isinstance(dtype, pd.CategoricalDtype):
        return "categories"
    if pd.api.types.is_bool_dtype(dtype):
        return "booleans"
    if pd.api.types.is_numeric_dtype(dtype):
        return "numbers"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "dates"
    if pd.api.types.is_timedelta64_dtype(dtype):
        return "durations"
    if pd.api.types.is_object_dtype(dtype):
        return "objects"
    return "text" if pd.api.types.is_string_dtype(dtype) else str(dtype)


def _check_alignment(features: Any, role: Any, name: str) -> None:
    if len(features) != len(role):
        raise ValueError(f"X has {len(features)} rows and {name} {len(role)}")
    if hasattr(features, "index") and hasattr(role, "index") and not features.index.equals(role.index):
        raise ValueError(f"X and {name} have different indexes; partition them alike")


def _one_column(values: Any) -> Any:
    series = nw.from_native(values, pass_through=True, allow_series=True)
    return series.to_frame().to_native() if isinstance(series, nw.Series) else np.asarray(values)[:, None]


def _check_observed(column: RawColumn, error: type[DataError]) -> None:
    """Raise an error if values of a target, or of weights, are missing."""
    values = column.values
    if column.labels is not None:
        missing = values < 0
    elif values.dtype.kind in "mM":
        missing = np.isnat(values)
    elif values.dtype.kind == "f":
        missing = np.isnan(values)
    else:
        missing = np.array([is_missing(value) for value in values.tolist()] if values.dtype == object else [])
    if missing.any():
        row = int(np.argmax(missing))
        raise error(f"is missing in row {row} of the partition", "drop such rows before fitting", row=row)
