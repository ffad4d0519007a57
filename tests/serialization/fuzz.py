"""Fuzzing of model files: run as a program, because a crash would end the test process.

    python tests/serialization/fuzz.py FAMILY N_CHANGES FOLDER

It prints as JSON how many files were refused or loaded, and what failed. The last file stays in the folder.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import os
import resource
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd
from models import predictions, simulated
from serialization.samples import Arrays, description_and_arrays, half_grown, mixed, more_missing, seal

import tritree
from tritree import GrowthLimitError, ModelFileError
from tritree.columns import ColumnType

Random = np.random.Generator


FAMILIES_OF_TREES = [
    (tritree.TrinaryForestRegressor, "trinary"),
    (tritree.TrinaryForestRegressor, "surrogate"),
    (tritree.TrinaryBoostingRegressor, "trinary_mia"),
    (tritree.TrinaryBoostingRegressor, "fractional"),
]


def models() -> Iterator[tuple[Any, Any]]:
    """Return small models of several kinds, each with rows to predict."""
    for task, missing in [("regression", "trinary"), ("classification", "trinary_mia")]:
        X, y = mixed(80, task=task)
        yield half_grown(X, y, missing=missing, max_depth=2), more_missing(X[:30], seed=2)
    for task, missing in [("classification", "surrogate"), ("regression", "fractional")]:
        X, y = mixed(80, task=task)
        yield half_grown(X, y, missing=missing), more_missing(X[:30], seed=2)
    X, y = simulated(300, 3, missing=0.1)
    yield half_grown(X, y, np.arange(300) % 4 / 4), more_missing(X[:30], seed=2)
    X, y = simulated(80, 3, missing=0.1)
    fully_grown = half_grown(X, y, max_depth=2).grow_all()
    assert fully_grown.feature_importances_.any()
    yield fully_grown, more_missing(X[:30], seed=2)
    for family, missing in FAMILIES_OF_TREES:
        X, y = mixed(80)
        few = {"n_estimators": 3} if family is tritree.TrinaryForestRegressor else {"max_iter": 3}
        model = family(missing=missing, max_depth=2, min_samples_leaf=5, random_state=0, **few).fit(X, y)
        model.predict(more_missing(X[:10]))
        yield model, more_missing(X[:30], seed=2)
    X, y = mixed(80, task="classification")
    model = tritree.TrinaryBoostingClassifier(max_iter=2, max_depth=2, min_samples_leaf=5, random_state=0)
    yield model.fit(X, y), more_missing(X[:30], seed=2)
    model = tritree.TrinaryBoostingRegressor(
        max_iter=2, max_depth=2, min_samples_leaf=5, random_state=0, monotonic_cst={"number": 1}
    )
    X, y = mixed(80)
    yield model.fit(X, y), more_missing(X[:30], seed=2)


# Damaged files: bytes are changed, and the checksum is not updated


def damage(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    # half of the entry_paths in the header, which is the smaller part
    header = 8 + int.from_bytes(data[:8], "little")
    at = int(rng.integers(header if rng.random() < 0.5 else len(data)))
    n = int(rng.choice([1, 2, 4, 8, 100]))
    match rng.integers(9):
        case 0:
            changed[at] ^= 1 << int(rng.integers(8))
        case 1:
            changed[at : at + n] = rng.bytes(len(changed[at : at + n]))
        case 2:
            del changed[at:]
        case 3:
            changed += rng.bytes(n)
        case 4:
            del changed[at : at + n]
        case 5:
            changed[at:at] = changed[at : at + n]
        case 6:
            changed[at : at + n] = bytes(len(changed[at : at + n]))
        case 7:
            changed[:8] = int(rng.choice([0, 1, header - 9, header - 7, 2**31, 2**63 - 1])).to_bytes(
                8, "little"
            )
        case 8:  # a digit of the header: a shape, an offset, a number of the description
            digits = [i for i in range(8, header) if 48 <= changed[i] < 58]
            changed[int(rng.choice(digits))] = int(rng.integers(48, 58))
    return bytes(changed)


# Crafted files: changed contents with a valid checksum


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, -2, 2, 3, 5, 64, 255, 256, 65_534, 65_535, 2**31 - 1, 2**31, -(2**31) - 1),
    *(2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30, -(10**400), 0.5, -0.0, 1e300, 5e-324),
    *(float("nan"), float("inf"), -float("inf")),
    *("", "a", "nan", "text", "numbers", "nothing", "objects", "float16", "\0", "\ud800", "x" * 100_000),
    *([], {}, [[]], [None], [0], ["a", "a"], [1, "a"], [float("nan")], {"a": 1}, nested(50), nested(200)),
    *(
        "trinary",
        "trinary_mia",
        "mia",
        "majority",
        "fractional",
        "surrogate",
        "entropy",
        "gini",
        "squared_error",
    ),
    *("regressor", "classifier", list(range(70)), list(range(1000))),
]


def entry_paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all entries of a description, as keys and positions."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if len(at) > 5:
        return []
    return [path for key, item in inside for path in [(*at, key), *entry_paths(item, (*at, key))]]


def edit_description(description: dict[str, Any], rng: Random) -> None:
    """Change an entry of the description at any depth."""
    paths = entry_paths(description)
    path = paths[rng.integers(len(paths))]
    holder: Any = description
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    match rng.integers(8):
        case 0:
            del holder[key]
        case 1 | 2 | 3 | 4:
            holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        case 5:
            if isinstance(value, int):
                holder[key] = value + int(rng.choice([-1, 1]))
            elif isinstance(value, list):
                value[:] = value[::-1] if rng.random() < 0.5 else value + value[:1]
            else:
                holder[key] = [value]
        case 6:  # what stands elsewhere
            holder[key] = entry_at(description, paths[rng.integers(len(paths))])
        case 7:
            if isinstance(holder, list):
                holder.append(copy.deepcopy(value))
            else:
                holder["another"] = value


def entry_at(description: dict[str, Any], path: tuple[Any, ...]) -> Any:
    found: Any = description
    for key in path:
        found = found[key]
    return copy.deepcopy(found)


def craft_description(description: dict[str, Any], arrays: Arrays, rng: Random) -> bytes:
    description = copy.deepcopy(description)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        edit_description(description, rng)
    return seal(json.dumps(description), arrays)


def extremes(array: Any) -> list[Any]:
    """Return values at the bounds of a type, and near those that indices have."""
    if array.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 1e300, -1e300, 1e-300, 5e-324, 0.5]
    n, bounds = len(array), np.iinfo(array.dtype)
    near = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 63, 64, 127, 254, 255, n - 1, n, n + 1, bounds.max - 1]
    return [value for value in [bounds.min, *near, bounds.max] if bounds.min <= value <= bounds.max]


def edit_entries(array: Any, rng: Random) -> Any:
    array = array.copy()
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.integers(len(array))
        match rng.integers(5):
            case 0 | 1:
                array[at] = rng.choice(np.array(extremes(array), dtype=array.dtype))
            case 2:  # what may stand there
                array[at] = array[rng.integers(len(array))]
            case 3:
                array[at] = (
                    array[at] + array.dtype.type(1) if rng.random() < 0.5 else array[at] - array.dtype.type(1)
                )
            case 4:
                raw = bytearray(array.tobytes())
                raw[rng.integers(len(raw))] ^= 1 << int(rng.integers(8))
                array = np.frombuffer(bytes(raw), dtype=array.dtype).copy()
    return array


OTHER_NAMES = [
    *(
        "trees.x",
        "data.n_rows",
        "data",
        "bins.x",
        "ladders.column",
        "distributions.edges",
        "importances",
        "x",
    ),
    *("", "tree.x", "growth.n_rows", "rows.x", "0.tree.left", "99.growth.in_bag", "codes.x", "table.weight"),
]
TYPES = "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 ?".split()


def edit_array(arrays: Arrays, rng: Random) -> None:
    """Change an array: mostly its entries, sometimes its type, its shape, or whether it is there."""
    names = sorted(arrays)
    name = names[rng.integers(len(names))]
    array = arrays[name]
    match rng.integers(12):
        case 0:
            arrays[name] = array.astype(rng.choice(TYPES))
        case 1:
            arrays[name] = array.view(
                rng.choice([t for t in TYPES if np.dtype(t).itemsize == array.itemsize])
            )
        case 2:
            arrays[name] = [array.reshape(1, -1), array.reshape(-1, 1), array[:0], array.sum()][
                rng.integers(4)
            ]
        case 3:
            arrays[name] = (
                array[: rng.integers(len(array) + 1)] if rng.random() < 0.5 else np.append(array, array[-1:])
            )
        case 4:
            match rng.integers(4):
                case 0:
                    del arrays[name]
                case 1:
                    arrays[str(rng.choice(OTHER_NAMES))] = array
                case 2:
                    arrays[name] = arrays[names[rng.integers(len(names))]]
                case 3:
                    arrays[name] = rng.permutation(array)
        case _:
            if len(array):
                arrays[name] = edit_entries(array, rng)


def craft_arrays(description: dict[str, Any], arrays: Arrays, rng: Random) -> bytes:
    arrays = dict(arrays)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, 1, 2])):
            edit_array(arrays, rng)
            arrays = {name: np.atleast_1d(array) for name, array in arrays.items()}
    return seal(json.dumps(description), arrays)


FAMILIES: dict[str, Callable[..., bytes]] = {
    "damage": damage,
    "description": craft_description,
    "arrays": craft_arrays,
    "description of format 1": craft_description,
    "arrays of format 1": craft_arrays,
}


def files(family: str, folder: Path) -> Iterator[tuple[Path, Any]]:
    """Return model files, each with rows to predict: of new models, or those that format 1 has left."""
    if family.endswith("format 1"):
        for path in sorted(Path(__file__).with_name("stored").glob("format1_*.tritree")):
            yield path, None
    else:
        for number, (model, rows) in enumerate(models()):
            model.save(path := folder / f"original{number}")
            yield path, rows


# What becomes of them


def rows_of(model: Any) -> Any:
    """Return rows with missing values in the columns of a model."""
    rng = np.random.default_rng(0)
    columns = []
    for column in model._encoder.columns:
        known = list(column.order or column.categories or ())
        if column.type is ColumnType.EMPTY:
            known = []
        elif column.order is not None:
            known = [label for label in known if isinstance(label, str) == (column.type is ColumnType.TEXT)]
        elif column.type is ColumnType.TEXT:
            known += ["never seen"] if model.unknown_category == "no_information" else []
        elif column.categories is None:
            known = [-2.0, -0.5, 0.0, 0.5, 2.0]
        if column.type is not ColumnType.TEXT:
            known = list(map(float, known))
        columns.append([known[i] if known else None for i in rng.integers(max(1, len(known)), size=12)])
    table = pd.DataFrame(dict(enumerate(columns)), dtype=object)
    table = table.mask(rng.random(table.shape) < 0.4, None)
    if model._encoder.column_names is None:
        return table.to_numpy()
    table.columns = pd.Index(model._encoder.column_names, dtype=object)
    return table


def use(model: Any) -> None:
    """Use a loaded model as a user may, within bounds."""
    rows = rows_of(model)
    predictions(model, rows)
    model.apply(rows)
    if not model._model.core.is_detached:
        try:
            model.grow_all(model.n_nodes_ + 20)
        except GrowthLimitError:
            pass
    model.to_dict(**({"distribution": True} if model._model.is_single else {}))
    list(model._model.trees())
    if not model._model.is_detached:
        assert len(model.feature_importances_) == model.n_features_in_
    predictions(model, rows)


def fuzz(family: str, n_changes: int, folder: Path) -> dict[str, Any]:
    """Return how many files were refused or loaded, what failed, and how much memory was used, in bytes."""
    path, outcomes, faults = folder / "changed", Counter[str](), []
    originals = []
    for original, rows in files(family, folder):
        data = original.read_bytes()
        parts = (data,) if family == "damage" else description_and_arrays(data)
        model = tritree.load(original)
        rows = rows_of(model) if rows is None else rows
        originals.append((parts, rows, predictions(model, rows).tobytes()))
        use(tritree.load(original))
    change, begin = FAMILIES[family], peak_memory()
    for number in range(n_changes):
        parts, rows, expected = originals[number % len(originals)]
        path.write_bytes(change(*parts, np.random.default_rng([number, *family.encode()])))
        try:
            model = tritree.load(path)
            outcomes["loaded"] += 1
            if family != "damage":
                use(model)
            elif predictions(model, rows).tobytes() != expected:
                faults.append(f"{number}: other predictions")
        except ModelFileError as error:
            outcomes["refused"] += 1
            if not str(error).startswith(f"{path}: "):
                faults.append(f"{number}: a message without the path: {error}")
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            faults.append(
                f"{number}: {type(error).__name__}: {str(error)[:300]} ({Path(at.filename).name}:{at.lineno})"
            )
    return {**outcomes, "faults": faults, "memory": peak_memory() - begin}


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(fuzz(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
