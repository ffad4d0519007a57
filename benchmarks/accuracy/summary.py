"""Summary of the results: mean ranks, relative losses, calibration, times, paired tests, and single data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.accuracy.experiments import AS_IT_IS, SCENARIOS, split_name
from benchmarks.accuracy.methods import CONSTANT, TRITREE, is_rival
from tritree.lab import mean_ranks
from tritree.lab.ranks import losses
from tritree.lab.ranks.significance import corrected_t_test, holm
from tritree.lab.trial import CALIBRATION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritree.lab.ranks import Ranks

__all__ = [
    "GROUPS",
    "Summary",
    "on_each_dataset",
    "other_libraries",
    "over_datasets",
    "ranked",
    "summarise",
]

#: The groups of cases, in their order.
GROUPS = (AS_IT_IS, *SCENARIOS)

_CASE = ["group", "dataset", "mechanism", "rate", "seed"]
#: Means over the test rows of a case that are shown beside the loss, by the names of the folds' columns.
_MEASURES = {
    "brier_score": "brier",
    CALIBRATION: "calibration",
    "fit_seconds": "fit",
    "predict_seconds": "predict",
}


@dataclass(frozen=True, eq=False)
class Summary:
    """All tables of a run.

    Attributes
    ----------
    folds : pandas.DataFrame
        The results, one line per fold, with ``group`` and ``mechanism``.
    cases : pandas.DataFrame
        One line per case and method: ``loss``, ``relative`` (loss divided by that of the constant), ``above`` (relative
        difference to the smallest loss of any method in the case), ``brier`` and ``calibration`` (classification),
        ``fit`` and ``predict`` (seconds).
    ranking : pandas.DataFrame
        One line per group and method: ``mean_rank``, ``relative`` and ``above`` (medians over cases), ``brier`` and
        ``calibration`` (means over data sets), ``fit`` and ``predict`` (medians over cases), also relative to tritree's
        in the same case (``fit_ratio``, ``predict_ratio``).
    paired_tests : pandas.DataFrame
        tritree and each other method, over data sets.
    per_dataset : pandas.DataFrame
        tritree and each other method on each data set, over folds.
    ranks : Ranks
        Mean ranks by group, with tests.
    """

    folds: pd.DataFrame
    cases: pd.DataFrame
    ranking: pd.DataFrame
    paired_tests: pd.DataFrame
    per_dataset: pd.DataFrame
    ranks: Ranks

    @property
    def groups(self) -> list[str]:
        """The groups, in their order."""
        return [group for group in GROUPS if group in set(self.cases["group"])]


def summarise(results: pd.DataFrame) -> Summary:
    """Return the summary of the results."""
    folds = in_groups(results)
    cases = relative_losses(folds)
    ranks = ranked(folds)
    return Summary(
        folds, cases, ranking_of(cases, ranks), over_datasets(cases), on_each_dataset(folds), ranks
    )


def in_groups(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with group and mechanism."""
    parts = results["scenario"].map(split_name)
    return results.assign(group=parts.str[0], mechanism=parts.str[1])


def as_scenarios(folds: pd.DataFrame) -> pd.DataFrame:
    """Return results for ``tritree.lab.mean_ranks``, with groups as scenarios.

    It identifies a case by data set, scenario, rate and seed, so each mechanism becomes another seed.
    """
    number = {name: i for i, name in enumerate(sorted(set(folds["mechanism"])))}
    return folds.assign(
        scenario=folds["group"], seed=folds["seed"] * len(number) + folds["mechanism"].map(number)
    )


