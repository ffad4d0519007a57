"""What each column has moved in the sums over boosted trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.views.moves import Moves, made_exact, usual_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.boosting.trees import MemberTree, Trees

__all__ = ["add_up"]


def add_up(trees: Trees, ends: NDArray[np.int32], chosen: NDArray[np.intp], *, of_classes: bool) -> Moves:
    """Return what each column has moved in the sum of the class that is chosen for each row.

    ``ends`` are the nodes that rows end in, one column per tree. Where there are no classes, 0 is chosen.
    """
    n_outputs, parts = len(trees.baseline), []
    for number in np.unique(chosen).tolist():
        rows = np.flatnonzero(chosen == number)
        output = number if n_outputs > 1 else 0
        own = [trees[tree] for tree in range(output, len(trees), n_outputs)]
        moves = _add_up(own, ends[rows, output::n_outputs], trees.baseline[output], trees.n_columns)
        # the one sum of two classes speaks for the second
        parts.append((rows, moves.turned() if of_classes and n_outputs == 1 and number == 0 else moves))
    return Moves.joined(parts)


def _add_up(trees: Sequence[MemberTree], ends: NDArray[np.int32], baseline: float, n_columns: int) -> Moves:
    """Return what each column has moved in one of the sums."""
    total = np.full(len(ends), baseline)
    start = baseline + sum(tree.value[0, 0] for tree in trees)
    usual = abs(baseline) + sum(usual_size(tree, tree.n_fitted)[0] for tree in trees)
    moved, asked = np.zeros((len(ends), n_columns)), np.zeros((len(ends), n_columns), np.int32)
    for tree, end in zip(trees, ends.T, strict=True):
        total += tree.value[end, 0]  # tree after tree, as the core does
        asked += _climb(tree, end.astype(np.intp), moved)
    return made_exact(total, start, moved, asked, usual)


def _climb(tree: MemberTree, node: NDArray[np.intp], moved: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Add to ``moved`` what each step of the rows' ways has added; return the columns that were asked."""
    asked = np.zeros(moved.shape, dtype=bool)
    row = np.flatnonzero(tree.column[node] >= 0)  # a third branch was wanted here, and is not grown
    asked[row, tree.column[node[row]]] = True
    row, value = np.arange(len(node)), tree.value[:, 0]
    while len(row := row[tree.parent[node[row]] >= 0]):
        here, above = node[row], tree.parent[node[row]]
        column = tree.column[above]
        moved[row, column] += value[here] - value[above]
        asked[row, column] = True
        node[row] = above
    return asked
