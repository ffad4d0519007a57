"""What the results come to: mean ranks, relative losses, paired tests, and every place where a rival wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.accuracy.plan import FAMILIES, parted_name
from benchmarks.accuracy.rivals import CONSTANT, OURS
from tritree.lab import mean_ranks
from tritree.lab.ranks import losses
from tritree.lab.ranks.order import holm
from tritree.lab.ranks.pairs import corrected_t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.lab.ranks import Ranks

__all__ = ["COMPLETE", "Summary", "summarised"]

#: The group of cases to which no holes were added.
COMPLETE = "no holes added"
GROUPS = (*FAMILIES, COMPLETE)

_CASE = ["group", "dataset", "mechanism", "rate", "seed"]


@dataclass(frozen=True, eq=False)
class Summary:
    """All tables of a run.

    Attributes
    ----------
    cases : pandas.DataFrame
        One line per case and method: ``loss``, ``relative`` (to what the constant loses) and ``above`` (by which share
        it is above the least loss of any method in the case).
    standings : pandas.DataFrame
        One line per group and method: ``mean_rank``, ``relative`` and ``above`` (medians over cases), ``worse`` (the
        share of cases in which it does worse than the constant), and how often it is first.
    pairs : pandas.DataFrame
        tritree against each other method, over data sets.
    singles : pandas.DataFrame
        tritree against each other method on each data set, over folds.
    ranks : Ranks
        The laboratory's mean ranks by group, with its tests.
    """

    cases: pd.DataFrame
    standings: pd.DataFrame
    pairs: pd.DataFrame
    singles: pd.DataFrame
    ranks: Ranks

    @property
    def groups(self) -> list[str]:
        """Return the groups that there are, in their order."""
        return [group for group in GROUPS if group in set(self.cases["group"])]


def summarised(results: pd.DataFrame) -> Summary:
    """Return the tables that results come to."""
    grouped = in_groups(results)
    cases = relative_losses(grouped)
    ranks = ranked(grouped)
    return Summary(
        cases, standings_of(cases, ranks), compared_over_sets(cases), compared_on_each(grouped), ranks
    )


def in_groups(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with their group and mechanism; cases without added holes, which are the same in all, once."""
    parts = results["scenario"].map(parted_name)
    grouped = results.assign(group=parts.str[0], mechanism=parts.str[1])
    complete = grouped["rate"] == 0
    grouped.loc[complete, ["group", "mechanism"]] = [COMPLETE, "none"]
    return grouped.drop_duplicates([*_CASE, "method", "fold"], ignore_index=True)


def as_scenarios(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return results as the laboratory ranks them with groups for scenarios.

    Mechanisms become seeds: the laboratory knows a case by data set, scenario, rate and seed.
    """
    number = {name: i for i, name in enumerate(sorted(set(grouped["mechanism"])))}
    return grouped.assign(
        scenario=grouped["group"], seed=grouped["seed"] * len(number) + grouped["mechanism"].map(number)
    )


def relative_losses(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return the loss of every case and method, to that of the constant and to the least of all."""
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
    """Return the laboratory's mean ranks by group; the constant is not ranked."""
    table = as_scenarios(grouped[grouped["method"] != CONSTANT])
    # the laboratory leaves cases without holes out where there are others, and here they are a group of their own
    return mean_ranks(table.assign(rate=table["rate"].where(table["rate"] > 0, 1.0)))


def standings_of(cases: pd.DataFrame, ranks: Ranks) -> pd.DataFrame:
    """Return one line per group and method, the best mean rank first."""
    by = cases.assign(worse=cases["relative"] > 1).groupby(["group", "method"])
    found = by.agg(relative=("relative", "median"), above=("above", "median"), worse=("worse", "mean"))
    table = ranks.table.rename(columns={"scenario": "group", "extra": "above_best_method"})
    kept = ["group", "method", "mean_rank", "first", "above_best_method", "p_holm", "datasets"]
    joined = table[kept].merge(found.reset_index(), on=["group", "method"])
    place = joined["group"].map({group: i for i, group in enumerate(GROUPS)})
    order = np.lexsort((joined["mean_rank"], place))
    return joined.iloc[order].reset_index(drop=True)


def compared_over_sets(cases: pd.DataFrame) -> pd.DataFrame:
    """Return tritree against each method: data sets won and lost, and Wilcoxon's test over them, after Holm.

    ``difference`` is by which share the method's loss is above tritree's, the median over data sets; below 0 it wins.
    """
    lines = []
    for group, part in cases.groupby("group"):
        wide = part.pivot(index=_CASE, columns="method", values="loss").dropna()
        names = [name for name in wide.columns if name not in (OURS, CONSTANT)]
        found = [_over_sets(wide[name], wide[OURS]) for name in names]
        adjusted = holm(np.array([line["p"] for line in found]))
        lines += [
            {"group": group, "method": name, **line, "p_holm": p}
            for name, line, p in zip(names, found, adjusted, strict=True)
        ]
    return pd.DataFrame(lines).sort_values(["group", "difference"], ignore_index=True)


def _over_sets(theirs: pd.Series, ours: pd.Series) -> dict[str, float]:
    from scipy import stats

    gap = ((theirs - ours) / (theirs + ours).where(theirs != ours, 1.0)).groupby(level="dataset").mean()
    p = 1.0 if not gap.any() or len(gap) < 2 else float(stats.wilcoxon(gap).pvalue)
    middle = float(gap.median())
    return {
        "difference": 2 * middle / (1 - middle) if middle < 1 else np.inf,  # theirs / ours - 1
        "won": int((gap > 0).sum()),
        "lost": int((gap < 0).sum()),
        "p": p,
    }


def compared_on_each(grouped: pd.DataFrame) -> pd.DataFrame:
    """Return tritree against each method on each data set: relative losses, and a test over folds.

    Losses are relative to the constant's and averaged over a group's cases. The test is the laboratory's corrected
    resampled t-test; p is adjusted after Holm for the methods of a data set and group.
    """
    lines = []
    for (group, dataset), part in grouped.groupby(["group", "dataset"]):
        index = ["mechanism", "rate", "seed", "fold"]
        wide = part.pivot(index=index, columns="method", values="loss").dropna()
        if wide.empty or OURS not in wide:
            continue
        # a constant's loss in one fold may be far from that in another: that of all folds is taken
        usual = wide[CONSTANT].groupby(level=["mechanism", "rate", "seed"]).transform("mean")
        per_fold = wide.div(usual, axis=0).groupby(level=["seed", "fold"]).mean()
        rows = part.groupby(["seed", "fold"])["rows"].first().loc[per_fold.index].to_numpy()
        means = dict(zip(per_fold.columns, np.average(per_fold, axis=0, weights=rows), strict=True))
        names = [name for name in per_fold.columns if name not in (OURS, CONSTANT)]
        tests = [corrected_t(per_fold[name] - per_fold[OURS], rows)[3] for name in names]
        adjusted = holm(np.nan_to_num(np.array(tests), nan=1.0))
        lines += [
            {"group": group, "dataset": dataset, "method": name, "ours": means[OURS], "theirs": means[name]}
            | {"p": p, "p_holm": q}
            for name, p, q in zip(names, tests, adjusted, strict=True)
        ]
    found = pd.DataFrame(lines)
    return found.assign(ratio=found["theirs"] / found["ours"])


def rivals_only(methods: Sequence[str]) -> list[str]:
    """Return those methods that are other libraries'."""
    return [name for name in methods if not name.startswith((OURS, CONSTANT))]
