"""Ratios and verdicts follow from the measurements, and disturbed samples are counted."""

from __future__ import annotations

import pytest

from benchmarks.results import Measurement, Row, Verdict, compare


def test_a_ratio_is_to_the_library_with_the_smallest_median() -> None:
    tritree = Measurement("tritree", (1.0, 9.0, 2.0))
    [verdict] = compare(tritree, [Measurement("slow", (8.0,)), Measurement("fast", (4.0, 4.0, 100.0))], 1.0)
    assert (verdict.value, verdict.baseline.candidate, verdict.met) == (0.5, "fast", True)


def test_without_other_libraries_there_is_no_verdict() -> None:
    assert compare(Measurement("tritree", (1.0,)), [], 1.0) == []


@pytest.mark.parametrize(
    ("value", "goal", "at_least", "met"),
    [(1.0, 1.0, False, True), (1.01, 1.0, False, False), (1.8, 1.8, True, True), (1.7, 1.8, True, False),
     (5.0, None, False, None)],
)  # fmt: skip
def test_a_goal_is_an_upper_or_a_lower_bound(value, goal, at_least, met) -> None:
    assert Verdict("", value, goal, at_least=at_least).met is met


def test_a_row_counts_the_disturbed_samples() -> None:
    calm = Measurement("tritree", (1.0, 1.0), other_load=(0.0, 0.1))
    busy = Measurement("other", (1.0, 4.0), other_load=(0.0, 0.9))
    assert Row("case", "work", [calm]).disturbance == ""
    assert "1 of 4 samples" in Row("case", "work", [calm, busy]).disturbance
