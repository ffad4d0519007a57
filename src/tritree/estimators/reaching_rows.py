"""Rows that reach given nodes of a tree: boosting grows all its third branches by predicting such rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["as_columns", "row_to_third_branch"]

LEFT, RIGHT, THIRD = 0, 1, 2  # in the core's arrays
_UNKNOWN_CATEGORY = -2

#: A number, the integer of a category, or None if it is missing.
Value = float | int | None


def row_to_third_branch(tree: Any, node: int) -> dict[int, Value] | None:
    """Return values by column of a row that takes the third branch of a node; None if no row can.

    No row can if a numeric column is split again where it is observed.
    """
    steps: dict[int, list[tuple[int, int]]] = {int(tree.column[node]): [(node, THIRD)]}
    while (parent := int(tree.parent[node])) >= 0:
        branches = (tree.left[parent], tree.right[parent], tree.third[parent])
        steps.setdefault(int(tree.column[parent]), []).append((parent, branches.index(node)))
        node = parent
    row: dict[int, Value] = {}
    for column, taken in steps.items():
        for value in _candidates(tree, taken):
            if all(_branch(tree, at, value) == branch for at, branch in taken):
                row[column] = value
                break
        else:
            return None
    return row


def _candidates(tree: Any, taken: Sequence[tuple[int, int]]) -> Iterator[Value]:
    """Yield values of a column that may take all these branches, if there is one that does."""
    yield None
    nodes = [node for node, _ in taken]
    if (n_words := int(tree.set_words[nodes[0]])) > 0:
        yield from (_UNKNOWN_CATEGORY, *range(64 * n_words))
        return
    thresholds = [float(tree.threshold[node]) for node in nodes]
    yield from (t for t in thresholds if np.isfinite(t))  # the least value on the right
    yield from (
        float(np.nextafter(t, -np.inf)) for t in thresholds if np.isfinite(t)
    )  # the largest on the left
    yield 0.0


def _branch(tree: Any, node: int, value: Value) -> int:
    """Return the branch that a value takes at a node."""
    missing_to = int(tree.missing_to[node])
    if value is None:
        return missing_to
    n_words = int(tree.set_words[node])
    if not n_words:
        return LEFT if value < tree.threshold[node] else RIGHT
    if value >= 0:
        word, bit = divmod(int(value), 64)
        for side in (LEFT, RIGHT):
            if int(tree.sets[tree.set_begin[node] + side * n_words + word]) >> bit & 1:
                return side
    return THIRD if missing_to == THIRD else int(tree.larger[node])


def as_columns(rows: Sequence[Mapping[int, Value]], n_columns: int) -> list[NDArray[Any] | None]:
    """Return rows as the columns that the core takes; what a row does not have is missing."""
    columns: list[NDArray[Any] | None] = [None] * n_columns
    for number, row in enumerate(rows):
        for column, value in row.items():
            if value is None:
                continue
            if (values := columns[column]) is None:
                kind, missing = (np.int32, -1) if isinstance(value, int) else (np.float64, np.nan)
                values = columns[column] = np.full(len(rows), missing, dtype=kind)
            values[number] = value
    return columns
