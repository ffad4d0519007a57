"""Which method is best on one data set: differences in loss, fold by fold, and whether they may be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tritree.inspection.formatting import count
from tritree.lab.ranks.averages import NothingSharedError, above_zero, checked, in_order, losses
from tritree.lab.ranks.names import method_order
from tritree.lab.ranks.order import CONFIDENCE, holm
from tritree.lab.ranks.verdict import LEVEL, headline, verdicts
from tritree.lab.ranks.words import have, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AS_IS", "Comparison", "compare_as_is", "compare_methods", "corrected_t"]

#: What the scenario is called in which no cell is removed.
AS_IS = "as it is"

_FEW = 5  # folds below which an interval is hardly worth the name


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one data set; printing it prints the verdict and the table.

    Attributes
    ----------
    dataset : str
        The name of the data set.
    table : pandas.DataFrame
        One line per scenario (and rate) and method, best first: ``loss``, ``difference`` to the best method with its
        interval (``low``, ``high``), ``p`` and ``p_holm``, and ``standing``: "best", "same" (all losses are equal),
        "within chance" (not shown to be worse, which is not to say as good), "worse" or "not tested".
    headline : str
        Which method to take, in one sentence.
    verdict : list of str
        One sentence per scenario (and rate).
    notes : list of str
        What was tested, what was left out and what cannot be told.
    rates : list of float
        The shares of removed cells over which a loss is a mean; if rates are apart, those that there are.
    """

    dataset: str
    table: pd.DataFrame
    headline: str
    verdict: list[str]
    notes: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        from tritree.lab.ranks.tables import as_text, comparison_tables

        return "\n\n".join(["\n".join([self.headline, *self.verdict]), as_text(*comparison_tables(self))])


def compare_methods(
    results: pd.DataFrame, *, dataset: str | None = None, by: Literal["scenario", "rate"] = "scenario"
) -> Comparison:
    """Return how far each method is from the best one on one data set, and whether that may be chance.

    Methods are compared on the same test rows with the same holes, by the corrected resampled t-test of Nadeau and
    Bengio (2003): folds share most of their training rows, so the variance of the mean difference over n folds is
    taken as ``1/n + (test rows / training rows)`` times that of a single difference, not ``1/n`` times. Seeds may part
    the rows anew or only make other holes in the same folds; of the two estimates that follow from it the larger
    is taken (see `corrected_t`). The test is a cautious one: in simulations of two equally good methods, with 10 folds
    and 1 or 3 seeds, it called 0.3 to 3 % a difference where 5 % are allowed; an ordinary t-test over the same folds
    and 3 seeds called 19 to 30 % one.

    Parameters
    ----------
    results : pandas.DataFrame
        As `tritree.lab.ranks.checked` describes them.
    dataset : str or None, default=None
        Which data set; it may be left away if there is only one.
    by : {"scenario", "rate"}, default="scenario"
        "scenario" compares losses averaged over all rates above 0, "rate" those of each rate by itself.

    Returns
    -------
    Comparison
        With ``table``, ``headline``, ``verdict`` and ``notes``.

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
    >>> print(compare_methods(results).headline)
    Take trinary: it is best, or not shown to be worse than the best, in the one scenario tried.
    """
    if by not in ("scenario", "rate"):
        raise ValueError(f"by must be 'scenario' or 'rate', got {by!r}")
    table = checked(results)
    name = _only(table, dataset)
    table = table[table["dataset"] == name]
    whole = losses(table)
    notes: list[str] = []
    if by == "scenario":
        whole = above_zero(whole)
    keys = ["scenario"] if by == "scenario" else ["scenario", "rate"]
    lines = table.merge(whole[["scenario", "rate", "method", "seed"]])  # folds of what has all its folds
    parts = in_order(lines, keys).groupby(keys, sort=False) if len(lines) else ()
    found = [_compared(dict(zip(keys, key, strict=True)), part, notes) for key, part in parts]
    found = [part for part in found if len(part)]
    if not found:
        raise NothingSharedError(
            f"there is no scenario, rate and seed in which all methods have a loss on {name!r}; compare fewer methods, "
            "as in results[results['method'].isin([...])], or run what is missing"
        )
    standings = pd.concat(found, ignore_index=True)
    rates = sorted(set(lines["rate"].tolist()))
    words = _words(standings)
    return Comparison(name, standings, headline(standings), verdicts(standings), notes + words, rates)


