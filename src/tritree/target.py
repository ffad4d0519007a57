"""Target, classes and sample weights: checked, and converted to what the core takes."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tritree.columns import TOO_LARGE, UNSUPPORTED, UNSUPPORTED_TYPES, is_missing, is_too_large
from tritree.errors import DataError, ParameterError, SampleWeightError, TargetError, shortened
from tritree.table import read_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = [
    "apply_class_weight",
    "check_sample_weight",
    "check_weight_limit",
    "read_classification_target",
    "read_regression_target",
]


#: What is wrong with rows of a target, and what to do about it.
_MISSING = ("is missing in row {row} (NaN or None)", "drop the rows without a target before fitting")
_INFINITE = ("holds {value} in row {row}", "drop such rows or replace infinite values")
_TOO_LARGE = ("holds {value} in row {row}", "drop such rows or replace it by a smaller number")
_BYTES = ("holds bytes ({value} in row {row})", "decode them to text")
#: What to do about values of types that no target can have, by their kind.
_REMEDIES = {
    "M": "turn them into numbers (days since a date), or into text if they are classes",
    "m": "turn them into numbers (seconds, days)",
    "t": "turn them into numbers (seconds since midnight), or into text if they are classes",
    "V": "pass one of their fields",
}


def read_regression_target(
    y: Any, n_rows: int, estimator_name: str, largest: float = np.inf
) -> NDArray[np.float64]:
    """Return the target of a regression, or raise a TargetError; ``largest`` is the largest number allowed."""
    values = _read(y, n_rows, estimator_name)
    classifier = estimator_name.replace("Regressor", "Classifier")
    requirement = "must hold numbers to be learned by a regression"
    if values.dtype.kind in "OUST":
        listed = values.tolist()
        _check_rows(values, _find_missing(values), *_MISSING)
        _check_rows(  # also text that NumPy would read as a number
            values,
            [isinstance(value, (str, bytes)) for value in listed],
            requirement + ", and holds text ({value} in row {row})",
            f"turn it into numbers, for example with y.astype(float), or use {classifier} for classes",
        )
        _check_rows(values, map(is_too_large, listed), *_TOO_LARGE)
    try:  # integers beyond 2**53 are rounded, as predictions are; among features they would be identifiers
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TargetError(f"{requirement} ({error})", f"use {classifier} for classes") from None
    _check_rows(numbers, np.isnan(numbers), *_MISSING)
    _check_rows(numbers, np.isinf(numbers), *_INFINITE)
    if largest < np.inf:
        limit = f"targets of {estimator_name} must not exceed {largest:g} in absolute value"
        problem = f"holds {{value}} in row {{row}}; {limit}"
        _check_rows(numbers, np.abs(numbers) > largest, problem, "give it in another unit, or drop such rows")
    return numbers


def read_classification_target(
    y: Any, n_rows: int, estimator_name: str
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes, and the position among them of each row's class; or raise a TargetError."""
    values = _read(y, n_rows, estimator_name)
    if values.dtype.kind in "Of":
        _check_rows(values, _find_missing(values), *_MISSING)
        _check_label_size(values, estimator_name.replace("Classifier", "Regressor"))
    values = _to_labels(values)
    try:
        check_classification_targets(values)
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise _mixed_types(set(map(type, values.tolist()))) from None
    return classes, codes.astype(np.int32).ravel()


def _check_rows(
    values: Any,
    is_wrong: Iterable[bool],
    problem: str,
    remedy: str,
    error: Callable[..., DataError] = TargetError,
) -> None:
    """Raise an error about the first wrong value, if there is one; ``problem`` has places for its row and itself."""
    wrong = is_wrong if isinstance(is_wrong, np.ndarray) else np.fromiter(is_wrong, bool, len(values))
    if wrong.any():
        row = int(np.argmax(wrong))
        value = values[row]
        raise error(problem.format(row=row, value=_shown(value)), remedy, row=row, value=value)


def _find_missing(values: NDArray[Any]) -> Iterable[bool]:
    return np.isnan(values) if values.dtype.kind == "f" else map(is_missing, values.tolist())


def _shown(value: Any) -> str:
    """Return a value for a message."""
    if is_too_large(value):
        return TOO_LARGE
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def _check_label_size(values: NDArray[Any], regressor: str) -> None:
    """Raise a TargetError if a number among class labels is infinite or does not fit 64 bits."""
    numbers = values
    low: Any = np.float64(-(2**63))  # a Python number would become one of the array's dtype, perhaps infinite
    end: Any = np.float64(2**63)
    if values.dtype.kind == "O":
        low, end = -(2**63), 2**64
        listed = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
        numbers = np.array([value if isinstance(value, (int, float)) else 0 for value in listed], object)
    _check_rows(values, (numbers == np.inf) | (numbers == -np.inf), *_INFINITE)
    _check_rows(
        values,
        (numbers < low) | (numbers >= end),
        "holds {value} in row {row}, which is too large for a class",
        f"drop such rows or turn the classes into text, or use {regressor} for numbers",
    )


