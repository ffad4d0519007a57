"""Reference implementation of a boosted tree: split candidates and growth straight from their definitions.

A row is a list of bins, None where the value is missing; bins of a numeric column are ranks of its values. Gradients
are fixed-point integers with the scale of the tree, as in the core, so that predictions agree bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

Row = list[int | None]

MASK = 2**64 - 1
MISSING_SIDE_PENALTY = 2.0  # for sending missing values to a side, in multiples of the expected gain of noise
THIRD_MIN_SAMPLES_LEAF = 2  # of third branches
THIRD_SPLIT_PENALTY = 4  # of third branches, in multiples of that of trees
THIRD_MIN_GAIN = 0.002  # of third branches, as a fraction of the sum of squares of the tree


def splitmix64(a: int, b: int) -> int:
    x = (a + 0x9E3779B97F4A7C15 * (b + 1)) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


@dataclass(frozen=True)
class GrowthParameters:
    """Growth parameters of trees and third branches."""

    n_bins: list[int]  # per column
    categorical: list[bool]
    missing: str = "trinary_mia"
    max_depth: int = 3
    max_leaf_nodes: int | None = None  # of a tree, and of each third branch
    min_samples_leaf: int = 5
    l2: float = 0.0
    # multiples of the expected gain of noise
    min_gain: float = 0.0
    split_penalty: float = 0.3  # times log(rows of the node / fewest rows that can be split)
    category_penalty: float = 0.5  # for each category beyond two
    monotonic: list[int] = field(default_factory=list)
    third_depth_extra: int = 0
    third_rows: int = 2000
    subsample: float = 1.0
    max_features: float = 1.0  # fraction of the columns considered at each node
    seed: int = 0

    def direction(self, column: int) -> int:
        return self.monotonic[column] if self.monotonic else 0


@dataclass
class Node:
    path: int
    depth: int
    columns: list[int]  # candidates of the node and its third branch
    low: float
    high: float
    n_rows: int = 0
    value: float = 0.0
    variance: float = 0.0  # contribution to the variance of the prediction
    column: int | None = None  # None in a leaf
    left_bins: set[int] = field(default_factory=set)
    right_bins: set[int] = field(default_factory=set)
    missing_to: str = ""
    larger_side: str = "right"
    left: Node | None = None
    right: Node | None = None
    third: Node | None = None
    rows: list[int] = field(default_factory=list)  # background rows, in the order of the leaves below it
    n_rows_per_row: float = 1.0  # how many background rows each of them stands for
    root: Node | None = None  # of the fitted tree


@dataclass
class GradientSums:
    gradient: int = 0
    hessian: int = 0
    rows: int = 0

    def __add__(self, other: GradientSums) -> GradientSums:
        return GradientSums(
            self.gradient + other.gradient, self.hessian + other.hessian, self.rows + other.rows
        )


@dataclass
class SplitCandidate:
    column: int
    left_bins: set[int]
    right_bins: set[int]
    missing_to: str
    larger_side: str
    left: GradientSums
    right: GradientSums
    third: GradientSums  # rows that take the third branch keep the node's value in the gain
    n_categories: int = 0  # of the node, if the split is one of categories
    gain: float = 0.0
    penalised_gain: float = 0.0


def fixed_point_scale(largest: float, bits: int) -> float:
    return math.ldexp(1.0, bits - math.frexp(largest)[1]) if largest > 0 else 1.0


class Grower:
    """Grows a binary tree by gradients and hessians; hessians are 1 if None."""

    def __init__(
        self,
        parameters: GrowthParameters,
        rows: list[Row],
        gradient: list[float],
        hessian: list[float] | None,
        min_samples_leaf: int,
    ):
        self.parameters, self.rows, self.min_samples_leaf = parameters, rows, min_samples_leaf
        bits = len(rows).bit_length()
        scale = fixed_point_scale(max(map(abs, gradient), default=0.0), min(30, 61 - bits))
        self.gradient = [round(g * scale) for g in gradient]
        self.gradient_resolution = 1 / scale
        self.constant = hessian is None
        self.hessian, self.hessian_resolution = [1] * len(rows), 1.0
        if hessian is not None:
            hessian_scale = min(
                fixed_point_scale(max(hessian), 30), fixed_point_scale(sum(hessian), 61 - bits)
            )
            self.hessian = [round(h * hessian_scale) for h in hessian]
            self.hessian_resolution = 1 / hessian_scale
        self.total_hessian = float(sum(self.hessian)) * self.hessian_resolution
        unit = self.gradient_resolution * 2**8
        square_sum = float(sum((g >> 8) ** 2 for g in self.gradient)) * unit * unit
        self.noise_gain = square_sum / self.total_hessian if self.total_hessian else 0.0
        self.penalty = MISSING_SIDE_PENALTY * self.noise_gain if parameters.missing == "trinary_mia" else 0.0

    def sums(self, samples: list[int]) -> GradientSums:
        return GradientSums(
            sum(self.gradient[i] for i in samples), sum(self.hessian[i] for i in samples), len(samples)
        )

    def to_float(self, sums: GradientSums) -> tuple[float, float]:
        return float(sums.gradient) * self.gradient_resolution, float(sums.hessian) * self.hessian_resolution

    def value(self, sums: GradientSums, l2: float, node: Node) -> float:
        gradient, hessian = self.to_float(sums)
        return min(max(-gradient / (hessian + l2) if hessian + l2 > 0 else 0.0, node.low), node.high)

    def grow(self, root: Node, samples: list[int], l2: float, max_depth: int) -> None:
        """Split the leaf with the highest gain, the oldest of equals, up to the maximum number of leaves."""
        root.n_rows, root.value = len(samples), self.value(self.sums(samples), l2, root)
        queue: list[tuple[Node, list[int], SplitCandidate]] = []
        n_leaves, children = 1, [(root, samples)]
        while True:
            for node, own in children:
                can_split = node.depth < max_depth and len(own) >= 2 * self.min_samples_leaf
                candidate = self.best_split(node, own, l2) if can_split else None
                if candidate is not None:
                    queue.append((node, own, candidate))
            if not queue or n_leaves == self.parameters.max_leaf_nodes:
                return
            highest = max(candidate.gain for _, _, candidate in queue)
            best = next(i for i, (_, _, candidate) in enumerate(queue) if candidate.gain == highest)
            children = self.split(*queue.pop(best), l2)
            n_leaves += 1

    def split(
        self, node: Node, samples: list[int], candidate: SplitCandidate, l2: float
    ) -> list[tuple[Node, list[int]]]:
        """Split a node; return its children and their rows."""
        node.column, node.missing_to, node.larger_side = (
            candidate.column,
            candidate.missing_to,
            candidate.larger_side,
        )
        node.left_bins, node.right_bins = candidate.left_bins, candidate.right_bins
        parts = [[i for i in samples if branch_of(node, self.rows[i]) == name] for name in ("left", "right")]
        # the bounds of the node, not of the children, limit the values of the children
        values = [self.value(self.sums(part), l2, node) for part in parts]
        bounds = [[node.low, node.high], [node.low, node.high]]
        direction = self.parameters.direction(node.column)
        if direction:
            middle = (values[0] + values[1]) / 2
            bounds[0][1 if direction > 0 else 0] = middle
            bounds[1][0 if direction > 0 else 1] = middle
        node.left, node.right = (
            Node(
                splitmix64(node.path, number),
                node.depth + 1,
                node.columns,
                *bounds[number],
                n_rows=len(parts[number]),
                value=values[number],
            )
            for number in (0, 1)
        )
        return [(node.left, parts[0]), (node.right, parts[1])]

    def best_split(self, node: Node, samples: list[int], l2: float) -> SplitCandidate | None:
        total = self.sums(samples)
        node_value = self.value(total, l2, node)
        node_reduction = self.loss_reduction(total, node_value, l2)
        best = None
        for column in sample_columns(node.columns, self.parameters.max_features, splitmix64(node.path, 3)):
            for candidate in self.candidates(column, samples, total):
                gain = self.gain(node, candidate, node_value, node_reduction, l2)
                if gain is None:
                    continue
                penalised_gain = gain - self.category_penalty(candidate.n_categories)
                if candidate.missing_to != "third":
                    penalised_gain -= self.penalty
                if penalised_gain > (best.penalised_gain if best else self.least_gain(total.rows)):
                    best = replace(candidate, gain=gain, penalised_gain=penalised_gain)
        return best

    def least_gain(self, n_rows: float) -> float:
        return self.split_penalty(n_rows) + self.parameters.min_gain

    def split_penalty(self, n_rows: float) -> float:
        ratio = n_rows / (2 * self.min_samples_leaf)
        return self.parameters.split_penalty * self.noise_gain * math.log(ratio) if ratio > 1 else 0.0

    def category_penalty(self, n_categories: int) -> float:
        return self.parameters.category_penalty * self.noise_gain * max(n_categories - 2, 0)

    def candidates(self, column: int, samples: list[int], total: GradientSums) -> Iterator[SplitCandidate]:
        """Yield the split candidates of a column; the first of equals wins."""
        cells: dict[int | None, GradientSums] = {}
        for i in samples:
            bin_ = self.rows[i][column]
            cells[bin_] = cells.get(bin_, GradientSums()) + self.sums([i])
        missing = cells.pop(None, GradientSums())
        order = self.bin_order(column, cells, total)
        is_category = self.parameters.categorical[column]
        everything = set(order) if is_category else set(range(self.parameters.n_bins[column]))
        for n_left in range(1, len(order)):
            left_bins = set(order[:n_left])
            if not is_category:  # a threshold also separates bins not seen in the node
                left_bins = set(range(order[n_left - 1] + 1))
            left = sum((cells[c] for c in order[:n_left]), GradientSums())
            right = sum((cells[c] for c in order[n_left:]), GradientSums())
            larger_side = "left" if left.rows > right.rows else "right"
            bins = (left_bins, everything - left_bins)
            for to in self.missing_branches(missing, larger_side):
                with_missing = {
                    "left": (left + missing, right, GradientSums()),
                    "right": (left, right + missing, GradientSums()),
                    "third": (left, right, missing),
                }
                n_categories = len(order) if is_category else 0
                yield SplitCandidate(column, *bins, to, larger_side, *with_missing[to], n_categories)
        splits_on_missing = self.parameters.missing in (
            "mia",
            "trinary_mia",
        ) and not self.parameters.direction(column)
        if splits_on_missing and missing.rows and order:
            observed = sum(cells.values(), GradientSums())
            yield SplitCandidate(
                column, set(), everything, "left", "right", missing, observed, GradientSums()
            )

    def bin_order(self, column: int, cells: dict[int, GradientSums], total: GradientSums) -> list[int]:
        if not self.parameters.categorical[column]:
            return sorted(cells)
        smoothing = 10 * self.to_float(total)[1] / total.rows

        def key(bin_: int) -> tuple[float, int]:
            gradient, hessian = self.to_float(cells[bin_])
            return -gradient / (hessian + smoothing), bin_

        return sorted(cells, key=key)

    def missing_branches(self, missing: GradientSums, larger_side: str) -> list[str]:
        strategy = self.parameters.missing
        if strategy == "trinary" or (strategy == "trinary_mia" and not missing.rows):
            return ["third"]
        if strategy == "majority" or not missing.rows:
            return [larger_side]
        return ["left", "right"] if strategy == "mia" else ["left", "third", "right"]

    def loss_reduction(self, sums: GradientSums, value: float, l2: float) -> float:
        gradient, hessian = self.to_float(sums)
        return -(2 * gradient * value + (hessian + l2) * value * value)

    def gain(
        self, node: Node, candidate: SplitCandidate, node_value: float, node_reduction: float, l2: float
    ) -> float | None:
        sides = (candidate.left, candidate.right)
        if min(s.rows for s in sides) < self.min_samples_leaf:
            return None
        if not self.constant and min(self.to_float(s)[1] for s in sides) < 1e-3:
            return None
        if self.parameters.monotonic:
            values = [self.value(s, l2, node) for s in sides]
            if self.parameters.direction(candidate.column) * (values[1] - values[0]) < 0:
                return None
            reduction = self.loss_reduction(sides[0], values[0], l2) + self.loss_reduction(
                sides[1], values[1], l2
            )
        else:
            (a, b), (c, d) = self.to_float(sides[0]), self.to_float(sides[1])
            reduction = a * a / (b + l2) + c * c / (d + l2)
        gradient, hessian = self.to_float(candidate.third)
        third = -(2 * gradient * node_value + hessian * node_value * node_value)
        gain = (reduction + third if candidate.third.rows else reduction) - node_reduction
        return gain if gain > 1e-12 * (abs(reduction) + abs(node_reduction)) else None


def branch_of(node: Node, row: Row) -> str:
    bin_ = row[node.column]
    if bin_ is None:
        return node.missing_to
    if bin_ in node.left_bins:
        return "left"
    if bin_ in node.right_bins:
        return "right"
    return node.missing_to if node.missing_to in ("third", "both") else node.larger_side


def leaves_of(node: Node) -> list[Node]:
    return [node] if node.column is None else leaves_of(node.left) + leaves_of(node.right)


def average_leaves(node: Node) -> float:
    if node.column is not None:
        left, right = average_leaves(node.left), average_leaves(node.right)
        n, m = float(node.left.n_rows), float(node.right.n_rows)
        node.value = (n * left + m * right) / (n + m)
    return node.value


def sample_columns(columns: list[int], fraction: float, random: int) -> list[int]:
    """Return a random fraction of the columns, at least one, in ascending order, drawn without replacement."""
    remaining, sampled = list(columns), []
    for i in range(min(max(int(fraction * len(columns)), 1), len(columns))):
        at = splitmix64(random, i) % len(remaining)
        sampled.append(remaining[at])
        remaining[at] = remaining[0]  # the first takes the place of the drawn one
        del remaining[0]
    return sorted(sampled)


def subsample_rows(n: int, parameters: GrowthParameters, number: int) -> list[int]:
    """Return the rows of an iteration: sequential sampling without replacement."""
    n_sampled, rows = math.ceil(parameters.subsample * n), []
    seed = splitmix64(parameters.seed ^ 0x517CC1B727220A95, number)
    for row in range(n):
        if (splitmix64(seed, row) >> 11) * 2.0**-53 * (n - row) < n_sampled - len(rows):
            rows.append(row)
    return rows


def content_order(rows: list[Row], weight: list[float] | None, parameters: GrowthParameters) -> list[int]:
    """Return the rows in the order of hashes of their bins; those with equal bins are numbered by their weights."""
    hashes = []
    for row in rows:
        found = parameters.seed
        for bin_, n_bins in zip(row, parameters.n_bins, strict=True):
            found = (found ^ (n_bins if bin_ is None else bin_)) * 0x100000001B3 & MASK
        hashes.append(splitmix64(found, 0))
    by_weight = sorted(range(len(rows)), key=lambda i: 0.0 if weight is None else weight[i])
    count: dict[int, int] = {}
    keys = {}
    for i in by_weight:
        numbered = splitmix64(hashes[i], count.setdefault(hashes[i], 0))
        keys[i] = splitmix64(hashes[i] >> 60 << 60 | numbered >> 4, 0)
        count[hashes[i]] += 1
    return sorted(keys, key=lambda i: (keys[i], i))


class CoarseBins:
    """Numeric columns with at most 64 bins, for fitting third branches."""

    def __init__(self, parameters: GrowthParameters) -> None:
        self._original = parameters
        limits = zip(parameters.n_bins, parameters.categorical, strict=True)
        n_bins = [n if is_category else min(n, 64) for n, is_category in limits]
        self.parameters = replace(
            parameters,
            n_bins=n_bins,
            max_features=1.0,
            split_penalty=THIRD_SPLIT_PENALTY * parameters.split_penalty,
            category_penalty=0.0,
        )

    def coarse(self, column: int, bin_: int | None) -> int | None:
        if bin_ is None or self._original.categorical[column]:
            return bin_
        return bin_ * self.parameters.n_bins[column] // self._original.n_bins[column]

    def row(self, row: Row) -> Row:
        return [self.coarse(column, bin_) for column, bin_ in enumerate(row)]

    def refine(self, node: Node) -> None:
        """Convert the splits of a tree from coarse bins to bins."""
        if node.column is None:
            return
        if not self._original.categorical[node.column]:
            bins = range(self._original.n_bins[node.column])
            left, right = node.left_bins, node.right_bins
            node.left_bins = {bin_ for bin_ in bins if self.coarse(node.column, bin_) in left}
            node.right_bins = {bin_ for bin_ in bins if self.coarse(node.column, bin_) in right}
        self.refine(node.left)
        self.refine(node.right)


def ordered_sum(numbers: list[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


def shrink(node: Node, rate: float) -> None:
    node.value, node.low, node.high = node.value * rate, node.low * rate, node.high * rate
    if node.column is not None:
        shrink(node.left, rate)
        shrink(node.right, rate)


def shift_by(node: Node, center: float) -> None:
    node.value, node.low, node.high = node.value + center, node.low + center, node.high + center
    if node.column is not None:
        shift_by(node.left, center)
        shift_by(node.right, center)
