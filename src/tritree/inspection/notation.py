"""How views write numbers and names, and how wide these are on a terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Thresholds", "as_label", "as_name", "as_percent", "number_format", "pad", "shorten", "width_of"]

_SPARE_DIGITS, _LONGEST_DECIMAL = (
    6,
    12,
)  # digits beyond `digits`, and in all, that a decimal may have to be kept
_FLOAT32_BITS, _FLOAT32_DIGITS = 25, 6  # of a midpoint of two float32, and digits that float32 surely holds
_ALL_DIGITS = 16  # from here on a number is written in full
_LARGE, _SMALL = 15, -5  # powers of ten from which on, and below which, numbers are written with an exponent


class Thresholds:
    """The thresholds of a tree as text.

    A reader must be able to follow the printed rule, so the text should lie where the threshold does: above the
    lower and not above the upper of the two values it was put between. These are not known here, so:

    - A whole number and a whole number and a half are written in full, whatever their size: they are the midpoints
      of whole numbers (2000.5, 20,200,101.5).
    - So is a number that is a decimal of at most 6 digits more than asked for (12 in all), up to rounding noise: the
      midpoint of values with few decimals (10.015; 100.0015), of float32 too.
    - Anything else was measured or computed to many digits, and is rounded: to `digits` significant digits, with no
      less than ``digits // 2`` decimals, a tie upwards, and further if a round number would come out (100.0014987
      is 100.001, not 100). `rounded` then turns true, so that a view can say so.
    - However near the next threshold of the same column is, rounding moves a threshold by at most 1 % of the way
      there. So different thresholds never look the same or change their order.
    """

    def __init__(self, by_column: Mapping[int, Iterable[float]], digits: int) -> None:
        self._sorted = {column: sorted(set(values)) for column, values in by_column.items()}
        self._digits = digits
        #: Whether a threshold that was asked for has been rounded.
        self.rounded = False

    def text(self, column: int, value: float) -> str:
        """Return a threshold as text."""
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
        """Return how far away the next threshold of the column is."""
        known = self._sorted[column]
        i = bisect_left(known, value)
        return min((abs(value - known[j]) for j in (i - 1, i + 1) if 0 <= j < len(known)), default=math.inf)


def _exact(value: float, digits: int) -> Iterator[Decimal]:
    """Yield the decimals that a threshold stands for, up to rounding noise; most numbers stand for none."""
    if abs(value) < 2**63 and (2 * value).is_integer():
        yield Decimal(value)
    short = Decimal(f"{value:.{min(digits + _SPARE_DIGITS, _LONGEST_DECIMAL) - 1}e}")
    # the midpoint of two decimals is off by half a unit each for them and for itself
    if abs(float(short) - value) <= 2 * math.ulp(value):
        yield short
    if (math.frexp(value)[0] * 2**_FLOAT32_BITS).is_integer():
        short = Decimal(f"{value:.{_FLOAT32_DIGITS - 1}e}")
        if abs(float(short) - value) <= abs(value) * 2.0**-24:
            yield short


def _rounded(value: float, digits: int) -> Iterator[Decimal]:
    """Yield the value rounded, to more digits each time."""
    # 15 digits free it of rounding noise; a tie goes up, because a threshold may equal its upper neighbour only
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
    """Return the shortest text of a decimal: thousands apart from 10,000 on, an exponent where it is far from 1."""
    if not number:
        return "0"
    leading = number.adjusted()
    if _SMALL <= leading < _LARGE:
        plain = f"{number:,f}" if leading >= 4 else f"{number:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa = f"{number.scaleb(-leading):f}"
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{leading}"


def number_format(values: Iterable[float], digits: int) -> Callable[[float], str]:
    """Return how to write the numbers of a column: all alike, the largest with that many significant digits.

    They get more decimals if they would look the same otherwise, and exponents if the largest is far from 1.
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
    if spread > largest * 1e-9:  # less is rounding noise
        decimals = max(decimals, min(digits, 3) - 1 - _leading(spread))
    decimals = max(0, decimals)
    return lambda value: f"{value:z,.{decimals}f}"


def _leading(value: float) -> int:
    """Return the power of ten of the first digit."""
    return math.floor(math.log10(value))


def _with_exponent(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return "0" if value == 0 else f"{mantissa}e{int(exponent)}"


def as_percent(share: float) -> str:
    """Return a share in whole percent; what is not quite nothing or all does not look like it."""
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


_LIKE_MISSING = {"nan", "na", "n/a", "<na>", "nat", "none", "null", "missing", "observed"}


def as_label(value: Any, width: int) -> str:
    """Return a category or class at most that wide, in quotes if it could be mistaken for something else."""
    text = str(value)
    odd = (
        _is_odd(text)
        or any(sign in text for sign in ',{}"…')
        or text[0] + text[-1] == "''"
        or text.endswith(" or missing")
        or (isinstance(value, str) and text.lower() in _LIKE_MISSING)
    )
    return _quoted(text, width) if odd else shorten(text, width)


def as_name(value: Any, width: int) -> str:
    """Return the name of a column at most that wide, in quotes if part of it could not be seen."""
    text = str(value)
    return _quoted(text, width) if _is_odd(text) else shorten(text, width)


def _is_odd(text: str) -> bool:
    return not text or text != text.strip() or any(_escape(sign) != sign for sign in text if sign != "\\")


def _quoted(text: str, width: int) -> str:
    escaped = "".join('\\"' if sign == '"' else _escape(sign) for sign in text)
    return f'"{shorten(escaped, width - 2)}"'


def _escape(sign: str) -> str:
    """Return a character as it is if it can be seen and keeps its line; spaces and joiners of letters are fine."""
    if (sign.isprintable() and sign != "\\") or sign in "\u200c\u200d" or unicodedata.category(sign) == "Zs":
        return sign
    return sign.encode("unicode_escape").decode("ascii")


_NARROW = re.compile("[ -~─-╿●…≤≥]*")  # what most lines are made of, told at once because they may be long


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if _NARROW.fullmatch(text):
        return len(text)
    return sum(map(_sign_width, unicodedata.normalize("NFC", text)))


def _sign_width(sign: str) -> int:
    if unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return a text filled with spaces to that width; ``right`` puts it to the right."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def shorten(text: str, width: int) -> str:
    """Return a text at most that wide, its end left out if need be."""
    if width_of(text) <= width:
        return text
    taken = 0
    for i, sign in enumerate(text):
        taken += _sign_width(sign)
        if taken >= width:
            return text[:i] + "…"
    return text
