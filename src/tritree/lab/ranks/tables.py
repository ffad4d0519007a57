"""Tables of results for display: one description of each, rendered as text here and as HTML by the report."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.formatting import as_name, count, number_format, pad, width_of
from tritree.lab.methods import CONSTANT
from tritree.lab.ranks.averages import MEASURES, amputed_cases, check_results, curves, losses
from tritree.lab.ranks.names import join_names, method_order, scenario_order
from tritree.lab.ranks.scores import metric_format
from tritree.lab.ranks.significance import format_p
from tritree.metrics import GREATER_IS_BETTER, METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from tritree.lab.ranks.averages import Measure
    from tritree.lab.ranks.comparison import Comparison
    from tritree.lab.ranks.ranking import Ranks
    from tritree.lab.ranks.scores import ScenarioScores

_MAX_NAME = 30  # letters of a name
_MAX_LINE = 100  # letters of a line of notes in a terminal
_MAX_LISTED = 4  # rates in a title; more are given as a range
_DASH = "–"
_RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)  # shown of many


@dataclass(frozen=True)
class DisplayCell:
    """Text of a cell, the value it is sorted by, and whether it is the best of its column."""

    text: str
    value: float | str
    best: bool = False


@dataclass(frozen=True)
class DisplayTable:
    """Table for display: the first ``n_names`` columns hold names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[DisplayCell]]
    n_names: int = 1
    notes: Sequence[str] = field(default_factory=tuple)


def as_text(*tables: DisplayTable) -> str:
    """Return tables as aligned text for a terminal; the best numbers are marked by a star."""
    return "\n\n".join(_as_text(table) for table in tables)


def _as_text(table: DisplayTable) -> str:
    columns = []
    for j, title in enumerate(table.columns):
        cells = [row[j] for row in table.rows]
        is_number, has_best = j >= table.n_names, any(cell.best for cell in cells)
        texts = [title + "  " * has_best]
        texts += [cell.text + (" *" if cell.best else "  " * has_best) for cell in cells]
        width = max(map(width_of, texts))
        columns.append([pad(text, width, right=is_number) for text in texts])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    notes = [line for note in table.notes for line in wrapped(note)]
    return "\n".join([*([table.title] if table.title else []), *lines, *notes])


def wrapped(text: str) -> list[str]:
    """Return a paragraph as lines for a terminal."""
    return textwrap.wrap(text, _MAX_LINE, break_long_words=False, break_on_hyphens=False)


def select_rates(results: pd.DataFrame, n_max: int = len(_RATES)) -> list[float]:
    """Return all rates of the results or, if they are too many, some of them evenly spread."""
    rates = sorted(set(check_results(results)["rate"]))
    if len(rates) <= n_max:
        return rates
    if set(_RATES) <= set(rates):
        return list(_RATES)
    return [rates[i] for i in sorted({round(i) for i in np.linspace(0, len(rates) - 1, n_max)})]


def _name(value: Any, names: Mapping[str, str] | None = None) -> DisplayCell:
    text = as_name((names or {}).get(value, value), _MAX_NAME)
    return DisplayCell(text, text)


def _number(value: float, to_text: Callable[[float], str], *, best: bool = False) -> DisplayCell:
    """Return a number as a cell; NaN is sorted last."""
    if math.isnan(value):
        return DisplayCell(_DASH, math.inf)
    return DisplayCell("∞" if math.isinf(value) else to_text(value), float(value), best)


def _interval(low: float, high: float, to_text: Callable[[float], str]) -> DisplayCell:
    if math.isnan(low):
        return DisplayCell(_DASH, math.inf)
    return DisplayCell(f"{to_text(low)} to {to_text(high)}", low)


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g}%"


def curves_tables(
    results: pd.DataFrame, measure: Measure = "excess", names: Mapping[str, str] | None = None
) -> list[DisplayTable]:
    """Return one table per scenario: the excess loss averaged over data sets, a line per method, a column per rate."""
    points = curves(results, measure)
    shown = points[points["rate"].isin(select_rates(results, 10))]
    tables = []
    for scenario in scenario_order(shown["scenario"]):
        part = shown[shown["scenario"] == scenario]
        wide = part.pivot(index="method", columns="rate", values="excess")
        sizes = {"data set": int(part["datasets"].max()), "seed": int(part["seeds"].max())}
        over = " and ".join(count(n, noun) for noun, n in sizes.items() if n > 1)
        title = f"{as_name(scenario, _MAX_NAME)}: {MEASURES[measure].lower()}{over and f', mean of {over}'}"
        to_text = None if measure == "loss" else "{:z.3f}".format
        tables.append(_grid(title, wide.reindex(method_order(part["method"])), names, to_text))
    return tables


