"""Summary of the missing values of a table, as plain data, text, HTML and a figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import escape
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import ColumnType, TypedColumn
from tritree.inspection.formatting import as_name, as_percent, count, pad, width_of
from tritree.inspection.missing_patterns import missing_cells, read_any_column, summarise_missing
from tritree.lab.little_mcar_test import LittleMCARTest, little_mcar_test
from tritree.lab.set_missing import collected
from tritree.table import read_table
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MAX_COLUMNS, _MAX_PATTERNS, _MAX_PAIRS = 30, 15, 10  # lines of the tables in text and HTML
_NAME_WIDTH, _MAX_NAMES = 30, 6  # characters of a name, and names in a line
_MIN_CORRELATION = 0.1  # pairs below it are not shown,
_MIN_Z = 3.0  # nor pairs below so many standard errors
_SIGNIFICANT = 0.05  # p-value


@dataclass(frozen=True, slots=True)
class ColumnMissing:
    """Number and fraction of the missing cells of a column."""

    name: str
    missing: int
    fraction: float


@dataclass(frozen=True, slots=True)
class MissingPattern:
    """Number and fraction of the rows in which exactly these columns are missing."""

    columns: tuple[str, ...]
    rows: int
    fraction: float


@dataclass(frozen=True, slots=True)
class MissingPair:
    """Correlation of the missingness indicators of two columns."""

    columns: tuple[str, str]
    correlation: float


@dataclass(frozen=True, slots=True, repr=False)
class MissingProfile:
    """Summary of the missing values of a table, made by `profile_missing`; prints as text, and as HTML in notebooks."""

    n_rows: int
    n_columns: int
    #: Number of rows without missing values.
    complete_rows: int
    #: All columns, in the order of the table.
    columns: tuple[ColumnMissing, ...]
    #: Number of distinct patterns; the most frequent ones are listed, most frequent first.
    n_patterns: int
    patterns: tuple[MissingPattern, ...]
    #: Pairs of columns that are missing in some rows but not in all, highest correlation first.
    together: tuple[MissingPair, ...]
    #: Little's test of missing completely at random.
    mcar_test: LittleMCARTest
    _summary: dict[str, Any] = field(compare=False)

    def __repr__(self) -> str:
        return f"<MissingProfile: {_headline(self)}>"

    def __str__(self) -> str:
        parts = [_headline(self)]
        for title, headings, lines, rest in _sections(self):
            body = [*_aligned([headings, *lines]), *filter(None, [rest])]
            parts.append("\n".join([title, *(f"  {line}" for line in body)]))
        parts.append("\n".join([_TEST_TITLE, *(f"  {line}" for line in _test_lines(self.mcar_test))]))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(_headline(self))}</p>"]
        for title, headings, lines, rest in _sections(self):
            head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
            body = "".join(
                f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
            )
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            parts.append(f"<h4>{escape(title)}</h4>{table}" + (f"<p>{escape(rest)}</p>" if rest else ""))
        test = "<br>".join(map(escape, _test_lines(self.mcar_test)))
        parts.append(f"<h4>{escape(_TEST_TITLE)}</h4><p>{test}</p>")
        return "<div>" + "\n".join(parts) + "</div>"

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data that ``json.dumps`` accepts.

        Examples
        --------
        >>> from tritree.lab import profile_missing
        >>> profile_missing([[1.0, None], [2.0, 3.0]]).to_dict()["columns"][1]
        {'name': 'x1', 'missing': 1, 'fraction': 0.5}
        """
        return asdict(self, dict_factory=_plain)

    def plot(self, ax: Any = None, *, max_patterns: int = 20, max_columns: int = 30) -> Any:
        """Return an ``Axes`` with the figure that ``tritree.plot_missing`` draws of the table; needs matplotlib."""
        from tritree.inspection.axes import check_axes
        from tritree.inspection.missing_plot import draw_missing

        check_int("max_patterns", max_patterns, 1)
        check_int("max_columns", max_columns, 1)
        check_axes(ax)
        patterns = {"patterns": self._summary["patterns"][:max_patterns]}
        return draw_missing(self._summary | patterns, ax, max_columns)


