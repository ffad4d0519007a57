"""What the paper's Section 3 says as it is printed, to be held beside what is derived here.

Three things in it are the wrong way round; docs/lab-bias.md has the proofs, and the tests show each with fitted trees.

- The two cases of the majority estimate are swapped: where the left side has more observed rows it is printed without
  the missing ones. Taken at its word, missing rows join the smaller side. The lines that follow have it right.
- For MIA the share kappa must be that of missing rows that go right, as it is for the majority rule; it is printed as
  that of "left".
- The lower bound of the majority estimate is an upper bound. (A concave function gives "at most", this one is not
  concave, and the condition on the larger side has been dropped; without it the two sides are equal.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tritree.lab.paper.bias.example import Estimates, Example, every_count
from tritree.lab.paper.bias.formulas import averages, check_strategy, ways
from tritree.lab.paper.bias.ways import MINORITY

__all__ = ["Printed", "printed"]

_NOTHING = Estimates(np.nan, np.nan)


class Printed(NamedTuple):
    """What the section prints for a, and what that is for b by symmetry; NaN where it has nothing."""

    #: The expectation of the estimate as it is defined.
    estimate: Estimates
    #: What the section says is passed by the expected estimate of a (and is not reached by that of b).
    bound: Estimates


def printed(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> Printed:
    """Return what the paper's Section 3 prints about a strategy, mistakes and all.

    The parameters are those of `expected`. Probabilities are those given that both sides are seen.

    Examples
    --------
    Most rows are on the left, so the missing ones nearly always join it: a is biased, and b is hardly.

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
        right = 1 - _larger_left(example)
        return Printed(averages(MINORITY, example)[0], _bound(example, right))
    if strategy == "mia":
        left = ways("mia", a=a, b=b, p=p, q=q, n=n, noise=noise)["left"]
        return Printed(_NOTHING, _bound(example, left))
    if strategy == "fractional":
        both = Estimates(a + p * q * (b - a), b - (1 - p) * q * (b - a))
        return Printed(_NOTHING, both)
    return Printed(Estimates(a, b) if strategy == "trinary" else _NOTHING, _NOTHING)


def _bound(example: Example, kappa: float) -> Estimates:
    """Return the section's bound: with probability kappa the estimate of a is without bias, and that of b is not."""
    a, b, p, q = example.a, example.b, example.p, example.q
    return Estimates(
        a + (1 - kappa) * p * q / (1 - p + p * q) * (b - a),
        b - kappa * (1 - p) * q / (p + q - p * q) * (b - a),
    )


def _larger_left(example: Example) -> float:
    """Return the probability that more rows are observed left than right."""
    return sum(float(c.probability[c.L > c.R].sum()) for c in every_count(example))
