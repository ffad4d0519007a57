"""Figures of experiments with matplotlib: excess loss against the rate of missing values, and mean ranks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tritree.inspection.axes import plt  # an error that says what to install
from tritree.inspection.formatting import as_name, width_of
from tritree.lab.methods import CONSTANT
from tritree.lab.ranks import DISPLAY_NAMES, Ranks, curves, mean_ranks, scenario_name
from tritree.lab.ranks.averages import MEASURES
from tritree.lab.ranks.names import METHODS, method_order, parse_method, scenario_order
from tritree.lab.ranks.significance import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.lines import Line2D

    from tritree.lab.ranks.averages import Measure

_N_COLUMNS = 3  # axes side by side
_AXES_SIZE = (3.5, 2.9)  # inches
_MIN_WIDTH = 4.2  # inches of a figure
_MAX_NAME = 24  # letters of a method
_MAX_TITLE = 48
_ANNOTATION_WIDTH = 40  # letters
_SHARED_Y = 0.4  # axes share y if each would use at least this fraction of its height
_RANK_HEIGHT = 0.27  # inches from one method to the next
_GROUP_TITLES: dict[str, Callable[[Any], str]] = {
    "rate": lambda rate: f"{100 * rate:.3g}%",
    "scenario": scenario_name,
    "dataset": str,
}
_GREY = "#888888"
_REFERENCE_LINE = (0, (3, 2))


class MethodStyle(NamedTuple):
    """How a method is drawn in all figures: matplotlib's colour, marker, line style and fill style."""

    colour: str
    marker: str
    line: Any
    fill: str = "full"


# distinguishable with every kind of colour vision, on white and on black; the paper's five are Okabe and Ito's
_COLOURS = ("#707070", "#0072b2", "#1aa67c", "#d55e00", "#cc79a7", "#45a6dc", "#9a7bff")
_MARKERS = ("s", "^", "v", "o", "D", "P", "X")
_KIND_STYLES: dict[str, tuple[Any, str]] = {
    "tree": ("-", "full"),
    "forest": ((0, (1, 1)), "bottom"),
    "boosting": ((0, (7, 1.5)), "none"),
}
#: Models with their default strategy, and the baseline.
_NAMED_STYLES = {
    "tree": MethodStyle("#d55e00", "o", "-"),
    "forest": MethodStyle("#1aa67c", "v", "-"),
    "boosting": MethodStyle("#0072b2", "s", "-"),
    CONSTANT: MethodStyle(_GREY, ".", ":"),
}
# methods of other libraries: other colours and another line style, since there may be any number of them
_OTHER_COLOURS = ("#7e503a", "#a08a00", "#aa3377", "#117733", "#5b5fc7")
_OTHER_MARKERS = ("<", ">", "p", "h", "*", "d")
_OTHER_LINE = (0, (5, 1.2, 1.2, 1.2))


def method_styles(methods: Iterable[str]) -> dict[str, MethodStyle]:
    """Return the style of each method: fixed for those of tritree, by alphabetical position for the others.

    A strategy determines colour and marker, the kind of model determines the line style and how markers are filled.
    """
    styles = {}
    n_others = 0
    for method in method_order(methods):
        if (parsed := parse_method(method)) is not None:
            kind, strategy = parsed
            i = METHODS.index(strategy)
            styles[method] = MethodStyle(_COLOURS[i], _MARKERS[i], *_KIND_STYLES[kind])
        elif method in _NAMED_STYLES:
            styles[method] = _NAMED_STYLES[method]
        else:
            colour = _OTHER_COLOURS[n_others % len(_OTHER_COLOURS)]
            marker = _OTHER_MARKERS[n_others % len(_OTHER_MARKERS)]
            styles[method] = MethodStyle(colour, marker, _OTHER_LINE)
            n_others += 1
    return styles


def _label(method: str, names: Mapping[str, str]) -> str:
    return as_name(names.get(method, method), _MAX_NAME)


def _check_axes(axes: Any, n: int, what: str) -> Any:
    """Return the first n of the axes as an array."""
    found = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(found) < n:
        raise ValueError(f"there are {n} {what} to draw, and {len(found)} axes; give {n} of them")
    return found[:n]


