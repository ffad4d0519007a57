"""Data sets of experiments: features, target, and a fingerprint by which results are found."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from pandas.api import types

from tritree.columns import ColumnType, read_column
from tritree.encoder import ColumnEncoder, EncoderOptions
from tritree.errors import shortened
from tritree.table import read_table
from tritree.target import check_sample_weight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Task = Literal["regression", "classification"]


class DatasetError(ValueError):
    """A table that cannot be used as a data set, or that is not the expected one."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and a target without missing values. Neither may be modified.

    Attributes
    ----------
    name, title : str
        Name in results, and in figures.
    X : pandas.DataFrame
        Features. Text is categorical, or dates as numbers; text that identifies rows is left out.
    y : array
        Target: float64 for regression, class labels for classification.
    task : {"regression", "classification"}
        Task.
    note : str
        Remark for reports; usually empty.
    sample_weight : array or None
        Sample weights in training and in the loss. If None, all samples have equal weight.
    """

    name: str
    title: str
    X: Any
    y: NDArray[Any]
    task: Task
    note: str = ""
    sample_weight: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.n_rows:,} rows x {self.X.shape[1]:,} columns, {self.task})"

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of everything that results depend on: values, column names, order, task and weights.

        It is the same in every process and on every machine, and for integers stored as int or float.
        """
        weights = self.sample_weight
        more = () if weights is None else (hashlib.sha256(weights.astype("<f8").data).hexdigest(),)
        return digest(self.X, self.y, self.task, *more)

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the sample weights of some rows, or None."""
        return None if self.sample_weight is None else self.sample_weight[rows]

    @classmethod
    def from_table(
        cls,
        name: str,
        table: Any,
        target: Any,
        *,
        task: Task | None = None,
        title: str | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Return a data set made from a table.

        Parameters
        ----------
        name : str
            Name of the data set.
        table : DataFrame of pandas, polars, or any library that narwhals reads
            Features and target. Features may have missing values, the target may not.
        target : str
            Name of the target column.
        task : {"regression", "classification"}, optional
            By default classification for text, categories, booleans, and integers with just two values, and regression
            for other numbers.
        title : str, optional
            Name in figures; by default ``name``.
        sample_weight : str, optional
            Name of the column with sample weights; it is not a feature.

        Raises
        ------
        DatasetError
            If there is no such column, the target has missing values or does not suit the task, or sample weights are
            negative or not numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"rooms": [4, 5, None], "town": ["A", "B", "B"], "price": [20.5, 31.0, 18.2]})
        >>> houses = Dataset.from_table("houses", table, "price")
        >>> houses
        Dataset('houses', 3 rows x 2 columns, regression)
        """
        if task not in (None, "regression", "classification"):
            raise DatasetError(f"task must be 'regression' or 'classification', got {task!r}")
        frame = _as_pandas(table)
        column = _target_column(frame, target)
        if task is None:
            is_number = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
            is_binary = is_number and column.nunique() == 2 and bool((column % 1 == 0).all())
            task = "regression" if is_number and not is_binary else "classification"
        weights = None if sample_weight is None else _read_weights(frame, sample_weight, target)
        features = frame.drop(columns=[target] if weights is None else [target, sample_weight])
        columns = [_without_text(features.iloc[:, i]) for i in range(features.shape[1])]
        if all(one is None for one in columns):
            raise DatasetError(f"all columns beside the target {target!r} are identifiers of rows")
        X = pd.concat(columns, axis=1).reset_index(drop=True)
        y = target_values(column, task)
        return cls(name, name if title is None else title, X, y, task, sample_weight=weights)


def target_values(column: Any, task: Task) -> NDArray[Any]:
    """Return a target column without missing values as float64, or as an array of class labels."""
    if task == "classification":
        if types.is_float_dtype(column.dtype) and (column % 1 != 0).any():
            value = column[column % 1 != 0].iloc[0]
            raise DatasetError(
                f"target {column.name!r} holds {value}, which is not a class; use task='regression'"
            )
        labels = column.astype(object).tolist()
        return np.array(labels) if len(set(map(type, labels))) == 1 else np.array(labels, dtype=object)
    if not types.is_numeric_dtype(column.dtype):
        raise DatasetError(
            f"target {column.name!r} holds {shortened(column.iloc[0])}, and a regression needs numbers; use "
            "task='classification'"
        )
    numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DatasetError(
            f"target {column.name!r} is infinite in {infinite.sum():,} of {len(numbers):,} rows; drop these rows"
        )
    return numbers


