"""Rows led down a tree all at once, turn by turn: what the core does, for those who want to know the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.encoder import MISSING as NO_CATEGORY
from tritree.inspection.describe import Branch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tritree import _core
    from tritree.inspection.arrays import TreeArrays

__all__ = ["Turns", "Walk"]

# what a split says of a value; one without a usable value is MISSING or beyond
_LEFT, _RIGHT, _MISSING, _UNSEEN = range(4)
_WORD = 64  # categories in a word of a set


@dataclass(slots=True)
class Turns:
    """The next turns of rows on their way, one entry each; a part of a row that goes both ways takes two of them."""

    #: The part that takes the turn, by its place among the turns before, or among the rows at first.
    part: NDArray[np.int64]
    row: NDArray[np.int64]
    #: How much of the row takes the turn.
    share: NDArray[np.float64]
    #: Where it is taken, and where it leads: the node itself where a branch was not grown.
    node: NDArray[np.int64]
    to: NDArray[np.int64]
    #: Whether the row has no usable value for the split of the node.
    lacks: NDArray[np.bool_]
    #: The column that has decided: that of the split, or one that stood in for it.
    decided_by: NDArray[np.int32]


@dataclass(slots=True)
class _Parts:
    """Parts of rows on their way: whole rows, until one goes both ways."""

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    share: NDArray[np.float64]


class Walk:
    """Leads many rows down a tree at once, as far as it is grown."""

    def __init__(self, tree: TreeArrays, columns: _core.Columns) -> None:
        self._tree = tree
        self._values = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
        self._children = np.stack([tree.left, tree.right, tree.third])
        # a row that goes both ways may come to every leaf in parts
        goes_both_ways = (tree.missing_to == Branch.BOTH).any()
        self._parts_of_a_row = int((tree.column < 0).sum()) if goes_both_ways else 1

    @property
    def n_columns(self) -> int:
        """Return the number of columns of the rows."""
        return len(self._values)

    def blocks(self, n_rows: int, most_parts: int) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of rows, so many at a time that their parts are no more than this."""
        n = max(1, most_parts // self._parts_of_a_row)
        return (np.arange(begin, min(begin + n, n_rows)) for begin in range(0, n_rows, n))

    def turns(self, rows: NDArray[np.int64]) -> Iterator[Turns]:
        """Yield the first turns of some rows, then the second turns, and so on."""
        n, tree = len(rows), self._tree
        parts, number = _Parts(rows, np.zeros(n, np.int64), np.ones(n)), np.arange(n)
        while True:
            inner = np.flatnonzero(tree.column[parts.node] >= 0)
            parts = _Parts(parts.row[inner], parts.node[inner], parts.share[inner])
            if not len(inner):
                return
            turns = self._taken(parts, number[inner])
            yield turns
            going = np.flatnonzero(turns.to != turns.node)
            parts, number = _Parts(turns.row[going], turns.to[going], turns.share[going]), going

    def _taken(self, parts: _Parts, number: NDArray[np.int64]) -> Turns:
        """Return the turns of parts that stand where something is asked."""
        tree, answer = self._tree, self._ask(parts)
        side, decided_by = answer.copy(), tree.column[parts.node]
        lacking = np.flatnonzero(answer >= _MISSING)
        missing_to = tree.missing_to[parts.node[lacking]]
        side[lacking] = missing_to
        # a category that tells nothing does not mean what missing means
        one_sided = lacking[(missing_to <= Branch.RIGHT) & (answer[lacking] == _UNSEEN)]
        side[one_sided] = tree.larger[parts.node[one_sided]]
        advised = lacking[missing_to == Branch.SURROGATES]
        if len(advised):
            side[advised], decided_by[advised] = self._advice(parts, advised)
        both = np.flatnonzero(side == Branch.BOTH)
        # what goes left stays in its place, what goes right is behind
        taken = np.concatenate([np.arange(len(side)), both])
        side, right = side[taken], np.arange(len(both)) + len(side)
        side[both], side[right] = Branch.LEFT, Branch.RIGHT
        node, share = parts.node[taken], parts.share[taken]
        left_share = tree.share[node[both]]
        share[both] *= left_share
        share[right] *= 1 - left_share
        to = self._children[side, node].astype(np.int64)
        return Turns(
            part=number[taken],
            row=parts.row[taken],
            share=share,
            node=node,
            to=np.where(to >= 0, to, node),
            lacks=(answer >= _MISSING)[taken],
            decided_by=decided_by[taken],
        )

    def _ask(self, parts: _Parts) -> NDArray[np.int8]:
        """Return what the split of each part's node says of its row."""
        tree, column = self._tree, self._tree.column[parts.node]
        sets = tree.set_begin[parts.node], tree.set_words[parts.node]
        return self._answers(parts.row, column, tree.threshold[parts.node], *sets)

    def _advice(
        self, parts: _Parts, advised: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Return the side to which surrogates send these parts, or else the larger one, and the column that says so."""
        tree, node, row = self._tree, parts.node[advised], parts.row[advised]
        side, says = tree.larger[node], tree.column[node]
        surrogate, end = tree.surrogate_begin[node].copy(), tree.surrogate_begin[node + 1]
        waiting = np.flatnonzero(surrogate < end)
        while len(waiting):
            s = surrogate[waiting]
            answer = self._answers(
                row[waiting],
                tree.surrogate_column[s],
                tree.surrogate_threshold[s],
                tree.surrogate_set_begin[s],
                tree.surrogate_set_words[s],
            )
            # sets have their sides in place; a threshold may stand the other way round
            turned = (tree.surrogate_set_begin[s] < 0) & (tree.surrogate_below[s] == Branch.RIGHT)
            knows = answer < _MISSING
            side[waiting[knows]] = (answer ^ turned)[knows]
            says[waiting[knows]] = tree.surrogate_column[s[knows]]
            surrogate[waiting] += 1
            waiting = waiting[~knows & (surrogate[waiting] < end[waiting])]
        return side, says

    def _answers(
        self,
        row: NDArray[np.int64],
        column: NDArray[np.int32],
        threshold: NDArray[np.float64],
        set_begin: NDArray[np.int64],
        set_words: NDArray[np.int32],
    ) -> NDArray[np.int8]:
        """Return what a split says of each row, column by column."""
        answer = np.full(len(row), _MISSING, dtype=np.int8)
        order = np.argsort(column, kind="stable")
        starts = np.flatnonzero(np.diff(column[order], prepend=-1))
        for at in np.split(order, starts[1:]):
            values = self._values[column[at[0]]]
            if values is None:
                continue
            value = values[row[at]]
            if value.dtype.kind == "f":
                answer[at] = np.where(np.isnan(value), _MISSING, value >= threshold[at])
            else:
                answer[at] = self._of_categories(value, set_begin[at], set_words[at])
        return answer

    def _of_categories(
        self, category: NDArray[Any], begin: NDArray[np.int64], words: NDArray[np.int32]
    ) -> NDArray[np.int8]:
        sets, n_words = self._tree.sets, words.astype(np.int64)
        is_known = (category >= 0) & (category < _WORD * n_words)
        number = np.where(is_known, category, 0).astype(np.int64)
        word, bit = begin + number // _WORD, (number % _WORD).astype(np.uint64)
        is_left, is_right = (is_known & (sets[at] >> bit & np.uint64(1) > 0) for at in (word, word + n_words))
        answer = np.where(is_left, _LEFT, np.where(is_right, _RIGHT, _UNSEEN))
        unseen = np.flatnonzero(answer == _UNSEEN)
        answer[unseen[_is_empty(sets, begin[unseen], n_words[unseen])]] = _RIGHT
        return np.where(category == NO_CATEGORY, _MISSING, answer).astype(np.int8)


def _is_empty(
    sets: NDArray[np.uint64], begin: NDArray[np.int64], n_words: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether nothing is left of a split: missing against observed, where all that is observed goes right."""
    first, which = np.unique(begin, return_index=True)
    empty = [not sets[at : at + n].any() for at, n in zip(first, n_words[which], strict=True)]
    return np.array(empty, dtype=bool)[np.searchsorted(first, begin)]
