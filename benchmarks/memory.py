"""Peak resident memory: of a fit in a fresh process (``python -m benchmarks.memory``), or of this process."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import builds
from benchmarks.libraries import OTHER_LIBRARIES, TRITREE_MODELS, Parameters

if TYPE_CHECKING:
    from benchmarks.libraries import Candidate

__all__ = ["obstacle", "peak", "peak_of_fit", "reset_peak"]

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def obstacle() -> str | None:
    """Return why peak memory cannot be measured on this system; None if it can."""
    try:
        reset_peak()
    except (OSError, StopIteration):
        return "peak memory is read from /proc/self, which is not available here"
    return None


def peak_of_fit(candidate: Candidate, folder: Path, parameters: Parameters) -> float:
    """Return the peak resident memory of fitting the table in ``folder``, in bytes above that before the fit.

    Before the fit the library, after a small fit as warm-up, and the table itself are resident.
    """
    arguments = [candidate.name, str(folder), json.dumps(asdict(parameters))]
    completed = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", *arguments],
        cwd=Path(__file__).resolve().parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(completed.stdout.splitlines()[-1]))


def reset_peak() -> int:
    """Set the peak resident memory of this process to its resident memory; return that, in bytes."""
    RESET.write_text("5")
    return peak()


def peak() -> int:
    """Return the peak resident memory of this process since it was last reset, in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _measure(name: str, folder: Path, parameters: Parameters) -> int:
    from threadpoolctl import threadpool_limits

    candidate = (TRITREE_MODELS | OTHER_LIBRARIES)[name]
    candidate.load()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    with threadpool_limits(parameters.n_threads):
        candidate.fit(X[:1000].copy(), y[:1000].copy(), parameters)
        gc.collect()
        before = reset_peak()
        model = candidate.fit(X, y, parameters)
        used = peak() - before
    del model
    return used


if __name__ == "__main__":
    builds.activate()
    print(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]), Parameters(**json.loads(sys.argv[3])))))
