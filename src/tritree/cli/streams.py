"""The standard streams: they take any text, and output that cannot be written is an error, whoever writes it."""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator


class OutputClosed(Exception):  # noqa: N818 - not an error: the program ends with exit code 0
    """The reader of the standard output has closed it (``| head``)."""


#: ASCII replacements for streams whose encoding lacks these characters.
_ASCII = {"≥": ">=", "≤": "<=", "×": "x", "…": "...", "²": "^2", "–": "-", "—": "-"}
_ASCII |= dict(zip("●├╰└│┊─━┄", "*|``|:--.", strict=True))


def _replace_with_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return the ASCII replacement of characters that a stream's encoding lacks, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(
        _ASCII.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
        for character in characters
    ), error.end


codecs.register_error("tritree", _replace_with_ascii)


class _StandardOutput(io.FileIO):
    """The file of the standard output; its errors are not OSErrors, which Typer would take for its own."""

    def write(self, data: Any) -> int:
        try:
            while (n_written := super().write(data)) is None:
                select.select([], [self], [])  # a stream that does not block
            return n_written
        except OSError as error:
            # what is still buffered would fail again when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise OutputClosed from None
            raise UserError(f"cannot write to the standard output: {error.strerror}") from error


class _StandardError(io.FileIO):
    """The file of the standard error; messages that cannot be written are lost, and the result is not."""

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written  # a message that cannot be written is lost


@contextmanager
def standard_streams() -> Iterator[None]:
    """Make the standard streams accept any text whatever their encoding, and handle errors of writing to them."""
    before = sys.stdout, sys.stderr
    if None in before:  # closed: files that are opened later must not get their numbers
        while (number := os.open(os.devnull, os.O_RDONLY)) <= 2:
            pass
        os.close(number)
    sys.stdout = _prepared(sys.stdout, _StandardOutput, 1)
    sys.stderr = _prepared(sys.stderr, _StandardError, 2)
    try:
        yield
    finally:
        with suppress(OutputClosed, UserError):  # after another error
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _prepared(stream: Any, file_class: type[io.FileIO], number: int) -> Any:
    """Return a stream that accepts any text, with its file of another class; ``number`` is that of a closed one."""
    options: dict[str, Any] = {}
    if stream is not None:
        buffer = getattr(stream, "buffer", None)
        if type(stream) is not io.TextIOWrapper or type(getattr(buffer, "raw", buffer)) is not io.FileIO:
            if hasattr(stream, "reconfigure"):  # a terminal of Windows, or a replacement
                stream.reconfigure(errors="tritree")
            return stream
        stream.flush()
        number = stream.fileno()
        # python -u writes through, to no buffer
        by_line = stream.line_buffering or stream.write_through
        options = {"encoding": stream.encoding, "line_buffering": by_line}
    file = io.BufferedWriter(file_class(number, "w", closefd=False))
    return io.TextIOWrapper(file, errors="tritree", **options)