def _subplots(
    make_figure: Callable[..., Any],
    n: int,
    n_columns: int,
    row_height: float,
    extra_height: float = 0.0,
    **options: Any,
) -> tuple[Any, Any, Any]:
    """Return a new figure, its n axes, and those of the axes that have others below them."""
    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    size = (max(_AXES_SIZE[0] * n_columns, _MIN_WIDTH), row_height * n_rows + extra_height)
    figure = make_figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options).ravel()
    for spare in axes[n:]:
        spare.remove()
    figure.get_layout_engine().set(h_pad=0.08)
    return figure, axes[:n], axes[: max(n - n_columns, 0)]


# ------------------------------------------------------------------------------------------------------ loss curves


def plot_curves(
    results: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    axes: Any = None,
    *,
    measure: Measure = "excess",
    names: Mapping[str, str] = DISPLAY_NAMES,
    reference_name: str = "the paper",
) -> Any:
    """Return axes with the excess loss against the rate of missing values: one per scenario, a line per method.

    Lines are means over data sets and seeds, bands span the means of the seeds. What is omitted, because not all data
    sets have it, is listed by `tritree.lab.ranks.omissions`.

    Parameters
    ----------
    results : pandas.DataFrame
        See `tritree.lab.ranks.check_results`.
    reference : pandas.DataFrame or None, default=None
        Curves for comparison, drawn thin and dashed: columns ``scenario``, ``missingness``, ``strategy`` and
        ``excess_loss`` (ratio minus 1). Scenarios and methods that the results do not have are ignored.
    axes : matplotlib Axes, sequence of Axes or None, default=None
        Axes to draw on, one per scenario. If None, a figure is created.
    measure : {"excess", "ratio", "loss"}, default="excess"
        What is drawn; see `tritree.lab.ranks.excess`.
    names : mapping from str to str, default=names as in the paper
        Labels of methods.
    reference_name : str, default="the paper"
        Label of the reference.

    Returns
    -------
    numpy.ndarray of matplotlib Axes
        One per scenario.

    Examples
    --------
    >>> plot_curves(results)[0].figure.savefig("curves.pdf")  # doctest: +SKIP
    """
    points = curves(results, measure)
    if points.empty:
        raise ValueError(
            "there is no excess loss to draw: no method has a loss at rate 0; run rate 0, too, or use measure='loss'"
        )
    if axes is None:
        return draw_curves(points, reference, measure, names, plt.figure, reference_name=reference_name)
    axes = _check_axes(axes, points["scenario"].nunique(), "scenarios")
    _fill_curves(axes, points, reference, measure, names)
    _add_legend(axes[-1], _legend_entries(points, reference, names, reference_name))
    return axes


