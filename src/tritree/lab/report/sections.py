"""What a report tells, section by section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import as_name, count
from tritree.lab.figures.dots import draw_ranks
from tritree.lab.figures.panels import draw_panels
from tritree.lab.ranks import compare_methods, curves, gaps, mean_ranks
from tritree.lab.ranks.averages import NothingSharedError
from tritree.lab.ranks.names import kind_of, method_order, scenario_order
from tritree.lab.ranks.pairs import compare_as_is
from tritree.lab.ranks.tables import (
    MEASURES,
    Cell,
    Table,
    comparison_tables,
    curves_tables,
    losses_tables,
    ranks_tables,
    seconds_tables,
)
from tritree.lab.ranks.words import listed
from tritree.lab.report import parts

if TYPE_CHECKING:
    import pandas as pd

    from tritree.lab.ranks import Comparison, Ranks
    from tritree.lab.ranks.averages import Reading

__all__ = ["sections", "size"]

_WIDEST = 30


def size(table: pd.DataFrame) -> str:
    """Return how large the experiment is."""
    many = {"dataset": "data set", "scenario": "scenario", "rate": "rate", "method": "method", "seed": "seed"}
    return ", ".join(count(table[name].nunique(), word) for name, word in (many | {"fold": "fold"}).items())


def sections(
    table: pd.DataFrame,
    about: dict[str, Any],
    versions: dict[str, str],
    reference: pd.DataFrame | None,
    reading: Reading | None,
) -> list[str]:
    """Return the sections of the report of checked results."""
    is_alone = table["dataset"].nunique() == 1
    if reading is None:
        reading = "loss" if is_alone and reference is None else "author"
    ranks = None if is_alone else _or_none(mean_ranks, table)
    found = {name: _or_none(compare_methods, part) for name, part in table.groupby("dataset")}
    known = {name: comparison for name, comparison in found.items() if comparison is not None}
    return [
        _findings(table, ranks, next(iter(known.values()), None) if is_alone else None),
        *_curves(table, reference, reading),
        *([] if ranks is None else [_ranks(ranks)]),
        *([_alone(table, known)] if is_alone and known else []),
        *([_single(known)] if known and not is_alone else []),
        *([] if is_alone and reading == "loss" else [_losses(table)]),  # they are with the curves
        *_seconds(table),
        _settings(about, versions),
    ]


def _or_none(make: Any, *given: Any, **options: Any) -> Any:
    """Return what is made, or None where an experiment has not come far enough for it."""
    try:
        return make(*given, **options)
    except NothingSharedError:
        return None


def _findings(table: pd.DataFrame, ranks: Ranks | None, comparison: Comparison | None) -> str:
    """Return what came out, in sentences, and what is missing."""
    shown = []
    if comparison is not None:
        shown += _as_it_is(table)
        shown += [parts.paragraph(comparison.headline, "headline"), parts.bullets(comparison.verdict)]
    elif ranks is not None:
        shown.append(parts.bullets(ranks.verdict))
    else:
        shown.append(
            parts.paragraph("No losses can be compared yet: there is no case that all methods have.")
        )
    if left_out := gaps(table):
        shown.append(f'<div class="gaps">{parts.bullets(left_out)}</div>')
    return parts.section("What came out", *shown)


def _as_it_is(table: pd.DataFrame) -> list[str]:
    """Return what came out for the table as it is; nothing if all methods of ours are the same there.

    Without holes strategies are, of one kind of model.
    """
    at_zero = table[(table["rate"] == 0) & (table["method"].map(kind_of).notna())]
    if not (at_zero.groupby("fold")["loss"].nunique() > 1).any():
        return []
    own = _or_none(compare_as_is, table)
    return [] if own is None else [parts.paragraph(own.headline, "headline"), parts.bullets(own.verdict)]


def _curves(table: pd.DataFrame, reference: pd.DataFrame | None, reading: Reading) -> list[str]:
    points = curves(table, reading)
    if points.empty:
        return []
    scenarios = scenario_order(points["scenario"])
    what = MEASURES[reading]

    def draw(across: int) -> Any:
        return draw_panels(parts.make_figure, points, reference, reading, {}, across=across)[0].figure

    caption = f"{what} by the share of missing values. {_averaged(points)}"
    if reference is not None:
        caption += " Dashed, without markers: the curves of the paper."
    alt = f"{what} against missing values, a panel for each of {listed(scenarios)}; the tables below have the numbers"
    heading = "Loss" if reading == "loss" else "Loss against no missing values"
    return [
        parts.section(
            heading,
            parts.picture(draw, alt, caption),
            parts.paragraph(_how_read(reading), "note"),
            *map(parts.table, curves_tables(table, reading)),
        )
    ]


def _averaged(points: pd.DataFrame) -> str:
    n_datasets, n_seeds = int(points["datasets"].max()), int(points["seeds"].max())
    over = f"Lines are means over {count(n_datasets, 'data set')} and {count(n_seeds, 'seed')}."
    if n_seeds > 1:
        over += " Bands reach from the least to the greatest mean of a seed."
    return over


def _how_read(reading: Reading) -> str:
    if reading == "loss":
        return (
            "The loss is the mean squared error, or the mean cross-entropy, over all test rows. Bold is the least of "
            "its column."
        )
    read = {"author": "divided by its loss at rate 0, less 1", "text": "divided by its loss at rate 0"}[
        reading
    ]
    return (
        f"The excess loss is the loss of a method on a data set {read}; then data sets are averaged, each counting "
        "alike. Bold is the least of its column."
    )


def _ranks(ranks: Ranks) -> str:
    def draw(across: int) -> Any:
        return draw_ranks(parts.make_figure, ranks, {}, across)[0].figure

    caption = (
        "Mean ranks over data sets with their 95% intervals; small dots are single data sets. A hollow dot is a method "
        "that differs from the best (p < 0.05 after Holm)."
    )
    alt = "Mean ranks of the methods, a panel per scenario; the tables below have the numbers"
    return parts.section(
        "Mean ranks", parts.picture(draw, alt, caption), *map(parts.table, ranks_tables(ranks))
    )


def _alone(table: pd.DataFrame, known: dict[str, Comparison]) -> str:
    """Return the differences on the only data set."""
    [comparison] = known.values()
    by_rate = _or_none(compare_methods, table, by="rate")
    more = (
        []
        if by_rate is None
        else [parts.folded("Rate by rate", *map(parts.table, comparison_tables(by_rate)))]
    )
    return parts.section("Differences", *map(parts.table, comparison_tables(comparison)), *more)


def _single(known: dict[str, Comparison]) -> str:
    """Return which methods are best on each data set, and which are not shown to be worse."""
    scenarios = scenario_order(name for comparison in known.values() for name in comparison.table["scenario"])
    rows = []
    for name, comparison in known.items():
        standings = dict(list(comparison.table.groupby("scenario", sort=False)))
        cells = [_best_of(standings.get(scenario)) for scenario in scenarios]
        rows.append([Cell(as_name(name, _WIDEST), name), *cells])
    note = (
        "The method with the least loss, averaged over rates above 0; in brackets those that are not shown to be worse "
        "by the corrected resampled t-test over folds (p after Holm at least 0.05), or the same."
    )
    return parts.section(
        "On single data sets",
        parts.table(Table("", ["data set", *scenarios], rows, 1 + len(scenarios), [note])),
    )


def _best_of(part: pd.DataFrame | None) -> Cell:
    if part is None:
        return Cell("–", "–")
    best = as_name(part["method"].iloc[0], _WIDEST)
    near = method_order(part["method"][part["standing"].isin(("same", "within chance"))])
    if (part["standing"] == "not tested").any():
        return Cell(f"{best} (not tested)", best)
    text = f"{best} ({', '.join(as_name(name, _WIDEST) for name in near)})" if near else best
    return Cell(text, text)


def _losses(table: pd.DataFrame) -> str:
    """Return the losses at some rates, folded by scenario."""
    by_scenario = {
        scenario: losses_tables(table[table["scenario"] == scenario])
        for scenario in scenario_order(table["scenario"])
    }
    folds = [
        parts.folded(f"{scenario}: {count(len(shown), 'data set')}", parts.tables(shown))
        for scenario, shown in by_scenario.items()
        if shown
    ]
    note = "Losses per data set, averaged over seeds. Bold is the least of its column."
    return parts.section("Losses", parts.paragraph(note, "note"), *folds)


def _seconds(table: pd.DataFrame) -> list[str]:
    return [parts.section("Time", parts.table(content)) for content in seconds_tables(table)]


def _settings(about: dict[str, Any], versions: dict[str, str]) -> str:
    made = parts.facts({"this report": versions})
    if not about:
        return parts.section("Settings and versions", parts.paragraph("Nothing was told of the run."), made)
    return parts.section("Settings and versions", parts.facts(about), made)
