"""Rows to validate with are looked at as closely as those to train with, and errors say which of them they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tritree import ColumnError, TrinaryBoostingClassifier, TrinaryBoostingRegressor, TrinaryForestClassifier

TABLE = pd.DataFrame({"a": np.arange(40.0), "b": list("uv") * 20})
Y = TABLE["a"] % 7


def test_infinite_value_is_named_and_nothing_is_fitted() -> None:
    model = TrinaryBoostingRegressor(max_iter=3)
    with pytest.raises(ColumnError, match=r"'a'.*inf"):
        model.fit(TABLE, Y, X_val=TABLE.assign(a=np.inf), y_val=Y)
    assert not hasattr(model, "n_features_in_")


def test_missing_response_is_said_to_be_of_the_validation_rows() -> None:
    with pytest.raises(ValueError, match=r"in X_val and y_val: .*row 3"):
        TrinaryBoostingRegressor().fit(TABLE, Y, X_val=TABLE, y_val=Y.where(Y.index != 3))


def test_category_never_seen_is_an_error_if_it_is_to_be() -> None:
    with pytest.raises(ColumnError, match="'z'"):
        TrinaryBoostingRegressor(unknown_category="error").fit(TABLE, Y, X_val=TABLE.assign(b="z"), y_val=Y)


def test_weights_of_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="sample_weight_val weighs the rows of X_val"):
        TrinaryBoostingRegressor().fit(TABLE, Y, sample_weight_val=np.ones(40))


def test_class_of_one_row_cannot_be_set_aside() -> None:
    labels = np.array(["rare"] + ["often"] * 39)
    with pytest.raises(ValueError, match="there are 40, and the smallest class has 1; give X_val"):
        TrinaryBoostingClassifier(early_stopping=True).fit(TABLE, labels)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "much"])
@pytest.mark.parametrize("estimator", [TrinaryBoostingClassifier, TrinaryForestClassifier])
def test_weight_of_a_class_that_cannot_be_is_refused(estimator: Any, weight: Any) -> None:
    with pytest.raises(ValueError, match=r"class_weight gives 'yes' the weight .*not negative"):
        estimator(class_weight={"yes": weight, "no": 1.0}).fit(TABLE, ["yes", "no"] * 20)


@pytest.mark.parametrize("name", ["TrinaryBoosting", "TrinaryForest", "TrinaryTree"])
def test_text_to_a_regression_names_the_classifier_of_its_kind(name: str) -> None:
    import tritree

    with pytest.raises(ValueError, match=f"use {name}Classifier for classes"):
        getattr(tritree, f"{name}Regressor")().fit(TABLE, ["yes", "no"] * 20)
