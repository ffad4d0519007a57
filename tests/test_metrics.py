"""The metrics agree with scikit-learn's, and are defined where scikit-learn's raise an error."""

import numpy as np
import pytest
from sklearn import metrics as sk

from tritree.metrics import (
    METRICS,
    Predictions,
    classification_metrics,
    evaluate_constant,
    expected_calibration_error,
    regression_metrics,
)


def _probabilities(rng, n, k):
    return rng.dirichlet(np.ones(k), n)


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_metrics_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, 50))
    weight = rng.random(50) if weighted else None
    found = regression_metrics(y, predicted, weight)
    assert list(found) == list(METRICS["regression"])
    assert found["r2"] == pytest.approx(sk.r2_score(y, predicted, sample_weight=weight))
    assert found["rmse"] == pytest.approx(sk.mean_squared_error(y, predicted, sample_weight=weight) ** 0.5)
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(y, predicted, sample_weight=weight))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_metrics_are_those_of_scikit_learn(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    classes = np.array(["a", "b", "c"])[:n_classes]
    y, probabilities = classes[rng.integers(n_classes, size=60)], _probabilities(rng, 60, n_classes)
    weight = rng.random(60) if weighted else None
    found = classification_metrics(y, probabilities, classes, weight)
    assert list(found) == list(METRICS["classification"])
    assert found["log_loss"] == pytest.approx(
        sk.log_loss(y, probabilities, labels=classes, sample_weight=weight)
    )
    labels = classes[probabilities.argmax(axis=1)]
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, labels, sample_weight=weight))
    if n_classes == 2:
        is_second = y == classes[1]
        second = probabilities[:, 1]
        assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(is_second, second, sample_weight=weight))
        assert found["brier_score"] == pytest.approx(
            sk.brier_score_loss(is_second, second, sample_weight=weight)
        )
    else:
        # scikit-learn has no weights for one class against the others in older releases
        per_class = [
            sk.roc_auc_score(y == label, probabilities[:, k], sample_weight=weight)
            for k, label in enumerate(classes)
        ]
        assert found["roc_auc"] == pytest.approx(np.mean(per_class))
        one_hot = (y[:, None] == classes).astype(float)
        squares = np.square(probabilities - one_hot).sum(axis=1)
        assert found["brier_score"] == pytest.approx(np.average(squares, weights=weight))


def test_metrics_that_are_not_defined_are_none():
    assert regression_metrics(np.ones(3), np.zeros(3))["r2"] is None
    one_class = classification_metrics(np.array(["a", "a"]), np.full((2, 2), 0.5), ["a", "b"])
    assert one_class["roc_auc"] is None
    assert one_class["log_loss"] == pytest.approx(np.log(2))


@pytest.mark.parametrize("value", [0.1, 1e200])
def test_r2_of_a_constant_target_is_not_defined(value):
    y = np.full(10, value)  # whose mean may be rounded
    assert regression_metrics(y, y)["r2"] is None
    assert regression_metrics(y, y + 1)["r2"] is None
    y[0], weight = 3.0, np.ones(10)
    weight[0] = 0
    assert regression_metrics(y, y, weight)["r2"] is None
    weight[0] = 1
    assert regression_metrics(y, y, weight)["r2"] == 1


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_metrics_of_regression_scale_with_the_target(unit):
    rng = np.random.default_rng(1)
    y, predicted = rng.normal(size=(2, 50))
    expected, found = regression_metrics(y, predicted), regression_metrics(y * unit, predicted * unit)
    assert found["r2"] == pytest.approx(expected["r2"])
    assert found["rmse"] / unit == pytest.approx(expected["rmse"])
    assert found["mae"] / unit == pytest.approx(expected["mae"])


def test_class_not_seen_in_training_has_probability_zero():
    found = classification_metrics(np.array(["c"]), np.array([[0.5, 0.5]]), ["a", "b"])
    assert found["accuracy"] == 0
    assert found["log_loss"] == pytest.approx(-np.log(1e-15))
    assert found["brier_score"] == pytest.approx((0.25 + 0.25 + 1) / 2)


def test_constant_predicts_the_mean_and_the_class_fractions_of_training():
    found = evaluate_constant(np.array([0.0, 4.0]), np.array([1.0, 5.0]), "regression", train_weight=[3, 1])
    assert found["mae"] == pytest.approx(2)  # the mean is 1
    train, y = np.array(["a", "a", "b", "b"]), np.array(["a", "b"])
    found = evaluate_constant(train, y, "classification", train_weight=np.array([1.0, 2.0, 0.5, 0.5]))
    assert found["log_loss"] == pytest.approx(-np.mean(np.log([0.75, 0.25])))
    assert found["roc_auc"] == 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_expected_calibration_error_is_the_mean_gap_of_the_bins_of_the_top_class(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    classes = np.array(["a", "b", "c"])[:n_classes]
    y, probabilities = classes[rng.integers(n_classes, size=80)], _probabilities(rng, 80, n_classes)
    weight = rng.random(80) if weighted else np.ones(80)
    bins = {}
    for label, row, w in zip(y, probabilities, weight, strict=True):
        number = sum(row.max() > edge for edge in np.arange(1, 10) / 10)
        bins.setdefault(number, []).append((w, row.max(), label == classes[row.argmax()]))
    expected = 0.0
    for members in bins.values():
        w, confidence, is_right = np.array(members, dtype=float).T
        expected += w.sum() * abs(np.average(confidence, weights=w) - np.average(is_right, weights=w))
    found = expected_calibration_error(y, probabilities, classes, weight if weighted else None)
    assert found == pytest.approx(expected / weight.sum())


def test_expected_calibration_error_of_sure_predictions_is_their_error_rate():
    y, classes = np.array([0, 0, 1, 1]), np.array([0, 1])
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert expected_calibration_error(y, sure, classes) == pytest.approx(0.25)
    assert expected_calibration_error(y, np.full((4, 2), 0.5), classes) == 0.0
    assert expected_calibration_error(np.array([2, 2]), sure[:2], classes) == 1.0  # a class that it never saw
    assert Predictions(np.ones(4)).calibration_error(y) is None
