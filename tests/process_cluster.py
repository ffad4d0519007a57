"""Clusters of real processes on loopback, whose workers can be killed."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

__all__ = ["ProcessCluster"]

#: Workers import what tests define.
_ENVIRONMENT = {
    **os.environ,
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "spawn",
}


class ProcessCluster:
    """A ``dask scheduler`` and some ``dask worker`` processes."""

    def __init__(self, n_workers, *, memory_limit="1GiB", nanny=False):
        self._folder = tempfile.TemporaryDirectory()
        self._memory_limit, self._nanny = memory_limit, nanny
        self._processes = []
        log = Path(self._folder.name, "scheduler.log")
        self._start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", log=log)
        self.address = _wait_for(lambda: re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text()))[0]
        self.workers = [self.add_worker() for _ in range(n_workers)]
        self.client = Client(self.address, timeout=30)
        self.client.wait_for_workers(n_workers, timeout=60)

    def _start(self, *command, log):
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_ENVIRONMENT,
                cwd=self._folder.name,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def add_worker(self, n_threads=1):
        """Start a worker, and return its process."""
        log = Path(self._folder.name, f"worker-{len(self._processes)}.log")
        nanny = "--nanny" if self._nanny else "--no-nanny"
        return self._start(
            "worker",
            self.address,
            "--nthreads",
            str(n_threads),
            "--no-dashboard",
            nanny,
            "--memory-limit",
            self._memory_limit,
            "--death-timeout",
            "60",
            log=log,
        )

    def kill_worker(self, position):
        """Kill a worker with SIGKILL."""
        process = self.workers.pop(position)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self):
        """End all processes."""
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _wait_for(check, timeout=30):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise TimeoutError("the scheduler has not started")
