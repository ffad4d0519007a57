"""Tables written part by part: each part is written as it comes, and a file is put in place when it is complete."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pandas.io.common import get_handle

from tritree.cli.messages import to_json, write_bytes, write_text
from tritree.cli.output import write_errors
from tritree.cli.tables import table_bytes, to_records
from tritree.output_files import open_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    Write = Callable[[Any], None]


@contextmanager
def table_file(
    file: Path,
    name: str,
    format_name: str,
    compression: str | None,
    types: Mapping[str, Any],
) -> Iterator[Write]:
    """Yield a function that appends a frame to a file, which gets its name when the block ends.

    ``types`` are those of pyarrow for columns of a Parquet file; others have the types of the first frame.
    """
    with write_errors(name), open_atomically(file) as raw:
        if format_name == "parquet":
            with _parquet(raw, types) as write:
                yield write
        else:
            with _compressed(raw, file, compression) as opened:
                yield _text(opened.write, format_name)


def text_stream() -> Write:
    """Return a function that writes frames to the standard output, as one table."""
    return _text(write_bytes, "csv")


@contextmanager
def json_stream() -> Iterator[Write]:
    """Yield a function that writes the rows of frames to the standard output, as one list of objects in JSON."""
    begin = "["

    def write(frame: Any) -> None:
        nonlocal begin
        rows = to_json(to_records(frame)).removeprefix("[").removesuffix("\n]")
        write_bytes(f"{begin}{rows}".encode())
        begin = ","

    yield write
    write_text("\n]")


def _text(write_bytes: Callable[[bytes], Any], format_name: str) -> Write:
    has_header = True

    def write(frame: Any) -> None:
        nonlocal has_header
        write_bytes(table_bytes(frame, format_name, has_header=has_header))
        has_header = False

    return write


@contextmanager
def _compressed(raw: Any, file: Path, compression: str | None) -> Iterator[Any]:
    """Yield a file that compresses what is written to another one."""
    if compression == "zip":  # pandas would keep all of it in memory
        with (
            zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(file.name.removesuffix(file.suffix), "w", force_zip64=True) as opened,
        ):
            yield opened
        return
    with get_handle(raw, "wb", compression=compression, is_text=False) as handles:
        yield handles.handle


@contextmanager
def _parquet(raw: BinaryIO, types: Mapping[str, Any]) -> Iterator[Write]:
    """Yield a function that appends a frame to a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer: Any = None

    def write(frame: Any) -> None:
        nonlocal writer
        if writer is None:
            schema = pa.Schema.from_pandas(frame, preserve_index=False)
            if types:  # those of pandas are not these
                fields = [field.with_type(types.get(field.name, field.type)) for field in schema]
                schema = pa.schema(fields)
            writer = ParquetWriter(raw, schema)
        writer.write_table(pa.Table.from_pandas(frame, schema=writer.schema, preserve_index=False))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
