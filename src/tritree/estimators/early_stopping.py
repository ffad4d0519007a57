"""Early stopping of boosting: validation rows, scores after each iteration, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import train_test_split

from tritree import _core
from tritree.estimators.encoded_rows import EncodedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.estimators.growing_model import GrowingModel
    from tritree.estimators.losses import Loss

__all__ = ["EarlyStopping", "ValidationScores", "check_finite", "split_validation"]

_MAX_SCORED = 10_000  # training rows, as in scikit-learn


@dataclass
class ValidationScores:
    """The scores of validation rows, and of training rows, after each iteration: the negative mean loss."""

    loss: Loss
    rows: EncodedRows
    validation: list[float] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    _raw: NDArray[np.float64] | None = None
    _variance: NDArray[np.float64] | None = None

    def check(self, model: GrowingModel, n_threads: int) -> None:
        """Raise an error if the core does not take the rows, before the first iteration."""
        model.predict(self.rows.columns, len(self.rows), n_threads, (0, 0))

    def add(self, model: GrowingModel, n_iterations: int, n_threads: int) -> float:
        """Return the validation score after one more iteration, which is added to the scores."""
        self.validation.append(self.score(model, n_iterations, n_threads))
        return self.validation[-1]

    def score(self, model: GrowingModel, n_iterations: int, n_threads: int) -> float:
        """Return the validation score after more iterations than before."""
        begin = 0 if self._raw is None else n_iterations - 1
        raw, variance = model.predict(self.rows.columns, len(self.rows), n_threads, (begin, n_iterations))
        self._raw = raw if self._raw is None else self._raw + raw
        if variance is not None:
            self._variance = variance if self._variance is None else self._variance + variance
        adjusted = self.loss.link.adjusted(self._raw, self._variance)
        return -self.loss.mean(self.rows.y, adjusted, self.rows.weight)

    def attributes(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores as attributes of the estimator."""
        return {"validation_scores_": np.array(self.validation), "train_scores_": np.array(self.train)}

    def add_train(self, rows: EncodedRows, raw: NDArray[np.float64]) -> None:
        """Add the score of training rows, of some if they are many; ``raw`` has a row per output."""
        weight = rows.weight
        counted = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        scored = counted[:: -(-len(counted) // _MAX_SCORED)]
        raw = raw.T[scored]
        self.train.append(-self.loss.mean(rows.y[scored], raw, None if weight is None else weight[scored]))


@dataclass
class EarlyStopping:
    """Stops when the score has not improved by more than ``tol`` in the last ``n_iter_no_change`` iterations."""

    n_iter_no_change: int
    tol: float
    best_score: float = -float("inf")
    best_iteration: int = 0

    def should_stop(self, score: float, n_iterations: int) -> bool:
        """Return whether to stop, given the score after ``n_iterations``."""
        if score > self.best_score + self.tol:
            self.best_score, self.best_iteration = score, n_iterations
        return n_iterations - self.best_iteration >= self.n_iter_no_change


def check_finite(rows: EncodedRows) -> None:
    """Raise the core's error for an infinite value while its row still has the number that the user knows."""
    for position, column in enumerate(rows.columns):
        if column is not None and column.dtype.kind == "f" and np.isinf(column).any():
            row = int(np.isinf(column).argmax())
            raise _core.InfiniteValueError(position, row, float(column[row]))


def split_validation(
    rows: EncodedRows, fraction: float, seed: int, *, stratify: bool
) -> tuple[EncodedRows, EncodedRows]:
    """Return the rows to train with, and a fraction of the rows to validate with."""
    try:
        train, validation = train_test_split(
            np.arange(len(rows)), test_size=fraction, random_state=seed, stratify=rows.y if stratify else None
        )
    except ValueError:
        least = int(np.unique(rows.y, return_counts=True)[1].min())
        smallest = f", and the smallest class has {least}" if stratify else ""
        raise ValueError(
            f"validation_fraction={fraction:g} of the rows cannot be set aside: there are {len(rows)}{smallest}; pass "
            "X_val and y_val, change validation_fraction, or set early_stopping=False"
        ) from None
    parts = _take(rows, np.sort(train)), _take(rows, np.sort(validation))
    for part, use in zip(parts, ("train", "validate"), strict=True):
        if part.weight is not None and not part.weight.any():
            raise ValueError(
                f"validation_fraction={fraction:g} of the rows leaves none with a weight above 0 to {use} with; pass "
                "X_val and y_val, give more rows a weight above 0, or set early_stopping=False"
            )
    return parts


def _take(rows: EncodedRows, chosen: NDArray[np.intp]) -> EncodedRows:
    columns = [None if column is None else np.ascontiguousarray(column[chosen]) for column in rows.columns]
    return EncodedRows(columns, rows.y[chosen], None if rows.weight is None else rows.weight[chosen])
