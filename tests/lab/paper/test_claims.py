"""What the paper claims of the Trinary tree: its Figure 1, and the biases of its Section 3."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from models import Floats, estimator

# ---------------------------------------------------------------------------------------------------- Figure 1


@pytest.fixture(scope="module")
def figure_1() -> Any:
    """A trinary tree of depth 1 on two columns, the second of them the better one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0) + 3.0 * (X[:, 1] > 0) + rng.normal(scale=0.1, size=200)
    return estimator("regression", missing="trinary", max_depth=1).fit(X, y).grow_all()


def test_tree_of_figure_1_has_five_leaves(figure_1: Any) -> None:
    assert (figure_1.tree_.column == -1).sum() == 5


def test_tree_of_figure_1_has_two_splits(figure_1: Any) -> None:
    assert figure_1.n_nodes_ == 7


def test_tree_of_figure_1_splits_on_the_best_column_and_then_on_the_other(figure_1: Any) -> None:
    tree = figure_1.tree_
    assert [tree.column[0], tree.column[tree.third[0]]] == [1, 0]


def test_third_branches_of_figure_1_are_at_depth_0(figure_1: Any) -> None:
    tree = figure_1.tree_
    third = tree.third[0]
    assert [tree.depth[third], tree.depth[tree.third[third]]] == [0, 0]


def test_left_and_right_leaves_of_figure_1_are_at_depth_1(figure_1: Any) -> None:
    tree = figure_1.tree_
    third = tree.third[0]
    leaves = [tree.left[0], tree.right[0], tree.left[third], tree.right[third]]
    assert tree.depth[leaves].tolist() == [1, 1, 1, 1]


def test_last_third_branch_of_figure_1_is_a_leaf_with_the_root_value(figure_1: Any) -> None:
    tree = figure_1.tree_
    last = tree.third[tree.third[0]]
    assert tree.column[last] == -1
    assert tree.value[last].tobytes() == tree.value[0].tobytes()


# --------------------------------------------------------------------------------------------------- Section 3
#
# E[Y | X] is A on the left and B on the right, P(right) = P, and X is missing with probability Q, whatever X and Y
# are. With n rows, about n(1-P)(1-Q) are observed on the left and nQ are missing, of which a share P belongs right:
#
#   majority, mia   missing joins the left, the larger side (and the better one for these numbers), whose mean is
#                       A + (B - A) P Q / ((1-P)(1-Q) + Q)  =  A + (B - A) P Q / (1 - P + P Q)
#   fractional      a share 1-P of every missing row joins the left, whose weight is n(1-P)(1-Q) + n(1-P)Q = n(1-P):
#                       A + (B - A) P Q,      and on the right      B - (B - A) (1-P) Q
#   trinary         only observed rows count: A and B.
#
# These are ratios of expectations. The expected ratio differs from them by a term of the order of 1/n (the paper's
# inequality for it appeals to a function that is not concave, and its two cases of the majority estimate are
# swapped), so the simulated mean is compared with the amount up to four standard errors and (B - A)/n.

A, B, P, Q = 1.0, 2.0, 0.3, 0.4
N_ROWS, N_TABLES = 400, 200


@cache
def estimates(missing: str) -> Floats:
    """Return the estimates of A and B from many tables: one row per table."""
    found = []
    for seed in range(N_TABLES):
        rng = np.random.default_rng(seed)
        right = rng.random(N_ROWS) < P
        y = np.where(right, B, A) + rng.normal(scale=0.2, size=N_ROWS)
        x = np.where(rng.random(N_ROWS) < Q, np.nan, right.astype(float))
        tree = estimator(
            "regression", missing=missing, max_depth=1, min_samples_leaf=1, split_on_missing=False, n_jobs=1
        )
        found.append(tree.fit(x[:, None], y).predict([[0.0], [1.0]]))
    return np.array(found)


def assert_mean_is(sample: Floats, expected: float) -> None:
    standard_error = sample.std(ddof=1) / np.sqrt(len(sample))
    assert abs(sample.mean() - expected) <= 4 * standard_error + (B - A) / N_ROWS


def test_trinary_estimate_of_a_is_unbiased() -> None:
    assert_mean_is(estimates("trinary")[:, 0], A)


def test_trinary_estimate_of_b_is_unbiased() -> None:
    assert_mean_is(estimates("trinary")[:, 1], B)


@pytest.mark.parametrize("missing", ["majority", "mia"])
def test_estimate_of_a_is_biased_by_the_missing_rows_that_join_it(missing: str) -> None:
    assert_mean_is(estimates(missing)[:, 0], A + (B - A) * P * Q / (1 - P + P * Q))


def test_fractional_estimate_of_a_is_biased_by_pq() -> None:
    assert_mean_is(estimates("fractional")[:, 0], A + (B - A) * P * Q)


def test_fractional_estimate_of_b_is_biased_downwards() -> None:
    assert_mean_is(estimates("fractional")[:, 1], B - (B - A) * (1 - P) * Q)


@pytest.mark.parametrize("missing", ["majority", "mia", "fractional"])
def test_bias_of_a_is_significant(missing: str) -> None:
    sample = estimates(missing)[:, 0]
    assert sample.mean() - A > 20 * sample.std(ddof=1) / np.sqrt(len(sample))
