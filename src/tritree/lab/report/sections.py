"""Sections of a report: conclusions, loss curves, mean ranks, comparisons, losses, times, configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import as_name, count
from tritree.lab.figures import draw_curves, draw_ranks
from tritree.lab.ranks import compare_methods, compare_unchanged, curves, mean_ranks, omissions
from tritree.lab.ranks.averages import MEASURES, NoCommonCaseError
from tritree.lab.ranks.names import join_names, method_order, parse_method, scenario_order
from tritree.lab.ranks.tables import (
    DisplayCell,
    DisplayTable,
    comparison_table,
    curves_tables,
    losses_tables,
    ranks_tables,
    time_tables,
)
from tritree.lab.report import elements

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from tritree.lab.ranks import Comparison, Ranks
    from tritree.lab.ranks.averages import Measure

_MAX_NAME = 30
_RELATIVE_TO = {"excess": "divided by its loss at rate 0, minus 1", "ratio": "divided by its loss at rate 0"}


def size(table: pd.DataFrame) -> str:
    """Return the numbers of data sets, scenarios, rates, methods, seeds and folds."""
    columns = ("dataset", "scenario", "rate", "method", "seed", "fold")
    return ", ".join(count(table[name].nunique(), name.replace("dataset", "data set")) for name in columns)


def sections(
    table: pd.DataFrame,
    about: dict[str, Any],
    versions: dict[str, str],
    reference: pd.DataFrame | None,
    measure: Measure | None,
) -> list[str]:
    """Return the sections of the report of checked results."""
    is_single = table["dataset"].nunique() == 1
    if measure is None:
        measure = "loss" if is_single and reference is None else "excess"
    ranks = None if is_single else _try(mean_ranks, table)
    compared = {name: _try(compare_methods, part) for name, part in table.groupby("dataset")}
    comparisons = {name: found for name, found in compared.items() if found is not None}
    found = [_conclusions(table, ranks, next(iter(comparisons.values()), None) if is_single else None)]
    found += _curves(table, reference, measure)
    if ranks is not None:
        found.append(_ranks(ranks))
    if comparisons:
        found.append(_differences(table, comparisons) if is_single else _by_dataset(comparisons))
    if not (is_single and measure == "loss"):  # then they are with the curves
        found.append(_losses(table))
    found += [elements.section("Time", elements.table(content)) for content in time_tables(table)]
    return [*found, _configuration(about, versions)]


def _try(make: Callable[..., Any], table: pd.DataFrame, **options: Any) -> Any:
    """Return what a function makes of results, or None while the experiment has not come far enough."""
    try:
        return make(table, **options)
    except NoCommonCaseError:
        return None


def _conclusions(table: pd.DataFrame, ranks: Ranks | None, comparison: Comparison | None) -> str:
    """Return the conclusions, and what is omitted."""
    shown = []
    if comparison is not None:
        for found in (_unchanged(table), comparison):
            if found is not None:
                shown += [
                    elements.paragraph(found.recommendation, "headline"),
                    elements.bullets(found.conclusions),
                ]
    elif ranks is not None:
        shown.append(elements.bullets(ranks.conclusions))
    else:
        text = "No losses can be compared yet: there is no case in which all methods have a loss."
        shown.append(elements.paragraph(text))
    if omitted := omissions(table):
        shown.append(f'<div class="omissions">{elements.bullets(omitted)}</div>')
    return elements.section("Conclusions", *shown)


def _unchanged(table: pd.DataFrame) -> Comparison | None:
    """Return the comparison on the unchanged table; None if all methods of tritree are equal there.

    On a complete table all strategies of one kind of model are.
    """
    at_zero = table[(table["rate"] == 0) & (table["method"].map(parse_method).notna())]
    if not (at_zero.groupby("fold")["loss"].nunique() > 1).any():
        return None
    found: Comparison | None = _try(compare_unchanged, table)
    return found


def _curves(table: pd.DataFrame, reference: pd.DataFrame | None, measure: Measure) -> list[str]:
    points = curves(table, measure)
    if points.empty:
        return []
    label = MEASURES[measure]
    n_datasets, n_seeds = int(points["datasets"].max()), int(points["seeds"].max())
    caption = (
        f"{label} by the fraction of missing values. Lines are means over {count(n_datasets, 'data set')} and "
        f"{count(n_seeds, 'seed')}."
    )
    if n_seeds > 1:
        caption += " Bands span the means of the seeds."
    if reference is not None:
        caption += " Dashed, without markers: the curves of the paper."
    scenarios = join_names(scenario_order(points["scenario"]))
    alt = f"{label} against missing values for {scenarios}; the tables below have the numbers"
    if measure == "loss":
        note = "The loss is the mean squared error, or the mean cross-entropy, over all test rows."
    else:
        note = (
            f"The excess loss is the loss of a method on a data set {_RELATIVE_TO[measure]}, averaged over data sets "
            "with equal weights."
        )

    def draw(make_figure: Any, n_columns: int) -> Any:
        return draw_curves(make_figure, points, reference, measure, {}, n_columns=n_columns)

    return [
        elements.section(
            "Loss" if measure == "loss" else "Loss relative to no missing values",
            elements.picture(draw, alt, caption),
            elements.paragraph(f"{note} Bold is the lowest of its column.", "note"),
            *map(elements.table, curves_tables(table, measure)),
        )
    ]


def _ranks(ranks: Ranks) -> str:
    def draw(make_figure: Any, n_columns: int) -> Any:
        return draw_ranks(make_figure, ranks, {}, n_columns)

    caption = (
        "Mean ranks over data sets with 95% confidence intervals; small dots are single data sets. Hollow dots are "
        "methods that differ significantly from the best (Holm-adjusted p < 0.05)."
    )
    alt = "Mean ranks of the methods by scenario; the tables below have the numbers"
    return elements.section(
        "Mean ranks", elements.picture(draw, alt, caption), *map(elements.table, ranks_tables(ranks))
    )


def _differences(table: pd.DataFrame, comparisons: dict[str, Comparison]) -> str:
    """Return the differences between methods on the only data set."""
    [comparison] = comparisons.values()
    shown = [elements.table(comparison_table(comparison))]
    by_rate = _try(compare_methods, table, by="rate")
    if by_rate is not None:
        shown.append(elements.details("By rate", elements.table(comparison_table(by_rate))))
    return elements.section("Differences", *shown)


def _by_dataset(comparisons: dict[str, Comparison]) -> str:
    """Return which methods are best on each data set, and which are not significantly worse."""
    scenarios = scenario_order(name for found in comparisons.values() for name in found.table["scenario"])
    rows = []
    for name, comparison in comparisons.items():
        parts = dict(list(comparison.table.groupby("scenario", sort=False)))
        rows.append(
            [
                DisplayCell(as_name(name, _MAX_NAME), name),
                *(_best(parts.get(scenario)) for scenario in scenarios),
            ]
        )
    note = (
        "The method with the lowest loss, averaged over rates above 0; in brackets those that are identical or not "
        "significantly worse by the corrected resampled t-test over folds (Holm-adjusted p of at least 0.05)."
    )
    content = DisplayTable("", ["data set", *scenarios], rows, 1 + len(scenarios), [note])
    return elements.section("By data set", elements.table(content))


def _best(part: pd.DataFrame | None) -> DisplayCell:
    if part is None:
        return DisplayCell("–", "–")
    best = as_name(part["method"].iloc[0], _MAX_NAME)
    if (part["outcome"] == "not tested").any():
        return DisplayCell(f"{best} (not tested)", best)
    similar = method_order(part["method"][part["outcome"].isin(("identical", "not significant"))])
    text = f"{best} ({', '.join(as_name(name, _MAX_NAME) for name in similar)})" if similar else best
    return DisplayCell(text, text)


def _losses(table: pd.DataFrame) -> str:
    """Return the losses at some rates, collapsed by scenario."""
    shown = []
    for scenario in scenario_order(table["scenario"]):
        if contents := losses_tables(table[table["scenario"] == scenario]):
            title = f"{scenario}: {count(len(contents), 'data set')}"
            shown.append(elements.details(title, elements.tables(contents)))
    note = "Losses per data set, averaged over seeds. Bold is the lowest of its column."
    return elements.section("Losses", elements.paragraph(note, "note"), *shown)


def _configuration(about: dict[str, Any], versions: dict[str, str]) -> str:
    run = elements.definitions(about) if about else elements.paragraph("The run is not described.")
    return elements.section("Configuration", run, elements.definitions({"this report": versions}))
