"""Significance tests: Friedman, Wilcoxon signed-rank, corrected resampled t-test, Holm correction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Significance level: a difference with a smaller adjusted p is called significant.
LEVEL = 0.05
#: Confidence of intervals.
CONFIDENCE = 0.95
#: Significant digits in which losses and ranks must agree to be tied: sums may differ in their last digits.
DIGITS = 12


def holm(p: Floats) -> Floats:
    """Return p-values with Holm's correction for multiple testing."""
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def friedman(ranks: Floats) -> tuple[float, float]:
    """Return statistic and p of the Friedman test on ranks of shape (data sets, methods); NaN if they are too few."""
    from scipy import stats

    n_datasets, n_methods = ranks.shape
    if n_datasets < 2 or n_methods < 3:
        return math.nan, math.nan
    if (ranks == ranks[:, :1]).all():
        return 0.0, 1.0
    statistic, p = stats.friedmanchisquare(*np.round(ranks, DIGITS).T)
    return float(statistic), float(p)


def wilcoxon(differences: Floats) -> float:
    """Return the two-sided p of the Wilcoxon signed-rank test; 1 if nothing differs, NaN with one data set."""
    from scipy import stats

    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def smallest_adjusted_p(n_datasets: int, n_methods: int) -> float:
    """Return the smallest possible Holm-adjusted p of signed-rank tests against the best method."""
    return float(min(2.0 ** (1 - n_datasets) * max(n_methods - 1, 1), 1.0))


def mean_interval(ranks: Floats) -> tuple[Floats, Floats]:
    """Return the t-intervals of mean ranks, clipped to possible ranks; ``ranks`` has shape (data sets, methods)."""
    from scipy import stats

    n_datasets, n_methods = ranks.shape
    if n_datasets < 3:  # an interval from two numbers says nothing
        return np.full(n_methods, np.nan), np.full(n_methods, np.nan)
    t = stats.t.ppf(0.5 + CONFIDENCE / 2, n_datasets - 1)
    half_width = t * ranks.std(axis=0, ddof=1) / math.sqrt(n_datasets)
    mean = ranks.mean(axis=0)
    return np.maximum(mean - half_width, 1.0), np.minimum(mean + half_width, float(n_methods))


def corrected_t_test(differences: pd.Series, rows: NDArray[Any]) -> tuple[float, float, float, float]:
    """Return the mean of paired differences, its confidence interval and p, by the corrected resampled t-test.

    With k folds and r seeds the variance of the mean is the larger of two estimates: ``1/(kr) + 1/(k - 1)`` times the
    variance of all differences, as if each seed split the rows anew, and ``1/k + 1/(k - 1)`` times the variance of the
    folds' means over seeds, as if all seeds had the same folds. ``1/(k - 1)`` is the ratio of test to training rows.

    Parameters
    ----------
    differences : pandas.Series
        Differences with the index levels ``seed`` and ``fold``.
    rows : numpy.ndarray
        Number of test rows behind each difference, used as weights.

    Returns
    -------
    tuple of float
        Mean, lower and upper end of its interval, and p; the latter three are NaN with fewer than two folds.
    """
    from scipy import stats

    values, weights = differences.to_numpy(dtype=float), np.asarray(rows, dtype=float)
    if not np.isfinite(values).all():
        return float(values.mean()), math.nan, math.nan, math.nan
    mean = float(np.average(values, weights=weights))
    _, fold = np.unique(differences.index.get_level_values("fold"), return_inverse=True)
    fold_rows: Floats = np.bincount(fold, weights).astype(float)
    by_fold = np.bincount(fold, values * weights) / fold_rows
    n_folds = len(fold_rows)
    if n_folds < 2:
        return mean, math.nan, math.nan, math.nan
    test_to_train = 1 / (n_folds - 1)
    variance, freedom = max(
        ((1 / len(values) + test_to_train) * _variance(values, weights), len(values) - 1),
        ((1 / n_folds + test_to_train) * _variance(by_fold, fold_rows), n_folds - 1),
    )
    if variance == 0:
        return mean, mean, mean, float(mean == 0)
    error = math.sqrt(variance)
    half_width = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    return mean, mean - half_width, mean + half_width, float(2 * stats.t.sf(abs(mean) / error, freedom))


def _variance(values: Floats, weights: Floats) -> float:
    """Return the variance about the weighted mean; the usual sample variance if weights are equal."""
    mean = np.average(values, weights=weights)
    return float(np.average(np.square(values - mean), weights=weights) * len(values) / (len(values) - 1))


def format_p(p: float, *, prefix: bool = False) -> str:
    """Return a p-value with three decimals, optionally with "p ="."""
    if math.isnan(p):
        return "–"
    if p < 0.0005:
        return "p < 0.001" if prefix else "<0.001"
    return f"{'p = ' if prefix else ''}{p:.3f}"


def format_p_range(values: Iterable[float]) -> str:
    """Return one p-value, or the range of several."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return "infinite loss"
    first, last = format_p(known[0], prefix=True), format_p(known[-1], prefix=True)
    return first if first == last else f"{first} to {format_p(known[-1])}"
