"""Target, classes and sample weights: checked, and converted to what the core takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tritree.columns import TOO_LARGE, UNSUPPORTED, UNSUPPORTED_TYPES, is_missing, is_too_large
from tritree.errors import ParameterError, SampleWeightError, TargetError, shortened
from tritree.table import read_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "apply_class_weight",
    "check_sample_weight",
    "read_classification_target",
    "read_regression_target",
]


def read_regression_target(y: Any, n_rows: int, estimator_name: str) -> NDArray[np.float64]:
    """Return the target of a regression, or raise a TargetError."""
    values = _read(y, n_rows, estimator_name)
    classifier = estimator_name.replace("Regressor", "Classifier")
    if values.dtype.kind in "OUST":
        _check_not_missing(values)
        _check_not_text(values, classifier)
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
            f"use {classifier} for classes",
        ) from None
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        if np.isnan(numbers[row]):
            raise _missing_target(row)
        raise _infinite_target(numbers[row], row)
    return numbers


def read_classification_target(
    y: Any, n_rows: int, estimator_name: str
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes, and the position among them of each row's class; or raise a TargetError."""
    values = _read(y, n_rows, estimator_name)
    _check_not_missing(values)
    _check_label_size(values, estimator_name.replace("Classifier", "Regressor"))
    values = _to_labels(values)
    try:
        check_classification_targets(values)
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise _mixed_types(set(map(type, values.tolist()))) from None
    return classes, codes.astype(np.int32).ravel()


def _to_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return class labels in a dtype that scikit-learn supports: integers that are objects, NumPy's StringDType."""
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
    boolean_types = {t for t in types if issubclass(t, (bool, np.bool_))}
    if boolean_types and types - boolean_types:  # NumPy would turn all of them into numbers
        raise _mixed_types(types)
    are_integers = types and all(issubclass(t, (int, np.integer, np.bool_)) for t in types)
    return np.array(listed) if are_integers else values


def _bytes(value: Any, row: int) -> TargetError:
    return TargetError(
        f"holds bytes ({_shown(value)} in row {row})", "decode them to text", row=row, value=value
    )


def _mixed_types(types: set[type]) -> TargetError:
    names = ", ".join(sorted(t.__name__ for t in types))
    return TargetError(f"mixes labels of type {names}", "make all of them one type")


def check_sample_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the sample weights; None if all samples have equal weight."""
    if sample_weight is None:
        return None
    values = _to_array(read_vector(sample_weight))
    if isinstance(values, np.ndarray) and values.dtype == object:
        missing = [is_missing(value) for value in values.ravel().tolist()]
        if any(missing):
            row = missing.index(True)
            raise SampleWeightError(f"is missing in row {row}", "give every row a weight, or 0", row=row)
    try:
        if np.asarray(values).dtype.kind in "US":
            raise TypeError("it holds text")
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SampleWeightError(f"must hold one number per row ({error})") from None
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else np.ascontiguousarray(weights)
    if weights.shape != (n_rows,):
        raise SampleWeightError(f"has shape {weights.shape}, X has {n_rows} rows", "give one weight per row")
    is_valid = np.isfinite(weights) & (weights >= 0)
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise SampleWeightError(
            f"holds {weights[row]} in row {row}",
            "weights must be finite and not negative",
            row=row,
            value=float(weights[row]),
        )
    if not weights.any():
        raise SampleWeightError("is zero in every row", "at least one row must have a positive weight")
    return weights


def apply_class_weight(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return the sample weights multiplied by the weights of the samples' classes."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            if not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
                raise ValueError(
                    f"class_weight gives {label!r} the weight {value!r}; weights must be finite and not negative"
                )
        _check_known_classes(class_weight, classes.tolist())
        class_weight = {label: class_weight.get(label, 1.0) for label in classes.tolist()}
    elif not isinstance(class_weight, str) or class_weight != "balanced":
        raise ParameterError("class_weight", "None, 'balanced' or a dict of class to weight", class_weight)
    weight_of_class: NDArray[np.float64] = compute_sample_weight(class_weight, labels)
    if not weight_of_class.any():
        raise ValueError("class_weight gives every class of y the weight 0; at least one must be positive")
    if weight is None:
        return weight_of_class
    if not (product := weight_of_class * weight).any():
        raise ValueError(
            "class_weight and sample_weight together give every row the weight 0; at least one must be positive"
        )
    return product


def _check_known_classes(class_weight: dict[Any, Any], classes: list[Any]) -> None:
    """Raise a ValueError if there is a weight for a class that y lacks, and none for one that it has."""
    unknown = [label for label in class_weight if label not in classes]
    if unknown and any(label not in class_weight for label in classes):
        raise ValueError(
            f"class_weight has {unknown[0]!r}, which is not a class of y; the classes are {shortened(classes)}"
        )


def _read(y: Any, n_rows: int, estimator_name: str) -> NDArray[Any]:
    """Return the target as an array; messages that scikit-learn's checks look for are its own."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None")
    is_vector = type(y) is np.ndarray and y.ndim == 1
    values: NDArray[Any] = y if is_vector else column_or_1d(_to_array(read_vector(y)), warn=True)
    if values.dtype.kind == "c":
        raise TargetError("holds complex numbers (Complex data not supported)")
    _check_supported(values)
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(values)}"
        )
    return values