def relative_losses(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the losses of all cases and methods, also relative to the constant and to the smallest, and measures."""
    found = losses(folds)
    parts = found["scenario"].map(split_name)
    found = found.assign(group=parts.str[0], mechanism=parts.str[1])
    wide = found.pivot(index=_CASE, columns="method", values="loss")
    others = wide.drop(columns=CONSTANT)
    long = wide.melt(ignore_index=False, value_name="loss").dropna().reset_index()
    at = pd.MultiIndex.from_frame(long[_CASE])
    long["relative"] = long["loss"].to_numpy() / wide[CONSTANT].loc[at].to_numpy()
    long["above"] = long["loss"].to_numpy() / others.min(axis=1).loc[at].to_numpy() - 1
    return long.merge(_case_means(folds).reset_index(), on=[*_CASE, "method"])


def _case_means(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the measures over the test rows of each case and method; NaN where a fold has none."""
    measures = folds.reindex(columns=list(_MEASURES)).rename(columns=_MEASURES).astype(float)
    by = [folds[name] for name in (*_CASE, "method")]
    sums = measures.mul(folds["rows"], axis=0).groupby(by).sum(min_count=1)
    return sums.div(folds["rows"].groupby(by).sum(), axis=0)


def ranked(folds: pd.DataFrame) -> Ranks:
    """Return mean ranks by group; the constant is not ranked."""
    table = as_scenarios(folds[folds["method"] != CONSTANT])
    # mean_ranks drops cases at rate 0 if there are others; here they are a group of their own
    return mean_ranks(table.assign(rate=table["rate"].where(table["rate"] > 0, 1.0)))


def ranking_of(cases: pd.DataFrame, ranks: Ranks) -> pd.DataFrame:
    """Return one line per group and method, the best mean rank first."""
    index = ["group", "method"]
    timed = cases.merge(cases.loc[cases["method"] == TRITREE, [*_CASE, "fit", "predict"]], on=_CASE)
    timed = timed.rename(columns={"fit_x": "fit", "predict_x": "predict"}).assign(
        fit_ratio=timed["fit_x"] / timed["fit_y"], predict_ratio=timed["predict_x"] / timed["predict_y"]
    )
    medians = timed.groupby(index)[
        ["relative", "above", "fit", "predict", "fit_ratio", "predict_ratio"]
    ].median()
    table = ranks.table.rename(columns={"scenario": "group", "first_fraction": "first"})
    joined = table[[*index, "mean_rank", "first", "datasets"]].merge(medians.reset_index(), on=index)
    joined = joined.merge(_calibration(cases).reset_index(), on=index, how="left")
    position = joined["group"].map({group: i for i, group in enumerate(GROUPS)})
    return joined.iloc[np.lexsort((joined["mean_rank"], position))].reset_index(drop=True)


def _calibration(cases: pd.DataFrame) -> pd.DataFrame:
    """Return Brier score and calibration error by group and method: means over the data sets with classes.

    A method without them in one case, as in results of earlier versions, has none.
    """
    columns = ["brier", "calibration"]
    classes = cases[cases["dataset"].isin(cases["dataset"][cases["brier"].notna()])]
    per_dataset = classes.groupby(["group", "method", "dataset"])[columns].agg(
        lambda values: values.mean(skipna=False)
    )
    return per_dataset.groupby(level=["group", "method"]).agg(lambda values: values.mean(skipna=False))


def over_datasets(cases: pd.DataFrame, subject: str = TRITREE) -> pd.DataFrame:
    """Return data sets won and lost by the subject against each method, and Wilcoxon's test adjusted after Holm.

    ``difference`` is the median over data sets of the relative difference of the method's loss to the subject's.
    """
    lines = []
    for group, part in cases.groupby("group"):
        wide = part.pivot(index=_CASE, columns="method", values="loss").dropna()
        names = [name for name in wide.columns if name not in (subject, CONSTANT)]
        found = [_paired_test(wide[name], wide[subject]) for name in names]
        adjusted = holm(np.array([line["p"] for line in found]))
        lines += [
            {"group": group, "method": name, **line, "p_holm": p}
            for name, line, p in zip(names, found, adjusted, strict=True)
        ]
    return pd.DataFrame(lines).sort_values(["group", "difference"], ignore_index=True)


def _paired_test(other: pd.Series, subject: pd.Series) -> dict[str, float]:
    from scipy import stats

    gap = ((other - subject) / (other + subject).where(other != subject, 1.0)).groupby(level="dataset").mean()
    p = 1.0 if not gap.any() or len(gap) < 2 else float(stats.wilcoxon(gap).pvalue)
    median = float(gap.median())
    return {
        "difference": 2 * median / (1 - median) if median < 1 else np.inf,  # other / subject - 1
        "won": int((gap > 0).sum()),
        "lost": int((gap < 0).sum()),
        "p": p,
    }


def on_each_dataset(folds: pd.DataFrame, subject: str = TRITREE) -> pd.DataFrame:
    """Return relative losses of the subject (``own``) and each method on each data set, and a test over folds.

    Losses are relative to the constant's and averaged over the cases of a group. The test is the corrected resampled
    t-test; p-values are adjusted after Holm for the methods of a data set and group.
    """
    lines = []
    for (group, dataset), part in folds.groupby(["group", "dataset"]):
        index = ["mechanism", "rate", "seed", "fold"]
        wide = part.pivot(index=index, columns="method", values="loss").dropna()
        if wide.empty or subject not in wide:
            continue
        # the constant's loss varies between folds: use the mean over folds
        constant = wide[CONSTANT].groupby(level=["mechanism", "rate", "seed"]).transform("mean")
        per_fold = wide.div(constant, axis=0).groupby(level=["seed", "fold"]).mean()
        rows = part.groupby(["seed", "fold"])["rows"].first().loc[per_fold.index].to_numpy()
        means = dict(zip(per_fold.columns, np.average(per_fold, axis=0, weights=rows), strict=True))
        names = [name for name in per_fold.columns if name not in (subject, CONSTANT)]
        tests = [corrected_t_test(per_fold[name] - per_fold[subject], rows)[3] for name in names]
        adjusted = holm(np.nan_to_num(np.array(tests), nan=1.0))
        lines += [
            {"group": group, "dataset": dataset, "method": name, "own": means[subject], "other": means[name]}
            | {"p": p, "p_holm": q}
            for name, p, q in zip(names, tests, adjusted, strict=True)
        ]
    found = pd.DataFrame(lines)
    return found.assign(ratio=found["other"] / found["own"])


def other_libraries(methods: Iterable[str]) -> list[str]:
    """Return the methods of other libraries."""
    return [name for name in methods if is_rival(name)]
