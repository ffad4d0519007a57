"""Where an experiment has its holes: in training and test, in test only, or other ones in test than in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tritree.lab.ampute import ampute

if TYPE_CHECKING:
    from tritree.lab.data import Dataset

__all__ = ["Holes", "Setting", "in_both", "in_test", "shifted"]


@dataclass(frozen=True, slots=True)
class Holes:
    """How holes are made; the fields are the parameters of `ampute`."""

    mechanism: str
    direction: str = "largest"

    def punch(self, dataset: Dataset, rate: float, seed: int) -> Any:
        """Return the data set's table with holes."""
        response = dataset.y if self.mechanism == "predictive" else None
        return ampute(dataset.X, rate, self.mechanism, response=response, direction=self.direction, seed=seed)


@dataclass(frozen=True, slots=True)
class Setting:
    """Holes in the rows of training and in those of the test; None leaves them complete."""

    name: str
    train: Holes | None
    test: Holes | None

    def tables(self, dataset: Dataset, rate: float, seed: int) -> tuple[Any, Any]:
        """Return the whole table twice: as training sees it, and as the test does.

        Holes are made before the rows are parted into folds, so that the share of them is that of the whole table.
        """
        if rate == 0:
            return dataset.X, dataset.X
        parts = {part for part in (self.train, self.test) if part is not None}
        made = {part: part.punch(dataset, rate, seed) for part in parts}
        return tuple(dataset.X if part is None else made[part] for part in (self.train, self.test))


def in_both(mechanism: str = "mcar", *, direction: str = "largest") -> Setting:
    """Return the setting with the same holes in training and test."""
    holes = Holes(mechanism, direction)
    return Setting(mechanism, holes, holes)


def in_test(mechanism: str = "mcar", *, direction: str = "largest") -> Setting:
    """Return the setting with complete training rows: fields go missing in production only."""
    return Setting(f"{mechanism}_test", None, Holes(mechanism, direction))


def shifted(train: str, test: str) -> Setting:
    """Return the setting in which holes are made in another way once the tree is in use."""
    return Setting(f"{train} → {test}", Holes(train), Holes(test))
