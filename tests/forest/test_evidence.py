"""Evidence of forests: where few training rows lack a value, other rows that do go both ways."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, ROWS, TABLE
from forest.grown import grown, predictions
from hypothesis import given
from hypothesis import strategies as st
from models import as_array
from properties.strategies import Problem, irregular_problems
from reference.evidence import ReferenceEvidence

import tritree
from tritree import TrinaryForestClassifier, TrinaryForestRegressor

KINDS = ("regression", "two classes", "three classes")
FRACTIONS = st.sampled_from([0.01, 0.3, 1.0])


def fitted_forest(problem: Problem, task: str, **parameters: Any) -> Any:
    estimator = TrinaryForestRegressor if task == "regression" else TrinaryForestClassifier
    return estimator(
        n_estimators=3,
        bootstrap=False,
        max_bins=None,
        random_state=0,
        categorical_features=problem.categorical,
        max_depth=problem.max_depth,
        min_samples_leaf=problem.min_samples_leaf,
        **parameters,
    ).fit(as_array(problem.X), np.array(problem.y), problem.weight)


def with_columns(forest: Any) -> Any:
    """Return the forest as a dict, each of its trees with the columns."""
    found = forest.to_dict()
    return [tree | {"columns": found["columns"]} for tree in found["trees"]]


def assert_agrees_with_reference(
    problem: Problem, task: str, min_missing_third: float, **parameters: Any
) -> None:
    forest = fitted_forest(problem, task, min_missing_third=min_missing_third, **parameters)
    rows = as_array(problem.X_test)
    predicted = predictions(forest, rows)
    forest.grow_all()
    np.testing.assert_array_equal(predictions(forest, rows), predicted)
    means = np.zeros(predicted.shape)
    for tree, seed in zip(with_columns(forest), forest._model.core.seeds, strict=True):
        reference = ReferenceEvidence(tree, problem.X, range(len(problem.X)), seed, problem.weight)
        for number, (n_rows, n_missing) in reference.counts.items():
            split = tree["nodes"][number]["split"]
            if split["missing_to"] in ("third", "both"):
                assert (split["missing_to"] == "both") == (n_missing < min_missing_third * n_rows)
            if split["missing_to"] == "both":
                assert split["evidence"] == reference.evidence[number]
        means += [reference.predict(row) for row in problem.X_test]
    np.testing.assert_array_equal(predicted, means / 3)


@given(problem=irregular_problems("regression", max_rows=60), min_missing_third=FRACTIONS)
def test_regression_forest_predicts_as_the_reference(problem: Problem, min_missing_third: float) -> None:
    assert_agrees_with_reference(problem, "regression", min_missing_third)


@given(problem=irregular_problems("classification", max_rows=60), min_missing_third=FRACTIONS)
def test_classification_forest_predicts_as_the_reference(problem: Problem, min_missing_third: float) -> None:
    assert_agrees_with_reference(problem, "classification", min_missing_third)


@given(problem=irregular_problems("regression", max_rows=60))
def test_forest_of_trinary_mia_predicts_as_the_reference(problem: Problem) -> None:
    assert_agrees_with_reference(problem, "regression", 0.3, missing="trinary_mia")


def correlated(n_rows: int = 700, missing: float = 0.2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n_rows, 1))
    X = (common + rng.normal(size=(n_rows, 4))).round(2)
    X[rng.random(X.shape) < missing] = np.nan
    return X, common[:, 0].round(2)


def test_evidence_of_a_large_node_is_that_of_a_sample_of_its_rows() -> None:
    X, y = correlated()
    forest = TrinaryForestRegressor(
        n_estimators=2, max_depth=2, bootstrap=False, random_state=0, max_bins=None
    )
    forest.fit(X, y).grow_all()
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    for tree, seed in zip(with_columns(forest), forest._model.core.seeds, strict=True):
        reference = ReferenceEvidence(tree, rows, range(len(rows)), seed)
        assert max(entry["rows"] for entry in reference.evidence[0]) <= 256 < len(rows)
        for number, evidence in reference.evidence.items():
            assert tree["nodes"][number]["split"]["evidence"] == evidence


@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
def test_evidence_of_large_nodes_is_the_same_after_loading(
    max_leaf_nodes: int | None, tmp_path: Path
) -> None:
    X, y = correlated(3_000)
    forest = TrinaryForestRegressor(n_estimators=3, max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    forest.save(tmp_path / "model.tritree")
    again = tritree.load(tmp_path / "model.tritree").grow_all()
    forest.grow_all()
    for one, other in zip(forest.to_dict()["trees"], again.to_dict()["trees"], strict=True):
        assert [node["split"] for node in one["nodes"]] == [node["split"] for node in other["nodes"]]


def test_column_that_repeats_the_missing_one_decides() -> None:
    x = np.random.default_rng(0).normal(size=400)
    X = np.column_stack([x, x, np.random.default_rng(1).normal(size=400)])
    forest = TrinaryForestRegressor(n_estimators=5, random_state=0, max_features=1.0).fit(X, x > 0)
    rows = X.copy()
    rows[:, 0] = np.nan
    assert np.mean((forest.predict(rows) - (x > 0)) ** 2) < 0.02


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [TABLE, HOLED], ids=["complete", "holed"])
def test_predictions_do_not_depend_on_what_was_asked_before(kind: str, table: Any) -> None:
    together = predictions(grown(kind, table), ROWS)
    forest = grown(kind, table)
    alone = [predictions(forest, ROWS.iloc[i : i + 1])[0] for i in reversed(range(60))]
    np.testing.assert_array_equal(alone[::-1], together[:60])
    np.testing.assert_array_equal(predictions(forest, ROWS), together)
    np.testing.assert_array_equal(predictions(grown(kind, table, n_jobs=2), ROWS), together)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_and_pickling_in_between_changes_no_prediction(kind: str, tmp_path: Path) -> None:
    expected = predictions(grown(kind, HOLED), ROWS)
    forest = grown(kind, HOLED)
    predictions(forest, ROWS.iloc[:30])
    forest.save(tmp_path / "model.tritree")
    for again in (tritree.load(tmp_path / "model.tritree"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(predictions(again, ROWS), expected)


def test_detached_forest_predicts_as_before_what_it_has_predicted(tmp_path: Path) -> None:
    forest = grown("regression", HOLED)
    expected = predictions(forest, ROWS)
    forest.detach()
    np.testing.assert_array_equal(predictions(forest, ROWS), expected)
    forest.save(tmp_path / "model.tritree")
    np.testing.assert_array_equal(predictions(tritree.load(tmp_path / "model.tritree"), ROWS), expected)
    assert forest.n_ungrown_hits_ == 0


def test_node_whose_evidence_is_not_known_predicts_its_value() -> None:
    X, y = correlated(missing=0)
    forest = TrinaryForestRegressor(n_estimators=1, max_depth=1, bootstrap=False, random_state=0).fit(X, y)
    forest.detach()
    with pytest.warns(tritree.UngrownBranchWarning):
        predicted = forest.predict(np.full((1, 4), np.nan))
    assert predicted == pytest.approx(y.mean())
    assert forest.n_ungrown_hits_ == 1


def test_complete_rows_are_predicted_alike_however_missing_values_are_handled() -> None:
    X, y = correlated()
    forests = [
        TrinaryForestRegressor(n_estimators=5, random_state=0, min_missing_third=m).fit(X, y)
        for m in (0.3, 0)
    ]
    complete = np.nan_to_num(X)
    np.testing.assert_array_equal(*(forest.predict(complete) for forest in forests))


def test_forest_that_grows_all_third_branches_has_no_evidence() -> None:
    forest = grown("regression", TABLE, min_missing_third=0)
    forest.predict(ROWS)
    assert forest.n_grown_ > 0
    assert all((tree.missing_to != 3).all() for tree in forest._model.trees())


def test_forest_of_complete_rows_grows_no_node() -> None:
    forest = grown("regression", TABLE)
    n_nodes = forest.n_nodes_
    forest.predict(ROWS)
    forest.grow_all()
    assert forest.n_nodes_ == n_nodes


def test_limit_of_growth_on_demand_does_not_limit_evidence() -> None:
    expected = grown("regression", TABLE).predict(ROWS)
    np.testing.assert_array_equal(grown("regression", TABLE, max_third_nodes=0).predict(ROWS), expected)


def test_column_of_training_rows_without_values_has_third_branches() -> None:
    table = TABLE.assign(number=TABLE["number"].mask(np.arange(len(TABLE)) % 2 == 0))
    forest = grown("regression", table, max_features=1.0)
    forest.predict(ROWS)
    splits = [node["split"] for tree in forest.to_dict()["trees"] for node in tree["nodes"]]
    assert {split["missing_to"] for split in splits if split and split["column"] == 0} >= {"third"}
    assert "both" in {split["missing_to"] for split in splits if split and split["column"] != 0}


@pytest.mark.parametrize("kind", KINDS)
def test_trees_of_a_forest_predict_their_part(kind: str) -> None:
    forest = grown(kind, HOLED)
    parts = [predictions(tree, ROWS) for tree in forest.estimators_]
    np.testing.assert_allclose(np.mean(parts, axis=0), predictions(forest, ROWS), rtol=1e-12)


def test_text_names_the_columns_of_the_evidence() -> None:
    X, y = correlated(missing=0)
    forest = TrinaryForestRegressor(n_estimators=1, max_depth=1, max_features=1.0, random_state=0).fit(X, y)
    tree = forest.estimators_[0]
    assert "missing: both ways\n" in tree.to_text()
    evidence = tree.grow_all().to_dict()["nodes"][0]["split"]["evidence"]
    names = ", ".join(entry["name"] for entry in evidence)
    assert f"missing: both ways, by {names}\n" in tree.to_text()


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_add_up_to_the_prediction(kind: str) -> None:
    forest = grown(kind, HOLED)
    for why in forest.explain(ROWS.iloc[:20]):
        total = why.base_value + sum(why.contributions.values()) + why.rounding
        assert total == why.value


def test_explanation_of_a_tree_says_that_other_values_decide() -> None:
    tree = grown("regression", HOLED).estimators_[0]
    text = "".join(str(why) for why in tree.explain(ROWS.iloc[:20]))
    assert "is missing: left, as its other values suggest" in text


def test_looking_finds_no_evidence() -> None:
    forest = grown("regression", HOLED)
    tree = forest.estimators_[0]
    for view in (forest.to_text, forest.to_html, forest.to_dot, tree.to_text, tree.to_html, forest.to_dict):
        view()
    assert not forest._model.core.tree(0).evidence_column.size
    assert not tree.tree_.evidence_column.size


def test_importances_do_not_depend_on_what_was_predicted() -> None:
    forest = grown("regression", HOLED)
    other = grown("regression", HOLED)
    other.predict(ROWS)
    np.testing.assert_array_equal(forest.feature_importances_, other.feature_importances_)
    assert forest.feature_importances_.sum() == pytest.approx(1)


def set_all(name: str, value: Any) -> Any:
    def change(trees: dict[str, Any]) -> None:
        trees[name] = np.full_like(trees[name], value)

    return change


def drop_last(name: str) -> Any:
    def change(trees: dict[str, Any]) -> None:
        trees[name] = trees[name][:-1]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_all("evidence_begin", -1), "out of range"),
        (set_all("evidence_begin", 0), "out of range|does not need it|column of its own"),
        (set_all("evidence_end", 2**30), "out of range"),
        (set_all("evidence_column", 5), "column index out of range"),
        (set_all("evidence_column", -1), "column index out of range"),
        (set_all("evidence_left", 0), "of one side only"),
        (set_all("evidence_rows", 1), "of one side only"),
        (set_all("evidence_group_end", 2**60), "wrong shape"),
        (set_all("evidence_group_end", 0), "wrong shape|without groups"),
        (set_all("evidence_key", np.nan), "out of order|out of range"),
        (set_all("evidence_key", 1.0), "out of order"),
        (set_all("evidence_group_rows", 0), "more rows on a side"),
        (set_all("left_fraction", 0.0), "left fraction out of range"),
        (set_all("left_fraction", 1.0), "left fraction out of range"),
        (set_all("n_evidence", -1), "negative"),
        (set_all("n_groups", 2**40), "too short"),
        *((drop_last(name), "too short|wrong shape|do not match|does not match|length") for name in (
            "evidence_begin", "evidence_end", "evidence_column", "evidence_rows", "evidence_left",
            "evidence_group_end", "evidence_key", "evidence_group_rows", "evidence_group_left", "n_evidence",
        )),
    ],
)  # fmt: skip
def test_inconsistent_evidence_is_refused(change: Any, message: str) -> None:
    forest = grown("regression", HOLED).grow_for(ROWS)
    core = forest._model.core
    state = core.state(with_rows=True)
    state["trees"] = dict(state["trees"])
    change(state["trees"])
    with pytest.raises(ValueError, match=message):
        type(core).from_state(state)


def test_evidence_of_categories_that_a_column_does_not_have_is_refused(tmp_path: Path) -> None:
    forest = grown("regression", HOLED).grow_for(ROWS)
    core = forest._model.core
    state = core.state(with_rows=True)
    keys = state["trees"]["evidence_key"]
    state["trees"] = state["trees"] | {"evidence_key": np.where(np.isinf(keys), keys, keys + 50)}
    forest._fitted.model.core = type(core).from_state(state)
    forest.save(tmp_path / "model.tritree")
    with pytest.raises(tritree.ModelFileError, match="evidence does not match its column"):
        tritree.load(tmp_path / "model.tritree")


def test_rows_without_weight_are_no_evidence() -> None:
    X, y = correlated(300, missing=0)
    weight = np.repeat([1.0, 0.0], 150)
    parameters: dict[str, Any] = {"n_estimators": 1, "max_depth": 1, "bootstrap": False, "random_state": 0}
    forest = TrinaryForestRegressor(**parameters).fit(X, y, weight).grow_all()
    [tree] = forest.to_dict()["trees"]
    assert max(evidence["rows"] for evidence in tree["nodes"][0]["split"]["evidence"]) <= 150
