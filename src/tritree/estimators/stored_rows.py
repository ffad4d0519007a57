"""The rows that a model keeps to grow from, as values in the same bins.

Such a value takes the branches of the original, except in trees of a forest that were fitted without the row: their
thresholds may lie within its bin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.encoder import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.growing_model import GrowingModel

__all__ = ["StoredRows"]


class StoredRows:
    """Training rows that a model keeps, to be read with some of their values missing."""

    def __init__(self, model: GrowingModel, encoder: TableEncoder) -> None:
        state = model.core.state(with_rows=True)
        is_boosted = model.kind == "boosting"
        data = state["bins" if is_boosted else "data"]
        self._bins = _boosted_bins(data) if is_boosted else _ladder_bins(data, state["n_rows"])
        self._values = _boosted_values(data) if is_boosted else _ladder_values(data)
        starts = [column.part is None for column in encoder.columns]
        #: Of each column of the core: the column of the table that it comes from.
        self._input = np.cumsum(starts) - 1
        self.n_inputs = int(sum(starts))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._bins[0])

    def read(self, rows: NDArray[np.intp], missing: NDArray[np.bool_]) -> list[NDArray[Any]]:
        """Return some rows as columns for the core; ``missing`` says which columns of the table become missing."""
        columns = []
        for bins, values, source in zip(self._bins, self._values, self._input, strict=True):
            column = values[bins[rows]]
            column[missing[:, source]] = values[-1]
            columns.append(column)
        return columns

    def has_missing(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether a value of a row is missing."""
        found = np.zeros(len(rows), dtype=bool)
        for bins, values in zip(self._bins, self._values, strict=True):
            found |= bins[rows] == len(values) - 1
        return found


# The values of a column are those of its bins, and last a missing one, which has the last bin.


def _ladder_bins(data: dict[str, Any], n_rows: int) -> list[NDArray[Any]]:
    bins8, bins16 = (_rows_of(data.get(name), n_rows) for name in ("bins8", "bins16"))
    return [next(bins8 if n_bins <= 255 else bins16) for n_bins in data["n_bins"]]


def _rows_of(bins: NDArray[Any] | None, n_rows: int) -> Any:
    return iter(() if bins is None else bins.reshape(-1, n_rows))


def _ladder_values(data: dict[str, Any]) -> list[NDArray[Any]]:
    sizes = np.where(data["categorical"] != 0, 0, data["n_bins"])
    smallest = np.split(data.get("bin_min", np.empty(0)), np.cumsum(sizes)[:-1])
    return [
        _codes(n_bins) if categorical else np.append(values, np.nan)
        for categorical, n_bins, values in zip(data["categorical"], data["n_bins"], smallest, strict=True)
    ]


def _boosted_bins(data: dict[str, Any]) -> Sequence[NDArray[Any]]:
    bins = data["bins8"] if "bins8" in data else data["bins16"]
    return list(bins.reshape(-1, len(data["n_bins"])).T)


def _boosted_values(data: dict[str, Any]) -> list[NDArray[Any]]:
    sizes = np.where(data["categorical"] != 0, 0, np.maximum(data["n_bins"].astype(np.int64) - 1, 0))
    edges = np.split(data.get("edges", np.empty(0)), np.cumsum(sizes)[:-1])
    columns = []
    for categorical, n_bins, above in zip(data["categorical"], data["n_bins"], edges, strict=True):
        # the first bin lies below all edges, and each of the others begins at one
        first = np.nextafter(above[:1], -np.inf) if len(above) else np.zeros(min(int(n_bins), 1))
        columns.append(_codes(n_bins) if categorical else np.concatenate([first, above, [np.nan]]))
    return columns


def _codes(n_categories: int) -> NDArray[np.int32]:
    return np.append(np.arange(n_categories), MISSING).astype(np.int32)
