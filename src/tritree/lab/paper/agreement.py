"""How near a run of the paper's experiment comes to the paper: its losses, the order of its curves, and the curves.

The curves are means over eight data sets, from the author's runs: a run on fewer sets, at other rates, or as the text
has it, is not held against them. It has an order and curves of its own all the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from tritree.lab.data import NAMES
from tritree.lab.paper.experiment import LOSSES, figure2
from tritree.lab.ranks import PAPER_NAMES, curves, paper_name, scenario_name
from tritree.lab.ranks.tables import as_text, curves_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.lab.ranks.averages import Reading

__all__ = [
    "agreement_text",
    "compare_curves",
    "compare_losses",
    "compare_order",
    "has_all_sets",
    "own_curves",
    "own_order",
    "why_apart",
]

_SUMMED = ("lymphography", "titanic")  # data sets whose loss the author has added up over rows
_ROUNDED = 1e-5  # the paper's curves have five decimals
_OTHER_TASK = ("seeds",)  # data sets that the text has as classes, and the author as numbers


def has_all_sets(results: pd.DataFrame) -> bool:
    """Return whether our curves are means over the paper's eight data sets, all of them in every scenario."""
    ours = curves(results)
    return set(results["dataset"]) == set(NAMES) and bool((ours["datasets"] == len(NAMES)).all())


def why_apart(results: pd.DataFrame, reading: str = "author") -> str | None:
    """Return why a run cannot be held against the paper's curves; None if it can."""
    if reading != "author":
        return "the paper's curves come from its author's runs, and this run is as the text has it"
    if compare_curves(results).query("rate > 0").empty:
        rates = "10 %, 20 % and so on to 90 %"
        return f"the paper has no such rates: its curves have {rates}, and this run has none of these"
    if not has_all_sets(results):
        return f"the paper's curves are means over its {len(NAMES)} data sets, and this run has not all of them in full"
    return None


def compare_losses(results: pd.DataFrame, reading: str = "author") -> pd.DataFrame:
    """Return the loss without holes of each data set beside that of the author's runs.

    ``off`` is how far they are apart, as a share; NaN where the text has another task, whose loss is another measure.
    """
    complete = results[(results["rate"] == 0) & (results["method"] == "majority")]
    once = complete.drop_duplicates(
        ["dataset", "fold"]
    )  # scenarios and seeds make no difference without holes
    total = (once["loss"] * once["rows"]).groupby(once["dataset"]).sum()
    rows = once.groupby("dataset")["rows"].sum()
    loss = total.where(total.index.isin(_SUMMED), total / rows)
    table = pd.DataFrame({"loss": loss, "author": pd.Series(LOSSES, dtype=float)}).loc[loss.index]
    table["off"] = table["loss"] / table["author"] - 1
    table.loc[(reading == "text") & table.index.isin(_OTHER_TASK), "off"] = float("nan")
    return table.rename_axis("dataset").reset_index()


def compare_curves(results: pd.DataFrame) -> pd.DataFrame:
    """Return our curves beside the paper's, point by point, and whether its points lie within our band over seeds."""
    ours = curves(results)
    theirs = figure2().rename(columns={"missingness": "rate", "strategy": "method", "excess_loss": "paper"})
    table = ours.merge(theirs, on=["scenario", "rate", "method"])
    for end in ("low", "high"):
        table[end] = table[end].fillna(table["excess"])  # one seed has no band
    table["inside"] = table["paper"].between(table["low"], table["high"])
    table["beyond"] = (table["low"] - table["paper"]).clip(lower=0) + (table["paper"] - table["high"]).clip(
        lower=0
    )
    return table


def compare_order(results: pd.DataFrame) -> pd.DataFrame:
    """Return the strategies of each scenario from the least to the greatest mean excess loss, ours and the paper's."""
    table = compare_curves(results)
    lines = []
    for scenario, part in table.groupby("scenario", sort=False):
        means = part.groupby("method")[["excess", "paper"]].mean()
        ours, paper = (_in_order(means[by], _ROUNDED) for by in ("excess", "paper"))
        lines.append((scenario, ours, paper, ours == paper))
    return pd.DataFrame(lines, columns=["scenario", "ours", "paper", "same"])


