"""Excel files (.xlsx), read with openpyxl."""

from __future__ import annotations

import warnings
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.cells import to_text
from tritree.cli.columns import default_names
from tritree.cli.inputs import check_size, close_matches
from tritree.cli.messages import UserError, one_line
from tritree.cli.text_tables import check_width, name_columns
from tritree.errors import list_names

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from pathlib import Path


def read_excel(
    file: Path | io.BytesIO,
    table: str,
    sheet: str | None = None,
    expected_sheet: str | None = None,
    *,
    no_header: bool = False,
    **options: Any,
) -> Any:
    """Return a sheet as pandas reads it with these options."""
    with _excel_errors(table):
        with zipfile.ZipFile(file) as archive:
            check_size(sum(part.file_size for part in archive.infolist()), table)
        with pd.ExcelFile(file, engine="openpyxl") as book:
            sheet = _find_sheet([str(name) for name in book.sheet_names], table, sheet, expected_sheet)
            n_blank = _count_blank_rows(book.book[sheet])
            if n_blank is None:
                raise UserError(f"sheet {sheet!r} of {table} is empty; name another one with --sheet")
            options |= {"sheet_name": sheet, "skiprows": n_blank}
            first = pd.read_excel(
                book, **options | {"header": None, "nrows": 1, "dtype": object, "na_filter": False}
            )
            cells = ["" if pd.isna(cell) else str(cell) for cell in first.iloc[0]]
            names = default_names(len(cells)) if no_header else name_columns(cells, table)
            frame = pd.read_excel(book, header=None if no_header else 0, names=names, **options)
    check_width(frame, names, table, has_header=not no_header)
    for name in names:  # text among numbers makes a column text, as in CSV
        if pd.api.types.infer_dtype(frame[name], skipna=True).startswith("mixed"):
            frame[name] = to_text(frame[name])
    return frame


def _count_blank_rows(sheet: Any) -> int | None:
    """Return the number of blank rows above the table; None if all rows are blank."""
    rows = enumerate(sheet.iter_rows(values_only=True))
    return next((number for number, cells in rows if any(cell not in (None, "") for cell in cells)), None)


@contextmanager
def _excel_errors(table: str) -> Iterator[None]:
    """Raise errors of reading an Excel file as UserErrors, and ignore openpyxl's warnings about styles and the like."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="openpyxl")
            yield
    except ImportError:
        raise UserError(
            "Excel files need openpyxl, which is not installed: pip install 'tritree[excel]'"
        ) from None
    except (UserError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged file makes openpyxl raise
        raise UserError(
            f"{table} is not an Excel file (.xlsx), or a damaged one ({one_line(error)})"
        ) from error


def _find_sheet(sheets: list[str], table: str, given: str | None, expected: str | None) -> str:
    """Return the sheet to read: the one that is given, that of the training table if there is one, else the first."""
    if given is not None and given not in sheets:
        similar = close_matches(given, sheets)
        hint = f"did you mean {list_names(similar)}?" if similar else f"it has {list_names(sheets)}"
        raise UserError(f"there is no sheet {given!r} in {table}; {hint}")
    if given is not None or expected in sheets:
        return str(given or expected)
    if len(sheets) > 1:
        others = list_names(sheets[1:])
        warnings.warn(
            f"{table} has {len(sheets)} sheets, of which the first, {sheets[0]!r}, is read; --sheet names another one "
            f"({others})",
            stacklevel=2,
        )
    return sheets[0]
