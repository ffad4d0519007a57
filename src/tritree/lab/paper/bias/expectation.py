"""Expected estimates of a tree of depth 1 in the paper's example: exact sums, limits, and the paper's formulas.

Expectations are conditional on both sides being observed; otherwise there is no split. docs/lab-bias.md derives them.

Three statements of the paper's Section 3 are reversed; the tests show each with fitted trees:

- The two cases of the majority estimate are swapped: where the left side has more observed rows it is printed without
  the missing ones. Taken literally, missing rows join the smaller side. The lines that follow have it right.
- For MIA, kappa must be the probability that missing rows go right, as for majority; it is printed as that of "left".
- The lower bound of the majority estimate is an upper bound. (Jensen's inequality for a concave function gives "at
  most", this function is not concave, and the condition on the larger side is dropped; without it they are equal.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tritree.errors import shortened
from tritree.lab.paper.bias.example import Counts, Estimates, Example, every_count
from tritree.lab.paper.bias.routing import LOSS_BASED, MINORITY, ROUTES, route_coefficients, route_moments
from tritree.validation import STRATEGIES

if TYPE_CHECKING:
    from tritree.lab.paper.bias.example import Floats

_NONE = Estimates(np.nan, np.nan)
#: Smaller noise, as a fraction of b - a, is ignored: to a tree, losses that differ by it are equal.
_ROUNDING = 1e-13
#: Maximum number of rows for sums over all counts: of strategies that decide by counts, and by loss.
_MAX_ROWS, _MAX_ROWS_LOSS_BASED = 1_000_000, 5_000


def expected(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> Estimates:
    """Return the expected estimates of a and b by a tree of depth 1, given that both sides are observed.

    Parameters
    ----------
    strategy : str
        See the parameter ``missing`` of the estimators.
    a, b : float
        Mean target on the left and on the right.
    p : float
        Probability of right.
    q : float
        Probability that a value is missing.
    n : int
        Number of rows of a table.
    noise : float
        Standard deviation of the target about its mean. It matters for `mia` and `trinary_mia`, whose routes depend on
        the target.

    Returns
    -------
    Estimates
        The two expectations, with an error of about 1e-9 of b - a and the noise.

    Examples
    --------
    >>> from tritree.lab.paper.bias import expected
    >>> print("a {:.4f}, b {:.4f}".format(*expected("fractional", a=0, b=1, p=0.3, q=0.4, n=50)))
    a 0.1200, b 0.7200
    >>> print("a {:.4f}, b {:.4f}".format(*expected("majority", a=0, b=1, p=0.3, q=0.4, n=50)))
    a 0.1437, b 0.9940
    >>> print("a {:.4f}, b {:.4f}".format(*expected("trinary", a=0, b=1, p=0.3, q=0.4, n=50)))
    a 0.0000, b 1.0000
    """
    check_strategy(strategy)
    return _expectations(strategy, Example(a, b, p, q, n, noise))[0]


def route_probabilities(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> dict[str, float]:
    """Return the probability of each route of missing rows, given that both sides are observed.

    The probabilities add up to that of a table with missing rows.

    The parameters are those of `expected`.

    Examples
    --------
    >>> from tritree.lab.paper.bias import route_probabilities
    >>> found = route_probabilities("trinary_mia", a=0, b=1, p=0.3, q=0.4, n=50)
    >>> " ".join(f"{route} {probability:.3f}" for route, probability in found.items())
    'left 0.071 third 0.924 right 0.005 alone 0.000 both 0.000'
    """
    check_strategy(strategy)
    return _expectations(strategy, Example(a, b, p, q, n, noise))[1]


def limits(strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float) -> Estimates:
    """Return the limits of the expected estimates of a and b for many rows, with any noise.

    The parameters are those of `expected`.

    Examples
    --------
    >>> from tritree.lab.paper.bias import limits
    >>> print("a {:.4f}, b {:.4f}".format(*limits("mia", a=0, b=1, p=0.3, q=0.4)))
    a 0.1463, b 1.0000
    """
    check_strategy(strategy)
    example = Example(a, b, p, q, 2)
    if strategy in ("trinary", "trinary_mia"):
        return Estimates(a, b)
    if strategy == "fractional":
        return Estimates(a + p * q * (b - a), b - (1 - p) * q * (b - a))
    # missing rows join the larger side; with p = 0.5 that is either side half of the time
    return _one_side_biased(example, 0.0 if p < 0.5 else 1.0 if p > 0.5 else 0.5)


class Printed(NamedTuple):
    """Formulas as printed for a, and for b by symmetry; NaN where the paper has none."""

    #: Expectation of the estimate as it is defined.
    estimate: Estimates
    #: Stated bound: below the expected estimate of a, and above that of b.
    bound: Estimates


def printed(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> Printed:
    """Return the formulas of the paper's Section 3 for a strategy as they are printed, including its mistakes.

    The parameters are those of `expected`. Probabilities are conditional on both sides being observed.

    Examples
    --------
    Most rows are on the left, so the missing ones nearly always join it: a is biased, and b hardly.

    >>> from tritree.lab.paper.bias import expected, printed
    >>> example = dict(a=0, b=1, p=0.3, q=0.4, n=50)
    >>> print("a {:.3f}, b {:.3f}".format(*expected("majority", **example)))
    a 0.144, b 0.994
    >>> print("a {:.3f}, b {:.3f}".format(*printed("majority", **example).estimate))
    a 0.003, b 0.523
    """
    check_strategy(strategy)
    example = Example(a, b, p, q, n, noise)
    if strategy == "majority":
        right = 1 - sum(float(c.probability[c.L > c.R].sum()) for c in every_count(example))
        return Printed(_expectations(MINORITY, example)[0], _one_side_biased(example, right))
    if strategy == "mia":
        left = _expectations("mia", example)[1]["left"]
        return Printed(_NONE, _one_side_biased(example, left))
    if strategy == "fractional":
        return Printed(_NONE, limits(strategy, a=a, b=b, p=p, q=q))
    return Printed(Estimates(a, b) if strategy == "trinary" else _NONE, _NONE)


def _expectations(strategy: str, example: Example) -> tuple[Estimates, dict[str, float]]:
    """Return the expected estimates, and the probability of each route of missing rows."""
    n_max = _MAX_ROWS_LOSS_BASED if strategy in LOSS_BASED else _MAX_ROWS
    if example.n > n_max:
        raise ValueError(
            f"n = {example.n:,} rows are too many for exact sums for {strategy!r} (at most {n_max:,}); use limits()"
        )
    # relative to a, in units of b - a, so that no digits are lost
    start, unit = example.a, abs(example.b - example.a)
    noise = example.noise / unit if example.noise > _ROUNDING * unit else 0.0
    example = replace(example, a=0.0, b=(example.b - start) / unit, noise=noise)
    means, probabilities = np.zeros(2), np.zeros(len(ROUTES))
    for counts in every_count(example):
        has_missing = counts.M > 0
        incomplete, complete = (Counts(*(v[part] for v in counts)) for part in (has_missing, ~has_missing))
        if len(incomplete.L):
            moments = route_moments(strategy, incomplete, example)
            means += _means(incomplete, moments, example)
            probabilities += moments[:, 0] @ incomplete.probability
        if len(complete.L):  # all strategies grow the same tree
            means += _means(complete, route_moments("trinary", complete, example), example)
    return Estimates(*(start + unit * means).tolist()), dict(zip(ROUTES, probabilities.tolist(), strict=True))


def _means(counts: Counts, moments: Floats, example: Example) -> Floats:
    """Return the contribution of counts to the expected estimates of a and b, minus a."""
    observed = counts.R * example.b / (counts.L + counts.R)
    estimates = sum(
        np.einsum("evc,vc->ec", route_coefficients(i, counts), moments[i, 1:]) for i in range(len(ROUTES))
    )
    return np.asarray((observed + estimates) @ counts.probability)


def check_strategy(strategy: str) -> None:
    """Raise if a name is not a strategy."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {shortened(strategy)}")


def _one_side_biased(example: Example, kappa: float) -> Estimates:
    """Return estimates of which with probability kappa that of b is biased, and otherwise that of a."""
    a, b, p, q = example.a, example.b, example.p, example.q
    return Estimates(
        a + (1 - kappa) * p * q / (1 - p + p * q) * (b - a),
        b - kappa * (1 - p) * q / (p + q - p * q) * (b - a),
    )
