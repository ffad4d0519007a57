"""Frames are matched by column names; an empty column is missing whatever its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tritree import ColumnError, ColumnMatchWarning, TrinaryTreeRegressor

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
def test_empty_text_column_is_missing_whatever_its_dtype(empty: Any) -> None:
    assert fitted_to_text().predict(empty) == pytest.approx(Y.mean(), abs=0.1)


@pytest.mark.parametrize("empty", [[np.nan] * 300, [None] * 300, pd.Categorical([None] * 300)])
def test_column_that_was_empty_in_training_may_hold_anything_in_prediction(empty: Any) -> None:
    model = TrinaryTreeRegressor().fit(TEXT_FRAME.assign(colour=empty), Y)
    text = model.predict(TEXT_FRAME)
    np.testing.assert_array_equal(model.predict(TEXT_FRAME.assign(colour=3.5)), text)


def test_frame_with_numeric_column_names_is_matched_by_them() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)))
    model = TrinaryTreeRegressor().fit(X, X[0])
    np.testing.assert_array_equal(model.predict(X[[2, 0, 1]]), model.predict(X))
    with pytest.warns(ColumnMatchWarning, match=r"missing in every row: 0"):
        np.testing.assert_allclose(
            model.predict(X[[1, 2]].head(1)), model.predict([[np.nan, *X.iloc[0, 1:]]])
        )


def test_duplicate_column_names_are_refused() -> None:
    twice = pd.DataFrame(np.zeros((30, 2)), columns=["a", "a"])
    with pytest.raises(ColumnError, match=r"(?s)more than once.*rename"):
        TrinaryTreeRegressor().fit(twice, np.zeros(30))


@pytest.mark.parametrize("dtype", [float, int, object])
def test_masked_value_is_missing(dtype: type) -> None:
    values = np.arange(600).reshape(300, 2).astype(dtype)
    mask = np.random.default_rng(0).random(values.shape) < 0.3
    with_nan = np.where(mask, np.nan, values.astype(float))
    y = with_nan[:, 1].copy()
    y[np.isnan(y)] = -1
    masked = TrinaryTreeRegressor().fit(np.ma.masked_array(values, mask), y)
    np.testing.assert_array_equal(
        masked.predict(with_nan), TrinaryTreeRegressor().fit(with_nan, y).predict(with_nan)
    )


def test_error_about_booleans_and_numbers_shows_one_of_each() -> None:
    mixed = pd.DataFrame({"a": pd.Series([True, 3] * 15, dtype=object)})
    with pytest.raises(ColumnError, match=r"True in row 0, 3 in row 1"):
        TrinaryTreeRegressor().fit(mixed, np.zeros(30))


def test_text_where_training_had_booleans_is_refused() -> None:
    booleans = pd.DataFrame({"a": [True, False] * 15})
    model = TrinaryTreeRegressor().fit(booleans, np.arange(30.0))
    with pytest.raises(ColumnError, match=r"column 'a' holds text now and held true and false in training"):
        model.predict(pd.DataFrame({"a": ["yes"]}))
