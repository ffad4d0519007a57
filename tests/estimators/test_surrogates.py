"""Surrogates as R's rpart has them, and rows that none of them places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from models import TASKS, Floats, estimator

from tritree import TrinaryForestRegressor, TrinaryTreeRegressor, load

TEN = np.arange(10.0)


def stump(X: Any, y: Any, **parameters: Any) -> Any:
    return TrinaryTreeRegressor(missing="surrogate", max_depth=1, min_samples_leaf=1, **parameters).fit(X, y)


def surrogates(model: Any) -> dict[str, dict[str, Any]]:
    """Return the surrogates of the root by column."""
    found: list[dict[str, Any]] = model.to_dict()["nodes"][0]["split"]["surrogates"]
    return {surrogate["name"]: surrogate for surrogate in found}


def halved(n_missing: int = 0) -> tuple[Floats, Floats]:
    """Return a column with as many rows on both sides, and a target that is 9 where it is missing."""
    column = np.r_[TEN, np.full(n_missing, np.nan)]
    return column[:, None], np.where(np.isnan(column), 9.0, column >= 5)


def test_row_without_a_surrogate_stays_in_a_node_whose_children_have_as_many_rows() -> None:
    model = stump(*halved())
    assert model.apply([[np.nan]]) == 0
    assert model.predict([[np.nan]]) == model.tree_.value[0] == 0.5


def test_row_that_stays_reaches_no_ungrown_branch() -> None:
    model = stump(*halved())
    model.predict([[np.nan]])
    assert model.n_ungrown_hits_ == 0


def test_training_rows_that_stay_are_in_neither_child() -> None:
    model = stump(*halved(n_missing=4))
    assert model.tree_.rows.tolist() == [14, 5, 5]
    assert model.tree_.value[1:, 0].tolist() == [0, 1]


def placed() -> tuple[Floats, Floats]:
    """Return a table with six rows left and five right; a surrogate places three more right, none places the last."""
    a = np.r_[np.arange(11.0), np.full(4, np.nan)]
    b = np.r_[np.arange(11.0), np.full(3, 10), np.nan]
    return np.column_stack([a, b]), np.where(np.isnan(a), 0.0, a >= 6)


def test_row_without_a_surrogate_goes_to_the_child_with_more_rows() -> None:
    model = stump(*placed())
    assert model.tree_.rows.tolist() == [15, 7, 8]
    assert model.predict([[np.nan, np.nan]]) == model.tree_.value[2]


def test_forest_averages_the_values_of_nodes_in_which_a_row_stays() -> None:
    forest = TrinaryForestRegressor(
        missing="surrogate", n_estimators=3, max_depth=1, min_samples_leaf=1, bootstrap=False
    )
    assert forest.fit(*halved()).predict([[np.nan]]) == 0.5


def test_stored_model_keeps_rows_that_stay(tmp_path: Any) -> None:
    stump(*halved()).save(tmp_path / "model.tritree")
    assert load(tmp_path / "model.tritree").predict([[np.nan]]) == 0.5


def test_categorical_surrogate_that_agrees_entirely_is_not_used() -> None:
    frame = pd.DataFrame({"a": TEN, "letter": list("uuuuuvvvvv")})
    assert surrogates(stump(frame, TEN >= 5)) == {}


def test_categorical_surrogate_needs_two_rows_that_disagree() -> None:
    frame = pd.DataFrame({"a": TEN, "one": list("uuuuuuvvvv"), "two": list("uuuuvuvvvv")})
    assert list(surrogates(stump(frame, TEN >= 5))) == ["two"]


@pytest.mark.parametrize(("higher", "y"), [("right", TEN >= 5), ("left", TEN < 5)])
def test_surrogate_sends_a_category_with_equal_counts_to_the_side_with_the_larger_mean(
    higher: str, y: Any
) -> None:
    frame = pd.DataFrame({"a": TEN, "letter": list("uuuvwwvvvu")})
    letter = surrogates(stump(frame, y))["letter"]
    assert [side for side in ("left", "right") if "w" in letter[side]] == [higher]


@pytest.mark.parametrize("task", TASKS)
def test_categories_are_split_in_their_order_only(task: str) -> None:
    # a | b, c and a, b | c have one row on a side; a, c | b has not, and gains
    frame, y = pd.DataFrame({"letter": list("abbbc")}), [0, 0, 0, 1, 1]
    sizes = {
        missing: estimator(task, missing=missing, min_samples_leaf=2).fit(frame, y).n_nodes_
        for missing in ("surrogate", "majority")
    }
    assert sizes == {"surrogate": 1, "majority": 3}


def test_categories_are_in_the_order_of_the_proportion_of_the_first_class() -> None:
    # c | a, b has one row on a side; of a and b, which have the same proportion, a comes next
    frame, y = pd.DataFrame({"letter": list("aaabbbc")}), [0, 0, 0, 0, 0, 0, 1]
    model = estimator("classification", missing="surrogate", min_samples_leaf=2, max_depth=1).fit(frame, y)
    split = model.to_dict()["nodes"][0]["split"]
    assert (split["left"], split["right"]) == (["a", "c"], ["b"])
