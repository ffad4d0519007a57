"""Columns of an interactive page: how values are entered, their range, and a typical value to start from."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.formatting import as_name
from tritree.inspection.rows import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tritree.inspection.rows import Cell

_TRIED, _MOST_TRIED = 12, 40  # numbers, and categories, that a page tries for a missing value
_UNSEEN = -2  # a category not seen in training, as the page has it


def page_columns(
    columns: Sequence[dict[str, Any]],
    trees: Iterable[tuple[Sequence[dict[str, Any]], Iterable[int]]],
    rows: Sequence[Sequence[Cell]],
) -> tuple[list[PageColumn], dict[int, int]]:
    """Return the columns of a page, and how many splits use them, in the order of their first use.

    ``trees`` are the nodes of each tree, described as by `describe_tree`, and the numbers of those in the page.
    """
    found = [PageColumn(column) for column in columns]
    uses: dict[int, list[dict[str, Any]]] = {}
    for nodes, numbers in trees:
        for number in numbers:
            if (split := nodes[number]["split"]) is None:
                continue
            for use in (split, *split["surrogates"]):
                uses.setdefault(use["column"], []).append(use)
            if split["rule"] == "categories":
                found[split["column"]].count_categories(nodes, nodes[number])
    for j, used_by in uses.items():
        found[j].set_range(used_by, [cells[j] for cells in rows])
    return found, {j: len(used_by) for j, used_by in uses.items()}


class PageColumn:
    """A column of the page: how its values are entered, and a typical value to start from."""

    def __init__(self, column: dict[str, Any]) -> None:
        self.name = str(column["name"])
        is_ordered = column["order"] is not None
        self.labels = column["order"] if is_ordered else column["categories"]
        #: Whether the column was left out in training.
        self.is_identifier = column["kind"] == "identifier"
        self.kind = "order" if is_ordered else "numeric" if self.labels is None else "categories"
        #: How dates and times are written; None for other columns.
        self.time = column["time"]
        self._places = {label: place for place, label in enumerate(self.labels or ())}
        self.typical: float | None = None
        #: By position, the number of training rows that a category has on average, as far as splits tell.
        self._frequency: dict[int, float] = {}
        self._span: list[float] | None = None
        self._thresholds: list[float] = []

    def places(self, labels: Sequence[Any]) -> list[int]:
        """Return the positions of categories."""
        return [self._places[label] for label in labels]

    def count_categories(self, nodes: Sequence[dict[str, Any]], node: dict[str, Any]) -> None:
        """Count the rows of both sides of a split, in equal parts for each of their categories."""
        for side in ("left", "right"):
            if isinstance(node[side], int):
                places = self.places(node["split"][side])
                for place in places:
                    part = nodes[node[side]]["rows"] / len(places)
                    self._frequency[place] = self._frequency.get(place, 0.0) + part

    def set_range(self, splits: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> None:
        """Take a typical value from the splits, and the range of a slider.

        It is in the middle of the thresholds, or the category that seems to be the most frequent one.
        """
        splits = [split for split in splits if split["rule"] != "missing"]
        if not splits:
            return
        if self.kind == "categories":
            known = self._frequency or {self._places[splits[0]["left"][0]]: 1.0}
            self.typical = max(known, key=known.__getitem__)
            return
        thresholds = self._thresholds = sorted({split["threshold"] for split in splits})
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
            "identifier": self.is_identifier,
            "time": self.time,
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "range": self._span,
            "typical": self.typical,
        }

    def tried(self) -> list[float]:
        """Return values that stand for all that a missing value may be: each category, or numbers between thresholds.

        As many thresholds lie between any two of the numbers.
        """
        if self.labels is not None:
            return [float(place) for place in range(min(len(self.labels), _MOST_TRIED))]
        if self._span is None:
            return []
        n = len(self._thresholds)
        chosen = {self._thresholds[i * n // _TRIED] for i in range(_TRIED)}
        return [self._thresholds[0] - _margin(self._thresholds), *sorted(chosen)]

    def typical_array(self) -> NDArray[Any] | None:
        """Return the typical value as a column of one row, as the core takes it; None if it is missing."""
        return None if self.typical is None else self._as_array([self.typical])

    def tried_array(self) -> NDArray[Any]:
        """Return the values to try as a column of rows, as the core takes it."""
        return self._as_array(self.tried())

    def _as_array(self, values: Sequence[float]) -> NDArray[Any]:
        return np.array(values, dtype=np.int32 if self.kind == "categories" else np.float64)

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
