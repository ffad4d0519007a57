"""Random models of LightGBM."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd

OBJECTIVES = (
    *("regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie"),
    *("binary", "cross_entropy", "multiclass", "multiclassova", "lambdarank", "rank_xendcg", "custom"),
)


def make(seed: int) -> tuple[Any, Any, Any]:
    """Return a random model, complete rows, and rows with missing values and unknown categories."""
    rng = np.random.default_rng(seed)
    objective = str(rng.choice(OBJECTIVES))
    n_rows = int(rng.integers(40, 300))
    with_pandas = bool(rng.random() < 0.5)
    table, categorical = _table(rng, n_rows, with_pandas)
    target = _target(rng, table, objective)
    parameters = _parameters(rng, objective)
    training = _with_missing(rng, table)

    def dataset(rows: slice, reference: Any = None) -> lightgbm.Dataset:
        return lightgbm.Dataset(
            training.iloc[rows] if with_pandas else training.to_numpy(np.float64)[rows],
            target[rows],
            weight=rng.uniform(0.1, 2, n_rows)[rows] if rng.random() < 0.3 else None,
            group=[len(target[rows])] if "rank" in objective else None,
            categorical_feature="auto" if with_pandas else categorical,
            reference=reference,
            free_raw_data=False,
        )

    def train(**more: Any) -> lightgbm.Booster:
        return lightgbm.train(parameters, dataset(slice(None)), int(rng.integers(1, 12)), **more)

    kind = rng.choice(["plain", "early stopping", "continued", "file", "scikit-learn"])
    if parameters.get("boosting") in ("rf", "dart") or objective == "custom":
        kind = rng.choice(["plain", "file"])
    if kind == "early stopping":
        valid = dataset(slice(0, None, 2), reference=dataset(slice(None)))
        stop = lightgbm.early_stopping(1, first_metric_only=True, verbose=False)
        model = train(valid_sets=[valid], callbacks=[stop])
    elif kind == "continued":
        model = train(init_model=train())
    elif kind == "scikit-learn" and objective in ("regression", "poisson", "binary", "multiclass"):
        model = _estimator(
            rng, objective, parameters, training if with_pandas else training.to_numpy(float), target
        )
    else:
        model = train()
    if kind == "file":
        model = lightgbm.Booster(model_str=model.model_to_string())
    if model.__class__ is lightgbm.Booster:
        model.params = {}  # those of training, which predict() warns of
    complete = _beside_thresholds(rng, table, getattr(model, "booster_", model))
    missing = _with_missing(rng, complete, share=0.4, unknown=True)
    if with_pandas:
        return model, complete, missing
    return model, complete.to_numpy(np.float64), missing.to_numpy(np.float64)


def _table(rng: np.random.Generator, n_rows: int, with_pandas: bool) -> tuple[pd.DataFrame, list[int]]:
    table, categorical = {}, []
    for column in range(int(rng.integers(1, 6))):
        kind = rng.choice(["normal", "whole", "zeros", "huge", "tiny", "constant", "categories", "ordered"])
        values: Any = rng.normal(size=n_rows)
        if column == 0:  # LightGBM needs a column that can be split
            pass
        elif kind == "whole":
            values = np.round(3 * values)
        elif kind == "zeros":
            values = np.where(rng.random(n_rows) < 0.5, 0, values)
        elif kind == "huge":
            values = np.sign(values) * 10.0 ** rng.uniform(-300, 299, n_rows)
        elif kind == "tiny":
            values = rng.choice([-2e-35, -1e-35, 0, 0.5e-35, 1e-35, 2e-35, 1], n_rows)
        elif kind == "constant":
            values = np.ones(n_rows)
        elif kind in ("categories", "ordered"):
            k = int(rng.integers(2, 40))
            values = rng.integers(0, k, n_rows)
            if with_pandas:
                labels: Any = rng.permutation(3 * k)[:k]
                if rng.random() < 0.5:
                    labels = [f"é {label}" for label in labels]
                values = pd.Categorical.from_codes(values, labels, ordered=kind == "ordered")
            elif kind == "categories":
                categorical.append(column)
                values = values * int(rng.integers(1, 4))
        table[f"column {column}"] = values
    return pd.DataFrame(table), categorical


def _codes(table: pd.DataFrame) -> np.ndarray:
    return np.column_stack(
        [col.cat.codes if isinstance(col.dtype, pd.CategoricalDtype) else col for _, col in table.items()]
    )


def _target(rng: np.random.Generator, table: pd.DataFrame, objective: str) -> np.ndarray:
    score = np.sin(_codes(table) * rng.uniform(0.3, 2)).sum(axis=1) + rng.normal(0, 0.3, len(table))
    if objective in ("binary", "lambdarank", "rank_xendcg"):
        return (score > np.median(score)).astype(float)
    if objective == "cross_entropy":
        return 1 / (1 + np.exp(-score))
    if "multiclass" in objective:
        return np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(float)
    if objective in ("poisson", "gamma", "tweedie"):
        return np.exp(score) + 0.01
    return score * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 100])


def _parameters(rng: np.random.Generator, objective: str) -> dict[str, Any]:
    def squared(raw: np.ndarray, data: lightgbm.Dataset) -> tuple[np.ndarray, np.ndarray]:
        return raw - data.get_label(), np.ones(len(raw))

    parameters: dict[str, Any] = {
        "objective": squared if objective == "custom" else objective,
        "verbose": -1,
        "num_threads": 1,
        "seed": int(rng.integers(1000)),
        "num_leaves": int(rng.choice([2, 4, 15, 40])),
        "min_data_in_leaf": int(rng.choice([1, 5, 40])),
        "max_bin": int(rng.choice([5, 63, 255])),
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "learning_rate": float(rng.choice([0.05, 0.3, 1])),
        "zero_as_missing": bool(rng.random() < 0.25),
        "use_missing": bool(rng.random() < 0.8),
        "boost_from_average": bool(rng.random() < 0.8),
        "feature_fraction": float(rng.choice([0.5, 1])),
        "extra_trees": bool(rng.random() < 0.2),
        "path_smooth": float(rng.choice([0, 1])),
        "min_data_per_group": int(rng.choice([1, 20])),
        "max_cat_to_onehot": int(rng.choice([1, 4, 20])),
        "cat_smooth": float(rng.choice([0, 10])),
        "boosting": str(rng.choice(["gbdt", "gbdt", "dart", "rf"])),
    }
    if objective == "custom" and parameters["boosting"] == "rf":
        parameters["boosting"] = "dart"
    if parameters["boosting"] == "rf":
        parameters.update(bagging_freq=1, bagging_fraction=0.6)
    elif rng.random() < 0.3:
        parameters["data_sample_strategy"] = "goss"
    if "multiclass" in objective:
        parameters["num_class"] = 3
    if objective in ("binary", "multiclassova"):
        parameters["sigmoid"] = float(rng.choice([0.5, 1, 1.7]))
    return parameters


def _estimator(
    rng: np.random.Generator, objective: str, parameters: dict[str, Any], X: Any, target: np.ndarray
) -> Any:
    parameters = {key: value for key, value in parameters.items() if key != "num_class"}
    parameters["n_estimators"] = int(rng.integers(1, 8))
    if objective in ("binary", "multiclass"):
        return lightgbm.LGBMClassifier(**parameters).fit(
            X, np.array(["no", "maybe", "yes"])[target.astype(int)]
        )
    return lightgbm.LGBMRegressor(**parameters).fit(X, target)


def _beside_thresholds(
    rng: np.random.Generator, table: pd.DataFrame, model: lightgbm.Booster
) -> pd.DataFrame:
    """Return rows whose values are at and next to the thresholds of the model."""
    splits = model.trees_to_dataframe()
    splits = splits[splits["split_feature"].notna() & (splits["decision_type"] == "<=")]
    rows = table.iloc[rng.integers(0, len(table), 60)].reset_index(drop=True)
    for position, name in enumerate(table.columns):
        names = (name.replace(" ", "_"), f"Column_{position}")
        cuts = splits.loc[splits["split_feature"].isin(names), "threshold"].to_numpy(float)
        if len(cuts) and not isinstance(rows[name].dtype, pd.CategoricalDtype):
            cuts = rng.choice(cuts, len(rows))
            near = np.nextafter(cuts, rng.choice([-np.inf, np.inf], len(cuts)))
            value = np.where(rng.random(len(cuts)) < 0.5, cuts, near)
            rows[name] = np.where(rng.random(len(cuts)) < 0.6, value, rows[name])
    return rows


def _with_missing(
    rng: np.random.Generator, table: pd.DataFrame, share: float = 0.2, *, unknown: bool = False
) -> pd.DataFrame:
    """Return the table without some of its values, and with unknown categories if asked for."""
    table = table.copy()
    for name in table.columns:
        if unknown and isinstance(table[name].dtype, pd.CategoricalDtype):
            dtype = pd.CategoricalDtype([*table[name].cat.categories, "unknown"], table[name].cat.ordered)
            table[name] = table[name].astype(dtype).mask(rng.random(len(table)) < 0.1, "unknown")
        elif unknown and table[name].dtype.kind == "i":
            table[name] = table[name].mask(rng.random(len(table)) < 0.1, 10_000).astype(float)
        if unknown or rng.random() < 0.5:
            table[name] = table[name].mask(rng.random(len(table)) < share)
    return table
