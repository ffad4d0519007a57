"""scikit-learn's own checks hold for both estimators under every strategy."""

from __future__ import annotations

from models import STRATEGIES
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

# the checks' tables are small, so only trees with small leaves have splits in most of them
ESTIMATORS = [
    estimator(missing=missing, min_samples_leaf=rows)
    for estimator in (TrinaryTreeRegressor, TrinaryTreeClassifier)
    for missing in STRATEGIES
    for rows in (1, 20)
]


def expected_failures(estimator):
    """What cannot hold, each with its reason."""
    if estimator.min_samples_leaf > 1:
        return {}
    unbounded = "leaves may weigh nearly nothing, where the check expects a bound"
    return ({"check_class_weight_classifiers": unbounded} if is_classifier(estimator) else {}) | {
        "check_sample_weight_equivalence_on_dense_data": (
            "rows are counted, weights are not: a row of weight 0 still has a say in where a threshold lies "
            "and whether a leaf is large enough, and one of weight 2 is one row"
        ),
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
