"""Thresholds of other libraries as exact ones: a double value goes left if it is below the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["at_most", "at_most_float32", "below_float32"]


def at_most(threshold: ArrayLike) -> NDArray[np.float64]:
    """Return the exact thresholds of comparisons ``value <= threshold``.

    Examples
    --------
    >>> cut = at_most([1.0])
    >>> (1.0 < cut).tolist(), (np.nextafter(1.0, 2.0) < cut).tolist()
    ([True], [False])
    """
    return np.asarray(np.nextafter(np.asarray(threshold, np.float64), np.inf))[()]


def below_float32(threshold: ArrayLike) -> NDArray[np.float64]:
    """Return the exact thresholds of comparisons ``float32(value) < threshold``.

    A double is rounded to the nearest float32, and to the one with an even last bit if two are as near. So values go
    left up to the midpoint of the threshold and the float32 before it, and the midpoint itself if it rounds down.

    Examples
    --------
    >>> cut = below_float32([0.1])
    >>> np.nextafter(cut, -1).astype(np.float32).tolist(), cut.astype(np.float32).tolist()
    ([0.09999999403953552], [0.10000000149011612])
    """
    upper = np.asarray(threshold, np.float32)
    with np.errstate(over="ignore"):
        lower = np.nextafter(upper, np.float32(-np.inf))
    # beyond the largest float32, what is nearer to 2^128 rounds to infinity
    low, high = (np.clip(one.astype(np.float64), -(2.0**128), 2.0**128) for one in (lower, upper))
    midpoint = low + (high - low) / 2
    with np.errstate(over="ignore"):
        rounds_down = midpoint.astype(np.float32) < upper
    cut = np.where(rounds_down, np.nextafter(midpoint, np.inf), midpoint)
    return np.asarray(np.where(np.isneginf(upper), -np.inf, cut))[()]


def at_most_float32(threshold: ArrayLike) -> NDArray[np.float64]:
    """Return the exact thresholds of comparisons ``float32(value) <= threshold``.

    The threshold may be a double.

    Examples
    --------
    >>> cut = at_most_float32([0.1])  # 0.1 as float32 is above 0.1
    >>> (0.1 < cut).tolist(), (0.099999995 < cut).tolist()
    ([False], [True])
    """
    value = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):
        nearest = value.astype(np.float32)
        up = np.nextafter(nearest, np.float32(np.inf))
    # the smallest float32 above the threshold
    return below_float32(np.where(nearest > value, nearest, up))
