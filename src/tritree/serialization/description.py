"""The JSON description of an estimator in a model file: parameters, columns and classes, written and read."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tritree.columns import LARGEST_EXACT, TIME_TYPES, ColumnType
from tritree.dates import DATE_PARTS, RESOLUTIONS, TEXT_FORMATS, TimeFormat
from tritree.encoder import ColumnEncoder, TableEncoder
from tritree.errors import ModelFileError, name_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.estimators.base import TrinaryEstimator

__all__ = ["FORMAT_VERSION", "JsonObject", "describe", "first_line", "restore_estimator"]

#: Version of the format that is written. It rises when an older tritree could misread a file.
FORMAT_VERSION = 2

#: Names of the estimators in files, and where they are.
_ESTIMATORS = {
    "regressor": ("tritree.estimators.tree", "TrinaryTreeRegressor"),
    "classifier": ("tritree.estimators.tree", "TrinaryTreeClassifier"),
    "boosting regressor": ("tritree.estimators.boosting", "TrinaryBoostingRegressor"),
    "boosting classifier": ("tritree.estimators.boosting", "TrinaryBoostingClassifier"),
    "graft regressor": ("tritree.estimators.grafted", "GraftedRegressor"),
    "graft classifier": ("tritree.estimators.grafted", "GraftedClassifier"),
    "forest regressor": ("tritree.estimators.forest", "TrinaryForestRegressor"),
    "forest classifier": ("tritree.estimators.forest", "TrinaryForestClassifier"),
}
#: Names in files of the dtypes that class labels may have.
_CLASS_DTYPES: dict[str, Any] = {
    "text": str,
    "objects": object,
    "bool": bool,
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"float{bits}" for bits in (16, 32, 64)},
}

T = TypeVar("T")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


# ---- writing


def describe(estimator: TrinaryEstimator) -> dict[str, Any]:
    """Return the parameters, columns and classes of a fitted estimator as JSON values."""
    from tritree import __version__

    encoder, classes = estimator._encoder, getattr(estimator, "classes_", None)
    ancestors = {cls.__name__ for cls in type(estimator).__mro__}
    return {
        "format": FORMAT_VERSION,
        "tritree": __version__,
        "estimator": next(kind for kind, (_, name) in _ESTIMATORS.items() if name in ancestors),
        "parameters": {
            name: _to_json(value, name) for name, value in estimator.get_params(deep=False).items()
        },
        "names": _to_json(encoder.column_names, "a column name"),
        "columns": [
            {
                "content": column.type.value,
                "categories": _to_json(column.categories, name_column(column.name)),
                "order": _to_json(column.order, name_column(column.name)),
                **({} if column.time is None else {"time": asdict(column.time), "part": column.part}),
                **({"zero_is_missing": True} if column.zero_is_missing else {}),
            }
            for column in encoder.columns
        ],
        "classes": None
        if classes is None
        else {
            "type": {"U": "text", "O": "objects"}.get(classes.dtype.kind, classes.dtype.name),
            "labels": _to_json(classes, "classes_"),
        },
    }


def _to_json(value: Any, name: str) -> Any:
    """Return a value as JSON can hold it, or raise a TypeError that names it."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state is no longer the one that the model was fitted with
    if isinstance(value, dict):  # whose keys need not be text
        return {"pairs": [[_to_json(key, name), _to_json(item, name)] for key, item in value.items()]}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy, series of pandas
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_to_json(item, name) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    raise TypeError(
        f"{name} holds {value!r} of type {type(value).__name__}, which a model file cannot hold; make it text or a "
        "number"
    )


# ---- reading


