"""Gradient boosting of other libraries, to compare tritree with; a library is imported when it is used."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from tritree.lab.encoding import Encoder, in_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.lab.encoding import EncodedTable, TableFormat


@dataclass(frozen=True)
class Library:
    """A library: where its estimators are, and the format in which they take tables with categories."""

    module: str
    estimator: str  # without Classifier or Regressor
    package: str  # to install
    table_format: TableFormat = "frame"
    #: One thread, a fixed seed, no output, native categories; all other parameters have the library's defaults.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Maximum number of categories of a column, if there is one; columns with more are numeric.
    max_categories: int | None = None

    def load(self) -> Any:
        """Return the imported module, or raise an ImportError that names the package to install."""
        try:
            return importlib.import_module(self.module)
        except (ImportError, OSError) as error:  # the latter if a shared library is absent
            raise ImportError(
                f"{self.package} cannot be imported ({str(error).partition(chr(10))[0]}); pip install {self.package}"
            ) from error

    def is_installed(self) -> bool:
        """Return whether the library can be imported."""
        try:
            self.load()
        except ImportError:
            return False
        return True

    def make(self, task: str, **parameters: Any) -> LibraryEstimator:
        """Return an unfitted estimator of tables for a task; parameters other than these are the library's defaults."""
        return LibraryEstimator(self.make_model(task, **parameters), self.table_format, self.max_categories)

    def make_model(self, task: str, **parameters: Any) -> Any:
        """Return an unfitted estimator of the library itself."""
        suffix = "Regressor" if task == "regression" else "Classifier"
        return getattr(self.load(), self.estimator + suffix)(**{**self.parameters, **parameters})


#: The libraries by the names of their methods in experiments.
LIBRARIES = {
    "lightgbm": Library(
        "lightgbm", "LGBM", "lightgbm", parameters={"random_state": 0, "n_jobs": 1, "verbosity": -1}
    ),
    "xgboost": Library(
        "xgboost",
        "XGB",
        "xgboost",
        parameters={"enable_categorical": True, "random_state": 0, "n_jobs": 1, "verbosity": 0},
    ),
    "catboost": Library(
        "catboost",
        "CatBoost",
        "catboost",
        "text",
        {"random_seed": 0, "thread_count": 1, "allow_writing_files": False, "logging_level": "Silent"},
    ),
    "hist": Library(
        "sklearn.ensemble",
        "HistGradientBoosting",
        "scikit-learn",
        parameters={"categorical_features": "from_dtype", "random_state": 0},
        max_categories=255,
    ),
}


class LibraryEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of another library, which learns from the columns that tritree would learn from.

    Parameters
    ----------
    estimator : estimator
        Estimator of the library.
    table_format : {"frame", "text", "columns", "numbers"}, default="frame"
        Format of the tables that it takes.
    max_categories : int or None, default=None
        Maximum number of categories of a column; columns with more are numeric.
    """

    def __init__(
        self, estimator: Any, table_format: TableFormat = "frame", max_categories: int | None = None
    ) -> None:
        self.estimator = estimator
        self.table_format = table_format
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator, fitted to a frame; classes may have any type."""
        y = np.asarray(y)
        if hasattr(self.estimator, "predict_proba"):
            self.classes_, y = np.unique(y, return_inverse=True)
            if len(self.classes_) == 1:  # which the libraries refuse, or predict in two columns
                return self
        self.encoder_ = Encoder(X)
        table, rows = self._training_table(self.encoder_.transform(X))
        # some libraries refuse columns without observed values
        self.columns_ = np.flatnonzero(~np.isnan(table.values).all(axis=0))
        table = table.select(self.columns_)
        options: dict[str, Any] = {}
        if self.table_format == "text":
            options["cat_features"] = [f"c{i}" for i, n in enumerate(table.categories) if n]
        if sample_weight is not None:
            options["sample_weight"] = np.asarray(sample_weight)[rows]
        with threadpool_limits(1, user_api="openmp"):  # HistGradientBoosting has no parameter for it
            self.model_ = clone(self.estimator).fit(self._in_format(table), y[rows], **options)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted values or classes."""
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return np.asarray(self._predict("predict", X)).ravel()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of ``classes_``."""
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        probabilities = np.zeros((len(X), len(self.classes_)))
        known = np.asarray(self.model_.classes_, dtype=np.intp)
        probabilities[:, known] = self._predict("predict_proba", X)
        return probabilities

    def _predict(self, method: str, X: Any) -> NDArray[np.float64]:
        table = self._transform(self.encoder_.transform(X)).select(self.columns_)
        with threadpool_limits(1, user_api="openmp"):
            return np.asarray(getattr(self.model_, method)(self._in_format(table)), dtype=np.float64)

    def _in_format(self, table: EncodedTable) -> Any:
        return in_format(table, self.table_format, self.max_categories)

    def _training_table(self, table: EncodedTable) -> tuple[EncodedTable, NDArray[np.intp]]:
        """Return the table to fit, and the indices of its rows in the training table."""
        return table, np.arange(len(table.values))

    def _transform(self, table: EncodedTable) -> EncodedTable:
        """Return the rows to predict as the model takes them."""
        return table
