"""Little's MCAR test: whether the means of the columns differ between missing patterns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Maximum numbers of columns, rows and patterns used: time grows with patterns x columns cubed.
MAX_COLUMNS, MAX_ROWS, MAX_PATTERNS = 30, 100_000, 500

_MAX_STEPS = 300  # of the EM algorithm
_MAX_EXTRAPOLATION = 1000.0  # length of an extrapolation, in steps
_MIN_ROWS = 2  # per pattern on average: the mean of a single row has no power
_TOLERANCE = 1e-7  # change of means and covariances in the last step, in standard deviations of the columns
_RIDGE = 1e-10  # added to variances of 1, so that singular matrices can be inverted on the way
_NO_VARIANCE = 1e-7  # of a variance of 1: a smaller residual variance is rounding error


@dataclass(frozen=True, slots=True)
class LittleMCARTest:
    """Result of Little's MCAR test, and the data it was computed on; ``reason`` says why there is no statistic."""

    statistic: float | None = None
    degrees_of_freedom: int | None = None
    p_value: float | None = None
    n_rows: int = 0
    n_patterns: int = 0
    #: Names of the columns used.
    columns: tuple[str, ...] = ()
    #: Numeric columns not used, each with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Limits that applied, in sentences.
    remarks: tuple[str, ...] = ()
    reason: str | None = None


def little_mcar_test(names: Sequence[str], columns: Sequence[NDArray[np.float64]]) -> LittleMCARTest:
    """Return Little's test of missing completely at random (MCAR) on numeric columns, with NaN for missing.

    With mu and Sigma the maximum-likelihood means and covariances of a normal distribution, fitted to all observed
    cells by the EM algorithm, the statistic is the sum over missing patterns s of
    n_s (mean_s - mu_s)' Sigma_s^-1 (mean_s - mu_s), where mu_s and Sigma_s belong to the columns observed in s. Under
    MCAR it is asymptotically chi-square distributed; the degrees of freedom are the numbers of observed columns, summed
    over the patterns, minus the number of columns (R. J. A. Little, 1988, Journal of the American Statistical
    Association 83, 1198-1202). R's naniar has the same estimates.

    At most 100,000 rows (a fixed random sample), 30 columns (those with the most missing values, then the first) and
    500 patterns (the most frequent) are used. Choosing by missingness alone keeps the test valid. The test compares
    the means of patterns, so it is not computed if patterns have fewer than two rows on average.
    """
    if not len(columns):
        return LittleMCARTest(reason="the table has no numeric column with values")
    n_rows = len(columns[0])
    rows = np.random.default_rng(0).permutation(n_rows)[:MAX_ROWS]
    remarks = [f"a random {MAX_ROWS:,} of {n_rows:,} rows were used"] if n_rows > MAX_ROWS else []
    columns = [column[rows] for column in columns]
    left_out = {}
    for name, column in zip(names, columns, strict=True):
        observed = column[~np.isnan(column)]
        if not len(observed):
            left_out[name] = "no value is observed"
        elif not np.isfinite(observed).all():
            left_out[name] = "holds infinite values"
        elif observed.min() == observed.max():
            left_out[name] = "all observed values are equal"
    usable = [j for j, name in enumerate(names) if name not in left_out]
    most = sorted(usable, key=lambda j: -np.count_nonzero(np.isnan(columns[j])))[:MAX_COLUMNS]
    left_out |= {names[j]: f"only {MAX_COLUMNS} columns are used" for j in usable if j not in most}
    most.sort()
    return _test([names[j] for j in most], [columns[j] for j in most], left_out, remarks)


def _test(
    names: list[str], columns: list[NDArray[np.float64]], left_out: dict[str, str], remarks: list[str]
) -> LittleMCARTest:
    """Return the test on these columns, without those that are linear combinations of the others."""
    if not names:
        return LittleMCARTest(left_out=left_out, remarks=tuple(remarks), reason="no numeric column varies")
    patterns, limits = _read_patterns(columns)
    result = LittleMCARTest(
        n_rows=int(patterns.rows.sum()),
        n_patterns=len(patterns.rows),
        columns=tuple(names),
        left_out=left_out,
        remarks=(*remarks, *limits),
    )
    df = int(patterns.observed.sum()) - len(names)
    reason = _obstacle(result, df)
    if reason is not None:
        return replace(result, reason=reason)
    mean, covariance, has_converged = _fit(patterns)
    determined = _determined(covariance)
    if determined:
        left_out = left_out | {names[j]: "a linear combination of columns before it" for j in determined}
        rest = [j for j in range(len(names)) if j not in determined]
        return _test([names[j] for j in rest], [columns[j] for j in rest], left_out, remarks)
    if not has_converged:
        remark = f"means and covariances have not converged after {_MAX_STEPS:,} steps"
        result = replace(result, remarks=(*result.remarks, remark))
    deviation = patterns.sums / patterns.rows[:, None] - mean * patterns.observed
    inverses = _inverses(covariance, patterns.observed)
    statistic = float(np.einsum("s,si,sij,sj->", patterns.rows, deviation, inverses, deviation))
    return replace(
        result, statistic=statistic, degrees_of_freedom=df, p_value=float(chdtrc(df, max(statistic, 0.0)))
    )


