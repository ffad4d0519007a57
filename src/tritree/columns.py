"""Type of a column, inferred from its values: numbers, booleans, dates and times, text or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.dates import from_array, from_object
from tritree.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tritree.table import RawColumn

__all__ = [
    "LARGEST_EXACT",
    "TIME_TYPES",
    "TOO_LARGE",
    "UNSUPPORTED",
    "UNSUPPORTED_TYPES",
    "ColumnType",
    "TypedColumn",
    "is_missing",
    "is_too_large",
    "read_column",
]


class ColumnType(Enum):
    """Type of the observed values of a column. Model files hold the values of this enumeration."""

    NUMERIC = "numbers"
    BOOLEAN = "booleans"
    TEXT = "text"
    DATE = "dates"
    DURATION = "durations"
    TIME = "times of day"
    #: No value is observed.
    EMPTY = "nothing"
    #: Text that is different in almost every row, which is not learned from.
    IDENTIFIER = "identifiers"


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column whose observed values all have one type.

    Numeric and boolean ``values`` are float64 or float32, NaN where missing. So are dates and times, in microseconds.
    Those of text are int32 positions in ``labels``, -1 where missing; every label occurs.
    """

    #: Name, or position in a table without names.
    name: Any
    type: ColumnType
    values: NDArray[Any]
    is_categorical: bool
    order: tuple[Any, ...] | None
    labels: tuple[str, ...] = ()
    #: Time zone of dates; None if they have none.
    time_zone: str | None = None
    #: Whether the values are integers, none of them missing.
    is_integer: bool = False
    #: Row and value of the first whole number that float64 has rounded; None if there is none.
    rounded: tuple[int, Any] | None = None
    #: How many rows have each label, if ``values`` does not say it: in the summary of a column that comes in batches.
    counts: NDArray[np.int64] | None = None

    def label_counts(self) -> NDArray[np.int64]:
        """Return how many rows have each label."""
        if self.counts is not None:
            return self.counts
        return np.bincount(self.values[self.values >= 0], minlength=len(self.labels))


#: Types of dates and times, by their classes.
_TIME_TYPES: dict[ColumnType, tuple[type, ...]] = {
    ColumnType.DATE: (date, np.datetime64),
    ColumnType.DURATION: (timedelta, np.timedelta64),
    ColumnType.TIME: (time,),
}
TIME_TYPES = frozenset(_TIME_TYPES)

#: Unsupported values by NumPy's kind of their dtype ("t" and "l" are ours), and what to do about them.
UNSUPPORTED = {
    "M": ("dates", "turn it into a number (days since a date, or year, month and day)"),
    "m": ("durations", "turn it into a number (seconds, days)"),
    "t": ("times of day", "turn it into a number (seconds since midnight)"),
    "S": ("bytes", "decode it to text"),
    "V": ("records", "spread it over columns of numbers or text"),
    "l": ("lists", "spread it over columns of numbers"),
}
#: The kinds above by the name of a Python type.
UNSUPPORTED_TYPES = {
    **dict.fromkeys(("datetime", "date", "datetime64", "Timestamp"), "M"),
    **dict.fromkeys(("timedelta", "timedelta64", "Timedelta"), "m"),
    "time": "t",
    "bytes": "S",
    "dict": "V",
    **dict.fromkeys(("list", "tuple", "ndarray", "set", "frozenset", "Series"), "l"),
}
#: Beyond this number, float64 does not have every whole number.
LARGEST_EXACT = 2**53
#: How messages refer to a number that no float64 can hold; it may have thousands of digits.
TOO_LARGE = "a number beyond 1.8e308"

_MISSING_TYPES = ("NoneType", "NAType", "NaTType")


def is_missing(value: Any) -> bool:
    """Return whether a Python object is a missing value: None, NaN, NaT or pandas' NA."""
    if type(value).__name__ in _MISSING_TYPES:
        return True
    if type(value).__name__ == "Decimal":
        return bool(value.is_nan())
    return isinstance(value, (float, np.floating)) and bool(value != value)


def is_too_large(value: Any) -> bool:
    """Return whether a Python number is beyond the range of float64."""
    try:
        float(value)
    except (OverflowError, TypeError, ValueError) as error:
        return isinstance(error, OverflowError)
    return False


