"""The split search discards a candidate early only if it is worse: nearly equal splits are ranked exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import STRATEGIES, Floats, fitted, same_bits, simulated, with_missing
from reference.tree import ReferenceTree

OFFSETS = (0.0, 1e3, -1e9, 2.0**40)


def assert_split_of_the_reference(X: Floats, y: Floats, missing: str, weight: Floats | None = None) -> None:
    parameters: dict[str, Any] = {"missing": missing, "max_depth": 1, "min_samples_leaf": 3}
    reference = ReferenceTree(**parameters).fit(X, y, weight).root.split
    tree = fitted(X, y, weight, **parameters).tree_
    if reference is None:
        assert tree.column[0] == -1
    else:
        assert (tree.column[0], tree.threshold[0]) == (
            reference.column,
            getattr(reference.test, "at", -np.inf),
        )


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
@given(
    n_rows=st.integers(20, 60),
    bits=st.integers(5, 52),
    offset=st.sampled_from(OFFSETS),
    at_end=st.booleans(),
    weighted=st.booleans(),
)
def test_nearly_equal_thresholds_are_ranked_as_by_the_reference(
    missing: str, n_rows: int, bits: int, offset: float, at_end: bool, weighted: bool
) -> None:
    # high at both ends, one end slightly higher: two thresholds differ by almost nothing, many by little
    X = np.arange(float(n_rows))[:, None]
    far = np.minimum(np.arange(n_rows), np.arange(n_rows)[::-1])
    y = np.where(far < n_rows // 5, 4.0, 0.0) + offset
    y[-1 if at_end else 0] += 2.0**-bits * max(1.0, abs(offset) * 2.0**-20)
    weight = np.where(far % 3 == 0, 0.5, 2.0) if weighted else None
    assert_split_of_the_reference(X, y, missing, weight)


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
@given(seed=st.integers(0, 2**32 - 1), bits=st.integers(5, 52), offset=st.sampled_from(OFFSETS))
def test_nearly_equal_columns_are_ranked_as_by_the_reference(
    missing: str, seed: int, bits: int, offset: float
) -> None:
    # the second half of the rows repeats the first with its columns exchanged, except for one target
    rng = np.random.default_rng(seed)
    half = rng.permuted(np.tile(np.arange(30.0)[:, None], (1, 2)), axis=0)
    y = rng.integers(-8, 8, 30) / 4 + half[:, 0] / 4
    X = np.vstack([half, half[:, ::-1]])
    target = np.concatenate([y, y]) + offset
    target[rng.integers(60)] += 2.0**-bits * max(1.0, abs(offset) * 2.0**-20)
    assert_split_of_the_reference(X, target, missing)


@given(seed=st.integers(0, 2**32 - 1), far=st.sampled_from([2.0**10, 2.0**30, 1e12]))
def test_split_with_an_outlier_in_the_target_is_that_of_the_reference(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(50.0)[:, None], (1, 2)), axis=0)
    y = rng.integers(-8, 8, 50) / 4
    y[rng.integers(50)] += far
    assert_split_of_the_reference(X, y, "trinary")


@given(seed=st.integers(0, 2**32 - 1), zeros=st.sampled_from([0.2, 0.6, 0.9]))
def test_split_with_rows_of_zero_weight_is_that_of_the_reference(seed: int, zeros: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(50.0)[:, None], (1, 2)), axis=0)
    weight = np.where(rng.random(50) < zeros, 0.0, rng.choice([2.0**-20, 1.0, 5.0], 50))
    weight[0] = 1.0
    assert_split_of_the_reference(X, rng.integers(-8, 8, 50) / 4, "trinary", weight)


# ------------------------------------------------------------------------------------------ scale of the target


def on_a_grid(n_rows: int) -> tuple[Floats, Floats]:
    X, y = simulated(n_rows, 4, missing=0.1)
    return X, np.round(y * 64) / 64


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-500, 2.0**500, 2.0**1000])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_target_times_a_power_of_two_scales_predictions_exactly(missing: str, factor: float) -> None:
    X, y = on_a_grid(500)
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    assert same_bits(fitted(X, y * factor, missing=missing, max_depth=5).predict(rows), plain * factor)


@pytest.mark.parametrize("factor", [1e-150, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_target_times_a_factor_scales_predictions(missing: str, factor: float) -> None:
    X, y = on_a_grid(500)
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    scaled = fitted(X, y * factor, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(scaled / factor, plain, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("offset", [1e3, -1e9, 2.0**45])
@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_target_plus_an_offset_shifts_predictions(missing: str, offset: float) -> None:
    X, y = on_a_grid(500)
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    shifted = fitted(X, y + offset, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(shifted, plain + offset, rtol=1e-15, atol=1e-12)


@pytest.mark.parametrize("missing", ["trinary", "majority", "surrogate"])
def test_negated_target_negates_predictions(missing: str) -> None:
    X, y = on_a_grid(500)
    rows = with_missing(X, 0.3)
    plain = fitted(X, y, missing=missing, max_depth=5).predict(rows)
    np.testing.assert_allclose(-fitted(X, -y, missing=missing, max_depth=5).predict(rows), plain, atol=1e-12)
