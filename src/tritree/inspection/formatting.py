"""Numbers, names and counts as text, and their width on a terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# digits beyond `digits`, and in total, up to which a decimal is written exactly
_SPARE_DIGITS, _LONGEST_DECIMAL = 6, 12
_FLOAT32_BITS, _FLOAT32_DIGITS = 25, 6  # of a midpoint of two float32, and digits that float32 surely holds
_ALL_DIGITS = 16  # from here on a number is written in full
_LARGE, _SMALL = 15, -5  # powers of ten from which on, and below which, numbers are written with an exponent


class ThresholdFormat:
    """Formats the thresholds of a tree.

    A reader must be able to apply the printed rule, so the text should lie where the threshold does: above the lower
    and not above the upper of the two values it separates. These values are not known here, so:

    - Integers and half-integers are written exactly, whatever their size: they are midpoints of integers (2000.5,
      20,200,101.5).
    - So are decimals with at most 6 digits more than requested (12 in total), up to rounding errors: they are midpoints
      of values with few decimals (10.015; 100.0015), also in float32.
    - Any other threshold is rounded to `digits` significant digits, with at least ``digits // 2`` decimals, ties
      upwards, and with more digits if the result would be a round number (100.0014987 becomes 100.001, not 100).
      `rounded` then becomes True, so that a view can mention it.
    - Rounding moves a threshold by at most 1% of the distance to the next threshold of the same column, so distinct
      thresholds never look equal or change their order.
    """

    def __init__(self, by_column: Mapping[int, Iterable[float]], digits: int) -> None:
        self._sorted = {column: sorted(set(values)) for column, values in by_column.items()}
        self._digits = digits
        #: Whether any formatted threshold has been rounded.
        self.rounded = False

    def text(self, column: int, value: float) -> str:
        """Return the text of a threshold of a column."""
        if self._digits < _ALL_DIGITS:
            room = self._gap(column, value) / 100
            for exact in _exact(value, self._digits):
                if abs(float(exact) - value) <= room:
                    return _decimal_text(exact)
            for near in _rounded(value, self._digits):
                if abs(float(near) - value) <= room:
                    self.rounded = True
                    return _decimal_text(near)
        return _decimal_text(Decimal(repr(value)))

    def _gap(self, column: int, value: float) -> float:
        """Return the distance to the nearest other threshold of the column."""
        known = self._sorted[column]
        i = bisect_left(known, value)
        return min((abs(value - known[j]) for j in (i - 1, i + 1) if 0 <= j < len(known)), default=math.inf)


def _exact(value: float, digits: int) -> Iterator[Decimal]:
    """Yield short decimals that equal a threshold up to rounding errors; most thresholds have none."""
    if abs(value) < 2**63 and (2 * value).is_integer():
        yield Decimal(value)
    short = Decimal(f"{value:.{min(digits + _SPARE_DIGITS, _LONGEST_DECIMAL) - 1}e}")
    # the two decimals and their midpoint are each rounded by up to half a unit in the last place
    if abs(float(short) - value) <= 2 * math.ulp(value):
        yield short
    if (math.frexp(value)[0] * 2**_FLOAT32_BITS).is_integer():
        short = Decimal(f"{value:.{_FLOAT32_DIGITS - 1}e}")
        if abs(float(short) - value) <= abs(value) * 2.0**-24:
            yield short


def _rounded(value: float, digits: int) -> Iterator[Decimal]:
    """Yield the value rounded to more and more digits."""
    # 15 digits remove rounding errors; ties go up, because a threshold may equal only the value above it
    decimal = Decimal(f"{value:.15g}")
    tie = ROUND_HALF_UP if value > 0 else ROUND_HALF_DOWN
    leading = decimal.adjusted()
    fewest = digits - 1 - leading
    if leading < _LARGE:
        fewest = max(fewest, digits // 2)
    for decimals in range(fewest, 15 - leading):
        rounded = decimal.quantize(Decimal(1).scaleb(-decimals), rounding=tie)
        if len(rounded.normalize().as_tuple().digits) > digits // 2:
            yield rounded


def _decimal_text(number: Decimal) -> str:
    """Return the shortest text of a decimal: thousands separators from 10,000 on, exponents far from 1."""
    if not number:
        return "0"
    leading = number.adjusted()
    if _SMALL <= leading < _LARGE:
        plain = f"{number:,f}" if leading >= 4 else f"{number:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa = f"{number.scaleb(-leading):f}"
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{leading}"


def number_format(values: Iterable[float], digits: int) -> Callable[[float], str]:
    """Return a formatter with a common number of decimals: the largest value has `digits` significant digits.

    More decimals are used if the values would look equal, and exponents if the largest value is far from 1.
    """
    known = [value for value in values if math.isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    if largest == 0:
        return lambda value: f"{value:z,.1f}"
    leading = _leading(largest)
    if not _SMALL <= leading < _LARGE:
        return lambda value: _with_exponent(value, digits)
    decimals = digits - 1 - leading
    spread = max(known) - min(known)
    if spread > largest * 1e-9:  # smaller differences are rounding errors
        decimals = max(decimals, min(digits, 3) - 1 - _leading(spread))
    decimals = max(0, decimals)
    return lambda value: f"{value:z,.{decimals}f}"


def _leading(value: float) -> int:
    """Return the decimal exponent of the first digit."""
    return math.floor(math.log10(value))


def _with_exponent(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return "0" if value == 0 else f"{mantissa}e{int(exponent)}"


def as_percent(fraction: float) -> str:
    """Return a fraction in whole percent; only exactly 0 and 1 are written as 0% and 100%."""
    if 0 < fraction < 0.005:
        return "<1%"
    if 0.995 <= fraction < 1:
        return ">99%"
    return f"{fraction:.0%}"


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with the noun it counts: "1 row", "2 rows"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


_LIKE_MISSING = {"nan", "na", "n/a", "<na>", "nat", "none", "null", "missing", "observed"}


def as_label(value: Any, width: int = 20) -> str:
    """Return a category or class, at most `width` wide, quoted if it could be mistaken for something else."""
    text = str(value)
    odd = (
        _is_odd(text)
        or any(char in text for char in ',{}"…')
        or text[0] + text[-1] == "''"
        or text.endswith(" or missing")
        or (isinstance(value, str) and text.lower() in _LIKE_MISSING)
    )
    return _quoted(text, width) if odd else shorten(text, width)


def as_name(value: Any, width: int = 30) -> str:
    """Return the name of a column, at most `width` wide, quoted if part of it would be invisible."""
    text = str(value)
    return _quoted(text, width) if _is_odd(text) else shorten(text, width)


def _is_odd(text: str) -> bool:
    return not text or text != text.strip() or any(_escape(char) != char for char in text if char != "\\")


def _quoted(text: str, width: int) -> str:
    escaped = "".join('\\"' if char == '"' else _escape(char) for char in text)
    return f'"{shorten(escaped, width - 2)}"'


def _escape(char: str) -> str:
    """Return a character, escaped unless it is printable; spaces and joiners of letters are kept."""
    if (char.isprintable() and char != "\\") or char in "\u200c\u200d" or unicodedata.category(char) == "Zs":
        return char
    return char.encode("unicode_escape").decode("ascii")


_NARROW = re.compile("[ -~─-╿●…≤≥]*")  # fast path: lines may be long, and most consist of these


def width_of(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if _NARROW.fullmatch(text):
        return len(text)
    return sum(map(_char_width, unicodedata.normalize("NFC", text)))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return a text padded with spaces to `width`; ``right`` aligns it to the right."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def shorten(text: str, width: int) -> str:
    """Return a text truncated to `width` with an ellipsis."""
    if width_of(text) <= width:
        return text
    taken = 0
    for i, char in enumerate(text):
        taken += _char_width(char)
        if taken >= width:
            return text[:i] + "…"
    return text


def align(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: its first column aligned to the left, the others to the right."""
    widths = [max(map(width_of, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        cells = [pad(cell, width, right=True) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([pad(first, widths[0]), *cells]).rstrip())
    return lines
