"""The rows that each tree of a forest is fitted to, and predictions by the trees that were not fitted to a row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import warn_caller

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.estimators.encoded_rows import EncodedRows

__all__ = ["BootstrapSamples", "predict_out_of_bag"]


class BootstrapSamples:
    """The rows that each tree is fitted to, drawn anew from its seed whenever they are needed."""

    def __init__(
        self,
        seeds: NDArray[Any],
        n_rows: int,
        n_samples_bootstrap: int | None,
        weight: NDArray[np.float64] | None,
    ) -> None:
        self._seeds, self.n_rows, self._n_samples_bootstrap = seeds, n_rows, n_samples_bootstrap
        self._has_weight = None if weight is None else weight > 0

    def rows(self, number: int) -> NDArray[np.uint32] | None:
        """Return the sorted rows of a tree, with repetitions; None if it is fitted to all rows."""
        if self._n_samples_bootstrap is None:
            return None
        random = np.random.RandomState(self._seeds[number])
        while True:
            rows = np.sort(random.randint(0, self.n_rows, size=self._n_samples_bootstrap).astype(np.uint32))
            if self._has_weight is None or self._has_weight[rows].any():  # a tree needs a row with a weight
                return rows

    def out_of_bag(self, number: int) -> NDArray[np.intp]:
        """Return the rows that were not drawn for a tree."""
        drawn = np.zeros(self.n_rows, dtype=bool)
        rows = self.rows(number)
        if rows is not None:
            drawn[rows] = True
        return np.flatnonzero(~drawn)


def predict_out_of_bag(
    core: _core.LadderModel,
    rows: EncodedRows,
    samples: BootstrapSamples,
    n_threads: int,
    chosen: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Return the mean prediction of the trees that were not fitted to a row; NaN where all were.

    If ``chosen`` is not None, only the rows at these positions are predicted, and all others are NaN.
    """
    total = np.zeros((len(rows), core.n_outputs))
    count = np.zeros(len(rows), dtype=np.int64)

    def predict(number: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        own = samples.out_of_bag(number)
        own = own if chosen is None else np.intersect1d(own, chosen)
        columns = [None if column is None else np.ascontiguousarray(column[own]) for column in rows.columns]
        return own, core.predict(columns, len(own), number, number + 1, 1)[0]

    with ThreadPoolExecutor(n_threads) as pool:
        for own, values in pool.map(predict, range(core.n_trees)):
            total[own] += values
            count[own] += 1
    if not (found := count > 0).any():
        raise ValueError(
            "every row was drawn for every tree, so that there is no out-of-bag prediction; raise n_estimators, "
            "lower max_samples, or set oob_score=False"
        )
    if chosen is None and not found.all():
        warn_caller(
            f"{np.count_nonzero(~found):,} rows were drawn for every tree and have no out-of-bag prediction; "
            "raise n_estimators"
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count[:, None])
