"""Results of a run: measurements, their comparison with goals, and the rows of the report."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["MAX_OTHER_LOAD", "Measurement", "Row", "Verdict", "compare"]

#: Processors that other processes may keep busy before a sample counts as disturbed.
MAX_OTHER_LOAD = 0.15


@dataclass(frozen=True)
class Measurement:
    """Time or memory that one candidate needed, one sample per round; the unit is "s" or "B" (bytes).

    ``other_load`` is the number of processors that other processes kept busy during each sample; empty if unknown.
    """

    candidate: str
    samples: tuple[float, ...]
    unit: str = "s"
    other_load: tuple[float, ...] = ()

    @property
    def n_disturbed(self) -> int:
        """Number of samples that other processes disturbed."""
        return sum(load > MAX_OTHER_LOAD for load in self.other_load)

    @property
    def median(self) -> float:
        """Median of the samples."""
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile of the samples."""
        low, high = np.quantile(self.samples, (0.25, 0.75))
        return float(low), float(high)

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data."""
        low, high = self.quartiles
        return {
            "candidate": self.candidate,
            "unit": self.unit,
            "median": self.median,
            "quartiles": [low, high],
            "samples": list(self.samples),
            "other_load": list(self.other_load),
        }


@dataclass(frozen=True)
class Verdict:
    """A number compared with its goal; without a goal it is only reported.

    A ratio is that of the medians of ``measured`` and ``baseline``. The goal is an upper bound unless ``at_least``.
    """

    what: str
    value: float
    goal: float | None
    unit: str = "x"
    measured: Measurement | None = None
    baseline: Measurement | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None if there is none."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data; measurements by the name of their candidate."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "goal": self.goal,
            "at_least": self.at_least,
            "met": self.met,
            "candidate": self.measured.candidate if self.measured else None,
            "baseline": self.baseline.candidate if self.baseline else None,
        }


@dataclass
class Row:
    """One workload of a benchmark: its description, measurements, verdicts and notes."""

    case: str
    work: str
    measurements: list[Measurement] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: bool = False
    peak_memory: int | None = None  # of the process while the row was measured, in bytes

    @property
    def disturbance(self) -> str:
        """Warning that other processes disturbed samples; empty if none did.

        Ratios of disturbed samples are meaningless: a library whose threads wait for each other slows down several
        times as much on a busy machine as one whose threads do not.
        """
        n_samples = sum(len(found.other_load) for found in self.measurements)
        n_disturbed = sum(found.n_disturbed for found in self.measurements)
        if not n_disturbed:
            return ""
        return (
            f"DISTURBED: other processes were busy during {n_disturbed} of {n_samples} samples; run it again."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "case": self.case,
            "work": self.work,
            "measurements": [measurement.as_dict() for measurement in self.measurements],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
            "disturbance": self.disturbance,
            "failed": self.failed,
            "peak_memory": self.peak_memory,
        }


def compare(
    measured: Measurement, others: list[Measurement], goal: float | None, what: str = ""
) -> list[Verdict]:
    """Return the verdict on the ratio to the smallest median among ``others``; no verdict without others."""
    if not others:
        return []
    best = min(others, key=lambda other: other.median)
    return [Verdict(what, measured.median / best.median, goal, measured=measured, baseline=best)]
