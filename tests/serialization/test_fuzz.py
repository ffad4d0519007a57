"""Every randomly changed file is refused, or loaded and usable; see fuzz.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("resource", reason="peak memory is not available on this system")

N_CHANGES = 1500
MAX_SECONDS = 300
MAX_MEMORY = 300 * 2**20
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # then freed memory is kept for a while


def fuzz(family: str, folder: Path, n_changes: int = N_CHANGES) -> dict[str, Any]:
    """Return the report of a fuzzing run in a process of its own, which may crash or hang."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fuzz.py")), family, str(n_changes), str(folder)],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS * (4 if SANITIZED else 1),
    )
    assert done.returncode == 0, f"{folder / 'changed'} ended the process:\n{done.stderr[-5000:]}"
    report: dict[str, Any] = json.loads(done.stdout)
    assert SANITIZED or report["memory"] < MAX_MEMORY
    return report


def test_damaged_file_is_refused_or_predicts_the_same(tmp_path: Path) -> None:
    report = fuzz("damage", tmp_path)
    assert report["faults"] == []
    assert report["refused"] > N_CHANGES / 2


@pytest.mark.parametrize("family", ["description", "arrays", "description of format 1", "arrays of format 1"])
def test_crafted_file_is_refused_or_can_be_used(family: str, tmp_path: Path) -> None:
    report = fuzz(family, tmp_path)
    assert report["faults"] == []
    assert min(report["refused"], report["loaded"]) > N_CHANGES / 20


@pytest.mark.parametrize(("family", "every"), [("systematic", 97), ("systematic of format 1", 293)])
def test_hostile_change_is_refused_or_can_be_used(family: str, every: int, tmp_path: Path) -> None:
    report = fuzz(family, tmp_path, every)
    assert report["faults"] == []
    assert min(report["refused"], report["loaded"]) > 50
