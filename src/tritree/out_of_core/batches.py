"""Tables that are read batch by batch: Parquet files, datasets, lazy frames, and iterables of frames."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw

from tritree.errors import DataError
from tritree.out_of_core.parquet import FilePart, open_parquet, scan_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Batch", "Batches", "batch_errors", "find_batches"]

#: Number of rows of a batch of a lazy frame.
_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table."""

    number: int
    #: Position of its first row.
    first_row: int
    frame: nw.DataFrame[Any]
    #: The file that has the rows, if it is known; `first_row` is then a position in it.
    path: str | None = None

    @property
    def where(self) -> str:
        """Where the rows are, for messages."""
        file = "" if self.path is None else f" of {self.path!r}"
        return f"batch {self.number}, which begins at row {self.first_row:,}{file}"


@dataclass(frozen=True)
class Batches:
    """A table that is read batch by batch, from the first row on each time it is iterated over."""

    #: What the table is, for messages.
    name: str
    #: Open the table, and return its batches as frames of any table library, or parts of files.
    open: Callable[[], Iterable[Any]]
    #: Number of rows, if it is known without reading them.
    n_rows: int | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches that have rows."""
        first_row = 0
        for number, native in enumerate(self.open()):
            path, first, rows = native if isinstance(native, FilePart) else (None, first_row, native)
            frame = _to_frame(rows, number)
            if len(frame):
                yield Batch(number, first, frame, path)
                first_row += len(frame)


def find_batches(X: Any, *, may_be_lazy: bool = False) -> Batches | None:
    """Return a table as batches if it is a dataset, the path of Parquet files or an iterable of frames; else None.

    If ``may_be_lazy``, also for a lazy frame of polars.
    """
    if isinstance(X, Batches):
        return X
    if hasattr(X, "__array__"):  # arrays and frames
        return None
    if isinstance(X, str | os.PathLike):
        files = open_parquet(os.fspath(X))
        return Batches(files.name, files.read, files.n_rows)
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "count_rows"):
        return Batches("the dataset", lambda: _read_dataset(X), X.count_rows())
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


def _read_dataset(dataset: Any) -> Iterator[Any]:
    """Yield the batches of a dataset."""
    from pyarrow import default_memory_pool

    extension = getattr(getattr(dataset, "format", None), "default_extname", None)
    try:
        yield from dataset.to_batches(**scan_options(is_parquet=extension == "parquet"))
    finally:
        default_memory_pool().release_unused()


def _collect_batches(frame: Any) -> Iterator[Any]:
    """Return a lazy frame in batches; versions of polars that cannot do that collect it as a whole."""
    if hasattr(frame, "collect_batches"):
        return iter(frame.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True))
    collected = frame.collect()
    return (collected.slice(first, _BATCH_ROWS) for first in range(0, len(collected), _BATCH_ROWS))


@contextmanager
def batch_errors(batch: Batch) -> Iterator[None]:
    """Say in errors about data which batch they are about."""
    try:
        yield
    except DataError as error:
        error.argument = batch.where
        raise
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in {batch.where}: {error}") from None
