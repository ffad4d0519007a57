"""All that a figure shows of a tree, each thing with its place."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from tritree.inspection.figure.boxes import PAD, Wording
from tritree.inspection.figure.lettering import LARGE, LINE, SMALL_LINE, Words, width_of, wrap
from tritree.inspection.figure.paint import INK, REST, TRACE, Paint, line_to
from tritree.inspection.formatting import as_label, count
from tritree.inspection.layout import arrange
from tritree.inspection.rules import WIDEST_LABEL
from tritree.inspection.values import headline, left_out, remarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritree.inspection.figure.boxes import Box
    from tritree.inspection.layout import Place
    from tritree.inspection.node_selection import Choice

__all__ = ["Picture"]

# A picture is drawn in inches, downwards, and scaled to its axes.
_GAP, _DROP, _ROUND = 0.16, 0.13, 0.06  # between boxes, of branches, of corners
_AXLE, _TIP = 0.24, 0.03  # from the top of a box to its third branch; from the tip of that to the next box
_LEAST = 5.0  # width of a picture with a caption
_SAFE = 0.92  # of that width for a line: small letters, fitted to pixels, are wider than they should be


class Picture:
    """All that is drawn of a tree, with its place."""

    def __init__(self, tree: dict[str, Any], choice: Choice, digits: int, caption: bool) -> None:
        self._tree, self._choice = tree, choice
        self._wording = Wording(tree, choice, digits)
        self._paint = Paint(tree, [tree["nodes"][number] for number in choice.drawn])
        self._half = self._wording.room / 2 + PAD
        self._boxes = self._wording.boxes()
        self._places = arrange(self._boxes, _GAP)
        right = max(place.x + box.to_right for box, place in zip(self._boxes, self._places, strict=True))
        self.width = max(_LEAST if caption else 0.0, right + 2 * _GAP)
        self._left = (self.width - right) / 2
        self._tops, self._bends = self._levels()
        self._keys = self._class_keys()
        room = (self.width - 2 * _GAP) * _SAFE
        said = self._remarks(digits) if caption else ()
        self._caption = [line for text in said for line in wrap(text, room)]
        self.height = self._tops[-1] + SMALL_LINE * (len(self._keys) + len(self._caption)) + _GAP

    def artists(self) -> Iterator[Any]:
        """Yield all that is to be put on the axes."""
        for box, place in zip(self._boxes, self._places, strict=True):
            x, y = self._left + place.x, self._tops[place.level]
            yield from self._draw_below(box, place, x, y + self._height(box))
            yield from self._draw_beside(box, x, y + _AXLE)
            yield from self._draw_around(box, x, y)
            if box.number is not None:
                yield from self._draw_box(box, self._tree["nodes"][box.number], x, y)
        yield from self._draw_caption(self._tops[-1])

    def _levels(self) -> tuple[list[float], list[float]]:
        """Return where the boxes of each level begin and where branches to them bend; last come the caption's."""
        above, within = defaultdict[int, float](float), defaultdict[int, float](float)
        for box, place in zip(self._boxes, self._places, strict=True):
            height = self._height(box) + (len(box.note) + 0.5) * SMALL_LINE * bool(box.note)
            within[place.level] = max(within[place.level], height, _AXLE + len(box.beside) * SMALL_LINE)
            above[place.level] = max(above[place.level], len(box.condition) * SMALL_LINE)
        tops, bends = [_GAP], [0.0]
        for level in range(len(within)):
            bends.append(tops[-1] + within[level] + _DROP)
            tops.append(bends[-1] + _DROP + above[level + 1])
        return tops, bends

    def _height(self, box: Box) -> float:
        """Return how tall a box is, without what is above and below it."""
        if box.number is None:
            return 0.0
        height = LINE + SMALL_LINE * len(box.counts) + self._paint.height + 3 * PAD
        return height + (LINE + 1.5 * PAD) * bool(box.question) + SMALL_LINE * bool(box.stand_ins)

    def _draw_below(self, box: Box, place: Place, x: float, y: float) -> Iterator[Any]:
        """Yield the branches to the daughters: down, across and down again."""
        for child in box.below:
            to, bend = self._left + self._places[child].x, self._bends[place.level + 1]
            end = self._tops[place.level + 1] - (len(self._boxes[child].condition) + 0.2) * SMALL_LINE
            turn = min(_ROUND, abs(to - x) / 2)
            side = math.copysign(turn, to - x)
            points = [(x, y), (x, bend - turn), (x, bend), (x + side, bend)]
            points += [(to - side, bend), (to, bend), (to, bend + turn), (to, end)]
            line, curve = Path.LINETO, Path.CURVE3
            path = Path(points, [Path.MOVETO, line, curve, curve, line, curve, curve, line])
            yield PathPatch(path, fill=False, edgecolor=TRACE, zorder=1)

    def _draw_beside(self, box: Box, x: float, y: float) -> Iterator[Any]:
        """Yield the third branch: dotted, and no longer than its words if it is not grown."""
        if not box.beside:
            return
        begin, end = x + self._half, x + box.to_right
        look = {"linestyle": ":", "zorder": 1, "gid": f"third-{box.number}"}
        if box.aside is not None:
            end = self._left + self._places[box.aside].x - self._half - _TIP
            look |= {"marker": ">", "markevery": [1], "markersize": 4}
        yield line_to((begin, y), (end, y), TRACE, 1.4, **look)
        first, *others = box.beside
        yield Words(begin + PAD, y - 0.6 * SMALL_LINE, first, ha="left")
        for i, text in enumerate(others):
            yield Words(begin + PAD, y + (0.6 + i) * SMALL_LINE, text, ha="left", alpha=0.75)

    def _draw_around(self, box: Box, x: float, y: float) -> Iterator[Any]:
        """Yield the words above and below a box."""
        for i, text in enumerate(reversed(box.condition)):
            yield Words(x, y - (i + 0.7) * SMALL_LINE, text)
        for i, text in enumerate(box.note):
            yield Words(x, y + self._height(box) + (i + 0.8) * SMALL_LINE, text, alpha=0.75)

    def _draw_box(self, box: Box, node: dict[str, Any], x: float, y: float) -> Iterator[Any]:
        """Yield a box and what is in it, from top to bottom."""
        left, width, style = x - self._half, 2 * self._half, f"round,pad=0,rounding_size={_ROUND}"
        look = {"facecolor": self._paint.fill(node), "edgecolor": TRACE, "linewidth": 0.8}
        yield FancyBboxPatch((left, y), width, self._height(box), style, gid=f"node-{box.number}", **look)
        heading = {"color": INK, "weight": "bold"}
        y += PAD + LINE / 2
        yield Words(x, y, box.value, LARGE, **heading)
        y += LINE / 2
        for text in box.counts:
            yield Words(x, y + SMALL_LINE / 2, text, color=INK)
            y += SMALL_LINE
        y += PAD
        yield from self._paint.responses(node, left + PAD, y, width - 2 * PAD)
        y += self._paint.height + PAD
        if box.question:
            yield line_to((left, y), (left + width, y), TRACE, 0.8)
            y += PAD + LINE / 2
            yield Words(x, y, box.question, LARGE, **heading)
        if box.stand_ins:
            yield Words(x, y + (LINE + SMALL_LINE) / 2, box.stand_ins, color=INK)

    def _class_keys(self) -> list[list[tuple[float, str, str]]]:
        """Return where the colours of the classes are explained: lines of a place, a colour and a class."""
        keys = [(c, as_label(self._tree["classes"][k], WIDEST_LABEL)) for k, c in self._paint.classes.items()]
        n_rest = len(self._tree["classes"] or ()) - len(keys)
        if n_rest:
            keys.append((REST, count(n_rest, "other class", "other classes")))
        lines: list[list[tuple[float, str, str]]] = []
        x = math.inf
        for colour, label in keys:
            room = _GAP + width_of(label)
            if x + room > self.width - _GAP:
                lines.append([])
                x = _GAP
            lines[-1].append((x, colour, label))
            x += room + _GAP
        return lines

    def _remarks(self, digits: int) -> Iterator[str]:
        """Yield what there is to say below the picture."""
        yield headline(self._tree)
        if not self._paint.classes:
            yield self._paint.explained(digits)
        if any(box.beside for box in self._boxes):
            yield f"dotted: third branch, {self._wording.words.third}"
        if any(box.stand_ins for box in self._boxes):
            yield "or: where the value is missing, the first of these columns that is observed decides"
        yield from remarks(self._tree, self._wording.values, self._wording.rules)
        yield from left_out(self._tree, self._choice)

    def _draw_caption(self, y: float) -> Iterator[Any]:
        y += SMALL_LINE / 2
        for keys in self._keys:
            for x, colour, label in keys:
                yield Rectangle((x, y - 0.05), 0.1, 0.1, facecolor=colour, linewidth=0)
                yield Words(x + _GAP, y, label, ha="left")
            y += SMALL_LINE
        for text in self._caption:
            yield Words(_GAP, y + bool(self._keys) * PAD, text, ha="left", alpha=0.85)
            y += SMALL_LINE
