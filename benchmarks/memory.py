"""Peak resident memory: of a fit or a first prediction in a fresh process, or of this process."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import builds
from benchmarks.libraries import OTHER_LIBRARIES, TRITREE_MODELS, Parameters

if TYPE_CHECKING:
    from benchmarks.libraries import Candidate

__all__ = ["obstacle", "peak", "peak_of_fit", "peak_of_prediction", "reset_peak", "save_tables"]

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")
TABLES = "tables.pickle"


def obstacle() -> str | None:
    """Return why peak memory cannot be measured on this system; None if it can."""
    try:
        reset_peak()
    except (OSError, StopIteration):
        return "peak memory is read from /proc/self, which is not available here"
    return None


def save_tables(folder: Path, X: Any, y: Any, rows: Any = None) -> None:
    """Save the table to fit, its target, and the rows to predict, for the functions below."""
    (folder / TABLES).write_bytes(pickle.dumps((X, y, rows), protocol=pickle.HIGHEST_PROTOCOL))


def peak_of_fit(candidate: Candidate, folder: Path, parameters: Parameters) -> float:
    """Return the peak resident memory of fitting the table in ``folder``, in bytes above that before the fit.

    Before the fit the library, after a small fit as warm-up, and the tables themselves are resident.
    """
    return _in_a_fresh_process("fit", candidate, folder, parameters)


def peak_of_prediction(candidate: Candidate, folder: Path, parameters: Parameters) -> float:
    """Return the peak resident memory of the first prediction of the rows in ``folder``, in bytes above that before."""
    return _in_a_fresh_process("predict", candidate, folder, parameters)


def _in_a_fresh_process(work: str, candidate: Candidate, folder: Path, parameters: Parameters) -> float:
    arguments = [work, candidate.name, str(folder), json.dumps(asdict(parameters))]
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


def _measure(work: str, name: str, folder: Path, parameters: Parameters) -> int:
    from threadpoolctl import threadpool_limits

    candidate = (TRITREE_MODELS | OTHER_LIBRARIES)[name]
    candidate.load()
    X, y, rows = pickle.loads((folder / TABLES).read_bytes())
    with threadpool_limits(parameters.n_threads):
        model = candidate.fit(X[:1000].copy(), y[:1000].copy(), parameters)
        if work == "predict":
            candidate.predict(model, rows[:1], parameters)
            model = candidate.fit(X, y, parameters)
        else:
            del model
        gc.collect()
        before = reset_peak()
        result = (
            candidate.predict(model, rows, parameters)
            if work == "predict"
            else candidate.fit(X, y, parameters)
        )
        used = peak() - before
    del result
    return used


if __name__ == "__main__":
    builds.activate()
    _work, _name, _folder, _parameters = sys.argv[1:]
    print(json.dumps(_measure(_work, _name, Path(_folder), Parameters(**json.loads(_parameters)))))
