"""What a boosted model shows of itself: the methods behind which the views stand."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.boosting.ends import lead
from tritree.boosting.explain import Answers, BoostingExplanation, explain_rows
from tritree.boosting.member import Member
from tritree.boosting.trees import Trees
from tritree.codec import infinite_values_named
from tritree.errors import GrowthLimitError
from tritree.parameters import UNKNOWN_CATEGORY, check_choice, check_int, count_threads
from tritree.table import read_table
from tritree.tabular import TabularEstimator
from tritree.views.describe import describe
from tritree.views.explain import read_cells
from tritree.views.notation import as_label
from tritree.views.reliance import reliance
from tritree.views.rules import WIDEST_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree import _core
    from tritree.views.explain import Cell

__all__ = ["ReadRows", "ViewableBoosting"]

LOG_LOSSES = ("poisson", "gamma")  # whose sums over trees are logarithms


@dataclass(frozen=True)
class ReadRows:
    """Rows to predict: as the core takes them, and cell by cell as the user knows them."""

    columns: Sequence[_core.Column | None]
    n_rows: int
    cells: list[tuple[Cell, ...]]


class ViewableBoosting(TabularEstimator):
    """A boosted model that can be looked at."""

    _ensemble: _core.Ensemble

    def _loss_answer(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _read_rows(self, X: Any) -> ReadRows:
        check_is_fitted(self)
        check_choice("unknown_category", self.unknown_category, UNKNOWN_CATEGORY)
        table = read_table(X)
        matched = list(self._codec.match(table, type(self).__name__))
        refuse = self.unknown_category == "error"
        columns = [None if c is None else known.encode(c, refuse_unknown=refuse) for known, c in matched]
        cells = [
            read_cells(known, column, values, table.n_rows)
            for (known, column), values in zip(matched, columns, strict=True)
        ]
        return ReadRows(columns, table.n_rows, list(zip(*cells, strict=True)))

    def _column_names(self) -> Sequence[str]:
        return self._codec.names or [f"x{j}" for j in range(len(self._codec.columns))]

    def _sum_in_words(self, output: int) -> str:
        """Return what the trees of an output add up to."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            return "the logarithm of the prediction" if self.loss in LOG_LOSSES else "the sum"
        if len(classes) == 2:
            return f"the log-odds of {as_label(classes.tolist()[output], WIDEST_LABEL)}"
        return f"the score of {as_label(classes.tolist()[output], WIDEST_LABEL)}"

    def explain(self, X: Any, *, class_of_interest: Any = None) -> list[BoostingExplanation]:
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
        list of BoostingExplanation
            One per row. Printed, it tells what each column has moved. ``start + sum(contributions.values()) +
            rounding`` is the sum over trees, bit for bit: what ``decision_function`` returns, or ``predict`` in
            regression (its logarithm where ``loss`` is "poisson" or "gamma").

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryBoostingRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> model = TrinaryBoostingRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
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
        >>> why.start + sum(why.contributions.values()) + why.rounding == model.predict([[np.nan, 9.0]])[0]
        np.True_
        """
        rows = self._read_rows(X)
        with infinite_values_named(self._codec):
            led = lead(self._ensemble, rows.columns, rows.n_rows, count_threads(self.n_jobs))
        answers = self._answers(self._loss_answer(led.raw), class_of_interest)
        return explain_rows(led, rows.cells, self._column_names(), answers)

    def _answers(self, values: NDArray[np.float64], class_of_interest: Any) -> Answers:
        """Return what is predicted, and what of it is explained."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            if class_of_interest is not None:
                raise ValueError("class_of_interest is for classifiers; leave it out")
            chosen = np.zeros(len(values), dtype=np.intp)
            return Answers(None, values[:, 0].tolist(), values, chosen, [self._sum_in_words(0)])
        labels, best = classes.tolist(), values.argmax(axis=1)
        chosen = best
        if class_of_interest is not None:
            if class_of_interest not in labels:
                raise ValueError(f"class_of_interest must be one of {labels}, got {class_of_interest!r}")
            chosen = np.full_like(best, labels.index(class_of_interest))
        sums = [self._sum_in_words(number) for number in range(len(labels))]
        return Answers(labels, classes[best].tolist(), values, chosen, sums)

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
        >>> model = TrinaryBoostingClassifier(max_iter=5, max_depth=1).fit(X, y)
        >>> print(model.member(2).to_text())
        tree 2 of 15, trinary_mia boosting, steps in the score of 2: 3 nodes, 2 leaves, ...
        ● leaf ...
        <BLANKLINE>
                                rows  share    step
        all rows                 150         ...
        ├─ petal width (cm) ...
        """
        check_is_fitted(self)
        n = self._ensemble.n_trees
        place = operator.index(number)
        if not -n <= place < n:
            raise IndexError(f"there is no tree {place}; the model has {n:,}, numbered from 0 to {n - 1:,}")
        place %= n
        n_outputs = self._ensemble.n_outputs
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
        gains = Trees(self._ensemble).gains()
        total = gains.sum()
        return gains / total if total > 0 else np.zeros_like(gains)

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
        from tritree.views.plots import draw_importance

        check_int("max_columns", max_columns, 1)
        importances = self.feature_importances_.tolist()
        return draw_importance(self._column_names(), importances, ax, max_columns)

    def reliance_on_missing_(self, X: Any) -> NDArray[np.float64]:
        """Return per column how often these rows come to a split on it without a usable value.

        That is the share of pairs of a row and a tree in which the row, on its way down, meets such a split once or
        more often: the value is missing, its column is absent, or it is a category that tells nothing there. What the
        rows need is grown first, as by ``predict``.

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
        >>> model = TrinaryBoostingRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> nan = np.nan
        >>> model.reliance_on_missing_([[nan, 9.0], [nan, nan], [50.0, nan], [50.0, 5.0]])
        array([0.5 , 0.25])
        """
        columns, n_rows, n_threads = self._encode(X)
        with infinite_values_named(self._codec):
            self._ensemble.apply(columns, n_rows, n_threads)  # grow what the rows need
        trees = Trees(self._ensemble)
        relied: NDArray[np.float64] = sum(
            (reliance(tree, columns, n_rows) for tree in trees), start=np.zeros(trees.n_columns)
        )
        return relied / len(trees)

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
        from tritree.views.onnx_sum import draw_onnx_sum

        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        trees = Trees(self._ensemble)
        if trees.n_nodes > max_nodes:
            raise GrowthLimitError(
                f"the trees have {trees.n_nodes:,} nodes, more than max_nodes={max_nodes:,}; raise max_nodes, or fit "
                "fewer or smaller trees (max_iter, max_depth, max_third_nodes)"
            )
        classes = getattr(self, "classes_", None)
        described = (
            describe(tree, self._codec, None, missing=trees.missing, n_grown=0, detached=True)
            for tree in trees
        )
        if classes is None:
            link = "log" if self.loss in LOG_LOSSES else "identity"
        else:
            link = "logit" if len(classes) == 2 else "softmax"
        labels = None if classes is None else classes.tolist()
        return draw_onnx_sum(described, trees.baseline, classes=labels, link=link)
