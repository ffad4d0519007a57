"""The core predicts as the reference implementation on all kinds of small tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from models import STRATEGIES, as_array, estimator, predictions
from properties.strategies import UNKNOWN, Problem, many_categories, problems, simulated_problem
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


#: Rows of a category (or None): the category, their targets and their weight. "Missing against observed" is better than
#: every split in the order of mean targets. Category 1, in the middle of this order, has no weight, or next to none: it
#: may join the missing rows for the same gain, and such a partition precedes missing against observed.
TIED_WITH_MISSING_VS_OBSERVED = {
    "regression": [(None, [-1.0], 1.0), (0, [0.5], 1.0), (2, [1.0] * 4, 1.0)],
    "classification": [(None, [0] * 3, 1.0), (0, [0, 1, 1, 1], 1.0), (2, [1] * 12, 1.0)],
}


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize(
    ("task", "criterion"), [("regression", None), ("classification", "entropy"), ("classification", "gini")]
)
@pytest.mark.parametrize("weight_of_one", [0.0, 2.0**-50, 0.25])
def test_category_without_weight_joins_missing_rows_as_in_the_reference(
    missing: str, task: str, criterion: str | None, weight_of_one: float
) -> None:
    groups = [*TIED_WITH_MISSING_VS_OBSERVED[task], (1, [1], weight_of_one)]
    problem = Problem(
        X=[[category] for category, targets, _ in groups for _ in targets],
        y=[y for _, targets, _ in groups for y in targets],
        weight=[weight for _, targets, weight in groups for _ in targets],
        categorical=[0],
        X_test=[[None], [0], [1], [2], [UNKNOWN]],
        max_depth=1,
        min_samples_leaf=1,
    )
    assert_core_agrees(problem, task, criterion, missing=missing)


def test_tie_of_missing_vs_observed_in_a_third_branch_is_broken_as_in_the_reference() -> None:
    assert_core_agrees(simulated_problem("regression", 189029), "regression", None, missing="trinary_mia")


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
