"""Experiment results for tests: simulated ones with known expected losses, and those of the paper."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_paths import PROJECT

pd = pytest.importorskip("pandas")

PAPER = Path(os.environ.get("TRITREE_PAPER", PROJECT.parent / "shared" / "paper"))
SLOPES = {"majority": 2.0, "mia": 1.6, "trinary": 1.0}
_FOLDERS = {"MCAR_all": "mcar", "MCAR_test": "mcar_test", "IM_all": "im"}
_METHODS = {
    "Majority": "majority",
    "MIA": "mia",
    "Weighted": "fractional",
    "Trinary": "trinary",
    "TrinaryMia": "trinary_mia",
}


def simulated(
    n_datasets: int = 8,
    *,
    scenarios: Sequence[str] = ("mcar", "im"),
    rates: Sequence[float] = (0.0, 0.1, 0.5),
    slopes: Mapping[str, float] = SLOPES,
    seeds: int = 2,
    folds: int = 3,
    noise: float = 0.05,
    seed: int = 0,
) -> Any:
    """Return results in which a method's expected loss is ``scale * (1 + slope * rate)``, with a scale per data set.

    The difficulty of a fold is the same for all methods; at rate 0 all methods have the same loss.
    """
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [range(n_datasets), scenarios, rates, list(slopes), range(seeds), range(folds)],
        names=["dataset", "scenario", "rate", "method", "seed", "fold"],
    )
    table = keys.to_frame(index=False)
    scale = 10.0 ** rng.integers(-2, 5, n_datasets)
    difficulty = np.exp(rng.normal(scale=0.3, size=(n_datasets, folds)))
    noise_factor = np.exp(rng.normal(scale=noise, size=len(table)) - noise**2 / 2)
    table["loss"] = (
        scale[table["dataset"]]
        * difficulty[table["dataset"], table["fold"]]
        * (1 + table["method"].map(slopes).astype(float) * table["rate"])
        * np.where(table["rate"] > 0, noise_factor, 1.0)
    )
    table["rows"] = 40 + table["fold"] % 2
    table["fit_seconds"], table["predict_seconds"] = 0.25, 0.002
    table["dataset"] = "set " + table["dataset"].astype(str)
    return table


def select(table: Any, **where: Any) -> Any:
    """Return the lines of a table with these values."""
    for name, value in where.items():
        table = table[table[name] == value]
    return table


def paper_results() -> Any:
    """Return the losses of the paper's author as results with one fold and one seed."""
    if not (PAPER / "author_losses").exists():
        pytest.skip("the losses of the paper's author are absent; set TRITREE_PAPER")
    lines = [
        {"dataset": path.stem, "scenario": scenario, "rate": rate, "method": _METHODS[method], "loss": loss}
        for folder, scenario in _FOLDERS.items()
        for path in sorted((PAPER / "author_losses" / folder).glob("*.csv"))
        for rate, losses in pd.read_csv(path, index_col=0).iterrows()
        for method, loss in losses.items()
    ]
    return pd.DataFrame(lines).assign(seed=0, fold=0, rows=1)


def paper_figure() -> Any:
    """Return the paper's Figure 2 as numbers."""
    if not (PAPER / "figure.csv").exists():
        pytest.skip("the figure of the paper is absent; set TRITREE_PAPER")
    return pd.read_csv(PAPER / "figure.csv").rename(columns={"setting": "scenario"})
