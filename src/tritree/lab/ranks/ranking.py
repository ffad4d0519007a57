"""Mean ranks of methods over data sets, with the Friedman and the Wilcoxon signed-rank test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tritree.lab.ranks.averages import CASE, NoCommonCaseError, amputed_cases, losses, sort_by
from tritree.lab.ranks.names import join_names, method_order
from tritree.lab.ranks.significance import (
    DIGITS,
    LEVEL,
    format_p_range,
    friedman,
    holm,
    mean_interval,
    smallest_adjusted_p,
    wilcoxon,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_GROUPS = ("scenario", "rate", "dataset")
_FEW = 10  # data sets below which the Friedman test is only approximate


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks of methods with significance tests; ``print`` shows tables and conclusions.

    Attributes
    ----------
    table : pandas.DataFrame
        One line per group and method, best first: ``mean_rank`` with its confidence interval over data sets (``low``,
        ``high``), ``first_fraction`` (fraction of cases in which it is best or tied), ``relative_difference`` (of its
        loss to that of the best method, the median over data sets), ``p`` and ``p_holm`` (against the best method) and
        ``datasets``.
    overall : pandas.DataFrame
        One line per group: ``statistic`` and ``p`` of the Friedman test, ``methods``, ``datasets`` and ``cases``.
    by_dataset : pandas.DataFrame
        Mean rank of each method on each data set.
    notes : list of str
        What was tested, and what was omitted.
    """

    table: pd.DataFrame
    overall: pd.DataFrame
    by_dataset: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @property
    def conclusions(self) -> list[str]:
        """One sentence per group: which method ranks first, and which are significantly worse."""
        keys = [key for key in _GROUPS if key in self.overall]
        groups = self.table.groupby(keys, sort=False) if keys else [((), self.table)]
        return [_conclusion(group, keys) for _, group in groups]

    def __str__(self) -> str:
        from tritree.lab.ranks.tables import as_text, ranks_tables

        return "\n".join([*self.conclusions, "", as_text(*ranks_tables(self))])


def mean_ranks(results: pd.DataFrame, by: str | Sequence[str] | None = "scenario") -> Ranks:
    """Return the mean ranks of the methods; rank 1 has the lowest loss, and ties share their ranks.

    Methods are ranked in every case (data set, scenario, rate and seed) by their loss over all folds. Cases without
    missing values are omitted if there are others, because all strategies grow the same tree there. Ranks are averaged
    within each data set first: data sets are independent, rates and seeds are not.

    Differences are tested over data sets: Friedman's test tells whether methods differ at all, and the Wilcoxon
    signed-rank test whether a method differs from the best one. The paired value per data set is the mean over its
    cases of ``(a - b) / (a + b)``, since losses of different data sets have different units. p-values are
    Holm-adjusted for the number of methods. As the best method is chosen from the losses it is tested with, p < 0.05
    occurs slightly too often: in simulations of 3 and 5 equally good methods, 6 % of the time with 8 data sets and
    9 % with 20.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.ranks.check_results`.
    by : {"scenario", "rate", "dataset"}, sequence of these or None, default="scenario"
        Groups that are ranked separately. If None, all cases are ranked together.

    Returns
    -------
    Ranks
        Mean ranks, tests and notes.

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
    keys = [] if by is None else [by] if isinstance(by, str) else list(by)
    for key in keys:
        if key not in _GROUPS:
            raise ValueError(f"by must be of {', '.join(map(repr, _GROUPS))} or None, got {key!r}")
    table = amputed_cases(losses(results))
    notes: list[str] = []
    lines = sort_by(table, keys).groupby(keys, sort=False) if keys else [((), table)]
    groups = [_Group(dict(zip(keys, name, strict=True)), part, notes) for name, part in lines]
    groups = [group for group in groups if group.n_cases]
    if not groups:
        raise NoCommonCaseError(
            "there is no case (data set, scenario, rate, seed) in which all methods have a loss; rank fewer methods, "
            "as in results[results['method'].isin([...])], or run what is missing"
        )
    table, overall, by_dataset = (
        pd.concat([group.labelled(make(group)) for group in groups], ignore_index=True)
        for make in (_Group.table, _Group.overall, _Group.by_dataset)
    )
    return Ranks(table, overall, by_dataset, notes + _notes(groups))


class _Group:
    """Ranks of the methods of a group, in the cases in which all of them have a loss."""

    def __init__(self, labels: dict[str, Any], table: pd.DataFrame, notes: list[str]) -> None:
        self.labels = labels
        self.methods = method_order(table["method"])
        wide = table.pivot(index=CASE, columns="method", values="loss")[self.methods]
        complete = wide.dropna()
        self.n_cases = len(complete)
        if self.n_cases < len(wide):
            absent = method_order(wide.columns[wide.isna().any()])
            where = f"{join_names([' '.join(map(str, labels.values()))])}: " if labels else ""
            notes.append(
                f"{where}{len(wide) - self.n_cases:,} of {len(wide):,} cases are not ranked, because "
                f"{join_names(absent, 'has')} no loss there."
            )
        self.datasets = complete.index.get_level_values("dataset")
        self.losses = complete.to_numpy()
        self.ranks = complete.map(lambda loss: float(f"{loss:.{DIGITS}g}")).rank(axis=1)
        # one line per data set, one column per method
        self.per_dataset = self.ranks.groupby(self.datasets).mean()
        self.n_datasets = len(self.per_dataset)

    def labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the labels of the group as its first columns."""
        labels = pd.DataFrame(self.labels, index=table.index)
        return pd.concat([labels, table.drop(columns=labels.columns, errors="ignore")], axis=1)

    def table(self) -> pd.DataFrame:
        """Return one line per method, best first; of ties the first in the paper's order counts as the best."""
        means = self.per_dataset.mean().to_numpy()
        low, high = mean_interval(self.per_dataset.to_numpy())
        best = int(np.argmin(np.round(means, DIGITS)))
        differences = self._differences(best)
        p = np.array([wilcoxon(column) for column in differences.T])
        others = np.arange(len(self.methods)) != best
        p_holm = np.full(len(p), np.nan)
        p_holm[others] = holm(p[others])
        p[best] = np.nan
        median = np.median(differences, axis=0)
        with np.errstate(divide="ignore"):
            relative_difference = 2 * median / (1 - median)  # a / b - 1, from (a - b) / (a + b)
        columns = {
            "method": self.methods,
            "mean_rank": means,
            "low": low,
            "high": high,
            "first_fraction": self.ranks.eq(self.ranks.min(axis=1), axis=0).mean().to_numpy(),
            "relative_difference": relative_difference,
            "p": p,
            "p_holm": p_holm,
            "datasets": self.n_datasets,
        }
        return pd.DataFrame(columns).sort_values("mean_rank", kind="stable", ignore_index=True)

    def _differences(self, best: int) -> NDArray[np.float64]:
        """Return per data set and method the relative difference (a - b) / (a + b) to the best method's loss."""
        a, b = self.losses, self.losses[:, [best]]
        with np.errstate(invalid="ignore"):
            found = (a - b) / (a + b)
        found[a == b] = 0.0  # also where both are 0 or infinite
        found[np.isinf(a) & np.isfinite(b)] = 1.0
        found[np.isfinite(a) & np.isinf(b)] = -1.0
        found[np.abs(found) < 10.0**-DIGITS] = 0.0
        return np.asarray(pd.DataFrame(found).groupby(self.datasets).mean())

    def overall(self) -> pd.DataFrame:
        """Return the Friedman test, with NaN where there is nothing to test, and the size of the group."""
        statistic, p = friedman(self.per_dataset.to_numpy())
        size = {"methods": len(self.methods), "datasets": self.n_datasets, "cases": self.n_cases}
        return pd.DataFrame([{"statistic": statistic, "p": p} | size])

    def by_dataset(self) -> pd.DataFrame:
        """Return the mean rank of each method on each data set."""
        wide = self.per_dataset.rename_axis(index="dataset").reset_index()
        return wide.melt("dataset", var_name="method", value_name="mean_rank")


