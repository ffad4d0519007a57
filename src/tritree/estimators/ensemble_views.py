"""What forests and boosting show of themselves alike."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.errors import GrowthLimitError, ParameterError
from tritree.inspection.explain_ensemble import Answers
from tritree.inspection.reliance import reliance
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.estimators.base import TrinaryEstimator as _Base
else:
    _Base = object

__all__ = ["EnsembleViews"]


class EnsembleViews(_Base):
    """The views of forests and boosting."""

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of what the trees have learned."""
        raise NotImplementedError

    def _column_names(self) -> Sequence[str]:
        return self._encoder.feature_names or [f"x{j}" for j in range(len(self._encoder.columns))]

    def _labels(self) -> list[Any] | None:
        """Return the classes as plain labels, None in regression."""
        classes = getattr(self, "classes_", None)
        return None if classes is None else classes.tolist()

    def _answers(self, values: NDArray[np.float64], class_of_interest: Any) -> Answers:
        """Return what is predicted, given numbers or probabilities, and what of it is explained."""
        labels = self._labels()
        if labels is None:
            if class_of_interest is not None:
                raise ValueError("class_of_interest is for classifiers; leave it out")
            return Answers(None, values[:, 0].tolist(), values, np.zeros(len(values), dtype=np.intp))
        best = values.argmax(axis=1)
        chosen = best
        if class_of_interest is not None:
            if class_of_interest not in labels:
                raise ParameterError("class_of_interest", f"one of {labels}", class_of_interest)
            chosen = np.full_like(best, labels.index(class_of_interest))
        return Answers(labels, [labels[number] for number in best], values, chosen)

    def _place_of(self, number: Any) -> int:
        """Return the number of a tree, counted from the first."""
        check_is_fitted(self)
        try:
            n, place = self._model.n_trees, operator.index(number)
        except TypeError:
            raise TypeError(f"a tree is named by a whole number, from 0 on, got {number!r}") from None
        if not -n <= place < n:
            raise IndexError(f"there is no tree {place}; the model has {n:,}, numbered from 0 to {n - 1:,}")
        return place % n

    def plot_importance(self, ax: Any = None, *, max_columns: int = 20) -> Any:
        """Return an ``Axes`` with ``feature_importances_`` as bars, the largest first.

        Needs matplotlib (``pip install tritree[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_columns : int, default=20
            The most columns that are drawn; those that count for nothing are not drawn.
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import draw_importance

        check_axes(ax)
        check_int("max_columns", max_columns, 1)
        importances = self.feature_importances_.tolist()
        return draw_importance(self._column_names(), importances, ax, max_columns)

    def reliance_on_missing_(self, X: Any) -> NDArray[np.float64]:
        """Return per column how often these rows come to a split on it without a usable value.

        That is the share of pairs of a row and a tree in which the row, on its way down, meets such a split once or
        more often: the value is missing, its column is absent, or it is a category that tells nothing there. Under
        "fractional", a row counts as much as gets there. What the rows need is grown first, as by ``predict``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.

        Returns
        -------
        ndarray of shape (n_features_in_,)
            Shares from 0 to 1. They need not add up to 1: a row may miss several columns, or none.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryBoostingRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> model = TrinaryBoostingRegressor(max_depth=1, l2_regularization=0, max_features=1.0)
        >>> model = model.fit(X, X[:, 0] >= 35)
        >>> nan = np.nan
        >>> model.reliance_on_missing_([[nan, 9.0], [nan, nan], [50.0, nan], [50.0, 5.0]])
        array([0.5 , 0.25])
        """
        columns, n_rows, n_threads = self._encode(X)
        with column_errors(self._encoder):
            self._model.apply(columns, n_rows, n_threads)  # grow what the rows need
        relied = np.zeros(len(self._encoder.columns))
        for tree in self._model.trees():
            relied += reliance(tree, columns, n_rows)
        return relied / self._model.n_trees

    def _check_size(self, max_nodes: int, remedy: str) -> None:
        """Raise a GrowthLimitError if the trees have more nodes than they may."""
        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        if (n := self._model.n_nodes) > max_nodes:
            raise GrowthLimitError(
                n,
                max_nodes,
                f"raise max_nodes, or fit fewer or smaller trees ({remedy})",
                n_trees=self._model.n_trees,
            )
