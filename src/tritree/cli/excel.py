"""Excel files (.xlsx), read with openpyxl."""

from __future__ import annotations

import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import pandas as pd

from tritree.cli.cells import to_text
from tritree.cli.columns import default_names
from tritree.cli.inputs import check_size, close_matches
from tritree.cli.messages import UserError, one_line
from tritree.cli.text_tables import name_columns
from tritree.errors import list_names

if TYPE_CHECKING:
    import io
    from pathlib import Path

    from tritree.cli.options import TableFormat


def read_excel(
    file: Path | io.BytesIO, table: str, table_format: TableFormat, expected_sheet: str | None, **options: Any
) -> Any:
    """Return a sheet as pandas reads it with these options."""
    try:
        with zipfile.ZipFile(file) as archive:
            check_size(sum(part.file_size for part in archive.infolist()), table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of openpyxl, about styles and the like
            book = pd.ExcelFile(file, engine="openpyxl")
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
    with book:
        sheet = _find_sheet(
            [str(name) for name in book.sheet_names], table, table_format.sheet, expected_sheet
        )
        first = book.parse(sheet, header=None, nrows=1, dtype=object, na_filter=False)
        if not len(first.columns):
            raise UserError(f"sheet {sheet!r} of {table} is empty; name another one with --sheet")
        cells = ["" if pd.isna(cell) else str(cell) for cell in first.iloc[0]]
        if not any(cells) and not table_format.no_header:
            raise UserError(
                f"the first row of {table} is empty; delete the rows above the one that has the names of columns"
            )
        names = default_names(len(cells)) if table_format.no_header else name_columns(cells, table)
        frame = book.parse(sheet, header=None if table_format.no_header else 0, names=names, **options)
    for name in names:  # text among numbers makes a column text, as in CSV
        if pd.api.types.infer_dtype(frame[name], skipna=True).startswith("mixed"):
            frame[name] = to_text(frame[name])
    return frame


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
