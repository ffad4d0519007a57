"""Model files: the arrays of a tree and what is to be known about them. Nothing in a file is run, or trusted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tritree import _core
from tritree.codec import Codec, LearnedColumn
from tritree.columns import Content
from tritree.errors import ModelFileError
from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.tree import GrowingTree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.base import BaseTrinaryTree

__all__ = ["FORMAT_VERSION", "load", "save"]

#: The version of the files written here. It rises when an older tritree could misread them.
FORMAT_VERSION = 1

_ESTIMATORS = {"regressor": TrinaryTreeRegressor, "classifier": TrinaryTreeClassifier}
#: The parts of a core's state whose entries are arrays; all else about a model is in its JSON
_PARTS = ("tree", "growth")
#: NumPy's types of classes that are numbers
_NUMBER_TYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
]
#: More than this safetensors does not read.
_MOST_HEADER = 100_000_000

T = TypeVar("T")


def save(model: BaseTrinaryTree, path: Any, training_rows: bool | None) -> None:
    """Write a fitted estimator to a file; see its method ``save``."""
    tree = model._tree.model
    if training_rows not in (None, True, False):
        raise ValueError(f"training_rows must be True, False or None, got {training_rows!r}")
    if training_rows is None:
        training_rows = not tree.is_detached and tree.n_ungrown > 0
    elif training_rows and tree.is_detached:
        raise ValueError(
            "training_rows=True, but this tree has none: its strategy never needs them again, or detach() has dropped "
            "them; use training_rows=False"
        )
    if not training_rows and not tree.is_detached and tree.n_ungrown == 0:
        model._tree.importances(1)  # which need the training rows; where all is grown, nothing grows by it
    state = tree.__getstate__()
    if not training_rows:
        state.pop("growth", None)
    arrays = {f"{part}.{name}": array for part in _PARTS for name, array in _arrays(state, part).items()}
    if model._tree._importances is not None:
        arrays["importances"] = model._tree._importances
    about = json.dumps(_about(model, state), allow_nan=False)
    _check_readable(about)
    _write(Path(os.fspath(path)), about, arrays)


def _arrays(state: Mapping[str, Any], part: str) -> dict[str, NDArray[Any]]:
    return {name: array for name, array in state.get(part, {}).items() if isinstance(array, np.ndarray)}


def _about(model: BaseTrinaryTree, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be known about the arrays, as JSON has it."""
    from tritree import __version__

    codec, classes = model._codec, getattr(model, "classes_", None)
    return {
        "format": FORMAT_VERSION,
        "tritree": __version__,
        "estimator": "regressor" if classes is None else "classifier",
        "parameters": {name: _plain(value, name) for name, value in model.get_params(deep=False).items()},
        "settings": state["settings"],
        "n_fitted": state["n_fitted"],
        "n_rows": state["growth"]["n_rows"] if "growth" in state else None,
        "names": None if codec.keys is None else [_plain(key, "a column name") for key in codec.keys],
        "columns": [
            {
                "content": column.content.value,
                "categories": _plain(column.categories, column.label),
                "order": _plain(column.order, column.label),
            }
            for column in codec.columns
        ],
        "classes": None
        if classes is None
        else {"type": _class_type(classes), "labels": _plain(classes, "classes_")},
    }


def _check_readable(about: str) -> None:
    """Raise a ValueError if ``load`` would refuse what is to be written, before it takes the place of an old file."""
    fields = Fields(json.loads(about), "the model")
    try:
        _read_parameters(fields.object("parameters"), _ESTIMATORS[fields.take("estimator", str)])
        _read_codec(fields)
        _read_classes(fields)
    except ModelFileError as error:
        raise ValueError(f"a model file cannot keep this estimator: {error}") from None


def _class_type(classes: NDArray[Any]) -> str:
    return {"U": "text", "O": "objects"}.get(classes.dtype.kind, classes.dtype.name)


def _plain(value: Any, what: str) -> Any:
    """Return a value as JSON keeps it: text, numbers, truth values, lists of them."""
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers, pandas' series
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item, what) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    raise TypeError(
        f"{what} holds {value!r} of type {type(value).__name__}, which a model file cannot keep; make it text or "
        "a number"
    )