def compare_as_is(results: pd.DataFrame, *, dataset: str | None = None) -> Comparison:
    """Return how methods compare on a table as it is: no cell removed, but with the holes that it has of its own.

    Scenarios and seeds make no difference there, so that each fold counts once. Where a table has no holes, all
    strategies are the same.

    Parameters
    ----------
    results, dataset
        As in `compare_methods`; rate 0 must be among the results.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "mine", "scenario": "mcar", "rate": 0.0, "seed": 0, "rows": 50}
    >>> results = pd.DataFrame(
    ...     [line | {"fold": f, "method": m, "loss": f + len(m)} for f in range(10) for m in ("mia", "trinary")]
    ... )
    >>> print(compare_as_is(results).headline)
    Take mia: it is best, or not shown to be worse than the best, on the table as it is.
    """
    table = checked(results)
    at_zero = table[(table["rate"] == 0) & table["loss"].notna()]
    if at_zero.empty:
        raise NothingSharedError("there are no losses at rate 0, where a table is as it is; run rate 0, too")
    once = at_zero.drop_duplicates(["dataset", "method", "fold"]).assign(scenario=AS_IS, seed=0)
    found = compare_methods(once, dataset=dataset)
    return replace(found, headline=headline(found.table, "on the table as it is"))


def _only(table: pd.DataFrame, dataset: str | None) -> str:
    names = sorted(set(table["dataset"]))
    if dataset is None and len(names) > 1:
        raise ValueError(f"there are {len(names)} data sets; name one of {listed(names)} with dataset=...")
    if dataset is not None and dataset not in names:
        raise ValueError(f"there is no data set {dataset!r}; there is {listed(names)}")
    return names[0] if dataset is None else dataset


