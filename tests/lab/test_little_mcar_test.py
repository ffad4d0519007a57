"""Little's MCAR test agrees with R, with a reference implementation, and is calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from lab.airquality import columns as air_quality

from tritree.lab import ampute
from tritree.lab.little_mcar_test import MAX_COLUMNS, MAX_PATTERNS, MAX_ROWS, little_mcar_test


def little(columns):
    return little_mcar_test(list(columns), list(columns.values()))


def named(array):
    return {f"x{j}": column for j, column in enumerate(array.T)}


def correlated(n_rows, n_columns, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_columns)) @ (np.eye(n_columns) + 0.5) + np.arange(n_columns)


# R: naniar's own tests have 35.1061288689702 and p = 0.00141778113856683 for mcar_test(airquality), with means and
# covariances settled to 4 digits; with those of lavaan 0.6.14 settled to 12 digits the same formula gives 35.1061749072


def test_air_quality_agrees_with_naniar():
    result = little(air_quality())
    assert result.statistic == pytest.approx(35.1061288689702, rel=1e-5)
    assert result.p_value == pytest.approx(0.00141778113856683, rel=1e-4)
    assert (result.degrees_of_freedom, result.n_patterns, result.n_rows) == (14, 4, 153)


def test_air_quality_agrees_with_estimates_of_lavaan():
    result = little(air_quality())
    assert result.statistic == pytest.approx(35.1061749072, rel=1e-7)
    assert result.p_value == pytest.approx(0.00141775887109, rel=1e-6)


def test_four_columns_of_air_quality_agree_with_estimates_of_lavaan():
    columns = air_quality()
    result = little({name: columns[name] for name in ("Ozone", "Solar.R", "Wind", "Temp")})
    assert result.statistic == pytest.approx(14.939998124, rel=1e-7)
    assert result.p_value == pytest.approx(0.0603227130821, rel=1e-6)
    assert result.degrees_of_freedom == 8


def test_many_patterns_agree_with_estimates_of_lavaan():
    columns, row = air_quality(), np.arange(1, 154)
    for name, divisor, rest in (("Wind", 7, 3), ("Temp", 5, 2), ("Month", 11, 4)):
        columns[name][row % divisor == rest] = np.nan
    result = little(columns)
    assert result.statistic == pytest.approx(68.935074854642, rel=1e-6)
    assert result.p_value == pytest.approx(0.47955702047388, rel=1e-6)
    assert (result.degrees_of_freedom, result.n_patterns) == (69, 18)


# reference implementation, row by row


def slow_statistic(values):
    """Return the statistic with means and covariances of 400 plain EM steps."""
    n_rows = len(values)
    mean, covariance = np.nanmean(values, axis=0), np.diag(np.nanvar(values, axis=0))
    for _ in range(400):
        filled, residual = np.empty_like(values), np.zeros_like(covariance)
        for i, row in enumerate(values):
            seen = ~np.isnan(row)
            regression = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen]).T
            filled[i] = mean + regression @ (row[seen] - mean[seen])
            residual += covariance - regression @ covariance[seen]
        mean = filled.mean(axis=0)
        covariance = ((filled - mean).T @ (filled - mean) + residual) / n_rows
    statistic = 0.0
    for pattern in np.unique(~np.isnan(values), axis=0):
        rows = values[(~np.isnan(values) == pattern).all(axis=1)][:, pattern]
        deviation = rows.mean(axis=0) - mean[pattern]
        statistic += len(rows) * deviation @ np.linalg.solve(covariance[np.ix_(pattern, pattern)], deviation)
    return statistic


@pytest.mark.parametrize("seed", range(3))
def test_statistic_is_that_of_the_reference(seed):
    values = ampute(correlated(60, 3, seed), 0.25, seed=seed)
    values = values[~np.isnan(values).all(axis=1)]
    assert little(named(values)).statistic == pytest.approx(slow_statistic(values), rel=1e-5)


# calibration


def p_values(mechanism, n=200):
    return np.array(
        [
            little(named(ampute(correlated(200, 3, s), 0.2, mechanism, columns=[0, 1], seed=s))).p_value
            for s in range(n)
        ]
    )


def test_p_values_are_about_uniform_under_mcar():
    found = np.sort(p_values("mcar"))
    expected = (np.arange(len(found)) + 0.5) / len(found)
    assert np.abs(found - expected).max() < 1.36 / np.sqrt(len(found))  # Kolmogorov-Smirnov, 5 %


def test_p_values_are_small_under_mar():
    assert (p_values("mar", 30) < 0.001).all()


# invariance


def test_units_of_columns_do_not_matter():
    columns = air_quality()
    scaled = {name: (column - 50) * 1e150 for name, column in columns.items()}
    assert little(scaled).statistic == pytest.approx(little(columns).statistic, rel=1e-6)


def test_rows_without_any_value_do_not_matter():
    columns = air_quality()
    longer = {name: np.append(column, [np.nan] * 7) for name, column in columns.items()}
    assert little(longer).statistic == pytest.approx(little(columns).statistic, rel=1e-6)


def test_order_of_rows_does_not_matter():
    columns = air_quality()
    backwards = {name: column[::-1] for name, column in columns.items()}
    assert little(backwards).statistic == pytest.approx(little(columns).statistic, rel=1e-6)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (lambda columns: columns["Temp"] * 2 - columns["Wind"], "a linear combination of columns before it"),
        (lambda columns: columns["Ozone"] * -3, "a linear combination of columns before it"),
        (lambda columns: np.ones(153), "all observed values are equal"),
        (lambda columns: np.append(columns["Day"][1:], np.inf), "holds infinite values"),
        (lambda columns: np.full(153, np.nan), "no value is observed"),
    ],
)
def test_unusable_column_is_excluded_with_its_reason(extra, reason):
    columns = air_quality()
    result = little(columns | {"extra": extra(columns)})
    assert result.left_out == {"extra": reason}
    assert result.statistic == pytest.approx(little(columns).statistic, rel=1e-6)


# no test possible


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.empty((5, 0)), "no numeric column with values"),
        (correlated(20, 2), "only one missing pattern"),
        (np.where(np.arange(20)[:, None] < 5, np.nan, correlated(20, 2)), "no means to compare"),
        (np.where(np.eye(2)[np.arange(20) % 2] > 0, np.nan, correlated(20, 2)), "no two patterns"),
        (np.ones((9, 2)), "no numeric column varies"),
        (ampute(correlated(4, 4), 0.25), "too few for 4 columns"),
        (ampute(correlated(100, 20), 0.4), "use fewer columns"),
    ],
)
def test_reason_is_given_if_there_is_no_test(array, reason):
    result = little(named(array))
    assert reason in result.reason
    assert (result.statistic, result.degrees_of_freedom, result.p_value) == (None, None, None)


# limits


def test_rows_beyond_the_limit_are_sampled_with_a_remark():
    result = little(named(ampute(correlated(MAX_ROWS + 5, 2), 0.2, columns=[0])))
    assert result.n_rows == MAX_ROWS
    assert result.remarks == ("a random 100,000 of 100,005 rows were used",)


def test_columns_with_the_fewest_missing_values_are_excluded_beyond_the_limit():
    values = correlated(300, MAX_COLUMNS + 2)
    values[:40, -1] = values[20:60, -2] = np.nan
    result = little(named(values))
    assert len(result.columns) == MAX_COLUMNS
    assert {"x30", "x31"} <= set(result.columns)
    assert result.left_out == dict.fromkeys(["x28", "x29"], "only 30 columns are used")


def test_rarest_patterns_are_excluded_beyond_the_limit():
    result = little(named(ampute(correlated(4000, 10), 0.3)))
    assert result.n_patterns == MAX_PATTERNS
    assert "only the 500 most frequent of" in result.remarks[0]
    assert result.p_value > 0.01
