"""The response, the classes and the weights, checked and as the core takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tritree.columns import REFUSED, REFUSED_TYPES, TOO_LARGE, is_missing, is_too_large
from tritree.table import read_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_weights", "read_classes", "read_numbers"]


def read_numbers(y: Any, n_rows: int, reader: str) -> NDArray[np.float64]:
    """Return the response of a regression."""
    values = _read(y, n_rows, reader)
    if values.dtype.kind in "OUST":
        _refuse_missing(values)
        _refuse_text(values)
    try:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except OverflowError:
        row = next(i for i, value in enumerate(values.tolist()) if is_too_large(value))
        raise ValueError(
            f"y holds {TOO_LARGE} in row {row}; drop such rows or replace it by a smaller number"
        ) from None
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers to be learned by a regression ({error}); use TrinaryTreeClassifier for classes"
        ) from None
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        if np.isnan(numbers[row]):
            raise _missing_response(row)
        raise ValueError(f"y holds {numbers[row]} in row {row}; drop such rows or replace infinite values")
    return numbers


def read_classes(y: Any, n_rows: int, reader: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the classes in sorted order and the class number of each row."""
    values = _plain_labels(_read(y, n_rows, reader))
    _refuse_missing(values)
    try:
        check_classification_targets(values)
        classes, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        types = sorted({type(value).__name__ for value in values.tolist()})
        raise ValueError(f"y mixes labels of type {', '.join(types)}; make all of them one type") from None
    return classes, numbers.astype(np.int32).ravel()


def _plain_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels in the type that scikit-learn knows them by: numbers kept as objects, NumPy's newer text."""
    if values.dtype.kind == "T":
        return np.array(values.tolist(), dtype=str)
    if values.dtype.kind == "S":
        raise ValueError(f"y holds bytes ({_shown(values[0])} in row 0); decode them to text")
    if values.dtype.kind != "O":
        return values
    listed = values.tolist()
    types = set(map(type, listed))
    if any(issubclass(t, bytes) for t in types):
        row = next(i for i, value in enumerate(listed) if isinstance(value, bytes))
        raise ValueError(f"y holds bytes ({_shown(listed[row])} in row {row}); decode them to text")
    return np.array(listed) if types and types <= {bool, int} and len(types) == 1 else values


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of the rows; None if all rows count the same."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(read_vector(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one number per row ({error})") from None
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else np.ascontiguousarray(weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, X has {n_rows} rows; give one weight per row"
        )
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"sample_weight holds {weights[row]} in row {row}; weights must be finite and not negative"
        )
    if not weights.any():
        raise ValueError("all weights in sample_weight are zero; at least one row must count")
    return weights


def _read(y: Any, n_rows: int, reader: str) -> NDArray[Any]:
    if y is None:
        raise ValueError(f"{reader} requires y to be passed, but the target y is None")
    plain = type(y) is np.ndarray and y.ndim == 1  # as most are: no library to be asked
    values: NDArray[Any] = y if plain else column_or_1d(read_vector(y), warn=True)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers")
    _refuse_dates_and_records(values)
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(values)}"
        )
    return values


def _refuse_dates_and_records(values: NDArray[Any]) -> None:
    """Raise a ValueError if y holds what is neither a number nor a label; NumPy would count nanoseconds."""
    kind: str = values.dtype.kind
    row = 0
    if kind == "O":
        listed = values.tolist()
        refused = {t for t in set(map(type, listed)) if REFUSED_TYPES.get(t.__name__, "S") != "S"}
        if not refused:
            return
        row = next(i for i, value in enumerate(listed) if type(value) in refused)
        kind = REFUSED_TYPES[type(listed[row]).__name__]
    elif kind not in "MmV" or len(values) == 0:
        return
    remedy = {
        "M": "turn them into numbers (days since a date), or into text if they are classes",
        "m": "turn them into numbers (seconds, days)",
        "V": "pass one of their fields",
    }[kind]
    raise ValueError(f"y holds {REFUSED[kind][0]} ({_shown(values[row])} in row {row}); {remedy}")


def _refuse_text(values: NDArray[Any]) -> None:
    """Raise a ValueError if there is text in y, also text that NumPy would read as a number."""
    is_text = [isinstance(value, (str, bytes)) for value in values.tolist()]
    if any(is_text):
        row = is_text.index(True)
        raise ValueError(
            f"y must hold numbers to be learned by a regression, and holds text ({_shown(values[row])} in row {row}); "
            "turn it into numbers, for example with y.astype(float), or use TrinaryTreeClassifier for classes"
        )


def _shown(value: Any) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def _refuse_missing(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f":
        holes = np.isnan(values)
    elif values.dtype.kind == "O":
        holes = np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=len(values))
    else:
        return
    if holes.any():
        raise _missing_response(int(np.argmax(holes)))


def _missing_response(row: int) -> ValueError:
    return ValueError(
        f"y is missing in row {row} (NaN or None); drop the rows without a response before fitting"
    )
