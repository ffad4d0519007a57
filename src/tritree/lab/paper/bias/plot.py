"""The bias of a and b against the share of missing values, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.lab.paper.bias.formulas import expected
from tritree.lab.paper.bias.paper import printed
from tritree.lab.paper.bias.ways import COMPARED

if TYPE_CHECKING:
    import pandas as pd

    from tritree.lab.figures import MethodStyle
    from tritree.lab.paper.bias.example import Floats

__all__ = ["plot_bias"]

# these lie on the lines of majority and trinary_mia, and are to let them through
_DASHED = {"surrogate": (0, (4, 3)), "trinary": (0, (4, 3))}
_LEVEL = "#888888"
_PRINTED = "majority,\nas printed"
_POINTS = 21  # of a line
_MANY_ROWS = (
    100  # beyond which the line of a strategy that looks at responses has the table's points only: time
)
_APART = 0.012  # of the width, between points of different strategies at the same q


def plot_bias(table: pd.DataFrame, ax: Any = None) -> Any:
    """Return the two ``Axes``, for a and for b, on which the bias is drawn against the share of missing values.

    Points are simulated means, with two standard errors either way; lines are the derived expectations. The dotted
    line is the majority estimate as the paper prints it, with its cases swapped.

    Parameters
    ----------
    table : DataFrame
        Of `bias_table`, with one p, one n and one noise.
    ax : pair of Axes, optional
        Where to draw, a first and then b; without it in a figure of its own.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"plots need matplotlib, which cannot be imported ({error}); pip install tritree[plot]"
        ) from error

    from tritree.lab.figures import method_styles

    setting = _setting(table)
    if ax is None:
        _, ax = plt.subplots(1, 2, figsize=(10.5, 4.2), sharex=True, layout="constrained")
    axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != 2:
        raise ValueError(f"ax must be two Axes, one for a and one for b, got {len(axes)}; plt.subplots(1, 2)")
    strategies = list(dict.fromkeys(table["strategy"]))
    width = max(float(table["q"].max()), 0.1)
    styles = method_styles(strategies)
    for place, strategy in enumerate(strategies):
        shift = _APART * width * (place - (len(strategies) - 1) / 2)
        _draw_strategy(axes, table[table["strategy"] == strategy], setting, styles[strategy], shift)
    for panel, parameter in zip(axes, ("a", "b"), strict=True):
        panel.axhline(0, color=_LEVEL, linewidth=0.8, zorder=0)
        panel.set_xlim(-0.02 * width, 1.05 * width)
        panel.set_title(
            f"{parameter} = {setting[parameter]:g}, {'left' if parameter == 'a' else 'right'}", loc="left"
        )
        panel.set_xlabel("q, the share of missing values")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("bias of the estimate")
    heading = f"p = {setting['p']:g}\nn = {setting['n']:,}\nnoise = {setting['noise']:g}"
    axes[1].legend(
        **_entries(axes[1]),
        title=heading,
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
        frameon=False,
        alignment="left",
    )
    return axes


def _entries(panel: Any) -> dict[str, Any]:
    """Return what the legend lists: simulated points first."""
    handles, labels = panel.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] == _PRINTED)
    return {"handles": [handles[i] for i in order], "labels": [labels[i] for i in order]}


def _setting(table: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of the example that a table is about."""
    setting: dict[str, Any] = {}
    columns = {name: table[name] for name in ("p", "n", "noise")}
    columns |= {name: table.loc[table["parameter"] == name, "truth"] for name in ("a", "b")}
    for name, values in columns.items():
        found = list(dict.fromkeys(values))
        if len(found) != 1:
            raise ValueError(f"a plot shows one {name}, the table has {found}; choose its rows first")
        setting[name] = found[0]
    return setting


def _draw_strategy(
    axes: Any, lines: pd.DataFrame, setting: dict[str, Any], style: MethodStyle, shift: float
) -> None:
    """Draw the points and the line of a strategy into both panels."""
    strategy = lines["strategy"].iloc[0]
    grid = np.linspace(0, lines["q"].max(), _POINTS)
    is_slow = strategy in COMPARED and setting["n"] > _MANY_ROWS
    curve = None if is_slow else _biases(lambda q: expected(strategy, **setting, q=q), grid, setting)
    for i, (panel, parameter) in enumerate(zip(axes, ("a", "b"), strict=True)):
        points = lines[lines["parameter"] == parameter].sort_values("q")
        if curve is None:  # without missing values there is no bias
            x, y = np.append(0, points["q"]), np.append(0, points["expected"] - points["truth"])
        else:
            x, y = grid, curve[:, i]
        panel.plot(x, y, color=style.colour, linestyle=_DASHED.get(strategy, style.line), linewidth=1.5)
        panel.errorbar(
            points["q"] + shift,
            points["simulated"] - points["truth"],
            yerr=2 * points["error"],
            fmt=style.marker,
            color=style.colour,
            markersize=5,
            elinewidth=1,
            label=strategy,
        )
    if strategy == "majority":
        swapped = _biases(lambda q: printed(strategy, **setting, q=q).estimate, grid, setting)
        for i, panel in enumerate(axes):
            panel.plot(grid, swapped[:, i], ":", color=style.colour, label=_PRINTED)


def _biases(formula: Any, grid: Floats, setting: dict[str, Any]) -> Floats:
    """Return the biases of a and b that a formula has on a grid of q: a row for each q."""
    biases: Floats = np.array([formula(float(q)) for q in grid]) - (setting["a"], setting["b"])
    return biases
