"""YDF as scikit-learn estimators, as far as the comparison needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import ydf
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["YDFClassifier", "YDFRegressor"]

_LABEL = "target"


class _YDF(BaseEstimator):  # type: ignore[misc]
    """YDF's gradient boosted trees. A table is a dict of columns: numbers, or text with "" for missing values.

    ``version`` is that of YDF: stored results of another version are not reused.
    """

    _task: str

    def __init__(
        self,
        *,
        num_trees: int = 300,
        shrinkage: float = 0.1,
        max_depth: int = 6,
        min_examples: int = 5,
        version: str = "",
    ) -> None:
        self.num_trees = num_trees
        self.shrinkage = shrinkage
        self.max_depth = max_depth
        self.min_examples = min_examples
        self.version = version

    def fit(self, X: dict[str, Any], y: NDArray[Any]) -> Self:
        """Return the fitted model."""
        ydf.verbose(0)
        numeric = {name: column.dtype.kind == "f" for name, column in X.items()}
        learner = ydf.GradientBoostedTreesLearner(
            label=_LABEL,
            task=getattr(ydf.Task, self._task),
            # explicit, because the type of a column without observed values cannot be inferred
            features=[
                ydf.Feature(name, ydf.Semantic.NUMERICAL if is_number else ydf.Semantic.CATEGORICAL)
                for name, is_number in numeric.items()
            ],
            num_trees=self.num_trees,
            shrinkage=self.shrinkage,
            max_depth=self.max_depth + 1,  # YDF counts the root
            min_examples=self.min_examples,
            validation_ratio=0.0,
            early_stopping="NONE",
            num_threads=1,
            random_seed=0,
        )
        self.model_ = learner.train(X | {_LABEL: y}, verbose=0)
        return self


class YDFRegressor(_YDF):
    """YDF's boosting for regression."""

    _task = "REGRESSION"

    def predict(self, X: dict[str, Any]) -> NDArray[np.float64]:
        """Return the predictions."""
        return np.asarray(self.model_.predict(X, num_threads=1), dtype=np.float64)


class YDFClassifier(_YDF):
    """YDF's boosting for classes 0, 1, ..."""

    _task = "CLASSIFICATION"

    def fit(self, X: dict[str, Any], y: NDArray[Any]) -> Self:
        """Return the fitted model."""
        super().fit(X, np.asarray(y).astype(str))
        self.classes_ = np.array([int(label) for label in self.model_.label_classes()])
        return self

    def predict(self, X: dict[str, Any]) -> NDArray[np.intp]:
        """Return the predicted classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: dict[str, Any]) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        probabilities = np.asarray(self.model_.predict(X, num_threads=1), dtype=np.float64)
        return (
            np.column_stack([1 - probabilities, probabilities]) if probabilities.ndim == 1 else probabilities
        )
