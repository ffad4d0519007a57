"""What the compiled core offers: codes, growth, prediction. No tables, names or messages live here."""

from collections.abc import Sequence
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

#: A column as the core reads it: float64 or float32 (any stride, NaN is missing), or int32 category numbers
#: (-1 is missing, -2 was never seen in training). ``None`` stands for a column that is absent: missing everywhere.
Column = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int32]
#: The columns of a table, one by one or as those of an array with two dimensions.
Columns = Sequence[Column | None] | NDArray[np.float64] | NDArray[np.float32]

class BadValue(ValueError):
    """An infinite value in a numeric column; ``args`` is ``(column number, row number, value)``."""

def hardware_threads() -> int:
    """Return the number of processors this process may use."""

@final
class Settings:
    """How to grow, as one frozen object."""

    def __init__(
        self,
        *,
        missing: str,
        criterion: str,
        n_classes: int,
        max_depth: int,
        min_samples_leaf: int,
        split_on_missing: bool,
        max_surrogates: int,
        missing_counts_twice: bool = False,
        max_features: float = 1.0,
        seed: int = 0,
        max_grown: int = ...,
    ) -> None: ...

@final
class Codes:
    """A table as small integers, one narrow array per column, with a code of its own for missing."""

    def __init__(
        self, columns: Sequence[Column], n_categories: Sequence[int], max_bins: int, n_threads: int
    ) -> None:
        """Code the columns; ``n_categories`` is -1 where a column is numeric. Raises BadValue on infinities."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_codes(self) -> list[int]:
        """Codes in use per column, missing not counted."""

    def codes(self, column: int) -> NDArray[np.uint16]:
        """Return the codes of one column; ``n_codes[column]`` stands for missing."""

    def bounds(self, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest and the largest value behind each code of a numeric column."""

    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