def read_column(raw: RawColumn, name: Any) -> TypedColumn:
    """Return the column with its type, or raise a ColumnError with a remedy."""
    labels = raw.labels
    rounded = None
    if labels is None:
        type_, values = _read_values(raw.values, name, int)
        if type_ is ColumnType.NUMERIC:
            rounded = _find_rounded(raw.values, values)
        if type_ is ColumnType.TEXT:
            values, labels = _factorize(values)
    else:
        codes, labels = _drop_unused_labels(raw.values, labels)
        type_, values = ColumnType.EMPTY, codes
        if len(labels):

            def row_of(position: int) -> int:
                return int(np.argmax(codes == position))

            type_, values = _read_values(labels, name, row_of)
            if type_ is ColumnType.NUMERIC and (found := _find_rounded(labels, values)) is not None:
                rounded = row_of(found[0]), found[1]
            # the code -1 of missing cells takes the last entry
            values = codes if type_ is ColumnType.TEXT else np.append(values, np.nan)[codes]
    texts = tuple(map(str, labels)) if labels is not None and type_ is ColumnType.TEXT else ()
    time_zone, is_integer = raw.time_zone, raw.labels is None and raw.values.dtype.kind in "iu"
    if type_ is ColumnType.DATE and raw.values.dtype.kind == "O":
        time_zone = _common_time_zone(raw.values, name)
    return TypedColumn(
        name, type_, values, raw.is_categorical, raw.order, texts, time_zone, is_integer, rounded
    )


