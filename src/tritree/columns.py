"""A column's content, told from its values: numbers, booleans, text, or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tritree.table import RawColumn

__all__ = [
    "REFUSED",
    "REFUSED_TYPES",
    "TOO_LARGE",
    "Column",
    "Content",
    "is_missing",
    "is_too_large",
    "read_column",
]


class Content(Enum):
    """What the observed values of a column are."""

    NUMBERS = "numbers"
    BOOLEANS = "booleans"
    TEXT = "text"
    #: No value is observed, so nothing is known about them.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Column:
    """A column with one content.

    ``values`` are float64 or float32, NaN where missing (numbers, and booleans as 0 and 1). Of text they are int32
    positions in ``labels``, -1 where missing; every label occurs.
    """

    #: Name, or position in a table without names.
    name: Any
    content: Content
    values: NDArray[Any]
    is_category: bool
    order: tuple[Any, ...] | None
    labels: tuple[str, ...] = ()


#: What a column holds by NumPy's letter of its type, and what to do about it
REFUSED = {
    "M": ("dates", "turn it into a number (days since a date, or year, month and day)"),
    "m": ("durations", "turn it into a number (seconds, days)"),
    "t": ("times of day", "turn it into a number (seconds since midnight)"),
    "S": ("bytes", "decode it to text"),
    "V": ("records", "spread it over columns of numbers or text"),
}
#: The same by the type of a Python object in it
REFUSED_TYPES = {
    "datetime": "M",
    "date": "M",
    "time": "t",
    "datetime64": "M",
    "Timestamp": "M",
    "Period": "M",
    "timedelta": "m",
    "timedelta64": "m",
    "Timedelta": "m",
    "bytes": "S",
    "dict": "V",
}


def is_missing(value: Any) -> bool:
    """Return whether a Python object stands for a missing cell: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if type(value).__name__ == "Decimal":
        return bool(value.is_nan())
    return isinstance(value, (float, np.floating)) and bool(value != value)


def read_column(raw: RawColumn, name: Any) -> Column:
    """Return the column with its content, or raise a ColumnError that names it and the remedy."""
    if raw.labels is not None:
        codes, labels = _used(raw.values, raw.labels)
        if not len(labels):
            return Column(name, Content.NOTHING, codes, raw.is_category, raw.order)
        content, values = _read_values(labels, name, lambda position: int(np.argmax(codes == position)))
        if content is not Content.TEXT:
            # the place after the last label is that of missing, whose code is -1
            values = np.append(values, np.nan)[codes]
    else:
        content, values = _read_values(raw.values, name, int)
        if content is Content.TEXT:
            codes, labels = _coded(values)
    if content is Content.TEXT:
        return Column(name, content, codes, raw.is_category, raw.order, tuple(map(str, labels)))
    return Column(name, content, values, raw.is_category, raw.order)


