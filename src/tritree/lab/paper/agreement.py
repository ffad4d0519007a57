"""Agreement of a run of the paper's experiment with the paper: losses on complete data, curves and their order.

The paper's curves are means over eight data sets, from the author's runs. A run on fewer data sets, at other rates, or
of the text's variant is not compared with them; its own order and curves are reported instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from tritree.lab.paper.datasets import NAMES
from tritree.lab.paper.experiment import LOSSES, MEASURES, figure2
from tritree.lab.ranks import DISPLAY_NAMES, curves, scenario_name
from tritree.lab.ranks.tables import as_text, curves_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUMMED = ("lymphography", "titanic")  # data sets whose loss the author summed over rows
_OTHER_TASK = (
    "seeds",
)  # data sets that are a classification in the text and a regression in the author's runs
_PAPER_TOLERANCE = 1e-5  # the paper's curves have five decimals


def has_all_datasets(results: pd.DataFrame) -> bool:
    """Return whether the curves of a run are means over the paper's eight data sets in every scenario."""
    found = curves(results)
    return set(results["dataset"]) == set(NAMES) and bool((found["datasets"] == len(NAMES)).all())


def reason_not_comparable(results: pd.DataFrame, variant: str = "author") -> str | None:
    """Return why a run cannot be compared with the paper's curves; None if it can."""
    if variant != "author":
        return "the paper's curves come from its author's runs, and this run follows the text"
    if compare_curves(results).query("rate > 0").empty:
        return (
            "the paper's curves have the rates 10 %, 20 % and so on to 90 %, and this run has none of these"
        )
    if not has_all_datasets(results):
        return f"the paper's curves are means over its {len(NAMES)} data sets, and this run does not have all of them"
    return None


def compare_losses(results: pd.DataFrame, variant: str = "author") -> pd.DataFrame:
    """Return the loss on each complete data set, that of the author's runs, and their ``relative_difference``.

    The difference is NaN where the text has another task, whose loss is another measure.
    """
    complete = results[(results["rate"] == 0) & (results["method"] == "majority")]
    once = complete.drop_duplicates(["dataset", "fold"])  # scenarios and seeds are the same at rate 0
    total = (once["loss"] * once["rows"]).groupby(once["dataset"]).sum()
    rows = once.groupby("dataset")["rows"].sum()
    loss = total.where(total.index.isin(_SUMMED), total / rows)
    table = pd.DataFrame({"loss": loss, "author": pd.Series(LOSSES, dtype=float)}).loc[loss.index]
    table["relative_difference"] = table["loss"] / table["author"] - 1
    table.loc[(variant == "text") & table.index.isin(_OTHER_TASK), "relative_difference"] = float("nan")
    return table.rename_axis("dataset").reset_index()


