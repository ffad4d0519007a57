"""Tables to read: one description of each, from which a terminal and a page are written."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.formatting import as_name, number_format, pad, width_of
from tritree.lab.ranks.averages import above_zero, checked, curves, losses
from tritree.lab.ranks.names import method_order, scenario_order
from tritree.lab.ranks.words import chance, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from tritree.lab.ranks.averages import Reading
    from tritree.lab.ranks.order import Ranks
    from tritree.lab.ranks.pairs import Comparison

__all__ = [
    "Cell",
    "Table",
    "as_text",
    "chosen_rates",
    "comparison_tables",
    "curves_tables",
    "losses_tables",
    "ranks_tables",
    "seconds_tables",
]

_WIDEST = 30  # letters of a name in a table
_LINE = 100  # letters of a line of notes on a terminal
_MOST_RATES = 4  # rates that are told one by one
_NONE = "–"
_RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)  # shown of many

#: What excess losses are called by how they are read.
MEASURES = {"author": "Excess loss", "text": "Loss / loss without holes", "loss": "Loss"}


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, what it is sorted by, and whether it is the best of its kind."""

    text: str
    value: float | str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table to read: names in the first columns, numbers in the others."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    n_names: int = 1
    notes: Sequence[str] = field(default_factory=tuple)


def as_text(*tables: Table) -> str:
    """Return tables as aligned text for a terminal, the best numbers with a star.

    Examples
    --------
    >>> rows = [[Cell("mia", "mia"), Cell("1.50", 1.5)], [Cell("trinary", "trinary"), Cell("0.25", 0.25, best=True)]]
    >>> print(as_text(Table("Loss", ["method", "10%"], rows)))
    Loss
    method    10%
    mia      1.50
    trinary  0.25 *
    """
    return "\n\n".join(_text_of(table) for table in tables)


def _text_of(table: Table) -> str:
    columns = []
    for j, title in enumerate(table.columns):
        cells = [row[j] for row in table.rows]
        is_number, has_best = j >= table.n_names, any(cell.best for cell in cells)
        texts = [title + "  " * has_best]
        texts += [cell.text + (" *" if cell.best else "  " * has_best) for cell in cells]
        width = max(map(width_of, texts))
        columns.append([pad(text, width, right=is_number) for text in texts])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    notes = [line for note in table.notes for line in textwrap.wrap(note, _LINE)]
    return "\n".join([*([table.title] if table.title else []), *lines, *notes])


def chosen_rates(results: pd.DataFrame, most: int = len(_RATES)) -> list[float]:
    """Return the rates of the results if they are few, or else some of them, spread from the least to the greatest."""
    rates = sorted(set(checked(results)["rate"]))
    if len(rates) <= most:
        return rates
    if set(_RATES) <= set(rates):
        return list(_RATES)
    return [rates[i] for i in sorted({round(i) for i in np.linspace(0, len(rates) - 1, most)})]


def _name(value: Any, names: Mapping[str, str] | None = None) -> Cell:
    text = as_name((names or {}).get(value, value), _WIDEST)
    return Cell(text, text)


def _number(value: float, say: Callable[[float], str], *, best: bool = False) -> Cell:
    """Return a number as a cell; an unknown one comes last when it is sorted."""
    if math.isnan(value):
        return Cell(_NONE, math.inf)
    return Cell("∞" if math.isinf(value) else say(value), float(value), best)


def curves_tables(
    results: pd.DataFrame, reading: Reading = "author", names: Mapping[str, str] | None = None
) -> list[Table]:
    """Return one table per scenario: the excess loss averaged over data sets, a line per method, a column per rate."""
    points = curves(results, reading)
    shown = points[points["rate"].isin(chosen_rates(results, 10))]
    tables = []
    for scenario in scenario_order(shown["scenario"]):
        part = shown[shown["scenario"] == scenario]
        wide = part.pivot(index="method", columns="rate", values="excess").reindex(
            method_order(part["method"])
        )
        where = _averaged_over(part)
        say = None if reading == "loss" else "{:z.3f}".format
        tables.append(
            _grid(f"{as_name(scenario, _WIDEST)}: {MEASURES[reading].lower()}{where}", wide, names, say)
        )
    return tables


def _averaged_over(part: pd.DataFrame) -> str:
    n_datasets, n_seeds = int(part["datasets"].max()), int(part["seeds"].max())
    parts = [f"{n:,} {what}" for n, what in ((n_datasets, "data sets"), (n_seeds, "seeds")) if n > 1]
    return f", mean of {' and '.join(parts)}" if parts else ""


def _grid(title: str, wide: pd.DataFrame, names: Any, say: Callable[[float], str] | None = None) -> Table:
    """Return a table with a column per rate, the least of each marked if methods differ there."""
    least, most = wide.min(), wide.max()
    marked = least.where(most > least)
    rows = [
        [
            _name(method, names),
            *(
                _number(value, say or number_format(wide[rate].dropna(), 4), best=value == marked[rate])
                for rate, value in line.items()
            ),
        ]
        for method, line in wide.iterrows()
    ]
    return Table(title, ["method", *map(_percent, wide.columns)], rows)


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g}%"


