"""Frames are matched by what their columns are called; an empty column is a hole, whatever its type says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tritree import ColumnError, ColumnMatchWarning, TrinaryTreeClassifier, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

TEXT_FRAME = pd.DataFrame({"colour": ["red", "blue"] * 150, "size": np.linspace(0, 1, 300)})
Y = np.tile([1.0, 2.0], 150)


def fitted_to_text() -> TrinaryTreeRegressor:
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(TEXT_FRAME, Y)


@pytest.mark.parametrize(
    "empty",
    [
        pd.DataFrame({"colour": [np.nan], "size": [1.0]}),
        pd.DataFrame({"colour": [None], "size": [1.0]}),
        pd.DataFrame({"colour": pd.Categorical([None]), "size": [1.0]}),
        pl.DataFrame({"colour": [float("nan")], "size": [1.0]}),
        pl.DataFrame({"colour": [None], "size": [1.0]}),
        np.array([[np.nan, 1.0]]),
    ],
    ids=["float", "object", "category", "polars float", "polars null", "array"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_text_column_that_is_empty_now_is_missing_whatever_its_type(empty: Any) -> None:
    assert fitted_to_text().predict(empty) == pytest.approx(Y.mean(), abs=0.1)


@pytest.mark.parametrize("empty", [[np.nan] * 300, [None] * 300, pd.Categorical([None] * 300)])
def test_column_that_was_empty_in_training_may_hold_anything_later(empty: Any) -> None:
    model = TrinaryTreeRegressor().fit(TEXT_FRAME.assign(colour=empty), Y)
    text = model.predict(TEXT_FRAME)
    np.testing.assert_array_equal(model.predict(TEXT_FRAME.assign(colour=3.5)), text)


def test_frame_with_numbers_for_names_is_matched_by_them() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)))
    model = TrinaryTreeRegressor().fit(X, X[0])
    np.testing.assert_array_equal(model.predict(X[[2, 0, 1]]), model.predict(X))
    with pytest.warns(ColumnMatchWarning, match=r"missing in every row: 0"):
        np.testing.assert_allclose(
            model.predict(X[[1, 2]].head(1)), model.predict([[np.nan, *X.iloc[0, 1:]]])
        )


def test_column_names_that_occur_twice_are_refused() -> None:
    twice = pd.DataFrame(np.zeros((30, 2)), columns=["a", "a"])
    with pytest.raises(ColumnError, match=r"(?s)more than once.*rename"):
        TrinaryTreeRegressor().fit(twice, np.zeros(30))


@pytest.mark.parametrize("dtype", [float, int, object])
def test_masked_cell_is_missing(dtype: type) -> None:
    values = np.arange(600).reshape(300, 2).astype(dtype)
    mask = np.random.default_rng(0).random(values.shape) < 0.3
    holes = np.where(mask, np.nan, values.astype(float))
    y = holes[:, 1].copy()
    y[np.isnan(y)] = -1
    masked = TrinaryTreeRegressor().fit(np.ma.masked_array(values, mask), y)
    np.testing.assert_array_equal(masked.predict(holes), TrinaryTreeRegressor().fit(holes, y).predict(holes))


@pytest.mark.parametrize(("dtype", "kind"), [("Int64", "i"), ("boolean", "b"), ("UInt8", "u")])
@pytest.mark.parametrize("wrap", [pd.array, pd.Series])
def test_nullable_classes_keep_their_type(dtype: str, kind: str, wrap: Any) -> None:
    model = TrinaryTreeClassifier().fit(TEXT_FRAME, wrap([1, 0] * 150, dtype=dtype))
    assert model.classes_.dtype.kind == kind
    assert model.predict(TEXT_FRAME).dtype.kind == kind


def test_nullable_response_with_a_hole_is_refused_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"y is missing in row 1\b"):
        TrinaryTreeRegressor().fit(TEXT_FRAME, pd.array([1, None, 3] * 100, dtype="Int64"))


def test_labels_of_several_types_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"(?s)y mixes labels of type int, str.*one type"):
        TrinaryTreeClassifier().fit(TEXT_FRAME, np.array(["a", 1] * 150, dtype=object))


def test_one_weight_for_all_rows_changes_nothing() -> None:
    weighted = TrinaryTreeRegressor().fit(TEXT_FRAME, Y, sample_weight=2)
    np.testing.assert_array_equal(weighted.predict(TEXT_FRAME), fitted_to_text().predict(TEXT_FRAME))


def test_mixture_of_truth_values_and_numbers_is_shown_by_one_of_each() -> None:
    mixed = pd.DataFrame({"a": pd.Series([True, 3] * 15, dtype=object)})
    with pytest.raises(ColumnError, match=r"True in row 0, 3 in row 1"):
        TrinaryTreeRegressor().fit(mixed, np.zeros(30))


def test_text_where_training_had_truth_values_is_refused_as_such() -> None:
    truth = pd.DataFrame({"a": [True, False] * 15})
    model = TrinaryTreeRegressor().fit(truth, np.arange(30.0))
    with pytest.raises(ColumnError, match=r"column 'a' holds text now and held true and false in training"):
        model.predict(pd.DataFrame({"a": ["yes"]}))
