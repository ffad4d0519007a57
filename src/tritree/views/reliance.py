"""How much of the rows' predictions passes through missing branches, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.codec import MISSING as NO_CATEGORY
from tritree.views.describe import Branch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.views.arrays import TreeArrays

__all__ = ["reliance"]

# what a split says of a value; one without a usable value is MISSING or beyond
_LEFT, _RIGHT, _MISSING, _UNSEEN = range(4)
_NO_CHILD = -1
_WORD = 64  # categories in a word of a set
_MOST_MARKS = 2**24  # marks of columns met, held at once: bounds the memory, and stays near the caches


def reliance(tree: TreeArrays, columns: _core.Columns, n_rows: int) -> NDArray[np.float64]:
    """Return per column the mean part of a row that comes to a split on it without a usable value.

    A part that meets such splits of a column more than once counts once. The tree is grown as far as the rows need,
    or ends where it was cut short.
    """
    values = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
    walk = _Walk(tree, values)
    total = np.zeros(len(values))
    for begin in range(0, n_rows, walk.rows_at_once):
        total += walk.relied(np.arange(begin, min(begin + walk.rows_at_once, n_rows)))
    return total / n_rows


@dataclass(slots=True)
class _Parts:
    """Parts of rows on their way: whole rows, until one goes both ways."""

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    share: NDArray[np.float64]
    #: Whether a part has met a missing branch, by the columns of the tree.
    met: NDArray[np.bool_]

    def __getitem__(self, chosen: NDArray[Any]) -> _Parts:
        return _Parts(self.row[chosen], self.node[chosen], self.share[chosen], self.met[chosen])


class _Walk:
    """Leads many rows down a tree at once, all by one turn at a time."""

    def __init__(self, tree: TreeArrays, values: list[_core.Column | None]) -> None:
        self._tree, self._values = tree, values
        self._children = np.stack([tree.left, tree.right, tree.third])
        used = np.unique(tree.column[tree.column >= 0])
        self._n_used = len(used)
        self._place = np.zeros(len(values), dtype=np.int64)
        self._place[used] = np.arange(len(used))
        goes_both_ways = (tree.missing_to == Branch.BOTH).any()
        most_parts = int((tree.column < 0).sum()) if goes_both_ways else 1
        #: How many rows are led together: each may come to every leaf in parts.
        self.rows_at_once = max(1, _MOST_MARKS // (most_parts * max(1, self._n_used)))

    def relied(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return per column how much of these rows has met a split on it without a usable value."""
        total = np.zeros(len(self._values))
        n = len(rows)
        parts = _Parts(rows, np.zeros(n, np.int64), np.ones(n), np.zeros((n, self._n_used), bool))
        parts = parts[self._tree.column[parts.node] >= 0]
        while len(parts.row):
            answer = self._ask(parts)
            lacking = np.flatnonzero(answer >= _MISSING)
            column = self._tree.column[parts.node[lacking]]
            place = self._place[column]
            new = ~parts.met[lacking, place]
            total += np.bincount(column[new], parts.share[lacking[new]], minlength=len(total))
            parts.met[lacking, place] = True
            parts = self._led_on(parts, answer)
        return total

    def _led_on(self, parts: _Parts, answer: NDArray[np.int8]) -> _Parts:
        """Return the parts one turn further, without those that are at their end."""
        tree, side = self._tree, answer.copy()
        lacking = np.flatnonzero(answer >= _MISSING)
        missing_to = tree.missing_to[parts.node[lacking]]
        side[lacking] = missing_to
        # a category that tells nothing does not mean what missing means
        one_sided = lacking[(missing_to <= Branch.RIGHT) & (answer[lacking] == _UNSEEN)]
        side[one_sided] = tree.larger[parts.node[one_sided]]
        advised = lacking[missing_to == Branch.SURROGATES]
        side[advised] = self._advice(parts, advised)
        both = np.flatnonzero(side == Branch.BOTH)
        if len(both):
            parts, side = self._parted(parts, side, both)
        parts.node = self._children[side, parts.node].astype(np.int64)
        is_inner = (parts.node > _NO_CHILD) & (tree.column[parts.node] >= 0)
        return parts[np.flatnonzero(is_inner)]

    def _parted(
        self, parts: _Parts, side: NDArray[np.int8], both: NDArray[np.int64]
    ) -> tuple[_Parts, NDArray[np.int8]]:
        """Return the parts with some of them in two: what goes left stays in its place, what goes right is behind."""
        everything = np.concatenate([np.arange(len(side)), both])
        side, right = side[everything], np.arange(len(side), len(everything))
        side[both], side[right] = Branch.LEFT, Branch.RIGHT
        parts = parts[everything]
        left_share = self._tree.share[parts.node[both]]
        parts.share[both] *= left_share
        parts.share[right] *= 1 - left_share
        return parts, side

    def _ask(self, parts: _Parts) -> NDArray[np.int8]:
        """Return what the split of each part's node says of its row."""
        tree, column = self._tree, self._tree.column[parts.node]
        sets = tree.set_begin[parts.node], tree.set_words[parts.node]
        return self._answers(parts.row, column, tree.threshold[parts.node], *sets)

    def _advice(self, parts: _Parts, advised: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the side to which surrogates send these parts, or else the larger one."""
        tree, node, row = self._tree, parts.node[advised], parts.row[advised]
        side = tree.larger[node].copy()
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
            surrogate[waiting] += 1
            waiting = waiting[~knows & (surrogate[waiting] < end[waiting])]
        return side

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
