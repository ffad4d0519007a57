"""scikit-learn's own checks hold for boosting."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

ESTIMATORS = [
    estimator(missing=missing, min_samples_leaf=1, max_iter=5, learning_rate=0.5)
    for estimator in (TrinaryBoostingRegressor, TrinaryBoostingClassifier)
    for missing in ("trinary_mia", "majority", "fractional")
]

FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "rows are counted, weights are not: a row of weight 0 still has a say in where bins end and whether a leaf is "
        "large enough, and one of weight 2 is one row"
    ),
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: FAILURES)
def test_scikit_learn_check(estimator, check):
    check(estimator)
