"""Reference implementation of trees: grown straight from the definitions, in exact arithmetic.

A node is (rows, columns, depth), as in the paper. Everything is grown: the third branch of a split on column j is the
node (rows, columns without j, depth), built by the same recursion. Nothing is shared, cached or deferred.

Sums, values and gains are fractions, without rounding. A value is None if it is missing, a float in a numeric column,
an int in a categorical one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from reference.criteria import Criterion, Entropy, Gini, NodeStatistics, Number, SquaredError, Value
from reference.splits import (
    BOTH,
    LEFT,
    RIGHT,
    STAYS,
    SURROGATES,
    THIRD,
    CategorySets,
    FeatureValue,
    Node,
    Observed,
    Rows,
    Split,
    Surrogate,
    Test,
    Threshold,
    midpoint,
)

#: Gains that differ by less than this fraction of the node's loss are equal, and a split has to gain more.
TOLERANCE = Fraction(1, 10**12)

#: Tolerance in comparing sums of memberships with `min_samples_leaf`.
SLACK = Fraction(1, 10**9)

#: Minimum number of rows of a node that has surrogates in a forest.
MIN_SURROGATE_ROWS = 12

#: Maximum number of categories of which all partitions are tried.
MAX_ENUMERATED = 10


class ReferenceTree:
    """A fully grown tree with one of the six strategies."""

    def __init__(
        self,
        *,
        missing: str = "trinary",
        task: str = "regression",
        criterion: str | None = None,
        max_depth: int | None = 5,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        category_penalty: float = 0.0,
        forest_surrogates: bool = False,
        sample: Callable[[list[int]], list[int]] = list,
        categorical: Iterable[int] = (),
    ) -> None:
        self.missing = missing
        self.task = task
        self.criterion_name = criterion or {"regression": "squared_error", "classification": "entropy"}[task]
        self.max_depth = math.inf if max_depth is None else max_depth
        self.max_leaf_nodes = math.inf if max_leaf_nodes is None else max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.category_penalty = Fraction(category_penalty)
        self.forest_surrogates = forest_surrogates
        self.sample = sample  # the rows of a node that surrogates of a forest are found on
        self.categorical = frozenset(categorical)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ReferenceTree:
        """Grow the tree and return it."""
        self.table = [self._feature_values(row) for row in X]
        weights = [1] * len(self.table) if sample_weight is None else sample_weight
        self.weights = [Fraction(float(w)) for w in weights]
        if self.task == "regression":
            self.y: list[Any] = [Fraction(float(v)) for v in y]
            self.criterion: Criterion = SquaredError()
        else:
            self.y = [int(v) for v in y]
            self.n_classes = max(self.y) + 1
            self.criterion = (
                Gini(self.n_classes) if self.criterion_name == "gini" else Entropy(self.n_classes)
            )
        rows = dict.fromkeys(range(len(self.table)), Fraction(1))
        self.root = self._grow(rows, tuple(range(len(self.table[0]))), 0, self.max_leaf_nodes)
        return self

    def predict(self, X: Any) -> list[Any]:
        """Return the predicted values (regression) or class probabilities (classification)."""
        values = [[float(v) for v in self._predict_row(self.root, self._feature_values(row))] for row in X]
        return [v[0] for v in values] if self.task == "regression" else values

    def _feature_values(self, row: Sequence[Any]) -> list[FeatureValue]:
        return [
            None if v is None or v != v else int(v) if j in self.categorical else float(v)
            for j, v in enumerate(row)
        ]

    def _predict_row(self, node: Node, row: list[FeatureValue]) -> Value:
        if node.split is None:
            return node.value
        branch = node.split.branch_of(row)
        if branch == STAYS:
            return node.value
        if branch != BOTH:
            return self._predict_row(node.branches[branch], row)
        fraction = node.split.left_fraction
        left, right = (self._predict_row(node.branches[side], row) for side in (LEFT, RIGHT))
        return tuple(fraction * a + (1 - fraction) * b for a, b in zip(left, right, strict=True))

    # ------------------------------------------------------------------------------------------------ growth

    def _grow(self, rows: Rows, columns: tuple[int, ...], depth: int, max_leaves: float) -> Node:
        """Return the grown node (rows, columns, depth), with at most so many leaves below left and right branches."""
        tolerance = TOLERANCE * self.criterion.loss(self._statistics(rows))
        root = self._leaf(rows, columns, depth)
        waiting, split_nodes = [root], []
        while len(split_nodes) + 1 < max_leaves:
            gains = [(node.best.gain, node) for node in waiting if node.best is not None]
            if not gains:
                break
            highest = max(gain for gain, _ in gains)
            node = next(node for gain, node in gains if gain >= highest - tolerance)
            waiting.remove(node)
            split_nodes.append(node)
            node.split = node.best
            sides = zip((LEFT, RIGHT), self._partition(node.rows, node.best), strict=True)
            node.branches = {side: self._leaf(part, columns, node.depth + 1) for side, part in sides}
            if self.missing == "surrogate":  # in prediction, all rows of the children count
                n_rows = {side: len(child.rows) for side, child in node.branches.items()}
                node.split = replace(node.split, fallback=larger_of(n_rows))
            waiting += node.branches.values()
        for node in split_nodes:
            if node.split.missing_to == THIRD:
                others = tuple(j for j in columns if j != node.split.column)
                limit = max_leaves - root.n_leaves() + node.n_leaves()  # in place of those left and right
                node.branches[THIRD] = self._grow(node.rows, others, node.depth, limit)
        return root

    def _leaf(self, rows: Rows, columns: tuple[int, ...], depth: int) -> Node:
        """Return a leaf with the best split that it may have."""
        statistics = self._statistics(rows)
        node = Node(rows, columns, depth, self.criterion.value(statistics))
        if not (depth >= self.max_depth or self._is_small(statistics) or self._is_pure(rows)):
            node.best = self._best_split(node, statistics)
        return node

    def _partition(self, rows: Rows, split: Split) -> tuple[Rows, Rows]:
        """Return the rows that go left and right in training; the others go third, or stay in the node."""
        sides: dict[str, Rows] = {LEFT: {}, RIGHT: {}}
        for i, membership in rows.items():
            branch = split.branch_of(self.table[i])
            if branch == BOTH:
                sides[LEFT][i] = membership * split.left_fraction
                sides[RIGHT][i] = membership * (1 - split.left_fraction)
            elif branch in sides:
                sides[branch][i] = membership
        return sides[LEFT], sides[RIGHT]

    def _statistics(self, rows: Rows) -> NodeStatistics:
        ones = (self.criterion.one(self.y[i], self.weights[i], m) for i, m in rows.items())
        return sum(ones, self.criterion.empty())

    def _is_small(self, statistics: NodeStatistics) -> bool:
        slack = SLACK if self.missing == "fractional" else 0
        return statistics.membership <= self.min_samples_leaf + slack

    def _is_pure(self, rows: Rows) -> bool:
        if self.task == "regression":
            return len({self.y[i] for i in rows}) == 1
        return len({self.y[i] for i in rows if self.weights[i] > 0}) <= 1

    # -------------------------------------------------------------------------------------- split search

    def _best_split(self, node: Node, statistics: NodeStatistics) -> Split | None:
        """Return the best split of the node, or None if it is a leaf."""
        tolerance = TOLERANCE * self.criterion.loss(statistics)
        found = [s for j in node.columns if (s := self._best_of_column(node, j, tolerance)) is not None]
        if not found:
            return None
        highest = max(split.gain for split in found)
        best = next(split for split in found if split.gain >= highest - tolerance)
        return self._with_surrogates(best, node) if self.missing == "surrogate" else best

    def has_tied_splits(self) -> bool:
        """Return whether a node has several best splits: then rounding errors may choose another one."""
        for node in self.root.nodes():
            if node.best is not None:
                tolerance = TOLERANCE * self.criterion.loss(self._statistics(node.rows))
                gains = [split.gain for j in node.columns for split in self._candidates(node, j)]
                if sum(gain >= max(gains) - tolerance for gain in gains) > 1:
                    return True
        return False

    def _best_of_column(self, node: Node, column: int, tolerance: Number) -> Split | None:
        """Return the first of the column's best splits, or None if none reduces the loss."""
        best = None
        for split in self._candidates(node, column):
            if split.gain > (tolerance if best is None else best.gain + tolerance):
                best = split
        return best

    def _candidates(self, node: Node, column: int) -> Iterator[Split]:
        """Yield the admissible split candidates of a column: for each test, missing left, third, right."""
        groups, missing = self._groups(node.rows, column)
        observed = sum(groups.values(), self.criterion.empty())
        reference = node.value
        if self.missing == "surrogate" and self.criterion.weight(observed) > 0:
            reference = self.criterion.value(observed)
        penalty = self._penalty(node, column, len(groups))
        for test, left, right in self._tests(column, groups, reference):
            larger = LEFT if left.rows > right.rows else RIGHT
            for missing_to in self._missing_branches(missing.rows > 0, larger):
                for split in self._split(column, test, missing_to, larger, (left, right, missing), reference):
                    yield replace(split, gain=split.gain - penalty)
        if self.missing in ("mia", "trinary_mia") and self.split_on_missing and missing.rows > 0:
            nothing = self.criterion.empty()
            yield from self._split(column, Observed(), LEFT, RIGHT, (nothing, observed, missing), reference)

    def _penalty(self, node: Node, column: int, n_groups: int) -> Number:
        """Return what a split of categories must gain: a multiple of the node's loss per row, beyond two categories."""
        if column not in self.categorical or n_groups <= 2 or not self.category_penalty:
            return 0
        statistics = self._statistics(node.rows)
        return (
            self.category_penalty * (n_groups - 2) * self.criterion.loss(statistics) / statistics.membership
        )

    def _groups(self, rows: Rows, column: int) -> tuple[dict[Any, NodeStatistics], NodeStatistics]:
        """Return the statistics of each value in the node, smallest first, and those of the missing rows."""
        groups: dict[Any, NodeStatistics] = {}
        missing = self.criterion.empty()
        for i, membership in rows.items():
            one = self.criterion.one(self.y[i], self.weights[i], membership)
            x = self.table[i][column]
            if x is None:
                missing += one
            else:
                groups[x] = groups.get(x, self.criterion.empty()) + one
        return dict(sorted(groups.items())), missing

    def _missing_branches(self, any_missing: bool, larger: str) -> list[str]:
        match self.missing:
            case "majority":
                return [larger]
            case "mia":
                return [LEFT, RIGHT] if any_missing else [larger]
            case "trinary":
                return [THIRD]
            case "trinary_mia":
                return [LEFT, THIRD, RIGHT] if any_missing else [THIRD]
            case "fractional":
                return [BOTH]
            case "surrogate":
                return [SURROGATES]
        raise ValueError(f"unknown strategy {self.missing!r}")

    def _split(
        self,
        column: int,
        test: Test,
        missing_to: str,
        larger: str,
        parts: tuple[NodeStatistics, NodeStatistics, NodeStatistics],
        reference: Value,
    ) -> Iterator[Split]:
        """Yield the split with its gain, if it is admissible."""
        left, right, missing = parts
        fraction = Fraction(0)
        if missing_to == BOTH:
            fraction = Fraction(left.rows, left.rows + right.rows)
            left, right = left + missing.times(fraction), right + missing.times(1 - fraction)
        elif missing_to == LEFT:
            left = left + missing
        elif missing_to == RIGHT:
            right = right + missing
        if self._is_admissible(left) and self._is_admissible(right):
            gain = self.criterion.gain(left, reference) + self.criterion.gain(right, reference)
            unknown_to = missing_to if missing_to in (THIRD, BOTH, SURROGATES) else larger
            yield Split(column, test, missing_to, unknown_to, gain, fraction)

    def _is_admissible(self, side: NodeStatistics) -> bool:
        slack = SLACK if self.missing == "fractional" else 0
        enough = side.rows > 0 and side.membership >= self.min_samples_leaf - slack
        return enough and self.criterion.weight(side) > 0

    # ------------------------------------------------------------------------------------- tests of a column

    def _tests(
        self, column: int, groups: dict[Any, NodeStatistics], reference: Value
    ) -> Iterator[tuple[Test, NodeStatistics, NodeStatistics]]:
        """Yield the tests of the column with the statistics of the observed rows on both sides."""
        if column not in self.categorical:
            values = list(groups)
            for k, (left, right) in self._sorted_partitions(groups, values):
                yield Threshold(midpoint(values[k - 1], values[k])), left, right
        else:
            if not self._has_many_classes() or len(groups) > MAX_ENUMERATED:
                order = self._order(groups, reference)
                for k, (left, right) in self._sorted_partitions(groups, order):
                    yield CategorySets(frozenset(order[:k]), frozenset(order[k:])), left, right
            if self.missing == "surrogate" and not self._has_many_classes():
                return  # rpart tries no other
            if len(groups) <= MAX_ENUMERATED:  # all of them; of equally good ones, those above are preferred
                for left_set, right_set in partitions(list(groups)):
                    left = sum((groups[c] for c in left_set), self.criterion.empty())
                    right = sum((groups[c] for c in right_set), self.criterion.empty())
                    yield CategorySets(frozenset(left_set), frozenset(right_set)), left, right

    def _has_many_classes(self) -> bool:
        return self.task == "classification" and self.n_classes > 2

    def _sorted_partitions(
        self, groups: dict[Any, NodeStatistics], order: list[Any]
    ) -> Iterator[tuple[int, tuple[NodeStatistics, NodeStatistics]]]:
        """Yield for k = 1, 2, … the statistics of the first k groups and of the rest."""
        if not order:
            return
        lefts = list(accumulate(groups[v] for v in order))
        rights = list(accumulate(groups[v] for v in reversed(order)))[::-1]
        for k in range(1, len(order)):
            yield k, (lefts[k - 1], rights[k])

    def _order(self, groups: dict[int, NodeStatistics], reference: Value) -> list[int]:
        """Return the categories sorted by their values; one without weight has that of the node."""
        values = {
            c: self.criterion.value(t) if self.criterion.weight(t) > 0 else reference
            for c, t in groups.items()
        }
        if not self._has_many_classes():
            # rpart orders by the proportion of the first of two classes
            sign = -1 if self.missing == "surrogate" and self.task == "classification" else 1
            return sorted(values, key=lambda c: (sign * self.criterion.mean(values[c]), c))
        weights = [float(self.criterion.weight(t)) for t in groups.values()]
        if sum(weights) == 0:
            return list(values)
        scores = principal_scores([[float(p) for p in v] for v in values.values()], weights)
        # eigenvectors are rounded: scores that are equal in theory differ in their last digits
        return [c for _, c in sorted(zip((round(s, 9) for s in scores), values, strict=True))]

    # -------------------------------------------------------------------------------------------- surrogates

    def _with_surrogates(self, split: Split, node: Node) -> Split:
        """Return the split with its surrogates, best first, and the fallback side."""
        primary: dict[int, str] = {}
        for i in node.rows:
            x = self.table[i][split.column]
            if x is not None:
                primary[i] = split.test.side(x) or ""
        majority = max(self._weights_of_sides(primary).values())
        surrogates = [
            s
            for j in node.columns
            if j != split.column and (s := self._surrogate(j, node, primary)) and s.agreement > majority
        ]
        surrogates.sort(key=lambda s: (-s.agreement, s.column))
        fallback = larger_of(self._weights_of_sides(primary))
        if self.forest_surrogates:
            surrogates = self._surrogates_of_forest(split, node, primary)
        return replace(split, surrogates=tuple(surrogates[: self.max_surrogates]), fallback=fallback)

    def _surrogates_of_forest(self, split: Split, node: Node, primary: dict[int, str]) -> list[Surrogate]:
        """Return the surrogates of a forest: first those right most often, of the rows that they can place."""
        if len(node.rows) < MIN_SURROGATE_ROWS:
            return []
        found = []
        sample = Node(dict.fromkeys(self.sample(list(node.rows)), Fraction(1)), node.columns, node.depth, ())
        sampled = {i: side for i, side in primary.items() if i in sample.rows and self.weights[i] > 0}
        for j in node.columns:
            both = {i: side for i, side in sampled.items() if self.table[i][j] is not None}
            if j == split.column or not both:
                continue
            if j in self.categorical:
                surrogate = self._categories_of_two_rows(j, both)
            else:
                surrogate = self._numeric_surrogate(j, sample, both)
            weights = self._weights_of_sides(both)
            if surrogate and surrogate.agreement > max(weights.values()):
                found.append((-surrogate.agreement / sum(weights.values()), j, surrogate))
        return [surrogate for *_, surrogate in sorted(found, key=lambda item: item[:2])]

    def _categories_of_two_rows(self, column: int, both: dict[int, str]) -> Surrogate | None:
        """Return the categories of at least two rows by their heavier side; at ties that of all rows, then left."""
        sides: dict[str, set[int]] = {LEFT: set(), RIGHT: set()}
        all_rows, agreement = self._weights_of_sides(both), Fraction(0)
        tie = RIGHT if all_rows[RIGHT] > all_rows[LEFT] else LEFT
        for category in {self.table[i][column] for i in both}:
            own = {i: side for i, side in both.items() if self.table[i][column] == category}
            if len(own) < 2:
                continue
            weights = self._weights_of_sides(own)
            side = tie if weights[LEFT] == weights[RIGHT] else max(weights, key=lambda s: weights[s])
            sides[side].add(int(category))
            agreement += weights[side]
        return Surrogate(column, CategorySets(frozenset(sides[LEFT]), frozenset(sides[RIGHT])), agreement)

    def _weights_of_sides(self, sides: dict[int, str]) -> dict[str, Fraction]:
        return {
            side: sum((self.weights[i] for i, s in sides.items() if s == side), Fraction(0))
            for side in (LEFT, RIGHT)
        }

    def _higher_side(self, primary: dict[int, str]) -> str:
        """Return the side with the higher mean target, or number of the class; left on a tie."""
        weight = self._weights_of_sides(primary)
        mean = {
            side: sum((self.weights[i] * self.y[i] for i, s in primary.items() if s == side), Fraction(0))
            / weight[side]
            for side in (LEFT, RIGHT)
        }
        return RIGHT if mean[LEFT] < mean[RIGHT] else LEFT

    def _surrogate(self, column: int, node: Node, primary: dict[int, str]) -> Surrogate | None:
        """Return the test of a column that agrees best with the primary split."""
        both = {i: s for i, s in primary.items() if self.table[i][column] is not None and self.weights[i] > 0}
        if not both:
            return None
        if column in self.categorical:
            return self._categorical_surrogate(column, both, self._higher_side(primary))
        return self._numeric_surrogate(column, node, both)

    def _numeric_surrogate(self, column: int, node: Node, both: dict[int, str]) -> Surrogate | None:
        column_values: dict[int, Any] = {i: self.table[i][column] for i in node.rows}
        values = sorted({v for v in column_values.values() if v is not None})
        best, highest = None, max(self._weights_of_sides(both).values())
        for low, high in pairwise(values):
            at = midpoint(low, high)
            n_below = sum(column_values[i] < at for i in both)
            if n_below < 2 or len(both) - n_below < 2:
                continue
            for below in (RIGHT, LEFT):
                test = Threshold(at, below)
                same = (self.weights[i] for i, side in both.items() if test.side(column_values[i]) == side)
                agreement = sum(same, Fraction(0))
                if agreement > highest:
                    best, highest = Surrogate(column, test, agreement), agreement
        return best

    def _categorical_surrogate(self, column: int, both: dict[int, str], higher: str) -> Surrogate | None:
        """Return the categories by the side that most of their weight takes; ties as all rows, then higher.

        rpart demands that two rows go the same way, and two otherwise.
        """
        heavier = larger_of(self._weights_of_sides(both), higher)
        sets: dict[str, set[int]] = {LEFT: set(), RIGHT: set()}
        agreement = Fraction(0)
        for category in {self.table[i][column] for i in both}:
            weight = self._weights_of_sides(
                {i: s for i, s in both.items() if self.table[i][column] == category}
            )
            side = larger_of(weight, heavier)
            sets[side].add(int(category or 0))
            agreement += weight[side]
        test = CategorySets(frozenset(sets[LEFT]), frozenset(sets[RIGHT]))
        n_same = sum(test.side(self.table[i][column] or 0) == side for i, side in both.items())
        return Surrogate(column, test, agreement) if 2 <= n_same <= len(both) - 2 else None


def larger_of(sides: Mapping[str, Number], tie: str = STAYS) -> str:
    """Return the side with the larger number."""
    return tie if sides[LEFT] == sides[RIGHT] else LEFT if sides[LEFT] > sides[RIGHT] else RIGHT


def partitions(categories: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield all partitions into two sets; the first category is always left, the others by a bit mask."""
    if not categories:
        return
    others = categories[1:]
    for mask in range(2 ** len(others) - 1):
        left = [c for bit, c in enumerate(others) if mask >> bit & 1]
        yield [categories[0], *left], [c for c in others if c not in left]


def principal_scores(probabilities: list[list[float]], weights: list[float]) -> list[float]:
    """Return the scores of the rows on the first principal component."""
    centred, _, vectors = principal_components(probabilities, weights)
    axis = vectors[:, -1]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    return [float(score) for score in centred @ axis]


def principal_components(probabilities: list[list[float]], weights: list[float]) -> tuple[Any, Any, Any]:
    """Return the centred rows, and eigenvalues and eigenvectors of their scatter matrix, smallest first."""
    table, w = np.array(probabilities), np.array(weights)
    centred = table - w @ table / w.sum()
    values, vectors = np.linalg.eigh(centred.T * w @ centred)
    return centred, values, vectors
