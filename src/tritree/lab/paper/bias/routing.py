"""Routing of the missing rows of a stump: the probability of each route, and the conditional moments of the target.

With the means mean_L, mean_R and mean_M of the rows observed left, observed right and missing, mean_O of all observed
rows, and the differences x = mean_L - mean_R and z = mean_M - mean_O, a tree of depth 1 has one of five routes::

    route   loss above that of three groups     estimate of a - mean_O         estimate of b - mean_O
    left    LM/(L+M) (R/(L+R) x - z)²           (LR/(L+R) x + M z) / (L+M)     -L/(L+R) x
    third   M ((L+R)/n)² z²                     R/(L+R) x                      -L/(L+R) x
    right   RM/(R+M) (L/(L+R) x + z)²           R/(L+R) x                      (-LR/(L+R) x + M z) / (R+M)
    alone   LR/(L+R) x²                         0                              0
    both    (not compared)                      (R x + M z) / n                (-L x + M z) / n

A strategy is a rule for the route. `majority`, `fractional`, `trinary` and `surrogate` decide by counts; rows that
`surrogate` leaves in the root, at a tie, take the route "third". `mia` and `trinary_mia` choose the route with the
lowest loss, which depends on the target. Expectations are sums over k, the number of missing rows that belong right,
and with noise also integrals over x and z: given the counts these are independent and normal, with variances noise²
(1/L + 1/R) and noise² (1/M + 1/(L+R)).

Every loss is the square of a linear form in x and z, so the best route depends on z/x only: the axis of z/x splits into
intervals, and the integrals are over the double wedges of these intervals in the plane of x and z.
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

#: Routes of missing rows; of routes with equal loss, the first is chosen.
ROUTES = ("left", "third", "right", "alone", "both")
LEFT, THIRD, RIGHT, ALONE, BOTH = range(5)
#: Strategies that choose the route with the lowest loss; the others decide by counts.
LOSS_BASED = {"mia": (LEFT, RIGHT, ALONE), "trinary_mia": (LEFT, THIRD, RIGHT, ALONE)}
#: Not a strategy of trees: missing rows go to the side that `majority` does not choose.
MINORITY = "minority"
#: Losses that differ by less than this fraction of the largest are equal up to rounding.
_TOLERANCE = 1e-12


def route_moments(strategy: str, counts: Counts, example: Example) -> Floats:
    """Return per route and count the probability of the route, and the expectations of x and z restricted to it.

    The shape is (routes, 3, counts). A restricted expectation is E[x 1(route)]. For the route "alone", x and z are not
    used and their expectations are 0. There must be missing rows.
    """
    moments = np.zeros((len(ROUTES), 3, len(counts.L)))
    if strategy not in LOSS_BASED:
        _by_counts(moments, strategy, counts, example)
    elif example.noise == 0:
        _by_loss(moments, LOSS_BASED[strategy], counts, example)
    else:
        _by_loss_with_noise(moments, LOSS_BASED[strategy], counts, example)
    return moments


def route_coefficients(route: int, counts: Counts) -> Floats:
    """Return the coefficients of x and z in the estimates of a and b minus mean_O: ((a: x, z), (b: x, z))."""
    L, R, M = counts.L, counts.R, counts.M
    observed, n, none = L + R, L + R + M, np.zeros_like(L)
    a, b = (R / observed, none), (-L / observed, none)  # without missing rows
    if route == LEFT:
        a = (L * R / observed / (L + M), M / (L + M))
    elif route == RIGHT:
        b = (-L * R / observed / (R + M), M / (R + M))
    elif route == BOTH:
        a, b = (R / n, M / n), (-L / n, M / n)
    elif route == ALONE:
        a = b = (none, none)
    return np.array((a, b))


def _missing_right(counts: Counts, example: Example) -> tuple[Floats, Floats]:
    """Return the expectation of z and its probability, of shape (counts, values of k)."""
    M, of_count = np.unique(counts.M, return_inverse=True)
    k, probability = binomials(M, example.p)
    z = k / counts.M[:, None] - (counts.R / (counts.L + counts.R))[:, None]
    return (example.b - example.a) * z, probability[of_count]


# ------------------------------------------------------------------------------------------------ routes by counts


def _by_counts(moments: Floats, strategy: str, counts: Counts, example: Example) -> None:
    """Fill in the moments of a strategy that ignores the target."""
    x = example.a - example.b
    z = -x * (example.p - counts.R / (counts.L + counts.R))
    total = np.array(np.broadcast_arrays(1.0, x, z))
    if strategy in ("trinary", "fractional"):
        moments[THIRD if strategy == "trinary" else BOTH] = total
        return
    goes_left = counts.L > counts.R
    if strategy == MINORITY:
        goes_left = ~goes_left
    stays = (counts.L == counts.R) & (strategy == "surrogate")
    moments[LEFT] = np.where(goes_left, total, 0)
    moments[RIGHT] = np.where(goes_left | stays, 0, total)
    moments[THIRD] = np.where(stays, total, 0)


def _density(h: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * h * h) / np.sqrt(2 * np.pi)
    return density


# -------------------------------------------------------------------------------------------------- routes by loss


def _loss_roots(routes: tuple[int, ...], counts: Counts) -> tuple[Floats, Floats]:
    """Return the coefficients of x and z in the square roots of the losses, each of shape (routes, counts)."""
    L, R, M = counts.L, counts.R, counts.M
    observed, none = L + R, np.zeros_like(L)
    left, right = np.sqrt(L * M / (L + M)), np.sqrt(R * M / (R + M))
    roots = {
        LEFT: (left * R / observed, -left),
        THIRD: (none, np.sqrt(M) * observed / (observed + M)),
        RIGHT: (right * L / observed, right),
        ALONE: (np.sqrt(L * R / observed), none),
    }
    of_x, of_z = zip(*(roots[route] for route in routes), strict=True)
    return np.array(of_x), np.array(of_z)


def _by_loss(moments: Floats, routes: tuple[int, ...], counts: Counts, example: Example) -> None:
    """Fill in the moments without noise: counts and k determine the route with the lowest loss."""
    x = example.a - example.b
    z, probability = _missing_right(counts, example)
    of_x, of_z = _loss_roots(routes, counts)
    losses = (of_x[:, :, None] * x + of_z[:, :, None] * z) ** 2
    tolerance = _TOLERANCE * example.n * x**2
    chosen = np.array(routes)[(losses <= losses.min(axis=0) + tolerance).argmax(axis=0)]
    for route in routes:  # "alone" is never best without noise: mean_M lies between mean_L and mean_R
        weight = np.where(chosen == route, probability, 0)
        total = weight.sum(axis=1)
        moments[route] = total, total * x, (weight * z).sum(axis=1)


def _by_loss_with_noise(moments: Floats, routes: tuple[int, ...], counts: Counts, example: Example) -> None:
    """Fill in the moments with noise, one interval of z/x after the other."""
    x = example.a - example.b
    z, probability = _missing_right(counts, example)
    of_x = example.noise * np.sqrt(1 / counts.L + 1 / counts.R)
    of_z = example.noise * np.sqrt(1 / counts.M + 1 / (counts.L + counts.R))
    # most combinations of counts and k are improbable and are skipped
    i, k = np.nonzero(probability * counts.probability[:, None] > IMPROBABLE)
    z, probability = z[i, k], probability[i, k]
    ends, chosen = _intervals(routes, counts)
    for end, before, after in zip(ends, chosen[:-1], chosen[1:], strict=True):
        changes = before != after
        pair = changes[i]
        at = i[pair]
        below = _moments_below(end[at], x, of_x[at], z[pair], of_z[at]) * probability[pair]
        sums = np.array([np.bincount(at, values, len(changes)) for values in below])
        moments[before[changes], :, changes] += sums[:, changes].T
        moments[after[changes], :, changes] -= sums[:, changes].T
    moments[ALONE] = 0
    moments[ALONE, 0] = (1 - moments[:, 0].sum(axis=0)).clip(0)


def _intervals(routes: tuple[int, ...], counts: Counts) -> tuple[Floats, NDArray[np.int64]]:
    """Return the ascending ends of intervals of z/x, and the best route in each: one more than there are ends."""
    of_x, of_z = _loss_roots(routes, counts)
    crossings = []
    for i, j in combinations(range(len(routes)), 2):
        for sign in (1, -1):  # losses are equal where their roots are equal or opposite
            with np.errstate(divide="ignore", invalid="ignore"):
                crossings.append((sign * of_x[j] - of_x[i]) / (of_z[i] - sign * of_z[j]))
    ends = np.array(crossings)
    known = np.isfinite(ends)
    ends = np.sort(np.where(known, ends, np.max(ends, where=known, initial=-np.inf, axis=0)), axis=0)
    middles = (ends[1:] + ends[:-1]) / 2
    roots = np.abs(of_x[:, None] + of_z[:, None] * middles)
    between = np.array(routes)[roots.argmin(axis=0)]
    outside = np.full((1, len(counts.L)), ALONE)  # for large z/x only the loss without z is small
    return ends, np.concatenate([outside, between, outside])


def _moments_below(ratio: Floats, x: float, s: Floats, z: Floats, t: Floats) -> Floats:
    """Return the probability of Z/X < ratio and the restricted expectations of X and Z, up to constants in the ratio.

    X and Z are independent and normal, with means x and z and standard deviations s and t. The region is bounded by
    X = 0 and by the line W = Z - ratio X = 0; its probability is given by Owen's T. The expectation of a standard
    normal vector over a region is minus the integral of the density times the outward normal over the boundary: the
    line W = 0 contributes with one sign where X > 0 and with the other where X < 0. The contribution of X = 0 is the
    same for every ratio and cancels in differences.
    """
    spread = np.sqrt(t * t + (ratio * s) ** 2)
    w = z - ratio * x
    along = ndtr((x * t * t + ratio * s * s * z) / (s * t * spread))  # probability of X > 0 on the line
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

    From Owen's formula for the bivariate normal distribution; ``independence`` is the root of 1 - correlation².
    """
    h, k = (np.where(v == 0, 1e-150, v) for v in (h, k))  # the limit from above, which is the value
    of_h = owens_t(h, (k - correlation * h) / (h * independence))
    of_k = owens_t(k, (h - correlation * k) / (k * independence))
    probability: Floats = 2 * (of_h + of_k) + (np.sign(h) != np.sign(k))
    return probability
