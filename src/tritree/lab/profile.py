"""Where the holes of a table are, in numbers, text and a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import Column, Content
from tritree.inspection.missing_patterns import missing_cells, read_any_column, summarise_missing
from tritree.lab.little import LittleTest, little_test
from tritree.lab.profile_views import as_html, as_text, headline
from tritree.lab.punch import in_memory
from tritree.lab.scores import numbers_of
from tritree.parameters import check_int
from tritree.table import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnHoles", "Pair", "Pattern", "Profile", "profile"]


@dataclass(frozen=True, slots=True)
class ColumnHoles:
    """The holes of one column."""

    name: str
    #: How many of its cells are missing, and their share.
    missing: int
    share: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """Columns that are missing together in some rows, where no others are."""

    columns: tuple[str, ...]
    #: How many rows have exactly these holes, and their share.
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two columns, and how their holes go together: 1 always, 0 as by chance, below 0 less than that."""

    columns: tuple[str, str]
    correlation: float


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """Where the holes of a table are; `profile` makes it. Printed, it is a page of text; in a notebook, tables."""

    n_rows: int
    n_columns: int
    #: Rows without a hole.
    complete_rows: int
    #: All columns, as they stand in the table.
    columns: tuple[ColumnHoles, ...]
    #: How many patterns there are; the most frequent ones are listed, the most frequent first.
    n_patterns: int
    patterns: tuple[Pattern, ...]
    #: Pairs of columns that are missing in some rows and not in all, those that go together most first.
    together: tuple[Pair, ...]
    #: Little's test of missing completely at random.
    little: LittleTest
    _holes: dict[str, Any] = field(compare=False)

    def __repr__(self) -> str:
        return f"<Profile: {headline(self.to_dict())}>"

    def __str__(self) -> str:
        return as_text(self.to_dict())

    def _repr_html_(self) -> str:
        return as_html(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data that ``json.dumps`` takes.

        Examples
        --------
        >>> from tritree.lab import profile
        >>> profile([[1.0, None], [2.0, 3.0]]).to_dict()["columns"][1]
        {'name': 'x1', 'missing': 1, 'share': 0.5}
        """
        plain: dict[str, Any] = {
            "n_rows": self.n_rows,
            "n_columns": self.n_columns,
            "complete_rows": self.complete_rows,
            "columns": [asdict(column) for column in self.columns],
            "n_patterns": self.n_patterns,
            "patterns": [asdict(p) | {"columns": list(p.columns)} for p in self.patterns],
            "together": [asdict(p) | {"columns": list(p.columns)} for p in self.together],
        }
        lists = {"columns": list(self.little.columns), "remarks": list(self.little.remarks)}
        return plain | {"little": asdict(self.little) | lists}

    def plot(self, ax: Any = None, *, max_patterns: int = 20, max_columns: int = 30) -> Any:
        """Return an ``Axes`` with the picture that ``tritree.plot_missing`` draws of the table; needs matplotlib."""
        from tritree.inspection.axes import check_axes
        from tritree.inspection.missing_plot import draw_missing

        check_int("max_patterns", max_patterns, 1)
        check_int("max_columns", max_columns, 1)
        check_axes(ax)
        return draw_missing(
            self._holes | {"patterns": self._holes["patterns"][:max_patterns]}, ax, max_columns
        )


def profile(table: Any) -> Profile:
    """Return where the holes of a table are: per column, in which patterns, which go together, and Little's test.

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. A cell is missing
        if it is so to the estimators; columns that they refuse, such as dates, have holes as well.

    Returns
    -------
    Profile
        With ``n_rows``, ``n_columns``, ``complete_rows``, ``columns``, ``patterns`` (the 100 most frequent of
        ``n_patterns``), ``together`` (pairs of the 200 columns with the most holes) and ``little``. ``print`` shows
        it, ``to_dict()`` gives plain data, ``plot()`` draws it.

    See Also
    --------
    ampute : Makes holes in a table.

    Notes
    -----
    Little's test asks whether rows with different patterns of holes have different means; a small ``p_value`` says
    that holes are not completely at random. A large one proves nothing: holes that depend on the missing values alone,
    or on other things than means, can escape it. It supposes normal distributions, looks at numeric columns only, and
    at no more than 100,000 rows, 30 columns and 500 patterns. ``little`` says on what it was computed, or why not.

    Examples
    --------
    >>> import numpy as np
    >>> from tritree.lab import ampute, profile
    >>> table = np.random.default_rng(0).normal(size=(1000, 3)) @ [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    >>> profile(ampute(table, 0.2, columns=[0, 1])).little.p_value > 0.05
    True
    >>> profile(ampute(table, 0.2, "mar", columns=[0, 1])).little.p_value < 0.001
    True
    """
    table = in_memory(table)
    holes = summarise_missing(table)
    names, n_rows = [column["name"] for column in holes["columns"]], holes["rows"]
    complete_rows, numeric = _rows_and_numbers(table)
    return Profile(
        n_rows=n_rows,
        n_columns=len(names),
        complete_rows=complete_rows,
        columns=tuple(
            ColumnHoles(column["name"], column["missing"], column["missing"] / n_rows)
            for column in holes["columns"]
        ),
        n_patterns=holes["n_patterns"],
        patterns=tuple(
            Pattern(tuple(names[j] for j in pattern["columns"]), pattern["rows"], pattern["rows"] / n_rows)
            for pattern in holes["patterns"]
        ),
        together=_pairs(holes["together"], names),
        little=little_test([names[j] for j in numeric], list(numeric.values())),
        _holes=holes,
    )


def _rows_and_numbers(table: Any) -> tuple[int, dict[int, NDArray[np.float64]]]:
    """Return how many rows are complete, and the numeric columns by their positions."""
    read = read_table(table)
    complete = np.ones(read.n_rows, dtype=bool)
    numeric = {}
    for position in range(read.n_columns):
        column = read_any_column(read, position)
        complete &= ~missing_cells(column)
        if isinstance(column, Column) and column.content is Content.NUMBERS and not column.is_category:
            numeric[position] = numbers_of(column)
    return int(np.count_nonzero(complete)), numeric


def _pairs(together: dict[str, Any], names: list[str]) -> tuple[Pair, ...]:
    """Return all pairs of columns with their correlations, the highest first."""
    columns, correlation = together["columns"], together["correlation"]
    pairs = [
        Pair((names[columns[a]], names[columns[b]]), correlation[a][b])
        for a, b in combinations(range(len(columns)), 2)
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.correlation))
