"""Metrics of the methods on one data set, by scenario: as the table is, and with values missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tritree.inspection.formatting import number_format
from tritree.lab.ampute import MECHANISMS
from tritree.lab.methods import CONSTANT
from tritree.lab.ranks.averages import NoCommonCaseError, check_results, losses
from tritree.lab.ranks.comparison import UNCHANGED, compare_methods, compare_unchanged
from tritree.lab.ranks.names import join_names, scenario_order
from tritree.lab.ranks.significance import LEVEL, corrected_t_test
from tritree.metrics import GREATER_IS_BETTER, METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

#: Outcome of the constant, which is not one of the methods that are compared.
BASELINE = "baseline"
_TEST_SUFFIX = "_test"
_SMALL = 0.05  # losses that three decimals do not tell apart


@dataclass(frozen=True, eq=False)
class ScenarioScores:
    """The metrics of all methods in one scenario.

    Attributes
    ----------
    scenario : str
        Name of the scenario; "unchanged" for the table as it is.
    metric : str
        The metric that methods are ranked by: "log_loss" or "rmse".
    table : pandas.DataFrame
        One line per method, best first: ``method``, the metrics (means over test rows, rates and seeds; ``rmse`` is the
        root of the mean squared error), ``outcome`` and the differences in loss of `tritree.lab.ranks.Comparison`, and
        ``beats_constant``: "yes", "not significant", "no", or None if there is no constant.
    rates : list of float
        Rates that are averaged; empty for the table as it is.
    n_folds, n_seeds : int
        Number of folds, and of times that values were removed, behind each line.
    """

    scenario: str
    metric: str
    table: pd.DataFrame
    rates: list[float]
    n_folds: int
    n_seeds: int

    @property
    def title(self) -> str:
        """Return the scenario as a heading."""
        if self.scenario == UNCHANGED:
            return "The table as it is"
        mechanism = self.scenario.removesuffix(_TEST_SUFFIX)
        if mechanism not in MECHANISMS:
            where = f"Scenario {self.scenario!r}"
        elif self.scenario == mechanism:
            where = "Values missing in training and test"
        else:
            where = "Values missing in the test only, as in production"
        how = f", mechanism {mechanism}" if mechanism in MECHANISMS and mechanism != "mcar" else ""
        rates = [f"{100 * rate:.3g}%" for rate in self.rates]
        over = "means over " if len(rates) > 1 else ""
        return f"{where}{how} ({over}{join_names(rates)} removed)"

    @property
    def where(self) -> str:
        """Return the scenario as the end of a sentence."""
        if self.scenario == UNCHANGED:
            return "on the table as it is"
        if self.scenario.removesuffix(_TEST_SUFFIX) not in MECHANISMS:
            return f"in the scenario {self.scenario!r}"
        if self.scenario.endswith(_TEST_SUFFIX):
            return "when fields go missing in production"
        return "when values are missing in training and test"


def has_metrics(results: pd.DataFrame) -> bool:
    """Return whether results hold metrics beside the loss; those of the paper's author do not."""
    return any(set(metrics) <= set(results.columns) for metrics in METRICS.values())


def scenario_scores(results: pd.DataFrame) -> list[ScenarioScores]:
    """Return the metrics on one data set: on the table as it is, then in each scenario, in the test only first.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.Experiment.run`. The method "constant", if there is one, is the baseline.

    Raises
    ------
    ValueError
        If the results have no metrics, or several data sets.
    NoCommonCaseError
        If there is no case in which all methods have a loss.
    """
    if not has_metrics(results):
        raise ValueError("the results have no metrics; they come from Experiment.run")
    table = check_results(results)
    table = table.merge(losses(table)[["dataset", "scenario", "rate", "method", "seed"]])  # with all folds
    if table.empty:
        raise NoCommonCaseError("there is no case in which a method has a loss in all folds")
    at_zero, amputed = table[table["rate"] == 0], table[table["rate"] > 0]
    found = []
    if len(at_zero):
        once = at_zero.drop_duplicates(["method", "fold"]).assign(scenario=UNCHANGED, seed=0)
        found.append(_scores(once, compare_unchanged(without_constant(at_zero)).table))
    for scenario in sorted(scenario_order(amputed["scenario"]), key=lambda name: not name.endswith("_test")):
        part = amputed[amputed["scenario"] == scenario]
        found.append(_scores(part, compare_methods(without_constant(part)).table))
    return found


