"""What a fitted tree shows of itself: the methods behind which the views stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.errors import GrowthLimitError
from tritree.inspection import dot
from tritree.inspection.describe import add_spread, describe
from tritree.inspection.explain import Explanation, explain_row
from tritree.inspection.html import MAX_NODES as PAGE_NODES
from tritree.inspection.html import NOTEBOOK_NODES, draw_html, framed, name_rows
from tritree.inspection.layout import MAX_NODES as FIGURE_NODES
from tritree.inspection.node_selection import choose, choose_by_holes
from tritree.inspection.reliance import reliance
from tritree.inspection.rows import read_rows
from tritree.inspection.rules import Rules
from tritree.inspection.text import MAX_NODES, draw_text
from tritree.table import read_table
from tritree.validation import check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from tritree.estimators.base import TrinaryEstimator as _Base
    from tritree.estimators.growing_model import TreeModel
    from tritree.inspection.explain import Cell
else:
    _Base = object

__all__ = ["TreeViews"]

NOTEBOOK_TREE = 50_000  # nodes of a tree that is too large to be looked at in passing


class TreeViews(_Base):
    """The views of a single tree; all are drawn from one description of it."""

    _model: TreeModel

    def to_text(
        self, *, max_depth: int | None = None, max_nodes: int | None = MAX_NODES, digits: int = 4
    ) -> str:
        """Return the grown tree as text, with its third branches.

        Parameters
        ----------
        max_depth : int or None, default=None
            Draw nodes down to this depth only.
        max_nodes : int or None, default=1_000
            Draw at most this many nodes, those nearest to the root; None draws everything.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not whole numbers, halves or short decimals.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> answer = tree.predict([[np.nan, 9.0]])
        >>> print(tree.to_text())
        trinary tree, mean response: 5 nodes, 3 leaves, 2 grown on demand, 2 branches not grown yet
        ● leaf ...
        <BLANKLINE>
                                      rows  share   mean
        all rows                       100         0.650
        ├─ x0 < 34.5                    35    35%  0.000  ●
        ├─ x0 ≥ 34.5                    65    65%  1.000  ●
        ╰┄ x0 missing, x1 takes over   100   100%  0.650
           ├─ x1 < 3.5                not grown yet
           ├─ x1 ≥ 3.5                  60    60%  1.000  ●
           ╰┄ x1 missing              not grown yet
        """
        return draw_text(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    def plot(
        self,
        ax: Any = None,
        *,
        max_depth: int | None = None,
        max_nodes: int | None = FIGURE_NODES,
        digits: int = 4,
        caption: bool = True,
    ) -> Any:
        """Return the grown tree drawn with matplotlib: daughters below their node, third branches dotted to its right.

        A box has the value of a node, its rows, how their responses are spread or which classes they have, and the
        column that is asked next; its colour is that of the value. Needs matplotlib (``pip install tritree[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; letters are made to fit. None makes a figure that is large enough to be read.
        max_depth : int or None, default=None
            Draw nodes down to this depth only.
        max_nodes : int or None, default=31
            Draw at most this many nodes, those nearest to the root; None draws everything.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not whole numbers, halves or short decimals.
        caption : bool, default=True
            Whether to say below the tree what is drawn, and what is not.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure: ``plot().figure.savefig("tree.pdf")`` writes it to a file. Letters grow
            with the axes, so a large tree can be zoomed into.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> tree.plot().figure.savefig("tree.pdf")  # doctest: +SKIP

        On axes of your own:

        >>> from matplotlib.figure import Figure
        >>> ax = tree.plot(Figure(figsize=(6, 4)).subplots())
        >>> [text.get_text() for text in ax.texts][:5]
        ['missing', 'not grown yet', 'mean 0.650', '100 rows', 'x0']
        """
        from tritree.inspection.figure import draw_tree

        check_int("max_depth", max_depth, 0, or_none="draws every depth")
        check_int("max_nodes", max_nodes, 1, or_none="draws everything")
        tree = self.to_dict()
        self._add_spread(tree, choose(tree["nodes"], max_depth, max_nodes).drawn)
        return draw_tree(tree, ax, max_depth=max_depth, max_nodes=max_nodes, digits=digits, caption=caption)

    def to_dot(
        self, *, max_depth: int | None = None, max_nodes: int | None = dot.MAX_NODES, digits: int = 4
    ) -> str:
        r"""Return the grown tree in the language of Graphviz, with its third branches dotted.

        Parameters
        ----------
        max_depth : int or None, default=None
            Draw nodes down to this depth only.
        max_nodes : int or None, default=200
            Draw at most this many nodes, those nearest to the root; None draws everything.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not whole numbers, halves or short decimals.

        Returns
        -------
        str
            A graph for ``dot``, in UTF-8: ``dot -Tsvg tree.dot -o tree.svg`` makes a picture of it. The node ``n7``
            is number 7 of ``to_dict()["nodes"]``.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(X, X[:, 0] >= 30)
        >>> print(tree.to_dot())
        digraph tree {
          graph [label="mia tree, mean response: 3 nodes, 2 leaves...
          n0 [label="100 rows\nmean 0.700", fillcolor="..."]
          n0 -> n1 [label=" x0 < 29.5 "]
          n0 -> n2 [label=" x0 ≥ 29.5 or missing "]
          n1 [label="30 rows\nmean 0.000", fillcolor="..."]
          n2 [label="70 rows\nmean 1.000", fillcolor="..."]
        }
        <BLANKLINE>
        """
        return dot.draw_dot(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    def explain(self, X: Any) -> list[Explanation]:
        """Return for each row why it gets its prediction: the path, each turn with its reason.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.

        Returns
        -------
        list of Explanation
            One per row. Printed, it tells the path in words; ``turns`` has the path, ``contributions`` what each
            column has moved: with ``start``, the root's value, they add up to the prediction.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> [why] = tree.explain([[np.nan, 9.0]])
        >>> print(why)
        predicts 1.000
        <BLANKLINE>
                                                    rows   mean  moved by
        all rows                                     100  0.650
        x0 is missing: third branch, x1 takes over   100  0.650
        x1 = 9 ≥ 3.5                                  60  1.000    +0.350
        <BLANKLINE>
        0.650 at the root, x1 +0.350: 1.000
        """
        check_is_fitted(self)
        cells, _ = self._cells_of(X)
        tree = self.to_dict()
        rules = Rules(tree["nodes"], digits=4)
        return [explain_row(tree, rules, row, tree["classes"]) for row in cells]

    def _cells_of(self, X: Any) -> tuple[list[tuple[Cell, ...]], NDArray[np.int32]]:
        """Return what the rows of a table have in the columns of training, and where they end, grown if need be."""
        rows = read_rows(self, X)
        with column_errors(self._encoder):
            ends = self._model.apply(rows.columns, rows.n_rows, count_threads(self.n_jobs))
        self._warn_of_ungrown()
        return rows.cells, ends

    def to_html(self, path: Any = None, rows: Any = None, *, max_nodes: int = PAGE_NODES) -> str | None:
        """Return the tree as an interactive page, or write it to a file.

        The page is one file that needs no network. The tree can be moved, zoomed, folded and searched, its third
        branches are folded until they are wanted. Beside it stands one row: its values can be changed or set to
        missing, and its path and prediction move along.

        The tree is grown first, as far as ``max_nodes`` allows: what ``rows`` need, then what rows with one missing
        value may need, with two, and so on. A branch that is not in the page says so.

        Parameters
        ----------
        path : str or path-like, default=None
            Where to write; a file that is there is replaced. None returns the page.
        rows : table of shape (n_rows, n_features_in_), default=None
            Rows to start from in the page, at most 1,000.
        max_nodes : int, default=2_000
            The most nodes that the page shows.

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

        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        place = None if path is None else check_output_path(path, "the page")  # before the work is done
        named, ends = self._rows_of_page(rows)
        self._model.grow_by_missing(max_nodes, count_threads(self.n_jobs))
        page = self._draw_page(named, ends, max_nodes)
        if place is None:
            return page
        write_atomically(place, page.encode())
        return None

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram before fitting, the tree after it."""
        if not self.__sklearn_is_fitted__() or self.n_nodes_ > NOTEBOOK_TREE:
            return str(estimator_html_repr(self))
        return framed(self._draw_page(max_nodes=NOTEBOOK_NODES, compact=True), repr(self))

    def _rows_of_page(self, rows: Any) -> tuple[list[tuple[str, Sequence[Cell]]], Sequence[int]]:
        """Return the rows that a page lists, by name, and where they end."""
        if rows is None:
            return [], []
        names = name_rows(rows, read_table(rows).n_rows)
        cells, ends = self._cells_of(rows)
        return list(zip(names, cells, strict=True)), ends.tolist()

    def _draw_page(
        self,
        rows: Sequence[tuple[str, Sequence[Cell]]] = (),
        ends: Sequence[int] = (),
        max_nodes: int = PAGE_NODES,
        compact: bool = False,
    ) -> str:
        """Return the page of the tree as it is now."""
        from tritree import __version__

        tree = self.to_dict()
        numbers = choose_by_holes(tree["nodes"], max_nodes, ends)
        self._add_spread(tree, numbers)
        return draw_html(tree, numbers, rows=rows, loss=self.criterion, version=__version__, compact=compact)

    def plot_importance(self, ax: Any = None, *, max_columns: int = 20) -> Any:
        """Return an ``Axes`` with ``feature_importances_`` as bars, the largest first.

        Needs matplotlib (``pip install tritree[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_columns : int, default=20
            The most columns that are drawn; those that count for nothing are not drawn.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> ax = TrinaryTreeRegressor().fit(X, y).plot_importance()  # doctest: +SKIP
        >>> ax.figure.savefig("importance.png")  # doctest: +SKIP
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import draw_importance

        check_axes(ax)
        check_int("max_columns", max_columns, 1)
        importances = self.feature_importances_
        names = self._encoder.feature_names or [f"x{j}" for j in range(len(importances))]
        return draw_importance(names, importances.tolist(), ax, max_columns)

    def reliance_on_missing_(self, X: Any) -> NDArray[np.float64]:
        """Return per column how much of these rows' predictions passes through its missing branches.

        That is the mean over rows of the part of a row (all of it; under "fractional" as much as gets there) that
        comes to a split on the column without a usable value, once or more often: missing, in a column that is absent,
        or a category that tells nothing there. What the rows need is grown first, as by ``predict``.

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
        Half of the rows lack the first column, but the tree asks for the second one only where the first is missing.

        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> nan = np.nan
        >>> tree.reliance_on_missing_([[nan, 9.0], [nan, nan], [50.0, nan], [50.0, 5.0]])
        array([0.5 , 0.25])
        """
        columns, n_rows, n_threads = self._encode(X)
        with column_errors(self._encoder):
            self._model.apply(columns, n_rows, n_threads)  # grow what the rows need
        self._warn_of_ungrown()
        return reliance(self._model.arrays(), columns, n_rows)

    def to_dict(self, *, spread: bool = False) -> dict[str, Any]:
        """Return the grown tree as plain data, for other programs: ``json.dumps`` takes it as it is.

        Parameters
        ----------
        spread : bool, default=False
            Whether to tell for each node of a regression tree how the responses of its training rows are spread:
            ``edges`` has the bins, ``spread`` of a node its share per bin, None where that is no longer known.

        Returns
        -------
        dict
            ``missing`` (the strategy), ``classes`` (None in regression), ``columns``, ``nodes`` and how far they are
            grown. ``nodes[0]`` is the root. A node has ``depth``, ``rows``, ``weight``, ``loss``, ``value`` (a list:
            the mean, or the class shares), ``split`` (None in a leaf) and the numbers of its branches ``left``,
            ``right`` and ``third`` (None where there is none, "ungrown" where it was not needed yet). The page
            "Tables and models" of the documentation has the rules by which such a tree predicts. ``member`` of a tree
            of a forest tells which one of how many it is.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 30).to_dict()
        >>> tree["nodes"][0]["split"]["threshold"], tree["nodes"][tree["nodes"][0]["right"]]["value"]
        (29.5, [1.0])
        """
        check_is_fitted(self)
        tree = describe(
            self._model.arrays(),
            self._encoder,
            getattr(self, "classes_", None),
            missing=self._model.missing,
            n_grown=self._model.core.n_grown,
            detached=self._model.core.is_detached,
        )
        if self._model.position is not None:
            number, of = self._model.position
            tree["member"] = {"number": number, "of": of}
        if spread:
            self._add_spread(tree, range(len(tree["nodes"])))
        return tree

    def _add_spread(self, tree: dict[str, Any], numbers: Sequence[int]) -> None:
        """Add to the description how the responses are spread in some nodes."""
        add_spread(tree, numbers, self._model.core.spread_of(np.asarray(numbers, dtype=np.int32)))

    def to_onnx(self, *, max_nodes: int = 100_000) -> ModelProto:
        """Return the tree as an ONNX model, which onnxruntime and others run without Python, holes included.

        The tree is grown in full first. Where no column holds text, the model has one input ``X``, an array of
        float64 with NaN where a value is missing; else one input per column, called as the column is: float64 or
        text of shape (rows, 1). ONNX has no missing text: an empty one stands for it, or ``_`` where the empty text is
        a category; the input's description says which. Outputs are ``prediction``, or ``label`` and
        ``probabilities``. Needs the package onnx (``pip install tritree[onnx]``).

        Parameters
        ----------
        max_nodes : int, default=100_000
            The most nodes the tree may have.

        Returns
        -------
        onnx.ModelProto
            Write it with ``onnx.save``.

        Raises
        ------
        GrowthLimitError
            If the tree in full has more than ``max_nodes`` nodes.
        ValueError
            If ONNX cannot express the tree: under "fractional", with paths of more than 1,000 questions, or with
            whole numbers from 2**63 on as classes.

        Notes
        -----
        A detached tree is exported as it is. A label that is none of an ordered column's categories, which
        ``predict`` refuses, is missing to the model, and ``unknown_category="error"`` cannot be expressed: what
        training never saw tells nothing. onnxruntime turns None into the text "None"; give the text for missing.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = TrinaryTreeRegressor(max_depth=2).fit(X, y).to_onnx()  # doctest: +SKIP
        >>> onnx.save(model, "diabetes.onnx")  # doctest: +SKIP
        """
        from tritree.inspection.onnx import draw_onnx

        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        if not self._model.core.is_detached:
            try:
                self.grow_all(max_nodes)
            except GrowthLimitError as error:
                error.remedy = (
                    "raise max_nodes, lower max_depth, export what the rows you expect need (predict them, then "
                    "detach()), or fit with missing='mia', 'majority' or 'surrogate', whose trees are small"
                )
                raise
        if self.n_nodes_ > max_nodes:
            raise GrowthLimitError(
                self.n_nodes_, max_nodes, "raise max_nodes, or fit a smaller tree with a lower max_depth"
            )
        return draw_onnx(self.to_dict())
