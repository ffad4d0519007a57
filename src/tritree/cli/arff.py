"""ARFF files, Weka's format: dense or sparse rows of numeric, nominal, text and date attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.advice import unescape
from tritree.cli.messages import UserError
from tritree.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: A name or a value: in quotes of either kind, with escapes, or plain.
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)", re.IGNORECASE)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")
_SPARSE_VALUE = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]*?)\s*(?:,|$)")
_NUMERIC, _TEXT = ("numeric", "real", "integer"), ("string", "date")


@dataclass(frozen=True, slots=True)
class _Attribute:
    name: str
    is_numeric: bool
    #: The value that sparse rows leave out.
    default: str


def is_arff(begin: bytes) -> bool:
    """Return whether a file that begins with these bytes is an ARFF file."""
    lines = begin.removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"%")), b"")
    return first.strip().lower().startswith(b"@relation")


def read_arff(lines: Iterable[str], table: str, na: Iterable[str] = ()) -> Any:
    """Return the table in an ARFF file as a frame; ? and the texts ``na`` are missing."""
    contents = _contents(lines)
    attributes = _read_header(contents, table)
    rows = [_parse_row(text, attributes, table, number) for number, text in contents]
    columns, missing = {}, set(na)
    for attribute, cells in zip(
        attributes, zip(*rows, strict=True) if rows else [()] * len(attributes), strict=True
    ):
        column = pd.Series([None if cell in missing else cell for cell in cells], dtype=object)
        columns[attribute.name] = (
            _to_numbers(column, attribute.name, table) if attribute.is_numeric else column
        )
    return pd.DataFrame(columns)


def _contents(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Return the lines that are neither blank nor comments, with their numbers."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("%"):
            yield number, text


def _read_header(contents: Iterator[tuple[int, str]], table: str) -> list[_Attribute]:
    attributes: dict[str, _Attribute] = {}
    for number, text in contents:
        keyword = text.split()[0].lower()
        if keyword == "@data":
            break
        if keyword == "@relation":
            continue
        match = _ATTRIBUTE.fullmatch(text)
        if match is None:
            raise _error(table, number, f"{shortened(text, 40)}, which is neither @attribute nor @data")
        name = str(_unquote(match[1]))
        if name in attributes:
            raise UserError(f"{table} has two columns named {name!r}; rename one of them")
        attributes[name] = _parse_type(name, match[2], table)
    if not attributes:
        raise UserError(f"{table} is not an ARFF file: it has no @attribute")
    return list(attributes.values())


def _parse_type(name: str, text: str, table: str) -> _Attribute:
    if text.startswith("{"):
        first = _VALUE.match(text[1:].rstrip("} "))
        return _Attribute(name, False, str(_unquote(first[1])) if first else "")
    keyword = text.split()[0].lower()
    if keyword not in _NUMERIC + _TEXT:
        raise UserError(
            f"column {name!r} of {table} is of type {keyword!r}, which cannot be read; remove it, or save the table as "
            "CSV"
        )
    return _Attribute(name, keyword in _NUMERIC, "0")


def _parse_row(text: str, attributes: list[_Attribute], table: str, number: int) -> list[str | None]:
    if text.startswith("{"):
        return _parse_sparse(text, attributes, table, number)
    cells, at = [], 0
    while at < len(text) and (match := _VALUE.match(text, at)):
        cells.append(_unquote(match[1]))
        at = match.end()
    if text.endswith(","):
        cells.append("")
    if at < len(text) or len(cells) != len(attributes):
        raise _error(table, number, f"{len(cells)} values, where there are {len(attributes)} attributes")
    return cells


def _parse_sparse(text: str, attributes: list[_Attribute], table: str, number: int) -> list[str | None]:
    """Return a row of which only the values other than 0, or than the first category, are listed."""
    cells: list[str | None] = [attribute.default for attribute in attributes]
    inside, at = text[1:-1].strip(), 0
    while at < len(inside):
        match = _SPARSE_VALUE.match(inside, at)
        if match is None or not text.endswith("}") or int(match[1]) >= len(cells):
            raise _error(table, number, f"{shortened(text, 40)}, which is not a sparse row")
        cells[int(match[1])], at = _unquote(match[2]), match.end()
    return cells


def _unquote(text: str) -> str | None:
    """Return a value without its quotes; None for ?, which is a missing value unless it is in quotes."""
    if text[:1] in ("'", '"') and len(text) > 1:
        return unescape(re.sub(r"\\(['\"%])", r"\1", text[1:-1]))
    return None if text == "?" else text


def _to_numbers(cells: Any, name: str, table: str) -> Any:
    numbers = pd.to_numeric(cells, errors="coerce")
    invalid = numbers.isna() & cells.notna()
    if invalid.any():
        row = int(invalid.to_numpy().argmax())
        raise UserError(
            f"column {name!r} of {table} is numeric, but holds {shortened(cells[row], 40)} in row {row}; correct it"
        )
    return numbers.astype(float) if numbers.dtype == object else numbers


def _error(table: str, line: int, problem: str) -> UserError:
    return UserError(f"{table} is not an ARFF file: line {line} has {problem}")