def draw_curves(
    points: pd.DataFrame,
    reference: pd.DataFrame | None,
    measure: Measure,
    names: Mapping[str, str],
    make_figure: Callable[..., Any],
    n_columns: int = _N_COLUMNS,
    reference_name: str = "the paper",
) -> Any:
    """Return the axes of a new figure of curves, ``n_columns`` of them side by side."""
    n = points["scenario"].nunique()
    entries = _legend_entries(points, reference, names, reference_name)
    width = max(_AXES_SIZE[0] * min(n, n_columns), _MIN_WIDTH)
    entry_width = 0.085 * max(width_of(label) for label, _ in entries) + 0.62  # inches, with line and margins
    legend_rows = -(-len(entries) // max(1, min(len(entries), int(width / entry_width))))
    legend_columns = -(-len(entries) // legend_rows)  # rows of equal length
    legend_height = 0.28 * -(-len(entries) // legend_columns) + 0.1
    finite = points[np.isfinite(points["excess"])]
    heights = finite.groupby("scenario")["excess"].agg(lambda y: max(y.max(), 0) - min(y.min(), 0))
    options = {"sharex": True, "sharey": bool(heights.min() >= _SHARED_Y * heights.max())}
    figure, axes, above = _subplots(make_figure, n, n_columns, _AXES_SIZE[1], legend_height, **options)
    _fill_curves(axes, points, reference, measure, names)
    for ax in axes[len(above) :]:
        ax.tick_params(labelbottom=True)
    for ax in above:
        ax.set_xlabel("")
    _add_legend(figure, entries, loc="outside lower center", ncols=legend_columns)
    return axes


def _fill_curves(
    axes: Any,
    points: pd.DataFrame,
    reference: pd.DataFrame | None,
    measure: Measure,
    names: Mapping[str, str],
) -> None:
    from matplotlib.ticker import PercentFormatter

    styles = method_styles(points["method"])
    if reference is not None:
        reference = _check_reference(reference, points, measure)
    for ax, scenario in zip(axes, scenario_order(points["scenario"]), strict=True):
        part = points[points["scenario"] == scenario]
        rates = sorted(set(part["rate"]))  # a missing point is a gap in the line
        lines = {
            name: line.set_index("rate").reindex(rates) for name, line in part.groupby("method", sort=False)
        }
        groups = _coinciding(lines)
        n_above = {name: len(group) - 1 - i for group in groups for i, name in enumerate(group)}
        for name, line in lines.items():
            _draw_curve(ax, line, styles[name], _label(name, names), n_above.get(name, 0))
        if groups:  # named at the top left, where rising curves leave room
            equal = (" = ".join(_label(name, names) for name in group) for group in groups)
            text = "\n".join(textwrap.fill(t, _ANNOTATION_WIDTH, break_long_words=False) for t in equal)
            style = {"va": "top", "fontsize": "x-small", "alpha": 0.8, "parse_math": False}
            ax.text(0.03, 0.98, text, transform=ax.transAxes, gid="coinciding", **style)
        if reference is not None:
            for name, line in reference[reference["scenario"] == scenario].groupby("strategy"):
                style = {"linestyle": _REFERENCE_LINE, "linewidth": 1, "color": styles[name].colour}
                ax.plot(line["missingness"], line["excess_loss"], zorder=2.5, gid="reference", **style)
        title = names.get(scenario, scenario_name(scenario))
        ax.set_title(as_name(title, _MAX_TITLE), parse_math=False, fontsize="medium")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("missing values")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color=_GREY, alpha=0.25, linewidth=0.6)
        ax.margins(x=0.03)
        if ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():
            ax.set_ylabel(MEASURES[measure])
    if measure == "excess" and points["excess"].min() >= 0:
        for ax in axes:  # when all is drawn, since they may share their limits
            ax.set_ylim(bottom=0)


def _coinciding(lines: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    """Return groups of methods whose lines coincide."""
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


def _draw_curve(ax: Any, line: pd.DataFrame, style: MethodStyle, label: str, n_above: int) -> None:
    """Draw the curve of a method, with gaps where values are missing or infinite.

    A line on which ``n_above`` others will be drawn is wider, so that it is seen beneath them.
    """
    known = line.where(np.isfinite(line["excess"]))
    options = {"color": style.colour, "linestyle": style.line, "linewidth": 1.7 + 2.6 * n_above}
    options |= {"marker": style.marker, "fillstyle": style.fill, "markersize": 4 + 3 * n_above}
    ax.plot(known.index, known["excess"], label=label, **options)
    if known["low"].notna().any():
        ax.fill_between(known.index, known["low"], known["high"], color=style.colour, alpha=0.2, linewidth=0)


def _check_reference(reference: pd.DataFrame, points: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the reference curves of the methods drawn, as the same measure."""
    columns = ("scenario", "missingness", "strategy", "excess_loss")
    if absent := [name for name in columns if name not in reference]:
        raise ValueError(f"the reference has no column {', '.join(map(repr, absent))}")
    if measure == "loss":
        raise ValueError("a reference holds excess losses; draw it with measure='excess' or 'ratio'")
    known = reference[reference["strategy"].isin(set(points["method"]))].sort_values("missingness")
    return known.assign(excess_loss=known["excess_loss"] + (measure == "ratio"))


def _legend_entries(
    points: pd.DataFrame, reference: pd.DataFrame | None, names: Mapping[str, str], reference_name: str
) -> list[tuple[str, Line2D]]:
    entries = []
    for method, style in method_styles(points["method"]).items():
        options = {"color": style.colour, "linestyle": style.line, "marker": style.marker, "markersize": 4}
        entries.append((_label(method, names), plt.Line2D([], [], fillstyle=style.fill, **options)))
    if reference is not None:
        dashed = plt.Line2D([], [], color=_GREY, linestyle=_REFERENCE_LINE, linewidth=1)
        entries.append((reference_name, dashed))
    return entries


def _add_legend(place: Any, entries: Sequence[tuple[str, Line2D]], **options: Any) -> None:
    """Add a legend to a figure or to axes."""
    handles = [line for _, line in entries]
    legend = place.legend(handles, [" "] * len(entries), frameon=False, fontsize="small", **options)
    for text, (label, _) in zip(legend.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(label)  # afterwards, because a legend drops labels that begin with "_"


# ------------------------------------------------------------------------------------------------------- mean ranks


def plot_ranks(
    results: pd.DataFrame | Ranks, axes: Any = None, *, names: Mapping[str, str] = DISPLAY_NAMES
) -> Any:
    """Return axes with mean ranks and their confidence intervals: one per scenario, the best method on top.

    Small dots are mean ranks on single data sets. Hollow dots are methods that differ significantly from the best one
    (Holm-adjusted p < 0.05).

    Parameters
    ----------
    results : pandas.DataFrame or Ranks
        Results as in `tritree.lab.ranks.check_results`, or their `mean_ranks`.
    axes : matplotlib Axes, sequence of Axes or None, default=None
        Axes to draw on, one per scenario. If None, a figure is created.
    names : mapping from str to str, default=names as in the paper
        Labels of methods.

    Returns
    -------
    numpy.ndarray of matplotlib Axes
        One per scenario.

    Examples
    --------
    >>> plot_ranks(results)[0].figure.savefig("ranks.pdf")  # doctest: +SKIP
    """
    ranks = results if isinstance(results, Ranks) else mean_ranks(results)
    if axes is None:
        return draw_ranks(ranks, names, plt.figure)
    axes = _check_axes(axes, len(ranks.overall), "groups")
    _fill_ranks(axes, ranks, names)
    return axes


def draw_ranks(
    ranks: Ranks, names: Mapping[str, str], make_figure: Callable[..., Any], n_columns: int = _N_COLUMNS
) -> Any:
    """Return the axes of a new figure of mean ranks, ``n_columns`` of them side by side."""
    row_height = 0.95 + _RANK_HEIGHT * int(ranks.overall["methods"].max())
    _, axes, above = _subplots(make_figure, len(ranks.overall), n_columns, row_height)
    _fill_ranks(axes, ranks, names)
    for ax in above:
        ax.set_xlabel("")
    return axes


def _fill_ranks(axes: Any, ranks: Ranks, names: Mapping[str, str]) -> None:
    keys = [key for key in ("scenario", "rate", "dataset") if key in ranks.overall]
    styles = method_styles(ranks.table["method"])
    for ax, (_, group) in zip(axes, ranks.overall.iterrows(), strict=True):
        table, by_dataset = ranks.table, ranks.by_dataset
        for key in keys:
            table, by_dataset = table[table[key] == group[key]], by_dataset[by_dataset[key] == group[key]]
        for y, line in enumerate(table.itertuples()):
            single = by_dataset["mean_rank"][by_dataset["method"] == line.method]
            colour = styles[line.method].colour
            if len(single) > 1:
                style = {"color": colour, "alpha": 0.5, "markersize": 7, "markeredgewidth": 0}
                ax.plot(single, [y] * len(single), ".", **style)
            if not np.isnan(line.low):
                ax.plot([line.low, line.high], [y, y], color=colour, linewidth=1.8, alpha=0.7)
            fill = ax.get_facecolor() if line.p_holm < LEVEL else colour
            style = {"color": colour, "markersize": 7.5, "markeredgewidth": 1.8, "markerfacecolor": fill}
            ax.plot(line.mean_rank, y, "o", zorder=3, **style)
        labels = [_label(method, names) for method in table["method"]]
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        ax.set_ylim(ranks.overall["methods"].max() - 0.4, -0.6)  # the same height per method in all axes
        ax.set_xlim(0.8, len(labels) + 0.2)
        ax.xaxis.set_major_locator(plt.MaxNLocator(integer=True, nbins=8))
        ax.set_xlabel("mean rank (1 is best)")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.grid(axis="x", color=_GREY, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
        title = ", ".join(as_name(_GROUP_TITLES[key](group[key]), _MAX_TITLE) for key in keys)
        ax.set_title(title, parse_math=False, fontsize="medium")
