"""Report of an experiment: one HTML page with figures, tables and tests, which loads nothing from elsewhere."""

from __future__ import annotations

import html
import sys
from functools import partial
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from tritree.inspection.formatting import as_name, count
from tritree.inspection.html import policy_hash
from tritree.lab.figures import draw_curves, draw_ranks
from tritree.lab.ranks import (
    check_results,
    compare_methods,
    compare_unchanged,
    curves,
    judge,
    mean_ranks,
    omissions,
    scenario_scores,
)
from tritree.lab.ranks.averages import MEASURES, NoCommonCaseError
from tritree.lab.ranks.names import join_names, method_order, parse_method, scenario_order, scenario_title
from tritree.lab.ranks.scores import has_metrics, without_constant
from tritree.lab.ranks.tables import (
    DisplayCell,
    DisplayTable,
    comparison_table,
    curves_tables,
    losses_tables,
    ranks_tables,
    scores_notes,
    scores_table,
    time_tables,
)
from tritree.lab.report import elements
from tritree.output_files import check_output_path, write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tritree.lab.ranks import Comparison, Ranks, ScenarioScores
    from tritree.lab.ranks.averages import Measure

__all__ = ["render_report", "write_report"]

TITLE = "Methods for missing values, compared"
_MAX_NAME = 30
_RELATIVE_TO = {"excess": "divided by its loss at rate 0, minus 1", "ratio": "divided by its loss at rate 0"}


def write_report(
    results: pd.DataFrame,
    path: Any,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    measure: Measure | None = None,
) -> Path:
    """Write the report of an experiment as one self-contained HTML file, and return its path.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.ranks.check_results`; the columns ``fit_seconds`` and ``predict_seconds`` are optional.
    path : str or path-like
        File to write. It is replaced only when the report is complete.
    title : str
        Heading of the page.
    about : mapping or None, default=None
        Description of the run. If None, ``results.attrs["about"]`` is used, if present.
    reference : pandas.DataFrame or None, default=None
        Curves for comparison; see `tritree.lab.figures.plot_curves`.
    measure : {"excess", "ratio", "loss"} or None, default=None
        What is averaged over data sets; see `tritree.lab.ranks.excess`. If None, "loss" for one data set and "excess"
        for several.

    Returns
    -------
    pathlib.Path
        Absolute path of the file.

    Examples
    --------
    >>> write_report(results, "report.html")  # doctest: +SKIP
    """
    place = check_output_path(path, "the report")
    page = render_report(results, title=title, about=about, reference=reference, measure=measure)
    write_atomically(place, page.encode("utf-8"))
    return place


def render_report(
    results: pd.DataFrame,
    *,
    title: str = TITLE,
    about: Mapping[str, Any] | None = None,
    reference: pd.DataFrame | None = None,
    measure: Measure | None = None,
) -> str:
    """Return the HTML of a report; the parameters are those of `write_report`."""
    from tritree import __version__

    about = dict(results.attrs.get("about", {}) if about is None else about)
    run = elements.definitions(about) if about else elements.paragraph("The run is not described.")
    versions = {  # that render the report; the experiment may have been run with others
        "tritree": __version__,
        "Python": ".".join(map(str, sys.version_info[:3])),
        "NumPy": np.__version__,
        "pandas": pd.__version__,
        "matplotlib": mpl.__version__,
    }
    configuration = elements.section("Configuration", run, elements.definitions({"this report": versions}))
    table = check_results(results)
    columns = ("dataset", "scenario", "rate", "method", "seed", "fold")
    size = (count(table[name].nunique(), name.replace("dataset", "data set")) for name in columns)
    folder = files("tritree.lab.report")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        size=html.escape(", ".join(size)),
        version=html.escape(__version__),
        sections="\n".join([*_sections(table, reference, measure), configuration]),
        style=style,
        style_hash=policy_hash(style),
        script=script,
        script_hash=policy_hash(script),
    )


