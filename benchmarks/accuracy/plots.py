"""A run as pictures: mean ranks, loss against missingness, and each data set beside its best rival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from benchmarks.accuracy.rivals import CONSTANT, HELD_BACK, LIBRARIES, OURS, named
from benchmarks.accuracy.summary import COMPLETE, rivals_only
from benchmarks.accuracy.ways import WAYS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from benchmarks.accuracy.summary import Summary

__all__ = ["draw"]

_OURS_COLOUR = "#d55e00"
_COLOURS = dict(
    zip(
        LIBRARIES,
        ("#117733", "#0072b2", "#a08a00", "#aa3377", "#45a6dc", "#7e503a", "#707070"),
        strict=True,
    )
)
_MARKERS = dict(zip(LIBRARIES, ("s", "^", "v", "D", "P", "X", "<"), strict=True))


def draw(summary: Summary, folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return the pictures that were written to a folder, by what they show."""
    pictures = {
        "Mean ranks": ("ranks", _ranks),
        "Loss against the share of cells missing": ("rates", _rates),
        "tritree and the best rival of each data set": ("sets", _sets),
    }
    written = {}
    for shown, (name, make) in pictures.items():
        figure = make(summary)
        if figure is not None:
            written[shown] = folder / f"{prefix}{name}.png"
            figure.savefig(written[shown], dpi=130)
    return written


def _ranks(summary: Summary) -> Figure:
    """Return mean ranks as dots: one panel per group, the best above; small dots are single data sets."""
    groups, table = summary.groups, summary.standings
    n = int(table.groupby("group")["method"].nunique().max())
    figure = Figure(figsize=(4.4 * len(groups), 0.8 + 0.21 * n), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(groups), squeeze=False)[0])
    single = summary.ranks.by_dataset
    for panel, group in zip(panels, groups, strict=True):
        lines = table[table["group"] == group]
        of_group = single[single["scenario"] == group]
        for place, line in enumerate(lines.itertuples()):
            colour = _colour(line.method)
            dots = of_group["mean_rank"][of_group["method"] == line.method]
            panel.plot(dots, [place] * len(dots), ".", color=colour, alpha=0.45, markeredgewidth=0)
            panel.plot(line.mean_rank, place, "o", color=colour, markersize=6)
        panel.set_yticks(range(len(lines)), lines["method"].tolist(), fontsize="small")
        for label in panel.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == OURS else "normal")
        panel.set_ylim(n - 0.4, -0.6)
        panel.set_title(group)
        panel.set_xlabel("mean rank (1 is best)")
        _plain(panel, "x")
    return figure


def _rates(summary: Summary) -> Figure | None:
    """Return the relative loss against the rate: libraries as they are above, each in its best way below."""
    cases = summary.cases[summary.cases["group"] != COMPLETE]
    groups = [group for group in summary.groups if group != COMPLETE]
    if cases.groupby("group")["rate"].nunique().max() < 2:
        return None
    medians = cases.groupby(["group", "rate", "method"])["relative"].median().unstack()
    figure = Figure(figsize=(4.2 * len(groups), 6.6), layout="constrained")
    panels = figure.subplots(2, len(groups), sharex=True, sharey="row", squeeze=False)
    for column, group in enumerate(groups):
        table = medians.loc[group].dropna(axis=1, how="all")
        for row, best in enumerate((False, True)):
            panel = panels[row, column]
            _curves(panel, table, best=best)
            panel.set_title(
                f"{group}: {'each in its best way' if best else 'as they are'}", fontsize="medium"
            )
            panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            _plain(panel, "y")
            if (
                best or column == len(groups) // 2
            ):  # as they are, libraries have the same names in every panel
                panel.legend(frameon=False, fontsize="x-small")
        panels[1, column].set_xlabel("cells missing")
    for row in range(2):
        panels[row, 0].set_ylabel("relative loss, median")
    return figure


def _curves(panel: Any, table: pd.DataFrame, *, best: bool) -> None:
    """Draw the curve of each library; its best way is the one with the least mean over rates, for this group."""
    for library in LIBRARIES:
        ways = [name for way in (*WAYS, HELD_BACK) if (name := named(library, way)) in table]
        if not best:
            ways = [name for name in ways if name == library]
        if ways:
            name = table[ways].mean().idxmin()
            style = {"color": _COLOURS[library], "marker": _MARKERS[library], "linewidth": 1.2}
            panel.plot(table.index, table[name], markersize=4, label=name, **style)
    panel.plot(table.index, table[OURS], color=_OURS_COLOUR, marker="o", linewidth=2.4, label=OURS)
    if table.drop(columns=CONSTANT, errors="ignore").to_numpy().max() > 1:
        panel.axhline(1.0, color="#888888", linewidth=0.8, linestyle=":")  # as good as knowing nothing


def _sets(summary: Summary) -> Figure | None:
    """Return each data set's best rival by its loss against tritree's: left of 1 the rival wins, and is named."""
    table = summary.singles
    table = table[table["method"].isin(rivals_only(table["method"]))]
    if table.empty:
        return None
    groups = summary.groups
    names = sorted(set(table["dataset"]), reverse=True)
    figure = Figure(figsize=(4.4 * len(groups), 1.0 + 0.32 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for panel, group in zip(panels, groups, strict=True):
        part = table[table["group"] == group]
        best = part.loc[part.groupby("dataset")["ratio"].idxmin()]
        for line in best.itertuples():
            place, wins = names.index(line.dataset), line.ratio < 1
            colour = "#b00020" if wins else "#117733"
            panel.plot([1, line.ratio], [place, place], color=colour, linewidth=1.5, alpha=0.6)
            panel.plot(line.ratio, place, "o", color=colour)
            panel.annotate(
                line.method, (line.ratio, place), xytext=(0, 5), textcoords="offset points", fontsize="x-small",
                ha="center", color=colour,
            )  # fmt: skip
        panel.axvline(1.0, color="#444444", linewidth=0.8)
        panel.set_yticks(range(len(names)), names, fontsize="small")
        panel.set_ylim(-0.6, len(names) - 0.3)
        panel.set_xlabel("loss of the best rival / tritree's")
        panel.margins(x=0.4)
        panel.set_title(f"{group} (red: the rival wins)", fontsize="medium")
        _plain(panel, "x")
    return figure


def _colour(method: str) -> str:
    if method.startswith(OURS):
        return _OURS_COLOUR
    return _COLOURS.get(method.split(" + ")[0], "#444444")


def _plain(panel: Any, axis: str) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis=axis, color="#888888", alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
