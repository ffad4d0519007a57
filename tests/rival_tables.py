"""Small tables of every kind, for the comparison of accuracy."""

from __future__ import annotations

import numpy as np
import pandas as pd


def mixed(n_rows: int = 120, *, seed: int = 0, holes: float = 0.0) -> pd.DataFrame:
    """Return a table with numbers, categories, text, truth values, and two columns without any value."""
    chance = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": chance.normal(size=n_rows),
            "whole": chance.integers(0, 9, n_rows),
            "category": pd.Categorical(chance.choice(list("xyz"), n_rows), categories=list("wxyz")),
            "text": chance.choice(["up", "down"], n_rows).astype(object),
            "flag": chance.random(n_rows) < 0.5,
            "no number": np.full(n_rows, np.nan),
            "no category": pd.Categorical([None] * n_rows, categories=["q"]),
        }
    )
    for name in ("number", "category", "text"):
        table.loc[chance.random(n_rows) < holes, name] = None
    return table


def response(table: pd.DataFrame, task: str) -> np.ndarray:
    """Return what is to be learned: numbers, or two classes, or many, which are text."""
    signal = table["whole"] + 3 * (table["text"] == "up").to_numpy()
    if task == "regression":
        return signal.to_numpy(dtype=float)
    return np.array([f"class {int(value) // (6 if task == 'two classes' else 2)}" for value in signal])
