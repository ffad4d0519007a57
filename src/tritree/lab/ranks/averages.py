"""Losses of an experiment, averaged: over folds, against no missing values, over data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from tritree.lab.ranks.names import method_order, scenario_order

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CASE",
    "NothingSharedError",
    "Reading",
    "above_zero",
    "checked",
    "comparable",
    "curves",
    "excess",
    "in_order",
    "losses",
    "summed",
]

#: How an excess loss is read: as in the paper's figure, as in its text, or not at all.
Reading = Literal["author", "text", "loss"]

#: What a case is: methods compete in each of them on the same rows with the same holes.
CASE = ["dataset", "scenario", "rate", "seed"]
_NEEDED = (*CASE, "method", "fold", "loss", "rows")
_NAMES = ("dataset", "scenario", "method")


class NothingSharedError(ValueError):
    """Methods that have no loss on the same data with the same holes, so that they cannot be compared."""


def checked(results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of an experiment with plain types, if they are what tables can be made of.

    Parameters
    ----------
    results : pandas.DataFrame
        One line per data set, scenario, rate, method, seed and fold, with the columns ``dataset``, ``scenario``,
        ``rate``, ``method``, ``seed``, ``fold``, ``loss`` (the mean over the test rows) and ``rows`` (their number).
        Other columns are kept.

    Raises
    ------
    ValueError
        If a column is missing, there are no lines, two lines tell of the same fold, or rates and rows cannot be.
    """
    absent = [name for name in _NEEDED if name not in results.columns]
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
        table[name] = _as_numbers(table[name], name)
    table = table.assign(
        **{name: table[name].astype(object).map(str) for name in _NAMES},
        rate=table["rate"].round(9),  # 0.1 + 0.2 is 0.3
    )
    _check_values(table)
    twice = table.duplicated([*CASE, "method", "fold"])
    if twice.any():
        line = table[twice].iloc[0]
        raise ValueError(
            f"the results hold {twice.sum():,} folds more than once, such as fold {line['fold']:.0f} of "
            f"{line['method']!r} on {line['dataset']!r} (scenario {line['scenario']!r}, rate {line['rate']:g}, seed "
            f"{line['seed']:.0f}); keep one line of each, as in results.drop_duplicates(...)"
        )
    # sums depend on the order of their terms, and lines may come in any
    return table.sort_values([*CASE, "method", "fold"], ignore_index=True)


def _as_numbers(column: pd.Series, name: str) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    wrong = numbers.isna() & column.notna()
    if wrong.any():
        raise ValueError(f"column {name!r} holds {column[wrong].iloc[0]!r}, which is no number")
    return numbers


def _check_values(table: pd.DataFrame) -> None:
    """Raise if a line cannot be the outcome of a fold; a loss may be unknown or infinite."""
    for name in ("rate", "rows", "seed", "fold"):
        if not np.isfinite(table[name]).all():
            raise ValueError(f"column {name!r} holds {table[name][~np.isfinite(table[name])].iloc[0]}")
    outside = table["rate"][(table["rate"] < 0) | (table["rate"] > 1)]
    if len(outside):
        raise ValueError(f"column 'rate' holds {outside.iloc[0]:g}; rates are shares between 0 and 1")
    if (table["rows"] <= 0).any():
        raise ValueError(f"column 'rows' holds {table['rows'].min():g}; a fold has at least one test row")
    if (table["loss"] < 0).any():
        raise ValueError(f"column 'loss' holds {table['loss'].min():g}; a loss is never below 0")


def in_order(table: pd.DataFrame, by: Iterable[str]) -> pd.DataFrame:
    """Return a table sorted by some of its columns, methods and scenarios in the paper's order."""
    table = table.reset_index(drop=True)  # lines put together from parts may share their labels
    orders = {"method": method_order, "scenario": scenario_order}
    keys = {
        name: table[name].map({value: i for i, value in enumerate(orders[name](table[name]))})
        if name in orders
        else table[name]
        for name in by
    }
    return table.loc[pd.DataFrame(keys).sort_values(list(keys), kind="stable").index].reset_index(drop=True)


