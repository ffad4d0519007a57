"""The goals of the comparison, and whether a run meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.accuracy.experiments import AS_IT_IS
from benchmarks.accuracy.methods import (
    CONSTANT,
    GRAFTED_FROM,
    TRITREE,
    TRITREE_DEFAULTS,
    TRITREE_FOREST,
    family_of,
    is_rival,
    method_name,
)
from benchmarks.accuracy.summary import GROUPS, on_each_dataset, over_datasets, ranked
from tritree.lab.ranks.significance import LEVEL, format_p

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from benchmarks.accuracy.summary import Summary

__all__ = ["GOALS", "Bound", "Goal", "judge"]


@dataclass(frozen=True)
class Goal:
    """A goal of a method of tritree in a group of cases, against the methods of other libraries in its family.

    The rivals of a grafted library are the library itself, as it is and with imputation. Only the rivals and the
    subject are ranked. Bounds that are not set are not part of the goal.

    Attributes
    ----------
    name, group, subject : str
        Name of the goal, group of cases, and tritree's method.
    untreated_only : bool
        Whether only the other libraries' own treatments of missing values are rivals.
    best_rank : bool
        The subject has the best mean rank.
    significant : bool
        Its losses differ from those of the rival with the best mean rank (Wilcoxon over data sets, after Holm).
    most_behind : float or None
        Maximum relative difference of its loss to the smallest loss of a rival on any data set.
    ahead_of_each : bool
        It wins more data sets than it loses against every rival.
    ahead_on : float or None
        Minimum fraction of the data sets that it wins against every rival.
    behind_tritree : float or None
        Maximum relative difference of its loss to that of tritree's boosting, median over data sets.
    calibrated : bool
        Its expected calibration error is at most that of every rival.
    """

    name: str
    group: str
    subject: str = TRITREE
    untreated_only: bool = False
    best_rank: bool = False
    significant: bool = False
    most_behind: float | None = None
    ahead_of_each: bool = False
    ahead_on: float | None = None
    behind_tritree: float | None = None
    calibrated: bool = False

    def rivals(self, methods: set[str]) -> list[str]:
        """Return those of the methods that the subject is compared with."""
        if library := GRAFTED_FROM.get(self.subject):
            imputed = (
                () if self.untreated_only else (method_name(library, way) for way in ("mean", "iterative"))
            )
            return [name for name in (library, *imputed) if name in methods]
        family = family_of(self.subject)
        return sorted(
            name
            for name in methods
            if is_rival(name) and family_of(name) == family and not (self.untreated_only and " + " in name)
        )


#: The goals in the order of the page.
GOALS = (
    Goal("as it is, equal settings", AS_IT_IS, best_rank=True, most_behind=0.05),
    Goal("as it is, defaults against defaults", AS_IT_IS, TRITREE_DEFAULTS, best_rank=True, most_behind=0.05),
    Goal("test only", "test only", best_rank=True, significant=True, most_behind=0.1),
    Goal("shift", "shift", best_rank=True, significant=True, most_behind=0.1),
    Goal("both", "both", best_rank=True),
    *(
        Goal(
            f"forests, {group}",
            group,
            TRITREE_FOREST,
            untreated_only=group != "test only",
            best_rank=True,
            ahead_of_each=True,
        )
        for group in GROUPS
    ),
    Goal("calibration, test only", "test only", calibrated=True),
    Goal("calibration, shift", "shift", calibrated=True),
    *(
        Goal(f"{name}, test only", "test only", name, ahead_on=0.9, behind_tritree=0.05)
        for name in GRAFTED_FROM
    ),
    *(
        Goal(f"{name}, as it is", AS_IT_IS, name, untreated_only=True, most_behind=0.001)
        for name in GRAFTED_FROM
    ),
)


@dataclass(frozen=True)
class Bound:
    """A bound of a goal, whether it is met, and the numbers."""

    name: str
    met: bool
    numbers: str


def judge(goal: Goal, summary: Summary) -> list[Bound]:
    """Return the bounds of a goal; none if the run has no cases, no subject or no rivals for it."""
    folds = summary.folds[summary.folds["group"] == goal.group]
    methods = set(folds["method"])
    rivals = goal.rivals(methods)
    if goal.subject not in methods or not rivals:
        return []
    folds = folds[folds["method"].isin([CONSTANT, goal.subject, *rivals])]
    cases = summary.cases[summary.cases["group"] == goal.group]
    cases = cases[cases["method"].isin([goal.subject, *rivals])]
    ranks = ranked(folds).table.set_index("method")["mean_rank"]
    pairs = over_datasets(cases, goal.subject).set_index("method")
    found = []
    if goal.best_rank:
        found.append(_best_rank(ranks, goal.subject))
    if goal.ahead_of_each:
        found.append(_ahead_of_each(pairs))
    if goal.ahead_on is not None:
        found.append(_ahead_on(pairs, goal.ahead_on))
    if goal.behind_tritree is not None:
        pair = summary.cases[summary.cases["group"] == goal.group]
        pair = pair[pair["method"].isin([goal.subject, TRITREE])]
        found.append(_behind_tritree(over_datasets(pair, goal.subject), goal.behind_tritree))
    if goal.significant:
        found.append(_significant(pairs, ranks.drop(goal.subject).idxmin()))
    if goal.most_behind is not None:
        found.append(_most_behind(on_each_dataset(folds, goal.subject), goal.most_behind))
    if goal.calibrated:
        found += _calibrated(summary.ranking, goal, rivals)
    return found


def _best_rank(ranks: pd.Series, subject: str) -> Bound:
    own, rivals = ranks[subject], ranks.drop(subject)
    position = int((rivals < own).sum()) + 1
    best = f"{rivals.idxmin()}, {rivals.min():.2f}"
    numbers = f"{own:.2f}, rank {position} of {len(ranks)}; the best rival is {best}"
    return Bound("best mean rank", position == 1, numbers)


def _ahead_of_each(pairs: pd.DataFrame) -> Bound:
    numbers = "; ".join(f"{line.won}–{line.lost} against {line.Index}" for line in pairs.itertuples())
    return Bound("more data sets won than lost", bool((pairs["won"] > pairs["lost"]).all()), numbers)


def _ahead_on(pairs: pd.DataFrame, fraction: float) -> Bound:
    numbers = "; ".join(f"{line.won}–{line.lost} against {line.Index}" for line in pairs.itertuples())
    is_ahead = bool((pairs["won"] >= fraction * (pairs["won"] + pairs["lost"])).all())
    return Bound(f"at least {fraction:.0%} of the data sets won against each rival", is_ahead, numbers)


def _behind_tritree(pairs: pd.DataFrame, limit: float) -> Bound:
    behind = 1 / (1 + pairs.set_index("method").loc[TRITREE, "difference"]) - 1
    name = f"median loss at most {limit:.0%} above that of {TRITREE}"
    return Bound(name, bool(behind <= limit), f"the median difference is {_percent(behind)}")


def _significant(pairs: pd.DataFrame, rival: str) -> Bound:
    pair = pairs.loc[rival]
    p = f"{format_p(pair['p_holm'], prefix=True)} after Holm"
    numbers = f"{p}, {pair['won']}–{pair['lost']} data sets, median difference {_percent(pair['difference'])}"
    is_ahead = pair["difference"] > 0 and pair["p_holm"] < LEVEL
    return Bound(f"ahead of the best rival, {rival}, with p < {LEVEL:g}", bool(is_ahead), numbers)


def _most_behind(per_dataset: pd.DataFrame, limit: float) -> Bound:
    """Return whether the subject is close to the best rival on every data set; data sets beyond the limit are named."""
    best = per_dataset.loc[per_dataset.groupby("dataset")["ratio"].idxmin()]
    best = best.assign(behind=best["own"] / best["other"] - 1).sort_values("behind", ascending=False)
    missed = best[best["behind"] > limit]
    shown = missed if len(missed) else best.head(1)
    lines = (
        f"{line.dataset} {_percent(line.behind)} to {line.method} ({format_p(line.p, prefix=True)})"
        for line in shown.itertuples()
    )
    start = f"{len(missed)} of {len(best)} miss it: " if len(missed) else "the largest difference is "
    name = f"no data set more than {100 * limit:g}% behind its best rival"
    return Bound(name, missed.empty, start + "; ".join(lines))


def _calibrated(ranking: pd.DataFrame, goal: Goal, rivals: list[str]) -> Iterator[Bound]:
    """Yield the comparison of calibration errors; nothing without classification or if they are not known."""
    errors = ranking[ranking["group"] == goal.group].set_index("method")["calibration"]
    own, others = errors[goal.subject], errors[rivals].dropna()
    if own == own and len(others):
        numbers = f"{own:.4f}; the best rival is {others.idxmin()}, {others.min():.4f}"
        yield Bound("smallest expected calibration error", bool(own <= others.min()), numbers)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.1f} %"
