"""The user's metadata in a model file: a JSON object of limited size, checked in writing and reading."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from tritree.errors import ModelFileError

if TYPE_CHECKING:
    from tritree.serialization.description import JsonObject

__all__ = ["check_metadata", "restore_metadata"]

#: Maximum size of the metadata as JSON, in characters, and maximum depth of dicts and lists in them.
MAX_SIZE = 1_000_000
MAX_DEPTH = 20
#: Largest whole number.
_MAX_INTEGER = 2**64


def check_metadata(metadata: Any) -> None:
    """Raise a ValueError that names the first entry that a model file cannot hold."""
    if type(metadata) is not dict:
        raise ValueError(f"metadata must be a dict, not {type(metadata).__name__}")
    _check(metadata, "metadata", 0)
    if (size := len(json.dumps(metadata))) > MAX_SIZE:
        raise ValueError(f"metadata has {size:,} characters as JSON; the limit is {MAX_SIZE:,}")


def restore_metadata(description: JsonObject) -> dict[str, Any]:
    """Return the metadata of a file, which may have none, or raise a ModelFileError."""
    if "metadata" not in description.entries:
        return {}
    metadata = description.get("metadata", dict)
    try:
        check_metadata(metadata)
    except ValueError as error:
        raise ModelFileError(str(error)) from error
    return metadata


def _check(value: Any, name: str, depth: int) -> None:
    name = name[:200]  # keys may be long
    if depth > MAX_DEPTH:
        raise ValueError(f"{name} is nested too deeply; the limit is {MAX_DEPTH} levels")
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise ValueError(f"{name} has the key {key!r}; keys must be text")
            _check(item, f"{name}[{key!r}]", depth + 1)
    elif type(value) is list:
        for position, item in enumerate(value):
            _check(item, f"{name}[{position}]", depth + 1)
    elif type(value) is float and not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, which JSON cannot hold; use None")
    elif type(value) is int and abs(value) > _MAX_INTEGER:
        raise ValueError(f"{name} is an integer beyond 2**64; make it text")
    elif type(value) not in (str, int, float, bool, type(None)):
        raise ValueError(
            f"{name} is of type {type(value).__name__}; use text, plain numbers, True, False, None, lists and dicts"
        )
