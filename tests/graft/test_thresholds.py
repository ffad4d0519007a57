"""Thresholds of other libraries are exact for double values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tritree.graft.thresholds import at_most, at_most_float32, below_float32

doubles = st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
EDGES = (
    0.0,
    -0.0,
    1.0,
    0.1,
    1e-45,
    -1e-45,
    1e-40,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    1e300,
    -1e300,
)


def near(value: float) -> list[float]:
    """Return a value, and doubles and floats next to it."""
    single = np.float32(np.clip(value, -3e38, 3e38))
    around = [np.nextafter(single, np.float32(to)) for to in (-np.inf, np.inf)]
    middles = [float(single) + (float(one) - float(single)) / 2 for one in around]
    values = [value, float(single), *map(float, around), *middles]
    with np.errstate(over="ignore"):
        return values + [float(np.nextafter(one, to)) for one in values for to in (-np.inf, np.inf)]


def cast(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(value)


@given(doubles, doubles)
def test_values_up_to_a_threshold_go_left(threshold: float, value: float) -> None:
    for one in (value, *near(threshold)):
        assert (one < at_most(threshold)) == (one <= threshold)


@given(singles, doubles)
@example(float(np.finfo(np.float32).max), 3.5e38)
def test_values_that_round_to_less_than_a_threshold_go_left(threshold: float, value: float) -> None:
    for one in (value, *near(threshold)):
        assert (one < below_float32(threshold)) == (cast(one) < np.float32(threshold))


@given(doubles, doubles)
def test_values_that_round_to_at_most_a_threshold_go_left(threshold: float, value: float) -> None:
    for one in (value, *near(threshold)):
        assert (one < at_most_float32(threshold)) == (float(cast(one)) <= threshold)


@pytest.mark.parametrize("threshold", EDGES)
def test_edges_of_the_range(threshold: float) -> None:
    for one in (*EDGES, *near(threshold)):
        assert (one < at_most(threshold)) == (one <= threshold)
        assert (one < at_most_float32(threshold)) == (float(cast(one)) <= threshold)
        if abs(threshold) < 1e39:
            assert (one < below_float32(threshold)) == (cast(one) < np.float32(threshold))


def test_arrays_are_thresholds_one_by_one() -> None:
    values = np.array(EDGES)
    for function in (at_most, at_most_float32):
        assert function(values).tolist() == [float(function(value)) for value in values]


@pytest.mark.parametrize("function", [at_most, at_most_float32, below_float32])
def test_infinite_thresholds_send_all_numbers_to_one_side(function: object) -> None:
    numbers = [value for value in EDGES if abs(value) < 1e39]  # as float32
    assert not any(value < function(-np.inf) for value in numbers)
    assert all(value < function(np.inf) for value in numbers)
