"""Extreme numbers are refused with a remedy or handled right; nothing predicts NaN, infinity or a silent constant."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from models import predictions, simulated, with_missing

import tritree
from tritree.errors import ColumnError, ParameterError, SampleWeightError, TargetError

X, Y = simulated(200, 3, missing=0.1)
ROWS = with_missing(X, 0.4)
CLASSES = np.digitize(Y, [-1.0, 1.0])
REGRESSORS = {
    "tree": tritree.TrinaryTreeRegressor(),
    "forest": tritree.TrinaryForestRegressor(n_estimators=3, random_state=0),
    "boosting": tritree.TrinaryBoostingRegressor(max_iter=3, random_state=0),
}
CLASSIFIERS = {
    "tree": tritree.TrinaryTreeClassifier(),
    "forest": tritree.TrinaryForestClassifier(n_estimators=3, random_state=0),
    "boosting": tritree.TrinaryBoostingClassifier(max_iter=3, random_state=0),
}


def numbers_in(value: Any) -> list[float]:
    """Return all numbers of nested lists and dicts."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [float(value)] if isinstance(value, (int, float)) else []


def assert_sound(model: Any, tmp_path: Path) -> None:
    """Assert that predictions and views are finite, predictions differ, and a saved model is the same."""
    found = predictions(model, ROWS)
    assert np.isfinite(found).all()
    assert len(np.unique(found, axis=0)) > 1
    assert np.isfinite(model.feature_importances_).all()
    assert np.isfinite(numbers_in(model.to_dict())).all()
    model.save(tmp_path / "model")
    assert np.array_equal(predictions(tritree.load(tmp_path / "model"), ROWS), found)


@pytest.mark.parametrize("scale", [1e-99, 1e-50, 1e50, 1e99])
@pytest.mark.parametrize("family", REGRESSORS)
def test_targets_of_any_allowed_size_scale_the_predictions(family: str, scale: float, tmp_path: Path) -> None:
    factor = math.ldexp(1, round(math.log2(scale)))
    model = REGRESSORS[family].fit(X, Y * factor)
    assert_sound(model, tmp_path)
    assert np.allclose(model.predict(ROWS) / factor, REGRESSORS[family].fit(X, Y).predict(ROWS), rtol=1e-9)


@pytest.mark.parametrize("largest", [2e100, 1e154, -1e200, 1.7e308])
def test_boosting_refuses_targets_whose_squares_overflow(largest: float) -> None:
    y = np.where(np.arange(200) == 7, largest, Y)
    with pytest.raises(
        TargetError, match=r"in row 7; targets of .* must not exceed 1e\+100 in absolute value; give it in"
    ) as info:
        REGRESSORS["boosting"].fit(X, y)
    assert info.value.row == 7


@pytest.mark.parametrize("largest", [1e154, 1e200, 1.7e308])
def test_trees_handle_targets_whose_squares_overflow(largest: float) -> None:
    y = Y / np.abs(Y).max()
    exact = math.ldexp(1, math.floor(math.log2(largest)))
    found = tritree.TrinaryTreeRegressor().fit(X, y * exact).predict(ROWS)
    assert np.array_equal(found / exact, tritree.TrinaryTreeRegressor().fit(X, y).predict(ROWS))


def test_forests_handle_targets_up_to_a_limit() -> None:
    y = Y / np.abs(Y).max() * 1e300
    assert np.isfinite(REGRESSORS["forest"].fit(X, y).predict(ROWS)).all()
    with pytest.raises(TargetError, match="targets of TrinaryForestRegressor must not exceed 1e\\+300"):
        REGRESSORS["forest"].fit(X, y * 2)


@pytest.mark.parametrize("weight", [1e-300, 1e-30, 1e10, 1e30])
@pytest.mark.parametrize("family", REGRESSORS)
def test_weights_of_any_allowed_size_are_handled(family: str, weight: float, tmp_path: Path) -> None:
    weights = np.full(200, weight)
    assert_sound(REGRESSORS[family].fit(X, Y, weights), tmp_path)
    assert_sound(CLASSIFIERS[family].fit(X, CLASSES, weights), tmp_path)


@pytest.mark.parametrize("weight", [1e154, 1e300])
@pytest.mark.parametrize("family", ["tree", "forest"])
def test_trees_and_forests_handle_weights_whose_sum_is_finite(family: str, weight: float) -> None:
    for model, target in ((REGRESSORS[family], Y), (CLASSIFIERS[family], CLASSES)):
        expected = predictions(model.fit(X, target), ROWS)
        heavy = model.fit(X, target, np.full(200, weight))
        assert np.allclose(predictions(heavy, ROWS), expected)
        assert np.isfinite(heavy.feature_importances_).all()


def test_largest_targets_and_weights_of_boosting_go_together(tmp_path: Path) -> None:
    y = Y / np.abs(Y).max() * 1e100
    assert_sound(REGRESSORS["boosting"].fit(X, y, np.full(200, 1e30)), tmp_path)


@pytest.mark.parametrize("weight", [1e31, 1e154, 1e308])
def test_boosting_refuses_weights_whose_products_overflow(weight: float) -> None:
    weights = np.where(np.arange(200) == 3, weight, 1.0)
    with pytest.raises(
        SampleWeightError, match=r"in row 3; weights of .* must not exceed 1e\+30; divide all weights"
    ):
        REGRESSORS["boosting"].fit(X, Y, weights)


