"""The slow twin of boosting: trees and third branches grown straight from their definitions, one row at a time.

A row is a list of codes, None where it is missing; codes of a numeric column are ranks of its values. Nothing is
shared between branches. Sums are whole numbers in the unit of the node's tree, as in the core, so that answers agree
bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

Row = list[int | None]

MASK = 2**64 - 1
PRICE = 2.0  # of sending missing values to one side, as multiples of what chance gains
THIRD_LEAF = 2  # the fewest rows on either side of a split in a third branch


def mixed(a: int, b: int) -> int:
    x = (a + 0x9E3779B97F4A7C15 * (b + 1)) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


@dataclass(frozen=True)
class Rules:
    """How trees are grown."""

    n_codes: list[int]  # per column
    categorical: list[bool]
    missing: str = "trinary_mia"
    max_depth: int = 3
    max_leaf_nodes: int | None = None  # of a tree, and of each third branch
    min_samples_leaf: int = 5
    l2: float = 0.0
    monotonic: list[int] = field(default_factory=list)
    third_depth_extra: int = 0
    third_rows: int = 1000
    subsample: float = 1.0
    max_features: float = 1.0  # the share of its columns that a node looks at
    seed: int = 0

    def direction(self, column: int) -> int:
        return self.monotonic[column] if self.monotonic else 0


@dataclass
class Node:
    path: int
    depth: int
    columns: list[int]  # that its third branches may use, and itself
    low: float
    high: float
    n_rows: int = 0
    value: float = 0.0
    doubt: float = 0.0  # what the tree adds to the variance of the sum
    column: int | None = None  # None in a leaf
    left_codes: set[int] = field(default_factory=set)
    right_codes: set[int] = field(default_factory=set)
    missing_to: str = ""
    larger: str = "right"
    left: Node | None = None
    right: Node | None = None
    third: Node | None = None
    rows: list[int] = field(default_factory=list)  # background rows, in the order of the leaves below


@dataclass
class Sums:
    first: int = 0
    second: int = 0
    rows: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.first + other.first, self.second + other.second, self.rows + other.rows)


@dataclass
class Cut:
    column: int
    left_codes: set[int]
    right_codes: set[int]
    missing_to: str
    larger: str
    left: Sums
    right: Sums
    staying: Sums  # rows that keep the node's value: those that go third
    gain: float = 0.0
    worth: float = 0.0  # the gain less what the cut must be better by


def scale_for(most: float, bits: int) -> float:
    return math.ldexp(1.0, bits - math.frexp(most)[1]) if most > 0 else 1.0


class Fit:
    """A binary tree fitted to derivatives by the rules; second derivatives are 1 unless they are given."""

    def __init__(
        self, rules: Rules, rows: list[Row], first: list[float], second: list[float] | None, leaf: int
    ):
        self.rules, self.rows, self.leaf = rules, rows, leaf
        bits = len(rows).bit_length()
        scale = scale_for(max(map(abs, first), default=0.0), min(30, 61 - bits))
        self.first = [round(g * scale) for g in first]
        self.unit = 1 / scale
        self.constant = second is None
        self.second, self.second_unit = [1] * len(rows), 1.0
        if second is not None:
            second_scale = min(scale_for(max(second), 30), scale_for(sum(second), 61 - bits))
            self.second = [round(h * second_scale) for h in second]
            self.second_unit = 1 / second_scale
        seconds = float(len(rows)) if second is None else sum_in_order(second)
        chance = sum_in_order([g * g for g in first]) / seconds if seconds else 0.0
        self.price = PRICE * chance if rules.missing == "trinary_mia" else 0.0

    def sums(self, members: list[int]) -> Sums:
        return Sums(sum(self.first[i] for i in members), sum(self.second[i] for i in members), len(members))

    def read(self, sums: Sums) -> tuple[float, float]:
        return float(sums.first) * self.unit, float(sums.second) * self.second_unit

    def value(self, sums: Sums, l2: float, node: Node) -> float:
        first, second = self.read(sums)
        return min(max(-first / (second + l2) if second + l2 > 0 else 0.0, node.low), node.high)

    def grow(self, root: Node, members: list[int], l2: float, max_depth: int) -> None:
        """Split the most useful leaf, of equals the oldest, until none can be or there are enough."""
        root.n_rows, root.value = len(members), self.value(self.sums(members), l2, root)
        waiting: list[tuple[Node, list[int], Cut]] = []
        n_leaves, new = 1, [(root, members)]
        while True:
            for node, own in new:
                may = node.depth < max_depth and len(own) >= 2 * self.leaf
                cut = self.search(node, own, l2) if may else None
                if cut is not None:
                    waiting.append((node, own, cut))
            if not waiting or n_leaves == self.rules.max_leaf_nodes:
                return
            most = max(cut.gain for _, _, cut in waiting)
            best = next(i for i, (_, _, cut) in enumerate(waiting) if cut.gain == most)
            new = self.split(*waiting.pop(best), l2)
            n_leaves += 1

    def split(self, node: Node, members: list[int], cut: Cut, l2: float) -> list[tuple[Node, list[int]]]:
        """Split a node; return its daughters and their rows."""
        node.column, node.missing_to, node.larger = cut.column, cut.missing_to, cut.larger
        node.left_codes, node.right_codes = cut.left_codes, cut.right_codes
        parts = [[i for i in members if side(node, self.rows[i]) == name] for name in ("left", "right")]
        # values are those of the cut, which the node's own bounds limit, not the daughters'
        values = [self.value(self.sums(part), l2, node) for part in parts]
        bounds = [[node.low, node.high], [node.low, node.high]]
        direction = self.rules.direction(node.column)
        if direction:
            middle = (values[0] + values[1]) / 2
            bounds[0][1 if direction > 0 else 0] = middle
            bounds[1][0 if direction > 0 else 1] = middle
        node.left, node.right = (
            Node(
                mixed(node.path, number),
                node.depth + 1,
                node.columns,
                *bounds[number],
                n_rows=len(parts[number]),
                value=values[number],
            )
            for number in (0, 1)
        )
        return [(node.left, parts[0]), (node.right, parts[1])]

    def search(self, node: Node, members: list[int], l2: float) -> Cut | None:
        total = self.sums(members)
        node_value = self.value(total, l2, node)
        node_fall = self.fall(total, node_value, l2)
        best = None
        for column in some_of(node.columns, self.rules.max_features, mixed(node.path, 3)):
            for cut in self.cuts(column, members, total):
                gain = self.gain(node, cut, node_value, node_fall, l2)
                if gain is None:
                    continue
                worth = gain if cut.missing_to == "third" else gain - self.price
                if worth > (best.worth if best else 0.0):
                    best = replace(cut, gain=gain, worth=worth)
        return best

    def cuts(self, column: int, members: list[int], total: Sums) -> Iterator[Cut]:
        """Yield every cut of a column, in the order in which the first of equals is taken."""
        cells: dict[int | None, Sums] = {}
        for i in members:
            code = self.rows[i][column]
            cells[code] = cells.get(code, Sums()) + self.sums([i])
        missing = cells.pop(None, Sums())
        order = self.in_order(column, cells, total)
        everything = set(order) if self.rules.categorical[column] else set(range(self.rules.n_codes[column]))
        for n_left in range(1, len(order)):
            left_codes = set(order[:n_left])
            if not self.rules.categorical[column]:  # a threshold also parts codes that the node has not seen
                left_codes = set(range(order[n_left - 1] + 1))
            left = sum((cells[c] for c in order[:n_left]), Sums())
            right = sum((cells[c] for c in order[n_left:]), Sums())
            larger = "left" if left.rows > right.rows else "right"
            codes = (left_codes, everything - left_codes)
            for to in self.ways(missing, larger):
                with_missing = {
                    "left": (left + missing, right, Sums()),
                    "right": (left, right + missing, Sums()),
                    "third": (left, right, missing),
                }
                yield Cut(column, *codes, to, larger, *with_missing[to])
        may = self.rules.missing in ("mia", "trinary_mia") and not self.rules.direction(column)
        if may and missing.rows and order:
            observed = sum(cells.values(), Sums())
            yield Cut(column, set(), everything, "left", "right", missing, observed, Sums())

    def in_order(self, column: int, cells: dict[int, Sums], total: Sums) -> list[int]:
        if not self.rules.categorical[column]:
            return sorted(cells)
        smoothing = 10 * self.read(total)[1] / total.rows

        def key(code: int) -> tuple[float, int]:
            first, second = self.read(cells[code])
            return -first / (second + smoothing), code

        return sorted(cells, key=key)

    def ways(self, missing: Sums, larger: str) -> list[str]:
        kind = self.rules.missing
        if kind == "trinary" or (kind == "trinary_mia" and not missing.rows):
            return ["third"]
        if kind == "majority" or not missing.rows:
            return [larger]
        return ["left", "right"] if kind == "mia" else ["left", "third", "right"]

    def fall(self, sums: Sums, value: float, l2: float) -> float:
        first, second = self.read(sums)
        return -(2 * first * value + (second + l2) * value * value)

    def gain(self, node: Node, cut: Cut, node_value: float, node_fall: float, l2: float) -> float | None:
        sides = (cut.left, cut.right)
        if min(s.rows for s in sides) < self.leaf:
            return None
        if not self.constant and min(self.read(s)[1] for s in sides) < 1e-3:
            return None
        if self.rules.monotonic:
            values = [self.value(s, l2, node) for s in sides]
            if self.rules.direction(cut.column) * (values[1] - values[0]) < 0:
                return None
            reached = self.fall(sides[0], values[0], l2) + self.fall(sides[1], values[1], l2)
        else:
            (a, b), (c, d) = self.read(sides[0]), self.read(sides[1])
            reached = a * a / (b + l2) + c * c / (d + l2)
        first, second = self.read(cut.staying)
        kept = -(2 * first * node_value + second * node_value * node_value)
        gain = (reached + kept if cut.staying.rows else reached) - node_fall
        return gain if gain > 1e-12 * (abs(reached) + abs(node_fall)) else None


def side(node: Node, row: Row) -> str:
    code = row[node.column]
    if code is None:
        return node.missing_to
    if code in node.left_codes:
        return "left"
    if code in node.right_codes:
        return "right"
    return node.missing_to if node.missing_to in ("third", "both") else node.larger


def average(node: Node) -> float:
    if node.column is not None:
        left, right = average(node.left), average(node.right)
        n, m = float(node.left.n_rows), float(node.right.n_rows)
        node.value = (n * left + m * right) / (n + m)
    return node.value


def some_of(columns: list[int], share: float, random: int) -> list[int]:
    """Return a share of the columns, at least one, in their order: each in turn drawn from those that are left."""
    left, some = list(columns), []
    for i in range(min(max(int(share * len(columns)), 1), len(columns))):
        at = mixed(random, i) % len(left)
        some.append(left[at])
        left[at] = left[0]  # who is first changes places with the one drawn
        del left[0]
    return sorted(some)


def drawn(n: int, rules: Rules, number: int) -> list[int]:
    """Return the rows that a round is fitted to: each in turn with the chance that leaves as many as there must be."""
    wanted, rows = math.ceil(rules.subsample * n), []
    seed = mixed(rules.seed ^ 0x517CC1B727220A95, number)
    for row in range(n):
        if (mixed(seed, row) >> 11) * 2.0**-53 * (n - row) < wanted - len(rows):
            rows.append(row)
    return rows


class Coarse:
    """Numeric columns with at most 64 codes: those that third branches are fitted by, whose nodes look at all."""

    def __init__(self, rules: Rules) -> None:
        self._fine = rules
        limits = zip(rules.n_codes, rules.categorical, strict=True)
        n_codes = [n if is_category else min(n, 64) for n, is_category in limits]
        self.rules = replace(rules, n_codes=n_codes, max_features=1.0)

    def code(self, column: int, code: int | None) -> int | None:
        if code is None or self._fine.categorical[column]:
            return code
        return code * self.rules.n_codes[column] // self._fine.n_codes[column]

    def row(self, row: Row) -> Row:
        return [self.code(column, code) for column, code in enumerate(row)]

    def refine(self, node: Node) -> None:
        """Let a tree that asks for coarse codes ask for codes."""
        if node.column is None:
            return
        if not self._fine.categorical[node.column]:
            codes = range(self._fine.n_codes[node.column])
            left, right = node.left_codes, node.right_codes
            node.left_codes = {code for code in codes if self.code(node.column, code) in left}
            node.right_codes = {code for code in codes if self.code(node.column, code) in right}
        self.refine(node.left)
        self.refine(node.right)


class BoostedTwin:
    """Boosting by squared error."""

    def __init__(
        self,
        rules: Rules,
        rows: list[Row],
        y: list[float],
        learning_rate: float,
        n_rounds: int,
        weight: list[float] | None = None,
    ) -> None:
        if weight is not None:
            usual = float(np.mean([w for w in weight if w > 0]))
            while usual < 0.5**0.5:
                usual, weight = 2 * usual, [2 * w for w in weight]
        self.rules, self.background, self.weight = rules, rows, weight
        # of background rows; only their ratios are to matter
        self.shares = None if weight is None else [w / (sum_in_order(weight) / len(weight)) for w in weight]
        self.begin = self.first_answer(y)
        self.trees: list[Node] = []
        self.is_trained = False  # branches that training itself needs leave nothing open
        self.asked = 0  # the tree at hand
        raw = [self.begin] * len(y)
        for number in range(n_rounds):
            root = Node(mixed(rules.seed, number), 0, list(range(len(rules.n_codes))), -math.inf, math.inf)
            first, self.second = self.derivatives(raw, y)
            root = self.fit(root, first, drawn(len(rows), rules, number))
            shrink(root, learning_rate)
            self.settle(root)
            self.trees.append(root)
            raw = [r + self.answer(root, row) for r, row in zip(raw, rows, strict=True)]
        self.is_trained = True

    def first_answer(self, y: list[float]) -> float:
        """Return where boosting begins."""
        return float(np.average(y, weights=self.weight))

    def derivatives(self, raw: list[float], y: list[float]) -> tuple[list[float], list[float] | None]:
        """Return the first derivative of the loss at each row, and the second if it is not 1 at all of them."""
        return [w * (r - t) for w, r, t in zip(self.weights_of(y), raw, y, strict=True)], self.weight

    def weights_of(self, y: list[float]) -> list[float]:
        return [1.0] * len(y) if self.weight is None else self.weight

    def fit(self, root: Node, first: list[float], members: list[int]) -> Node:
        """Return a tree that is fitted to derivatives of some rows, grown from its root."""
        fit = Fit(self.rules, self.background, first, self.second, self.rules.min_samples_leaf)
        fit.grow(root, members, self.rules.l2, self.rules.max_depth)
        return root

    def settle(self, root: Node) -> None:
        """Give the nodes of a tree the values of their leaves, and their background rows."""
        average(root)
        self.arrange(root, list(range(len(self.background))))

    def predict(self, row: Row) -> float:
        total = self.begin
        for number, tree in enumerate(self.trees):
            self.asked = number
            total += self.answer(tree, row)
        return total

    def doubt(self, row: Row) -> float:
        """Return the variance that what is missing leaves the sum over trees."""
        found = []
        for number, tree in enumerate(self.trees):
            self.asked = number
            found.append(self.end(tree, row).doubt)
        return sum_in_order(found)

    def answer(self, node: Node, row: Row) -> float:
        return self.end(node, row).value

    def end(self, node: Node, row: Row) -> Node:
        while node.column is not None:
            to = side(node, row)
            if to == "third":
                if node.third is None:
                    node.third = self.grow_third(node)
                node = node.third
            else:
                node = node.left if to == "left" else node.right
        return node

    def arrange(self, node: Node, rows: list[int]) -> list[int]:
        """Give every node its background rows, in the order of the leaves below it."""
        if node.column is not None:
            sides = [side(node, self.background[i]) for i in rows]
            parts = {
                name: [i for i, to in zip(rows, sides, strict=True) if to == name]
                for name in ("left", "right", "third")
            }
            rows = (
                self.arrange(node.left, parts["left"])
                + self.arrange(node.right, parts["right"])
                + parts["third"]
            )
        node.rows = rows
        return rows

    def grow_third(self, node: Node) -> Node:
        """Return the third branch: a tree of the other columns, fitted to what left and right say."""
        rules = self.rules
        rows = [i for i in node.rows if side(node, self.background[i]) != "third"]
        if len(rows) > rules.third_rows:
            n, shift = len(rows), node.path % len(rows)
            rows = [rows[(i * n + shift) // rules.third_rows] for i in range(rules.third_rows)]
        columns = [c for c in node.columns if c != node.column]
        third = Node(mixed(node.path, 2), node.depth, columns, node.low, node.high, value=node.value)
        if not rows:
            return third
        said = []
        for i in rows:
            row = self.background[i]
            said.append(self.answer(node.left if side(node, row) == "left" else node.right, row))
        weight = None if self.shares is None else [self.shares[i] for i in rows]
        each = weight or [1.0] * len(rows)
        weights = sum_in_order(each)
        center = sum_in_order([w * t for w, t in zip(each, said, strict=True)]) / weights if weights else 0.0
        third.low, third.high = third.low - center, third.high - center
        coarse = Coarse(rules)
        local = [coarse.row(self.background[i]) for i in rows]
        first = [(center - t) * w for w, t in zip(each, said, strict=True)]
        fit = Fit(coarse.rules, local, first, weight, min(rules.min_samples_leaf, THIRD_LEAF))
        fit.grow(third, list(range(len(rows))), 0.0, rules.max_depth + rules.third_depth_extra)
        coarse.refine(third)
        shift_by(third, center)
        average(third)
        self.arrange(third, rows)
        if self.is_trained:
            self.measure(third, self.trees[self.asked], self.trees[: self.asked])
        return third

    def measure(self, node: Node, tree: Node, before: list[Node]) -> None:
        """Tell the nodes of a third branch what they leave open."""
        own = [self.answer(tree, self.background[i]) for i in node.rows]
        said = [sum_in_order([self.answer(t, self.background[i]) for t in before]) for i in node.rows]
        both = [a + 2 * b for a, b in zip(own, said, strict=True)]
        weight = [1.0 if self.shares is None else self.shares[i] for i in node.rows]
        n, weights = float(len(node.rows)), sum_in_order(weight)
        if n >= 2 and weights > 0:
            middle = sum_in_order([w * a for w, a in zip(weight, own, strict=True)]) / weights
            both_middle = sum_in_order([w * b for w, b in zip(weight, both, strict=True)]) / weights
            parts = [w * (a - middle) * (b - both_middle) for w, a, b in zip(weight, own, both, strict=True)]
            node.doubt = sum_in_order(parts) / weights * (n / (n - 1))
        if node.column is not None:
            self.measure(node.left, tree, before)
            self.measure(node.right, tree, before)


class TwoClassTwin(BoostedTwin):
    """Boosting by the log-loss of two classes: y are 0 and 1, and what is predicted are log-odds."""

    def first_answer(self, y: list[float]) -> float:
        share = np.average(y, weights=self.weight)
        return float(np.log(share) - np.log1p(-share))

    def derivatives(self, raw: list[float], y: list[float]) -> tuple[list[float], list[float] | None]:
        weights, shares = self.weights_of(y), [share_of(r) for r in raw]
        return (
            [w * (p - t) for w, p, t in zip(weights, shares, y, strict=True)],
            [w * (p * (1 - p)) for w, p in zip(weights, shares, strict=True)],
        )


def share_of(log_odds: float) -> float:
    """Return the share of the second class."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    e = math.exp(log_odds)
    return e / (1 + e)


def sum_in_order(numbers: list[float]) -> float:
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
