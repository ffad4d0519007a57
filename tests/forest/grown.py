"""Forests of tables with every kind of column, grown quickly."""

from __future__ import annotations

from typing import Any

import numpy as np
from boosting.tables import TABLE, TARGET, labels_of

from tritree import TrinaryForestClassifier, TrinaryForestRegressor

__all__ = ["grown", "predictions"]


def grown(kind: str, table: Any = TABLE, sample_weight: Any = None, **parameters: Any) -> Any:
    """Return a fitted forest of one of the kinds of `boosting.tables`."""
    parameters = {
        "n_estimators": 7,
        "max_depth": 4,
        "max_features": 0.7,
        "random_state": 0,
        "n_jobs": 1,
    } | parameters
    if kind == "regression":
        return TrinaryForestRegressor(**parameters).fit(table, TARGET, sample_weight)
    return TrinaryForestClassifier(**parameters).fit(table, labels_of(kind), sample_weight)


def predictions(model: Any, rows: Any) -> Any:
    """Return what a forest or a tree says: numbers, or the shares of classes, one column each."""
    predicted = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
    return np.reshape(predicted, (len(rows), -1))
