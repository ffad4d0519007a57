"""The separators of a text table, found in its first rows."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Separators that are looked for.
SEPARATORS = ",;\t|"
#: Number of characters at the beginning of a table, and of rows in them, that are looked at.
SAMPLE = 1 << 20
_MAX_ROWS = 100

_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
#: 1,234 may be 1.234 or 1234.
_AMBIGUOUS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a text table."""

    text: str
    #: Whether it is the whole table.
    is_whole: bool

    def rows(self, separator: str) -> list[list[str]]:
        """Return the first rows, the header included, without blank lines and without one that is cut off."""
        lines = csv.reader(io.StringIO(self.text, newline=""), delimiter=separator)
        rows: list[list[str]] = []
        try:
            rows.extend(islice(filter(None, lines), _MAX_ROWS + 1))
        except csv.Error:  # a cell of more characters than csv allows
            return rows
        is_cut = not self.is_whole and len(rows) <= _MAX_ROWS
        return rows[:-1] if is_cut else rows[:_MAX_ROWS]

    def find_separator(self, expected: str) -> str | None:
        """Return the separator with which all rows have the same number of cells, at least 2; None if there is none.

        If there are several, the one that makes most columns; the expected one if they make as many.
        """
        best, most = None, 1
        for separator in dict.fromkeys(expected + SEPARATORS):
            numbers = {len(row) for row in self.rows(separator)}
            if len(numbers) == 1 and (n_columns := numbers.pop()) > most:
                best, most = separator, n_columns
        return best

    def find_decimal(self, separator: str) -> str | None:
        """Return the decimal separator of the numbers; None if there are none with decimals, or with both signs.

        Commas are not looked for where they separate columns: there, numbers with a decimal comma are in quotes.
        """
        cells = [cell for row in self.rows(separator) for cell in row]
        has_points = any(map(_WITH_POINT.fullmatch, cells))
        has_commas = separator != "," and any(
            _WITH_COMMA.fullmatch(cell) and not _AMBIGUOUS.fullmatch(cell) for cell in cells
        )
        return None if has_points == has_commas else "." if has_points else ","


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")


def looks_like_data(header: Sequence[str]) -> bool:
    """Return whether a header has only numbers, or mostly numbers of which some have decimals."""
    n_numbers = sum(map(is_number, header))
    return n_numbers == len(header) or (
        2 * n_numbers > len(header) and any(map(_WITH_POINT.fullmatch, header))
    )


def looks_like_several_columns(name: str, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the rows of a table of one column all have as many words, at least 2, as its name."""
    n_words = len(name.split())
    return n_words > 1 and len(rows) > 1 and {len(row[0].split()) for row in rows} == {n_words}
