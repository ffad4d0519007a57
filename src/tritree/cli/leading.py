"""Rows led through a model, so that it has the branches they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.cli.messages import working
from tritree.cli.typed import read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.cli.tables import Reading, Source

__all__ = ["lead"]


def lead(model: Any, source: Source, reading: Reading, *, besides: Sequence[str] = ()) -> Any:
    """Return a table whose rows have been led through a model, and have grown the branches they need.

    ``besides`` names columns that the table may have and that are not learned from: no warning tells that they are
    ignored.
    """
    frame = read_rows(model, source, reading)
    rows = frame.drop(columns=list(besides), errors="ignore")
    with working("leading rows through the model"):
        model.predict(rows)  # which warns, as apply does not, if something could not be grown
    return rows
