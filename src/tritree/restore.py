"""An estimator restored from what a model file says, every word of it checked."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tritree import _core
from tritree.columns import ColumnType
from tritree.encoder import ColumnEncoder, TableEncoder
from tritree.errors import ModelFileError, name_column
from tritree.estimators.growing_model import TreeModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "PARTS",
    "Fields",
    "check_description",
    "check_tree",
    "first_line",
    "read_importances",
    "restore",
    "restore_tree",
]

#: Where the estimators of a file are, by what it calls them
_ESTIMATORS = {
    "regressor": ("tritree.estimators.tree", "TrinaryTreeRegressor"),
    "classifier": ("tritree.estimators.tree", "TrinaryTreeClassifier"),
    "boosting regressor": ("tritree.estimators.boosting", "TrinaryBoostingRegressor"),
    "boosting classifier": ("tritree.estimators.boosting", "TrinaryBoostingClassifier"),
    "forest regressor": ("tritree.estimators.forest", "TrinaryForestRegressor"),
    "forest classifier": ("tritree.estimators.forest", "TrinaryForestClassifier"),
}
#: The parts of a core's state whose entries are arrays; all else about a model is in its JSON
PARTS = ("tree", "spread", "growth")
#: NumPy's types of classes that are numbers
_NUMBER_TYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
]

T = TypeVar("T")


def first_line(error: BaseException) -> str:
    """Return what an error says, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


class Fields:
    """The entries of a JSON object, each of which must be there and of its type."""

    def __init__(self, entries: Any, what: str) -> None:
        if not isinstance(entries, dict):
            raise ModelFileError(f"{what} is no object of JSON")
        self._entries = entries
        self._what = what

    def names(self) -> list[str]:
        """Return the names of the entries."""
        return list(self._entries)

    def take(self, name: str, *types: type[T]) -> T:
        """Return an entry that is of one of these types; True is no whole number here."""
        if name not in self._entries:
            raise ModelFileError(f"{self._what} lacks {name!r}")
        value = self._entries[name]
        if type(value) not in types:
            raise ModelFileError(f"{name!r} of {self._what} is no {' or '.join(t.__name__ for t in types)}")
        found: T = value
        return found

    def take_or_none(self, name: str, kind: type[T]) -> T | None:
        """Return an entry that is of a type, or None."""
        return self.take(name, kind, type(None))

    def object(self, name: str) -> Fields:
        """Return an entry that is an object itself."""
        return Fields(self.take(name, dict), f"{name!r}")


def check_description(fields: Fields) -> None:
    """Raise a ValueError if what is to be written could not be restored, before it takes the place of an old file."""
    try:
        _read_parameters(fields.object("parameters"), _estimator_of(fields))
        _read_codec(fields)
        _read_classes(fields)
    except ModelFileError as error:
        raise ValueError(f"a model file cannot keep this estimator: {error}") from None


