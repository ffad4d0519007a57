"""A tiny design, tiny data sets and simulated results of the accuracy benchmark."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from mixed_tables import mixed, target

from benchmarks.accuracy.experiments import AS_IT_IS, Design, Grid, Outcome
from benchmarks.accuracy.methods import Hyperparameters
from benchmarks.accuracy.report import as_markdown
from benchmarks.accuracy.summary import summarise
from tritree.lab import Dataset

TINY = Design(
    grids=(Grid(("test only", "shift"), ("mcar",), (0.5,)),),
    libraries=("HistGB",),
    treatments=("", "mean"),
    folds=2,
    seeds=1,
    parameters=Hyperparameters(max_depth=2, n_trees=3, min_samples_leaf=5),
)


def tiny_datasets() -> list[Dataset]:
    """Return a regression and a classification."""
    table = mixed(60).drop(columns=["no number", "no category"])
    return [
        Dataset.from_table("numbers", table.assign(y=target(table, "regression")), "y"),
        Dataset.from_table("classes", table.assign(y=target(table, "two classes")), "y"),
    ]


def simulated(losses: dict[str, float], *, n_datasets: int = 6, groups=("test only",)) -> pd.DataFrame:
    """Return results in which every method has a fixed loss, up to noise; every other data set has classes."""
    rng = np.random.default_rng(0)
    settings = [
        (AS_IT_IS, 0.0),
        *product([f"{g}: {how}" for g in groups for how in ("mcar", "im")], (0.1, 0.5)),
    ]
    lines = []
    for dataset, (scenario, rate), fold in product(range(n_datasets), settings, range(3)):
        noise = 1 + 0.01 * rng.random()
        for i, (method, loss) in enumerate(losses.items()):
            found = loss * (noise + 1e-4 * i * rng.random())
            of_classes = (
                {"brier_score": found / 10, "expected_calibration_error": found / 100} if dataset % 2 else {}
            )
            lines.append(
                {"dataset": f"d{dataset}", "scenario": scenario, "rate": rate, "method": method, "seed": 0,
                 "fold": fold, "rows": 10, "loss": found, "fit_seconds": 2.0 * loss, "predict_seconds": loss}
                | of_classes
            )  # fmt: skip
    return pd.DataFrame(lines)


def page_of(results: pd.DataFrame) -> str:
    """Return the page of the accuracy benchmark."""
    return as_markdown(summarise(results), TINY, tiny_datasets(), Outcome(results))
