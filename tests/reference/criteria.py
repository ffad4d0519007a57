"""Split criteria in exact arithmetic (except for the logarithms of cross-entropy)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

Number = Fraction | float
Value = tuple[Fraction, ...]


@dataclass(frozen=True)
class NodeStatistics:
    """Sums over rows from which a criterion computes value and loss."""

    rows: int
    membership: Fraction
    sums: tuple[Fraction, ...]

    def __add__(self, other: NodeStatistics) -> NodeStatistics:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return NodeStatistics(self.rows + other.rows, self.membership + other.membership, sums)

    def times(self, fraction: Fraction) -> NodeStatistics:
        """Return the statistics of the same rows with a fraction of their membership."""
        return NodeStatistics(self.rows, self.membership * fraction, tuple(s * fraction for s in self.sums))


class Criterion(Protocol):
    """A loss, and the value that minimises it."""

    def empty(self) -> NodeStatistics: ...
    def one(self, y: Any, weight: Fraction, membership: Fraction) -> NodeStatistics: ...
    def weight(self, statistics: NodeStatistics) -> Fraction: ...
    def value(self, statistics: NodeStatistics) -> Value: ...
    def loss(self, statistics: NodeStatistics) -> Number:
        """Return the loss of the rows at their own value."""

    def gain(self, statistics: NodeStatistics, reference: Value) -> Number:
        """Return the loss of the rows at the reference value minus their loss at their own."""

    def mean(self, value: Value) -> Fraction:
        """Return the number that categories are sorted by."""


class SquaredError:
    """sum w (y - d)^2, from the sums w, w y and w y^2."""

    def empty(self) -> NodeStatistics:
        return NodeStatistics(0, Fraction(0), (Fraction(0),) * 3)

    def one(self, y: Fraction, weight: Fraction, membership: Fraction) -> NodeStatistics:
        w = weight * membership
        return NodeStatistics(1, membership, (w, w * y, w * y * y))

    def weight(self, statistics: NodeStatistics) -> Fraction:
        return statistics.sums[0]

    def value(self, statistics: NodeStatistics) -> Value:
        w, wy, _ = statistics.sums
        return (wy / w,)

    def loss(self, statistics: NodeStatistics) -> Fraction:
        w, wy, wyy = statistics.sums
        return wyy - wy * wy / w

    def gain(self, statistics: NodeStatistics, reference: Value) -> Fraction:
        w, wy, _ = statistics.sums
        return (wy - w * reference[0]) ** 2 / w  # = w (own value - reference)^2

    def mean(self, value: Value) -> Fraction:
        return value[0]


class ClassProbabilities:
    """Base of the classification criteria: the sums are the weights of the classes."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def empty(self) -> NodeStatistics:
        return NodeStatistics(0, Fraction(0), (Fraction(0),) * self.n_classes)

    def one(self, y: int, weight: Fraction, membership: Fraction) -> NodeStatistics:
        w = weight * membership
        return NodeStatistics(
            1, membership, tuple(w if k == y else Fraction(0) for k in range(self.n_classes))
        )

    def weight(self, statistics: NodeStatistics) -> Fraction:
        return sum(statistics.sums, Fraction(0))

    def value(self, statistics: NodeStatistics) -> Value:
        total = self.weight(statistics)
        return tuple(w / total for w in statistics.sums)

    def mean(self, value: Value) -> Fraction:
        return sum(
            (k * p for k, p in enumerate(value)), Fraction(0)
        )  # two classes: the probability of class 1


class Gini(ClassProbabilities):
    """The Brier sum: sum_i w_i sum_k (1[y_i = k] - d_k)^2."""

    def loss(self, statistics: NodeStatistics) -> Fraction:
        return self.weight(statistics) * (1 - sum(p * p for p in self.value(statistics)))

    def gain(self, statistics: NodeStatistics, reference: Value) -> Fraction:
        own = self.value(statistics)
        return self.weight(statistics) * sum(
            ((p - d) ** 2 for p, d in zip(own, reference, strict=True)), Fraction(0)
        )


class Entropy(ClassProbabilities):
    """Cross-entropy in nats: - sum_i w_i log d_(y_i)."""

    def loss(self, statistics: NodeStatistics) -> float:
        own = self.value(statistics)
        return -math.fsum(float(w) * log(p) for w, p in zip(statistics.sums, own, strict=True) if w)

    def gain(self, statistics: NodeStatistics, reference: Value) -> float:
        own = self.value(statistics)
        return math.fsum(
            float(w) * log(p / d) for w, p, d in zip(statistics.sums, own, reference, strict=True) if w
        )


def log(ratio: Fraction) -> float:
    """Return the logarithm with full precision near 1."""
    return math.log1p(float(ratio - 1)) if abs(ratio - 1) < 0.5 else math.log(ratio)
