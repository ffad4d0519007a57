"""Scores of models on rows, as they are and with cells removed, beside those of a constant prediction; and as text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.cli.messages import UserError
from tritree.inspection.formatting import align, count, number_format
from tritree.metrics import METRICS, classification_metrics, evaluate_constant, regression_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.cli.training import TrainingData

    Metrics = dict[str, float | None]
    Rows = NDArray[np.intp]

#: Losses of boosting that no other metric measures.
_LOSS_METRICS = {
    "pinball_loss": "pinball loss",
    "poisson_deviance": "Poisson deviance",
    "gamma_deviance": "gamma deviance",
}
#: Metrics whose unit is that of the target; the others are numbers around 1.
_IN_UNITS = ("rmse", "mae", "pinball_loss")


def score_rows(
    model: Any, data: TrainingData, removed_fraction: float, seed: int, max_removed: int | None = None
) -> dict[str, Any]:
    """Return the scores of a model on rows as they are, and on at most ``max_removed`` rows with cells removed."""
    scores: dict[str, Any] = {
        "rows": len(data.target),
        "unchanged": metrics_of(model, data, predict(model, data.features)),
        "removed_fraction": removed_fraction,
        "removed_rows": None,
        "removed": None,
    }
    if removed_fraction:
        some = take(data, choose(len(data.target), max_removed, seed))
        predicted = predict(model, remove_cells(some.features, removed_fraction, seed))
        scores |= {"removed_rows": len(some.target), "removed": metrics_of(model, some, predicted)}
    return scores


def constant_scores(model: Any, train: TrainingData, test: TrainingData) -> Metrics:
    """Return the metrics of a constant prediction of rows: the mean target, or the class fractions, of other rows.

    Of a model that predicts a quantile, it is that quantile.
    """
    if test.task == "classification":
        return evaluate_constant(
            train.target, test.target, test.task, train_weight=train.weights, sample_weight=test.weights
        )
    from sklearn.dummy import DummyRegressor

    strategy = "quantile" if _loss(model) == "quantile" else "mean"
    constant = DummyRegressor(strategy=strategy, quantile=getattr(model, "quantile", None))
    constant.fit(train.features, train.target, train.weights)
    return metrics_of(model, test, constant.predict(test.features)[:, None])


def predict(model: Any, features: Any) -> NDArray[np.float64]:
    """Return the probability of each class, or the predicted numbers in one column."""
    if hasattr(model, "classes_"):
        return np.asarray(model.predict_proba(features))
    return np.asarray(model.predict(features))[:, None]


def metrics_of(model: Any, data: TrainingData, predicted: NDArray[np.float64]) -> Metrics:
    """Return the metrics of what a model has predicted for rows."""
    if data.weights is not None and not np.sum(data.weights) > 0:
        raise UserError(f"{count(len(data.target), 'row')} to score, none with a weight above 0")
    if data.task == "regression":
        return _loss_metric(model, data, predicted[:, 0]) | regression_metrics(
            data.target, predicted[:, 0], data.weights
        )
    return classification_metrics(data.target, predicted, model.classes_, data.weights)


def _loss(model: Any) -> str | None:
    return getattr(model, "loss", None)


def _loss_metric(model: Any, data: TrainingData, predicted: NDArray[np.float64]) -> Metrics:
    """Return the loss of boosting if no other metric measures it; None if it is not defined for the target."""
    from sklearn.metrics import mean_gamma_deviance, mean_pinball_loss, mean_poisson_deviance

    y, weights = data.target, data.weights
    match _loss(model):
        case "quantile":
            value = mean_pinball_loss(y, predicted, sample_weight=weights, alpha=model.quantile)
            return {"pinball_loss": float(value)}
        case "poisson":
            is_defined = (y >= 0).all()
            return {
                "poisson_deviance": mean_poisson_deviance(y, predicted, sample_weight=weights)
                if is_defined
                else None
            }
        case "gamma":
            is_defined = (y > 0).all()
            return {
                "gamma_deviance": mean_gamma_deviance(y, predicted, sample_weight=weights)
                if is_defined
                else None
            }
    return {}


def take(data: TrainingData, rows: Rows) -> TrainingData:
    """Return some of the rows."""
    weights = None if data.weights is None else data.weights[rows]
    return replace(data, features=data.features.iloc[rows], target=data.target[rows], weights=weights)


def choose(n_rows: int, max_rows: int | None, seed: int) -> Rows:
    """Return the positions of all rows, or of ``max_rows`` that are drawn at random."""
    if max_rows is None or n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, max_rows, replace=False))


def remove_cells(features: Any, fraction: float, seed: int) -> Any:
    """Return a table without a fraction of the cells of each column, drawn at random."""
    from tritree.lab import ampute

    return ampute(features, fraction, seed=seed)


# ---- text


def scores_text(task: str, lines: Mapping[str, Metrics]) -> str:
    """Return metrics as an aligned table with a column per metric; the lines have labels."""
    found = next(iter(lines.values()))
    names = {key: name for key, name in (_LOSS_METRICS | METRICS[task]).items() if key in found}
    columns = [_column(key, [metrics[key] for metrics in lines.values()]) for key in names]
    rows = [[label, *cells] for label, *cells in zip(lines, *columns, strict=True)]
    return "\n".join(align([["scores", *names.values()], *rows]))


def removed_label(scores: Mapping[str, Any]) -> str:
    """Return the label of the scores with cells removed."""
    return f"  {100 * scores['removed_fraction']:.3g}% of cells removed"


def constant_label(task: str, constant: Metrics) -> str:
    """Return the label of the scores of a constant prediction."""
    of_regression = "the quantile" if "pinball_loss" in constant else "the mean"
    return f"constant ({of_regression if task == 'regression' else 'class fractions'})"


def _column(key: str, values: list[float | None]) -> list[str]:
    """Return the cells of a metric; one that is not defined, or beyond all floats, is a dash."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    form = number_format(finite, 4) if key in _IN_UNITS else "{:z.3f}".format
    return [form(value) if value in finite else "-" for value in values]
