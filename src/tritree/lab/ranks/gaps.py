"""What the tables and figures of an experiment leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.lab.ranks.averages import CASE, checked, comparable, excess, summed
from tritree.lab.ranks.names import method_order, scenario_order
from tritree.lab.ranks.words import be, have, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["gaps"]


def gaps(results: pd.DataFrame) -> list[str]:
    r"""Return in sentences what the tables and figures of these results leave out, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> line = {"dataset": "a", "scenario": "mcar", "rate": 0.1, "seed": 0, "loss": 1.0, "rows": 9}
    >>> results = pd.DataFrame(
    ...     [line | {"method": m, "fold": f} for m, f in [("mia", 0), ("mia", 1), ("trinary", 0)]]
    ... )
    >>> print(*gaps(results), sep="\n")
    1 of 2 losses is left out because not all of its folds have been run, or one has failed: trinary on a.
    mia has no loss at rate 0, and so no excess loss.
    """
    table = checked(results)
    found = _gaps_in_folds(table)
    against_none = excess(results)
    for reason, lost in {
        "no loss at rate 0": against_none[against_none["base"].isna()],
        "a loss of 0 at rate 0": against_none[against_none["base"] == 0],
        "an infinite loss at rate 0": against_none[np.isinf(against_none["base"])],
    }.items():
        found += _without_base(reason, lost, against_none)
    found += _gaps_in_averages(against_none.dropna(subset="excess"))
    infinite = against_none[np.isinf(against_none["loss"])]
    if len(infinite):
        methods = method_order(infinite["method"])
        found.append(
            f"{listed(methods)} {have(methods)} infinite losses: a class was given no chance at all."
        )
    return found


def _gaps_in_folds(table: pd.DataFrame) -> list[str]:
    n_all = len(table[[*CASE, "method"]].drop_duplicates())
    sums = summed(table)
    there = sums[sums["whole"]].set_index([*CASE, "method"]).index
    absent = table[~table.set_index([*CASE, "method"]).index.isin(there)]
    n_absent = n_all - len(there)
    if not n_absent:
        return []
    which = (absent["method"] + " on " + absent["dataset"]).drop_duplicates().tolist()
    return [
        f"{n_absent:,} of {n_all:,} losses {'is' if n_absent == 1 else 'are'} left out because not all of "
        f"{'its' if n_absent == 1 else 'their'} folds have been run, or one has failed: {listed(sorted(which))}."
    ]


def _without_base(reason: str, lost: pd.DataFrame, every: pd.DataFrame) -> list[str]:
    """Return a sentence on the methods that have no excess loss on some data sets."""
    found: dict[str, list[str]] = {}
    for method in method_order(lost["method"]):
        some = sorted(set(lost["dataset"][lost["method"] == method]))
        everywhere = set(some) == set(every["dataset"][every["method"] == method])
        found.setdefault("" if everywhere else f" on {listed(some)}", []).append(method)
    return [
        f"{listed(methods)} {have(methods)} {reason}{where}, and so no excess loss."
        for where, methods in found.items()
    ]


def _gaps_in_averages(table: pd.DataFrame) -> list[str]:
    """Return sentences on what averages over data sets leave out, scenarios of which the same is to say together."""
    found: dict[str, list[str]] = {}
    for scenario in scenario_order(table["scenario"]):
        part = table[table["scenario"] == scenario]
        kept = comparable(part)
        if out := sorted(set(part["dataset"]) - set(kept)):
            what = (
                f"{listed(out)} {be(out)} left out of averages over data sets, because not every method, rate and seed "
                "is there."
            )
            found.setdefault(what, []).append(scenario)
            continue
        sizes = part.groupby(["rate", "method", "seed"]).size().reset_index(name="datasets")
        short = method_order(sizes["method"][sizes["datasets"] < len(kept)])
        if short:
            what = f"no data set has every method, rate and seed; points of {listed(short)} are left out."
            found.setdefault(what, []).append(scenario)
    return [f"{listed(scenarios)}: {what}" for what, scenarios in found.items()]