def _obstacle(data: LittleMCARTest, df: int) -> str | None:
    """Return the reason why the test cannot be computed, if any."""
    if data.n_patterns < 2:
        return "the numeric columns have only one missing pattern: no means to compare"
    if df <= 0:
        return "no two patterns have an observed column in common"
    if data.n_rows <= len(data.columns):
        return f"{data.n_rows:,} rows are too few for {len(data.columns)} columns"
    if data.n_rows < _MIN_ROWS * data.n_patterns:
        return (
            f"{data.n_rows:,} rows have {data.n_patterns:,} patterns, fewer than {_MIN_ROWS} rows per pattern; use "
            "fewer columns"
        )
    return None


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Sufficient statistics per missing pattern, with zeros for its missing columns."""

    #: Whether columns are observed, 1 or 0: patterns x columns.
    observed: NDArray[np.float64]
    #: Number of rows of each pattern.
    rows: NDArray[np.float64]
    #: Sums over these rows of the columns, and of their products: patterns x columns (x columns).
    sums: NDArray[np.float64]
    products: NDArray[np.float64]


def _read_patterns(columns: list[NDArray[np.float64]]) -> tuple[_Patterns, list[str]]:
    """Return the most frequent patterns of the standardised columns, and remarks on the others."""
    columns = [column / np.nanmax(np.abs(column)) for column in columns]  # squares may overflow
    centred = (column - np.nanmean(column) for column in columns)
    values = np.column_stack([column / (np.nanstd(column) or 1.0) for column in centred])
    is_observed = ~np.isnan(values)
    some = is_observed.any(axis=1)
    values, is_observed = values[some], is_observed[some]
    _, first, pattern, count = np.unique(
        np.packbits(is_observed, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    # ties go to the pattern that comes first; the order of the rows is random
    most = np.lexsort((first, -count))[:MAX_PATTERNS]
    order = np.argsort(pattern.ravel(), kind="stable")
    ends = np.cumsum(count)
    parts = [np.nan_to_num(values[order[ends[s] - count[s] : ends[s]]]) for s in most]
    remarks = []
    if len(count) > len(most):
        n_rows = sum(map(len, parts))
        remarks.append(
            f"only the {MAX_PATTERNS} most frequent of {len(count):,} patterns, with {n_rows:,} rows"
        )
    return _Patterns(
        is_observed[first[most]].astype(np.float64),
        count[most].astype(np.float64),
        np.array([part.sum(axis=0) for part in parts]),
        np.array([part.T @ part for part in parts]),
    ), remarks


def _fit(patterns: _Patterns) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Return the maximum-likelihood means and covariances, and whether the EM algorithm converged.

    EM converges slowly if many values are missing, so its steps are extrapolated (SQUAREM: Varadhan and Roland, 2008,
    Scandinavian Journal of Statistics 35, 335-353).
    """
    n_columns = patterns.observed.shape[1]
    now = np.vstack([np.zeros(n_columns), np.eye(n_columns)])  # means in the first row, covariances below
    for _ in range(_MAX_STEPS // 3):
        once = _step(patterns, now)
        twice = _step(patterns, once)
        if np.abs(twice - once).max() < _TOLERANCE:
            return twice[0], twice[1:], True
        first, bend = once - now, twice - 2 * once + now
        length = np.clip(np.linalg.norm(first) / (np.linalg.norm(bend) + 1e-12), 1, _MAX_EXTRAPOLATION)
        extrapolated = now + 2 * length * first + length**2 * bend
        is_valid = np.linalg.eigvalsh(extrapolated[1:])[0] > _NO_VARIANCE
        now = _step(patterns, extrapolated if is_valid else twice)
    return now[0], now[1:], False


def _step(patterns: _Patterns, now: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means and covariances after a step of EM.

    They are those of the rows with missing values replaced by their conditional expectation, given the observed
    values; the conditional covariance of the missing values is added.
    """
    mean, covariance = now[0], now[1:]
    observed, rows, n_rows = patterns.observed, patterns.rows[:, None, None], patterns.rows.sum()
    # sums, and sums of products, of the deviations from the mean in each pattern
    deviation = patterns.sums - patterns.rows[:, None] * mean * observed
    cross = patterns.sums[:, :, None] * (mean * observed)[:, None, :]
    squares = rows * ((mean * observed)[:, :, None] * (mean * observed)[:, None, :])
    spread = patterns.products - cross - cross.swapaxes(1, 2) + squares
    # regression of all columns on the observed ones
    regression = covariance @ _inverses(covariance, observed)
    residual = covariance - regression @ covariance
    shift = np.einsum("sij,sj->i", regression, deviation) / n_rows
    filled = (regression @ spread @ regression.swapaxes(1, 2) + rows * residual).sum(axis=0) / n_rows
    new = filled - np.outer(shift, shift)
    return np.vstack([mean + shift, (new + new.T) / 2])


def _inverses(covariance: NDArray[np.float64], observed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse covariances of each pattern's observed columns, zero elsewhere."""
    both = observed[:, :, None] * observed[:, None, :]
    identity = np.eye(len(covariance))
    # missing columns are uncorrelated with variance 1, so that all patterns are inverted at once
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