def _drop_unused_labels(codes: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return codes and labels without the labels that do not occur or are missing values themselves."""
    is_used = np.zeros(len(labels) + 1, dtype=bool)
    is_used[codes] = True
    is_used[-1] = False
    if labels.dtype.kind == "O":
        is_used[:-1] &= ~np.fromiter(map(is_missing, labels.tolist()), dtype=bool, count=len(labels))
    new_codes = np.where(is_used, np.cumsum(is_used) - 1, -1).astype(np.int32)
    return new_codes[codes], labels[is_used[:-1]]


def _factorize(values: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return text as codes, -1 where missing, and the labels that they stand for."""
    listed = values.tolist()
    distinct = set(listed)
    labels = [value for value in distinct if not is_missing(value)]
    # missing values are keys as well, so that a row takes one lookup
    code = dict.fromkeys(distinct, -1) | {value: i for i, value in enumerate(labels)}
    codes = np.fromiter(map(code.__getitem__, listed), dtype=np.int32, count=len(listed))
    return codes, np.array(labels, dtype=object)


def _read_values(
    values: NDArray[Any], name: Any, row_of: Callable[[int], int]
) -> tuple[ColumnType, NDArray[Any]]:
    """Return the type of values, and the values: numbers as floats, text unchanged.

    ``row_of`` returns, for messages, the row of the value at a position.
    """
    kind = values.dtype.kind
    if values.ndim != 1:
        raise ColumnError(name, "holds arrays", "spread it over columns of numbers", can_drop=True)
    if kind in "Mm" and np.isnat(values).all():
        return ColumnType.EMPTY, values
    if kind in "Mm":
        return ColumnType.DATE if kind == "M" else ColumnType.DURATION, from_array(values)
    if kind in UNSUPPORTED:
        raise _unsupported(name, kind)
    if kind == "c":
        raise ColumnError(
            name, "holds complex numbers (Complex data not supported)", "pass real and imaginary parts"
        )
    if kind == "b":
        return ColumnType.BOOLEAN, values.astype(np.float32)
    if kind == "f" and _is_all_nan(values):
        return ColumnType.EMPTY, values
    if kind in "fiu":
        return ColumnType.NUMERIC, _to_floats(values)
    if kind == "U":
        return ColumnType.TEXT, values
    return _read_objects(values, name, row_of)


def _is_all_nan(values: NDArray[Any]) -> bool:
    # the first value decides for most columns; calls of NumPy would take longer than the fit of a small table
    return not (len(values) and values[0] == values[0]) and bool(np.isnan(values).all())


def _to_floats(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as float64 or float32, without a copy if the core can read them as they are."""
    if values.dtype in (np.float64, np.float32) and values.dtype.isnative:
        # strided views are fine, unaligned ones are not
        return values if values.flags.aligned else values.copy()
    is_narrow = values.dtype.itemsize <= 2  # float16, int8, int16: exact in single precision
    return values.astype(np.float32 if is_narrow else np.float64)


def _find_rounded(values: NDArray[Any], floats: NDArray[Any]) -> tuple[int, Any] | None:
    """Return the position and the value of the first number that is too large to be equal to its float."""
    if values.dtype.kind not in "iuO" or values.dtype.itemsize < 8:
        return None
    large = np.flatnonzero(np.abs(floats) >= LARGEST_EXACT)
    if values.dtype.kind == "O":
        differ = (i for i in large if isinstance(values[i], int | Decimal) and float(values[i]) != values[i])
        return next(((int(i), values[i]) for i in differ), None)
    numbers, found = values[large], floats[large]
    fits = np.abs(found) < 2.0 ** (
        63 if values.dtype.kind == "i" else 64
    )  # else it is no integer of the dtype
    is_rounded = np.where(fits, found, 0).astype(values.dtype) != numbers
    if not is_rounded.any():
        return None
    position = int(large[np.argmax(is_rounded)])
    return position, values[position].item()


def _read_objects(
    values: NDArray[Any], name: Any, row_of: Callable[[int], int]
) -> tuple[ColumnType, NDArray[Any]]:
    values = values.astype(object)
    listed = values.tolist()
    types = set(map(type, listed))
    # a float may be a NaN and so missing: whether floats are observed depends on the values
    float_types = set(filter(_is_float, types))
    observed_types = {t for t in types - float_types if t.__name__ not in _MISSING_TYPES}
    if float_types and not all(is_missing(value) for value in listed if type(value) in float_types):
        observed_types.add(float)
    if not observed_types:
        return ColumnType.EMPTY, values
    if all(issubclass(t, str) for t in observed_types):
        return ColumnType.TEXT, values
    for type_, classes in _TIME_TYPES.items():
        if all(issubclass(t, classes) for t in observed_types):
            return type_, np.array(
                [np.nan if is_missing(value) else from_object(value)[0] for value in listed]
            )
    are_boolean = [issubclass(t, (bool, np.bool_)) for t in observed_types]
    are_numbers = all(issubclass(t, Real) or t.__name__ == "Decimal" for t in observed_types)
    if not all(are_boolean) and (any(are_boolean) or not are_numbers):
        raise _unsupported_objects(name, listed, observed_types, row_of)
    try:
        numbers = np.array([np.nan if is_missing(value) else float(value) for value in listed])
    except OverflowError:
        position = next(i for i, value in enumerate(listed) if is_too_large(value))
        raise ColumnError(
            name,
            f"holds {TOO_LARGE} in row {row_of(position)}",
            "replace it by a smaller number or by a missing value (NaN)",
            row=row_of(position),
            value=listed[position],
        ) from None
    return ColumnType.BOOLEAN if all(are_boolean) else ColumnType.NUMERIC, numbers


def _common_time_zone(values: NDArray[Any], name: Any) -> str | None:
    """Return "UTC" if dates have a time zone, None if none has; raise a ColumnError if only some have."""
    have_zone = {from_object(value)[1] for value in values.tolist() if not is_missing(value)}
    if len(have_zone) > 1:
        raise ColumnError(name, "mixes dates with and without a time zone", "give all of them one, or none")
    return "UTC" if have_zone == {True} else None


def _is_float(t: type) -> bool:
    """Return whether values of a type may be NaN."""
    return issubclass(t, (float, np.floating)) or t.__name__ == "Decimal"


def _unsupported(name: Any, kind: str) -> ColumnError:
    values, remedy = UNSUPPORTED[kind]
    return ColumnError(name, f"holds {values}", remedy, can_drop=True)


def _unsupported_objects(
    name: Any, values: list[Any], types: set[type], row_of: Callable[[int], int]
) -> ColumnError:
    names = sorted(t.__name__ for t in types)
    if len(types) == 1:
        if names[0] in UNSUPPORTED_TYPES:
            return _unsupported(name, UNSUPPORTED_TYPES[names[0]])
        if names[0] == "Period":
            return ColumnError(
                name, "holds periods", "turn them into dates with .dt.to_timestamp()", can_drop=True
            )
        if names[0] == "Interval":
            remedy = "number them, for example with pd.cut(..., labels=False), or turn them into text"
            return ColumnError(name, "holds intervals", remedy)
        problem = f"holds objects of type {names[0]}"
        return ColumnError(name, problem, "turn it into numbers or text", can_drop=True)
    examples = []
    for t in sorted(types, key=lambda t: t.__name__)[:2]:
        # by exact type, since True is an int; all floats are one type
        position = next(
            i
            for i, value in enumerate(values)
            if (type(value) is t or (t is float and _is_float(type(value)))) and not is_missing(value)
        )
        examples.append(f"{values[position]!r} in row {row_of(position)}")
    return ColumnError(
        name,
        f"mixes values of type {', '.join(names)} ({', '.join(examples)})",
        "make all of them numbers or all of them text",
    )
