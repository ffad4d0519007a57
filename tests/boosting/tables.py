"""Tables of every kind of column, and boosted models of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

N = 500
KINDS = ("regression", "two classes", "three classes")

_random = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "number": _random.normal(size=N),
        "other": _random.normal(size=N).astype(np.float32),
        "city": _random.choice(["Rome", "Oslo", "Bern", "Kyiv"], N),
        "size": pd.Categorical(_random.choice(["S", "M", "L"], N), ["S", "M", "L"], ordered=True),
        "code": pd.Categorical(_random.choice([3, 7, 11], N)),
    }
)
TARGET = (
    2 * TABLE["number"]
    + (TABLE["city"] == "Rome") * TABLE["other"]
    + TABLE["size"].cat.codes
    + 2 * (TABLE["code"] == 7)
)
HOLED = TABLE.mask(_random.random(TABLE.shape) < 0.3)
#: Rows to predict: with missing values, and with an unknown city.
ROWS = HOLED.iloc[:150].copy()
ROWS["city"] = ROWS["city"].where(_random.random(len(ROWS)) < 0.9, "Nowhere")


DIABETES: Any = load_diabetes(return_X_y=True)
QUICK: dict[str, Any] = {"max_iter": 15, "max_depth": 3, "random_state": 0}


def labels_of(kind: str) -> Any:
    """Return the classes of the rows of the table."""
    labels = np.array(["low", "high"] if kind == "two classes" else ["low", "middle", "high"])
    return labels[np.digitize(TARGET, [0.5] if kind == "two classes" else [0.0, 2.0])]


def boosted(kind: str, table: Any = TABLE, **parameters: Any) -> Any:
    """Return a fitted model of one of the kinds, quickly."""
    parameters = {"max_iter": 12, "max_depth": 3, "min_samples_leaf": 5, "random_state": 0} | parameters
    if kind == "regression":
        positive = parameters.get("loss") in ("poisson", "gamma")
        return TrinaryBoostingRegressor(**parameters).fit(table, np.exp(TARGET / 2) if positive else TARGET)
    return TrinaryBoostingClassifier(**parameters).fit(table, labels_of(kind))


def coarse() -> np.ndarray:
    """Return a table whose columns have few values, which every library bins alike."""
    return np.random.default_rng(0).integers(0, 40, size=(600, 5)).astype(float)


def coarse_target(X: np.ndarray) -> np.ndarray:
    """Return a target for the coarse table."""
    noise = np.random.default_rng(1).normal(size=len(X))
    return X[:, 0] / 10 + np.sin(X[:, 1] / 6) + (X[:, 2] > 20) * X[:, 3] / 20 + noise / 3


def sums(model: Any, rows: Any) -> Any:
    """Return the sums over trees, one column per output."""
    if hasattr(model, "classes_"):
        return np.reshape(model.decision_function(rows), (len(rows), -1))
    predicted = model.predict(rows)[:, None]
    return np.log(predicted) if model.loss in ("poisson", "gamma") else predicted
