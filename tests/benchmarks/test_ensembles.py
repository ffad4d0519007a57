"""Boosting and forests are compared at equal work, and later benchmarks use the models of earlier ones."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks import data, ensembles, libraries, memory
from benchmarks.libraries import (
    OTHER_LIBRARIES,
    TRITREE_MODELS,
    Candidate,
    Parameters,
    RandomForest,
    TritreeBoosting,
    TritreeForest,
    TritreeTree,
    load,
)
from benchmarks.run import Run

BOOSTING = Parameters(n_threads=1, max_depth=3, min_samples_leaf=20, n_trees=10, learning_rate=0.1)


def few_values(n_rows: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Return a table whose bins are its values, so that equal algorithms give equal predictions."""
    rng = np.random.default_rng(0)
    X = rng.integers(20, size=(n_rows, 4)).astype(np.float64)
    return X, X[:, 0] + np.abs(X[:, 1] - 7) + X[:, 2] * (X[:, 3] > 9) + rng.standard_normal(n_rows)


class Counted(TritreeBoosting):
    """tritree's boosting that records the number of rows of each fit."""

    def __init__(self, name: str = "tritree boosting") -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]
        self.fits: list[int] = []

    def fit(self, X, y, parameters):
        self.fits.append(len(y))
        return super().fit(X, y, parameters)