def _grid(
    title: str,
    wide: pd.DataFrame,
    names: Mapping[str, str] | None = None,
    to_text: Callable[[float], str] | None = None,
) -> DisplayTable:
    """Return a table with a column per rate; the lowest value of a column is marked if methods differ there."""
    least, most = wide.min(), wide.max()
    marked = least.where(most > least)
    formats = {rate: to_text or number_format(wide[rate].dropna(), 4) for rate in wide}
    rows = [
        [
            _name(method, names),
            *(_number(x, formats[rate], best=x == marked[rate]) for rate, x in line.items()),
        ]
        for method, line in wide.iterrows()
    ]
    return DisplayTable(title, ["method", *map(_percent, wide.columns)], rows)


def losses_tables(results: pd.DataFrame) -> list[DisplayTable]:
    """Return one table per scenario and data set: the mean loss over seeds, a line per method, a column per rate."""
    table = losses(results)
    table = table[table["rate"].isin(select_rates(results))]
    tables = []
    for scenario in scenario_order(table["scenario"]):
        for dataset, part in table[table["scenario"] == scenario].groupby("dataset"):
            wide = part.pivot_table(index="method", columns="rate", values="loss", aggfunc="mean")
            title = f"{as_name(scenario, _MAX_NAME)}, {as_name(dataset, _MAX_NAME)}: loss"
            tables.append(_grid(title, wide.reindex(method_order(part["method"]))))
    return tables


def ranks_tables(ranks: Ranks) -> list[DisplayTable]:
    """Return one table per group of a ranking with its tests; the notes are below the last."""
    keys = [key for key in ("scenario", "rate", "dataset") if key in ranks.overall]
    columns = ["method", "mean rank", "95% interval", "first in", "difference", "p (Wilcoxon)", "p (Holm)"]
    tables: list[DisplayTable] = []
    for group in ranks.overall.itertuples():
        part = ranks.table
        for key in keys:
            part = part[part[key] == getattr(group, key)]
        rows = [_rank_row(line) for line in part.itertuples()]
        where = ", ".join(_group_name(key, getattr(group, key)).text for key in keys)
        title = f"{where}: mean rank over {count(group.datasets, 'data set')}"
        if not math.isnan(group.p):
            title += f" (Friedman {format_p(group.p, prefix=True)})"
        notes = ranks.notes if len(tables) == len(ranks.overall) - 1 else ()
        tables.append(DisplayTable(title.removeprefix(": "), columns, rows, notes=notes))
    return tables


def _group_name(key: str, value: Any) -> DisplayCell:
    return DisplayCell(_percent(value), float(value)) if key == "rate" else _name(value)


def _rank_row(line: Any) -> list[DisplayCell]:
    is_best = math.isnan(line.p_holm) and line.relative_difference == 0
    difference = _number(line.relative_difference, "{:+z.1%}".format)
    return [
        _name(line.method),
        _number(line.mean_rank, "{:.2f}".format),
        _interval(line.low, line.high, "{:.2f}".format),
        _number(line.first_fraction, "{:.0%}".format),
        DisplayCell("best", -math.inf) if is_best else difference,
        _number(line.p, format_p),
        _number(line.p_holm, format_p),
    ]


def comparison_table(comparison: Comparison) -> DisplayTable:
    """Return a comparison as one table, best method first within each scenario (and rate)."""
    table = comparison.table
    keys = [key for key in ("scenario", "rate") if key in table]
    rows = []
    for _, part in table.groupby(keys, sort=False):
        to_text = number_format(part["loss"], 4)
        for line in part.itertuples():
            is_best = line.outcome == "best"
            rows.append(
                [
                    *(_group_name(key, getattr(line, key)) for key in keys),
                    _name(line.method),
                    _number(line.loss, to_text, best=is_best),
                    DisplayCell("best", -math.inf) if is_best else _number(line.difference, to_text),
                    _interval(line.low, line.high, to_text),
                    _number(line.p_holm, format_p),
                    DisplayCell(line.outcome, line.outcome),
                ]
            )
    columns = [*keys, "method", "loss", "difference", "95% interval", "p (Holm)", "outcome"]
    name = as_name(comparison.dataset, _MAX_NAME)
    title = f"{name}: differences in loss to the best method{_averaged_rates(comparison)}"
    return DisplayTable(title, columns, rows, n_names=len(keys) + 1, notes=comparison.notes)


