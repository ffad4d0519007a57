"""Predictions from sums over trees: what boosting and grafted models have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.encoder import column_errors
from tritree.estimators.base import TrinaryEstimator
from tritree.estimators.boosting_views import BoostingViews
from tritree.estimators.fitted_state import on_snapshot
from tritree.estimators.losses import LINKS
from tritree.estimators.tasks import TrinaryClassifier, TrinaryRegressor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tritree.estimators.fitted_state import FittedState

__all__ = ["ClassifierOfSums", "EstimatorOfSums", "RegressorOfSums"]


class EstimatorOfSums(BoostingViews, TrinaryEstimator):
    """Base of the estimators whose trees add up."""

    def _link_name(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> str:
        """Return the name of the link, one of `LINKS`; raise a ValueError if it is not for these classes."""
        raise NotImplementedError

    def _n_outputs(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> int:
        """Return the number of trees per iteration."""
        several = {"softmax", "probability", "sigmoid_each"}
        return len(classes) if classes is not None and self._link_name(params, classes) in several else 1

    @property
    def _link(self) -> str:
        return self._link_name(self._fitted.params, self._fitted.classes)

    @property
    def n_iter_(self) -> int:
        """Number of boosting iterations; those after the best one are dropped by early stopping."""
        return self._model.n_iterations

    @property
    def n_trees_(self) -> int:
        """Number of trees: one per iteration, or one per class and iteration for more than two classes."""
        return self._model.n_trees

    def _raw_predict(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the sums over trees, and their variance due to missing values, if it is estimated."""
        sums: tuple[NDArray[np.float64], NDArray[np.float64] | None]
        sums = self._call_model(self._fitted, "predict", X)
        return sums

    def _predict_values(self, fitted: FittedState, X: Any) -> NDArray[np.float64]:
        return self._predictions_from_raw(fitted, *self._call_model(fitted, "predict", X))

    def _predictions_from_raw(
        self, fitted: FittedState, raw: NDArray[np.float64], variance: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the predictions of sums over trees."""
        return LINKS[self._link_name(fitted.params, fitted.classes)].predict(raw, variance)

    def _staged_values(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions after each iteration."""
        model, encoder = self._model, self._encoder
        columns, n_rows, n_threads = self._encode(X, encoder)
        raw: Any = 0
        variance: Any = None
        for number in range(model.n_iterations):
            with column_errors(encoder):
                more, more_variance = model.predict(columns, n_rows, n_threads, (number, number + 1))
            raw = raw + more
            variance = (
                more_variance if variance is None or more_variance is None else variance + more_variance
            )
            yield self._predictions_from_raw(self._fitted, raw, variance)


class RegressorOfSums(TrinaryRegressor):
    """Methods of the regressors whose trees add up."""

    @on_snapshot
    def staged_predict(self: Any, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict the target of rows after each iteration; see `predict`."""
        for values in self._staged_values(X):
            yield values[:, 0]


class ClassifierOfSums(TrinaryClassifier):
    """Methods of the classifiers whose trees add up."""

    def decision_function(self: Any, X: Any) -> NDArray[np.float64]:
        """Return the sums over trees: the log-odds of the second of two classes, or one column per class.

        Where two classes have trees of their own, the difference of their sums is returned. `predict_proba` also takes
        into account the variance of the sums due to missing values. With three classes or more, another class may then
        be the most probable one, which is what `predict` returns.
        """
        raw: NDArray[np.float64] = self._raw_predict(X)[0]
        if raw.shape[1] == 2:
            return np.asarray(raw[:, 1] - raw[:, 0])
        return raw[:, 0] if raw.shape[1] == 1 else raw

    @on_snapshot
    def staged_predict_proba(self: Any, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict class probabilities of rows after each iteration; see `predict_proba`."""
        yield from self._staged_values(X)

    @on_snapshot
    def staged_predict(self: Any, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the most probable class of rows after each iteration; see `predict`."""
        for probabilities in self._staged_values(X):
            yield self.classes_[probabilities.argmax(axis=1)]
