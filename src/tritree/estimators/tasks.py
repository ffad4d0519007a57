"""What regressors and classifiers of all families have in common: the target and the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from tritree.out_of_core.prediction import by_batches
from tritree.target import read_classification_target, read_regression_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TrinaryClassifier", "TrinaryRegressor"]


class TrinaryRegressor(RegressorMixin):  # type: ignore[misc]
    """Methods of the regressors."""

    def _read_target(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        return None, read_regression_target(y, n_rows, type(self).__name__, self._max_target)

    @by_batches
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with missing values anywhere. The columns of a frame are matched by name, in any order; absent columns
            are treated as missing. Rows in Parquet files, a dataset or an iterable of frames are predicted batch by
            batch: the result is an iterator of record batches.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted values.
        """
        predicted: NDArray[np.float64] = self._predict_values(self._fitted, X)[:, 0]
        return predicted


class TrinaryClassifier(ClassifierMixin):  # type: ignore[misc]
    """Methods of the classifiers."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        classes: NDArray[Any] = self._fitted.classes
        return classes

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return read_classification_target(y, n_rows, type(self).__name__)

    @by_batches
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities of rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with missing values anywhere. The columns of a frame are matched by name, in any order; absent columns
            are treated as missing. Rows in Parquet files, a dataset or an iterable of frames are predicted batch by
            batch: the result is an iterator of record batches.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, with columns in the order of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> y = np.where(X[:, 0] < 40, "early", "late")
        >>> tree = TrinaryTreeClassifier(max_depth=1).fit(X, y)
        >>> tree.predict_proba([[10.0], [90.0], [np.nan]])
        array([[1. , 0. ],
               [0. , 1. ],
               [0.4, 0.6]])
        """
        probabilities: NDArray[np.float64] = self._predict_values(self._fitted, X)
        return probabilities

    @by_batches
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the class probabilities of rows; see `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @by_batches
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of rows, the first one in a tie; see `predict_proba`."""
        fitted = self._fitted
        predicted: NDArray[Any] = fitted.classes[self._predict_values(fitted, X).argmax(axis=1)]
        return predicted
