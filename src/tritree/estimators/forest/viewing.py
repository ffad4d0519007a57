"""What a forest shows of itself: the methods behind which the views stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.estimators.ensemble_views import EnsembleViews
from tritree.estimators.forest.adding_up import add_up
from tritree.estimators.growing_model import TreeModel
from tritree.inspection.describe import describe
from tritree.inspection.explain_ensemble import EnsembleExplanation, explain_rows
from tritree.inspection.formatting import as_label
from tritree.inspection.rows import read_rows
from tritree.inspection.rules import WIDEST_LABEL
from tritree.validation import count_threads

if TYPE_CHECKING:
    from onnx import ModelProto

    from tritree.estimators.growing_model import ForestModel
    from tritree.estimators.tree import BaseTree

__all__ = ["ForestViews"]


class ForestViews(EnsembleViews):
    """The views of a forest."""

    _model: ForestModel

    def explain(self, X: Any, *, class_of_interest: Any = None) -> list[EnsembleExplanation]:
        """Return for each row why it gets its prediction: what each column has moved in the mean over trees.

        A row is followed down every tree, and what each step from a node to the next adds to the value goes to the
        column that the node asks for, or to the surrogate that decides in its place. A step to a third branch is a
        contribution of the column that is missing. ``member(i).explain(X)`` tells the path through one of the trees.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.
        class_of_interest : object, default=None
            The class to explain, one of ``classes_``; None explains for each row the class that is predicted. Of
            classifiers only.

        Returns
        -------
        list of EnsembleExplanation
            One per row. Printed, it tells what each column has moved. ``start + sum(contributions.values()) +
            rounding`` is what ``predict`` returns, or the probability of the class, bit for bit.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryForestRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> forest = TrinaryForestRegressor(max_depth=1, random_state=0).fit(X, X[:, 0] >= 35)
        >>> [why] = forest.explain([[np.nan, 9.0]])
        >>> print(why)
        predicts 0.9805
        <BLANKLINE>
                       trees  moved by
        all rows         100    0.6523
        x1 = 9           100   +0.3282
        x0 is missing    100
        <BLANKLINE>
        the mean over trees 0.9805
        >>> bool(why.start + sum(why.contributions.values()) + why.rounding == forest.predict([[np.nan, 9.0]])[0])
        True
        """
        check_is_fitted(self)
        rows = read_rows(self, X)
        with column_errors(self._encoder):
            values = self._model.predict(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        self._warn_of_ungrown()
        answers = self._answers(values, class_of_interest)
        total = values[np.arange(len(values)), answers.chosen]
        return explain_rows(
            add_up(self._model, rows.columns, answers.chosen, total),
            rows.cells,
            self._column_names(),
            answers,
            n_trees=self.n_trees_,
            combined="mean",
            what=self._means_in_words(),
        )

    def _means_in_words(self) -> list[str]:
        """Return what the means over trees are, by the number of the class."""
        labels = self._labels()
        if labels is None:
            return ["the mean over trees"]
        return [f"the mean share of {as_label(label, WIDEST_LABEL)}" for label in labels]

    def member(self, number: int) -> BaseTree:
        """Return one of the trees, as a single tree that has grown as far as it has in the forest.

        It is a `TrinaryTreeRegressor` or a `TrinaryTreeClassifier`, fitted, with all that these can do: text, plot,
        Graphviz, HTML and plain data, ``predict``, ``explain``, ``to_onnx`` and ``save``. It shares the training rows
        with the forest, and goes on to grow on its own: what is done to it does not change the forest.

        Parameters
        ----------
        number : int
            The number of the tree, from 0 on; -1 is the last.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryForestRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> forest = TrinaryForestRegressor(max_depth=1, n_estimators=20, random_state=0).fit(X, X[:, 0] >= 35)
        >>> print(forest.member(3).to_text())
        tree 3 of 20, trinary forest, mean response: 3 nodes, 2 leaves, 1 branch not grown yet
        ● leaf ...
        <BLANKLINE>
                       rows  share   mean
        all rows        100         ...
        ├─ x0 < ...
        ├─ x0 ≥ ...
        ╰┄ x0 missing  not grown yet
        """
        from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor

        place, classes = self._place_of(number), getattr(self, "classes_", None)
        kind: type[BaseTree] = TrinaryTreeRegressor if classes is None else TrinaryTreeClassifier
        tree = kind(**{name: getattr(self, name) for name in kind._get_param_names()})
        model = TreeModel(self._model.copy_of(place), position=(place, self.n_trees_))
        tree._set_fitted(model, self._encoder, classes)
        return tree

    def to_onnx(self, *, max_nodes: int = 500_000) -> ModelProto:
        """Return the forest as it is grown as an ONNX model, which onnxruntime and others run without Python.

        Rows with holes are answered as far as third branches are grown: call `grow_for` before, with rows like those to
        come. A row that comes to a branch that is not grown gets the value of the node, as from a detached forest.

        Where no column holds text, the model has one input ``X``, an array of float64 with NaN where a value is
        missing; else one input per column, called as the column is: float64 or text of shape (rows, 1). ONNX has no
        missing text: an empty one stands for it, or ``_`` where the empty text is a category; the input's
        description says which. Outputs are ``prediction``, or ``label`` and ``probabilities``. Needs the package onnx
        (``pip install tritree[onnx]``).

        Parameters
        ----------
        max_nodes : int, default=500_000
            The most nodes the trees may have together.

        Returns
        -------
        onnx.ModelProto
            Write it with ``onnx.save``.

        Raises
        ------
        GrowthLimitError
            If the trees have more than ``max_nodes`` nodes.
        ValueError
            If ONNX cannot express the trees: under "fractional", with paths of more than 1,000 questions, or with
            whole numbers from 2**63 on as classes.

        Notes
        -----
        Answers are the same to the last bit. A label that is none of an ordered column's categories, which
        ``predict`` refuses, is missing to the model, and ``unknown_category="error"`` cannot be expressed.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryForestRegressor(n_estimators=10).fit(X, y).to_onnx()  # doctest: +SKIP
        >>> onnx.save(model, "diabetes.onnx")  # doctest: +SKIP
        """
        from tritree.inspection.onnx_sum import draw_onnx_mean

        self._check_size(max_nodes, "n_estimators, max_depth, min_samples_leaf, max_third_nodes")
        self._warn_nothing_grown("onnx")
        classes, missing = self._labels(), self._model.missing
        described = (
            describe(tree, self._encoder, classes, missing=missing, n_grown=0, detached=True)
            for tree in self._model.trees()
        )
        return draw_onnx_mean(described, self.n_trees_, classes=classes)
