"""What a boosted model shows of itself: the methods behind which the views stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.estimators.boosting.adding_up import add_up
from tritree.estimators.boosting.ends import lead
from tritree.estimators.boosting.member import Member
from tritree.estimators.boosting.trees import MemberTree, Trees
from tritree.estimators.ensemble_views import EnsembleViews
from tritree.inspection.describe import describe
from tritree.inspection.explain_ensemble import EnsembleExplanation, explain_rows
from tritree.inspection.formatting import as_label
from tritree.inspection.rows import read_rows
from tritree.inspection.rules import WIDEST_LABEL
from tritree.validation import count_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree.estimators.growing_model import BoostingModel

__all__ = ["BoostingViews"]

LOG_LOSSES = ("poisson", "gamma")  # whose sums over trees are logarithms


class BoostingViews(EnsembleViews):
    """The views of boosting."""

    _model: BoostingModel

    def _values_of(
        self, raw: NDArray[np.float64], variance: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        raise NotImplementedError

    def _sum_in_words(self, output: int) -> str:
        """Return what the trees of an output add up to."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            return "the logarithm of the prediction" if self._fit_params["loss"] in LOG_LOSSES else "the sum"
        if len(classes) == 2:
            return f"the log-odds of {as_label(classes.tolist()[output], WIDEST_LABEL)}"
        return f"the score of {as_label(classes.tolist()[output], WIDEST_LABEL)}"

    def explain(self, X: Any, *, class_of_interest: Any = None) -> list[EnsembleExplanation]:
        """Return for each row why it gets its prediction: what each column has moved in the sum over trees.

        A row is followed down every tree, and what each step from a node to the next adds to the value goes to the
        column that the node asks for. A step to a third branch is a contribution of the column that is missing, and so
        is one both ways, under "fractional": the parts of the row are followed, each counted by what there is of it.

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
            rounding`` is the sum over trees, bit for bit: what ``decision_function`` returns, or ``predict`` in
            regression (its logarithm where ``loss`` is "poisson" or "gamma"). What is printed after ± is the standard
            deviation that missing values leave the sum.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryBoostingRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> model = TrinaryBoostingRegressor(max_depth=1, l2_regularization=0, max_features=1.0)
        >>> model = model.fit(X, X[:, 0] >= 35)
        >>> [why] = model.explain([[np.nan, 9.0]])
        >>> print(why)
        predicts 1.0000
        <BLANKLINE>
                       trees  moved by
        all rows         100    0.6500
        x1 = 9           100   +0.3500
        x0 is missing    100
        <BLANKLINE>
        the sum 1.0000
        >>> bool(why.start + sum(why.contributions.values()) + why.rounding == model.predict([[np.nan, 9.0]])[0])
        True
        """
        check_is_fitted(self)
        rows = read_rows(self, X)
        with column_errors(self._encoder):
            led = lead(self._model.core, rows.columns, rows.n_rows, count_threads(self.n_jobs))
        answers = self._answers(self._values_of(led.raw, led.doubt), class_of_interest)
        return explain_rows(
            add_up(led, answers.chosen, of_classes=answers.classes is not None),
            rows.cells,
            self._column_names(),
            answers,
            n_trees=len(led.trees) // len(led.trees.baseline),
            combined="sum",
            what=[self._sum_in_words(number) for number in range(len(answers.classes or [0]))],
            doubt=led.deviation(answers.chosen),
        )

    def member(self, number: int) -> Member:
        """Return one of the trees, with the views of a single tree: text, plot, Graphviz, HTML and plain data.

        Parameters
        ----------
        number : int
            The number of the tree, from 0 on; -1 is the last. With more than two classes, each round has a tree per
            class, in the order of ``classes_``: ``round * n_classes + class_number``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tritree import TrinaryBoostingClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = TrinaryBoostingClassifier(max_iter=5, max_depth=1, max_features=1.0).fit(X, y)
        >>> print(model.member(2).to_text())
        tree 2 of 15, trinary_mia boosting, steps in the score of 2: 3 nodes, 2 leaves, ...
        ● leaf ...
        <BLANKLINE>
                                rows  share    step
        all rows                 150         ...
        ├─ petal length (cm) ...
        """
        place, n_outputs = self._place_of(number), self._model.core.n_outputs
        return Member(self, place, self._sum_in_words(1 if self._is_binary() else place % n_outputs))

    def _is_binary(self) -> bool:
        return len(getattr(self, "classes_", ())) == 2

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of what the splits of the fitted trees have gained; zeros if there are none.

        The gain of a split is by how much it lowers the loss of its round, to second order. Third branches have no
        part in it, because they are fitted to what the trees say.
        """
        check_is_fitted(self)
        gains = Trees(self._model.core).gains()
        total = gains.sum()
        return gains / total if total > 0 else np.zeros_like(gains)

    def to_onnx(self, *, max_nodes: int = 500_000) -> ModelProto:
        """Return the model as it is grown as an ONNX model, which onnxruntime and others run without Python.

        Rows with holes are answered as far as third branches are grown: call `grow_for` before, with rows like those to
        come. A row that comes to a branch that is not grown gets the mean of the node, as from a detached model.

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
            If ONNX cannot express the trees: under "fractional", with paths of more than 1,000 questions, or with whole
            numbers from 2**63 on as classes.

        Notes
        -----
        The sum over trees is the same to the last bit; what it means, an exponential or shares of classes, may be off
        in the last digits. A label that is none of an ordered column's categories, which ``predict`` refuses, is
        missing to the model, and ``unknown_category="error"`` cannot be expressed.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryBoostingRegressor(max_depth=2).fit(X, y).to_onnx()  # doctest: +SKIP
        >>> onnx.save(model, "diabetes.onnx")  # doctest: +SKIP
        """
        from tritree.inspection.onnx_sum import draw_onnx_sum

        self._check_size(max_nodes, "max_iter, max_depth, max_third_nodes")
        self._warn_nothing_grown("onnx")
        trees = Trees(self._model.core)
        classes = self._labels()
        described = (
            describe(with_doubt(tree), self._encoder, None, missing=trees.missing, n_grown=0, detached=True)
            for tree in trees
        )
        if classes is None:
            link = "log" if self._fit_params["loss"] in LOG_LOSSES else "identity"
        else:
            link = "logit" if len(classes) == 2 else "softmax"
        return draw_onnx_sum(described, trees.baseline, classes=classes, link=link)


def with_doubt(tree: MemberTree) -> MemberTree:
    """Return a tree whose values are two numbers: what it adds to the sum, and what to the variance of the sum."""
    return replace(tree, value=np.column_stack([tree.value, tree.doubt]))