class JsonObject:
    """A JSON object of a file, whose entries are read with a check of their type."""

    def __init__(self, entries: Any, name: str) -> None:
        if not isinstance(entries, dict):
            raise ModelFileError(f"{name} is not a JSON object")
        self.entries: dict[str, Any] = entries
        self._name = name

    def get(self, key: str, *types: type[T]) -> T:
        """Return an entry of one of these types; a bool is not an int."""
        if key not in self.entries:
            raise ModelFileError(f"{self._name} has no entry {key!r}")
        value: T = self.entries[key]
        if type(value) not in types:
            expected = " or ".join(t.__name__ for t in types)
            raise ModelFileError(f"{key!r} of {self._name} must be {expected}, not {type(value).__name__}")
        return value

    def get_or_none(self, key: str, type_: type[T]) -> T | None:
        """Return an entry of a type, or None."""
        return self.get(key, type_, type(None))

    def get_object(self, key: str) -> JsonObject:
        """Return an entry that is an object."""
        return JsonObject(self.get(key, dict), repr(key))


def restore_estimator(description: JsonObject) -> tuple[Any, TableEncoder, NDArray[Any] | None]:
    """Return an unfitted estimator, its encoder and its classes, or raise a ModelFileError."""
    kind = description.get("estimator", str)
    if kind not in _ESTIMATORS:
        raise ModelFileError(f"unknown estimator {kind[:40]!r}")
    module, name = _ESTIMATORS[kind]
    estimator = _restore_parameters(
        description.get_object("parameters"), getattr(import_module(module), name)
    )
    encoder, classes = _restore_encoder(description), _restore_classes(description)
    if (classes is None) != kind.endswith("regressor"):
        raise ModelFileError("its classes do not match its estimator")
    if kind.startswith(("boosting", "graft")):
        try:
            estimator._link_name(estimator.get_params(deep=False), classes)
        except ValueError as error:
            raise ModelFileError(f"its parameters do not match its classes: {first_line(error)}") from error
    return estimator, encoder, classes


#: Parameters that earlier versions did not have, whose default is not what they did. Others take their defaults.
_EARLIER = {"split_penalty": 0.0, "category_penalty": 0.0, "min_missing_third": 0.0}


def _restore_parameters(parameters: JsonObject, estimator_class: type[Any]) -> Any:
    unknown = set(parameters.entries) - set(estimator_class._get_param_names())
    if unknown:
        raise ModelFileError(
            f"unknown parameters, perhaps of another version: {', '.join(sorted(unknown))[:200]}"
        )
    values = {name: _restore_parameter(name, value) for name, value in parameters.entries.items()}
    added = {name: value for name, value in _EARLIER.items() if name in estimator_class._get_param_names()}
    estimator = estimator_class(**added | values)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(first_line(error)) from error
    return estimator


