"""UBJSON is decoded as its specification says, and nothing but a GraftError comes out of other data."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tritree.errors import GraftError
from tritree.graft import ubjson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


def encode(value: Any, counted: bool = False) -> bytes:
    """Return a value as UBJSON, containers with a count or with an end."""
    if isinstance(value, bool) or value is None:
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"S" + text(value)
    count = b"#l" + struct.pack(">i", len(value)) if counted else b""
    if isinstance(value, list):
        return b"[" + count + b"".join(encode(item, counted) for item in value) + (b"" if counted else b"]")
    items = b"".join(text(key) + encode(item, counted) for key, item in value.items())
    return b"{" + count + items + (b"" if counted else b"}")


def text(value: str) -> bytes:
    return b"I" + struct.pack(">h", len(value.encode())) + value.encode()


@given(VALUES, st.booleans())
def test_values_come_back(value: Any, counted: bool) -> None:
    assert ubjson.decode(encode(value, counted)) == value


@pytest.mark.parametrize(
    ("marker", "dtype"),
    [("i", "i1"), ("U", "u1"), ("I", "i2"), ("u", "u2"), ("l", "i4"), ("L", "i8"), ("d", "f4"), ("D", "f8")],
)
def test_typed_array_of_numbers_becomes_an_array_of_that_dtype(marker: str, dtype: str) -> None:
    numbers = np.array([0, 1, 100], dtype)
    found = ubjson.decode(f"[${marker}#U\x03".encode() + numbers.astype(f">{dtype}").tobytes())
    assert found.dtype == dtype
    assert found.tolist() == numbers.tolist()


def test_no_op_markers_are_skipped() -> None:
    assert ubjson.decode(b"N[NTNNFN]") == [True, False]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "1 bytes are expected, but 0 are left"),
        (b"TT", "1 bytes follow"),
        (b"[T", "1 bytes are expected"),
        (b"Q", "'Q' is no type of a value"),
        (b"Hi\x011", "'H' is no type of a value"),
        (b"Sd\0\0\0\0", "'d' is no type of a length"),
        (b"Si\xff", "-1 bytes are expected"),
        (b"Si\x01\xff", "not UTF-8"),
        (b"[#i\xff", "-1 items"),
        (b"[$U]", "not their number"),
        (b"[$U#L\x7f\xff\xff\xff\xff\xff\xff\xff", "are left"),
        (b"[#L\x7f\xff\xff\xff\xff\xff\xff\xff", "are left"),
        (b"{i\x01aTi\x01aT}", "'a' occurs twice"),
        (b"[" * 1000, "100 containers"),
        (b"[$[#i\x01" * 1000, "100 containers"),
    ],
)
def test_malformed_data_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(GraftError, match=message):
        ubjson.decode(data)


def test_few_bytes_do_not_become_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ubjson, "MAX_VALUES", 1000)
    with pytest.raises(GraftError, match="more than 1,000 values"):
        ubjson.decode(b"[$T#L\x7f\xff\xff\xff\xff\xff\xff\xff")


@given(st.binary())
@example(b"{#i\x01N")
def test_random_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        ubjson.decode(data)
    except GraftError:
        pass


@given(VALUES, st.booleans(), st.data())
def test_truncated_data_are_refused(value: Any, counted: bool, data: st.DataObject) -> None:
    encoded = encode(value, counted)
    with pytest.raises(GraftError):
        ubjson.decode(encoded[: data.draw(st.integers(0, len(encoded) - 1))])


@given(VALUES, st.booleans(), st.data())
def test_edited_data_are_decoded_or_refused(value: Any, counted: bool, data: st.DataObject) -> None:
    encoded = bytearray(encode(value, counted))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    try:
        json.dumps(ubjson.decode(bytes(encoded)), default=np.ndarray.tolist)
    except GraftError:
        pass
