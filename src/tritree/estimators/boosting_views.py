"""The views of boosting, and of each of its trees."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tritree.encoder import column_errors
from tritree.estimators.ensemble_views import EnsembleViews
from tritree.estimators.growing_model import warn_of_ungrown
from tritree.estimators.onnx_views import OnnxViews
from tritree.estimators.tree_views import OneTreeViews
from tritree.estimators.views import ImportanceViews
from tritree.validation import count_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree.estimators.export import Exporter
    from tritree.estimators.fitted_state import FittedState
    from tritree.estimators.growing_model import CoreTable, GrowingModel
    from tritree.inspection.contributions import Contributions
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays


class BoostingViews(EnsembleViews):
    """The views of boosting."""

    _aggregation = "sum"
    _size_remedy = "fit fewer or smaller trees (max_iter, max_depth)"

    def _predictions_from_raw(
        self, fitted: FittedState, raw: NDArray[np.float64], variance: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        raise NotImplementedError

    @property
    def estimators_(self) -> NDArray[Any]:
        """The trees, an array of shape (n_iter_, n_outputs) of `BoostedTree`, which have the views of a single tree.

        With more than two classes, each iteration has a tree per class, in the order of ``classes_``; otherwise there
        is one output.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tritree import TrinaryBoostingClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = TrinaryBoostingClassifier(max_iter=5, max_depth=1, max_features=1.0).fit(X, y)
        >>> model.estimators_.shape
        (5, 3)
        >>> print(model.estimators_[0, 2].to_text())
        tree 2 of 15, trinary_mia boosting, contributions to the score of 2: 3 nodes, 2 leaves, ...
        ● leaf ...
        <BLANKLINE>
                                rows  fraction  value
        all rows                 150         ...
        ├─ petal length (cm) ...
        """
        model = self._snapshot()
        trees = np.empty((model._model.n_iterations, model._model.n_outputs), dtype=object)
        for iteration, output in np.ndindex(trees.shape):
            trees[iteration, output] = BoostedTree(model, iteration, output)
        return trees

    @property
    def _origin(self) -> dict[str, str]:
        """What headlines call the model, if it is not boosting of its own: {"model": ...}."""
        return {}

    def _tree_at(self, number: int) -> BoostedTree:
        return BoostedTree(self._snapshot(), *divmod(number, self._model.n_outputs))

    def _value_name(self, k: int) -> str:
        from tritree.inspection.formatting import as_label

        labels, link = self._labels(), self._link
        if labels is None:
            return {"log": "the logarithm of the prediction", "expit": "the log-odds"}.get(link, "the sum")
        name = {"logit": "log-odds", "sigmoid_each": "log-odds", "probability": "probability"}.get(
            link, "score"
        )
        return f"the {name} of {as_label(labels[k])}"

    @property
    def _loss_name(self) -> str:
        return str(self._fit_params["loss"])

    def _describe_for_page(self, number: int, arrays: TreeArrays) -> dict[str, Any]:
        model, n_grown = self._model, len(arrays.column) - arrays.n_fitted
        both = (
            np.column_stack([arrays.value, arrays.variance])
            if model.core.params["estimates_variance"]
            else None
        )
        tree = self._describe_arrays(arrays, None, n_grown=n_grown, detached=model.is_detached, values=both)
        return tree | {"task": "boosting", "ensemble": self._place_of(number)}

    def _place_of(self, number: int) -> dict[str, Any]:
        """Return which tree a number is, and to which sum it contributes."""
        labels, n_outputs = self._labels(), self._model.n_outputs
        output = 1 if labels is not None and n_outputs == 1 else number % n_outputs
        place = {"tree": number, "n_trees": self._model.n_trees, "sum": self._value_name(output)}
        return place | self._origin

    def _summary(self) -> dict[str, Any]:
        return super()._summary() | {"baseline": self._model.core.baseline} | self._origin

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The normalised total gain of the splits on each column; zeros if there are none.

        The gain of a split is the reduction of the loss of its iteration, to second order. Third branches are left
        out, because they are fitted to predictions.
        """
        return self._model.importances(count_threads(self.n_jobs))

    def _predict_explained(self, rows: Rows) -> tuple[NDArray[np.float64], Callable[..., Contributions]]:
        from tritree.inspection.contributions import contributions_to_sum

        model, of_classes = self._model, self._labels() is not None
        raw, variance = model.predict(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        warn_of_ungrown(model)
        return self._predictions_from_raw(self._fitted, raw, variance), lambda chosen: contributions_to_sum(
            model.trees(), rows.columns, raw, variance, model.core.baseline, chosen, of_classes=of_classes
        )

    def _to_onnx(self) -> ModelProto:
        from tritree.inspection.onnx import sum_to_onnx

        classes = self._labels()
        trees = (
            self._describe_arrays(
                tree, None, detached=True, values=np.column_stack([tree.value, tree.variance])
            )
            for tree in self._model.trees()
        )
        return sum_to_onnx(trees, classes, self._model.core.baseline, self._link)


class BoostedTree(OneTreeViews, ImportanceViews, OnnxViews):
    """A tree of boosting, with the views of a single tree.

    It is a view of the model that was fitted when it was made, not a copy as the trees of a forest are: it shows the
    tree as it is now, and what `apply`, `explain` and `missing_reliance` grow is grown in the model.

    The value of a node is a contribution to the sum over trees: of the rows that end there, or the mean of those that
    go on. A third branch is fitted to the predictions of the left and right branch of its node.

    Attributes
    ----------
    iteration : int
        The boosting iteration, from 0.
    output : int
        The number of the class, with more than two classes; else 0.
    tree_ : Tree
        The tree as flat arrays, one per field, as it is now.
    n_nodes_ : int
        Number of nodes grown so far.
    n_grown_ : int
        Number of nodes that were grown on demand, after fitting.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total gain of the fitted splits of the tree on each column.
    """

    _size_remedy = "fit smaller trees with a lower max_depth"

    def __init__(self, model: BoostingViews, iteration: int, output: int) -> None:
        self._boosting, self.iteration, self.output = model, iteration, output

    @property
    def _number(self) -> int:
        return self.iteration * int(self._boosting._model.core.n_outputs) + self.output

    def __repr__(self) -> str:
        from tritree.inspection.captions import headline

        return f"<{headline(self.to_dict())}>"

    def _repr_html_(self) -> str:
        return self._to_notebook()

    @property
    def n_nodes_(self) -> int:
        """Number of nodes grown so far."""
        return len(self.tree_.column)

    @property
    def n_grown_(self) -> int:
        """Number of nodes that were grown on demand, after fitting."""
        return len(self.tree_.column) - self.tree_.n_fitted

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the index of the node that each row ends in: a column of what `apply` of the model returns."""
        nodes: NDArray[np.int32] = self._boosting.apply(X)[:, self._number]
        return nodes

    def _snapshot(self) -> Self:
        return self  # of the model, it has a snapshot

    def _arrays_now(self) -> TreeArrays:
        tree: TreeArrays = self._boosting._model.core.tree(self._number)
        return tree

    def _describe(self, arrays: TreeArrays) -> dict[str, Any]:
        boosting, model = self._boosting, self._boosting._model
        n_grown = len(arrays.column) - arrays.n_fitted
        tree = boosting._describe_arrays(arrays, None, n_grown=n_grown, detached=model.is_detached)
        for node, gain in zip(tree["nodes"], arrays.gain.tolist(), strict=True):
            del node["loss"]
            if model.missing != "fractional":
                del node["weight"]
            if node["split"] is not None:
                node["split"]["gain"] = gain
        return tree | {"task": "boosting", "ensemble": boosting._place_of(self._number)}

    def _add_distribution(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:  # noqa: ARG002
        tree["edges"] = None  # the targets of an iteration are not kept

    def _estimator_and_loss(self) -> tuple[Any, str]:
        return self._boosting, self._boosting._loss_name

    def _grown_copy(self, rows: Rows | None, max_nodes: int) -> Self:  # noqa: ARG002
        if rows is None or self._boosting._model.is_detached:
            return self
        grown = self._with_model(self._boosting._model.copy())
        for j in (None, *range(len(rows.columns))):
            grown._grow_iteration(rows, also_missing=j)
        return grown

    def _grow_for(self, rows: Rows) -> None:
        self._grow_iteration(rows)
        warn_of_ungrown(self._boosting._model)

    def _grow_iteration(self, rows: Rows, also_missing: int | None = None) -> None:
        """Grow the branches of this iteration that rows need."""
        columns = [None if j == also_missing else column for j, column in enumerate(rows.columns)]
        iterations = self.iteration, self.iteration + 1
        with column_errors(self._boosting._encoder):
            self._boosting._model.predict(
                columns, rows.n_rows, count_threads(self._boosting.n_jobs), iterations
            )

    def missing_reliance(self, X: Any) -> NDArray[np.float64]:
        """Return for each column how much the tree relies on its missing branches for these rows.

        See `TrinaryTreeRegressor.missing_reliance`.
        """
        from tritree.inspection.contributions import missing_reliance

        rows = self._boosting._read_cells(X)
        self._grow_for(rows)
        return missing_reliance(self._arrays_now(), rows.columns, rows.n_rows)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The normalised total gain of the fitted splits of the tree on each column."""
        tree = self._arrays_now()
        splits = np.flatnonzero(tree.column[: tree.n_fitted] >= 0)
        n_columns = len(self._boosting._encoder.columns)
        gains: NDArray[Any] = np.bincount(tree.column[splits], tree.gain[splits], minlength=n_columns)
        return gains / (gains.sum() or 1.0)

    def _feature_names(self) -> Sequence[str]:
        return self._boosting._feature_names()

    def _exporter(self) -> Exporter:
        return replace(self._boosting._exporter(), tree=self._number)

    def _encode_rows(self, X: Any) -> CoreTable:
        return self._boosting._encode_rows(X)

    def _with_model(self, model: GrowingModel) -> Self:
        copied = copy(self)
        copied._boosting = self._boosting._with_model(model)
        return copied

    def _to_onnx(self) -> ModelProto:
        from tritree.inspection.onnx import tree_to_onnx

        return tree_to_onnx(self.to_dict())
