"""Which methods come first: mean ranks over data sets, and whether their order may be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tritree.lab.ranks.averages import CASE, NothingSharedError, above_zero, in_order, losses
from tritree.lab.ranks.names import method_order
from tritree.lab.ranks.verdict import LEVEL, rank_verdicts, smallest_p
from tritree.lab.ranks.words import have, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["CONFIDENCE", "Ranks", "holm", "mean_ranks"]

#: How sure intervals are.
CONFIDENCE = 0.95

_DIGITS = 12  # losses that agree in so many are tied: sums may differ in their last digits
_GROUPS = ("scenario", "rate", "dataset")
_FEW = 10  # data sets below which the Friedman test is a rough one


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks of methods, with tests; printing it prints the tables and what was tested.

    Attributes
    ----------
    table : pandas.DataFrame
        One line per group and method, best first: ``mean_rank`` with its interval over data sets (``low``, ``high``),
        ``first`` (the share of cases in which it is best or tied for it), ``extra`` (by which share its loss is above
        that of the best method, the median over data sets), ``p`` and ``p_holm`` (against the best method) and
        ``datasets``.
    overall : pandas.DataFrame
        One line per group: ``statistic`` and ``p`` of the Friedman test over ``datasets`` and ``methods``, ``cases``.
    by_dataset : pandas.DataFrame
        The mean rank of each method on each data set.
    notes : list of str
        What was tested, what was left out and what cannot be told.
    """

    table: pd.DataFrame
    overall: pd.DataFrame
    by_dataset: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> list[str]:
        """Return one sentence per group."""
        return rank_verdicts(self)

    def __str__(self) -> str:
        from tritree.lab.ranks.tables import as_text, ranks_tables

        return "\n".join([*self.verdict, "", as_text(*ranks_tables(self))])


def mean_ranks(results: pd.DataFrame, by: str | Sequence[str] | None = "scenario") -> Ranks:
    """Return the mean ranks of the methods: 1 has the least loss; equal losses share their ranks.

    Methods are ranked in every case, that is data set, scenario, rate and seed, by their loss over all folds. Cases
    without holes are left out if there are others, because there all strategies are the same tree. Ranks are averaged
    within each data set first: data sets are what counts as independent here, rates and seeds are not.

    Tested are the differences over data sets: by Friedman's test whether the methods differ at all, and by Wilcoxon's
    signed-rank test whether each loses more than the best one, where what is paired per data set is the mean over its
    cases of ``(a - b) / (a + b)``, since losses of different data sets have different units. These p are adjusted after
    Holm for the number of methods. The best method is chosen from the same losses that it is tested with, so that a p
    below 0.05 comes about somewhat more often than that by chance: in simulations of 3 and 5 equally good methods, 6 %
    of the time with 8 data sets, 9 % with 20.

    Parameters
    ----------
    results : pandas.DataFrame
        As `tritree.lab.ranks.checked` describes them.
    by : {"scenario", "rate", "dataset"}, sequence of these or None, default="scenario"
        What gets a ranking of its own; None ranks everything together.

    Returns
    -------
    Ranks
        With ``table``, ``overall``, ``by_dataset`` and ``notes``.

    Examples
    --------
    >>> import pandas as pd
    >>> results = pd.DataFrame(
    ...     [
    ...         {"dataset": d, "scenario": "mcar", "rate": 0.5, "method": m, "seed": 0, "fold": 0, "rows": 9, "loss": x}
    ...         for d in ("a", "b")
    ...         for m, x in (("mia", 3.0), ("trinary", 1.0), ("majority", 3.0))
    ...     ]
    ... )
    >>> mean_ranks(results).table[["method", "mean_rank"]].to_numpy().tolist()
    [['trinary', 1.0], ['majority', 2.5], ['mia', 2.5]]
    """
    keys = _keys(by)
    table = above_zero(losses(results))
    notes: list[str] = []
    groups = [_Group(name, part, notes) for name, part in _parts(table, keys)]
    groups = [group for group in groups if group.cases]
    if not groups:
        raise NothingSharedError(
            "there is no case (data set, scenario, rate, seed) in which all methods have a loss; rank fewer methods, "
            "as in results[results['method'].isin([...])], or run what is missing"
        )
    return Ranks(
        pd.concat([_named(group.table(), group.name, keys) for group in groups], ignore_index=True),
        pd.concat([_named(group.overall(), group.name, keys) for group in groups], ignore_index=True),
        pd.concat([_named(group.by_dataset(), group.name, keys) for group in groups], ignore_index=True),
        notes + _words(groups),
    )


