"""Views of a tree with rows that stay in an inner node: no surrogate places them, and its children are as large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tritree import TrinaryForestRegressor, TrinaryTreeRegressor

COLUMN = np.arange(10.0)
PARAMETERS: dict[str, Any] = {"missing": "surrogate", "max_depth": 1, "min_samples_leaf": 1}
ROW = pd.DataFrame({"a": [np.nan]})


def tree(**others: Any) -> Any:
    """Return a tree that splits ten rows at a = 4.5."""
    return TrinaryTreeRegressor(**PARAMETERS).fit(pd.DataFrame({"a": COLUMN, **others}), COLUMN >= 5)


def test_description_has_no_larger_side() -> None:
    split = tree().to_dict()["nodes"][0]["split"]
    assert {split[key] for key in ("missing_branch", "unseen_branch", "larger_side")} == {"none"}


def test_text_says_that_rows_stay() -> None:
    assert "┊  a missing: stays\n" in tree().to_text()


def test_text_says_that_rows_stay_if_no_surrogate_is_observed() -> None:
    assert "┊  a missing: by b (left ≥ -4.5), else stays\n" in tree(b=-COLUMN).to_text()


@pytest.mark.parametrize("view", ["to_text", "to_dot"])
def test_view_says_what_a_row_that_stays_gets(view: str) -> None:
    note = "a row that stays, because both children have as many rows, gets the value of the node"
    assert note in getattr(tree(), view)()


def test_dot_says_that_rows_stay() -> None:
    assert "a missing: stays" in tree().to_dot()


def test_path_ends_in_the_node() -> None:
    [why] = tree().explain(ROW)
    [step] = why.path
    assert (step.node, step.to, step.branch, step.contribution) == (0, None, "none", (0,))


def test_explanation_says_why_the_row_stays() -> None:
    [why] = tree().explain(ROW)
    reason = "a is missing, and no surrogate is observed: stays, as both children have as many rows"
    assert why.path[0].reason == reason


def test_explained_value_is_that_of_the_node() -> None:
    [why] = tree().explain(ROW)
    assert why.value == why.base_value == (0.5,)


def test_contributions_to_a_forest_are_none() -> None:
    forest = TrinaryForestRegressor(n_estimators=3, bootstrap=False, **PARAMETERS)
    [why] = forest.fit(pd.DataFrame({"a": COLUMN}), COLUMN >= 5).explain(ROW)
    assert (why.value, why.contributions) == (0.5, {"a": 0.0})


@pytest.mark.parametrize("others", [{}, {"b": -COLUMN}], ids=["no surrogates", "a surrogate"])
def test_onnx_model_predicts_the_value_of_the_node(others: dict[str, Any]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = tree(**others)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    row = np.full((1, model.n_features_in_), np.nan)
    assert session.run(None, {"X": row})[0].item() == 0.5


def test_page_starts_from_a_category_though_no_side_is_larger() -> None:
    frame = pd.DataFrame({"letter": list("uuuuuvvvvv")})
    assert "letter missing: stays" in TrinaryTreeRegressor(**PARAMETERS).fit(frame, COLUMN >= 5).to_html()
