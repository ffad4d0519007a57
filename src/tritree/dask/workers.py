"""The workers of a cluster: which of them can take rows, and whether their memory suffices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dask.utils import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "check_memory",
    "find_client",
    "results",
    "running_workers",
    "wait_for_workers",
    "wait_until_done",
]

#: How long a fit waits for a worker that can run anything.
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.5
#: What boosting needs beside the bins: target, predictions, gradients, and the order of the rows.
BYTES_PER_ROW = 56


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
    infos: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return infos


def running_workers(client: Any) -> list[str]:
    """Return the addresses of the workers that take tasks: those whose memory is nearly full are paused."""
    return sorted(address for address, info in _infos(client).items() if info["status"] == "running")


def wait_for_workers(client: Any) -> list[str]:
    """Return the same as soon as there is one; raise an error if there is none for a while."""
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


def wait_until_done(futures: Sequence[Any], check: Callable[[], None]) -> None:
    """Wait for futures; ``check`` is called now and then, and may raise an error."""
    checked = time.monotonic()
    for future in futures:
        while not future.done():
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

    wait_until_done(futures, check)
    found: list[Any] = client.gather(list(futures))
    return found


def check_memory(client: Any, n_rows: int, n_columns: int) -> None:
    """Raise a MemoryError if the workers cannot hold a binned table and what boosting adds to it."""
    limits = [info["memory_limit"] for info in _infos(client).values()]
    needed = n_rows * (4 * n_columns + BYTES_PER_ROW)  # bins by row and by column, and their partitions
    if limits and all(limits) and needed > sum(limits):
        raise MemoryError(
            f"boosting on {n_rows:,} rows of {n_columns:,} columns needs about {format_bytes(needed)}, and the workers "
            f"have {format_bytes(sum(limits))} all together; add workers, or give them more memory"
        )
