"""The program ``tritree`` from outside: what goes wrong is told in one line, and with an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import Mendable, ReaderGone, prepare_streams, say_error, tidy_warnings
from tritree.errors import GrowthLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["INTERRUPTED", "MENDABLE", "OK", "USAGE", "main"]

#: Exit codes: all went well; something that the user can mend; not the way to call it; ended by Ctrl-C.
OK, MENDABLE, USAGE, INTERRUPTED = 0, 1, 2, 130
#: An environment variable: set it to see where an error comes from.
_TRACEBACK = "TRITREE_TRACEBACK"


def main(args: Sequence[str] | None = None) -> int:
    """Return the exit code of the program, run with these arguments or with those of the process."""
    prepare_streams()
    try:
        return _guarded(sys.argv[1:] if args is None else list(args))
    except KeyboardInterrupt:  # outside of a command
        return _interrupted()


def _guarded(args: list[str]) -> int:
    """Return the exit code of the program, or say that it cannot be put together."""
    try:
        from tritree.cli.program import make_app

        app = make_app()
    except ImportError as error:
        if _is_ours(error):
            raise
        say_error(
            f"the command line needs typer, which cannot be imported ({error}): pip install 'tritree[cli]'"
        )
        return MENDABLE
    with tidy_warnings():
        return _run(app, args)


def _run(app: Any, args: list[str]) -> int:
    """Return the exit code of a command; whatever it complains about is said in one line."""
    import typer

    # what all errors of usage are; Typer has no public name for it
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        code = app(args, prog_name="tritree", standalone_mode=False)
        if code == INTERRUPTED:  # so Typer tells of Ctrl-C
            return _interrupted()
        return code if isinstance(code, int) else OK
    except ReaderGone:
        return OK
    except typer.Abort:
        return _interrupted()
    except usage_error as error:
        return _usage(error)
    except (Mendable, GrowthLimitError, ImportError, MemoryError, OSError, ValueError) as error:
        if os.environ.get(_TRACEBACK) or _is_ours(error):
            raise
        say_error(_words(error))
        return MENDABLE


def _is_ours(error: BaseException) -> bool:
    """Return whether a module of tritree is broken: a fault of ours, and not a package to install."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tritree"


def _interrupted() -> int:
    say_error("interrupted")
    return INTERRUPTED


def _usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tritree"
    words = error.format_message().replace("Value error, ", "", 1).rstrip(".")  # which is how pydantic begins
    say_error(f"{words} (see {command} --help)", command)
    return USAGE


def _words(error: BaseException) -> str:
    """Return what an error says, with a remedy where it has none."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use fewer rows or columns"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename!r}: {error.strerror}" if error.filename is not None else error.strerror
    text = str(error) or type(error).__name__
    if isinstance(error, ImportError) and "pip install" not in text:
        return f"{text}: pip install 'tritree[cli]'"
    python = "unknown_category='no_information'"  # with which this remedy ends
    return f"{text.removesuffix(python)}--unknown-category no_information" if text.endswith(python) else text
