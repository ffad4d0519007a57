"""Interleaved timings: every contender in turn, round by round, in one process."""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.results import DISTURBED, Measurement
from benchmarks.surroundings import foreign_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Job", "Watch", "exponent", "measurement", "time_rounds"]

#: Seconds before a turn: OpenMP's threads keep spinning for a while after the work they were given.
PAUSE = 0.02
#: A turn of short work repeats it for about this long, in seconds, and counts the median call.
TURN = 0.05
#: The most calls of a turn.
MOST_CALLS = 200
#: Seconds to wait for others to finish before a disturbed turn is taken again.
WAIT = 1.0
#: Seconds of trying after which a disturbed turn is not taken again.
PATIENCE = 120.0
#: Seconds by which the system counts processor time.
TICK = 0.01


def _nothing() -> None:
    return None


def _ignore(_done: int, _total: int) -> None:
    return None


@dataclass(frozen=True)
class Job:
    """Something to time: ``work`` is given what ``prepare`` returns, which is called before and not timed.

    ``warm_up`` is less of the same work, called first in its place where that takes many seconds; a turn is then one
    call.
    """

    work: Callable[[Any], Any]
    prepare: Callable[[], Any] = _nothing
    calls: int | None = None  # in a turn; None: as many as make it long enough
    warm_up: Callable[[], Any] | None = None


def time_rounds(
    jobs: Mapping[str, Job],
    rounds: int,
    tick: Callable[[int, int], None] = _ignore,
    *,
    attempts: int = 1,
    budget: float = math.inf,
) -> dict[str, Measurement]:
    """Return the timings of jobs that take turns, by contender.

    Each is called to warm up. In every round each has a turn, and each round another one begins. Garbage is not
    collected while the clock runs.

    Parameters
    ----------
    jobs, rounds
        What to time, by contender, and how often.
    tick : callable, optional
        Told the turns done and their number after each turn.
    attempts : int, default=1
        How often a turn is taken at most while others disturb it; only their load decides, never the time measured.
        None is begun again after two minutes of trying.
    budget : float, default=inf
        Seconds after which no further round begins; one is run in any case.
    """
    begin = time.perf_counter()
    names = list(jobs)
    total = len(names) * (rounds + 1)
    calls = {}
    for done, name in enumerate(names, 1):
        calls[name] = _warm_up(jobs[name])
        tick(done, total)
    found: dict[str, list[tuple[float, float | None]]] = {name: [] for name in names}
    for turn in range(rounds):
        if turn and time.perf_counter() - begin > budget:
            break
        first = turn % len(names)
        for place, name in enumerate(names[first:] + names[:first], 1):
            found[name].append(_calm_turn(jobs[name], calls[name], attempts))
            tick(len(names) * (turn + 1) + place, total)
    return {name: measurement(name, turns) for name, turns in found.items()}


def measurement(contender: str, turns: Sequence[tuple[float, float | None]], unit: str = "s") -> Measurement:
    """Return the measurement of turns, each a number and the processors others kept busy, None if not known."""
    foreign = tuple(busy for _, busy in turns if busy is not None)
    return Measurement(contender, tuple(number for number, _ in turns), unit, foreign)


class Watch:
    """Tells how many processors others have kept busy since it was made; None if that is not known."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._foreign = foreign_seconds()

    def busy(self) -> float | None:
        """Return the processors that others kept busy; of a short while too little is known to tell."""
        seconds, foreign = time.perf_counter() - self._begin, foreign_seconds()
        if self._foreign is None or foreign is None:
            return None
        # ticks are 10 ms on each side, which must not look like company
        return max(0.0, foreign - self._foreign - 2 * TICK) / max(seconds, 10 * TICK)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return b of seconds = a * size^b, by least squares of the logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def _warm_up(job: Job) -> int:
    """Call the job for the first time, and return the calls that make a turn."""
    if job.warm_up is not None:
        job.warm_up()
        return 1
    usual = _call(job)
    if job.calls is not None:
        return job.calls
    if usual < 10 * TURN:  # the first call also loads and allocates, so another one tells how long it takes
        usual = _call(job)
    return int(np.clip(TURN / usual, 1, MOST_CALLS))


def _calm_turn(job: Job, calls: int, attempts: int) -> tuple[float, float | None]:
    """Return a turn that others did not disturb, or the last one that was to be had."""
    begin = time.perf_counter()
    for attempt in range(attempts):
        if attempt:
            time.sleep(WAIT)
        seconds, busy = _turn(job, calls)
        if busy is None or busy <= DISTURBED or time.perf_counter() - begin > PATIENCE:
            break
    return seconds, busy


def _turn(job: Job, calls: int) -> tuple[float, float | None]:
    """Return the seconds of the median call of a turn, and the processors others kept busy."""
    gc.collect()
    time.sleep(PAUSE)
    watch = Watch()
    seconds = statistics.median(_call(job) for _ in range(calls))
    return seconds, watch.busy()


def _call(job: Job) -> float:
    """Return the seconds of one call; what it returns is let go after the clock has stopped."""
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
