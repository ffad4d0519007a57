"""Columns are matched by name, with warnings about absent and extra ones, or by position."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from table.frames import N, Y, as_numpy_objects, as_pandas, as_polars

from tritree import ColumnError, ColumnMatchWarning, TrinaryTreeRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

TEXT_FRAME = pd.DataFrame({"colour": ["red", "blue"] * 150, "size": np.linspace(0, 1, 300)})
TARGET = np.tile([1.0, 2.0], 150)


def fitted_to_text() -> TrinaryTreeRegressor:
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(TEXT_FRAME, TARGET)


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
    assert fitted_to_text().predict(empty) == pytest.approx(TARGET.mean(), abs=0.1)


@pytest.mark.parametrize("empty", [[np.nan] * 300, [None] * 300, pd.Categorical([None] * 300)])
def test_column_that_was_empty_in_training_may_hold_anything_in_prediction(empty: Any) -> None:
    model = TrinaryTreeRegressor().fit(TEXT_FRAME.assign(colour=empty), TARGET)
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


def test_text_where_training_had_booleans_is_refused() -> None:
    booleans = pd.DataFrame({"a": [True, False] * 15})
    model = TrinaryTreeRegressor().fit(booleans, np.arange(30.0))
    with pytest.raises(ColumnError, match=r"column 'a' holds text now and held booleans in training"):
        model.predict(pd.DataFrame({"a": ["yes"]}))


@pytest.fixture(scope="module")
def expected() -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y).predict(as_pandas())


@pytest.fixture(scope="module")
def tree() -> Any:
    return TrinaryTreeRegressor(min_samples_leaf=5).fit(as_pandas(), Y)


def test_order_of_columns_does_not_matter(tree: Any, expected: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            tree.predict(as_polars().select(reversed(as_polars().columns))), expected
        )


def test_absent_column_counts_as_missing_with_one_warning_that_names_it(tree: Any) -> None:
    with pytest.warns(
        ColumnMatchWarning, match="absent from the table, so missing in every row: 'colour'"
    ) as seen:
        found = tree.predict(as_pandas().drop(columns="colour"))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(found, tree.predict(as_pandas().assign(colour=None)))


def test_extra_columns_are_ignored_with_one_warning(tree: Any, expected: Any) -> None:
    with pytest.warns(ColumnMatchWarning, match="not in training, so ignored: 'when', 'why'") as seen:
        found = tree.predict(as_pandas().assign(when=pd.Timestamp("2020-01-01"), why=[[1]] * N))
    assert len(seen) == 1
    np.testing.assert_array_equal(found, expected)


def test_frame_without_any_known_column_is_an_error(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"none of the columns of training \('number', "):
        tree.predict(pd.DataFrame({"other": [1.0]}))


def test_array_of_another_width_is_an_error(tree: Any) -> None:
    with pytest.raises(
        ValueError, match="X has 3 features, but TrinaryTreeRegressor is expecting 5 features as input"
    ):
        tree.predict(np.zeros((2, 3)))


def test_array_is_matched_by_position_with_scikit_learns_warning(tree: Any, expected: Any) -> None:
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but TrinaryTreeRegressor was fitted with"
    ):
        np.testing.assert_array_equal(tree.predict(as_numpy_objects()), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"number": "text"},
            "column 'number' holds text now and held numbers in training; turn it back into numbers",
        ),
        ({"colour": 1.5}, "column 'colour' holds numbers now and held text in training"),
    ],
)
def test_column_whose_type_changed_is_an_error(tree: Any, change: Any, message: Any) -> None:
    with pytest.raises(ColumnError, match=message):
        tree.predict(as_pandas().assign(**change))


def test_column_names_of_several_types_are_an_error() -> None:
    with pytest.raises(TypeError, match="column names are of several types"):
        TrinaryTreeRegressor().fit(pd.DataFrame({"a": [1.0, 2.0], 1: [1.0, 2.0]}), [1, 2])


def test_number_names_of_columns_are_positions() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)))
    tree = TrinaryTreeRegressor().fit(frame, frame[0])
    assert not hasattr(tree, "feature_names_in_")
    np.testing.assert_array_equal(tree.predict(frame), tree.predict(frame.to_numpy()))
