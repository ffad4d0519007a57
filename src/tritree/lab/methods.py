"""What an experiment compares: the strategies of tritree, any estimator of scikit-learn, and one plain baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tritree.estimators import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.lab.author import AuthorClassifier, AuthorRegressor
from tritree.parameters import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["DISCARD", "DiscardIncomplete", "Methods"]

#: The baseline that learns from complete rows only.
DISCARD = "discard"

_MIN_SAMPLES_LEAF = 20


class DiscardIncomplete(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from complete rows only, and has nothing to say of the others.

    Rows without holes are predicted by ``estimator``, fitted to the complete rows of training; all others get the
    training mean, or the shares of the classes in training. If too few rows are complete to fit it, so do all.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Return the estimator fitted to the complete rows."""
        y = np.asarray(y)
        complete = ~_has_holes(X)
        self.is_classifier_ = hasattr(self.estimator, "predict_proba")
        if self.is_classifier_:
            self.classes_, numbers = np.unique(y, return_inverse=True)
            self.answer_ = np.bincount(numbers) / len(y)
        else:
            self.answer_ = np.array([np.mean(y)])
        rows = np.flatnonzero(complete)
        enough = len(rows) > 0 and (not self.is_classifier_ or len(np.unique(y[rows])) > 1)
        self.estimator_ = clone(self.estimator).fit(_rows(X, rows), y[rows]) if enough else None
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted numbers, or classes."""
        if self.is_classifier_:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return self._answers(X)[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        return self._answers(X)

    def _answers(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        missing = _has_holes(X)
        answers = np.tile(self.answer_, (len(missing), 1))
        rows = np.flatnonzero(~missing)
        if self.estimator_ is None or not len(rows):
            return answers
        if not self.is_classifier_:
            answers[rows, 0] = self.estimator_.predict(_rows(X, rows))
            return answers
        known = np.searchsorted(self.classes_, self.estimator_.classes_)  # it may not have seen all classes
        answers[rows] = 0
        answers[np.ix_(rows, known)] = self.estimator_.predict_proba(_rows(X, rows))
        return answers


def _has_holes(X: Any) -> NDArray[np.bool_]:
    return np.asarray(np.asarray(pd.isna(X)).any(axis=1))


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class Methods:
    """The methods by name, each an estimator that is yet to be fitted.

    A method is the name of a strategy, "discard", or an estimator of scikit-learn's kind. Strategies and the baseline
    get the depth of the data set and the options given; an estimator is taken as it is. ``as_author`` lets trees grow
    as they did in the runs behind the paper's figure.
    """

    def __init__(self, methods: Mapping[str, Any], *, as_author: bool = False, **options: Any) -> None:
        unknown = [name for name, method in methods.items() if not _is_method(method)]
        if unknown:
            names = ", ".join(map(repr, (*STRATEGIES, DISCARD)))
            raise ValueError(
                f"method {unknown[0]!r} is {methods[unknown[0]]!r}; a method is one of {names} or an estimator with "
                "fit and predict"
            )
        self._methods = dict(methods)
        self._regressor = AuthorRegressor if as_author else TrinaryTreeRegressor
        self._classifier = AuthorClassifier if as_author else TrinaryTreeClassifier
        self._options = {"min_samples_leaf": _MIN_SAMPLES_LEAF, "n_jobs": 1} | options

    @property
    def names(self) -> list[str]:
        """Return the names of the methods, as they were given."""
        return list(self._methods)

    def wants_depth(self, name: str) -> bool:
        """Return whether a method grows a tree of the data set's depth."""
        return isinstance(self._methods[name], str)

    def make(self, name: str, task: str, depth: int | None) -> Any:
        """Return a method as an estimator for a task."""
        method = self._methods[name]
        if not isinstance(method, str):
            return clone(method)
        tree = self.tree("trinary" if method == DISCARD else method, task, depth)
        return DiscardIncomplete(tree) if method == DISCARD else tree

    def tree(self, strategy: str, task: str, depth: int | None) -> Any:
        """Return a tree of one of the strategies."""
        options = dict(self._options)
        criterion = options.pop("criterion", None)
        if task == "regression":
            return self._regressor(missing=strategy, max_depth=depth, **options)
        if criterion is not None:
            options["criterion"] = criterion
        return self._classifier(missing=strategy, max_depth=depth, **options)


def _is_method(method: Any) -> bool:
    if isinstance(method, str):
        return method in (*STRATEGIES, DISCARD)
    return hasattr(method, "fit") and hasattr(method, "predict")
