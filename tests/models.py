"""Estimators and tables in the shapes that the tests need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.validation import STRATEGIES

__all__ = [
    "STRATEGIES",
    "TASKS",
    "WITH_THIRD_BRANCHES",
    "Floats",
    "as_array",
    "assert_equal_models",
    "binary_part",
    "estimator",
    "fitted",
    "predictions",
    "same_bits",
    "simulated",
    "training_loss",
    "with_missing",
]

TASKS = ("regression", "classification")
WITH_THIRD_BRANCHES = ("trinary", "trinary_mia")

Floats = NDArray[np.float64]


def estimator(task: str, **parameters: Any) -> Any:
    """Return an unfitted estimator for the task."""
    kind = TrinaryTreeRegressor if task == "regression" else TrinaryTreeClassifier
    return kind(**parameters)


def predictions(model: Any, X: Floats) -> Floats:
    """Return the predicted values, or the probabilities of classes."""
    found: Floats = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return found


def as_array(rows: Sequence[Sequence[Any]]) -> Floats:
    """Return the rows as floats, with NaN where a cell is None."""
    return np.array([[np.nan if v is None else float(v) for v in row] for row in rows])


def simulated(
    n_rows: int, n_columns: int = 5, *, missing: float = 0.0, seed: int = 0, task: str = "regression"
) -> tuple[Floats, NDArray[Any]]:
    """Return a table without ties and a target that depends on all its columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    slopes = np.linspace(2.0, 0.5, n_columns)
    signal = X @ slopes + X[:, 0] * X[:, -1] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    if task == "regression":
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, [0.4, 0.7]))


def binary_part(tree: Any, node: int = 0) -> Iterator[tuple[int, int, float]]:
    """Return (depth, column, threshold) of the nodes below left and right branches only, top down."""
    yield int(tree.depth[node]), int(tree.column[node]), float(tree.threshold[node])
    if tree.column[node] >= 0:
        yield from binary_part(tree, int(tree.left[node]))
        yield from binary_part(tree, int(tree.right[node]))


def same_bits(a: Floats, b: Floats) -> bool:
    """Return whether two arrays are equal to the last bit."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def with_missing(X: Floats, rate: float = 0.3, seed: int = 1) -> Floats:
    """Return the table with more cells missing."""
    return np.where(np.random.default_rng(seed).random(X.shape) < rate, np.nan, X)


def assert_equal_models(a: Any, b: Any) -> None:
    """Assert that boosted models of the core are equal to the last bit."""
    one, other = a.state(with_rows=True), b.state(with_rows=True)
    assert one["baseline"] == other["baseline"]
    assert one["params"] == other["params"]
    for group in ("trees", "bins"):
        assert one[group].keys() == other[group].keys()
        for name, array in one[group].items():
            assert array.tobytes() == other[group][name].tobytes(), name


def fitted(X: Floats, y: NDArray[Any], sample_weight: Any = None, **parameters: Any) -> Any:
    """Return a fitted estimator of depth 3; an integer target is one of classes."""
    task = "classification" if y.dtype.kind in "iu" else "regression"
    defaults = {"max_depth": 3, "min_samples_leaf": 5}
    return estimator(task, **(defaults | parameters)).fit(X, y, sample_weight=sample_weight)


def training_loss(model: Any, X: Floats, y: NDArray[Any]) -> float:
    """Return the sum of squared errors, or the cross-entropy, of the rows."""
    found = predictions(model, X)
    if found.ndim == 1:
        return float(np.square(y - found).sum())
    return float(-np.log(found[np.arange(len(y)), y]).sum())
