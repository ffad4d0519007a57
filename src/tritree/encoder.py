"""Encoding of tables: fitted to the training table, then applied to tables to predict, matched by column name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.columns import LARGEST_EXACT, TIME_TYPES, ColumnType, TypedColumn, read_column
from tritree.dates import (
    DATE_PARTS,
    TimeFormat,
    find_text_format,
    from_text,
    has_zone,
    part_of,
    resolution_of,
)
from tritree.errors import (
    ColumnError,
    ColumnMatchWarning,
    DateTextWarning,
    IdentifierWarning,
    ParameterError,
    UnknownCategoryError,
    UnknownValuesWarning,
    list_names,
    warn_caller,
)
from tritree.identifiers import n_rows_of_identifier, warn_of_integer_identifier
from tritree.number_text import find_number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.table import Table

__all__ = [
    "MAX_CATEGORIES",
    "ColumnEncoder",
    "EncoderOptions",
    "TableEncoder",
    "categorical_positions",
    "column_errors",
    "infinite_value_error",
]

#: Maximum number of categories of a column.
MAX_CATEGORIES = 65_534

#: Codes of cells without a known category.
MISSING, UNKNOWN = -1, -2

# the largest number that LightGBM takes for zero, in absolute value: 1e-35 as float32, which is a little more
_ZERO = float(np.float32(1e-35))

# a column to predict is warned of if more than a share of its observed values, and more than a few, are unknown
_MIN_UNKNOWN = 5
_MAX_UNKNOWN = 0.5  # categories
_MAX_UNREADABLE = 0.01  # dates as text


@dataclass(frozen=True)
class EncoderOptions:
    """The parameters of estimators that concern the columns of the training table."""

    categorical_features: Any = "from_dtype"
    parse_dates: bool = True
    date_parts: Any = None
    drop_identifiers: bool = True


@dataclass(frozen=True, slots=True)
class ColumnEncoder:
    """Encoder of one column, fitted to its training values."""

    #: Name, or position in a table without names.
    name: Any
    type: ColumnType
    #: The categories in sorted order, which are encoded as their positions; None if the column is numeric.
    categories: tuple[Any, ...] | None = None
    #: The ordered categories, lowest first. Such a column is numeric: its values are encoded as positions in here.
    order: tuple[Any, ...] | None = None
    #: How dates, durations and times of day are read and written; None for other types.
    time: TimeFormat | None = None
    #: The part of dates that is encoded, such as "month"; None for the values themselves.
    part: str | None = None
    #: Whether numbers up to 1e-35 in absolute value are missing, as with LightGBM's zero_as_missing.
    zero_is_missing: bool = False

    @classmethod
    def fit(cls, column: TypedColumn, is_categorical: bool | None, options: EncoderOptions) -> ColumnEncoder:
        """Return the encoder of a training column; if ``is_categorical`` is None, the column's type decides."""
        if column.type in TIME_TYPES:
            resolution = resolution_of(column.values)
            return cls(
                column.name, column.type, time=TimeFormat(column.type.value, resolution, column.time_zone)
            )
        is_text = column.type is ColumnType.TEXT and not column.is_categorical and column.order is None
        if (
            options.parse_dates
            and is_text
            and not is_categorical
            and (found := _find_dates(column)) is not None
        ):
            warn_caller(DateTextWarning(column.name, str(found.text)))
            return cls(column.name, ColumnType(found.kind), time=found)
        if is_categorical is None:
            if column.order is not None:
                return cls(column.name, column.type, order=_check_order(column))
            number_text = find_number_text(column)
            if number_text is not None:
                warn_caller(number_text)
            if options.drop_identifiers and (n_observed := n_rows_of_identifier(column)):
                warn_caller(IdentifierWarning(column.name, len(column.labels), n_observed))
                return cls(column.name, ColumnType.IDENTIFIER)
            is_categorical = column.type in (ColumnType.TEXT, ColumnType.BOOLEAN) or column.is_categorical
        if column.type is ColumnType.EMPTY:
            return cls(column.name, column.type)
        if is_categorical:
            return cls(column.name, column.type, _find_categories(column))
        if column.type is ColumnType.TEXT:
            raise ColumnError(
                column.name,
                "holds text, which can only be categorical",
                "name it in categorical_features, use categorical_features='from_dtype', or turn it into numbers",
            )
        if column.rounded is not None:
            row, value = column.rounded
            raise ColumnError(
                column.name,
                f"holds {value} in row {row}, which becomes {int(float(value))}: whole numbers beyond 2**53 are "
                "rounded, and different ones become equal",
                "turn it into text if it is an identifier or a category, or divide it",
                can_drop=True,
                row=row,
                value=value,
            )
        warn_of_integer_identifier(column)
        return cls(column.name, column.type)

    @property
    def feature_name(self) -> Any:
        """The name that views show: that of the column, or of a part of it such as "sold.month"."""
        return self.name if self.part is None else f"{self.name}.{self.part}"

    def parts(self, names: Sequence[str], *, required: bool) -> list[ColumnEncoder]:
        """Return the encoders of parts of a column of dates; if ``required``, other columns raise a ColumnError."""
        if self.type is ColumnType.DATE:
            return [replace(self, part=name) for name in names]
        if required and names:
            raise ColumnError(self.name, f"holds {self.type.value}, no dates", "leave it out of date_parts")
        return []

    def encode(self, column: TypedColumn, *, refuse_unknown: bool = False) -> _core.Column | None:
        """Return the values as the core takes them; None if no value is observed."""
        if column.type is ColumnType.EMPTY or self.type in (ColumnType.EMPTY, ColumnType.IDENTIFIER):
            return None
        if self.time is not None:
            values = self._to_numbers(column, self.time)
            if column.type is ColumnType.TEXT and self.part is None:
                self._warn_of_unknown(column, np.isnan(values) & (column.values >= 0), _MAX_UNREADABLE)
            return values if self.part is None else part_of(self.part, values, self.time.time_zone)
        if self.order is None:
            self._check_type(column)
        known = self.categories if self.order is None else self.order
        if known is None and self.zero_is_missing:
            return np.where(np.abs(column.values) <= _ZERO, np.nan, column.values)
        if known is None:
            return column.values
        codes = _find_codes(column, known)
        if not refuse_unknown:
            self._warn_of_unknown(column, codes == UNKNOWN, _MAX_UNKNOWN)
        if (refuse_unknown or self.order is not None) and (unknown := codes == UNKNOWN).any():
            row = int(np.argmax(unknown))
            value = self.value(column, row)
            if self.order is None:
                raise UnknownCategoryError(self.name, row, value, known)
            raise ColumnError(
                self.name,
                f"holds {value!r} in row {row}, which is not one of its ordered categories "
                f"({', '.join(map(repr, known))})",
                "make it one of them or missing",
                row=row,
                value=value,
            )
        return codes if self.order is None else np.where(codes == MISSING, np.nan, codes)

    def _warn_of_unknown(self, column: TypedColumn, unknown: NDArray[np.bool_], max_share: float) -> None:
        """Warn if more than a share of the observed values, and more than a few, are unknown."""
        n_unknown = int(np.count_nonzero(unknown))
        if n_unknown < _MIN_UNKNOWN:
            return
        is_observed = column.values >= 0 if column.type is ColumnType.TEXT else ~np.isnan(column.values)
        n_rows = int(np.count_nonzero(is_observed))
        if n_unknown <= max_share * n_rows:
            return
        row = int(np.argmax(unknown))
        value: Any = (
            column.labels[column.values[row]] if column.type is ColumnType.TEXT else self.value(column, row)
        )
        known = list_names(self.categories or ()) if self.time is None else str(self.time.text or "ISO 8601")
        warn_caller(
            UnknownValuesWarning(self.name, n_unknown, n_rows, value, known, is_date=self.time is not None)
        )

    def encode_training(self, column: TypedColumn, n_rows: int) -> _core.Column:
        """Return the values of a training column as the core takes them."""
        values = self.encode(column)
        return self.all_missing(n_rows) if values is None else values

    def all_missing(self, n_rows: int) -> _core.Column:
        """Return a column without any value as the core takes it."""
        if self.categories is None:
            return np.full(n_rows, np.nan, dtype=np.float32)
        return np.full(n_rows, MISSING, dtype=np.int32)

    def _to_numbers(self, column: TypedColumn, format_: TimeFormat) -> NDArray[np.float64]:
        """Return dates, durations or times of a column to predict, which may be text, in microseconds."""
        if column.type is not ColumnType.TEXT:
            if column.type is not self.type:
                raise self._changed_type(column)
            if (column.time_zone is None) != (format_.time_zone is None):
                now, then = ("a", "none") if format_.time_zone is None else ("no", "one")
                problem = f"holds dates with {now} time zone now and had {then} in training"
                raise ColumnError(self.name, problem, "convert it as in training, or fit again")
            return column.values
        numbers = np.array([format_.parse(label) for label in column.labels])
        if np.isnan(numbers).all():
            problem = f"holds text that is no {format_.kind.removesuffix('s')}, such as {column.labels[0]!r}"
            raise ColumnError(self.name, problem, f"write it {format_.how_to_write}")
        found: NDArray[np.float64] = np.append(numbers, np.nan)[column.values]
        return found

    def value(self, column: TypedColumn, row: int) -> Any:
        """Return the value in a row of a column to predict, in its original type; dates and times as text."""
        if self.time is not None:
            number = self._to_numbers(column, self.time)[row : row + 1]
            if self.part is not None:
                return float(part_of(self.part, number, self.time.time_zone)[0])
            return self.time.write(float(number[0]))
        value = column.values[row]
        if column.type is ColumnType.TEXT:
            return column.labels[value]
        return float(value) if self.categories is None else _to_category(value, column.type)

    def _check_type(self, column: TypedColumn) -> None:
        if (column.type is ColumnType.TEXT) != (self.type is ColumnType.TEXT) or column.type in TIME_TYPES:
            raise self._changed_type(column)

    def _changed_type(self, column: TypedColumn) -> ColumnError:
        now, then = column.type.value, self.type.value
        problem = f"holds {now} now and held {then} in training"
        return ColumnError(self.name, problem, f"turn it back into {then}, or fit again")