def scores_table(scores: ScenarioScores) -> DisplayTable:
    """Return the metrics of a scenario as one table, best method first; the best value of each metric is marked."""
    table = scores.table
    names = {key: name for metrics in METRICS.values() for key, name in metrics.items() if key in table}
    # the metric that methods are ranked by first
    names = {scores.metric: names[scores.metric]} | names
    formats = {key: metric_format(key, table[key]) for key in names}
    methods = table[table["method"] != CONSTANT]
    best = {key: methods[key].max() if key in GREATER_IS_BETTER else methods[key].min() for key in names}
    has_several = len(methods) > 1
    rows = [
        [
            _name(line["method"]),
            *(
                _number(
                    line[key],
                    formats[key],
                    best=has_several and line[key] == best[key] and line["method"] != CONSTANT,
                )
                for key in names
            ),
            DisplayCell(line["outcome"], line["outcome"]),
        ]
        for _, line in table.iterrows()
    ]
    return DisplayTable(scores.title, ["method", *names.values(), "against the best"], rows)


def scores_notes(scores: Sequence[ScenarioScores]) -> list[str]:
    """Return what the metrics are, and what the outcomes mean."""
    metric, table, n_seeds = scores[0].metric, scores[0].table, max(one.n_seeds for one in scores)
    [(task, names)] = [(task, names) for task, names in METRICS.items() if metric in names]
    higher = [name for key, name in names.items() if key in GREATER_IS_BETTER]
    lower = [name for key, name in names.items() if key not in GREATER_IS_BETTER]
    seeds = f" and {count(n_seeds, 'seed')}" if n_seeds > 1 else ""
    first = (
        f"{join_names(higher)}: higher is better; {join_names(lower)}: lower is better. Means over the test rows of "
        f"{count(scores[0].n_folds, 'fold')}{seeds}."
    )
    if CONSTANT in set(table["method"]):
        what = "mean" if task == "regression" else "class fractions"
        first += f" {CONSTANT} predicts the {what} of the training rows."
    if not {"worse", "not significant"} & {outcome for one in scores for outcome in one.table["outcome"]}:
        return [first]
    return [
        first,
        f"Methods are ranked by {names[metric]}. worse: significantly worse than the best (corrected resampled t-test, "
        "Holm-adjusted p < 0.05). not significant: the difference may be chance; this does not show that the methods "
        "are equally good.",
    ]


def _averaged_rates(comparison: Comparison) -> str:
    """Return the rates over which the losses of a comparison are averaged; nothing if each rate has its line."""
    rates = comparison.rates
    if not rates or rates == [0] or "rate" in comparison.table:
        return ""
    texts = [_percent(rate) for rate in rates]
    many = len(rates) > _MAX_LISTED
    listed = f"{len(rates)} rates from {texts[0]} to {texts[-1]}" if many else join_names(texts)
    return f", {'means over' if len(rates) > 1 else 'with'} {listed} of the cells removed"


def time_tables(results: pd.DataFrame) -> list[DisplayTable]:
    """Return the mean time of a fold, a line per scenario and method; an empty list if it was not measured."""
    if not {"fit_seconds", "predict_seconds"} <= set(results.columns):
        return []
    table = amputed_cases(check_results(results))
    means = table.groupby(["scenario", "method"])[["fit_seconds", "predict_seconds"]].mean()
    rows = [
        [
            _name(scenario),
            _name(method),
            *(_number(seconds, _time) for seconds in means.loc[(scenario, method)]),
        ]
        for scenario in scenario_order(table["scenario"])
        for method in method_order(table["method"])
        if (scenario, method) in means.index
    ]
    note = (
        "Means over data sets, rates above 0, seeds and folds. A fit that serves several rates is counted at one of "
        "them only."
    )
    return [DisplayTable("Time per fold", ["scenario", "method", "fit", "predict"], rows, 2, [note])]


def _time(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"
