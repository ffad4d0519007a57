"""Candidates are timed in turn, only their work is timed, and only the load by other processes repeats a sample."""

from __future__ import annotations

import gc
import time

import pytest

from benchmarks import timing
from benchmarks.cases import CASES, column_scans
from benchmarks.data import PROJECT, numbers
from benchmarks.timing import Job, exponent, time_rounds


def test_every_round_starts_with_another_candidate() -> None:
    calls: list[str] = []
    jobs = {name: Job(lambda _, name=name: calls.append(name), calls=1) for name in "abc"}
    found = time_rounds(jobs, 3)
    assert "".join(calls) == "abc" + "abc" + "bca" + "cab"  # the first three warm up
    assert [len(found[name].samples) for name in "abc"] == [3, 3, 3]


def test_preparation_is_not_timed_and_garbage_collection_is_off() -> None:
    collecting: list[bool] = []
    job = Job(lambda _: collecting.append(gc.isenabled()), prepare=lambda: time.sleep(0.05), calls=1)
    assert time_rounds({"a": job}, 1)["a"].median < 0.05
    assert not any(collecting)
    assert gc.isenabled()


@pytest.mark.parametrize(("attempts", "load"), [(1, 0.9), (2, 0.5), (4, 0.0)])
def test_a_disturbed_sample_is_repeated_up_to_the_number_of_attempts(monkeypatch, attempts, load) -> None:
    loads = iter([0.9, 0.5, 0.0])
    monkeypatch.setattr(timing.LoadMonitor, "load", lambda _: next(loads))
    monkeypatch.setattr(timing, "WAIT", 0.0)
    assert time_rounds({"a": Job(lambda _: None, calls=1)}, 1, attempts=attempts)["a"].other_load == (load,)


def test_a_disturbed_sample_that_took_minutes_is_not_repeated(monkeypatch) -> None:
    loads = iter([0.9, 0.5, 0.0])
    monkeypatch.setattr(timing.LoadMonitor, "load", lambda _: next(loads))
    monkeypatch.setattr(timing, "MAX_RETRY_SECONDS", 0.0)
    assert time_rounds({"a": Job(lambda _: None, calls=1)}, 1, attempts=4)["a"].other_load == (0.9,)


def test_long_work_is_warmed_up_by_its_own_warm_up() -> None:
    calls: list[str] = []
    job = Job(lambda _: calls.append("all"), warm_up=lambda: calls.append("some"))
    time_rounds({"a": job}, 2)
    assert calls == ["some", "all", "all"]


def test_a_spent_budget_leaves_one_round() -> None:
    assert len(time_rounds({"a": Job(lambda _: None, calls=1)}, 5, budget=0.0)["a"].samples) == 1


def test_exponent_is_the_slope_of_the_logarithms() -> None:
    assert exponent([10, 100, 1000], [0.3, 3.0, 30.0]) == pytest.approx(1.0)


def test_column_scans_of_full_growth_match_their_recursive_definition() -> None:
    def all_scans(
        p: int, d: int
    ) -> int:  # a node scans p columns; the children of its k-th best split may use k of them
        return p + sum(all_scans(k, d - 1) for k in range(1, p + 1)) if d else 0

    for p in range(1, 7):
        for d in range(1, 6):
            assert column_scans(p, d) == all_scans(p, d) - p * d


def test_data_depends_on_the_seed_only() -> None:
    X, y = numbers(1_000, 4, seed=3, missing=0.3)
    again, _ = numbers(1_000, 4, seed=3, missing=0.3)
    other, _ = numbers(1_000, 4, seed=4, missing=0.3)
    assert X.tobytes() == again.tobytes() != other.tobytes()
    assert 0.25 < (X != X).mean() < 0.35
    assert y.std() > 1


def test_the_readme_explains_every_benchmark() -> None:
    text = (PROJECT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"\n| {name} | " in text for name in CASES)
