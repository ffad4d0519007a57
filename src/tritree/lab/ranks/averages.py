"""Losses of an experiment, averaged: over folds, relative to no missing values, over data sets; and what is omitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from tritree.lab.ranks.names import join_names, method_order, scenario_order

if TYPE_CHECKING:
    from collections.abc import Iterable

Measure = Literal["excess", "ratio", "loss"]
#: What is averaged over data sets, by its label.
MEASURES = {"excess": "Excess loss", "ratio": "Loss / loss without missing values", "loss": "Loss"}

#: A case: methods are compared within it, on the same rows with the same missing cells.
CASE = ["dataset", "scenario", "rate", "seed"]
_REQUIRED = (*CASE, "method", "fold", "loss", "rows")


class NoCommonCaseError(ValueError):
    """There is no case in which all methods have a loss, so that they cannot be compared."""


def check_results(results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of an experiment, validated, sorted and with plain types.

    Parameters
    ----------
    results : pandas.DataFrame
        One line per data set, scenario, rate, method, seed and fold, with the columns ``dataset``, ``scenario``,
        ``rate``, ``method``, ``seed``, ``fold``, ``loss`` (mean over the test rows) and ``rows`` (number of test
        rows). Other columns are kept.

    Raises
    ------
    ValueError
        If a column or all lines are missing, a fold is there twice, or a value is out of range.
    """
    absent = [name for name in _REQUIRED if name not in results.columns]
    if absent:
        raise ValueError(
            f"the results have no column {', '.join(map(repr, absent))}; they have "
            f"{', '.join(map(repr, results.columns)) or 'none'}"
        )
    if results.empty:
        raise ValueError("the results have no lines; run the experiment first")
    table = results.reset_index(drop=True)
    table.attrs = {}  # pandas would copy them at every step
    for name in ("rate", "loss", "rows", "seed", "fold"):
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        wrong = numbers.isna() & table[name].notna()
        if wrong.any():
            raise ValueError(f"column {name!r} holds {table[name][wrong].iloc[0]!r}, which is not a number")
        table[name] = numbers
    table["rate"] = table["rate"].round(9)  # 0.1 + 0.2 is 0.3
    for name in ("dataset", "scenario", "method"):
        table[name] = table[name].astype(object).map(str)
    _check_values(table)
    # sums depend on the order of their terms, and lines may come in any
    return table.sort_values([*CASE, "method", "fold"], ignore_index=True)


def _check_values(table: pd.DataFrame) -> None:
    """Raise if a line cannot be the result of a fold; a loss may be NaN or infinite."""
    for name in ("rate", "rows", "seed", "fold"):
        if not np.isfinite(table[name]).all():
            raise ValueError(f"column {name!r} holds {table[name][~np.isfinite(table[name])].iloc[0]}")
    outside = table["rate"][~table["rate"].between(0, 1)]
    if len(outside):
        raise ValueError(f"column 'rate' holds {outside.iloc[0]:g}; rates must be between 0 and 1")
    if (table["rows"] <= 0).any():
        raise ValueError(f"column 'rows' holds {table['rows'].min():g}; a fold has at least one test row")
    if (table["loss"] < 0).any():
        raise ValueError(f"column 'loss' holds {table['loss'].min():g}; a loss is never negative")
    twice = table.duplicated([*CASE, "method", "fold"])
    if twice.any():
        line = table[twice].iloc[0]
        raise ValueError(
            f"the results hold {twice.sum():,} folds more than once, such as fold {line['fold']:.0f} of "
            f"{line['method']!r} on {line['dataset']!r} (scenario {line['scenario']!r}, rate {line['rate']:g}, seed "
            f"{line['seed']:.0f}); keep one line of each, as in results.drop_duplicates(...)"
        )


