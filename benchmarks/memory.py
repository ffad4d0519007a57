"""Peak resident memory of one fit, measured in a fresh process: ``python -m benchmarks.memory`` is that process."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.contender import Settings
from benchmarks.ours import OURS
from benchmarks.peers import PEERS

if TYPE_CHECKING:
    from benchmarks.contender import Contender

__all__ = ["obstacle", "peak_bytes"]

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def obstacle() -> str | None:
    """Return why peak memory cannot be told on this system; None if it can."""
    try:
        RESET.write_text("5")  # 5: the peak becomes what is resident now
        _status("VmHWM")
    except (OSError, StopIteration):
        return "peak memory is read from Linux's /proc, which is absent or closed here"
    return None


def peak_bytes(contender: Contender, folder: Path, settings: Settings) -> float:
    """Return the peak resident memory of fitting the table in ``folder``, above what is resident before.

    Resident before are the library, warmed up by a small fit, and the table itself.
    """
    asked = json.dumps(asdict(settings))
    command = [sys.executable, "-m", "benchmarks.memory", contender.name, str(folder), asked]
    project = Path(__file__).resolve().parents[1]
    answer = subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)
    return float(json.loads(answer.stdout.splitlines()[-1]))


def _measure(name: str, folder: Path, settings: Settings) -> int:
    import importlib

    from threadpoolctl import threadpool_limits

    contender = (OURS | PEERS)[name]
    for module in contender.modules:
        importlib.import_module(module)
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    with threadpool_limits(settings.threads):
        kept: list[Any] = [contender.fit(X[:1000].copy(), y[:1000].copy(), settings)]
        kept.clear()
        gc.collect()
        before = _status("VmRSS")
        RESET.write_text("5")
        kept.append(contender.fit(X, y, settings))
    return _status("VmHWM") - before


def _status(field: str) -> int:
    """Return a field of the process's status, in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]), Settings(**json.loads(sys.argv[3])))))
