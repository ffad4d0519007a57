"""Tables read from files, or from the standard input, into pandas, and written: text, Parquet, Excel and ARFF."""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.io.common import get_handle

from tritree.cli import inputs
from tritree.cli.advice import advise
from tritree.cli.arff import is_arff, read_arff
from tritree.cli.cells import is_declared_missing, is_number_type, to_text
from tritree.cli.excel import read_excel
from tritree.cli.messages import UserError, one_line, progress
from tritree.cli.text_tables import UNNAMED, UTF_8, TextTable, check_unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tritree.cli.options import TableFormat

#: Table formats by file extension, those that can be written first.
OUTPUT_FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
FORMATS = OUTPUT_FORMATS | {".xlsx": "excel", ".xlsm": "excel", ".arff": "arff"}
#: Compressions by the last file extension, with pandas' names.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
#: Options of a table that the tables of other commands are expected to have, but need not.
_EXPECTED = ("separator", "decimal", "encoding", "no_header", "sheet")

NO_PYARROW = "Parquet files need pyarrow, which is not installed: pip install pyarrow"
#: Number of bytes at the beginning of a stream that tell its format.
_BEGIN = 100_000


def format_by_name(path: Path) -> tuple[str | None, str | None]:
    """Return the format and the compression of a file by its extensions; None where they are unknown."""
    extensions = [extension.lower() for extension in path.suffixes]
    compression = COMPRESSIONS.get(extensions[-1]) if extensions else None
    if compression is not None:
        extensions.pop()
    return FORMATS.get(extensions[-1]) if extensions else None, compression


def _format_by_content(data: bytes) -> tuple[str, str | None]:
    """Return the format and the compression of a table that has no name."""
    if data.startswith(inputs.PARQUET):
        return "parquet", None
    if data.startswith(inputs.ZIP):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return "excel", None
    compression = next((found for magic, found in inputs.MAGIC.items() if data.startswith(magic)), None)
    begin = data[:_BEGIN]
    if compression is not None:
        with (
            suppress(Exception),
            get_handle(io.BytesIO(data), "rb", compression=compression, is_text=False) as file,
        ):
            begin = file.handle.read(_BEGIN)
    return "arff" if is_arff(begin) else "csv", compression


def open_table(path: str, table_format: TableFormat) -> TableSource:
    """Return the source of a table; "-" is the standard input."""
    name, file = "the standard input" if path == "-" else repr(path), Path(path)
    data: Path | bytes = file
    encoding = table_format.encoding or UTF_8
    if path == "-":
        data = inputs.read_stdin(name, encoding)
    else:
        inputs.check_readable(file, "table", may_be_pipe=True)
        if file.is_fifo():
            data = inputs.read_pipe(file, name, encoding)
    format_name: str | None
    format_name, compression = _format_by_content(data) if isinstance(data, bytes) else format_by_name(file)
    format_name = table_format.read_as or format_name
    if format_name is None and file.suffix.lower() == ".tritree":
        raise UserError(f"{name} is a model, not a table: the model comes first, then the table")
    if format_name is None:
        raise UserError(_unknown_format(name, file))
    n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size
    if n_bytes == 0:
        raise UserError(f"{name} is empty")
    inputs.check_size(n_bytes, name)
    return TableSource(name, data, format_name, compression, table_format)


def _unknown_format(name: str, file: Path) -> str:
    if file.suffix.lower() in (".xls", ".xlsb", ".ods"):
        return f"{name} is a spreadsheet of another format; save it as .xlsx or .csv"
    return (
        f"unknown format of {name}: its name should end in {', '.join(FORMATS)}, optionally followed by "
        f"{', '.join(COMPRESSIONS)}; or name the format with --read-as csv, tsv, parquet, excel or arff"
    )