def above_zero(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with a rate above 0, or all if there is no other rate.

    Without holes the strategies grow the same tree, and a comparison of equals would only water others down. A table
    with holes of its own is another question than one with more of them: see `tritree.lab.ranks.pairs.compare_as_is`.
    """
    some = table[table["rate"] > 0]
    return table if some.empty else some


def losses(results: pd.DataFrame) -> pd.DataFrame:
    """Return the loss per data set, scenario, rate, method and seed: the mean over all test rows of all folds.

    Parameters
    ----------
    results : pandas.DataFrame
        As `checked` describes them.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset``, ``scenario``, ``rate``, ``method``, ``seed``, ``loss``, ``rows`` and ``folds``. Where a
        fold has not been run, or has failed with a loss of NaN, there is no line: its rows may be harder or easier
        than others. `gaps` tells of them.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "rate": 0.1, "method": "mia", "seed": 0}
    >>> folds = [{"fold": 0, "loss": 1.0, "rows": 30}, {"fold": 1, "loss": 2.0, "rows": 10}]
    >>> float(losses(pd.DataFrame([line | fold for fold in folds]))["loss"].iloc[0])
    1.25
    """
    table = summed(checked(results))
    whole = table[table["whole"]]
    return in_order(whole.drop(columns="whole"), ["dataset", "scenario", "rate", "method", "seed"])


def summed(table: pd.DataFrame) -> pd.DataFrame:
    """Return sums over folds, and whether all folds of the data set are in them."""
    folds = table.groupby("dataset")["fold"].nunique()
    known = table[table["loss"].notna()]
    grouped = known.assign(total=known["loss"] * known["rows"]).groupby([*CASE, "method"], sort=False)
    sums = grouped.agg(total=("total", "sum"), rows=("rows", "sum"), folds=("fold", "size")).reset_index()
    sums = sums.assign(loss=sums["total"] / sums["rows"], whole=sums["folds"] == sums["dataset"].map(folds))
    return sums[[*CASE[:3], "method", "seed", "loss", "rows", "folds", "whole"]]


def excess(results: pd.DataFrame, reading: Reading = "author") -> pd.DataFrame:
    """Return the losses against the loss without missing values.

    What a loss is divided by is the loss of the same method on the same data set with the same seed at rate 0: in the
    same scenario or, where that has no rate 0, in the others on average, since without holes scenarios are alike. A
    method without any rate 0 has no excess loss: that of another method would not do, since a method of the user's
    own may be better or worse on complete data. `gaps` tells of it.

    Parameters
    ----------
    results : pandas.DataFrame
        As `checked` describes them.
    reading : {"author", "text", "loss"}, default="author"
        "author" is the ratio minus 1, as in the figure of the paper; "text" is the plain ratio, as in its text;
        "loss" is the loss itself, which can be averaged over data sets only if they have the same unit.

    Returns
    -------
    pandas.DataFrame
        The table of `losses` with the columns ``base``, the loss at rate 0, and ``excess``, NaN where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "method": "mia", "seed": 0, "fold": 0, "rows": 10}
    >>> results = pd.DataFrame([line | {"rate": 0.0, "loss": 2.0}, line | {"rate": 0.5, "loss": 3.0}])
    >>> excess(results)["excess"].tolist(), excess(results, "text")["excess"].tolist()
    ([0.0, 0.5], [1.0, 1.5])
    """
    if reading not in ("author", "text", "loss"):
        raise ValueError(f"reading must be 'author', 'text' or 'loss', got {reading!r}")
    table = losses(results)
    at_zero = table[table["rate"] == 0]
    same = at_zero.set_index(["dataset", "method", "seed", "scenario"])["loss"].rename("same")
    other = at_zero.groupby(["dataset", "method", "seed"])["loss"].mean().rename("other")
    table = table.join(same, on=same.index.names).join(other, on=other.index.names)
    base = table["same"].fillna(table["other"])
    table = table.drop(columns=["same", "other"]).assign(base=base)
    if reading == "loss":
        return table.assign(excess=table["loss"])
    ratio = table["loss"] / base.where((base > 0) & np.isfinite(base))
    return table.assign(excess=ratio - (reading == "author"))


def curves(results: pd.DataFrame, reading: Reading = "author") -> pd.DataFrame:
    """Return the excess loss averaged over data sets, by scenario, rate and method, with its band over seeds.

    All points of a scenario are averages over the same data sets, or they could not be compared: data sets that lack
    some method, rate or seed of the scenario are left out, unless all of them do. Then a point is there only where
    all data sets are. `gaps` tells what is left out.

    Parameters
    ----------
    results : pandas.DataFrame
        As `checked` describes them.
    reading : {"author", "text", "loss"}, default="author"
        As in `excess`.

    Returns
    -------
    pandas.DataFrame
        Columns ``scenario``, ``rate``, ``method``, ``excess`` (the mean over data sets and seeds), ``low``, ``high``
        and ``deviation`` (the least, the greatest and the standard deviation of the seeds' means; NaN with a single
        seed), ``datasets`` and ``seeds`` (how many there are).
    """
    table = excess(results, reading).dropna(subset="excess")
    parts = [_averaged(part) for _, part in table.groupby("scenario", sort=False)]
    if not parts:
        columns = ["scenario", "rate", "method", "excess", "low", "high", "deviation", "datasets", "seeds"]
        return pd.DataFrame(columns=columns)
    return in_order(pd.concat(parts), ["scenario", "method", "rate"])


def _averaged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of one scenario."""
    kept = comparable(table)
    table = table[table["dataset"].isin(kept)]
    by_seed = (
        table.groupby(["scenario", "rate", "method", "seed"])["excess"].agg(["mean", "size"]).reset_index()
    )
    by_seed = by_seed[by_seed["size"] == len(kept)]
    grouped = by_seed.groupby(["scenario", "rate", "method"])["mean"]
    found = grouped.agg(excess="mean", low="min", high="max", deviation="std", seeds="size").reset_index()
    found[["low", "high"]] = found[["low", "high"]].where(found["seeds"] > 1)
    return found.assign(datasets=len(kept))


def comparable(table: pd.DataFrame) -> list[str]:
    """Return the data sets of a scenario that have all of its rates, methods and seeds, or all if there is none."""
    sizes = table.groupby("dataset").size()
    every = len(table[["rate", "method", "seed"]].drop_duplicates())
    return list(sizes.index[sizes == every]) or list(sizes.index)
