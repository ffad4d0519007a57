"""Changes of model files: damaged bytes, and hostile contents with a valid checksum."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from serialization.samples import Arrays, seal

__all__ = ["Random", "craft_arrays", "craft_description", "damage", "hostile_files"]

Random = np.random.Generator


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
            if len(array) and array.dtype != bool:  # which an earlier change has made of it
                arrays[name] = edit_entries(array, rng)


def craft_arrays(description: dict[str, Any], arrays: Arrays, rng: Random) -> bytes:
    arrays = dict(arrays)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, 1, 2])):
            edit_array(arrays, rng)
            arrays = {name: np.atleast_1d(array) for name, array in arrays.items()}
    return seal(json.dumps(description), arrays)


# Every hostile change of every entry and every array, one at a time


def hostile_files(description: dict[str, Any], arrays: Arrays) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Return all changes of one entry or one array, each with its name."""
    for path in entry_paths(description):
        name = ".".join(map(str, path))
        for value in VALUES:
            yield (
                f"{name} = {str(value)[:40]!r}",
                lambda p=path, v=value: put_entry(description, arrays, p, v),
            )
    for name, array in arrays.items():
        for label, changed in hostile_arrays(array):
            yield f"{name} {label}", lambda n=name, c=changed: seal(json.dumps(description), arrays | {n: c})
        for other in arrays:
            if arrays[other].dtype == array.dtype and other != name:
                yield (
                    f"{name} = {other}",
                    lambda n=name, o=other: seal(json.dumps(description), arrays | {n: arrays[o]}),
                )


def put_entry(description: dict[str, Any], arrays: Arrays, path: tuple[Any, ...], value: Any) -> bytes:
    description = copy.deepcopy(description)
    holder: Any = description
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return seal(json.dumps(description), arrays)


def hostile_arrays(array: Any) -> Iterator[tuple[str, Any]]:
    """Return changed copies of an array, each with a label."""
    n = len(array)
    yield from [("reversed", array[::-1]), ("shifted", np.roll(array, 1)), ("doubled", np.tile(array, 2))]
    yield from [("empty", array[:0]), ("shorter", array[:-1]), ("longer", np.append(array, array[-1:]))]
    yield from [("row", array.reshape(1, -1)), ("column", array.reshape(-1, 1))]
    with np.errstate(all="ignore"):
        yield from [(f"as {dtype}", array.astype(dtype)) for dtype in TYPES if np.dtype(dtype) != array.dtype]
        one = array.dtype.type(1)
        for position in sorted({0, 1, n // 3, n // 2, n - 2, n - 1} & set(range(n))):
            near = [array[position] + one, array[position] - one] if array.dtype.kind != "b" else []
            for value in dict.fromkeys([*extremes(array), *near]):
                changed = array.copy()
                changed[position] = value
                yield f"[{position}] = {value}", changed
        for value in extremes(array):
            yield f"= {value}", np.full_like(array, value)
