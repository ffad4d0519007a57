"""Benchmark data: synthetic tables, and a real one where its file is available."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ADULT",
    "AMES_HOUSING",
    "BLACK_FRIDAY",
    "DATA",
    "categories",
    "classes",
    "frame",
    "numbers",
    "real_table",
    "skipped",
    "with_missing",
]

PROJECT = Path(__file__).resolve().parents[1]
BLACK_FRIDAY = Path("paper", "black_friday.csv.gz")
#: Tables with missing values of their own.
ADULT, AMES_HOUSING = Path("natural", "adult.csv.gz"), Path("natural", "ames_housing.csv")
DATA = Path(os.environ.get("TRITREE_DATA", PROJECT.parent / "shared" / "data"))


def numbers(
    n_rows: int, n_columns: int, *, seed: int, missing: float = 0.0, spread: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a table of normal numbers, a fraction ``missing`` of its cells missing, and a target.

    The target is a step, an absolute value, an interaction, a sine and noise over the first columns. It is computed
    from the complete table. With ``spread`` it depends on every column with decreasing coefficients and on a product,
    so that all branches differ.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    y = X @ np.linspace(2.0, 0.1, n_columns) + X[:, 0] * X[:, 1] if spread else _signal(X)
    y += rng.standard_normal(n_rows)
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    return X, y


def classes(
    n_rows: int, n_columns: int, n_classes: int, *, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a table of normal numbers and classes of equal size: quantiles of a noisy target."""
    X, y = numbers(n_rows, n_columns, seed=seed)
    edges = np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(edges, y)


def categories(
    n_rows: int, n_categories: int, *, seed: int, n_columns: int = 1
) -> tuple[Any, NDArray[np.float64]]:
    """Return a frame of columns of equally frequent categories, and a target to which each adds a mean per category."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    codes = rng.integers(n_categories, size=(n_columns, n_rows))
    names = [f"c{i:04}" for i in range(n_categories)]
    effects = rng.standard_normal((n_columns, n_categories))
    y = np.take_along_axis(effects, codes, axis=1).sum(axis=0) + rng.standard_normal(n_rows)
    columns = {f"category{i}": pd.Categorical.from_codes(column, names) for i, column in enumerate(codes)}
    return pd.DataFrame(columns), y


def real_table(path: Path, *, every: int = 1) -> tuple[Any, NDArray[np.float64]] | None:
    """Return a table of ``DATA``, text columns as categories, and its target; None if the file is absent.

    A target of two classes is 0 or 1.

    Parameters
    ----------
    path : Path
        The file, relative to ``DATA``.
    every : int, default=1
        Take every n-th row.
    """
    import pandas as pd

    if not (DATA / path).exists():
        return None
    table = pd.read_csv(DATA / path).iloc[::every].reset_index(drop=True)
    target = table.pop("y")
    if not pd.api.types.is_numeric_dtype(target.dtype):
        target = target.astype("category").cat.codes
    y = target.to_numpy(dtype=np.float64)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            table[name] = table[name].astype("category")
    return table, y


def skipped(path: Path) -> str:
    """Return the note of a row whose table is absent."""
    return f"Skipped: {path} is absent; set TRITREE_DATA to the folder that holds it."


def with_missing(table: Any, missing: float, *, seed: int) -> Any:
    """Return a copy of the frame with a fraction ``missing`` of its cells removed at random."""
    return table.mask(np.random.default_rng(seed).random(table.shape) < missing)


def frame(X: NDArray[np.float64]) -> Any:
    """Return the table as a pandas frame with column names."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def _signal(X: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b, c, d, e = (X[:, i % X.shape[1]] for i in range(5))
    signal: NDArray[np.float64] = 2.0 * (a > 0.3) + np.abs(b) + a * c + np.sin(2.0 * d) + 0.5 * e
    return signal