@dataclass(frozen=True, slots=True)
class TableSource:
    """A file or stream with a table, which can be read more than once; messages call it ``name``."""

    name: str
    _data: Path | bytes
    format_name: str
    _compression: str | None
    _format: TableFormat
    #: Options that the training table was read with.
    _expected: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Return whether the table is text, whose cells have no types."""
        return self.format_name in ("csv", "tsv")

    @property
    def no_header(self) -> bool:
        """Return whether the first row holds data."""
        given = self._format.no_header
        return bool(self._expected.get("no_header") if given is None else given)

    @property
    def missing_options(self) -> dict[str, Any]:
        """Return the options for missing values."""
        return {"na": self._format.na or [], "no_default_na": bool(self._format.no_default_na)}

    def like_training(self, options: Mapping[str, Any]) -> TableSource:
        """Return the source, to be read with the options of the training table where none are given."""
        taken = {
            name: value
            for name, value in options.items()
            if name not in _EXPECTED and getattr(self._format, name) in (None, [])
        }
        expected = {name: options[name] for name in _EXPECTED if name in options}
        return replace(self, _format=replace(self._format, **taken), _expected=expected)

    def options(self) -> dict[str, Any]:
        """Return the options that the table is read with, given or found, without those that have their defaults."""
        found = self.missing_options | {"no_header": self.no_header, "sheet": self._format.sheet}
        if self.is_text:
            text = self._text()
            found |= {"separator": text.separator, "decimal": text.decimal, "encoding": self._format.encoding}
        return {name: value for name, value in found.items() if value}

    def read(self, text_columns: Sequence[str] = ()) -> Any:
        """Return the table as a frame; ``text_columns`` are read as text even where they look like numbers."""
        with progress(f"reading {self.name}"):
            match self.format_name:
                case "parquet":
                    frame = self._read_parquet()
                case "excel":
                    sheets = self._format.sheet, self._expected.get("sheet")
                    frame = read_excel(
                        self._buffer(), self.name, *sheets, no_header=self.no_header, **self._na_options()
                    )
                case "arff":
                    frame = self._read_arff()
                case _:
                    frame = self._text().read(
                        dtype=dict.fromkeys(text_columns, str),
                        low_memory=False,  # else a column may be text in one part of the file and numbers in another
                        **self._na_options(),
                    )
        if len(frame) == 0:
            raise UserError(f"{self.name} has {len(frame.columns)} columns and no rows")
        return read_as_text(frame, text_columns)

    def read_as_text(self) -> Any:
        """Return the table with its cells as they stand in a text file, "007" and "NA" included."""
        return self._text().read(dtype=str, keep_default_na=False)

    @property
    def has_decimal_commas(self) -> bool:
        """Return whether the numbers of a text file have decimal commas."""
        return self._text().decimal == ","

    # ---- formats

    @contextmanager
    def _open(self, encoding: str = UTF_8) -> Iterator[inputs.LimitedFile]:
        """Open the file, decompressed; errors of reading and parsing it become UserErrors."""
        try:
            with get_handle(self._buffer(), "rb", compression=self._compression, is_text=False) as opened:
                yield inputs.LimitedFile(opened.handle, self.name, encoding)
        except pd.errors.EmptyDataError:
            raise UserError(f"{self.name} is empty") from None
        except pd.errors.ParserError as error:
            raise UserError(f"{self.name} is not a table: {_parser_problem(error)}") from error
        except UnicodeError:
            raise UserError(
                f"{self.name} is not text in {encoding}; name its encoding, such as --encoding latin-1 or utf-16"
            ) from None
        except (ImportError, MemoryError, UserError):  # pandas names the package that a compression needs
            raise
        except Exception as error:  # whatever a decompressor raises
            verb = "decompress" if self._compression else "read"
            raise UserError(f"cannot {verb} {self.name}: {one_line(error)}") from error

    def _buffer(self) -> Path | io.BytesIO:
        return self._data if isinstance(self._data, Path) else io.BytesIO(self._data)

    def _text(self) -> TextTable:
        expected = {"separator": "\t" if self.format_name == "tsv" else ",", **self._expected}
        return TextTable(self.name, self._open, self._format, expected)

    def _na_options(self) -> dict[str, Any]:
        """Return pandas' options for texts that are missing values."""
        na, no_default = self.missing_options.values()
        return {"na_values": ["", *na] if no_default else na, "keep_default_na": not no_default}

    def _read_arff(self) -> Any:
        with self._open(encoding := self._format.encoding or UTF_8) as file:
            lines = io.TextIOWrapper(io.BufferedReader(file), "utf-8-sig" if encoding == UTF_8 else encoding)
            return read_arff(lines, self.name, self.missing_options["na"])

    def _read_parquet(self) -> Any:
        try:
            frame = pd.read_parquet(self._buffer())
        except ImportError:
            raise UserError(NO_PYARROW) from None
        except (OSError, ValueError) as error:  # pyarrow's errors are of these
            with suppress(ImportError, OSError, ValueError):
                from pyarrow import parquet

                check_unique(parquet.read_schema(self._buffer()).names, self.name)
            raise UserError(
                f"{self.name} is not a Parquet file, or a damaged one ({one_line(error)})"
            ) from error
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(name) for name in frame.columns]
        check_unique(list(frame.columns), self.name)
        return mask_missing(frame, self.missing_options["na"])


