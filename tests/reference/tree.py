"""The slow twin: trees grown straight from the definitions, in exact arithmetic, to test the fast core against.

A node is (rows, columns, depth), as in the paper. Everything is grown: the third branch of a split on column j is
the node (rows, columns without j, depth), built by the same recursion. Nothing is shared, cached or put off.

Sums, values and gains are fractions, so that they carry no rounding. A cell is None where it is missing, a float in a
numeric column, an int in a categorical one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from reference.criteria import Criterion, Entropy, Gini, Number, SquaredError, Tally, Value

LEFT, RIGHT, THIRD, BOTH, SURROGATES = "left", "right", "third", "both", "surrogates"

#: Gains closer than this share of the node's loss are equal; a split has to gain more than it.
TOLERANCE = Fraction(1, 10**12)

#: Sums of memberships are compared with `min_samples_leaf` up to this.
SLACK = Fraction(1, 10**9)

#: With three or more classes, up to this many categories have all their partitions tried.
MAX_ENUMERATED = 10

Cell = float | int | None
Rows = dict[int, Fraction]  # row number -> membership, which is 1 except under `fractional`


# ------------------------------------------------------------------------------------------------------- splits


@dataclass(frozen=True)
class Threshold:
    """Left is below the threshold."""

    at: float
    below: str = LEFT

    def side(self, cell: float) -> str:
        return self.below if cell < self.at else opposite(self.below)


@dataclass(frozen=True)
class Sets:
    """Two sets of categories; a category in neither was not seen."""

    left: frozenset[int]
    right: frozenset[int]

    def side(self, cell: float) -> str | None:
        return LEFT if cell in self.left else RIGHT if cell in self.right else None


@dataclass(frozen=True)
class Observed:
    """Missing against observed: whatever is observed goes right."""

    def side(self, cell: float) -> str:
        return RIGHT


Test = Threshold | Sets | Observed


@dataclass(frozen=True)
class Surrogate:
    """A test of another column that stands in for a split."""

    column: int
    test: Threshold | Sets
    agreement: Fraction


@dataclass(frozen=True)
class Split:
    """A test of a column, and the ways of the rows that it says nothing about."""

    column: int
    test: Test
    missing_to: str
    unseen_to: str
    gain: Number
    left_share: Fraction = Fraction(0)
    surrogates: tuple[Surrogate, ...] = ()
    last_resort: str = ""

    def turn(self, row: Sequence[Cell]) -> str:
        """Return the branch that a row takes: left, right, third or both."""
        cell = row[self.column]
        side = self.missing_to if cell is None else (self.test.side(cell) or self.unseen_to)
        return self.stand_in(row) if side == SURROGATES else side

    def stand_in(self, row: Sequence[Cell]) -> str:
        """Return the side that the first surrogate with an opinion sends a row to."""
        for surrogate in self.surrogates:
            cell = row[surrogate.column]
            side = None if cell is None else surrogate.test.side(cell)
            if side is not None:
                return side
        return self.last_resort


@dataclass
class Node:
    """A node of the grown tree; a leaf has no split."""

    rows: Rows
    columns: tuple[int, ...]
    depth: int
    value: Value
    split: Split | None = None
    branches: dict[str, Node] = field(default_factory=dict)

    def every(self) -> Iterator[Node]:
        """Return this node and all nodes below it."""
        yield self
        for branch in self.branches.values():
            yield from branch.every()


def opposite(side: str) -> str:
    return RIGHT if side == LEFT else LEFT


def midpoint(low: float, high: float) -> float:
    """Return the threshold between two neighbouring values."""
    middle = (low + high) / 2
    return middle if middle > low else high


# --------------------------------------------------------------------------------------------------------- twin


class Twin:
    """A tree with one of the six strategies, grown in full from the definitions."""

    def __init__(
        self,
        *,
        missing: str = "trinary",
        task: str = "regression",
        criterion: str | None = None,
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        categorical: Iterable[int] = (),
    ) -> None:
        self.missing = missing
        self.task = task
        self.criterion_name = criterion or {"regression": "squared_error", "classification": "entropy"}[task]
        self.max_depth = math.inf if max_depth is None else max_depth
        self.min_samples_leaf = min_samples_leaf
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.categorical = frozenset(categorical)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Twin:
        """Grow the tree and return the twin."""
        self.table = [self._cells(row) for row in X]
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
        self.root = self._grow(rows, tuple(range(len(self.table[0]))), 0)
        return self

    def predict(self, X: Any) -> list[Any]:
        """Return the values (regression) or the vectors of class shares (classification) of the rows."""
        values = [[float(v) for v in self._answer(self.root, self._cells(row))] for row in X]
        return [v[0] for v in values] if self.task == "regression" else values

    def _cells(self, row: Sequence[Any]) -> list[Cell]:
        return [
            None if v is None or v != v else int(v) if j in self.categorical else float(v)
            for j, v in enumerate(row)
        ]

    def _answer(self, node: Node, row: list[Cell]) -> Value:
        if node.split is None:
            return node.value
        turn = node.split.turn(row)
        if turn != BOTH:
            return self._answer(node.branches[turn], row)
        share = node.split.left_share
        left, right = (self._answer(node.branches[side], row) for side in (LEFT, RIGHT))
        return tuple(share * a + (1 - share) * b for a, b in zip(left, right, strict=True))

    # ------------------------------------------------------------------------------------------------ growing

    def _grow(self, rows: Rows, columns: tuple[int, ...], depth: int) -> Node:
        """Return the grown node (rows, columns, depth)."""
        tally = self._tally(rows)
        node = Node(rows, columns, depth, self.criterion.value(tally))
        if depth >= self.max_depth or self._is_small(tally) or self._is_pure(rows):
            return node
        node.split = self._best_split(node, tally)
        if node.split is None:
            return node
        left, right = self._partition(rows, node.split)
        node.branches[LEFT] = self._grow(left, columns, depth + 1)
        node.branches[RIGHT] = self._grow(right, columns, depth + 1)
        if node.split.missing_to == THIRD:
            others = tuple(j for j in columns if j != node.split.column)
            node.branches[THIRD] = self._grow(rows, others, depth)
        return node

    def _partition(self, rows: Rows, split: Split) -> tuple[Rows, Rows]:
        """Return the rows that go left and right in training; rows that take the third branch go nowhere."""
        sides: dict[str, Rows] = {LEFT: {}, RIGHT: {}}
        for i, membership in rows.items():
            turn = split.turn(self.table[i])
            if turn == BOTH:
                sides[LEFT][i] = membership * split.left_share
                sides[RIGHT][i] = membership * (1 - split.left_share)
            elif turn != THIRD:
                sides[turn][i] = membership
        return sides[LEFT], sides[RIGHT]

    def _tally(self, rows: Rows) -> Tally:
        ones = (self.criterion.one(self.y[i], self.weights[i], m) for i, m in rows.items())
        return sum(ones, self.criterion.empty())

    def _is_small(self, tally: Tally) -> bool:
        slack = SLACK if self.missing == "fractional" else 0
        return tally.members <= self.min_samples_leaf + slack

    def _is_pure(self, rows: Rows) -> bool:
        if self.task == "regression":
            return len({self.y[i] for i in rows}) == 1
        return len({self.y[i] for i in rows if self.weights[i] > 0}) <= 1

    # -------------------------------------------------------------------------------------- searching the split

    def _best_split(self, node: Node, tally: Tally) -> Split | None:
        """Return the best split of the node, or None if it has to be a leaf."""
        tolerance = TOLERANCE * self.criterion.loss(tally)
        found = [s for j in node.columns if (s := self._best_of_column(node, j, tolerance)) is not None]
        if not found:
            return None
        highest = max(split.gain for split in found)
        best = next(split for split in found if split.gain >= highest - tolerance)
        return self._with_surrogates(best, node) if self.missing == "surrogate" else best

    def _best_of_column(self, node: Node, column: int, tolerance: Number) -> Split | None:
        """Return the first of the column's best splits, or None if none lowers the loss."""
        best = None
        for split in self._candidates(node, column):
            if split.gain > (tolerance if best is None else best.gain + tolerance):
                best = split
        return best

    def _candidates(self, node: Node, column: int) -> Iterator[Split]:
        """Return the admissible splits of a column: test by test; missing left, third, right for each."""
        groups, missing = self._groups(node.rows, column)
        observed = sum(groups.values(), self.criterion.empty())
        reference = node.value
        if self.missing == "surrogate" and self.criterion.weight(observed) > 0:
            reference = self.criterion.value(observed)
        for test, left, right in self._tests(column, groups, reference):
            larger = LEFT if left.rows > right.rows else RIGHT
            for missing_to in self._ways_of_missing(missing.rows > 0, larger):
                yield from self._split(column, test, missing_to, larger, (left, right, missing), reference)
        if self.missing in ("mia", "trinary_mia") and self.split_on_missing and missing.rows > 0:
            nothing = self.criterion.empty()
            yield from self._split(column, Observed(), LEFT, RIGHT, (nothing, observed, missing), reference)

    def _groups(self, rows: Rows, column: int) -> tuple[dict[Any, Tally], Tally]:
        """Return a tally for each value seen in the node, smallest value first, and one of the missing rows."""
        groups: dict[Any, Tally] = {}
        missing = self.criterion.empty()
        for i, membership in rows.items():
            one = self.criterion.one(self.y[i], self.weights[i], membership)
            cell = self.table[i][column]
            if cell is None:
                missing += one
            else:
                groups[cell] = groups.get(cell, self.criterion.empty()) + one
        return dict(sorted(groups.items())), missing

    def _ways_of_missing(self, any_missing: bool, larger: str) -> list[str]:
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
        parts: tuple[Tally, Tally, Tally],
        reference: Value,
    ) -> Iterator[Split]:
        """Return the split with its gain, if it is admissible."""
        left, right, missing = parts
        share = Fraction(0)
        if missing_to == BOTH:
            share = Fraction(left.rows, left.rows + right.rows)
            left, right = left + missing.times(share), right + missing.times(1 - share)
        elif missing_to == LEFT:
            left = left + missing
        elif missing_to == RIGHT:
            right = right + missing
        if self._is_admissible(left) and self._is_admissible(right):
            gain = self.criterion.improve(left, reference) + self.criterion.improve(right, reference)
            unseen_to = missing_to if missing_to in (THIRD, BOTH, SURROGATES) else larger
            yield Split(column, test, missing_to, unseen_to, gain, share)

    def _is_admissible(self, side: Tally) -> bool:
        slack = SLACK if self.missing == "fractional" else 0
        enough = side.rows > 0 and side.members >= self.min_samples_leaf - slack
        return enough and self.criterion.weight(side) > 0

    # ------------------------------------------------------------------------------------- the tests of a column

    def _tests(
        self, column: int, groups: dict[Any, Tally], reference: Value
    ) -> Iterator[tuple[Test, Tally, Tally]]:
        """Return every test of the column with the tallies of its two sides, observed rows only."""
        if column not in self.categorical:
            values = list(groups)
            for k, (left, right) in self._cuts(groups, values):
                yield Threshold(midpoint(values[k - 1], values[k])), left, right
        elif self.task == "classification" and self.n_classes > 2 and len(groups) <= MAX_ENUMERATED:
            for left_set, right_set in partitions(list(groups)):
                left = sum((groups[c] for c in left_set), self.criterion.empty())
                right = sum((groups[c] for c in right_set), self.criterion.empty())
                yield Sets(frozenset(left_set), frozenset(right_set)), left, right
        else:
            order = self._order(groups, reference)
            for k, (left, right) in self._cuts(groups, order):
                yield Sets(frozenset(order[:k]), frozenset(order[k:])), left, right

    def _cuts(self, groups: dict[Any, Tally], order: list[Any]) -> Iterator[tuple[int, tuple[Tally, Tally]]]:
        """Return for k = 1, 2, … the tallies of the first k groups and of the rest."""
        if not order:
            return
        lefts = list(accumulate(groups[v] for v in order))
        rights = list(accumulate(groups[v] for v in reversed(order)))[::-1]
        for k in range(1, len(order)):
            yield k, (lefts[k - 1], rights[k])

    def _order(self, groups: dict[int, Tally], reference: Value) -> list[int]:
        """Return the categories in the order that they are cut in; one without weight counts as average."""
        values = {
            c: self.criterion.value(t) if self.criterion.weight(t) > 0 else reference
            for c, t in groups.items()
        }
        if self.task == "regression" or self.n_classes <= 2:
            return sorted(values, key=lambda c: (self.criterion.mean(values[c]), c))
        weights = [float(self.criterion.weight(t)) for t in groups.values()]
        if sum(weights) == 0:
            return list(values)
        scores = principal_scores([[float(p) for p in v] for v in values.values()], weights)
        # an eigenvector is rounded: scores that are equal on paper differ in their last digits
        return [c for _, c in sorted(zip((round(s, 9) for s in scores), values, strict=True))]

    # -------------------------------------------------------------------------------------------- surrogates

    def _with_surrogates(self, split: Split, node: Node) -> Split:
        """Return the split with its surrogates, best first, and the side that is left when none of them knows."""
        primary: dict[int, str] = {}
        for i in node.rows:
            cell = self.table[i][split.column]
            if cell is not None:
                primary[i] = split.test.side(cell) or ""
        majority = max(self._weights_of_sides(primary).values())
        surrogates = [
            s
            for j in node.columns
            if j != split.column and (s := self._surrogate(j, node, primary)) and s.agreement > majority
        ]
        surrogates.sort(key=lambda s: (-s.agreement, s.column))
        return Split(
            split.column,
            split.test,
            split.missing_to,
            split.unseen_to,
            split.gain,
            surrogates=tuple(surrogates[: self.max_surrogates]),
            last_resort=self._heavier_side(primary),
        )

    def _weights_of_sides(self, sides: dict[int, str]) -> dict[str, Fraction]:
        return {
            side: sum((self.weights[i] for i, s in sides.items() if s == side), Fraction(0))
            for side in (LEFT, RIGHT)
        }

    def _heavier_side(self, primary: dict[int, str]) -> str:
        """Return the side with more weight; on a tie the one with the lower mean response; then right."""
        weight = self._weights_of_sides(primary)
        if weight[LEFT] != weight[RIGHT]:
            return max(weight, key=lambda side: weight[side])
        mean = {
            side: sum((self.weights[i] * self.y[i] for i, s in primary.items() if s == side), Fraction(0))
            for side in (LEFT, RIGHT)
        }
        return LEFT if mean[LEFT] < mean[RIGHT] else RIGHT

    def _surrogate(self, column: int, node: Node, primary: dict[int, str]) -> Surrogate | None:
        """Return the test of a column that agrees best with the primary split."""
        both = {i: side for i, side in primary.items() if self.table[i][column] is not None}
        if not both:
            return None
        if column in self.categorical:
            return self._categorical_surrogate(column, both)
        return self._numeric_surrogate(column, node, both)

    def _numeric_surrogate(self, column: int, node: Node, both: dict[int, str]) -> Surrogate | None:
        cells: dict[int, Any] = {i: self.table[i][column] for i in node.rows}
        values = sorted({v for v in cells.values() if v is not None})
        best, most = None, max(self._weights_of_sides(both).values())
        for low, high in pairwise(values):
            at = midpoint(low, high)
            n_below = sum(cells[i] < at for i in both)
            if n_below < 2 or len(both) - n_below < 2:
                continue
            for below in (RIGHT, LEFT):
                test = Threshold(at, below)
                same = (self.weights[i] for i, side in both.items() if test.side(cells[i]) == side)
                agreement = sum(same, Fraction(0))
                if agreement > most:
                    best, most = Surrogate(column, test, agreement), agreement
        return best

    def _categorical_surrogate(self, column: int, both: dict[int, str]) -> Surrogate:
        overall = self._weights_of_sides(both)
        heavier = LEFT if overall[LEFT] > overall[RIGHT] else RIGHT
        sets: dict[str, set[int]] = {LEFT: set(), RIGHT: set()}
        agreement = Fraction(0)
        for category in {self.table[i][column] for i in both}:
            weight = self._weights_of_sides(
                {i: s for i, s in both.items() if self.table[i][column] == category}
            )
            tied = weight[LEFT] == weight[RIGHT]
            side = heavier if tied else max(weight, key=lambda s: weight[s])
            sets[side].add(int(category or 0))
            agreement += weight[side]
        return Surrogate(column, Sets(frozenset(sets[LEFT]), frozenset(sets[RIGHT])), agreement)


def partitions(categories: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Return every partition into two sets; the first category is always left, the others go by a bit mask."""
    others = categories[1:]
    for mask in range(2 ** len(others) - 1):
        left = [c for bit, c in enumerate(others) if mask >> bit & 1]
        yield [categories[0], *left], [c for c in others if c not in left]


def principal_scores(shares: list[list[float]], weights: list[float]) -> list[float]:
    """Return the position of each row of shares along their first principal component."""
    centred, _, vectors = principal_components(shares, weights)
    axis = vectors[:, -1]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    return [float(score) for score in centred @ axis]


def principal_components(shares: list[list[float]], weights: list[float]) -> tuple[Any, Any, Any]:
    """Return the centred shares, and the eigenvalues and eigenvectors of their scatter, smallest first."""
    table, w = np.array(shares), np.array(weights)
    centred = table - w @ table / w.sum()
    values, vectors = np.linalg.eigh(centred.T * w @ centred)
    return centred, values, vectors
