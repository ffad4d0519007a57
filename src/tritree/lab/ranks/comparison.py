"""Comparison of methods on one data set: paired differences in loss over folds, and their significance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tritree.inspection.formatting import count, number_format
from tritree.lab.ranks.averages import NoCommonCaseError, amputed_cases, check_results, losses, sort_by
from tritree.lab.ranks.names import join_names, method_order
from tritree.lab.ranks.significance import CONFIDENCE, LEVEL, corrected_t_test, format_p_range, holm

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Name of the scenario in which no cell is removed.
UNCHANGED = "unchanged"

_FEW = 5  # folds below which only large differences are significant
_NOT_WORSE = ("best", "identical", "not significant")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one data set; ``print`` shows the recommendation, the conclusions and the table.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    table : pandas.DataFrame
        One line per scenario (and rate) and method, best first: ``loss``, ``difference`` to the best method with its
        confidence interval (``low``, ``high``), ``p`` and ``p_holm``, and ``outcome``: "best", "identical" (all losses
        are equal), "not significant" (which does not mean equally good), "worse" or "not tested".
    recommendation : str
        Which method to use, in one sentence.
    conclusions : list of str
        One sentence per scenario (and rate).
    notes : list of str
        What was tested, and what was omitted.
    rates : list of float
        Rates over which losses are averaged, or the rates compared if ``by="rate"``.
    """

    dataset: str
    table: pd.DataFrame
    recommendation: str
    conclusions: list[str]
    notes: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        from tritree.lab.ranks.tables import as_text, comparison_table

        sentences = "\n".join([self.recommendation, *self.conclusions])
        return "\n\n".join([sentences, as_text(comparison_table(self))])


def compare_methods(
    results: pd.DataFrame, *, dataset: str | None = None, by: Literal["scenario", "rate"] = "scenario"
) -> Comparison:
    """Return the difference in loss of each method to the best one on one data set, and its significance.

    Methods are compared on the same test rows with the same missing cells by the corrected resampled t-test of Nadeau
    and Bengio (2003): folds share most of their training rows, so the variance of the mean difference over n folds is
    ``1/n + (test rows / training rows)`` times that of a single difference, not ``1/n`` times. Seeds may split the
    rows anew or only change the missing cells in the same folds; the larger of the two resulting estimates is used
    (see `tritree.lab.ranks.significance.corrected_t_test`). The test is conservative: in simulations of two equally
    good methods with 10 folds and 1 or 3 seeds, 0.3 to 3 % of the differences were significant at the 5 % level; with
    an ordinary t-test over the same folds and 3 seeds, 19 to 30 % were.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.ranks.check_results`.
    dataset : str or None, default=None
        Name of the data set. If None, the results must hold only one.
    by : {"scenario", "rate"}, default="scenario"
        "scenario" compares losses averaged over all rates above 0, "rate" those of each rate separately.

    Returns
    -------
    Comparison
        Table, recommendation, conclusions and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> results = pd.DataFrame(
    ...     [
    ...         {"dataset": "mine", "scenario": "mcar", "rate": 0.3, "method": m, "seed": 0, "fold": f, "rows": 50}
    ...         for f in range(10)
    ...         for m in ("mia", "trinary")
    ...     ]
    ... )
    >>> results["loss"] = np.where(results["method"] == "mia", 2.0, 1.0) + rng.normal(scale=0.1, size=20)
    >>> print(compare_methods(results).recommendation)
    Use trinary: it is best, or not significantly worse than the best, in the one scenario.
    """
    if by not in ("scenario", "rate"):
        raise ValueError(f"by must be 'scenario' or 'rate', got {by!r}")
    table = check_results(results)
    names = sorted(set(table["dataset"]))
    if dataset is None and len(names) > 1:
        raise ValueError(
            f"there are {len(names)} data sets; name one of {join_names(names)} with dataset=..."
        )
    if dataset is not None and dataset not in names:
        raise ValueError(f"there is no data set {dataset!r}; there is {join_names(names)}")
    name = names[0] if dataset is None else dataset
    table = table[table["dataset"] == name]
    averaged = losses(table)
    if by == "scenario":
        averaged = amputed_cases(averaged)
    keys = ["scenario"] if by == "scenario" else ["scenario", "rate"]
    folds = table.merge(averaged[["scenario", "rate", "method", "seed"]])  # only of cases that have all folds
    notes: list[str] = []
    groups = sort_by(folds, keys).groupby(keys, sort=False) if len(folds) else ()
    tables = [_compare(dict(zip(keys, key, strict=True)), part, notes) for key, part in groups]
    tables = [part for part in tables if len(part)]
    if not tables:
        raise NoCommonCaseError(
            f"there is no scenario, rate and seed in which all methods have a loss on {name!r}; compare fewer "
            "methods, as in results[results['method'].isin([...])], or run what is missing"
        )
    compared = pd.concat(tables, ignore_index=True)
    return Comparison(
        name,
        compared,
        _recommendation(compared, keys),
        [_conclusion(part, keys) for _, part in compared.groupby(keys, sort=False)],
        notes + _notes(compared),
        sorted(set(folds["rate"].tolist())),
    )


