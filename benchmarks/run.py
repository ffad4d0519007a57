"""The options of a run, and how candidates are compared: by the time of fits and predictions, and by peak memory."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import libraries, memory
from benchmarks.libraries import Parameters
from benchmarks.results import Measurement, Row, compare
from benchmarks.timing import Job, measurement, time_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from benchmarks.libraries import Candidate

__all__ = ["Run", "prediction_jobs", "shape", "with_verdicts"]

#: Seconds per row of a quick run, after which no further round begins.
QUICK_BUDGET = 3.0


@dataclass(frozen=True)
class Run:
    """The options of a run, and the models that later benchmarks use again."""

    n_threads: int
    rounds: int
    seed: int = 0
    quick: bool = False
    tritree_only: bool = False
    tick: Callable[[int, int], None] = lambda _done, _total: None
    boosted: dict[str, Any] = field(default_factory=dict)  # fitted boosting models by candidate

    def rows(self, n_rows: int) -> int:
        """Return the number of rows to use: a tenth in a quick run."""
        return n_rows // 10 if self.quick else n_rows

    def parameters(self, **changed: Any) -> Parameters:
        """Return the hyperparameters of all candidates."""
        return Parameters(**{"n_threads": self.n_threads, "seed": self.seed} | changed)

    def others(self, *names: str) -> tuple[list[Candidate], list[str]]:
        """Return the other libraries to compare with, and a note for each that is not installed."""
        return ([], []) if self.tritree_only else libraries.load(*names)

    def time(self, jobs: dict[str, Job], max_rounds: int | None = None) -> dict[str, Measurement]:
        """Return the timings of the jobs, all libraries limited to the same number of threads."""
        from threadpoolctl import threadpool_limits

        rounds = min(self.rounds, max_rounds or self.rounds)
        with threadpool_limits(self.n_threads):
            if (
                self.quick or self.tritree_only
            ):  # without retries, so that it ends soon on a busy machine, too
                budget = QUICK_BUDGET if self.quick else np.inf
                return time_rounds(jobs, rounds, self.tick, budget=budget)
            return time_rounds(jobs, rounds, self.tick, attempts=4)

    def compare_fits(
        self,
        row: Row,
        X: Any,
        y: Any,
        candidates: Iterable[Candidate],
        parameters: Parameters,
        *,
        goal: float = 1.0,
        max_rounds: int | None = None,
    ) -> Row:
        """Return the row with the fit times of all candidates, and tritree compared with the fastest other library."""

        def job(candidate: Candidate) -> Job:
            return Job(lambda _: candidate.fit(X, y, parameters))

        timed = self.time({each.name: job(each) for each in candidates}, max_rounds)
        return with_verdicts(row, timed, goal)

    def compare_memory(
        self,
        row: Row,
        X: Any,
        y: Any,
        candidates: list[Candidate],
        parameters: Parameters,
        *,
        goal: float = 1.0,
    ) -> Row:
        """Return the row with the peak memory of all candidates' fits, or with why it cannot be measured."""
        reason = memory.obstacle()
        if reason:
            row.notes.append(f"Skipped: {reason}.")
            return row
        rounds = 1 if self.quick else min(self.rounds, 3)
        peaks: dict[str, list[tuple[float, None]]] = {each.name: [] for each in candidates}
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder, "X.npy"), X)
            np.save(Path(folder, "y.npy"), y)
            for i in range(rounds * len(candidates)):
                each = candidates[i % len(candidates)]
                peaks[each.name].append((memory.peak_of_fit(each, Path(folder), parameters), None))
                self.tick(i + 1, rounds * len(candidates))
        return with_verdicts(
            row, {name: measurement(name, found, "B") for name, found in peaks.items()}, goal
        )


def prediction_jobs(
    candidates: Iterable[Candidate],
    models: Mapping[str, Any],
    rows: Any,
    parameters: Parameters,
    calls: int | None = None,
) -> dict[str, Job]:
    """Return the jobs of predicting ``rows`` with each candidate's model."""

    def job(candidate: Candidate, model: Any) -> Job:
        return Job(lambda _: candidate.predict(model, rows, parameters), calls=calls)

    return {candidate.name: job(candidate, models[candidate.name]) for candidate in candidates}


def with_verdicts(row: Row, measured: dict[str, Measurement], goal: float) -> Row:
    """Return the row with these measurements, those of tritree compared with the best other library."""
    row.measurements.extend(measured.values())
    tritree = [found for found in measured.values() if found.candidate.startswith("tritree")]
    others = [found for found in measured.values() if found not in tritree]
    for found in tritree:
        row.verdicts.extend(compare(found, others, goal, found.candidate if len(tritree) > 1 else ""))
    return row


def shape(X: Any) -> str:
    """Return "rows x columns"."""
    return f"{X.shape[0]:,} x {X.shape[1]}"
