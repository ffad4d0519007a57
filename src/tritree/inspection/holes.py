"""Where the holes of a table are: in which columns, in which patterns, and which of them come together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import Column, Content, is_missing, read_column
from tritree.errors import ColumnError
from tritree.inspection.axes import check_axes
from tritree.parameters import check_int
from tritree.table import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.table import RawColumn, Table

__all__ = ["is_hole", "plot_holes", "read_any", "summarise_holes"]

_WORD = 64  # columns whose holes fit into a word
_MOST_TOGETHER = 200  # columns that are compared with each other: their pairs grow with the square
_BLOCK = 4096  # patterns that are looked at together


def plot_holes(table: Any, ax: Any = None, *, max_patterns: int = 20, max_columns: int = 30) -> Any:
    """Return an ``Axes`` with the holes of a table: patterns of missing cells, shares, what goes missing together.

    Needs matplotlib (``pip install tritree[plot]``).

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. A cell is missing
        if it is so to the estimators; columns that they refuse, such as dates, have holes as well.
    ax : matplotlib Axes, default=None
        The area to draw in; it is divided into panels. None makes a figure.
    max_patterns : int, default=20
        The most patterns that are drawn: the most frequent ones.
    max_columns : int, default=30
        The most columns that are drawn: those with the most holes. Columns without any are not drawn.

    Returns
    -------
    matplotlib Axes
        The area; its ``child_axes`` are the panels.

    Examples
    --------
    >>> import tritree
    >>> ax = tritree.plot_holes([[1.0, None], [2.0, 3.0], [None, None]])  # doctest: +SKIP
    >>> ax.figure.savefig("holes.png")  # doctest: +SKIP
    """
    from tritree.inspection.holes_plot import draw_holes

    check_int("max_patterns", max_patterns, 1)
    check_int("max_columns", max_columns, 1)
    check_axes(ax)
    return draw_holes(summarise_holes(table, max_patterns=max_patterns), ax, max_columns)


def summarise_holes(table: Any, *, max_patterns: int | None = 100) -> dict[str, Any]:
    """Return where the holes of a table are, as plain data.

    ``rows`` counts the rows; ``columns`` has ``name`` and ``missing``, the cells missing, of each column. A pattern is
    a set of columns that are missing together in a row, and no others: ``n_patterns`` counts them all, ``patterns``
    lists the most frequent with their ``rows`` and the positions of their ``columns``; of equals, that with fewer
    holes comes first. ``together`` has the positions of ``columns`` that are missing in some rows and not in all (the
    200 with the most holes), and the ``correlation`` of their missing cells.
    """
    read = read_table(table)
    names = read.names or [f"x{j}" for j in range(read.n_columns)]
    missing = np.zeros(read.n_columns, dtype=np.int64)
    words = [_word(read, begin, missing) for begin in range(0, read.n_columns, _WORD)]
    patterns, rows = _patterns(np.column_stack(words), max(1, read.n_rows))
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


def _word(table: Table, begin: int, missing: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the holes of up to 64 columns as bits of a number per row; count them on the way."""
    word = np.zeros(table.n_rows, dtype=np.uint64)
    for position in range(begin, min(begin + _WORD, table.n_columns)):
        holes = is_hole(read_any(table, position))
        missing[position] = np.count_nonzero(holes)
        if missing[position]:
            word |= holes.astype(np.uint64) << np.uint64(position - begin)
    return word


def read_any(table: Table, position: int) -> Column | RawColumn:
    """Return a column with its content, or as it is if no tree takes it: dates and lists have holes, too."""
    raw = table.column(position)
    try:
        return read_column(raw, table.label(position))
    except ColumnError:
        return raw


def is_hole(column: Column | RawColumn) -> NDArray[np.bool_]:
    """Return which cells of a column are missing."""
    if not isinstance(column, Column):
        return _is_hole_of_any(column.values, coded=column.labels is not None)
    if column.content is Content.NOTHING:
        return np.ones(len(column.values), dtype=bool)
    missing: NDArray[np.bool_] = (
        column.values < 0 if column.content is Content.TEXT else np.isnan(column.values)
    )
    return missing


def _is_hole_of_any(values: NDArray[Any], *, coded: bool) -> NDArray[np.bool_]:
    if coded:
        return np.asarray(values < 0)
    if values.dtype.kind in "Mm":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=len(values))
    if values.dtype.kind == "f":
        return np.asarray(
            np.isnan(values).reshape(len(values), -1).all(axis=1)
        )  # records may be rows of numbers
    return np.zeros(len(values), dtype=bool)


def _patterns(words: NDArray[np.uint64], n_rows: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct rows of words and how often they occur, most frequent first, then fewest holes."""
    number = np.zeros(n_rows, dtype=np.int64)
    for word in words.T:
        _, of_word = np.unique(word, return_inverse=True)
        _, number = np.unique(number * n_rows + of_word, return_inverse=True)
    _, first, rows = np.unique(number, return_index=True, return_counts=True)
    patterns = words[first]
    n_holes = sum(_bits(patterns[:, k : k + 1]).sum(axis=1) for k in range(words.shape[1]))
    order = np.lexsort((*patterns.T[::-1], n_holes, -rows))
    return patterns[order], rows[order]


def _bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return a byte per column for rows of words."""
    parts = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(parts.reshape(len(words), -1), axis=1, bitorder="little")


def _together(
    patterns: NDArray[np.uint64], rows: NDArray[np.int64], missing: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the correlations of the missing cells of columns that have some."""
    n_rows = int(rows.sum())
    partly = np.flatnonzero((missing > 0) & (missing < n_rows))
    columns = np.sort(partly[np.argsort(-missing[partly], kind="stable")[:_MOST_TOGETHER]])
    both = np.zeros((len(columns), len(columns)))
    for begin in range(0, len(rows), _BLOCK):
        holes = _bits(patterns[begin : begin + _BLOCK])[:, columns].astype(np.float64)
        both += (holes * rows[begin : begin + _BLOCK, None]).T @ holes
    counts = missing[columns].astype(np.float64)
    spread = np.sqrt(counts * (n_rows - counts))
    correlation = (n_rows * both - np.outer(counts, counts)) / np.outer(spread, spread)
    return {"columns": columns.tolist(), "correlation": correlation.clip(-1, 1).tolist()}
