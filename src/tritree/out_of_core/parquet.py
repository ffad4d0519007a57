"""Parquet files that together are one table: found, compared with each other, and read one after the other."""

from __future__ import annotations

import glob
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["FilePart", "ParquetFiles", "is_pattern", "open_parquet", "scan_options"]

#: Number of rows of a batch.
_BATCH_ROWS = 1 << 17


class FilePart(NamedTuple):
    """Some rows of a file."""

    path: str
    #: Position in the file of its first row.
    first_row: int
    #: A frame, or a record batch.
    rows: Any


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, as one table."""

    #: What the table is, for messages.
    name: str
    #: Schema of pyarrow, with the types that hold the values of all files.
    schema: Any
    _fragments: tuple[Any, ...]
    n_rows: int

    @property
    def paths(self) -> list[str]:
        """The files in the order in which they are read."""
        return [fragment.path for fragment in self._fragments]

    def read(self, columns: Sequence[str] | None = None) -> Iterator[FilePart]:
        """Yield the rows as record batches with all columns, or some of them."""
        from pyarrow import ArrowException, default_memory_pool

        try:
            for fragment in self._fragments:
                first_row = 0
                options = scan_options(is_parquet=True)
                try:
                    for batch in fragment.to_batches(schema=self.schema, columns=columns, **options):
                        yield FilePart(fragment.path, first_row, batch)
                        first_row += batch.num_rows
                except (ArrowException, OSError) as error:
                    raise ValueError(
                        f"cannot read {fragment.path!r} from row {first_row:,} on, since it is damaged or has changed: "
                        f"{error}"
                    ) from error
        finally:
            default_memory_pool().release_unused()


def scan_options(*, is_parquet: bool) -> dict[str, Any]:
    """Return options of scans by pyarrow, which by default reads ahead, and keeps, some gigabytes of large files."""
    from pyarrow.dataset import ParquetFragmentScanOptions

    options: dict[str, Any] = {"batch_size": _BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    if is_parquet:
        options["fragment_scan_options"] = ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True
        )
    return options


def is_pattern(path: str) -> bool:
    """Return whether a path that does not exist is a pattern such as ``big/*.parquet``."""
    return any(sign in path for sign in "*?[") and not Path(path).exists()


def open_parquet(*paths: str) -> ParquetFiles:
    """Return the Parquet files of paths, each a file, a folder or a pattern such as ``big/*.parquet``.

    Raises
    ------
    ValueError
        If a file is not a Parquet file, or has other columns than the first one, or columns of other types.
    """
    try:
        from pyarrow.dataset import ParquetFileFormat
        from pyarrow.fs import LocalFileSystem
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from None
    files = [file for path in paths for file in _find_files(path)]
    make = ParquetFileFormat().make_fragment
    system = LocalFileSystem()
    fragments = tuple(make(file, system) for file in files)
    schemas = [_read_schema(fragment) for fragment in fragments]
    name = f"the table {paths[0]!r}" if len(paths) == 1 else f"the table of {len(files):,} files"
    n_rows = sum(fragment.count_rows() for fragment in fragments)
    return ParquetFiles(name, _common_schema(files, schemas), fragments, n_rows)


def _find_files(path: str) -> list[str]:
    if is_pattern(path):
        found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - the pattern may be absolute
        if not found:
            raise FileNotFoundError(f"no file matches {path!r}")
        return [file for one in found for file in _find_files(one)]
    if Path(path).is_dir():
        files = sorted(_walk(path))
        if not files:
            raise FileNotFoundError(f"there is no file in the folder {path!r}")
        return files
    if not Path(path).exists():
        raise FileNotFoundError(
            f"there is no file {path!r}; a table is a Parquet file, a folder of them, or a frame"
        )
    return [path]


def _walk(folder: str) -> Iterable[str]:
    """Yield the files in a folder and in those in it, without those of other programs, such as ``_SUCCESS``."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_dir():
                yield from _walk(entry.path)
            else:
                yield entry.path


def _read_schema(fragment: Any) -> Any:
    from pyarrow import ArrowException

    try:
        schema = fragment.physical_schema
    except ArrowException:
        raise ValueError(f"{fragment.path!r} is no Parquet file, or a damaged one") from None
    twice = next((name for name, times in Counter(schema.names).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"{fragment.path!r} has two columns named {twice!r}; rename one of them")
    return schema


def _common_schema(files: Sequence[str], schemas: Sequence[Any]) -> Any:
    """Return a schema that holds the values of all files; raise a ValueError if their columns are not the same."""
    first, common = schemas[0], schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        if schema.equals(first):
            continue
        for name in [*schema.names, *first.names]:
            if name in schema.names and name in first.names:
                continue
            without, with_it = (files[0], file) if name in schema.names else (file, files[0])
            raise ValueError(
                f"column {name!r} is absent from {without!r}, and is in {with_it!r}; give all files the same columns"
            )
        for name in schema.names:
            if (found := schema.field(name).type) != (before := common.field(name).type):
                wider = _wider_type(before, found)
                if wider is None:
                    raise ValueError(
                        f"column {name!r} is of type {found} in {file!r}, and of type {before} in {files[0]!r}; write "
                        "it as one type in all files"
                    )
                position = common.get_field_index(name)
                common = common.set(position, common.field(name).with_type(wider))
    return common


def _wider_type(one: Any, other: Any) -> Any:
    """Return the type of pyarrow that holds the values of two, such as 64-bit integers for integers; else None."""
    import pyarrow as pa

    try:
        fields = [pa.schema([("column", kind)]) for kind in (one, other)]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError):
        return None
