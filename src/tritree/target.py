"""The response, the classes and the weights, checked and as the core takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tritree.columns import REFUSED, REFUSED_TYPES, TOO_LARGE, is_missing, is_too_large
from tritree.errors import ParameterError, SampleWeightError, TargetError, shortened
from tritree.table import read_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_weights", "read_classes", "read_numbers", "weigh_classes"]


def read_numbers(y: Any, n_rows: int, reader: str) -> NDArray[np.float64]:
    """Return the response of a regression."""
    values = _read(y, n_rows, reader)
    if values.dtype.kind in "OUST":
        _refuse_missing(values)
        _refuse_text(values, _for_classes(reader))
    try:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except OverflowError:
        row = next(i for i, value in enumerate(values.tolist()) if is_too_large(value))
        raise TargetError(
            f"holds {TOO_LARGE} in row {row}", "drop such rows or replace it by a smaller number", row=row
        ) from None
    except (TypeError, ValueError) as error:
        raise TargetError(
            f"must hold numbers to be learned by a regression ({error})",
            f"use {_for_classes(reader)} for classes",
        ) from None
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        if np.isnan(numbers[row]):
            raise _missing_target(row)
        raise _infinite_target(numbers[row], row)
    return numbers


def read_classes(y: Any, n_rows: int, reader: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the classes in sorted order and the class number of each row."""
    values = _read(y, n_rows, reader)
    _refuse_missing(values)
    _refuse_too_large(values, reader)
    values = _plain_labels(values)
    try:
        check_classification_targets(values)
        classes, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise _mixed(set(map(type, values.tolist()))) from None
    return classes, numbers.astype(np.int32).ravel()


def _plain_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels in the type that scikit-learn knows them by: numbers kept as objects, NumPy's newer text."""
    if values.dtype.kind == "T":
        return np.array(values.tolist(), dtype=str)
    if values.dtype.kind == "S":
        raise _bytes(values[0], 0)
    if values.dtype.kind != "O":
        return values
    listed = values.tolist()
    types = set(map(type, listed))
    if any(issubclass(t, bytes) for t in types):
        row = next(i for i, value in enumerate(listed) if isinstance(value, bytes))
        raise _bytes(listed[row], row)
    truths = {t for t in types if issubclass(t, (bool, np.bool_))}
    if truths and types - truths:  # NumPy would take all of them for numbers
        raise _mixed(types)
    whole = types and all(issubclass(t, (int, np.integer, np.bool_)) for t in types)
    return np.array(listed) if whole else values


def _bytes(value: Any, row: int) -> TargetError:
    return TargetError(
        f"holds bytes ({_shown(value)} in row {row})", "decode them to text", row=row, value=value
    )


