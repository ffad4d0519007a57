"""A data set of an experiment: a table, its response, and a fingerprint by which results are found again."""

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

from tritree.errors import shortened
from tritree.lab.cleaning import DataError
from tritree.target import check_sample_weight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Dataset", "Task", "digest", "meant", "response_of"]

Task = Literal["regression", "classification"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table and a response without holes, to be learned from it. Neither is to be changed.

    Attributes
    ----------
    name, title : str
        What it is called in results, and in pictures.
    X : pandas.DataFrame
        The table; its text is categories.
    y : array
        Numbers (float64) for a regression, labels for a classification.
    task : {"regression", "classification"}
        What the response makes it.
    note : str
        What a report should tell about it; mostly nothing.
    weights : array or None
        What each row counts, in training and in the loss; None if all count the same.
    """

    name: str
    title: str
    X: Any
    y: NDArray[Any]
    task: Task
    note: str = ""
    weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.n_rows:,} rows x {self.X.shape[1]:,} columns, {self.task})"

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @cached_property
    def fingerprint(self) -> str:
        """Return a text that changes if anything does that a result depends on: a cell, a name, an order, the task.

        It is the same in every process and on every machine, and whether whole numbers are kept as int or as float.
        """
        weighed = (
            () if self.weights is None else (hashlib.sha256(self.weights.astype("<f8").data).hexdigest(),)
        )
        return digest(self.X, self.y, self.task, *weighed)

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return what some rows count; None if all count the same."""
        return None if self.weights is None else self.weights[rows]

    @classmethod
    def of(
        cls,
        name: str,
        table: Any,
        response: Any,
        *,
        task: Task | None = None,
        title: str | None = None,
        weights: Any = None,
    ) -> Self:
        """Return a data set made of a table of one's own.

        Parameters
        ----------
        name : str
            What to call it.
        table : DataFrame of pandas, polars, or any library that narwhals reads
            The columns to learn from, and the response. They may have holes, the response may not.
        response : str
            The name of the response's column.
        task : {"regression", "classification"}, optional
            Told from the response if not given: text, categories, truth values, and whole numbers of which there are
            just two, make a classification; other numbers a regression.
        title : str, optional
            What to call it in pictures; the name if not given.
        weights : str, optional
            The name of the column that says what each row counts; it is not learned from.

        Raises
        ------
        DataError
            If there is no such column, or the response is missing in some rows, or does not suit the task, or if
            weights are no numbers from 0.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"rooms": [4, 5, None], "town": ["A", "B", "B"], "price": [20.5, 31.0, 18.2]})
        >>> houses = Dataset.of("houses", table, "price")
        >>> houses
        Dataset('houses', 3 rows x 2 columns, regression)
        """
        if task not in (None, "regression", "classification"):
            raise DataError(f"task must be 'regression' or 'classification', got {task!r}")
        frame = _as_pandas(table)
        column = _column_of(frame, response)
        task = _task_of(column) if task is None else task
        found = None if weights is None else _weights_of(frame, weights, response)
        others = frame.drop(columns=[response] if weights is None else [response, weights])
        X = _with_categories(others).reset_index(drop=True)
        return cls(name, name if title is None else title, X, response_of(column, task), task, weights=found)


def response_of(column: Any, task: Task) -> NDArray[Any]:
    """Return a response without holes as its task has it: float64, or an array of labels."""
    if task == "classification":
        if types.is_float_dtype(column.dtype) and (column % 1 != 0).any():
            value = column[column % 1 != 0].iloc[0]
            raise DataError(
                f"response {column.name!r} holds {value}, which is no class; use task='regression'"
            )
        labels = column.astype(object).tolist()
        return np.array(labels) if len(set(map(type, labels))) == 1 else np.array(labels, dtype=object)
    if not types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"response {column.name!r} holds {shortened(column.iloc[0])}, and a regression needs numbers; use "
            "task='classification'"
        )
    numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"response {column.name!r} is infinite in {infinite.sum():,} of {len(numbers):,} rows; drop these rows"
        )
    return numbers


