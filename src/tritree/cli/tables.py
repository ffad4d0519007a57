"""Tables in files, read into pandas: CSV, TSV and Parquet, compressed or not, from the standard input too."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritree.cli.messages import Mendable, near, one_line, some, working

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ENDINGS",
    "NO_PYARROW",
    "NO_ZSTANDARD",
    "PACKED",
    "Reading",
    "Source",
    "check_column",
    "check_readable",
    "import_pandas",
    "kind_of",
    "open_source",
    "records",
]

#: What a file is by its ending.
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
#: How a file is compressed by its last ending, in the words of pandas.
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
#: The first bytes of a file that has no ending to go by.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_PARQUET = b"PAR1"

NO_ZSTANDARD = ".zst is read and written with zstandard, which is not installed: pip install zstandard"
NO_PYARROW = "Parquet is read and written with pyarrow, which is not installed: pip install pyarrow"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is read; None leaves it to the file's ending."""

    kind: str | None = None
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: tuple[str, ...] = ()
    default_na: bool = True


def import_pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise Mendable(
            f"tables are read with pandas, which cannot be imported ({error}): pip install 'tritree[cli]'"
        ) from error
    return pd


def kind_of(path: Path) -> tuple[str | None, str | None]:
    """Return what a file is by its endings, and how it is compressed; None where they do not say."""
    endings = [ending.lower() for ending in path.suffixes]
    packed = PACKED.get(endings.pop()) if endings and endings[-1] in PACKED else None
    return ENDINGS.get(endings[-1]) if endings else None, packed


def open_source(path: str, reading: Reading) -> Source:
    """Return where a table is read from; "-" is the standard input."""
    if path == "-":
        return _stream("the standard input", _read_stdin(), reading)
    place = Path(path)
    check_readable(place, "table")
    name = repr(path)
    if not place.is_file():  # a pipe, such as the shell's <(...)
        return _stream(name, place.read_bytes(), reading)
    kind, packed = kind_of(place)
    kind = reading.kind or kind
    if kind is None:
        raise Mendable(_unknown(place))
    if place.stat().st_size == 0:
        raise Mendable(f"{name} is empty")
    return Source(name, place, kind, packed)


def _unknown(place: Path) -> str:
    if place.suffix.lower() == ".tritree":
        return f"{str(place)!r} is a model, where a table is wanted: a model comes first, then the table"
    known = ", ".join(ENDINGS)
    return (
        f"cannot tell what {str(place)!r} holds: its name should end in {known}, or in one of these and "
        f"{', '.join(PACKED)}; or say it with --read-as csv, tsv or parquet"
    )


def check_readable(place: Path, what: str) -> None:
    """Raise a Mendable if there is no file to read; it names files that may have been meant."""
    try:
        if place.is_dir():
            raise Mendable(f"{str(place)!r} is a folder; name a {what} in it")
        if not place.exists():
            found = _files_near(place)
            raise Mendable(f"there is no file {str(place)!r}" + (f"; near: {some(found)}" if found else ""))
        with place.open("rb") as file:
            file.readable()
    except PermissionError:
        raise Mendable(f"may not read {str(place)!r}: permission denied") from None
    except OSError as error:  # a name that is too long, a disk that fails
        raise Mendable(f"cannot read {str(place)!r}: {error.strerror}") from error


def _files_near(place: Path) -> list[str]:
    """Return files that may have been meant; their endings are too much alike to tell."""
    if not place.parent.is_dir():
        return []
    names = [file.name for file in place.parent.iterdir()]
    stems = near(place.name.partition(".")[0], sorted({name.partition(".")[0] for name in names}))
    alike = [name for name in names if name.partition(".")[0] in stems]
    return [str(place.with_name(name)) for name in near(place.name, alike)]


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise Mendable("there is no standard input to read a table from; name a file")
    if sys.stdin.isatty():
        sys.stderr.write("tritree: reading a table from the terminal; end it with Ctrl-D\n")
    return sys.stdin.buffer.read()


def _stream(name: str, data: bytes, reading: Reading) -> Source:
    """Return what came through a pipe; its first bytes tell what it is."""
    if not data:
        raise Mendable(f"{name} is empty")
    packed = next((packing for magic, packing in _MAGIC.items() if data.startswith(magic)), None)
    kind = reading.kind or ("parquet" if data.startswith(_PARQUET) else "csv")
    return Source(name, data, kind, packed)