def _write(path: Path, about: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write the file beside its place and put it there when it is whole: a crash leaves the old one."""
    from safetensors.numpy import save as serialise

    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it to save the model in")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{str(path)!r} is there and is no file; name another one to save the model in")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save the model in")
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if len(about) > _MOST_HEADER // 2:  # quotes in it are written as two characters
        raise ValueError(
            f"the names and categories of this model take {len(about):,} characters, more than a model file can keep; "
            "join rare categories, or shorten them"
        )
    data = serialise(arrays, metadata={"tritree": about, "sha256": _digest(about, arrays)})
    beside = path.with_name(f".tritree.{secrets.token_hex(8)}.tmp")
    handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():  # keep its permissions; not every file system can
            with contextlib.suppress(OSError):
                beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _digest(about: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a number that any change of the model changes."""
    found = hashlib.sha256(about.encode())
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def load(path: Any) -> TrinaryTreeRegressor | TrinaryTreeClassifier:
    """Return the estimator that ``save`` has written to a file.

    Loading runs no code from the file, whoever made it: a file that is damaged, altered, made by hand or by a newer
    tritree is refused.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save``.

    Returns
    -------
    TrinaryTreeRegressor or TrinaryTreeClassifier
        The estimator as it was saved, which predicts the same bit for bit. If the training rows are in the file, it
        goes on growing.

    Raises
    ------
    ModelFileError
        If the file is no model that can be trusted to be whole; the message says what is wrong.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> import tritree
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = tritree.TrinaryTreeRegressor(max_depth=2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "diabetes.tritree")
    ...     tree.save(path)
    ...     again = tritree.load(path)
    >>> np.array_equal(again.predict(X), tree.predict(X))
    True
    """
    path = Path(os.fspath(path))
    try:
        return _build(*_read(path))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error.__cause__
    except MemoryError as error:
        raise ModelFileError(f"{path}: it asks for more memory than there is") from error


def _read(path: Path) -> tuple[Fields, dict[str, NDArray[Any]]]:
    """Return what a file says about its arrays, and the arrays, if they are as they were written."""
    from safetensors.numpy import load as deserialise

    with path.open("rb") as file:
        begin = file.read(8)
        size, length = int.from_bytes(begin, "little"), os.fstat(file.fileno()).st_size
        if size > min(length - 8, _MOST_HEADER):
            raise ModelFileError("not a tritree model, or only the beginning of one")
        header = file.read(size)
        about, digest = _read_header(header)  # before the rest, which may be huge
        data = begin + header + file.read()
    try:
        arrays = deserialise(data)
    except MemoryError:
        raise
    except Exception as error:  # whatever the parser stumbles over
        raise ModelFileError(f"damaged ({_first_line(error)})") from error
    try:
        fields = Fields(json.loads(about), "the model")
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"its description is damaged ({_first_line(error)})") from error
    version = fields.take("format", int)
    if version != FORMAT_VERSION:
        from tritree import __version__

        writer = fields.take("tritree", str)
        remedy = "upgrade tritree" if version > FORMAT_VERSION else "save the model again"
        raise ModelFileError(
            f"written by tritree {writer[:40]!r} in format {version}, which this one ({__version__}) cannot read; "
            f"{remedy}"
        )
    if digest != _digest(about, arrays):
        raise ModelFileError("damaged or altered: its contents do not match its checksum")
    return fields, arrays