def _used(codes: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the codes and labels without the labels that do not occur or stand for missing themselves."""
    used = np.zeros(len(labels) + 1, dtype=bool)
    used[codes] = True
    used[-1] = False
    if labels.dtype.kind == "O":
        used[:-1] &= ~np.fromiter(map(is_missing, labels.tolist()), dtype=bool, count=len(labels))
    renumbered = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    return renumbered[codes], labels[used[:-1]]


def _coded(values: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return text, missing cells among it, as positions in its distinct values, and these."""
    listed = values.tolist()
    distinct = set(listed)
    labels = [value for value in distinct if not is_missing(value)]
    # by the objects that stand for missing too, so that a row costs one look
    code = dict.fromkeys(distinct, -1) | {value: i for i, value in enumerate(labels)}
    codes = np.fromiter(map(code.__getitem__, listed), dtype=np.int32, count=len(listed))
    return codes, np.array(labels, dtype=object)


def _read_values(
    values: NDArray[Any], name: Any, row_of: Callable[[int], int]
) -> tuple[Content, NDArray[Any]]:
    """Return what the values are, and the values: numbers as floats, all else as it is.

    A message speaks of the row that ``row_of`` gives for the position of a value.
    """
    kind = values.dtype.kind
    if values.ndim != 1:
        raise ColumnError(name, "holds arrays", "spread it over columns of numbers", can_drop=True)
    if kind in "Mm" and np.isnat(values).all():
        return Content.NOTHING, values
    if kind in REFUSED:
        raise _refusal(name, kind)
    if kind == "c":
        raise ColumnError(
            name, "holds complex numbers (Complex data not supported)", "pass real and imaginary parts"
        )
    if kind == "b":
        return Content.BOOLEANS, values.astype(np.float32)
    if kind == "f" and _is_empty(values):
        return Content.NOTHING, values
    if kind in "fiu":
        return Content.NUMBERS, _as_floats(values)
    if kind == "U":
        return Content.TEXT, values
    return _read_objects(values, name, row_of)


def _is_empty(values: NDArray[Any]) -> bool:
    """Return whether no float is observed: an empty column has the type of floats, whatever it would have held."""
    return bool(np.isnan(values[:8]).all() and np.isnan(values).all())


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as the core reads them, without a copy where they are so already."""
    if values.dtype in (np.float64, np.float32) and values.dtype.isnative:
        # a view is fine, but not one whose values lie across the boundaries of words
        return values if values.flags.aligned else values.copy()
    narrow = values.dtype.itemsize <= 2  # float16, int8, int16: exact in single precision
    return values.astype(np.float32 if narrow else np.float64)


def _read_objects(
    values: NDArray[Any], name: Any, row_of: Callable[[int], int]
) -> tuple[Content, NDArray[Any]]:
    values = values.astype(object)
    listed = values.tolist()
    types = set(map(type, listed))
    # a float may be a NaN that stands for missing, so whether floats are observed is a question of values
    floats = set(filter(_is_float, types))
    observed_types = {t for t in types - floats if t.__name__ not in _MISSING_TYPES}
    if floats and not all(is_missing(value) for value in listed if type(value) in floats):
        observed_types.add(float)
    content = _content(observed_types)
    if content is None:
        raise _mixture(name, listed, observed_types, row_of)
    if content in (Content.NUMBERS, Content.BOOLEANS):
        return content, _floats_of_objects(listed, name, row_of)
    return content, values


def _floats_of_objects(listed: list[Any], name: Any, row_of: Callable[[int], int]) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in listed])
    except OverflowError:
        at = next(i for i, value in enumerate(listed) if is_too_large(value))
        row = row_of(at)
        raise ColumnError(
            name,
            f"holds {TOO_LARGE} in row {row}",
            "replace it by a smaller number or by a missing value (NaN)",
            row=row,
            value=listed[at],
        ) from None


def is_too_large(value: Any) -> bool:
    """Return whether a Python number is beyond what a float64 can hold."""
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        pass
    return False


#: How a message speaks of a number that no float64 can hold; it may have thousands of digits.
TOO_LARGE = "a number beyond 1.8e308"

_MISSING_TYPES = ("NoneType", "NAType", "NaTType")


def _content(types: set[type]) -> Content | None:
    """Return what values of these types are together, or None if they do not go together."""
    if not types:
        return Content.NOTHING
    if all(issubclass(t, str) for t in types):
        return Content.TEXT
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return Content.BOOLEANS
    if all(_is_number(t) for t in types):
        return Content.NUMBERS
    return None


def _is_number(t: type) -> bool:
    return (issubclass(t, Real) or t.__name__ == "Decimal") and not issubclass(t, (bool, np.bool_))


def _is_of(value: Any, t: type) -> bool:
    """Return whether a value is of a type itself: True is no int here. All floats are one type."""
    return type(value) is t or (t is float and _is_float(type(value)))


def _is_float(t: type) -> bool:
    """Return whether values of a type may be NaN."""
    return issubclass(t, (float, np.floating)) or t.__name__ == "Decimal"


def _refusal(name: Any, kind: str) -> ColumnError:
    holds, remedy = REFUSED[kind]
    return ColumnError(name, f"holds {holds}", remedy, can_drop=True)


def _mixture(name: Any, values: list[Any], types: set[type], row_of: Callable[[int], int]) -> ColumnError:
    if len(types) == 1:
        type_name = next(iter(types)).__name__
        if type_name in REFUSED_TYPES:
            return _refusal(name, REFUSED_TYPES[type_name])
        if type_name in ("list", "tuple", "ndarray", "set", "frozenset", "Series"):
            return ColumnError(name, "holds lists", "spread it over columns of numbers", can_drop=True)
        if type_name == "Interval":
            return ColumnError(
                name,
                "holds intervals",
                "number them, for example with pd.cut(..., labels=False), or turn them into text",
            )
        return ColumnError(
            name, f"holds objects of type {type_name}", "turn it into numbers or text", can_drop=True
        )
    names = sorted(t.__name__ for t in types)
    examples = []
    for t in sorted(types, key=lambda t: t.__name__)[:2]:
        at = next(i for i, value in enumerate(values) if _is_of(value, t) and not is_missing(value))
        examples.append(f"{values[at]!r} in row {row_of(at)}")
    return ColumnError(
        name,
        f"mixes values of type {', '.join(names)} ({', '.join(examples)})",
        "make all of them numbers or all of them text",
    )
