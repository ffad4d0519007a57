"""The losses of the slow twin, in exact arithmetic (cross-entropy needs logarithms, and those are floats)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

Number = Fraction | float
Value = tuple[Fraction, ...]


@dataclass(frozen=True)
class Tally:
    """What a criterion has to know about some rows: sums that add up."""

    rows: int
    members: Fraction
    sums: tuple[Fraction, ...]

    def __add__(self, other: Tally) -> Tally:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Tally(self.rows + other.rows, self.members + other.members, sums)

    def times(self, share: Fraction) -> Tally:
        """Return the tally of the same rows with only a share of their membership."""
        return Tally(self.rows, self.members * share, tuple(s * share for s in self.sums))


class Criterion(Protocol):
    """A loss, and the value that minimises it."""

    def empty(self) -> Tally: ...
    def one(self, y: Any, weight: Fraction, membership: Fraction) -> Tally: ...
    def weight(self, tally: Tally) -> Fraction: ...
    def value(self, tally: Tally) -> Value: ...
    def loss(self, tally: Tally) -> Number:
        """Return the loss of the rows under their own value."""

    def improve(self, tally: Tally, reference: Value) -> Number:
        """Return the loss of the rows under the reference less their loss under their own value."""

    def mean(self, value: Value) -> Fraction:
        """Return the number that categories are sorted by, and that says which side is lower."""


class SquaredError:
    """sum w (y - d)^2, from the sums w, w y and w y^2."""

    def empty(self) -> Tally:
        return Tally(0, Fraction(0), (Fraction(0),) * 3)

    def one(self, y: Fraction, weight: Fraction, membership: Fraction) -> Tally:
        w = weight * membership
        return Tally(1, membership, (w, w * y, w * y * y))

    def weight(self, tally: Tally) -> Fraction:
        return tally.sums[0]

    def value(self, tally: Tally) -> Value:
        w, wy, _ = tally.sums
        return (wy / w,)

    def loss(self, tally: Tally) -> Fraction:
        w, wy, wyy = tally.sums
        return wyy - wy * wy / w

    def improve(self, tally: Tally, reference: Value) -> Fraction:
        w, wy, _ = tally.sums
        return (wy - w * reference[0]) ** 2 / w  # = w (own value - reference)^2

    def mean(self, value: Value) -> Fraction:
        return value[0]


class ClassShares:
    """What the two criteria of classification have in common: the sums are the weights of the classes."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def empty(self) -> Tally:
        return Tally(0, Fraction(0), (Fraction(0),) * self.n_classes)

    def one(self, y: int, weight: Fraction, membership: Fraction) -> Tally:
        w = weight * membership
        return Tally(1, membership, tuple(w if k == y else Fraction(0) for k in range(self.n_classes)))

    def weight(self, tally: Tally) -> Fraction:
        return sum(tally.sums, Fraction(0))

    def value(self, tally: Tally) -> Value:
        total = self.weight(tally)
        return tuple(w / total for w in tally.sums)

    def mean(self, value: Value) -> Fraction:
        return sum(
            (k * share for k, share in enumerate(value)), Fraction(0)
        )  # two classes: the share of class 1


class Gini(ClassShares):
    """The Brier sum: sum_i w_i sum_k (1[y_i = k] - d_k)^2."""

    def loss(self, tally: Tally) -> Fraction:
        return self.weight(tally) * (1 - sum(p * p for p in self.value(tally)))

    def improve(self, tally: Tally, reference: Value) -> Fraction:
        own = self.value(tally)
        return self.weight(tally) * sum(
            ((p - d) ** 2 for p, d in zip(own, reference, strict=True)), Fraction(0)
        )


class Entropy(ClassShares):
    """Cross-entropy in nats: - sum_i w_i log d_(y_i)."""

    def loss(self, tally: Tally) -> float:
        own = self.value(tally)
        return -math.fsum(float(w) * log(p) for w, p in zip(tally.sums, own, strict=True) if w)

    def improve(self, tally: Tally, reference: Value) -> float:
        own = self.value(tally)
        return math.fsum(
            float(w) * log(p / d) for w, p, d in zip(tally.sums, own, reference, strict=True) if w
        )


def log(ratio: Fraction) -> float:
    """Return the logarithm to full precision, also next to 1."""
    return math.log1p(float(ratio - 1)) if abs(ratio - 1) < 0.5 else math.log(ratio)
