"""Differences between rpart and the `surrogate` strategy that do not concern surrogates.

The stored predictions follow from the stored tables only with three steps outside of rpart's algorithm:

1. Rows without observed values were dropped before growing (`na.action = na.rpart`, rpart's default).
2. When the table was read into R, an empty cell of a categorical column became a level like any other. Only numeric
   columns have missing values there.
3. `cp = 0` undoes splits of a classification tree that do not reduce the number of misclassified rows (rpart prunes by
   misclassification, whatever the split criterion).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_read_by_r(case: dict[str, Any]) -> tuple[list[list[Any]], list[Any], list[list[Any]]]:
    """Return the training rows, the target and the test rows as rpart read them (steps 1 and 2)."""
    table = case["table"]
    categorical = table["categorical_columns"]
    levels = {j: 1 + int(max(row[j] for row in table["X"] if row[j] is not None)) for j in categorical}

    def read(row: list[Any]) -> list[Any]:
        return [levels[j] if v is None and j in levels else v for j, v in enumerate(row)]

    rows = [read(row) for row in table["X"]]
    observed = [i for i, row in enumerate(rows) if any(v is not None for v in row)]
    return (
        [rows[i] for i in observed],
        [table["y"][i] for i in observed],
        [read(row) for row in table["X_test"]],
    )


def prune_useless_splits(
    children: list[tuple[int, int] | None], class_weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each node its nearest ancestor, or itself, that remains when useless splits are undone (step 3).

    Children come after their parents; `children` is None at a leaf.
    """
    misclassified = class_weights.sum(axis=1) - class_weights.max(axis=1)
    below = misclassified.copy()  # misclassified in the pruned subtree
    is_leaf = np.array([pair is None for pair in children])
    for i in reversed(range(len(children))):
        pair = children[i]
        if pair is None:
            continue
        below[i] = below[pair[0]] + below[pair[1]]
        if below[i] >= misclassified[i] - 1e-9:
            is_leaf[i], below[i] = True, misclassified[i]
    remaining = np.arange(len(children))
    for i, pair in enumerate(children):
        for child in pair or ():
            remaining[child] = remaining[i] if is_leaf[remaining[i]] else child
    return remaining
