"""Columns of a table named on the command line: by name, in lists, by pattern, or by position if there is no header."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tritree.cli.advice import unescape
from tritree.cli.inputs import close_matches
from tritree.cli.messages import UserError
from tritree.cli.sniffing import looks_like_data
from tritree.errors import list_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def default_names(n_columns: int) -> list[str]:
    """Return the names of the columns of a table without a header."""
    return [f"x{position}" for position in range(n_columns)]


def find_column(name: str, columns: Sequence[str], table: str) -> str:
    """Return the column with a name, or raise a UserError that names columns with a similar one.

    Of a table without a header, a column may also be named by its position; -1 is the last one.
    """
    if name in columns:
        return name
    if (unescaped := unescape(name)) in columns:  # names may span lines
        return unescaped
    if list(columns) == default_names(len(columns)) and re.fullmatch(r"-?\d{1,6}", name):
        if -len(columns) <= int(name) < len(columns):
            return columns[int(name)]
        raise UserError(
            f"there is no column {name} in {table}; its columns are 0 to {len(columns) - 1}, or 'x0' to {columns[-1]!r}"
        )
    similar = close_matches(name, columns)
    hint = f"did you mean {list_names(similar)}?" if similar else f"it has {list_names(columns)}"
    if looks_like_data(columns):
        hint += "; if the first row is data, add --no-header"
    raise UserError(f"there is no column {name!r} in {table}; {hint}")


def select_columns(option: str, texts: Sequence[str] | None, columns: Sequence[str], table: str) -> list[str]:
    """Return the columns that the values of an option name: a name, a pattern, or several of them with commas between.

    A text that is the name of a column means this column, whatever is in it.
    """
    found: dict[str, None] = {}
    for text in texts or ():
        parts = [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
        for part in parts or [text]:
            found |= dict.fromkeys(_select(option, part, columns, table))
    return list(found)


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern of names."""
    return any(sign in text for sign in "*?[")


def _select(option: str, text: str, columns: Sequence[str], table: str) -> list[str]:
    if text in columns or not is_pattern(text):
        return [find_column(text, columns, table)]
    if matches := [name for name in columns if fnmatchcase(name, text)]:
        return matches
    raise UserError(
        f"{option} {text!r} matches no column of {table}; correct the pattern, or leave it out (it has "
        f"{list_names(columns)})"
    )