def _keys(by: str | Sequence[str] | None) -> list[str]:
    keys = [] if by is None else [by] if isinstance(by, str) else list(by)
    for key in keys:
        if key not in _GROUPS:
            raise ValueError(f"by must be of {', '.join(map(repr, _GROUPS))} or None, got {key!r}")
    return keys


def _parts(table: pd.DataFrame, keys: list[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Return the lines of each group, the groups in order."""
    if not keys:
        return [((), table)]
    return list(in_order(table, keys).groupby(keys, sort=False))


def _named(table: pd.DataFrame, name: tuple[Any, ...], keys: list[str]) -> pd.DataFrame:
    """Return a table of a group with its name in front."""
    for place, (key, value) in enumerate(zip(keys, name, strict=True)):
        table.insert(place, key, value)
    return table


class _Group:
    """The methods of a group and their losses in the cases that all of them have."""

    def __init__(self, name: tuple[Any, ...], table: pd.DataFrame, notes: list[str]) -> None:
        self.name = name
        self.methods = method_order(table["method"])
        wide = table.pivot(index=CASE, columns="method", values="loss")[self.methods]
        whole = wide.dropna()
        self.cases = len(whole)
        if self.cases < len(wide):
            absent = method_order(wide.columns[wide.isna().any()])
            where = f"{listed([' '.join(map(str, name))])}: " if name else ""
            notes.append(
                f"{where}{len(wide) - self.cases:,} of {len(wide):,} cases are not ranked, because {listed(absent)} "
                f"{have(absent)} no loss there."
            )
        self.datasets = whole.index.get_level_values("dataset")
        self.losses = whole.to_numpy()
        self.ranks = _ranked(self.losses)
        # one line per data set, one column per method
        self.per_dataset = pd.DataFrame(self.ranks, columns=self.methods).groupby(self.datasets).mean()
        self.n_datasets = len(self.per_dataset)

    def table(self) -> pd.DataFrame:
        """Return the lines of the group, best first; of equals the first in the paper's order is taken for the best."""
        means = self.per_dataset.mean()
        low, high = _interval(self.per_dataset.to_numpy())
        best = int(np.argmin(np.round(means.to_numpy(), _DIGITS)))
        differences = self._differences(best)
        p = np.array([_wilcoxon(column) for column in differences.T])
        others = np.arange(len(self.methods)) != best
        adjusted = np.full(len(p), np.nan)
        adjusted[others] = holm(p[others])
        p[best] = np.nan
        middle = np.median(differences, axis=0)
        with np.errstate(divide="ignore"):
            extra = 2 * middle / (1 - middle)  # a / b - 1, from (a - b) / (a + b)
        found = pd.DataFrame(
            {
                "method": self.methods,
                "mean_rank": means.to_numpy(),
                "low": low,
                "high": high,
                "first": (self.ranks == self.ranks.min(axis=1, keepdims=True)).mean(axis=0),
                "extra": extra,
                "p": p,
                "p_holm": adjusted,
                "datasets": self.n_datasets,
            }
        )
        return found.sort_values("mean_rank", kind="stable", ignore_index=True)

    def _differences(self, best: int) -> NDArray[np.float64]:
        """Return per data set and method the loss against the best method's, as (a - b) / (a + b)."""
        ours, other = self.losses, self.losses[:, [best]]
        with np.errstate(invalid="ignore"):
            found = (ours - other) / (ours + other)
        found[ours == other] = 0.0  # also where both are 0, or without end
        found[np.isinf(ours) & np.isfinite(other)] = 1.0
        found[np.isfinite(ours) & np.isinf(other)] = -1.0
        found[np.abs(found) < 10.0**-_DIGITS] = 0.0
        return np.asarray(pd.DataFrame(found).groupby(self.datasets).mean())

    def overall(self) -> pd.DataFrame:
        """Return the outcome of the Friedman test; NaN where there is nothing to test."""
        statistic, p = _friedman(self.per_dataset.to_numpy())
        size = {"methods": len(self.methods), "datasets": self.n_datasets, "cases": self.cases}
        return pd.DataFrame([{"statistic": statistic, "p": p} | size])

    def by_dataset(self) -> pd.DataFrame:
        """Return the mean rank of each method on each data set."""
        long = self.per_dataset.rename_axis(index="dataset").reset_index()
        return long.melt("dataset", var_name="method", value_name="mean_rank")


def _ranked(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks along each line, from 1; equal losses share the mean of their places."""
    rounded = np.array([[float(f"{loss:.{_DIGITS}g}") for loss in line] for line in losses]).reshape(
        losses.shape
    )
    below = (rounded[:, None, :] < rounded[:, :, None]).sum(axis=2)
    equal = (rounded[:, None, :] == rounded[:, :, None]).sum(axis=2)
    return np.asarray(below + (equal + 1) / 2)


def _interval(ranks: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the t-interval of each mean rank over data sets, within the ranks there are."""
    from scipy import stats

    n, n_methods = ranks.shape
    if n < 3:  # an interval from two numbers says nothing
        return np.full(n_methods, np.nan), np.full(n_methods, np.nan)
    reach = stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1) * ranks.std(axis=0, ddof=1) / math.sqrt(n)
    mean = ranks.mean(axis=0)
    return np.maximum(mean - reach, 1.0), np.minimum(mean + reach, float(n_methods))


def _friedman(ranks: NDArray[np.float64]) -> tuple[float, float]:
    from scipy import stats

    n, n_methods = ranks.shape
    if n < 2 or n_methods < 3:
        return math.nan, math.nan
    if (ranks == ranks[:, :1]).all():
        return 0.0, 1.0
    statistic, p = stats.friedmanchisquare(*np.round(ranks, _DIGITS).T)
    return float(statistic), float(p)


def _wilcoxon(differences: NDArray[np.float64]) -> float:
    """Return the two-sided p of the signed-rank test; 1 if nothing differs, NaN with one data set."""
    from scipy import stats

    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values adjusted after Holm, so that the chance of any false finding among them is held.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _words(groups: list[_Group]) -> list[str]:
    """Return what was tested, and what these data sets can show at most."""
    n = min(group.n_datasets for group in groups)
    if max(group.n_datasets for group in groups) == 1:
        return [
            "There is one data set, so nothing is tested here: rates and seeds are no independent evidence. "
            "compare_methods tests over the folds of one data set."
        ]
    n_methods = max(len(group.methods) for group in groups)
    words = [
        "Tested over data sets: Friedman (do the methods differ at all) and, against the best method, Wilcoxon's "
        "signed-rank test of the relative difference in loss, adjusted after Holm. The best method was chosen from the "
        "same losses, so p is a little too small. Not tested: single data sets, rates and seeds.",
    ]
    if (least := smallest_p(n, n_methods)) > LEVEL:
        words.append(
            f"With {n} data sets no difference between {n_methods} methods can be shown: the smallest adjusted p is "
            f"{least:.2g}."
        )
    if n < _FEW:
        words.append(f"Friedman's p is a rough one with so few data sets ({n}).")
    return words
