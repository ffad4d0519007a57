"""Figures: mean ranks, loss against the missing rate, and the best other library on each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from benchmarks.accuracy.experiments import AS_IT_IS
from benchmarks.accuracy.methods import CONSTANT, LIBRARIES, REGULARISED_ALIKE, TRITREE, method_name
from benchmarks.accuracy.summary import other_libraries
from benchmarks.accuracy.treatments import TREATMENTS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from benchmarks.accuracy.summary import Summary

__all__ = ["draw"]

_TRITREE_COLOUR = "#d55e00"
_COLOURS = dict(
    zip(
        LIBRARIES,
        ("#117733", "#0072b2", "#a08a00", "#aa3377", "#45a6dc", "#707070"),
        strict=True,
    )
)
_MARKERS = dict(zip(LIBRARIES, ("s", "^", "v", "D", "P", "X"), strict=True))


def draw(summary: Summary, folder: Path, prefix: str = "") -> dict[str, Path]:
    """Write the figures to a folder; return their paths by caption."""
    pictures = {
        "Mean ranks": ("ranks", _ranks),
        "Loss against the fraction of missing cells": ("rates", _rates),
        "tritree and the best other library on each data set": ("sets", _sets),
    }
    written = {}
    for caption, (name, make) in pictures.items():
        figure = make(summary)
        if figure is not None:
            written[caption] = folder / f"{prefix}{name}.png"
            figure.savefig(written[caption], dpi=130)
    return written


def _ranks(summary: Summary) -> Figure:
    """Return the mean ranks, one panel per group, the best method on top; small dots are single data sets."""
    groups, table = summary.groups, summary.ranking
    n = int(table.groupby("group")["method"].nunique().max())
    figure, panels = _panels(len(groups), 0.8 + 0.19 * n)
    single = summary.ranks.by_dataset
    for panel, group in zip(panels, groups, strict=True):
        lines = table[table["group"] == group]
        of_group = single[single["scenario"] == group]
        for position, line in enumerate(lines.itertuples()):
            colour = _colour(line.method)
            dots = of_group["mean_rank"][of_group["method"] == line.method]
            panel.plot(dots, [position] * len(dots), ".", color=colour, alpha=0.45, markeredgewidth=0)
            panel.plot(line.mean_rank, position, "o", color=colour, markersize=6)
        panel.set_yticks(range(len(lines)), lines["method"].tolist(), fontsize="small")
        for label in panel.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == TRITREE else "normal")
        panel.set_ylim(n - 0.4, -0.6)
        panel.set_title(group)
        panel.set_xlabel("mean rank (1 is best)")
        _plain(panel, "x")
    return figure


def _rates(summary: Summary) -> Figure | None:
    """Return the relative loss against the rate: on the left the libraries' own treatment, on the right their best.

    Values go missing completely at random in the test only; at rate 0 are the tables as they are.
    """
    cases = summary.cases[summary.cases["mechanism"].isin(["mcar", "none"])]
    cases = cases[cases["group"].isin(["test only", AS_IT_IS])]
    if set(cases["group"]) != {"test only", AS_IT_IS}:
        return None
    medians = cases.groupby(["rate", "method"])["relative"].median().unstack().dropna(axis=1)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, best in zip(panels, (False, True), strict=True):
        _curves(panel, medians, best=best)
        panel.set_title("best treatment" if best else "own treatment of missing values", fontsize="medium")
        panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        panel.set_xlabel("missing cells, in the test only")
        panel.legend(frameon=False, fontsize="x-small")
        _plain(panel, "y")
    panels[0].set_ylabel("relative loss, median")  # the scale of the other panel is its own
    return figure


def _curves(panel: Any, table: pd.DataFrame, *, best: bool) -> None:
    """Draw a curve per library; its best treatment has the smallest mean loss over the rates."""
    for library in LIBRARIES:
        names = [
            name
            for treatment in (*TREATMENTS, REGULARISED_ALIKE)
            if (name := method_name(library, treatment)) in table
        ]
        if not best:
            names = [name for name in names if name == library]
        if names:
            name = table[names].mean().idxmin()
            style = {"color": _COLOURS[library], "marker": _MARKERS[library], "linewidth": 1.2}
            panel.plot(table.index, table[name], markersize=4, label=name, **style)
    panel.plot(table.index, table[TRITREE], color=_TRITREE_COLOUR, marker="o", linewidth=2.4, label=TRITREE)
    if table.drop(columns=CONSTANT, errors="ignore").to_numpy().max() > 1:
        panel.axhline(1.0, color="#888888", linewidth=0.8, linestyle=":")  # the constant prediction


def _sets(summary: Summary) -> Figure | None:
    """Return the ratio of the best other library's loss to tritree's on each data set; left of 1, the other wins."""
    table = summary.per_dataset
    table = table[table["method"].isin(other_libraries(table["method"]))]
    if table.empty:
        return None
    groups = summary.groups
    names = sorted(set(table["dataset"]), reverse=True)
    figure, panels = _panels(len(groups), 1.0 + 0.32 * len(names))
    for panel, group in zip(panels, groups, strict=True):
        part = table[table["group"] == group]
        best = part.loc[part.groupby("dataset")["ratio"].idxmin()]
        for line in best.itertuples():
            position, wins = names.index(line.dataset), line.ratio < 1
            colour = "#b00020" if wins else "#117733"
            panel.plot([1, line.ratio], [position, position], color=colour, linewidth=1.5, alpha=0.6)
            panel.plot(line.ratio, position, "o", color=colour)
            panel.annotate(
                line.method, (line.ratio, position), xytext=(0, 5), textcoords="offset points", fontsize="x-small",
                ha="center", color=colour,
            )  # fmt: skip
        panel.axvline(1.0, color="#444444", linewidth=0.8)
        panel.set_yticks(range(len(names)), names, fontsize="small")
        panel.set_ylim(-0.6, len(names) - 0.3)
        panel.set_xlabel("loss of the best other library / tritree's loss")
        panel.margins(x=0.55)  # for the names
        panel.set_title(f"{group} (red: the other library wins)", fontsize="medium")
        _plain(panel, "x")
    return figure


def _panels(n: int, height: float) -> tuple[Figure, list[Any]]:
    """Return a figure with n panels in two columns."""
    n_columns = min(n, 2)
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(5.5 * n_columns, height * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for panel in panels[n:]:
        panel.set_visible(False)
    return figure, panels[:n]


def _colour(method: str) -> str:
    if method.startswith(TRITREE):
        return _TRITREE_COLOUR
    return _COLOURS.get(method.partition(" + ")[0].partition(" (")[0], "#444444")


def _plain(panel: Any, axis: str) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis=axis, color="#888888", alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)
