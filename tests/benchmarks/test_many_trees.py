"""Boosting and forests are compared at equal work, and what one benchmark has fitted the next ones use."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks import data, many_trees, memory
from benchmarks.contender import Contender, Settings
from benchmarks.ours import OURS, Boosting, Forest
from benchmarks.peers import PEERS, RandomForest, load
from benchmarks.run import Run

BOOSTING = Settings(threads=1, depth=3, leaf=20, trees=10, rate=0.1)


def few_values(n_rows: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Return a table whose bins are its values, so that libraries that do the same find the same."""
    chance = np.random.default_rng(0)
    X = chance.integers(20, size=(n_rows, 4)).astype(np.float64)
    return X, X[:, 0] + np.abs(X[:, 1] - 7) + X[:, 2] * (X[:, 3] > 9) + chance.standard_normal(n_rows)


class Counted(Boosting):
    """tritree's boosting that keeps the number of rows of each of its fits."""

    def __init__(self, name: str = Boosting.name) -> None:
        self.name = name  # type: ignore[misc]
        self.fits: list[int] = []

    def fit(self, X, y, settings):
        self.fits.append(len(y))
        return super().fit(X, y, settings)


@pytest.fixture(autouse=True)
def _one_thread():
    """Hold HistGradientBoosting to one thread, which only OpenMP tells it."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def small(monkeypatch):
    """Make all tables small, and tritree its own and only peer; return the two contenders."""
    numbers = data.numbers
    ours, peer = Counted(), Counted("LightGBM")
    monkeypatch.setattr(many_trees.data, "numbers", lambda n, p, **how: numbers(min(n, 1_200), p, **how))
    monkeypatch.setattr(many_trees, "Boosting", lambda: ours)
    monkeypatch.setattr(many_trees, "load", lambda *_: ([peer], []))
    monkeypatch.setattr("benchmarks.measure.foreign_seconds", lambda: None)  # no turn is taken again
    monkeypatch.setattr(many_trees, "boosting_settings", lambda run: run.settings(trees=3, rate=0.1, depth=3))
    return ours, peer


@pytest.mark.parametrize("name", many_trees.BOOSTING)
def test_boosting_peers_do_the_work_that_tritree_does(name) -> None:
    found, absent = load(name)
    if absent:
        pytest.skip(absent[0])
    X, y = few_values()
    ours = Boosting().predict(Boosting().fit(X, y, BOOSTING), X, BOOSTING)
    theirs = found[0].predict(found[0].fit(X, y, BOOSTING), X, BOOSTING)
    np.testing.assert_allclose(theirs, ours, rtol=1e-4)


@pytest.mark.parametrize("changed", [{"trees": 11}, {"rate": 0.2}, {"depth": 2}, {"leaf": 200}, {"bins": 5}])
@pytest.mark.parametrize("contender", [Boosting(), *(PEERS[name] for name in many_trees.BOOSTING)])
def test_boosting_follows_every_setting(contender: Contender, changed) -> None:
    if contender.name in PEERS and load(contender.name)[1]:
        pytest.skip(f"{contender.name} is not installed")
    X, y = few_values()
    settings = Settings(**asdict(BOOSTING) | changed)
    before, after = (contender.predict(contender.fit(X, y, each), X, each) for each in (BOOSTING, settings))
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("features", [1.0, 1 / 3])
def test_forests_have_full_depth_and_the_same_settings(features) -> None:
    X, y = data.numbers(1_000, 6, seed=0)
    settings = Settings(threads=1, trees=4, leaf=1, features=features, seed=3)
    ours, theirs = (each.fit(X, y, settings) for each in (Forest(), RandomForest()))
    for name in ("n_estimators", "max_depth", "min_samples_leaf", "max_features", "bootstrap", "n_jobs"):
        assert getattr(ours, name) == getattr(theirs, name), name
    # a leaf for nearly every row that was drawn; how many rows these are differs a little by chance
    assert ours.n_nodes_ == pytest.approx(sum(tree.tree_.node_count for tree in theirs.estimators_), rel=0.05)


def test_what_boosting_fit_has_fitted_the_others_predict_with(small) -> None:
    run = Run(threads=1, rounds=2)
    rows = {
        name: list(many_trees.CASES[name](run))
        for name in ("boosting-fit", "boosting-predict", "boosting-holes")
    }
    for contender in small:
        assert contender.fits == [many_trees.FEW, 1_200, 1_200]  # the warm-up and two rounds, and no more
    assert all(len(row) == 1 and row[0].verdicts for row in rows.values())


def test_a_benchmark_of_predictions_fits_what_it_needs_when_run_alone(small) -> None:
    [row] = many_trees.boosting_predict(Run(threads=1, rounds=1))
    assert [contender.fits for contender in small] == [[1_200], [1_200]]
    assert [found.contender for found in row.measurements] == ["tritree boosting", "LightGBM"]


def test_every_first_time_begins_without_third_branches(small, monkeypatch) -> None:
    from tritree import TrinaryBoostingRegressor

    grown: list[int] = []
    predict = TrinaryBoostingRegressor.predict

    def watched(model, X):
        if len(X) == 1_200:
            grown.append(model.n_grown_)
        return predict(model, X)

    run = Run(threads=2, rounds=2)
    monkeypatch.setattr(TrinaryBoostingRegressor, "predict", watched)
    [row] = many_trees.boosting_holes(run)
    assert grown.count(0) == 2 + run.rounds  # both contenders when they warm up, and each first time
    assert run.boosted["tritree boosting"].n_grown_ == 0
    assert [verdict.what for verdict in row.verdicts] == ["first", "again"]
    assert (row.verdicts[0].value, row.verdicts[0].unit) == (row.measurements[-1].median, "s")


def test_the_first_time_is_held_to_seconds_of_two_threads(small) -> None:
    notes = {n: next(many_trees.boosting_holes(Run(threads=n, rounds=1))).notes for n in (1, 2)}
    assert any("two threads; here were 1" in note for note in notes[1])
    assert not any("two threads" in note for note in notes[2])


@pytest.mark.skipif(memory.obstacle() is not None, reason="peak memory is read from Linux's /proc")
def test_a_fresh_process_measures_the_contender_and_settings_it_was_told(tmp_path) -> None:
    X, y = data.numbers(20_000, 5, seed=0)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    assert memory.peak_bytes(Boosting(), tmp_path, BOOSTING) > 0


def test_settings_travel_as_json() -> None:
    settings = Settings(threads=2, trees=100, features=1 / 3, bins=None)
    assert Settings(**json.loads(json.dumps(asdict(settings)))) == settings


def test_every_contender_has_a_name_of_its_own() -> None:
    assert not set(OURS) & set(PEERS)
    assert all(name.startswith("tritree") for name in OURS)
