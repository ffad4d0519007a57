"""The options of a run, and how candidates are compared: by the time of fits and predictions, and by peak memory."""

from __future__ import annotations

import copy
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

__all__ = ["Growth", "Run", "fitted", "prediction_jobs", "shape", "with_verdicts"]

#: Seconds per row of a quick run, after which no further round begins.
QUICK_BUDGET = 3.0
#: Seconds of first predictions, which may grow millions of nodes, after which no further round begins.
GROWTH_BUDGET = 60.0


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

    def time(
        self, jobs: dict[str, Job], max_rounds: int | None = None, *, budget: float = np.inf
    ) -> dict[str, Measurement]:
        """Return the timings of the jobs, all libraries limited to the same number of threads.

        No further round begins after ``budget`` seconds, or after a few in a quick run.
        """
        from threadpoolctl import threadpool_limits

        rounds = min(self.rounds, max_rounds or self.rounds)
        with threadpool_limits(self.n_threads):
            if (
                self.quick or self.tritree_only
            ):  # without retries, so that it ends soon on a busy machine, too
                budget = min(budget, QUICK_BUDGET) if self.quick else budget
                return time_rounds(jobs, rounds, self.tick, budget=budget)
            return time_rounds(jobs, rounds, self.tick, attempts=4, budget=budget)

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

    def time_growth(
        self,
        row: Row,
        candidates: list[Candidate],
        models: Mapping[str, Any],
        rows: Any,
        parameters: Parameters,
        *,
        beside: Mapping[str, Job] | None = None,
        max_rounds: int | None = None,
    ) -> Growth:
        """Return the timings of predicting rows with missing values, and add them to the row.

        The first candidate is tritree's. It predicts for the first time with copies of its model, which has no third
        branches yet; the jobs ``beside`` are timed together with that. It predicts again with the last copy, which has
        grown all branches that the rows need, together with the other candidates.
        """
        tritree, first, again = (
            candidates[0],
            f"{candidates[0].name}, first time",
            f"{candidates[0].name}, grown",
        )
        fitted = models[tritree.name]  # never grows: predictions use copies
        grown: list[Any] = []

        def ungrown() -> Any:
            grown[:] = [copy.deepcopy(fitted)]
            return grown[0]

        job = Job(
            lambda model: tritree.predict(model, rows, parameters),
            prepare=ungrown,
            warm_up=lambda: tritree.predict(ungrown(), rows[:1], parameters),
        )
        timed = self.time({first: job, **(beside or {})}, max_rounds, budget=GROWTH_BUDGET)
        jobs = prediction_jobs(candidates, {**models, tritree.name: grown[0]}, rows, parameters)
        timed |= self.time({again: jobs.pop(tritree.name), **jobs}, max_rounds)
        row.measurements += timed.values()
        row.notes.append(
            f"{fitted.n_nodes_:,} nodes when fitted, {grown[0].n_nodes_:,} after the first prediction."
        )
        return Growth(timed[first], timed[again], timed, fitted, grown[0])

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
            memory.save_tables(Path(folder), X, y)
            for i in range(rounds * len(candidates)):
                each = candidates[i % len(candidates)]
                peaks[each.name].append((memory.peak_of_fit(each, Path(folder), parameters), None))
                self.tick(i + 1, rounds * len(candidates))
        return with_verdicts(
            row, {name: measurement(name, found, "B") for name, found in peaks.items()}, goal
        )

    def add_growth_memory(
        self, row: Row, tritree: Candidate, X: Any, y: Any, rows: Any, parameters: Parameters
    ) -> Row:
        """Return the row with the peak memory of the first prediction, or with why it cannot be measured."""
        reason = memory.obstacle()
        if reason:
            row.notes.append(f"Memory skipped: {reason}.")
            return row
        with tempfile.TemporaryDirectory() as folder:
            memory.save_tables(Path(folder), X, y, rows)
            peak = memory.peak_of_prediction(tritree, Path(folder), parameters)
        row.measurements.append(measurement(f"{tritree.name}, memory of growing", [(peak, None)], "B"))
        return row


@dataclass(frozen=True)
class Growth:
    """Timings of first predictions, which grow third branches, and of later ones; the model before and after."""

    first: Measurement
    again: Measurement
    timed: dict[str, Measurement]  # all, by candidate
    fitted: Any
    grown: Any


def fitted(candidates: Iterable[Candidate], X: Any, y: Any, parameters: Parameters) -> dict[str, Any]:
    """Return the fitted models by candidate."""
    return {candidate.name: candidate.fit(X, y, parameters) for candidate in candidates}


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


def with_verdicts(
    row: Row, measured: dict[str, Measurement], goal: float, *, first_only: bool = False
) -> Row:
    """Return the row with these measurements, those of tritree compared with the best other library.

    With ``first_only`` the goal is for the first of tritree's candidates, and the others are shown.
    """
    row.measurements.extend(measured.values())
    tritree = [found for found in measured.values() if found.candidate.startswith("tritree")]
    others = [found for found in measured.values() if found not in tritree]
    for i, found in enumerate(tritree):
        what = found.candidate if len(tritree) > 1 else ""
        row.verdicts.extend(compare(found, others, None if i and first_only else goal, what))
    return row


def shape(X: Any) -> str:
    """Return "rows x columns"."""
    return f"{X.shape[0]:,} x {X.shape[1]:,}"
