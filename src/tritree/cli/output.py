"""Files that commands write: checked before any work is done, and put in place only when complete."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import UserError, note, write_bytes
from tritree.cli.tables import (
    COMPRESSIONS,
    FORMATS,
    NO_PYARROW,
    NO_ZSTANDARD,
    format_by_name,
    import_pandas,
)

if TYPE_CHECKING:
    from collections.abc import Callable

#: Formats of figures by file extension.
FIGURE_FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


def check_output(output: str | None, content: str, *inputs: str | None) -> Path | None:
    """Return the file to write, or None for the standard output; raise a UserError if it cannot be written.

    The files that the command reads, ``inputs``, must not be overwritten.
    """
    from tritree.output_files import check_output_path

    if output is None or output == "-":
        return None
    try:
        file = check_output_path(output, content)
        existing = [path for path in inputs if path is not None and Path(path).exists()]
        if file.exists() and any(file.samefile(path) for path in existing):
            raise UserError(f"{output!r} is read by this command; write {content} to another file")
        _check_access(file.parent)
    except PermissionError:
        raise UserError(f"may not write {output!r}: permission denied") from None
    except OSError as error:
        raise UserError(str(error) if error.strerror is None else f"{output!r}: {error.strerror}") from error
    return file


def _check_access(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError


def check_folder(name: str) -> Path:
    """Return a folder to write to, created if necessary; raise a UserError if that is impossible."""
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{name!r} exists and is not a folder; name another one with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_access(folder)
    except PermissionError:
        raise UserError(f"may not write to the folder {name!r}: permission denied") from None
    except OSError as error:
        raise UserError(f"cannot create the folder {name!r}: {error.strerror}") from error
    return folder


def check_store(store: str | None, *others: str | None) -> Path | None:
    """Return the file for finished results, or None if none is named; raise a UserError if it cannot be written.

    ``others`` are the other files that the command reads or writes.
    """
    if store is None:
        return None
    if store == "-":
        raise UserError("results are stored in a file, not in the standard output; name it with --store")
    if any(other is not None and Path(other).resolve() == Path(store).resolve() for other in others):
        raise UserError(f"{store!r} has another purpose in this command; name another file with --store")
    return check_output(store, "finished results")


def output_format(
    output: str | None,
    requested: str | None,
    formats: dict[str, str],
    default: str | None = None,
    *,
    has_option: bool = True,
) -> str:
    """Return the format to write: the requested one, else that of the file extension, else the default.

    ``has_option`` is whether the command has --format, so that messages may name it.
    """
    if requested is not None:
        return requested
    if output is None or output == "-":
        if default is None:
            remedy = ", or a format with --format" if has_option else f" that ends in {' or '.join(formats)}"
            raise UserError(f"name a file with -o{remedy}")
        return default
    extension = Path(output).suffix.lower()
    if extension not in formats:
        remedy = ", or name the format with --format" if has_option else ""
        raise UserError(f"unknown file extension of {output!r}; use {', '.join(formats)}{remedy}")
    return formats[extension]


def check_not_terminal(file: Path | None, form: str) -> None:
    """Raise a UserError if binary data would be written to a terminal."""
    if file is None and form in ("png", "pdf", "onnx") and sys.stdout.isatty():
        raise UserError(f"{form.upper()} is binary; name a file with -o, or pipe it on with |")


def write_output(data: bytes, file: Path | None, output: str | None, content: str) -> None:
    """Write a result to a file and print a note, or write it to the standard output."""
    if file is None:
        write_bytes(data)
        return
    replaced = file.exists()
    write_file(data, file, str(output))
    note(f"{content} {'replaced' if replaced else 'written to'} {str(output)!r} ({format_size(len(data))})")


def write_file(data: bytes, file: Path, name: str | None = None) -> None:
    """Write a complete file, or raise a UserError."""
    from tritree.output_files import write_atomically

    try:
        write_atomically(file, data)
    except OSError as error:
        raise UserError(f"cannot write {name or str(file)!r}: {error.strerror}") from error


def format_size(n_bytes: int) -> str:
    """Return the size of a file for readers."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if n_bytes >= size:
            return f"{n_bytes / size:{'.3g' if n_bytes < 1000 * size else ',.0f'}} {unit}"
    return f"{n_bytes} bytes"


def figure_bytes(draw: Callable[[], Any], form: str, dpi: int) -> bytes:
    """Return a matplotlib figure as a file; ``draw`` returns its axes."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UserError(
            f"figures are drawn with matplotlib, which cannot be imported ({error}): pip install 'tritree[plot]'"
        ) from error
    mpl.use("agg")  # a file needs no window
    from matplotlib import pyplot as plt

    buffer = io.BytesIO()
    figure = draw().figure
    figure.savefig(buffer, format=form, dpi=dpi)
    plt.close(figure)
    return buffer.getvalue()


def check_table_output(output: str) -> str:
    """Return the table format of a file to write; raise a UserError if it cannot be written."""
    table_bytes(import_pandas().DataFrame({"trial": [0]}), output)
    return _table_format(output)[0]


def _table_format(output: str) -> tuple[str, str | None]:
    format_name, compression = format_by_name(Path(output))
    if format_name is None:
        raise UserError(
            f"unknown file extension of {output!r}; use {', '.join(FORMATS)}, for text optionally followed by "
            f"{', '.join(COMPRESSIONS)}"
        )
    if format_name == "parquet" and compression is not None:
        raise UserError(
            f"Parquet files are compressed already; write {output!r} without {Path(output).suffix}"
        )
    return format_name, compression


def table_bytes(frame: Any, output: str | None) -> bytes:
    """Return a table as a file in the format of its name; as CSV if it has none."""
    format_name, compression = ("csv", None) if output is None else _table_format(output)
    buffer = io.BytesIO()
    try:
        if format_name == "parquet":
            frame.to_parquet(buffer, index=False)
        else:
            frame.to_csv(
                buffer,
                index=False,
                sep="\t" if format_name == "tsv" else ",",
                compression=compression,
                encoding="utf-8",
                quoting=csv.QUOTE_NONNUMERIC if _has_carriage_returns(frame) else csv.QUOTE_MINIMAL,
            )
    except ImportError:
        raise UserError(NO_PYARROW if format_name == "parquet" else NO_ZSTANDARD) from None
    return buffer.getvalue()


def _has_carriage_returns(frame: Any) -> bool:
    """Return whether text contains a carriage return, which older Pythons leave unquoted and which ends a line."""
    is_string = import_pandas().api.types.is_string_dtype
    texts = [frame[name] for name in frame.columns if is_string(frame[name].dtype)]
    cells = any(column.astype(str).str.contains("\r", regex=False).any() for column in texts)
    return cells or any("\r" in name for name in frame.columns)
