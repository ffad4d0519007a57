"""No iteration of boosting raises the training loss, whatever the data."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

LOSSES = ("squared_error", "absolute_error", "quantile", "poisson", "gamma")
#: Targets of very different sizes.
SIZES = (0.0, 1e-12, 1e-3, 0.5, 1.0, 3.0, 1e4, 1e9)
WEIGHTS = (1e-9, 0.01, 1.0, 1.0, 50.0, 1e6)


def losses(name: str, y: NDArray[Any], raw: NDArray[Any], quantile: float) -> NDArray[Any]:
    """Return the loss of each row."""
    residual = y - raw
    match name:
        case "squared_error":
            return np.square(residual) / 2
        case "absolute_error" | "quantile":
            q = 0.5 if name == "absolute_error" else quantile
            return np.maximum(q * residual, (q - 1) * residual)
        case "poisson":
            return np.exp(raw) - y * raw
        case "gamma":
            return y * np.exp(-raw) + raw
    raise ValueError(name)


def total(values: NDArray[Any], weight: NDArray[Any]) -> tuple[float, float]:
    """Return the weighted sum, and how precise it is: a probability near 1 is rounded by 1e-16."""
    terms = (values * weight).tolist()
    return math.fsum(terms), 1e-9 * math.fsum(map(abs, terms)) + 1e-15 * math.fsum(weight.tolist())


def assert_never_rises(sums: list[tuple[float, float]]) -> None:
    for (before, _), (after, precision) in itertools.pairwise(sums):
        assert after <= before + precision


@st.composite
def problems(draw: st.DrawFn, missing: float = 0.0) -> dict[str, Any]:
    n = draw(st.integers(8, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.integers(0, draw(st.integers(2, 12)), size=(n, 3)).astype(float)
    X[random.random(X.shape) < missing] = np.nan
    sizes = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4))
    y = random.choice(sizes, size=n) * random.choice([1.0, 1.1, 2.0], size=n)
    weight = random.choice(draw(st.lists(st.sampled_from(WEIGHTS), min_size=1, max_size=3)), size=n)
    parameters = {
        "learning_rate": draw(st.sampled_from([0.1, 0.5, 1.0])),
        "l2_regularization": draw(st.sampled_from([0.0, 1e-3, 10.0])),
        "max_depth": draw(st.integers(1, 4)),
        "min_samples_leaf": draw(st.integers(1, 3)),
        "max_features": draw(st.sampled_from([0.5, 1.0])),
        "max_iter": 12,
        "random_state": 0,
    }
    return {"X": X, "y": y, "weight": weight, "parameters": parameters}


def regression_sums(loss: str, problem: dict[str, Any], **more: Any) -> list[tuple[float, float]]:
    """Return the training loss of the baseline and after each iteration."""
    X, y, weight = problem["X"], problem["y"], problem["weight"]
    if loss == "gamma":
        y = y + 1e-12
    if loss == "poisson" and not y.any():
        y = y + 1
    parameters = problem["parameters"] | {"loss": loss, "quantile": 0.8} | more
    model = TrinaryBoostingRegressor(**parameters).fit(X, y, weight)
    has_link = loss in ("poisson", "gamma")
    baseline = np.full(len(y), model._model.core.baseline[0])
    raws = [baseline, *(np.log(p) if has_link else p for p in model.staged_predict(X))]
    return [total(losses(loss, y, raw, 0.8), weight) for raw in raws]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("missing", ["trinary_mia", "fractional"])
@given(problem=problems())
def test_loss_of_complete_rows_never_rises(missing: str, loss: str, problem: dict[str, Any]) -> None:
    assert_never_rises(regression_sums(loss, problem, missing=missing))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(problem=problems())
def test_cross_entropy_of_complete_rows_never_rises(n_classes: int, problem: dict[str, Any]) -> None:
    y = np.arange(len(problem["y"])) % n_classes
    model = TrinaryBoostingClassifier(**problem["parameters"]).fit(problem["X"], y, problem["weight"])
    found = [-np.log(p[np.arange(len(y)), y]) for p in model.staged_predict_proba(problem["X"])]
    frequencies = np.bincount(y, weights=problem["weight"]) / problem["weight"].sum()
    assert_never_rises([total(each, problem["weight"]) for each in (-np.log(frequencies[y]), *found)])


@pytest.mark.parametrize("loss", LOSSES)
@given(problem=problems(missing=0.3), subsample=st.sampled_from([0.5, 1.0]))
def test_loss_stays_below_the_baseline_with_missing_values_and_subsampling(
    loss: str, problem: dict[str, Any], subsample: float
) -> None:
    first, *others = regression_sums(loss, problem, subsample=subsample, missing="trinary")
    for after, precision in others:
        assert after <= first[0] + precision


def test_counts_with_few_large_ones_are_predicted_within_their_range() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 4))
    y = random.poisson(0.01, size=len(X)).astype(float)
    y[random.choice(len(X), 8, replace=False)] = 1e4
    model = TrinaryBoostingRegressor(loss="poisson", random_state=0).fit(X, y)
    assert model.predict(X).max() < 1.1e4
