"""Summary of the results: mean ranks, relative losses, paired tests, and comparisons on single data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.accuracy.experiments import SCENARIOS, split_name
from benchmarks.accuracy.methods import CONSTANT, TRITREE
from tritree.lab import mean_ranks
from tritree.lab.ranks import losses
from tritree.lab.ranks.significance import corrected_t_test, holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.ranks import Ranks

__all__ = ["COMPLETE", "Summary", "other_libraries", "summarise"]

#: The group of cases in which no values were removed.
COMPLETE = "no values removed"
GROUPS = (*SCENARIOS, COMPLETE)

_CASE = ["group", "dataset", "mechanism", "rate", "seed"]


@dataclass(frozen=True, eq=False)
class Summary:
    """All tables of a run.

    Attributes
    ----------
    cases : pandas.DataFrame
        One line per case and method: ``loss``, ``relative`` (loss divided by that of the constant) and ``above``
        (relative difference to the smallest loss of any method in the case).
    ranking : pandas.DataFrame
        One line per group and method: ``mean_rank``, ``relative`` and ``above`` (medians over cases), ``worse``
        (fraction of cases in which it is worse than the constant), and how often it is first.
    paired_tests : pandas.DataFrame
        tritree and each other method, over data sets.
    per_dataset : pandas.DataFrame
        tritree and each other method on each data set, over folds.
    ranks : Ranks
        Mean ranks by group, with tests.
    """

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
    grouped = in_groups(results)
    cases = relative_losses(grouped)
    ranks = ranked(grouped)
    return Summary(cases, ranking_of(cases, ranks), over_datasets(cases), on_each_dataset(grouped), ranks)


def in_groups(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with group and mechanism; cases without removed values, which are the same in all, only once."""
    parts = results["scenario"].map(split_name)
    grouped = results.assign(group=parts.str[0], mechanism=parts.str[1])
    complete = grouped["rate"] == 0
    grouped.loc[complete, ["group", "mechanism"]] = [COMPLETE, "none"]
    return grouped.drop_duplicates([*_CASE, "method", "fold"], ignore_index=True)


