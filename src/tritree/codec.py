"""What training taught about the columns, and tables turned into the columns of the core by it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.columns import Column, Content, read_column
from tritree.errors import (
    ColumnError,
    ColumnMatchWarning,
    HighCardinalityWarning,
    ParameterError,
    UnknownCategoryError,
    list_names,
    warn_caller,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.table import Table

__all__ = ["MAX_CATEGORIES", "Codec", "LearnedColumn", "infinite_values_named"]

#: The most categories a column may have: as many as it has codes.
MAX_CATEGORIES = 65_534

MISSING, NEVER_SEEN = -1, -2
_WORDS = {Content.NUMBERS: "numbers", Content.BOOLEANS: "true and false", Content.TEXT: "text"}
# from so many categories on, a text column with nearly as many as it has rows is worth a word
_MANY_NAMES = 50
# the largest whole number below which every other one is a float64 of its own
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class LearnedColumn:
    """What training taught about one column."""

    #: Name, or position in a table without names.
    name: Any
    content: Content
    #: The categories in sorted order, their position is their number; None if the column is numeric.
    categories: tuple[Any, ...] | None = None
    #: The labels of ordered categories, lowest first; such a column is numeric, its values are positions in here.
    order: tuple[Any, ...] | None = None

    def encode(self, column: Column, *, refuse_unknown: bool = False) -> _core.Column | None:
        """Return the values as the core takes them; None if nothing is observed."""
        if column.content is Content.NOTHING or self.content is Content.NOTHING:
            return None
        if self.order is not None:
            return self._ranks(column)
        self._check_content(column)
        if self.categories is None:
            return column.values
        if self.content is Content.TEXT:
            numbers = _look_up(column.values, column.labels, self.categories)
        else:
            numbers = self._numbers_of_numbers(column.values)
        if refuse_unknown:
            self._refuse_unknown(column, numbers)
        return numbers

    def value(self, column: Column, row: int) -> Any:
        """Return the value in a row of a column to predict, as the user knows it."""
        value = column.values[row]
        if column.content is Content.TEXT:
            return column.labels[value]
        return float(value) if self.categories is None else _category(value, column.content)

    def _refuse_unknown(self, column: Column, numbers: NDArray[np.int32]) -> None:
        """Raise a ColumnError if a category was never seen in training."""
        assert self.categories is not None
        unknown = numbers == NEVER_SEEN
        if not unknown.any():
            return
        row = int(np.argmax(unknown))
        raise UnknownCategoryError(self.name, row, self.value(column, row), self.categories)

    def _check_content(self, column: Column) -> None:
        is_text, was_text = column.content is Content.TEXT, self.content is Content.TEXT
        if is_text != was_text:
            now, then = _WORDS[column.content], _WORDS[self.content]
            raise ColumnError(
                self.name,
                f"holds {now} now and held {then} in training",
                f"turn it back into {then}, or fit again",
            )

    def _ranks(self, column: Column) -> NDArray[np.float64]:
        assert self.order is not None
        codes, labels = column.values, column.labels
        if column.content is not Content.TEXT:
            observed = ~np.isnan(column.values)
            numbers, positions = np.unique(column.values[observed], return_inverse=True)
            codes, labels = np.full(len(column.values), MISSING), numbers.tolist()
            codes[observed] = positions
        found = _look_up(codes, labels, self.order)
        if NEVER_SEEN in found:
            row = int(np.argmax(found == NEVER_SEEN))
            raise ColumnError(
                self.name,
                f"holds {labels[codes[row]]!r} in row {row}, which is not one of its ordered categories "
                f"({', '.join(map(repr, self.order))})",
                "make it one of them or missing",
                row=row,
                value=labels[codes[row]],
            )
        return np.where(found == MISSING, np.nan, found.astype(np.float64))

    def _numbers_of_numbers(self, values: NDArray[Any]) -> NDArray[np.int32]:
        assert self.categories is not None
        known = np.asarray(self.categories, dtype=np.float64)
        numbers = np.full(len(values), NEVER_SEEN, dtype=np.int32)
        if len(known):
            nearest = np.minimum(np.searchsorted(known, values), len(known) - 1)
            seen = known[nearest] == values
            numbers[seen] = nearest[seen]
        numbers[np.isnan(values)] = MISSING
        return numbers


@dataclass(frozen=True)
class Codec:
    """The columns as training knew them."""

    columns: tuple[LearnedColumn, ...]
    #: What the columns of a frame are called; None if training had an array.
    keys: tuple[Any, ...] | None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Return the column names, if they are text."""
        return self.keys if self.keys is not None and isinstance(self.keys[0], str) else None

    @classmethod
    def learn(cls, table: Table, categorical_features: Any) -> tuple[Codec, list[_core.Column]]:
        """Return the codec of a training table and the table's columns as the core takes them."""
        chosen = _chosen(categorical_features, table)
        learned, encoded = [], []
        for position in range(table.n_columns):
            column = read_column(table.column(position), table.name(position))
            known = _learn_column(column, None if chosen is None else position in chosen)
            learned.append(known)
            values = known.encode(column)
            encoded.append(np.full(table.n_rows, np.nan, dtype=np.float32) if values is None else values)
        return cls(tuple(learned), None if table.keys is None else tuple(table.keys)), encoded

    @property
    def n_categories(self) -> list[int]:
        """Return the number of categories per column, -1 where it is numeric."""
        return [-1 if column.categories is None else len(column.categories) for column in self.columns]

    @cached_property
    def is_plain(self) -> bool:
        """Return whether every column is taken as the number it is."""
        numbers = (Content.NUMBERS, Content.BOOLEANS)
        return all(c.content in numbers and c.categories is None and c.order is None for c in self.columns)

    def encode(self, table: Table, reader: str, *, refuse_unknown: bool = False) -> list[_core.Column | None]:
        """Return the columns of a table to predict, in the order of training; None stands for an absent one."""
        return [
            None if column is None else learned.encode(column, refuse_unknown=refuse_unknown)
            for learned, column in self.match(table, reader)
        ]

    def match(self, table: Table, reader: str) -> Iterator[tuple[LearnedColumn, Column | None]]:
        """Yield the columns of training, each with that of a table to predict; None stands for an absent one."""
        for learned, position in zip(self.columns, self._positions(table, reader), strict=True):
            yield (
                learned,
                None if position is None else read_column(table.column(position), learned.name),
            )

    def _positions(self, table: Table, reader: str) -> Sequence[int | None]:
        """Return for each column of training where it stands in the table."""
        same_kind_of_names = (self.names is None) == (table.names is None)
        if self.keys is not None and table.keys is not None:
            if same_kind_of_names:
                return self._positions_by_key(self.keys, table.keys)
            # files turn names that are numbers into text
            ours, theirs = [str(key) for key in self.keys], [str(key) for key in table.keys]
            if set(ours) & set(theirs):
                return self._positions_by_key(ours, theirs)
        if table.n_columns != len(self.columns):
            raise ValueError(
                f"X has {table.n_columns} features, but {reader} is expecting {len(self.columns)} features as input."
            )
        if self.names is not None:
            warn_caller(
                f"X does not have valid feature names, but {reader} was fitted with feature names",
            )
        elif table.names is not None:
            warn_caller(f"X has feature names, but {reader} was fitted without feature names")
        return range(len(self.columns))

    @staticmethod
    def _positions_by_key(known: Sequence[Any], keys: Sequence[Any]) -> list[int | None]:
        position = {key: i for i, key in enumerate(keys)}
        absent = [key for key in known if key not in position]
        extra = [key for key in keys if key not in set(known)]
        if len(absent) == len(known):
            raise ValueError(
                f"the table has none of the columns of training ({list_names(known)}); it has {list_names(keys)}"
            )
        if absent:
            warn_caller(ColumnMatchWarning(absent=absent))
        if extra:
            warn_caller(ColumnMatchWarning(ignored=extra))
        return [position.get(key) for key in known]


