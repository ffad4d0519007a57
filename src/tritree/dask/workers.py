"""The workers of a cluster: which of them can take rows, and whether their memory suffices."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from dask.utils import format_bytes
from distributed import KilledWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "all_workers",
    "check_memory",
    "find_client",
    "result",
    "results",
    "roomiest_worker",
    "running_workers",
    "wait_for_workers",
]

#: How long a fit waits for a worker that can run anything.
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.5
_TRANSFER_SECONDS = 30.0
_MAX_ATTEMPTS = 8


def find_client(client: Any) -> Any:
    """Return a client; by default, the one that was created last."""
    if client is not None:
        return client
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        raise ValueError(
            "there is no client of a Dask cluster; create one, distributed.Client(...), before fit, or pass it as "
            "client"
        ) from None


def _infos(client: Any) -> Mapping[str, Any]:
    infos: Mapping[str, Any] | None = client.scheduler_info(n_workers=-1).get("workers")
    if infos is None:
        raise RuntimeError("the connection to the scheduler of the cluster was lost")
    return infos


def all_workers(client: Any) -> set[str]:
    """Return the addresses of the workers, also of those that are paused."""
    return set(_infos(client))


def running_workers(client: Any) -> list[str]:
    """Return the addresses of the workers that take tasks: those whose memory is nearly full are paused."""
    return sorted(address for address, info in _infos(client).items() if info["status"] == "running")


def wait_for_workers(client: Any) -> list[str]:
    """Return the addresses of running workers as soon as there is one; raise an error if there is none for a while."""
    since = time.monotonic()
    while not (found := running_workers(client)):
        _check_patience(client, since)
        time.sleep(0.1)
    return found


def _check_patience(client: Any, since: float) -> None:
    """Raise an error if no worker has been running for too long."""
    if time.monotonic() - since < MAX_WAIT_SECONDS:
        return
    if _infos(client):
        raise MemoryError(
            f"all workers have been paused for {MAX_WAIT_SECONDS:.0f} seconds, since their memory is nearly full; add "
            "workers, or give them more memory"
        )
    raise RuntimeError(f"the cluster has had no worker for {MAX_WAIT_SECONDS:.0f} seconds; start some")


def result(future: Any, check: Callable[[], None]) -> Any:
    """Return the result of a future; ``check`` is called now and then meanwhile, and may raise an error."""
    checked = time.monotonic()
    while True:
        if future.done():
            try:
                return future.result(timeout=_TRANSFER_SECONDS)
            except TimeoutError:  # it was lost, or takes long to transfer
                check()
                continue
        time.sleep(0.002)
        if time.monotonic() - checked >= _POLL_SECONDS:
            check()
            checked = time.monotonic()


def results(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures; raise an error if no worker has been running for a while."""
    idle_since: float | None = None

    def check() -> None:
        nonlocal idle_since
        if running_workers(client):
            idle_since = None
        else:
            idle_since = idle_since or time.monotonic()
            _check_patience(client, idle_since)

    for attempt in range(_MAX_ATTEMPTS):
        try:
            return [result(future, check) for future in futures]
        except (
            KilledWorker
        ):  # Dask gives up a task when its workers have died four times, for whatever reason
            if attempt + 1 == _MAX_ATTEMPTS:
                client.cancel(list(futures))
                raise
            client.retry([future for future in futures if future.status == "error"])
        except BaseException:
            client.cancel(list(futures))
            raise
    raise AssertionError("unreachable")


def roomiest_worker(client: Any) -> str:
    """Return the address of the running worker with most memory."""
    infos = _infos(client)
    return max(wait_for_workers(client), key=lambda address: infos[address]["memory_limit"] or math.inf)


def check_memory(client: Any, needed: int, what: str, *, on_one_worker: bool = False) -> None:
    """Raise a MemoryError if the workers, or any of them, have less memory than is needed for something."""
    limits = [info["memory_limit"] for info in _infos(client).values()]
    if not limits or not all(limits):
        return
    available = max(limits) if on_one_worker else sum(limits)
    if needed > available:
        remedy = "add workers, or give them more memory"
        if on_one_worker:
            remedy = "start a larger one, or use boosting, whose rows are divided among all workers"
        have = "the largest worker has" if on_one_worker else "the workers have all together"
        raise MemoryError(
            f"{what} needs about {format_bytes(needed)}, and {have} {format_bytes(available)}; {remedy}"
        )
