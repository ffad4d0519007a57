"""Write the model files of stored/ with rows and what is predicted for them; by hand, once per format.

    python tests/serialization/make_stored.py

Files that are there are never rewritten: they are what users have, and every later version must read them. So only
those are written that are not there.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
from corpus.cases import ESTIMATORS, TABLES, Data, make_data
from corpus.measure import probe
from models import predictions, simulated
from serialization.samples import half_grown, mixed, more_missing

import tritree
from tritree.serialization import FORMAT_VERSION

STORED = Path(__file__).with_name("stored")


def trinary_regressor() -> tuple[Any, Any]:
    """Return a half-grown tree on numbers, text and ordered categories, with its training rows."""
    X, y = mixed(80, seed=11)
    X = X[["number", "colour", "size"]]
    return half_grown(X, y, max_depth=2), more_missing(X[:25], seed=12)


def surrogate_classifier() -> tuple[Any, Any]:
    """Return a tree of classes that are text, on an array."""
    X, y = simulated(200, 3, missing=0.1, seed=13, task="classification")
    labels = [["low", "middle", "high"][k] for k in y]
    model = tritree.TrinaryTreeClassifier(missing="surrogate", max_depth=3, min_samples_leaf=10).fit(
        X, labels
    )
    return model, more_missing(X[:25], seed=14)


def fitted(
    family: str, task: str, table: str, target: str, weights: str = "unweighted", **parameters: Any
) -> tuple[Any, Data]:
    """Return a model of a table of the corpus with few rows, and the table."""
    data = make_data(np.random.default_rng(15), replace(TABLES[table], n_rows=100), target, weights)
    common: dict[str, dict[str, Any]] = {
        "tree": {"max_depth": 3, "min_samples_leaf": 5},
        "forest": {"n_estimators": 3, "max_depth": 2, "random_state": 0},
        "boosting": {"max_iter": 3, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0},
    }
    model = ESTIMATORS[family, task](**(common[family] | parameters))
    return model.fit(data.X, data.y, sample_weight=data.sample_weight), data


def half_grown_model(*arguments: Any, **parameters: Any) -> tuple[Any, Any]:
    """Return a model that some rows with missing values have made grow, and more such rows."""
    model, data = fitted(*arguments, **parameters)
    model.predict(data.incomplete[:12])
    return model, data.incomplete[1::2]


def detached_tree() -> tuple[Any, Any]:
    """Return a tree that has grown for some rows, and has no training rows any more."""
    model, rows = half_grown_model("tree", "regressor", "categories", "number")
    return model.detach(), rows


#: What makes each model and its rows; for some, how it is saved.
MODELS: dict[str, Any] = {
    "trinary_regressor": trinary_regressor,
    "surrogate_classifier": surrogate_classifier,
    "trinary_mia_classifier": lambda: half_grown_model(
        "tree", "classifier", "categories", "text", missing="trinary_mia"
    ),
    "mia_regressor": lambda: half_grown_model("tree", "regressor", "missing_values", "number", missing="mia"),
    "majority_classifier": lambda: half_grown_model(
        "tree", "classifier", "many_categories", "boolean", missing="majority", criterion="gini"
    ),
    "fractional_regressor": lambda: half_grown_model(
        "tree", "regressor", "categories", "number", "random_weights", missing="fractional"
    ),
    "detached_regressor": detached_tree,
    "forest_regressor": lambda: half_grown_model("forest", "regressor", "categories", "number"),
    "forest_classifier": lambda: half_grown_model(
        "forest", "classifier", "missing_values", "text", "random_weights", missing="trinary_mia"
    ),
    "forest_surrogate_classifier": lambda: half_grown_model(
        "forest", "classifier", "categories", "three", missing="surrogate"
    ),
    "forest_without_training_rows": lambda: half_grown_model(
        "forest", "regressor", "many_categories", "number"
    ),
    "boosting_regressor": lambda: half_grown_model("boosting", "regressor", "categories", "number"),
    "boosting_classifier": lambda: half_grown_model("boosting", "classifier", "missing_values", "three"),
    "boosting_two_classes": lambda: half_grown_model(
        "boosting", "classifier", "categories", "two", "random_weights", missing="trinary"
    ),
    "boosting_poisson": lambda: half_grown_model(
        "boosting", "regressor", "missing_values", "counts", loss="poisson"
    ),
    "boosting_fractional": lambda: half_grown_model(
        "boosting", "classifier", "categories", "three", missing="fractional"
    ),
    "boosting_without_background_rows": lambda: half_grown_model(
        "boosting", "regressor", "many_categories", "number"
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "forest_without_training_rows": {"training_rows": False},
    "boosting_without_background_rows": {"training_rows": False},
}


def write(name: str, model: Any, rows: Any, **options: Any) -> None:
    """Write a model, and beside it rows and what it predicts for them; refuse to if one of the files is there."""
    path = STORED / f"{name}.tritree"
    expected = path.with_suffix(".json")
    for file in (path, expected):
        if file.exists():
            raise FileExistsError(f"{file} is there already, and must stay as it is")
    STORED.mkdir(exist_ok=True)
    model.save(path, **options)
    model = tritree.load(path)  # as it is in the file: perhaps without the rows to grow from
    if hasattr(rows, "columns"):
        table = {column: plain(rows[column].tolist()) for column in rows}
    else:
        table = [plain(row) for row in rows.tolist()]
    record = {
        "tritree": tritree.__version__,
        "probe": probe(),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "n_nodes": model.n_nodes_,
        "rows": table,
        "predictions": predictions(model, rows).tolist(),
        "n_nodes_after": model.n_nodes_,
    }
    expected.write_text(json.dumps(record) + "\n", encoding="utf-8")


def plain(cells: list[Any]) -> list[Any]:
    """Return cells as JSON keeps them, None where one is missing."""
    return [None if pd.isna(cell) else cell for cell in cells]


if __name__ == "__main__":
    for short, make in MODELS.items():
        name = f"format{FORMAT_VERSION}_{short}"
        if not (STORED / f"{name}.tritree").exists():
            write(name, *make(), **OPTIONS.get(short, {}))
