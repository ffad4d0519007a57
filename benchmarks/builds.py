"""Comparison of two builds of tritree: ``python -m benchmarks --against FOLDER [NAME ...]``.

Every benchmark runs in fresh processes that alternate between the builds, without other libraries. The workloads use
only constructor parameters, ``fit``, ``predict`` and ``grow_all``, so that builds with other internals can be compared.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import quantity
from benchmarks.results import MAX_OTHER_LOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["HEADINGS", "Comparison", "activate", "compare_builds", "location"]

#: Environment variable that names the folder of the build to import; all child processes inherit it.
BUILD = "TRITREE_BUILD"
HEADINGS = ("benchmark", "work", "measured", "this build", "other build", "this / other", "range", "fastest")


def activate() -> None:
    """Import tritree from the folder that the environment variable names; without it, as usual."""
    folder = os.environ.get(BUILD)
    if not folder:
        return
    if "tritree" in sys.modules:
        raise RuntimeError("tritree was imported before its build was chosen")
    hooks = sorted(Path(folder).glob("_editable_*tritree*.py"))
    if hooks:  # the site-packages of an editable install: its hook knows where the files are
        spec = importlib.util.spec_from_file_location("_tritree_build", hooks[0])
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    else:
        sys.meta_path.insert(0, _BuildFinder(folder))
    import tritree._core  # noqa: F401 - fails here if the build is not complete


def location() -> str:
    """Return the path of the compiled core that is imported."""
    from tritree import _core

    return str(_core.__file__)


class _BuildFinder:
    """Finds tritree in one folder, whatever is installed or on the path."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if name == "tritree":
            return PathFinder.find_spec(name, [self.folder])
        return PathFinder.find_spec(name, path) if name.startswith("tritree.") else None


@dataclass
class Comparison:
    """One quantity in both builds: a number per process, in seconds or bytes."""

    case: str
    work: str
    what: str
    unit: str
    this: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Ratio of the medians; below 1, this build needs less."""
        return statistics.median(self.this) / statistics.median(self.other)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the comparison under ``HEADINGS``."""
        pairs = [this / other for this, other in zip(self.this, self.other, strict=False)]
        return (
            self.case,
            self.work,
            self.what,
            quantity(statistics.median(self.this), self.unit),
            quantity(statistics.median(self.other), self.unit),
            f"{self.ratio:.3f}",
            f"{min(pairs):.2f} – {max(pairs):.2f}",
            f"{min(self.this) / min(self.other):.3f}",
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {**self.__dict__, "ratio": self.ratio}


def compare_builds(
    names: Sequence[str], other: Path, options: Sequence[str], pairs: int
) -> Iterator[tuple[list[Comparison], list[str], bool]]:
    """Yield the comparisons of each benchmark, notes on failures and disturbances, and whether it failed.

    Parameters
    ----------
    names
        The benchmarks.
    other
        The folder that holds the other build: the package ``tritree``, or the site-packages of an editable install.
    options
        Command line options of the processes.
    pairs
        Number of processes per build.
    """
    for name in names:
        found: dict[tuple[str, ...], Comparison] = {}
        notes: list[str] = []
        n_disturbed = n_samples = 0
        failed = False
        for i in range(pairs):
            for build in ("this", "other") if i % 2 == 0 else ("other", "this"):
                print(f"{name}: process {i + 1} of {pairs}, {build} build", file=sys.stderr, flush=True)
                content = _run(name, options, other if build == "other" else None)
                notes.append(f"{build} build: {content['core']}")
                for row in content["rows"]:
                    if row["failed"]:
                        notes.append(f"{name}, {build} build: {' '.join(row['notes'])}")
                        failed = True
                        continue
                    for what, unit, value in _quantities(row):
                        key = (name, row["work"], what)
                        getattr(found.setdefault(key, Comparison(*key, unit)), build).append(value)
                    loads = [load for each in row["measurements"] for load in each["other_load"]]
                    n_samples += len(loads)
                    n_disturbed += sum(load > MAX_OTHER_LOAD for load in loads)
        if n_disturbed:
            notes.append(f"{name}: other processes were busy during {n_disturbed} of {n_samples} samples.")
        yield (
            [each for each in found.values() if each.this and each.other],
            list(dict.fromkeys(notes)),
            failed,
        )


def _quantities(row: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Yield what was measured in a row: name, unit and number."""
    for each in row["measurements"]:
        yield each["candidate"], each["unit"], each["median"]
    if row["peak_memory"] and row["measurements"] and row["measurements"][0]["unit"] == "s":
        yield "peak memory", "B", row["peak_memory"]


def _run(name: str, options: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """Return the results of a benchmark, run in a fresh process with the build in ``folder`` (None: this build)."""
    environment = dict(os.environ)
    environment.pop(BUILD, None)
    if folder is not None:
        environment[BUILD] = str(folder.resolve())
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "rows.json")
        command = [sys.executable, "-m", "benchmarks", name, "--tritree-only", "--json", str(file), *options]
        project = Path(__file__).resolve().parents[1]
        completed = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
        if not file.exists():
            raise RuntimeError(f"the process of {name} ended without a result:\n{completed.stderr}")
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