def digest(X: Any, y: NDArray[Any], *more: str) -> str:
    """Return a text of 32 characters that any change of a table, its response or what else is given changes."""
    found = hashlib.blake2b(digest_size=16)
    for name, column in [*((name, X.iloc[:, i]) for i, name in enumerate(X.columns)), ("", pd.Series(y))]:
        kind, labels, values = _canonical(column)
        found.update(json.dumps([str(name), kind, labels, len(values)]).encode())
        found.update(values.data)
    found.update(json.dumps(more).encode())
    return found.hexdigest()


def _canonical(column: Any) -> tuple[str, list[str], NDArray[Any]]:
    """Return what a column holds in one of three forms, which do not tell how a library happens to keep it."""
    if types.is_numeric_dtype(column.dtype):
        if types.is_integer_dtype(column.dtype) and _is_large(column):
            return (
                "large",
                [],
                np.frombuffer(json.dumps([str(value) for value in column]).encode(), dtype=np.uint8),
            )
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
    places = np.full(len(labels) + 1, -1, dtype="<i4")  # the last place is that of missing, whose code is -1
    places[order] = np.arange(len(labels))
    return "text", [labels[i] for i in order], places[codes]


def _is_large(column: Any) -> bool:
    """Return whether whole numbers are so large that as float64 some would be the same."""
    observed = column.dropna()
    return bool(len(observed)) and max(int(observed.max()), -int(observed.min())) > 2**53


def _as_pandas(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        return table
    try:
        return nw.from_native(table, eager_only=True).to_pandas()
    except TypeError:
        raise DataError(
            f"a data set is made of a table with named columns, such as a DataFrame of pandas, not of "
            f"{type(table).__name__}"
        ) from None


def _column_of(frame: Any, response: Any) -> Any:
    """Return the column of the response, without holes."""
    column = frame.iloc[:, _place_of(frame, response, "the response")]
    if len(frame.columns) == 1:
        raise DataError(f"there is no column beside the response {response!r} to learn from")
    if not len(frame):
        raise DataError("the table has no rows")
    holes = column.isna().to_numpy()
    if holes.any():
        raise DataError(
            f"response {response!r} is missing in {holes.sum():,} of {len(holes):,} rows, first in row "
            f"{holes.argmax()}; drop these rows"
        )
    return column


def _weights_of(frame: Any, name: Any, response: Any) -> NDArray[np.float64]:
    """Return the column of weights."""
    column = frame.iloc[:, _place_of(frame, name, "the weights")]
    if name == response or len(frame.columns) == 2:
        raise DataError(f"there is no column beside {response!r} and the weights {name!r} to learn from")
    try:
        weights: NDArray[np.float64] = check_sample_weight(column, len(frame))  # type: ignore[assignment]
    except ValueError as error:
        raise DataError(str(error).replace("sample_weight", f"the column of weights {name!r}")) from None
    return weights


def _place_of(frame: Any, wanted: Any, what: str) -> int:
    """Return the place of the one column that has a name."""
    places = [i for i, name in enumerate(frame.columns) if name == wanted]
    if not places:
        names = list(map(str, frame.columns))
        raise DataError(
            f"there is no column {wanted!r}{meant(wanted, names)}; the columns are "
            f"{shortened(', '.join(names), 300)}"
        )
    if len(places) > 1:
        raise DataError(f"{len(places)} columns are called {wanted!r}; rename all but {what}")
    return places[0]


def _task_of(column: Any) -> Task:
    if types.is_bool_dtype(column.dtype) or not types.is_numeric_dtype(column.dtype):
        return "classification"
    is_two = column.nunique() == 2 and bool((column % 1 == 0).all())
    return "classification" if is_two else "regression"


def _with_categories(frame: Any) -> Any:
    """Return a table whose text is categories: each value is then looked at once, and not in every fold anew."""
    text = [
        i
        for i, dtype in enumerate(frame.dtypes)
        if not types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype)
        if types.infer_dtype(frame.iloc[:, i], skipna=True) == "string"
    ]
    columns = [
        frame.iloc[:, i].astype(object).astype("category") if i in text else frame.iloc[:, i]
        for i in range(frame.shape[1])
    ]
    return pd.concat(columns, axis=1)


def meant(name: Any, names: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant, as the end of a clause."""
    close = difflib.get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