@dataclass(frozen=True)
class TableEncoder:
    """Encoder of tables, fitted to the training table."""

    #: An encoder per column of the table, followed by those of its parts if it holds dates.
    columns: tuple[ColumnEncoder, ...]
    #: Column names of any type; None if training had an array.
    column_names: tuple[Any, ...] | None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()  # another thread may cache a property while this is pickled

    @cached_property
    def n_inputs(self) -> int:
        """Number of columns of the table."""
        return sum(column.part is None for column in self.columns)

    @cached_property
    def input_names(self) -> tuple[str, ...] | None:
        """The column names of the table if they are text, as scikit-learn's ``feature_names_in_``."""
        return self.column_names if self.column_names and isinstance(self.column_names[0], str) else None

    @cached_property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns that the core gets, parts of dates included; None if they are not text."""
        if self.input_names is None:
            return None
        return tuple(str(column.feature_name) for column in self.columns)

    @classmethod
    def fit(cls, table: Table, options: EncoderOptions) -> tuple[TableEncoder, list[_core.Column]]:
        """Return the encoder of a training table, and its encoded columns."""
        columns = (
            read_column(table.column(position), table.name(position)) for position in range(table.n_columns)
        )
        encoders, encoded = [], []
        for column, own in _fit_columns(columns, table, options):
            encoders += own
            encoded += [encoder.encode_training(column, table.n_rows) for encoder in own]
        return cls(tuple(encoders), _names_of(table)), encoded

    @classmethod
    def fit_columns(
        cls, columns: Iterable[TypedColumn], table: Table, options: EncoderOptions
    ) -> TableEncoder:
        """Return the encoder of columns that are summaries of a table's, one of whose batches is given."""
        fitted = [encoder for _, own in _fit_columns(columns, table, options) for encoder in own]
        return cls(tuple(fitted), _names_of(table))

    @property
    def n_categories(self) -> list[int]:
        """Return the number of categories per column, -1 where it is numeric."""
        return [-1 if column.categories is None else len(column.categories) for column in self.columns]

    @cached_property
    def is_numeric(self) -> bool:
        """Return whether every column is passed to the core as it is, without categories."""
        numeric = (ColumnType.NUMERIC, ColumnType.BOOLEAN)
        return all(
            c.type in numeric and c.categories is None and c.order is None and not c.zero_is_missing
            for c in self.columns
        )

    def encode(
        self, table: Table, estimator_name: str, *, refuse_unknown: bool = False
    ) -> list[_core.Column | None]:
        """Return the encoded columns of a table to predict, in the order of training; None if absent or empty."""
        return [
            None if column is None else encoder.encode(column, refuse_unknown=refuse_unknown)
            for encoder, column in self.match(table, estimator_name)
        ]

    def match(self, table: Table, estimator_name: str) -> Iterator[tuple[ColumnEncoder, TypedColumn | None]]:
        """Yield the encoder of each training column with the column of a table to predict; None if it is absent."""
        positions, column = iter(self._positions(table, estimator_name)), None
        for encoder in self.columns:
            if encoder.part is None:
                position = next(positions)
                column = None if position is None else read_column(table.column(position), encoder.name)
            yield encoder, column

    def _positions(self, table: Table, estimator_name: str) -> Sequence[int | None]:
        """Return the position in the table of each training column; None if it is absent."""
        if self.column_names is not None and table.column_names is not None:
            if (self.input_names is None) == (table.feature_names is None):
                return _match_names(self.column_names, table.column_names)
            # files turn names that are numbers into text
            known, names = list(map(str, self.column_names)), list(map(str, table.column_names))
            if set(known) & set(names):
                return _match_names(known, names)
        # messages from here on are scikit-learn's
        if table.n_columns != self.n_inputs:
            raise ValueError(
                f"X has {table.n_columns} features, but {estimator_name} is expecting {self.n_inputs} features as "
                "input."
            )
        if self.input_names is not None:
            warn_caller(
                f"X does not have valid feature names, but {estimator_name} was fitted with feature names"
            )
        elif table.feature_names is not None:
            warn_caller(f"X has feature names, but {estimator_name} was fitted without feature names")
        return range(self.n_inputs)


