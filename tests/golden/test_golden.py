"""The estimators reproduce the worked cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_paths import case_name, golden_cases
from golden.rpart import as_read_by_r, prune_useless_splits
from models import Floats, as_array, estimator, predictions

TREES = golden_cases("trees.json")
RPART = golden_cases("surrogate_rpart.json")
RPART_NA = golden_cases("surrogate_rpart_na.json")


def estimator_of(case: dict[str, Any]) -> Any:
    return estimator(
        case["table"]["task"],
        missing=case["missing"],
        max_depth=case["max_depth"],
        min_samples_leaf=case["min_samples_leaf"],
        split_on_missing=case.get("split_on_missing", True),
        categorical_features=case["table"]["categorical_columns"],
    )


@pytest.mark.skipif(not TREES, reason="no worked cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", TREES, ids=case_name)
def test_estimator_predicts_the_worked_cases(case: dict[str, Any]) -> None:
    table = case["table"]
    model = estimator_of(case).fit(as_array(table["X"]), table["y"], sample_weight=table["sample_weight"])
    prediction = predictions(model, as_array(table["X_test"]))
    np.testing.assert_allclose(prediction, case["prediction"], rtol=0, atol=1e-9)


@pytest.mark.skipif(not RPART, reason="no rpart cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", RPART, ids=case_name)
def test_estimator_predicts_as_rpart(case: dict[str, Any]) -> None:
    X, y, X_test = as_read_by_r(case)
    model = estimator_of(case).fit(as_array(X), y)
    prediction = predictions(model, as_array(X_test))
    if case["table"]["task"] == "classification":
        prediction = without_useless_splits(model.tree_, prediction)
    np.testing.assert_allclose(prediction, case["prediction"], rtol=0, atol=1e-9)


@pytest.mark.skipif(not RPART_NA, reason="no rpart cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", RPART_NA, ids=case_name)
def test_estimator_predicts_as_rpart_without_pruning(case: dict[str, Any]) -> None:
    table = case["table"]
    model = estimator_of(case).fit(as_array(table["X"]), table["y"])
    prediction = predictions(model, as_array(table["X_test"]))
    np.testing.assert_allclose(prediction, case["prediction"], rtol=0, atol=1e-9)


def without_useless_splits(tree: Any, prediction: Floats) -> Floats:
    """Return the predictions of the tree in which splits that rpart undoes are leaves."""
    is_leaf = tree.column < 0
    children = [
        None if leaf else (int(left), int(right))
        for leaf, left, right in zip(is_leaf, tree.left, tree.right, strict=True)
    ]
    remaining = prune_useless_splits(children, tree.value * tree.weight[:, None])
    leaf_of = {tree.value[i].tobytes(): i for i in np.flatnonzero(is_leaf)}
    return np.array(
        [tree.value[remaining[leaf_of[np.ascontiguousarray(row).tobytes()]]] for row in prediction]
    )
