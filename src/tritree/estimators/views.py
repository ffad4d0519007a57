"""The views of fitted estimators that are the same for all, and those of a single tree."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.errors import GrowthLimitError
from tritree.inspection.contributions import missing_reliance
from tritree.inspection.describe import add_distribution, describe
from tritree.inspection.html import NOTEBOOK_NODES, in_frame
from tritree.inspection.rows import read_rows
from tritree.inspection.tree_views import OneTreeViews
from tritree.validation import check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree.estimators.base import TrinaryEstimator as _Base
    from tritree.estimators.growing_model import GrowingModel
    from tritree.inspection.explain import Explanation
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays
else:
    _Base = object

__all__ = ["EstimatorViews", "TreeViews"]

NOTEBOOK_TREE = 50_000  # nodes up to which a notebook shows the tree


class EstimatorViews(_Base):
    """The views that concern columns, the same for one tree and for many."""

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column."""
        raise NotImplementedError

    def _feature_names(self) -> Sequence[str]:
        return self._encoder.feature_names or [f"x{j}" for j in range(len(self._encoder.columns))]

    def _read_cells(self, X: Any) -> Rows:
        """Return the rows of a table with their cells."""
        check_is_fitted(self)
        return read_rows(X, self._encoder, type(self).__name__, self.unknown_category)

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

    def missing_reliance(self, X: Any) -> NDArray[np.float64]:
        """Return for each column how much the predictions of rows rely on its missing branches.

        This is the fraction of rows, or of pairs of a row and a tree, that reach a split on the column without a usable
        value at least once: the value is missing, its column is absent, or it is a category unknown to the node. With
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
        columns, n_rows, n_threads = self._encode(X)
        with column_errors(self._encoder):
            self._model.apply(columns, n_rows, n_threads)  # grow what the rows need
        self._warn_of_ungrown()
        total = np.zeros(len(self._encoder.columns))
        for tree in self._model.trees():
            total += missing_reliance(tree, columns, n_rows)
        return total / self._model.n_trees


class TreeViews(OneTreeViews, EstimatorViews):
    """The views of a single tree, or of one of a forest."""

    _model: GrowingModel

    def _arrays_now(self) -> TreeArrays:
        check_is_fitted(self)
        return self._model.arrays()

    def _describe(self, arrays: TreeArrays) -> dict[str, Any]:
        core = self._model.core
        tree = describe(
            arrays,
            self._encoder,
            getattr(self, "classes_", None),
            missing=self._model.missing,
            n_grown=core.n_grown,
            detached=core.is_detached,
        )
        if self._model.position is not None:
            number, n_trees = self._model.position
            tree["ensemble"] = {"tree": number, "n_trees": n_trees}
        return tree

    def _add_distribution(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        bins = self._model.core.target_distribution(0, np.asarray(numbers, dtype=np.int32))
        add_distribution(tree, numbers, bins)

    def _page_source(self) -> tuple[Any, str]:
        return self, self.criterion

    def _copy(self) -> Self:
        """Return a copy that grows by itself."""
        copied = copy(self)
        copied._model = self._model.copy()
        return copied

    def _grown_copy(self, rows: Rows | None, max_nodes: int) -> Self:
        grown, n_threads = self._copy(), count_threads(self.n_jobs)
        if rows is not None:
            with column_errors(self._encoder):
                grown._model.apply(rows.columns, rows.n_rows, n_threads)
        grown._model.grow_by_missing(max_nodes, n_threads)
        return grown

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram before fitting, the tree after it."""
        if not self.__sklearn_is_fitted__() or self.n_nodes_ > NOTEBOOK_TREE:
            return str(estimator_html_repr(self))
        return in_frame(self._draw_page(max_nodes=NOTEBOOK_NODES, compact=True), repr(self))

    def explain(self, X: Any) -> list[Explanation]:
        """Explain the prediction of each row by its path through the tree.

        Branches that the rows need are grown, as in ``predict``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with or without missing values.

        Returns
        -------
        list of Explanation
            One per row. ``print`` shows the path in words; ``path`` has its steps, ``contributions`` the contribution
            of each column: with ``base_value``, the value of the root, they sum to the prediction.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> [explanation] = tree.explain([[np.nan, 9.0]])
        >>> print(explanation)
        predicts 1.000
        <BLANKLINE>
                                              rows   mean  contribution
        all rows                               100  0.650
        x0 is missing: third branch, then x1   100  0.650
        x1 = 9 ≥ 3.5                            60  1.000        +0.350
        <BLANKLINE>
        0.650 at the root, x1 +0.350: 1.000
        """
        rows = self._read_cells(X)
        with column_errors(self._encoder):
            self._model.apply(rows.columns, rows.n_rows, count_threads(self.n_jobs))  # grow what they need
        self._warn_of_ungrown()
        return self._explain_rows(rows)

    def to_onnx(self, *, max_nodes: int = 100_000) -> ModelProto:
        """Return the tree as an ONNX model, which onnxruntime and others run without Python.

        A copy of the tree is grown in full first. If no column holds text, the model has one input ``X``, an array of
        float64 with NaN for missing values; else one input per column, named as the column: float64 or text of shape
        (rows, 1). ONNX has no missing text: an empty string stands for it, or ``_`` if the empty string is a category;
        the description of the input says which. Outputs are ``prediction``, or ``label`` and ``probabilities``. Needs
        the package onnx (``pip install tritree[onnx]``).

        Parameters
        ----------
        max_nodes : int, default=100_000
            Maximum number of nodes.

        Returns
        -------
        onnx.ModelProto
            The model. ``onnx.save`` writes it to a file.

        Raises
        ------
        GrowthLimitError
            If the fully grown tree has more than ``max_nodes`` nodes.
        ValueError
            If ONNX cannot express the tree: with ``missing="fractional"``, with paths of more than 1,000 comparisons,
            or with integers from 2**63 on as classes.

        Notes
        -----
        A detached tree is exported as it is. A label that is not a category of an ordered column, which ``predict``
        refuses, is missing to the model, and ``unknown_category="error"`` cannot be expressed: unknown categories carry
        no information. onnxruntime turns None into the text "None"; pass the text for missing values instead.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryTreeRegressor(max_depth=2).fit(X, y).to_onnx()  # doctest: +SKIP
        >>> onnx.save(model, "diabetes.onnx")  # doctest: +SKIP
        """
        from tritree.inspection.onnx import draw_onnx

        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        grown = self
        if not self._model.is_detached and self._model.n_ungrown:
            grown = self._copy()
            try:
                grown.grow_all(max_nodes)
            except GrowthLimitError as error:
                error.remedy = (
                    "raise max_nodes, lower max_depth, export what the rows you expect need (predict them, then "
                    "detach()), or fit with missing='mia', 'majority' or 'surrogate', whose trees are small"
                )
                raise
        if grown.n_nodes_ > max_nodes:
            raise GrowthLimitError(
                grown.n_nodes_, max_nodes, "raise max_nodes, or fit a smaller tree with a lower max_depth"
            )
        return draw_onnx(grown.to_dict())