def digest(X: Any, y: NDArray[Any], *more: str) -> str:
    """Return a hash, of 32 characters, of features, target and further text."""
    found = hashlib.blake2b(digest_size=16)
    for name, column in [*((name, X.iloc[:, i]) for i, name in enumerate(X.columns)), ("", pd.Series(y))]:
        kind, labels, values = _canonical(column)
        found.update(json.dumps([str(name), kind, labels, len(values)]).encode())
        found.update(values.data)
    found.update(json.dumps(more).encode())
    return found.hexdigest()


def _canonical(column: Any) -> tuple[str, list[str], NDArray[Any]]:
    """Return a column in a form that does not depend on its dtype: kind, labels, and values or codes."""
    if types.is_numeric_dtype(column.dtype):
        observed = column.dropna()
        is_integer = types.is_integer_dtype(column.dtype) and len(observed) > 0
        if is_integer and max(int(observed.max()), -int(observed.min())) > 2**53:  # too large for float64
            text = json.dumps([str(value) for value in column])
            return "large", [], np.frombuffer(text.encode(), dtype=np.uint8)
        numbers = column.to_numpy(dtype="<f8", na_value=np.nan) + 0.0  # -0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan
        return "number", [], numbers
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object).map(str, na_action="ignore").astype("category")
    column = column.cat.remove_unused_categories()
    labels = [str(label) for label in column.cat.categories]
    codes = column.cat.codes.to_numpy(dtype="<i4")
    if column.cat.ordered:
        return "ordered", labels, codes
    order = sorted(range(len(labels)), key=labels.__getitem__)
    positions = np.full(len(labels) + 1, -1, dtype="<i4")  # the last is that of missing, whose code is -1
    positions[order] = np.arange(len(labels))
    return "text", [labels[i] for i in order], positions[codes]


def _as_pandas(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        return table
    try:
        return nw.from_native(table, eager_only=True).to_pandas()
    except TypeError:
        raise DatasetError(
            f"a data set is made from a table with named columns, such as a pandas DataFrame, not from "
            f"{type(table).__name__}"
        ) from None


def _target_column(frame: Any, target: Any) -> Any:
    column = frame.iloc[:, _position_of(frame, target, "the target")]
    if len(frame.columns) == 1:
        raise DatasetError(f"there is no column beside the target {target!r} to learn from")
    if not len(frame):
        raise DatasetError("the table has no rows")
    missing = column.isna().to_numpy()
    if missing.any():
        raise DatasetError(
            f"target {target!r} is missing in {missing.sum():,} of {len(missing):,} rows, first in row "
            f"{missing.argmax()}; drop these rows"
        )
    return column


def _read_weights(frame: Any, name: Any, target: Any) -> NDArray[np.float64]:
    column = frame.iloc[:, _position_of(frame, name, "the weights")]
    if name == target or len(frame.columns) == 2:
        raise DatasetError(f"there is no column beside {target!r} and the weights {name!r} to learn from")
    try:
        weights: NDArray[np.float64] = check_sample_weight(column, len(frame))  # type: ignore[assignment]
    except ValueError as error:
        raise DatasetError(str(error).replace("sample_weight", f"the column of weights {name!r}")) from None
    return weights


def _position_of(frame: Any, column: Any, what: str) -> int:
    """Return the position of the only column with a name."""
    positions = [i for i, name in enumerate(frame.columns) if name == column]
    if not positions:
        names = list(map(str, frame.columns))
        raise DatasetError(
            f"there is no column {column!r}{suggestion(column, names)}; the columns are "
            f"{shortened(', '.join(names), 300)}"
        )
    if len(positions) > 1:
        raise DatasetError(f"{len(positions)} columns are called {column!r}; rename all but {what}")
    return positions[0]


def _without_text(column: Any) -> Any:
    """Return a column with text as categories or as dates, so that it is read once and not in every fold.

    An identifier, which estimators leave out, is None.
    """
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    if is_category or types.is_numeric_dtype(column.dtype):
        return column
    if types.infer_dtype(column, skipna=True) != "string":
        return column
    typed = read_column(read_table(column.to_frame()).column(0), column.name)
    encoder = ColumnEncoder.fit(typed, None, EncoderOptions())
    if encoder.type is ColumnType.IDENTIFIER:
        return None
    if encoder.time is not None:
        return pd.Series(encoder.encode(typed), index=column.index, name=column.name)
    return column.astype(object).astype("category")


def suggestion(name: Any, names: Iterable[str]) -> str:
    """Return a hint at a similar name, or an empty text."""
    close = difflib.get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
