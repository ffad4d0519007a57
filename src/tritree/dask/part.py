"""A part of the rows on a worker: its booster runs on a thread, and waits wherever it needs the sums over all parts.

What a part has is a function of its rows and of the trees so far. So nothing is lost with it: another worker starts a
part with the same rows, continues the model that any other part has, and ends up with the same bits.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import get_worker

from tritree import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "BoostingPart",
    "Numbers",
    "PartLostError",
    "PartOptions",
    "add",
    "advance",
    "n_iterations_of",
    "start_part",
    "state_of",
    "stop_part",
    "threads_of_worker",
]


class PartLostError(Exception):
    """A part of the rows is no longer where it was: its worker is gone, or was too busy to answer."""


@dataclass(frozen=True)
class PartOptions:
    """How the trees are fitted; the same for all parts."""

    loss: str
    quantile: float
    learning_rate: float
    subsample: float
    max_iter: int
    n_rows: int
    n_jobs: int | None


@dataclass(frozen=True)
class Numbers:
    """What a part needs to be combined with the numbers of the others: sums or largest values.

    A part that has all iterations needs nothing any more: ``how`` is empty then.
    """

    how: str
    values: NDArray[Any]
    n_iterations: int


class _Stop(BaseException):
    """Raised in the thread of a part that is no longer needed."""


class BoostingPart:
    """The booster of a part, on a thread of its own.

    A part that is moved or spilled to disk is lost: it is never worth the transfer.
    """

    def __init__(
        self,
        binned: _core.BinnedColumns,
        first_row: int,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        state: dict[str, Any],
        options: PartOptions,
        n_threads: int,
    ) -> None:
        self._answers: queue.SimpleQueue[NDArray[Any] | None] = queue.SimpleQueue()
        self._step = 0
        self._reply: Numbers | None = None
        self._failure: BaseException | None = None
        self._requests: queue.SimpleQueue[Numbers | BaseException] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._model = _core.BoostedModel.from_state(state, may_lack_trees=True)
        # the thread does not refer to the part: it ends when nobody does
        run = _Run(self._model, options, self._requests, self._answers)
        inputs = [(binned, first_row, y, weight, n_threads)]  # the thread takes them out: they are not kept
        self._thread = threading.Thread(target=run, args=(inputs,), name="tritree part", daemon=True)
        self._thread.start()

    def advance(self, step: int, answer: NDArray[Any] | None) -> Numbers:
        """Continue with the result of a step, and return what is needed for the next one.

        The same step may be asked for again.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if step == self._step and self._reply is not None:
                return self._reply
            if step != self._step + 1:
                raise PartLostError(f"a part is at step {self._step} instead of {step - 1}")
            if self._reply is not None and self._reply.how:
                self._answers.put(answer)
            if self._reply is None or self._reply.how:
                request = self._requests.get()
                if isinstance(request, BaseException):
                    self._failure = request
                    raise request
                self._reply = request
            self._step = step
            return self._reply

    def stop(self) -> int:
        """End the thread, and return how many iterations are complete."""
        self._answers.put(None)
        self._thread.join()
        n_iterations: int = self._model.n_iterations
        return n_iterations

    def state(self) -> tuple[int, dict[str, Any]]:
        """Return how many iterations are complete, and the state of the model with these."""
        model = self._model.copy()
        return model.n_iterations, model.state(with_rows=True)

    def __del__(self) -> None:
        self._answers.put(None)

    def __reduce__(self) -> Any:
        return _LostPart, ()


class _Run:
    """Runs the iterations of a part."""

    def __init__(
        self,
        model: _core.BoostedModel,
        options: PartOptions,
        requests: queue.SimpleQueue[Numbers | BaseException],
        answers: queue.SimpleQueue[NDArray[Any] | None],
    ) -> None:
        self._model, self._options, self._requests, self._answers = model, options, requests, answers

    def __call__(self, inputs: list[Any]) -> None:
        try:
            booster = self._make_booster(*inputs.pop())
            while self._model.n_iterations < self._options.max_iter:
                booster.boost()
        except _Stop:
            # exchanges that are submitted already must not wait for a part that has stopped
            self._requests.put(PartLostError("a part was stopped"))
            return
        except BaseException as error:
            self._requests.put(error)
            return
        self._requests.put(Numbers("", np.empty(0), self._model.n_iterations))

    def _make_booster(
        self,
        binned: _core.BinnedColumns,
        first_row: int,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        n_threads: int,
    ) -> _core.Booster:
        options = self._options
        return _core.Booster(
            binned,
            self._model,
            options.loss,
            options.quantile,
            y,
            weight,
            options.learning_rate,
            options.subsample,
            n_threads,
            first_row,
            options.n_rows,
            self._combine,
        )

    def _combine(self, how: str, values: NDArray[Any]) -> NDArray[Any]:
        self._requests.put(Numbers(how, values, self._model.n_iterations))
        if (answer := self._answers.get()) is None:
            raise _Stop
        return answer


class _LostPart:
    """What is left of a part that was moved or spilled to disk."""

    def __getattr__(self, name: str) -> Any:
        if name in ("advance", "stop", "state"):
            raise PartLostError("a part was moved away from its worker, or spilled to disk")
        raise AttributeError(name)


# ---- tasks


def threads_of_worker(n_jobs: int | None) -> int:
    """Return how many threads a task may use, which is at most the number of threads of its worker."""
    n_threads: int = get_worker().state.nthreads
    return n_threads if n_jobs is None or n_jobs < 0 else min(n_threads, n_jobs)


def start_part(
    blocks: Sequence[_core.BinnedColumns],
    first_row: int,
    target: tuple[NDArray[np.float64], NDArray[np.float64] | None],
    state: dict[str, Any],
    options: PartOptions,
) -> BoostingPart:
    """Return the part with the rows of consecutive blocks, their target and weights; it continues a model."""
    n_threads = threads_of_worker(options.n_jobs)
    binned = blocks[0] if len(blocks) == 1 else _core.BinnedColumns.join(blocks)
    return BoostingPart(binned, first_row, *target, state, options, n_threads)


def advance(part: BoostingPart, step: int, combined: Numbers | None) -> Numbers:
    """Continue a part with what was combined, and return what it needs next."""
    return part.advance(step, None if combined is None else combined.values)


def add(parts: Sequence[Numbers]) -> Numbers:
    """Combine numbers of parts."""
    first = parts[0]
    if any(part.how != first.how or part.values.shape != first.values.shape for part in parts):
        raise PartLostError("parts are at different steps")
    combine = np.maximum if first.how == "max" else np.add
    values = first.values.copy()
    for part in parts[1:]:
        combine(values, part.values, out=values)
    return Numbers(first.how, values, min(part.n_iterations for part in parts))


def n_iterations_of(combined: Numbers) -> int:
    """Return how many iterations all parts have completed."""
    return combined.n_iterations


def stop_part(part: BoostingPart) -> int:
    """Stop a part, and return how many iterations it has completed."""
    return part.stop()


def state_of(part: BoostingPart) -> tuple[int, dict[str, Any]]:
    """Return how many iterations a part has completed, and the state of its model."""
    return part.state()
