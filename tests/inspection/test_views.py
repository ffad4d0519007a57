"""All estimators have the same views, and looking changes nothing."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted, labels_of
from forest.grown import grown

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.estimators.boosting_views import BoostedTree

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("onnx")

Y = np.arange(len(TABLE)) % 7 + TABLE.iloc[:, 0].rank().to_numpy() / len(TABLE)


def tree() -> Any:
    return TrinaryTreeRegressor(max_depth=3).fit(TABLE, Y)


MODELS: dict[str, Callable[[], Any]] = {
    "tree": tree,
    "tree, three classes": lambda: TrinaryTreeClassifier(max_depth=3).fit(TABLE, labels_of("three classes")),
    "tree, missing values in training": lambda: TrinaryTreeRegressor(max_depth=3).fit(HOLED, Y),
    "forest": lambda: grown("regression"),
    "forest, missing values in training": lambda: grown("regression", HOLED),
    "forest, three classes": lambda: grown("three classes"),
    "tree of a forest": lambda: grown("regression").estimators_[1],
    "boosting": lambda: boosted("regression"),
    "boosting, three classes": lambda: boosted("three classes"),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "to_text": lambda model: model.to_text(),
    "to_dot": lambda model: model.to_dot(),
    "to_dict": lambda model: model.to_dict(),
    "plot": lambda model: model.plot(max_nodes=7),
    "to_html": lambda model: model.to_html(),
    "to_html of rows": lambda model: model.to_html(rows=ROWS.head(20)),
    "to_onnx": lambda model: model.to_onnx(),
    "repr": lambda model: model._repr_html_(),
    "plot_importance": lambda model: model.plot_importance(),
}


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.filterwarnings("ignore::tritree.UngrownBranchWarning")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", MODELS)
def test_looking_changes_no_model(name: str, view: str) -> None:
    model = MODELS[name]()
    before, n_nodes = state(model), model.n_nodes_
    shown = VIEWS[view](model)
    assert shown is not None
    assert (model.n_nodes_, model.n_grown_, model.n_ungrown_hits_) == (n_nodes, 0, 0)
    assert state(model) == before


def state(model: Any) -> bytes:
    """Return all that the core knows of a model: trees, rows to grow from and parameters."""
    return pickle.dumps(model._model.core.state(True))


@pytest.mark.parametrize(
    "view", ["to_text", "to_dot", "to_dict", "plot", "to_html", "to_html of rows", "repr"]
)
def test_looking_at_a_boosted_tree_grows_nothing(view: str) -> None:
    model = boosted("three classes")
    n_nodes = model.n_nodes_
    assert VIEWS[view](model.estimators_[2, 1]) is not None
    assert model.n_nodes_ == n_nodes


def test_looking_at_a_detached_tree_counts_nothing() -> None:
    model = tree().detach()
    model.to_html(rows=ROWS.head(20))
    assert model.n_ungrown_hits_ == 0


def test_page_of_a_tree_is_grown_for_its_rows() -> None:
    model, rows = tree(), ROWS.head(20)
    before = model.to_html(rows=rows)
    model.predict(rows)
    assert len(before) == pytest.approx(len(model.to_html(rows=rows)), rel=0.01)


# ------------------------------------------------------------------------------------------------------ estimators_


@pytest.mark.parametrize(
    ("kind", "shape"), [("regression", (12, 1)), ("two classes", (12, 1)), ("three classes", (12, 3))]
)
def test_trees_of_boosting_have_the_shape_of_scikit_learn(kind: str, shape: tuple[int, int]) -> None:
    model = boosted(kind)
    assert model.estimators_.shape == shape == (model.n_iter_, model.n_trees_ // model.n_iter_)
    assert [(t.iteration, t.output) for t in model.estimators_.ravel()] == list(np.ndindex(shape))
    assert all(isinstance(t, BoostedTree) for t in model.estimators_.ravel())


def test_trees_of_a_forest_are_a_sequence() -> None:
    forest = grown("regression")
    trees = forest.estimators_
    assert len(trees) == forest.n_trees_ == len(list(trees))
    assert [t.to_dict() for t in trees[1:3]] == [trees[1].to_dict(), trees[2].to_dict()]
    assert trees[-1].to_dict() == trees[len(trees) - 1].to_dict()
    with pytest.raises(IndexError, match="no tree 7"):
        trees[7]
    with pytest.raises(TypeError):
        trees["first"]


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_trees_have_every_view_of_a_single_tree(name: str) -> None:
    model = MODELS[name]()
    one = np.ravel(model.estimators_[1:2])[0]
    public = [
        view for view in dir(tree()) if view in {*VIEWS, "explain", "missing_reliance", "plot_importance"}
    ]
    assert len(public) == 9
    assert all(callable(getattr(one, view)) for view in public)
    assert len(one.explain(ROWS)) == len(ROWS)
    assert one.missing_reliance(ROWS).shape == (TABLE.shape[1],)
    assert one.feature_importances_.sum() == pytest.approx(1)
    assert one.plot_importance() is not None


@pytest.mark.parametrize("missing", ["trinary_mia", "mia", "fractional"])
def test_contributions_of_boosted_trees_are_their_leaf_values(missing: str) -> None:
    model = boosted("regression", HOLED, missing=missing)
    total = model._model.core.baseline[0]
    for one in model.estimators_.ravel():
        total = total + np.array([why.value[0] for why in one.explain(ROWS)])
    np.testing.assert_allclose(total, model.predict(ROWS), rtol=1e-12)


# -------------------------------------------------------------------------------------------- views of an ensemble


@pytest.mark.parametrize("name", ["forest", "boosting", "boosting, three classes"])
def test_text_is_a_summary_and_the_first_tree(name: str) -> None:
    model = MODELS[name]()
    text = model.to_text()
    first = np.ravel(model.estimators_[:1])[0]
    assert text.endswith(first.to_text(max_nodes=31))
    summary = text.removesuffix(first.to_text(max_nodes=31)).splitlines()
    assert f"{model.n_trees_} trees" in summary[0]
    assert f"{model.n_nodes_:,} nodes" in summary[0]
    splits = sum(int((t.column >= 0).sum()) for t in model._model.trees())
    assert sum(int(line.split()[-2]) for line in summary[3:] if line) == splits


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_tree_is_chosen_by_its_number(name: str) -> None:
    model = MODELS[name]()
    one = np.ravel(model.estimators_[2:3])[0]
    assert model.to_text(tree=2) == one.to_text(max_nodes=31)
    assert model.to_dot(tree=2) == one.to_dot()
    assert model.to_html(tree=2) == one.to_html()
    chosen, expected = model.plot(tree=2, max_nodes=7), one.plot(max_nodes=7)
    assert [text.get_text() for text in chosen.texts] == [text.get_text() for text in expected.texts]
    with pytest.raises(ValueError, match="tree must be an integer, got 'first'"):
        model.plot(tree="first")
    with pytest.raises(IndexError, match="no tree 99"):
        model.to_html(tree=99)


@pytest.mark.parametrize("name", ["forest", "boosting, three classes"])
def test_plain_data_of_an_ensemble_survives_json_and_predicts(name: str) -> None:
    model = MODELS[name]()
    data = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert len(data["trees"]) == data["n_trees"] == model.n_trees_
    assert model.to_dict(max_trees=2)["trees"] == data["trees"][:2]
    values = np.array([t["nodes"][0]["value"] for t in data["trees"]])
    if data["aggregation"] == "mean":
        assert data["classes"] is None
        assert len(values) == model.n_trees_
    else:
        assert data["classes"] == model.classes_.tolist()
        assert len(data["baseline"]) == 3
    assert data["columns"] == np.ravel(model.estimators_[:1])[0].to_dict()["columns"]


def test_views_are_imported_when_they_are_first_used() -> None:
    program = (
        "import sys; from tritree import TrinaryBoostingRegressor, TrinaryForestRegressor, TrinaryTreeRegressor;"
        "TrinaryTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]]);"
        "print([name for name in sys.modules if name.startswith('tritree.inspection')])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------ elements of estimators_


@pytest.mark.parametrize("name", ["forest", "boosting, three classes"])
def test_trees_of_both_ensembles_have_the_attributes_of_a_single_tree(name: str) -> None:
    model = MODELS[name]()
    nodes = model.apply(ROWS)
    trees = np.ravel(model.estimators_).tolist()
    assert sum(tree.n_nodes_ for tree in trees) == model.n_nodes_
    assert sum(tree.n_grown_ for tree in trees) == model.n_grown_
    assert model.n_grown_ > 0 or name == "forest"  # which finds evidence
    for number, tree in enumerate(trees):
        described = tree.to_dict()["nodes"]
        assert len(tree.tree_.column) == len(described)
        assert tree.get_depth() == max(node["depth"] for node in described)
        assert tree.get_n_leaves() == sum(node["split"] is None for node in described)
        np.testing.assert_array_equal(tree.apply(ROWS), nodes[:, number])


@pytest.mark.parametrize("name", ["forest", "forest, three classes", "boosting"])
def test_data_of_an_ensemble_has_the_distributions_of_its_trees(name: str) -> None:
    model = MODELS[name]()
    own = {name: model.to_dict(distribution=True)["trees"][1].get(name) for name in ("edges", "nodes")}
    alone = np.ravel(model.estimators_)[1].to_dict(distribution=True)
    assert own == {name: alone.get(name) for name in own}
    assert ("distribution" in own["nodes"][0]) == (name == "forest")
