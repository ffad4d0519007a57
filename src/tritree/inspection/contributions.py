"""Contributions of columns to a sum or mean over trees, and how much predictions rely on missing branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.traversal import Traversal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.tree_arrays import TreeArrays

_LARGE = 8  # times the typical size: up to there the base value is the same for all rows
_BITS = 51  # of the numbers that are added up, so that no partial sum is rounded
_MAX_MARKS = (
    2**24
)  # pairs of a row and a column marked at a time: bounds the memory, and stays near the caches


@dataclass(frozen=True)
class Contributions:
    """Contributions to the sums, or means, of some rows, one array entry per row.

    ``base_value + by_column[0] + by_column[1] + ... + rounding`` is ``total``, bit for bit, in whatever order the
    contributions are added.
    """

    #: The sums or means over trees, as in `predict`.
    total: NDArray[np.float64]
    #: Sum or mean of the values of the roots: the prediction for all training rows.
    base_value: NDArray[np.float64]
    by_column: NDArray[np.float64]
    #: The remainder: less than one part in 2**51 of the numbers that are added up.
    rounding: NDArray[np.float64]
    #: By column, the number of trees in which it is used on the path of the row.
    n_trees_used: NDArray[np.int32]
    #: The standard deviation that missing values leave the sum; 0 if it is not estimated.
    std: NDArray[np.float64]


def contributions_to_mean(
    trees: Iterable[TreeArrays],
    n_trees: int,
    columns: Sequence[_core.Column | None],
    means: NDArray[np.float64],
    output: NDArray[np.intp],
) -> Contributions:
    """Return the contributions to the mean over trees of the output chosen for each row.

    The trees must be grown as far as the rows need. ``means`` have one column per output.
    """
    rows, found = np.arange(len(means)), _Sums(columns, len(means))
    for tree in trees:
        found.add(tree, rows, output)
    return found.exact(means[rows, output], n_trees=n_trees)


def contributions_to_sum(
    trees: Iterable[TreeArrays],
    columns: Sequence[_core.Column | None],
    raw: NDArray[np.float64],
    variance: NDArray[np.float64] | None,
    baseline: Sequence[float],
    chosen: NDArray[np.intp],
    *,
    of_classes: bool,
) -> Contributions:
    """Return the contributions to the sum over trees of the class chosen for each row; 0 in regression.

    ``raw`` are the sums, one column per output, and ``variance`` their variances, if they are estimated. There is a
    tree per output in each iteration.
    """
    n_outputs, found = len(baseline), _Sums(columns, len(raw))
    output = chosen if n_outputs > 1 else np.zeros_like(chosen)
    for number, tree in enumerate(trees):
        rows = np.flatnonzero(output == number % n_outputs)
        found.add(tree, rows, np.zeros(len(rows), np.intp))
    each = np.arange(len(raw)), output
    # the one sum of two classes is that of the second
    sign = np.where(chosen == 0, -1.0, 1.0) if of_classes and n_outputs == 1 else 1.0
    std = 0.0 if variance is None else np.sqrt(np.maximum(variance[each], 0))
    return found.exact(raw[each], np.asarray(baseline)[output], sign=sign, std=std)


class _Sums:
    """Contributions while they are added up, tree by tree."""

    def __init__(self, columns: Sequence[_core.Column | None], n_rows: int) -> None:
        self._columns = columns
        self._by_column = np.zeros((n_rows, len(columns)))
        self._n_trees_used = np.zeros((n_rows, len(columns)), np.int32)
        self._base_value, self._typical = np.zeros(n_rows), np.zeros(n_rows)

    def add(self, tree: TreeArrays, rows: NDArray[np.int64], output: NDArray[np.intp]) -> None:
        """Add the contributions of one tree for some rows, given the output that is explained for each of them."""
        self._base_value[rows] += tree.value[0, output]
        self._typical[rows] += _typical_size(tree)[output]
        output_of = np.zeros(len(self._by_column), np.intp)
        output_of[rows] = output
        is_used, cells = np.zeros(self._by_column.shape, dtype=bool), self._by_column.reshape(-1)
        for steps in Traversal(tree, self._columns, len(self._by_column)).all_steps(rows):
            k = output_of[steps.row]
            change = steps.fraction * (tree.value[steps.to, k] - tree.value[steps.node, k])
            # a row that goes both ways may pass several splits on the same column at once
            np.add.at(cells, steps.row * self._by_column.shape[1] + steps.decided_by, change)
            is_used[steps.row, tree.column[steps.node]] = True
            is_used[steps.row, steps.decided_by] = True
        self._n_trees_used += is_used

    def exact(
        self,
        total: NDArray[np.float64],
        baseline: Any = 0.0,
        *,
        n_trees: int = 1,
        sign: Any = 1.0,
        std: Any = 0.0,
    ) -> Contributions:
        """Return the contributions as multiples of a power of two, so that their sums are exact.

        What the floating-point sums have lost is added to the largest contribution of the row. The base value is
        rounded to the unit of rows with large numbers, relative to typical ones, so that it is the same for all but
        the very largest. The contributions of rows whose ``sign`` is -1 are those to the negative sum.
        """
        found, used = self._by_column / n_trees, self._n_trees_used
        base_value = (baseline + self._base_value) / n_trees
        typical = (np.abs(baseline) + self._typical) / n_trees
        unit = _unit(np.abs(base_value) + np.abs(found).sum(axis=1) + np.abs(total))
        coarse = np.maximum(unit, _unit(_LARGE * typical))
        base_value = np.rint(base_value / coarse) * coarse
        steps = np.rint(found / unit[:, None])
        whole = np.rint(total / unit)
        rest = whole - base_value / unit - steps.sum(axis=1)
        any_used = used.any(axis=1)
        largest = np.where(used > 0, np.abs(steps), -1).argmax(axis=1)
        steps[any_used, largest[any_used]] += rest[any_used]
        base_value = np.where(any_used, base_value, whole * unit)
        return Contributions(
            total=sign * total,
            base_value=sign * base_value,
            by_column=steps * (sign * unit)[:, None] + 0.0,
            rounding=sign * (total - whole * unit) + 0.0,
            n_trees_used=used,
            std=np.broadcast_to(std, total.shape),
        )


def _typical_size(tree: TreeArrays) -> NDArray[np.float64]:
    """Return the mean absolute value that a tree predicts for training rows, one number per output."""
    leaf = np.flatnonzero(tree.column[: tree.n_fitted] < 0)
    return np.average(np.abs(tree.value[leaf]), axis=0, weights=np.maximum(tree.rows[leaf], 1))


def _unit(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two of which numbers up to some size are multiples with _BITS bits."""
    unit: NDArray[np.float64] = np.ldexp(1.0, np.frexp(size)[1] - _BITS)
    return np.maximum(unit, np.finfo(np.float64).smallest_subnormal)


def missing_reliance(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.float64]:
    """Return for each column the mean fraction of a row that reaches a split on it without a usable value.

    A fraction that reaches several such splits of a column counts once. The tree must be grown as far as the rows
    need; a path ends where a branch is not grown.
    """
    traversal = Traversal(tree, columns, n_rows)
    n_columns = columns.shape[1] if isinstance(columns, np.ndarray) else len(columns)
    used = np.unique(tree.column[tree.column >= 0])
    total, place = np.zeros(n_columns), np.zeros(n_columns, dtype=np.int64)
    place[used] = np.arange(len(used))
    for rows in traversal.blocks(max_parts=_MAX_MARKS // max(1, len(used))):
        is_counted = np.zeros((len(rows), len(used)), dtype=bool)
        for steps in traversal.steps(rows):
            is_counted = is_counted[steps.origin]
            lacking = np.flatnonzero(steps.lacks_value)
            column = tree.column[steps.node[lacking]]
            new = ~is_counted[lacking, place[column]]
            total += np.bincount(column[new], steps.fraction[lacking[new]], minlength=n_columns)
            is_counted[lacking, place[column]] = True
    return total / n_rows
