"""The views of one tree, whoever fitted it: text, matplotlib, Graphviz, HTML, plain data and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from tritree.inspection import dot
from tritree.inspection.captions import SplitText
from tritree.inspection.explain import Explanation, explain_path
from tritree.inspection.html import MAX_NODES as PAGE_NODES
from tritree.inspection.html import draw_html, name_rows
from tritree.inspection.layout import MAX_NODES as FIGURE_NODES
from tritree.inspection.node_selection import select_by_missing, select_nodes
from tritree.inspection.text import MAX_NODES, draw_text
from tritree.inspection.traversal import end_nodes, paths
from tritree.table import read_table
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.inspection.rows import Rows
    from tritree.inspection.tree_arrays import TreeArrays

__all__ = ["OneTreeViews"]


class OneTreeViews:
    """The views of one tree, all drawn from one description of it. None of them changes the tree."""

    def _arrays_now(self) -> TreeArrays:
        """Return the arrays of the tree as it is now."""
        raise NotImplementedError

    def _describe(self, arrays: TreeArrays) -> dict[str, Any]:
        """Return the description of the tree."""
        raise NotImplementedError

    def _add_distribution(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        """Add the distribution of the target in some nodes to a description."""
        raise NotImplementedError

    def _page_source(self) -> tuple[Any, str]:
        """Return the estimator that has the tree, and the name of the loss."""
        raise NotImplementedError

    def _grown_copy(self, rows: Rows | None, max_nodes: int) -> Self:
        """Return a copy of the tree in which the branches are grown that a page with these rows shows."""
        raise NotImplementedError

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

    def to_text(
        self, *, max_depth: int | None = None, max_nodes: int | None = MAX_NODES, digits: int = 4
    ) -> str:
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
        return draw_text(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    def to_dot(
        self, *, max_depth: int | None = None, max_nodes: int | None = dot.MAX_NODES, digits: int = 4
    ) -> str:
        r"""Return the tree in the DOT language of Graphviz, with third branches dotted, as far as it is grown.

        Parameters
        ----------
        max_depth : int or None, default=None
            Maximum depth of the nodes drawn.
        max_nodes : int or None, default=200
            Maximum number of nodes drawn, those nearest to the root. If None, all nodes are drawn.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not integers, half-integers or short decimals.

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
        return dot.draw_dot(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    def plot(
        self,
        ax: Any = None,
        *,
        max_depth: int | None = None,
        max_nodes: int | None = FIGURE_NODES,
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
        max_depth : int or None, default=None
            Maximum depth of the nodes drawn.
        max_nodes : int or None, default=31
            Maximum number of nodes drawn, those nearest to the root. If None, all nodes are drawn.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not integers, half-integers or short decimals.
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

        check_axes(ax)
        check_int("max_depth", max_depth, 0, or_none="draws every depth")
        check_int("max_nodes", max_nodes, 1, or_none="draws everything")
        tree = self.to_dict()
        self._add_distribution(tree, select_nodes(tree["nodes"], max_depth, max_nodes).drawn)
        return draw_tree(tree, ax, max_depth=max_depth, max_nodes=max_nodes, digits=digits, caption=caption)

    def to_html(self, path: Any = None, rows: Any = None, *, max_nodes: int = PAGE_NODES) -> str | None:
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
        from tritree.output_files import check_output_path, write_atomically

        estimator, _ = self._page_source()
        check_is_fitted(estimator)
        check_int("max_nodes", max_nodes, 1)
        place = None if path is None else check_output_path(path, "the page")  # before the work is done
        names = [] if rows is None else name_rows(rows, read_table(rows).n_rows)
        cells = None if rows is None else estimator._read_cells(rows)
        page = self._grown_copy(cells, max_nodes)._draw_page(names, cells, max_nodes=max_nodes)
        if place is None:
            return page
        write_atomically(place, page.encode())
        return None

    def _draw_page(
        self, names: Sequence[str] = (), rows: Rows | None = None, *, max_nodes: int, compact: bool = False
    ) -> str:
        """Return the page of the tree as it is now."""
        from tritree import __version__

        arrays = self._arrays_now()
        tree = self._describe(arrays)
        ends = () if rows is None else end_nodes(arrays, rows.columns, rows.n_rows).tolist()
        numbers = select_by_missing(tree["nodes"], max_nodes, ends)
        self._add_distribution(tree, numbers)
        named = [] if rows is None else list(zip(names, rows.cells, strict=True))
        _, loss = self._page_source()
        return draw_html(tree, numbers, rows=named, loss=loss, version=__version__, compact=compact)

    def _explain_rows(self, rows: Rows) -> list[Explanation]:
        """Return the explanations of rows, given that the tree is grown as far as they need."""
        arrays = self._arrays_now()
        tree = self._describe(arrays)
        splits = SplitText(tree["nodes"], digits=4)
        return [
            explain_path(tree, splits, cells, path)
            for cells, path in zip(rows.cells, paths(arrays, rows.columns, rows.n_rows), strict=True)
        ]
