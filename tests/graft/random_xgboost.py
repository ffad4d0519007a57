"""Random models of XGBoost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import xgboost

OBJECTIVES = (
    *(
        "reg:squarederror",
        "reg:squaredlogerror",
        "reg:absoluteerror",
        "reg:pseudohubererror",
        "reg:quantileerror",
    ),
    *("reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson", "survival:cox", "survival:aft"),
    *("binary:logistic", "binary:logitraw", "multi:softprob", "multi:softmax"),
    *("rank:pairwise", "rank:ndcg", "rank:map"),
)


def make(seed: int) -> tuple[Any, Any, Any]:
    """Return a random model, complete rows, and rows with missing values."""
    rng = np.random.default_rng(seed)
    objective = str(rng.choice(OBJECTIVES))
    n_rows = int(rng.integers(40, 300))
    with_pandas = bool(rng.random() < 0.5)
    table, types = _table(rng, n_rows, with_pandas)
    target = _target(rng, table, objective)
    parameters = _parameters(rng, objective, has_categories="c" in types)
    training = _with_missing(rng, table)
    model = (_estimator if rng.random() < 0.4 else _booster)(
        rng, parameters, training if with_pandas else training.to_numpy(float), types, target
    )
    complete = _beside_thresholds(rng, table, model)
    missing = _with_missing(rng, complete, 0.4, always=True)
    if with_pandas:
        return model, complete, missing
    return model, complete.to_numpy(float), missing.to_numpy(float)


def _table(rng: np.random.Generator, n_rows: int, with_pandas: bool) -> tuple[pd.DataFrame, list[str]]:
    table, types = {}, []
    for column in range(int(rng.integers(1, 6))):
        kind = rng.choice(["normal", "whole", "zeros", "huge", "tiny", "constant", "text", "number"])
        values: Any = rng.normal(size=n_rows)
        types.append("c" if kind in ("text", "number") else "float")
        if kind == "whole":
            values = np.round(3 * values)
        elif kind == "zeros":
            values = np.where(rng.random(n_rows) < 0.5, 0, values)
        elif kind == "huge":
            values = np.sign(values) * 10.0 ** rng.uniform(-37, 37, n_rows)
        elif kind == "tiny":
            values = rng.choice([-2e-45, -1e-40, 0, 1e-46, 1e-45, 1e-35, 1], n_rows)
        elif kind == "constant":
            values = np.ones(n_rows)
        elif kind in ("text", "number"):
            k = int(rng.integers(2, 40))
            values = rng.integers(0, k, n_rows)
            if with_pandas:
                labels: Any = rng.permutation(3 * k)[:k]
                if kind == "text":
                    # XGBoost cuts the bytes of what follows a letter that is not ASCII
                    labels = [*(f"a {label}" for label in labels[1:]), str(rng.choice(["b", "é", "漢字"]))]
                values = pd.Categorical.from_codes(values, labels)
        table[f"column {column}"] = values
    return pd.DataFrame(table), types


def _target(rng: np.random.Generator, table: pd.DataFrame, objective: str) -> np.ndarray:
    codes = [col.cat.codes if isinstance(col.dtype, pd.CategoricalDtype) else col for _, col in table.items()]
    score = np.sin(np.column_stack(codes) * rng.uniform(0.3, 2)).sum(axis=1) + rng.normal(0, 0.3, len(table))
    if objective in ("binary:logistic", "binary:logitraw"):
        return (score > np.median(score)).astype(float)
    if objective.startswith(("multi", "rank")):
        found = np.digitize(score, np.quantile(score, [0.3, 0.6]))
        return (found if objective.startswith("multi") else found > 0).astype(float)
    if objective == "reg:logistic":
        return 1 / (1 + np.exp(-score))
    if objective in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"):
        return score * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 100])
    return np.exp(score) + 0.01


def _parameters(rng: np.random.Generator, objective: str, has_categories: bool) -> dict[str, Any]:
    methods = ["hist", "approx"] if has_categories else ["hist", "approx", "exact"]
    parameters: dict[str, Any] = {
        "objective": objective,
        "verbosity": 0,
        "nthread": 1,
        "seed": int(rng.integers(1000)),
        "tree_method": str(rng.choice(methods)),
        "max_depth": int(rng.integers(1, 7)),
        "learning_rate": float(rng.choice([0.05, 0.3, 1])),
        "gamma": float(rng.choice([0, 0, 0.1, 1])),
        "min_child_weight": float(rng.choice([0, 0.1, 1, 10])),
        "reg_lambda": float(rng.choice([0.1, 1])),
        "subsample": float(rng.choice([0.6, 1])),
        "colsample_bytree": float(rng.choice([0.5, 1])),
        "num_parallel_tree": int(rng.choice([1, 1, 3])),
        "booster": str(rng.choice(["gbtree", "gbtree", "dart"])),
    }
    if parameters["tree_method"] != "exact":
        parameters |= {
            "max_bin": int(rng.choice([4, 30, 256])),
            "grow_policy": str(rng.choice(["depthwise", "lossguide"])),
            "max_leaves": int(rng.choice([0, 5])),
            "max_cat_to_onehot": int(rng.choice([1, 4, 50])),
            "max_cat_threshold": int(rng.choice([2, 64])),
        }
    if rng.random() < 0.4:
        parameters["base_score"] = float(rng.uniform(0.05, 0.95))
    if parameters["booster"] == "dart":
        parameters |= {
            "rate_drop": 0.4,
            "one_drop": 1,
            "normalize_type": str(rng.choice(["tree", "forest"])),
            "sample_type": str(rng.choice(["uniform", "weighted"])),
        }
    if objective.startswith("multi"):
        parameters["num_class"] = 3
        is_plain = parameters["tree_method"] == "hist" and parameters["booster"] == "gbtree"
        if is_plain and not has_categories and rng.random() < 0.5:
            parameters["multi_strategy"] = "multi_output_tree"
    elif objective == "reg:quantileerror":
        parameters["quantile_alpha"] = 0.3
    return parameters


def _booster(
    rng: np.random.Generator, parameters: dict[str, Any], X: Any, types: list[str], target: np.ndarray
) -> xgboost.Booster:
    named = {} if isinstance(X, pd.DataFrame) else {"feature_types": types}
    data = xgboost.DMatrix(X, target, enable_categorical=True, **named)
    if parameters["objective"] == "survival:aft":
        data.set_float_info("label_lower_bound", target)
        data.set_float_info("label_upper_bound", target * rng.choice([1, 2], len(target)))
    elif parameters["objective"].startswith("rank"):
        data.set_group([len(target) // 2, len(target) - len(target) // 2])
    elif rng.random() < 0.3:
        data.set_weight(rng.uniform(0.1, 2, len(target)))
    n_rounds = int(rng.integers(1, 12))
    kind = rng.choice(["plain", "early stopping", "best only", "continued", "part", "file"])
    if kind in ("early stopping", "best only"):
        stop = xgboost.callback.EarlyStopping(
            rounds=1, save_best=kind == "best only" and parameters["booster"] == "gbtree"
        )
        return xgboost.train(
            parameters, data, n_rounds, evals=[(data, "data")], callbacks=[stop], verbose_eval=False
        )
    model = xgboost.train(parameters, data, n_rounds)
    if kind == "continued":
        model = xgboost.train(parameters, data, 2, xgb_model=model)
    elif kind == "part":
        model = model[: int(rng.integers(1, n_rounds + 1))]
    elif kind == "file":
        model = xgboost.Booster(model_file=model.save_raw(str(rng.choice(["json", "ubj"]))))
    return model


def _estimator(
    rng: np.random.Generator, parameters: dict[str, Any], X: Any, types: list[str], target: np.ndarray
) -> xgboost.XGBModel:
    objective = parameters["objective"]
    if objective == "survival:aft":
        parameters["objective"] = objective = "count:poisson"
    kind: Any = xgboost.XGBRegressor
    if objective.startswith("rank"):
        kind = xgboost.XGBRanker
    elif objective.startswith(("binary", "multi")):
        kind = xgboost.XGBClassifier
    keywords: dict[str, Any] = {"qid": np.arange(len(target)) // 30} if objective.startswith("rank") else {}
    more: dict[str, Any] = {"n_estimators": int(rng.integers(1, 12)), "enable_categorical": "c" in types}
    parameters = {key: value for key, value in parameters.items() if key != "num_class"}
    if not isinstance(X, pd.DataFrame):
        more["feature_types"] = types
        tiny = np.abs(X[X != 0]) < 1e-34  # tritree takes them for zeros where zeros are missing
        if "c" not in types and not tiny.any() and rng.random() < 0.5:
            more["missing"] = 0.0
    if objective.startswith("rank"):
        pass
    elif rng.random() < 0.5:
        keywords, more["early_stopping_rounds"] = {"eval_set": [(X, target)], "verbose": False}, 1
    elif parameters["tree_method"] != "exact" and rng.random() < 0.3 and objective != "multi:softmax":
        parameters.pop("learning_rate")
        kind = xgboost.XGBRFClassifier if kind is xgboost.XGBClassifier else xgboost.XGBRFRegressor
    model = kind(**parameters, **more).fit(X, target, **keywords)
    if rng.random() < 0.3 and kind in (xgboost.XGBRegressor, xgboost.XGBClassifier):
        copy = kind(missing=model.missing, feature_types=model.feature_types, enable_categorical=True)
        copy.load_model(model.get_booster().save_raw("ubj"))
        model = copy
    return model


def _beside_thresholds(rng: np.random.Generator, table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Return rows with values at the thresholds of the model, next to them, and where float32 rounds to them."""
    booster = getattr(model, "get_booster", lambda: model)()
    document = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    trees = document.get("gbtree", document)["model"]["trees"]
    rows = table.iloc[rng.integers(0, len(table), 40)].reset_index(drop=True)
    for position, name in enumerate(table.columns):
        cuts = np.array([
            cut
            for tree in trees
            for cut, column, left in zip(
                tree["split_conditions"], tree["split_indices"], tree["left_children"], strict=True
            )
            if column == position and left >= 0
        ], np.float32)  # fmt: skip
        cuts = cuts[np.isfinite(cuts)]
        if len(cuts) and not isinstance(rows[name].dtype, pd.CategoricalDtype) and len(set(table[name])) > 40:
            cut = rng.choice(cuts, len(rows))
            below = np.nextafter(cut, np.float32(-np.inf)).astype(float)
            middle = below + (cut.astype(float) - below) / 2
            toward = rng.choice([-np.inf, np.inf], len(rows))
            value = rng.choice([cut, below, middle, np.nextafter(middle, toward)])
            rows[name] = np.where(rng.random(len(rows)) < 0.6, value, rows[name])
    return rows


def _with_missing(
    rng: np.random.Generator, table: pd.DataFrame, share: float = 0.2, *, always: bool = False
) -> pd.DataFrame:
    """Return the table without some of its values."""
    return table.apply(
        lambda column: column.mask(rng.random(len(table)) < share) if always or rng.random() < 0.5 else column
    )
