"""Missing values of a table: per column, by pattern, and which columns are missing together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import ColumnType, TypedColumn, is_missing, read_column
from tritree.errors import ColumnError
from tritree.table import read_table
from tritree.validation import check_int

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.table import RawColumn, Table

_WORD = 64  # columns per word of a bit set
_MAX_CORRELATED = 200  # columns with correlations, whose number grows with the square
_BLOCK = 4096  # patterns unpacked at a time


def plot_missing(table: Any, ax: Any = None, *, max_patterns: int = 20, max_columns: int = 30) -> Any:
    """Plot the missing values of a table: patterns, fractions per column, and which columns are missing together.

    Needs matplotlib (``pip install tritree[plot]``).

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. The same cells are
        missing as for the estimators; columns that these refuse, such as dates, are allowed.
    ax : matplotlib Axes, default=None
        Area to draw in; it is divided into panels. If None, a new figure is created.
    max_patterns : int, default=20
        Maximum number of patterns drawn, the most frequent ones.
    max_columns : int, default=30
        Maximum number of columns drawn, those with the most missing values. Complete columns are not drawn.

    Returns
    -------
    matplotlib Axes
        The area. Its ``child_axes`` are the panels.

    Examples
    --------
    >>> import tritree
    >>> ax = tritree.plot_missing([[1.0, None], [2.0, 3.0], [None, None]])  # doctest: +SKIP
    >>> ax.figure.savefig("missing.png")  # doctest: +SKIP
    """
    from tritree.inspection.axes import check_axes
    from tritree.inspection.missing_plot import draw_missing

    check_int("max_patterns", max_patterns, 1)
    check_int("max_columns", max_columns, 1)
    check_axes(ax)
    return draw_missing(summarise_missing(table, max_patterns=max_patterns), ax, max_columns)


def summarise_missing(table: Any, *, max_patterns: int | None = 100) -> dict[str, Any]:
    """Return a summary of the missing values of a table as plain data.

    ``rows`` is the number of rows; ``columns`` has the ``name`` and the number of ``missing`` cells of each column. A
    pattern is the set of columns that are missing in a row: ``n_patterns`` is the number of distinct patterns,
    ``patterns`` lists the most frequent ones with their ``rows`` and the positions of their ``columns``; ties go to the
    pattern with fewer missing cells. ``together`` has the positions of ``columns`` that are missing in some rows but
    not in all (the 200 with the most missing values), and the ``correlation`` of their missingness indicators.
    """
    read = read_table(table)
    names = read.feature_names or [f"x{j}" for j in range(read.n_columns)]
    missing = np.zeros(read.n_columns, dtype=np.int64)
    # a bit per cell, in whole words: columns first, because they are read one by one
    bits = np.zeros((-(-read.n_columns // _WORD) * 8, read.n_rows), dtype=np.uint8)
    for position in range(read.n_columns):
        cells = missing_cells(read_any_column(read, position))
        missing[position] = np.count_nonzero(cells)
        bits[position // 8] |= cells.astype(np.uint8) << (position % 8)
    patterns, rows = _patterns(np.ascontiguousarray(bits.T).view("<u8"), max(1, read.n_rows))
    together = _together(patterns, rows, missing)
    return {
        "rows": read.n_rows,
        "columns": [
            {"name": name, "missing": int(count)} for name, count in zip(names, missing, strict=True)
        ],
        "n_patterns": len(rows),
        "patterns": [
            {"rows": int(count), "columns": np.flatnonzero(_bits(pattern[None])[0]).tolist()}
            for pattern, count in zip(patterns[:max_patterns], rows[:max_patterns], strict=True)
        ],
        "together": together,
    }


def read_any_column(table: Table, position: int) -> TypedColumn | RawColumn:
    """Return a column, unparsed if the estimators refuse it, such as dates and lists."""
    raw = table.column(position)
    try:
        return read_column(raw, table.name(position))
    except ColumnError:
        return raw


def missing_cells(column: TypedColumn | RawColumn) -> NDArray[np.bool_]:
    """Return which cells of a column are missing."""
    if not isinstance(column, TypedColumn):
        return _missing_cells_unparsed(column.values, coded=column.labels is not None)
    if column.type is ColumnType.EMPTY:
        return np.ones(len(column.values), dtype=bool)
    missing: NDArray[np.bool_] = (
        column.values < 0 if column.type is ColumnType.TEXT else np.isnan(column.values)
    )
    return missing


def _missing_cells_unparsed(values: NDArray[Any], *, coded: bool) -> NDArray[np.bool_]:
    if coded:
        return np.asarray(values < 0)
    if values.dtype.kind in "Mm":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=len(values))
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values).reshape(len(values), -1).all(axis=1))  # elements may be vectors
    return np.zeros(len(values), dtype=bool)


def _patterns(words: NDArray[np.uint64], n_rows: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct rows of words and how often they occur, most frequent first, then fewest missing cells."""
    number = np.zeros(n_rows, dtype=np.int64)
    for word in words.T:
        _, of_word = np.unique(word, return_inverse=True)
        _, number = np.unique(number * n_rows + of_word, return_inverse=True)
    _, first, rows = np.unique(number, return_index=True, return_counts=True)
    patterns = words[first]
    n_missing = sum(_bits(patterns[:, k : k + 1]).sum(axis=1) for k in range(words.shape[1]))
    order = np.lexsort((*patterns.T[::-1], n_missing, -rows))
    return patterns[order], rows[order]


def _bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return bit sets as one byte per column."""
    parts = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(parts.reshape(len(words), -1), axis=1, bitorder="little")


def _together(
    patterns: NDArray[np.uint64], rows: NDArray[np.int64], missing: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the correlations of the missingness indicators of incomplete columns."""
    n_rows = int(rows.sum())
    partly = np.flatnonzero((missing > 0) & (missing < n_rows))
    columns = np.sort(partly[np.argsort(-missing[partly], kind="stable")[:_MAX_CORRELATED]])
    both = np.zeros((len(columns), len(columns)))
    for begin in range(0, len(rows), _BLOCK):
        cells = _bits(patterns[begin : begin + _BLOCK])[:, columns].astype(np.float64)
        both += (cells * rows[begin : begin + _BLOCK, None]).T @ cells
    counts = missing[columns].astype(np.float64)
    spread = np.sqrt(counts * (n_rows - counts))
    correlation = (n_rows * both - np.outer(counts, counts)) / np.outer(spread, spread)
    return {"columns": columns.tolist(), "correlation": correlation.clip(-1, 1).tolist()}
