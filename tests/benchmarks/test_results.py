"""Ratios and verdicts say what was measured, and disturbed rounds are not judged."""

from __future__ import annotations

import pytest

from benchmarks.results import Measurement, Row, Verdict, compare


def test_a_ratio_is_to_the_fastest_peer_by_medians() -> None:
    ours = Measurement("tritree", (1.0, 9.0, 2.0))
    [verdict] = compare(ours, [Measurement("slow", (8.0,)), Measurement("fast", (4.0, 4.0, 100.0))], 1.0)
    assert (verdict.value, verdict.theirs.contender, verdict.met) == (0.5, "fast", True)


def test_without_peers_there_is_no_verdict() -> None:
    assert compare(Measurement("tritree", (1.0,)), [], 1.0) == []


@pytest.mark.parametrize(
    ("value", "reach", "at_least", "met"),
    [(1.0, 1.0, False, True), (1.01, 1.0, False, False), (1.8, 1.8, True, True), (1.7, 1.8, True, False),
     (5.0, None, False, None)],
)  # fmt: skip
def test_a_reach_is_a_bound_from_above_or_below(value, reach, at_least, met) -> None:
    assert Verdict("", value, reach, at_least=at_least).met is met


def test_a_row_tells_how_many_turns_others_disturbed() -> None:
    calm = Measurement("tritree", (1.0, 1.0), foreign=(0.0, 0.1))
    busy = Measurement("peer", (1.0, 4.0), foreign=(0.0, 0.9))
    assert Row("case", "work", [calm]).disturbance == ""
    assert "1 of 4 turns" in Row("case", "work", [calm, busy]).disturbance
