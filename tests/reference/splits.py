"""Splits and nodes of the reference trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from reference.criteria import Number, Value

LEFT, RIGHT, THIRD, BOTH, SURROGATES = "left", "right", "third", "both", "surrogates"
STAYS = "stays"  # in the node: neither branch

FeatureValue = float | int | None
Rows = dict[int, Fraction]  # row number -> membership, which is 1 except under `fractional`


@dataclass(frozen=True)
class Threshold:
    """Left is below the threshold."""

    at: float
    below: str = LEFT

    def side(self, x: float) -> str:
        return self.below if x < self.at else opposite(self.below)


@dataclass(frozen=True)
class CategorySets:
    """Two sets of categories; a category in neither was not seen in the node."""

    left: frozenset[int]
    right: frozenset[int]

    def side(self, x: float) -> str | None:
        return LEFT if x in self.left else RIGHT if x in self.right else None


@dataclass(frozen=True)
class Observed:
    """Missing against observed: observed values go right."""

    def side(self, x: float) -> str:
        return RIGHT


Test = Threshold | CategorySets | Observed


@dataclass(frozen=True)
class Surrogate:
    """A test of another column that replaces the primary one if its value is missing."""

    column: int
    test: Threshold | CategorySets
    agreement: Fraction


@dataclass(frozen=True)
class Split:
    """A test of a column, and the branches of missing values and unknown categories."""

    column: int
    test: Test
    missing_to: str
    unknown_to: str
    gain: Number
    left_fraction: Fraction = Fraction(0)
    surrogates: tuple[Surrogate, ...] = ()
    fallback: str = STAYS  # where rows go that no surrogate places

    def branch_of(self, row: Sequence[FeatureValue]) -> str:
        """Return the branch of a row: left, right, third, both, or that it stays."""
        x = row[self.column]
        side = self.missing_to if x is None else (self.test.side(x) or self.unknown_to)
        return self.surrogate_branch(row) if side == SURROGATES else side

    def surrogate_branch(self, row: Sequence[FeatureValue]) -> str:
        """Return the side given by the first surrogate that applies to the row."""
        for surrogate in self.surrogates:
            x = row[surrogate.column]
            side = None if x is None else surrogate.test.side(x)
            if side is not None:
                return side
        return self.fallback


@dataclass(eq=False)
class Node:
    """A node of the tree; a leaf has no split, but may have a best one that exceeds the number of leaves."""

    rows: Rows
    columns: tuple[int, ...]
    depth: int
    value: Value
    best: Split | None = None
    split: Split | None = None
    branches: dict[str, Node] = field(default_factory=dict)

    def n_leaves(self) -> int:
        """Return the number of leaves below left and right branches."""
        if self.split is None:
            return 1
        return self.branches[LEFT].n_leaves() + self.branches[RIGHT].n_leaves()

    def nodes(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        yield self
        for branch in self.branches.values():
            yield from branch.nodes()


def opposite(side: str) -> str:
    return RIGHT if side == LEFT else LEFT


def midpoint(low: float, high: float) -> float:
    """Return the threshold between two neighbouring values."""
    middle = (low + high) / 2
    return middle if middle > low else high
