"""One of the trees of a boosted model, with the views that a single tree has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.encoder import column_errors
from tritree.estimators.boosting.trees import Trees
from tritree.inspection import dot
from tritree.inspection.describe import describe
from tritree.inspection.explain import ABSENT, MISSING, side_of
from tritree.inspection.html import MAX_NODES as PAGE_NODES
from tritree.inspection.html import NOTEBOOK_NODES, draw_html, framed, name_rows
from tritree.inspection.layout import MAX_NODES as FIGURE_NODES
from tritree.inspection.node_selection import choose_by_holes
from tritree.inspection.rows import read_rows
from tritree.inspection.text import MAX_NODES, draw_text
from tritree.inspection.values import headline
from tritree.table import read_table
from tritree.validation import check_int, count_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tritree.estimators.boosting.viewing import BoostingViews
    from tritree.inspection.explain import Cell
    from tritree.inspection.rows import ReadRows

__all__ = ["Member"]


class Member:
    """One of the trees of a boosted model, as it is whenever it is looked at.

    The value of a node is a step in the sum over trees: what the tree adds for rows that end there, or on average for
    those that go on. A third branch is fitted to what the left and the right branch of its node say.
    """

    def __init__(self, model: BoostingViews, number: int, what: str) -> None:
        self._model, self._number, self._what = model, number, what

    def __repr__(self) -> str:
        return f"<{headline(self.to_dict())}>"

    def _repr_html_(self) -> str:
        return framed(self._page(max_nodes=NOTEBOOK_NODES, compact=True), repr(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain data, for other programs: ``json.dumps`` takes it as it is.

        It is what ``to_dict`` of a single tree returns, with these differences: ``value`` of a node is a step in the
        sum, ``split`` has ``gain``, by how much it has lowered the loss, and nodes have no ``weight`` and ``loss``.
        ``rows`` of the nodes of third branches are those that these were fitted to. Under "fractional" nodes do have
        ``weight``: their rows, each counted by the part that is there. ``member`` tells which tree of how many it is,
        and what they add up to.
        """
        trees = Trees(self._model._model.core)
        own = trees[self._number]
        tree = describe(
            own,
            self._model._encoder,
            None,
            missing=trees.missing,
            n_grown=len(own.column) - own.n_fitted,
            detached=self._model._model.core.is_detached,
        )
        for node, gain in zip(tree["nodes"], own.gain.tolist(), strict=True):
            del node["loss"]
            if trees.missing != "fractional":
                del node["weight"]
            if node["split"] is not None:
                node["split"]["gain"] = gain
        return tree | {
            "task": "boosting",
            "member": {"number": self._number, "of": len(trees), "sum": self._what},
        }

    def to_text(
        self, *, max_depth: int | None = None, max_nodes: int | None = MAX_NODES, digits: int = 4
    ) -> str:
        """Return the tree as text; the options are those of `TrinaryTreeRegressor.to_text`.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryBoostingRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> model = TrinaryBoostingRegressor(max_depth=1, max_iter=20, l2_regularization=0, max_features=1.0)
        >>> model = model.fit(X, X[:, 0] >= 35)
        >>> print(model.member(0).to_text())
        tree 0 of 20, trinary_mia boosting, steps in the sum: 3 nodes, 2 leaves, 1 branch not grown yet
        ● leaf   share: of the rows above   ┄ third branch: fitted to what left and right say of rows of the node...
        a branch that is not grown yet grows when a row to predict needs it; grow_for(rows) grows those that rows need
        <BLANKLINE>
                       rows  share      step
        all rows        100          0.00000
        ├─ x0 < 34.5     35    35%  -0.06500  ●
        ├─ x0 ≥ 34.5     65    65%   0.03500  ●
        ╰┄ x0 missing  not grown yet
        """
        return draw_text(self.to_dict(), max_depth=max_depth, max_nodes=max_nodes, digits=digits)

    def to_dot(
        self, *, max_depth: int | None = None, max_nodes: int | None = dot.MAX_NODES, digits: int = 4
    ) -> str:
        """Return the tree in the language of Graphviz; the options are those of `TrinaryTreeRegressor.to_dot`."""
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
        """Return the ``Axes`` on which the tree is drawn; the options are those of `TrinaryTreeRegressor.plot`.

        Needs matplotlib (``pip install tritree[plot]``).
        """
        from tritree.inspection.figure import draw_tree

        return draw_tree(
            self.to_dict(), ax, max_depth=max_depth, max_nodes=max_nodes, digits=digits, caption=caption
        )

    def to_html(self, path: Any = None, rows: Any = None, *, max_nodes: int = PAGE_NODES) -> str | None:
        """Return the tree as an interactive page, or write it to a file.

        The page shows what is grown, and what ``rows`` need is grown first, also where one of their values more is
        missing. A branch that is not in the page says so.

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
        >>> from tritree import TrinaryBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = TrinaryBoostingRegressor(max_depth=2, max_iter=10).fit(X, y)
        >>> page = model.member(-1).to_html(rows=X.head(10))
        >>> page.startswith("<!DOCTYPE html>")
        True
        """
        from tritree.output_files import check_output_path, write_atomically

        check_int("max_nodes", max_nodes, 1)
        place = None if path is None else check_output_path(path, "the page")  # before the work is done
        page = self._page(rows, max_nodes=max_nodes)
        if place is None:
            return page
        write_atomically(place, page.encode())
        return None

    def _page(self, rows: Any = None, *, max_nodes: int, compact: bool = False) -> str:
        from tritree import __version__

        named: list[tuple[str, tuple[Cell, ...]]] = []
        if rows is not None:
            names = name_rows(rows, read_table(rows).n_rows)
            table = read_rows(self._model, rows)
            self._grow_for_page(table)
            named = list(zip(names, table.cells, strict=True))
        tree = self.to_dict()
        ends = [end for _, cells in named for end in _ends_of(tree["nodes"], cells)]
        numbers = choose_by_holes(tree["nodes"], max_nodes, ends)
        loss = self._model._fit_params["loss"]
        return draw_html(tree, numbers, rows=named, loss=loss, version=__version__, compact=compact)

    def _grow_for_page(self, table: ReadRows) -> None:
        """Grow of this tree, and of those of its round, what rows need, as they are and with one more hole."""
        ensemble = self._model._model.core
        begin = self._number // ensemble.n_outputs
        n_threads = count_threads(self._model.n_jobs)
        with column_errors(self._model._encoder):
            if ensemble.is_detached:  # nothing grows, and nobody is to count what cannot
                ensemble.apply(table.columns, table.n_rows, n_threads)
                return
            ensemble.predict(table.columns, table.n_rows, begin, begin + 1, n_threads)
            for j in range(len(table.columns)):
                holed = [None if i == j else column for i, column in enumerate(table.columns)]
                ensemble.predict(holed, table.n_rows, begin, begin + 1, n_threads)


def _ends_of(nodes: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> dict[int, float]:
    """Return the nodes that a row ends in, as far as the tree is grown, each with how much of the row it is."""
    ends: dict[int, float] = {}
    stack = [(0, 1.0)]
    while stack:
        number, part = stack.pop()
        node, split = nodes[number], nodes[number]["split"]
        if split is None:
            ends[number] = part
            continue
        branch, state = side_of(split, cells[split["column"]])
        if branch is None and split["missing_to"] == "both":
            stack += [(node["right"], part * (1 - split["share"])), (node["left"], part * split["share"])]
            continue
        if branch is None:
            knows = split["missing_to"] == "third" or state in (MISSING, ABSENT)
            branch = split["missing_to"] if knows else split["larger"]
        if isinstance(node[branch], int):
            stack.append((node[branch], part))
        else:
            ends[number] = part
    return ends
