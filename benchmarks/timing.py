"""Interleaved timing of several candidates in one process."""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environment import other_seconds
from benchmarks.results import MAX_OTHER_LOAD, Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Job", "LoadMonitor", "exponent", "measurement", "time_rounds"]

#: Seconds to sleep before a sample: OpenMP threads keep spinning for a while after their work.
PAUSE = 0.02
#: A sample of short work repeats it for about this many seconds and takes the median call.
MIN_SAMPLE_SECONDS = 0.05
MAX_CALLS = 200
#: Seconds to wait before a disturbed sample is repeated.
WAIT = 1.0
#: Seconds after which a disturbed sample is no longer repeated.
MAX_RETRY_SECONDS = 120.0
#: Resolution of the system's processor times, in seconds.
TICK = 0.01


def _nothing() -> None:
    return None


def _ignore(_done: int, _total: int) -> None:
    return None


@dataclass(frozen=True)
class Job:
    """Work to time: ``work`` is called with the result of ``prepare``, which is not timed.

    ``warm_up`` replaces the first, untimed call where ``work`` takes many seconds; a sample is then a single call.
    """

    work: Callable[[Any], Any]
    prepare: Callable[[], Any] = _nothing
    calls: int | None = None  # per sample; None: enough for MIN_SAMPLE_SECONDS
    warm_up: Callable[[], Any] | None = None


def time_rounds(
    jobs: Mapping[str, Job],
    rounds: int,
    tick: Callable[[int, int], None] = _ignore,
    *,
    attempts: int = 1,
    budget: float = math.inf,
) -> dict[str, Measurement]:
    """Return the timings of the jobs by candidate.

    Each job is warmed up first. Every round then takes one sample of each job, each round starting with another job.
    The garbage collector is off while the clock runs.

    Parameters
    ----------
    jobs, rounds
        The jobs by candidate, and the number of samples of each.
    tick : callable, optional
        Called after each sample with the number of finished samples and the total.
    attempts : int, default=1
        Maximum number of attempts at a sample while other processes disturb it. Only their load decides, never the
        measured time. After two minutes no further attempt is made.
    budget : float, default=inf
        Seconds after which no further round begins; at least one is run.
    """
    begin = time.perf_counter()
    names = list(jobs)
    total = len(names) * (rounds + 1)
    calls = {}
    for done, name in enumerate(names, 1):
        calls[name] = _warm_up(jobs[name])
        tick(done, total)
    samples: dict[str, list[tuple[float, float | None]]] = {name: [] for name in names}
    for i in range(rounds):
        if i and time.perf_counter() - begin > budget:
            break
        first = i % len(names)
        for position, name in enumerate(names[first:] + names[:first], 1):
            samples[name].append(_undisturbed_sample(jobs[name], calls[name], attempts))
            tick(len(names) * (i + 1) + position, total)
    return {name: measurement(name, found) for name, found in samples.items()}


def measurement(
    candidate: str, samples: Sequence[tuple[float, float | None]], unit: str = "s"
) -> Measurement:
    """Return the measurement made of samples, each a number and the load by other processes (None if unknown)."""
    other_load = tuple(load for _, load in samples if load is not None)
    return Measurement(candidate, tuple(number for number, _ in samples), unit, other_load)


class LoadMonitor:
    """Measures the number of processors that other processes have kept busy since it was created."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._other = other_seconds()

    def load(self) -> float | None:
        """Return the number of processors kept busy; None if unknown."""
        seconds, other = time.perf_counter() - self._begin, other_seconds()
        if self._other is None or other is None:
            return None
        # one tick on either side must not look like load, nor a short interval like a high one
        return max(0.0, other - self._other - 2 * TICK) / max(seconds, 10 * TICK)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return b of seconds = a * size^b, by least squares of the logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def _warm_up(job: Job) -> int:
    """Call the job for the first time, and return the number of calls per sample."""
    if job.warm_up is not None:
        job.warm_up()
        return 1
    seconds = _call(job)
    if job.calls is not None:
        return job.calls
    if seconds < 10 * MIN_SAMPLE_SECONDS:  # the first call also imports and allocates: time a second one
        seconds = _call(job)
    return int(np.clip(MIN_SAMPLE_SECONDS / seconds, 1, MAX_CALLS))


def _undisturbed_sample(job: Job, calls: int, attempts: int) -> tuple[float, float | None]:
    """Return a sample that other processes did not disturb, or the last one if all attempts were disturbed."""
    begin = time.perf_counter()
    for attempt in range(attempts):
        if attempt:
            time.sleep(WAIT)
        seconds, load = _sample(job, calls)
        if load is None or load <= MAX_OTHER_LOAD or time.perf_counter() - begin > MAX_RETRY_SECONDS:
            break
    return seconds, load


def _sample(job: Job, calls: int) -> tuple[float, float | None]:
    """Return the seconds of the median call, and the load by other processes meanwhile."""
    gc.collect()
    time.sleep(PAUSE)
    monitor = LoadMonitor()
    seconds = statistics.median(_call(job) for _ in range(calls))
    return seconds, monitor.load()


def _call(job: Job) -> float:
    """Return the seconds of one call; its result is freed after the clock has stopped."""
    state = job.prepare()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        begin = time.perf_counter()
        result = job.work(state)
        seconds = time.perf_counter() - begin
    finally:
        if was_enabled:
            gc.enable()
    del result
    return seconds