def check_column(name: str, columns: Sequence[str], table: str) -> None:
    """Raise a Mendable if a table has no such column; it names those that may have been meant."""
    if name in columns:
        return
    found = near(name, columns)
    hint = f"near: {some(found)}" if found else f"it has {some(columns)}"
    raise Mendable(f"there is no column {name!r} in {table}; {hint}")


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read, more than once."""

    #: How messages call it.
    name: str
    _place: Path | bytes
    kind: str
    _packed: str | None

    def read(self, reading: Reading, text: Sequence[str] = ()) -> Any:
        """Return the table as a frame; ``text`` names columns that are text even if they look like numbers."""
        with working(f"reading {self.name}"):
            if self.kind == "parquet":
                frame = self._read_parquet()
            else:
                na = [*reading.na] if reading.default_na else ["", *reading.na]
                frame = self._read_csv(
                    reading,
                    dtype=dict.fromkeys(text, str),
                    na_values=na,
                    keep_default_na=reading.default_na,
                    low_memory=False,  # else a column may be text in one part of the file and numbers in another
                )
        if len(frame) == 0:
            raise Mendable(f"{self.name} has {len(frame.columns)} columns and no rows")
        return frame

    def read_cells(self, reading: Reading) -> Any:
        """Return the table with its cells as they stand in the file: "007" stays, and so does "NA"."""
        if self.kind == "parquet":
            return self._read_parquet()
        return self._read_csv(reading, dtype=str, keep_default_na=False)

    def _read_parquet(self) -> Any:
        pandas = import_pandas()
        source = self._place if isinstance(self._place, Path) else io.BytesIO(self._place)
        try:
            frame = pandas.read_parquet(source)
        except ImportError:
            raise Mendable(NO_PYARROW) from None
        except (OSError, ValueError) as error:  # pyarrow's errors are of these
            raise Mendable(
                f"{self.name} is no Parquet table, or a damaged one ({one_line(error)})"
            ) from error
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(name) for name in frame.columns]
        _refuse_twins(list(frame.columns), self.name)
        return frame

    def _read_csv(self, reading: Reading, **how: Any) -> Any:
        separator = reading.separator or ("\t" if self.kind == "tsv" else ",")
        how |= {"sep": separator, "decimal": reading.decimal}
        # a mark at the beginning, which some programs write, is no part of the first name
        how["encoding"] = "utf-8-sig" if reading.encoding.lower() in ("utf-8", "utf8") else reading.encoding
        header = self._parse(
            reading, **(how | {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False})
        )
        names = [str(name) for name in header.iloc[0]]
        _refuse_twins(names, self.name)
        if reading.separator is None and len(names) == 1:
            other = next((sign for sign in ";\t|," if sign != separator and sign in names[0]), None)
            if other is not None:
                shown = "'\\t'" if other == "\t" else repr(other)
                raise Mendable(
                    f"{self.name} has one column, {names[0]!r}; name its separator: --separator {shown}"
                )
        frame = self._parse(reading, **how)
        if frame.index.nlevels > 1 or not frame.index.equals(import_pandas().RangeIndex(len(frame))):
            raise Mendable(
                f"{self.name} has rows with more cells than its first line has names ({some(names)}); complete that "
                "line"
            )
        return frame

    def _parse(self, reading: Reading, **how: Any) -> Any:
        """Return what pandas reads, or say what is wrong with the file."""
        pandas = import_pandas()
        source = self._place if isinstance(self._place, Path) else io.BytesIO(self._place)
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (
            3,
            1,
        ):  # from then on they are exact by themselves
            how["float_precision"] = "round_trip"
        try:
            return pandas.read_csv(source, compression=self._packed, **how)
        except pandas.errors.EmptyDataError:
            raise Mendable(f"{self.name} is empty") from None
        except pandas.errors.ParserError as error:
            reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
            raise Mendable(f"{self.name} is not a table ({reason})") from error
        except UnicodeError:
            raise Mendable(
                f"{self.name} is not text in {reading.encoding}; name its encoding, such as --encoding latin-1 "
                "or utf-16"
            ) from None
        except LookupError as error:
            raise Mendable(f"{one_line(error)}; try --encoding latin-1 or utf-16") from None
        except ImportError:
            raise Mendable(NO_ZSTANDARD) from None
        except MemoryError:
            raise
        except Exception as error:  # whatever a decompressor stumbles over
            what = "unpack" if self._packed else "read"
            raise Mendable(f"cannot {what} {self.name}: {one_line(error)}") from error


def _refuse_twins(names: Sequence[str], table: str) -> None:
    seen = set()
    for name in names:
        if name and name in seen:
            raise Mendable(f"the column {name!r} is twice in {table}; rename one of them")
        seen.add(name)


def records(table: Any) -> list[dict[str, Any]]:
    """Return the lines of a table as plain data; what is not a number is None."""
    lines: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return lines
