"""The container of a model file: a safetensors file whose header is read within limits.

The header of a safetensors file is JSON: metadata first, here the description and its checksum, then the arrays. A file
is refused before it costs more than a model of its size would: names and categories may be long, but a model has few
arrays, and its description few objects and lists.
"""

from __future__ import annotations

import json
import math
import os
import re
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from tritree.errors import ModelFileError
from tritree.serialization.description import first_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_DESCRIPTION", "parse_description", "read_arrays", "read_header", "to_parts"]

#: Maximum size of the header that safetensors reads, in bytes.
_MAX_HEADER = 100_000_000
#: Maximum size of a description, in characters: quotes in it are escaped in the header, which takes another character.
MAX_DESCRIPTION = _MAX_HEADER // 2
#: Maximum size of the entries of arrays, in characters; in format 1, a forest has arrays of its own per tree.
_MAX_ENTRIES = 20_000
_MAX_ENTRIES_PER_TREE = 8_000
_MAX_ENTRIES_OF_TREES = 5_000_000
#: Objects and lists that a description may have in addition to one per quotation mark.
_MAX_NESTED = 10_000

_METADATA = re.compile(r'\s*\{\s*"__metadata__"\s*:\s*\{\s*(?=")')
_COLON, _NEXT = re.compile(r'\s*:\s*(?=")'), re.compile(r'\s*,\s*(?=")')
_END = re.compile(r"\s*\}\s*,?")
_ARRAY_END = re.compile(r'"data_offsets"\s*:\s*\[\s*\d+\s*,\s*(\d{1,18})\s*\]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


# ---- writing


def to_parts(arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> tuple[bytes, bytes, memoryview]:
    """Return the parts of a file; its metadata, which safetensors writes in random order, are sorted."""
    from safetensors.numpy import save as to_bytes

    data = to_bytes(arrays, metadata=metadata)
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays are aligned
    return len(text).to_bytes(8, "little"), text, memoryview(data)[end:]


# ---- reading


def read_header(file: BinaryIO) -> tuple[str, str, str]:
    """Return the description in the header of a file, its checksum and the entries of arrays."""
    size, length = int.from_bytes(file.read(8), "little"), os.fstat(file.fileno()).st_size
    if size > min(length - 8, _MAX_HEADER):
        raise ModelFileError("not a tritree model, or a truncated one")
    header = file.read(size)
    try:
        metadata, entries = _split(header.decode())
        return metadata["tritree"], metadata["sha256"], entries
    except (ValueError, KeyError):
        raise ModelFileError("not a tritree model, or a damaged one") from None


def _split(header: str) -> tuple[dict[str, str], str]:
    """Return the two metadata of a header and its rest, of which nothing is parsed."""
    metadata, at, read_string = {}, _skip(_METADATA, header, 0), json.JSONDecoder().raw_decode
    for number in range(2):
        key, at = read_string(header, at if number == 0 else _skip(_NEXT, header, at))
        metadata[key], at = read_string(header, _skip(_COLON, header, at))
    return metadata, header[_skip(_END, header, at) :]


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        raise ValueError("not the metadata of a model")
    return found.end()


def parse_description(text: str) -> Any:
    """Return a description from its text: strict JSON, without NaN, infinite numbers and keys that repeat."""
    if len(text) > MAX_DESCRIPTION:
        raise ModelFileError(
            f"its description has {len(text):,} characters, more than a model has: the limit is {MAX_DESCRIPTION:,}"
        )
    limit = _MAX_NESTED + text.count('"')
    if _count_nested(text) > limit and (n_nested := _count_nested(_STRING.sub("", text))) > limit:
        raise ModelFileError(
            f"its description has {n_nested:,} objects and lists, more than a model has: the limit is {limit:,}, one "
            f"per quotation mark and {_MAX_NESTED:,}"
        )
    try:
        return json.loads(
            text, object_pairs_hook=_to_object, parse_constant=_refuse_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"damaged ({first_line(error)})") from error


def _count_nested(text: str) -> int:
    return text.count("[") + text.count("{")


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key that repeats")
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large")
    return number


def read_arrays(file: BinaryIO, entries: str, n_trees: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, from its header's entries; ``n_trees`` have arrays of their own."""
    from safetensors.numpy import load as from_bytes

    limit = _MAX_ENTRIES + min(n_trees * _MAX_ENTRIES_PER_TREE, _MAX_ENTRIES_OF_TREES)
    if len(entries) > limit:
        raise ModelFileError(
            f"its list of arrays has {len(entries):,} characters, more than a model has: the limit is {limit:,}"
        )
    file.seek(0)
    data = file.read()
    try:
        arrays: dict[str, NDArray[Any]] = from_bytes(data)
    except MemoryError:
        raise
    except Exception as error:  # whatever the parser raises
        raise ModelFileError(_wrong_size(data, entries) or f"damaged ({first_line(error)})") from error
    return arrays


def _wrong_size(data: bytes, entries: str) -> str | None:
    """Return what is wrong with the size of a file, by where its arrays end; None if nothing is."""
    ends = [int(end) for end in _ARRAY_END.findall(entries)]
    n_bytes = 8 + int.from_bytes(data[:8], "little") + max(ends, default=0)
    if not ends or len(data) == n_bytes:
        return None
    what = "damaged or truncated" if len(data) < n_bytes else "damaged"
    return f"{what}: it has {len(data):,} bytes, and its arrays end at {n_bytes:,}"
