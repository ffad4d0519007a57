"""A tree is shown by all views as it is, in words that are right for boosting."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE, boosted, sums
from dots import read_dot
from reference.traversal import ends as ends_of
from reference.traversal import path
from sklearn.exceptions import NotFittedError

from tritree import TrinaryBoostingRegressor, load
from tritree.validation import BOOSTING_STRATEGIES

TEXT_AND_DOT = ("to_text", "to_dot")


def page_data(page: str) -> Any:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])  # type: ignore[index]


# ------------------------------------------------------------------------------------------ what is described


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_described_trees_lead_rows_where_the_core_does(missing: str, training: Any) -> None:
    model = boosted("regression", training, missing=missing)
    ends = model.apply(ROWS)
    cells = model._read_cells(ROWS).cells
    for number in range(model.n_iter_):
        nodes = model.estimators_.flat[number].to_dict()["nodes"]
        for row, end in zip(cells, ends[:, number].tolist(), strict=True):
            parts = ends_of(nodes, row)
            assert end == max(parts, key=parts.__getitem__)  # the leftmost of equals comes first
            assert sum(parts.values()) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_trees_add_up_to_the_sum(kind: str) -> None:
    model = boosted(kind)
    expected = sums(model, ROWS)
    ends = model.apply(ROWS)
    found = np.tile(model._model.core.baseline, (len(ROWS), 1))
    for number in range(ends.shape[1]):
        nodes = model.estimators_.flat[number].to_dict()["nodes"]
        found[:, number % found.shape[1]] += [nodes[end]["value"][0] for end in ends[:, number]]
    np.testing.assert_array_equal(found, expected)


def test_arrays_are_those_of_the_core() -> None:
    model = boosted("regression", HOLED)
    model.predict(ROWS)
    stored = model._model.core.state(with_rows=False)["trees"]
    assert len(stored["n_nodes"]) == model._model.n_trees
    begin = 0
    for number, n_nodes in enumerate(stored["n_nodes"].tolist()):
        tree, nodes = model.estimators_.flat[number]._arrays_now(), slice(begin, begin + n_nodes)
        for name in ("column", "left", "right", "third", "missing_to", "depth", "rows", "gain"):
            np.testing.assert_array_equal(getattr(tree, name), stored[name][nodes], err_msg=name)
        np.testing.assert_array_equal(tree.value[:, 0], stored["value"][nodes])
        assert tree.n_fitted == stored["n_fitted"][number]
        begin += n_nodes


def test_plain_data_survives_json_and_has_the_gain() -> None:
    model = boosted("two classes", HOLED)
    tree = json.loads(json.dumps(model.estimators_.flat[3].to_dict(), allow_nan=False))
    assert tree["task"] == "boosting"
    assert tree["ensemble"] == {"tree": 3, "n_trees": 12, "sum": "the log-odds of low"}
    assert all(node["split"] is None or node["split"]["gain"] > 0 for node in tree["nodes"])
    assert all("loss" not in node and "weight" not in node for node in tree["nodes"])


def test_tree_shows_what_has_grown_since() -> None:
    model = boosted("regression")
    tree = model.estimators_.flat[0]
    before = tree.to_dict()
    model.predict(ROWS)
    after = tree.to_dict()
    assert before["n_grown"] == 0
    assert after["n_grown"] == len(after["nodes"]) - len(before["nodes"]) > 0


# ------------------------------------------------------------------------------------------------ which tree


def test_trees_are_numbered_like_a_list() -> None:
    model = boosted("three classes")
    assert model.estimators_.flat[-1].to_dict()["ensemble"] == {
        "tree": 35,
        "n_trees": 36,
        "sum": "the score of middle",
    }
    assert model.estimators_.flat[np.int64(1)].to_dict()["ensemble"]["sum"] == "the score of low"
    for number in (36, -37):
        with pytest.raises(IndexError, match=f"no tree {number}; the model has 36, numbered from 0 to 35"):
            model.to_text(tree=number)
    with pytest.raises(ValueError, match="tree must be an integer, got 'first'"):
        model.to_text(tree="first")


def test_headline_says_which_tree_and_what_it_adds_to() -> None:
    headline = boosted("regression", loss="gamma").estimators_.flat[2].to_text().splitlines()[0]
    assert headline.startswith(
        "tree 2 of 12, trinary_mia boosting, contributions to the logarithm of the prediction: "
    )
    assert repr(boosted("regression").estimators_.flat[2]).startswith(
        "<tree 2 of 12, trinary_mia boosting, contributions to the sum"
    )


# ------------------------------------------------------------------------------------------------------ the words


@pytest.mark.parametrize("view", TEXT_AND_DOT)
def test_words_are_those_of_boosting(view: str) -> None:
    model = boosted("regression", split_penalty=0)  # so that third branches have splits
    model.predict(ROWS)
    shown = getattr(model.estimators_.flat[0], view)()
    assert "value" in shown
    assert "mean" not in shown
    assert "estimates what the left and right branches would predict" in shown
    assert "all rows of the node" not in shown
    assert "grow_all" not in shown
    assert "grow_for(rows)" in shown


def test_words_of_a_single_tree_stay_as_they_were() -> None:
    from tritree import TrinaryTreeRegressor

    text = TrinaryTreeRegressor(max_depth=2).fit(TABLE, np.arange(len(TABLE))).to_text()
    assert "third branch: all rows of the node, for those whose value is missing" in text
    assert "contributions" not in text


def test_rows_of_third_branches_have_no_fraction_because_they_are_a_sample() -> None:
    model = boosted("regression", third_rows=50)
    model.predict(ROWS)
    lines = model.estimators_.flat[0].to_text().splitlines()
    thirds = [line for line in lines if "┄ " in line and "missing, then" in line]
    assert thirds
    assert not any("%" in line for line in thirds)


def test_dot_has_every_node() -> None:
    model = boosted("regression")
    model.predict(ROWS.head(20))
    tree = model.estimators_.flat[1]
    graph = read_dot(tree.to_dot(max_nodes=None))
    nodes = tree.to_dict()["nodes"]
    assert len([name for name in graph.nodes if re.fullmatch(r"n\d+", name)]) == len(nodes)


def test_figure_shows_steps_and_no_deviation() -> None:
    pytest.importorskip("matplotlib")
    model = boosted("regression")
    model.predict(ROWS.head(20))
    found = [text.get_text() for text in model.estimators_.flat[0].plot(max_nodes=9).texts]
    assert any(text.startswith("value ") for text in found)
    caption = " ".join(found)
    assert "the value in orange" in caption
    assert "deviation" not in caption
    assert "mean" not in caption


def test_page_speaks_of_steps_and_grows_what_its_rows_need() -> None:
    model = boosted("three classes")
    page = model.estimators_.flat[4].to_html(rows=ROWS.head(10))
    data = page_data(page)
    assert data["terms"]["value"] == "value"
    assert data["terms"]["prediction"] == "Contribution to the sum"
    assert data["terms"]["grow"] == "model.grow_for(rows)"
    assert len(data["rows"]) == 10
    fitted = [tree.n_fitted for tree in model._model.trees()]
    assert len(data["nodes"]) > fitted[4]
    assert model.n_nodes_ == sum(fitted)  # only the copy for the page has grown


def test_page_is_written_whole_and_too_many_rows_are_refused(tmp_path: Path) -> None:
    model = boosted("regression")
    place = tmp_path / "tree.html"
    assert model.estimators_.flat[0].to_html(place) is None
    assert place.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError, match="at most 1,000 rows"):
        model.estimators_.flat[0].to_html(rows=np.zeros((1001, 5)))


def test_page_of_a_detached_model_counts_nothing_as_ungrown() -> None:
    model = boosted("regression").detach()
    page_data(model.estimators_.flat[0].to_html(rows=ROWS.head(10)))
    assert model.n_ungrown_hits_ == 0


def test_notebook_shows_the_page() -> None:
    assert boosted("regression").estimators_.flat[0]._repr_html_().startswith("<iframe")


@pytest.mark.parametrize("kind", KINDS)
def test_views_survive_files_and_pickles(kind: str, tmp_path: Path) -> None:
    model = boosted(kind, HOLED)
    model.predict(ROWS)
    model.save(tmp_path / "model.tritree")
    for other in (load(tmp_path / "model.tritree"), pickle.loads(pickle.dumps(model))):
        assert other.estimators_.flat[1].to_dict() == model.estimators_.flat[1].to_dict()
        assert other.feature_importances_.tolist() == model.feature_importances_.tolist()
        assert [str(why) for why in other.explain(ROWS)] == [str(why) for why in model.explain(ROWS)]


# ------------------------------------------------------------------------------------------------ importances


@pytest.mark.parametrize("kind", KINDS)
def test_importances_are_fractions_of_the_gain_of_fitted_splits(kind: str) -> None:
    model = boosted(kind, HOLED)
    expected = np.zeros(TABLE.shape[1])
    for number in range(model._model.core.n_trees):
        tree = model._model.core.tree(number)
        for column, gain in zip(tree.column[: tree.n_fitted], tree.gain, strict=False):
            if column >= 0:
                expected[column] += gain
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)
    model.predict(ROWS)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-12)


def test_importances_without_splits_are_zero() -> None:
    model = TrinaryBoostingRegressor(max_iter=2).fit(np.zeros((50, 2)), np.arange(50.0))
    assert model.feature_importances_.tolist() == [0.0, 0.0]


def test_importances_are_drawn_largest_first() -> None:
    pytest.importorskip("matplotlib")
    model = boosted("regression")
    ax = model.plot_importance(max_columns=3)
    ranked = [TABLE.columns[j] for j in np.argsort(-model.feature_importances_)[:3]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ranked


def test_views_of_what_is_not_fitted_say_so() -> None:
    model = TrinaryBoostingRegressor()
    views: list[Callable[[], Any]] = [
        lambda: model.estimators_.flat[0],
        lambda: model.explain(TABLE),
        lambda: model.feature_importances_,
        model.plot_importance,
        lambda: model.missing_reliance(TABLE),
        model.to_onnx,
    ]
    for view in views:
        with pytest.raises(NotFittedError):
            view()


# ---------------------------------------------------------------------------------------------------- reliance


def lacking(nodes: list[dict[str, Any]], row: Any) -> np.ndarray:
    """Return for each column how much of a row reaches a split on it without a usable value."""
    counted: dict[int, set[int]] = {0: set()}  # by node, the columns counted on the path to it
    total = np.zeros(TABLE.shape[1])
    for node, to, _, fraction, lacks_value, _ in path(nodes, row):
        column, own = nodes[node]["split"]["column"], counted[node]
        if lacks_value:
            total[column] += 0 if column in own else fraction
            own = own | {column}
        if to is not None:
            counted[to] = own
    return total


@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_reliance_counts_rows_and_trees(missing: str) -> None:
    model = boosted("regression", HOLED, missing=missing)
    found = model.missing_reliance(ROWS)
    cells, expected = model._read_cells(ROWS).cells, np.zeros(TABLE.shape[1])
    for number in range(model.n_iter_):
        nodes = model.estimators_.flat[number].to_dict()["nodes"]
        for row in cells:
            expected += lacking(nodes, row)
    np.testing.assert_allclose(found, expected / (len(cells) * model.n_iter_), rtol=0, atol=1e-12)


def test_complete_rows_do_not_rely_on_missing() -> None:
    assert boosted("regression").missing_reliance(TABLE).tolist() == [0.0] * TABLE.shape[1]
