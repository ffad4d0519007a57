"""Plot of the missing values of a table, drawn from their summary with matplotlib."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from tritree.inspection.axes import plt
from tritree.inspection.formatting import as_name, as_percent, count, width_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# distinguishable with colour blindness, on white and on black
_MISSING, _APART, _NEUTRAL = "#cc6677", "#4477aa", "#888888"
_FAINT = to_rgba(_NEUTRAL, 0.16)
_WIDEST_NAME = 24
_CELL = 0.27  # size of a cell in inches, in a new figure
_ROWS, _FRACTIONS, _FEWEST = 2.6, 4, 5  # cells taken by the bars, and minimum of the other panels
_LETTER_ASPECT = 0.62  # width of a letter relative to the font size
_LETTER, _MAX_LETTER = 0.31, _LETTER_ASPECT * 9.5 / 72  # width of a letter: in cells, and at most in inches
_NOTES = 7  # letters as wide as three lines are high
_MIN_COLOURED = 0.03  # smallest correlation with a colour
_MAX_NUMBERED = 12  # columns up to which correlations are printed in the cells


def draw_missing(summary: dict[str, Any], ax: Any, max_columns: int) -> Any:
    """Draw a summary of `summarise_missing` and return the ``Axes``.

    The panels share their lines, one per incomplete column::

                 rows
        names    patterns    fractions    together
                                          names
    """
    incomplete = [j for j, column in enumerate(summary["columns"]) if column["missing"]]
    most = sorted(incomplete, key=lambda j: -summary["columns"][j]["missing"])[:max_columns]
    columns = sorted(most)  # in the order of the table: neighbours are often missing together
    names = [as_name(summary["columns"][j]["name"], _WIDEST_NAME) for j in columns]
    has_pairs = len(set(columns) & set(summary["together"]["columns"])) > 1
    title = _title(summary, len(incomplete), len(columns))
    area = _Area(names, [pattern["rows"] for pattern in summary["patterns"]], has_pairs, title, ax)
    if columns:
        _draw_patterns(area.panel("patterns"), summary, columns, names)
        _draw_rows(area.panel("rows"), summary["patterns"])
        _draw_fractions(area.panel("fractions"), summary, columns)
    if has_pairs:
        _draw_together(area.panel("together"), summary["together"], columns, names)
    area.ax.set_axis_off()
    area.ax.set_title(title, loc="left")
    return area.ax


def _title(summary: dict[str, Any], n_incomplete: int, n_drawn: int) -> str:
    n_rows, n_columns = summary["rows"], len(summary["columns"])
    n_missing = sum(column["missing"] for column in summary["columns"])
    size = f"{count(n_rows, 'row')} × {count(n_columns, 'column')}"
    if not n_missing:
        return f"{size}: no cell is missing"
    more = []
    if n_drawn < n_incomplete:
        more.append(f"… {count(n_incomplete - n_drawn, 'more column')} with fewer missing values")
    if n_incomplete < n_columns:
        more.append(f"{count(n_columns - n_incomplete, 'column')} without missing values")
    first = f"{size}: {as_percent(n_missing / (n_rows * n_columns))} of the cells are missing"
    return "\n".join([first, ", ".join(more)] if more else [first])


class _Area:
    """The area, divided into panels with their labels.

    Cells are as large as the area allows, letters as large as a line of cells allows. Column names take space on the
    left and below in proportion to their length, numbers of rows above.
    """

    def __init__(self, names: list[str], rows: list[int], has_pairs: bool, title: str, ax: Any) -> None:
        self._wide, self._high = max(len(rows), _FEWEST), len(names)
        self._pairs = max(len(names), _FEWEST) if has_pairs else 0
        self._longest = 1 + max([len("rows"), *map(width_of, names)])
        self._below = max(self._longest, _NOTES) if has_pairs else _NOTES
        self._above = 1 + len(f"{rows[0]:,}")
        self._across = self._wide + 1 + _FRACTIONS + 2 + (self._pairs + 0.5 if has_pairs else 0)
        self._down = self._high + _ROWS + 0.2
        self.ax = ax if ax is not None else self._figure(title, bool(names))
        self._width, self._height = (
            length / self.ax.figure.dpi for length in self.ax.get_window_extent().size
        )
        line = self._height / (self._down + _LETTER * (self._below + self._above))
        #: Width of a letter in inches.
        self._letter = min(_LETTER * line, _MAX_LETTER)

    def _figure(self, title: str, has_missing: bool) -> Any:
        """Return an area in a new figure, with square cells and space for the title."""
        across = max(_CELL * self._across + _MAX_LETTER * self._longest, 5.0)
        down = _CELL * self._down + _MAX_LETTER * (self._below + self._above) if has_missing else 0.1
        width, height = across + 0.2, down + 0.2 + 0.25 * len(title.splitlines())
        return plt.figure(figsize=(width, height)).add_axes(
            (0.1 / width, 0.1 / height, across / width, down / height)
        )

    def panel(self, name: str) -> Any:
        """Return a new panel of the area."""
        left = min(self._letter * self._longest, self._width / 3)
        below = self._letter * self._below
        cell = (self._width - left) / self._across
        line = (self._height - below - self._letter * self._above) / self._down
        x, y, wide, high = {
            "patterns": (0, 0, self._wide, self._high),
            "rows": (0, self._high + 0.2, self._wide, _ROWS),
            "fractions": (self._wide + 1, 0, _FRACTIONS, self._high),
            "together": (self._across - self._pairs, 0, self._pairs, self._high),
        }[name]
        place = (left + cell * x, below + line * y, cell * wide, line * high)
        inches = (self._width, self._height, self._width, self._height)
        within = tuple(length / whole for length, whole in zip(place, inches, strict=True))
        panel = self.ax.inset_axes(within, facecolor="none")
        panel.spines[:].set_visible(False)
        panel.grid(visible=False)
        panel.tick_params(length=0, labelsize=self._letter * 72 / _LETTER_ASPECT)
        return panel


def _size(panel: Any) -> float:
    """Return the font size of a panel."""
    size: float = panel.yaxis.get_tick_params()["labelsize"]
    return size


def _fill(panel: Any, colours: Mapping[tuple[int, int], Any]) -> None:
    """Draw coloured cells with small gaps."""
    cells = [Rectangle((x - 0.45, y - 0.45), 0.9, 0.9) for x, y in colours]
    panel.add_collection(PatchCollection(cells, facecolors=list(colours.values()), linewidths=0))


def _draw_patterns(panel: Any, summary: dict[str, Any], columns: list[int], names: list[str]) -> None:
    """Draw one stack of cells per pattern, with the missing cells filled."""
    patterns, place = summary["patterns"], {j: y for y, j in enumerate(columns)}
    colours: dict[tuple[int, int], Any] = {
        (x, y): _FAINT for x in range(len(patterns)) for y in place.values()
    }
    for x, pattern in enumerate(patterns):
        colours |= {(x, place[j]): to_rgba(_MISSING) for j in pattern["columns"] if j in place}
    _fill(panel, colours)
    _set_cells(panel, max(len(patterns), _FEWEST), len(columns))
    panel.set_yticks(range(len(names)), names, parse_math=False)
    more = {x: sum(j not in place for j in pattern["columns"]) for x, pattern in enumerate(patterns)}
    more = {x: n for x, n in more.items() if n}  # missing columns that are not drawn
    panel.set_xticks(list(more), [f"+{n}" for n in more.values()])
    n_rest = summary["n_patterns"] - len(patterns)
    rest = f", … {count(n_rest, 'more pattern')}" if n_rest else ""
    also = "\n+ columns that are not drawn" if more else ""
    panel.set_xlabel(count(len(patterns), "pattern") + rest + also, fontsize=_size(panel), loc="left")


def _set_cells(panel: Any, wide: int, high: int) -> None:
    panel.set_xlim(-0.5, wide - 0.5)
    panel.set_ylim(high - 0.5, -0.5)
    panel.set_xticks([])
    panel.set_yticks([])


def _draw_rows(panel: Any, patterns: list[dict[str, Any]]) -> None:
    """Draw the number of rows of each pattern."""
    rows = [pattern["rows"] for pattern in patterns]
    bars = panel.bar(range(len(rows)), rows, width=0.9, color=_NEUTRAL)
    panel.bar_label(bars, [f"{n:,}" for n in rows], padding=2, rotation=90, fontsize=_size(panel))
    _set_cells(panel, max(len(rows), _FEWEST), 1)
    panel.set_ylim(0, max(rows))
    panel.set_ylabel("rows ", rotation=0, ha="right", va="bottom", y=0, fontsize=_size(panel))


def _draw_fractions(panel: Any, summary: dict[str, Any], columns: list[int]) -> None:
    """Draw the fraction of missing cells of each column."""
    fractions = [summary["columns"][j]["missing"] / summary["rows"] for j in columns]
    lines = range(len(columns))
    panel.barh(lines, [1.0] * len(columns), height=0.9, color=_FAINT)
    panel.barh(lines, fractions, height=0.9, color=_MISSING)
    for y, fraction in enumerate(fractions):
        panel.text(1.05, y, as_percent(fraction), va="center", fontsize=_size(panel))
    _set_cells(panel, 1, len(columns))
    panel.set_xlim(0, 1)
    panel.set_title("missing", fontsize=_size(panel), loc="left")


def _draw_together(panel: Any, together: dict[str, Any], columns: list[int], names: list[str]) -> None:
    """Draw for pairs of columns whether they are missing together or apart."""
    known = {j: i for i, j in enumerate(together["columns"])}
    colours: dict[tuple[int, int], Any] = {}
    for x, y in combinations(range(len(columns)), 2):
        colours[x, y] = _FAINT
        if columns[x] in known and columns[y] in known:
            r = together["correlation"][known[columns[y]]][known[columns[x]]]
            if abs(r) >= _MIN_COLOURED:
                colours[x, y] = to_rgba(_MISSING if r > 0 else _APART, 0.16 + 0.84 * abs(r))
            if len(columns) <= _MAX_NUMBERED:
                text = f"{100 * r:z.0f}"
                panel.text(x, y, text, ha="center", va="center_baseline", fontsize=0.8 * _size(panel))
    _fill(panel, colours)
    _set_cells(panel, max(len(columns), _FEWEST), len(columns))
    panel.set_xticks(range(len(columns) - 1), names[:-1], rotation=90, parse_math=False)
    legend = [("missing", plt.rcParams["text.color"]), ("together", _MISSING), ("or apart", _APART)]
    for line, (text, colour) in enumerate(reversed(legend)):
        panel.annotate(
            text,
            (0, 1),
            (0, (0.3 + 1.3 * line) * _size(panel)),
            xycoords="axes fraction",
            textcoords="offset points",
            color=colour,
            fontsize=_size(panel),
        )
