"""Fractional boosting: a row goes both ways where its value is missing, and predictions are averaged."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE, boosted, sums
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.traversal import ends as ends_of

from tritree import TrinaryBoostingRegressor, TrinaryTreeRegressor
from tritree.validation import REGRESSION_LOSSES

random = np.random.default_rng(7)
X = random.integers(0, 25, size=(700, 5)).astype(float)
Y = X[:, 0] / 5 - (X[:, 1] > 12) * X[:, 2] / 10 + random.normal(size=len(X))
WITH_MISSING = np.where(random.random(X.shape) < 0.25, np.nan, X)


def both(table: Any, y: Any, weight: Any = None, **parameters: Any) -> list[Any]:
    """Return models that differ in their strategy alone."""
    parameters = {"max_iter": 15, "random_state": 0} | parameters
    return [
        TrinaryBoostingRegressor(missing=missing, **parameters).fit(table, y, weight)
        for missing in ("fractional", "majority")
    ]


# --------------------------------------------------------------------------------------- beside what is known


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_complete_rows_are_learned_as_by_majority_to_the_last_bit(loss: str, weighted: bool) -> None:
    y = np.exp(Y / 3) if loss in ("poisson", "gamma") else Y
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    fractional, majority = both(X, y, weight, loss=loss)
    np.testing.assert_array_equal(fractional.predict(X), majority.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"subsample": 0.6},
        {"max_features": 0.4},
        {"max_leaf_nodes": 7, "max_depth": None},
        {"monotonic_cst": [1, -1, 0, 0, 1]},
        {"l2_regularization": 3.0, "min_samples_leaf": 1},
        {"early_stopping": True, "max_iter": 40, "n_iter_no_change": 3},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_every_parameter_means_the_same_on_complete_rows(parameters: dict[str, Any]) -> None:
    fractional, majority = both(X, Y, **parameters)
    assert fractional.n_iter_ == majority.n_iter_
    np.testing.assert_array_equal(fractional.predict(X), majority.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_complete_tables_with_categories_are_learned_as_by_majority(kind: str) -> None:
    found, expected = (sums(boosted(kind, missing=missing), TABLE) for missing in ("fractional", "majority"))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leaf", [1, 20, 60])
def test_first_tree_is_the_single_tree_of_the_strategy(leaf: int, weighted: bool) -> None:
    weight = np.random.default_rng(1).integers(1, 5, size=len(Y)) / 2 if weighted else None
    how = {"missing": "fractional", "max_depth": 4, "min_samples_leaf": leaf}
    plain = {"learning_rate": 1.0, "l2_regularization": 0.0, "split_penalty": 0.0, "max_features": 1.0}
    first = TrinaryBoostingRegressor(max_iter=1, **plain, **how).fit(WITH_MISSING, Y, weight)
    tree = TrinaryTreeRegressor(**how).fit(WITH_MISSING, Y, weight)
    nodes = first.estimators_.flat[0].to_dict()["nodes"]
    assert len(nodes) == tree.n_nodes_ > 5
    # derivatives have 30 bits
    np.testing.assert_allclose(first.predict(WITH_MISSING), tree.predict(WITH_MISSING), atol=1e-7)
    np.testing.assert_array_equal(sorted(node["rows"] for node in nodes), sorted(tree.tree_.rows))


# ------------------------------------------------------------------------------------------- what a row gets


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("kind", KINDS)
def test_prediction_is_the_weighted_mean_of_leaves(kind: str, training: Any) -> None:
    model = boosted(kind, training, missing="fractional")
    found = sums(model, ROWS)
    expected = np.tile(model._model.core.baseline, (len(ROWS), 1))
    cells = model._read_cells(ROWS).cells
    for number in range(model.n_trees_):
        nodes = model.estimators_.flat[number].to_dict()["nodes"]
        for row, of_row in enumerate(cells):
            ends = ends_of(nodes, of_row)
            step = sum(part * nodes[end]["value"][0] for end, part in ends.items())
            expected[row, number % expected.shape[1]] += step
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_fractions_are_those_of_observed_rows() -> None:
    x = np.arange(40.0)
    with_missing = np.append(x, [np.nan] * 10)
    y = np.append(np.where(x < 30, 0.0, 8.0), [3.0] * 10)
    model = TrinaryBoostingRegressor(
        missing="fractional",
        max_iter=1,
        learning_rate=1.0,
        max_depth=1,
        min_samples_leaf=2,
        l2_regularization=0.0,
    ).fit(with_missing[:, None], y)
    root, left, right = model.estimators_.flat[0].to_dict()["nodes"]
    assert root["split"]["left_fraction"] == 0.75
    assert root["split"]["missing_to"] == "both"
    assert [left["rows"], right["rows"]] == [40, 20]
    assert [left["weight"], right["weight"]] == [37.5, 12.5]
    low, high = (30 * 0 + 7.5 * 3) / 37.5, (10 * 8 + 2.5 * 3) / 12.5
    np.testing.assert_allclose(
        model.predict([[0.0], [39.0], [np.nan]]), [low, high, 0.75 * low + 0.25 * high]
    )


def test_sum_of_parts_must_reach_the_fewest_rows_of_a_leaf() -> None:
    model = TrinaryBoostingRegressor(missing="fractional", min_samples_leaf=50, max_iter=5).fit(
        WITH_MISSING, Y
    )
    nodes = [node for number in range(5) for node in model.estimators_.flat[number].to_dict()["nodes"]]
    assert min(node["weight"] for node in nodes) >= 50 - 1e-9
    assert min(node["rows"] for node in nodes) > 50
    for number in range(5):
        own = model.estimators_.flat[number].to_dict()["nodes"]
        assert sum(node["weight"] for node in own if node["split"] is None) == pytest.approx(len(Y))


def test_training_rows_step_by_what_is_predicted_of_them() -> None:
    parameters = {"missing": "fractional", "learning_rate": 0.5, "random_state": 0}
    whole = TrinaryBoostingRegressor(max_iter=8, **parameters).fit(WITH_MISSING, Y)
    parts = TrinaryBoostingRegressor(max_iter=3, warm_start=True, **parameters).fit(WITH_MISSING, Y)
    parts.set_params(max_iter=8).fit(WITH_MISSING, Y)  # goes on from what it predicts
    np.testing.assert_array_equal(parts.predict(WITH_MISSING), whole.predict(WITH_MISSING))


def test_unknown_category_goes_both_ways() -> None:
    model = boosted("regression", missing="fractional")
    unknown, nothing = (TABLE.head(30).assign(city=city) for city in ("Nowhere", None))
    np.testing.assert_array_equal(model.predict(unknown), model.predict(nothing))


def test_row_without_any_value_is_predicted_about_the_mean() -> None:
    model = TrinaryBoostingRegressor(missing="fractional", max_iter=40).fit(X, Y)
    assert model.predict(np.full((1, 5), np.nan))[0] == pytest.approx(Y.mean(), abs=0.1)


@pytest.mark.parametrize("direction", [1, -1])
def test_monotonic_constraints_hold_with_missing_values_elsewhere(direction: int) -> None:
    generator = np.random.default_rng(0)
    table = generator.normal(size=(600, 4))
    y = direction * table[:, 0] + np.sin(4 * table[:, 0]) + table[:, 1] * table[:, 2]
    with_missing = np.where(generator.random(table.shape) < 0.2, np.nan, table)
    model = TrinaryBoostingRegressor(missing="fractional", monotonic_cst=[direction, 0, 0, 0], max_iter=40)
    model.fit(with_missing, y + generator.normal(size=600))
    for row in np.where(generator.random((40, 4)) < 0.5, np.nan, generator.normal(size=(40, 4))):
        path = np.tile(row, (40, 1))
        path[:, 0] = np.linspace(-3, 3, 40)
        assert (direction * np.diff(model.predict(path)) >= -1e-12).all()


# ------------------------------------------------------------------------------------------- what must not matter


@given(
    seed=st.integers(0, 1000),
    missing_fraction=st.sampled_from([0.1, 0.5, 0.95]),
    loss=st.sampled_from(REGRESSION_LOSSES),
    leaf=st.sampled_from([1, 7]),
    max_depth=st.sampled_from([1, 4, None]),
)
@settings(max_examples=25, deadline=None)
def test_threads_and_the_order_of_rows_change_nothing(
    seed: int, missing_fraction: float, loss: str, leaf: int, max_depth: int | None
) -> None:
    generator = np.random.default_rng(seed)
    table = generator.integers(0, 9, size=(150, 4)).astype(float)
    table[generator.random(table.shape) < missing_fraction] = np.nan
    y = np.exp(generator.normal(size=150))
    how = {"missing": "fractional", "loss": loss, "min_samples_leaf": leaf, "max_depth": max_depth}
    how |= {"max_iter": 4, "random_state": 0, "max_leaf_nodes": 12}
    one = TrinaryBoostingRegressor(n_jobs=1, **how).fit(table, y)
    two = TrinaryBoostingRegressor(n_jobs=2, **how).fit(table, y)
    order = generator.permutation(150)
    expected = one.predict(table)
    np.testing.assert_array_equal(two.predict(table[order]), expected[order])
    np.testing.assert_array_equal([two.predict(row[None])[0] for row in table[:10]], expected[:10])
    assert np.isfinite(expected).all()


def test_many_rows_are_counted_alike_by_one_thread_and_by_two() -> None:
    generator = np.random.default_rng(0)
    table = generator.normal(size=(30_000, 3))
    table[generator.random(table.shape) < 0.2] = np.nan
    y = np.nan_to_num(table[:, 0]) + generator.normal(size=len(table))
    models = [
        TrinaryBoostingRegressor(missing="fractional", max_iter=3, random_state=0, n_jobs=n).fit(table, y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].predict(table), models[1].predict(table))


def test_nothing_grows_and_no_ungrown_branch_is_hit() -> None:
    model = boosted("regression", HOLED, missing="fractional")
    expected = model.predict(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.grow_for(ROWS).detach().predict(ROWS), expected)
    assert (model.n_grown_, model.n_ungrown_hits_) == (0, 0)


def test_staged_predictions_end_at_the_prediction() -> None:
    model = boosted("regression", HOLED, missing="fractional")
    stages = list(model.staged_predict(ROWS))
    np.testing.assert_array_equal(stages[-1], model.predict(ROWS))


# -------------------------------------------------------------------------------------------------- in words


def test_text_shows_rows_and_weights() -> None:
    text = boosted("regression", HOLED, missing="fractional").estimators_[0, 0].to_text()
    assert text.startswith("tree 0 of 12, fractional boosting")
    assert "a row whose value is missing counts on both sides in rows, and by its fractions in weight" in text
    assert "third" not in text


def test_missing_column_is_explained_by_both_ways() -> None:
    x = np.arange(100.0)[:, None]
    model = TrinaryBoostingRegressor(missing="fractional", max_depth=1).fit(x, x[:, 0] >= 35)
    [why] = model.explain([[np.nan]])
    assert why.contributions == pytest.approx({"x0": 0.0}, abs=1e-12)  # left and right outweigh each other
    assert why.n_trees_used == {"x0": 100}
    assert "x0 is missing" in str(why)
