"""Columns that are passed on beside predictions, as they stand in their file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.cli.tables import check_column

if TYPE_CHECKING:
    from tritree.cli.tables import Reading, Source

__all__ = ["read_kept"]

#: Numbers to a reader, but names of something: zeros before them would be lost.
_LIKE_A_NAME = r"\s*[+-]?0\d"


def read_kept(source: Source, reading: Reading, names: list[str], frame: Any, *, typed: bool) -> Any:
    """Return columns of a table to pass on.

    Cells of a text file are text as they stand there: what is written is what was read, "007" and "NA" included. If the
    result is to have types, they are numbers and missing values where they are in ``frame``, the table as it was
    read for prediction, except that a column with "007" in it stays text.
    """
    for name in names:
        check_column(name, list(frame.columns), source.name)
    if not names or source.kind == "parquet":
        return frame[names]
    cells = source.read_cells(reading)[names]
    if not typed:
        return cells
    as_text = [name for name in names if cells[name].str.match(_LIKE_A_NAME).any()]
    return frame[names].assign(**{name: cells[name].where(frame[name].notna(), None) for name in as_text})
