"""The core's trees behind one interface for single trees, forests and boosting, and the parameters it grows them by."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tritree import _core
from tritree.errors import GrowthLimitError
from tritree.estimators.reaching_rows import as_columns, row_to_third_branch
from tritree.progress import growth_progress
from tritree.validation import THIRD_BRANCHES, column_fraction, monotonic_directions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.reaching_rows import Value
    from tritree.inspection.tree_arrays import TreeArrays

__all__ = [
    "BinnedRows",
    "BoostingModel",
    "ForestModel",
    "GrowingModel",
    "TreeModel",
    "boosting_parameters",
    "growth_parameters",
    "run_jobs",
]

T = TypeVar("T")

UNGROWN = -2  # a child in the core's arrays
# how long one step of grow_all may take: short enough for Ctrl-C and the progress line to feel alive
_STEP_SECONDS = 0.2
# and how many nodes it may grow: what more of them need at once does not stay in the caches
_MOST_NODES = 4096
_REST_ON_DEMAND = (
    "leave the rest to grow on demand (what was grown stays, and predictions are right either way)"
)
# beyond this depth a tree in full has more nodes than there are atoms, and nobody grows it
_MOST_DEPTH = 100


# ---- parameters as the core takes them


def growth_parameters(
    estimator: Any, n_columns: int, n_classes: int, seed: int, **options: Any
) -> _core.Settings:
    """Return how the core grows a tree, or one of a forest; ``n_classes`` is 0 in regression.

    ``options`` take precedence over the parameters of the estimator.
    """
    parameters = {
        "missing": estimator.missing,
        "criterion": "entropy" if estimator.criterion == "log_loss" else estimator.criterion,
        "n_classes": n_classes,
        "max_depth": _limit(estimator.max_depth),
        "min_samples_leaf": _limit(estimator.min_samples_leaf),
        "split_on_missing": bool(estimator.split_on_missing),
        "max_surrogates": _limit(estimator.max_surrogates),
        "max_features": column_fraction(estimator.max_features, n_columns),
        "seed": seed,
    }
    return _core.Settings(**(parameters | options))


def boosting_parameters(estimator: Any, encoder: TableEncoder, seed: int, *, has_link: bool) -> _core.Plan:
    """Return how the core grows boosted trees; ``has_link``: predictions are a non-linear function of the sum."""
    directions = monotonic_directions(estimator.monotonic_cst, encoder)
    sizes = ("max_depth", "min_samples_leaf", "third_depth_extra", "third_rows", "max_third_nodes")
    return _core.Plan(
        **{name: _limit(getattr(estimator, name), 2**29) for name in sizes},
        missing=estimator.missing,
        max_leaf_nodes=0 if estimator.max_leaf_nodes is None else _limit(estimator.max_leaf_nodes, 2**29),
        l2=float(estimator.l2_regularization),
        max_features=column_fraction(estimator.max_features, len(encoder.columns)),
        monotonic=directions,
        # with a constraint, the variance could fall as the sum rises, and the prediction with it
        measures_doubt=has_link and not directions and estimator.missing in THIRD_BRANCHES,
        seed=seed,
    )


def _limit(value: Any, most: int = 2**31 - 1) -> int:
    """Return a limit as an integer that fits the core; None is no limit."""
    return most if value is None else min(int(value), most)


# ---- models


def run_jobs(jobs: Sequence[Callable[[], T]], n_threads: int) -> Iterator[T]:
    """Yield the results of jobs in their order, several running at once; Ctrl-C drops those that wait."""
    if n_threads == 1 or len(jobs) == 1:
        for job in jobs:
            yield job()
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        # only a few ahead of the one that is waited for: what all of them return may be large
        running = [pool.submit(job) for job in jobs[: 2 * n_threads]]
        for number in range(len(jobs)):
            result = running.pop(0).result()
            if number + 2 * n_threads < len(jobs):
                running.append(pool.submit(jobs[number + 2 * n_threads]))
            yield result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class GrowingModel:
    """Fitted trees that grow on demand."""

    def __init__(self, cores: Sequence[Any], missing: str) -> None:
        #: The core's trees: one or many that each grow by themselves, or one ensemble.
        self.cores = cores
        #: The strategy that they were fitted with.
        self.missing = missing
        #: Whether the caller has been warned that rows reached branches that cannot be grown.
        self.warned_of_ungrown = False

    @property
    def core(self) -> Any:
        """The only one of the core's objects."""
        (core,) = self.cores
        return core

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.cores)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(core.n_nodes for core in self.cores)

    @property
    def n_grown(self) -> int:
        """Number of nodes that were grown on demand."""
        return sum(core.n_grown for core in self.cores)

    @property
    def n_ungrown_hits(self) -> int:
        """How often a row reached a third branch that could not be grown."""
        return sum(core.n_cut_short for core in self.cores)

    @property
    def is_detached(self) -> bool:
        """Whether the training rows are gone, or were never needed."""
        return all(core.is_detached for core in self.cores)

    def trees(self) -> Iterable[TreeArrays]:
        """Return the arrays of each tree as it is now."""
        return (core.tree() for core in self.cores)

    def predict(self, columns: _core.Columns, n_rows: int, n_threads: int) -> Any:
        """Return the values of rows, one column per output; grows what the rows need."""
        return self.core.predict(columns, n_rows, n_threads)

    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in; grows what the rows need."""
        nodes: NDArray[np.int32] = self.core.apply(columns, n_rows, n_threads)
        return nodes

    def grow_all(self, max_nodes: int, n_threads: int) -> None:
        """Grow every known branch; raise a GrowthLimitError where ``max_nodes`` would be exceeded."""
        raise NotImplementedError

    def detach(self) -> None:
        """Drop the training rows."""
        for core in self.cores:
            core.detach()


def _cannot_grow(n_ungrown: int) -> RuntimeError:
    return RuntimeError(
        f"{n_ungrown:,} branches can no longer be grown: the training rows are gone (detach(), or a file saved without "
        "them); call grow_all() before detach() or save(), or fit again"
    )


class TreeModel(GrowingModel):
    """A single tree, or with other ``cores`` several."""

    def __init__(self, core: _core.Model, position: tuple[int, int] | None = None) -> None:
        super().__init__([core], core.settings["missing"])
        #: The number of the tree in its forest, and the number of trees there.
        self.position = position
        self.importances_: NDArray[np.float64] | None = None
        self._arrays: _core.Tree | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_arrays": None}  # a copy of what the core has

    @property
    def n_ungrown(self) -> int:
        """Number of branches that are known but not grown."""
        return sum(core.n_ungrown for core in self.cores)

    def arrays(self) -> _core.Tree:
        """Return the arrays of the tree as it is now; the same ones as before if no node was added."""
        arrays = self._arrays
        if arrays is None or len(arrays.column) != self.core.n_nodes:
            arrays = self._arrays = self.core.tree()
        return arrays

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return the normalised reduction of the training loss by column, the mean over trees; cached."""
        if self.importances_ is None:
            jobs = [partial(core.importances, 1 if len(self.cores) > 1 else n_threads) for core in self.cores]
            try:
                reductions = [found.clip(min=0) for found in run_jobs(jobs, n_threads)]
            except RuntimeError:
                if not self.is_detached:
                    raise
                raise AttributeError(
                    "feature_importances_ needs the training rows, which are gone (detach(), or a file saved without "
                    "them); access it once before detach() or save()"
                ) from None
            fractions = [found / found.sum() for found in reductions if found.sum() > 0]
            self.importances_ = np.mean(fractions, axis=0) if fractions else np.zeros(self.cores[0].n_columns)
        return self.importances_.copy()

    def grow_all(self, max_nodes: int, n_threads: int) -> None:
        """Grow every known branch; raise a GrowthLimitError where ``max_nodes`` would be exceeded."""
        if self.n_ungrown and self.is_detached:
            raise _cannot_grow(self.n_ungrown)
        with growth_progress(max_nodes) as show:
            for core in self.cores:
                self._grow_tree(core, max_nodes, n_threads, show)

    def _grow_tree(
        self, tree: _core.Model, max_nodes: int, n_threads: int, show: Callable[[int, int], None]
    ) -> None:
        step, ungrown = 256, tree.n_ungrown
        while ungrown:
            room = max_nodes - self.n_nodes
            if room <= 0:
                raise GrowthLimitError(
                    self.n_nodes,
                    max_nodes,
                    f"raise max_nodes, lower max_depth, or {_REST_ON_DEMAND}",
                    n_ungrown=self.n_ungrown,
                    n_nodes_in_full=self._n_nodes_in_full(),
                    n_trees=self.n_trees,
                )
            begin = time.perf_counter()
            ungrown = tree.grow_some(min(step, room), n_threads)
            seconds = time.perf_counter() - begin
            if seconds < _STEP_SECONDS / 2:
                step = min(2 * step, _MOST_NODES)
            elif seconds > _STEP_SECONDS:
                step = max(1, step // 2)
            show(self.n_nodes, self.n_ungrown)

    def _n_nodes_in_full(self) -> int | None:
        """Return an upper bound of the number of nodes if all branches are grown; None if it is astronomical."""
        total = 0
        for core in self.cores:
            # a child has fewer rows than its node, by as many as a leaf must have
            n_rows, settings = int(core.tree().rows[0]), core.settings
            depth = min(settings["max_depth"], n_rows // settings["min_samples_leaf"])
            if depth > _MOST_DEPTH:
                return None
            total += most_nodes(core.n_columns, depth)
        return total

    def grow_by_missing(self, max_nodes: int, n_threads: int) -> None:
        """Grow what rows with one missing value may need, then with two, and so on, up to ``max_nodes``."""
        while not self.is_detached and (room := max_nodes - self.core.n_nodes) > 0:
            nodes, sides = _fewest_missing(self.arrays())
            if not len(nodes):
                return
            step = min(room, _MOST_NODES)  # Ctrl-C takes effect between two of them
            self.core.grow_branches(nodes[:step], sides[:step], n_threads)


def _fewest_missing(tree: _core.Tree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the ungrown branches, node and side, that have the fewest third branches above them."""
    n_missing = np.zeros(len(tree.column), dtype=np.int32)
    for node in range(len(n_missing)):  # a child comes after its parent
        for children, more in ((tree.left, 0), (tree.right, 0), (tree.third, 1)):
            if children[node] >= 0:
                n_missing[children[node]] = n_missing[node] + more
    children = np.stack([tree.left, tree.right, tree.third])
    sides, nodes = np.nonzero(children == UNGROWN)
    of_branch = n_missing[nodes] + (sides == 2)
    fewest = of_branch == of_branch.min(initial=len(n_missing))
    order = np.argsort(nodes[fewest], kind="stable")
    return nodes[fewest][order].astype(np.int32), sides[fewest][order].astype(np.int32)


def most_nodes(n_columns: int, max_depth: int) -> int:
    """Return the most nodes that a tree with third branches can have.

    A node at depth d with p columns left has two children with p columns at depth d + 1, and a third branch at depth d
    with p - 1 columns.
    """
    sizes = [1] * (n_columns + 1)  # by columns left, of a node at the maximum depth
    for _ in range(max_depth):
        below, sizes = sizes, [1]
        for columns in range(1, n_columns + 1):
            sizes.append(1 + 2 * below[columns] + sizes[-1])
    return sizes[n_columns]


@dataclass(frozen=True)
class BinnedRows:
    """The training rows that all trees of a forest are grown from."""

    codes: _core.Codes
    #: Numbers, or int32 class numbers.
    target: NDArray[Any]
    weight: NDArray[np.float64] | None


class ForestModel(TreeModel):
    """The trees of a forest, and the training rows that they share until they are detached."""

    def __init__(
        self,
        cores: Sequence[_core.Model],
        rows: BinnedRows | None,
        importances: NDArray[np.float64] | None = None,
    ) -> None:
        GrowingModel.__init__(self, cores, cores[0].settings["missing"])
        self.rows = rows
        self.importances_ = importances

    @property
    def n_outputs(self) -> int:
        """Number of values that a tree predicts for a row."""
        return max(1, int(self.cores[0].settings["n_classes"]))

    def copy_of(self, number: int) -> _core.Model:
        """Return a copy of a tree, which goes on to grow by itself from the same rows."""
        return self._restored(self.cores[number].member_state())

    def predict(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.float64]:
        """Return the mean over trees, one column per output; grows what the rows need."""
        # one tree after the other, if there are too few rows to be worth a thread for each
        inner, outer = (1, n_threads) if self.n_trees > 1 and n_rows > 1 else (n_threads, 1)
        jobs = [partial(core.predict, columns, n_rows, inner) for core in self.cores]
        total = np.zeros((n_rows, self.n_outputs))
        for values in run_jobs(jobs, outer):
            total += values
        return total / self.n_trees

    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree; grows what the rows need."""
        jobs = [partial(core.apply, columns, n_rows, 1) for core in self.cores]
        return np.column_stack(list(run_jobs(jobs, n_threads)))

    def detach(self) -> None:
        """Drop the training rows."""
        super().detach()
        self.rows = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"cores": [core.member_state() for core in self.cores]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.cores = [self._restored(core) for core in state["cores"]]

    def _restored(self, state: dict[str, Any]) -> _core.Model:
        """Return a tree of a state, over the shared rows."""
        core = _core.Model.__new__(_core.Model)
        if self.rows is None:
            core.__setstate__(state)
        else:
            core.__setstate__(state, self.rows.codes, self.rows.target, self.rows.weight)
        return core


class BoostingModel(GrowingModel):
    """The trees of gradient boosting."""

    def __init__(self, core: _core.Ensemble, missing: str, n_columns: int, seed: int) -> None:
        super().__init__([core], missing)
        self.n_columns, self.seed = n_columns, seed

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"cores": self.core.state(with_background=True)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"cores": [_core.Ensemble.from_state(state["cores"])]})

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.core.n_trees)

    @property
    def n_iterations(self) -> int:
        """Number of boosting iterations."""
        return self.n_trees // int(self.core.n_outputs)

    def trees(self) -> Iterable[TreeArrays]:
        """Return the arrays of each tree as it is now."""
        from tritree.inspection.tree_arrays import EnsembleArrays

        return EnsembleArrays(self.core)

    def predict(
        self, columns: _core.Columns, n_rows: int, n_threads: int, iterations: tuple[int, int] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the sums over the trees of a range of iterations, and the variance that missing values leave them.

        The variance is None where it is not measured.
        """
        begin, end = iterations or (0, self.n_iterations)
        found: tuple[NDArray[np.float64], NDArray[np.float64] | None] = self.core.predict(
            columns, n_rows, begin, end, n_threads
        )
        return found

    def grow_all(self, max_nodes: int, n_threads: int) -> None:
        """Grow every third branch that a row can reach, by predicting rows that do.

        A branch is grown with all that is below it, so that ``max_nodes`` may be exceeded by a few branches.
        """
        with growth_progress(max_nodes) as show:
            while ungrown := self._rows_to_ungrown():
                n_ungrown, n_nodes = sum(map(len, ungrown.values())), self.n_nodes
                if self.is_detached:
                    raise _cannot_grow(n_ungrown)
                for iteration, rows in ungrown.items():
                    while rows:
                        if (room := max_nodes - self.n_nodes) <= 0:
                            raise self._growth_limit_error(
                                max_nodes, n_ungrown, "raise max_nodes, lower max_depth"
                            )
                        batch, rows = rows[: room // 64 + 1], rows[room // 64 + 1 :]
                        columns = as_columns(batch, self.n_columns)
                        self.predict(columns, len(batch), n_threads, (iteration, iteration + 1))
                        n_ungrown -= len(batch)
                        show(self.n_nodes, n_ungrown)
                if self.n_nodes == n_nodes:  # the trees that have ungrown branches are at their limit
                    n_ungrown = sum(map(len, ungrown.values()))
                    raise self._growth_limit_error(max_nodes, n_ungrown, "raise max_third_nodes")

    def _growth_limit_error(self, max_nodes: int, n_ungrown: int, remedy: str) -> GrowthLimitError:
        remedy += f", or {_REST_ON_DEMAND}"
        return GrowthLimitError(self.n_nodes, max_nodes, remedy, n_ungrown=n_ungrown, n_trees=self.n_trees)

    def _rows_to_ungrown(self) -> dict[int, list[dict[int, Value]]]:
        """Return by iteration a row for each ungrown third branch that a row can reach."""
        found: dict[int, list[dict[int, Value]]] = {}
        for number, tree in enumerate(self.trees()):
            for node in np.flatnonzero(tree.third == UNGROWN).tolist():
                if (row := row_to_third_branch(tree, node)) is not None:
                    found.setdefault(number // self.core.n_outputs, []).append(row)
        return found
