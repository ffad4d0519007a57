"""Tables read from files, or from the standard input, into pandas, and written: CSV, TSV, Parquet, also compressed."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.io.common import get_handle

from tritree.cli import inputs
from tritree.cli.messages import UserError, one_line, progress
from tritree.errors import list_names, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.cli.options import TableFormat

#: Table formats by file extension.
FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
#: Compressions by the last file extension, with pandas' names.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}

#: Name of a column that has none, by its number.
_UNNAMED = "Unnamed: {}"

_NO_PYARROW = "Parquet files need pyarrow, which is not installed: pip install pyarrow"


def format_by_name(path: Path) -> tuple[str | None, str | None]:
    """Return the format and the compression of a file by its extensions; None where they are unknown."""
    extensions = [extension.lower() for extension in path.suffixes]
    compression = COMPRESSIONS.get(extensions[-1]) if extensions else None
    if compression is not None:
        extensions.pop()
    return FORMATS.get(extensions[-1]) if extensions else None, compression


def open_table(path: str, table_format: TableFormat) -> TableSource:
    """Return the source of a table; "-" is the standard input."""
    name, file = "the standard input" if path == "-" else repr(path), Path(path)
    data: Path | bytes = file
    if path == "-":
        data = inputs.read_stdin(name, table_format.encoding)
    else:
        inputs.check_readable(file, "table", may_be_pipe=True)
        if file.is_fifo():
            data = inputs.read_pipe(file, name, table_format.encoding)
    if isinstance(data, bytes):
        compression = next((found for magic, found in inputs.MAGIC.items() if data.startswith(magic)), None)
        format_name: str | None = "parquet" if data.startswith(inputs.PARQUET) else "csv"
    else:
        format_name, compression = format_by_name(file)
    format_name = table_format.read_as or format_name
    if format_name is None and file.suffix.lower() == ".tritree":
        raise UserError(f"{name} is a model, not a table: the model comes first, then the table")
    if format_name is None:
        raise UserError(
            f"unknown format of {name}: its name should end in {', '.join(FORMATS)}, optionally followed by "
            f"{', '.join(COMPRESSIONS)}; or name the format with --read-as csv, tsv or parquet"
        )
    n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size
    if n_bytes == 0:
        raise UserError(f"{name} is empty")
    inputs.check_size(n_bytes, name)
    return TableSource(name, data, format_name, compression, table_format)


@dataclass(frozen=True, slots=True)
class TableSource:
    """A file or stream with a table, which can be read more than once; messages call it ``name``."""

    name: str
    _data: Path | bytes
    format_name: str
    _compression: str | None
    _format: TableFormat

    def read(self, text_columns: Sequence[str] = ()) -> Any:
        """Return the table as a frame; ``text_columns`` are read as text even where they look like numbers."""
        na = self._format.na or []
        with progress(f"reading {self.name}"):
            if self.format_name == "parquet":
                frame = self._read_parquet()
            else:
                frame = self._read_csv(
                    dtype=dict.fromkeys(text_columns, str),
                    na_values=["", *na] if self._format.no_default_na else na,
                    keep_default_na=not self._format.no_default_na,
                    low_memory=False,  # else a column may be text in one part of the file and numbers in another
                )
        if len(frame) == 0:
            raise UserError(f"{self.name} has {len(frame.columns)} columns and no rows")
        return frame

    def read_as_text(self) -> Any:
        """Return the table with its cells as they stand in a text file, "007" and "NA" included."""
        return self._read_csv(dtype=str, keep_default_na=False)

    def _buffer(self) -> Path | io.BytesIO:
        return self._data if isinstance(self._data, Path) else io.BytesIO(self._data)

    def _read_parquet(self) -> Any:
        try:
            frame = pd.read_parquet(self._buffer())
        except ImportError:
            raise UserError(_NO_PYARROW) from None
        except (OSError, ValueError) as error:  # pyarrow's errors are of these
            with suppress(ImportError, OSError, ValueError):
                from pyarrow import parquet

                self._check_unique(parquet.read_schema(self._buffer()).names)
            raise UserError(
                f"{self.name} is not a Parquet file, or a damaged one ({one_line(error)})"
            ) from error
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(name) for name in frame.columns]
        self._check_unique(list(frame.columns))
        return frame

    def _read_csv(self, **options: Any) -> Any:
        separator = self._format.separator or ("\t" if self.format_name == "tsv" else ",")
        # a byte order mark, which some programs write, is not part of the first name
        is_utf_8 = self._format.encoding.lower() in ("utf-8", "utf8")
        encoding = "utf-8-sig" if is_utf_8 else self._format.encoding
        options |= {"sep": separator, "decimal": self._format.decimal, "encoding": encoding}
        header = options | {"header": None, "nrows": 1, "dtype": str, "na_filter": False}
        cells = self._parse(header).iloc[0]
        names = [str(cell) or _UNNAMED.format(number) for number, cell in enumerate(cells)]
        self._check_unique(names)
        if self._format.separator is None and len(names) == 1:
            other = next((sign for sign in ";\t|," if sign != separator and sign in names[0]), None)
            if other is not None:
                raise UserError(
                    f"{self.name} has one column, {names[0]!r}; name its separator: --separator {other!r}"
                )
        frame = self._parse(
            options | {"header": 0, "names": names}
        )  # else pandas makes up names, such as x.1
        if frame.index.nlevels > 1 or not frame.index.equals(pd.RangeIndex(len(frame))):
            raise UserError(
                f"{self.name} has rows with more cells than the header has names ({list_names(names)}); complete the "
                "header"
            )
        return frame

    def _parse(self, options: dict[str, Any]) -> Any:
        """Return the frame that pandas reads, or raise a UserError."""
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions round correctly
            options["float_precision"] = "round_trip"
        try:
            with get_handle(self._buffer(), "rb", compression=self._compression, is_text=False) as opened:
                file = inputs.LimitedFile(opened.handle, self.name, self._format.encoding)
                return pd.read_csv(io.BufferedReader(file), **options)
        except pd.errors.EmptyDataError:
            raise UserError(f"{self.name} is empty") from None
        except pd.errors.ParserError as error:
            raise UserError(f"{self.name} is not a table ({one_line(error)})") from error
        except UnicodeError:
            raise UserError(
                f"{self.name} is not text in {self._format.encoding}; name its encoding, such as --encoding latin-1 "
                "or utf-16"
            ) from None
        except (ImportError, MemoryError, UserError):  # pandas names the package that a compression needs
            raise
        except Exception as error:  # whatever a decompressor raises
            verb = "decompress" if self._compression else "read"
            raise UserError(f"cannot {verb} {self.name}: {one_line(error)}") from error

    def _check_unique(self, names: list[str]) -> None:
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise UserError(f"{self.name} has two columns named {twice!r}; rename one of them")


def check_column(name: str, columns: Sequence[str], table: str) -> None:
    """Raise a UserError if a table has no such column; it names columns with a similar name."""
    if name in columns:
        return
    similar = inputs.close_matches(name, columns)
    hint = f"did you mean {list_names(similar)}?" if similar else f"it has {list_names(columns)}"
    raise UserError(f"there is no column {name!r} in {table}; {hint}")


def warn_of_unnamed_columns(frame: Any, ignore: Sequence[str]) -> None:
    """Warn of columns without a name in the header, except those to ignore: the name that they get is not theirs."""
    for number, name in enumerate(frame.columns):
        if name != _UNNAMED.format(number) or name in ignore:
            continue
        subject, remedy = (
            f"column {number} has no name",
            f"name it in the header, or leave it out with --drop {name!r}",
        )
        if number == 0 and (frame[name].to_numpy() == range(len(frame))).all():
            subject, remedy = (
                "the first column has no name and numbers the rows",
                f"leave it out with --drop {name!r}",
            )
        warnings.warn(f"{subject}; {remedy}", stacklevel=2)


def is_text(column: Any) -> bool:
    """Return whether a column holds text."""
    types = pd.api.types
    return bool(types.is_string_dtype(column.dtype)) and types.infer_dtype(column, skipna=True) == "string"


def to_numbers(column: Any, name: str, why: str = "") -> Any:
    """Return a column as numbers, or raise a UserError that names the first cell that is no number."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(float)
    numbers = pd.to_numeric(column, errors="coerce")
    invalid = numbers.isna() & column.notna()
    if not invalid.any():
        return numbers
    row = int(invalid.to_numpy().argmax())
    cell = shortened(column.iloc[row], 40)
    remedy = f"correct it, or make it missing with --na {cell}"
    if decimal_commas_to_numbers(column.iloc[[row]].astype(str)).notna().all():
        remedy = "if the comma is a decimal separator, add --decimal ,"
    raise UserError(f"column {name!r} holds {cell} in row {row}, which is not a number{why}; {remedy}")


