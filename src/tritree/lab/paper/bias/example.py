"""The example of the paper's Section 3: its parameters, and the distribution of observed and missing rows.

X is right with probability p and left otherwise; Y has mean a on the left and b on the right, with normal noise. Each
X is missing with probability q, completely at random. Of n rows L are observed left, R observed right and M missing,
and k of the missing ones belong right::

    (L, R, M) is multinomial with (1-p)(1-q), p(1-q), q;    k given M is binomial with p
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Counts with a smaller probability are omitted; they change results by far less than 1e-9 of b - a and the noise.
IMPROBABLE = 1e-15
_MIN_PROBABILITY = 1e-9  # that both sides are observed; below, expectations are rounding errors
_BLOCK = 1 << 16  # combinations of M, L and k at a time


class Estimates(NamedTuple):
    """Estimates of a and b."""

    a: float
    b: float


class Counts(NamedTuple):
    """Numbers of rows observed left, observed right and missing, with the probability of each combination."""

    L: Floats
    R: Floats
    M: Floats
    probability: Floats


@dataclass(frozen=True)
class Example:
    """Validated parameters of the example."""

    a: float
    b: float
    p: float
    q: float
    n: int
    noise: float = 0.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be a finite number, got {getattr(self, name)!r}")
        if self.a == self.b:
            raise ValueError(f"a and b must differ, both are {self.a!r}: there is nothing to split")
        if not math.isfinite(self.b - self.a):
            raise ValueError(f"a and b are too far apart: b - a is {self.b - self.a!r}")
        if not 0 < self.p < 1:
            raise ValueError(f"p, the probability of right, must lie between 0 and 1, got {self.p!r}")
        if not 0 <= self.q < 1:
            raise ValueError(f"q, the probability of missing, must be at least 0 and below 1, got {self.q!r}")
        if isinstance(self.n, bool) or not isinstance(self.n, (int, np.integer)) or self.n < 2:
            raise ValueError(f"n must be an integer of at least 2 rows (one for each side), got {self.n!r}")
        if not (self.noise >= 0 and math.isfinite(self.noise)):
            raise ValueError(f"noise must be a standard deviation of at least 0, got {self.noise!r}")

    @property
    def both_observed(self) -> float:
        """Probability that both sides are observed."""
        left, right = (1 - self.p) * (1 - self.q), self.p * (1 - self.q)
        return 1 - (1 - left) ** self.n - (1 - right) ** self.n + self.q**self.n

    def check_both_observed(self, min_probability: float) -> None:
        """Raise if the probability that both sides are observed is too small."""
        if self.both_observed < min_probability:
            raise ValueError(
                f"with n = {self.n} rows, p = {self.p} and q = {self.q} both sides are observed in "
                f"a fraction of {max(self.both_observed, 0):.1g} of the tables only; use more rows or a smaller q"
            )


def every_count(example: Example) -> Iterator[Counts]:
    """Return all counts with both sides observed in blocks; probabilities are conditional on that."""
    example.check_both_observed(_MIN_PROBABILITY)
    missing, (probability,) = binomials(np.array([example.n]), example.q)
    lefts, _ = binomials(example.n - missing[:1], 1 - example.p)
    rights, _ = binomials(missing[-1:], example.p)
    step = max(1, _BLOCK // (len(lefts) * len(rights)))
    blocks, improbable = [], IMPROBABLE * example.both_observed
    for begin in range(0, len(missing), step):
        M = missing[begin : begin + step]
        L, weight = binomials(example.n - M, 1 - example.p)
        weight *= probability[begin : begin + step, None]
        R = example.n - M[:, None] - L
        i, j = np.nonzero((weight > improbable) & (L > 0) & (R > 0))
        blocks.append(Counts(L[j], R[i, j], M[i], weight[i, j]))
    total = sum(counts.probability.sum() for counts in blocks)
    for counts in blocks:
        yield counts._replace(probability=counts.probability / total)


def binomials(n: Floats, p: float) -> tuple[Floats, Floats]:
    """Return the numbers of successes, and their binomial probabilities with a row per n; improbable ones are omitted.

    Probabilities are computed from their exact ratios, since factorials of a large n are inexact.
    """
    if p == 0:
        return np.zeros(1), np.ones((len(n), 1))
    half_width = 9 * math.sqrt(float(n.max()) * p * (1 - p)) + 40
    first, last = (
        max(0, math.floor(n.min() * p - half_width)),
        min(n.max(), math.ceil(n.max() * p + half_width)),
    )
    numbers = np.arange(first, last + 1, dtype=float)
    with np.errstate(divide="ignore"):
        steps = np.log((n[:, None] - numbers[:-1]).clip(0) / numbers[1:] * (p / (1 - p)))
    logarithms = np.cumsum(np.concatenate([np.zeros((len(n), 1)), steps], axis=1), axis=1)
    probabilities = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return numbers, probabilities / probabilities.sum(axis=1, keepdims=True)
