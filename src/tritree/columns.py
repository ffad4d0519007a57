"""A column's content, told from its values: numbers, booleans, text, or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.table import RawColumn

__all__ = ["Column", "Content", "is_missing", "read_column"]


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

    ``values`` are float64 or float32, NaN where missing (numbers, and booleans as 0 and 1), or Python objects:
    text, or anything for which `is_missing` holds.
    """

    label: str
    content: Content
    values: NDArray[Any]
    is_category: bool
    order: tuple[Any, ...] | None


# what a column holds by NumPy's letter of its type, and what to do about it
_REFUSED = {
    "M": ("dates", "turn it into a number (days since a date, or year, month and day) or drop it"),
    "m": ("durations", "turn it into a number (seconds, days) or drop it"),
    "S": ("bytes", "decode it to text or drop it"),
    "V": ("records", "spread it over columns of numbers or text, or drop it"),
}
# the same by the type of a Python object in it
_REFUSED_TYPES = {
    "datetime": "M",
    "date": "M",
    "time": "M",
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
    return isinstance(value, (float, np.floating)) and bool(value != value)


def read_column(raw: RawColumn, label: str) -> Column:
    """Return the column with its content, or raise a ColumnError that names it and the remedy."""
    kind = raw.values.dtype.kind
    if raw.values.ndim != 1:
        raise ColumnError(f"{label} holds arrays; spread it over columns of numbers or drop it")
    if kind in _REFUSED:
        raise _refusal(label, kind)
    if kind == "c":
        raise ColumnError(
            f"Complex data not supported: {label} holds complex numbers; pass real and imaginary parts"
        )
    if kind == "b":
        return Column(label, Content.BOOLEANS, raw.values.astype(np.float32), raw.is_category, raw.order)
    if kind in "fiu":
        return Column(label, Content.NUMBERS, _as_floats(raw.values), raw.is_category, raw.order)
    return _read_objects(raw, label)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as the core reads them, without a copy where they are so already."""
    if values.dtype in (np.float64, np.float32) and values.dtype.isnative:
        # a view is fine, but not one whose values lie across the boundaries of words
        return values if values.flags.aligned else values.copy()
    narrow = values.dtype.itemsize <= 2  # float16, int8, int16: exact in single precision
    return values.astype(np.float32 if narrow else np.float64)


def _read_objects(raw: RawColumn, label: str) -> Column:
    values = raw.values.astype(object)
    listed = values.tolist()
    types = set(map(type, listed))
    # a float may be a NaN that stands for missing, so whether floats are observed is a question of values
    floats = {t for t in types if issubclass(t, (float, np.floating))}
    observed_types = {t for t in types - floats if t.__name__ not in _MISSING_TYPES}
    if floats and not all(is_missing(value) for value in listed if type(value) in floats):
        observed_types.add(float)
    content = _content(observed_types)
    if content is None:
        raise _mixture(label, listed, observed_types)
    if content in (Content.NUMBERS, Content.BOOLEANS):
        values = np.array([np.nan if is_missing(value) else float(value) for value in listed])
    return Column(label, content, values, raw.is_category, raw.order)


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


def _refusal(label: str, kind: str) -> ColumnError:
    holds, remedy = _REFUSED[kind]
    return ColumnError(f"{label} holds {holds}; {remedy}")


def _mixture(label: str, values: list[Any], types: set[type]) -> ColumnError:
    if len(types) == 1:
        name = next(iter(types)).__name__
        if name in _REFUSED_TYPES:
            return _refusal(label, _REFUSED_TYPES[name])
        if name in ("list", "tuple", "ndarray", "set", "frozenset", "Series"):
            return ColumnError(f"{label} holds lists; spread it over columns of numbers or drop it")
        return ColumnError(f"{label} holds objects of type {name}; turn it into numbers or text or drop it")
    names = sorted(t.__name__ for t in types)
    examples = []
    for t in sorted(types, key=lambda t: t.__name__)[:2]:
        row = next(i for i, value in enumerate(values) if isinstance(value, t) and not is_missing(value))
        examples.append(f"{values[row]!r} in row {row}")
    return ColumnError(
        f"{label} mixes values of type {', '.join(names)} ({', '.join(examples)}); "
        "make all of them numbers or all of them text"
    )
