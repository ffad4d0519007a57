"""Random models of CatBoost with numeric features."""

from __future__ import annotations

from typing import Any

import catboost
import numpy as np
import pandas as pd

REGRESSION = (
    "RMSE",
    "MAE",
    "Quantile:alpha=0.3",
    "Poisson",
    "Tweedie:variance_power=1.4",
    "Huber:delta=1",
    "LogCosh",
)
CLASSIFICATION = (
    "Logloss",
    "CrossEntropy",
    "Focal:focal_alpha=0.3;focal_gamma=2.0",
    "MultiClass",
    "MultiClassOneVsAll",
)


def make(seed: int) -> tuple[Any, Any, Any]:
    """Return a random model, complete rows, and rows with missing values."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(40, 300))
    loss = str(rng.choice([*REGRESSION, *CLASSIFICATION, "YetiRank"]))
    table = _table(rng, n_rows)
    policy = str(rng.choice(["SymmetricTree", "Depthwise", "Lossguide"]))
    if loss == "YetiRank":
        policy = "SymmetricTree"
    parameters: dict[str, Any] = {
        "iterations": int(rng.integers(1, 10)),
        "depth": int(rng.integers(1, 6)),
        "learning_rate": float(rng.choice([0.03, 0.3, 1])),
        "loss_function": loss,
        "grow_policy": policy,
        "nan_mode": str(rng.choice(["Min", "Max"])),
        "border_count": int(rng.choice([4, 32, 254])),
        "min_data_in_leaf": int(rng.choice([1, 10])) if policy != "SymmetricTree" else 1,
        "random_seed": int(rng.integers(1000)),
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
    }
    if loss in ("RMSE", "MAE", "Logloss"):
        parameters["boost_from_average"] = bool(rng.random() < 0.5)
    training = _with_missing(rng, table, 0.2, 0.5)
    target = _target(rng, table, loss)
    pool = catboost.Pool(
        training if rng.random() < 0.5 else training.to_numpy(),
        target,
        weight=rng.uniform(0.1, 2, n_rows) if rng.random() < 0.3 and loss != "YetiRank" else None,
        group_id=np.arange(n_rows) // 10 if loss == "YetiRank" else None,
    )
    kind = catboost.CatBoostRegressor if loss in REGRESSION else catboost.CatBoostClassifier
    kind = catboost.CatBoost if loss == "YetiRank" or rng.random() < 0.2 else kind
    model = (kind(parameters) if kind is catboost.CatBoost else kind(**parameters)).fit(pool)
    if rng.random() < 0.2:
        bias = np.atleast_1d(model.get_scale_and_bias()[1])
        model.set_scale_and_bias(float(rng.uniform(0.5, 2)), (bias + rng.normal(size=len(bias))).tolist())
    complete = _beside_borders(rng, table, model).astype(rng.choice(["float32", "float64"]))
    return model, complete, _with_missing(rng, complete, 0.4, 1)


def _table(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    table = {}
    for column in range(int(rng.integers(1, 6))):
        kind = rng.choice(["normal", "whole", "huge", "tiny", "constant"])
        values = rng.normal(size=n_rows)
        if column == 0:  # CatBoost needs a column that can be split
            pass
        elif kind == "whole":
            values = np.round(3 * values)
        elif kind == "huge":
            values = np.sign(values) * 10.0 ** rng.uniform(-30, 38, n_rows)
        elif kind == "tiny":
            values *= 1e-40
        elif kind == "constant":
            values = np.ones(n_rows)
        table[f"column {column}"] = values
    return pd.DataFrame(table)


def _target(rng: np.random.Generator, table: pd.DataFrame, loss: str) -> np.ndarray:
    score = np.sin(table.to_numpy() * rng.uniform(0.3, 2)).sum(axis=1) + rng.normal(0, 0.3, len(table))
    if loss.startswith("MultiClass"):
        return np.array(["b", "c", "a"])[np.digitize(score, np.quantile(score, [0.3, 0.6]))]
    if loss in CLASSIFICATION or loss == "YetiRank":
        return (score > np.median(score)).astype(int)
    return np.exp(score) if loss[0] in "PT" else score * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 100])


def _beside_borders(rng: np.random.Generator, table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Return rows whose values are at and next to the borders of the model, as float32 and as double."""
    rows = table.iloc[rng.integers(0, len(table), 60)].reset_index(drop=True)
    for position, borders in model.get_borders().items():
        cuts = np.array(borders)[np.abs(borders) < 1e38]
        if not len(cuts):
            continue
        cuts = rng.choice(cuts, len(rows)).astype(np.float32)
        to = rng.choice([-np.inf, np.inf], len(cuts))
        next_float = np.nextafter(cuts, to.astype(np.float32)).astype(float)
        cuts = cuts.astype(float)
        middle = (cuts + next_float) / 2
        candidates = [cuts, next_float, middle, np.nextafter(middle, to), np.nextafter(cuts, to)]
        value = np.choose(rng.integers(0, len(candidates), len(cuts)), candidates)
        name = table.columns[position]
        rows[name] = np.where(rng.random(len(cuts)) < 0.7, value, rows[name])
    return rows


def _with_missing(
    rng: np.random.Generator, table: pd.DataFrame, share: float, columns: float
) -> pd.DataFrame:
    """Return the table without a share of the values of some columns."""
    where = (rng.random(table.shape) < share) & (rng.random(table.shape[1]) < columns)
    return table.mask(where)
