"""The core predicts what the slow twin predicts, on every kind of small table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from models import STRATEGIES, answers, as_array, estimator
from properties.strategies import Problem, many_categories, problems
from reference.tree import Twin, principal_components


def assert_core_agrees(problem: Problem, task: str, criterion: str | None, **settings: Any) -> None:
    """Grow both trees and compare their answers to the rows of the problem."""
    shared = settings | {"max_depth": problem.max_depth, "min_samples_leaf": problem.min_samples_leaf}
    chosen = {} if criterion is None else {"criterion": criterion}
    twin = Twin(task=task, criterion=criterion, categorical=problem.categorical, **shared)
    twin.fit(problem.X, problem.y, problem.weight)
    core = estimator(task, categorical_features=problem.categorical, **chosen, **shared)
    core.fit(as_array(problem.X), np.array(problem.y), sample_weight=problem.weight)
    # A float of this size is no closer to what it stands for, whatever is done with it.
    atol = 1e-9 + 1e-14 * max(abs(float(v)) for v in problem.y)
    np.testing.assert_allclose(
        answers(core, as_array(problem.X_test)), twin.predict(problem.X_test), rtol=0, atol=atol
    )


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("regression"))
def test_regression_tree_predicts_what_the_twin_predicts(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "regression", None, missing=missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("classification"))
def test_entropy_tree_predicts_what_the_twin_predicts(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "classification", "entropy", missing=missing)


@pytest.mark.parametrize("missing", STRATEGIES)
@given(problem=problems("classification"))
def test_gini_tree_predicts_what_the_twin_predicts(missing: str, problem: Problem) -> None:
    assert_core_agrees(problem, "classification", "gini", missing=missing)


@pytest.mark.parametrize("missing", ["mia", "trinary_mia"])
@given(problem=problems("regression"))
def test_tree_without_missing_against_observed_predicts_what_the_twin_predicts(
    missing: str, problem: Problem
) -> None:
    assert_core_agrees(problem, "regression", None, missing=missing, split_on_missing=False)


@pytest.mark.parametrize("max_surrogates", [0, 1])
@given(problem=problems("regression"))
def test_tree_with_few_surrogates_predicts_what_the_twin_predicts(
    max_surrogates: int, problem: Problem
) -> None:
    assert_core_agrees(problem, "regression", None, missing="surrogate", max_surrogates=max_surrogates)


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@given(seed=st.integers(0, 2**32 - 1))
def test_tree_on_many_categories_of_three_classes_predicts_what_the_twin_predicts(
    criterion: str, missing: str, seed: int
) -> None:
    problem = many_categories(seed)
    assume(has_clear_component(problem))
    assert_core_agrees(problem, "classification", criterion, missing=missing)


def has_clear_component(problem: Problem) -> bool:
    """Return whether the categories of column 0 spread along one direction clearly more than along the next."""
    counts: dict[Any, Any] = {}
    weights = problem.weight or [1.0] * len(problem.y)
    for row, y, weight in zip(problem.X, problem.y, weights, strict=True):
        if row[0] is not None:
            counts.setdefault(row[0], np.zeros(3))[y] += weight
    totals = [count.sum() for count in counts.values()]
    shares = [(count / count.sum()).tolist() for count in counts.values()]
    _, spread, _ = principal_components(shares, totals)
    return bool(spread[-1] > 1.05 * spread[-2])
