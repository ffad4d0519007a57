"""Little's test: whether means differ between the patterns of holes more than chance allows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_COLUMNS", "MOST_PATTERNS", "MOST_ROWS", "LittleTest", "little_test"]

#: The most columns, rows and patterns that are looked at: time grows with patterns x columns cubed.
MOST_COLUMNS, MOST_ROWS, MOST_PATTERNS = 30, 100_000, 500

_MOST_STEPS = 300
_LONGEST = 1000.0  # by how much a leap may exceed a step
_FEWEST_ROWS = 2  # per pattern: a mean of one row is no mean, and the test sees nothing
_CLOSE = 1e-7  # how little the last step may change means and covariances, by deviations of the columns
_RIDGE = 1e-10  # added to variances of 1, so that a matrix without full rank can be inverted on the way
_NO_VARIANCE = 1e-7  # of a variance of 1: what remains of it beside other columns is rounding


@dataclass(frozen=True, slots=True)
class LittleTest:
    """What Little's test says, and what it was computed on; without a statistic, ``reason`` says why not."""

    statistic: float | None = None
    degrees_of_freedom: int | None = None
    p_value: float | None = None
    n_rows: int = 0
    n_patterns: int = 0
    #: The names of the columns it was computed on.
    columns: tuple[str, ...] = ()
    #: The numeric columns it was not computed on, each with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    #: What else was left out, in sentences.
    remarks: tuple[str, ...] = ()
    reason: str | None = None


def little_test(names: Sequence[str], columns: Sequence[NDArray[np.float64]]) -> LittleTest:
    """Return Little's test of missing completely at random, on numeric columns with NaN where missing.

    With means mu and covariances Sigma of a normal distribution that fits all observed cells best (found by the EM
    algorithm), the statistic is the sum over patterns s of n_s (mean_s - mu_s)' Sigma_s^-1 (mean_s - mu_s), where
    mu_s and Sigma_s are those of the columns observed in s. If values are missing completely at random it is about
    chi-square distributed, with as many degrees of freedom as columns are observed in the patterns together, less the
    number of columns (R. J. A. Little, 1988, Journal of the American Statistical Association 83, 1198-1202).
    Sigma is the maximum-likelihood estimate, as in R's naniar.

    At most 100,000 rows, 30 columns and 500 patterns are looked at: rows drawn at random (always the same), the
    columns with the most holes, then those that come first, and the most frequent patterns. To choose by holes alone
    leaves the test valid. Where patterns have fewer than two rows on average there is no test: it compares their means.
    """
    if not len(columns):
        return LittleTest(reason="the table has no numeric column with values")
    columns, remarks = _some_rows(columns)
    left_out = _useless(names, columns)
    kept = [j for j, name in enumerate(names) if name not in left_out]
    most = sorted(kept, key=lambda j: -np.count_nonzero(np.isnan(columns[j])))[:MOST_COLUMNS]
    left_out |= {names[j]: f"only {MOST_COLUMNS} columns are looked at" for j in kept if j not in most}
    most.sort()
    return _test([names[j] for j in most], [columns[j] for j in most], left_out, remarks)


def _some_rows(columns: Sequence[NDArray[np.float64]]) -> tuple[list[NDArray[np.float64]], list[str]]:
    """Return the rows that are looked at, in an order that has nothing to do with that of the table."""
    n_rows = len(columns[0])
    rows = np.random.default_rng(0).permutation(n_rows)[:MOST_ROWS]
    remarks = [f"a random {MOST_ROWS:,} of {n_rows:,} rows were looked at"] if n_rows > MOST_ROWS else []
    return [column[rows] for column in columns], remarks


def _useless(names: Sequence[str], columns: Sequence[NDArray[np.float64]]) -> dict[str, str]:
    """Return the columns that tell nothing, each with the reason."""
    reasons = {}
    for name, column in zip(names, columns, strict=True):
        observed = column[~np.isnan(column)]
        if not len(observed):
            reasons[name] = "no value is observed"
        elif not np.isfinite(observed).all():
            reasons[name] = "holds infinite values"
        elif observed.min() == observed.max():
            reasons[name] = "all observed values are equal"
    return reasons


