"""Plot of the loss as fields go missing: one labelled line per method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.axes import check_axes, plt  # an error that says what to install

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from numpy.typing import NDArray

_HIGHLIGHTED = ("#d1495b", "#e9964a")
_OTHERS = ("#30638e", "#003d5b", "#6b8f71", "#8d6a9f", "#7a7a7a")
_LABEL_DISTANCE = 0.055  # of two labels, as a fraction of the height of the axes


def plot_robustness(losses: pd.DataFrame, ax: Any = None, *, highlight: Collection[str] = ()) -> Any:
    """Plot the loss against the fraction of fields that are missing, a line per method, labelled at its end.

    Parameters
    ----------
    losses : pandas.DataFrame
        Losses, with a row per fraction and a column per method.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. If None, a new figure is created.
    highlight : collection of str, default=()
        Methods to highlight.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    check_axes(ax)
    if ax is None:
        ax = plt.subplots(figsize=(7.2, 4), layout="constrained")[1]
    chosen = [name for name in highlight if name in losses.columns]
    others = [name for name in losses.columns if name not in chosen]
    colours = dict(zip(chosen, _repeated(_HIGHLIGHTED), strict=False))
    colours |= dict(zip(others, _repeated(_OTHERS), strict=False))
    for name, colour in colours.items():
        width, order = (2.8, 3) if name in chosen else (1.6, 2)
        ax.plot(
            losses.index, losses[name], color=colour, linewidth=width, marker="o", markersize=4, zorder=order
        )
    ax.set_ylim(0, 1.05 * losses.to_numpy().max())
    _label_lines(ax, losses, colours, chosen)
    ax.set_xticks(losses.index, [f"{rate:.0%}" for rate in losses.index])
    ax.set_xlim(losses.index[0], losses.index[-1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    ax.set_xlabel("fields missing in the rows to predict")
    return ax


def _repeated(colours: tuple[str, ...]) -> list[str]:
    return list(colours) * 10


def _label_lines(ax: Any, losses: pd.DataFrame, colours: dict[str, str], chosen: Collection[str]) -> None:
    """Write the name of each line at its right end, moved apart where lines end close together."""
    ends = losses[list(colours)].iloc[-1].sort_values()
    heights = spread_apart(ends.to_numpy() / ax.get_ylim()[1], _LABEL_DISTANCE)
    for name, height in zip(ends.index, heights, strict=True):
        ax.annotate(
            name,
            (1.015, height),
            xycoords="axes fraction",
            va="center",
            color=colours[name],
            fontweight="bold" if name in chosen else "normal",
            annotation_clip=False,
        )


def spread_apart(positions: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """Return ascending positions, moved as little as possible so that neighbours are at least ``distance`` apart."""
    # least squares under an order: pool neighbours that would overlap, and centre each pool on its positions
    steps = distance * np.arange(len(positions))
    pools: list[list[float]] = []
    for offset in positions - steps:
        pools.append([offset])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return np.asarray(steps + np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools]))
