"""The order of the training rows does not matter to boosting, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from models import same_bits
from numpy.typing import NDArray

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.estimators.losses import exact_sum

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(1500, 5))
X[:, 3] = np.round(X[:, 3])
SIGNAL = X @ [1.0, 0.5, -0.3, 1.0, 2.0] + RANDOM.normal(size=len(X)) * 0.3
TABLES = {"complete": X, "missing values": np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)}
TABLES["equal rows"] = np.round(TABLES["missing values"])
WEIGHT = RANDOM.choice([0.0, 0.3, 1.0, 1.7], size=len(X))
ORDER = RANDOM.permutation(len(X))
ROWS = np.where(RANDOM.random((300, 5)) < 0.4, np.nan, X[:300])


def assert_order_does_not_matter(make: Any, table: NDArray[Any], y: NDArray[Any], weight: Any) -> None:
    reordered = None if weight is None else weight[ORDER]
    first, second = make().fit(table, y, weight), make().fit(table[ORDER], y[ORDER], reordered)
    for rows in (X[:300], ROWS):
        a, b = (
            m.predict_proba(rows) if hasattr(m, "predict_proba") else m.predict(rows) for m in (first, second)
        )
        assert same_bits(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary", "mia", "majority", "fractional"])
def test_order_of_rows_changes_no_bit_under_any_strategy(missing: str, table: str, weight: Any) -> None:
    def make() -> Any:
        return TrinaryBoostingRegressor(missing=missing, max_iter=8, background_rows=400, random_state=0)

    assert_order_does_not_matter(make, TABLES[table], SIGNAL, weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "poisson", "gamma"])
def test_order_of_rows_changes_no_bit_with_any_loss(loss: str, weight: Any) -> None:
    y = np.round(np.exp(SIGNAL / 2)) + 1

    def make() -> Any:
        return TrinaryBoostingRegressor(loss=loss, max_iter=8, quantile=0.8, random_state=0)

    assert_order_does_not_matter(make, TABLES["missing values"], y, weight)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_of_rows_changes_no_bit_of_probabilities(n_classes: int) -> None:
    y = np.digitize(SIGNAL, [0.0] if n_classes == 2 else [-1.0, 1.0])

    def make() -> Any:
        return TrinaryBoostingClassifier(max_iter=6, random_state=0)

    assert_order_does_not_matter(make, TABLES["missing values"], y, WEIGHT)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e290])
def test_sum_in_fixed_point_is_rounded_once(scale: float) -> None:
    values = np.random.default_rng(1).normal(size=1000) * np.logspace(0, 12, 1000) * scale
    assert exact_sum(values) == math.fsum(values.tolist())
    assert exact_sum(values[::-1]) == exact_sum(values)
