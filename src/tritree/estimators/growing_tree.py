"""The tree that a fit leaves behind: it answers rows, and grows while it does."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tritree.errors import GrowthLimitError, UngrownBranchWarning, warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tritree import _core

__all__ = ["GrowingTree", "most_nodes"]

UNGROWN = -2  # a child in the core's arrays
# how long one step of grow_all may take: short enough for Ctrl-C and the progress line to feel alive
_STEP_SECONDS = 0.2
# and how many nodes it may grow: what more of them need at once does not stay in the caches
_MOST_NODES = 4096
# beyond this depth a tree in full has more nodes than there are atoms, and nobody grows it
_MOST_DEPTH = 100


class GrowingTree:
    """The core's model with what its caller must be told: once that rows were cut short, how far growth has come."""

    def __init__(self, model: _core.Model, member: tuple[int, int] | None = None) -> None:
        self.model = model
        #: Which tree of a forest of how many it is.
        self.member = member
        self._told_cut_short = False
        self._importances: NDArray[np.float64] | None = None
        self._snapshot: _core.Tree | None = None

    def __getstate__(self) -> dict[str, Any]:
        # the snapshot is a copy of what the model has
        return {name: value for name, value in vars(self).items() if name != "_snapshot"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._snapshot = None

    def snapshot(self) -> _core.Tree:
        """Return the flat arrays as they are now; the same ones as before while no node has come to them."""
        snapshot = self._snapshot
        if snapshot is None or len(snapshot.column) != self.model.n_nodes:
            snapshot = self._snapshot = self.model.tree()
        return snapshot

    def predict(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.float64]:
        """Return the values of the rows, one column per output."""
        values = self.model.predict(columns, n_rows, n_threads)
        self._tell_cut_short()
        return values

    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the number of the node each row ends in."""
        nodes = self.model.apply(columns, n_rows, n_threads)
        self._tell_cut_short()
        return nodes

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return per column its share of the reduction of the training loss; zeros if nothing was reduced."""
        if self._importances is None:
            try:
                reductions = self.model.importances(n_threads).clip(min=0)
            except RuntimeError:
                if not self.model.is_detached:
                    raise
                raise AttributeError(
                    "feature_importances_ needs the training rows, which are gone (detach(), or a file saved without "
                    "them); ask for it once before detach() or save()"
                ) from None
            total = reductions.sum()
            self._importances = reductions / total if total > 0 else reductions
        return self._importances.copy()

    def grow_all(self, max_nodes: int, n_threads: int) -> None:
        """Grow every branch that is known and not grown; raise a GrowthLimitError where max_nodes would be passed."""
        ungrown = self.model.n_ungrown
        if ungrown and self.model.is_detached:
            raise RuntimeError(
                f"{ungrown:,} branches can no longer be grown: the training rows are gone (detach(), or a file saved "
                "without them); call grow_all() before detach() or save(), or fit again"
            )
        step = 256
        with _progress(max_nodes) as show:
            while ungrown:
                room = max_nodes - self.model.n_nodes
                if room <= 0:
                    raise GrowthLimitError(
                        self.model.n_nodes,
                        max_nodes,
                        "raise max_nodes, lower max_depth, or leave the rest to grow on demand (what was grown stays, "
                        "and predictions are right either way)",
                        n_ungrown=ungrown,
                        n_nodes_in_full=self._n_nodes_in_full(),
                    )
                begin = time.perf_counter()
                ungrown = self.model.grow_some(min(step, room), n_threads)
                seconds = time.perf_counter() - begin
                if seconds < _STEP_SECONDS / 2:
                    step = min(2 * step, _MOST_NODES)
                elif seconds > _STEP_SECONDS:
                    step = max(1, step // 2)
                show(self.model.n_nodes, ungrown)

    def grow_by_holes(self, max_nodes: int, n_threads: int) -> None:
        """Grow what rows with one missing value may need, then with two, and so on, until max_nodes are there."""
        while not self.model.is_detached and (room := max_nodes - self.model.n_nodes) > 0:
            nodes, sides = _fewest_holes(self.snapshot())
            if not len(nodes):
                return
            step = min(room, _MOST_NODES)  # Ctrl-C is heard between two of them
            self.model.grow_branches(nodes[:step], sides[:step], n_threads)

    def _n_nodes_in_full(self) -> int | None:
        """Return an upper bound of the number of nodes of the fully grown tree; None if it is astronomical."""
        settings = self.model.settings
        # a daughter has fewer rows than its node, by as many as a leaf must have
        depth = min(settings["max_depth"], int(self.snapshot().rows[0]) // settings["min_samples_leaf"])
        if depth > _MOST_DEPTH:
            return None
        return most_nodes(self.model.n_columns, depth)

    def _tell_cut_short(self) -> None:
        if self._told_cut_short or not self.model.n_cut_short:
            return
        self._told_cut_short = True
        cause: Literal["detached", "node_limit"] = "detached" if self.model.is_detached else "node_limit"
        model: Literal["tree", "tree of a forest"] = "tree" if self.member is None else "tree of a forest"
        warn_caller(UngrownBranchWarning(cause, model, self.model.n_cut_short))


def _fewest_holes(tree: _core.Tree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the branches not grown, node and side, that have the fewest third branches above them."""
    holes = np.zeros(len(tree.column), dtype=np.int32)
    for node in range(len(holes)):  # a child comes after its parent
        for children, more in ((tree.left, 0), (tree.right, 0), (tree.third, 1)):
            if children[node] >= 0:
                holes[children[node]] = holes[node] + more
    children = np.stack([tree.left, tree.right, tree.third])
    sides, nodes = np.nonzero(children == UNGROWN)
    behind = holes[nodes] + (sides == 2)
    fewest = behind == behind.min(initial=len(holes))
    order = np.argsort(nodes[fewest], kind="stable")
    return nodes[fewest][order].astype(np.int32), sides[fewest][order].astype(np.int32)


def most_nodes(n_columns: int, max_depth: int) -> int:
    """Return the most nodes that a tree with third branches can have.

    A node at depth d with p columns left has two daughters with p columns one deeper, and a third branch as deep with
    p - 1 columns.
    """
    sizes = [1] * (n_columns + 1)  # by columns left, of a node as deep as may be
    for _ in range(max_depth):
        below, sizes = sizes, [1]
        for columns in range(1, n_columns + 1):
            sizes.append(1 + 2 * below[columns] + sizes[-1])
    return sizes[n_columns]


def _progress(max_nodes: int) -> AbstractContextManager[Callable[[int, int], None]]:
    """Return a line that shows the growth on a terminal (if rich is there), and nothing elsewhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            return _RichLine(max_nodes)
        except ImportError:
            pass
    return nullcontext(lambda _nodes, _ungrown: None)


class _RichLine:
    """A line of rich that says how many nodes there are and how many branches are to grow."""

    def __init__(self, max_nodes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress: Any = Progress(
            TextColumn("growing"),
            BarColumn(),
            TextColumn("{task.completed:,} nodes, {task.fields[ungrown]:,} branches to grow"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._max_nodes = max_nodes
        self._task: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        self._progress.start()
        self._task = self._progress.add_task("", total=None, ungrown=0)
        return self._show

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _show(self, nodes: int, ungrown: int) -> None:
        total = min(self._max_nodes, nodes + ungrown)
        self._progress.update(self._task, completed=nodes, total=total, ungrown=ungrown)
