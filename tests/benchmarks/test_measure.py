"""Contenders take turns, nothing but their work is timed, and only foreign load has a turn repeated."""

from __future__ import annotations

import gc
import time

import pytest

from benchmarks import measure
from benchmarks.cases import CASES, column_scans
from benchmarks.data import PROJECT, numbers
from benchmarks.measure import Job, exponent, time_rounds


def test_every_round_another_contender_begins() -> None:
    calls: list[str] = []
    jobs = {name: Job(lambda _, name=name: calls.append(name), calls=1) for name in "abc"}
    found = time_rounds(jobs, 3)
    assert "".join(calls) == "abc" + "abc" + "bca" + "cab"  # the first three warm up
    assert [len(found[name].rounds) for name in "abc"] == [3, 3, 3]


def test_preparation_is_not_timed_and_no_garbage_is_collected_meanwhile() -> None:
    collecting: list[bool] = []
    job = Job(lambda _: collecting.append(gc.isenabled()), prepare=lambda: time.sleep(0.05), calls=1)
    assert time_rounds({"a": job}, 1)["a"].median < 0.05
    assert not any(collecting)
    assert gc.isenabled()


@pytest.mark.parametrize(("attempts", "kept"), [(1, 0.9), (2, 0.5), (4, 0.0)])
def test_a_disturbed_turn_is_taken_again_as_often_as_allowed(monkeypatch, attempts, kept) -> None:
    loads = iter([0.9, 0.5, 0.0])
    monkeypatch.setattr(measure.Watch, "busy", lambda _: next(loads))
    monkeypatch.setattr(measure, "WAIT", 0.0)
    assert time_rounds({"a": Job(lambda _: None, calls=1)}, 1, attempts=attempts)["a"].foreign == (kept,)


def test_a_disturbed_turn_of_minutes_is_not_taken_again(monkeypatch) -> None:
    loads = iter([0.9, 0.5, 0.0])
    monkeypatch.setattr(measure.Watch, "busy", lambda _: next(loads))
    monkeypatch.setattr(measure, "PATIENCE", 0.0)
    assert time_rounds({"a": Job(lambda _: None, calls=1)}, 1, attempts=4)["a"].foreign == (0.9,)


def test_long_work_warms_up_with_less_of_it() -> None:
    calls: list[str] = []
    job = Job(lambda _: calls.append("all"), warm_up=lambda: calls.append("some"))
    time_rounds({"a": job}, 2)
    assert calls == ["some", "all", "all"]


def test_a_spent_budget_leaves_one_round() -> None:
    assert len(time_rounds({"a": Job(lambda _: None, calls=1)}, 5, budget=0.0)["a"].rounds) == 1


def test_exponent_is_the_slope_of_the_logarithms() -> None:
    assert exponent([10, 100, 1000], [0.3, 3.0, 30.0]) == pytest.approx(1.0)


def test_scans_of_full_growth_are_those_that_the_ladder_leaves() -> None:
    def all_scans(
        p: int, d: int
    ) -> int:  # a node scans p columns; the daughters of rung k may use one column less
        return p + sum(all_scans(k, d - 1) for k in range(1, p + 1)) if d else 0

    for p in range(1, 7):
        for d in range(1, 6):
            assert column_scans(p, d) == all_scans(p, d) - p * d


def test_tables_follow_their_seed() -> None:
    X, y = numbers(1_000, 4, seed=3, holes=0.3)
    again, _ = numbers(1_000, 4, seed=3, holes=0.3)
    other, _ = numbers(1_000, 4, seed=4, holes=0.3)
    assert X.tobytes() == again.tobytes() != other.tobytes()
    assert 0.25 < (X != X).mean() < 0.35
    assert y.std() > 1


def test_the_readme_explains_every_benchmark() -> None:
    text = (PROJECT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"\n| {name} | " in text for name in CASES)
