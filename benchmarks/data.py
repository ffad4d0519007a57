"""The tables that are measured on: drawn afresh by seed, or read where real ones are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BLACK_FRIDAY", "DATA", "black_friday", "categories", "classes", "frame", "numbers"]

PROJECT = Path(__file__).resolve().parents[1]
BLACK_FRIDAY = Path("paper", "black_friday.csv.gz")
DATA = Path(os.environ.get("TRITREE_DATA", PROJECT.parent / "shared" / "data"))


def numbers(
    n_rows: int, n_columns: int, *, seed: int, holes: float = 0.0, spread: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a table of normal numbers, a share of its cells missing, and a response to find something in.

    The response has a jump, a bend, an interaction, a wave and noise, over the first columns as far as there are
    any. It follows the complete table, so holes hide part of what it depends on. With ``spread`` it follows every
    column, each a little less than the one before, and a product: then no branch is like another.
    """
    chance = np.random.default_rng(seed)
    X = chance.standard_normal((n_rows, n_columns))
    y = X @ np.linspace(2.0, 0.1, n_columns) + X[:, 0] * X[:, 1] if spread else _signal(X)
    y += chance.standard_normal(n_rows)
    if holes:
        X[chance.random(X.shape) < holes] = np.nan
    return X, y


def classes(
    n_rows: int, n_columns: int, n_classes: int, *, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a table of normal numbers and classes of equal size, ordered by a noisy response."""
    X, y = numbers(n_rows, n_columns, seed=seed)
    edges = np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(edges, y)


def categories(n_rows: int, n_categories: int, *, seed: int) -> tuple[Any, NDArray[np.float64]]:
    """Return a frame of one column of equally frequent categories, each with a mean of its own, and a response."""
    import pandas as pd

    chance = np.random.default_rng(seed)
    codes = chance.integers(n_categories, size=n_rows)
    names = [f"c{i:04}" for i in range(n_categories)]
    y = chance.standard_normal(n_categories)[codes] + chance.standard_normal(n_rows)
    return pd.DataFrame({"category": pd.Categorical.from_codes(codes, names)}), y


def black_friday(*, every: int = 1) -> tuple[Any, NDArray[np.float64]] | None:
    """Return the Black Friday table, text as categories, and its response; None where the file is absent.

    Parameters
    ----------
    every : int, default=1
        Take one row in this many.
    """
    import pandas as pd

    path = DATA / BLACK_FRIDAY
    if not path.exists():
        return None
    table = pd.read_csv(path).iloc[::every].reset_index(drop=True)
    y = table.pop("y").to_numpy(dtype=np.float64)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            table[name] = table[name].astype("category")
    return table, y


def frame(X: NDArray[np.float64]) -> Any:
    """Return the table as a pandas frame with names of columns."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def _signal(X: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b, c, d, e = (X[:, i % X.shape[1]] for i in range(5))
    signal: NDArray[np.float64] = 2.0 * (a > 0.3) + np.abs(b) + a * c + np.sin(2.0 * d) + 0.5 * e
    return signal
