"""The metrics that models are judged by, with sample weights, and those of a constant prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

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


def evaluate(
    model: Any, X: Any, y: NDArray[Any], task: str, sample_weight: Any = None
) -> dict[str, float | None]:
    """Return the metrics of a fitted estimator on a table; None for one that is not defined there."""
    if task == "regression":
        # some libraries predict a column vector, which would be broadcast against y
        return regression_metrics(y, np.asarray(model.predict(X), dtype=float).reshape(len(y)), sample_weight)
    return classification_metrics(y, np.asarray(model.predict_proba(X)), model.classes_, sample_weight)


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
    error = predicted - np.asarray(y, dtype=float)
    mse = np.average(np.square(error), weights=sample_weight)
    variance = np.average(np.square(y - np.average(y, weights=sample_weight)), weights=sample_weight)
    return {
        "r2": float(1 - mse / variance) if variance > 0 else None,
        "rmse": float(np.sqrt(mse)),
        "mae": float(np.average(np.abs(error), weights=sample_weight)),
    }


def classification_metrics(
    y: NDArray[Any], probabilities: NDArray[Any], classes: Any, sample_weight: Any = None
) -> dict[str, float | None]:
    """Return the log loss, AUC, accuracy and Brier score of probabilities, one column per class.

    With more than two classes, the AUC is the mean over the classes against the others, and the Brier score the sum
    over classes. The AUC is None if all rows are of one class. A class that is not among ``classes`` has probability 0.
    """
    is_class = np.asarray(y)[:, None] == np.asarray(classes)
    of_true = np.where(is_class, probabilities, 0.0).sum(axis=1)
    is_known = is_class.any(axis=1)
    brier = np.square(probabilities - is_class).sum(axis=1) + ~is_known
    is_best = np.arange(len(classes)) == probabilities.argmax(axis=1)[:, None]
    return {
        "log_loss": float(
            -np.average(np.log(of_true.clip(_MIN_PROBABILITY, 1.0)), weights=sample_weight) + 0.0
        ),
        "roc_auc": _roc_auc(is_class, probabilities, sample_weight),
        "accuracy": float(np.average((is_class & is_best).any(axis=1), weights=sample_weight)),
        "brier_score": float(np.average(brier, weights=sample_weight)) / (2 if len(classes) == 2 else 1),
    }


def _roc_auc(is_class: NDArray[np.bool_], probabilities: NDArray[Any], sample_weight: Any) -> float | None:
    positives = range(1, 2) if is_class.shape[1] == 2 else range(is_class.shape[1])
    counted = is_class if sample_weight is None else is_class[np.asarray(sample_weight) > 0]
    defined = [k for k in positives if 0 < counted[:, k].sum() < len(counted)]
    if not defined:
        return None
    aucs = [roc_auc_score(is_class[:, k], probabilities[:, k], sample_weight=sample_weight) for k in defined]
    return float(np.mean(aucs))
