"""Where results go: a file that is put in its place when it is whole, or the standard output."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import Any

from tritree.cli.messages import Mendable, note, put_bytes
from tritree.cli.tables import ENDINGS, NO_PYARROW, NO_ZSTANDARD, PACKED, import_pandas, kind_of

__all__ = [
    "PICTURE_ENDINGS",
    "check_output",
    "check_table_kind",
    "format_of",
    "made_folder",
    "refuse_terminal",
    "show_size",
    "table_bytes",
    "write_out",
    "write_place",
]

#: Pictures by the ending of their file.
PICTURE_ENDINGS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


def check_output(output: str | None, what: str, *inputs: str) -> Path | None:
    """Return the file to write, or None for the standard output; known to be possible before any work is done.

    What the command reads, ``inputs``, is not to be written over.
    """
    from tritree.files import check_place

    if output is None or output == "-":
        return None
    try:
        place = check_place(output, what)
        if any(place.exists() and place.samefile(path) for path in inputs if Path(path).exists()):
            raise Mendable(f"{output!r} is read by this command; write {what} to another file")
        _check_folder(place.parent)
    except PermissionError:
        raise Mendable(f"may not write {output!r}: permission denied") from None
    except OSError as error:
        raise Mendable(str(error) if error.strerror is None else f"{output!r}: {error.strerror}") from error
    return place


def _check_folder(folder: Path) -> None:
    """Raise a PermissionError if nothing can be put into a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError


def made_folder(name: str) -> Path:
    """Return a folder to write to, made if it is not there; known to be possible before any work is done."""
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise Mendable(f"{name!r} is there and is no folder; name another one with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_folder(folder)
    except PermissionError:
        raise Mendable(f"may not write to the folder {name!r}: permission denied") from None
    except OSError as error:
        raise Mendable(f"cannot make the folder {name!r}: {error.strerror}") from error
    return folder


def format_of(
    output: str | None,
    given: str | None,
    formats: dict[str, str],
    default: str | None,
    *,
    has_option: bool = True,
) -> str:
    """Return the format to write: that which was asked for, else the one of the file's ending.

    ``has_option`` is whether the command has --format, so that it may be named as a remedy.
    """
    if given is not None:
        return given
    if output is None or output == "-":
        if default is None:
            remedy = ", or a format with --format" if has_option else f" that ends in {' or '.join(formats)}"
            raise Mendable(f"name a file with -o{remedy}")
        return default
    ending = Path(output).suffix.lower()
    if ending not in formats:
        remedy = ", or name the format with --format" if has_option else ""
        raise Mendable(
            f"cannot tell a format from the ending of {output!r}; it may be {', '.join(formats)}{remedy}"
        )
    return formats[ending]


def refuse_terminal(place: Path | None, form: str) -> None:
    """Raise a Mendable if a file that is no text were to be written to a terminal."""
    if place is None and sys.stdout.isatty():
        raise Mendable(
            f"{form} is nothing to be read on a terminal; name a file with -o, or send it on with |"
        )


def write_out(data: bytes, place: Path | None, output: str | None, what: str) -> None:
    """Write a result to its place and say so, or to the standard output."""
    if place is None:
        put_bytes(data)
        return
    replaced = place.exists()
    write_place(data, place, str(output))
    note(f"{what} {'replaced' if replaced else 'written to'} {str(output)!r} ({show_size(len(data))})")


def write_place(data: bytes, place: Path, output: str) -> None:
    """Write a file whole, or say why that is not possible."""
    from tritree.files import write_whole

    try:
        write_whole(place, data)
    except OSError as error:
        raise Mendable(f"cannot write {output!r}: {error.strerror}") from error


def show_size(n_bytes: int) -> str:
    """Return the size of a file in words."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:.3g} {unit}" if n_bytes < 1000 * size else f"{n_bytes / size:,.0f} {unit}"
            )
    return f"{n_bytes} bytes"


def check_table_kind(output: str) -> str:
    """Return what kind of table a file is to be by its ending, known to be possible before any work is done."""
    kind = _table_kind(output)
    table_bytes(import_pandas().DataFrame({"trial": [0]}), output)
    return kind


def _table_kind(output: str) -> str:
    kind, packed = kind_of(Path(output))
    if kind is None:
        raise Mendable(
            f"cannot tell what {output!r} is to be; its name should end in {', '.join(ENDINGS)}, text also in one of "
            f"these and {', '.join(PACKED)}"
        )
    if kind == "parquet" and packed is not None:
        raise Mendable(
            f"Parquet is compressed in itself; write {output!r} without the ending {Path(output).suffix}"
        )
    return kind


def _has_returns(frame: Any) -> bool:
    """Return whether text has a carriage return in it: older Pythons leave it without quotes, and it ends the line."""
    texts = [
        frame[name] for name in frame.columns if import_pandas().api.types.is_string_dtype(frame[name].dtype)
    ]
    cells = any(column.astype(str).str.contains("\r", regex=False).any() for column in texts)
    return cells or any("\r" in name for name in frame.columns)


def table_bytes(frame: Any, output: str | None) -> bytes:
    """Return a table as the file whose name it is to have; without a name as CSV."""
    kind, packed = ("csv", None) if output is None else (_table_kind(output), kind_of(Path(output))[1])
    buffer = io.BytesIO()
    try:
        if kind == "parquet":
            frame.to_parquet(buffer, index=False)
        else:
            separator = "\t" if kind == "tsv" else ","
            frame.to_csv(
                buffer,
                index=False,
                sep=separator,
                compression=packed,
                encoding="utf-8",
                quoting=csv.QUOTE_NONNUMERIC if _has_returns(frame) else csv.QUOTE_MINIMAL,
            )
    except ImportError:
        if kind == "parquet":
            raise Mendable(NO_PYARROW) from None
        raise Mendable(NO_ZSTANDARD) from None
    return buffer.getvalue()