def _compared(key: dict[str, Any], lines: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the standings in one scenario (and rate)."""
    methods = method_order(lines["method"])
    wide = lines.pivot(index=["seed", "fold", "rate"], columns="method", values="loss")[methods]
    if wide.isna().any(axis=None):
        absent = method_order(wide.columns[wide.isna().any()])
        where = listed([" ".join(map(str, key.values()))])
        notes.append(
            f"{where}: seeds and rates at which {listed(absent)} {have(absent)} no loss are not compared."
        )
        wide = wide.dropna()
    # rates count alike, whatever seeds have them: first a mean per fold
    wide = wide.groupby(level=["seed", "fold"]).mean()
    if wide.empty:
        return pd.DataFrame()
    rows = lines.groupby(["seed", "fold"])["rows"].first().loc[wide.index].to_numpy()
    means = np.average(wide.to_numpy(), axis=0, weights=rows)
    best = int(np.argmin(means))
    found = pd.DataFrame({"method": methods, "loss": means})
    tests = [corrected_t(wide[method] - wide.iloc[:, best], rows) for method in methods]
    found[["difference", "low", "high", "p"]] = np.array(tests)
    others = found.index != best
    found["p_holm"] = np.nan
    found.loc[others, "p_holm"] = holm(found.loc[others, "p"].to_numpy())
    found["standing"] = [_standing(line, line.Index == best) for line in found.itertuples()]
    found.loc[best, ["low", "high", "p"]] = np.nan
    n_folds = wide.index.get_level_values("fold").nunique()
    found = found.assign(folds=n_folds, seeds=wide.index.get_level_values("seed").nunique())
    for place, (name, value) in enumerate(key.items()):
        found.insert(place, name, value)
    return found.sort_values("loss", kind="stable", ignore_index=True)


def _standing(line: Any, is_best: bool) -> str:
    if is_best:
        return "best"
    if line.low == line.difference == line.high == 0:
        return "same"
    if math.isinf(line.loss):
        return "worse"
    if math.isnan(line.p_holm):
        return "not tested"
    return "worse" if line.p_holm < LEVEL else "within chance"


def corrected_t(differences: pd.Series, rows: NDArray[Any]) -> tuple[float, float, float, float]:
    """Return the mean of paired differences, the ends of its interval, and the p that it is 0.

    With k folds and r seeds the variance of the mean is taken as the larger of two estimates: ``1/(kr) + 1/(k - 1)``
    times the variance of all differences, as if each seed parted the rows anew, and ``1/k + 1/(k - 1)`` times the
    variance of the folds' means over seeds, as if the folds were the same for all seeds. ``1/(k - 1)`` is the number
    of test rows by that of training rows.

    Parameters
    ----------
    differences : pandas.Series
        With the levels ``seed`` and ``fold`` in its index.
    rows : numpy.ndarray
        The test rows behind each of them, by which they are weighted.

    Returns
    -------
    tuple of float
        The mean, the lower and the upper end of its interval, and p; NaN where there are fewer than two folds.

    Examples
    --------
    >>> import pandas as pd
    >>> folds = pd.MultiIndex.from_product([[0], range(4)], names=["seed", "fold"])
    >>> corrected_t(pd.Series([1.0, 2.0, 3.0, 2.0], index=folds), np.ones(4))  # doctest: +ELLIPSIS
    (2.0, 0.015..., 3.984..., 0.049...)
    """
    from scipy import stats

    values, weights = differences.to_numpy(dtype=float), np.asarray(rows, dtype=float)
    if not np.isfinite(values).all():
        return float(values.mean()), math.nan, math.nan, math.nan
    mean = float(np.average(values, weights=weights))
    _, fold = np.unique(differences.index.get_level_values("fold"), return_inverse=True)
    fold_rows: NDArray[np.float64] = np.bincount(fold, weights).astype(float)
    by_fold = np.bincount(fold, values * weights) / fold_rows
    n_folds = len(fold_rows)
    if n_folds < 2:
        return mean, math.nan, math.nan, math.nan
    shared = 1 / (n_folds - 1)  # test rows by training rows
    estimates = [
        ((1 / len(values) + shared) * _variance(values, weights), len(values) - 1),
        ((1 / n_folds + shared) * _variance(by_fold, fold_rows), n_folds - 1),
    ]
    variance, freedom = max(estimates)
    if variance == 0:
        return mean, mean, mean, float(mean == 0)
    error = math.sqrt(variance)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    return mean, mean - reach, mean + reach, float(2 * stats.t.sf(abs(mean) / error, freedom))


def _variance(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the variance of values about their weighted mean; as usual if they weigh alike."""
    mean = np.average(values, weights=weights)
    return float(np.average(np.square(values - mean), weights=weights) * len(values) / (len(values) - 1))


def _words(table: pd.DataFrame) -> list[str]:
    n_folds, n_methods = int(table["folds"].min()), table["method"].nunique()
    seeds = count(int(table["seeds"].min()), "seed")
    if n_methods == 1:
        return ["There is one method, so there is nothing to compare."]
    if n_folds < 2:
        return ["With one fold nothing can be tested; use at least 5 folds."]
    words = [
        f"Tested: the mean difference in loss to the method with the least loss, over {n_folds} folds and "
        f"{seeds}, by the corrected resampled t-test (Nadeau and Bengio); intervals hold "
        f"{CONFIDENCE:.0%} each, p is adjusted after Holm for the number of methods. Not tested: whether "
        "the same would hold on other data, or with holes that come about in another way.",
    ]
    if (table["standing"] == "within chance").any():
        words.append(
            "Within chance: not shown to be worse, which is not to say as good; the interval tells how much worse a "
            "method may be."
        )
    if n_folds < _FEW:
        words.append(f"With {n_folds} folds only large differences can be shown; 10 folds show more.")
    return words
