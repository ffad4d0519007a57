"""Finished trials are stored, and an experiment continues from its store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lab.small_experiment import made, numbers, small
from sklearn.dummy import DummyRegressor

from tritree.lab import identity
from tritree.lab.scenarios import in_test
from tritree.lab.store import Store


def test_results_do_not_depend_on_the_name_of_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    # the same rows under another name, beside other rows
    one, same, other = made("made"), made("edam"), made("others")
    assert one.fingerprint == same.fingerprint != other.fingerprint
    first = small(store=path, datasets=[one]).run(1)
    results = small(store=path, datasets=[same, other]).run(1)
    found = results[results.dataset == "edam"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found.assign(dataset="made"), first)  # the seconds, too
    beside = results[results.dataset == "others"].reset_index(drop=True)
    pd.testing.assert_frame_equal(numbers(beside), numbers(small(datasets=[other]).run(1)))


def test_other_columns_or_strength_are_other_trials(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    scenarios = [
        in_test("mnar"),
        in_test("mnar", columns=["a"], name="a"),
        in_test("mnar", columns=[1], name="b"),
        in_test("mnar", strength=1, name="weak"),
        in_test("mnar", direction="smallest", name="small"),
        in_test("mcar", name="random"),
        in_test("mcar", direction="smallest", strength=1, name="random again"),  # which say nothing there
    ]
    small(store=path, scenarios=scenarios, methods={"mia": "mia"}).run(1)
    with Store(path) as store:
        assert len(store.keys()) == 1 + 6


def test_stored_trials_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    first = small(store=path).run(1)
    more = small(store=path, rates=[0.3, 0.6]).run(1)
    again = more[more.rate.isin([0.0, 0.3])].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)  # the seconds, too
    with Store(path) as store:
        # without missing values scenarios do not matter: 2 trials; then 2 scenarios, 2 rates, 2 methods
        assert len(store.keys()) == 2 + 2 * 2 * 2


def test_other_data_or_parameters_are_other_trials(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    small(store=path).run(1)
    with Store(path) as store:
        n_before = len(store.keys())
    small(store=path, max_depth=1).run(1)
    small(store=path, datasets=[made(n=180)]).run(1)
    small(store=path, options={"min_samples_leaf": 3}).run(1)
    with Store(path) as store:
        assert len(store.keys()) == 4 * n_before


def test_other_versions_are_other_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.sqlite"
    parameters: dict[str, Any] = {
        "store": path,
        "methods": {"trinary": "trinary", "mean": DummyRegressor()},
        "scenarios": [in_test()],
    }
    versions = {"tritree": "1", "sklearn": "1"}
    monkeypatch.setattr(identity, "_version", versions.get)
    small(**parameters).run(1)

    def count() -> int:
        with Store(path) as store:
            return len(store.keys())

    assert count() == 4  # two rates, two methods
    versions["sklearn"] = "2"
    small(**parameters).run(1)
    assert count() == 4 + 2  # those of scikit-learn's method
    versions["tritree"] = "2"
    results = small(**parameters).run(1)
    assert count() == 6 + 4  # all: it also removes the values
    assert results.attrs["about"]["versions"]["tritree"] == "2"


def test_killed_run_continues_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from lab.small_experiment import small
        small(store={str(path)!r}, rates=[i / 100 for i in range(1, 90)], seeds=20).run(1)
    """)
    run = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists():
            with Store(path) as store:
                if len(store.keys()) > 5:
                    break
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    with Store(path) as store:
        finished = {key: store.get(key) for key in store.keys()}
    assert len(finished) > 5
    results = small(store=path, rates=[0.01, 0.9]).run(1)
    with Store(path) as store:
        assert {key: store.get(key) for key in finished} == finished
        assert len(store.keys()) > len(finished)  # it had not come to 90 %
    # running a trial again would have taken other seconds
    seconds = [result.fit_seconds for folds in finished.values() for result in folds]
    had = (results.rate == 0) | ((results.rate == 0.01) & (results.scenario == "mcar"))
    assert results.fit_seconds[had].isin(seconds).all()
    pd.testing.assert_frame_equal(numbers(results), numbers(small(rates=[0.01, 0.9]).run(1)))
