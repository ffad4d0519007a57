"""Words in a figure: how wide they are, cut and wrapped to the room there is, drawn to scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LARGE", "LINE", "SMALL", "SMALL_LINE", "Words", "cut", "widest", "width_of", "wrap"]

LARGE, SMALL = 8.5, 7.5  # points of letters
LINE, SMALL_LINE = 0.155, 0.135  # inches of their lines


class Words(Text):  # type: ignore[misc]
    """A text whose size follows the picture: it fits its box in any axes, and grows when one zooms in."""

    def __init__(self, x: float, y: float, text: str, points: float = SMALL, **style: Any) -> None:
        look = {"ha": "center", "va": "center", "color": mpl.rcParams["text.color"], "clip_on": True} | style
        # names are not formulas, whatever signs they have
        super().__init__(x, y, text, fontsize=points, parse_math=False, usetex=False, **look)
        self._points = points

    def _fit(self) -> float:
        (left, _), (right, _) = self.axes.transData.transform([(0, 0), (1, 0)])
        points = self._points * abs(right - left) / self.figure.dpi
        self.set_fontsize(max(points, 1.0))
        return float(points)

    def draw(self, renderer: Any) -> None:
        """Draw the text, unless it is too small to be seen."""
        if self._fit() >= 1:
            super().draw(renderer)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Any:
        """Return where the text is, in pixels."""
        self._fit()
        return super().get_window_extent(renderer, dpi)


def width_of(text: str, points: float = SMALL, weight: str = "normal") -> float:
    """Return how wide a text is, in inches."""
    font = FontProperties(size=points, weight=weight)
    # letters that are fitted to pixels are a little wider
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0]) * 1.03 / 72


def widest(texts: Sequence[str]) -> float:
    """Return how wide the widest of some texts is."""
    return max(map(width_of, texts), default=0.0)


def cut(text: str, room: float) -> str:
    """Return as much of a heading as there is room for."""
    for n in range(len(text), 0, -1):
        short = text[:n] + "…" * (n < len(text))
        if width_of(short, LARGE, "bold") <= room:
            return short
    return "…"


def wrap(text: str, room: float) -> list[str]:
    """Return a text in lines that there is room for, parted between words, or within one that is too long."""
    if width_of(text) <= room:
        return [text] if text else []
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if width_of(longer) <= room:
            lines[-1] = longer
            continue
        while width_of(word) > room:
            n = next((n for n in range(2, len(word)) if width_of(word[:n]) > room), 2) - 1
            lines.append(word[:n])
            word = word[n:]
        lines.append(word)
    return [line for line in lines if line]
