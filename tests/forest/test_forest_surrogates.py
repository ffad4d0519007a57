"""Surrogates of forests: found on a sample of the rows of a node, and ranked by how often they are right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from models import as_array
from properties.strategies import Problem, irregular_problems
from reference.boosted_tree import splitmix64
from reference.tree import ReferenceTree

from tritree import TrinaryForestClassifier, TrinaryForestRegressor

#: Rows that surrogates are found on.
SAMPLE = 256


def forest_of_one_tree(task: str, **parameters: Any) -> Any:
    estimator = TrinaryForestRegressor if task == "regression" else TrinaryForestClassifier
    return estimator(
        n_estimators=1,
        bootstrap=False,
        max_features=1.0,
        category_penalty=0.0,
        max_bins=None,
        missing="surrogate",
        random_state=0,
        **parameters,
    )


def assert_forest_agrees(problem: Problem, task: str, **parameters: Any) -> None:
    """Grow both trees and compare their predictions for the rows of the problem."""
    reference = ReferenceTree(
        missing="surrogate",
        task=task,
        categorical=problem.categorical,
        forest_surrogates=True,
        max_depth=problem.max_depth,
        min_samples_leaf=problem.min_samples_leaf,
        **parameters,
    ).fit(problem.X, problem.y, problem.weight)
    forest = forest_of_one_tree(
        task,
        categorical_features=problem.categorical,
        max_depth=problem.max_depth,
        min_samples_leaf=problem.min_samples_leaf,
        **parameters,
    ).fit(as_array(problem.X), np.array(problem.y), problem.weight)
    rows = as_array(problem.X_test)
    found = forest.predict(rows) if task == "regression" else forest.predict_proba(rows)
    atol = 1e-9 + 1e-14 * max(abs(float(v)) for v in problem.y)
    np.testing.assert_allclose(found, reference.predict(problem.X_test), rtol=0, atol=atol)


@given(problem=irregular_problems("regression", max_rows=60))
def test_regression_forest_predicts_as_the_reference(problem: Problem) -> None:
    assert_forest_agrees(problem, "regression")


@given(problem=irregular_problems("classification", max_rows=60))
def test_classification_forest_predicts_as_the_reference(problem: Problem) -> None:
    assert_forest_agrees(problem, "classification")


@given(problem=irregular_problems("regression", max_rows=60))
def test_forest_with_one_surrogate_per_split_predicts_as_the_reference(problem: Problem) -> None:
    assert_forest_agrees(problem, "regression", max_surrogates=1)


def sample_of_root(rows: list[int]) -> list[int]:
    """Return the rows that the surrogates of the root are found on: one drawn from each of equal parts."""
    seed = int(np.random.RandomState(0).randint(1, 2**31 - 1, size=1)[0])
    draw = splitmix64(seed, 2**64 - 1)
    bounds = [part * len(rows) // SAMPLE for part in range(SAMPLE + 1)]
    return [rows[low + splitmix64(draw, i) % (high - low)] for i, (low, high) in enumerate(pairwise(bounds))]


def test_surrogates_of_a_large_node_are_found_on_a_sample_of_its_rows() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(700, 1))
    X = (common + rng.normal(size=(700, 4))).round(2)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = common[:, 0].round(2)
    forest = forest_of_one_tree("regression", max_depth=1).fit(X, y)
    Z = X.copy()
    Z[:, forest.estimators_[0].tree_.column[0]] = np.nan
    parameters: dict[str, Any] = {
        "missing": "surrogate",
        "max_depth": 1,
        "min_samples_leaf": 3,
        "forest_surrogates": True,
    }
    reference = ReferenceTree(sample=sample_of_root, **parameters).fit(X.tolist(), y)
    np.testing.assert_allclose(forest.predict(Z), reference.predict(Z.tolist()), rtol=0, atol=1e-9)
    others = ReferenceTree(**parameters).fit(X.tolist(), y)
    assert not np.allclose(forest.predict(Z), others.predict(Z.tolist()))


def test_column_that_is_rarely_observed_may_be_the_best_surrogate() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    same = np.where(np.arange(200) % 4 == 0, x, np.nan)
    X = np.column_stack([x, x + rng.normal(size=200), same])
    tree = forest_of_one_tree("regression", max_depth=1).fit(X, x > 0).estimators_[0]
    split = tree.to_dict()["nodes"][0]["split"]
    assert split["column"] == 0
    assert [other["column"] for other in split["surrogates"]] == [2, 1]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_threads_change_no_bit(task: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=1_000)
    y = y if task == "regression" else y > 0
    estimator = TrinaryForestRegressor if task == "regression" else TrinaryForestClassifier
    one, two = (
        estimator(n_estimators=5, missing="surrogate", random_state=0, n_jobs=n).fit(X, y) for n in (1, 2)
    )
    predict = "predict" if task == "regression" else "predict_proba"
    np.testing.assert_array_equal(getattr(one, predict)(X), getattr(two, predict)(X))