def _fit_columns(
    columns: Iterable[TypedColumn], table: Table, options: EncoderOptions
) -> Iterator[tuple[TypedColumn, list[ColumnEncoder]]]:
    """Yield each training column with its encoder and those of its parts."""
    categorical = categorical_positions(options.categorical_features, table)
    parts = _find_parts(options.date_parts, table)
    for position, column in enumerate(columns):
        own = ColumnEncoder.fit(column, None if categorical is None else position in categorical, options)
        own_parts = own.parts(parts.get(position, ()), required=isinstance(options.date_parts, dict))
        yield column, [own, *own_parts]


def _names_of(table: Table) -> tuple[Any, ...] | None:
    return None if table.column_names is None else tuple(table.column_names)


def _match_names(known: Sequence[Any], names: Sequence[Any]) -> list[int | None]:
    """Return the position among names of each known name; warn of those that have no counterpart."""
    position, known_set = {name: i for i, name in enumerate(names)}, set(known)
    absent = [name for name in known if name not in position]
    ignored = [name for name in names if name not in known_set]
    if len(absent) == len(known):
        raise ValueError(
            f"the table has none of the columns of training ({list_names(known)}); it has {list_names(names)}"
        )
    if absent:
        warn_caller(ColumnMatchWarning(absent=absent))
    if ignored:
        warn_caller(ColumnMatchWarning(ignored=ignored))
    return [position.get(name) for name in known]


