"""Columns of an interactive page: how values are entered, their range, and a typical value to start from."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import as_name
from tritree.inspection.rows import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tritree.inspection.rows import Cell

_UNSEEN = -2  # a category not seen in training, as the page has it


def page_columns(
    columns: Sequence[dict[str, Any]], nodes: Iterable[dict[str, Any]], rows: Sequence[Sequence[Cell]]
) -> tuple[list[PageColumn], list[int]]:
    """Return the columns of a page, and those that splits use, in the order of their first use.

    ``nodes`` are those of the trees that the page shows, described as by `describe_tree`.
    """
    found = [PageColumn(column) for column in columns]
    uses: dict[int, list[dict[str, Any]]] = {}
    for node in nodes:
        if (split := node["split"]) is not None:
            for use in (split, *split["surrogates"]):
                uses.setdefault(use["column"], []).append(use)
    for j, used_by in uses.items():
        found[j].set_range(used_by, [cells[j] for cells in rows])
    return found, list(uses)


class PageColumn:
    """A column of the page: how its values are entered, and a typical value to start from."""

    def __init__(self, column: dict[str, Any]) -> None:
        self.name = str(column["name"])
        is_ordered = column["order"] is not None
        self.labels = column["order"] if is_ordered else column["categories"]
        self.kind = "order" if is_ordered else "numeric" if self.labels is None else "categories"
        #: How dates and times are written; None for other columns.
        self.time = column["time"]
        self._places = {label: place for place, label in enumerate(self.labels or ())}
        self.typical: float | None = None
        self._span: list[float] | None = None

    def places(self, labels: Sequence[Any]) -> list[int]:
        """Return the positions of categories."""
        return [self._places[label] for label in labels]

    def set_range(self, splits: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> None:
        """Take a typical value from the splits, in the middle of the thresholds, and the range of a slider."""
        splits = [split for split in splits if split["rule"] != "missing"]
        if not splits:
            return
        if self.kind == "categories":
            split = next((split for split in splits if "larger_side" in split), splits[0])
            larger_side = "right" if split.get("larger_side") == "right" else "left"
            self.typical = self._places[split[larger_side][0]]
            return
        thresholds = sorted({split["threshold"] for split in splits})
        middle = thresholds[len(thresholds) // 2]
        margin = _margin(thresholds)
        self.typical = self._rounded(middle, margin) if self.labels is None else int(middle)
        low, high = thresholds[0] - margin, thresholds[-1] + margin
        if thresholds[0] >= 0 and self.time is None:
            low = max(low, 0.0)  # counts and measurements are rarely negative
        seen = [cell.number for cell in cells if cell.number is not None]
        low, high = min([low, *seen]), max([high, *seen])
        if self.labels is None and isfinite(low) and isfinite(high):
            self._span = [self._rounded(low, margin), self._rounded(high, margin)]

    def _rounded(self, value: float, margin: float) -> float:
        """Return a value to start from with few digits, or in the unit of the training values."""
        if self.time is None:
            return _rounded(value, margin)
        return float(round(value / self.time["resolution"]) * self.time["resolution"])

    def described(self) -> dict[str, Any]:
        """Return the column as the page reads it; ``range`` is that of a slider."""
        return {
            "name": self.name,
            "shown": as_name(self.name),
            "kind": self.kind,
            "time": self.time,
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "range": self._span,
            "typical": self.typical,
        }

    def cell(self, cell: Cell) -> float | None:
        """Return the value of a row as the page reads it."""
        if cell.state == UNSEEN:
            return _UNSEEN
        if self.kind == "categories":
            return self._places.get(cell.value)
        return cell.number


def _margin(thresholds: Sequence[float]) -> float:
    """Return how far a slider goes beyond the thresholds: as far as these are apart."""
    if len(thresholds) == 1:
        return abs(thresholds[0]) / 2 or 1.0
    widest = max(high - low for low, high in pairwise(thresholds))
    return max(widest, thresholds[-1] / 4 - thresholds[0] / 4)


def _rounded(value: float, margin: float) -> float:
    """Return a value rounded to few digits, changed by at most a thousandth of the margin."""
    for digits in range(3, 17):
        rounded = float(f"{value:.{digits}g}")
        if abs(rounded - value) <= margin / 1000:
            return rounded
    return value