@pytest.mark.parametrize("family", ["tree", "forest"])
def test_weights_whose_sum_overflows_are_refused(family: str) -> None:
    with pytest.raises(
        SampleWeightError, match=r"sample_weight adds up to more than 1\.8e308; divide all weights"
    ):
        REGRESSORS[family].fit(X, Y, np.full(200, 1e308))
    heavy = type(CLASSIFIERS[family])(class_weight={0: 1e308})
    with pytest.raises(SampleWeightError, match=r"class_weight adds up to more than 1\.8e308"):
        heavy.fit(X, CLASSES)
    with pytest.raises(SampleWeightError, match="class_weight times sample_weight"):
        heavy.fit(X, CLASSES, np.full(200, 1e200))


def test_complex_weights_are_refused() -> None:
    with pytest.raises(SampleWeightError, match="complex numbers"):
        REGRESSORS["tree"].fit(X, Y, np.full(200, 1 + 2j))
    for weight in (1 + 2j, np.complex64(1 + 2j), 10**400):
        with pytest.raises(ValueError, match="class_weight gives 0 the weight"):
            tritree.TrinaryTreeClassifier(class_weight={0: weight}).fit(X, CLASSES)


def test_learning_rates_above_100_are_refused() -> None:
    with pytest.raises(ParameterError, match="learning_rate must be a number above 0 and at most 100"):
        tritree.TrinaryBoostingRegressor(learning_rate=1e300).fit(X, Y)


@pytest.mark.parametrize("learning_rate", [1e-300, 1e-12, 100])
def test_all_other_learning_rates_give_finite_predictions(learning_rate: float) -> None:
    for loss in ("squared_error", "absolute_error", "quantile", "poisson", "gamma"):
        model = tritree.TrinaryBoostingRegressor(loss=loss, learning_rate=learning_rate, max_iter=5)
        assert np.isfinite(model.fit(X, np.exp(Y)).predict(ROWS)).all()
    classifier = tritree.TrinaryBoostingClassifier(learning_rate=learning_rate, max_iter=5)
    assert np.isfinite(classifier.fit(X, CLASSES).predict_proba(ROWS)).all()


IDS = [2**53 + i for i in range(40)]
TABLES = {
    "NumPy": lambda: np.array(IDS)[:, None],
    "NumPy, unsigned": lambda: np.array([2**63 + i for i in range(40)], dtype=np.uint64)[:, None],
    "NumPy, objects": lambda: np.array([[10**30 + i] for i in range(40)], dtype=object),
    "pandas": lambda: pd.DataFrame({"id": IDS}),
    "pandas, negative": lambda: pd.DataFrame({"id": [-i for i in IDS]}),
    "pandas, nullable": lambda: pd.DataFrame({"id": pd.array([None, *IDS[1:]], dtype="Int64")}),
    "polars": lambda: pl.DataFrame({"id": IDS}),
    "polars, with nulls": lambda: pl.DataFrame({"id": [None, *IDS[1:]]}),
    "pyarrow, decimals": lambda: pa.table({"id": pa.array([Decimal(i) for i in IDS], pa.decimal128(30, 0))}),
    "objects, decimals": lambda: pd.DataFrame({"id": [Decimal(i) for i in IDS]}),
    "pyarrow, with nulls": lambda: pa.table({"id": [None, *IDS[1:]]}),
}


@pytest.mark.parametrize("library", TABLES)
def test_whole_numbers_that_would_be_rounded_are_refused(library: str) -> None:
    with pytest.raises(ColumnError, match="2\\*\\*53 are rounded, and different ones become equal"):
        tritree.TrinaryTreeRegressor(min_samples_leaf=1).fit(TABLES[library](), np.arange(40) % 2)


def test_large_whole_numbers_that_floats_hold_are_used() -> None:
    table = pd.DataFrame({"id": [2**53 + 2 * i for i in range(40)]})
    tree = tritree.TrinaryTreeRegressor(min_samples_leaf=1, max_depth=None).fit(table, np.arange(40) % 2)
    assert tree.predict(table).tolist() == (np.arange(40) % 2).tolist()


def test_rounding_is_no_matter_in_prediction() -> None:
    tree = tritree.TrinaryTreeRegressor(min_samples_leaf=1).fit(
        pd.DataFrame({"id": range(40)}), np.arange(40) >= 20
    )
    assert tree.predict(pd.DataFrame({"id": IDS})).tolist() == [1.0] * 40


@pytest.mark.parametrize(
    "names",
    [[math.nan, 1.0, 2.0], [math.nan, math.nan, 1], [("a", math.nan), ("a", 1), ("b", 1)], [pd.NA, 1, 2]],
)
def test_columns_named_nan_are_refused(names: list[Any]) -> None:
    with pytest.raises(TypeError, match="a column name is missing"):
        REGRESSORS["tree"].fit(pd.DataFrame(X, columns=names), Y)


def test_dictionaries_of_extreme_trees_are_valid_json() -> None:
    tree = tritree.TrinaryTreeRegressor().fit(X, Y / np.abs(Y).max() * 1e100, np.full(200, 1e30))
    json.dumps(tree.to_dict(distribution=True), allow_nan=False)
