"""The interface of the compiled core: binning, growth, prediction. No tables, names or messages."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

#: A column as the core reads it: float64 or float32 (any stride, NaN is missing), or int32 category numbers
#: (-1 is missing, -2 was not seen in training). ``None`` is a column that is absent: missing in every row.
Column = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int32]
#: The columns of a table, one by one or as those of a two-dimensional array.
Columns = Sequence[Column | None] | NDArray[np.float64] | NDArray[np.float32]

class InfiniteValueError(ValueError):
    """An infinite value in a numeric column; ``args`` is ``(column number, row number, value)``."""

def hardware_threads() -> int:
    """Return the number of processors this process may use."""

@final
class BinnedColumns:
    """A table as bins, one array per column, with a bin of its own for missing values."""

    def __init__(
        self, columns: Sequence[Column], n_categories: Sequence[int], max_bins: int, n_threads: int
    ) -> None:
        """Bin the columns; ``n_categories`` is -1 where a column is numeric. Raises InfiniteValueError."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_bins(self) -> list[int]:
        """Number of bins per column, without that of missing values."""

    def bins(self, column: int) -> NDArray[np.uint16]:
        """Return the bins of one column; ``n_bins[column]`` stands for missing."""

    def bounds(self, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest and the largest value in each bin of a numeric column."""

    @staticmethod
    def join(parts: Sequence[BinnedColumns]) -> BinnedColumns:
        """Return the rows of parts one after the other, with the smallest and largest values of all of them."""

    def take(self, rows: NDArray[np.int64]) -> BinnedColumns:
        """Return some rows in the given order."""

    def hash_rows(self, seed: int, n_threads: int) -> NDArray[np.uint64]:
        """Return a hash of the bins of each row."""

    def with_masked_copies(self, n_copies: int, seed: int, n_threads: int) -> BinnedColumns:
        """Return the table followed by copies of it, in whose rows random fractions of the cells are missing."""

def sample_by_hash(
    hashes: NDArray[np.uint64], weight: NDArray[np.float64] | None, n: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return n rows, sampled by their hashes, in random order: their keys, in ascending order, and the rows.

    The smallest keys of several samples are those of one sample, if equal hashes are in one of them.
    """

@final
class TableCounts:
    """Counts the values of the numeric columns of a table that is read part by part, so that it can be binned."""

    def __init__(self, n_columns: int) -> None: ...
    def add(self, columns: Sequence[Column | None], n_rows: int, n_threads: int) -> None:
        """Count the values of a part; columns that are None are skipped. Raises InfiniteValueError."""

    def merge(self, other: TableCounts) -> None:
        """Add what was counted elsewhere."""

    def bounds(self, column: int, n_rows: int, max_bins: int) -> NDArray[np.uint64] | None:
        """Return the bounds of the bins of a column; None if its values were not counted finely enough."""

def sorted_bounds(values: Column, max_bins: int) -> NDArray[np.uint64]:
    """Return the bounds of the bins of a numeric column, all of whose values are given."""

@final
class Scratch:
    """A folder whose disk holds bins, in files without a name; an OSError says why it cannot."""

    def __init__(self, folder: str) -> None: ...

@final
class TableBinner:
    """Bins the rows of a table part by part, as `BinnedColumns` bins the whole.

    Room for the bins, and for a row-major copy if ``also_rows``, is reserved on the disk of ``scratch`` if there is one.
    """

    def __init__(
        self,
        n_rows: int,
        bounds: Sequence[NDArray[np.uint64]],
        n_categories: Sequence[int],
        scratch: Scratch | None = None,
        also_rows: bool = False,
    ) -> None: ...
    def append(self, columns: Sequence[Column], n_rows: int, n_threads: int) -> None:
        """Bin the next rows."""

    def finish(self, every_bin_occurs: bool = True) -> BinnedColumns:
        """Return the table; a ValueError says that the rows are not those that were counted.

        In a part of a table, not every bin occurs.
        """

@final
class GrowthParameters:
    """Growth parameters of a tree, a forest or a boosted ensemble."""

    def __init__(
        self,
        *,
        missing: str,
        max_depth: int,
        max_leaf_nodes: int = 0,
        min_samples_leaf: int,
        max_features: float = 1.0,
        split_on_missing: bool = True,
        seed: int = 0,
        max_third_nodes: int = ...,
        criterion: str = "squared_error",
        n_classes: int = 0,
        max_surrogates: int = 5,
        surrogate_rows: int = 0,
        min_missing_third: float = 0.0,
        keep_best_split_only: bool = False,
        as_in_paper_runs: bool = False,
        l2: float = 0.0,
        split_penalty: float = 0.0,
        category_penalty: float = 0.0,
        monotonic: list[int] = ...,
        third_depth_extra: int = 0,
        third_rows: int = 1000,
        estimates_variance: bool = False,
    ) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Tree:
    """A tree as flat arrays, one per field, indexed by node; a copy of what the model had when it was asked for.

    ``column`` is -1 in a leaf. A child of -1 does not exist, one of -2 (UNGROWN) has not been grown yet.
    ``threshold``: left is value < threshold; -inf is "missing against observed"; NaN in categorical splits and leaves.
    ``missing_to`` (and ``surrogate_below``): 0 left, 1 right, 2 third, 3 both, 4 surrogates, -1 in a leaf.
    ``larger_side``: 0 or 1, the side with more observed rows; with surrogates the child with more rows, -1 if both have
    as many: a row that no surrogate places stays in the node.
    ``missing_branch``, ``unseen_branch``: where missing values, and categories that the node has not seen, go.
    A categorical split owns ``2 * set_words`` words of ``sets`` from ``set_begin``: a bit per category number that goes
    left, then a bit per category number that goes right; a category in neither was not seen in the node.
    The surrogates of node i are ``surrogate_begin[i]:surrogate_begin[i + 1]`` of the ``surrogate_*`` arrays, best first.
    Boosted trees: ``weight`` is the number of rows (fractional: the sum of their fractions), ``loss`` is NaN, ``gain``
    is the reduction of the loss by a split, ``variance`` what the tree adds to the variance of the prediction.
    """

    n_fitted: int  # nodes grown by fit; the others were grown on demand
    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    set_begin: NDArray[np.int64]
    set_words: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    third: NDArray[np.int32]
    missing_to: NDArray[np.int8]
    larger_side: NDArray[np.int8]
    missing_branch: NDArray[np.int8]
    unseen_branch: NDArray[np.int8]
    left_fraction: NDArray[np.float64]
    depth: NDArray[np.int32]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    loss: NDArray[np.float64]
    value: NDArray[np.float64]  # (n_nodes, n_outputs)
    first_right_bin: NDArray[np.uint16]
    gain: NDArray[np.float64]
    variance: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sets: NDArray[np.uint64]
    surrogate_begin: NDArray[np.int32]
    surrogate_column: NDArray[np.int32]
    evidence_begin: NDArray[np.int32]  # of the evidence of a node; UNGROWN (-2) if it was not found
    evidence_end: NDArray[np.int32]
    evidence_column: NDArray[np.int32]
    evidence_rows: NDArray[np.int32]
    evidence_left: NDArray[np.int32]
    evidence_group_end: NDArray[np.int64]
    evidence_key: NDArray[np.float64]
    evidence_group_rows: NDArray[np.uint16]
    evidence_group_left: NDArray[np.uint16]
    surrogate_threshold: NDArray[np.float64]
    surrogate_below: NDArray[np.int8]
    surrogate_set_begin: NDArray[np.int64]
    surrogate_set_words: NDArray[np.int32]

    def decision_paths(
        self, columns: Columns, n_rows: int, rows: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """Return the steps of some rows of a table through the tree, as far as it is grown, level by level.

        ``level_begin`` of each level, and of each step ``row``, ``origin`` (the step before, within its level), ``node``,
        ``to`` (the node itself if the branch is not grown, or if the row stays there: then ``branch`` is -1), ``branch``,
        ``fraction``, ``decided_by`` (the column of the split, or of the surrogate used) and ``lacks_value``.
        """

class GrowingModel:
    """A fitted model whose trees grow on demand: a single tree, a forest or boosted trees. Thread-safe."""

    def predict(
        self, columns: Columns, n_rows: int, begin: int, end: int | None, n_threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the mean over trees, or of boosting the sum, by some iterations, (n_rows, n_outputs).

        Beside it its variance due to missing values, or None if it is not estimated. Grows the third branches
        that rows reach. The sum has the baseline if the first iteration is included.
        """

    def apply(self, columns: Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree (fractional: that with the largest fraction)."""

    def grow_some(self, max_new_nodes: int, n_threads: int) -> int:
        """Grow about that many more nodes; return how many known branches are still ungrown."""

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return the reduction of the training loss, (n_trees * n_columns), of boosting (n_columns)."""

    def detach(self) -> None:
        """Drop the training rows; ungrown branches predict the value of their node from now on."""

    def keep_iterations(self, n: int) -> None:
        """Drop the iterations after the first n."""

    def tree(self, number: int) -> Tree:
        """Return the arrays of one tree as they are now."""

    @property
    def params(self) -> dict[str, Any]:
        """The growth parameters, by name."""

    @property
    def n_columns(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_iterations(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_grown(self) -> int:
        """Nodes grown on demand, after fitting."""

    @property
    def n_ungrown(self) -> int:
        """Branches that are known but not grown."""

    @property
    def n_ungrown_hits(self) -> int:
        """How often a row reached a branch that could not be grown, and got the value of its node."""

    @property
    def is_detached(self) -> bool: ...

@final
class LadderModel(GrowingModel):
    """A single tree or a forest."""

    def __init__(
        self,
        binned: BinnedColumns,
        y: NDArray[np.float64] | NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        params: GrowthParameters,
    ) -> None:
        """Return a model without trees; int32 class numbers in classification, float64 in regression."""

    def add_trees(
        self,
        seeds: Sequence[int],
        in_bags: Sequence[NDArray[np.uint32]] | None,
        n_threads: int,
        on_tree: Callable[[], None] | None = None,
    ) -> None:
        """Grow one tree per seed, from all rows or from sorted samples of them; ``on_tree`` is called after each."""

    def grow_branches(
        self,
        tree: int,
        nodes: NDArray[np.int32],
        branches: NDArray[np.int32],
        max_new_nodes: int,
        n_threads: int,
    ) -> None:
        """Grow branches of nodes (0 left, 1 right, 2 third) that are known and not grown, up to a number of nodes.

        Of 3, both, the evidence is found.
        """

    def target_distribution(self, tree: int, nodes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the distribution of the training target in some nodes.

        ``edges`` of the bins (none in classification), and ``fractions`` of each node's weight, one bin after the
        other; NaN where they are not known: for nodes grown on demand, once the training rows are dropped.
        """

    @property
    def seeds(self) -> list[int]: ...
    def copy(self) -> LadderModel:
        """Return a copy that grows by itself from the same rows."""

    def with_third_branches(self) -> LadderModel:
        """Return a copy in which all splits that send rows both ways have third branches."""

    def copy_of_tree(self, number: int) -> LadderModel:
        """Return a model of one of the trees."""

    def copy_with_rows(
        self, binned: BinnedColumns, y: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> LadderModel:
        """Return a copy to add trees to; a ValueError if its trees grow from other rows."""

    def state(self, with_rows: bool) -> dict[str, Any]:
        """Return the model as arrays and plain numbers."""

    @staticmethod
    def from_state(state: dict[str, Any]) -> LadderModel:
        """Return the model of a state; a ValueError says what is wrong with it."""

@final
class BoostedModel(GrowingModel):
    """Boosted trees: ``n_outputs`` per iteration."""

    def __init__(self, binned: BinnedColumns, params: GrowthParameters, baseline: list[float]) -> None: ...
    def keep_background(
        self, binned: BinnedColumns, weight: NDArray[np.float64] | None, max_rows: int, n_threads: int
    ) -> None:
        """Keep at most that many of the training rows to grow third branches from."""

    def set_background(
        self, sampled: BinnedColumns, weight: NDArray[np.float64] | None, n_threads: int
    ) -> None:
        """Set the rows to grow third branches from, in random order."""

    def grow_for_background(self, n_threads: int) -> None:
        """Grow the third branches that the kept rows need, tree by tree."""

    @property
    def baseline(self) -> list[float]: ...
    def copy(self) -> BoostedModel:
        """Return a copy that grows by itself from the same rows."""

    def state(self, with_rows: bool) -> dict[str, Any]:
        """Return the model as arrays and plain numbers."""

    @staticmethod
    def from_state(state: dict[str, Any], may_lack_trees: bool = False) -> BoostedModel:
        """Return the model of a state; a ValueError says what is wrong with it.

        Before the first iteration, a model lacks trees.
        """

@final
class Booster:
    """Adds iterations to a boosted model."""

    def __init__(
        self,
        binned: BinnedColumns,
        model: BoostedModel,
        loss: str,
        quantile: float,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        learning_rate: float,
        subsample: float,
        n_threads: int,
        first_row: int = 0,
        n_rows: int | None = None,
        combine: Callable[[str, NDArray[Any]], NDArray[Any]] | None = None,
    ) -> None:
        """Start a model, or continue one that was started with the same rows.

        With ``combine``, these are the rows of a part of the table, from ``first_row`` on; the table has ``n_rows``.
        Each part calls ``combine("sum", ...)`` for integers, or ``combine("max", ...)`` for numbers, in the same order,
        and gets the sums or largest numbers over all parts.
        """

    @staticmethod
    def resume(
        columns: Columns,
        raw: NDArray[np.float64],
        model: BoostedModel,
        loss: str,
        quantile: float,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        learning_rate: float,
        subsample: float,
        n_threads: int,
    ) -> Booster:
        """Continue a model with a table, given the raw predictions for it so far, one output after the other."""

    def boost(self) -> None:
        """Add an iteration."""

    def raw(self) -> NDArray[np.float64]:
        """Return the raw predictions of the training rows, one output after the other."""
