"""The workers of a cluster: which of them can take rows, and whether their memory suffices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dask.utils import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_memory", "find_client", "running_workers", "wait_for_workers"]

#: How long a fit waits for a worker that can run anything.
MAX_WAIT_SECONDS = 60.0


def find_client(client: Any) -> Any:
    """Return a client; by default, the one that was created last."""
    if client is not None:
        return client
    from distributed import default_client

    try:
        return default_client()
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
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while not (found := running_workers(client)):
        if time.monotonic() > deadline:
            if _infos(client):
                raise MemoryError(
                    f"all workers have been paused for {MAX_WAIT_SECONDS:.0f} seconds, since their memory is nearly "
                    "full; add workers, or give them more memory"
                )
            raise RuntimeError(
                f"the cluster has had no worker for {MAX_WAIT_SECONDS:.0f} seconds; start some"
            )
        time.sleep(0.1)
    return found


def check_memory(client: Any, n_rows: int, n_columns: int) -> None:
    """Raise a MemoryError if the workers cannot hold a binned table and what boosting adds to it."""
    limits = [info["memory_limit"] for info in _infos(client).values()]
    needed = n_rows * (
        4 * n_columns + 56
    )  # bins by row and by column, twice each; target, predictions, gradients
    if limits and all(limits) and needed > sum(limits):
        raise MemoryError(
            f"boosting on {n_rows:,} rows of {n_columns:,} columns needs about {format_bytes(needed)}, and the workers "
            f"have {format_bytes(sum(limits))} all together; add workers, or give them more memory"
        )
