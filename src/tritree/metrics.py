"""The metrics that models are judged by, with sample weights, and those of a constant prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The metrics of each task by their keys, with the names that readers see.
METRICS = {
    "regression": {"r2": "R²", "rmse": "RMSE", "mae": "MAE"},
    "classification": {
        "log_loss": "log loss",
        "roc_auc": "AUC",
        "accuracy": "accuracy",
        "brier_score": "Brier score",
    },
}
#: The metrics of which more is better; of the others less is.
GREATER_IS_BETTER = frozenset({"r2", "roc_auc", "accuracy"})

_MIN_PROBABILITY = 1e-15  # lower probabilities are clipped in the log loss
_CALIBRATION_BINS = 10


def mean_loss(model: Any, X: Any, y: NDArray[Any], task: str, sample_weight: Any = None) -> float:
    """Return the mean squared error, or the mean cross-entropy, of a fitted estimator on a table."""
    return predictions(model, X, task).loss(y, sample_weight)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted numbers, or the probabilities of ``classes``, one column per class."""

    values: NDArray[np.float64]
    classes: Any = None

    def metrics(self, y: NDArray[Any], sample_weight: Any = None) -> dict[str, float | None]:
        """Return the metrics of the task."""
        if self.classes is None:
            return regression_metrics(y, self.values, sample_weight)
        return classification_metrics(y, self.values, self.classes, sample_weight)

    def loss(self, y: NDArray[Any], sample_weight: Any = None) -> float:
        """Return the mean squared error, or the mean cross-entropy."""
        if self.classes is None:
            return _mean_squared_error(y, self.values, sample_weight)
        return _log_loss(_is_class(y, self.classes), self.values, sample_weight)

    def calibration_error(self, y: NDArray[Any], sample_weight: Any = None) -> float | None:
        """Return the expected calibration error of probabilities; None for regression."""
        if self.classes is None:
            return None
        return expected_calibration_error(y, self.values, self.classes, sample_weight)


def predictions(model: Any, X: Any, task: str) -> Predictions:
    """Return what a fitted estimator predicts for a table."""
    if task == "regression":
        # some libraries predict a column vector, which would be broadcast against y
        return Predictions(np.asarray(model.predict(X), dtype=np.float64).reshape(-1))
    # some predict in single precision
    return Predictions(np.asarray(model.predict_proba(X), dtype=np.float64), model.classes_)


def evaluate_constant(
    y_train: NDArray[Any], y: NDArray[Any], task: str, *, train_weight: Any = None, sample_weight: Any = None
) -> dict[str, float | None]:
    """Return the metrics of the best constant prediction: the mean target or the class fractions in training."""
    if task == "regression":
        mean = np.average(y_train, weights=train_weight)
        return regression_metrics(y, np.full(len(y), mean), sample_weight)
    classes, codes = np.unique(y_train, return_inverse=True)
    fractions = np.bincount(codes, train_weight)
    probabilities = np.tile(fractions / fractions.sum(), (len(y), 1))
    return classification_metrics(y, probabilities, classes, sample_weight)


def regression_metrics(
    y: NDArray[Any], predicted: NDArray[Any], sample_weight: Any = None
) -> dict[str, float | None]:
    """Return R², the root mean squared error and the mean absolute error; R² is None if the target is constant."""
    y, weight = np.asarray(y, dtype=np.float64), sample_weight
    if weight is not None:
        counts = np.asarray(weight) > 0
        y, predicted, weight = y[counts], predicted[counts], np.asarray(weight)[counts]
    rmse = _root_mean_square(predicted - y, weight)
    deviation = _root_mean_square(y - np.average(y, weights=weight), weight)
    ratio = rmse / deviation if deviation else math.inf
    return {
        # the deviation of a constant may be above 0, since the mean is rounded
        "r2": None if y.min() == y.max() else 1 - ratio * ratio,
        "rmse": rmse,
        "mae": float(np.average(np.abs(predicted - y), weights=weight)),
    }


