"""What stands between the rpart cases and the `surrogate` strategy; none of it concerns surrogates.

The stored predictions of rpart follow from the stored tables only with three steps that happened around rpart:

1. Rows without any observed column were dropped before growing (`na.action = na.rpart`, rpart's default).
2. In categorical columns an empty cell became a level of its own, like any other category, when the table was read
   into R. Only numeric columns have missing values there.
3. `cp = 0` undoes a split of a class tree whose subtree misclassifies as many rows as its root would (the loss that
   rpart prunes by is the misclassification, whatever the split criterion is).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_read_by_r(case: dict[str, Any]) -> tuple[list[list[Any]], list[Any], list[list[Any]]]:
    """Return the training rows, the response and the test rows as rpart saw them (steps 1 and 2)."""
    table = case["table"]
    categorical = table["categorical_columns"]
    levels = {j: 1 + int(max(row[j] for row in table["X"] if row[j] is not None)) for j in categorical}

    def read(row: list[Any]) -> list[Any]:
        return [levels[j] if v is None and j in levels else v for j, v in enumerate(row)]

    rows = [read(row) for row in table["X"]]
    kept = [i for i, row in enumerate(rows) if any(v is not None for v in row)]
    return [rows[i] for i in kept], [table["y"][i] for i in kept], [read(row) for row in table["X_test"]]


def collapsed(
    children: list[tuple[int, int] | None], class_weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each node the node that answers for it once useless splits are undone (step 3).

    Children come after their parents; `children` is None at a leaf.
    """
    wrong = class_weights.sum(axis=1) - class_weights.max(axis=1)
    below = wrong.copy()  # misclassified in the subtree that is kept
    is_leaf = np.array([pair is None for pair in children])
    for i in reversed(range(len(children))):
        pair = children[i]
        if pair is None:
            continue
        below[i] = below[pair[0]] + below[pair[1]]
        if below[i] >= wrong[i] - 1e-9:
            is_leaf[i], below[i] = True, wrong[i]
    answers = np.arange(len(children))
    for i, pair in enumerate(children):
        for child in pair or ():
            answers[child] = answers[i] if is_leaf[answers[i]] else child
    return answers
