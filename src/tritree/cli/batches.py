"""Parquet tables that are read batch by batch, so that they may be larger than the memory."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli import inputs
from tritree.cli.errors import describe_error
from tritree.cli.messages import UserError
from tritree.cli.tables import format_by_name, mask_missing, read_as_text
from tritree.errors import DataError
from tritree.out_of_core.parquet import is_pattern, open_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tritree.cli.options import TableFormat
    from tritree.out_of_core.parquet import ParquetFiles

#: Fraction of the memory from which on a table in one file is not read as a whole to fit a model.
_LARGE = 1 / 8
_CELL_BYTES = 8


def find_batches(paths: Sequence[str], table_format: TableFormat, *, also_small: bool) -> BatchTable | None:
    """Return Parquet files, a folder of them or a pattern as one table; None for another table, to read as a whole.

    A single file is read batch by batch if it is large, or ``also_small``.
    """
    if len(paths) > 1 and "-" in paths:
        raise UserError("the standard input is one table; leave out the other ones")
    format_name = table_format.read_as or format_by_name(Path(paths[0]))[0]
    has_pattern = is_pattern(paths[0]) and format_name in (None, "parquet")
    if len(paths) == 1 and not Path(paths[0]).is_dir() and not has_pattern:
        is_file = format_name == "parquet" and Path(paths[0]).is_file()
        if not is_file or not (also_small or _is_large(paths[0])):
            return None
    for path in paths:
        _check_path(path, table_format)
    try:
        files = open_parquet(*paths)
    except ValueError as error:
        raise UserError(str(error)) from error
    others = len(files.paths) - 1
    name = repr(paths[0]) if len(paths) == 1 else f"{paths[0]!r} and {others:,} more"
    if files.n_rows == 0:
        raise UserError(f"{name} has {len(files.schema.names)} columns and no rows")
    return BatchTable(name, files, tuple(table_format.na or ()))


def _check_path(path: str, table_format: TableFormat) -> None:
    """Raise a UserError unless a path may be that of Parquet files."""
    if Path(path).is_dir():
        files = [file for file in Path(path).rglob("*") if file.is_file() and file.name[0] not in "._"]
        if not files or any(format_by_name(file)[0] != "parquet" for file in files):
            what = "with other files than Parquet tables" if files else "without files"
            raise UserError(f"{path!r} is a folder {what}; name the tables in it, such as '{path}/*.parquet'")
        return
    if not is_pattern(path):
        inputs.check_readable(Path(path), "table")
    format_name = table_format.read_as or format_by_name(Path(path))[0]
    if format_name != "parquet" and not (is_pattern(path) and format_name is None):
        raise UserError(
            f"{path!r} is not a Parquet file, and only these are read together as one table; name one table, or write "
            "them as Parquet"
        )


def _is_large(path: str) -> bool:
    """Return whether a table would take a large part of the memory."""
    with suppress(ImportError, OSError, ValueError):  # which the reader of tables words
        from pyarrow.parquet import read_metadata

        found = read_metadata(path)
        return bool(found.num_rows * found.num_columns * _CELL_BYTES > _LARGE * inputs.memory())
    return False


@dataclass(frozen=True)
class BatchTable:
    """Parquet files as one table; messages call it ``name``."""

    name: str
    files: ParquetFiles
    na: tuple[str, ...] = ()

    @property
    def missing_options(self) -> dict[str, Any]:
        """Return the options for missing values; those of text files are not for Parquet."""
        return {"na": list(self.na), "no_default_na": False}

    def options(self) -> dict[str, Any]:
        """Return the options that the table is read with, without those that have their defaults."""
        return {"na": list(self.na)} if self.na else {}

    def like_training(self, options: Mapping[str, Any]) -> BatchTable:
        """Return the table, to be read with the options of the training table where none are given."""
        return self if self.na else replace(self, na=tuple(options.get("na", ())))

    @cached_property
    def columns(self) -> list[str]:
        """The columns; those of an index that pandas has written first, unless it has no name."""
        schema = self.files.schema
        written = (schema.pandas_metadata or {}).get("index_columns", ())
        index = [name for name in written if isinstance(name, str) and name in schema.names]
        others = [name for name in schema.names if name not in index]
        return [name for name in index if not name.startswith("__index_level_")] + others

    def parts(self, columns: Sequence[str] | None = None, *, nullable: bool = False) -> Iterator[BatchPart]:
        """Yield the rows batch by batch; if ``nullable``, whole numbers are such also where some are missing."""
        names = list(self.columns if columns is None else columns)
        mapper = _nullable_types().get if nullable else None
        for part in self.files.read(names):
            if part.rows.num_rows:
                frame = part.rows.to_pandas(types_mapper=mapper, split_blocks=True, ignore_metadata=True)
                frame = mask_missing(frame[names], self.na)
                yield BatchPart(self, part.path, part.first_row, frame)


def _nullable_types() -> dict[Any, Any]:
    """Return types of pandas that columns have in all batches, whether values are missing in them or not."""
    import pyarrow as pa

    types = {getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)}
    types |= {getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)}
    return types | {pa.bool_(): pd.BooleanDtype()}


@dataclass(frozen=True)
class BatchPart:
    """Some rows of a table, which are read as a table is; ``first_row`` is a position in the file."""

    table: BatchTable
    path: str
    first_row: int
    frame: Any

    is_text = False
    no_header = False

    @property
    def name(self) -> str:
        """The table, for messages."""
        return self.table.name

    @property
    def missing_options(self) -> dict[str, Any]:
        """Return the options for missing values."""
        return self.table.missing_options

    def like_training(self, options: Mapping[str, Any]) -> BatchPart:  # noqa: ARG002 - the table is read like it
        """Return the rows."""
        return self

    def read(self, text_columns: Sequence[str] = ()) -> Any:
        """Return the rows as a frame; ``text_columns`` become text if they are numbers."""
        return read_as_text(self.frame.copy(deep=False), text_columns)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in errors where the rows are, by which these errors count."""
        try:
            yield
        except (DataError, UserError) as error:
            where = f"in {self.path!r}, in rows that are counted from row {self.first_row:,} on"
            raise UserError(f"{where}: {describe_error(error)}") from error