def _sections(table: pd.DataFrame, reference: pd.DataFrame | None, measure: Measure | None) -> list[str]:
    """Return the sections of the report of checked results."""
    is_single = table["dataset"].nunique() == 1
    if measure is None:
        measure = "loss" if is_single and reference is None else "excess"
    scores = _try(scenario_scores, table) if is_single and has_metrics(table) else None
    methods = table if scores is None else without_constant(table)
    ranks = None if is_single else _try(mean_ranks, table)
    compared = {name: _try(compare_methods, part) for name, part in methods.groupby("dataset")}
    comparisons = {name: found for name, found in compared.items() if found is not None}
    if scores is None:
        found = [_conclusions(table, ranks, next(iter(comparisons.values()), None) if is_single else None)]
    else:
        found = [_verdict(table, scores)]
    found += _curves(table, reference, measure)
    if ranks is not None:
        found.append(_ranks(ranks))
    if comparisons:
        found.append(_differences(methods, comparisons) if is_single else _by_dataset(comparisons))
    if not (is_single and measure == "loss"):  # then they are with the curves
        found.append(_losses(table))
    return found + [elements.section("Time", elements.table(content)) for content in time_tables(table)]


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
    return elements.section("Conclusions", *shown, *_omissions(table))


def _omissions(table: pd.DataFrame) -> list[str]:
    omitted = omissions(table)
    return [f'<div class="omissions">{elements.bullets(omitted)}</div>'] if omitted else []


def _verdict(table: pd.DataFrame, scores: list[ScenarioScores]) -> str:
    """Return which method to use on the only data set, and the metrics in each scenario."""
    return elements.section(
        "Conclusions",
        elements.paragraph(judge(scores).text, "headline"),
        *(elements.table(scores_table(one)) for one in scores),
        *(elements.paragraph(note, "note") for note in scores_notes(scores)),
        *_omissions(table),
    )


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
    scenarios = scenario_order(points["scenario"])
    alt = f"{label} against missing values for {join_names(scenarios)}; the tables below have the numbers"
    if measure == "loss":
        note = "The loss is the mean squared error, or the mean cross-entropy, over all test rows."
    else:
        note = (
            f"The excess loss is the loss of a method on a data set {_RELATIVE_TO[measure]}, averaged over data sets "
            "with equal weights."
        )
    titles = {} if reference is not None else {name: scenario_title(name) for name in scenarios}
    draw = partial(draw_curves, points, reference, measure, titles)
    return [
        elements.section(
            "Loss" if measure == "loss" else "Loss relative to no missing values",
            elements.picture(draw, alt, caption),
            elements.paragraph(f"{note} Bold is the lowest of its column.", "note"),
            *map(elements.table, curves_tables(table, measure)),
        )
    ]


def _ranks(ranks: Ranks) -> str:
    caption = (
        "Mean ranks over data sets with 95% confidence intervals; small dots are single data sets. Hollow dots are "
        "methods that differ significantly from the best (Holm-adjusted p < 0.05)."
    )
    alt = "Mean ranks of the methods by scenario; the tables below have the numbers"
    return elements.section(
        "Mean ranks",
        elements.picture(partial(draw_ranks, ranks, {}), alt, caption),
        *map(elements.table, ranks_tables(ranks)),
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
    rows = [
        [
            DisplayCell(as_name(name, _MAX_NAME), name),
            *(_best(found.table[found.table["scenario"] == scenario]) for scenario in scenarios),
        ]
        for name, found in comparisons.items()
    ]
    note = (
        "The method with the lowest loss, averaged over rates above 0; in brackets those that are identical or not "
        "significantly worse by the corrected resampled t-test over folds (Holm-adjusted p of at least 0.05)."
    )
    content = DisplayTable("", ["data set", *scenarios], rows, 1 + len(scenarios), [note])
    return elements.section("By data set", elements.table(content))


def _best(part: pd.DataFrame) -> DisplayCell:
    """Return the best method of a scenario, and those that are not significantly worse."""
    if part.empty:
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
