"""Exported models cannot grow: third branches are grown in a copy before, and what is left out is a warning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tritree.errors import GrowthLimitError, UngrownExportWarning
from tritree.estimators.stored_rows import StoredRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.growing_model import CoreTable, GrowingModel

__all__ = ["Exporter"]

#: Fraction of the values that are missing in random patterns.
_RATE = 0.2
#: Training rows to grow for: per column that is missing, and at most in total.
_ROWS_PER_COLUMN, _SINGLE_ROWS = 100, 10_000
#: Training rows to grow for with random patterns, and as they are.
_RANDOM_ROWS, _RANDOM_ROWS_OF_ENSEMBLES = 4_000, 500
#: Training rows that predictions are compared for.
_COMPARED_ROWS = 50
#: Nodes that a single tree may have to be grown in full by default.
_FULL_TREE = 100_000
#: Nodes that are added by default, unless half as many as there are (with rows: as many) is more.
_ADDED, _ADDED_FOR_ROWS = 200_000, 1_000_000
#: Nodes that fit into an ONNX model, which has at most 2 GB.
_MAX_NODES = 10_000_000
#: Rows whose nodes are looked up at once.
_BATCH = 10_000
#: Deviation of predictions, as a fraction of their standard deviation, from which there is a warning.
_NOTICEABLE = 0.005


@dataclass(frozen=True)
class Exporter:
    """Growth of the third branches that an exported model has, and the facts about those that it lacks."""

    model: GrowingModel
    encoder: TableEncoder
    n_threads: int
    #: The number of a tree of boosting that is exported alone.
    tree: int | None = None

    def grown(
        self, rows: CoreTable | None, max_nodes: int | None, size_remedy: str
    ) -> tuple[GrowingModel, UngrownExportWarning | None]:
        """Return a copy that is grown for rows (None: for training rows), and a warning of what is left out.

        ``size_remedy`` says how a smaller model is fitted.
        """
        if self.model.weighs_evidence:  # an exported model cannot send a row both ways
            return replace(self, model=self.model.with_third_branches()).grown(rows, max_nodes, size_remedy)
        n_nodes = self.model.n_nodes if self.tree is None else len(self.model.core.tree(self.tree).column)
        if n_nodes > (limit := _MAX_NODES if max_nodes is None else max_nodes):
            raise_limit = "" if n_nodes > _MAX_NODES else f"pass max_nodes={n_nodes} or more, or "
            raise GrowthLimitError(
                n_nodes,
                limit,
                raise_limit + size_remedy,
                n_trees=self.model.n_trees if self.tree is None else 1,
            )
        if not self.model.n_ungrown:
            return self.model, None
        if rows is not None:
            return self._grown_for(rows, max_nodes, n_nodes)
        if self.model.is_detached:
            return self.model, UngrownExportWarning("detached", n_ungrown=self.model.n_ungrown)
        return self._grown_for_stored(max_nodes, n_nodes)

    def _grown_for(
        self, rows: CoreTable, max_nodes: int | None, n_nodes: int
    ) -> tuple[GrowingModel, UngrownExportWarning | None]:
        grown = self.model.copy()
        room = max(_ADDED_FOR_ROWS, n_nodes) if max_nodes is None else max_nodes - n_nodes
        is_done = self._grow(grown, rows, min(room, _MAX_NODES - n_nodes))
        cause = "detached" if grown.is_detached else "node_limit" if is_done else "max_nodes"
        if not grown.is_detached:  # rows to come may lack other values than those that were passed
            stored = self._rows_to_grow_for(StoredRows(self.model, self.encoder))
            left = room - (grown.n_nodes - n_nodes)
            self._grow(grown, stored, min(left, max(_ADDED, n_nodes // 2)))
        grown.detach()
        if n_short := self._count_short(grown, rows):
            reached = n_nodes + room if cause == "max_nodes" else 0
            return grown, UngrownExportWarning(
                cause, n_short, rows[1], n_ungrown=grown.n_ungrown, max_nodes=reached
            )
        return grown, None

    def _grown_for_stored(
        self, max_nodes: int | None, n_nodes: int
    ) -> tuple[GrowingModel, UngrownExportWarning | None]:
        grown = self.model.copy()
        if self.model.is_single:
            try:
                grown.grow_all(_FULL_TREE if max_nodes is None else max_nodes, self.n_threads)
            except GrowthLimitError:
                grown = self.model.copy()
            else:
                return grown, None
        stored = StoredRows(self.model, self.encoder)
        room = max(_ADDED, n_nodes // 2) if max_nodes is None else max_nodes - n_nodes
        is_done = self._grow(grown, self._rows_to_grow_for(stored), room)
        warning = self.compare(grown, stored, "onnx")
        if warning is not None and not is_done:
            warning = replace(warning, cause="max_nodes", max_nodes=n_nodes + room)
        return grown, warning

    def compare(
        self, grown: GrowingModel, stored: StoredRows, destination: Literal["file", "onnx"]
    ) -> UngrownExportWarning | None:
        """Return a warning if predictions of a model that cannot grow deviate noticeably; the model is detached."""
        reference = grown.copy()
        grown.detach()
        rng = np.random.default_rng(1)
        deviations = []
        for missing_of in (_one_missing, _random_missing):
            chosen = rng.choice(stored.n_rows, min(_COMPARED_ROWS, stored.n_rows), replace=False)
            rows = stored.read(chosen, missing_of(rng, len(chosen), stored.n_inputs)), len(chosen)
            expected, found = (self._predict(model, rows) for model in (reference, grown))
            deviations.append(_relative_deviation(found, expected))
        if max(deviations) < _NOTICEABLE:
            return None
        one, fifth = deviations
        return UngrownExportWarning(
            "other_rows" if grown.is_grown_for_rows else "rows",
            destination=destination,
            n_ungrown=grown.n_ungrown,
            one_missing=one,
            fifth_missing=fifth,
        )

    def _rows_to_grow_for(self, stored: StoredRows) -> CoreTable:
        """Return training rows with their missing values, with each column missing, and with random patterns."""
        rng, n, p = np.random.default_rng(0), stored.n_rows, stored.n_inputs
        n_random = _RANDOM_ROWS if self.model.n_trees == 1 else _RANDOM_ROWS_OF_ENSEMBLES
        order = rng.permutation(n)
        own = order[stored.has_missing(order)][:n_random]
        n_single = min(_ROWS_PER_COLUMN, max(_SINGLE_ROWS // p, 1), n)
        single = np.resize(order, n_single * p)
        shuffled = np.resize(rng.permutation(n), n_random)
        missing = np.zeros((len(single), p), dtype=bool)
        missing[np.arange(len(single)), np.arange(len(single)) % p] = True
        patterns = np.concatenate(
            [np.zeros((len(own), p), dtype=bool), missing, _random_missing(rng, n_random, p)]
        )
        rows = np.concatenate([own, single, shuffled])
        mixed = rng.permutation(len(rows))  # where growth stops early, all of them are served alike
        return stored.read(rows[mixed], patterns[mixed]), len(rows)

    # ---- the model

    def _predict(self, model: GrowingModel, rows: CoreTable) -> NDArray[np.float64]:
        if self.tree is None:
            return model.predict(*rows, self.n_threads)[0]
        iteration, output = divmod(self.tree, model.n_outputs)
        sums, _ = model.predict(*rows, self.n_threads, (iteration, iteration + 1))
        return sums[:, output : output + 1]

    def _grow(self, model: GrowingModel, rows: CoreTable, room: int) -> bool:
        """Grow what rows need until about ``room`` nodes are added; return whether all rows had their turn."""
        columns, n_rows = rows
        n_before, begin, size = model.n_nodes, 0, 16
        while begin < n_rows and (added := model.n_nodes - n_before) < room:
            end = min(begin + size, n_rows)
            self._predict(model, (_slice(columns, begin, end), end - begin))
            per_row = (model.n_nodes - n_before - added) / (end - begin)
            left = room - (model.n_nodes - n_before)
            fitting = n_rows if per_row == 0 else int(left / per_row / 2)  # half, since rows differ
            begin, size = end, max(1, min(fitting, 4 * size))
        return begin >= n_rows

    def _count_short(self, model: GrowingModel, rows: CoreTable) -> int:
        """Return how many rows reach an ungrown branch of a detached model."""
        columns, n_rows = rows
        n_short, numbers = 0, range(model.n_trees) if self.tree is None else [self.tree]
        is_split = {number: model.core.tree(number).column >= 0 for number in numbers}
        for begin in range(0, n_rows, _BATCH):
            end = min(begin + _BATCH, n_rows)
            nodes = model.apply(_slice(columns, begin, end), end - begin, self.n_threads)
            nodes = nodes.reshape(end - begin, -1)
            # a row that needs an ungrown branch ends in the node above it, which is not a leaf
            is_short = np.any([is_split[number][nodes[:, number]] for number in numbers], axis=0)
            n_short += int(is_short.sum())
        return n_short


def _slice(columns: Any, begin: int, end: int) -> Any:
    if isinstance(columns, np.ndarray):
        return columns[begin:end]
    return [None if column is None else column[begin:end] for column in columns]


def _one_missing(rng: np.random.Generator, n_rows: int, n_columns: int) -> NDArray[np.bool_]:
    """Return patterns in which one random column is missing."""
    chosen: NDArray[np.bool_] = rng.integers(n_columns, size=n_rows)[:, None] == np.arange(n_columns)
    return chosen


def _random_missing(rng: np.random.Generator, n_rows: int, n_columns: int) -> NDArray[np.bool_]:
    """Return patterns in which every value is missing with the same probability."""
    return rng.random((n_rows, n_columns)) < _RATE


def _relative_deviation(found: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the root mean squared deviation as a fraction of the standard deviation of what is expected."""
    largest = float(max(np.abs(found).max(), np.abs(expected).max())) or 1.0
    found, expected = found / largest, expected / largest  # squares must not overflow
    spread = float(np.sqrt(expected.var(axis=0).mean()))
    deviation = float(np.sqrt(((found - expected) ** 2).mean()))
    return deviation / spread if spread > 0 else float(deviation > 0)
