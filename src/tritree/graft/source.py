"""Models of other libraries as plain arrays: what every reader returns and the builder takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Link", "SourceColumn", "SourceModel", "SourceTree", "by_output", "mark_as_not_learned"]

#: Splits from which on a model's directions of missing values show that it was trained without missing values.
_MIN_SPLITS = 10

#: How the sums over trees become predictions; "probability": they are class probabilities already, as those of forests.
Link = Literal["identity", "log", "logit", "softmax", "probability", "sigmoid_each"]


@dataclass(frozen=True)
class SourceColumn:
    """A column that a model was fitted to."""

    #: None if the model does not record names.
    name: str | None = None
    #: The categories in the order of their codes; None if the column is numeric.
    categories: tuple[Any, ...] | None = None
    #: Whether zeros are missing values.
    zero_is_missing: bool = False
    #: Whether only zeros of float32 are, and not other numbers up to 1e-35, which the encoder takes for zeros.
    zero_is_exact: bool = False


@dataclass
class SourceTree:
    """A binary tree as a structure of arrays, by node. Node 0 is the root, and a child comes after its parent."""

    #: The column of each split; -1 in leaves.
    column: NDArray[np.int32]
    #: Observed values below it go left. It is exact for double values, whatever the source compares in. With -inf,
    #: missing values go left and all others right.
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    #: Where the source sends missing values.
    missing_left: NDArray[np.bool_]
    #: 1: the direction was learned from training rows with missing values; 0: it was not; -1: the source does not say.
    missing_learned: NDArray[np.int8]
    #: Of leaves, with learning rate and weight of the tree.
    value: NDArray[np.float64]
    #: The codes of the categories that go left, by node; splits that are absent here are numeric.
    left_categories: dict[int, frozenset[int]] = field(default_factory=dict)
    #: Where values go that are none of the column's categories.
    unknown_left: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    #: The gain of each split; empty if the source does not record it.
    gain: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.column)

    @property
    def is_split(self) -> NDArray[np.bool_]:
        """Return which nodes are splits."""
        return self.column >= 0


@dataclass
class SourceModel:
    """Trees whose sum is what the source predicts on its raw scale."""

    #: The name of the library, as messages have it.
    library: str
    columns: list[SourceColumn]
    #: `len(baseline)` trees per iteration, iterations one after the other.
    trees: list[SourceTree]
    #: What the trees of each output are added to.
    baseline: NDArray[np.float64]
    link: Link
    #: The class labels in the order of the outputs; None in regression.
    classes: NDArray[Any] | None = None
    #: Returns the source's own raw predictions for a table, of shape (rows, outputs); None if a file was read.
    raw: Callable[[Any], NDArray[np.float64]] | None = None
    #: Whether the source adds the values of its trees as float32.
    float32_sums: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of trees per iteration."""
        return len(self.baseline)


def mark_as_not_learned(trees: list[SourceTree]) -> None:
    """Say of directions that nothing is known of that they were not learned, if there are enough splits to tell.

    A reader calls it if all directions are those of a model that was trained without missing values.
    """
    if sum(int(np.count_nonzero(tree.is_split)) for tree in trees) >= _MIN_SPLITS:
        for tree in trees:
            tree.missing_learned[tree.missing_learned == -1] = 0


def by_output(raw: Any) -> NDArray[np.float64]:
    """Return raw predictions with a column per output, of which libraries leave out the only one."""
    scores: NDArray[np.float64] = np.asarray(raw, np.float64)
    return scores.reshape(len(scores), -1)
