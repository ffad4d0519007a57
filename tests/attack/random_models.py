"""Random tables with the difficult values that a table may hold, and random estimators of all six kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tritree
from tritree.validation import BOOSTING_STRATEGIES, REGRESSION_LOSSES, STRATEGIES

Random = np.random.Generator

FAMILIES = ("Tree", "Forest", "Boosting")
WORDS = ("blue", "green", "red", "žlutá", "a b", "10", "nan?", "x" * 100, "\u202eleft", "é", "<b>", "Z")


@dataclass(frozen=True)
class Case:
    """A training table, rows to predict, and an estimator that is not fitted."""

    X: pd.DataFrame
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    rows: pd.DataFrame
    family: str
    parameters: dict[str, Any]
    is_regression: bool

    def estimator(self, **changes: Any) -> Any:
        """Return the estimator, with some parameters changed."""
        kind = f"Trinary{self.family}{'Regressor' if self.is_regression else 'Classifier'}"
        return getattr(tritree, kind)(**(self.parameters | changes))

    def fitted(self, order: Any = slice(None), **changes: Any) -> Any:
        """Return the fitted estimator; ``order`` is that of the training rows."""
        weight = None if self.weight is None else self.weight[order]
        return self.estimator(**changes).fit(self.X.iloc[order], self.y[order], sample_weight=weight)

    @property
    def depends_on_row_order(self) -> bool:
        """Whether training rows are drawn by their position."""
        return self.family == "Forest" or self.parameters.get("subsample", 1.0) < 1


def draw_case(seed: int, family: str | None = None) -> Case:
    """Return the case of a seed; a family of estimators may be given."""
    rng = np.random.default_rng(seed)
    family = family or str(rng.choice(FAMILIES))
    is_regression = bool(rng.random() < 0.5)
    n_rows = int(rng.choice([rng.integers(5, 40), rng.integers(40, 400), 6_000], p=[0.3, 0.6, 0.1]))
    n_columns = int(rng.integers(1, 7))
    table = pd.DataFrame({f"c{j}": _column(rng, n_rows + 40) for j in range(n_columns)})
    X = table.mask(rng.random(table.shape) < rng.choice([0.0, 0.1, 0.5], size=n_columns))[:n_rows]
    rows = table.mask(rng.random(table.shape) < rng.choice([0.0, 0.3, 0.7]))[-40:].reset_index(drop=True)
    parameters = _parameters(rng, family, is_regression)
    signal = sum((pd.factorize(X[name])[0] % 7 for name in X), np.zeros(n_rows)) + rng.normal(size=n_rows)
    if is_regression:
        y = _regression_target(rng, signal, parameters.get("loss"))
    else:
        edges = np.quantile(signal, np.arange(1, k := int(rng.integers(2, 5))) / k)
        labels = rng.permutation(WORDS)[:k] if rng.random() < 0.5 else np.arange(k) * 10 - 5
        y = labels[np.digitize(signal, edges)]
        y[:2] = labels[:2]
    return Case(X, y, _weights(rng, n_rows), rows, family, parameters, is_regression)


def _column(rng: Random, n: int) -> Any:
    """Return the cells of a column of any type."""
    words = np.array(WORDS, dtype=object)[rng.integers(0, int(rng.integers(1, len(WORDS) + 1)), n)]
    extreme = np.array([0.0, -0.0, 5e-324, 1e-308, 1.0, 1 + 2**-52, 2.0**53, 1e308, -1.7976931348623157e308])
    drawn = [
        lambda: rng.normal(size=n),
        lambda: np.round(rng.normal(size=n), 1),
        lambda: rng.normal(size=n).astype(np.float32),
        lambda: rng.choice([-1.0, 1.0], n) * 10 ** rng.uniform(-300, 300, n),
        lambda: rng.choice(extreme, n),
        lambda: rng.integers(-(2**53), 2**53, n),
        lambda: np.full(n, 0.5),
        lambda: np.full(n, np.nan),
        lambda: rng.random(n) < 0.5,
        lambda: words,
        lambda: pd.Categorical(words, categories=WORDS, ordered=bool(rng.random() < 0.5)),
        lambda: np.array([f"street {k}" for k in rng.integers(0, 60, n)], dtype=object),
    ]
    return drawn[rng.integers(len(drawn))]()


def _weights(rng: Random, n: int) -> NDArray[np.float64] | None:
    kinds = [None, rng.exponential(size=n), rng.integers(0, 3, n) + 0.0, 10 ** rng.uniform(-9, 9, n)]
    weight = kinds[rng.integers(len(kinds))]
    return weight if weight is None or weight.any() else None


def _regression_target(rng: Random, signal: NDArray[np.float64], loss: str | None) -> NDArray[np.float64]:
    """Return a target that the loss allows, some of extreme size."""
    scale, offset = rng.choice([1.0, 1.0, 1e-9, 1e9]), rng.choice([0.0, 0.0, 1e6])
    if loss in ("poisson", "gamma"):
        return np.abs(signal) + 0.1 if loss == "gamma" else np.abs(signal).round()
    return np.asarray(signal * scale + offset)


def _parameters(rng: Random, family: str, is_regression: bool) -> dict[str, Any]:
    """Return random parameters of an estimator."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    found: dict[str, Any] = {
        "missing": one_of(*(BOOSTING_STRATEGIES if family == "Boosting" else STRATEGIES)),
        "max_depth": one_of(1, 2, 3, 5),
        "min_samples_leaf": one_of(1, 2, 5, 20),
        "max_leaf_nodes": one_of(None, None, 2, 6),
        "max_features": one_of(None, None, 0.5, "sqrt"),
        "max_bins": one_of(4, 255),
        "split_on_missing": one_of(True, False),
        "random_state": int(rng.integers(1000)),
        "n_jobs": 1,
    }
    if family == "Forest":
        found |= {"n_estimators": one_of(1, 7, 20), "bootstrap": one_of(True, False)}
    if family == "Boosting":
        found |= {
            "max_iter": one_of(1, 5, 12),
            "learning_rate": one_of(0.1, 0.5, 1.0),
            "l2_regularization": one_of(0.0, 0.0, 1.0),
            "subsample": one_of(1.0, 1.0, 0.7),
            "early_stopping": False,
            "background_rows": one_of(20, 1000),
        }
        if is_regression:
            found["loss"] = one_of(*REGRESSION_LOSSES)
    elif not is_regression:
        found["criterion"] = one_of("entropy", "gini")
    if family == "Tree":
        found["max_bins"] = one_of(None, 4, 255)
        found["max_surrogates"] = one_of(0, 1, 5)
    return found
