"""Messages on the standard error, and results on the standard output, on any terminal."""

from __future__ import annotations

import json
import math
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from tritree.progress import progress_bar, stderr_console

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Whether only errors and results are printed.
_is_quiet = False


class UserError(Exception):
    """An error that the user can fix: it is printed in one line, and the exit code is 1."""


def one_line(text: object) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def print_error(text: object, prefix: str = "tritree") -> None:
    """Print an error in one line."""
    _print_line(prefix, text, "bold red")


def print_warning(text: object) -> None:
    """Print a warning in one line, unless the program is quiet."""
    if not _is_quiet:
        _print_line("tritree", f"warning: {text}", "bold yellow")


def note(text: object) -> None:
    """Print a notice in one line, unless the program is quiet."""
    if not _is_quiet:
        _print_line("tritree", text, "bold")


@contextmanager
def quiet(requested: bool) -> Iterator[None]:
    """Print no warnings, notices and progress bars within the block, if so requested."""
    global _is_quiet
    before, _is_quiet = _is_quiet, requested
    try:
        yield
    finally:
        _is_quiet = before


def is_quiet() -> bool:
    """Return whether only errors and results are printed."""
    return _is_quiet


def _print_line(prefix: str, text: object, style: str) -> None:
    console, line = _console(), one_line(text)
    if console is None:
        sys.stderr.write(f"{prefix}: {line}\n")
        return
    from rich.text import Text

    # a Text, not a str: a column's name may look like markup
    console.print(Text.assemble((f"{prefix}:", style), f" {line}"), soft_wrap=True, highlight=False)


@cache
def _console() -> Any:
    """Return the one console of the terminal, so that a message printed beside a bar goes above it, else None."""
    return stderr_console() if sys.stderr.isatty() else None


@contextmanager
def progress(description: str) -> Iterator[None]:
    """Show a progress bar on a terminal until the block ends; show nothing elsewhere."""
    with progress_bar(None if _is_quiet else _console(), one_line(description)):
        yield


def write_text(text: str) -> None:
    """Write a result to the standard output, with the end of its line."""
    print(text, flush=True)


def write_bytes(data: bytes) -> None:
    """Write a file to the standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_json(value: Any) -> None:
    """Write a result to the standard output as JSON."""
    write_text(to_json(value))


def to_json(value: Any, indent: int | None = 2) -> str:
    """Return a value as ASCII JSON, which has no NaN and no infinity: these are null."""
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return _plain(value.tolist())
    return printable(str(value))


def printable(text: str) -> str:
    """Return a text that can be encoded, with escapes for bytes of a file name that are not text."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