def own_curves(results: pd.DataFrame, reading: Reading = "author") -> pd.DataFrame:
    """Return our curves in the form of `compare_curves`, with nothing of the paper's in it."""
    return curves(results, reading).assign(paper=None, inside=None, beyond=None)


def own_order(results: pd.DataFrame, reading: Reading = "author") -> pd.DataFrame:
    """Return the order of our strategies in the form of `compare_order`, over all rates above 0 that there are.

    Without such rates there is no order: all strategies are the same tree then.
    """
    points = curves(results, reading).query("rate > 0")
    means = points.groupby(["scenario", "method"], sort=False)["excess"].mean()
    lines = [
        (scenario, _in_order(part.droplevel("scenario")), None, None)
        for scenario, part in means.groupby(level="scenario", sort=False)
    ]
    return pd.DataFrame(lines, columns=["scenario", "ours", "paper", "same"])


def _in_order(means: pd.Series, near: float = 1e-12) -> str:
    """Return the names of strategies from the least mean to the greatest, with = between equals."""
    ordered = means.sort_values(kind="stable")
    said = ""
    for place, (method, mean) in enumerate(ordered.items()):
        if place:
            before = ordered.iloc[place - 1]
            said += " = " if math.isclose(mean, before, rel_tol=1e-9, abs_tol=near) else " < "
        said += paper_name(str(method))
    return said


def agreement_text(results: pd.DataFrame, reading: Reading = "author") -> str:
    """Return all three comparisons as text; where curves cannot be compared, ours by themselves, and why."""
    return "\n".join([*_losses(results, reading), "", *_curves(results, reading)])


def _losses(results: pd.DataFrame, reading: str) -> Iterator[str]:
    yield "Loss without missing values"
    for line in compare_losses(results, reading).itertuples():
        off = "as a regression" if pd.isna(line.off) else f"off by {line.off:+z.4%}"
        yield f"  {line.dataset:<16} {line.loss:>18,.4f}   author {line.author:>18,.4f}   {off}"


def _own(results: pd.DataFrame, reading: Reading) -> Iterator[str]:
    order = own_order(results, reading)
    if order.empty:
        yield "No cells were removed, so there is no excess loss to put in order."
        return
    yield "Mean excess loss of this run, from the least to the greatest"
    for line in order.itertuples():
        yield f"  {scenario_name(line.scenario):<9} {line.ours}"
    yield ""
    yield as_text(*curves_tables(results, reading, PAPER_NAMES))


def _curves(results: pd.DataFrame, reading: Reading) -> Iterator[str]:
    apart = why_apart(results, reading)
    if apart is not None:
        yield from _own(results, reading)
        yield ""
        yield f"Not compared with the paper's curves: {apart}."
        return
    yield "Mean excess loss, from the least to the greatest"
    for line in compare_order(results).itertuples():
        yield f"  {scenario_name(line.scenario):<9} ours   {line.ours}"
        yield f"  {'':<9} paper  {line.paper}" + ("" if line.same else "   (not the same)")
    yield ""
    table = compare_curves(results).query("rate > 0")
    seeds = results["seed"].nunique()
    if seeds == 1:
        yield "The paper's curves beside ours, where they are farthest apart; one seed has no band"
    else:
        yield "Points of the paper's curves within our band over seeds"
    for (scenario, method), part in table.groupby(["scenario", "method"], sort=False):
        far = part.loc[part["beyond"].idxmax()]
        inside, where = f"{part['inside'].sum()} of {len(part)}; farthest ", f"at {far['rate']:.0%}: "
        ours = f"ours {far['low']:.3f}" + (f" to {far['high']:.3f}" if seeds > 1 else "")
        words = f"{inside if seeds > 1 else ''}{where}{far['paper']:.3f}, {ours}"
        yield f"  {scenario_name(scenario):<9} {paper_name(method):<11} {'all' if part['inside'].all() else words}"
    if seeds > 1:
        # of so many draws and one more, each is as likely as any other to be the highest or the lowest
        share = (seeds - 1) / (seeds + 1)
        chance = f"one more draw like our {seeds} would lie within their band at {share:.0%} of the points"
        yield f"  in all {table['inside'].sum()} of {len(table)}; {chance}"
