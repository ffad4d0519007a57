"""The views of a forest, and its trees as single trees."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from tritree.estimators.ensemble_views import EnsembleViews
from tritree.estimators.growing_model import GrowingModel, warn_of_ungrown
from tritree.validation import count_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree.estimators.tree import BaseTree
    from tritree.inspection.contributions import Contributions
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays


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

    _aggregation = "mean"
    _size_remedy = "fit fewer or smaller trees (n_estimators, max_depth, min_samples_leaf)"

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
        tree 3 of 20, trinary forest, regression: 3 nodes, 2 leaves
        ● leaf ...
        <BLANKLINE>
                     rows  fraction    mean
        all rows      100            0.6800
        ┊  x1 missing: both ways
        ├─ x1 < 2.5    31       31%  0.0000  ●
        ╰─ x1 ≥ 2.5    69       69%  0.9855  ●
        """
        return ForestTrees(self._snapshot())

    def _tree_at(self, number: int) -> BaseTree:
        from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor

        classes = self._fitted.classes
        kind: type[BaseTree] = TrinaryTreeRegressor if classes is None else TrinaryTreeClassifier
        tree = kind(**{name: getattr(self, name) for name in kind._get_param_names()})
        core, position = self._model.core.copy_of_tree(number), (number, self._model.n_trees)
        model = GrowingModel(core, "tree of a forest", position=position)
        tree._set_fitted(model, self._encoder, classes, self.metadata_)
        return tree

    def _value_name(self, k: int) -> str:
        from tritree.inspection.formatting import as_label

        labels = self._labels()
        return "the mean over trees" if labels is None else f"the mean probability of {as_label(labels[k])}"

    @property
    def _link(self) -> str:
        return "mean"

    @property
    def _loss_name(self) -> str:
        return str(self._fit_params["criterion"])

    def _describe_for_page(self, number: int, arrays: TreeArrays) -> dict[str, Any]:
        model, n_grown = self._model, len(arrays.column) - arrays.n_fitted
        tree = self._describe_arrays(arrays, self._labels(), n_grown=n_grown, detached=model.is_detached)
        return tree | {"ensemble": {"tree": number, "n_trees": model.n_trees}}

    def _predict_explained(self, rows: Rows) -> tuple[NDArray[np.float64], Callable[..., Contributions]]:
        from tritree.inspection.contributions import contributions_to_mean

        model = self._model
        values, _ = model.predict(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        warn_of_ungrown(model)
        return values, lambda chosen: contributions_to_mean(
            model.trees(), model.n_trees, rows.columns, values, chosen
        )

    def _to_onnx(self) -> ModelProto:
        from tritree.inspection.onnx import mean_to_onnx

        classes = self._labels()
        trees = (self._describe_arrays(tree, classes, detached=True) for tree in self._model.trees())
        return mean_to_onnx(trees, classes)
