"""Flat arrays of a tree, one entry per node: the form in which views and traversal read every tree.

Single trees and the trees of a forest are handed out by the core in this form (`_core.Tree`); boosted trees are brought
into it here.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tritree import _core

__all__ = ["UNGROWN", "Branch", "EnsembleArrays", "TreeArrays"]

UNGROWN = -2  # a child that has not been grown
_NONE = -1  # no column, child or parent
_WORD = 64  # categories per word of a set
_PER_NODE = (
    "column",
    "begin",
    "missing_to",
    "larger",
    "left",
    "right",
    "third",
    "value",
    "gain",
    "rows",
    "set",
)


class Branch(IntEnum):
    """Where a split sends rows whose value is missing, numbered as in the core."""

    LEFT = 0
    RIGHT = 1
    THIRD = 2
    BOTH = 3
    SURROGATES = 4

    @property
    def word(self) -> str:
        """The branch as descriptions name it."""
        return self.name.lower()


class TreeArrays(Protocol):
    """Flat arrays of a tree; `_core.Tree` documents each of them."""

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
    value: NDArray[np.float64]
    sets: NDArray[np.uint64]
    surrogate_begin: NDArray[np.int32]
    surrogate_column: NDArray[np.int32]
    surrogate_threshold: NDArray[np.float64]
    surrogate_below: NDArray[np.int8]
    surrogate_set_begin: NDArray[np.int64]
    surrogate_set_words: NDArray[np.int32]


class BoostedTreeArrays(TreeArrays):
    """A boosted tree: the arrays of every tree, and some that only boosted trees have.

    ``weight`` is the number of rows, under "fractional" the sum of their fractions: sample weights and losses are not
    stored. There are no surrogates.
    """

    #: Reduction of the loss by each split.
    gain: NDArray[np.float64]
    #: Contribution of the tree to the variance of the sum over trees; zeros if variances are not stored.
    variance: NDArray[np.float64]
    #: Parent of each node, -1 for the root.
    parent: NDArray[np.int32]
    #: Number of nodes grown by ``fit``; all others belong to third branches.
    n_fitted: int

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
        self.surrogate_begin = np.zeros(len(self.column) + 1, np.int32)
        self.surrogate_column = np.empty(0, np.int32)
        self.surrogate_threshold = np.empty(0)
        self.surrogate_below = np.empty(0, np.int8)
        self.surrogate_set_begin = np.empty(0, np.int64)
        self.surrogate_set_words = np.empty(0, np.int32)

    def with_variance(self) -> BoostedTreeArrays:
        """Return the tree with two values per node: its contributions to the sum and to the variance of the sum."""
        fields = vars(self) | {"value": np.column_stack([self.value, self.variance])}
        return BoostedTreeArrays(**fields)  # type: ignore[abstract]


class EnsembleArrays:
    """The trees of a boosted ensemble as they are now: ``n_outputs`` per iteration, one after the other."""

    def __init__(self, ensemble: _core.Ensemble) -> None:
        state = ensemble.state(with_background=False)
        self.baseline: list[float] = state["baseline"]
        self.missing: str = state["plan"]["missing"]
        self._arrays: dict[str, NDArray[Any]] = state["trees"]
        #: Whether nodes store the variance of the prediction that missing values leave.
        self.has_variance: bool = state["plan"]["measures_doubt"]
        self._nodes = _offsets(self._arrays["n_nodes"])
        self._words = _offsets(self._arrays["n_words"])
        bins = state["rows"]
        self._categorical = bins["categorical"].astype(bool)
        self._n_codes = bins["n_codes"].astype(np.int64)
        n_edges = np.where(self._categorical, 0, np.maximum(self._n_codes - 1, 0))
        self._edges = bins["edges"]
        self._first_edge = _offsets(n_edges)[:-1]

    def __len__(self) -> int:
        return len(self._nodes) - 1

    def __iter__(self) -> Iterator[BoostedTreeArrays]:
        return (self[number] for number in range(len(self)))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._n_codes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self._nodes[-1])

    def gains(self) -> NDArray[np.float64]:
        """Return the total gain of the fitted splits of each column, without third branches."""
        arrays, total = self._arrays, np.zeros(self.n_columns)
        for (begin, _), n_fitted in zip(pairwise(self._nodes), arrays["n_fitted"], strict=True):
            own = slice(begin, begin + n_fitted)
            splits = arrays["missing_to"][own] != _NONE
            column, gain = arrays["column"][own][splits], arrays["gain"][own][splits]
            total += np.bincount(column, gain, minlength=len(total))
        return total

    def __getitem__(self, number: int) -> BoostedTreeArrays:
        own = slice(self._nodes[number], self._nodes[number + 1])
        of = {name: self._arrays[name][own] for name in _PER_NODE}
        is_leaf, goes_third = of["missing_to"] == _NONE, of["missing_to"] == Branch.THIRD
        here, column = np.arange(len(is_leaf)), of["column"].astype(np.int32)
        left, right = (np.where(is_leaf, _NONE, of[side]).astype(np.int32) for side in ("left", "right"))
        third = np.where(goes_third, np.where(of["third"] == here, UNGROWN, of["third"]), _NONE)
        third = third.astype(np.int32)
        n_words = np.where(is_leaf | ~self._categorical[column], 0, -(-self._n_codes[column] // _WORD))
        parent = _parents(left, right, third)
        return BoostedTreeArrays(  # type: ignore[abstract]
            column=np.where(is_leaf, _NONE, column).astype(np.int32),
            threshold=self._thresholds(column, of["begin"], is_leaf),
            set_begin=of["set"],
            set_words=n_words.astype(np.int32),
            left=left,
            right=right,
            third=third,
            missing_to=of["missing_to"],
            larger=of["larger"],
            share=self._fractional("share", own, np.zeros(len(here))),
            depth=_depths(parent, third),
            rows=of["rows"],
            weight=self._fractional("weight", own, of["rows"].astype(np.float64)),
            loss=np.full(len(here), np.nan),
            value=of["value"][:, None],
            sets=self._arrays["words"][self._words[number] : self._words[number + 1]],
            gain=of["gain"],
            variance=self._arrays["doubt"][own] if self.has_variance else np.zeros(len(here)),
            parent=parent,
            n_fitted=int(self._arrays["n_fitted"][number]),
        )

    def _fractional(self, name: str, own: slice, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an array that only "fractional" trees have, or its value where rows are never divided."""
        return self._arrays[name][own] if name in self._arrays else otherwise

    def _thresholds(
        self, column: NDArray[np.int32], begin: NDArray[Any], is_leaf: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the bin edges below which values go left; -inf for missing against observed."""
        threshold = np.full(len(column), np.nan)
        of_numbers = ~is_leaf & ~self._categorical[column]
        threshold[of_numbers & (begin == 0)] = -np.inf
        split = np.flatnonzero(of_numbers & (begin > 0))
        threshold[split] = self._edges[self._first_edge[column[split]] + begin[split] - 1]
        return threshold


def _offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the offsets of segments of these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _parents(*branches: NDArray[np.int32]) -> NDArray[np.int32]:
    parent = np.full(len(branches[0]), _NONE, dtype=np.int32)
    for branch in branches:
        grown = np.flatnonzero(branch >= 0)
        parent[branch[grown]] = grown
    return parent


def _depths(parent: NDArray[np.int32], third: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the depth of each node; a third branch is as deep as its node."""
    step = np.ones(len(parent), dtype=np.int32)
    step[third[third >= 0]] = 0
    step[0] = 0
    depth, above = np.zeros(len(parent), dtype=np.int32), np.arange(len(parent))
    while above.any():  # all nodes ascend at once, the root stays in place
        depth += step[above]
        above = np.maximum(parent[above], 0)
    return depth