def restore(fields: Fields, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the estimator of a file, every part of it checked."""
    estimator = _read_parameters(fields.object("parameters"), _estimator_of(fields))
    encoder, classes = _read_codec(fields), _read_classes(fields)
    if (classes is None) != fields.take("estimator", str).endswith("regressor"):
        raise ModelFileError("its classes do not fit its estimator")
    model = estimator._read_model(fields, arrays, encoder, 0 if classes is None else len(classes))
    estimator._set_fitted(model, encoder, classes)
    return estimator


def _estimator_of(fields: Fields) -> type[Any]:
    kind = fields.take("estimator", str)
    if kind not in _ESTIMATORS:
        raise ModelFileError(f"an unknown estimator, {kind[:40]!r}")
    module, name = _ESTIMATORS[kind]
    found: type[Any] = getattr(import_module(module), name)
    return found


def restore_tree(
    fields: Fields, arrays: dict[str, NDArray[Any]], encoder: TableEncoder, n_classes: int
) -> TreeModel:
    """Return the tree of a file."""
    settings = fields.take("settings", dict)
    if settings.get("n_classes") != n_classes:
        raise ModelFileError("its classes do not fit its estimator")
    model = _read_model(fields, settings, arrays, len(encoder.columns))
    check_tree(model.tree(), encoder, arrays)
    tree = TreeModel(model)
    if "importances" in arrays:
        tree.importances_ = read_importances(arrays["importances"], len(encoder.columns))
    return tree


def _read_parameters(fields: Fields, kind: type[Any]) -> Any:
    unknown = set(fields.names()) - set(kind._get_param_names())
    if unknown:
        raise ModelFileError(f"parameters of another version: {', '.join(sorted(unknown))[:200]}")
    # one that a later version has added takes its default
    values = {name: _read_parameter(fields, name) for name in fields.names()}
    estimator = kind(**values)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(first_line(error)) from error
    return estimator


def _read_parameter(fields: Fields, name: str) -> Any:
    value = fields.take(name, str, int, float, bool, list, dict, type(None))
    if not isinstance(value, dict):
        return value
    pairs = Fields(value, repr(name)).take("pairs", list)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ModelFileError(f"{name!r} has entries that are no pairs")
    try:
        return dict(pairs)
    except TypeError as error:
        raise ModelFileError(f"{name!r} has entries that are no pairs") from error


def _read_codec(fields: Fields) -> TableEncoder:
    columns = fields.take("columns", list)
    names = fields.take_or_none("names", list)
    if not columns:
        raise ModelFileError("a model without columns")
    if names is not None:
        _check_labels(names, "column names")
        if len(names) != len(columns) or len(set(names)) != len(names) or not _are_alike(names):
            raise ModelFileError("its column names do not fit its columns")
    learned = []
    for position, column in enumerate(columns):
        name = position if names is None else names[position]
        learned.append(_read_column(Fields(column, name_column(name)), name))
    return TableEncoder(tuple(learned), None if names is None else tuple(names))


def _read_column(fields: Fields, name: Any) -> ColumnEncoder:
    label = name_column(name)
    content = fields.take("content", str)
    if content not in [known.value for known in ColumnType]:
        raise ModelFileError(f"{label} holds nothing that is known ({content[:40]!r})")
    labels = {entry: fields.take_or_none(entry, list) for entry in ("categories", "order")}
    for entry, found in labels.items():
        if found is not None:
            _check_labels(found, f"{entry} of {label}")
            if any(not isinstance(item, str) and abs(item) >= 2**53 for item in found):
                raise ModelFileError(f"{entry} of {label} are numbers that cannot be told apart")
    categories, order = (None if found is None else tuple(found) for found in labels.values())
    if categories is not None:
        is_text = content == ColumnType.TEXT.value
        if not all(isinstance(item, str) == is_text for item in categories):
            raise ModelFileError(f"categories of {label} are not what it holds")
        if order is not None or list(categories) != sorted(set(categories)):
            raise ModelFileError(f"the categories of {label} are not in their order")
    elif content == ColumnType.TEXT.value and order is None:
        raise ModelFileError(f"{label} holds text without categories")
    return ColumnEncoder(name, ColumnType(content), categories, order)


def _are_alike(names: list[Any]) -> bool:
    """Return whether all names are text, or none."""
    return len({isinstance(name, str) for name in names}) == 1


def _check_labels(labels: list[Any], what: str) -> None:
    """Raise unless labels are text or numbers of a size that NumPy has."""
    for label in labels:
        fine = isinstance(label, (str, bool)) or (
            isinstance(label, (int, float)) and abs(label) <= 2**64  # NaN is not
        )
        if not fine:
            raise ModelFileError(f"{what} hold something that is neither text nor a number")


def _read_classes(fields: Fields) -> NDArray[Any] | None:
    if fields.take("classes", dict, type(None)) is None:
        return None
    classes = fields.object("classes")
    labels, kind = classes.take("labels", list), classes.take("type", str)
    _check_labels(labels, "classes")
    types = {"text": str, "objects": object} | {name: np.dtype(name) for name in _NUMBER_TYPES}
    if kind not in types:
        raise ModelFileError(f"classes of an unknown type, {kind[:40]!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy 1 wraps numbers that are too large, with a warning
            found = np.array(labels, dtype=types[kind])
        fine = found.tolist() == labels == sorted(set(labels)) and len(set(map(type, labels))) == 1
    except (TypeError, OverflowError, ValueError):
        fine = False
    if not fine or not labels:
        raise ModelFileError("classes that are not all of one type, or not in their order")
    return found


def _read_model(
    fields: Fields, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]], n_columns: int
) -> _core.Model:
    """Return the core's model, which checks every array and every index in it."""
    state: dict[str, Any] = {
        "settings": settings,
        "n_columns": n_columns,
        "n_fitted": fields.take("n_fitted", int),
    }
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        if name != "importances" and part not in PARTS:
            raise ModelFileError(f"an unknown array, {name[:40]!r}")
        if part in PARTS:
            state.setdefault(part, {})[entry] = array
    n_rows = fields.take_or_none("n_rows", int)
    if (n_rows is None) != ("growth" not in state):
        raise ModelFileError("training rows that are not all there")
    if n_rows is not None:
        state["growth"]["n_rows"] = n_rows
    model = _core.Model.__new__(_core.Model)
    try:
        model.__setstate__(state)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise ModelFileError(f"its arrays do not fit together: {first_line(error)}") from error
    return model


def check_tree(tree: _core.Tree, encoder: TableEncoder, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise unless every split of a tree, grown or to come, is one that its column can have."""
    if not _fits(tree, encoder) or not _are_codes_of(encoder, arrays) or not _are_rungs_of(encoder, arrays):
        raise ModelFileError("a split that does not fit its column, or a value that is no number")


def _fits(tree: _core.Tree, encoder: TableEncoder) -> bool:
    """Return whether every split, and every surrogate, is one that its column can have, and every value a number."""
    split = tree.column >= 0
    splits = (tree.threshold[split], tree.set_begin[split], tree.set_words[split], tree.sets)
    surrogates = (tree.surrogate_threshold, tree.surrogate_set_begin, tree.surrogate_set_words, tree.sets)
    return (
        _are_rules(encoder, tree.column[split], *splits)
        and _are_rules(encoder, tree.surrogate_column, *surrogates)
        and not np.isinf(tree.surrogate_threshold).any()  # they need a value, and are never of missing alone
        and bool(np.isin(tree.surrogate_below, (0, 1)).all() and np.isfinite(tree.value).all())
    )


def _are_rules(
    encoder: TableEncoder,
    column: NDArray[Any],
    threshold: NDArray[Any],
    set_begin: NDArray[Any],
    set_words: NDArray[Any],
    sets: NDArray[Any],
) -> bool:
    """Return whether columns are split as they can be: by a threshold, between ranks, or by sets of their categories.

    The threshold of a split of missing against observed is -inf. A set has one bit per category.
    """
    n_categories = np.array(encoder.n_categories)[column]
    n_ranks = np.array([-1 if known.order is None else len(known.order) for known in encoder.columns])[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    if ((set_begin < 0) != (n_categories < 0)).any() or (set_words != words).any():
        return False
    behind = np.where(n_ranks < 0, np.inf, n_ranks)
    between = (threshold == -np.inf) | ((n_ranks < 0) | (threshold > 0)) & (np.ceil(threshold) < behind)
    filled = words > 0
    begin, words, n_categories = set_begin[filled], words[filled], n_categories[filled]
    unused = ~(np.uint64(2**64 - 1) >> (64 * words - n_categories).astype(np.uint64))  # bits of the last word
    strangers = any((sets[begin + side * words - 1] & unused).any() for side in (1, 2))
    return bool((between | (set_begin >= 0)).all()) and not strangers


def _are_codes_of(encoder: TableEncoder, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the training rows, if there are some, are those of the columns."""
    if not len(arrays.get("growth.column_n_codes", ())):  # a forest holds them for all its trees
        return True
    n_codes, coded = arrays["growth.column_n_codes"], arrays["growth.column_is_categorical"] != 0
    n_categories = np.array(encoder.n_categories)
    categorical = n_categories >= 0
    return not ((coded != categorical).any() or (n_codes != n_categories)[categorical].any())


def _are_rungs_of(encoder: TableEncoder, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the splits to come, if there are some, are ones that their columns can have."""
    if "growth.rung_column" not in arrays:
        return True
    column, threshold = arrays["growth.rung_column"], arrays["growth.rung_threshold"]
    n_categories = np.array(encoder.n_categories)[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    begin = np.where(n_categories < 0, -1, np.cumsum(2 * words) - 2 * words)
    return _are_rules(encoder, column, threshold, begin, words, arrays["growth.rung_sets"])


def read_importances(importances: NDArray[Any], n_columns: int) -> NDArray[np.float64]:
    """Return the importances of columns in a file, checked."""
    fine = importances.dtype == np.float64 and importances.shape == (n_columns,)
    if not fine or not (np.isfinite(importances).all() and (importances >= 0).all()):
        raise ModelFileError("importances that are not one share per column")
    return importances