@final
class Tree:
    """A tree as flat arrays, one per field, indexed by node; frozen when it was asked for.

    ``column`` is -1 in a leaf. A child of -1 does not exist, one of -2 (UNGROWN) has not been grown yet.
    ``threshold``: left is value < threshold; -inf is "missing against observed"; NaN in categorical splits and leaves.
    ``missing_to`` (and ``surrogate_below``): 0 left, 1 right, 2 third, 3 both, 4 surrogates, -1 in a leaf.
    ``larger``: 0 or 1, where a row without information goes unless missing_to says third or both.
    A categorical split owns ``2 * set_words`` words of ``sets`` from ``set_begin``: a bit per category number that goes
    left, then a bit per category number that goes right; a category in neither was not seen in the node.
    The surrogates of node i are ``surrogate_begin[i]:surrogate_begin[i + 1]`` of the ``surrogate_*`` arrays, best first.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    set_begin: NDArray[np.int64]
    set_words: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    third: NDArray[np.int32]
    missing_to: NDArray[np.int8]
    larger: NDArray[np.int8]
    share: NDArray[np.float64]
    depth: NDArray[np.int32]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    loss: NDArray[np.float64]
    value: NDArray[np.float64]  # (n_nodes, n_outputs)
    sets: NDArray[np.uint64]
    surrogate_begin: NDArray[np.int32]
    surrogate_column: NDArray[np.int32]
    surrogate_threshold: NDArray[np.float64]
    surrogate_below: NDArray[np.int8]
    surrogate_set_begin: NDArray[np.int64]
    surrogate_set_words: NDArray[np.int32]

@final
class Model:
    """A tree that can still grow: the flat arrays, the ladders and the coded training rows. Safe from many threads."""

    def __init__(
        self,
        codes: Codes,
        response: NDArray[np.float64] | NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        settings: Settings,
        n_threads: int,
        in_bag: NDArray[np.uint32] | None = None,
    ) -> None:
        """Grow what a binary tree would; int32 class numbers in classification, float64 in regression.

        ``in_bag`` are the rows that count, in their order; one that is there twice counts twice.
        """

    def member_state(self) -> dict[str, Any]:
        """Return all of the model but its table, which the forest that it is a member of has."""

    def predict(self, columns: Columns, n_rows: int, n_threads: int) -> NDArray[np.float64]:
        """Return the values of the rows, (n_rows, n_outputs), growing third branches that rows reach."""

    def apply(self, columns: Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the leaf each row ends in (fractional: the one with the largest share)."""

    def grow_some(self, max_new_nodes: int, n_threads: int) -> int:
        """Grow at most that many more nodes and return how many known branches are still ungrown."""

    def grow_branches(self, nodes: NDArray[np.int32], sides: NDArray[np.int32], n_threads: int) -> None:
        """Grow branches of nodes (0 left, 1 right, 2 third), those of them that are known and not there yet."""

    def spread_of(self, nodes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return how the responses of the training rows are spread in some nodes.

        ``edges`` of the bins (none in classification), and ``shares`` of each node's weight, one bin after the
        other, NaN where they are not known: the rows of a node grown on demand go with detach().
        """

    def lasting_spread(self) -> dict[str, NDArray[Any]]:
        """Return the spread that is left once the training rows are gone, of the first nodes."""

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return per column the reduction of the training loss; grows what training rows reach."""

    def detach(self) -> None:
        """Drop the training rows and ladders; ungrown branches answer with their node's value from now on."""

    def tree(self) -> Tree:
        """Return the flat arrays as they are now."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the tree was grown with, by name."""

    @property
    def n_columns(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_grown(self) -> int:
        """Nodes grown on demand, after fitting."""

    @property
    def n_ungrown(self) -> int:
        """Branches that are known but not grown."""

    @property
    def n_cut_short(self) -> int:
        """Rows that met an ungrown branch after detach() and got their node's value."""

    @property
    def is_detached(self) -> bool: ...
    def __getstate__(self) -> dict[str, Any]: ...
    @overload
    def __setstate__(self, state: dict[str, Any]) -> None: ...
    @overload
    def __setstate__(
        self,
        state: dict[str, Any],
        codes: Codes,
        response: NDArray[Any],
        weight: NDArray[np.float64] | None,
    ) -> None:
        """Take up a member of a forest again, with the table that the forest has."""

class Plan:
    """How boosted trees are grown, as one frozen object."""

    def __init__(
        self,
        *,
        missing: str,
        max_depth: int,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        l2: float,
        max_features: float,
        monotonic: list[int],
        third_depth_extra: int,
        third_rows: int,
        max_third_nodes: int,
        measures_doubt: bool,
        seed: int,
    ) -> None: ...

class Ensemble:
    """Boosted trees that grow while they predict: ``n_outputs`` trees per round."""

    def __init__(self, codes: Codes, plan: Plan, baseline: list[float]) -> None: ...
    def keep_background(
        self, codes: Codes, weight: NDArray[np.float64] | None, most: int, n_threads: int
    ) -> None:
        """Keep at most so many of the coded rows to grow third branches from."""

    def predict(
        self, columns: Columns, n_rows: int, begin: int, end: int, n_threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the sums over the trees of some rounds, (n_rows, n_outputs); from the first on with the baseline.

        Beside them stands the variance that what is missing leaves them, or None if that is not measured.
        """

    def apply(self, columns: Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree (fractional: the one with the largest share)."""

    def ends(
        self, columns: Columns, n_rows: int, n_threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return where parts of rows end, where rows go both ways, one tree after the other.

        That is where the entries of each tree begin, and of each entry the row, the leaf and how much of the row it is.
        """

    def tree(self, number: int) -> dict[str, Any]:
        """Return the arrays of one tree."""

    def state(self, with_background: bool) -> dict[str, Any]:
        """Return all of it as arrays and plain numbers."""

    @staticmethod
    def from_state(state: dict[str, Any]) -> Ensemble:
        """Return the ensemble of a state; a ValueError says what is wrong with it."""

    def keep_rounds(self, n_rounds: int) -> None:
        """Drop the rounds after so many."""

    def detach(self) -> None:
        """Drop the background rows."""

    @property
    def goes_both_ways(self) -> bool:
        """Whether a row goes both ways where its value is missing."""

    @property
    def n_trees(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_grown(self) -> int: ...
    @property
    def n_cut_short(self) -> int: ...
    @property
    def is_detached(self) -> bool: ...

class Booster:
    """Adds rounds of trees to an ensemble, each fitted to what the ones before have left of a loss."""

    def __init__(
        self,
        data: Codes | Columns,
        ensemble: Ensemble,
        loss: str,
        quantile: float,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        learning_rate: float,
        subsample: float,
        raw: NDArray[np.float64] | None,
        n_threads: int,
    ) -> None: ...
    def boost(self) -> None:
        """Add a round."""

    def raw(self) -> NDArray[np.float64]:
        """Return the predictions of the training rows, one output after the other."""
