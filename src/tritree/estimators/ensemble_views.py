"""The views that forests and boosting share."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.errors import ParameterError
from tritree.estimators.fitted_state import on_snapshot
from tritree.estimators.views import EstimatorViews, page_with_rows
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tritree.inspection.contributions import Contributions
    from tritree.inspection.explain import EnsembleExplanation
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays


def _only_of_one_tree(name: str) -> property:
    """Return a property for an attribute that only single trees have; the error names where to find it."""

    def get(self: Any) -> Any:
        index = "i, 0" if self._aggregation == "sum" else "i"
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}: it has many trees, and each has its own, "
            f"estimators_[{index}].{name}"
        )

    return property(get, doc="Only single trees have it; see ``estimators_``.")


class EnsembleViews(EstimatorViews):
    """The views of forests and boosting.

    Only `explain` and `missing_reliance`, which predict rows, may change the trees: they grow what the rows need.
    """

    #: How the trees are combined: "sum" or "mean".
    _aggregation: str

    @property
    def estimators_(self) -> Any:
        """The trees."""
        raise NotImplementedError

    @property
    def _link(self) -> str:
        """From the sums or means over trees to predictions: "mean", or the name of a link."""
        raise NotImplementedError

    @property
    def _loss_name(self) -> str:
        raise NotImplementedError

    def _describe_for_page(self, number: int, arrays: TreeArrays) -> dict[str, Any]:
        """Return the description of a tree by its number, with the values that a what-if page adds up."""
        raise NotImplementedError

    def _tree_at(self, number: int) -> Any:
        """Return a tree by its number among all trees."""
        raise NotImplementedError

    def _value_name(self, k: int) -> str:
        """Return the name of the sum or mean over trees, of a class by its number."""
        raise NotImplementedError

    def _predict_explained(self, rows: Rows) -> tuple[NDArray[np.float64], Callable[..., Contributions]]:
        """Return predicted numbers or probabilities, and a function from the outputs chosen to their contributions."""
        raise NotImplementedError

    def _summary(self) -> dict[str, Any]:
        """Return what `to_dict` has besides the trees."""
        classes = self._labels()
        task = "regression" if classes is None else "classification"
        return {"task": task, "classes": classes, "aggregation": self._aggregation}

    tree_ = _only_of_one_tree("tree_")
    get_depth = _only_of_one_tree("get_depth")
    get_n_leaves = _only_of_one_tree("get_n_leaves")

    def _one_tree(self, number: Any) -> Any:
        """Return a tree by its number; negative numbers count from the last."""
        try:
            n, place = self._model.n_trees, operator.index(number)
        except TypeError:
            raise ParameterError("tree", "an integer", number) from None
        if not -n <= place < n:
            raise IndexError(f"there is no tree {place}; the model has {n:,}, numbered from 0 to {n - 1:,}")
        return self._tree_at(place % n)

    @on_snapshot
    def to_dict(self, *, max_trees: int | None = None, distribution: bool = False) -> dict[str, Any]:
        """Return the trees, as far as they are grown, as plain data: ``json.dumps`` takes it as it is.

        Parameters
        ----------
        max_trees : int or None, default=None
            Maximum number of trees, the first ones. If None, all trees are included.
        distribution : bool, default=False
            Whether to add the distribution of the target to each node of regression trees, as in
            `TrinaryTreeRegressor.to_dict`. Trees of boosting have none: ``edges`` is None.

        Returns
        -------
        dict
            ``task``, ``missing`` (the strategy), ``classes`` (None in regression), ``columns``, ``aggregation`` ("sum"
            or "mean"), ``baseline`` (where the sums of boosting start), ``n_trees`` and ``trees``, each as its
            ``to_dict`` returns it.
        """
        check_int("max_trees", max_trees, 1, or_none="includes all trees")
        n = self._model.n_trees
        numbers = range(min(n, max_trees or n))
        trees = [self._tree_at(number).to_dict(distribution=distribution) for number in numbers]
        common = {name: trees[0][name] for name in ("format", "missing", "columns")}
        shared = {*common, "classes", "task"}
        own = [{name: value for name, value in tree.items() if name not in shared} for tree in trees]
        return common | self._summary() | {"n_trees": n, "trees": own}

    @on_snapshot
    def to_text(
        self,
        *,
        tree: int | None = None,
        max_depth: int | None = None,
        max_nodes: int | None = 31,
        digits: int = 4,
    ) -> str:
        """Return a summary of the trees as text, followed by the first tree; or one of the trees.

        The summary lists the most important columns, with ``feature_importances_``, the number of their splits and the
        number of trees that use them; those with the most splits if importances are no longer known.

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
             importance  splits  trees
        s5          61%       7      5
        bmi         18%       3      3
        ...
        tree 0 of 5, trinary forest, regression: 7 nodes, 4 leaves
        ...
        """
        from tritree.inspection.text import summary_to_text

        shown = self._one_tree(0 if tree is None else tree)
        text = str(shown.to_text(max_depth=max_depth, max_nodes=max_nodes, digits=digits))
        if tree is not None:
            return text
        summary = self._summary() | {"missing": self._model.missing, "n_grown": self._model.n_grown}
        try:
            importances = self.feature_importances_
        except AttributeError:  # they need the training rows, which are gone
            importances = None
        names = self._feature_names()
        return f"{summary_to_text(summary, self._model.trees(), names, importances)}\n\n{text}"

    def to_dot(
        self,
        *,
        tree: int = 0,
        max_depth: int | None = None,
        max_nodes: int | None = 200,
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
        tree: int | None = None,
        max_depth: int | None = None,
        max_nodes: int | None = 31,
        digits: int = 4,
        caption: bool = True,
    ) -> Any:
        """Plot the feature importances with matplotlib, or one of the trees.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on. If None, a new figure is created.
        tree : int or None, default=None
            Number of the tree to draw, as in `to_text`. If None, importances are drawn, as by `plot_importance`.
        max_depth, max_nodes, digits, caption
            How a tree is drawn; see `TrinaryTreeRegressor.plot`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. ``plot().figure.savefig("forest.pdf")`` saves the figure.
        """
        if tree is None:
            check_is_fitted(self)
            if not hasattr(self, "feature_importances_"):
                raise AttributeError(
                    "plot() draws feature_importances_, which need the training rows, and these are gone (detach(), or "
                    "a file saved without them); draw a tree with plot(tree=0), or access feature_importances_ once "
                    "before detach() or save()"
                )
            return self.plot_importance(ax)
        limits = {"max_depth": max_depth, "max_nodes": max_nodes}
        return self._one_tree(tree).plot(ax, digits=digits, caption=caption, **limits)

    @on_snapshot
    def to_html(
        self, path: Any = None, rows: Any = None, *, tree: int | None = None, max_nodes: int | None = None
    ) -> str | None:
        """Return an interactive what-if page, or write it to a file; or the page of one of the trees.

        The page is one file that needs no network. It has the values of one row: they can be changed or set to missing,
        and the prediction, the contribution of each column and the paths through the trees follow. Its numbers are
        those of ``predict``, ``predict_proba`` and ``explain``.

        Third branches are grown for the page, in a copy of the model: those that ``rows`` and a row of typical values
        need, then those that they need with one missing value filled, with one more value missing, and with two, up to
        ``max_nodes``. Where a row needs a branch that is not in the page, the page says so, and in how many trees.

        Parameters
        ----------
        path : str or path-like, default=None
            Path of the file; an existing file is replaced. If None, the page is returned.
        rows : table of shape (n_rows, n_features_in_), default=None
            Rows to start from in the page, at most 1,000.
        tree : int or None, default=None
            Number of a tree, as in `to_text`, whose page is returned instead; see `TrinaryTreeRegressor.to_html`.
        max_nodes : int or None, default=None
            Maximum number of nodes in the page. If None, 200,000 for all trees together, and 2,000 for one tree.

        Returns
        -------
        str or None
            The page, if ``path`` is None.

        Raises
        ------
        GrowthLimitError
            If the fitted trees alone have more than ``max_nodes`` nodes.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> page = TrinaryBoostingRegressor(max_iter=10).fit(X, y).to_html(rows=X.head(10))
        >>> page.startswith("<!DOCTYPE html>")
        True
        """
        from tritree.estimators.what_if import MAX_NODES, what_if_page

        check_int("max_nodes", max_nodes, 1, or_none="takes the default")
        if tree is not None:
            of_tree = {} if max_nodes is None else {"max_nodes": max_nodes}
            one: str | None = self._one_tree(tree).to_html(path, rows, **of_tree)
            return one
        return page_with_rows(
            self, path, rows, lambda names, cells: what_if_page(self, names, cells, max_nodes or MAX_NODES)
        )

    @on_snapshot
    def explain(self, X: Any, *, class_of_interest: Any = None) -> list[EnsembleExplanation]:
        """Explain the prediction of each row by the contribution of each column to the sum or mean over trees.

        Each step of a row from a node to a child changes the value; the change is a contribution of the column of the
        node's split, or of the surrogate that decides in its place. A step to a third branch is a contribution of the
        missing column. The trees in ``estimators_`` explain their predictions by the path of the row. Branches that the
        rows need are grown, as in ``predict``.

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
            the value that is explained, bit for bit. For a forest it is what ``predict`` returns, or the probability of
            the class. For boosting it is the sum over trees: what ``decision_function`` returns, or ``predict`` in
            regression (its logarithm if ``loss`` is "poisson" or "gamma"); after ±, the standard deviation is printed
            that missing values leave the sum.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryForestRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> forest = TrinaryForestRegressor(max_depth=1, random_state=0).fit(X, X[:, 0] >= 35)
        >>> [explanation] = forest.explain([[np.nan, 9.0]])
        >>> print(explanation)
        predicts 0.9898
        <BLANKLINE>
                       trees  contribution
        base value       100        0.6523
        x0 is missing     53       +0.1874
        x1 = 9            47       +0.1501
        <BLANKLINE>
        f(x) = 0.9898, the mean over trees
        >>> total = explanation.base_value + sum(explanation.contributions.values()) + explanation.rounding
        >>> bool(total == forest.predict([[np.nan, 9.0]])[0])
        True
        """
        from tritree.inspection.explain import explain_contributions

        rows, labels = self._read_cells(X), self._labels()
        with column_errors(self._encoder):
            values, contributions_of = self._predict_explained(rows)
        chosen = self._choose_class(values, class_of_interest)
        return explain_contributions(
            contributions_of(chosen),
            rows.cells,
            self._feature_names(),
            labels,
            values,
            chosen,
            n_trees=self._model.n_iterations,
            aggregation=self._aggregation,
            value_names=[self._value_name(k) for k in range(len(labels or [0]))],
        )

    def _choose_class(self, values: NDArray[np.float64], class_of_interest: Any) -> NDArray[np.intp]:
        """Return the number of the class that is explained for each row, given the probabilities; 0 in regression."""
        labels = self._labels()
        if class_of_interest is None:
            return np.asarray(values.argmax(axis=1))
        if labels is None:
            raise ValueError("class_of_interest is for classifiers; leave it out")
        if class_of_interest not in labels:
            raise ParameterError("class_of_interest", f"one of {labels}", class_of_interest)
        return np.full(len(values), labels.index(class_of_interest))
