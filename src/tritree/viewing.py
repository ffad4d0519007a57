"""What a fitted tree shows of itself: the methods behind which the views stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from tritree.base import BaseTrinaryTree
from tritree.codec import infinite_values_named
from tritree.errors import GrowthLimitError
from tritree.parameters import UNKNOWN_CATEGORY, check_choice, check_int, count_threads
from tritree.table import read_table
from tritree.views.describe import describe
from tritree.views.explain import Explanation, explain_row, read_cells
from tritree.views.rules import Rules
from tritree.views.text import MAX_NODES, draw_text

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["ViewableTree"]


class ViewableTree(BaseTrinaryTree):
    """An estimator that can be looked at; every view is drawn from one description of its tree."""

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
        check_choice("unknown_category", self.unknown_category, UNKNOWN_CATEGORY)
        table = read_table(X)
        matched = list(self._codec.match(table, type(self).__name__))
        refuse = self.unknown_category == "error"
        columns = [None if c is None else known.encode(c, refuse_unknown=refuse) for known, c in matched]
        with infinite_values_named(self._codec):
            self._tree.apply(columns, table.n_rows, count_threads(self.n_jobs))  # grow what the rows need
        tree = self.to_dict()
        rules = Rules(tree["nodes"], digits=4)
        cells = [
            read_cells(known, column, values, table.n_rows)
            for (known, column), values in zip(matched, columns, strict=True)
        ]
        return [explain_row(tree, rules, row, tree["classes"]) for row in zip(*cells, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the grown tree as plain data, for other programs: ``json.dumps`` takes it as it is.

        Returns
        -------
        dict
            ``missing`` (the strategy), ``classes`` (None in regression), ``columns``, ``nodes`` and how far they are
            grown. ``nodes[0]`` is the root. A node has ``depth``, ``rows``, ``weight``, ``loss``, ``value`` (a list:
            the mean, or the class shares), ``split`` (None in a leaf) and the numbers of its branches ``left``,
            ``right`` and ``third`` (None where there is none, "ungrown" where it was not needed yet). The page
            "Tables and models" of the documentation has the rules by which such a tree predicts.

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
        return describe(
            self._tree.snapshot(),
            self._codec,
            getattr(self, "classes_", None),
            missing=self._missing,
            n_grown=self._tree.model.n_grown,
            detached=self._tree.model.is_detached,
        )

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
        from tritree.views.onnx import draw_onnx

        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        if not self._tree.model.is_detached:
            try:
                self.grow_all(max_nodes)
            except GrowthLimitError as error:
                raise GrowthLimitError(
                    f"{str(error).partition('; raise')[0]}; raise max_nodes, lower max_depth, export what the rows you "
                    "expect need (predict them, then detach()), or fit with missing='mia', 'majority' or 'surrogate', "
                    "whose trees are small"
                ) from None
        if self.n_nodes_ > max_nodes:
            raise GrowthLimitError(
                f"the tree has {self.n_nodes_:,} nodes, more than max_nodes={max_nodes:,}; raise max_nodes, or fit "
                "a smaller tree with a lower max_depth"
            )
        return draw_onnx(self.to_dict())
