"""How all benchmarks of a run are run: at which size, for how many rounds, beside whom, and how that is judged."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import memory
from benchmarks.contender import Settings
from benchmarks.measure import Job, measurement, time_rounds
from benchmarks.results import Measurement, Row, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from benchmarks.contender import Contender

__all__ = ["Run", "judged", "prediction_jobs", "shape"]

#: Seconds for each row of a quick run, after which no further round begins.
QUICK_BUDGET = 3.0


@dataclass(frozen=True)
class Run:
    """How all benchmarks of a run are run, and what one leaves to those that follow."""

    threads: int
    rounds: int
    seed: int = 0
    quick: bool = False
    tick: Callable[[int, int], None] = lambda _done, _total: None
    boosted: dict[str, Any] = field(default_factory=dict)  # models that took long to fit, by contender

    def rows(self, n_rows: int) -> int:
        """Return the rows to take: a tenth of them in a quick run."""
        return n_rows // 10 if self.quick else n_rows

    def settings(self, **changed: Any) -> Settings:
        """Return what contenders are asked to do."""
        return Settings(**{"threads": self.threads, "seed": self.seed} | changed)

    def time(self, jobs: dict[str, Job], most_rounds: int | None = None) -> dict[str, Measurement]:
        """Return the timings of the jobs, all libraries held to the same number of threads."""
        from threadpoolctl import threadpool_limits

        rounds = min(self.rounds, most_rounds or self.rounds)
        with threadpool_limits(self.threads):
            if self.quick:  # it is to end soon, also on a busy machine
                return time_rounds(jobs, rounds, self.tick, budget=QUICK_BUDGET)
            return time_rounds(jobs, rounds, self.tick, attempts=4)

    def compare_fits(
        self,
        row: Row,
        X: Any,
        y: Any,
        contenders: Iterable[Contender],
        settings: Settings,
        *,
        reach: float = 1.0,
        most_rounds: int | None = None,
    ) -> Row:
        """Return the row with the fits of all contenders timed, and each of tritree's judged by the fastest peer."""

        def job(contender: Contender) -> Job:
            return Job(lambda _: contender.fit(X, y, settings))

        timed = self.time({each.name: job(each) for each in contenders}, most_rounds)
        return judged(row, timed, reach)

    def compare_memory(
        self, row: Row, X: Any, y: Any, contenders: list[Contender], settings: Settings, *, reach: float = 1.0
    ) -> Row:
        """Return the row with the peak memory of all contenders' fits, or with why it cannot be told here."""
        reason = memory.obstacle()
        if reason:
            row.notes.append(f"Left out: {reason}.")
            return row
        rounds = 1 if self.quick else min(self.rounds, 3)
        found: dict[str, list[tuple[float, None]]] = {each.name: [] for each in contenders}
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder, "X.npy"), X)
            np.save(Path(folder, "y.npy"), y)
            for done in range(rounds * len(contenders)):
                each = contenders[done % len(contenders)]
                found[each.name].append((memory.peak_bytes(each, Path(folder), settings), None))
                self.tick(done + 1, rounds * len(contenders))
        return judged(row, {name: measurement(name, peaks, "B") for name, peaks in found.items()}, reach)


def prediction_jobs(
    contenders: Iterable[Contender],
    models: Mapping[str, Any],
    rows: Any,
    settings: Settings,
    calls: int | None = None,
) -> dict[str, Job]:
    """Return per contender the job of predicting ``rows`` with its model."""

    def job(contender: Contender, model: Any) -> Job:
        return Job(lambda _: contender.predict(model, rows, settings), calls=calls)

    return {contender.name: job(contender, models[contender.name]) for contender in contenders}


def judged(row: Row, timed: dict[str, Measurement], reach: float) -> Row:
    """Return the row with these measurements, each of tritree's judged by the best peer."""
    row.measurements.extend(timed.values())
    ours = [found for found in timed.values() if found.contender.startswith("tritree")]
    peers = [found for found in timed.values() if found not in ours]
    for found in ours:
        row.verdicts.extend(compare(found, peers, reach, found.contender if len(ours) > 1 else ""))
    return row


def shape(X: Any) -> str:
    """Return "rows x columns"."""
    return f"{X.shape[0]:,} x {X.shape[1]}"
