"""The core predicts as the reference implementation on all kinds of small tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from models import STRATEGIES, as_array, estimator, predictions
from properties.strategies import Problem, many_categories, problems
from reference.tree import ReferenceTree, principal_components


def assert_core_agrees(problem: Problem, task: str, criterion: str | None, **parameters: Any) -> None:
    """Grow both trees and compare their predictions for the rows of the problem."""
    shared = parameters | {"max_depth": problem.max_depth, "min_samples_leaf": problem.min_samples_leaf}
    chosen = {} if criterion is None else {"criterion": criterion}
    reference = ReferenceTree(task=task, criterion=criterion, categorical=problem.categorical, **shared)
    reference.fit(problem.X, problem.y, problem.weight)
    core = estimator(task, categorical_features=problem.categorical, **chosen, **shared)
    core.fit(as_array(problem.X), np.array(problem.y), sample_weight=problem.weight)
    # floats of this magnitude have no more precision
    atol = 1e-9 + 1e-14 * max(abs(float(v)) for v in problem.y)
    np.testing.assert_allclose(
        predictions(core, as_array(problem.X_test)), reference.predict(problem.X_test), rtol=0, atol=atol
    )


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("regression"))
def test_regression_tree_predicts_as_the_reference(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "regression", None, missing=missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("classification"))
def test_entropy_tree_predicts_as_the_reference(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "classification", "entropy", missing=missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("classification"))
def test_gini_tree_predicts_as_the_reference(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "classification", "gini", missing=missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize(("task", "criterion"), [("regression", None), ("classification", "entropy")])
@given(data=st.data(), category_penalty=st.sampled_from([0.25, 1.0, 3.0]))
def test_tree_with_a_penalty_on_categories_predicts_as_the_reference(
    missing: str, task: str, criterion: str | None, data: st.DataObject, category_penalty: float
) -> None:
    problem = data.draw(problems(task))
    assert_core_agrees(problem, task, criterion, missing=missing, category_penalty=category_penalty)


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
@given(problem=problems("regression"))
def test_tree_without_missing_against_observed_predicts_as_the_reference(
    missing: str, problem: Problem
) -> None:
    assert_core_agrees(problem, "regression", None, missing=missing, split_on_missing=False)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("regression"), max_leaf_nodes=st.integers(2, 6))
def test_regression_tree_with_few_leaves_predicts_as_the_reference(
    missing: str, problem: Problem, max_leaf_nodes: int
) -> None:
    assert_core_agrees(problem, "regression", None, missing=missing, max_leaf_nodes=max_leaf_nodes)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("classification"), max_leaf_nodes=st.integers(2, 6))
def test_classification_tree_with_few_leaves_predicts_as_the_reference(
    missing: str, problem: Problem, max_leaf_nodes: int
) -> None:
    assert_core_agrees(problem, "classification", "entropy", missing=missing, max_leaf_nodes=max_leaf_nodes)


@pytest.mark.parametrize("max_surrogates", [0, 1])
@given(problem=problems("regression"))
def test_tree_with_few_surrogates_predicts_as_the_reference(max_surrogates: int, problem: Problem) -> None:
    assert_core_agrees(problem, "regression", None, missing="surrogate", max_surrogates=max_surrogates)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@given(seed=st.integers(0, 2**32 - 1))
def test_tree_on_many_categories_of_three_classes_predicts_as_the_reference(
    criterion: str, missing: str, seed: int
) -> None:
    problem = many_categories(seed)
    assume(has_clear_component(problem))
    assert_core_agrees(problem, "classification", criterion, missing=missing)


def has_clear_component(problem: Problem) -> bool:
    """Return whether the first principal component of the categories of column 0 is clearly separated."""
    counts: dict[Any, Any] = {}
    weights = problem.weight or [1.0] * len(problem.y)
    for row, y, weight in zip(problem.X, problem.y, weights, strict=True):
        if row[0] is not None:
            counts.setdefault(row[0], np.zeros(3))[y] += weight
    totals = [count.sum() for count in counts.values()]
    probabilities = [(count / count.sum()).tolist() for count in counts.values()]
    _, spread, _ = principal_components(probabilities, totals)
    return bool(spread[-1] > 1.05 * spread[-2])
