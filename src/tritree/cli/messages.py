"""What the program says: lines on the standard error, results on the standard output, on any terminal."""

from __future__ import annotations

import codecs
import difflib
import json
import os
import sys
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from tritree.cli.wording import in_our_words
from tritree.errors import UngrownBranchWarning, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Mendable",
    "ReaderGone",
    "near",
    "note",
    "one_line",
    "plain_json",
    "prepare_streams",
    "put",
    "put_bytes",
    "put_json",
    "say_error",
    "some",
    "tidy_warnings",
    "working",
]


class Mendable(Exception):  # noqa: N818 - what it is matters, not that it is raised
    """Something that the user can mend: one line is said about it, and the program ends with 1."""


class ReaderGone(Exception):  # noqa: N818
    """Nobody reads the standard output any more (``| head``): there is nothing to do and nothing to say."""


#: How signs look where a terminal does not have them.
_PLAIN = {
    "≥": ">=",
    "≤": "<=",
    "×": "x",
    "…": "...",
    "●": "*",
    "├": "|",
    "╰": "`",
    "└": "`",
    "│": "|",
    "┊": ":",
    "─": "-",
    "━": "-",
    "┄": ".",
    "–": "-",
    "—": "-",
    "²": "^2",
}


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Return what is written in place of signs that a stream's encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    plain = (_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii") for sign in signs)
    return "".join(plain), error.end


def prepare_streams() -> None:
    """Let the standard streams take any text, whatever their encoding, and be there even where they were closed."""
    codecs.register_error("tritree", _in_plain_signs)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="tritree")


def one_line(text: object) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def some(names: Sequence[Any], most: int = 8) -> str:
    """Return names as a message lists them."""
    shown = ", ".join(shortened(name, 40) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def near(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that a name may stand for, nearest first: typing errors and other cases."""
    folded: dict[str, list[str]] = {}
    for candidate in known:
        folded.setdefault(candidate.strip().casefold(), []).append(candidate)
    matches = difflib.get_close_matches(name.strip().casefold(), list(folded), n=3, cutoff=0.6)
    return [candidate for match in matches for candidate in folded[match]][:3]


def say_error(text: object, prefix: str = "tritree") -> None:
    """Say in one line what is wrong."""
    _say(prefix, text, "bold red")


def note(text: object) -> None:
    """Say in one line what is good to know."""
    _say("tritree", text, "bold")


def _say(prefix: str, text: object, style: str) -> None:
    line = one_line(text)
    terminal = _terminal() if sys.stderr.isatty() else None
    if terminal is None:
        sys.stderr.write(f"{prefix}: {line}\n")
        return
    from rich.text import Text

    # a Text, not a str: what looks like markup in a column's name is its name
    words = Text.assemble((f"{prefix}:", style), f" {line}")
    terminal.print(words, soft_wrap=True, highlight=False)


@cache
def _terminal() -> Any:
    """Return the one console of the standard error: a line that is said while a bar is shown goes above it.

    Without Rich there is none, and no reason to fail: that something else is not installed may be what is to be said.
    """
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True)


@contextmanager
def tidy_warnings() -> Iterator[None]:
    """Show warnings as one line each, and only those that are meant for users."""
    if sys.warnoptions:  # somebody looks for something
        yield
        return
    said = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = one_line(message)
        if issubclass(category, UngrownBranchWarning):  # its remedy is a Python call
            text = in_our_words(text)
        if text not in said:
            said.add(text)
            _say("tritree", f"warning: {text}", "bold yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # of other libraries; some are a UserWarning, too
        warnings.showwarning = show
        yield


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is being done, until it is; elsewhere nothing."""
    terminal = _terminal() if sys.stderr.isatty() else None
    if terminal is None:
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True) as progress:
        progress.add_task(one_line(what), total=None)
        yield


def put(text: str) -> None:
    """Write a result to the standard output, and the end of its line."""
    _write(lambda: print(text, flush=True))


def put_bytes(data: bytes) -> None:
    """Write a file to the standard output."""

    def write() -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    _write(write)


def put_json(value: Any) -> None:
    """Write a result for programs to the standard output."""
    put(plain_json(value))


def plain_json(value: Any, indent: int | None = 2) -> str:
    """Return a value as JSON that every program reads: ASCII, and no NaN."""
    return json.dumps(value, indent=indent, allow_nan=False, default=_plain_value)


def _plain_value(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _write(action: Any) -> None:
    try:
        action()
    except BrokenPipeError:
        # what is still buffered has nowhere to go, and Python would complain about that at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderGone from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Mendable(f"cannot write to the standard output: {error.strerror}") from error
