"""The trees of an ensemble as they are now, each in the arrays that views and walks read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.describe import UNGROWN, Branch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tritree import _core

__all__ = ["MemberTree", "Trees"]

_LEAF = -1  # in `missing_to`, and where there is no column, branch or parent
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
_WORD = 64  # categories in a word of a set


@dataclass
class MemberTree:
    """One of the trees. The fields are those of the core's ``Tree``, and some that boosted trees have besides."""

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
    #: As if every row weighed 1, or as much as is there of it; what rows weigh, and the loss of nodes, is not kept.
    weight: NDArray[np.float64]
    loss: NDArray[np.float64]
    value: NDArray[np.float64]
    sets: NDArray[np.uint64]
    #: By how much a split has lowered the loss.
    gain: NDArray[np.float64]
    #: What the tree adds to the variance of the sum over trees; zeros if that is not measured.
    doubt: NDArray[np.float64]
    #: -1 of the root.
    parent: NDArray[np.int32]
    #: Nodes that were there after the fit; the others are those of third branches.
    n_fitted: int

    def __post_init__(self) -> None:
        # there are no surrogates
        self.surrogate_begin = np.zeros(len(self.column) + 1, np.int32)
        self.surrogate_column = np.empty(0, np.int32)
        self.surrogate_threshold = np.empty(0)
        self.surrogate_below = np.empty(0, np.int8)
        self.surrogate_set_begin = np.empty(0, np.int64)
        self.surrogate_set_words = np.empty(0, np.int32)


class Trees:
    """The trees of an ensemble at one moment: ``n_outputs`` per round, one after the other."""

    def __init__(self, ensemble: _core.Ensemble) -> None:
        state = ensemble.state(with_background=False)
        self.baseline: list[float] = state["baseline"]
        self.missing: str = state["plan"]["missing"]
        self._arrays: dict[str, NDArray[Any]] = state["trees"]
        #: Whether nodes know what is left open by what is missing.
        self.measures_doubt: bool = state["plan"]["measures_doubt"]
        self._nodes = _ends(self._arrays["n_nodes"])
        self._words = _ends(self._arrays["n_words"])
        bins = state["rows"]
        self._categorical = bins["categorical"].astype(bool)
        self._n_codes = bins["n_codes"].astype(np.int64)
        n_edges = np.where(self._categorical, 0, np.maximum(self._n_codes - 1, 0))
        self._edges = bins["edges"]
        self._first_edge = _ends(n_edges)[:-1]

    def __len__(self) -> int:
        return len(self._nodes) - 1

    def __iter__(self) -> Iterator[MemberTree]:
        return (self[number] for number in range(len(self)))

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self._n_codes)

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes of all trees."""
        return int(self._nodes[-1])

    def gains(self) -> NDArray[np.float64]:
        """Return per column by how much its splits have lowered the loss, third branches not counted."""
        arrays, total = self._arrays, np.zeros(self.n_columns)
        for (begin, _), n_fitted in zip(pairwise(self._nodes), arrays["n_fitted"], strict=True):
            own = slice(begin, begin + n_fitted)
            splits = arrays["missing_to"][own] != _LEAF
            column, gain = arrays["column"][own][splits], arrays["gain"][own][splits]
            total += np.bincount(column, gain, minlength=len(total))
        return total

    def __getitem__(self, number: int) -> MemberTree:
        own = slice(self._nodes[number], self._nodes[number + 1])
        of = {name: self._arrays[name][own] for name in _PER_NODE}
        is_leaf, goes_third = of["missing_to"] == _LEAF, of["missing_to"] == Branch.THIRD
        here, column = np.arange(len(is_leaf)), of["column"].astype(np.int32)
        left, right = (np.where(is_leaf, _LEAF, of[side]).astype(np.int32) for side in ("left", "right"))
        third = np.where(goes_third, np.where(of["third"] == here, UNGROWN, of["third"]), _LEAF)
        third = third.astype(np.int32)
        n_words = np.where(is_leaf | ~self._categorical[column], 0, -(-self._n_codes[column] // _WORD))
        parent = _parents(left, right, third)
        return MemberTree(
            column=np.where(is_leaf, _LEAF, column).astype(np.int32),
            threshold=self._thresholds(column, of["begin"], is_leaf),
            set_begin=of["set"],
            set_words=n_words.astype(np.int32),
            left=left,
            right=right,
            third=third,
            missing_to=of["missing_to"],
            larger=of["larger"],
            share=self._of_parts("share", own, np.zeros(len(here))),
            depth=_depths(parent, third),
            rows=of["rows"],
            weight=self._of_parts("weight", own, of["rows"].astype(np.float64)),
            loss=np.full(len(here), np.nan),
            value=of["value"][:, None],
            sets=self._arrays["words"][self._words[number] : self._words[number + 1]],
            gain=of["gain"],
            doubt=self._arrays["doubt"][own] if self.measures_doubt else np.zeros(len(here)),
            parent=parent,
            n_fitted=int(self._arrays["n_fitted"][number]),
        )

    def _of_parts(self, name: str, own: slice, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what only trees have whose rows go both ways, or else what holds where every row is whole."""
        return self._arrays[name][own] if name in self._arrays else otherwise

    def _thresholds(
        self, column: NDArray[np.int32], begin: NDArray[Any], is_leaf: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the edges below which values go left; -inf is missing against observed."""
        threshold = np.full(len(column), np.nan)
        of_numbers = ~is_leaf & ~self._categorical[column]
        threshold[of_numbers & (begin == 0)] = -np.inf
        cut = np.flatnonzero(of_numbers & (begin > 0))
        threshold[cut] = self._edges[self._first_edge[column[cut]] + begin[cut] - 1]
        return threshold


def _ends(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return where parts of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _parents(*branches: NDArray[np.int32]) -> NDArray[np.int32]:
    parent = np.full(len(branches[0]), _LEAF, dtype=np.int32)
    for branch in branches:
        grown = np.flatnonzero(branch >= 0)
        parent[branch[grown]] = grown
    return parent


def _depths(parent: NDArray[np.int32], third: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the left and right turns above each node; a third branch is as deep as its node."""
    step = np.ones(len(parent), dtype=np.int32)
    step[third[third >= 0]] = 0
    step[0] = 0
    depth, above = np.zeros(len(parent), dtype=np.int32), np.arange(len(parent))
    while above.any():  # all nodes climb at once; the root stays where it is
        depth += step[above]
        above = np.maximum(parent[above], 0)
    return depth
