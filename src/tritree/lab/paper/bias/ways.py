"""Which way the missing rows of a stump go, how probably, and what is to be expected of the responses then.

With the means mean_L, mean_R and mean_M of the rows observed left, observed right and missing, mean_O of all observed
rows, and the differences x = mean_L - mean_R and z = mean_M - mean_O, a tree of depth 1 can be one of five::

    way     costs (loss above that of three groups)   estimate of a - mean_O         estimate of b - mean_O
    left    LM/(L+M) (R/(L+R) x - z)²                 (LR/(L+R) x + M z) / (L+M)     -L/(L+R) x
    third   M ((L+R)/n)² z²                           R/(L+R) x                      -L/(L+R) x
    right   RM/(R+M) (L/(L+R) x + z)²                 R/(L+R) x                      (-LR/(L+R) x + M z) / (R+M)
    alone   LR/(L+R) x²                               0                              0
    both    (not compared)                            (R x + M z) / n                (-L x + M z) / n

A strategy is a rule for the way. `majority`, `fractional`, `trinary` and, but for ties, `surrogate` decide by counts.
`mia` and `trinary_mia` take the cheapest way, so they look at responses. What to expect then is a sum over k, the
number of missing rows that belong right, and where there is noise an integral over x and z: given the counts these are
independent and normal, with the variances noise² (1/L + 1/R) and noise² (1/M + 1/(L+R)).

Every cost is the square of a linear form in x and z. So which way is cheapest depends on z/x only: the axis of z/x
falls into intervals, and the integrals are those over the intervals' double wedges in the plane of x and z.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, owens_t

from tritree.lab.paper.bias.example import IMPROBABLE, binomials

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.lab.paper.bias.example import Counts, Example, Floats

__all__ = ["COMPARED", "MINORITY", "WAYS", "estimates_of", "moments_of_ways"]

#: The ways missing rows can go. Of ways that cost the same, the first is taken.
WAYS = ("left", "third", "right", "alone", "both")
LEFT, THIRD, RIGHT, ALONE, BOTH = range(5)
#: The ways that strategies compare by their cost; others decide by the counts.
COMPARED = {"mia": (LEFT, RIGHT, ALONE), "trinary_mia": (LEFT, THIRD, RIGHT, ALONE)}
#: No strategy of a tree: missing rows go where `majority` does not send them.
MINORITY = "minority"
#: Costs closer than this share of the largest are equal, and differ by rounding only.
_NEGLIGIBLE = 1e-12


def moments_of_ways(strategy: str, counts: Counts, example: Example) -> Floats:
    """Return for each way and each count the probability of the way, and the expectations of x and of z on it.

    The shape is (ways, 3, counts). An expectation on a way is over the whole, and counts as 0 what goes another way.
    On the way "alone" x and z count for nothing and are 0. There must be missing rows.
    """
    moments = np.zeros((len(WAYS), 3, len(counts.L)))
    if strategy not in COMPARED:
        _decide(moments, strategy, counts, example)
    elif example.noise == 0:
        _compare(moments, COMPARED[strategy], counts, example)
    else:
        _integrate(moments, COMPARED[strategy], counts, example)
    return moments


def estimates_of(way: int, counts: Counts) -> Floats:
    """Return what x and z are multiplied by in the estimates of a and b less mean_O: ((a: x, z), (b: x, z))."""
    L, R, M = counts.L, counts.R, counts.M
    observed, n, none = L + R, L + R + M, np.zeros_like(L)
    a, b = (R / observed, none), (-L / observed, none)  # without missing rows
    if way == LEFT:
        a = (L * R / observed / (L + M), M / (L + M))
    elif way == RIGHT:
        b = (-L * R / observed / (R + M), M / (R + M))
    elif way == BOTH:
        a, b = (R / n, M / n), (-L / n, M / n)
    elif way == ALONE:
        a = b = (none, none)
    return np.array((a, b))


def _missing_right(counts: Counts, example: Example) -> tuple[Floats, Floats]:
    """Return the expectation of z, and how probable it is: an entry for each k in a row for each count."""
    M, of_count = np.unique(counts.M, return_inverse=True)
    k, probability = binomials(M, example.p)
    z = k / counts.M[:, None] - (counts.R / (counts.L + counts.R))[:, None]
    return (example.b - example.a) * z, probability[of_count]


# ------------------------------------------------------------------------------------------------ decided by counts


def _decide(moments: Floats, strategy: str, counts: Counts, example: Example) -> None:
    """Fill in the moments of a strategy that does not look at responses, but where a tie makes `surrogate` do so."""
    x = example.a - example.b
    z = -x * (example.p - counts.R / (counts.L + counts.R))
    whole = np.array(np.broadcast_arrays(1.0, x, z))
    if strategy in ("trinary", "fractional"):
        moments[THIRD if strategy == "trinary" else BOTH] = whole
        return
    goes_left, tie = counts.L > counts.R, counts.L == counts.R
    if strategy == MINORITY:
        goes_left = ~goes_left
    moments[LEFT] = np.where(goes_left, whole, 0)
    moments[RIGHT] = np.where(goes_left, 0, whole)
    if strategy == "surrogate" and tie.any():  # the side with the smaller mean is taken: left if x < 0
        lower_left = _moments_below_zero(x, example.noise * np.sqrt(2 / counts.L[tie]), whole[2, tie])
        moments[LEFT, :, tie] = lower_left.T
        moments[RIGHT, :, tie] = (whole[:, tie] - lower_left).T


def _moments_below_zero(x: float, deviation: Floats, z: Floats) -> Floats:
    """Return the probability of x < 0, and the expectations of x and z there, x being normal about a mean."""
    with np.errstate(divide="ignore"):
        h = -x / deviation
    below = ndtr(h)
    return np.array((below, x * below - deviation * _density(h), z * below))


def _density(h: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * h * h) / np.sqrt(2 * np.pi)
    return density


# --------------------------------------------------------------------------------------------- decided by responses


def _roots_of_costs(ways: tuple[int, ...], counts: Counts) -> tuple[Floats, Floats]:
    """Return what x and z are multiplied by in the square roots of the costs: a row per way, an entry per count."""
    L, R, M = counts.L, counts.R, counts.M
    observed, none = L + R, np.zeros_like(L)
    left, right = np.sqrt(L * M / (L + M)), np.sqrt(R * M / (R + M))
    roots = {
        LEFT: (left * R / observed, -left),
        THIRD: (none, np.sqrt(M) * observed / (observed + M)),
        RIGHT: (right * L / observed, right),
        ALONE: (np.sqrt(L * R / observed), none),
    }
    of_x, of_z = zip(*(roots[way] for way in ways), strict=True)
    return np.array(of_x), np.array(of_z)


def _compare(moments: Floats, ways: tuple[int, ...], counts: Counts, example: Example) -> None:
    """Fill in the moments where there is no noise: the counts and k say which way is cheapest."""
    x = example.a - example.b
    z, probability = _missing_right(counts, example)
    of_x, of_z = _roots_of_costs(ways, counts)
    costs = (of_x[:, :, None] * x + of_z[:, :, None] * z) ** 2
    equal = _NEGLIGIBLE * example.n * x**2
    chosen = np.array(ways)[(costs <= costs.min(axis=0) + equal).argmax(axis=0)]
    for way in ways:  # "alone" is never cheapest without noise: mean_M lies between mean_L and mean_R
        share = np.where(chosen == way, probability, 0)
        total = share.sum(axis=1)
        moments[way] = total, total * x, (share * z).sum(axis=1)


def _integrate(moments: Floats, ways: tuple[int, ...], counts: Counts, example: Example) -> None:
    """Fill in the moments where there is noise, an interval of z/x after the other."""
    x = example.a - example.b
    z, probability = _missing_right(counts, example)
    of_x = example.noise * np.sqrt(1 / counts.L + 1 / counts.R)
    of_z = example.noise * np.sqrt(1 / counts.M + 1 / (counts.L + counts.R))
    # most combinations of a count and a k are improbable: the others are taken out of the table, with their rows
    i, k = np.nonzero(probability * counts.probability[:, None] > IMPROBABLE)
    z, probability = z[i, k], probability[i, k]
    ends, chosen = _intervals(ways, counts)
    for end, before, after in zip(ends, chosen[:-1], chosen[1:], strict=True):
        turns = before != after
        cell = turns[i]
        at = i[cell]
        below = _moments_below(end[at], x, of_x[at], z[cell], of_z[at]) * probability[cell]
        sums = np.array([np.bincount(at, of_cell, len(turns)) for of_cell in below])
        moments[before[turns], :, turns] += sums[:, turns].T
        moments[after[turns], :, turns] -= sums[:, turns].T
    moments[ALONE] = 0
    moments[ALONE, 0] = (1 - moments[:, 0].sum(axis=0)).clip(0)


def _intervals(ways: tuple[int, ...], counts: Counts) -> tuple[Floats, NDArray[np.int64]]:
    """Return values of z/x, ascending, between which one way is cheapest, and that way: one more than values."""
    of_x, of_z = _roots_of_costs(ways, counts)
    crossings = []
    for i, j in combinations(range(len(ways)), 2):
        for sign in (1, -1):  # costs are equal where the roots are, or are opposite
            with np.errstate(divide="ignore", invalid="ignore"):
                crossings.append((sign * of_x[j] - of_x[i]) / (of_z[i] - sign * of_z[j]))
    ends = np.array(crossings)
    known = np.isfinite(ends)
    ends = np.sort(np.where(known, ends, np.max(ends, where=known, initial=-np.inf, axis=0)), axis=0)
    middles = (ends[1:] + ends[:-1]) / 2
    costs = np.abs(of_x[:, None] + of_z[:, None] * middles)
    between = np.array(ways)[costs.argmin(axis=0)]
    outside = np.full((1, len(counts.L)), ALONE)  # far out only the cost without z is small
    return ends, np.concatenate([outside, between, outside])


def _moments_below(ratio: Floats, x: float, s: Floats, z: Floats, t: Floats) -> Floats:
    """Return the probability of Z/X < ratio, and the expectations of X and Z there less amounts free of the ratio.

    X and Z are independent and normal, with the means x and z and the deviations s and t. The region is bounded by
    X = 0 and by the line W = Z - ratio X = 0. Its probability is known in terms of Owen's T. The expectation of
    a standard normal vector over a region is minus the integral of the density times the outward normal over the
    boundary: the line W = 0 contributes with one sign where X > 0 and with the other where X < 0. What X = 0
    contributes is the same for every ratio and goes out of differences.
    """
    spread = np.sqrt(t * t + (ratio * s) ** 2)
    w = z - ratio * x
    along = ndtr((x * t * t + ratio * s * s * z) / (s * t * spread))  # that X > 0 on the line
    line = _density(w / spread) * (2 * along - 1)
    probability = _opposite_signs(
        w / spread, np.broadcast_to(x / s, w.shape), -ratio * s / spread, t / spread
    )
    return np.array(
        (
            probability,
            x * probability + ratio * s * s / spread * line,
            z * probability - t * t / spread * line,
        )
    )


def _opposite_signs(h: Floats, k: Floats, correlation: Floats, independence: Floats) -> Floats:
    """Return the probability that normal variables with means h and k and variance 1 have opposite signs.

    From Owen's formula for the bivariate normal distribution; `independence` is the root of 1 - correlation².
    """
    h, k = (np.where(v == 0, 1e-150, v) for v in (h, k))  # the limit from above, which is the value
    of_h = owens_t(h, (k - correlation * h) / (h * independence))
    of_k = owens_t(k, (h - correlation * k) / (k * independence))
    probability: Floats = 2 * (of_h + of_k) + (np.sign(h) != np.sign(k))
    return probability
