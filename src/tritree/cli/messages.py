"""Messages on the standard error, and results on the standard output, on any terminal."""

from __future__ import annotations

import codecs
import difflib
import json
import os
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class UserError(Exception):
    """An error that the user can fix: it is printed in one line, and the exit code is 1."""


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


def prepare_streams() -> None:
    """Make the standard streams accept any text whatever their encoding, and open those that were closed."""
    codecs.register_error("tritree", _replace_with_ascii)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="tritree")


def one_line(text: object) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def close_matches(name: str, known: Sequence[str]) -> list[str]:
    """Return up to three known names that differ from a name by case or by a typing error, best match first."""
    folded: dict[str, list[str]] = {}
    for candidate in known:
        folded.setdefault(candidate.strip().casefold(), []).append(candidate)
    matches = difflib.get_close_matches(name.strip().casefold(), list(folded), n=3, cutoff=0.6)
    return [candidate for match in matches for candidate in folded[match]][:3]


def print_error(text: object, prefix: str = "tritree") -> None:
    """Print an error in one line."""
    _print_line(prefix, text, "bold red")


def print_warning(text: object) -> None:
    """Print a warning in one line."""
    _print_line("tritree", f"warning: {text}", "bold yellow")


def note(text: object) -> None:
    """Print a remark in one line."""
    _print_line("tritree", text, "bold")


def _print_line(prefix: str, text: object, style: str) -> None:
    line = one_line(text)
    console = _console() if sys.stderr.isatty() else None
    if console is None:
        sys.stderr.write(f"{prefix}: {line}\n")
        return
    from rich.text import Text

    # a Text, not a str: a column's name may look like markup
    console.print(Text.assemble((f"{prefix}:", style), f" {line}"), soft_wrap=True, highlight=False)


@cache
def _console() -> Any:
    """Return the one console of the standard error, so that a message printed beside a bar goes above it.

    Return None without Rich: the message to print may be that a package is not installed.
    """
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True)


@contextmanager
def progress(description: str) -> Iterator[None]:
    """Show a progress bar on a terminal until the block ends; show nothing elsewhere."""
    console = _console() if sys.stderr.isatty() else None
    if console is None:
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(one_line(description), total=None)
        yield


def write_text(text: str) -> None:
    """Write a result to the standard output, with the end of its line."""
    _write(lambda: print(text, flush=True))


def write_bytes(data: bytes) -> None:
    """Write a file to the standard output."""

    def write() -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    _write(write)


def write_json(value: Any) -> None:
    """Write a result to the standard output as JSON."""
    write_text(to_json(value))


def to_json(value: Any, indent: int | None = 2) -> str:
    """Return a value as ASCII JSON without NaN."""
    return json.dumps(value, indent=indent, allow_nan=False, default=_to_plain)


def _to_plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _write(write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        # what is still buffered would make Python complain when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise OutputClosed from None
        raise UserError(f"cannot write to the standard output: {error.strerror}") from error