def _learn_column(column: Column, chosen: bool | None) -> LearnedColumn:
    """Return what a training column teaches; ``chosen`` is None where its type decides whether it is categorical."""
    name, content = column.name, column.content
    if chosen is None:
        categorical = content in (Content.TEXT, Content.BOOLEANS) or column.is_category
        if column.order is not None:
            return LearnedColumn(name, content, order=_checked_order(column))
    else:
        categorical = chosen
    if not categorical or content is Content.NOTHING:
        if content is Content.TEXT:
            raise ColumnError(
                name,
                "holds text, which can only be categorical",
                "name it in categorical_features, use categorical_features='from_dtype', or turn it into numbers",
            )
        return LearnedColumn(name, content)
    categories = _distinct(column)
    if len(categories) > MAX_CATEGORIES:
        raise ColumnError(
            name,
            f"has {len(categories):,} categories, at most {MAX_CATEGORIES:,} are supported",
            "join rare categories",
            can_drop=True,
        )
    n_observed = int(np.count_nonzero(column.values >= 0))
    if content is Content.TEXT and len(categories) > max(_MANY_NAMES, 0.9 * n_observed):
        warn_caller(HighCardinalityWarning(name, len(categories), n_observed))
    return LearnedColumn(name, content, categories)


def _distinct(column: Column) -> tuple[Any, ...]:
    """Return the categories of a column in sorted order."""
    if column.content is Content.TEXT:
        return tuple(sorted(set(column.labels)))
    values = np.unique(column.values[~np.isnan(column.values)]).astype(np.float64)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(column.values)))
        raise _infinite(column.name, row, float(column.values[row]))
    _refuse_inexact(column.name, values.tolist())
    return tuple(_category(value, column.content) for value in values)