def mask_missing(frame: Any, na: Sequence[str]) -> Any:
    """Return a frame whose columns have types with values missing that are among texts, or numbers of these texts."""
    return frame.apply(lambda column: column.mask(is_declared_missing(column, na))) if na else frame


def read_as_text(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame with columns as text, which may be there as numbers."""
    for name in names:
        if name in frame.columns and is_number_type(frame[name]):
            frame[name] = to_text(frame[name])
    return frame


def _parser_problem(error: pd.errors.ParserError) -> str:
    """Return what pandas found in a text that is not a table, in plain words where they are known."""
    text = one_line(error)
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text):
        expected, line, n_cells = found.groups()
        return (
            f"line {line} has {n_cells} cells instead of {expected}; correct it, or name another --separator"
        )
    return text.removeprefix("Error tokenizing data. C error: ")


def warn_of_unnamed_columns(frame: Any, ignore: Sequence[str]) -> None:
    """Warn of columns without a name in the header, except those to ignore: the name that they get is not theirs."""
    for number, name in enumerate(frame.columns):
        if name != UNNAMED.format(number) or name in ignore:
            continue
        drop = advise("--drop", name)
        subject, remedy = (
            f"column {number} has no name",
            f"name it in the header, or leave it out with {drop}",
        )
        if number == 0 and (frame[name].to_numpy() == range(len(frame))).all():
            subject, remedy = (
                "the first column has no name and numbers the rows",
                f"leave it out with {drop}",
            )
        warnings.warn(f"{subject}; {remedy}", stacklevel=2)


def to_records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain dicts; missing values are None."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def check_table_output(output: str) -> tuple[str, str | None]:
    """Return the format and the compression of a table to write; raise a UserError if it cannot be written."""
    format_name, compression = format_by_name(Path(output))
    if format_name is None or format_name not in OUTPUT_FORMATS.values():
        raise UserError(
            f"unknown file extension of {output!r}; use {', '.join(OUTPUT_FORMATS)}, for text optionally followed by "
            f"{', '.join(COMPRESSIONS)}"
        )
    if format_name == "parquet" and compression is not None:
        raise UserError(
            f"Parquet files are compressed already; write {output!r} without {Path(output).suffix}"
        )
    table_bytes(pd.DataFrame({"trial": [0]}), format_name, compression)  # a package may not be installed
    return format_name, compression


def table_bytes(
    frame: Any, format_name: str = "csv", compression: str | None = None, *, has_header: bool = True
) -> bytes:
    """Return a table as a file; text without a header continues another one."""
    buffer = io.BytesIO()
    if format_name == "parquet":
        try:
            frame.to_parquet(buffer, index=False)
        except ImportError:
            raise UserError(NO_PYARROW) from None
        return buffer.getvalue()
    # older Pythons leave carriage returns unquoted, which end a line
    texts = frame.select_dtypes(exclude=["number", "bool"]).astype(str)
    cells = any(texts[name].str.contains("\r", regex=False).any() for name in texts.columns)
    has_carriage_returns = cells or any("\r" in name for name in frame.columns)
    frame.to_csv(
        buffer,
        index=False,
        header=has_header,
        sep="\t" if format_name == "tsv" else ",",
        compression=compression,
        encoding="utf-8",
        quoting=csv.QUOTE_NONNUMERIC if has_carriage_returns else csv.QUOTE_MINIMAL,
    )
    return buffer.getvalue()