def _find_categories(column: TypedColumn) -> tuple[Any, ...]:
    """Return the categories of a training column in sorted order, or raise a ColumnError."""
    categories: tuple[Any, ...]
    if column.type is ColumnType.TEXT:
        categories = tuple(sorted(set(column.labels)))
    else:
        values = np.unique(column.values[~np.isnan(column.values)]).astype(np.float64)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise infinite_value_error(column.name, row, float(column.values[row]))
        _check_exact(column.name, values.tolist())
        categories = tuple(_to_category(value, column.type) for value in values)
    if len(categories) > MAX_CATEGORIES:
        raise ColumnError(
            column.name,
            f"has {len(categories):,} categories, at most {MAX_CATEGORIES:,} are supported",
            "join rare categories",
            can_drop=True,
        )
    return categories


def _find_dates(column: TypedColumn) -> TimeFormat | None:
    """Return the format of a text column that holds dates or times of day; None if it does not."""
    if (name := find_text_format(column.labels, column.label_counts())) is None:
        return None
    numbers = np.array([from_text(label, name) for label in column.labels])
    kind = ColumnType.TIME if name == "time of day" else ColumnType.DATE
    time_zone = "UTC" if any(map(has_zone, column.labels[:100])) and kind is ColumnType.DATE else None
    return TimeFormat(kind.value, resolution_of(numbers), time_zone, name)


def _find_parts(date_parts: Any, table: Table) -> dict[int, tuple[str, ...]]:
    """Return the parts of dates to add, by the position of their column."""
    if date_parts is None:
        return {}
    if isinstance(date_parts, dict):
        return {_find_position(column, table): _check_parts(parts) for column, parts in date_parts.items()}
    return dict.fromkeys(range(table.n_columns), _check_parts(date_parts))


