"""Contributions of columns to a sum or mean over trees, and how much predictions rely on missing branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.traversal import Traversal, ascend, assign_leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.traversal import LeafAssignments, Steps, Transitions
    from tritree.inspection.tree_arrays import TreeArrays

__all__ = [
    "BoostedPredictions",
    "Contributions",
    "contributions_to_mean",
    "missing_reliance",
    "predict_boosted",
]

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

    def negated(self) -> Contributions:
        """Return the contributions to the negative sum."""
        return Contributions(
            -self.total, -self.base_value, -self.by_column + 0.0, -self.rounding + 0.0, self.n_trees_used
        )

    @staticmethod
    def joined(parts: Sequence[tuple[NDArray[np.intp], Contributions]]) -> Contributions:
        """Return the contributions of all rows, given those of groups of rows by their positions."""
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        fields = ("total", "base_value", "by_column", "rounding", "n_trees_used")
        return Contributions(
            *(np.concatenate([getattr(some, name) for _, some in parts])[order] for name in fields)
        )


# ------------------------------------------------------------------------------------------------- means, of forests


def contributions_to_mean(
    trees: Iterable[TreeArrays],
    columns: _core.Columns,
    output: NDArray[np.intp],
    total: NDArray[np.float64],
) -> Contributions:
    """Return the contributions to the mean over trees, given the output that is explained for each row.

    The trees are grown as far as the rows need; ``total`` are the means.
    """
    found, n_trees = _Sums(len(total), len(columns.T if isinstance(columns, np.ndarray) else columns)), 0
    base_value: Any = 0.0
    typical: Any = 0.0
    for tree in trees:
        base_value = base_value + tree.value[0]
        typical = typical + _typical_size(tree)
        traversal = Traversal(tree, columns)
        found.add(
            tree,
            (steps for rows in traversal.blocks(len(total)) for steps in traversal.steps(rows)),
            output,
        )
        n_trees += 1
    return found.exact(total, base_value[output] / n_trees, typical[output] / n_trees, n_trees)


# ------------------------------------------------------------------------------------------------ sums, of boosting


@dataclass(frozen=True)
class BoostedPredictions:
    """Predictions of a boosted ensemble, with what explains them."""

    #: The trees as they were then, and the leaf assignments in each of them.
    trees: Sequence[TreeArrays]
    baseline: Sequence[float]
    n_columns: int
    leaves: Sequence[LeafAssignments]
    #: The sums over trees, one column per output, as in `predict`.
    raw: NDArray[np.float64]
    #: The variance of the sums due to missing values, if it is estimated.
    variance: NDArray[np.float64] | None = None

    def std(self, classes: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the standard deviation of each row's sum for a class; None if variances are not stored."""
        if self.variance is None:
            return None
        outputs = np.minimum(classes, self.variance.shape[1] - 1)  # two classes have one sum
        return np.asarray(np.sqrt(np.maximum(self.variance[np.arange(len(outputs)), outputs], 0)))

    def contributions(self, chosen: NDArray[np.intp], *, of_classes: bool) -> Contributions:
        """Return the contributions to the sum of the class chosen for each row; 0 in regression."""
        n_outputs, parts = len(self.baseline), []
        for number in np.unique(chosen).tolist():
            rows = np.flatnonzero(chosen == number)
            part = self._contributions_of(number if n_outputs > 1 else 0, rows)
            # the one sum of two classes is that of the second
            is_negative = of_classes and n_outputs == 1 and number == 0
            parts.append((rows, part.negated() if is_negative else part))
        return Contributions.joined(parts)

    def _contributions_of(self, output: int, rows: NDArray[np.intp]) -> Contributions:
        """Return the contributions to one of the sums for some rows."""
        baseline, n_outputs = self.baseline[output], len(self.baseline)
        trees = self.trees[output::n_outputs]
        found = _Sums(len(rows), self.n_columns)
        for tree, leaves in zip(trees, self.leaves[output::n_outputs], strict=True):
            found.add(tree, ascend(tree, leaves.of_rows(rows, len(self.raw))), np.zeros(len(rows), np.intp))
        base_value = baseline + sum(tree.value[0, 0] for tree in trees)
        typical = abs(baseline) + sum(_typical_size(tree)[0] for tree in trees)
        return found.exact(self.raw[rows, output], base_value, typical)


def predict_boosted(
    core: _core.BoostedModel, columns: _core.Columns, n_rows: int, n_threads: int
) -> BoostedPredictions:
    """Return the predictions of rows and their leaves; the trees are grown as far as the rows need."""
    leaves = assign_leaves(core, columns, n_rows, n_threads)
    trees = [core.tree(number) for number in range(core.n_trees)]
    if core.params["missing"] == "fractional":
        raw, variance = core.predict(columns, n_rows, 0, core.n_iterations, n_threads)
    else:  # from the same leaves, in the order of the core
        n_outputs = core.n_outputs
        raw, variance = np.tile(core.baseline, (n_rows, 1)), np.zeros((n_rows, n_outputs))
        for number, (tree, at) in enumerate(zip(trees, leaves, strict=True)):
            raw[:, number % n_outputs] += tree.value[at.node, 0]
            variance[:, number % n_outputs] += tree.variance[at.node]
    if not core.params["estimates_variance"]:
        variance = None
    return BoostedPredictions(trees, core.baseline, core.n_columns, leaves, raw, variance)


