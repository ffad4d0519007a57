"""The fit of a model by parts of its rows, one on each worker of a cluster.

In an exchange, every part says what it needs to be summed up, the sums are added up by a tree of tasks, and every part
continues with the result. All parts make the same decisions, so nobody has to send them any. Exchanges are submitted
many at once, and the scheduler runs them one after the other.

Workers may come and go. Then all parts are stopped, the rows are divided among the workers that are there, and parts
start anew from the last complete iteration.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import KilledWorker

from tritree.dask.part import (
    PartLostError,
    add,
    advance,
    n_iterations_of,
    start_part,
    state_of,
    stop_part,
)
from tritree.dask.workers import all_workers, result, running_workers, wait_for_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tritree.dask.part import PartOptions
    from tritree.dask.passes import Blocks

__all__ = ["DistributedBooster", "assign_blocks"]

#: How many sums are added up by one task.
_FAN_IN = 8
#: How long a series of exchanges should take: Ctrl-C, progress and new workers are noticed in between.
_SERIES_SECONDS = 1.0
_MAX_EXCHANGES = 256
#: How long a worker may be paused before the rows are divided among the others.
_MAX_PAUSED_SECONDS = 30.0
#: How often parts may be lost without a complete iteration in between.
_MAX_FAILURES = 10
#: How often the model is fetched, in case all workers are lost at once.
_CHECKPOINT_SECONDS = 60.0
#: How long parts run before new workers get some of their rows.
_MIN_SECONDS_BETWEEN_STARTS = 10.0


def assign_blocks(n_rows: Sequence[int], n_workers: int) -> list[range]:
    """Divide consecutive blocks into as many groups as there are workers, or blocks, with about as many rows each.

    Examples
    --------
    >>> assign_blocks([200, 200, 200, 20], 4)
    [range(0, 1), range(1, 2), range(2, 3), range(3, 4)]
    >>> assign_blocks([10, 10, 10, 10, 10], 2)
    [range(0, 3), range(3, 5)]
    """
    n_groups = min(n_workers, len(n_rows))
    ends = np.cumsum(n_rows)
    bounds = [0]
    for group in range(1, n_groups):
        wanted = int(np.searchsorted(ends, ends[-1] * group / n_groups)) + 1
        # every group gets a block
        bounds.append(min(max(wanted, bounds[-1] + 1), len(n_rows) - (n_groups - group)))
    return [range(begin, end) for begin, end in zip(bounds, [*bounds[1:], len(n_rows)], strict=True)]


class DistributedBooster:
    """Boosts the model with some state to ``options.max_iter`` iterations."""

    def __init__(
        self,
        client: Any,
        blocks: Blocks,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        state: dict[str, Any],
        options: PartOptions,
    ) -> None:
        self._client, self._blocks, self._y, self._weight = client, blocks, y, weight
        self._options = options
        #: The state of the model with the iterations that are certain, and how many they are.
        self.state, self.n_iterations = state, 0
        self._parts: list[tuple[str, Any]] = []  # workers with the futures of their parts

    def run(self, on_iterations: Callable[[int], None]) -> None:
        """Fit all iterations; ``on_iterations`` is told how many are complete."""
        try:
            self._run(on_iterations)
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:  # a traceback may keep references
            self._client.cancel([part for _, part in self._parts] + self._blocks.futures)
            self._parts = []

    def _run(self, on_iterations: Callable[[int], None]) -> None:
        n_failures = 0
        while self.n_iterations < self._options.max_iter:
            before = self.n_iterations
            failure: Exception | None = None
            try:
                self._start()
                self._run_exchanges(on_iterations)
            except (PartLostError, KilledWorker) as error:
                failure = error
            self._stop()
            if failure is None:
                continue
            n_failures = n_failures + 1 if self.n_iterations == before else 0
            if n_failures > _MAX_FAILURES:
                raise RuntimeError(
                    f"parts of the rows were lost {n_failures} times without a complete iteration ({failure}); do the "
                    "workers have enough memory?"
                ) from failure
            self._recover()

    def _recover(self) -> None:
        """Let Dask compute the blocks again that were lost with their workers."""
        if any(block.cancelled() for block in self._blocks.futures):
            raise RuntimeError("the binned rows are gone: was the scheduler restarted? fit again")
        if failed := [block for block in self._blocks.futures if block.status == "error"]:
            self._client.retry(failed)

    def _stop(self) -> None:
        """Stop all parts, and fetch the model of the one that has most iterations."""
        alive = set(running_workers(self._client))
        stopping = [
            (worker, part, self._client.submit(stop_part, part, workers=[worker], pure=False))
            for worker, part in self._parts
            if worker in alive
        ]
        self._parts = []
        counts = []
        for worker, part, stopped in stopping:
            try:
                counts.append((self._result(stopped, {worker}), worker, part))
            except (PartLostError, KilledWorker):
                continue
        for n, worker, part in sorted(counts, key=lambda count: -count[0]):
            if n > self.n_iterations and self._fetch_state(worker, part):
                break

    def _fetch_state(self, worker: str, part: Any) -> bool:
        """Take over the model of a part; return whether it could be fetched."""
        try:
            future = self._client.submit(state_of, part, workers=[worker], pure=False)
            self.n_iterations, self.state = self._result(future, {worker})
        except (PartLostError, KilledWorker):
            return False
        return True

    def _start(self) -> None:
        """Start a part on every worker, with about as many rows as the others have."""
        workers = wait_for_workers(self._client)
        ends = np.cumsum([0, *self._blocks.n_rows])
        (state,) = self._scatter(self.state)
        for worker, own in zip(workers, assign_blocks(self._blocks.n_rows, len(workers)), strict=False):
            rows = slice(int(ends[own.start]), int(ends[own.stop]))
            weight = None if self._weight is None else self._weight[rows]
            (target,) = self._scatter((self._y[rows], weight))
            part = self._client.submit(
                start_part,
                self._blocks.futures[own.start : own.stop],
                rows.start,
                target,
                state,
                self._options,
                workers=[worker],
                pure=False,
            )
            self._parts.append((worker, part))

    def _scatter(self, data: Any) -> Any:
        try:
            return self._client.scatter([data], hash=False)
        except (OSError, TimeoutError) as error:  # a worker died meanwhile
            raise PartLostError("a worker is gone") from error

    def _run_exchanges(self, on_iterations: Callable[[int], None]) -> None:
        """Run exchanges until all iterations are complete, or until other workers should have rows."""
        n_exchanges, step, combined = 4, 0, None
        begun = checked = time.monotonic()
        workers = {worker for worker, _ in self._parts}
        n_complete = n_before = self.n_iterations
        while n_complete < self._options.max_iter:
            series_begun = time.monotonic()
            for _ in range(n_exchanges):
                step += 1
                combined = self._submit_exchange(step, combined)
            n_complete = self._result(self._client.submit(n_iterations_of, combined, pure=False), workers)
            on_iterations(n_complete)
            now = time.monotonic()
            n_exchanges = int(n_exchanges * min(_SERIES_SECONDS / (now - series_begun), 2))
            n_exchanges = min(max(n_exchanges, 1), _MAX_EXCHANGES)
            is_time = now - begun > _MIN_SECONDS_BETWEEN_STARTS and n_complete > n_before
            if is_time and self._could_use_more_workers():
                return
            if now - checked > _CHECKPOINT_SECONDS:
                checked = now
                self._fetch_state(*self._parts[0])

    def _submit_exchange(self, step: int, combined: Any) -> Any:
        """Return the future of the numbers that all parts need next."""
        needed = [
            self._client.submit(advance, part, step, combined, workers=[worker], pure=False)
            for worker, part in self._parts
        ]
        while len(needed) > 1:
            groups = [needed[i : i + _FAN_IN] for i in range(0, len(needed), _FAN_IN)]
            needed = [self._client.submit(add, group, pure=False) for group in groups]
        return needed[0]

    def _could_use_more_workers(self) -> bool:
        n_workers = len(running_workers(self._client))
        return len(assign_blocks(self._blocks.n_rows, n_workers)) > len(self._parts)

    def _result(self, future: Any, workers: set[str]) -> Any:
        """Return the result of a future; raise a PartLostError as soon as one of the workers is gone, or paused."""
        paused_since: float | None = None

        def check() -> None:
            nonlocal paused_since
            if workers <= set(running_workers(self._client)):
                paused_since = None
                return
            paused_since = paused_since or time.monotonic()
            if not workers <= all_workers(self._client):
                raise PartLostError("a worker is gone")
            if time.monotonic() - paused_since > _MAX_PAUSED_SECONDS:
                raise PartLostError("the memory of a worker is nearly full")

        try:
            return result(future, check)
        except CancelledError:
            raise PartLostError("data of a worker are gone") from None
