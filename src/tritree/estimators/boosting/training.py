"""What a fit of boosting is given, read and checked: rows to train with, and rows to validate with."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from tritree import _core
from tritree.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Rows", "relative", "said_of"]


def relative(weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return weights such that a row of usual weight counts as about one row at least, as the regularisation expects.

    A row of weight two is two rows; but weights that sum to 1 are shares. They are doubled, which rounds nothing, until
    their mean is as near to 1 as can be: where it is 1 but for rounding, as that of balanced classes is, they stay.

    Examples
    --------
    >>> relative(np.array([0.25, 0.75, 0.0])).tolist(), relative(np.array([0.99, 2.0])).tolist()
    ([0.5, 1.5, 0.0], [0.99, 2.0])
    """
    if weight is None or (usual := weight[weight > 0].mean()) >= 1:
        return weight
    return np.asarray(np.ldexp(weight, -round(np.log2(usual))))


@contextmanager
def said_of(what: str) -> Iterator[None]:
    """Let errors about rows say which rows they mean."""
    try:
        yield
    except DataError as error:
        error.argument = what
        raise
    except ValueError as error:
        raise ValueError(f"in {what}: {error}") from None


@dataclass(frozen=True)
class Rows:
    """Rows with their responses: numbers, or the numbers of classes."""

    #: As the core takes them; None where nothing is observed.
    columns: Sequence[Any]
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def counts(self) -> bool:
        """Whether any row has a weight."""
        return self.weight is None or bool(self.weight.any())

    def part(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        columns: list[Any] = [
            None if column is None else np.ascontiguousarray(column[rows]) for column in self.columns
        ]
        return Rows(columns, self.y[rows], None if self.weight is None else self.weight[rows])

    def check_finite(self) -> None:
        """Complain of an infinite value as the core does, while its row still has the number that the user knows."""
        for position, column in enumerate(self.columns):
            if column is not None and column.dtype.kind == "f" and np.isinf(column).any():
                row = int(np.isinf(column).argmax())
                raise _core.BadValue(position, row, float(column[row]))

    def set_aside(self, share: float, seed: int, *, by_class: bool) -> tuple[Rows, Rows]:
        """Return most of the rows, and a share of them to validate with: of every class, if there are classes."""
        try:
            train, test = train_test_split(
                np.arange(len(self)),
                test_size=share,
                random_state=seed,
                stratify=self.y if by_class else None,
            )
        except ValueError:
            least = int(np.unique(self.y, return_counts=True)[1].min())
            smallest = f", and the smallest class has {least}" if by_class else ""
            raise ValueError(
                f"validation_fraction={share:g} of the rows cannot be set aside: there are {len(self)}{smallest}; give "
                "X_val and y_val, change validation_fraction, or set early_stopping=False"
            ) from None
        rest, aside = self.part(np.sort(train)), self.part(np.sort(test))
        if not (rest.counts and aside.counts):
            raise ValueError(
                f"validation_fraction={share:g} of the rows leaves none with a weight above 0 to "
                f"{'validate' if rest.counts else 'train'} with; give X_val and y_val, weigh more rows, or set "
                "early_stopping=False"
            )
        return rest, aside