def _restore_parameter(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        if all(isinstance(pair, list) for pair in value["pairs"]):  # a text of two characters is no pair
            return dict(value["pairs"])
    except (KeyError, TypeError, ValueError):
        pass
    raise ModelFileError(f"the entries of {name!r} are not pairs of key and value")


def _restore_encoder(description: JsonObject) -> TableEncoder:
    columns, names = description.get("columns", list), description.get_or_none("names", list)
    if not columns:
        raise ModelFileError("it has no columns")
    inputs = [not isinstance(column, dict) or column.get("part") is None for column in columns]
    if not inputs[0]:
        raise ModelFileError("a part of dates has no column")
    if names is not None:
        _check_labels(names, "the column names")
        are_of_one_type = len({isinstance(name, str) for name in names}) == 1
        if len(names) != sum(inputs) or len(set(names)) != len(names) or not are_of_one_type:
            raise ModelFileError("its column names do not match its columns")
    keys: Sequence[Any] = range(sum(inputs)) if names is None else names
    encoders: list[ColumnEncoder] = []
    # the columns of parts follow the one that they are parts of
    for column, position in zip(columns, np.cumsum(inputs) - 1, strict=True):
        name = keys[position]
        encoders.append(_restore_column(JsonObject(column, name_column(name)), name))
        if encoders[-1].part is not None and encoders[-1].time != encoders[-2].time:
            raise ModelFileError(f"the parts of {name_column(name)} do not match it")
    return TableEncoder(tuple(encoders), None if names is None else tuple(names))


def _restore_column(column: JsonObject, name: Any) -> ColumnEncoder:
    label, type_name = name_column(name), column.get("content", str)
    try:
        type_ = ColumnType(type_name)
    except ValueError:
        raise ModelFileError(f"{label} has an unknown type, {type_name[:40]!r}") from None
    categories, order = column.get_or_none("categories", list), column.get_or_none("order", list)
    for labels in (categories, order):
        if labels is None:
            continue
        _check_labels(labels, f"the categories of {label}")
        if any(not isinstance(item, str) and abs(item) >= LARGEST_EXACT for item in labels):
            raise ModelFileError(f"the categories of {label} are too large to be told apart")
        is_empty = labels is order and type_ is ColumnType.EMPTY  # then its type is not known
        if not is_empty and any(isinstance(item, str) != (type_ is ColumnType.TEXT) for item in labels):
            raise ModelFileError(f"the categories of {label} do not match its type")
    if order is not None and len(set(order)) != len(order):
        raise ModelFileError(f"the categories of {label} repeat")
    if categories is not None:
        if order is not None or categories != sorted(set(categories)):
            raise ModelFileError(f"the categories of {label} are not sorted")
    elif type_ is ColumnType.TEXT and order is None:
        raise ModelFileError(f"{label} holds text, but has no categories")
    zero_is_missing = "zero_is_missing" in column.entries and column.get("zero_is_missing", bool)
    if zero_is_missing and type_ is not ColumnType.NUMERIC:
        raise ModelFileError(f"zeros of {label} cannot be missing: it holds no numbers")
    time, part = _restore_time(column, type_, label)
    return ColumnEncoder(
        name,
        type_,
        None if categories is None else tuple(categories),
        None if order is None else tuple(order),
        time,
        part,
        zero_is_missing,
    )


def _restore_time(column: JsonObject, type_: ColumnType, label: str) -> tuple[TimeFormat | None, str | None]:
    """Return how dates and times of a column are read and written, and the part that is encoded."""
    if (type_ in TIME_TYPES) != ("time" in column.entries):
        raise ModelFileError(f"the type of {label} does not match its entries")
    if type_ not in TIME_TYPES:
        return None, None
    entries = column.get_object("time")
    time_zone, text = entries.get_or_none("time_zone", str), entries.get_or_none("text", str)
    part, resolution = column.get_or_none("part", str), entries.get("resolution", int)
    if (
        entries.get("kind", str) != type_.value
        or not 1 <= resolution <= RESOLUTIONS[0]
        or (text is not None and text not in TEXT_FORMATS)
        or (part is not None and (part not in DATE_PARTS or type_ is not ColumnType.DATE))
        or (time_zone is not None and len(time_zone) > 100)
    ):
        raise ModelFileError(f"the dates of {label} have an unknown format")
    return TimeFormat(type_.value, resolution, time_zone, text), part


def _check_labels(labels: list[Any], what: str) -> None:
    """Raise a ModelFileError unless labels are text, or numbers that NumPy can hold."""
    for label in labels:
        is_number = isinstance(label, (int, float)) and abs(label) <= 2**64  # false for NaN
        if not (isinstance(label, (str, bool)) or is_number):
            raise ModelFileError(f"{what} must be text or numbers, not {str(label)[:40]}")


def _restore_classes(description: JsonObject) -> NDArray[Any] | None:
    if description.get_or_none("classes", dict) is None:
        return None
    entry = description.get_object("classes")
    labels, dtype = entry.get("labels", list), entry.get("type", str)
    _check_labels(labels, "the classes")
    if dtype not in _CLASS_DTYPES:
        raise ModelFileError(f"the classes have an unknown dtype, {dtype[:40]!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy 1 wraps numbers that are too large, with a warning
            classes = np.array(labels, dtype=_CLASS_DTYPES[dtype])
        is_valid = classes.tolist() == labels == sorted(set(labels)) and len(set(map(type, labels))) == 1
    except (TypeError, OverflowError, ValueError):
        is_valid = False
    if not is_valid or not labels:
        raise ModelFileError("the classes are not sorted, or do not have the dtype that the file says")
    return classes
