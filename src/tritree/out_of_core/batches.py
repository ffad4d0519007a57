"""Tables that are read batch by batch: Parquet files, datasets, lazy frames, and iterables of frames."""

from __future__ import annotations

import glob
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw

from tritree.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Batch", "Batches", "batch_errors", "find_batches"]

#: Number of rows of a batch, where the source lets us choose.
_BATCH_ROWS = 1 << 17
_GLOB_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table."""

    number: int
    #: Position in the table of its first row.
    first_row: int
    frame: nw.DataFrame[Any]


@dataclass(frozen=True)
class Batches:
    """A table that is read batch by batch, from the first row on each time it is iterated over."""

    #: What the table is, for messages.
    name: str
    #: Open the table, and return its batches as frames of any table library.
    open: Callable[[], Iterable[Any]]
    #: Number of rows, if it is known without reading them.
    n_rows: int | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches that have rows."""
        first_row = 0
        for number, native in enumerate(self.open()):
            frame = _to_frame(native, number)
            if len(frame):
                yield Batch(number, first_row, frame)
                first_row += len(frame)


def find_batches(X: Any, *, may_be_lazy: bool = False) -> Batches | None:
    """Return a table as batches if it is a dataset, the path of Parquet files or an iterable of frames; else None.

    If ``may_be_lazy``, also for a lazy frame of polars.
    """
    if hasattr(X, "__array__"):  # arrays and frames
        return None
    if isinstance(X, str | os.PathLike):
        return _of_dataset(_open_parquet(os.fspath(X)), f"the table {os.fspath(X)!r}")
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "count_rows"):
        return _of_dataset(X, "the dataset")
    if library == "polars" and type(X).__name__ == "LazyFrame":
        return Batches("the lazy frame", lambda: _collect_batches(X)) if may_be_lazy else None
    if isinstance(X, list | tuple):
        return Batches("the list of frames", lambda: X) if X and _is_frame(X[0]) else None
    is_table = any(hasattr(X, name) for name in ("__dataframe__", "__arrow_c_stream__", "columns", "shape"))
    if is_table or not hasattr(X, "__iter__") or isinstance(X, dict | set | frozenset | bytes):
        return None
    iterator = iter(X)
    if iterator is X:
        raise TypeError(
            f"an iterator of type {type(X).__name__} can be read only once, and a table is read several times; pass a "
            "list, or an object whose __iter__ starts from the first batch each time"
        )
    first = next(iterator, None)
    return Batches(f"the {type(X).__name__}", lambda: X) if _is_frame(first) else None


def _is_frame(item: Any) -> bool:
    has_arrow = hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")
    return has_arrow and hasattr(item, "columns")


def _to_frame(native: Any, number: int) -> nw.DataFrame[Any]:
    if type(native).__name__ == "RecordBatch":
        import pyarrow as pa

        native = pa.Table.from_batches([native])
    frame = nw.from_native(native, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"batch {number} is of type {type(native).__name__}; yield record batches, or frames of pandas, polars or "
            "pyarrow"
        )
    return frame


def _of_dataset(dataset: Any, name: str) -> Batches:
    return Batches(name, lambda: _read_dataset(dataset), dataset.count_rows())


def _read_dataset(dataset: Any) -> Iterator[Any]:
    """Yield the batches of a dataset. By default pyarrow reads ahead, and keeps, some gigabytes of large files."""
    from pyarrow import default_memory_pool
    from pyarrow.dataset import ParquetFragmentScanOptions

    options: dict[str, Any] = {"batch_size": _BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    if getattr(getattr(dataset, "format", None), "default_extname", None) == "parquet":
        options["fragment_scan_options"] = ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True
        )
    try:
        yield from dataset.to_batches(**options)
    finally:
        default_memory_pool().release_unused()


def _open_parquet(path: str) -> Any:
    """Return the Parquet files of a path, a folder or a pattern such as ``big/*.parquet`` as a dataset."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.dataset import dataset
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from None
    paths: Any = path
    if not Path(path).exists() and _GLOB_SIGNS & set(path):
        paths = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - the pattern may be absolute
        if not paths:
            raise FileNotFoundError(f"no file matches {path!r}")
    elif not Path(path).exists():
        raise FileNotFoundError(
            f"there is no file {path!r}; a table is a Parquet file, a folder of them, or a frame"
        )
    try:
        return dataset(paths, format="parquet")
    except ArrowInvalid:
        raise ValueError(f"{path!r} is no Parquet file, or a damaged one") from None


def _collect_batches(frame: Any) -> Iterator[Any]:
    """Return a lazy frame in batches; versions of polars that cannot do that collect it as a whole."""
    if hasattr(frame, "collect_batches"):
        return iter(frame.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True))
    collected = frame.collect()
    return (collected.slice(first, _BATCH_ROWS) for first in range(0, len(collected), _BATCH_ROWS))


@contextmanager
def batch_errors(batch: Batch) -> Iterator[None]:
    """Say in errors about data which batch they are about."""
    where = f"batch {batch.number}, which begins at row {batch.first_row:,}"
    try:
        yield
    except DataError as error:
        error.argument = where
        raise
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in {where}: {error}") from None