def _check_parts(parts: Any) -> tuple[str, ...]:
    listed = (parts,) if isinstance(parts, str) else tuple(parts)
    if not listed or any(part not in DATE_PARTS for part in listed) or len(set(listed)) < len(listed):
        raise ParameterError("date_parts", f"a list of some of {', '.join(map(repr, DATE_PARTS))}", parts)
    return listed


def _to_category(value: Any, type_: ColumnType) -> bool | int | float:
    """Return a category that is stored as a float in the type of its column."""
    if type_ is ColumnType.BOOLEAN:
        return bool(value)
    return int(value) if value == np.floor(value) else float(value)


def _check_exact(name: Any, numbers: Sequence[Any]) -> None:
    """Raise a ColumnError if numeric categories are so large that different ones may be the same float."""
    if any(abs(number) >= LARGEST_EXACT for number in numbers):
        raise ColumnError(
            name,
            f"is categorical with numbers from {LARGEST_EXACT:,} on, which cannot be told apart",
            "turn it into text",
        )


def _check_order(column: TypedColumn) -> tuple[Any, ...]:
    """Return the ordered categories, used or not, as text or plain numbers, or raise a ColumnError."""
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
    _check_exact(column.name, [label for label in order if not isinstance(label, str)])
    return order


def _find_codes(column: TypedColumn, known: Sequence[Any]) -> NDArray[np.int32]:
    """Return the positions of values among known ones; MISSING and UNKNOWN for those that have none."""
    if column.type is ColumnType.TEXT:
        positions = {label: i for i, label in enumerate(known)}
        codes = [positions.get(label, UNKNOWN) for label in column.labels]
        # the code -1 of a missing cell takes the last entry
        mapped: NDArray[np.int32] = np.array([*codes, MISSING], dtype=np.int32)[column.values]
        return mapped
    numbers = np.array([label for label in known if not isinstance(label, str)], dtype=np.float64)
    found = np.full(len(column.values), UNKNOWN, dtype=np.int32)
    if len(numbers):
        order = np.argsort(numbers)
        nearest = order[np.minimum(np.searchsorted(numbers[order], column.values), len(numbers) - 1)]
        is_known = numbers[nearest] == column.values
        found[is_known] = nearest[is_known]
    found[np.isnan(column.values)] = MISSING
    return found


def categorical_positions(categorical_features: Any, table: Table) -> set[int] | None:
    """Return the positions of the categorical columns, or None if the types of columns decide."""
    if categorical_features is None:
        return set()
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        raise ParameterError(
            "categorical_features",
            "'from_dtype', or a list of names, positions or booleans",
            categorical_features,
            none_means="no categorical columns",
        )
    entries = np.asarray(categorical_features, dtype=object).ravel().tolist()
    if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != table.n_columns:
            raise ValueError(
                f"categorical_features has {len(entries)} booleans for a table of {table.n_columns} columns; "
                "pass one per column"
            )
        return set(np.flatnonzero(entries).tolist())
    return {_find_position(entry, table) for entry in entries}


def _find_position(entry: Any, table: Table) -> int:
    """Return the position of a column, given its name or position in ``categorical_features``."""
    names = table.feature_names
    if isinstance(entry, str) and names is not None:
        if entry in names:
            return names.index(entry)
        problem = f"names {entry!r}, which is not a column of the table ({list_names(names)})"
    elif isinstance(entry, str):
        problem = f"names {entry!r}, but the table has no column names; give positions instead"
    elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
        if 0 <= entry < table.n_columns:
            return int(entry)
        problem = f"holds the position {entry}; the table's columns are 0 to {table.n_columns - 1}"
    else:
        problem = f"must list names, positions or one boolean per column, not {entry!r} among them"
    raise ValueError(f"categorical_features {problem}")


def infinite_value_error(name: Any, row: int, value: float) -> ColumnError:
    """Return the error about an infinite value in a numeric column."""
    return ColumnError(
        name,
        f"holds {value} in row {row}",
        "replace infinite values by a large number or by a missing value (NaN)",
        row=row,
        value=value,
    )


@contextmanager
def column_errors(encoder: TableEncoder) -> Iterator[None]:
    """Raise the core's error about an infinite value as a ColumnError that names the column."""
    try:
        yield
    except _core.InfiniteValueError as bad:
        position, row, value = bad.args
        raise infinite_value_error(encoder.columns[position].name, row, value) from None
