"""What forests and boosting do alike: many trees that grow when rows need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree.encoder import column_errors
from tritree.errors import UngrownBranchWarning, warn_caller
from tritree.estimators.tabular import TabularEstimator
from tritree.parameters import THIRD_BRANCHES
from tritree.target import apply_class_weight, check_sample_weight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.arrays import TreeArrays

__all__ = ["ManyTrees"]


class Trees(Protocol):
    """The trees of an estimator."""

    @property
    def n_trees(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_grown(self) -> int: ...
    @property
    def n_cut_short(self) -> int: ...
    @property
    def is_detached(self) -> bool: ...
    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree."""

    def detach(self) -> None:
        """Drop the rows that trees grow from."""


class ManyTrees(TabularEstimator):
    """An estimator of many trees."""

    _told_cut_short: bool

    @property
    def _trees(self) -> Trees:
        raise NotImplementedError

    def _snapshots(self) -> Iterable[TreeArrays]:
        """Return the trees as they are now, one after the other."""
        raise NotImplementedError

    def _weigh(self, classes: NDArray[Any] | None, y: NDArray[Any], sample_weight: Any) -> Any:
        """Return the weights of rows, those of their classes included; None if all count the same."""
        weight = check_sample_weight(sample_weight, len(y))
        return (
            weight
            if classes is None
            else apply_class_weight(self.class_weight, classes, classes[y.astype(np.intp)], weight)
        )

    @property
    def n_trees_(self) -> int:
        """The number of trees."""
        check_is_fitted(self)
        return self._trees.n_trees

    @property
    def n_nodes_(self) -> int:
        """Nodes of all trees as they are now."""
        check_is_fitted(self)
        return self._trees.n_nodes

    @property
    def n_grown_(self) -> int:
        """Nodes that were grown on demand, because a row needed them."""
        check_is_fitted(self)
        return self._trees.n_grown

    @property
    def n_cut_short_(self) -> int:
        """How often a row came to a third branch that could not be grown any more, and got the node's own value."""
        check_is_fitted(self)
        return self._trees.n_cut_short

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the node each row ends in, one column per tree.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.
        """
        request = self._encode(X)
        with column_errors(self._encoder):
            return self._trees.apply(*request)

    def grow_for(self, X: Any) -> Self:
        """Return the estimator with the third branches grown that rows like these need.

        Rows to come that lack the same fields are then answered without growing anything, also after `detach`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows with holes where they are expected.

        Raises
        ------
        RuntimeError
            If rows need a branch that is not grown, and the rows to grow from are gone.
        """
        nodes = self.apply(X)
        if self._trees.is_detached and (n := self._count_ungrown(nodes)):
            raise RuntimeError(
                f"{n:,} {'branch' if n == 1 else 'branches'} that these rows need can no longer be grown: the rows to "
                "grow from are gone (detach(), or a file saved without them); call grow_for() before detach() or "
                "save(), or fit again"
            )
        return self

    def _count_ungrown(self, nodes: NDArray[np.int32]) -> int:
        """Return how many third branches rows have come to that are not grown, given the nodes that they end in."""
        ends = zip(self._snapshots(), nodes.T, strict=True)
        # where such a branch is to begin, the row stays at a node that is no leaf
        return sum(int(np.count_nonzero(tree.column[np.unique(at)] >= 0)) for tree, at in ends)

    def detach(self) -> Self:
        """Return the estimator without the training rows that trees grow from.

        From now on a third branch that was not grown answers with the value of the node it belongs to; the first time
        that happens an `UngrownBranchWarning` says so.
        """
        check_is_fitted(self)
        self._trees.detach()
        return self

    def _tell_nothing_grown(self, destination: Literal["file", "onnx"]) -> None:
        """Warn before a model is taken elsewhere, where it cannot grow, if it would know nothing of rows with holes."""
        can_grow = self.missing in THIRD_BRANCHES and self._trees.n_nodes > self._trees.n_trees
        if can_grow and not self._trees.n_grown:
            warn_caller(UngrownBranchWarning("export", "ensemble", destination=destination))

    def _tell_cut_short(self) -> None:
        n = self._trees.n_cut_short
        if not n or self._told_cut_short:
            return
        self._told_cut_short = True
        cause: Literal["detached", "node_limit"] = "detached" if self._trees.is_detached else "node_limit"
        warn_caller(UngrownBranchWarning(cause, "ensemble", n))
