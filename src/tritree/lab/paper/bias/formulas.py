"""What a tree of depth 1 estimates in the paper's example on average: sums over all counts, and limits.

Expectations are those given that both sides are observed at all: else there is nothing to part, and no estimate.
docs/lab-bias.md has the derivation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tritree.errors import shortened
from tritree.lab.paper.bias.example import Counts, Estimates, Example, every_count
from tritree.lab.paper.bias.ways import COMPARED, WAYS, estimates_of, moments_of_ways
from tritree.validation import STRATEGIES

if TYPE_CHECKING:
    from tritree.lab.paper.bias.example import Floats

__all__ = ["averages", "check_strategy", "expected", "limits", "ways"]

#: Noise that is smaller than this part of the step is none: costs that differ by it are equal to a tree.
_ROUNDING = 1e-13
#: The most rows that sums over all counts are affordable for: decided by counts alone, or by responses.
_MOST_ROWS, _MOST_ROWS_COMPARED = 1_000_000, 5_000


def expected(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> Estimates:
    """Return what a tree of depth 1 estimates for a and b on average, given that it has seen both sides.

    Parameters
    ----------
    strategy : str
        As in ``missing=``.
    a, b : float
        The mean response on the left and on the right.
    p : float
        The probability of right.
    q : float
        The probability that a value is missing.
    n : int
        The rows of a table.
    noise : float
        The standard deviation of the responses about their means. It matters to `mia` and `trinary_mia`, which look
        at responses to choose a way, and to `surrogate` where both sides are equally large.

    Returns
    -------
    Estimates
        The two expectations, exact but for rounding: to about 1e-9 of b - a and the noise.

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
    return averages(strategy, Example(a, b, p, q, n, noise))[0]


def ways(
    strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float, n: int, noise: float = 0.0
) -> dict[str, float]:
    """Return how probably missing rows go each way, given that both sides are seen; what is left to 1 has none.

    The parameters are those of `expected`.

    Examples
    --------
    >>> from tritree.lab.paper.bias import ways
    >>> found = ways("trinary_mia", a=0, b=1, p=0.3, q=0.4, n=50)
    >>> " ".join(f"{way} {share:.3f}" for way, share in found.items())
    'left 0.071 third 0.924 right 0.005 alone 0.000 both 0.000'
    """
    check_strategy(strategy)
    return averages(strategy, Example(a, b, p, q, n, noise))[1]


def limits(strategy: str, *, a: float = 0.0, b: float = 1.0, p: float, q: float) -> Estimates:
    """Return what the expected estimates of a and b approach as rows become many, with any noise.

    The parameters are those of `expected`.

    Examples
    --------
    >>> from tritree.lab.paper.bias import limits
    >>> print("a {:.4f}, b {:.4f}".format(*limits("mia", a=0, b=1, p=0.3, q=0.4)))
    a 0.1463, b 1.0000
    """
    check_strategy(strategy)
    Example(a, b, p, q, 2)
    if strategy in ("trinary", "trinary_mia"):
        return Estimates(a, b)
    if strategy == "fractional":
        return Estimates(a + p * q * (b - a), b - (1 - p) * q * (b - a))
    # the larger side takes the missing rows; of two that are equally large, either does half of the time
    left = 1.0 if p < 0.5 else 0.0 if p > 0.5 else 0.5
    return Estimates(
        a + left * p * q / (1 - p + p * q) * (b - a),
        b - (1 - left) * (1 - p) * q / (p + q - p * q) * (b - a),
    )


# ----------------------------------------------------------------------------------------------- sums over counts


def averages(strategy: str, example: Example) -> tuple[Estimates, dict[str, float]]:
    """Return the expected estimates, and how probably missing rows go each way."""
    most = _MOST_ROWS_COMPARED if strategy in COMPARED else _MOST_ROWS
    if example.n > most:
        raise ValueError(
            f"n = {example.n:,} rows are too many to sum over their counts for {strategy!r} (at most {most:,}); "
            "limits() has what many rows approach"
        )
    # from a on, in units of the step: neither a far zero nor a large unit costs digits
    start, unit = example.a, abs(example.b - example.a)
    noise = example.noise / unit if example.noise > _ROUNDING * unit else 0.0
    example = replace(example, a=0.0, b=(example.b - start) / unit, noise=noise)
    means, shares = np.zeros(2), np.zeros(len(WAYS))
    for counts in every_count(example):
        holes = counts.M > 0
        with_holes, without = (Counts(*(field[part] for field in counts)) for part in (holes, ~holes))
        if holes.any():
            moments = moments_of_ways(strategy, with_holes, example)
            means += _means(with_holes, moments, example)
            shares += moments[:, 0] @ with_holes.probability
        if len(without.L):  # all strategies grow the tree that only observed rows make
            means += _means(without, moments_of_ways("trinary", without, example), example)
    return Estimates(*(start + unit * means).tolist()), dict(zip(WAYS, shares.tolist(), strict=True))


def _means(counts: Counts, moments: Floats, example: Example) -> Floats:
    """Return what counts contribute to the expected estimates of a and b, less a."""
    observed = counts.R * example.b / (counts.L + counts.R)
    estimates = sum(
        np.einsum("evc,vc->ec", estimates_of(way, counts), moments[way, 1:]) for way in range(len(WAYS))
    )
    means: Floats = (observed + estimates) @ counts.probability
    return means


def check_strategy(strategy: str) -> None:
    """Refuse what is no strategy."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {shortened(strategy)}")