def compare_unchanged(results: pd.DataFrame, *, dataset: str | None = None) -> Comparison:
    """Return the comparison of methods on the unchanged table: no cell removed, only its own values missing.

    Scenarios and seeds make no difference there, so that each fold counts once. If the table is complete, all
    strategies are identical.

    Parameters
    ----------
    results, dataset
        See `compare_methods`; the results must include rate 0.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "mine", "scenario": "mcar", "rate": 0.0, "seed": 0, "rows": 50}
    >>> results = pd.DataFrame(
    ...     [line | {"fold": f, "method": m, "loss": f + len(m)} for f in range(10) for m in ("mia", "trinary")]
    ... )
    >>> print(compare_unchanged(results).recommendation)
    Use mia: it is best, or not significantly worse than the best, on the unchanged table.
    """
    table = check_results(results)
    at_zero = table[(table["rate"] == 0) & table["loss"].notna()]
    if at_zero.empty:
        raise NoCommonCaseError(
            "there are no losses at rate 0, where the table is unchanged; run rate 0, too"
        )
    once = at_zero.drop_duplicates(["dataset", "method", "fold"]).assign(scenario=UNCHANGED, seed=0)
    found = compare_methods(once, dataset=dataset)
    recommendation = _recommendation(found.table, ["scenario"], "on the unchanged table")
    return replace(found, recommendation=recommendation)


