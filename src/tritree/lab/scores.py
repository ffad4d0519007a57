"""What a row scores for losing its value: columns as numbers, their order, and the rows that score highest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit, ndtri

from tritree.columns import Content

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.columns import Column

__all__ = [
    "NOISE",
    "ORDER",
    "WEIGHTS",
    "WHOLE",
    "combined",
    "highest",
    "in_seeded_order",
    "log_odds",
    "normal_scores",
    "numbers_of",
    "stream",
]

#: What random numbers are drawn for; each purpose has a stream of its own, so that none shifts another.
NOISE, ORDER, WEIGHTS, WHOLE = range(4)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers of a purpose; they have nothing to do with ``np.random.default_rng(seed)``."""
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=key))


def numbers_of(column: Column) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where missing: ordered categories, and text, by their places in their order."""
    if column.content is Content.NOTHING:
        return np.full(len(column.values), np.nan)
    if column.content is Content.TEXT:
        order = sorted(column.labels) if column.order is None else map(str, column.order)
        place = {label: i for i, label in enumerate(order)}
        # the place after the last label is that of missing, whose code is -1
        places: NDArray[np.float64] = np.array([*map(place.__getitem__, column.labels), np.nan])[
            column.values
        ]
        return places
    if column.order is not None:
        return _places(column.values, column.order)
    return np.asarray(column.values, dtype=np.float64)


def _places(values: NDArray[Any], order: tuple[Any, ...]) -> NDArray[np.float64]:
    """Return where numbers stand in an order of them, NaN where they are missing."""
    labels = np.array([float(label) for label in order])
    by_size = np.argsort(labels)
    places = by_size[np.searchsorted(labels[by_size], values).clip(max=len(labels) - 1)]
    return np.where(np.isnan(values), np.nan, places)


def in_seeded_order(column: Column, random: np.random.Generator) -> NDArray[np.float64]:
    """Return a column as numbers; categories without an order are numbered in a random one."""
    numbers = numbers_of(column)
    is_category = column.is_category or column.content in (Content.TEXT, Content.BOOLEANS)
    if not is_category or column.order is not None:
        return numbers
    observed = ~np.isnan(numbers)
    distinct, place = np.unique(numbers[observed], return_inverse=True)
    numbers = np.full(len(numbers), np.nan)
    numbers[observed] = random.permutation(len(distinct))[place]
    return numbers


def normal_scores(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal quantiles of the ranks of numbers: equal ones share theirs, missing ones are average (0)."""
    observed = ~np.isnan(numbers)
    scores = np.zeros(len(numbers))
    if observed.any():
        _, place, count = np.unique(numbers[observed], return_inverse=True, return_counts=True)
        middle = (np.cumsum(count) - count / 2) / count.sum()
        scores[observed] = ndtri(middle)[place]
    return scores


def combined(scores: list[NDArray[np.float64]], random: np.random.Generator) -> NDArray[np.float64]:
    """Return a random combination of scores, with mean 0 and deviation 1."""
    weights = random.normal(size=len(scores))
    total = np.zeros(len(scores[0]))
    for weight, score in zip(weights, scores, strict=True):
        total += weight * score
    total -= total.mean()
    deviation = total.std()
    return total / deviation if deviation > 0 else total


def log_odds(score: NDArray[np.float64], strength: float, noise: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores with logistic noise: the log-odds of being among the highest are linear in the score."""
    noisy: NDArray[np.float64] = strength * score + logit((noise + 0.5) / len(noise))
    return noisy


def highest(
    score: NDArray[np.float64] | None, noise: NDArray[np.int64], rows: NDArray[np.intp], n_rows: int
) -> NDArray[np.intp]:
    """Return the ``n_rows`` of some rows that score highest; of equals, and without scores, those with more noise.

    Noise has no equals, so more rows always contain fewer.
    """
    if n_rows == 0:
        return rows[:0]
    if score is None:
        return rows[_largest(noise[rows], n_rows)]
    score = score[rows]
    edge = np.partition(score, len(rows) - n_rows)[len(rows) - n_rows]
    above, tied = rows[score > edge], rows[score == edge]
    return np.concatenate([above, tied[_largest(noise[tied], n_rows - len(above))]])


def _largest(noise: NDArray[np.int64], n: int) -> NDArray[np.intp]:
    return np.argpartition(noise, len(noise) - n)[len(noise) - n :]
