"""Plot of the bias of a and b against the probability of missing values, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.lab.paper.bias.expectation import expected, printed
from tritree.lab.paper.bias.routing import LOSS_BASED

if TYPE_CHECKING:
    import pandas as pd

    from tritree.lab.figures import MethodStyle
    from tritree.lab.paper.bias.example import Floats

# these coincide with the lines of majority and trinary_mia, which show through the dashes
_DASHED = {"surrogate": (0, (4, 3)), "trinary": (0, (4, 3))}
_GREY = "#888888"
_PRINTED = "majority,\nas printed"
_N_POINTS = 21  # of a line
_MAX_ROWS = 100  # beyond, expectations of loss-based strategies are slow, and only the table's are drawn
_OFFSET = 0.012  # between strategies at the same q, as a fraction of the width


def plot_bias(table: pd.DataFrame, axes: Any = None) -> Any:
    """Return two axes, for a and b, with the bias against the probability of missing values.

    Points are simulated means with two standard errors; lines are the derived expectations. The dotted line is the
    majority estimate as the paper prints it, with its cases swapped.

    Parameters
    ----------
    table : DataFrame
        Result of `bias_table`, with one p, one n and one noise.
    axes : pair of matplotlib Axes or None, default=None
        Axes for a and b. If None, a figure is created.
    """
    from tritree.inspection.axes import plt
    from tritree.lab.figures import method_styles

    example = _example(table)
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharex=True, layout="constrained")
    axes = np.ravel(np.asarray(axes, dtype=object))
    if len(axes) != 2:
        raise ValueError(
            f"axes must be two, one for a and one for b, got {len(axes)}; use plt.subplots(1, 2)"
        )
    strategies = list(dict.fromkeys(table["strategy"]))
    width = max(float(table["q"].max()), 0.1)
    styles = method_styles(strategies)
    for place, strategy in enumerate(strategies):
        shift = _OFFSET * width * (place - (len(strategies) - 1) / 2)
        _draw_strategy(axes, table[table["strategy"] == strategy], example, styles[strategy], shift)
    for ax, parameter in zip(axes, ("a", "b"), strict=True):
        ax.axhline(0, color=_GREY, linewidth=0.8, zorder=0)
        ax.set_xlim(-0.02 * width, 1.05 * width)
        ax.set_title(
            f"{parameter} = {example[parameter]:g}, {'left' if parameter == 'a' else 'right'}", loc="left"
        )
        ax.set_xlabel("q, the probability of missing values")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("bias of the estimate")
    heading = f"p = {example['p']:g}\nn = {example['n']:,}\nnoise = {example['noise']:g}"
    # simulated points first
    entries = sorted(zip(*axes[1].get_legend_handles_labels(), strict=True), key=lambda e: e[1] == _PRINTED)
    handles, labels = zip(*entries, strict=True)
    options = {"loc": "upper left", "bbox_to_anchor": (1.02, 1), "frameon": False, "alignment": "left"}
    axes[1].legend(handles, labels, title=heading, **options)
    return axes


def _example(table: pd.DataFrame) -> dict[str, Any]:
    """Return the parameters of the example of a table."""
    example: dict[str, Any] = {}
    columns = {name: table[name] for name in ("p", "n", "noise")}
    columns |= {name: table.loc[table["parameter"] == name, "truth"] for name in ("a", "b")}
    for name, values in columns.items():
        found = list(dict.fromkeys(values))
        if len(found) != 1:
            raise ValueError(f"a plot shows one {name}, the table has {found}; select its rows first")
        example[name] = found[0]
    return example


def _draw_strategy(
    axes: Any, lines: pd.DataFrame, example: dict[str, Any], style: MethodStyle, shift: float
) -> None:
    """Draw the points and the line of a strategy on both axes."""
    strategy = lines["strategy"].iloc[0]
    grid = np.linspace(0, lines["q"].max(), _N_POINTS)
    is_slow = strategy in LOSS_BASED and example["n"] > _MAX_ROWS
    curve = None if is_slow else _biases(lambda q: expected(strategy, **example, q=q), grid, example)
    for i, (ax, parameter) in enumerate(zip(axes, ("a", "b"), strict=True)):
        points = lines[lines["parameter"] == parameter].sort_values("q")
        if curve is None:  # no bias without missing values
            x, y = np.append(0, points["q"]), np.append(0, points["expected"] - points["truth"])
        else:
            x, y = grid, curve[:, i]
        ax.plot(x, y, color=style.colour, linestyle=_DASHED.get(strategy, style.line), linewidth=1.5)
        look = {"fmt": style.marker, "color": style.colour, "markersize": 5, "elinewidth": 1}
        bias = points["simulated"] - points["truth"]
        ax.errorbar(points["q"] + shift, bias, yerr=2 * points["error"], label=strategy, **look)
    if strategy == "majority":
        swapped = _biases(lambda q: printed(strategy, **example, q=q).estimate, grid, example)
        for i, ax in enumerate(axes):
            ax.plot(grid, swapped[:, i], ":", color=style.colour, label=_PRINTED)


def _biases(formula: Any, grid: Floats, example: dict[str, Any]) -> Floats:
    """Return the biases of a and b by a formula, with a row per q."""
    biases: Floats = np.array([formula(float(q)) for q in grid]) - (example["a"], example["b"])
    return biases