def _category(value: Any, content: Content) -> bool | int | float:
    """Return a category that is kept as a number as what it is to the user."""
    if content is Content.BOOLEANS:
        return bool(value)
    return int(value) if value == np.floor(value) else float(value)


def _refuse_inexact(name: Any, numbers: Sequence[Any]) -> None:
    if any(abs(number) >= _LARGEST_EXACT for number in numbers):
        raise ColumnError(
            name,
            f"is categorical with numbers from {_LARGEST_EXACT:,} on, which cannot be told apart",
            "turn it into text",
        )


def _checked_order(column: Column) -> tuple[Any, ...]:
    """Return the labels of ordered categories, used or not, as text and plain numbers."""
    assert column.order is not None
    order = tuple(float(label) if type(label).__name__ == "Decimal" else label for label in column.order)
    odd = next((label for label in order if not isinstance(label, (str, bool, int, float))), None)
    if odd is not None:
        raise ColumnError(
            column.name,
            f"has {odd!r} of type {type(odd).__name__} among its ordered categories",
            "make all of them text or numbers, or drop those that are not used",
        )
    if len({isinstance(label, str) for label in order}) > 1:
        raise ColumnError(
            column.name,
            "has text and numbers among its ordered categories",
            "make all of them text or all of them numbers, or drop those that are not used",
        )
    _refuse_inexact(column.name, [label for label in order if not isinstance(label, str)])
    return order


def _look_up(codes: NDArray[Any], labels: Sequence[Any], known: Sequence[Any]) -> NDArray[np.int32]:
    """Return for each code the position of its label among the known ones: NEVER_SEEN if it is none of them."""
    positions = {label: i for i, label in enumerate(known)}
    found = [positions.get(label, NEVER_SEEN) for label in labels]
    # a missing cell has the code -1, which takes what stands last
    numbers: NDArray[np.int32] = np.array([*found, MISSING], dtype=np.int32)[codes]
    return numbers


def _chosen(categorical_features: Any, table: Table) -> set[int] | None:
    """Return the positions of the columns to be categorical, or None where their types decide."""
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        raise ParameterError(
            "categorical_features",
            "'from_dtype', or a list of names, positions or booleans",
            categorical_features,
            none_means="no categorical columns",
        )
    if categorical_features is None:
        return set()
    entries = np.asarray(categorical_features, dtype=object).ravel().tolist()
    if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != table.n_columns:
            raise ValueError(
                f"categorical_features has {len(entries)} booleans for a table of {table.n_columns} columns; "
                "give one per column"
            )
        return {position for position, entry in enumerate(entries) if entry}
    return {_position(entry, table) for entry in entries}


def _position(entry: Any, table: Table) -> int:
    if isinstance(entry, str):
        if table.names is None:
            raise ValueError(
                f"categorical_features names {entry!r}, but the table has no column names; give positions instead"
            )
        if entry not in table.names:
            raise ValueError(
                f"categorical_features names {entry!r}, which is not a column of the table ({list_names(table.names)})"
            )
        return table.names.index(entry)
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
        position = int(entry)
        if 0 <= position < table.n_columns:
            return position
        raise ValueError(
            f"categorical_features holds the position {position}; the table's columns are 0 to {table.n_columns - 1}"
        )
    raise ValueError(
        f"categorical_features must list names, positions or one boolean per column, not {entry!r} among them"
    )


def _infinite(name: Any, row: int, value: float) -> ColumnError:
    return ColumnError(
        name,
        f"holds {value} in row {row}",
        "replace infinite values by a large number or by a missing value (NaN)",
        row=row,
        value=value,
    )


@contextmanager
def infinite_values_named(codec: Codec) -> Iterator[None]:
    """Word the core's complaint about an infinite value for the user, with the name of its column."""
    try:
        yield
    except _core.BadValue as bad:
        position, row, value = bad.args
        raise _infinite(codec.columns[position].name, row, value) from None
