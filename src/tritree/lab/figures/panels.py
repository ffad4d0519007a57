"""The paper's figure: excess loss against missingness, a panel per scenario, a line per method."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from tritree.inspection.formatting import as_name, width_of
from tritree.lab.figures.looks import ACROSS, PANEL, WIDEST, called, given, looks
from tritree.lab.ranks import PAPER_NAMES, curves, scenario_name
from tritree.lab.ranks.names import method_order, scenario_order
from tritree.lab.ranks.tables import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from tritree.lab.figures.looks import Look
    from tritree.lab.ranks.averages import Reading

__all__ = ["draw_panels", "plot_panels"]

_LETTERS = 40  # of small text that go beside one another in a panel
_NEAR = 0.4  # panels share their y-axis if none would take less than this of its height


def plot_panels(
    results: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    axes: Any = None,
    *,
    reading: Reading = "author",
    names: Mapping[str, str] = PAPER_NAMES,
    reference_name: str = "the paper",
) -> Any:
    """Return the excess loss against missingness drawn as in the paper: a panel per scenario, a line per method.

    Lines are means over data sets and seeds, bands reach from the least to the greatest mean of a seed. What is left
    out, because not all data sets have it, is told by `tritree.lab.ranks.gaps`.

    Parameters
    ----------
    results : pandas.DataFrame
        As `tritree.lab.ranks.checked` describes them.
    reference : pandas.DataFrame or None, default=None
        Curves to draw beside them, thin and dashed: columns ``scenario``, ``missingness``, ``strategy`` and
        ``excess_loss`` (a ratio less one). Scenarios and methods that the results do not have are left out.
    axes : matplotlib Axes, sequence of them or None, default=None
        What to draw on, one for each scenario; None makes a figure.
    reading : {"author", "text", "loss"}, default="author"
        What is drawn; see `tritree.lab.ranks.excess`.
    names : mapping from str to str, default=the names of the paper
        What to call methods.
    reference_name : str, default="the paper"
        What to call the reference.

    Returns
    -------
    numpy.ndarray of matplotlib Axes
        ``plot_panels(results)[0].figure.savefig("panels.pdf")`` writes the figure to a file.

    Examples
    --------
    >>> plot_panels(results)[0].figure.savefig("panels.pdf")  # doctest: +SKIP
    """
    points = curves(results, reading)
    if points.empty:
        raise ValueError(
            "there is no excess loss to draw: no method has a loss at rate 0; run rate 0, too, or use reading='loss'"
        )
    if axes is not None:
        panels = given(axes, points["scenario"].nunique(), "scenarios")
        _fill_panels(panels, points, reference, reading, names)
        _add_legend(panels[-1], points, reference, names, reference_name)
        return panels
    return draw_panels(plt.figure, points, reference, reading, names, reference_name)


def draw_panels(
    make: Any,
    points: pd.DataFrame,
    reference: pd.DataFrame | None,
    reading: Reading,
    names: Mapping[str, str],
    reference_name: str = "the paper",
    across: int = ACROSS,
) -> Any:
    """Return the panels of curves, in a figure that ``make`` makes, so many beside one another."""
    n = points["scenario"].nunique()
    across = min(n, across)
    down = -(-n // across)
    shared = _is_sharing_sensible(points)
    width = max(PANEL[0] * across, 4.2)
    labels = [called(method, names) for method in method_order(points["method"])]
    labels += [] if reference is None else [reference_name]
    columns = _columns_that_fit(labels, width)
    height = PANEL[1] * down + 0.28 * -(-len(labels) // columns) + 0.1
    figure = make(figsize=(width, height), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=shared, squeeze=False).ravel()
    for spare in panels[n:]:
        spare.remove()
    panels = panels[:n]
    _fill_panels(panels, points, reference, reading, names)
    for panel in panels[max(n - across, 0) :]:  # those without another below
        panel.tick_params(labelbottom=True)
    for panel in panels[: max(n - across, 0)]:
        panel.set_xlabel("")
    figure.get_layout_engine().set(h_pad=0.08)
    _add_legend(figure, points, reference, names, reference_name, loc="outside lower center", ncols=columns)
    return panels


def _is_sharing_sensible(points: pd.DataFrame) -> bool:
    """Return whether no panel would be squeezed if all had the same y-axis."""
    finite = points[np.isfinite(points["excess"])]
    reach = finite.groupby("scenario")["excess"].agg(
        lambda values: max(values.max(), 0) - min(values.min(), 0)
    )
    return bool(reach.min() >= _NEAR * reach.max())


def _columns_that_fit(labels: Sequence[str], width: float) -> int:
    """Return how many entries of a legend fit beside one another."""
    widest = 0.085 * max(map(width_of, labels)) + 0.62  # inches of its letters, its line and the space around
    most = max(1, min(len(labels), int(width / widest)))
    return -(-len(labels) // -(-len(labels) // most))  # lines of the legend equally long


def _fill_panels(
    panels: Any,
    points: pd.DataFrame,
    reference: pd.DataFrame | None,
    reading: Reading,
    names: Mapping[str, str],
) -> None:
    drawn_as = looks(points["method"].tolist())
    dashed = None if reference is None else _reference(reference, points, reading)
    for panel, scenario in zip(panels, scenario_order(points["scenario"]), strict=True):
        part = points[points["scenario"] == scenario]
        rates = sorted(set(part["rate"]))
        # a gap is one in the line, too
        lines = {
            method: line.set_index("rate").reindex(rates)
            for method, line in part.groupby("method", sort=False)
        }
        alike = _coinciding(lines)
        above = {method: len(group) - 1 - place for group in alike for place, method in enumerate(group)}
        for method, line in lines.items():
            _draw_curve(panel, line, drawn_as[method], called(method, names), above.get(method, 0))
        _name_coinciding(panel, [[called(method, names) for method in group] for group in alike])
        for method, line in (
            () if dashed is None else dashed[dashed["scenario"] == scenario].groupby("strategy")
        ):
            panel.plot(
                line["missingness"], line["excess_loss"], linestyle=(0, (3, 2)), linewidth=1, zorder=2.5,
                color=drawn_as[method].colour, gid="reference",
            )  # fmt: skip
        panel.set_title(as_name(scenario_name(scenario), 2 * WIDEST), parse_math=False, fontsize="medium")
        panel.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        panel.set_xlabel("missing values")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#888888", alpha=0.25, linewidth=0.6)
        panel.margins(x=0.03)
        if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():
            panel.set_ylabel(MEASURES[reading])
    if reading == "author" and points["excess"].min() >= 0:
        for panel in panels:  # when all is drawn, since they may share their limits
            panel.set_ylim(bottom=0)


def _coinciding(lines: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    """Return the methods whose lines lie on one another, group by group."""
    groups: list[list[str]] = []
    for method, line in lines.items():
        for group in groups:
            other = lines[group[0]]["excess"]
            if np.allclose(line["excess"], other, rtol=1e-9, atol=1e-12, equal_nan=True):
                group.append(method)
                break
        else:
            groups.append([method])
    return [group for group in groups if len(group) > 1]


def _name_coinciding(panel: Any, groups: Sequence[Sequence[str]]) -> None:
    """Write into a panel which lines lie on one another; curves rise, so there is room above on the left."""
    if groups:
        said = "\n".join(
            textwrap.fill(" = ".join(group), _LETTERS, break_long_words=False) for group in groups
        )
        panel.text(
            0.03, 0.98, said, transform=panel.transAxes, va="top",
            fontsize="x-small", alpha=0.8, parse_math=False, gid="coinciding",
        )  # fmt: skip


def _draw_curve(panel: Any, line: pd.DataFrame, look: Look, label: str, above: int) -> None:
    """Draw the points of a method by rate; what is not there, or not finite, is a gap.

    Where so many others will be drawn above it, the line is so much wider that it is seen beneath them.
    """
    known = line.where(np.isfinite(line["excess"]))
    style = {"color": look.colour, "linestyle": look.line, "linewidth": 1.7 + 2.6 * above}
    style |= {"marker": look.marker, "fillstyle": look.fill}
    panel.plot(known.index, known["excess"], markersize=4 + 3 * above, label=label, **style)
    if known["low"].notna().any():
        panel.fill_between(
            known.index, known["low"], known["high"], color=look.colour, alpha=0.2, linewidth=0
        )


def _reference(reference: pd.DataFrame, points: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Return the curves of the reference that belong beside ours, read as they are."""
    absent = [
        name for name in ("scenario", "missingness", "strategy", "excess_loss") if name not in reference
    ]
    if absent:
        raise ValueError(f"the reference has no column {', '.join(map(repr, absent))}")
    if reading == "loss":
        raise ValueError("a reference holds excess losses; draw it with reading='author' or 'text'")
    known = reference[reference["strategy"].isin(set(points["method"]))]
    known = known.sort_values("missingness")
    return known.assign(excess_loss=known["excess_loss"] + (reading == "text"))


def _add_legend(
    place: Any,
    points: pd.DataFrame,
    reference: pd.DataFrame | None,
    names: Mapping[str, str],
    reference_name: str,
    **options: Any,
) -> None:
    """Add one legend to a figure, or to the last panel."""
    entries = [
        (
            called(method, names),
            Line2D(
                [],
                [],
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                fillstyle=look.fill,
                markersize=4,
            ),
        )
        for method, look in looks(points["method"].tolist()).items()
    ]
    if reference is not None:
        dashed = Line2D([], [], color="#888888", linestyle=(0, (3, 2)), linewidth=1)
        entries.append((reference_name, dashed))
    legend = place.legend(
        [line for _, line in entries], [" "] * len(entries), frameon=False, fontsize="small", **options
    )
    for text, (label, _) in zip(legend.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(label)  # afterwards, because a legend leaves out labels that begin with "_"
