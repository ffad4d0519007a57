"""Rows to predict, read once for the core and for those who look: as numbers, and cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tritree.inspection.explain import read_cells
from tritree.table import read_table
from tritree.validation import UNKNOWN_CATEGORY, check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree import _core
    from tritree.estimators.base import TrinaryEstimator
    from tritree.inspection.explain import Cell

__all__ = ["ReadRows", "read_rows"]


@dataclass(frozen=True)
class ReadRows:
    """Rows to predict: as the core takes them, and cell by cell as the user knows them."""

    columns: Sequence[_core.Column | None]
    n_rows: int
    cells: list[tuple[Cell, ...]]


def read_rows(model: TrinaryEstimator, X: Any) -> ReadRows:
    """Return the rows of a table, matched with the columns that a fitted model knows."""
    check_choice("unknown_category", model.unknown_category, UNKNOWN_CATEGORY)
    table = read_table(X)
    matched = list(model._encoder.match(table, type(model).__name__))
    refuse = model.unknown_category == "error"
    columns = [None if c is None else known.encode(c, refuse_unknown=refuse) for known, c in matched]
    cells = [
        read_cells(known, column, values, table.n_rows)
        for (known, column), values in zip(matched, columns, strict=True)
    ]
    return ReadRows(columns, table.n_rows, list(zip(*cells, strict=True)))
