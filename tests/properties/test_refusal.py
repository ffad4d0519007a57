"""A cut is passed over unmeasured only if it is worse: nearly equal cuts are told apart as exactly as ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import STRATEGIES, Floats, fitted, holed, same_bits, simulated
from reference.tree import Twin

OFFSETS = (0.0, 1e3, -1e9, 2.0**40)


def assert_splits_of_the_twin(X: Floats, y: Floats, missing: str, weight: Floats | None = None) -> None:
    settings: dict[str, Any] = {"missing": missing, "max_depth": 1, "min_samples_leaf": 3}
    twin = Twin(**settings).fit(X, y, weight).root.split
    tree = fitted(X, y, weight, **settings).tree_
    if twin is None:
        assert tree.column[0] == -1
    else:
        assert (tree.column[0], tree.threshold[0]) == (twin.column, getattr(twin.test, "at", -np.inf))


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
@given(
    n_rows=st.integers(20, 60),
    bits=st.integers(5, 52),
    offset=st.sampled_from(OFFSETS),
    at_end=st.booleans(),
    weighted=st.booleans(),
)
def test_nearly_equal_cuts_of_a_column_are_told_apart_as_the_twin_does(
    missing: str, n_rows: int, bits: int, offset: float, at_end: bool, weighted: bool
) -> None:
    # high at both ends, and one end a little higher: two cuts differ by next to nothing, many by little
    X = np.arange(float(n_rows))[:, None]
    far = np.minimum(np.arange(n_rows), np.arange(n_rows)[::-1])
    y = np.where(far < n_rows // 5, 4.0, 0.0) + offset
    y[-1 if at_end else 0] += 2.0**-bits * max(1.0, abs(offset) * 2.0**-20)
    weight = np.where(far % 3 == 0, 0.5, 2.0) if weighted else None
    assert_splits_of_the_twin(X, y, missing, weight)


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
@given(seed=st.integers(0, 2**32 - 1), bits=st.integers(5, 52), offset=st.sampled_from(OFFSETS))
def test_nearly_equal_columns_are_told_apart_as_the_twin_does(
    missing: str, seed: int, bits: int, offset: float
) -> None:
    # the second half of the rows repeats the first with its columns exchanged, but for one response
    rng = np.random.default_rng(seed)
    half = rng.permuted(np.tile(np.arange(30.0)[:, None], (1, 2)), axis=0)
    y = rng.integers(-8, 8, 30) / 4 + half[:, 0] / 4
    X = np.vstack([half, half[:, ::-1]])
    response = np.concatenate([y, y]) + offset
    response[rng.integers(60)] += 2.0**-bits * max(1.0, abs(offset) * 2.0**-20)
    assert_splits_of_the_twin(X, response, missing)


@given(seed=st.integers(0, 2**32 - 1), far=st.sampled_from([2.0**10, 2.0**30, 1e12]))
def test_cut_beside_a_response_far_off_is_that_of_the_twin(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(50.0)[:, None], (1, 2)), axis=0)
    y = rng.integers(-8, 8, 50) / 4
    y[rng.integers(50)] += far
    assert_splits_of_the_twin(X, y, "trinary")


@given(seed=st.integers(0, 2**32 - 1), zeros=st.sampled_from([0.2, 0.6, 0.9]))
def test_cut_among_rows_without_weight_is_that_of_the_twin(seed: int, zeros: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(50.0)[:, None], (1, 2)), axis=0)
    weight = np.where(rng.random(50) < zeros, 0.0, rng.choice([2.0**-20, 1.0, 5.0], 50))
    weight[0] = 1.0
    assert_splits_of_the_twin(X, rng.integers(-8, 8, 50) / 4, "trinary", weight)


# ------------------------------------------------------------------------------------------ other scales of y


def on_a_grid(n_rows: int) -> tuple[Floats, Floats]:
    X, y = simulated(n_rows, 4, holes=0.1)
    return X, np.round(y * 64) / 64


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-500, 2.0**500, 2.0**1000])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_response_times_a_power_of_two_gives_predictions_times_it(missing: str, factor: float) -> None:
    X, y = on_a_grid(500)
    rows = holed(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    assert same_bits(fitted(X, y * factor, missing=missing, max_depth=5).predict(rows), plain * factor)


@pytest.mark.parametrize("factor", [1e-150, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_response_times_a_number_gives_predictions_times_it(missing: str, factor: float) -> None:
    X, y = on_a_grid(500)
    rows = holed(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    scaled = fitted(X, y * factor, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(scaled / factor, plain, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("offset", [1e3, -1e9, 2.0**45])
@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_response_moved_by_a_number_gives_predictions_moved_by_it(missing: str, offset: float) -> None:
    X, y = on_a_grid(500)
    rows = holed(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    moved = fitted(X, y + offset, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(moved, plain + offset, rtol=1e-15, atol=1e-12)


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_response_turned_upside_down_gives_predictions_so(missing: str) -> None:
    X, y = on_a_grid(500)
    rows = holed(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(-fitted(X, -y, missing=missing, max_depth=5).predict(rows), plain, atol=1e-12)
