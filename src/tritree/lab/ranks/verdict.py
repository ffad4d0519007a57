"""What a comparison comes to, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.formatting import number_format
from tritree.lab.ranks.names import method_order
from tritree.lab.ranks.words import be, chance, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from tritree.lab.ranks.order import Ranks

__all__ = ["LEVEL", "headline", "rank_verdicts", "smallest_p", "verdicts"]

#: Below which p a difference is called one.
LEVEL = 0.05

_GOOD = ("best", "same", "within chance")


def headline(standings: pd.DataFrame, place: str | None = None) -> str:
    """Return which method to take: one that is worse than the best in the fewest places, and of these loses least.

    ``place`` is what to call the only place, if it is not a scenario that was tried.
    """
    keys = [name for name in ("scenario", "rate") if name in standings]
    n_places = len(standings[keys].drop_duplicates())
    if standings["method"].nunique() == 1:
        return f"There is nothing to choose from: {listed(standings['method'].unique().tolist())} is the only method."
    if (standings["standing"] == "not tested").any():
        least = standings.groupby("method")["loss"].mean().reindex(method_order(standings["method"])).idxmin()
        return f"{listed([least])} loses least, but with one fold nothing can be said about chance."
    good = standings[standings["standing"].isin(_GOOD)].groupby("method").size()
    loss = standings.assign(share=_against_least(standings, keys)).groupby("method")["share"].mean()
    methods = sorted(method_order(good.index), key=lambda method: (-good[method], loss[method]))
    first, n = methods[0], int(good[methods[0]])
    places = "scenarios" if keys == ["scenario"] else "scenarios and rates"
    where = f"the one {places.removesuffix('s')} tried" if n_places == 1 else f"{n} of {n_places} {places}"
    if n == n_places > 1:
        where = f"both {places}" if n == 2 else f"all {n} {places}"
    rivals = [method for method in methods[1:] if good[method] == n]
    rest = _rivals(rivals, [loss[method] / loss[first] - 1 for method in rivals]) if rivals else ""
    where = place or f"in {where}"
    return f"Take {listed([first])}: it is best, or not shown to be worse than the best, {where}.{rest}"


def _rivals(names: list[str], extra: list[float]) -> str:
    """Return what is to be said of methods that may be as good: how much more they lose, for all that is known."""
    more = f"{max(extra):.0%}"
    if math.isinf(max(extra)):
        much = "though a loss is infinite elsewhere"
    elif more == "0%":
        much = "with losses that are as good as equal to its own"
    else:
        much = f"with losses that are {'up to ' if len(names) > 1 else ''}{more} higher than its own"
    return f" {listed(names)} {be(names)} not shown to be worse either, {much}."


def _against_least(standings: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return losses by the least loss of their scenario and rate, so that no scenario outweighs the others."""
    least = standings.groupby(keys)["loss"].transform("min")
    return (standings["loss"] / least.where(least > 0)).fillna(1.0)


def verdicts(standings: pd.DataFrame) -> list[str]:
    """Return one sentence per scenario (and rate)."""
    keys = [name for name in ("scenario", "rate") if name in standings]
    return [_verdict(part, keys) for _, part in standings.groupby(keys, sort=False)]


def _verdict(part: pd.DataFrame, keys: list[str]) -> str:
    first = part.iloc[0]
    where = listed([first["scenario"]]) + (f" at {first['rate']:.0%}" if "rate" in keys else "")
    say = _without_end(number_format(part["loss"], 4))
    parts = [f"{where}: {listed([first['method']])} loses least ({say(first['loss'])})"]
    groups: dict[str, list[Any]] = {}
    for line in part.iloc[1:].itertuples():
        groups.setdefault(line.standing, []).append(line)
    if "same" in groups:
        names = [line.method for line in groups["same"]]
        parts.append(f"{listed(names)} {be(names)} the same to the last row")
    if "within chance" in groups:
        close = groups["within chance"]
        p = listed_chances([line.p_holm for line in close])
        parts.append(f"the difference to {listed([line.method for line in close])} may be chance ({p})")
    if "worse" in groups:
        worse = groups["worse"]
        names, p = [line.method for line in worse], listed_chances([line.p_holm for line in worse])
        more = list(dict.fromkeys(say(line.difference) for line in (worse[0], worse[-1])))  # least and most
        parts.append(f"{listed(names)} {be(names)} worse by {' to '.join(more)} ({p})")
    if "not tested" in groups:
        names = [line.method for line in groups["not tested"]]
        parts.append(f"{listed(names)} {be(names)} not tested")
    return "; ".join(parts) + "."


def _without_end(say: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: "∞" if math.isinf(value) else say(value)


def listed_chances(values: list[float]) -> str:
    """Return one p-value, or the range of several."""
    known = sorted(value for value in values if value == value)  # not NaN
    if not known:
        return "infinite loss"
    if len(known) == 1 or chance(known[0]) == chance(known[-1]):
        return chance(known[0], equals=True)
    return f"{chance(known[0], equals=True)} to {chance(known[-1])}"


def smallest_p(n_datasets: int, n_methods: int) -> float:
    """Return the smallest adjusted p of a signed-rank test against the best method: all data sets on one side.

    Examples
    --------
    >>> smallest_p(8, 5), smallest_p(4, 3)
    (0.03125, 0.25)
    """
    return float(min(2.0 ** (1 - n_datasets) * max(n_methods - 1, 1), 1.0))


def rank_verdicts(ranks: Ranks) -> list[str]:
    """Return one sentence per group of a ranking: who comes first, who is within chance of it, who is not."""
    keys = [key for key in ("scenario", "rate", "dataset") if key in ranks.overall]
    parts = ranks.table.groupby(keys, sort=False) if keys else [((), ranks.table)]
    return [_rank_verdict(part, keys) for _, part in parts]


def _rank_verdict(part: pd.DataFrame, keys: list[str]) -> str:
    first = part.iloc[0]
    ahead = np.isclose(part["mean_rank"], first["mean_rank"], rtol=0, atol=1e-9)
    others, tied = part.iloc[1:], part["method"][ahead].tolist()
    where = " at ".join(f"{first[key]:.3g}" if key == "rate" else listed([first[key]]) for key in keys)
    comes = "comes first" if len(tied) == 1 else "share the first place"
    rank = f"mean rank {first['mean_rank']:.2f} of {len(part)}"
    said = [f"{where}: " * bool(keys) + f"{listed(tied)} {comes} ({rank})"]
    if len(tied) == len(part):
        return f"{said[0]}."
    n = int(first["datasets"])
    if smallest_p(n, len(part)) > LEVEL:
        few = "one data set is" if n == 1 else f"{n} data sets are"
        return f"{said[0]}; {few} too few to tell whether that is more than chance."
    close, behind = others[others["p_holm"] >= LEVEL], others[others["p_holm"] < LEVEL]
    close = close[~close["method"].isin(tied)]
    if len(close):
        names, p = close["method"].tolist(), listed_chances(close["p_holm"].tolist())
        said.append(f"{listed(names)} {be(names)} not shown to lose more ({p})")
    if len(behind):
        names, p = behind["method"].tolist(), listed_chances(behind["p_holm"].tolist())
        said.append(f"{listed(names)} {'loses' if len(names) == 1 else 'lose'} more ({p})")
    return "; ".join(said) + "."