def compare_curves(results: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of a run and of the paper, and whether the latter are in the range over seeds."""
    reference = figure2().rename(
        columns={"missingness": "rate", "strategy": "method", "excess_loss": "paper"}
    )
    table = curves(results).merge(reference, on=["scenario", "rate", "method"])
    for end in ("low", "high"):
        table[end] = table[end].fillna(table["excess"])  # one seed has no range
    table["in_range"] = table["paper"].between(table["low"], table["high"])
    below, above = table["low"] - table["paper"], table["paper"] - table["high"]
    table["distance"] = below.clip(lower=0) + above.clip(lower=0)
    return table


def compare_order(results: pd.DataFrame) -> pd.DataFrame:
    """Return the strategies of each scenario by increasing mean excess loss, in the run and in the paper."""
    points = compare_curves(results)
    run, paper = (_orders(points, column, _PAPER_TOLERANCE) for column in ("excess", "paper"))
    return pd.DataFrame({"run": run, "paper": paper, "same": run == paper}).reset_index()


def _orders(points: pd.DataFrame, column: str, tolerance: float = 1e-12) -> pd.Series:
    """Return the strategies of each scenario by increasing mean."""
    means = points.groupby(["scenario", "method"], sort=False)[column].mean()
    by_scenario = means.groupby(level="scenario", sort=False)
    return by_scenario.agg(lambda part: _order(part.droplevel("scenario"), tolerance))


def _order(means: pd.Series, tolerance: float = 1e-12) -> str:
    """Return the strategies by increasing mean, with = between equals."""
    ordered = means.sort_values(kind="stable")
    text, previous = "", math.nan
    for method, mean in ordered.items():
        if text:
            text += " = " if math.isclose(mean, previous, rel_tol=1e-9, abs_tol=tolerance) else " < "
        text, previous = text + DISPLAY_NAMES.get(method, method), mean
    return text


def agreement_tables(results: pd.DataFrame, variant: str = "author") -> dict[str, pd.DataFrame]:
    """Return the tables ``losses``, ``order`` and ``curves``; without the paper's numbers if not comparable."""
    losses = compare_losses(results, variant)
    if reason_not_comparable(results, variant) is None:
        return {"losses": losses, "order": compare_order(results), "curves": compare_curves(results)}
    points = curves(results, MEASURES[variant]).assign(paper=None, in_range=None, distance=None)
    # without missing values all trees are equal
    order = _orders(points[points["rate"] > 0], "excess").rename("run").reset_index()
    return {"losses": losses, "order": order.assign(paper=None, same=None), "curves": points}


def agreement_text(results: pd.DataFrame, variant: str = "author") -> str:
    """Return the agreement with the paper as text; if curves cannot be compared, those of the run and the reason."""
    tables = agreement_tables(results, variant)
    lines = ["Loss without missing values"]
    for line in tables["losses"].itertuples():
        difference = line.relative_difference
        text = "as a regression" if math.isnan(difference) else f"difference {difference:+z.4%}"
        lines.append(f"  {line.dataset:<16} {line.loss:>18,.4f}   author {line.author:>18,.4f}   {text}")
    lines.append("")
    reason = reason_not_comparable(results, variant)
    if reason is None:
        lines += _compared_text(tables, results["seed"].nunique())
    elif tables["order"].empty:
        lines.append("No cells were removed, so there is no excess loss to order.")
    else:
        lines.append("Mean excess loss of this run, in increasing order")
        lines += [f"  {scenario_name(line.scenario):<9} {line.run}" for line in tables["order"].itertuples()]
        lines += ["", as_text(*curves_tables(results, MEASURES[variant], DISPLAY_NAMES))]
    if reason is not None:
        lines += ["", f"Not compared with the paper's curves: {reason}."]
    return "\n".join(lines)


def _compared_text(tables: dict[str, pd.DataFrame], n_seeds: int) -> Iterator[str]:
    yield "Mean excess loss, in increasing order"
    for line in tables["order"].itertuples():
        yield f"  {scenario_name(line.scenario):<9} tritree {line.run}"
        yield f"  {'':<9} paper   {line.paper}" + ("" if line.same else "   (not the same)")
    yield ""
    points = tables["curves"].query("rate > 0")
    if n_seeds == 1:
        yield "Largest difference to the paper's curves; one seed has no range"
    else:
        yield "Points of the paper's curves within the range over seeds"
    for (scenario, method), part in points.groupby(["scenario", "method"], sort=False):
        far = part.loc[part["distance"].idxmax()]
        text = f"at {far['rate']:.0%}: {far['paper']:.3f}, tritree {far['low']:.3f}"
        if n_seeds > 1:
            text = f"{part['in_range'].sum()} of {len(part)}; farthest {text} to {far['high']:.3f}"
        text = "all" if part["in_range"].all() else text
        yield f"  {scenario_name(scenario):<9} {DISPLAY_NAMES.get(method, method):<11} {text}"
    if n_seeds > 1:
        # of n draws and one more, each is equally likely to be the highest or the lowest
        probability = (n_seeds - 1) / (n_seeds + 1)
        chance = (
            f"one more seed would lie within the range of our {n_seeds} at {probability:.0%} of the points"
        )
        yield f"  in all {points['in_range'].sum()} of {len(points)}; {chance}"
