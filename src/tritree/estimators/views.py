"""The views of fitted estimators that are the same for one tree and for many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tritree.encoder import column_errors
from tritree.estimators.export import Exporter
from tritree.estimators.fitted_state import on_snapshot
from tritree.estimators.growing_model import warn_of_ungrown
from tritree.estimators.onnx_views import OnnxViews
from tritree.table import read_table
from tritree.validation import check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tritree.estimators.base import TrinaryEstimator as _Base
    from tritree.estimators.growing_model import CoreTable, GrowingModel
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays
else:
    _Base = object


def page_with_rows(
    estimator: Any, path: Any, rows: Any, page_of: Callable[[list[str], Rows | None], str]
) -> str | None:
    """Return a page, or write it to a file; ``page_of`` makes it, given the names of rows and the rows."""
    from tritree.inspection.html import name_rows
    from tritree.output_files import check_output_path, write_atomically

    place = None if path is None else check_output_path(path, "the page")  # before the work is done
    names = [] if rows is None else name_rows(rows, read_table(rows).n_rows)
    page = page_of(names, None if rows is None else estimator._read_cells(rows))
    if place is None:
        return page
    write_atomically(place, page.encode())
    return None


class ImportanceViews:
    """The plot of importances, of estimators and of the trees of boosting."""

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column."""
        raise NotImplementedError

    def _feature_names(self) -> Sequence[str]:
        raise NotImplementedError

    @on_snapshot
    def plot_importance(self, ax: Any = None, *, max_columns: int = 20) -> Any:
        """Plot ``feature_importances_`` as bars, largest first, with matplotlib (``pip install tritree[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on. If None, a new figure is created.
        max_columns : int, default=20
            Maximum number of columns drawn. Columns without importance are not drawn.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> ax = TrinaryTreeRegressor().fit(X, y).plot_importance()  # doctest: +SKIP
        >>> ax.figure.savefig("importance.png")  # doctest: +SKIP
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import draw_importance

        check_axes(ax)
        check_int("max_columns", max_columns, 1)
        importances = self.feature_importances_.tolist()
        return draw_importance(self._feature_names(), importances, ax, max_columns)


class EstimatorViews(ImportanceViews, OnnxViews, _Base):
    """The views that concern columns, the same for one tree and for many."""

    def _independent_copy(self) -> Self:
        """Return a copy whose trees grow by themselves."""
        return self._with_model(self._model.copy())

    def _with_model(self, model: GrowingModel) -> Self:
        copied = self._snapshot()
        copied._fitted_state = replace(self._fitted, model=model)
        return copied

    def _exporter(self) -> Exporter:
        return Exporter(self._model, self._encoder, count_threads(self.n_jobs))

    def _encode_rows(self, X: Any) -> CoreTable:
        columns, n_rows, _ = self._encode(X, self._encoder)
        return columns, n_rows

    def _labels(self) -> list[Any] | None:
        """Return the classes as plain labels, None in regression."""
        classes = self._fitted.classes
        return None if classes is None else classes.tolist()

    def _feature_names(self) -> Sequence[str]:
        return self._encoder.feature_names or [f"x{j}" for j in range(len(self._encoder.columns))]

    def _describe_arrays(self, tree: TreeArrays, classes: list[Any] | None, **options: Any) -> dict[str, Any]:
        """Return the description of a tree; the options are those of `describe_tree`."""
        from tritree.inspection.describe import describe_tree

        return describe_tree(tree, self._encoder, classes, missing=self._model.missing, **options)

    def _read_cells(self, X: Any) -> Rows:
        """Return the rows of a table with their cells."""
        from tritree.inspection.rows import read_rows

        return read_rows(X, self._encoder, type(self).__name__, self.unknown_category)

    @on_snapshot
    def missing_reliance(self, X: Any) -> NDArray[np.float64]:
        """Return for each column how much the predictions of rows rely on its missing branches.

        This is the fraction of rows, or of pairs of a row and a tree, that reach a split on the column without a usable
        value at least once: the value is missing, its column is absent, or it is a category not seen in the node. With
        ``missing="fractional"``, rows count by the fraction that gets there. Branches that the rows need are grown, as
        in ``predict``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with or without missing values.

        Returns
        -------
        ndarray of shape (n_features_in_,)
            Fractions from 0 to 1. They need not sum to 1: a row may lack several columns, or none.

        Examples
        --------
        Half of the rows lack the first column, but the tree splits on the second one only where the first is missing.

        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> nan = np.nan
        >>> tree.missing_reliance([[nan, 9.0], [nan, nan], [50.0, nan], [50.0, 5.0]])
        array([0.5 , 0.25])
        """
        from tritree.inspection.contributions import missing_reliance

        columns, n_rows, n_threads = self._encode(X, self._encoder)
        with column_errors(self._encoder):
            self._model.predict(columns, n_rows, n_threads)  # grow what the rows need
        warn_of_ungrown(self._model)
        total = np.zeros(len(self._encoder.columns))
        for tree in self._model.trees():
            total += missing_reliance(tree, columns, n_rows)
        return total / self._model.n_trees
