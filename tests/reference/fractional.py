"""Reference implementation of fractional boosting: a row with a missing value goes to both children.

The membership of a row in a node is an integer number of units, a power of two for a whole row. Its gradient and
hessian are rounded to integers, as in the core, so that predictions agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference.boosted_tree import Grower, GrowthParameters, Node, Row, branch_of, splitmix64
from reference.boosting import ReferenceBoosting

Memberships = dict[int, int]  # row -> units of it in the node
SLACK = 1e-9  # when a sum of memberships is compared with a number of rows


@dataclass
class FractionalNode(Node):
    left_fraction: float = 0.0  # of a row with a missing value
    weight: float = 0.0  # sum of memberships, in rows


@dataclass
class FractionalSums:
    gradient: int = 0
    hessian: int = 0
    units: int = 0
    rows: int = 0

    def __add__(self, other: FractionalSums) -> FractionalSums:
        return FractionalSums(
            self.gradient + other.gradient,
            self.hessian + other.hessian,
            self.units + other.units,
            self.rows + other.rows,
        )


@dataclass
class FractionalCandidate:
    column: int
    left_bins: set[int]
    right_bins: set[int]
    left: FractionalSums  # of observed rows
    right: FractionalSums
    missing: FractionalSums
    n_categories: int = 0  # of the node, if the split is one of categories

    @property
    def left_fraction(self) -> float:
        return self.left.rows / (self.left.rows + self.right.rows)

    @property
    def sides(self) -> tuple[tuple[FractionalSums, float], tuple[FractionalSums, float]]:
        """The observed rows of each side, and its fraction of the rows with a missing value."""
        return (self.left, self.left_fraction), (self.right, 1 - self.left_fraction)


class FractionalGrower:
    """Grows a tree whose nodes hold fractions of rows."""

    def __init__(
        self, parameters: GrowthParameters, rows: list[Row], gradient: list[float], weight: list[float] | None
    ) -> None:
        self.parameters, self.rows = parameters, rows
        self.rounded = Grower(parameters, rows, gradient, weight, parameters.min_samples_leaf)
        self.units_per_row = 2 ** min(52, 62 - len(rows).bit_length())
        self.min_weight = parameters.min_samples_leaf - SLACK

    def grow_all(self, root: FractionalNode, rows: list[int]) -> None:
        everything = dict.fromkeys(rows, self.units_per_row)
        self.grow(root, everything, self.value(self.to_float(self.sums(everything)), root))

    def sums(self, memberships: Memberships) -> FractionalSums:
        return sum((self.one(i, units) for i, units in memberships.items()), FractionalSums())

    def one(self, row: int, units: int) -> FractionalSums:
        fraction = units / self.units_per_row
        hessian = units if self.rounded.constant else round(self.rounded.hessian[row] * fraction)
        return FractionalSums(round(self.rounded.gradient[row] * fraction), hessian, units, 1)

    def to_float(self, sums: FractionalSums) -> tuple[float, float]:
        unit = 1 / self.units_per_row if self.rounded.constant else self.rounded.hessian_resolution
        return float(sums.gradient) * self.rounded.gradient_resolution, float(sums.hessian) * unit

    def value(self, sums: tuple[float, float], node: Node) -> float:
        gradient, hessian = sums
        weight = hessian + self.parameters.l2
        return min(max(-gradient / weight if weight > 0 else 0.0, node.low), node.high)

    def grow(self, node: FractionalNode, memberships: Memberships, value: float) -> None:
        total = self.sums(memberships)
        node.value, node.n_rows, node.weight = value, len(memberships), total.units / self.units_per_row
        if (
            node.depth >= self.parameters.max_depth
            or node.weight < 2 * self.parameters.min_samples_leaf - SLACK
        ):
            return
        candidate = self.best_split(node, memberships, total)
        if candidate is None:
            return
        node.column, node.missing_to, node.left_fraction = candidate.column, "both", candidate.left_fraction
        node.left_bins, node.right_bins = candidate.left_bins, candidate.right_bins
        values = [self.value(self.with_missing(candidate, *of), node) for of in candidate.sides]
        bounds = [[node.low, node.high], [node.low, node.high]]
        direction = self.parameters.direction(candidate.column)
        if direction:
            middle = (values[0] + values[1]) / 2
            bounds[0][1 if direction > 0 else 0] = middle
            bounds[1][0 if direction > 0 else 1] = middle
        for number, (name, own) in enumerate(
            zip(("left", "right"), self.partition(node, memberships), strict=True)
        ):
            child = FractionalNode(
                splitmix64(node.path, number), node.depth + 1, node.columns, *bounds[number]
            )
            setattr(node, name, child)
            self.grow(child, own, values[number])

    def partition(self, node: FractionalNode, memberships: Memberships) -> tuple[Memberships, Memberships]:
        """Return the memberships in the left and in the right child."""
        left: Memberships = {}
        right: Memberships = {}
        for i, units in memberships.items():
            to = branch_of(node, self.rows[i])
            goes_left = {"left": units, "right": 0, "both": round(units * node.left_fraction)}[to]
            if goes_left:
                left[i] = goes_left
            if units - goes_left:
                right[i] = units - goes_left
        return left, right

    def best_split(
        self, node: FractionalNode, memberships: Memberships, total: FractionalSums
    ) -> FractionalCandidate | None:
        node_reduction = self.loss_reduction(self.to_float(total), self.value(self.to_float(total), node))
        best, highest = None, self.rounded.split_penalty(total.units / self.units_per_row)
        for column in node.columns:
            for candidate in self.candidates(column, memberships, total):
                gain = self.gain(node, candidate, node_reduction)
                if gain is None:
                    continue
                penalised_gain = gain - self.rounded.category_penalty(candidate.n_categories)
                if penalised_gain > highest:
                    best, highest = candidate, penalised_gain
        return best

    def candidates(
        self, column: int, memberships: Memberships, total: FractionalSums
    ) -> Iterator[FractionalCandidate]:
        cells: dict[int | None, FractionalSums] = {}
        for i, units in memberships.items():
            bin_ = self.rows[i][column]
            cells[bin_] = cells.get(bin_, FractionalSums()) + self.one(i, units)
        missing = cells.pop(None, FractionalSums())
        is_category = self.parameters.categorical[column]
        order = self.bin_order(cells, total) if is_category else sorted(cells)
        everything = set(order) if is_category else set(range(self.parameters.n_bins[column]))
        for n_left in range(1, len(order)):
            # a threshold also separates bins not seen in the node
            left_bins = set(order[:n_left]) if is_category else set(range(order[n_left - 1] + 1))
            left = sum((cells[c] for c in order[:n_left]), FractionalSums())
            right = sum((cells[c] for c in order[n_left:]), FractionalSums())
            n_categories = len(order) if is_category else 0
            yield FractionalCandidate(
                column, left_bins, everything - left_bins, left, right, missing, n_categories
            )

    def bin_order(self, cells: dict[int, FractionalSums], total: FractionalSums) -> list[int]:
        smoothing = 10 * self.to_float(total)[1] / (total.units / self.units_per_row)

        def key(bin_: int) -> tuple[float, int]:
            gradient, hessian = self.to_float(cells[bin_])
            return -gradient / (hessian + smoothing), bin_

        return sorted(cells, key=key)

    def with_missing(
        self, candidate: FractionalCandidate, observed: FractionalSums, fraction: float
    ) -> tuple[float, float]:
        """Return the sums of a side, including its fraction of the rows with a missing value."""
        (gradient, hessian), (more, and_more) = self.to_float(observed), self.to_float(candidate.missing)
        return gradient + fraction * more, hessian + fraction * and_more

    def loss_reduction(self, sums: tuple[float, float], value: float) -> float:
        gradient, hessian = sums
        return -(2 * gradient * value + (hessian + self.parameters.l2) * value * value)

    def gain(
        self, node: FractionalNode, candidate: FractionalCandidate, node_reduction: float
    ) -> float | None:
        for observed, fraction in candidate.sides:
            if (
                observed.units / self.units_per_row
                + fraction * (candidate.missing.units / self.units_per_row)
                < self.min_weight
            ):
                return None
        sides = [self.with_missing(candidate, *of) for of in candidate.sides]
        if not self.rounded.constant and min(hessian for _, hessian in sides) < 1e-3:
            return None
        if self.parameters.monotonic:
            values = [self.value(sums, node) for sums in sides]
            if self.parameters.direction(candidate.column) * (values[1] - values[0]) < 0:
                return None
            reduction = self.loss_reduction(sides[0], values[0]) + self.loss_reduction(sides[1], values[1])
        else:
            (a, b), (c, d) = sides
            reduction = a * a / (b + self.parameters.l2) + c * c / (d + self.parameters.l2)
        gain = reduction - node_reduction
        return gain if gain > 1e-12 * (abs(reduction) + abs(node_reduction)) else None


class ReferenceFractionalBoosting(ReferenceBoosting):
    """Boosting by squared error with fractional rows."""

    def fit(self, root: Node, gradient: list[float], samples: list[int]) -> FractionalNode:
        grown = FractionalNode(root.path, root.depth, root.columns, root.low, root.high)
        FractionalGrower(self.parameters, self.background, gradient, self.weight).grow_all(grown, samples)
        return grown

    def rows_of_leaves(self, root: Node, samples: list[int]) -> list[tuple[Node, list[int]]]:
        return []  # the whole tree is limited instead

    def finish_tree(self, root: Node) -> None:
        average_fractional_leaves(root)

    def predict_tree(self, node: Node, row: Row) -> float:
        if node.column is None:
            return node.value
        to = branch_of(node, row)
        if to != "both":
            return self.predict_tree(node.left if to == "left" else node.right, row)
        return node.left_fraction * self.predict_tree(node.left, row) + (
            1 - node.left_fraction
        ) * self.predict_tree(node.right, row)


def average_fractional_leaves(node: FractionalNode) -> float:
    if node.column is not None:
        left, right = average_fractional_leaves(node.left), average_fractional_leaves(node.right)
        n, m = node.left.weight, node.right.weight
        node.value = (n * left + m * right) / (n + m)
    return node.value