def _test(
    names: list[str], columns: list[NDArray[np.float64]], left_out: dict[str, str], remarks: list[str]
) -> LittleTest:
    """Return the test on these columns, or on those of them that the others do not determine."""
    if not names:
        return LittleTest(left_out=left_out, remarks=tuple(remarks), reason="no numeric column varies")
    patterns, said = _read_patterns(columns)
    about = LittleTest(
        n_rows=int(patterns.rows.sum()),
        n_patterns=len(patterns.rows),
        columns=tuple(names),
        left_out=left_out,
        remarks=(*remarks, *said),
    )
    df = int(patterns.observed.sum()) - len(names)
    reason = _obstacle(about, df)
    if reason is not None:
        return replace(about, reason=reason)
    mean, covariance, has_settled = _fit(patterns)
    determined = _determined(covariance)
    if determined:
        left_out = left_out | {names[j]: "follows from the columns before it" for j in determined}
        rest = [j for j in range(len(names)) if j not in determined]
        return _test([names[j] for j in rest], [columns[j] for j in rest], left_out, remarks)
    if not has_settled:
        unsettled = f"means and covariances still moved after {_MOST_STEPS:,} steps"
        about = replace(about, remarks=(*about.remarks, unsettled))
    off = patterns.sums / patterns.rows[:, None] - mean * patterns.observed
    inverses = _inverses(covariance, patterns.observed)
    statistic = float(np.einsum("s,si,sij,sj->", patterns.rows, off, inverses, off))
    return replace(
        about, statistic=statistic, degrees_of_freedom=df, p_value=float(chdtrc(df, max(statistic, 0.0)))
    )


def _obstacle(about: LittleTest, df: int) -> str | None:
    """Return why there is nothing to compute, if so."""
    if about.n_patterns < 2:
        return "the numeric columns have no holes, or all of them in the same rows: no patterns to compare"
    if df <= 0:
        return "no two patterns have an observed column in common"
    if about.n_rows <= len(about.columns):
        return f"{about.n_rows:,} rows are too few for {len(about.columns)} columns"
    if about.n_rows < _FEWEST_ROWS * about.n_patterns:
        return (
            f"{about.n_rows:,} rows have {about.n_patterns:,} patterns, so that most are alone with theirs and there "
            "are no means to compare; look at fewer columns"
        )
    return None


@dataclass(frozen=True, slots=True)
class _Patterns:
    """All that is needed of the rows: per pattern, with zeros where its columns are missing."""

    #: Which columns are observed, 1 or 0: patterns x columns.
    observed: NDArray[np.float64]
    #: How many rows a pattern has.
    rows: NDArray[np.float64]
    #: The sums of the columns over these rows, and of their products: patterns x columns (x columns).
    sums: NDArray[np.float64]
    products: NDArray[np.float64]