def _read_header(header: bytes) -> tuple[str, str]:
    """Return the description of the model and its checksum."""
    try:
        metadata = json.loads(header)["__metadata__"]
        about, digest = metadata["tritree"], metadata["sha256"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError("not a tritree model, or a damaged one") from None
    if not isinstance(about, str) or not isinstance(digest, str):
        raise ModelFileError("not a tritree model, or a damaged one")
    return about, digest


def _first_line(error: BaseException) -> str:
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


def _build(fields: Fields, arrays: dict[str, NDArray[Any]]) -> TrinaryTreeRegressor | TrinaryTreeClassifier:
    """Return the estimator of a file, every part of it checked."""
    kind = fields.take("estimator", str)
    if kind not in _ESTIMATORS:
        raise ModelFileError(f"an unknown estimator, {kind[:40]!r}")
    estimator = _read_parameters(fields.object("parameters"), _ESTIMATORS[kind])
    codec = _read_codec(fields)
    settings = fields.take("settings", dict)
    classes = _read_classes(fields)
    n_classes = 0 if classes is None else len(classes)
    if (classes is None) != (kind == "regressor") or settings.get("n_classes") != n_classes:
        raise ModelFileError("its classes do not fit its estimator")
    model = _read_model(fields, settings, arrays, len(codec.columns))
    if not _fits(model.tree(), codec) or not _are_codes_of(codec, arrays):
        raise ModelFileError("a split that does not fit its column, or a value that is no number")

    estimator._codec = codec
    estimator._tree = GrowingTree(model)
    estimator._missing = settings["missing"]
    estimator.n_features_in_ = len(codec.columns)
    if classes is not None:
        estimator.classes_ = classes
    if codec.names is not None:
        estimator.feature_names_in_ = np.asarray(codec.names, dtype=object)
    if "importances" in arrays:
        estimator._tree._importances = _read_importances(arrays["importances"], len(codec.columns))
    fitted: TrinaryTreeRegressor | TrinaryTreeClassifier = estimator
    return fitted


def _read_parameters(fields: Fields, kind: type[Any]) -> Any:
    unknown = set(fields.names()) - set(kind._get_param_names())
    if unknown:
        raise ModelFileError(f"parameters of another version: {', '.join(sorted(unknown))[:200]}")
    # one that a later version has added takes its default
    values = {name: fields.take(name, str, int, float, bool, list, type(None)) for name in fields.names()}
    estimator = kind(**values)
    try:
        estimator._checked_parameters()
    except (ValueError, TypeError) as error:
        raise ModelFileError(_first_line(error)) from error
    return estimator


def _read_codec(fields: Fields) -> Codec:
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
        label = f"column {position}" if names is None else f"column {names[position]!r}"
        learned.append(_read_column(Fields(column, label), label))
    return Codec(tuple(learned), None if names is None else tuple(names))


def _read_column(fields: Fields, label: str) -> LearnedColumn:
    content = fields.take("content", str)
    if content not in [known.value for known in Content]:
        raise ModelFileError(f"{label} holds nothing that is known ({content[:40]!r})")
    labels = {name: fields.take_or_none(name, list) for name in ("categories", "order")}
    for name, found in labels.items():
        if found is not None:
            _check_labels(found, f"{name} of {label}")
            if any(not isinstance(item, str) and abs(item) >= 2**53 for item in found):
                raise ModelFileError(f"{name} of {label} are numbers that cannot be told apart")
    categories, order = (None if found is None else tuple(found) for found in labels.values())
    if categories is not None:
        is_text = content == Content.TEXT.value
        if not all(isinstance(item, str) == is_text for item in categories):
            raise ModelFileError(f"categories of {label} are not what it holds")
        if order is not None or list(categories) != sorted(set(categories)):
            raise ModelFileError(f"the categories of {label} are not in their order")
    elif content == Content.TEXT.value and order is None:
        raise ModelFileError(f"{label} holds text without categories")
    return LearnedColumn(label, Content(content), categories, order)


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
        if name != "importances" and part not in _PARTS:
            raise ModelFileError(f"an unknown array, {name[:40]!r}")
        if part in _PARTS:
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
        raise ModelFileError(f"its arrays do not fit together: {_first_line(error)}") from error
    return model


def _fits(tree: _core.Tree, codec: Codec) -> bool:
    """Return whether every split, and every surrogate, is one that its column can have, and every value a number."""
    split = tree.column >= 0
    splits = (tree.threshold[split], tree.set_begin[split], tree.set_words[split], tree.sets)
    surrogates = (tree.surrogate_threshold, tree.surrogate_set_begin, tree.surrogate_set_words, tree.sets)
    return (
        _are_rules(codec, tree.column[split], *splits)
        and _are_rules(codec, tree.surrogate_column, *surrogates)
        and not np.isinf(tree.surrogate_threshold).any()  # they need a value, and are never of missing alone
        and bool(np.isin(tree.surrogate_below, (0, 1)).all() and np.isfinite(tree.value).all())
    )


def _are_rules(
    codec: Codec,
    column: NDArray[Any],
    threshold: NDArray[Any],
    set_begin: NDArray[Any],
    set_words: NDArray[Any],
    sets: NDArray[Any],
) -> bool:
    """Return whether columns are split as they can be: by a threshold, between ranks, or by sets of their categories.

    The threshold of a split of missing against observed is -inf. A set has one bit per category.
    """
    n_categories = np.array(codec.n_categories)[column]
    n_ranks = np.array([-1 if known.order is None else len(known.order) for known in codec.columns])[column]
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


def _are_codes_of(codec: Codec, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the training rows and the splits to come, if there are some, are those of the columns."""
    if "growth.column_n_codes" not in arrays:
        return True
    n_codes, coded = arrays["growth.column_n_codes"], arrays["growth.column_is_categorical"] != 0
    n_categories = np.array(codec.n_categories)
    categorical = n_categories >= 0
    if (coded != categorical).any() or (n_codes != n_categories)[categorical].any():
        return False
    column, threshold = arrays["growth.rung_column"], arrays["growth.rung_threshold"]
    n_categories = n_categories[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    begin = np.where(n_categories < 0, -1, np.cumsum(2 * words) - 2 * words)
    return _are_rules(codec, column, threshold, begin, words, arrays["growth.rung_sets"])


def _read_importances(importances: NDArray[Any], n_columns: int) -> NDArray[np.float64]:
    fine = importances.dtype == np.float64 and importances.shape == (n_columns,)
    if not fine or not (np.isfinite(importances).all() and (importances >= 0).all()):
        raise ModelFileError("importances that are not one share per column")
    return importances
