"""Random models of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

CLASSES = (
    *(HistGradientBoostingRegressor, HistGradientBoostingClassifier) * 4,
    *(GradientBoostingRegressor, GradientBoostingClassifier) * 2,
    *(RandomForestRegressor, RandomForestClassifier, ExtraTreesRegressor, ExtraTreesClassifier),
    *(DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor, ExtraTreeClassifier),
)


def make(seed: int) -> tuple[Any, Any, Any]:
    """Return a random model, complete rows, and rows with missing values and unknown categories if it takes them."""
    rng = np.random.default_rng(seed)
    kind: Any = CLASSES[rng.integers(len(CLASSES))]
    is_hist = kind in (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
    is_classifier = "Classifier" in kind.__name__
    n_rows = int(rng.integers(40, 300))
    table = _table(rng, n_rows, with_categories=is_hist)
    score = np.sin(table.apply(_numbers).to_numpy() * rng.uniform(0.3, 2)).sum(axis=1)
    score = score + rng.normal(0, 0.3, n_rows)
    n_classes = int(rng.integers(2, 4))
    target: Any = score * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 100])
    if is_classifier:
        labels = np.array(rng.choice([["no", "maybe", "yes"], [7, 1, 3]]))
        target = labels[np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))]
    parameters = _parameters(rng, kind, n_classes)
    if is_hist:
        parameters |= _categorical_features(rng, table)
    if parameters.get("loss") in ("poisson", "gamma") or parameters.get("criterion") == "poisson":
        target = np.exp(score) + 0.01
    model = kind(**parameters)
    takes_missing = model.__sklearn_tags__().input_tags.allow_nan
    training = _with_missing(rng, table) if takes_missing and rng.random() < 0.7 else table
    with_pandas = "categorical_features" in parameters or rng.random() < 0.5
    weight = rng.uniform(0.1, 2, n_rows) if rng.random() < 0.3 else None

    def rows(frame: pd.DataFrame) -> Any:
        return frame if with_pandas else frame.to_numpy(float)

    model.fit(rows(training), target, sample_weight=weight)
    if rng.random() < 0.2:
        model = pickle.loads(pickle.dumps(model))
    complete = _beside_thresholds(rng, table, model)
    missing = _with_missing(rng, complete, 0.4, always=True) if takes_missing else None
    return model, rows(complete), None if missing is None else rows(missing)


def _numbers(column: Any) -> Any:
    return column if column.dtype.kind in "fi" else pd.Series(pd.factorize(column)[0])


def _table(rng: np.random.Generator, n_rows: int, *, with_categories: bool) -> pd.DataFrame:
    table = {}
    kinds = ["normal", "whole", "zeros", "huge", "tiny", "constant", "near"]
    for column in range(int(rng.integers(1, 6))):
        kind = rng.choice(kinds + ["text", "codes", "dtype"] * with_categories)
        values: Any = rng.normal(size=n_rows)
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
        elif kind == "near":  # some are the same as float32
            values = 1 + rng.integers(0, 20, n_rows) * 2e-8
        elif kind in ("text", "codes", "dtype"):
            k = int(rng.integers(1, 40))
            labels: Any = rng.permutation(3 * k)[:k]
            if kind != "codes":
                labels = np.array([f"é {label}" for label in labels], object)
            values = labels[rng.integers(0, k, n_rows)]
            if kind == "dtype":
                values = pd.Categorical(values, categories=labels)
        name = f"{kind} {column}" if kind in ("text", "codes", "dtype") else f"column {column}"
        table[name] = values
    return pd.DataFrame(table)


def _categorical_features(rng: np.random.Generator, table: pd.DataFrame) -> dict[str, Any]:
    kinds = {name: name.split()[0] for name in table}
    if "text" in kinds.values():
        return {"categorical_features": [name for name, kind in kinds.items() if kind != "column"]}
    if "dtype" in kinds.values():
        return {"categorical_features": "from_dtype"}
    if "codes" in kinds.values() and rng.random() < 0.8:
        return {"categorical_features": [kind == "codes" for kind in kinds.values()]}
    return {}


def _parameters(rng: np.random.Generator, kind: Any, n_classes: int) -> dict[str, Any]:
    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    name = kind.__name__
    is_regressor = "Regressor" in name
    parameters: dict[str, Any] = {
        "random_state": one_of(0, 1, 2),
        "max_depth": one_of(None, 1, 3, 6),
        "max_leaf_nodes": one_of(None, 4, 15),
        "min_samples_leaf": one_of(1, 5, 20),
        "max_features": one_of(0.5, 1.0),
    }
    if name.startswith("Hist"):
        losses = ("squared_error", "absolute_error", "gamma", "poisson", "quantile")
        return parameters | {
            "max_iter": one_of(1, 5, 12),
            "learning_rate": one_of(0.05, 0.3, 1.0),
            "max_bins": one_of(55, 255),
            "early_stopping": one_of(True, False, False),
            "n_iter_no_change": 2,
            "loss": one_of(*losses) if is_regressor else "log_loss",
            **({"quantile": 0.3} if is_regressor else {}),
        }
    if name.startswith("Gradient"):
        dummy = DummyRegressor(strategy="median") if is_regressor else DummyClassifier(strategy="prior")
        losses = ("log_loss", "exponential") if n_classes == 2 else ("log_loss",)
        return parameters | {
            "n_estimators": one_of(1, 5, 12),
            "learning_rate": one_of(0.05, 0.3, 1.0),
            "subsample": one_of(0.6, 1.0),
            "n_iter_no_change": one_of(None, 2),
            "init": one_of(None, "zero", dummy),
            "loss": one_of("squared_error", "absolute_error", "huber", "quantile")
            if is_regressor
            else one_of(*losses),
        }
    parameters |= {
        "ccp_alpha": one_of(0.0, 0.0, 0.01),
        "criterion": one_of("squared_error", "absolute_error", "poisson")
        if is_regressor
        else one_of("gini", "entropy"),
    }
    if name.startswith("DecisionTree"):
        parameters["splitter"] = one_of("best", "random")
    elif name.endswith(("TreesRegressor", "TreesClassifier", "ForestRegressor", "ForestClassifier")):
        parameters |= {"n_estimators": one_of(1, 3, 10), "bootstrap": one_of(True, False)}
    return parameters


def _beside_thresholds(rng: np.random.Generator, table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Return rows with values at the thresholds of the model, next to them, and where float32 rounds to them."""
    rows = table.iloc[rng.integers(0, len(table), 40)].reset_index(drop=True)
    if hasattr(model, "_predictors"):
        position = np.arange(table.shape[1])
        if model._preprocessor is not None:
            position = np.argsort(~model.is_categorical_, kind="stable")
        nodes = np.concatenate([tree.nodes for trees in model._predictors for tree in trees])
        nodes = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0)]
        columns, thresholds = position[nodes["feature_idx"]], nodes["num_threshold"]
    else:
        trees = [part.tree_ for part in np.ravel(getattr(model, "estimators_", model))]
        columns = np.concatenate([tree.feature for tree in trees])
        thresholds = np.concatenate([tree.threshold for tree in trees])
    for j, name in enumerate(table.columns):
        cuts = thresholds[(columns == j) & np.isfinite(thresholds)]
        if len(cuts) and table[name].dtype.kind == "f" and table[name].nunique() > 40:
            cut = rng.choice(cuts, len(rows))
            single = cut.astype(np.float32)
            beside = np.nextafter(single, np.float32(rng.choice([-np.inf, np.inf]))).astype(float)
            middle = single + (beside - single) / 2
            toward = rng.choice([-np.inf, np.inf], len(rows))
            value = rng.choice([cut, np.nextafter(cut, toward), beside, middle, np.nextafter(middle, toward)])
            rows[name] = np.where(rng.random(len(rows)) < 0.6, value, rows[name])
    return rows


def _with_missing(
    rng: np.random.Generator, table: pd.DataFrame, share: float = 0.2, *, always: bool = False
) -> pd.DataFrame:
    """Return the table without some of its values, and with unknown categories if always."""
    table = table.copy()
    for name in table.columns:
        kind = name.split()[0]
        if always and kind != "column":
            if kind == "dtype":
                table[name] = table[name].cat.add_categories(["unknown"])
            unknown = 10_000 if kind == "codes" else "unknown"
            table[name] = table[name].mask(rng.random(len(table)) < 0.1, unknown)
        if always or rng.random() < 0.5:
            table[name] = table[name].mask(rng.random(len(table)) < share)
    return table