def losses_tables(
    results: pd.DataFrame, rates: Sequence[float] | None = None, names: Mapping[str, str] | None = None
) -> list[Table]:
    """Return one table per scenario and data set: the mean loss over seeds, a line per method, a column per rate."""
    table = losses(results)
    table = table[table["rate"].isin(chosen_rates(results) if rates is None else np.round(list(rates), 9))]
    found = []
    for scenario in scenario_order(table["scenario"]):
        for dataset in sorted(set(table["dataset"])):
            part = table[(table["scenario"] == scenario) & (table["dataset"] == dataset)]
            if len(part):
                wide = part.pivot_table(index="method", columns="rate", values="loss", aggfunc="mean")
                title = f"{as_name(scenario, _WIDEST)}, {as_name(dataset, _WIDEST)}: loss"
                found.append(_grid(title, wide.reindex(method_order(part["method"])), names))
    return found


def ranks_tables(ranks: Ranks, names: Mapping[str, str] | None = None) -> list[Table]:
    """Return one table per group of a ranking, with its tests; what was tested is said after the last."""
    keys = [key for key in ("scenario", "rate", "dataset") if key in ranks.overall]
    columns = ["method", "mean rank", "95% interval", "first in", "difference", "p (Wilcoxon)", "p (Holm)"]
    tables = []
    for number, group in enumerate(ranks.overall.itertuples()):
        part = ranks.table
        for key in keys:
            part = part[part[key] == getattr(group, key)]
        rows = [_rank_row(line, names) for line in part.itertuples()]
        where = ", ".join(
            _percent(getattr(group, key)) if key == "rate" else as_name(getattr(group, key), _WIDEST)
            for key in keys
        )
        title = f"{where}: mean rank over {group.datasets:,} data set{'s' if group.datasets > 1 else ''}"
        if not math.isnan(group.p):
            title += f" (Friedman {chance(group.p, equals=True)})"
        is_last = number == len(ranks.overall) - 1
        tables.append(Table(title.removeprefix(": "), columns, rows, notes=ranks.notes if is_last else ()))
    return tables


def _rank_row(line: Any, names: Mapping[str, str] | None) -> list[Cell]:
    interval = _NONE if math.isnan(line.low) else f"{line.low:.2f} to {line.high:.2f}"
    return [
        _name(line.method, names),
        _number(line.mean_rank, "{:.2f}".format),
        Cell(interval, line.low if interval != _NONE else math.inf),
        _number(line.first, "{:.0%}".format),
        Cell("best", -math.inf)
        if math.isnan(line.p_holm) and line.extra == 0
        else _number(line.extra, "{:+z.1%}".format),
        _number(line.p, chance),
        _number(line.p_holm, chance),
    ]


def comparison_tables(comparison: Comparison, names: Mapping[str, str] | None = None) -> list[Table]:
    """Return the standings of a comparison as one table, best first within each scenario (and rate)."""
    table = comparison.table
    keys = [key for key in ("scenario", "rate") if key in table]
    by_place = {key: number_format(part["loss"], 4) for key, part in table.groupby(keys)}
    rows = []
    for line in table.itertuples():
        say = by_place[tuple(getattr(line, key) for key in keys)]
        interval = _NONE if math.isnan(line.low) else f"{say(line.low)} to {say(line.high)}"
        rows.append(
            [
                *(_place(key, getattr(line, key)) for key in keys),
                _name(line.method, names),
                _number(line.loss, say, best=line.standing == "best"),
                Cell("best", -math.inf) if line.standing == "best" else _number(line.difference, say),
                Cell(interval, line.low if interval != _NONE else math.inf),
                _number(line.p_holm, chance),
                Cell(line.standing, line.standing),
            ]
        )
    columns = [*keys, "method", "loss", "difference", "95% interval", "p (Holm)", "standing"]
    title = (
        f"{as_name(comparison.dataset, _WIDEST)}: differences in loss to the best method{_over(comparison)}"
    )
    return [Table(title, columns, rows, n_names=len(keys) + 1, notes=comparison.notes)]


def _over(comparison: Comparison) -> str:
    """Return which rates the losses of a comparison are means over; nothing if that is plain to see."""
    rates = comparison.rates
    if not rates or rates == [0] or "rate" in comparison.table:
        return ""
    shown = [_percent(rate) for rate in rates]
    of = listed(shown) if len(rates) <= _MOST_RATES else f"{len(rates)} rates from {shown[0]} to {shown[-1]}"
    return f", {'means over' if len(rates) > 1 else 'with'} {of} of the cells removed"


def _place(key: str, value: Any) -> Cell:
    return Cell(_percent(value), float(value)) if key == "rate" else _name(value)


def seconds_tables(results: pd.DataFrame, names: Mapping[str, str] | None = None) -> list[Table]:
    """Return how long a fold takes on average, a line per scenario and method; nothing if that was not measured."""
    if not {"fit_seconds", "predict_seconds"} <= set(results.columns):
        return []
    table = above_zero(checked(results))
    means = table.groupby(["scenario", "method"])[["fit_seconds", "predict_seconds"]].mean()
    rows = [
        [
            _name(scenario),
            _name(method, names),
            *(_number(value, _seconds) for value in means.loc[(scenario, method)]),
        ]
        for scenario in scenario_order(table["scenario"])
        for method in method_order(table["method"])
        if (scenario, method) in means.index
    ]
    note = (
        "Means over data sets, rates above 0, seeds and folds. A fit that serves several rates takes its time at one "
        "of them only."
    )
    return [Table("Seconds of a fold", ["scenario", "method", "fit", "predict"], rows, 2, [note])]


def _seconds(value: float) -> str:
    return f"{value:,.2f} s" if value >= 1 else f"{1e3 * value:.2f} ms"
