"""The views of a forest, and its trees as single trees."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.estimators.ensemble_views import EnsembleViews
from tritree.estimators.growing_model import GrowingModel
from tritree.inspection.captions import WIDEST_LABEL
from tritree.inspection.contributions import contributions_to_mean
from tritree.inspection.describe import describe
from tritree.inspection.explain import EnsembleExplanation, explain_rows
from tritree.inspection.formatting import as_label
from tritree.validation import count_threads

if TYPE_CHECKING:
    from onnx import ModelProto

    from tritree.estimators.tree import BaseTree

__all__ = ["ForestTrees", "ForestViews"]


class ForestTrees(Sequence[Any]):
    """The trees of a forest, as fitted single trees; each is a copy that is made when it is accessed."""

    def __init__(self, forest: ForestViews) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return self._forest._model.n_trees

    def __repr__(self) -> str:
        return f"<{len(self):,} trees of {type(self._forest).__name__}>"

    @overload
    def __getitem__(self, index: int) -> BaseTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTree]: ...
    def __getitem__(self, index: int | slice) -> BaseTree | list[BaseTree]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        tree: BaseTree = self._forest._one_tree(operator.index(index))
        return tree


class ForestViews(EnsembleViews):
    """The views of a forest."""

    _model: GrowingModel
    _size_parameters = "n_estimators, max_depth, min_samples_leaf, max_third_nodes"

    @property
    def estimators_(self) -> ForestTrees:
        """The trees, as a sequence of `TrinaryTreeRegressor` or `TrinaryTreeClassifier`.

        A tree is a copy, grown as far as in the forest, that shares the training rows with it and goes on to grow by
        itself: whatever is done to it does not change the forest.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryForestRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> forest = TrinaryForestRegressor(max_depth=1, n_estimators=20, random_state=0).fit(X, X[:, 0] >= 35)
        >>> print(forest.estimators_[3].to_text())
        tree 3 of 20, trinary forest, regression: 3 nodes, 2 leaves, 1 branch not grown yet
        ● leaf ...
        <BLANKLINE>
                       rows  fraction   mean
        all rows        100            ...
        ├─ x0 < ...
        ├─ x0 ≥ ...
        ╰┄ x0 missing  not grown yet
        """
        check_is_fitted(self)
        return ForestTrees(self)

    def _tree_at(self, number: int) -> BaseTree:
        from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor

        classes = getattr(self, "classes_", None)
        kind: type[BaseTree] = TrinaryTreeRegressor if classes is None else TrinaryTreeClassifier
        tree = kind(**{name: getattr(self, name) for name in kind._get_param_names()})
        core, position = self._model.core.copy_of_tree(number), (number, self._model.n_trees)
        model = GrowingModel(core, "tree of a forest", position=position)
        tree._set_fitted(model, self._encoder, classes)
        return tree

    def _summary(self) -> dict[str, Any]:
        classes = self._labels()
        task = "regression" if classes is None else "classification"
        return {"task": task, "classes": classes, "aggregation": "mean"}

    def explain(self, X: Any, *, class_of_interest: Any = None) -> list[EnsembleExplanation]:
        """Explain the prediction of each row by the contribution of each column to the mean over trees.

        Each step of a row from a node to a child changes the value; the change is a contribution of the column of the
        node's split, or of the surrogate that decides in its place. A step to a third branch is a contribution of the
        missing column. ``estimators_[i].explain(X)`` shows the path through one of the trees. Branches that the rows
        need are grown, as in ``predict``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with or without missing values.
        class_of_interest : object, default=None
            Class to explain, one of ``classes_``. If None, the predicted class of each row. Only for classifiers.

        Returns
        -------
        list of EnsembleExplanation
            One per row. ``print`` shows the contributions. ``base_value + sum(contributions.values()) + rounding`` is
            what ``predict`` returns, or the probability of the class, bit for bit.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryForestRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> forest = TrinaryForestRegressor(max_depth=1, random_state=0).fit(X, X[:, 0] >= 35)
        >>> [explanation] = forest.explain([[np.nan, 9.0]])
        >>> print(explanation)
        predicts 0.9805
        <BLANKLINE>
                       trees  contribution
        all rows         100        0.6523
        x1 = 9           100       +0.3282
        x0 is missing    100
        <BLANKLINE>
        the mean over trees 0.9805
        >>> total = explanation.base_value + sum(explanation.contributions.values()) + explanation.rounding
        >>> bool(total == forest.predict([[np.nan, 9.0]])[0])
        True
        """
        rows, model = self._read_cells(X), self._model
        with column_errors(self._encoder):
            values, _ = model.predict(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        self._warn_of_ungrown()
        predictions = self._choose_class(values, class_of_interest)
        total = values[np.arange(len(values)), predictions.chosen]
        labels = self._labels()
        return explain_rows(
            contributions_to_mean(model.trees(), rows.columns, predictions.chosen, total),
            rows.cells,
            self._feature_names(),
            predictions,
            n_trees=model.n_trees,
            aggregation="mean",
            value_names=["the mean over trees"]
            if labels is None
            else [f"the mean probability of {as_label(label, WIDEST_LABEL)}" for label in labels],
        )

    def _draw_onnx(self) -> ModelProto:
        from tritree.inspection.onnx_ensemble import draw_onnx_mean

        classes, missing = self._labels(), self._model.missing
        described = (
            describe(tree, self._encoder, classes, missing=missing, n_grown=0, detached=True)
            for tree in self._model.trees()
        )
        return draw_onnx_mean(described, self._model.n_trees, classes=classes)
