"""Rows of a table to fit to, as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tritree import _core

__all__ = ["EncodedRows"]


@dataclass(frozen=True)
class EncodedRows:
    """Rows with target and weights, as the core takes them."""

    #: None where all values of a column are missing; empty if the rows are only there as bins.
    columns: Sequence[Any]
    #: Numbers, or the numbers of classes.
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    #: The bins of a table that was read batch by batch.
    binned: _core.BinnedColumns | None = None

    def __len__(self) -> int:
        return len(self.y)
