"""Small tables with columns of all types, for the tests of the accuracy benchmark."""

from __future__ import annotations

import numpy as np
import pandas as pd


def mixed(n_rows: int = 120, *, seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """Return a table with numbers, categories, text, booleans, and two columns without observed values."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "whole": rng.integers(0, 9, n_rows),
            "category": pd.Categorical(rng.choice(list("xyz"), n_rows), categories=list("wxyz")),
            "text": rng.choice(["up", "down"], n_rows).astype(object),
            "flag": rng.random(n_rows) < 0.5,
            "no number": np.full(n_rows, np.nan),
            "no category": pd.Categorical([None] * n_rows, categories=["q"]),
        }
    )
    for name in ("number", "category", "text"):
        table.loc[rng.random(n_rows) < missing, name] = None
    return table


def target(table: pd.DataFrame, task: str) -> np.ndarray:
    """Return a numeric target, or two or many classes, which are text."""
    signal = table["whole"] + 3 * (table["text"] == "up").to_numpy()
    if task == "regression":
        return signal.to_numpy(dtype=float)
    return np.array([f"class {int(value) // (6 if task == 'two classes' else 2)}" for value in signal])
