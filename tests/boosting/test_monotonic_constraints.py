"""Predictions follow monotonic constraints, which are given by position or by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from boosting.tables import DIABETES, QUICK
from models import with_missing

from tritree import (
    TrinaryBoostingRegressor,
)


@pytest.mark.parametrize("direction", [1, -1])
def test_monotonic_constraints_hold_with_missing_values_elsewhere(direction: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 4))
    y = direction * X[:, 0] + np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + random.normal(size=800)
    model = TrinaryBoostingRegressor(monotonic_cst=[direction, 0, 0, 0], max_iter=50, random_state=0)
    model.fit(with_missing(X, 0.1, seed=0), y)
    rows = with_missing(random.normal(size=(60, 4)), 0.5, seed=0)
    steps = np.linspace(-3, 3, 40)
    for row in rows:
        path = np.tile(row, (40, 1))
        path[:, 0] = steps
        assert (direction * np.diff(model.predict(path)) >= -1e-12).all()


def test_constraints_are_given_by_name() -> None:
    frame = pd.DataFrame(DIABETES[0], columns=[f"c{j}" for j in range(10)])
    named = TrinaryBoostingRegressor(monotonic_cst={"c2": 1}, **QUICK).fit(frame, DIABETES[1])
    listed = TrinaryBoostingRegressor(monotonic_cst=[0, 0, 1] + [0] * 7, **QUICK).fit(frame, DIABETES[1])
    np.testing.assert_array_equal(named.predict(frame), listed.predict(frame))
