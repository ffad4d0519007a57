"""Validation rows are checked like training rows, and errors name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tritree import (
    ColumnError,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    TrinaryForestClassifier,
)

TABLE = pd.DataFrame({"a": np.arange(40.0), "b": list("uv") * 20})
Y = TABLE["a"] % 7


def test_infinite_value_is_named_and_nothing_is_fitted() -> None:
    model = TrinaryBoostingRegressor(max_iter=3)
    with pytest.raises(ColumnError, match=r"'a'.*inf"):
        model.fit(TABLE, Y, X_val=TABLE.assign(a=np.inf), y_val=Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (TABLE.assign(a=np.inf), "column 'a' holds inf in row 0"),
        (TABLE.assign(a="text"), "column 'a' holds text now"),
        (TABLE.assign(b=pd.Timestamp("2020-01-01")), "column 'b' holds dates"),
    ],
)
def test_error_about_a_column_names_the_validation_rows(rows: pd.DataFrame, message: str) -> None:
    with pytest.raises(ColumnError, match=f"^in X_val: {message}"):
        TrinaryBoostingRegressor(max_iter=3).fit(TABLE, Y, X_val=rows, y_val=Y)


def test_error_about_a_table_names_the_validation_rows() -> None:
    with pytest.raises(ValueError, match=r"^in X_val: .*1 feature"):
        TrinaryBoostingRegressor(max_iter=3).fit(TABLE, Y, X_val=np.ones((40, 1)), y_val=Y)


def test_error_about_rows_set_aside_does_not_name_validation_rows() -> None:
    model = TrinaryBoostingRegressor(max_iter=3, early_stopping=True, validation_fraction=0.9, random_state=0)
    with pytest.raises(ColumnError, match=r"^column 'a' holds inf"):
        model.fit(TABLE.assign(a=np.where(np.arange(40) > 4, np.inf, 1.0)), Y)


def test_error_about_a_missing_target_names_the_validation_rows() -> None:
    with pytest.raises(ValueError, match=r"in X_val and y_val: .*row 3"):
        TrinaryBoostingRegressor().fit(TABLE, Y, X_val=TABLE, y_val=Y.where(Y.index != 3))


def test_category_never_seen_is_an_error_if_it_is_to_be() -> None:
    with pytest.raises(ColumnError, match="'z'"):
        TrinaryBoostingRegressor(unknown_category="error").fit(TABLE, Y, X_val=TABLE.assign(b="z"), y_val=Y)


def test_weights_of_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="sample_weight_val requires X_val and y_val"):
        TrinaryBoostingRegressor().fit(TABLE, Y, sample_weight_val=np.ones(40))


def test_class_of_one_row_cannot_be_set_aside() -> None:
    labels = np.array(["rare"] + ["often"] * 39)
    with pytest.raises(ValueError, match="there are 40, and the smallest class has 1; pass X_val"):
        TrinaryBoostingClassifier(early_stopping=True).fit(TABLE, labels)


@pytest.mark.parametrize(("fraction", "use"), [(0.1, "validate"), (0.9, "train")])
def test_rows_that_count_must_be_on_both_sides_of_those_set_aside(fraction: float, use: str) -> None:
    model = TrinaryBoostingRegressor(early_stopping=True, validation_fraction=fraction, random_state=0)
    with pytest.raises(ValueError, match=f"validation_fraction={fraction} .* to {use} with; pass X_val"):
        model.fit(
            TABLE, Y, np.eye(40)[np.random.RandomState(0).permutation(40)[3 if use == "validate" else 30]]
        )


@pytest.mark.parametrize("estimator", [TrinaryBoostingClassifier, TrinaryForestClassifier])
def test_weights_of_classes_and_rows_that_leave_nothing_are_refused(estimator: Any) -> None:
    labels = np.array(["yes", "no"] * 20)
    with pytest.raises(
        ValueError, match="class_weight and sample_weight together give every row the weight 0"
    ):
        estimator(class_weight={"yes": 0}).fit(TABLE, labels, labels == "yes")


def test_rows_to_validate_with_must_count() -> None:
    model, labels = TrinaryBoostingClassifier(class_weight={"yes": 0}), np.array(["yes", "no"] * 20)
    with pytest.raises(
        ValueError, match="in X_val and y_val: class_weight gives every class of y the weight 0"
    ):
        model.fit(TABLE, labels, X_val=TABLE[::2], y_val=labels[::2])
    with pytest.raises(ValueError, match="in X_val and y_val: class_weight and sample_weight together"):
        model.fit(TABLE, labels, X_val=TABLE, y_val=labels, sample_weight_val=labels == "yes")


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "much"])
@pytest.mark.parametrize("estimator", [TrinaryBoostingClassifier, TrinaryForestClassifier])
def test_wrong_class_weight_is_refused(estimator: Any, weight: Any) -> None:
    with pytest.raises(ValueError, match=r"class_weight gives 'yes' the weight .*not negative"):
        estimator(class_weight={"yes": weight, "no": 1.0}).fit(TABLE, ["yes", "no"] * 20)


@pytest.mark.parametrize("estimator", [TrinaryBoostingClassifier, TrinaryForestClassifier])
def test_error_about_class_weight_names_the_allowed_values(estimator: Any) -> None:
    with pytest.raises(ValueError, match="must be None, 'balanced' or a dict of class to weight, got 'even'"):
        estimator(class_weight="even").fit(TABLE, ["yes", "no"] * 20)
    with pytest.raises(
        ValueError, match=r"has 'ja', which is not a class of y; the classes are \['no', 'yes'\]"
    ):
        estimator(class_weight={"ja": 3}).fit(TABLE, ["yes", "no"] * 20)


@pytest.mark.parametrize("estimator", [TrinaryBoostingClassifier, TrinaryForestClassifier])
def test_class_without_a_weight_weighs_one_and_weights_of_no_rows_do_no_harm(estimator: Any) -> None:
    labels = ["yes", "no", "no", "yes", "no"] * 8
    whole = estimator(class_weight={"yes": 3, "no": 1}, random_state=0).fit(TABLE, labels)
    for weights in ({"yes": 3}, {"yes": 3, "no": 1, "ja": 5}):
        model = estimator(class_weight=weights, random_state=0).fit(TABLE, labels)
        np.testing.assert_array_equal(model.predict_proba(TABLE), whole.predict_proba(TABLE))


def test_class_with_a_weight_may_lack_rows_to_validate_with() -> None:
    rows = TABLE[1::2]
    model = TrinaryBoostingClassifier(class_weight={"yes": 3}, max_iter=2)
    model.fit(TABLE, ["yes", "no"] * 20, X_val=rows, y_val=["no"] * len(rows))
    assert len(model.validation_scores_) == 2


@pytest.mark.parametrize("name", ["TrinaryBoosting", "TrinaryForest", "TrinaryTree"])
def test_text_to_a_regression_names_the_classifier_of_its_kind(name: str) -> None:
    import tritree

    with pytest.raises(ValueError, match=f"use {name}Classifier for classes"):
        getattr(tritree, f"{name}Regressor")().fit(TABLE, ["yes", "no"] * 20)


@pytest.mark.parametrize("row", [0, 23, 39])
def test_infinite_value_is_named_by_its_row_in_the_table_that_was_given(row: int) -> None:
    table = TABLE.copy()
    table.loc[row, "a"] = np.inf
    with pytest.raises(ColumnError, match=f"'a' holds inf in row {row}"):
        TrinaryBoostingRegressor(early_stopping=True).fit(table, Y)


@pytest.mark.parametrize("stops", [np.True_, np.False_])
def test_early_stopping_may_be_a_boolean_of_numpy(stops: np.bool_) -> None:
    model = TrinaryBoostingRegressor(max_iter=3, early_stopping=stops).fit(TABLE, Y)
    assert (model.validation_scores_ is not None) == stops