# ------------------------------------------------------------------------------------------------------------ adding up


class _Sums:
    """Contributions while they are added up, tree by tree."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self._by_column = np.zeros((n_rows, n_columns))
        self._n_trees_used = np.zeros((n_rows, n_columns), np.int32)

    def add(self, tree: TreeArrays, transitions: Iterable[Transitions], output: NDArray[np.intp]) -> None:
        """Add the contributions of one tree to the outputs that are explained."""
        is_used, cells = np.zeros(self._by_column.shape, dtype=bool), self._by_column.reshape(-1)
        for passed in transitions:
            k = output[passed.row]
            change = passed.fraction * (tree.value[passed.to, k] - tree.value[passed.node, k])
            # a row may pass several splits on the same column at once
            np.add.at(cells, passed.row * self._by_column.shape[1] + passed.decided_by, change)
            is_used[passed.row, tree.column[passed.node]] = True
            is_used[passed.row, passed.decided_by] = True
        self._n_trees_used += is_used

    def exact(
        self, total: NDArray[np.float64], base_value: Any, typical: Any, n_trees: int = 1
    ) -> Contributions:
        """Return the contributions as multiples of a power of two, so that their sums are exact.

        What the floating-point sums have lost is added to the largest contribution of the row. The base value is
        rounded to the unit of rows with large numbers, relative to ``typical`` ones, so that it is the same for all but
        the very largest.
        """
        found, used = self._by_column / n_trees, self._n_trees_used
        unit = _unit(np.abs(base_value) + np.abs(found).sum(axis=1) + np.abs(total))
        coarse = np.maximum(unit, _unit(np.asarray(_LARGE * typical)))
        base_value = np.rint(base_value / coarse) * coarse
        steps = np.rint(found / unit[:, None])
        whole = np.rint(total / unit)
        rest = whole - base_value / unit - steps.sum(axis=1)
        any_used = used.any(axis=1)
        largest = np.where(used > 0, np.abs(steps), -1).argmax(axis=1)
        steps[any_used, largest[any_used]] += rest[any_used]
        base_value = np.where(any_used, base_value, whole * unit)
        return Contributions(total, base_value, steps * unit[:, None] + 0.0, total - whole * unit, used)


def _typical_size(tree: TreeArrays) -> NDArray[np.float64]:
    """Return the mean absolute value that a tree predicts for training rows, one number per output."""
    leaf = np.flatnonzero(tree.column[: tree.n_fitted] < 0)
    return np.average(np.abs(tree.value[leaf]), axis=0, weights=np.maximum(tree.rows[leaf], 1))


def _unit(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two of which numbers up to some size are multiples with _BITS bits."""
    unit: NDArray[np.float64] = np.ldexp(1.0, np.frexp(size)[1] - _BITS)
    return np.maximum(unit, np.finfo(np.float64).smallest_subnormal)


# ------------------------------------------------------------------------------------------- reliance on missing values


def missing_reliance(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.float64]:
    """Return for each column the mean fraction of a row that reaches a split on it without a usable value.

    A fraction that reaches several such splits of a column counts once. The tree must be grown as far as the rows
    need; a path ends where a branch is not grown.
    """
    traversal = Traversal(tree, columns)
    used = np.unique(tree.column[tree.column >= 0])
    total = np.zeros(traversal.n_columns)
    for rows in traversal.blocks(n_rows, _MAX_MARKS // max(1, len(used))):
        total += _lacking(traversal.steps(rows), len(rows), tree.column, used, traversal.n_columns)
    return total / n_rows


def _lacking(
    levels: Iterable[Steps],
    n_rows: int,
    column_of: NDArray[np.int32],
    used: NDArray[np.int32],
    n_columns: int,
) -> NDArray[np.float64]:
    """Return for each column how much of some rows reaches a split on it without a usable value."""
    total, place = np.zeros(n_columns), np.zeros(n_columns, dtype=np.int64)
    place[used] = np.arange(len(used))
    is_counted = np.zeros((n_rows, len(used)), dtype=bool)
    for steps in levels:
        is_counted = is_counted[steps.origin]
        lacking = np.flatnonzero(steps.lacks_value)
        column = column_of[steps.node[lacking]]
        new = ~is_counted[lacking, place[column]]
        total += np.bincount(column[new], steps.fraction[lacking[new]], minlength=len(total))
        is_counted[lacking, place[column]] = True
    return total
