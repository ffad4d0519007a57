"""Universal Binary JSON, the format of XGBoost's ``.ubj`` files. Nothing in the data is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import GraftError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_NESTING", "MAX_VALUES", "decode"]

#: Maximum number of containers inside each other.
MAX_NESTING = 100
#: Maximum number of values outside arrays of numbers. Each is a Python object, many times as large as its bytes.
MAX_VALUES = 20_000_000

_INTEGERS = {"i": ">i1", "U": ">u1", "I": ">i2", "u": ">u2", "l": ">i4", "L": ">i8"}
_NUMBERS = _INTEGERS | {"d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def decode(data: bytes) -> Any:
    r"""Return the value that the data hold; typed arrays of numbers become NumPy arrays.

    Raises
    ------
    GraftError
        If the data are truncated, malformed, nested too deeply or of too many values.

    Examples
    --------
    >>> decode(b"{i\x01a[$U#i\x02\x05\x06i\x01bSi\x02hi}")
    {'a': array([5, 6], dtype=uint8), 'b': 'hi'}
    """
    decoder = _Decoder(data)
    value = decoder.value(decoder.marker(), 0)
    if decoder.position < len(data):
        raise decoder.error(f"the data end here, but {len(data) - decoder.position:,} bytes follow")
    return value


class _Decoder:
    """Data and the position up to which they are decoded."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.n_values = 0

    def error(self, problem: str) -> GraftError:
        return GraftError(f"byte {self.position:,} of the UBJSON data: {problem}")

    def take(self, n_bytes: int) -> bytes:
        """Return the next bytes."""
        n_left = len(self.data) - self.position
        if not 0 <= n_bytes <= n_left:
            raise self.error(f"{n_bytes:,} bytes are expected, but {n_left:,} are left")
        self.position += n_bytes
        return self.data[self.position - n_bytes : self.position]

    def accept(self, byte: bytes) -> bool:
        """Skip a byte if it comes next."""
        found = self.data.startswith(byte, self.position)
        self.position += found
        return found

    def marker(self) -> str:
        """Return the next type marker."""
        while self.accept(b"N"):  # a no-op
            pass
        return self.take(1).decode("latin-1")

    def value(self, marker: str, nesting: int) -> Any:
        """Return the value that follows a type marker."""
        self.n_values += 1
        if self.n_values > MAX_VALUES:
            raise self.error(f"more than {MAX_VALUES:,} values")
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _NUMBERS:
            return self.numbers(marker, 1)[0].item()
        if marker == "C":
            return self.take(1).decode("latin-1")
        if marker == "S":
            return self.text(self.marker())
        if marker not in "[{":
            raise self.error(f"{marker!r} is no type of a value")
        if nesting >= MAX_NESTING:
            raise self.error(f"more than {MAX_NESTING} containers inside each other")
        return self.array(nesting + 1) if marker == "[" else self.object(nesting + 1)

    def numbers(self, marker: str, count: int) -> NDArray[Any]:
        dtype = np.dtype(_NUMBERS[marker])
        return np.frombuffer(self.take(count * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))

    def length(self, marker: str) -> int:
        if marker not in _INTEGERS:
            raise self.error(f"{marker!r} is no type of a length")
        return int(self.numbers(marker, 1)[0])

    def text(self, marker: str) -> str:
        """Return the text whose length has a type."""
        try:
            return self.take(self.length(marker)).decode()
        except UnicodeDecodeError:
            raise self.error("a text is not UTF-8") from None

    def array(self, nesting: int) -> Any:
        item_type, count = self.header()
        if item_type in _NUMBERS and count is not None:
            return self.numbers(item_type, count)
        items: list[Any] = []
        while len(items) != count:
            marker = item_type or self.marker()
            if marker == "]" and count is None:
                break
            items.append(self.value(marker, nesting))
        return items

    def object(self, nesting: int) -> dict[str, Any]:
        item_type, count = self.header()
        entries: dict[str, Any] = {}
        while len(entries) != count:
            marker = self.marker()
            if marker == "}" and count is None:
                break
            key = self.text(marker)
            if key in entries:
                raise self.error(f"the key {key[:80]!r} occurs twice")
            entries[key] = self.value(item_type or self.marker(), nesting)
        return entries

    def header(self) -> tuple[str, int | None]:
        """Return the common type of a container's items, or "", and their number, or None."""
        item_type = self.marker() if self.accept(b"$") else ""
        if not self.accept(b"#"):
            if item_type:
                raise self.error("a container has a type of its items, but not their number")
            return "", None
        count = self.length(self.marker())
        if count < 0:
            raise self.error(f"a container has {count:,} items")
        return item_type, count