def decimal_commas_to_numbers(cells: Any) -> Any:
    """Return texts such as "1.234,5" as numbers; NaN where they are none."""
    plain = cells.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return pd.to_numeric(plain, errors="coerce")


def to_records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain dicts; missing values are None."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def check_table_output(output: str) -> tuple[str, str | None]:
    """Return the format and the compression of a table to write; raise a UserError if it cannot be written."""
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
    table_bytes(pd.DataFrame({"trial": [0]}), format_name, compression)  # a package may not be installed
    return format_name, compression


def table_bytes(frame: Any, format_name: str = "csv", compression: str | None = None) -> bytes:
    """Return a table as a file."""
    buffer = io.BytesIO()
    if format_name == "parquet":
        try:
            frame.to_parquet(buffer, index=False)
        except ImportError:
            raise UserError(_NO_PYARROW) from None
        return buffer.getvalue()
    # older Pythons leave carriage returns unquoted, which end a line
    texts = frame.select_dtypes(exclude=["number", "bool"]).astype(str)
    cells = any(texts[name].str.contains("\r", regex=False).any() for name in texts.columns)
    has_carriage_returns = cells or any("\r" in name for name in frame.columns)
    frame.to_csv(
        buffer,
        index=False,
        sep="\t" if format_name == "tsv" else ",",
        compression=compression,
        encoding="utf-8",
        quoting=csv.QUOTE_NONNUMERIC if has_carriage_returns else csv.QUOTE_MINIMAL,
    )
    return buffer.getvalue()