def without_constant(table: pd.DataFrame) -> pd.DataFrame:
    """Return the results of the methods that are compared; the constant alone is compared with nothing."""
    others = table[table["method"] != CONSTANT]
    return others if len(others) else table


def _scores(lines: pd.DataFrame, compared: pd.DataFrame) -> ScenarioScores:
    """Return the scores of one scenario from its folds, and from the differences between methods."""
    is_regression = lines["rmse"].notna().any() if "rmse" in lines else False
    task, metric = ("regression", "rmse") if is_regression else ("classification", "log_loss")
    names = ["loss", *METRICS[task]]
    cases = lines.pivot(index=["rate", "seed", "fold"], columns="method", values=["rows", *names])
    cases = cases.loc[cases["loss"].notna().all(axis=1)]  # only where all methods have a loss
    rows = cases["rows"].iloc[:, 0].to_numpy(dtype=float)
    means = pd.DataFrame({name: _means(cases[name], rows) for name in names})
    if is_regression:
        means["rmse"] = np.sqrt(means["loss"])
    outcomes = compared.set_index("method").drop(columns=["scenario", "loss"])
    table = means.join(outcomes)
    table["outcome"] = table["outcome"].where(table.index != CONSTANT, BASELINE)
    table["beats_constant"] = _beats_constant(cases["loss"], rows)
    table = table.sort_values("loss", kind="stable").rename_axis("method").reset_index()
    columns = ["method", *METRICS[task], "loss", "outcome", "difference", "low", "high", "p", "p_holm"]
    rates = sorted({float(rate) for rate in lines["rate"]} - {0.0})
    return ScenarioScores(
        str(lines["scenario"].iloc[0]),
        metric,
        table[[*columns, "beats_constant"]],
        rates,
        n_folds=cases.index.get_level_values("fold").nunique(),
        n_seeds=cases.index.get_level_values("seed").nunique(),
    )


def _means(values: pd.DataFrame, rows: NDArray[Any]) -> pd.Series:
    """Return the mean of each column weighted by rows; folds in which a metric is not defined are left out."""
    known = values.notna()
    weights = known.mul(rows, axis=0).sum()
    return values.fillna(0.0).mul(rows, axis=0).sum() / weights.where(weights > 0)


def _beats_constant(loss: pd.DataFrame, rows: NDArray[Any]) -> pd.Series:
    """Return whether each method has a lower loss than the constant, by the corrected resampled t-test."""
    if CONSTANT not in loss:
        return pd.Series(None, index=loss.columns, dtype=object)
    by_fold = loss.groupby(level=["seed", "fold"]).mean()
    fold_rows = pd.Series(rows, index=loss.index).groupby(level=["seed", "fold"]).first().to_numpy()
    found = {}
    for method in by_fold:
        difference, _, _, p = corrected_t_test(by_fold[method] - by_fold[CONSTANT], fold_rows)
        found[method] = "no" if not difference < 0 else "yes" if p < LEVEL else "not significant"
    return pd.Series(found, dtype=object)


def metric_format(metric: str, values: pd.Series) -> Callable[[float], str]:
    """Return a formatter of a metric: three decimals, or as many as the unit of the target or small losses need."""
    has_unit = metric in METRICS["regression"] and metric != "r2"
    if has_unit or (metric not in GREATER_IS_BETTER and values.max() < _SMALL):
        return number_format(values.dropna(), 4)
    return "{:z.3f}".format


def lines_of(scores: Sequence[ScenarioScores], method: str) -> dict[str, Any]:
    """Return the line of a method by scenario; scenarios that it lacks are left out."""
    found = {}
    for one in scores:
        line = one.table[one.table["method"] == method]
        if len(line):
            found[one.scenario] = line.iloc[0]
    return found
