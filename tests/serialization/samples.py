"""Tables with columns of all kinds, models of them, and model files taken apart and put together again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from models import estimator, predictions, with_missing
from numpy.typing import NDArray
from safetensors.numpy import load as deserialise
from safetensors.numpy import save as serialise

from tritree.serialization import _checksum

__all__ = [
    "COLOURS",
    "SIZES",
    "craft",
    "describe",
    "description_and_arrays",
    "drop",
    "half_grown",
    "mixed",
    "more_missing",
    "put",
    "same_model",
    "same_tree",
    "seal",
    "trees_frame",
    "write_file",
]

COLOURS = ("blue", "green", "red", "žlutá")
SIZES = ("small", "medium", "large")

Arrays = dict[str, NDArray[Any]]


def mixed(n_rows: int = 200, *, seed: int = 0, task: str = "regression") -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return a table with columns of all types, all with missing values."""
    rng = np.random.default_rng(seed)
    number, colour = rng.normal(size=n_rows), rng.integers(0, len(COLOURS), n_rows)
    size, shop, open_ = rng.integers(0, 3, n_rows), rng.integers(0, 5, n_rows), rng.random(n_rows) < 0.5
    target = 2 * number + np.array([0.0, 3, 1, -2])[colour] + size + (shop == 2) + 1.5 * open_
    target = target + rng.normal(size=n_rows)
    table = pd.DataFrame(
        {
            "number": number,
            "colour": np.array(COLOURS, dtype=object)[colour],
            "size": pd.Categorical.from_codes(size, list(SIZES), ordered=True),
            "shop": pd.Categorical(shop),
            "open": open_.astype(object),
        }
    )
    if task == "classification":
        target = np.digitize(target, np.quantile(target, [0.4, 0.7]))
    return table.mask(rng.random(table.shape) < 0.15), target


def more_missing(table: Any, seed: int = 1) -> Any:
    """Return an array or a frame with more missing values."""
    if isinstance(table, np.ndarray):
        return with_missing(table, seed=seed)
    return table.mask(np.random.default_rng(seed).random(table.shape) < 0.3)


def half_grown(X: Any, y: NDArray[Any], sample_weight: Any = None, **parameters: Any) -> Any:
    """Return a fitted estimator that a few rows with missing values have made grow."""
    task = "regression" if y.dtype.kind == "f" else "classification"
    model = estimator(task, **({"max_depth": 3, "min_samples_leaf": 5} | parameters))
    model.fit(X, y, sample_weight=sample_weight)
    model.predict(more_missing(X[:10]))
    return model


def same_tree(one: Any, other: Any) -> bool:
    """Return whether all arrays of two trees are equal to the last bit."""
    states = [model._model.core.state(with_rows=False)["trees"] for model in (one, other)]
    assert states[0].keys() == states[1].keys()
    return all(array.tobytes() == states[1][name].tobytes() for name, array in states[0].items())


def same_model(one: Any, other: Any, X: Any) -> bool:
    """Return whether two trees are the same now, predict the same, and are the same after that."""
    if not same_tree(one, other):
        return False
    return predictions(one, X).tobytes() == predictions(other, X).tobytes() and same_tree(one, other)


def description_and_arrays(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the description and the arrays of a model file."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["tritree"]), dict(deserialise(data))


def seal(description: str, arrays: Arrays) -> bytes:
    """Return the bytes of a model file with a valid checksum, whatever is in it."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return serialise(arrays, metadata={"tritree": description, "sha256": _checksum(description, arrays)})


def write_file(path: Path, description: Any, arrays: Arrays) -> Path:
    """Return the path of a file with a valid checksum, whatever is in it."""
    path.write_bytes(seal(json.dumps(description), arrays))
    return path


# ---- small tables, and files that are inconsistent


def trees_frame(n_rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return a table with numeric and categorical columns, a tenth of whose values are missing."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n_rows),
            "kind": pd.Categorical(random.choice(["oak", "elm", "ash"], size=n_rows)),
            "age": random.integers(0, 50, size=n_rows),
        }
    )
    y = frame["size"].to_numpy() + (frame["kind"] == "oak").to_numpy() * 2 + frame["age"].to_numpy() / 20
    return frame.mask(random.random(frame.shape) < 0.1), y


def craft(path: Path, change: Any) -> Path:
    """Return the path of a model file after a change of its description and arrays, with a valid checksum."""
    description, arrays = description_and_arrays(path.read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(description, arrays)
    return write_file(path, description, arrays)


def put(name: str, position: Any, value: Any) -> Any:
    """Return a change of an array; the position may be a function of the arrays."""

    def change(_: Any, arrays: Arrays) -> None:
        arrays[name][position(arrays) if callable(position) else position] = value

    return change


def describe(name: str, value: Any) -> Any:
    """Return a change of an entry of the description."""

    def change(description: Any, _: Any) -> None:
        *path, last = [int(key) if key.isdigit() else key for key in name.split(".")]
        for key in path:
            description = description[key]
        description[last] = value

    return change


def drop(name: str) -> Any:
    """Return the removal of an array."""
    return lambda description, arrays: arrays.pop(name)
