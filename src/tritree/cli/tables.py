"""Tables read from files into pandas: CSV, TSV and Parquet, compressed or not, and from the standard input."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import UserError, close_matches, one_line, progress
from tritree.errors import list_names, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Table formats by file extension.
FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
#: Compressions by the last file extension, with pandas' names.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
#: Compressions by the first bytes of a stream, which has no file extension.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_PARQUET = b"PAR1"

NO_ZSTANDARD = ".zst files need zstandard, which is not installed: pip install zstandard"
NO_PYARROW = "Parquet files need pyarrow, which is not installed: pip install pyarrow"


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How a table is read; with ``name`` None the file extension decides."""

    name: str | None = None
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: tuple[str, ...] = ()
    default_na: bool = True


def import_pandas() -> Any:
    """Return pandas, or raise a UserError that says how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise UserError(
            f"tables are read with pandas, which cannot be imported ({error}): pip install 'tritree[cli]'"
        ) from error
    return pd


def format_by_name(path: Path) -> tuple[str | None, str | None]:
    """Return the format and the compression of a file by its extensions; None where they are unknown."""
    extensions = [extension.lower() for extension in path.suffixes]
    compression = (
        COMPRESSIONS.get(extensions.pop()) if extensions and extensions[-1] in COMPRESSIONS else None
    )
    return FORMATS.get(extensions[-1]) if extensions else None, compression


def open_table(path: str, table_format: TableFormat) -> TableSource:
    """Return the source of a table; "-" is the standard input."""
    if path == "-":
        return _open_stream("the standard input", _read_stdin(), table_format)
    file = Path(path)
    check_readable(file, "table")
    if not file.is_file():  # a pipe, such as the shell's <(...)
        return _open_stream(repr(path), file.read_bytes(), table_format)
    by_name, compression = format_by_name(file)
    format_name = table_format.name or by_name
    if format_name is None:
        raise UserError(_unknown_format(file))
    if file.stat().st_size == 0:
        raise UserError(f"{path!r} is empty")
    return TableSource(repr(path), file, format_name, compression)


def _unknown_format(file: Path) -> str:
    if file.suffix.lower() == ".tritree":
        return f"{str(file)!r} is a model, not a table: the model comes first, then the table"
    return (
        f"unknown format of {str(file)!r}: its name should end in {', '.join(FORMATS)}, optionally followed by "
        f"{', '.join(COMPRESSIONS)}; or name the format with --read-as csv, tsv or parquet"
    )


def check_readable(file: Path, content: str) -> None:
    """Raise a UserError if a file cannot be read; it names existing files with a similar name."""
    try:
        if file.is_dir():
            raise UserError(f"{str(file)!r} is a folder; name a {content} in it")
        if not file.exists():
            similar = _similar_files(file)
            hint = f"; did you mean {list_names(similar)}?" if similar else ""
            raise UserError(f"there is no file {str(file)!r}{hint}")
        with file.open("rb") as opened:
            opened.readable()
    except PermissionError:
        raise UserError(f"may not read {str(file)!r}: permission denied") from None
    except OSError as error:  # a name that is too long, a disk that fails
        raise UserError(f"cannot read {str(file)!r}: {error.strerror}") from error


def _similar_files(file: Path) -> list[str]:
    """Return files with a similar stem: the extensions alone would make all names similar."""
    if not file.parent.is_dir():
        return []
    names = [found.name for found in file.parent.iterdir()]
    stems = close_matches(file.name.partition(".")[0], sorted({name.partition(".")[0] for name in names}))
    similar = [name for name in names if name.partition(".")[0] in stems]
    return [str(file.with_name(name)) for name in close_matches(file.name, similar)]


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise UserError("there is no standard input to read a table from; name a file")
    if sys.stdin.isatty():
        sys.stderr.write("tritree: reading a table from the terminal; end it with Ctrl-D\n")
    return sys.stdin.buffer.read()


def _open_stream(name: str, data: bytes, table_format: TableFormat) -> TableSource:
    """Return the source of a table that came through a pipe; its first bytes decide on the format."""
    if not data:
        raise UserError(f"{name} is empty")
    compression = next((found for magic, found in _MAGIC.items() if data.startswith(magic)), None)
    format_name = table_format.name or ("parquet" if data.startswith(_PARQUET) else "csv")
    return TableSource(name, data, format_name, compression)


@dataclass(frozen=True, slots=True)
class TableSource:
    """A file or stream with a table, which can be read more than once; messages call it ``name``."""

    name: str
    _data: Path | bytes
    format_name: str
    _compression: str | None

    def read(self, table_format: TableFormat, text_columns: Sequence[str] = ()) -> Any:
        """Return the table as a frame; ``text_columns`` are read as text even where they look like numbers."""
        with progress(f"reading {self.name}"):
            if self.format_name == "parquet":
                frame = self._read_parquet()
            else:
                na = [*table_format.na] if table_format.default_na else ["", *table_format.na]
                frame = self._read_csv(
                    table_format,
                    dtype=dict.fromkeys(text_columns, str),
                    na_values=na,
                    keep_default_na=table_format.default_na,
                    low_memory=False,  # else a column may be text in one part of the file and numbers in another
                )
        if len(frame) == 0:
            raise UserError(f"{self.name} has {len(frame.columns)} columns and no rows")
        return frame

    def read_as_text(self, table_format: TableFormat) -> Any:
        """Return the table with its cells as they stand in the file, "007" and "NA" included."""
        if self.format_name == "parquet":
            return self._read_parquet()
        return self._read_csv(table_format, dtype=str, keep_default_na=False)

    def _buffer(self) -> Path | io.BytesIO:
        return self._data if isinstance(self._data, Path) else io.BytesIO(self._data)

    def _read_parquet(self) -> Any:
        try:
            frame = import_pandas().read_parquet(self._buffer())
        except ImportError:
            raise UserError(NO_PYARROW) from None
        except (OSError, ValueError) as error:  # pyarrow's errors are of these
            raise UserError(
                f"{self.name} is not a Parquet file, or a damaged one ({one_line(error)})"
            ) from error
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(name) for name in frame.columns]
        self._check_unique(list(frame.columns))
        return frame

    def _read_csv(self, table_format: TableFormat, **options: Any) -> Any:
        separator = table_format.separator or ("\t" if self.format_name == "tsv" else ",")
        options |= {"sep": separator, "decimal": table_format.decimal}
        # a byte order mark, which some programs write, is not part of the first name
        is_utf_8 = table_format.encoding.lower() in ("utf-8", "utf8")
        options["encoding"] = "utf-8-sig" if is_utf_8 else table_format.encoding
        as_text = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        names = [str(name) for name in self._parse(table_format, **(options | as_text)).iloc[0]]
        self._check_unique(names)
        if table_format.separator is None and len(names) == 1:
            other = next((sign for sign in ";\t|," if sign != separator and sign in names[0]), None)
            if other is not None:
                shown = "'\\t'" if other == "\t" else repr(other)
                raise UserError(
                    f"{self.name} has one column, {names[0]!r}; name its separator: --separator {shown}"
                )
        frame = self._parse(table_format, **options)
        if frame.index.nlevels > 1 or not frame.index.equals(import_pandas().RangeIndex(len(frame))):
            raise UserError(
                f"{self.name} has rows with more cells than the header has names ({list_names(names)}); complete the "
                "header"
            )
        return frame

    def _parse(self, table_format: TableFormat, **options: Any) -> Any:
        """Return the frame that pandas reads, or raise a UserError."""
        pandas = import_pandas()
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # later versions round correctly
            options["float_precision"] = "round_trip"
        try:
            return pandas.read_csv(self._buffer(), compression=self._compression, **options)
        except pandas.errors.EmptyDataError:
            raise UserError(f"{self.name} is empty") from None
        except pandas.errors.ParserError as error:
            reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
            raise UserError(f"{self.name} is not a table ({reason})") from error
        except UnicodeError:
            raise UserError(
                f"{self.name} is not text in {table_format.encoding}; name its encoding, such as --encoding latin-1 "
                "or utf-16"
            ) from None
        except LookupError as error:
            raise UserError(f"{one_line(error)}; try --encoding latin-1 or utf-16") from None
        except ImportError:
            raise UserError(NO_ZSTANDARD) from None
        except MemoryError:
            raise
        except Exception as error:  # whatever a decompressor raises
            verb = "decompress" if self._compression else "read"
            raise UserError(f"cannot {verb} {self.name}: {one_line(error)}") from error

    def _check_unique(self, names: Sequence[str]) -> None:
        seen = set()
        for name in names:
            if name and name in seen:
                raise UserError(f"{self.name} has two columns named {name!r}; rename one of them")
            seen.add(name)


def check_column(name: str, columns: Sequence[str], table: str) -> None:
    """Raise a UserError if a table has no such column; it names columns with a similar name."""
    if name in columns:
        return
    similar = close_matches(name, columns)
    hint = f"did you mean {list_names(similar)}?" if similar else f"it has {list_names(columns)}"
    raise UserError(f"there is no column {name!r} in {table}; {hint}")


def is_text(column: Any) -> bool:
    """Return whether a column holds text."""
    types = import_pandas().api.types
    return bool(types.is_string_dtype(column.dtype)) and types.infer_dtype(column, skipna=True) == "string"


def to_numbers(column: Any, name: str, why: str = "") -> Any:
    """Return a column as numbers, or raise a UserError that names the first cell that is no number."""
    pandas = import_pandas()
    if pandas.api.types.is_bool_dtype(column.dtype):
        return column.astype(float)
    numbers = pandas.to_numeric(column, errors="coerce")
    invalid = numbers.isna() & column.notna()
    if not invalid.any():
        return numbers
    row = int(invalid.to_numpy().argmax())
    cell = shortened(column.iloc[row], 40)
    remedy = f"correct it, or make it missing with --na {cell}"
    if _is_number(str(column.iloc[row]).strip().replace(".", "").replace(",", ".")):
        remedy = "if the comma is a decimal separator, add --decimal ,"
    raise UserError(f"column {name!r} holds {cell} in row {row}, which is not a number{why}; {remedy}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain dicts; missing values are None."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records
