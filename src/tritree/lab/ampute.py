"""Amputation: values of a table removed on purpose, by a known missingness mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit, ndtri

from tritree.columns import ColumnType, read_column
from tritree.errors import ColumnError, name_column, shortened
from tritree.lab.set_missing import collected, set_missing
from tritree.table import RawColumn, read_table, read_vector
from tritree.validation import check_choice, check_int

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.columns import TypedColumn
    from tritree.table import Table

    Floats = NDArray[np.float64]

#: Missingness mechanisms.
MECHANISMS = ("mcar", "im", "mar", "mnar", "predictive")
#: Which values are removed first.
DIRECTIONS = ("largest", "smallest")

_ROUNDING = 1e-6  # rounding error allowed in rate * n, in cells
_MAX_NAMES = 8  # column names listed in an error message

# Each purpose has its own stream of random numbers, so that none shifts another.
_NOISE, _ORDER, _WEIGHTS, _DRIVERS = range(4)


def ampute(
    table: Any,
    rate: float,
    mechanism: str = "mcar",
    columns: Any = None,
    *,
    target: Any = None,
    direction: str = "largest",
    strength: float = 3.0,
    seed: int = 0,
) -> Any:
    """Return a copy of a table in which an exact fraction of each column's values is missing.

    Each column gives every row a score, plus noise that depends on the seed and the column's position. The
    ``floor(rate * n)`` of its ``n`` observed cells with the highest sum become missing. So the missing rate is exact
    in each column, and with the same seed the cells missing at a lower rate are also missing at a higher one.

    Parameters
    ----------
    table : table of shape (n_rows, n_columns)
        A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
    rate : float
        Missing rate: the fraction of each column's observed cells to remove, from 0 to 1. Cells that are already
        missing stay missing and are not counted.
    mechanism : {"mcar", "im", "mar", "mnar", "predictive"}, default="mcar"
        Missingness mechanism, which determines the score of a row:

        - "mcar", missing completely at random: no score, only the noise counts;
        - "im", informative missingness as in the paper: the value itself; noise only breaks ties. The largest values
          are removed first; categories are removed one after the other;
        - "mar", missing at random: a random linear combination of the columns that stay complete;
        - "mnar", missing not at random: the value itself, with noise;
        - "predictive": the target, with noise.

        For the last three, the log-odds of being missing are linear in the score.
    columns : list of names or positions, default=None
        Columns to remove values from. If None, all columns; except that with "mar" a random third of them, at least
        one, stays complete and determines what is missing in the others. With "mar" and ``columns``, all other
        columns determine it.
    target : array-like of shape (n_rows,), default=None
        Target that "predictive" depends on; the other mechanisms ignore it. Classes that are text or booleans are
        ranked in a random order.
    direction : {"largest", "smallest"}, default="largest"
        Which values are removed first, or with higher probability: values of the column for "im" and "mnar", of the
        target for "predictive". Ignored by "mcar" and "mar", and for categories without an order.
    strength : float, default=3.0
        Increase of the log-odds of being missing per standard deviation of the score ("mar", "mnar", "predictive").
        0 is equivalent to "mcar".
    seed : int, default=0
        Seed for the noise, the order of categories, and the choice and weights of the columns behind "mar".

    Returns
    -------
    table
        Table of the same type. In a NumPy array, integers become floats, and text and booleans become objects, with
        NaN for missing values. In a frame, the library chooses the dtype of a column with missing values. A lazy
        frame is collected; lists of rows become an array.

    See Also
    --------
    profile_missing : Summarise the missing values of a table.

    Notes
    -----
    "mnar" and "predictive" score a value by the normal quantile of its rank among the observed values, and "mar"
    scores its complete columns likewise; a missing cell in one of those scores 0, the average. Text, booleans and
    unordered categories are ranked in a random order, ordered categories in theirs.

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
    if not _is_number(rate) or not 0 <= rate <= 1:
        remedy = f"; {rate:g} percent is {rate / 100:g}" if _is_number(rate) and 1 < rate <= 100 else ""
        raise ValueError(f"rate must be a fraction from 0 to 1, got {rate!r}{remedy}")
    check_mechanism(mechanism, direction, strength)
    check_int("seed", seed, 0)
    settings = _Settings(mechanism, 1.0 if direction == "largest" else -1.0, strength, seed)
    table = collected(table)
    read = read_table(table)
    amputed = _amputed_columns(read, columns, settings)
    shared = _shared_scores(read, amputed, target, settings)
    missing = {}
    for position in amputed:
        column = read_column(read.column(position), read.name(position))
        noise = _random(seed, _NOISE, position).permutation(read.n_rows)
        observed = np.flatnonzero(~np.isnan(_numbers(column)))
        score = _score(column, position, noise, shared, settings)
        n_missing = math.floor(rate * len(observed) + _ROUNDING)
        missing[position] = highest(score, noise, observed, n_missing)
    return set_missing(table, missing)


