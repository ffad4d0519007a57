"""The trees of a forest: grown side by side over one set of codes, and asked side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tritree import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Members", "Table", "each"]

T = TypeVar("T")


def each(jobs: Sequence[Callable[[], T]], n_threads: int) -> Iterator[T]:
    """Yield the results of jobs in their order, so many of them being run at once; Ctrl-C drops those that wait."""
    if n_threads == 1 or len(jobs) == 1:
        for job in jobs:
            yield job()
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        # a few ahead of the one that is waited for: what all of them return may be large
        running = [pool.submit(job) for job in jobs[: 2 * n_threads]]
        for number in range(len(jobs)):
            result = running.pop(0).result()
            if number + 2 * n_threads < len(jobs):
                running.append(pool.submit(jobs[number + 2 * n_threads]))
            yield result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class Table:
    """What all trees are grown from."""

    codes: _core.Codes
    #: Numbers, or int32 class numbers.
    response: NDArray[Any]
    weight: NDArray[np.float64] | None


@dataclass
class Members:
    """Trees, and the table that they grow from until they are detached."""

    models: list[_core.Model]
    table: Table | None
    #: Of columns, once they were asked for.
    known_importances: NDArray[np.float64] | None = None

    @property
    def n_trees(self) -> int:
        """Return the number of trees."""
        return len(self.models)

    @property
    def n_nodes(self) -> int:
        """Return the nodes of all trees."""
        return sum(model.n_nodes for model in self.models)

    @property
    def n_grown(self) -> int:
        """Return the nodes that were grown on demand."""
        return sum(model.n_grown for model in self.models)

    @property
    def n_cut_short(self) -> int:
        """Return how often a row came to a branch that could not be grown."""
        return sum(model.n_cut_short for model in self.models)

    @property
    def is_detached(self) -> bool:
        """Return whether the rows to grow from are gone."""
        return self.table is None

    @property
    def n_outputs(self) -> int:
        """Return the numbers that a tree answers with."""
        return max(1, int(self.models[0].settings["n_classes"]))

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return self.models[0].n_columns

    def snapshots(self) -> Iterator[tuple[_core.Tree, int]]:
        """Yield the trees as they are now, each with the number of nodes that it was fitted with."""
        for model in self.models:
            tree = model.tree()
            yield tree, len(tree.column) - model.n_grown

    def copy_of(self, number: int) -> _core.Model:
        """Return a tree that has grown as far as one of these, and goes on by itself from the same table."""
        return self._taken_up(self.models[number].member_state())

    def predict(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.float64]:
        """Return the mean of what the trees say of rows, one column per output."""
        # one tree after the other, if there are too few rows to be worth a thread for each
        inner, outer = (1, n_threads) if len(self.models) > 1 and n_rows > 1 else (n_threads, 1)
        jobs = [partial(model.predict, columns, n_rows, inner) for model in self.models]
        total = np.zeros((n_rows, self.n_outputs))
        for values in each(jobs, outer):
            total += values
        return total / len(self.models)

    def apply(self, columns: _core.Columns, n_rows: int, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row ends in, one column per tree."""
        jobs = [partial(model.apply, columns, n_rows, 1) for model in self.models]
        return np.column_stack(list(each(jobs, n_threads)))

    def importances(self, n_threads: int) -> NDArray[np.float64]:
        """Return per column its share of the reduction of the loss, averaged over trees."""
        if self.known_importances is None:
            jobs = [partial(model.importances, 1) for model in self.models]
            try:
                reductions = [found.clip(min=0) for found in each(jobs, n_threads)]
            except RuntimeError:
                if not self.is_detached:
                    raise
                raise AttributeError(
                    "feature_importances_ needs the training rows, which are gone (detach(), or a file saved without "
                    "them); ask for it once before detach() or save()"
                ) from None
            shares = [found / found.sum() for found in reductions if found.sum() > 0]
            self.known_importances = np.mean(shares, axis=0) if shares else np.zeros(self.n_columns)
        return self.known_importances.copy()

    def detach(self) -> None:
        """Drop the training rows."""
        for model in self.models:
            model.detach()
        self.table = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            "states": [model.member_state() for model in self.models],
            "table": self.table,
            "known_importances": self.known_importances,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.table, self.known_importances = state["table"], state["known_importances"]
        self.models = [self._taken_up(member) for member in state["states"]]

    def _taken_up(self, state: dict[str, Any]) -> _core.Model:
        """Return a tree as a state has it, over the table."""
        model = _core.Model.__new__(_core.Model)
        if self.table is None:
            model.__setstate__(state)
        else:
            model.__setstate__(state, self.table.codes, self.table.response, self.table.weight)
        return model
