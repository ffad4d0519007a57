"""Mean ranks as dots, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

from tritree.inspection.formatting import as_name
from tritree.lab.figures.looks import ACROSS, PANEL, WIDEST, called, given, looks
from tritree.lab.ranks import PAPER_NAMES, Ranks, mean_ranks, scenario_name
from tritree.lab.ranks.verdict import LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from tritree.lab.figures.looks import Look

__all__ = ["draw_ranks", "plot_ranks"]

_LINE = 0.27  # inches from one method to the next


def plot_ranks(
    results: pd.DataFrame | Ranks, axes: Any = None, *, names: Mapping[str, str] = PAPER_NAMES
) -> Any:
    """Return mean ranks drawn as dots: one panel per scenario, the best method above, its interval over data sets.

    A small dot is the mean rank on one data set. A hollow dot is a method that differs from the best (p < 0.05 after
    Holm); a filled one is best, or within chance of it.

    Parameters
    ----------
    results : pandas.DataFrame or Ranks
        Results as `tritree.lab.ranks.checked` describes them, or what `mean_ranks` made of them.
    axes : matplotlib Axes, sequence of them or None, default=None
        What to draw on, one for each scenario; None makes a figure.
    names : mapping from str to str, default=the names of the paper
        What to call methods.

    Returns
    -------
    numpy.ndarray of matplotlib Axes
        One for each scenario.

    Examples
    --------
    >>> plot_ranks(results)[0].figure.savefig("ranks.pdf")  # doctest: +SKIP
    """
    ranks = results if isinstance(results, Ranks) else mean_ranks(results)
    if axes is None:
        return draw_ranks(plt.figure, ranks, names)
    panels = given(axes, len(ranks.overall), "groups")
    _fill_ranks(panels, ranks, names)
    return panels


def draw_ranks(make: Any, ranks: Ranks, names: Mapping[str, str], across: int = ACROSS) -> Any:
    """Return the panels of mean ranks, in a figure that ``make`` makes, so many beside one another."""
    n = len(ranks.overall)
    across = min(n, across)
    down = -(-n // across)
    height = down * (0.95 + _LINE * int(ranks.overall["methods"].max()))
    figure = make(figsize=(max(PANEL[0] * across, 4.2), height), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for spare in panels[n:]:
        spare.remove()
    _fill_ranks(panels[:n], ranks, names)
    for panel in panels[: max(n - across, 0)]:  # those with another below
        panel.set_xlabel("")
    figure.get_layout_engine().set(h_pad=0.08)
    return panels[:n]


def _fill_ranks(panels: Any, ranks: Ranks, names: Mapping[str, str]) -> None:
    keys = [key for key in ("scenario", "rate", "dataset") if key in ranks.overall]
    drawn_as = looks(ranks.table["method"].tolist())
    for panel, (_, group) in zip(panels, ranks.overall.iterrows(), strict=True):
        table, single = ranks.table, ranks.by_dataset
        for key in keys:
            table, single = table[table[key] == group[key]], single[single[key] == group[key]]
        for place, line in enumerate(table.itertuples()):
            _draw_rank(panel, place, line, single[single["method"] == line.method], drawn_as[line.method])
        labels = [called(method, names) for method in table["method"]]
        panel.set_yticks(range(len(labels)), labels, parse_math=False)
        panel.set_ylim(ranks.overall["methods"].max() - 0.4, -0.6)  # lines are as high in all panels
        panel.set_xlim(0.8, len(labels) + 0.2)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        panel.set_xlabel("mean rank (1 is best)")
        panel.tick_params(axis="y", length=0)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.grid(axis="x", color="#888888", alpha=0.25, linewidth=0.6)
        panel.set_axisbelow(True)
        panel.set_title(
            ", ".join(_group_name(key, group[key]) for key in keys), parse_math=False, fontsize="medium"
        )


def _group_name(key: str, value: Any) -> str:
    if key == "rate":
        return f"{100 * value:.3g}%"
    return as_name(scenario_name(value) if key == "scenario" else value, 2 * WIDEST)


def _draw_rank(panel: Any, place: int, line: Any, single: pd.DataFrame, look: Look) -> None:
    if len(single) > 1:
        style = {"color": look.colour, "alpha": 0.5, "markersize": 7, "markeredgewidth": 0}
        panel.plot(single["mean_rank"], [place] * len(single), ".", **style)
    if not np.isnan(line.low):
        panel.plot([line.low, line.high], [place, place], color=look.colour, linewidth=1.8, alpha=0.7)
    differs = line.p_holm < LEVEL
    paper = panel.get_facecolor()
    panel.plot(
        line.mean_rank, place, "o", color=look.colour, markersize=7.5, markeredgewidth=1.8,
        markerfacecolor=paper if differs else look.colour, zorder=3,
    )  # fmt: skip