def check_mechanism(mechanism: Any, direction: Any, strength: Any) -> None:
    """Raise a ValueError naming the first invalid parameter of a mechanism and its valid values."""
    check_choice("mechanism", mechanism, MECHANISMS)
    check_choice("direction", direction, DIRECTIONS)
    if not _is_number(strength) or not 0 <= strength < math.inf:
        raise ValueError(f"strength must be a finite number of at least 0, got {strength!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


@dataclass(frozen=True, slots=True)
class _Settings:
    mechanism: str
    sign: float  # -1 if the smallest values are removed first
    strength: float
    seed: int


def _random(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers for one purpose; independent of ``np.random.default_rng(seed)``."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=key))


# The columns


def _amputed_columns(table: Table, columns: Any, settings: _Settings) -> list[int]:
    """Return the positions of the columns that values are removed from, in ascending order."""
    everything = set(range(table.n_columns))
    is_mar = settings.mechanism == "mar"
    if columns is None:
        if is_mar and table.n_columns == 1:
            raise ValueError(
                "mechanism='mar' needs a column that stays complete and determines what is missing in the others, and "
                "the table has only one; add a column, or use 'mnar', which depends on the column itself"
            )
        n_complete = max(1, round(table.n_columns / 3)) if is_mar else 0
        order = _random(settings.seed, _DRIVERS).permutation(table.n_columns).tolist()
        return sorted(everything - set(order[:n_complete]))
    amputed = {_position(table, column) for column in _as_list(table, columns)}
    if is_mar and amputed == everything:
        raise ValueError(
            "mechanism='mar' needs a column that stays complete and determines what is missing in the others, and "
            "columns has all of the table's; leave one out"
        )
    return sorted(amputed)


def _as_list(table: Table, columns: Any) -> list[Any]:
    """Return the columns as a list, also if a single one was passed."""
    is_name = isinstance(columns, tuple) and columns in (table.column_names or [])
    if is_name or isinstance(columns, (str, Integral)):
        return [columns]
    try:
        return list(columns)
    except TypeError:
        raise TypeError(f"columns must be a list of names or positions, got {shortened(columns)}") from None


def _position(table: Table, column: Any) -> int:
    """Return the position of a column from its name or position."""
    keys = table.column_names or []
    if column in keys:
        return keys.index(column)
    is_position = isinstance(column, Integral) and not isinstance(column, bool)
    # if column names are integers, an integer is a name
    if is_position and not any(isinstance(key, Integral) for key in keys):
        if -table.n_columns <= column < table.n_columns:
            return int(column) % table.n_columns
        raise ValueError(f"columns has position {column}; valid positions are 0 to {table.n_columns - 1}")
    if not keys:
        raise ValueError(
            f"columns has {shortened(column)}, but an array has no column names; pass positions from 0 to "
            f"{table.n_columns - 1}"
        )
    near = get_close_matches(str(column), map(str, keys), n=3)
    if near:
        hint = f"did you mean {', '.join(map(repr, near))}?"
    else:
        more = ", …" if len(keys) > _MAX_NAMES else ""
        hint = f"it has {', '.join(map(shortened, keys[:_MAX_NAMES]))}{more}"
    raise ValueError(f"columns has {shortened(column)}, which is not a column of the table; {hint}")


# The scores


def _score(
    column: TypedColumn, position: int, noise: NDArray[np.int64], shared: list[Floats], settings: _Settings
) -> Floats | None:
    """Return the score of each row including noise, or None if only the noise counts."""
    match settings.mechanism:
        case "mcar":
            return None
        case "mar":  # a random linear combination, with mean 0 and standard deviation 1
            weights = _random(settings.seed, _WEIGHTS, position).normal(size=len(shared))
            total = sum(weight * values for weight, values in zip(weights, shared, strict=True))
            score = total - np.mean(total)
            score = score / (score.std() or 1.0)
        case "predictive":
            score = settings.sign * shared[0]
        case _:
            score = settings.sign * _ordered(column, _random(settings.seed, _ORDER, position))
            if settings.mechanism == "im":
                return score
            score = _normal_scores(score)
    # with logistic noise the log-odds of being among the highest are linear in the score
    noisy: Floats = settings.strength * score + logit((noise + 0.5) / len(noise))
    return noisy


def _shared_scores(table: Table, amputed: list[int], target: Any, settings: _Settings) -> list[Floats]:
    """Return the scores shared by all columns: of the complete columns for "mar", of the target for "predictive"."""
    if settings.mechanism == "predictive":
        return [_target_scores(target, table.n_rows, settings.seed)]
    if settings.mechanism != "mar" or not amputed:
        return []
    complete = sorted(set(range(table.n_columns)) - set(amputed))
    scores = []
    for position in complete:
        column = read_column(table.column(position), table.name(position))
        scores.append(_normal_scores(_ordered(column, _random(settings.seed, _ORDER, position))))
    if not any(score.any() for score in scores):
        which = ", ".join(name_column(table.name(position)) for position in complete[:_MAX_NAMES])
        raise ValueError(
            f"mechanism='mar' needs a column that varies among those that stay complete ({which}); leave another one "
            "out of columns"
        )
    return scores


def _target_scores(target: Any, n_rows: int, seed: int) -> Floats:
    if target is None:
        raise ValueError("mechanism='predictive' needs the target; pass it as target=")
    if isinstance(target, str):
        raise ValueError(
            f"target must hold one value per row, got {shortened(target)}; pass the column, not its name"
        )
    values = np.asarray(read_vector(target))
    if values.ndim != 1 or len(values) != n_rows:
        raise ValueError(
            f"target has shape {values.shape}, and the table has {n_rows} rows; pass one value per row"
        )
    try:
        column = read_column(RawColumn(values), "target")
    except ColumnError as error:
        error.subject = "target"
        raise
    if column.type is ColumnType.EMPTY:
        raise ValueError("target holds only missing values; pass one value per row")
    numbers = _ordered(column, _random(seed, _ORDER))
    missing = np.isnan(numbers)
    if missing.any():
        raise ValueError(f"target is missing in row {int(np.argmax(missing))}; drop such rows first")
    return _normal_scores(numbers)


def _numbers(column: TypedColumn) -> Floats:
    """Return a column as numbers, NaN where missing; text and ordered categories as positions in their order."""
    if column.type is ColumnType.EMPTY:
        return np.full(len(column.values), np.nan)
    if column.type is ColumnType.TEXT:
        order = sorted(column.labels) if column.order is None else map(str, column.order)
        position = {label: i for i, label in enumerate(order)}
        # the code of missing is -1: the last element
        positions: Floats = np.array([*map(position.__getitem__, column.labels), np.nan])[column.values]
        return positions
    if column.order is not None:
        labels = np.array([float(label) for label in column.order])
        by_size = np.argsort(labels)
        found = by_size[np.searchsorted(labels[by_size], column.values).clip(max=len(labels) - 1)]
        return np.where(np.isnan(column.values), np.nan, found)
    return np.asarray(column.values, dtype=np.float64)


def _ordered(column: TypedColumn, random: np.random.Generator) -> Floats:
    """Return a column as numbers; unordered categories are numbered in a random order."""
    numbers = _numbers(column)
    is_categorical = column.is_categorical or column.type in (ColumnType.TEXT, ColumnType.BOOLEAN)
    if not is_categorical or column.order is not None:
        return numbers
    observed = ~np.isnan(numbers)
    distinct, inverse = np.unique(numbers[observed], return_inverse=True)
    numbers[observed] = random.permutation(len(distinct))[inverse]
    return numbers


def _normal_scores(numbers: Floats) -> Floats:
    """Return the normal quantiles of the ranks of numbers: ties share theirs, missing values get 0, the average."""
    observed = ~np.isnan(numbers)
    scores = np.zeros(len(numbers))
    if observed.any():
        _, inverse, count = np.unique(numbers[observed], return_inverse=True, return_counts=True)
        middle = (np.cumsum(count) - count / 2) / count.sum()
        scores[observed] = ndtri(middle)[inverse]
    return scores


def highest(
    score: Floats | None, noise: NDArray[np.int64], rows: NDArray[np.intp], n: int
) -> NDArray[np.intp]:
    """Return the ``n`` rows with the highest score; noise breaks ties, and decides alone if there is no score.

    Noise has no ties, so a larger ``n`` returns a superset.
    """
    if n == 0:
        return rows[:0]
    above, tied = rows[:0], rows
    if score is not None:
        score = score[rows]
        threshold = np.partition(score, len(rows) - n)[len(rows) - n]
        above, tied = rows[score > threshold], rows[score == threshold]
    first = len(tied) - (n - len(above))
    return np.concatenate([above, tied[np.argpartition(noise[tied], first)[first:]]])
