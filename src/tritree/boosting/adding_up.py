"""What each column has moved in a sum over trees, in numbers that add up to the sum exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.boosting.ends import Ends
    from tritree.boosting.trees import MemberTree

__all__ = ["Moves", "add_up"]

_RATHER_LARGE = 8  # times the usual size of what is added up
_BITS = 51  # of the numbers that are added up, so that no partial sum of them is rounded


@dataclass(frozen=True)
class Moves:
    """What has moved the sums of some rows, one array entry per row.

    ``start + moved[0] + moved[1] + ... + rounding`` is ``total``, bit for bit, in whatever order the moves are added.
    """

    #: The sums over trees, as `predict` has them.
    total: NDArray[np.float64]
    #: What the roots of the trees add up to: the mean over training rows.
    start: NDArray[np.float64]
    #: By column, what steps from node to node have added.
    moved: NDArray[np.float64]
    #: What is left: less than one part in 2**51 of the numbers that are added up.
    rounding: NDArray[np.float64]
    #: By column, in how many trees a row's way has asked for it.
    asked: NDArray[np.int32]

    def turned(self) -> Moves:
        """Return the moves of the negative sum."""
        return Moves(-self.total, -self.start, -self.moved + 0.0, -self.rounding + 0.0, self.asked)


def add_up(
    trees: Sequence[MemberTree],
    ends: Sequence[Ends],
    total: NDArray[np.float64],
    baseline: float,
    n_columns: int,
) -> Moves:
    """Return what each column has moved, given where rows end in each tree, and their sums over trees."""
    start = baseline + sum(tree.value[0, 0] for tree in trees)
    usual = abs(baseline) + sum(map(_usual_step, trees))
    moved, asked = np.zeros((len(total), n_columns)), np.zeros((len(total), n_columns), np.int32)
    for tree, end in zip(trees, ends, strict=True):
        asked += _climb(tree, end, moved)
    return _made_exact(total, start, moved, asked, usual)


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


def _usual_step(tree: MemberTree) -> float:
    """Return the mean size of what a tree adds to the sum of a training row."""
    leaf = np.flatnonzero(tree.column[: tree.n_fitted] < 0)
    return float(np.average(np.abs(tree.value[leaf, 0]), weights=np.maximum(tree.rows[leaf], 1)))


def _made_exact(
    total: NDArray[np.float64],
    start: float,
    moved: NDArray[np.float64],
    asked: NDArray[np.int32],
    usual: float,
) -> Moves:
    """Return the moves as multiples of a power of two, so that their sums are exact.

    What the floating-point sums have lost goes to the largest move of the row. The start is written in the unit of rows
    whose numbers are rather large, so that it is the same for all but the very largest.
    """
    unit = _unit(abs(start) + np.abs(moved).sum(axis=1) + np.abs(total))
    coarse = np.maximum(unit, _unit(np.array(_RATHER_LARGE * usual)))
    begin = np.rint(start / coarse) * coarse
    steps = np.rint(moved / unit[:, None])
    whole = np.rint(total / unit)
    left = whole - begin / unit - steps.sum(axis=1)
    has_moved = asked.any(axis=1)
    largest = np.where(asked > 0, np.abs(steps), -1).argmax(axis=1)
    steps[has_moved, largest[has_moved]] += left[has_moved]
    begin = np.where(has_moved, begin, whole * unit)
    return Moves(total, begin, steps * unit[:, None] + 0.0, total - whole * unit, asked)


def _unit(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two in which numbers up to some size are written with so many bits."""
    unit: NDArray[np.float64] = np.ldexp(1.0, np.frexp(size)[1] - _BITS)
    return np.maximum(unit, np.finfo(np.float64).smallest_subnormal)
