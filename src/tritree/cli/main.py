"""The program ``tritree``: errors and warnings become one line each, and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tritree.cli.errors import describe_error, describe_warning
from tritree.cli.messages import UserError, one_line, print_error, print_warning
from tritree.cli.streams import OutputClosed, standard_streams
from tritree.errors import GrowthLimitError, NumberTextWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Exit codes: success, an error that the user can fix, wrong usage, Ctrl-C, SIGTERM.
_OK, _ERROR, _USAGE, _INTERRUPTED, _TERMINATED = 0, 1, 2, 130, 143
#: Environment variable that makes errors show their traceback.
_TRACEBACK = "TRITREE_TRACEBACK"


def main(args: Sequence[str] | None = None) -> int:
    """Run the program with these arguments, or those of the process, and return its exit code."""
    with standard_streams():
        try:
            try:
                from tritree.cli.app import make_app
            except ImportError as error:
                if _is_broken_package(error):
                    raise
                print_error(f"the command line needs typer; {describe_error(error)}")
                return _ERROR
            with warnings_as_lines(), _sigterm_as_exit():
                return _run(make_app(), sys.argv[1:] if args is None else list(args))
        except KeyboardInterrupt:  # outside of a command
            return _interrupted()


@contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Let SIGTERM end the program by an exception, so that nothing half-written is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(app: Any, args: list[str]) -> int:
    """Run a command and return its exit code; print its error in one line."""
    import typer

    # the base class of all usage errors, for which Typer has no public name
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        code = app(args, prog_name="tritree", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:  # Typer's way to report Ctrl-C
            return _interrupted()
        return code if isinstance(code, int) else _OK
    except OutputClosed:
        return _OK
    except SystemExit as end:
        if end.code == _TERMINATED:
            print_error("terminated")
        raise
    except typer.Abort:
        return _interrupted()
    except usage_error as error:
        return _print_usage_error(error)
    except (UserError, GrowthLimitError, ImportError, MemoryError, OSError, ValueError) as error:
        if os.environ.get(_TRACEBACK) or _is_broken_package(error):
            raise
        print_error(describe_error(error))
        return _ERROR


def _is_broken_package(error: BaseException) -> bool:
    """Return whether a module of tritree itself cannot be imported: a bug, not a package to install."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tritree"


def _interrupted() -> int:
    print_error("interrupted")
    return _INTERRUPTED


def _print_usage_error(error: Any) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tritree"
    if hasattr(error.__cause__, "errors"):  # pydantic's error, which words anew what Typer found
        error.message = str(error.__cause__.errors()[0].get("ctx", {}).get("error", error.message))
    print_error(f"{error.format_message().rstrip('.')} (see {command} --help)", command)
    return _USAGE


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each distinct UserWarning in one line, and ignore other warnings."""
    if sys.warnoptions:  # python -W asks for other handling
        yield
        return
    printed = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = one_line(message if isinstance(message, str) else describe_warning(message))
        if text not in printed:
            printed.add(text)
            print_warning(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # scikit-learn's, which the program has words of its own for
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        warnings.simplefilter("ignore", DeprecationWarning)  # of other libraries; some are UserWarnings, too
        warnings.simplefilter("ignore", NumberTextWarning)  # the reader of tables names the options to use
        warnings.showwarning = show
        yield