@pytest.fixture(autouse=True)
def _one_thread():
    """Limit HistGradientBoosting to one thread, which only OpenMP can do."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def small(monkeypatch):
    """Make all tables small, and compare tritree with itself only; return the two candidates."""
    numbers = data.numbers
    tritree, other = Counted(), Counted("LightGBM")
    monkeypatch.setattr(
        ensembles.data, "numbers", lambda n, p, **options: numbers(min(n, 1_200), p, **options)
    )
    monkeypatch.setattr(ensembles, "TritreeBoosting", lambda: tritree)
    monkeypatch.setattr(libraries, "load", lambda *_: ([other], []))
    monkeypatch.setattr("benchmarks.timing.other_seconds", lambda: None)  # no sample is repeated
    monkeypatch.setattr(
        ensembles,
        "boosting_parameters",
        lambda run: run.parameters(n_trees=3, learning_rate=0.1, max_depth=3),
    )
    return tritree, other


@pytest.mark.parametrize("name", ensembles.BOOSTING)
def test_other_libraries_do_the_same_boosting_as_tritree(name) -> None:
    found, absent = load(name)
    if absent:
        pytest.skip(absent[0])
    X, y = few_values()
    tritree = TritreeBoosting().predict(TritreeBoosting().fit(X, y, BOOSTING), X, BOOSTING)
    other = found[0].predict(found[0].fit(X, y, BOOSTING), X, BOOSTING)
    np.testing.assert_allclose(other, tritree, rtol=1e-4)


@pytest.mark.parametrize(
    "changed",
    [{"n_trees": 11}, {"learning_rate": 0.2}, {"max_depth": 2}, {"min_samples_leaf": 200}, {"max_bins": 5}],
)
@pytest.mark.parametrize(
    "candidate", [TritreeBoosting(), *(OTHER_LIBRARIES[name] for name in ensembles.BOOSTING)]
)
def test_boosting_depends_on_every_parameter(candidate: Candidate, changed) -> None:
    if candidate.name in OTHER_LIBRARIES and load(candidate.name)[1]:
        pytest.skip(f"{candidate.name} is not installed")
    X, y = few_values()
    parameters = Parameters(**asdict(BOOSTING) | changed)
    before, after = (candidate.predict(candidate.fit(X, y, each), X, each) for each in (BOOSTING, parameters))
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("features", [1.0, 1 / 3])
def test_forests_have_full_depth_and_the_same_parameters(features) -> None:
    X, y = data.numbers(1_000, 6, seed=0)
    parameters = Parameters(n_threads=1, n_trees=4, min_samples_leaf=1, max_features=features, seed=3)
    tritree, other = (each.fit(X, y, parameters) for each in (TritreeForest(), RandomForest()))
    for name in ("n_estimators", "max_depth", "min_samples_leaf", "max_features", "bootstrap", "n_jobs"):
        assert getattr(tritree, name) == getattr(other, name), name
    # one leaf for nearly every row of the bootstrap sample, whose number varies a little
    assert tritree.n_nodes_ == pytest.approx(
        sum(tree.tree_.node_count for tree in other.estimators_), rel=0.05
    )


def test_later_benchmarks_predict_with_the_models_of_boosting_fit(small) -> None:
    run = Run(n_threads=1, rounds=2)
    rows = {
        name: list(ensembles.CASES[name](run))
        for name in ("boosting-fit", "boosting-predict", "boosting-missing")
    }
    for candidate in small:
        assert candidate.fits == [
            ensembles.WARM_UP_ROWS,
            1_200,
            1_200,
        ]  # warm-up and two rounds
    assert all(len(row) == 1 and row[0].verdicts for row in rows.values())


def test_a_prediction_benchmark_run_alone_fits_its_models(small) -> None:
    [row] = ensembles.boosting_predict(Run(n_threads=1, rounds=1))
    assert [candidate.fits for candidate in small] == [[1_200], [1_200]]
    assert [found.candidate for found in row.measurements] == ["tritree boosting", "LightGBM"]


def test_every_first_prediction_starts_without_third_branches(small, monkeypatch) -> None:
    from tritree import TrinaryBoostingRegressor

    grown: list[int] = []
    predict = TrinaryBoostingRegressor.predict

    def counting(model, X):
        if len(X) == 1_200:
            grown.append(model.n_grown_)
        return predict(model, X)

    run = Run(n_threads=2, rounds=2)
    monkeypatch.setattr(TrinaryBoostingRegressor, "predict", counting)
    [row] = ensembles.boosting_missing(run)
    assert (
        grown.count(0) == 1 + run.rounds
    )  # the other candidate when it warms up, and every first prediction
    assert run.boosted["tritree boosting"].n_grown_ == 0
    assert [verdict.what for verdict in row.verdicts] == ["first", "again"]
    assert (row.verdicts[0].value, row.verdicts[0].unit) == (row.measurements[0].median, "s")


def test_the_goal_of_the_first_prediction_is_for_two_threads(small) -> None:
    notes = {n: next(ensembles.boosting_missing(Run(n_threads=n, rounds=1))).notes for n in (1, 2)}
    assert any("two threads; this run had 1" in note for note in notes[1])
    assert not any("two threads" in note for note in notes[2])


def test_boosting_and_forests_measure_the_strategy_in_their_name() -> None:
    X, y = data.numbers(200, 3, seed=0)
    for kind, default in (
        (TritreeTree, "trinary"),
        (TritreeBoosting, "trinary_mia"),
        (TritreeForest, "trinary"),
    ):
        found = {kind(): default, kind("mia"): "mia"}
        for candidate, missing in found.items():
            assert candidate.fit(X, y, BOOSTING).missing == missing
            assert candidate.name.endswith("(mia)") is (missing == "mia")


def test_wide_tables_are_fitted_by_one_tree_and_by_boosting(small) -> None:
    rows = list(ensembles.fit_wide(Run(n_threads=1, rounds=1, quick=True)))
    assert [row.work for row in rows] == [
        "1,200 x 1,000, one tree",
        "1,200 x 1,000, 10 trees",
        "500 x 5,000, one tree",
        "500 x 5,000, 10 trees",
    ]
    assert all(row.verdicts[0].goal == 0.7 and "R² on 1,200 new rows" in row.notes[0] for row in rows)


def test_categories_of_new_rows_have_the_effects_of_the_training_rows(small) -> None:
    run = Run(n_threads=1, rounds=1, quick=True)
    [row] = ensembles.categories_boosting(run)
    assert row.work.startswith("20,000 x 3, 5,000 categories")
    X, y = data.categories(20_000, 10, seed=0, n_columns=3)
    means = [
        np.array([[y[half][X[c].cat.codes[half] == k].mean() for k in range(10)] for c in X])
        for half in (slice(0, 10_000), slice(10_000, None))
    ]
    np.testing.assert_allclose(*means, atol=0.3)


@pytest.mark.skipif(memory.obstacle() is not None, reason="peak memory is read from /proc/self")
def test_peak_memory_is_measured_in_a_fresh_process(tmp_path) -> None:
    X, y = data.numbers(20_000, 5, seed=0)
    memory.save_tables(tmp_path, X, y)
    assert memory.peak_of_fit(TritreeBoosting(), tmp_path, BOOSTING) > 0


def test_parameters_survive_json() -> None:
    parameters = Parameters(n_threads=2, n_trees=100, max_features=1 / 3, max_bins=None)
    assert Parameters(**json.loads(json.dumps(asdict(parameters)))) == parameters


def test_candidates_have_distinct_names() -> None:
    assert not set(TRITREE_MODELS) & set(OTHER_LIBRARIES)
    assert all(name.startswith("tritree") for name in TRITREE_MODELS)