def _notes(groups: list[_Group]) -> list[str]:
    """Return what was tested, and what these data sets can show at most."""
    n_datasets = min(group.n_datasets for group in groups)
    if max(group.n_datasets for group in groups) == 1:
        return [
            "There is one data set, so nothing is tested here: rates and seeds are not independent. compare_methods "
            "tests over the folds of one data set."
        ]
    n_methods = max(len(group.methods) for group in groups)
    notes = [
        "Tested over data sets: Friedman (whether the methods differ at all) and, against the best method, the "
        "Wilcoxon signed-rank test of the relative difference in loss, Holm-adjusted. The best method was chosen from "
        "the same losses, so p is slightly too small. Not tested: single data sets, rates and seeds.",
    ]
    if (least := smallest_adjusted_p(n_datasets, n_methods)) > LEVEL:
        notes.append(
            f"With {n_datasets} data sets no difference between {n_methods} methods can be significant: the smallest "
            f"adjusted p is {least:.2g}."
        )
    if n_datasets < _FEW:
        notes.append(f"With so few data sets ({n_datasets}), Friedman's p is only approximate.")
    return notes


def _conclusion(group: pd.DataFrame, keys: list[str]) -> str:
    """Return a sentence on which method ranks first, and which are significantly worse."""
    first = group.iloc[0]
    tied = group["method"][np.isclose(group["mean_rank"], first["mean_rank"], rtol=0, atol=1e-9)].tolist()
    where = " at ".join(f"{first[key]:.3g}" if key == "rate" else join_names([first[key]]) for key in keys)
    verb = "ranks first" if len(tied) == 1 else "are tied for first"
    rank = f"mean rank {first['mean_rank']:.2f} of {len(group)}"
    parts = [f"{where}: " * bool(keys) + f"{join_names(tied)} {verb} ({rank})"]
    if len(tied) == len(group):
        return f"{parts[0]}."
    n_datasets = int(first["datasets"])
    if smallest_adjusted_p(n_datasets, len(group)) > LEVEL:
        few = "one data set is" if n_datasets == 1 else f"{n_datasets} data sets are"
        return f"{parts[0]}; {few} too few for a significant difference."
    others = group.iloc[1:]
    similar = others[(others["p_holm"] >= LEVEL) & ~others["method"].isin(tied)]
    for label, some in (("not significantly", similar), ("significantly", others[others["p_holm"] < LEVEL])):
        if len(some):
            names = some["method"].tolist()
            p = format_p_range(some["p_holm"])
            parts.append(f"{join_names(names, 'is')} {label} worse ({p})")
    return "; ".join(parts) + "."
