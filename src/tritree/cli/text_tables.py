"""Tables as text: separators that are given or found, names from the header, cells parsed by pandas."""

from __future__ import annotations

import codecs
import io
import warnings
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.advice import advise
from tritree.cli.columns import default_names
from tritree.cli.messages import UserError
from tritree.cli.sniffing import (
    SAMPLE,
    SEPARATORS,
    Sample,
    is_number,
    looks_like_data,
    looks_like_several_columns,
)
from tritree.errors import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from tritree.cli.inputs import LimitedFile
    from tritree.cli.options import TableFormat

#: Name of a column that has none, by its number.
UNNAMED = "Unnamed: {}"
UTF_8 = "utf-8"


class TextTable:
    """A table as text. ``expected`` has the separators that its name implies, and the options of the training table."""

    def __init__(
        self,
        name: str,
        open_file: Callable[[str], AbstractContextManager[LimitedFile]],
        table_format: TableFormat,
        expected: Mapping[str, Any],
    ) -> None:
        self.name, self._format = name, table_format
        encoding = table_format.encoding or expected.get("encoding", UTF_8)
        # a byte order mark, which some programs write, is not part of the first name
        self._encoding = "utf-8-sig" if encoding.lower() in (UTF_8, "utf8") else encoding
        self._open, self._expected_no_header = partial(open_file, encoding), expected.get("no_header")
        self._sample = self._read_sample()
        if table_format.encoding is None and "encoding" in expected:
            self._warn_of_encoding(encoding)
        self.separator, self.decimal = self._find_separators(expected)

    # ---- the first rows

    def _read_sample(self) -> Sample:
        with self._open() as file:
            data = file.read(SAMPLE)
            is_whole = len(data) < SAMPLE
            text = codecs.getincrementaldecoder(self._encoding)().decode(data, final=is_whole)
        return Sample(text, is_whole)

    def _warn_of_encoding(self, encoding: str) -> None:
        """Warn if the training table was not in UTF-8 and this one, by its first rows, is."""
        with self._open() as file:
            data = file.read(SAMPLE)
        try:
            is_utf_8 = not codecs.getincrementaldecoder(UTF_8)().decode(data).isascii()
        except UnicodeError:
            is_utf_8 = False
        if is_utf_8:
            warnings.warn(
                f"{self.name} is read in {encoding}, as the training table was, but looks like {UTF_8}; if it is, add "
                f"--encoding {UTF_8}",
                stacklevel=2,
            )

    def _find_separators(self, expected: Mapping[str, Any]) -> tuple[str, str]:
        """Return the separator of columns and that of decimals; say so if they are not the expected ones."""
        separator = self._format.separator or self._sample.find_separator(expected["separator"])
        decimal = self._format.decimal
        if separator is None:
            self._question_separator(expected["separator"])
            return expected["separator"], decimal or expected.get("decimal", ".")
        if decimal is None:
            decimal = self._sample.find_decimal(separator) or expected.get("decimal", ".")
        found = []
        if self._format.separator is None and separator != expected["separator"]:
            found.append(advise("--separator", separator))
        if self._format.decimal is None and decimal != expected.get("decimal", "."):
            found.append(advise("--decimal", decimal))
        if found:
            warnings.warn(
                f"{self.name} is read with {' '.join(found)} (found in its first rows; name others if that is wrong)",
                stacklevel=2,
            )
        return separator, decimal

    def _question_separator(self, separator: str) -> None:
        """Raise a UserError if a table of one column has a separator in its name, and warn if it may have more."""
        rows = self._sample.rows(separator)
        if not rows or len(rows[0]) != 1:
            return
        [name] = rows[0]
        other = next((sign for sign in SEPARATORS if sign != separator and sign in name), None)
        if other is not None:
            raise UserError(
                f"{self.name} has one column, {name!r}; name its separator: {advise('--separator', other)}"
            )
        if looks_like_several_columns(name, rows):
            warnings.warn(
                f"{self.name} has one column, {name!r}; if it has several, name their separator, such as --separator "
                "space",
                stacklevel=2,
            )

    # ---- the table

    def read(self, **options: Any) -> Any:
        """Return the table as pandas reads it with these options."""
        options |= {"sep": self.separator, "decimal": self.decimal, "encoding": self._encoding}
        first = options | {"header": None, "nrows": 1, "dtype": str, "na_filter": False}
        cells = [str(cell) for cell in self._parse(first).iloc[0]]
        has_header = self._has_header(cells)
        names = name_columns(cells, self.name) if has_header else default_names(len(cells))
        # else pandas makes up names, such as x.1
        frame = self._parse(options | {"header": 0 if has_header else None, "names": names})
        check_width(frame, names, self.name, has_header=has_header)
        return frame

    def _has_header(self, cells: list[str]) -> bool:
        """Return whether the first row has the names of columns; warn if it probably has not."""
        if self._format.no_header is not None:
            return not self._format.no_header
        if self._expected_no_header:
            return "x0" in cells  # a table that was written with the names of such columns
        if looks_like_data(cells):
            warnings.warn(
                f"the first row of {self.name}, which should have the names of columns, has numbers; if it is data, "
                "add --no-header",
                stacklevel=2,
            )
        return True

    def _parse(self, options: dict[str, Any]) -> Any:
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions round correctly
            options["float_precision"] = "round_trip"
        with self._open() as file:
            return pd.read_csv(io.BufferedReader(file), **options)


def name_columns(cells: list[str], table: str) -> list[str]:
    """Return the names of columns that a header has, with others for those that have none."""
    names = [cell or UNNAMED.format(number) for number, cell in enumerate(cells)]
    check_unique(names, table)
    return names


def check_width(frame: Any, names: list[str], table: str, *, has_header: bool) -> None:
    """Raise a UserError if rows have more cells than there are names; pandas makes an index of the first ones."""
    if frame.index.nlevels == 1 and frame.index.equals(pd.RangeIndex(len(frame))):
        return
    if has_header:
        raise UserError(
            f"{table} has rows with more cells than the header has names ({list_names(names)}); complete the header"
        )
    raise UserError(
        f"{table} has rows with more cells than the first row, which has {len(names)}; complete it"
    )


def check_unique(names: list[str], table: str) -> None:
    """Raise a UserError if two columns have the same name."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        hint = ", or add --no-header if the first row is data" if is_number(twice) else ""
        raise UserError(f"{table} has two columns named {twice!r}; rename one of them{hint}")
