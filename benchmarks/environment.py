"""The environment of a run: machine, versions, commit, load."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

__all__ = ["commit", "machine", "other_seconds", "processors", "versions"]

PACKAGES = ("tritree", "numpy", "scikit-learn", "lightgbm", "xgboost", "ydf", "catboost", "pandas", "dask")


def processors() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, object]:
    """Return a description of the machine that does not identify it."""
    return {
        "processor": _processor(),
        "processors": processors(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of all packages; "absent" if a package is not installed."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def commit() -> str:
    """Return the measured commit, and whether source files differ from it; "unknown" outside a repository."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "cpp")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{found} with changes" if changed else found


def other_seconds() -> float | None:
    """Return the processor seconds that other processes have used since the system started; None if unknown.

    All processes count except this one and its finished children; time that the hypervisor took (steal) counts too.
    The system counts in ticks of about 10 ms, so only differences well above that mean anything.
    """
    try:
        fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
        # user nice system idle iowait irq softirq steal; guest time is included in user
        user, nice, system, _idle, _wait, irq, softirq, steal = (int(field) for field in fields[:8])
        ticks = os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, ValueError):
        return None
    own = os.times()
    used = (user + nice + system + irq + softirq + steal) / ticks
    return used - (own.user + own.system + own.children_user + own.children_system)


def _git(*arguments: str) -> str:
    folder = Path(__file__).resolve().parents[1]
    completed = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return completed.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        "unknown processor",
    )


def _memory() -> str:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return "unknown memory"
    return f"{pages * size / 2**30:.0f} GiB of memory"