def _to_array(values: Any) -> Any:
    """Return masked values as missing ones, and a list of several types as objects: NumPy would make all of it text."""
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        objects = values.data.astype(object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if isinstance(values, (list, tuple)) and len(set(map(type, values))) > 1:
        array = np.asarray(values)
        return np.asarray(values, dtype=object) if array.ndim == 1 and array.dtype.kind in "US" else array
    return values


def _check_supported(values: NDArray[Any]) -> None:
    """Raise a TargetError if y holds dates, durations or records; NumPy would count nanoseconds."""
    kind: str = values.dtype.kind
    row = 0
    if kind == "O":
        listed = values.tolist()
        unsupported = {t for t in set(map(type, listed)) if UNSUPPORTED_TYPES.get(t.__name__, "S") != "S"}
        if not unsupported:
            return
        row = next(i for i, value in enumerate(listed) if type(value) in unsupported)
        kind = UNSUPPORTED_TYPES[type(listed[row]).__name__]
    elif kind not in "MmV" or len(values) == 0:
        return
    remedy = {
        "M": "turn them into numbers (days since a date), or into text if they are classes",
        "m": "turn them into numbers (seconds, days)",
        "V": "pass one of their fields",
    }[kind]
    raise TargetError(
        f"holds {UNSUPPORTED[kind][0]} ({_shown(values[row])} in row {row})",
        remedy,
        row=row,
        value=values[row],
    )


def _check_not_text(values: NDArray[Any], classifier: str) -> None:
    """Raise a TargetError if there is text in y, also text that NumPy would read as a number."""
    is_text = [isinstance(value, (str, bytes)) for value in values.tolist()]
    if any(is_text):
        row = is_text.index(True)
        raise TargetError(
            f"must hold numbers to be learned by a regression, and holds text ({_shown(values[row])} in row {row})",
            f"turn it into numbers, for example with y.astype(float), or use {classifier} for classes",
            row=row,
            value=values[row],
        )


def _shown(value: Any) -> str:
    """Return a value for a message."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def _check_not_missing(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=len(values))
    else:
        return
    if missing.any():
        raise _missing_target(int(np.argmax(missing)))


def _check_label_size(values: NDArray[Any], regressor: str) -> None:
    """Raise a TargetError if a number among class labels is infinite or does not fit 64 bits."""
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
    is_beyond = is_too_large(value)
    if not is_beyond and np.isinf(float(value)):
        raise _infinite_target(value, row)
    raise TargetError(
        f"holds {TOO_LARGE if is_beyond else repr(value)} in row {row}, which is too large for a class",
        f"drop such rows or turn the classes into text, or use {regressor} for numbers",
        row=row,
        value=value,
    )


def _fits_64_bits(value: Any) -> bool:
    number = value.item() if isinstance(value, np.generic) else value
    return not isinstance(number, (int, float)) or -(2**63) <= number < 2**64


def _infinite_target(value: Any, row: int) -> TargetError:
    return TargetError(
        f"holds {value} in row {row}", "drop such rows or replace infinite values", row=row, value=value
    )


def _missing_target(row: int) -> TargetError:
    return TargetError(
        f"is missing in row {row} (NaN or None)", "drop the rows without a target before fitting", row=row
    )
