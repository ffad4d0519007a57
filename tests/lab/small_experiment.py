"""A small experiment that takes a fraction of a second, and its data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tritree.lab.dataset import Dataset
from tritree.lab.experiment import Experiment
from tritree.lab.trial import Folds


def made(name: str = "made", task: str = "regression", n: int = 200) -> Dataset:
    rng = np.random.default_rng(len(name))
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["x", "y"], n)})
    signal = table["a"] + (table["c"] == "x") * table["b"]
    table["y"] = signal if task == "regression" else np.where(signal > 0, "yes", "no")
    return Dataset.from_table(name, table, "y")


def small(**parameters: Any) -> Experiment:
    defaults: dict[str, Any] = {
        "datasets": [made()],
        "rates": [0.3],
        "methods": {"trinary": "trinary", "majority": "majority"},
        "max_depth": 2,
        "folds": Folds(4),
    }
    return Experiment(**(defaults | parameters))


def numbers(results: pd.DataFrame) -> pd.DataFrame:
    return results.drop(columns=["fit_seconds", "predict_seconds"])