def _to_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return class labels in a dtype that scikit-learn supports: integers that are objects, NumPy's StringDType."""
    if values.dtype.kind == "T":
        return np.array(values.tolist(), dtype=str)
    if values.dtype.kind not in "OS":
        return values
    listed = values.tolist()
    _check_rows(values, [isinstance(value, bytes) for value in listed], *_BYTES)
    types = set(map(type, listed))
    boolean_types = {t for t in types if issubclass(t, (bool, np.bool_))}
    if boolean_types and types - boolean_types:  # NumPy would turn all of them into numbers
        raise _mixed_types(types)
    are_integers = types and all(issubclass(t, (int, np.integer, np.bool_)) for t in types)
    return np.array(listed) if are_integers else values


def _mixed_types(types: set[type]) -> TargetError:
    names = ", ".join(sorted(t.__name__ for t in types))
    return TargetError(f"mixes labels of type {names}", "make all of them one type")


def check_sample_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the sample weights; None if all samples have equal weight."""
    if sample_weight is None:
        return None
    values = _to_array(read_vector(sample_weight))
    if isinstance(values, np.ndarray) and values.dtype == object:
        problem, remedy = "is missing in row {row}", "give every row a weight, or 0"
        _check_rows(values.ravel(), _find_missing(values.ravel()), problem, remedy, SampleWeightError)
    try:
        if (kind := np.asarray(values).dtype.kind) in "USc":
            raise TypeError(f"it holds {'complex numbers' if kind == 'c' else 'text'}")
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SampleWeightError(f"must hold one number per row ({error})") from None
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else np.ascontiguousarray(weights)
    if weights.shape != (n_rows,):
        raise SampleWeightError(f"has shape {weights.shape}, X has {n_rows} rows", "give one weight per row")
    is_valid = np.isfinite(weights) & (weights >= 0)
    remedy = "weights must be finite and not negative"
    _check_rows(weights, ~is_valid, "holds {value} in row {row}", remedy, SampleWeightError)
    if not weights.any():
        raise SampleWeightError("is zero in every row", "at least one row must have a positive weight")
    return weights


def check_weight_limit(
    weights: NDArray[np.float64], subject: str, largest: float, estimator_name: str
) -> None:
    """Raise a SampleWeightError if a weight exceeds the largest one allowed, or the sum of all is infinite."""
    problem = f"is {{value}} in row {{row}}; weights of {estimator_name} must not exceed {largest:g}"
    remedy = "divide all weights by a common factor"
    _check_rows(weights, weights > largest, problem, remedy, partial(SampleWeightError, subject=subject))
    with np.errstate(over="ignore"):
        if np.isinf(weights.sum()):
            raise SampleWeightError("adds up to more than 1.8e308", remedy, subject=subject)


def apply_class_weight(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return the sample weights multiplied by the weights of the samples' classes."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            is_number = isinstance(value, Real) and not is_too_large(value)
            if not is_number or not 0 <= value < np.inf:
                raise ValueError(
                    f"class_weight gives {label!r} the weight {value!r}; weights must be finite and not negative"
                )
        known = classes.tolist()
        unknown = [label for label in class_weight if label not in known]
        if unknown and any(label not in class_weight for label in known):
            raise ValueError(
                f"class_weight has {unknown[0]!r}, which is not a class of y; the classes are {shortened(known)}"
            )
        class_weight = {label: class_weight.get(label, 1.0) for label in known}
    elif not isinstance(class_weight, str) or class_weight != "balanced":
        raise ParameterError("class_weight", "None, 'balanced' or a dict of class to weight", class_weight)
    weight_of_class: NDArray[np.float64] = compute_sample_weight(class_weight, labels)
    if not weight_of_class.any():
        raise ValueError("class_weight gives every class of y the weight 0; at least one must be positive")
    if weight is None:
        return weight_of_class
    with np.errstate(over="ignore"):  # `check_weight_limit` refuses infinite products
        product = weight_of_class * weight
    if not product.any():
        raise ValueError(
            "class_weight and sample_weight together give every row the weight 0; at least one must be positive"
        )
    return product


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
        data = np.ma.getdata(values)
        return np.where(np.ma.getmaskarray(values), np.array(None), data) if np.ma.is_masked(values) else data
    if isinstance(values, (list, tuple)) and len(set(map(type, values))) > 1:
        array = np.asarray(values)
        return np.asarray(values, dtype=object) if array.ndim == 1 and array.dtype.kind in "US" else array
    return values


def _check_supported(values: NDArray[Any]) -> None:
    """Raise a TargetError if y holds dates, times or records; NumPy would count nanoseconds."""
    if values.dtype.kind == "O":
        kinds = np.array([UNSUPPORTED_TYPES.get(type(value).__name__, "") for value in values.tolist()])
    elif values.dtype.kind in _REMEDIES:
        kinds = np.full(len(values), values.dtype.kind)
    else:
        return
    for kind in _REMEDIES.keys() & set(kinds.tolist()):
        problem = f"holds {UNSUPPORTED[kind][0]} ({{value}} in row {{row}})"
        _check_rows(values, kinds == kind, problem, _REMEDIES[kind])
