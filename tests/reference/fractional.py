"""The slow twin of fractional boosting: a row whose value is missing goes both ways, in parts that add up to the row.

A part is a whole number of units, of which a row has a power of two; its derivatives are rounded to whole units, as in
the core, so that answers agree bit for bit. Everything else is what `boosted_twin` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference.boosting import BoostedTwin, Fit, Node, Row, Rules, mixed, side

Parts = dict[int, int]  # by row, how many units of it there are
SLACK = 1e-9  # in comparing a sum of parts with a number of rows


@dataclass
class PartNode(Node):
    share: float = 0.0  # of a row that goes left where its value is missing
    weight: float = 0.0  # rows, each counted by the part that is there


@dataclass
class PartSums:
    first: int = 0
    second: int = 0
    units: int = 0
    rows: int = 0

    def __add__(self, other: PartSums) -> PartSums:
        return PartSums(
            self.first + other.first,
            self.second + other.second,
            self.units + other.units,
            self.rows + other.rows,
        )


@dataclass
class SharedCut:
    column: int
    left_codes: set[int]
    right_codes: set[int]
    left: PartSums  # of observed rows
    right: PartSums
    missing: PartSums

    @property
    def share(self) -> float:
        return self.left.rows / (self.left.rows + self.right.rows)

    @property
    def sides(self) -> tuple[tuple[PartSums, float], tuple[PartSums, float]]:
        """The observed rows of each side, and its share of the others."""
        return (self.left, self.share), (self.right, 1 - self.share)


class FractionalFit:
    """A tree fitted to derivatives, whose nodes hold parts of rows."""

    def __init__(self, rules: Rules, rows: list[Row], first: list[float], weight: list[float] | None) -> None:
        self.rules, self.rows = rules, rows
        self.of_rows = Fit(rules, rows, first, weight, rules.min_samples_leaf)
        self.whole = 2 ** min(52, 62 - len(rows).bit_length())
        self.needed = rules.min_samples_leaf - SLACK

    def grow_all(self, root: PartNode, rows: list[int]) -> None:
        everything = dict.fromkeys(rows, self.whole)
        self.grow(root, everything, self.value(self.read(self.sums(everything)), root))

    def sums(self, parts: Parts) -> PartSums:
        return sum((self.one(i, units) for i, units in parts.items()), PartSums())

    def one(self, row: int, units: int) -> PartSums:
        share = units / self.whole
        second = units if self.of_rows.constant else round(self.of_rows.second[row] * share)
        return PartSums(round(self.of_rows.first[row] * share), second, units, 1)

    def read(self, sums: PartSums) -> tuple[float, float]:
        unit = 1 / self.whole if self.of_rows.constant else self.of_rows.second_unit
        return float(sums.first) * self.of_rows.unit, float(sums.second) * unit

    def value(self, sums: tuple[float, float], node: Node) -> float:
        first, second = sums
        weight = second + self.rules.l2
        return min(max(-first / weight if weight > 0 else 0.0, node.low), node.high)

    def grow(self, node: PartNode, parts: Parts, value: float) -> None:
        total = self.sums(parts)
        node.value, node.n_rows, node.weight = value, len(parts), total.units / self.whole
        if node.depth >= self.rules.max_depth or node.weight < 2 * self.rules.min_samples_leaf - SLACK:
            return
        cut = self.search(node, parts, total)
        if cut is None:
            return
        node.column, node.missing_to, node.share = cut.column, "both", cut.share
        node.left_codes, node.right_codes = cut.left_codes, cut.right_codes
        values = [self.value(self.joined(cut, *of), node) for of in cut.sides]
        bounds = [[node.low, node.high], [node.low, node.high]]
        direction = self.rules.direction(cut.column)
        if direction:
            middle = (values[0] + values[1]) / 2
            bounds[0][1 if direction > 0 else 0] = middle
            bounds[1][0 if direction > 0 else 1] = middle
        for number, (name, own) in enumerate(zip(("left", "right"), self.dealt(node, parts), strict=True)):
            child = PartNode(mixed(node.path, number), node.depth + 1, node.columns, *bounds[number])
            setattr(node, name, child)
            self.grow(child, own, values[number])

    def dealt(self, node: PartNode, parts: Parts) -> tuple[Parts, Parts]:
        """Return the parts that go left, and those that go right."""
        left: Parts = {}
        right: Parts = {}
        for i, units in parts.items():
            to = side(node, self.rows[i])
            goes_left = {"left": units, "right": 0, "both": round(units * node.share)}[to]
            if goes_left:
                left[i] = goes_left
            if units - goes_left:
                right[i] = units - goes_left
        return left, right

    def search(self, node: PartNode, parts: Parts, total: PartSums) -> SharedCut | None:
        node_fall = self.fall(self.read(total), self.value(self.read(total), node))
        best, most = None, 0.0
        for column in node.columns:
            for cut in self.cuts(column, parts, total):
                gain = self.gain(node, cut, node_fall)
                if gain is not None and gain > most:
                    best, most = cut, gain
        return best

    def cuts(self, column: int, parts: Parts, total: PartSums) -> Iterator[SharedCut]:
        cells: dict[int | None, PartSums] = {}
        for i, units in parts.items():
            code = self.rows[i][column]
            cells[code] = cells.get(code, PartSums()) + self.one(i, units)
        missing = cells.pop(None, PartSums())
        is_category = self.rules.categorical[column]
        order = self.in_order(cells, total) if is_category else sorted(cells)
        everything = set(order) if is_category else set(range(self.rules.n_codes[column]))
        for n_left in range(1, len(order)):
            # a threshold also parts codes that the node has not seen
            left_codes = set(order[:n_left]) if is_category else set(range(order[n_left - 1] + 1))
            left = sum((cells[c] for c in order[:n_left]), PartSums())
            right = sum((cells[c] for c in order[n_left:]), PartSums())
            yield SharedCut(column, left_codes, everything - left_codes, left, right, missing)

    def in_order(self, cells: dict[int, PartSums], total: PartSums) -> list[int]:
        smoothing = 10 * self.read(total)[1] / (total.units / self.whole)

        def key(code: int) -> tuple[float, int]:
            first, second = self.read(cells[code])
            return -first / (second + smoothing), code

        return sorted(cells, key=key)

    def joined(self, cut: SharedCut, observed: PartSums, share: float) -> tuple[float, float]:
        """Return the sums of a side with its share of the rows whose value is missing."""
        (first, second), (more, and_more) = self.read(observed), self.read(cut.missing)
        return first + share * more, second + share * and_more

    def fall(self, sums: tuple[float, float], value: float) -> float:
        first, second = sums
        return -(2 * first * value + (second + self.rules.l2) * value * value)

    def gain(self, node: PartNode, cut: SharedCut, node_fall: float) -> float | None:
        for observed, share in cut.sides:
            if observed.units / self.whole + share * (cut.missing.units / self.whole) < self.needed:
                return None
        sides = [self.joined(cut, *of) for of in cut.sides]
        if not self.of_rows.constant and min(second for _, second in sides) < 1e-3:
            return None
        if self.rules.monotonic:
            values = [self.value(sums, node) for sums in sides]
            if self.rules.direction(cut.column) * (values[1] - values[0]) < 0:
                return None
            reached = self.fall(sides[0], values[0]) + self.fall(sides[1], values[1])
        else:
            (a, b), (c, d) = sides
            reached = a * a / (b + self.rules.l2) + c * c / (d + self.rules.l2)
        gain = reached - node_fall
        return gain if gain > 1e-12 * (abs(reached) + abs(node_fall)) else None


class FractionalTwin(BoostedTwin):
    """Boosting by squared error, with rows that go both ways."""

    def fit(self, root: Node, first: list[float], members: list[int]) -> PartNode:
        grown = PartNode(root.path, root.depth, root.columns, root.low, root.high)
        FractionalFit(self.rules, self.background, first, self.weight).grow_all(grown, members)
        return grown

    def settle(self, root: Node) -> None:
        average_parts(root)

    def answer(self, node: Node, row: Row) -> float:
        if node.column is None:
            return node.value
        to = side(node, row)
        if to != "both":
            return self.answer(node.left if to == "left" else node.right, row)
        return node.share * self.answer(node.left, row) + (1 - node.share) * self.answer(node.right, row)


def average_parts(node: PartNode) -> float:
    if node.column is not None:
        left, right = average_parts(node.left), average_parts(node.right)
        n, m = node.left.weight, node.right.weight
        node.value = (n * left + m * right) / (n + m)
    return node.value
