"""The fitted trees of an estimator: the core's model, and the parameters that it grows by."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tritree import _core
from tritree.errors import GrowthLimitError, UngrownBranchWarning, warn_caller
from tritree.progress import growth_progress
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH, column_fraction, monotonic_directions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder

__all__ = ["CoreTable", "GrowingModel", "boosting_parameters", "growth_parameters", "warn_of_ungrown"]

#: Rows to predict as the core takes them: their columns, and how many they are.
CoreTable = tuple["_core.Columns", int]

# how long one step of grow_all may take: short enough for Ctrl-C and the progress line to feel alive
_STEP_SECONDS = 0.2
# and how many nodes it may grow: what more of them need at once does not stay in the caches
_MAX_STEP = 4096
#: What to do about a limit that stops growth.
_REMEDIES = {
    "max_nodes": "raise max_nodes, lower max_depth, or leave the rest to grow on demand (what was grown stays, and "
    "predictions are right either way)",
    "max_third_nodes": "fit with a higher max_third_nodes or a lower max_depth",
}
# beyond this depth a fully grown tree has more nodes than there are atoms
_MAX_DEPTH = 100


# ---- parameters as the core takes them


def growth_parameters(
    estimator: Any, n_columns: int, n_classes: int, **options: Any
) -> _core.GrowthParameters:
    """Return how the core grows a tree, or the trees of a forest; ``n_classes`` is 0 in regression.

    ``options`` take precedence over the parameters of the estimator.
    """
    max_features = column_fraction(estimator.max_features, n_columns)
    parameters = {
        "missing": estimator.missing,
        "criterion": "entropy" if estimator.criterion == "log_loss" else estimator.criterion,
        "n_classes": n_classes,
        "max_depth": _limit(estimator.max_depth),
        "max_leaf_nodes": _limit(estimator.max_leaf_nodes or 0),
        "min_samples_leaf": _limit(estimator.min_samples_leaf),
        "split_on_missing": bool(estimator.split_on_missing),
        "category_penalty": float(estimator.category_penalty),
        "max_surrogates": _limit(estimator.max_surrogates),
        "max_features": max_features,
        # the ladder of a node has all columns, so it is searched when its third branch is first needed
        "keep_best_split_only": max_features < 1,
    }
    return _core.GrowthParameters(**(parameters | options))


def boosting_parameters(
    estimator: Any, encoder: TableEncoder, seed: int, *, nonlinear_link: bool
) -> _core.GrowthParameters:
    """Return how the core grows boosted trees; ``nonlinear_link``: predictions are a non-linear function of the sum."""
    directions = monotonic_directions(estimator.monotonic_cst, encoder)
    sizes = ("max_depth", "min_samples_leaf", "third_depth_extra", "third_rows", "max_third_nodes")
    limits: dict[str, Any] = {name: _limit(getattr(estimator, name), 2**29) for name in sizes}
    return _core.GrowthParameters(
        **limits,
        missing=estimator.missing,
        split_on_missing=bool(estimator.split_on_missing),
        max_leaf_nodes=_limit(estimator.max_leaf_nodes or 0, 2**29),
        l2=float(estimator.l2_regularization),
        split_penalty=float(estimator.split_penalty),
        category_penalty=float(estimator.category_penalty),
        max_features=column_fraction(estimator.max_features, len(encoder.columns)),
        monotonic=directions,
        # with a constraint, the variance could fall as the sum rises, and the prediction with it
        estimates_variance=nonlinear_link
        and not directions
        and estimator.missing in STRATEGIES_WITH_THIRD_BRANCH,
        seed=seed,
    )


def _limit(value: Any, largest: int = 2**31 - 1) -> int:
    """Return a limit as an integer that fits the core; None is no limit."""
    return largest if value is None else min(int(value), largest)


# ---- models


class GrowingModel:
    """Fitted trees that grow on demand: a single tree, those of a forest, or those of gradient boosting."""

    def __init__(
        self,
        core: _core.LadderModel | _core.BoostedModel,
        kind: Literal["tree", "tree of a forest", "forest", "boosting"],
        *,
        position: tuple[int, int] | None = None,
        importances: NDArray[np.float64] | None = None,
    ) -> None:
        self.core: Any = core
        #: What warnings call the model.
        self.kind = kind
        #: Of a tree of a forest: its number, and the number of trees.
        self.position = position
        #: Whether the caller has been warned that rows reached branches that cannot be grown.
        self.warned_of_ungrown = False
        #: Whether the caller has named rows to grow for, which warnings of an export mention.
        self.is_grown_for_rows = False
        self.importances_ = importances
        self._arrays: _core.Tree | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"core": (type(self.core), self.core.state(with_rows=True)), "_arrays": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        core_type, core_state = state["core"]
        vars(self).update(state | {"core": core_type.from_state(core_state)})

    def copy(self) -> GrowingModel:
        """Return a copy, which grows by itself."""
        copied = GrowingModel(
            self.core.copy(), self.kind, position=self.position, importances=self.importances_
        )
        copied.is_grown_for_rows = self.is_grown_for_rows
        return copied

    @property
    def weighs_evidence(self) -> bool:
        """Whether rows go both ways at splits that have no third branch, in parts that their other values suggest."""
        return self.missing in STRATEGIES_WITH_THIRD_BRANCH and self.core.params["min_missing_third"] > 0

    def with_third_branches(self) -> GrowingModel:
        """Return a copy of a tree or a forest in which these splits have third branches instead."""
        copied = GrowingModel(self.core.with_third_branches(), self.kind, position=self.position)
        copied.is_grown_for_rows = self.is_grown_for_rows
        return copied

    def find_evidence(self, n_threads: int) -> None:
        """Find the evidence of all nodes of a tree or a forest."""
        if not self.weighs_evidence or self.is_detached:
            return
        from tritree.inspection.tree_arrays import UNGROWN, Branch

        for number, tree in enumerate(self.trees()):
            nodes = np.flatnonzero((tree.missing_to == Branch.BOTH) & (tree.evidence_begin == UNGROWN))
            both = np.full(len(nodes), Branch.BOTH, dtype=np.int32)
            self.core.grow_branches(number, nodes.astype(np.int32), both, 0, n_threads)
        self._arrays = None

    @property
    def is_single(self) -> bool:
        """Whether the model is one tree."""
        return self.kind in ("tree", "tree of a forest")

    @property
    def missing(self) -> str:
        """The strategy that the trees were fitted with."""
        return str(self.core.params["missing"])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.core.n_columns)

    @property
    def n_outputs(self) -> int:
        """Number of values that are predicted for a row."""
        return int(self.core.n_outputs)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.core.n_trees)

    @property
    def n_iterations(self) -> int:
        """Number of boosting iterations, or of trees."""
        return int(self.core.n_iterations)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.core.n_nodes)

    @property
    def n_grown(self) -> int:
        """Number of nodes that were grown on demand."""
        return int(self.core.n_grown)

    @property
    def n_ungrown(self) -> int:
        """Number of branches that are known but not grown."""
        return int(self.core.n_ungrown)

    @property
    def n_ungrown_hits(self) -> int:
        """How often a row reached a third branch that could not be grown."""
        return int(self.core.n_ungrown_hits)

    @property
    def is_detached(self) -> bool:
        """Whether the training rows are gone, or were never needed."""
        return bool(self.core.is_detached)

    def trees(self) -> Iterator[_core.Tree]:
        """Return the arrays of each tree as it is now."""
        return (self.core.tree(number) for number in range(self.n_trees))

    def arrays(self) -> _core.Tree:
        """Return the arrays of a single tree as it is now; the same ones as before if no node was added."""
        if self._arrays is None or len(self._arrays.column) != self.n_nodes or self.weighs_evidence:
            self._arrays = self.core.tree(0)
        return self._arrays

    def predict(
        self, columns: _core.Columns, n_rows: int, n_threads: int, iterations: tuple[int, int] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the mean, or for boosting the sum, over trees, one column per output; grows what the rows need.

        Beside it, its variance due to missing values; None where it is not estimated.
        """
        begin, end = iterations or (0, None)
        found: tuple[NDArray[np.float64], NDArray[np.float64] | None] = self.core.predict(
            columns, n_rows, begin, end, n_threads
        )
        return found

    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree if there are many; grows what the rows need."""
        nodes: NDArray[np.int32] = self.core.apply(columns, n_rows, n_threads)
        return nodes[:, 0] if self.is_single else nodes

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return the normalised reduction of the training loss by column, the mean over trees; cached."""
        if self.importances_ is None or self.kind == "boosting":
            # of a copy: training rows with missing values may need branches that are not grown
            core = self.core.copy() if self.kind != "boosting" and self.n_ungrown else self.core
            try:
                reductions = core.importances(n_threads).reshape(-1, self.n_columns).clip(min=0)
            except RuntimeError:
                if not self.is_detached:
                    raise
                raise AttributeError(
                    "feature_importances_ needs the training rows, which are gone (detach(), or a file saved without "
                    "them); access it once before detach() or save()"
                ) from None
            fractions = [found / found.sum() for found in reductions if found.sum() > 0]
            self.importances_ = np.mean(fractions, axis=0) if fractions else np.zeros(self.n_columns)
        return self.importances_.copy()

    def detach(self) -> None:
        """Drop the training rows."""
        self.core.detach()

    # ---- growth of everything

    def grow_all(self, max_nodes: int, n_threads: int) -> None:
        """Grow every known branch; raise a GrowthLimitError where ``max_nodes`` would be exceeded.

        A third branch of boosting, or of trees with a maximum number of leaves, is grown with all that is below it: the
        last one may exceed the limit.
        """
        step, ungrown = 256, self.n_ungrown
        if ungrown and self.is_detached:
            raise RuntimeError(
                f"{ungrown:,} branches can no longer be grown: the training rows are gone (detach(), or a file saved "
                "without them); call grow_all() before detach() or save(), or fit again"
            )
        with growth_progress(max_nodes) as show:
            while ungrown:
                n_nodes = self.n_nodes
                if n_nodes >= max_nodes:
                    raise self._limit_error(max_nodes, ungrown, "max_nodes")
                begin = time.perf_counter()
                before, ungrown = ungrown, self.core.grow_some(min(step, max_nodes - n_nodes), n_threads)
                seconds = time.perf_counter() - begin
                if ungrown == before and self.n_nodes == n_nodes:
                    raise self._limit_error(max_nodes, ungrown, "max_third_nodes")
                if seconds < _STEP_SECONDS / 2:
                    step = min(2 * step, _MAX_STEP)
                elif seconds > _STEP_SECONDS:
                    step = max(1, step // 2)
                show(self.n_nodes, ungrown)

    def _limit_error(
        self, max_nodes: int, n_ungrown: int, limit: Literal["max_nodes", "max_third_nodes"]
    ) -> GrowthLimitError:
        return GrowthLimitError(
            self.n_nodes,
            max_nodes,
            _REMEDIES[limit],
            limit=limit,
            n_ungrown=n_ungrown,
            n_nodes_in_full=None if self.kind == "boosting" else self._n_nodes_in_full(),
            n_trees=self.n_trees,
        )

    def _n_nodes_in_full(self) -> int | None:
        """Return an upper bound of the number of nodes if all branches are grown; None if it is astronomical."""
        total, parameters = 0, self.core.params
        for tree in self.trees():
            # a child has fewer rows than its node, by as many as a leaf must have
            depth = min(parameters["max_depth"], int(tree.rows[0]) // parameters["min_samples_leaf"])
            if depth > _MAX_DEPTH:
                return None
            total += max_tree_size(self.n_columns, depth)
        return total

    def grow_by_missing(self, max_nodes: int, n_threads: int) -> None:
        """Grow what rows with one missing value may need, then with two, and so on, up to ``max_nodes``."""
        self.find_evidence(n_threads)
        while not self.is_detached and (room := max_nodes - self.n_nodes) > 0:
            nodes, branches = _fewest_missing(self.arrays())
            if not len(nodes):
                return
            step = min(room, _MAX_STEP)  # Ctrl-C takes effect between two of them
            self.core.grow_branches(0, nodes[:step], branches[:step], step, n_threads)
            self.find_evidence(n_threads)


def _fewest_missing(tree: _core.Tree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the ungrown branches, node and branch, that have the fewest third branches above them."""
    from tritree.inspection.tree_arrays import UNGROWN

    n_missing = np.zeros(len(tree.column), dtype=np.int32)
    for node in range(len(n_missing)):  # a child comes after its parent
        for children, more in ((tree.left, 0), (tree.right, 0), (tree.third, 1)):
            if children[node] >= 0:
                n_missing[children[node]] = n_missing[node] + more
    children = np.stack([tree.left, tree.right, tree.third])
    branches, nodes = np.nonzero(children == UNGROWN)
    of_branch = n_missing[nodes] + (branches == 2)
    fewest = of_branch == of_branch.min(initial=len(n_missing))
    order = np.argsort(nodes[fewest], kind="stable")
    return nodes[fewest][order].astype(np.int32), branches[fewest][order].astype(np.int32)


def max_tree_size(n_columns: int, max_depth: int) -> int:
    """Return the maximum number of nodes of a tree with third branches.

    A node at depth d with p columns left has two children with p columns at depth d + 1, and a third branch at depth d
    with p - 1 columns.
    """
    sizes = [1] * (n_columns + 1)  # by columns left, of a node at the maximum depth
    for _ in range(max_depth):
        below, sizes = sizes, [1]
        for columns in range(1, n_columns + 1):
            sizes.append(1 + 2 * below[columns] + sizes[-1])
    return sizes[n_columns]


def warn_of_ungrown(model: GrowingModel) -> None:
    """Warn once if rows have reached third branches that cannot be grown."""
    if not (n := model.n_ungrown_hits) or model.warned_of_ungrown:
        return
    model.warned_of_ungrown = True
    cause = "detached" if model.is_detached else "node_limit"
    warn_caller(UngrownBranchWarning(cause, n))