def profile_missing(table: Any) -> MissingProfile:
    """Return a summary of a table's missing values: per column, patterns, pairs of columns, and Little's MCAR test.

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. A cell is missing
        if the estimators treat it so; columns that they refuse, such as dates, are counted as well.

    Returns
    -------
    MissingProfile
        With ``n_rows``, ``n_columns``, ``complete_rows``, ``columns``, ``patterns`` (the 100 most frequent of
        ``n_patterns``), ``together`` (pairs of the 200 columns with the most missing values) and ``mcar_test``.
        ``print`` shows it, ``to_dict()`` returns plain data, ``plot()`` draws it.

    See Also
    --------
    ampute : Remove values of a table by a missingness mechanism.

    Notes
    -----
    Little's test compares the means of rows with different missing patterns; a small ``p_value`` indicates that
    values are not missing completely at random. A large one proves nothing: missingness that depends on the missing
    values alone, or on other things than means, can escape it. The test assumes normal distributions and uses numeric
    columns only, at most 100,000 rows, 30 columns and 500 patterns. ``mcar_test`` has what it was computed on, or the
    reason why it was not.

    Examples
    --------
    >>> import numpy as np
    >>> from tritree.lab import ampute, profile_missing
    >>> table = np.random.default_rng(0).normal(size=(1000, 3)) @ [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    >>> profile_missing(ampute(table, 0.2, columns=[0, 1])).mcar_test.p_value > 0.05
    True
    >>> profile_missing(ampute(table, 0.2, "mar", columns=[0, 1])).mcar_test.p_value < 0.001
    True
    """
    table = collected(table)
    summary = summarise_missing(table)
    names, n_rows = [column["name"] for column in summary["columns"]], summary["rows"]
    complete_rows, numeric = _complete_rows_and_numeric_columns(table)
    correlated, correlation = summary["together"]["columns"], summary["together"]["correlation"]
    pairs = [
        MissingPair((names[correlated[a]], names[correlated[b]]), correlation[a][b])
        for a, b in combinations(range(len(correlated)), 2)
    ]
    return MissingProfile(
        n_rows=n_rows,
        n_columns=len(names),
        complete_rows=complete_rows,
        columns=tuple(
            ColumnMissing(column["name"], column["missing"], column["missing"] / n_rows)
            for column in summary["columns"]
        ),
        n_patterns=summary["n_patterns"],
        patterns=tuple(
            MissingPattern(tuple(names[j] for j in one["columns"]), one["rows"], one["rows"] / n_rows)
            for one in summary["patterns"]
        ),
        together=tuple(sorted(pairs, key=lambda pair: -pair.correlation)),
        mcar_test=little_mcar_test([names[j] for j in numeric], list(numeric.values())),
        _summary=summary,
    )


def _complete_rows_and_numeric_columns(table: Any) -> tuple[int, dict[int, NDArray[np.float64]]]:
    """Return the number of complete rows, and the numeric columns by position."""
    read = read_table(table)
    complete = np.ones(read.n_rows, dtype=bool)
    numeric = {}
    for position in range(read.n_columns):
        column = read_any_column(read, position)
        complete &= ~missing_cells(column)
        is_number = isinstance(column, TypedColumn) and column.type is ColumnType.NUMERIC
        if is_number and not column.is_categorical:
            numeric[position] = np.asarray(column.values, dtype=np.float64)
    return int(np.count_nonzero(complete)), numeric


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the public fields of a dataclass as JSON has them: lists for tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in items
        if not name.startswith("_")
    }


# Text and HTML show the same sections

_TEST_TITLE = "Little's test of missing completely at random"


