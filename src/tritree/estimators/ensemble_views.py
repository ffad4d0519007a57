"""The views that forests and boosting share."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.errors import GrowthLimitError, ParameterError
from tritree.estimators.views import EstimatorViews
from tritree.inspection import dot
from tritree.inspection.explain import Predictions
from tritree.inspection.html import MAX_NODES as PAGE_NODES
from tritree.inspection.layout import MAX_NODES as FIGURE_NODES
from tritree.inspection.text import draw_summary
from tritree.validation import check_int

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

__all__ = ["EnsembleViews"]

SUMMARY_NODES = 31  # of the first tree, in the text of an ensemble


class EnsembleViews(EstimatorViews):
    """The views of forests and boosting. None of them changes the trees."""

    @property
    def estimators_(self) -> Any:
        """The trees."""
        raise NotImplementedError

    def _tree_at(self, number: int) -> Any:
        """Return a tree by its number among all trees."""
        raise NotImplementedError

    def _summary(self) -> dict[str, Any]:
        """Return what `to_dict` has besides the trees."""
        raise NotImplementedError

    def _one_tree(self, number: Any) -> Any:
        """Return a tree by its number; negative numbers count from the last."""
        check_is_fitted(self)
        try:
            n, place = self._model.n_trees, operator.index(number)
        except TypeError:
            raise ParameterError("tree", "an integer", number) from None
        if not -n <= place < n:
            raise IndexError(f"there is no tree {place}; the model has {n:,}, numbered from 0 to {n - 1:,}")
        return self._tree_at(place % n)

    def to_dict(self, *, max_trees: int | None = None) -> dict[str, Any]:
        """Return the trees, as far as they are grown, as plain data: ``json.dumps`` takes it as it is.

        Parameters
        ----------
        max_trees : int or None, default=None
            Maximum number of trees, the first ones. If None, all trees are included.

        Returns
        -------
        dict
            ``task``, ``missing`` (the strategy), ``classes`` (None in regression), ``columns``, ``aggregation`` ("sum"
            or "mean"), ``baseline`` (where the sums of boosting start), ``n_trees`` and ``trees``, each as its
            ``to_dict`` returns it.
        """
        check_is_fitted(self)
        check_int("max_trees", max_trees, 1, or_none="includes all trees")
        n = self._model.n_trees
        trees = [self._tree_at(number).to_dict() for number in range(min(n, max_trees or n))]
        common = {name: trees[0][name] for name in ("format", "missing", "columns")}
        shared = {*common, "classes", "task"}
        own = [{name: value for name, value in tree.items() if name not in shared} for tree in trees]
        return common | self._summary() | {"n_trees": n, "trees": own}

    def to_text(
        self,
        *,
        tree: int | None = None,
        max_depth: int | None = None,
        max_nodes: int | None = SUMMARY_NODES,
        digits: int = 4,
    ) -> str:
        """Return a summary of the trees as text, followed by the first tree; or one of the trees.

        The summary lists the columns with the most splits.

        Parameters
        ----------
        tree : int or None, default=None
            Number of the tree to return, counted from 0, without the summary. With more than two classes, boosting has
            a tree per class in each iteration: number ``iteration * n_classes + k``.
        max_depth, max_nodes, digits
            As in `TrinaryTreeRegressor.to_text`; ``max_nodes`` is 31 by default.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryForestRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = TrinaryForestRegressor(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
        >>> print(forest.to_text())
        trinary forest, regression: mean of 5 trees, depth up to 2, 35 nodes, 20 leaves
        <BLANKLINE>
             splits  trees
        s5        6      5
        bmi       5      4
        ...
        tree 0 of 5, trinary forest, regression: 7 nodes, 4 leaves, 3 branches not grown yet
        ...
        """
        shown = self._one_tree(0 if tree is None else tree)
        text = str(shown.to_text(max_depth=max_depth, max_nodes=max_nodes, digits=digits))
        if tree is not None:
            return text
        summary = self._summary() | {"missing": self._model.missing, "n_grown": self._model.n_grown}
        return f"{draw_summary(summary, self._model.trees(), self._feature_names())}\n\n{text}"

    def to_dot(
        self,
        *,
        tree: int = 0,
        max_depth: int | None = None,
        max_nodes: int | None = dot.MAX_NODES,
        digits: int = 4,
    ) -> str:
        """Return one of the trees in the DOT language of Graphviz; see `TrinaryTreeRegressor.to_dot`.

        ``tree`` is its number, as in `to_text`.
        """
        text: str = self._one_tree(tree).to_dot(max_depth=max_depth, max_nodes=max_nodes, digits=digits)
        return text

    def plot(
        self,
        ax: Any = None,
        *,
        tree: int = 0,
        max_depth: int | None = None,
        max_nodes: int | None = FIGURE_NODES,
        digits: int = 4,
        caption: bool = True,
    ) -> Any:
        """Plot one of the trees with matplotlib; see `TrinaryTreeRegressor.plot`.

        ``tree`` is its number, as in `to_text`.
        """
        limits = {"max_depth": max_depth, "max_nodes": max_nodes}
        return self._one_tree(tree).plot(ax, digits=digits, caption=caption, **limits)

    def to_html(
        self, path: Any = None, rows: Any = None, *, tree: int = 0, max_nodes: int = PAGE_NODES
    ) -> str | None:
        """Return one of the trees as an interactive page, or write it to a file; see `TrinaryTreeRegressor.to_html`.

        ``tree`` is its number, as in `to_text`.
        """
        page: str | None = self._one_tree(tree).to_html(path, rows, max_nodes=max_nodes)
        return page

    def _labels(self) -> list[Any] | None:
        """Return the classes as plain labels, None in regression."""
        classes = getattr(self, "classes_", None)
        return None if classes is None else classes.tolist()

    def _choose_class(self, values: NDArray[np.float64], class_of_interest: Any) -> Predictions:
        """Return the predictions, given numbers or probabilities, and which class is explained."""
        labels = self._labels()
        if labels is None:
            if class_of_interest is not None:
                raise ValueError("class_of_interest is for classifiers; leave it out")
            return Predictions(None, values[:, 0].tolist(), values, np.zeros(len(values), dtype=np.intp))
        best = values.argmax(axis=1)
        chosen = best
        if class_of_interest is not None:
            if class_of_interest not in labels:
                raise ParameterError("class_of_interest", f"one of {labels}", class_of_interest)
            chosen = np.full_like(best, labels.index(class_of_interest))
        return Predictions(labels, [labels[number] for number in best], values, chosen)

    def to_onnx(self, *, max_nodes: int = 500_000) -> ModelProto:
        """Return the trees, as far as they are grown, as an ONNX model, which onnxruntime runs without Python.

        Rows with missing values are predicted as far as third branches are grown: call `grow_for` before, with rows
        like those to come. A row that reaches an ungrown branch gets the value of the node, as from a detached model.

        If no column holds text, the model has one input ``X``, an array of float64 with NaN for missing values; else
        one input per column, named as the column: float64 or text of shape (rows, 1). ONNX has no missing text: an
        empty string stands for it, or ``_`` if the empty string is a category; the description of the input says which.
        Outputs are ``prediction``, or ``label`` and ``probabilities``. Needs the package onnx (``pip install
        tritree[onnx]``).

        Parameters
        ----------
        max_nodes : int, default=500_000
            Maximum number of nodes, all trees together.

        Returns
        -------
        onnx.ModelProto
            The model. ``onnx.save`` writes it to a file.

        Raises
        ------
        GrowthLimitError
            If the trees have more than ``max_nodes`` nodes.
        ValueError
            If ONNX cannot express the trees: with ``missing="fractional"``, with paths of more than 1,000 comparisons,
            or with integers from 2**63 on as classes.

        Notes
        -----
        Means, and sums over boosted trees, are the same to the last bit; exponentials and probabilities of boosting may
        differ in the last digits. A label that is not a category of an ordered column, which ``predict`` refuses, is
        missing to the model, and ``unknown_category="error"`` cannot be expressed.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryForestRegressor(n_estimators=10).fit(X, y).to_onnx()  # doctest: +SKIP
        >>> onnx.save(model, "diabetes.onnx")  # doctest: +SKIP
        """
        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        if (n := self._model.n_nodes) > max_nodes:
            raise GrowthLimitError(
                n,
                max_nodes,
                f"raise max_nodes, or fit fewer or smaller trees ({self._size_parameters})",
                n_trees=self._model.n_trees,
            )
        self._warn_nothing_grown("onnx")
        return self._draw_onnx()

    _size_parameters: str

    def _draw_onnx(self) -> ModelProto:
        raise NotImplementedError
