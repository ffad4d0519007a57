"""What each column has moved in a sum or a mean over trees, in numbers that add up to it exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.inspection.arrays import TreeArrays

__all__ = ["Moves", "made_exact", "usual_size"]

_RATHER_LARGE = 8  # times the usual size of what is added up
_BITS = 51  # of the numbers that are added up, so that no partial sum of them is rounded


@dataclass(frozen=True)
class Moves:
    """What has moved the sums, or means, of some rows, one array entry per row.

    ``start + moved[0] + moved[1] + ... + rounding`` is ``total``, bit for bit, in whatever order the moves are added.
    """

    #: The sums or means over trees, as `predict` has them.
    total: NDArray[np.float64]
    #: What the roots of the trees say: the mean over training rows.
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

    @staticmethod
    def joined(parts: Sequence[tuple[NDArray[np.intp], Moves]]) -> Moves:
        """Return the moves of all rows, given those of some by their places."""
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        fields = ("total", "start", "moved", "rounding", "asked")
        return Moves(*(np.concatenate([getattr(some, name) for _, some in parts])[order] for name in fields))


def usual_size(tree: TreeArrays, n_fitted: int) -> NDArray[np.float64]:
    """Return the mean size of what a tree says of a training row, one number per output."""
    leaf = np.flatnonzero(tree.column[:n_fitted] < 0)
    return np.average(np.abs(tree.value[leaf]), axis=0, weights=np.maximum(tree.rows[leaf], 1))


def made_exact(
    total: NDArray[np.float64],
    start: Any,
    moved: NDArray[np.float64],
    asked: NDArray[np.int32],
    usual: Any,
) -> Moves:
    """Return the moves as multiples of a power of two, so that their sums are exact.

    What the floating-point sums have lost goes to the largest move of the row. The start is written in the unit of rows
    whose numbers are rather large, given how large they usually are, so that it is the same for all but the very
    largest.
    """
    unit = _unit(np.abs(start) + np.abs(moved).sum(axis=1) + np.abs(total))
    coarse = np.maximum(unit, _unit(np.asarray(_RATHER_LARGE * usual)))
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
