"""What views and walks read of a tree, whoever has grown it: flat arrays, one entry per node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TreeArrays"]


class TreeArrays(Protocol):
    """A tree as flat arrays; the core's ``Tree`` says what each means."""

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
