"""Where rows end in the trees, and what the trees add up to: one node each, or several where a row goes both ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tritree.estimators.boosting.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree import _core

__all__ = ["Ends", "Led", "lead"]


@dataclass(frozen=True)
class Ends:
    """Where rows end in one tree."""

    row: NDArray[np.int64]
    node: NDArray[np.int32]
    #: How much of the row ends there; None if every row is there once, and all of it.
    share: NDArray[np.float64] | None = None

    def of(self, rows: NDArray[np.intp], n_rows: int) -> Ends:
        """Return the ends of some of so many rows, which are numbered in their order."""
        if self.share is None:
            return Ends(np.arange(len(rows)), self.node[rows])
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        own = np.flatnonzero(place[self.row] >= 0)
        return Ends(place[self.row[own]], self.node[own], self.share[own])


@dataclass(frozen=True)
class Led:
    """Rows that were led down all trees."""

    #: As they were then.
    trees: Trees
    #: One per tree.
    ends: Sequence[Ends]
    #: The sums over trees, one column per output, as `predict` has them.
    raw: NDArray[np.float64]
    #: The variance that what is missing leaves them, if it is measured.
    doubt: NDArray[np.float64] | None = None

    def deviation(self, classes: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the standard deviation of each row's sum, of one of many classes; None if it is not measured."""
        if self.doubt is None:
            return None
        outputs = np.minimum(classes, self.doubt.shape[1] - 1)  # two classes have one sum
        return np.asarray(np.sqrt(np.maximum(self.doubt[np.arange(len(outputs)), outputs], 0)))


def lead(ensemble: _core.Ensemble, columns: _core.Columns, n_rows: int, n_threads: int) -> Led:
    """Return where rows end in the trees, grown as far as they need."""
    if ensemble.goes_both_ways:
        begin, row, node, share = ensemble.ends(columns, n_rows, n_threads)
        ends = [Ends(row[a:b], node[a:b], share[a:b]) for a, b in pairwise(begin.tolist())]
        n_rounds = ensemble.n_trees // ensemble.n_outputs
        return Led(Trees(ensemble), ends, *ensemble.predict(columns, n_rows, 0, n_rounds, n_threads))
    nodes, every = ensemble.apply(columns, n_rows, n_threads), np.arange(n_rows)
    trees = Trees(ensemble)
    raw, n_outputs = np.tile(trees.baseline, (n_rows, 1)), len(trees.baseline)
    doubt = np.zeros_like(raw) if trees.measures_doubt else None
    for number, tree in enumerate(trees):  # in the order of the core
        raw[:, number % n_outputs] += tree.value[nodes[:, number], 0]
        if doubt is not None:
            doubt[:, number % n_outputs] += tree.doubt[nodes[:, number]]
    return Led(trees, [Ends(every, of_tree) for of_tree in nodes.T], raw, doubt)