def _aligned(lines: list[list[str]]) -> list[str]:
    """Return lines of cells in columns: the last one aligned to the left, the others to the right."""
    widths = [max(map(width_of, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            pad(cell, width, right=place < len(line) - 1)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _headline(profile: MissingProfile) -> str:
    """Return the size of the table and the number of missing cells in one line."""
    n_rows, n_columns, complete = profile.n_rows, profile.n_columns, profile.complete_rows
    missing = sum(column.missing for column in profile.columns)
    size = f"{count(n_rows, 'row')} × {count(n_columns, 'column')}"
    if not missing:
        return f"{size}: no cell is missing"
    cells = f"{count(missing, 'cell')} ({as_percent(missing / (n_rows * n_columns))}) missing"
    rows = f"{count(complete, 'row')} ({as_percent(complete / n_rows)}) complete"
    return f"{size}: {cells}, {rows}, {count(profile.n_patterns, 'pattern')}"


def _sections(profile: MissingProfile) -> list[tuple[str, list[str], list[list[str]], str]]:
    """Return the tables that are not empty: title, headings, lines, and what is not shown."""
    incomplete = sorted((c for c in profile.columns if c.missing), key=lambda c: -c.missing)
    if not incomplete:
        return []
    columns = [
        [f"{c.missing:,}", as_percent(c.fraction), as_name(c.name, _NAME_WIDTH)]
        for c in incomplete[:_MAX_COLUMNS]
    ]
    rest = []
    if len(incomplete) > _MAX_COLUMNS:
        rest.append(f"… {count(len(incomplete) - _MAX_COLUMNS, 'more column')} with fewer missing values")
    if len(incomplete) < profile.n_columns:
        rest.append(count(profile.n_columns - len(incomplete), "complete column"))
    shown = profile.patterns[:_MAX_PATTERNS]
    patterns = [[f"{p.rows:,}", as_percent(p.fraction), _names(p.columns)] for p in shown]
    more_patterns = _more(profile.n_patterns - len(shown), "more pattern")
    least = max(_MIN_CORRELATION, _MIN_Z / sqrt(profile.n_rows))
    notable = [pair for pair in profile.together if abs(pair.correlation) >= least]
    strongest = sorted(notable, key=lambda pair: -abs(pair.correlation))[:_MAX_PAIRS]
    pairs = [[f"{pair.correlation:+.2f}", _names(pair.columns)] for pair in strongest]
    more_pairs = _more(len(notable) - len(strongest), "more pair", ", less correlated")
    sections = [
        ("Missing cells", ["cells", "fraction", "column"], columns, ", ".join(rest)),
        ("Patterns", ["rows", "fraction", "missing columns"], patterns, more_patterns),
        ("Columns missing together", ["correlation", "columns"], pairs, more_pairs),
    ]
    return [section for section in sections if section[2]]


def _more(n: int, what: str, how: str = "") -> str:
    return f"… {count(n, what)}{how}" if n else ""


def _names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    shown = [as_name(name, _NAME_WIDTH) for name in names[:_MAX_NAMES]]
    more = [f"… {len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return ", ".join(shown + more)


def _test_lines(test: LittleMCARTest) -> list[str]:
    """Return the result of the test, what it was computed on, and what it means."""
    if test.p_value is None:
        lines = [f"not computed: {test.reason}"]
    else:
        value = f"p = {test.p_value:.2g}" if test.p_value >= 1e-15 else "p < 1e-15"
        degrees = count(test.degrees_of_freedom or 0, "degree")
        lines = [
            f"{value} (chi-square {test.statistic:,.2f} with {degrees} of freedom)",
            f"on {count(len(test.columns), 'numeric column')}, {count(test.n_rows, 'row')} and "
            f"{count(test.n_patterns, 'pattern')}",
            "Values are not missing completely at random: the means differ between missing patterns."
            if test.p_value < _SIGNIFICANT
            else "No evidence that missingness depends on observed values; it may still depend on the missing ones.",
        ]
    reasons: dict[str, list[str]] = {}
    for name, reason in test.left_out.items():
        reasons.setdefault(reason, []).append(name)
    excluded = [f"excluded ({reason}): {_names(names)}" for reason, names in reasons.items()]
    return [*lines, *test.remarks, *excluded]
