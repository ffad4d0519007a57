"""What every estimator does with tables: columns learned once, and tables to predict matched with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tritree.parameters import UNKNOWN_CATEGORY, check_choice, count_threads
from tritree.table import read_matrix, read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.encoder import TableEncoder
    from tritree.table import Table

__all__ = ["TabularEstimator"]


class TabularEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes tables of any library, with holes and categories."""

    _encoder: TableEncoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_encoder")

    def _remember(self, encoder: TableEncoder, classes: NDArray[Any] | None) -> None:
        """Take over what training taught about the columns and the classes."""
        self._encoder = encoder
        self.n_features_in_ = len(encoder.columns)
        if classes is not None:
            self.classes_ = classes
        if encoder.feature_names is not None:
            self.feature_names_in_ = np.asarray(encoder.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _encode(self, X: Any) -> tuple[_core.Columns, int, int]:
        """Return what the core asks of a table to predict: its columns, its rows and the threads to use."""
        check_is_fitted(self)
        encoder, n_threads = self._encoder, count_threads(self.n_jobs)
        check_choice("unknown_category", self.unknown_category, UNKNOWN_CATEGORY)
        matrix = read_matrix(X, encoder.column_names, len(encoder.columns)) if encoder.is_numeric else None
        if matrix is not None:
            return matrix, len(matrix), n_threads
        table: Table = read_table(X)
        columns = encoder.encode(table, type(self).__name__, refuse_unknown=self.unknown_category == "error")
        return columns, table.n_rows, n_threads