def _root_mean_square(values: NDArray[Any], sample_weight: Any) -> float:
    """Return the root of the mean square, also of numbers whose squares are beyond all floats."""
    largest = float(np.abs(values).max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.average(np.square(values / largest), weights=sample_weight)))


def _mean_squared_error(y: NDArray[Any], predicted: NDArray[Any], sample_weight: Any) -> float:
    return float(np.average(np.square(predicted - y), weights=sample_weight))


def classification_metrics(
    y: NDArray[Any], probabilities: NDArray[Any], classes: Any, sample_weight: Any = None
) -> dict[str, float | None]:
    """Return the log loss, AUC, accuracy and Brier score of probabilities, one column per class.

    With more than two classes, the AUC is the mean over the classes against the others, and the Brier score the sum
    over classes. The AUC is None if all rows are of one class. A class that is not among ``classes`` has probability 0.
    """
    is_class = _is_class(y, classes)
    is_known = is_class.any(axis=1)
    brier = np.square(probabilities - is_class).sum(axis=1) + ~is_known
    is_best = np.arange(len(classes)) == probabilities.argmax(axis=1)[:, None]
    return {
        "log_loss": _log_loss(is_class, probabilities, sample_weight),
        "roc_auc": _roc_auc(is_class, probabilities, sample_weight),
        "accuracy": float(np.average((is_class & is_best).any(axis=1), weights=sample_weight)),
        "brier_score": float(np.average(brier, weights=sample_weight)) / (2 if len(classes) == 2 else 1),
    }


def expected_calibration_error(
    y: NDArray[Any], probabilities: NDArray[Any], classes: Any, sample_weight: Any = None
) -> float:
    """Return the expected calibration error of the predicted class, 0 if confidence and accuracy agree.

    The confidence of a row is its highest probability. Rows are binned by confidence into ten intervals of equal width,
    closed on the right; the error is the mean over rows of the difference between the mean confidence and the accuracy
    of their bin. It is not among ``METRICS``: that of constant class fractions is 0, so it ranks no models by itself.
    """
    is_class, best = _is_class(y, classes), probabilities.argmax(axis=1)
    rows = np.arange(len(best))
    weight = np.ones(len(best)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    confidence = probabilities[rows, best]
    gap = weight * (confidence - is_class[rows, best])
    bins = np.clip(np.ceil(confidence * _CALIBRATION_BINS).astype(np.intp) - 1, 0, _CALIBRATION_BINS - 1)
    return float(np.abs(np.bincount(bins, gap)).sum() / weight.sum())


def _is_class(y: NDArray[Any], classes: Any) -> NDArray[np.bool_]:
    """Return whether each row is of each class."""
    return np.asarray(np.asarray(y)[:, None] == np.asarray(classes))


def _log_loss(is_class: NDArray[np.bool_], probabilities: NDArray[Any], sample_weight: Any) -> float:
    of_true = np.where(is_class, probabilities, 0.0).sum(axis=1).clip(_MIN_PROBABILITY, 1.0)
    return float(np.average(-np.log(of_true), weights=sample_weight) + 0.0)


def _roc_auc(is_class: NDArray[np.bool_], probabilities: NDArray[Any], sample_weight: Any) -> float | None:
    """Return the mean AUC of the classes that some rows have and others have not; of two classes, that of the second.

    The AUC is the probability that a row of the class has a higher probability than another row; ties count half.
    """
    weight = np.ones(len(is_class)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    aucs = []
    for k in [1] if is_class.shape[1] == 2 else range(is_class.shape[1]):
        _, rank = np.unique(probabilities[:, k], return_inverse=True)
        positive = np.bincount(rank, weight * is_class[:, k])
        negative = np.bincount(rank, weight * ~is_class[:, k])
        if positive.any() and negative.any():
            below = np.cumsum(negative) - negative / 2
            aucs.append(positive @ below / (positive.sum() * negative.sum()))
    return float(np.mean(aucs)) if aucs else None
