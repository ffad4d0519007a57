"""Model files: safetensors with a JSON description, a format version and a checksum.

A file is one safetensors file. Its arrays are those of the core (`tritree.serialization.arrays`); everything else about
the estimator is JSON in its metadata (`tritree.serialization.description`), next to a SHA-256 checksum of both. The
checksum detects damage, but anybody can compute it: loading runs nothing from a file and checks all of its contents.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import ModelFileError
from tritree.output_files import check_output_path, write_atomically
from tritree.serialization import format_1
from tritree.serialization.arrays import check_growth_parameters, get_state, restore_model
from tritree.serialization.container import (
    MAX_DESCRIPTION,
    parse_description,
    read_arrays,
    read_header,
    to_parts,
)
from tritree.serialization.description import FORMAT_VERSION, JsonObject, describe, restore_estimator
from tritree.serialization.metadata import check_metadata, restore_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.estimators.base import TrinaryEstimator

__all__ = ["FORMAT_VERSION", "load", "read_versions", "save"]


def save(
    estimator: TrinaryEstimator, path: Any, *, training_rows: bool | None, metadata: dict[str, Any]
) -> None:
    """Write a fitted estimator of any family to a file; see the method ``save`` of estimators."""
    check_metadata(metadata)
    state, arrays = get_state(estimator._model, training_rows)
    entries = describe(estimator) | state | ({"metadata": metadata} if metadata else {})
    description = json.dumps(entries, allow_nan=False)
    if len(description) > MAX_DESCRIPTION:
        raise ValueError(
            f"the names and categories of this model take {len(description):,} characters, more than a model file can "
            "hold; join rare categories, or shorten them"
        )
    try:  # before an old file is replaced
        restore_estimator(JsonObject(parse_description(description), "the description"))
    except ModelFileError as error:
        raise ValueError(f"this estimator cannot be saved: {error}") from None
    path = check_output_path(path, "the model")
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {"tritree": description, "sha256": _checksum(description, arrays)}
    write_atomically(path, *to_parts(arrays, header))


def load(path: Any) -> Any:
    """Return the estimator that ``save`` has written to a file.

    Loading runs no code from the file. A file that is damaged, inconsistent or written by a newer version of tritree is
    refused.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save``.

    Returns
    -------
    estimator
        Estimator of the class that was saved. Its predictions are the same, bit for bit. If the file has the training
        rows, third branches continue to grow on demand.

    Raises
    ------
    ModelFileError
        If the file is not a model, damaged or inconsistent; the message says what is wrong.
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
    ...     loaded = tritree.load(path)
    >>> np.array_equal(loaded.predict(X), tree.predict(X))
    True
    """
    path = Path(os.fspath(path))
    try:
        description, arrays = _read(path)
        estimator, encoder, classes = restore_estimator(description)
        n_classes = 0 if classes is None else len(classes)
        model = restore_model(description, arrays, encoder, n_classes)
        check_growth_parameters(estimator, encoder, classes, model)
        estimator._set_fitted(model, encoder, classes, restore_metadata(description))
    except ModelFileError as error:
        error.path = path
        raise
    except MemoryError as error:
        raise ModelFileError("it needs more memory than there is", path) from error
    return estimator


def read_versions(path: Any) -> tuple[int, str]:
    """Return the version of the format of a model file, and the version of tritree that has written it."""
    with Path(os.fspath(path)).open("rb") as file:
        text, _, _ = read_header(file)
    description = JsonObject(parse_description(text), "the description")
    return description.get("format", int), description.get("tritree", str)


def _read(path: Path) -> tuple[JsonObject, dict[str, NDArray[Any]]]:
    """Return the description and the arrays of a file, or raise a ModelFileError if they are not as written."""
    from tritree import __version__

    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe may never end
        raise ModelFileError("not a file, but a pipe, a socket or a device")
    with path.open("rb") as file:
        text, checksum, array_entries = read_header(file)
        entries = parse_description(text)
        description = JsonObject(entries, "the description")
        version = description.get("format", int)
        if version not in (1, FORMAT_VERSION):
            remedy = "upgrade tritree" if version > FORMAT_VERSION else "save the model again"
            raise ModelFileError(
                f"written by tritree {description.get('tritree', str)[:40]!r} in format {version}, which this version "
                f"({__version__}) cannot read; {remedy}"
            )
        n_trees = len(description.get("trees", list)) if version == 1 and "trees" in entries else 0
        arrays = read_arrays(file, array_entries, n_trees)
    if checksum != _checksum(text, arrays):
        raise ModelFileError("damaged or altered: its contents do not match its checksum")
    if version == 1:
        entries, arrays = format_1.upgrade(entries, arrays)
    return JsonObject(entries, "the description"), arrays


def _checksum(description: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    checksum = hashlib.sha256(description.encode())
    for name in sorted(arrays):
        array = arrays[name]
        checksum.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        checksum.update(np.ascontiguousarray(array).data)
    return checksum.hexdigest()