def _mixed(types: set[type]) -> TargetError:
    names = ", ".join(sorted(t.__name__ for t in types))
    return TargetError(f"mixes labels of type {names}", "make all of them one type")


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of the rows; None if all rows count the same."""
    if sample_weight is None:
        return None
    given = _unmixed(read_vector(sample_weight))
    if isinstance(given, np.ndarray) and given.dtype == object:
        holes = [is_missing(value) for value in given.ravel().tolist()]
        if any(holes):
            row = holes.index(True)
            raise SampleWeightError(
                f"is missing in row {row}", "give every row a weight, 0 if it is not to count", row=row
            )
    try:
        if np.asarray(given).dtype.kind in "US":
            raise TypeError("it holds text")
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SampleWeightError(f"must hold one number per row ({error})") from None
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else np.ascontiguousarray(weights)
    if weights.shape != (n_rows,):
        raise SampleWeightError(f"has shape {weights.shape}, X has {n_rows} rows", "give one weight per row")
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise SampleWeightError(
            f"holds {weights[row]} in row {row}",
            "weights must be finite and not negative",
            row=row,
            value=float(weights[row]),
        )
    if not weights.any():
        raise SampleWeightError("is zero in every row", "at least one row must have a positive weight")
    return weights


def weigh_classes(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return the weights of rows with these labels, those of their classes included."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, dict):
        for label, given in class_weight.items():
            if not isinstance(given, (int, float, np.number)) or not 0 <= given < np.inf:
                raise ValueError(
                    f"class_weight gives {label!r} the weight {given!r}; weights must be finite and not negative"
                )
        _refuse_unknown_class(class_weight, classes.tolist())
        class_weight = {label: class_weight.get(label, 1.0) for label in classes.tolist()}
    elif not isinstance(class_weight, str) or class_weight != "balanced":
        raise ParameterError("class_weight", "None, 'balanced' or a dict of class to weight", class_weight)
    of_class: NDArray[np.float64] = compute_sample_weight(class_weight, labels)
    if not of_class.any():
        raise ValueError("class_weight gives every class of y the weight 0; at least one must count")
    if weight is None:
        return of_class
    if not (both := of_class * weight).any():
        raise ValueError(
            "class_weight and sample_weight together give every row the weight 0; at least one must count"
        )
    return both


def _refuse_unknown_class(class_weight: dict[Any, Any], classes: list[Any]) -> None:
    """Raise a ValueError if weights have a class that y does not have, unless every class of y has one, too."""
    unknown = [label for label in class_weight if label not in classes]
    if unknown and any(label not in class_weight for label in classes):
        raise ValueError(
            f"class_weight has {unknown[0]!r}, which is no class of y; the classes are {shortened(classes)}"
        )


def _read(y: Any, n_rows: int, reader: str) -> NDArray[Any]:
    if y is None:
        raise ValueError(f"{reader} requires y to be passed, but the target y is None")
    plain = type(y) is np.ndarray and y.ndim == 1  # as most are: no library to be asked
    values: NDArray[Any] = y if plain else column_or_1d(_unmixed(read_vector(y)), warn=True)
    if values.dtype.kind == "c":
        raise TargetError("holds complex numbers (Complex data not supported)")
    _refuse_dates_and_records(values)
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(values)}"
        )
    return values


def _unmasked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    if not np.ma.is_masked(values):
        return values.data
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _unmixed(values: Any) -> Any:
    """Return masked cells as missing ones, and a list of several types as objects: NumPy would make all of it text."""
    if isinstance(values, np.ma.MaskedArray):
        return _unmasked(values)
    if isinstance(values, (list, tuple)) and len(set(map(type, values))) > 1:
        array = np.asarray(values)
        return np.asarray(values, dtype=object) if array.ndim == 1 and array.dtype.kind in "US" else array
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
    raise TargetError(
        f"holds {REFUSED[kind][0]} ({_shown(values[row])} in row {row})", remedy, row=row, value=values[row]
    )


def _for_classes(reader: str) -> str:
    return reader.replace("Regressor", "Classifier")


def _refuse_text(values: NDArray[Any], for_classes: str) -> None:
    """Raise a ValueError if there is text in y, also text that NumPy would read as a number."""
    is_text = [isinstance(value, (str, bytes)) for value in values.tolist()]
    if any(is_text):
        row = is_text.index(True)
        raise TargetError(
            f"must hold numbers to be learned by a regression, and holds text ({_shown(values[row])} in row {row})",
            f"turn it into numbers, for example with y.astype(float), or use {for_classes} for classes",
            row=row,
            value=values[row],
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
        raise _missing_target(int(np.argmax(holes)))


def _refuse_too_large(values: NDArray[Any], reader: str) -> None:
    """Raise a ValueError if a number among labels is infinite or beyond 64 bits, which no label may be."""
    if values.dtype.kind == "f":
        fits = (values >= np.float64(-(2**63))) & (values < np.float64(2**63))
    elif values.dtype.kind == "O":
        fits = np.fromiter(map(_fits_64_bits, values.tolist()), dtype=bool, count=len(values))
    else:
        return
    if fits.all():
        return
    row = int(np.argmin(fits))
    value = values.tolist()[row]
    beyond = is_too_large(value)
    if not beyond and np.isinf(float(value)):
        raise _infinite_target(value, row)
    raise TargetError(
        f"holds {TOO_LARGE if beyond else repr(value)} in row {row}, which is too large for a class",
        "drop such rows or turn the classes into text, or use "
        f"{reader.replace('Classifier', 'Regressor')} for numbers",
        row=row,
        value=value,
    )


def _fits_64_bits(value: Any) -> bool:
    plain = value.item() if isinstance(value, np.generic) else value
    return not isinstance(plain, (int, float)) or -(2**63) <= plain < 2**64


def _infinite_target(value: Any, row: int) -> TargetError:
    return TargetError(
        f"holds {value} in row {row}", "drop such rows or replace infinite values", row=row, value=value
    )


def _missing_target(row: int) -> TargetError:
    return TargetError(
        f"is missing in row {row} (NaN or None)", "drop the rows without a target before fitting", row=row
    )
