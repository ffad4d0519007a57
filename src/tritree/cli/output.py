"""Files that commands write: checked before any work is done, and put in place only when complete."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritree import output_files
from tritree.cli.messages import UserError, note, write_bytes, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Formats of figures by file extension.
FIGURE_FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


def check_output(output: str | None, content: str, *inputs: str | None) -> Path | None:
    """Return the file to write, or None for the standard output; raise an error if it cannot be written.

    The files that the command reads, ``inputs``, must not be overwritten.
    """
    if output is None or output == "-":
        return None
    file = output_files.check_output_path(output, content)
    existing = [path for path in inputs if path is not None and Path(path).exists()]
    if file.exists() and any(file.samefile(path) for path in existing):
        raise UserError(f"{output!r} is read by this command; write {content} to another file")
    _check_access(file.parent, output)
    return file


def check_file(output: str, content: str, option: str, *inputs: str | None) -> Path:
    """Return the file to write, which cannot be the standard output; ``option`` names it."""
    file = check_output(output, content, *inputs)
    if file is None:
        raise UserError(
            f"{content} must be written to a file, not to the standard output; name it with {option}"
        )
    return file


def check_folder(name: str) -> Path:
    """Return a folder to write to, created if necessary."""
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{name!r} exists and is not a folder; name another one with -o")
    folder.mkdir(parents=True, exist_ok=True)
    _check_access(folder, name)
    return folder


def _check_access(folder: Path, name: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"cannot write {name!r}: permission denied")


def check_store(store: str | None, *others: str | None) -> Path | None:
    """Return the file for finished results, or None if none is named; ``others`` are files with other purposes."""
    if store is None:
        return None
    if any(other is not None and Path(other).resolve() == Path(store).resolve() for other in others):
        raise UserError(f"{store!r} has another purpose in this command; name another file with --store")
    return check_file(store, "finished results", "--store")


def check_format(
    output: str | None,
    requested: str | None,
    formats: dict[str, str],
    default: str | None = None,
    *,
    has_option: bool = True,
) -> str:
    """Return the format to write: the requested one, else that of the file extension, else the default.

    Binary data are not written to a terminal. ``has_option`` is whether the command has --format, so that messages may
    name it.
    """
    to_stdout = output is None or output == "-"
    form = requested or (default if to_stdout else formats.get(Path(str(output)).suffix.lower()))
    if form is None and to_stdout:
        remedy = ", or a format with --format" if has_option else f" that ends in {' or '.join(formats)}"
        raise UserError(f"name a file with -o{remedy}")
    if form is None:
        remedy = ", or name the format with --format" if has_option else ""
        raise UserError(f"unknown file extension of {output!r}; use {', '.join(formats)}{remedy}")
    if to_stdout and form in ("png", "pdf", "onnx") and sys.stdout.isatty():
        raise UserError(f"{form.upper()} is binary; name a file with -o, or pipe it on with |")
    return form


def check_json_output(as_json: bool, file: Path | None, content: str) -> None:
    """Raise a UserError if both the result and JSON about it would go to the standard output."""
    if as_json and file is None:
        raise UserError(f"{content} and the JSON cannot both go to the standard output; name a file with -o")


def write_output(
    data: bytes,
    file: Path | None,
    output: str | None,
    content: str,
    *,
    as_json: bool = False,
    **facts: Any,
) -> None:
    """Write a result to a file and print a notice, or write it to the standard output.

    With ``as_json``, JSON with the path and the size of the file, and further facts, is written to the standard output.
    """
    if file is None:
        write_bytes(data)
        return
    replaced = file.exists()
    write_file(data, file, str(output))
    report_written(file, str(output), content, replaced=replaced, as_json=as_json, **facts)


def report_written(
    file: Path, output: str, content: str, *, replaced: bool, as_json: bool, **facts: Any
) -> None:
    """Print a notice that a file has been written, or JSON about it with further facts."""
    n_bytes = file.stat().st_size
    if as_json:
        write_json({"output": output, "bytes": n_bytes, "replaced": replaced} | facts)
        return
    size = f"{format_size(n_bytes)}{', replaced' if replaced else ''}"
    note(f"{content} written to {output!r} ({size})")


def write_file(data: bytes, file: Path, name: str | None = None) -> None:
    """Write a complete file, or raise a UserError."""
    with write_errors(name or str(file)):
        output_files.write_atomically(file, data)


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Raise errors of the system as UserErrors that name the file to write, not a temporary one."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {name!r}: {error.strerror or error}") from error


def format_size(n_bytes: int) -> str:
    """Return the size of a file for readers."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if n_bytes >= size:
            return f"{n_bytes / size:{'.3g' if n_bytes < 1000 * size else ',.0f'}} {unit}"
    return f"{n_bytes} bytes"


def figure_bytes(draw: Callable[[], Any], form: str, dpi: int) -> bytes:
    """Return a matplotlib figure as a file; ``draw`` returns its axes."""
    import matplotlib as mpl

    mpl.use("agg")  # a file needs no window
    from matplotlib import pyplot as plt

    buffer = io.BytesIO()
    figure = draw().figure
    figure.savefig(buffer, format=form, dpi=dpi)
    plt.close(figure)
    return buffer.getvalue()
