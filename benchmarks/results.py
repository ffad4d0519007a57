"""What a run finds: measurements, verdicts on them, and the rows they make up."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["DISTURBED", "Measurement", "Row", "Verdict", "compare"]

#: Processors that others may keep busy during a round before it counts as disturbed.
DISTURBED = 0.15


@dataclass(frozen=True)
class Measurement:
    """What one contender needed, a number per round; the unit is "s" or "B" (bytes)."""

    contender: str
    rounds: tuple[float, ...]
    unit: str = "s"
    foreign: tuple[
        float, ...
    ] = ()  # per round, the processors that others kept busy meanwhile; empty: not known

    @property
    def disturbed(self) -> int:
        """How many rounds others disturbed."""
        return sum(busy > DISTURBED for busy in self.foreign)

    @property
    def median(self) -> float:
        """The middle round."""
        return statistics.median(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The quartiles of the rounds: how much they spread."""
        low, high = np.quantile(self.rounds, (0.25, 0.75))
        return float(low), float(high)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        low, high = self.quartiles
        return {
            "contender": self.contender,
            "unit": self.unit,
            "median": self.median,
            "quartiles": [low, high],
            "rounds": list(self.rounds),
            "foreign": list(self.foreign),
        }


@dataclass(frozen=True)
class Verdict:
    """A number and the reach it must stay within; without a reach it is only reported.

    ``ours`` and ``theirs`` are the measurements behind a ratio. ``at_least`` turns the reach into a lower bound.
    """

    what: str
    value: float
    reach: float | None
    unit: str = "x"
    ours: Measurement | None = None
    theirs: Measurement | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the reach is met; None if there is none."""
        if self.reach is None:
            return None
        return self.value >= self.reach if self.at_least else self.value <= self.reach

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data; measurements by the name of their contender."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "reach": self.reach,
            "at_least": self.at_least,
            "met": self.met,
            "contender": self.ours.contender if self.ours else None,
            "against": self.theirs.contender if self.theirs else None,
        }


@dataclass
class Row:
    """One piece of work of a benchmark: what it is, who took how long, how that is judged, and what to know."""

    case: str
    work: str
    measurements: list[Measurement] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: bool = False

    @property
    def disturbance(self) -> str:
        """What to know if others disturbed the rounds; empty if they did not.

        It matters which way it errs: a library whose threads wait for each other suffers several times as much from a
        busy machine as one whose threads do not, so ratios of disturbed rounds mean nothing.
        """
        rounds = sum(len(found.foreign) for found in self.measurements)
        disturbed = sum(found.disturbed for found in self.measurements)
        if not disturbed:
            return ""
        return f"DISTURBED: other processes were busy in {disturbed} of {rounds} turns; run it again."

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "case": self.case,
            "work": self.work,
            "measurements": [measurement.as_dict() for measurement in self.measurements],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
            "disturbance": self.disturbance,
        }


def compare(
    ours: Measurement, peers: list[Measurement], reach: float | None, what: str = ""
) -> list[Verdict]:
    """Return the verdict on our median over the smallest median among the peers; none without peers."""
    if not peers:
        return []
    best = min(peers, key=lambda peer: peer.median)
    return [Verdict(what, ours.median / best.median, reach, ours=ours, theirs=best)]
