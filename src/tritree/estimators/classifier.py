"""What every classifier says once it knows the probabilities of the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ShareClassifier"]


class ShareClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier that predicts probabilities."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class for each row; see `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, the first of equals; see `predict_proba`."""
        # the rows first: they also tell that nothing was fitted
        best = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted
