"""What each column has moved in the sums over boosted trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.inspection.moves import Moves, made_exact, usual_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.estimators.boosting.ends import Ends, Led
    from tritree.estimators.boosting.trees import MemberTree

__all__ = ["add_up"]


def add_up(led: Led, chosen: NDArray[np.intp], *, of_classes: bool) -> Moves:
    """Return what each column has moved in the sum of the class that is chosen for each row.

    Where there are no classes, 0 is chosen.
    """
    trees, n_outputs, parts = led.trees, len(led.trees.baseline), []
    for number in np.unique(chosen).tolist():
        rows = np.flatnonzero(chosen == number)
        output = number if n_outputs > 1 else 0
        own = [trees[tree] for tree in range(output, len(trees), n_outputs)]
        ends = [of_tree.of(rows, len(chosen)) for of_tree in led.ends[output::n_outputs]]
        moves = _add_up(own, ends, led.raw[rows, output], trees.baseline[output], trees.n_columns)
        # the one sum of two classes speaks for the second
        parts.append((rows, moves.turned() if of_classes and n_outputs == 1 and number == 0 else moves))
    return Moves.joined(parts)


def _add_up(
    trees: Sequence[MemberTree],
    ends: Sequence[Ends],
    total: NDArray[np.float64],
    baseline: float,
    n_columns: int,
) -> Moves:
    """Return what each column has moved in one of the sums."""
    start = baseline + sum(tree.value[0, 0] for tree in trees)
    usual = abs(baseline) + sum(usual_size(tree, tree.n_fitted)[0] for tree in trees)
    moved, asked = np.zeros((len(total), n_columns)), np.zeros((len(total), n_columns), np.int32)
    for tree, end in zip(trees, ends, strict=True):
        asked += _climb(tree, end, moved)
    return made_exact(total, start, moved, asked, usual)


def _climb(tree: MemberTree, ends: Ends, moved: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Add to ``moved`` what each step of the rows' ways has added; return the columns that were asked."""
    asked = np.zeros(moved.shape, dtype=bool)
    row, node, share, value = ends.row, ends.node, ends.share, tree.value[:, 0]
    wanting = np.flatnonzero(tree.column[node] >= 0)  # a third branch was wanted here, and is not grown
    asked[row[wanting], tree.column[node[wanting]]] = True
    while len(at := np.flatnonzero(tree.parent[node] >= 0)):
        row, node = row[at], node[at]
        above = tree.parent[node]
        column, step = tree.column[above], value[node] - value[above]
        if share is None:
            moved[row, column] += step
        else:  # a row is there in parts, which are added one by one
            share = share[at]
            np.add.at(moved, (row, column), share * step)
        asked[row, column] = True
        node = above
    return asked
