"""Files and streams that commands read: checked before they are opened, and limited by the memory."""

from __future__ import annotations

import difflib
import io
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import UserError
from tritree.cli.output import format_size
from tritree.errors import list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

#: First bytes of compressed streams, with pandas' names of the compressions.
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    (ZIP := b"PK\x03\x04"): "zip",
}
#: First bytes of Parquet files.
PARQUET = b"PAR1"
#: Maximum number of bytes of the first line.
_MAX_LINE = 64_000_000
#: Memory in bytes where the system does not say.
_UNKNOWN_MEMORY = 16_000_000_000
#: Time in which somebody must write to a named pipe.
_PIPE_SECONDS = 5.0
_CHUNK = 1 << 20


def check_readable(file: Path, content: str, *, may_be_pipe: bool = False) -> None:
    """Raise a UserError if a file cannot be read; it names existing files with a similar name."""
    if file.is_dir():
        raise UserError(f"{str(file)!r} is a folder; name a {content} in it")
    if not file.exists():
        similar = _similar_files(file)
        hint = f"; did you mean {list_names(similar)}?" if similar else ""
        raise UserError(f"there is no file {str(file)!r}{hint}")
    if may_be_pipe and file.is_fifo():
        return  # to open it would be to wait for a writer
    if not file.is_file():
        raise UserError(f"{str(file)!r} is not a regular file; name a {content}")
    try:
        file.open("rb").close()
    except PermissionError:
        raise UserError(f"cannot read {str(file)!r}: permission denied") from None


def _similar_files(file: Path) -> list[str]:
    """Return files with a similar stem: the extensions alone would make all names similar."""
    if not file.parent.is_dir():
        return []
    names = [found.name for found in file.parent.iterdir()]
    stems = close_matches(file.name.partition(".")[0], sorted({name.partition(".")[0] for name in names}))
    similar = [name for name in names if name.partition(".")[0] in stems]
    return [str(file.with_name(name)) for name in close_matches(file.name, similar)]


def close_matches(name: str, known: Sequence[str]) -> list[str]:
    """Return up to three known names that differ from a name by case or by a typing error, best match first."""
    folded: dict[str, list[str]] = {}
    for candidate in known:
        folded.setdefault(candidate.strip().casefold(), []).append(candidate)
    matches = difflib.get_close_matches(name.strip().casefold(), list(folded))
    return [candidate for match in matches for candidate in folded[match]][:3]


class LimitedFile(io.RawIOBase):
    """A file with a table, read up to a limit: half of the memory, or a first line that does not end.

    Half, because pandas holds the text and the parsed table at the same time. ``begin`` has been read already.
    """

    def __init__(self, file: Any, name: str, encoding: str = "utf-8", begin: bytes = b"") -> None:
        self._file, self._name, self._begin, self._n_read = file, name, begin, 0
        marks = b"\x00\xff\xfe\xef\xbb\xbf"  # byte order marks, and the zeros of wide characters
        self._line_ends = [sign.encode(encoding, "ignore").strip(marks) for sign in "\n\r"]
        self._has_lines = False  # or needs none
        self._max_bytes = memory() // 2

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer and return their number, or raise a UserError beyond a limit."""
        data, self._begin = self._begin[: len(buffer)], self._begin[len(buffer) :]
        while not data and (data := self._file.read(len(buffer))) is None:
            select.select([self._file], [], [])  # a stream that does not block
        if not self._has_lines:
            is_binary = self._n_read == 0 and data.startswith((*MAGIC, PARQUET))
            self._has_lines = is_binary or any(end in data for end in self._line_ends)
        self._n_read += len(data)
        check_size(self._n_read, self._name, self._max_bytes)
        if not self._has_lines and self._n_read > _MAX_LINE:
            raise UserError(
                f"{self._name} has no line break in its first {format_size(_MAX_LINE)}, so it is not a text table; "
                "name a CSV, TSV, Parquet, Excel or ARFF file"
            )
        buffer[: len(data)] = data
        return len(data)

    def read_all(self) -> bytes:
        """Return everything that is in the file."""
        content = io.BytesIO()
        try:
            while chunk := self.read(_CHUNK):
                content.write(chunk)
        except OSError as error:
            raise UserError(f"cannot read {self._name}: {error.strerror or error}") from error
        return content.getvalue()


def check_size(n_bytes: int, name: str, max_bytes: int | None = None) -> None:
    """Raise a UserError if a table is too large for the memory."""
    max_bytes = memory() // 2 if max_bytes is None else max_bytes
    if n_bytes > max_bytes:
        raise UserError(
            f"{name} is larger than {format_size(max_bytes)}, which is half of the memory of this machine; use fewer "
            "rows or columns"
        )


def memory() -> int:
    """Return the memory in bytes that this process may use."""
    sizes = []
    with suppress(AttributeError, OSError, ValueError):  # Windows does not have it
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        with suppress(OSError, ValueError):
            sizes.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")))
    return min(sizes, default=_UNKNOWN_MEMORY)


def read_stdin(name: str, encoding: str) -> bytes:
    """Return what is on the standard input."""
    if sys.stdin is None:
        raise UserError("there is no standard input to read a table from; name a file")
    if sys.stdin.isatty():
        sys.stderr.write("tritree: reading a table from the terminal; end it with Ctrl-D\n")
    # without the buffer, which would ask a terminal for a second Ctrl-D
    return LimitedFile(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), name, encoding).read_all()


def read_pipe(path: Path, name: str, encoding: str) -> bytes:
    """Return what is written to a named pipe, such as the shell's ``<(...)``; somebody must write to it soon."""
    until = time.monotonic() + _PIPE_SECONDS
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:  # noqa: PTH123 - a number
        while (begin := pipe.read(_CHUNK)) == b"":  # None if somebody may write later
            if time.monotonic() > until:
                raise UserError(f"no program writes to the pipe {name}; start the one that should")
            time.sleep(0.02)
        os.set_blocking(pipe.fileno(), True)
        return LimitedFile(pipe, name, encoding, begin or b"").read_all()