def _read_patterns(columns: list[NDArray[np.float64]]) -> tuple[_Patterns, list[str]]:
    """Return the most frequent patterns of columns, brought to mean 0 and deviation 1, and what was left out."""
    values = np.column_stack([_standardised(column) for column in columns])
    is_observed = ~np.isnan(values)
    some = is_observed.any(axis=1)
    values, is_observed = values[some], is_observed[some]
    _, first, pattern, count = np.unique(
        np.packbits(is_observed, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    # of equally frequent ones those that come first, which are random ones
    most = np.lexsort((first, -count))[:MOST_PATTERNS]
    order = np.argsort(pattern.ravel(), kind="stable")
    ends = np.cumsum(count)
    parts = [np.nan_to_num(values[order[ends[s] - count[s] : ends[s]]]) for s in most]
    said = []
    if len(count) > len(most):
        n_rows = sum(map(len, parts))
        said.append(
            f"only the {MOST_PATTERNS} most frequent of {len(count):,} patterns, with {n_rows:,} rows"
        )
    return _Patterns(
        is_observed[first[most]].astype(np.float64),
        count[most].astype(np.float64),
        np.array([part.sum(axis=0) for part in parts]),
        np.array([part.T @ part for part in parts]),
    ), said


def _standardised(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a column with mean 0 and deviation 1; divided by its largest value first, as squares may be too large."""
    column = column / np.nanmax(np.abs(column))
    column = column - np.nanmean(column)
    deviation = np.nanstd(column)
    return column / deviation if deviation > 0 else column


def _fit(patterns: _Patterns) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Return the means and covariances under which what is observed is most probable, and whether they settled.

    Steps of the EM algorithm are short where much is missing, so two of them tell where to leap to (the squared
    extrapolation of Varadhan and Roland, 2008, Scandinavian Journal of Statistics 35, 335-353).
    """
    n_columns = patterns.observed.shape[1]
    now = np.vstack([np.zeros(n_columns), np.eye(n_columns)])  # means in the first line, covariances below
    for _ in range(_MOST_STEPS // 3):
        once = _step(patterns, now)
        twice = _step(patterns, once)
        if np.abs(twice - once).max() < _CLOSE:
            return twice[0], twice[1:], True
        first, bend = once - now, twice - 2 * once + now
        length = np.clip(np.linalg.norm(first) / (np.linalg.norm(bend) + 1e-12), 1, _LONGEST)
        leap = now + 2 * length * first + length**2 * bend
        is_possible = np.linalg.eigvalsh(leap[1:])[0] > _NO_VARIANCE
        now = _step(patterns, leap if is_possible else twice)
    return now[0], now[1:], False


def _step(patterns: _Patterns, now: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means and covariances after a step of EM.

    Each hole is filled with what its row's observed values let expect, and means and covariances are taken of that;
    what is unknown about the filled cells is added.
    """
    mean, covariance = now[0], now[1:]
    observed, rows, n_rows = patterns.observed, patterns.rows[:, None, None], patterns.rows.sum()
    # rows of a pattern about the mean: their sums, and the sums of their products
    off = patterns.sums - patterns.rows[:, None] * mean * observed
    cross = patterns.sums[:, :, None] * (mean * observed)[:, None, :]
    squares = rows * ((mean * observed)[:, :, None] * (mean * observed)[:, None, :])
    spread = patterns.products - cross - cross.swapaxes(1, 2) + squares
    # how far the columns are expected to be off, per deviation of the observed ones
    expected = covariance @ _inverses(covariance, observed)
    unknown = covariance - expected @ covariance
    shift = np.einsum("sij,sj->i", expected, off) / n_rows
    filled = (expected @ spread @ expected.swapaxes(1, 2) + rows * unknown).sum(axis=0) / n_rows
    new = filled - np.outer(shift, shift)
    return np.vstack([mean + shift, (new + new.T) / 2])


def _inverses(covariance: NDArray[np.float64], observed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse covariances of each pattern's observed columns, zero elsewhere."""
    both = observed[:, :, None] * observed[:, None, :]
    identity = np.eye(len(covariance))
    # a missing column stands alone with variance 1, so that all patterns are inverted together
    alone = identity * (1 - observed)[:, :, None]
    inverses: NDArray[np.float64] = np.linalg.inv(covariance * both + alone + _RIDGE * identity) * both
    return inverses


def _determined(covariance: NDArray[np.float64]) -> list[int]:
    """Return the columns that are linear combinations of columns before them, by elimination."""
    left, determined = covariance.copy(), []
    for j in range(len(left)):
        if left[j, j] <= _NO_VARIANCE:
            determined.append(j)
        else:
            left -= np.outer(left[:, j], left[j]) / left[j, j]
    return determined
