"""A tree of a forest is a single tree with all its views, and the forest aggregates what its trees say of columns."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE
from dots import read_dot
from forest.grown import grown, predictions
from models import STRATEGIES, WITH_THIRD_BRANCHES
from sklearn.exceptions import NotFittedError

from tritree import (
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
    load,
)

WEIGHTS = np.random.default_rng(0).integers(1, 4, len(TABLE)).astype(float)


def trees_of(forest: Any) -> list[Any]:
    return [forest.estimators_[number] for number in range(forest.n_trees_)]


# ------------------------------------------------------------------------------------------------------ the tree


def test_tree_of_a_forest_without_rows_names_what_the_forest_can_do() -> None:
    tree = TrinaryForestRegressor(n_estimators=2, random_state=0).fit(TABLE, WEIGHTS).detach().estimators_[0]
    with pytest.warns(UngrownBranchWarning, match=r"call grow_for\(\) before that, with rows like these"):
        tree.predict(ROWS)


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_forest_predicts_the_mean_of_its_trees(kind: str, missing: str, training: Any) -> None:
    forest = grown(kind, training, WEIGHTS, missing=missing)
    trees = trees_of(forest)
    found = sum(predictions(tree, ROWS) for tree in trees) / len(trees)
    np.testing.assert_array_equal(found, predictions(forest, ROWS))


def test_tree_is_a_tree_with_the_parameters_of_the_forest() -> None:
    parameters = {"missing": "mia", "max_depth": 3, "min_samples_leaf": 9, "unknown_category": "error"}
    tree = grown("regression", **parameters).estimators_[0]
    assert type(tree) is TrinaryTreeRegressor
    assert parameters.items() <= tree.get_params().items()
    assert tree.feature_names_in_.tolist() == TABLE.columns.tolist()
    tree = grown("three classes", criterion="gini").estimators_[0]
    assert type(tree) is TrinaryTreeClassifier
    assert tree.criterion == "gini"
    assert tree.classes_.tolist() == ["high", "low", "middle"]


def test_trees_are_numbered_like_a_list() -> None:
    forest = grown("regression")
    assert forest.estimators_[-1].to_dict() == forest.estimators_[np.int64(6)].to_dict()
    for number in (7, -8):
        with pytest.raises(IndexError, match=f"no tree {number}; the model has 7, numbered from 0 to 6"):
            forest.estimators_[number]
    with pytest.raises(TypeError):
        forest.estimators_["first"]


def test_tree_has_grown_as_far_as_the_tree_of_the_forest() -> None:
    forest = grown("regression", min_missing_third=0)
    before = forest.estimators_[1]
    forest.predict(ROWS)
    after = forest.estimators_[1]
    assert before.n_grown_ == 0
    tree = forest._model.core.tree(1)
    assert after.n_grown_ == len(tree.column) - tree.n_fitted > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.predict(ROWS),
        lambda tree: tree.grow_all(),
        lambda tree: tree.detach(),
        lambda tree: tree.fit(TABLE, np.zeros(len(TABLE))),
        lambda tree: tree.to_html(),
    ],
)
def test_what_is_done_to_a_tree_does_not_change_the_forest(change: Callable[[Any], Any]) -> None:
    forest, other = grown("regression", max_depth=2), grown("regression", max_depth=2)
    change(forest.estimators_[0])
    assert forest.n_grown_ == 0
    np.testing.assert_array_equal(forest.predict(ROWS), other.predict(ROWS))


@pytest.mark.parametrize("again", [lambda tree: pickle.loads(pickle.dumps(tree)), copy.deepcopy])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_copies_of_a_tree_predict_and_grow_alike(again: Any, missing: str) -> None:
    tree = grown("regression", HOLED, WEIGHTS, missing=missing).estimators_[2]
    tree.predict(ROWS.head(20))  # half grown
    other = again(tree)
    assert other.to_text() == tree.to_text()
    np.testing.assert_array_equal(other.predict(ROWS), tree.predict(ROWS))


@pytest.mark.parametrize("missing", STRATEGIES)
def test_tree_may_be_saved_as_a_tree(missing: str, tmp_path: Path) -> None:
    tree = grown("two classes", HOLED, missing=missing).estimators_[2]
    tree.save(tmp_path / "tree.tritree")
    other = load(tmp_path / "tree.tritree")
    assert type(other) is TrinaryTreeClassifier
    np.testing.assert_array_equal(other.predict_proba(ROWS), tree.predict_proba(ROWS))


def test_tree_that_is_fitted_again_is_a_single_tree() -> None:
    tree = grown("regression").estimators_[0]
    tree.fit(TABLE, np.arange(len(TABLE)))
    assert "member" not in tree.to_dict()


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_tree_keeps_to_the_limit_of_the_forest_and_says_so(missing: str) -> None:
    forest = grown("regression", HOLED, missing=missing, max_third_nodes=9)
    with pytest.warns(UngrownBranchWarning):
        expected = forest.predict(ROWS)
    trees = trees_of(forest)
    with pytest.warns(
        UngrownBranchWarning, match="a tree has its maximum number of nodes; raise max_third_nodes"
    ):
        found = [tree.predict(ROWS) for tree in trees]
    np.testing.assert_array_equal(np.sum(found, axis=0) / len(found), expected)


def test_tree_of_a_detached_forest_is_detached() -> None:
    forest = grown("regression", min_missing_third=0).grow_for(ROWS).detach()
    tree = forest.estimators_[0].to_dict()
    assert tree["detached"]
    assert tree["n_grown"] > 0
    assert "before detach()" in forest.estimators_[0].to_text()


# ------------------------------------------------------------------------------------------------------- its views


def test_every_view_says_which_tree_it_is() -> None:
    pytest.importorskip("matplotlib")
    tree = grown("regression", HOLED).estimators_[2]
    headline = "tree 2 of 7, trinary forest, regression: "
    assert tree.to_text().startswith(headline)
    assert headline in tree.to_dot()
    assert headline in " ".join(text.get_text() for text in tree.plot(max_nodes=9).texts).replace("\n", " ")
    assert f"<title>{headline}" in tree.to_html()
    assert tree._repr_html_inner().startswith("<iframe")
    assert (
        grown("three classes").estimators_[0].to_text().startswith("tree 0 of 7, trinary forest, 3 classes: ")
    )


def test_words_are_those_of_a_tree() -> None:
    text = grown("regression", min_missing_third=0).estimators_[0].to_text()
    assert "third branch: all rows of the node, for those whose value is missing" in text
    assert "grow_all() grows them all" in text
    assert "step" not in text


def test_page_says_that_one_tree_predicts() -> None:
    page = grown("regression").estimators_[0].to_html(rows=ROWS.head(3))
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert (data["terms"]["prediction"], data["terms"]["value"]) == ("Prediction of this tree", "mean")
    assert len(data["rows"]) == 3


def test_plain_data_survives_json_and_says_which_tree_it_is() -> None:
    tree = grown("two classes", HOLED).estimators_[3]
    tree = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    assert tree["task"] == "classification"
    assert tree["ensemble"] == {"tree": 3, "n_trees": 7}


def test_dot_has_every_node() -> None:
    tree = grown("regression", HOLED).estimators_[1]
    graph = read_dot(tree.to_dot(max_nodes=None))
    assert len([name for name in graph.nodes if re.fullmatch(r"n\d+", name)]) == tree.n_nodes_


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_views_survive_files_and_pickles(kind: str, missing: str, tmp_path: Path) -> None:
    forest = grown(kind, HOLED, WEIGHTS, missing=missing)
    forest.predict(ROWS)
    forest.save(tmp_path / "forest.tritree")
    shown = forest.estimators_[1].to_dict(distribution=True)
    for other in (load(tmp_path / "forest.tritree"), pickle.loads(pickle.dumps(forest))):
        assert other.estimators_[1].to_dict(distribution=True) == shown
        assert other.feature_importances_.tolist() == forest.feature_importances_.tolist()
        assert [str(why) for why in other.explain(ROWS)] == [str(why) for why in forest.explain(ROWS)]


def test_file_without_rows_shows_what_has_grown(tmp_path: Path) -> None:
    forest = grown("regression", HOLED).grow_for(ROWS)
    forest.save(tmp_path / "forest.tritree", training_rows=False)
    other = load(tmp_path / "forest.tritree")
    assert [str(why) for why in other.explain(ROWS)] == [str(why) for why in forest.explain(ROWS)]
    assert other.estimators_[0].to_dict()["nodes"] == forest.estimators_[0].to_dict()["nodes"]


def test_views_of_what_is_not_fitted_say_so() -> None:
    forest = TrinaryForestRegressor()
    views: list[Callable[[], Any]] = [
        lambda: forest.estimators_[0],
        lambda: forest.explain(TABLE),
        lambda: forest.feature_importances_,
        forest.plot_importance,
        lambda: forest.missing_reliance(TABLE),
        forest.to_onnx,
    ]
    for view in views:
        with pytest.raises(NotFittedError):
            view()


# ------------------------------------------------------------------------------------------------------ importances


@pytest.mark.parametrize("missing", STRATEGIES)
def test_importances_are_the_mean_of_those_of_the_trees(missing: str) -> None:
    forest = grown("three classes", HOLED, missing=missing)
    expected = np.mean([tree.feature_importances_ for tree in trees_of(forest)], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, expected, rtol=1e-12)


def test_importances_are_remembered_when_the_rows_are_gone(tmp_path: Path) -> None:
    forest = grown("regression", HOLED)
    expected = forest.feature_importances_.tolist()
    forest.save(tmp_path / "forest.tritree", training_rows=False)
    assert load(tmp_path / "forest.tritree").feature_importances_.tolist() == expected
    assert forest.detach().feature_importances_.tolist() == expected
    assert pickle.loads(pickle.dumps(forest)).feature_importances_.tolist() == expected


def test_importances_that_cannot_be_known_any_more_are_no_attribute() -> None:
    forest = grown("regression", HOLED).detach()
    with pytest.raises(AttributeError, match=r"needs the training rows, .* access it once before detach"):
        _ = forest.feature_importances_
    assert grown("regression", HOLED, missing="mia").detach().feature_importances_.sum() == pytest.approx(1)


def test_importances_that_are_changed_by_the_caller_stay_as_they_are() -> None:
    forest = grown("regression")
    forest.feature_importances_[:] = 0
    assert forest.feature_importances_.sum() == pytest.approx(1)


def test_importances_are_drawn_largest_first() -> None:
    pytest.importorskip("matplotlib")
    forest = grown("regression")
    ax = forest.plot_importance(max_columns=3)
    ranked = [TABLE.columns[j] for j in np.argsort(-forest.feature_importances_)[:3]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ranked


# ---------------------------------------------------------------------------------------------------------- reliance


@pytest.mark.parametrize("missing", STRATEGIES)
def test_reliance_is_the_mean_of_that_of_the_trees(missing: str) -> None:
    forest = grown("regression", HOLED, missing=missing)
    expected = np.mean([tree.missing_reliance(ROWS) for tree in trees_of(forest)], axis=0)
    np.testing.assert_allclose(forest.missing_reliance(ROWS), expected, rtol=1e-12)


def test_complete_rows_do_not_rely_on_missing() -> None:
    assert grown("regression").missing_reliance(TABLE).tolist() == [0.0] * TABLE.shape[1]


def test_whole_forest_shows_importances_and_names_where_its_trees_are() -> None:
    pytest.importorskip("matplotlib")
    forest = grown("regression", HOLED)
    assert [tick.get_text() for tick in forest.plot().get_yticklabels()] == [
        tick.get_text() for tick in forest.plot_importance().get_yticklabels()
    ]
    assert "importance  splits  trees" in forest.to_text()
    with pytest.raises(NotFittedError):
        TrinaryForestRegressor().plot()
    detached = TrinaryForestRegressor(n_estimators=2, max_depth=2).fit(TABLE, WEIGHTS).detach()
    with pytest.raises(AttributeError, match=r"draw a tree with plot\(tree=0\)"):
        detached.plot()
    detached.plot(tree=0)
    for name in ("tree_", "get_depth", "get_n_leaves"):
        assert not hasattr(forest, name)
        with pytest.raises(AttributeError, match=rf"each has its own, estimators_\[i\]\.{name}"):
            getattr(forest, name)
