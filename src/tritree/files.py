"""Model files: the arrays of a tree and what is to be known about them. Nothing in a file is run, or trusted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import ModelFileError, name_column
from tritree.restore import PARTS, Fields, check_description, first_line, restore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.estimators.base import TrinaryEstimator
    from tritree.estimators.tree import BaseTree

__all__ = [
    "FORMAT_VERSION",
    "check_place",
    "describe_estimator",
    "load",
    "save",
    "write_model",
    "write_whole",
]

#: The version of the files written here. It rises when an older tritree could misread them.
FORMAT_VERSION = 1

#: More than this safetensors does not read.
_MOST_HEADER = 100_000_000


def save(model: BaseTree, path: Any, training_rows: bool | None) -> None:
    """Write a fitted estimator to a file; see its method ``save``."""
    tree = model._model.core
    if training_rows is None:
        training_rows = not tree.is_detached and tree.n_ungrown > 0
    if not training_rows and not tree.is_detached and tree.n_ungrown == 0:
        model._model.importances(1)  # which need the training rows; where all is grown, nothing grows by it
    state = tree.__getstate__()
    if not training_rows:
        state.pop("growth", None)
        if (spread := tree.lasting_spread())["edges"].size:
            state["spread"] = spread
    arrays = {f"{part}.{name}": array for part in PARTS for name, array in _arrays(state, part).items()}
    if model._model.importances_ is not None:
        arrays["importances"] = model._model.importances_
    more = {
        "settings": state["settings"],
        "n_fitted": state["n_fitted"],
        "n_rows": state["growth"]["n_rows"] if "growth" in state else None,
    }
    write_model(path, describe_estimator(model, "") | more, arrays)


def write_model(path: Any, description: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write what is to be known of a model, and its arrays, to a file."""
    about = json.dumps(description, allow_nan=False)
    check_description(Fields(json.loads(about), "the model"))
    _write(path, about, arrays)


def _arrays(state: Mapping[str, Any], part: str) -> dict[str, NDArray[Any]]:
    return {name: array for name, array in state.get(part, {}).items() if isinstance(array, np.ndarray)}


def describe_estimator(model: TrinaryEstimator, kind: str) -> dict[str, Any]:
    """Return what is to be known about any estimator: its parameters, columns and classes, as JSON has them."""
    from tritree import __version__

    encoder, classes = model._encoder, getattr(model, "classes_", None)
    return {
        "format": FORMAT_VERSION,
        "tritree": __version__,
        "estimator": kind + ("regressor" if classes is None else "classifier"),
        "parameters": {name: _plain(value, name) for name, value in model.get_params(deep=False).items()},
        "names": _plain(encoder.column_names, "a column name"),
        "columns": [
            {
                "content": column.type.value,
                "categories": _plain(column.categories, name_column(column.name)),
                "order": _plain(column.order, name_column(column.name)),
            }
            for column in encoder.columns
        ],
        "classes": None
        if classes is None
        else {"type": _class_type(classes), "labels": _plain(classes, "classes_")},
    }


def _class_type(classes: NDArray[Any]) -> str:
    return {"U": "text", "O": "objects"}.get(classes.dtype.kind, classes.dtype.name)


def _plain(value: Any, what: str) -> Any:
    """Return a value as JSON keeps it: text, numbers, truth values, lists of them."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # where it stands now is not where it stood when the model was fitted
    if isinstance(value, dict):  # whose keys need not be text
        return {"pairs": [[_plain(key, what), _plain(item, what)] for key, item in value.items()]}
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


def _write(path: Any, about: str, arrays: dict[str, NDArray[Any]]) -> None:
    from safetensors.numpy import save as serialise

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if len(about) > _MOST_HEADER // 2:  # quotes in it are written as two characters
        raise ValueError(
            f"the names and categories of this model take {len(about):,} characters, more than a model file can keep; "
            "join rare categories, or shorten them"
        )
    place = check_place(path, "the model")
    write_whole(place, serialise(arrays, metadata={"tritree": about, "sha256": _digest(about, arrays)}))


def check_place(path: Any, what: str) -> Path:
    """Return where a file can be written, links followed; an error says why it cannot."""
    place = Path(os.path.realpath(os.fspath(path)))
    if place.is_dir():
        raise IsADirectoryError(f"{str(place)!r} is a folder; name a file in it to save {what} in")
    if place.exists() and not place.is_file():
        raise FileExistsError(f"{str(place)!r} is there and is no file; name another one to save {what} in")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(place.parent)!r} to save {what} in")
    return place


def write_whole(path: Path, data: bytes) -> None:
    """Write the file beside its place and put it there when it is whole: a crash leaves the old one."""
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


def load(path: Any) -> Any:
    """Return the estimator that ``save`` has written to a file.

    Loading runs no code from the file, whoever made it: a file that is damaged, altered, made by hand or by a newer
    tritree is refused.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save``.

    Returns
    -------
    estimator
        Of the class that was saved; it predicts the same bit for bit. If the training rows are in the file, it goes on
        growing.

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
        return restore(*_read(path))
    except ModelFileError as error:
        error.path = path
        raise
    except MemoryError as error:
        raise ModelFileError("it asks for more memory than there is", path) from error


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
        raise ModelFileError(f"damaged ({first_line(error)})") from error
    try:
        fields = Fields(json.loads(about), "the model")
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"its description is damaged ({first_line(error)})") from error
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