def as_scenarios(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return results for ``tritree.lab.mean_ranks``, with groups as scenarios.

    It identifies a case by data set, scenario, rate and seed, so each mechanism becomes another seed.
    """
    number = {name: i for i, name in enumerate(sorted(set(grouped["mechanism"])))}
    return grouped.assign(
        scenario=grouped["group"], seed=grouped["seed"] * len(number) + grouped["mechanism"].map(number)
    )


def relative_losses(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return the losses of all cases and methods, also relative to the constant and to the smallest."""
    named = grouped.assign(scenario=grouped["group"] + "|" + grouped["mechanism"])
    found = losses(named)
    parts = found["scenario"].str.split("|")
    found = found.assign(group=parts.str[0], mechanism=parts.str[1])
    wide = found.pivot(index=_CASE, columns="method", values="loss")
    others = wide.drop(columns=CONSTANT)
    long = wide.melt(ignore_index=False, value_name="loss").dropna().reset_index()
    at = pd.MultiIndex.from_frame(long[_CASE])
    long["relative"] = long["loss"].to_numpy() / wide[CONSTANT].loc[at].to_numpy()
    long["above"] = long["loss"].to_numpy() / others.min(axis=1).loc[at].to_numpy() - 1
    return long


def ranked(grouped: pd.DataFrame) -> Ranks:
    """Return mean ranks by group; the constant is not ranked."""
    table = as_scenarios(grouped[grouped["method"] != CONSTANT])
    # mean_ranks drops cases at rate 0 if there are others; here they are a group of their own
    return mean_ranks(table.assign(rate=table["rate"].where(table["rate"] > 0, 1.0)))


def ranking_of(cases: pd.DataFrame, ranks: Ranks) -> pd.DataFrame:
    """Return one line per group and method, the best mean rank first."""
    by = cases.assign(worse=cases["relative"] > 1).groupby(["group", "method"])
    found = by.agg(relative=("relative", "median"), above=("above", "median"), worse=("worse", "mean"))
    table = ranks.table.rename(
        columns={"scenario": "group", "first_fraction": "first", "relative_difference": "above_best_method"}
    )
    columns = ["group", "method", "mean_rank", "first", "above_best_method", "p_holm", "datasets"]
    joined = table[columns].merge(found.reset_index(), on=["group", "method"])
    position = joined["group"].map({group: i for i, group in enumerate(GROUPS)})
    order = np.lexsort((joined["mean_rank"], position))
    return joined.iloc[order].reset_index(drop=True)


def over_datasets(cases: pd.DataFrame) -> pd.DataFrame:
    """Return data sets won and lost by tritree against each method, and Wilcoxon's test adjusted after Holm.

    ``difference`` is the median over data sets of the relative difference of the method's loss to tritree's.
    """
    lines = []
    for group, part in cases.groupby("group"):
        wide = part.pivot(index=_CASE, columns="method", values="loss").dropna()
        names = [name for name in wide.columns if name not in (TRITREE, CONSTANT)]
        found = [_paired_test(wide[name], wide[TRITREE]) for name in names]
        adjusted = holm(np.array([line["p"] for line in found]))
        lines += [
            {"group": group, "method": name, **line, "p_holm": p}
            for name, line, p in zip(names, found, adjusted, strict=True)
        ]
    return pd.DataFrame(lines).sort_values(["group", "difference"], ignore_index=True)


def _paired_test(other: pd.Series, tritree: pd.Series) -> dict[str, float]:
    from scipy import stats

    gap = ((other - tritree) / (other + tritree).where(other != tritree, 1.0)).groupby(level="dataset").mean()
    p = 1.0 if not gap.any() or len(gap) < 2 else float(stats.wilcoxon(gap).pvalue)
    median = float(gap.median())
    return {
        "difference": 2 * median / (1 - median) if median < 1 else np.inf,  # other / tritree - 1
        "won": int((gap > 0).sum()),
        "lost": int((gap < 0).sum()),
        "p": p,
    }


def on_each_dataset(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return relative losses of tritree and each method on each data set, and a test over folds.

    Losses are relative to the constant's and averaged over the cases of a group. The test is the corrected resampled
    t-test; p-values are adjusted after Holm for the methods of a data set and group.
    """
    lines = []
    for (group, dataset), part in grouped.groupby(["group", "dataset"]):
        index = ["mechanism", "rate", "seed", "fold"]
        wide = part.pivot(index=index, columns="method", values="loss").dropna()
        if wide.empty or TRITREE not in wide:
            continue
        # the constant's loss varies between folds: use the mean over folds
        constant = wide[CONSTANT].groupby(level=["mechanism", "rate", "seed"]).transform("mean")
        per_fold = wide.div(constant, axis=0).groupby(level=["seed", "fold"]).mean()
        rows = part.groupby(["seed", "fold"])["rows"].first().loc[per_fold.index].to_numpy()
        means = dict(zip(per_fold.columns, np.average(per_fold, axis=0, weights=rows), strict=True))
        names = [name for name in per_fold.columns if name not in (TRITREE, CONSTANT)]
        tests = [corrected_t_test(per_fold[name] - per_fold[TRITREE], rows)[3] for name in names]
        adjusted = holm(np.nan_to_num(np.array(tests), nan=1.0))
        lines += [
            {
                "group": group,
                "dataset": dataset,
                "method": name,
                "tritree": means[TRITREE],
                "other": means[name],
            }
            | {"p": p, "p_holm": q}
            for name, p, q in zip(names, tests, adjusted, strict=True)
        ]
    found = pd.DataFrame(lines)
    return found.assign(ratio=found["other"] / found["tritree"])


def other_libraries(methods: Sequence[str]) -> list[str]:
    """Return the methods of other libraries."""
    return [name for name in methods if not name.startswith((TRITREE, CONSTANT))]
