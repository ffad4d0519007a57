"""Holes made in a table on purpose, by a mechanism that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import Content, read_column
from tritree.errors import name_column, shortened
from tritree.lab.punch import in_memory, punch
from tritree.lab.scores import (
    NOISE,
    ORDER,
    WEIGHTS,
    WHOLE,
    combined,
    highest,
    in_seeded_order,
    log_odds,
    normal_scores,
    numbers_of,
    stream,
)
from tritree.parameters import check_choice, check_int
from tritree.table import RawColumn, read_table, read_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.columns import Column
    from tritree.table import Table

__all__ = ["DIRECTIONS", "MECHANISMS", "ampute"]

#: What holes may depend on.
MECHANISMS = ("mcar", "im", "mar", "mnar", "predictive")
#: Which values may go first.
DIRECTIONS = ("largest", "smallest")

_ROUNDING = 1e-6  # by how much a product may be off, in cells
_MOST_NAMES = 8  # columns that a message lists


def ampute(
    table: Any,
    rate: float,
    mechanism: str = "mcar",
    columns: Any = None,
    *,
    response: Any = None,
    direction: str = "largest",
    strength: float = 3.0,
    seed: int = 0,
) -> Any:
    """Return a copy of a table with holes: in each column an exact share of its values, chosen by a mechanism.

    Every column gives each of its rows a score, and noise that depends on the seed and on the column's position. The
    ``floor(rate * n)`` of its ``n`` observed cells with the highest sum lose their value. So the share is exact in
    each column, and with the same seed the holes of a higher rate contain those of a lower one.

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
    rate : float
        The share of each column's observed cells that lose their value, from 0 to 1. Cells that are missing already
        stay so and are not counted.
    mechanism : {"mcar", "im", "mar", "mnar", "predictive"}, default="mcar"
        What the score of a row is:

        - "mcar", missing completely at random: nothing, only the noise counts;
        - "im", the informative missingness of the paper: the value itself, and noise decides among equals only. The
          largest values go first; categories go one after the other;
        - "mar", missing at random: a random combination of the columns that stay whole;
        - "mnar", missing not at random: the value itself, smoothly;
        - "predictive": the response, smoothly.

        In the last three the log-odds of a hole are linear in the score.
    columns : list of names or positions, default=None
        The columns that get holes. None is all of them, except that with "mar" a random third of them, at least one,
        stays whole and decides about the others. With "mar" and columns given, all other columns decide.
    response : array-like of shape (n_rows,), default=None
        What "predictive" looks at; other mechanisms do not. Classes that are text or booleans are put in a random
        order.
    direction : {"largest", "smallest"}, default="largest"
        Which values go first, or are more likely to: of the column with "im" and "mnar", of the response with
        "predictive". It has no meaning for "mcar" and "mar", nor for categories without an order.
    strength : float, default=3.0
        By how much the log-odds of a hole rise with each standard deviation of the score ("mar", "mnar",
        "predictive"). 0 is as good as "mcar".
    seed : int, default=0
        Of everything that is random; 0 or more.

    Returns
    -------
    table
        Of the same kind. In a NumPy array whole numbers become floats, and text and booleans become objects, with NaN
        for missing. In a frame a column is what its library makes of such a column with missing cells. A lazy frame is
        collected, and lists of rows become an array.

    See Also
    --------
    profile : Tells where the holes of a table are.

    Notes
    -----
    "mnar" and "predictive" score a value by its rank: the normal quantile of its rank among the observed ones. So do
    the columns that decide in "mar"; one of their own missing cells counts as average. Text, booleans and categories
    without an order are ranked in a random order. Ordered categories are ranked in theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from tritree.lab import ampute
    >>> table = np.arange(8).reshape(4, 2)
    >>> ampute(table, 0.5, "im")
    array([[ 0.,  1.],
           [ 2.,  3.],
           [nan, nan],
           [nan, nan]])
    >>> np.isnan(ampute(table, 0.25)).sum(axis=0)
    array([1, 1])
    """
    settings = _Settings(mechanism, direction, strength, seed)
    settings.check(rate)
    table = in_memory(table)
    read = read_table(table)
    chosen = _chosen(read, columns, settings)
    given = _given(read, chosen, response, settings)
    holes = {}
    for position in chosen:
        column = read_column(read.column(position), read.name(position))
        noise = stream(seed, NOISE, position).permutation(read.n_rows)
        rows = np.flatnonzero(~np.isnan(numbers_of(column)))
        score = _score(column, position, noise, given, settings)
        holes[position] = highest(score, noise, rows, _share(rate, len(rows)))
    return punch(table, holes)


def _share(rate: float, n: int) -> int:
    """Return how many of n cells a rate is, in whole ones; 0.29 of 100 is 29, though a computer has a little less."""
    return math.floor(rate * n + _ROUNDING)


@dataclass(frozen=True, slots=True)
class _Settings:
    """How holes come about."""

    mechanism: str
    direction: str
    strength: float
    seed: int

    @property
    def sign(self) -> float:
        """Return what makes the values that go first the highest."""
        return 1.0 if self.direction == "largest" else -1.0

    def check(self, rate: Any) -> None:
        """Raise a ValueError naming the first setting that cannot be, and what it may be."""
        if not _is_number(rate) or not 0 <= rate <= 1:
            remedy = f"; {rate:g} percent is {rate / 100:g}" if _is_number(rate) and 1 < rate <= 100 else ""
            raise ValueError(f"rate must be a share from 0 to 1, got {rate!r}{remedy}")
        check_choice("mechanism", self.mechanism, MECHANISMS)
        check_choice("direction", self.direction, DIRECTIONS)
        if not _is_number(self.strength) or not 0 <= self.strength < math.inf:
            raise ValueError(f"strength must be a number of at least 0, and finite, got {self.strength!r}")
        check_int("seed", self.seed, 0)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _chosen(table: Table, columns: Any, settings: _Settings) -> list[int]:
    """Return the positions of the columns that get holes, in their order."""
    everything = set(range(table.n_columns))
    is_mar = settings.mechanism == "mar"
    if columns is None:
        if is_mar and table.n_columns == 1:
            raise ValueError(
                "mechanism='mar' needs a column that stays whole and decides about the others, and the table has only "
                "one; add a column, or take 'mnar', which looks at the column itself"
            )
        n_whole = max(1, round(table.n_columns / 3)) if is_mar else 0
        order = stream(settings.seed, WHOLE).permutation(table.n_columns).tolist()
        return sorted(everything - set(order[:n_whole]))
    chosen = {_position(table, column) for column in _listed(table, columns)}
    if is_mar and chosen == everything:
        raise ValueError(
            "mechanism='mar' needs a column that stays whole and decides about the others, and columns has all of the "
            "table's; leave one out"
        )
    return sorted(chosen)


def _listed(table: Table, columns: Any) -> list[Any]:
    """Return the columns asked for as a list, also if it is one that was."""
    is_name = isinstance(columns, tuple) and columns in (table.keys or [])
    if is_name or isinstance(columns, (str, Integral)):
        return [columns]
    try:
        return list(columns)
    except TypeError:
        raise TypeError(f"columns must be a list of names or positions, got {shortened(columns)}") from None


def _position(table: Table, column: Any) -> int:
    """Return where a column stands, given its name or its position."""
    keys = table.keys or []
    if column in keys:
        return keys.index(column)
    is_position = isinstance(column, Integral) and not isinstance(column, bool)
    # where names are whole numbers themselves, a number is a name
    if is_position and not any(isinstance(key, Integral) for key in keys):
        if -table.n_columns <= column < table.n_columns:
            return int(column) % table.n_columns
        raise ValueError(f"columns has position {column}, and the table's go from 0 to {table.n_columns - 1}")
    if not keys:
        raise ValueError(
            f"columns has {shortened(column)}, and an array has no column names; give positions from 0 to "
            f"{table.n_columns - 1}"
        )
    near = get_close_matches(str(column), map(str, keys), n=3)
    names = [repr(name) for name in near] or [shortened(key) for key in keys[:_MOST_NAMES]]
    more = ", …" if not near and len(keys) > _MOST_NAMES else ""
    remedy = "did you mean" if near else "it has"
    end = "?" if near else ""
    raise ValueError(
        f"columns has {shortened(column)}, which is no column of the table; {remedy} {', '.join(names)}{more}{end}"
    )


def _score(
    column: Column,
    position: int,
    noise: NDArray[np.int64],
    given: list[NDArray[np.float64]],
    settings: _Settings,
) -> NDArray[np.float64] | None:
    """Return how high each row of a column scores, noise included; None where noise is all there is."""
    seed, strength = settings.seed, settings.strength
    match settings.mechanism:
        case "mcar":
            return None
        case "mar":
            return log_odds(combined(given, stream(seed, WEIGHTS, position)), strength, noise)
        case "predictive":
            return log_odds(settings.sign * given[0], strength, noise)
    values = settings.sign * in_seeded_order(column, stream(seed, ORDER, position))
    return values if settings.mechanism == "im" else log_odds(normal_scores(values), strength, noise)


def _given(table: Table, chosen: list[int], response: Any, settings: _Settings) -> list[NDArray[np.float64]]:
    """Return the scores that all columns have in common: of the columns that stay whole, or of the response."""
    if settings.mechanism == "mar" and chosen:
        return _drivers(table, chosen, settings.seed)
    if settings.mechanism == "predictive":
        return [_response_scores(response, table.n_rows, settings.seed)]
    return []


def _drivers(table: Table, chosen: list[int], seed: int) -> list[NDArray[np.float64]]:
    """Return the scores of the columns that stay whole and decide about the others."""
    whole = sorted(set(range(table.n_columns)) - set(chosen))
    drivers = []
    for position in whole:
        column = read_column(table.column(position), table.name(position))
        drivers.append(normal_scores(in_seeded_order(column, stream(seed, ORDER, position))))
    if not any(driver.any() for driver in drivers):
        which = ", ".join(name_column(table.name(position)) for position in whole[:_MOST_NAMES])
        raise ValueError(
            f"mechanism='mar' needs a column that varies among those that stay whole ({which}); leave another one out "
            "of columns"
        )
    return drivers


def _response_scores(response: Any, n_rows: int, seed: int) -> NDArray[np.float64]:
    """Return the normal scores of the response."""
    if response is None:
        raise ValueError("mechanism='predictive' needs the response; pass it as response=")
    if isinstance(response, str):
        raise ValueError(
            f"response must hold one value per row, got {shortened(response)}; pass the column, not its name"
        )
    values = np.asarray(read_vector(response))
    if values.ndim != 1 or len(values) != n_rows:
        raise ValueError(
            f"response has shape {values.shape}, and the table has {n_rows} rows; give one value per row"
        )
    column = read_column(RawColumn(values), "the response")
    if column.content is Content.NOTHING:
        raise ValueError("response holds missing values only; give one value per row")
    numbers = in_seeded_order(column, stream(seed, ORDER))
    missing = np.isnan(numbers)
    if missing.any():
        raise ValueError(f"response is missing in row {int(np.argmax(missing))}; drop such rows first")
    return normal_scores(numbers)
