"""What every library is asked to do, and the one small interface that it is behind: fit, predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = ["Contender", "Settings"]


@dataclass(frozen=True)
class Settings:
    """What every contender is asked to do: one tree if nothing else is said."""

    threads: int
    depth: int = 6  # forests have no limit
    leaf: int = 20
    bins: int | None = 255
    trees: int = 1
    rate: float = 1.0  # what boosting multiplies each tree by
    features: float = 1.0  # the share of columns that a split of a forest may use
    n_classes: int = 0  # 0: a numeric response
    seed: int = 0

    @property
    def leaves(self) -> int:
        """The most leaves of a tree this deep."""
        return int(2**self.depth)


class Contender:
    """A library: ``fit`` returns a model of its own kind, ``predict`` answers rows with it.

    ``note`` tells what was used where the name alone does not, and ``row_note`` how it answers a single row.
    """

    name: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    note: ClassVar[str] = ""
    row_note: ClassVar[str] = "predict"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        """Return the fitted model; preparing the table for the library is part of it."""
        raise NotImplementedError

    def predict(self, model: Any, X: Any, settings: Settings) -> Any:  # noqa: ARG002
        """Return the predictions of the rows."""
        return model.predict(X)
