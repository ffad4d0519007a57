"""Rows to inspect, read once: as columns for the core, and cell by cell as the user knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import ColumnType
from tritree.encoder import MISSING as NO_CATEGORY
from tritree.table import read_table
from tritree.validation import UNKNOWN_CATEGORY_OPTIONS, check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.columns import TypedColumn
    from tritree.encoder import ColumnEncoder, TableEncoder

#: States of a cell.
OBSERVED, MISSING, ABSENT, UNSEEN = "observed", "missing", "column absent", "not seen in training"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row."""

    #: "observed", "missing", "column absent" or "not seen in training".
    state: str
    #: The value as the user knows it; None if it is not observed.
    value: Any = None
    #: The number that thresholds are compared with: the value, or the position of an ordered category.
    number: float | None = None

    @property
    def is_missing(self) -> bool:
        """Whether the value, or its whole column, is missing."""
        return self.state in (MISSING, ABSENT)


@dataclass(frozen=True)
class Rows:
    """Rows as columns for the core, and cell by cell."""

    columns: Sequence[_core.Column | None]
    n_rows: int
    cells: list[tuple[Cell, ...]]


def read_rows(X: Any, encoder: TableEncoder, estimator: str, unknown_category: str) -> Rows:
    """Return the rows of a table, matched with the columns of training."""
    check_choice("unknown_category", unknown_category, UNKNOWN_CATEGORY_OPTIONS)
    table = read_table(X)
    matched = list(encoder.match(table, estimator))
    refuse = unknown_category == "error"
    columns = [None if c is None else known.encode(c, refuse_unknown=refuse) for known, c in matched]
    cells = [
        _cells(known, column, values, table.n_rows)
        for (known, column), values in zip(matched, columns, strict=True)
    ]
    return Rows(columns, table.n_rows, list(zip(*cells, strict=True)))


def _cells(
    learned: ColumnEncoder, column: TypedColumn | None, values: NDArray[Any] | None, n_rows: int
) -> list[Cell]:
    """Return the cells of a column, given its values as the core takes them."""
    if column is not None and learned.type is ColumnType.IDENTIFIER and column.type is not ColumnType.EMPTY:
        is_missing = column.values < 0 if column.type is ColumnType.TEXT else np.isnan(column.values)
        return [
            Cell(MISSING) if missing else Cell(OBSERVED, learned.value(column, row))
            for row, missing in enumerate(is_missing.tolist())
        ]
    if column is None or values is None:
        return [Cell(ABSENT if column is None else MISSING)] * n_rows
    cells = []
    for row, value in enumerate(values.tolist()):
        if value != value or (learned.categories is not None and value == NO_CATEGORY):
            cells.append(Cell(MISSING))
        elif learned.categories is None:
            cells.append(Cell(OBSERVED, learned.value(column, row), float(value)))
        else:
            cells.append(Cell(OBSERVED if value >= 0 else UNSEEN, learned.value(column, row)))
    return cells