def sort_by(table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return a table sorted by columns, with methods and scenarios in the paper's order."""
    orders = {"method": method_order, "scenario": scenario_order}

    def position(column: pd.Series) -> pd.Series:
        order = orders[column.name](column) if column.name in orders else ()
        return column.map({name: i for i, name in enumerate(order)}) if order else column

    return table.sort_values(list(columns), key=position, kind="stable", ignore_index=True)


def amputed_cases(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with a rate above 0, or all lines if there are none.

    On complete data all strategies grow the same tree, and comparing equals would only dilute the other comparisons.
    """
    amputed = table[table["rate"] > 0]
    return table if amputed.empty else amputed


def losses(results: pd.DataFrame) -> pd.DataFrame:
    """Return the loss per data set, scenario, rate, method and seed: the mean over the test rows of all folds.

    Parameters
    ----------
    results : pandas.DataFrame
        See `check_results`.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset``, ``scenario``, ``rate``, ``method``, ``seed``, ``loss``, ``rows`` and ``folds``. A case
        with a fold that has not been run, or has failed with a loss of NaN, is omitted, because the rows of that fold
        may be harder or easier than others; see `omissions`.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "rate": 0.1, "method": "mia", "seed": 0}
    >>> folds = [{"fold": 0, "loss": 1.0, "rows": 30}, {"fold": 1, "loss": 2.0, "rows": 10}]
    >>> float(losses(pd.DataFrame([line | fold for fold in folds]))["loss"].iloc[0])
    1.25
    """
    return sort_by(_fold_means(check_results(results)), [*CASE[:3], "method", "seed"])


def _fold_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return the losses averaged over folds where all folds of the data set are there."""
    n_folds = table.groupby("dataset")["fold"].nunique()
    known = table[table["loss"].notna()]
    grouped = known.assign(total=known["loss"] * known["rows"]).groupby([*CASE, "method"], sort=False)
    sums = grouped.agg(total=("total", "sum"), rows=("rows", "sum"), folds=("fold", "size")).reset_index()
    # before the selection: pandas would fill an empty table with the lines of the new column
    sums["loss"] = sums["total"] / sums["rows"]
    sums = sums[sums["folds"] == sums["dataset"].map(n_folds)]
    return sums[[*CASE[:3], "method", "seed", "loss", "rows", "folds"]]


def excess(results: pd.DataFrame, measure: Measure = "excess") -> pd.DataFrame:
    """Return the losses relative to the loss without missing values.

    A loss is divided by the loss at rate 0 of the same method on the same data set with the same seed: in the same
    scenario or, if that has no rate 0, averaged over the others, since without missing values scenarios are equal. A
    method without rate 0 has no excess loss; see `omissions`. (Another method's loss would not do, since it may be
    better or worse on complete data.)

    Parameters
    ----------
    results : pandas.DataFrame
        See `check_results`.
    measure : {"excess", "ratio", "loss"}, default="excess"
        "excess" is the ratio minus 1, "ratio" the ratio itself; "loss" is the loss, which can be averaged over data
        sets only if they have the same unit.

    Returns
    -------
    pandas.DataFrame
        The table of `losses` with the columns ``base``, the loss at rate 0, and ``excess``, the measure; NaN where
        there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "method": "mia", "seed": 0, "fold": 0, "rows": 10}
    >>> results = pd.DataFrame([line | {"rate": 0.0, "loss": 2.0}, line | {"rate": 0.5, "loss": 3.0}])
    >>> excess(results)["excess"].tolist(), excess(results, "ratio")["excess"].tolist()
    ([0.0, 0.5], [1.0, 1.5])
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be 'excess', 'ratio' or 'loss', got {measure!r}")
    table = losses(results)
    at_zero = table[table["rate"] == 0]
    same = at_zero.set_index(["dataset", "method", "seed", "scenario"])["loss"].rename("same")
    other = at_zero.groupby(["dataset", "method", "seed"])["loss"].mean().rename("other")
    table = table.join(same, on=same.index.names).join(other, on=other.index.names)
    base = table["same"].fillna(table["other"])
    table = table.drop(columns=["same", "other"]).assign(base=base)
    if measure == "loss":
        return table.assign(excess=table["loss"])
    ratio = table["loss"] / base.where((base > 0) & np.isfinite(base))
    return table.assign(excess=ratio - (measure == "excess"))


def curves(results: pd.DataFrame, measure: Measure = "excess") -> pd.DataFrame:
    """Return the excess loss averaged over data sets, by scenario, rate and method, with its range over seeds.

    All points of a scenario are averages over the same data sets, so that they can be compared: data sets that lack
    a method, rate or seed of the scenario are omitted, unless all of them do. Then only points that all data sets have
    are kept; see `omissions`.

    Parameters
    ----------
    results : pandas.DataFrame
        See `check_results`.
    measure : {"excess", "ratio", "loss"}, default="excess"
        See `excess`.

    Returns
    -------
    pandas.DataFrame
        Columns ``scenario``, ``rate``, ``method``, ``excess`` (mean over data sets and seeds), ``low``, ``high`` and
        ``std`` (minimum, maximum and standard deviation of the seeds' means; NaN with a single seed), ``datasets`` and
        ``seeds`` (their numbers).
    """
    table = excess(results, measure).dropna(subset="excess")
    key, columns = ["scenario", "rate", "method"], ["excess", "low", "high", "std", "seeds"]
    averaged = []
    for _, part in table.groupby("scenario", sort=False):
        datasets = _comparable_datasets(part)
        part = part[part["dataset"].isin(datasets)]
        by_seed = part.groupby([*key, "seed"])["excess"].agg(["mean", "size"]).reset_index()
        by_seed = by_seed[by_seed["size"] == len(datasets)]
        found = by_seed.groupby(key)["mean"].agg(["mean", "min", "max", "std", "size"]).reset_index()
        found = found.set_axis([*key, *columns], axis=1).assign(datasets=len(datasets))
        found[["low", "high"]] = found[["low", "high"]].where(found["seeds"] > 1)
        averaged.append(found)
    if not averaged:
        return pd.DataFrame(columns=[*key, *columns, "datasets"])
    return sort_by(pd.concat(averaged), ["scenario", "method", "rate"])


def _comparable_datasets(table: pd.DataFrame) -> list[str]:
    """Return the data sets that have all rates, methods and seeds of a scenario; all data sets if none has."""
    sizes = table.groupby("dataset").size()
    complete = len(table[["rate", "method", "seed"]].drop_duplicates())
    return list(sizes.index[sizes == complete]) or list(sizes.index)


def omissions(results: pd.DataFrame) -> list[str]:
    r"""Return sentences on what tables and figures of these results omit, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "rate": 0.1, "seed": 0, "loss": 1.0, "rows": 9}
    >>> results = pd.DataFrame(
    ...     [line | {"method": m, "fold": f} for m, f in [("mia", 0), ("mia", 1), ("trinary", 0)]]
    ... )
    >>> print(*omissions(results), sep="\n")
    1 of 2 losses is omitted because not all of its folds have been run, or one has failed: trinary on a.
    mia has no loss at rate 0, and therefore no excess loss.
    """
    relative = excess(results)
    base = relative["base"]
    sentences = _omitted_folds(check_results(results))
    for reason, lines in (
        ("no loss at rate 0", base.isna()),
        ("a loss of 0 at rate 0", base == 0),
        ("an infinite loss at rate 0", np.isinf(base)),
    ):
        sentences += _without_excess(reason, relative[lines], relative)
    sentences += _omitted_datasets(relative.dropna(subset="excess"))
    infinite = method_order(relative["method"][np.isinf(relative["loss"])])
    if infinite:
        sentences.append(f"{join_names(infinite, 'has')} infinite losses: the true class had probability 0.")
    return sentences


def _omitted_folds(table: pd.DataFrame) -> list[str]:
    key = [*CASE, "method"]
    n_cases = len(table[key].drop_duplicates())
    averaged = _fold_means(table).set_index(key).index
    n_omitted = n_cases - len(averaged)
    if not n_omitted:
        return []
    omitted = table[~table.set_index(key).index.isin(averaged)]
    names = join_names(sorted(set(omitted["method"] + " on " + omitted["dataset"])))
    verb, whose = ("is", "its") if n_omitted == 1 else ("are", "their")
    reason = f"not all of {whose} folds have been run, or one has failed"
    return [f"{n_omitted:,} of {n_cases:,} losses {verb} omitted because {reason}: {names}."]


def _without_excess(reason: str, lines: pd.DataFrame, every: pd.DataFrame) -> list[str]:
    """Return sentences on the methods without an excess loss on some data sets."""
    methods_by_place: dict[str, list[str]] = {}
    for method in method_order(lines["method"]):
        datasets = sorted(set(lines["dataset"][lines["method"] == method]))
        everywhere = set(datasets) == set(every["dataset"][every["method"] == method])
        place = "" if everywhere else f" on {join_names(datasets)}"
        methods_by_place.setdefault(place, []).append(method)
    return [
        f"{join_names(methods, 'has')} {reason}{place}, and therefore no excess loss."
        for place, methods in methods_by_place.items()
    ]


def _omitted_datasets(table: pd.DataFrame) -> list[str]:
    """Return sentences on what averages over data sets omit; scenarios with the same sentence share it."""
    scenarios_by_sentence: dict[str, list[str]] = {}
    for scenario in scenario_order(table["scenario"]):
        part = table[table["scenario"] == scenario]
        datasets = _comparable_datasets(part)
        omitted = sorted(set(part["dataset"]) - set(datasets))
        sizes = part.groupby(["rate", "method", "seed"]).size().reset_index(name="datasets")
        partial = method_order(sizes["method"][sizes["datasets"] < len(datasets)])
        if omitted:
            sentence = (
                f"{join_names(omitted, 'is')} omitted from averages over data sets, for lack of some "
                "method, rate or seed."
            )
        elif partial:
            sentence = (
                f"no data set has every method, rate and seed; points of {join_names(partial)} are omitted."
            )
        else:
            continue
        scenarios_by_sentence.setdefault(sentence, []).append(scenario)
    return [f"{join_names(names)}: {sentence}" for sentence, names in scenarios_by_sentence.items()]
