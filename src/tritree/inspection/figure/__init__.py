"""Figure of a tree, drawn with matplotlib: a box per node, children below it, the third branch dotted to its right."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from tritree.inspection.axes import plt
from tritree.inspection.captions import headline
from tritree.inspection.colours import OTHER_CLASS, NodeColours
from tritree.inspection.figure.boxes import PAD, BoxMaker, arrange
from tritree.inspection.figure.fitted_text import LARGE, LINE, SMALL_LINE, ScaledText, width_of, wrap
from tritree.inspection.figure.target_plot import INK, TRACE, TargetPlot, line_to
from tritree.inspection.formatting import as_label, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.inspection.figure.boxes import Box
    from tritree.inspection.node_selection import Selection

_MAX_INCHES = 200.0  # size of a new figure; larger ones cannot be saved at 300 dpi
# Everything is placed in inches, downwards, and scaled to the axes.
_GAP, _DROP, _ROUND = 0.16, 0.13, 0.06  # between boxes, of branches, of corners
_THIRD, _TIP = 0.24, 0.03  # from the top of a box to its third branch; from the tip of that to the next box
_MIN_WIDTH = 5.0  # with a caption
_SAFE = 0.92  # of the width for a caption line: small hinted glyphs are wider than measured


def draw_tree(
    tree: dict[str, Any], selection: Selection, ax: Any = None, *, digits: int = 4, caption: bool = True
) -> Any:
    """Draw some nodes of a tree, given its description, and return the ``Axes``.

    Nodes show the distribution of the target if `add_distribution` has added it.
    """
    drawing = _Drawing(tree, selection, digits, caption)
    if ax is None:
        scale = min(1.0, _MAX_INCHES / drawing.width, _MAX_INCHES / drawing.height)
        size = scale * drawing.width, scale * drawing.height
        ax = plt.figure(figsize=size, layout="none").add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, drawing.width), ylim=(drawing.height, 0), aspect="equal", adjustable="box")
    for artist in drawing.artists():
        ax.add_artist(artist)
    return ax


class _Drawing:
    """The artists of a figure, with their places."""

    def __init__(self, tree: dict[str, Any], selection: Selection, digits: int, caption: bool) -> None:
        self._tree, self._selection = tree, selection
        drawn = [tree["nodes"][number] for number in selection.drawn]
        self._maker = BoxMaker(tree, selection, digits)
        self._colours = NodeColours(tree, drawn)
        self._target = TargetPlot(tree, drawn, self._colours)
        self._half = self._maker.text_width / 2 + PAD
        self._boxes = self._maker.boxes()
        arrange(self._boxes, _GAP)
        right = max(box.x + box.to_right for box in self._boxes)
        self.width = max(_MIN_WIDTH if caption else 0.0, right + 2 * _GAP)
        self._left = (self.width - right) / 2
        self._tops, self._bends = self._levels()
        self._keys = self._class_keys()
        width = (self.width - 2 * _GAP) * _SAFE
        texts = self._notes(digits) if caption else ()
        self._caption = [line for text in texts for line in wrap(text, width)]
        self.height = self._tops[-1] + SMALL_LINE * (len(self._keys) + len(self._caption)) + _GAP

    def artists(self) -> Iterator[Any]:
        """Yield the artists to add to the axes."""
        for box in self._boxes:
            x, y = self._left + box.x, self._tops[box.level]
            yield from self._draw_below(box, x, y + self._height(box))
            yield from self._draw_beside(box, x, y + _THIRD)
            yield from self._draw_around(box, x, y)
            if box.number is not None:
                yield from self._draw_box(box, self._tree["nodes"][box.number], x, y)
        yield from self._draw_caption(self._tops[-1])

    def _levels(self) -> tuple[list[float], list[float]]:
        """Return the top of each level and where the branches to it bend; the last top is that of the caption."""
        above, within = defaultdict[int, float](float), defaultdict[int, float](float)
        for box in self._boxes:
            height = self._height(box) + (len(box.note) + 0.5) * SMALL_LINE * bool(box.note)
            within[box.level] = max(within[box.level], height, _THIRD + len(box.beside) * SMALL_LINE)
            above[box.level] = max(above[box.level], len(box.condition) * SMALL_LINE)
        tops, bends = [_GAP], [0.0]
        for level in range(len(within)):
            bends.append(tops[-1] + within[level] + _DROP)
            tops.append(bends[-1] + _DROP + above[level + 1])
        return tops, bends

    def _height(self, box: Box) -> float:
        """Return the height of a box, without the text above and below it."""
        if box.number is None:
            return 0.0
        height = LINE + SMALL_LINE * len(box.counts) + self._target.height + 3 * PAD
        return height + (LINE + 1.5 * PAD) * bool(box.column) + SMALL_LINE * bool(box.surrogates)

    def _draw_below(self, box: Box, x: float, y: float) -> Iterator[Any]:
        """Yield the branches to the children: down, across and down again."""
        for child in box.below:
            to, bend = self._left + self._boxes[child].x, self._bends[box.level + 1]
            end = self._tops[box.level + 1] - (len(self._boxes[child].condition) + 0.2) * SMALL_LINE
            turn = min(_ROUND, abs(to - x) / 2)
            side = math.copysign(turn, to - x)
            points = [(x, y), (x, bend - turn), (x, bend), (x + side, bend)]
            points += [(to - side, bend), (to, bend), (to, bend + turn), (to, end)]
            line, curve = Path.LINETO, Path.CURVE3
            path = Path(points, [Path.MOVETO, line, curve, curve, line, curve, curve, line])
            yield PathPatch(path, fill=False, edgecolor=TRACE, zorder=1)

    def _draw_beside(self, box: Box, x: float, y: float) -> Iterator[Any]:
        """Yield the third branch: dotted, and no longer than its text if it is not grown."""
        if not box.beside:
            return
        begin, end = x + self._half, x + box.to_right
        look = {"linestyle": ":", "zorder": 1, "gid": f"third-{box.number}"}
        if box.aside is not None:
            end = self._left + self._boxes[box.aside].x - self._half - _TIP
            look |= {"marker": ">", "markevery": [1], "markersize": 4}
        yield line_to((begin, y), (end, y), TRACE, 1.4, **look)
        first, *others = box.beside
        yield ScaledText(begin + PAD, y - 0.6 * SMALL_LINE, first, ha="left")
        for i, text in enumerate(others):
            yield ScaledText(begin + PAD, y + (0.6 + i) * SMALL_LINE, text, ha="left", alpha=0.75)

    def _draw_around(self, box: Box, x: float, y: float) -> Iterator[Any]:
        """Yield the text above and below a box."""
        for i, text in enumerate(reversed(box.condition)):
            yield ScaledText(x, y - (i + 0.7) * SMALL_LINE, text)
        for i, text in enumerate(box.note):
            yield ScaledText(x, y + self._height(box) + (i + 0.8) * SMALL_LINE, text, alpha=0.75)

    def _draw_box(self, box: Box, node: dict[str, Any], x: float, y: float) -> Iterator[Any]:
        """Yield a box and its content, from top to bottom."""
        left, width, style = x - self._half, 2 * self._half, f"round,pad=0,rounding_size={_ROUND}"
        look = {"facecolor": self._colours.fill(node), "edgecolor": TRACE, "linewidth": 0.8}
        yield FancyBboxPatch((left, y), width, self._height(box), style, gid=f"node-{box.number}", **look)
        heading = {"color": INK, "weight": "bold"}
        y += PAD + LINE / 2
        yield ScaledText(x, y, box.value, LARGE, **heading)
        y += LINE / 2
        for text in box.counts:
            yield ScaledText(x, y + SMALL_LINE / 2, text, color=INK)
            y += SMALL_LINE
        y += PAD
        yield from self._target.artists(node, left + PAD, y, width - 2 * PAD)
        y += self._target.height + PAD
        if box.column:
            yield line_to((left, y), (left + width, y), TRACE, 0.8)
            y += PAD + LINE / 2
            yield ScaledText(x, y, box.column, LARGE, **heading)
        if box.surrogates:
            yield ScaledText(x, y + (LINE + SMALL_LINE) / 2, box.surrogates, color=INK)

    def _class_keys(self) -> list[list[tuple[float, str, str]]]:
        """Return the legend of the classes: lines of a position, a colour and a class."""
        keys = [(c, as_label(self._tree["classes"][k])) for k, c in self._colours.classes.items()]
        n_rest = len(self._tree["classes"] or ()) - len(keys)
        if n_rest:
            keys.append((OTHER_CLASS, count(n_rest, "other class", "other classes")))
        lines: list[list[tuple[float, str, str]]] = []
        x = math.inf
        for colour, label in keys:
            width = _GAP + width_of(label)
            if x + width > self.width - _GAP:
                lines.append([])
                x = _GAP
            lines[-1].append((x, colour, label))
            x += width + _GAP
        return lines

    def _notes(self, digits: int) -> Iterator[str]:
        """Yield the notes below the tree."""
        yield headline(self._tree)
        if not self._colours.classes:
            yield self._target.caption(digits)
        if any(box.beside for box in self._boxes):
            yield f"dotted: third branch, {self._maker.text.terms.third}"
        if any(box.surrogates for box in self._boxes):
            yield "or: surrogates; where the value is missing, the first that is observed decides"
        yield from self._maker.text.notes()
        yield from self._maker.text.omitted_nodes(self._selection)

    def _draw_caption(self, y: float) -> Iterator[Any]:
        y += SMALL_LINE / 2
        for keys in self._keys:
            for x, colour, label in keys:
                yield Rectangle((x, y - 0.05), 0.1, 0.1, facecolor=colour, linewidth=0)
                yield ScaledText(x + _GAP, y, label, ha="left")
            y += SMALL_LINE
        for text in self._caption:
            yield ScaledText(_GAP, y + bool(self._keys) * PAD, text, ha="left", alpha=0.85)
            y += SMALL_LINE
