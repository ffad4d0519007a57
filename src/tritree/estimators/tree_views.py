"""The views of one tree: of a single tree, or of one of a forest or of boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import estimator_html_repr

from tritree.encoder import column_errors
from tritree.estimators.fitted_state import on_snapshot
from tritree.estimators.growing_model import warn_of_ungrown
from tritree.estimators.views import EstimatorViews, page_with_rows
from tritree.validation import check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto

    from tritree.inspection.explain import Explanation
    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays

NOTEBOOK_TREE = 50_000  # nodes up to which a notebook shows the tree


class OneTreeViews:
    """The views of one tree, all drawn from one description of it.

    Only `explain` and `missing_reliance`, which predict rows, may change the tree: they grow what the rows need.
    """

    def _arrays_now(self) -> TreeArrays:
        """Return the arrays of the tree as it is now."""
        raise NotImplementedError

    def _describe(self, arrays: TreeArrays) -> dict[str, Any]:
        """Return the description of the tree."""
        raise NotImplementedError

    def _add_distribution(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        """Add the distribution of the target in some nodes to a description."""
        raise NotImplementedError

    def _estimator_and_loss(self) -> tuple[Any, str]:
        """Return the estimator that has the tree, and the name of the loss."""
        raise NotImplementedError

    def _grow_for(self, rows: Rows) -> None:
        """Grow the branches that rows need, as in ``predict``."""
        raise NotImplementedError

    def _grown_copy(self, rows: Rows | None, max_nodes: int) -> Self:
        """Return a copy of the tree in which the branches are grown that a page with these rows shows."""
        raise NotImplementedError

    @property
    def tree_(self) -> TreeArrays:
        """The tree as flat arrays, one per field, as it is now."""
        return self._arrays_now()

    def get_depth(self) -> int:
        """Return the depth of the tree as it is now."""
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree as it is now."""
        return int((self.tree_.column < 0).sum())

    @on_snapshot
    def to_dict(self, *, distribution: bool = False) -> dict[str, Any]:
        """Return the tree, as far as it is grown, as plain data: ``json.dumps`` takes it as it is.

        Parameters
        ----------
        distribution : bool, default=False
            Whether to add the distribution of the target to each node of a regression tree: ``edges`` are the bin
            edges, ``distribution`` of a node is the fraction per bin, None if it is no longer known.

        Returns
        -------
        dict
            ``missing`` (the strategy), ``classes`` (None in regression), ``columns``, ``nodes`` and how far they are
            grown. ``nodes[0]`` is the root. A node has ``depth``, ``rows``, ``weight``, ``loss``, ``value`` (a list:
            the mean, or the class probabilities), ``split`` (None in a leaf) and the numbers of its children ``left``,
            ``right`` and ``third`` (None if there is none, "ungrown" if it has not been grown). The page "Tables and
            models" of the documentation has the rules by which such a tree predicts. ``ensemble`` of a tree of a forest
            or of boosting has its number and the number of trees. A boosted tree has no ``loss``, its ``value`` is a
            contribution to the ``sum`` that ``ensemble`` names, and its splits have a ``gain``.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 30).to_dict()
        >>> tree["nodes"][0]["split"]["threshold"], tree["nodes"][tree["nodes"][0]["right"]]["value"]
        (29.5, [1.0])
        """
        tree = self._describe(self._arrays_now())
        if distribution:
            self._add_distribution(tree, range(len(tree["nodes"])))
        return tree

    @on_snapshot
    def to_text(self, *, max_depth: int | None = None, max_nodes: int | None = 1_000, digits: int = 4) -> str:
        """Return the tree as text, with its third branches, as far as it is grown.

        Parameters
        ----------
        max_depth : int or None, default=None
            Maximum depth of the nodes drawn.
        max_nodes : int or None, default=1_000
            Maximum number of nodes drawn, those nearest to the root. If None, all nodes are drawn.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not integers, half-integers or short decimals.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> _ = tree.predict([[np.nan, 9.0]])
        >>> print(tree.to_text())
        trinary tree, regression: 5 nodes, 3 leaves, 2 grown on demand, 2 branches not grown yet
        ● leaf ...
        <BLANKLINE>
                             rows  fraction   mean
        all rows              100            0.650
        ├─ x0 < 34.5           35       35%  0.000  ●
        ├─ x0 ≥ 34.5           65       65%  1.000  ●
        ╰┄ x0 missing, then x1  100      100%  0.650
           ├─ x1 < 3.5       not grown yet
           ├─ x1 ≥ 3.5         60       60%  1.000  ●
           ╰┄ x1 missing     not grown yet
        """
        from tritree.inspection.text import tree_to_text

        return tree_to_text(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    @on_snapshot
    def to_dot(self, *, max_depth: int | None = None, max_nodes: int | None = 200, digits: int = 4) -> str:
        r"""Return the tree in the DOT language of Graphviz, with third branches dotted, as far as it is grown.

        Parameters
        ----------
        max_depth, max_nodes, digits
            As in `to_text`; ``max_nodes`` is 200 by default.

        Returns
        -------
        str
            A graph for ``dot``, in UTF-8: ``dot -Tsvg tree.dot -o tree.svg`` renders it. The node ``n7`` is number 7 of
            ``to_dict()["nodes"]``.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(X, X[:, 0] >= 30)
        >>> print(tree.to_dot())
        digraph tree {
          graph [label="mia tree, regression: 3 nodes, 2 leaves...
          n0 [label="100 rows\nmean 0.700", fillcolor="..."]
          n0 -> n1 [label=" x0 < 29.5 "]
          n0 -> n2 [label=" x0 ≥ 29.5 or missing "]
          n1 [label="30 rows\nmean 0.000", fillcolor="..."]
          n2 [label="70 rows\nmean 1.000", fillcolor="..."]
        }
        <BLANKLINE>
        """
        from tritree.inspection.dot import tree_to_dot

        return tree_to_dot(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    @on_snapshot
    def plot(
        self,
        ax: Any = None,
        *,
        max_depth: int | None = None,
        max_nodes: int | None = 31,
        digits: int = 4,
        caption: bool = True,
    ) -> Any:
        """Plot the tree with matplotlib, as far as it is grown (``pip install tritree[plot]``).

        Children are drawn below their node, third branches dotted to the right. A box shows the value of a node, its
        rows, the distribution of the target and the column of its split; its colour shows the value.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; the text is scaled to fit. If None, a figure is created that is large enough to be read.
        max_depth, max_nodes, digits
            As in `to_text`; ``max_nodes`` is 31 by default.
        caption : bool, default=True
            Whether to add a caption that says what is drawn, and what is not.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. ``plot().figure.savefig("tree.pdf")`` saves the figure. The text grows with the axes, so a large
            tree can be zoomed.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> tree.plot().figure.savefig("tree.pdf")  # doctest: +SKIP

        On your own axes:

        >>> from matplotlib.figure import Figure
        >>> ax = tree.plot(Figure(figsize=(6, 4)).subplots())
        >>> [text.get_text() for text in ax.texts][:5]
        ['missing', 'not grown yet', 'mean 0.650', '100 rows', 'x0']
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.figure import draw_tree
        from tritree.inspection.node_selection import select_nodes

        check_axes(ax)
        tree = self.to_dict()
        selection = select_nodes(tree["nodes"], max_depth, max_nodes)
        self._add_distribution(tree, selection.drawn)
        return draw_tree(tree, selection, ax, digits=digits, caption=caption)

    @on_snapshot
    def to_html(self, path: Any = None, rows: Any = None, *, max_nodes: int = 2_000) -> str | None:
        """Return the tree as an interactive page, or write it to a file.

        The page is one file that needs no network. The tree can be moved, zoomed, folded and searched. A panel has the
        values of one row: they can be changed or set to missing, and the path and the prediction follow.

        Third branches are grown for the page, in a copy of the tree: those that ``rows`` need first, then those of rows
        with one missing value, with two, and so on, up to ``max_nodes``; of a boosted tree, those that ``rows`` need,
        also with one more value missing. The page says where a branch is not in it.

        Parameters
        ----------
        path : str or path-like, default=None
            Path of the file; an existing file is replaced. If None, the page is returned.
        rows : table of shape (n_rows, n_features_in_), default=None
            Rows to start from in the page, at most 1,000.
        max_nodes : int, default=2_000
            Maximum number of nodes in the page.

        Returns
        -------
        str or None
            The page, if ``path`` is None.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> page = TrinaryTreeRegressor(max_depth=2).fit(X, y).to_html(rows=X.head(10))
        >>> page.startswith("<!DOCTYPE html>")
        True
        """
        estimator, _ = self._estimator_and_loss()
        check_int("max_nodes", max_nodes, 1)
        return page_with_rows(
            estimator,
            path,
            rows,
            lambda names, cells: self._grown_copy(cells, max_nodes)._to_page(
                names, cells, max_nodes=max_nodes
            ),
        )

    def _to_page(
        self, names: Sequence[str] = (), rows: Rows | None = None, *, max_nodes: int, compact: bool = False
    ) -> str:
        """Return the page of the tree as it is now."""
        from tritree.inspection.html import tree_to_html
        from tritree.inspection.node_selection import select_by_missing
        from tritree.inspection.traversal import end_nodes

        arrays = self._arrays_now()
        tree = self._describe(arrays)
        ends = () if rows is None else end_nodes(arrays, rows.columns, rows.n_rows).tolist()
        numbers = select_by_missing(tree["nodes"], max_nodes, ends)
        self._add_distribution(tree, numbers)
        named = [] if rows is None else list(zip(names, rows.cells, strict=True))
        return tree_to_html(tree, numbers, rows=named, loss=self._estimator_and_loss()[1], compact=compact)

    def _to_notebook(self) -> str:
        """Return the tree as the output of a notebook."""
        from tritree.inspection.html import NOTEBOOK_NODES, in_frame

        return in_frame(self._to_page(max_nodes=NOTEBOOK_NODES, compact=True), repr(self))

    @on_snapshot
    def explain(self, X: Any) -> list[Explanation]:
        """Explain the prediction of each row, or its contribution to that of boosting, by its path through the tree.

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
        base value 0.650, x1 +0.350: f(x) = 1.000
        """
        from tritree.inspection.explain import explain_paths

        rows = self._estimator_and_loss()[0]._read_cells(X)
        self._grow_for(rows)
        arrays = self._arrays_now()
        return explain_paths(self._describe(arrays), arrays, rows)


class TreeViews(OneTreeViews, EstimatorViews):
    """The views of a single tree, or of one of a forest."""

    _size_remedy = "fit a smaller tree with a lower max_depth"

    def _arrays_now(self) -> TreeArrays:
        return self._model.arrays()

    def _describe(self, arrays: TreeArrays) -> dict[str, Any]:
        n_grown = len(arrays.column) - arrays.n_fitted
        tree = self._describe_arrays(
            arrays, self._labels(), n_grown=n_grown, detached=self._model.is_detached
        )
        if self._model.position is not None:
            number, n_trees = self._model.position
            tree["ensemble"] = {"tree": number, "n_trees": n_trees}
        return tree

    def _add_distribution(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        from tritree.inspection.describe import add_distribution

        bins = self._model.core.target_distribution(0, np.asarray(numbers, dtype=np.int32))
        add_distribution(tree, numbers, bins)

    def _estimator_and_loss(self) -> tuple[Any, str]:
        return self, self.criterion

    def _grow_for(self, rows: Rows) -> None:
        with column_errors(self._encoder):
            self._model.apply(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        warn_of_ungrown(self._model)

    def _grown_copy(self, rows: Rows | None, max_nodes: int) -> Self:
        grown, n_threads = self._independent_copy(), count_threads(self.n_jobs)
        if rows is not None:
            with column_errors(self._encoder):
                grown._model.apply(rows.columns, rows.n_rows, n_threads)
        grown._model.grow_by_missing(max_nodes, n_threads)
        return grown

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    @on_snapshot
    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram before fitting, the tree after it."""
        if not self.__sklearn_is_fitted__() or self.n_nodes_ > NOTEBOOK_TREE:
            return str(estimator_html_repr(self))
        return self._to_notebook()

    def _to_onnx(self) -> ModelProto:
        from tritree.inspection.onnx import tree_to_onnx

        return tree_to_onnx(self.to_dict())
