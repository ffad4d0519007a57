"""Text of a figure: measured, truncated and wrapped to fit, and scaled with the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGE, SMALL = 8.5, 7.5  # font sizes in points
LINE, SMALL_LINE = 0.155, 0.135  # heights of their lines in inches


class ScaledText(Text):  # type: ignore[misc]
    """Text whose size follows the axes: it fits its box in any figure, and grows with zooming."""

    def __init__(self, x: float, y: float, text: str, points: float = SMALL, **style: Any) -> None:
        look = {"ha": "center", "va": "center", "color": mpl.rcParams["text.color"], "clip_on": True} | style
        # names are not formulas, whatever characters they contain
        super().__init__(x, y, text, fontsize=points, parse_math=False, usetex=False, **look)
        self._points = points

    def _fit(self) -> float:
        (left, _), (right, _) = self.axes.transData.transform([(0, 0), (1, 0)])
        points = self._points * abs(right - left) / self.figure.dpi
        self.set_fontsize(max(points, 1.0))
        return float(points)

    def draw(self, renderer: Any) -> None:
        """Draw the text, unless it is too small to be visible."""
        if self._fit() >= 1:
            super().draw(renderer)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Any:
        """Return the extent of the text in pixels."""
        self._fit()
        return super().get_window_extent(renderer, dpi)


def width_of(text: str, points: float = SMALL, weight: str = "normal") -> float:
    """Return the width of a text in inches."""
    font = FontProperties(size=points, weight=weight)
    # hinted glyphs are a little wider
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0]) * 1.03 / 72


def widest(texts: Sequence[str]) -> float:
    """Return the width of the widest text."""
    return max(map(width_of, texts), default=0.0)


def truncate(text: str, width: float) -> str:
    """Return a heading truncated to a width in inches."""
    for n in range(len(text), 0, -1):
        short = text[:n] + "…" * (n < len(text))
        if width_of(short, LARGE, "bold") <= width:
            return short
    return "…"


def wrap(text: str, width: float) -> list[str]:
    """Return a text in lines of at most a width in inches, broken between words, or within long ones."""
    if width_of(text) <= width:
        return [text] if text else []
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if width_of(longer) <= width:
            lines[-1] = longer
            continue
        while width_of(word) > width:
            n = next((n for n in range(2, len(word)) if width_of(word[:n]) > width), 2) - 1
            lines.append(word[:n])
            word = word[n:]
        lines.append(word)
    return [line for line in lines if line]