def _compare(key: dict[str, Any], lines: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the table of one scenario (and rate)."""
    methods = method_order(lines["method"])
    wide = lines.pivot(index=["seed", "fold", "rate"], columns="method", values="loss")[methods]
    if wide.isna().any(axis=None):
        absent = method_order(wide.columns[wide.isna().any()])
        where = join_names([" ".join(map(str, key.values()))])
        notes.append(
            f"{where}: seeds and rates at which {join_names(absent, 'has')} no loss are not compared."
        )
        wide = wide.dropna()
    # first a mean per fold: rates have equal weight, whatever seeds have them
    wide = wide.groupby(level=["seed", "fold"]).mean()
    if wide.empty:
        return pd.DataFrame()
    rows = lines.groupby(["seed", "fold"])["rows"].first().loc[wide.index].to_numpy()
    means = np.average(wide.to_numpy(), axis=0, weights=rows)
    best = int(np.argmin(means))
    found = pd.DataFrame({"method": methods, "loss": means})
    tests = [corrected_t_test(wide[method] - wide.iloc[:, best], rows) for method in methods]
    found[["difference", "low", "high", "p"]] = np.array(tests)
    others = found.index != best
    found["p_holm"] = np.nan
    found.loc[others, "p_holm"] = holm(found.loc[others, "p"].to_numpy())
    found["outcome"] = [_outcome(line, line.Index == best) for line in found.itertuples()]
    found.loc[best, ["low", "high", "p"]] = np.nan
    for name in ("fold", "seed"):
        found[f"{name}s"] = wide.index.get_level_values(name).nunique()
    for position, (name, value) in enumerate(key.items()):
        found.insert(position, name, value)
    return found.sort_values("loss", kind="stable", ignore_index=True)


def _outcome(line: Any, is_best: bool) -> str:
    if is_best:
        return "best"
    if line.low == line.difference == line.high == 0:
        return "identical"
    if math.isinf(line.loss):
        return "worse"
    if math.isnan(line.p_holm):
        return "not tested"
    return "worse" if line.p_holm < LEVEL else "not significant"


def _notes(table: pd.DataFrame) -> list[str]:
    n_folds = int(table["folds"].min())
    if table["method"].nunique() == 1:
        return ["There is one method, so there is nothing to compare."]
    if n_folds < 2:
        return ["With one fold nothing can be tested; use at least 5 folds."]
    notes = [
        f"Tested: the mean difference in loss to the method with the lowest loss, over {n_folds} folds and "
        f"{count(int(table['seeds'].min()), 'seed')}, by the corrected resampled t-test (Nadeau and Bengio); "
        f"intervals are {CONFIDENCE:.0%} confidence intervals, p is Holm-adjusted for the number of methods. Not "
        "tested: whether the same holds on other data, or for values that go missing by another mechanism.",
    ]
    if (table["outcome"] == "not significant").any():
        notes.append(
            "Not significant does not mean equally good: the interval tells how much worse a method may be."
        )
    if n_folds < _FEW:
        notes.append(f"With {n_folds} folds only large differences are significant; use 10 folds.")
    return notes


def _recommendation(table: pd.DataFrame, keys: list[str], where: str | None = None) -> str:
    """Return which method to use: one that is worse than the best in the fewest scenarios, then by its mean loss."""
    methods = method_order(table["method"])
    if len(methods) == 1:
        return f"There is nothing to choose from: {join_names(methods)} is the only method."
    if (table["outcome"] == "not tested").any():
        lowest = table.groupby("method")["loss"].mean().reindex(methods).idxmin()
        return f"{join_names([lowest])} has the lowest loss, but one fold does not tell whether by chance."
    n_not_worse = table[table["outcome"].isin(_NOT_WORSE)].groupby("method").size()
    least = table.groupby(keys)["loss"].transform("min")
    # relative, so that no scenario outweighs the others
    loss = (table["loss"] / least.where(least > 0)).fillna(1.0).groupby(table["method"]).mean()
    methods = sorted(method_order(n_not_worse.index), key=lambda name: (-n_not_worse[name], loss[name]))
    first, n = methods[0], int(n_not_worse[methods[0]])
    if where is None:
        where = f"in {_places(n, len(table[keys].drop_duplicates()), keys)}"
    similar = [method for method in methods[1:] if n_not_worse[method] == n]
    rest = _similar(similar, [loss[method] / loss[first] - 1 for method in similar]) if similar else ""
    return f"Use {join_names([first])}: it is best, or not significantly worse than the best, {where}.{rest}"


def _places(n: int, n_places: int, keys: list[str]) -> str:
    places = "scenarios" if keys == ["scenario"] else "scenarios and rates"
    if n_places == 1:
        return f"the one {places.removesuffix('s')}"
    if n < n_places:
        return f"{n} of {n_places} {places}"
    return f"both {places}" if n == 2 else f"all {n} {places}"


def _similar(names: Sequence[str], extra: Sequence[float]) -> str:
    """Return a sentence on methods that may be as good, with their additional loss."""
    percent = f"{max(extra):.0%}"
    if math.isinf(max(extra)):
        loss = "though a loss is infinite elsewhere"
    elif percent == "0%":
        loss = "with practically the same losses"
    else:
        loss = f"with losses {'up to ' if len(names) > 1 else ''}{percent} higher"
    return f" {join_names(names, 'is')} not significantly worse either, {loss}."


def _conclusion(part: pd.DataFrame, keys: list[str]) -> str:
    """Return a sentence on one scenario (and rate)."""
    first = part.iloc[0]
    where = join_names([first["scenario"]]) + (f" at {first['rate']:.0%}" if "rate" in keys else "")
    number = number_format(part["loss"], 4)

    def to_text(value: float) -> str:
        return "∞" if math.isinf(value) else number(value)

    sentences = [f"{where}: {join_names([first['method']])} has the lowest loss ({to_text(first['loss'])})"]
    for outcome, text in (
        ("identical", "identical in every fold"),
        ("not significant", "not significantly worse ({p})"),
        ("worse", "worse by {differences} ({p})"),
        ("not tested", "not tested"),
    ):
        group = part.iloc[1:][part["outcome"].iloc[1:] == outcome]
        if len(group):
            least_and_most = dict.fromkeys(to_text(group["difference"].iloc[i]) for i in (0, -1))
            facts = {"differences": " to ".join(least_and_most), "p": format_p_range(group["p_holm"])}
            sentences.append(f"{join_names(group['method'].tolist(), 'is')} {text.format(**facts)}")
    return "; ".join(sentences) + "."
