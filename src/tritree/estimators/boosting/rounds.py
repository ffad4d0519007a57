"""The rounds of a fit: trees added one after the other, until there are enough or they help no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tritree import _core
    from tritree.estimators.boosting.losses import Loss
    from tritree.estimators.boosting.training import Rows

__all__ = ["Patience", "Validation"]


@dataclass
class Validation:
    """Rows that are not trained on, and what is lost on them after each round."""

    loss: Loss
    rows: Rows
    raw: NDArray[np.float64] | None = None
    doubt: NDArray[np.float64] | None = None
    losses: list[float] = field(default_factory=list)

    def check(self, ensemble: _core.Ensemble, n_threads: int) -> None:
        """Raise what the core has against the rows, before the first round."""
        ensemble.predict(self.rows.columns, len(self.rows), 0, 0, n_threads)

    def measure(self, ensemble: _core.Ensemble, n_rounds: int, n_threads: int) -> float:
        """Return the mean loss after so many rounds, one more than the last time."""
        begin = 0 if self.raw is None else n_rounds - 1
        raw, doubt = ensemble.predict(self.rows.columns, len(self.rows), begin, n_rounds, n_threads)
        self.raw = raw if self.raw is None else self.raw + raw
        if doubt is not None:
            self.doubt = doubt if self.doubt is None else self.doubt + doubt
        settled = self.loss.settled(self.raw, self.doubt)
        self.losses.append(self.loss.measure(self.rows.y, settled, self.rows.weight))
        return self.losses[-1]


@dataclass
class Patience:
    """Says when rounds have stopped to help: when the last so many did not lower the loss noticeably."""

    rounds: int
    tol: float
    best: float = float("inf")
    best_round: int = 0

    def is_over(self, loss: float, n_rounds: int) -> bool:
        """Return whether it is time to stop, given the loss after so many rounds."""
        if loss < self.best - self.tol:
            self.best, self.best_round = loss, n_rounds
        return n_rounds - self.best_round >= self.rounds
