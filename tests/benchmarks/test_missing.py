"""Boosting and forests are measured with missing values: fits, first predictions files and memory."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import data, memory, missing
from benchmarks.libraries import Parameters, TritreeBoosting, TritreeForest
from benchmarks.run import Run

BOOSTING = Parameters(n_threads=1, max_depth=3, n_trees=3, learning_rate=0.1)
FOREST = Parameters(n_threads=1, n_trees=3, min_samples_leaf=1)


@pytest.fixture
def small(monkeypatch):
    """Make all tables and models small, and leave other libraries out; return the run."""
    numbers = data.numbers
    monkeypatch.setattr(data, "numbers", lambda n, p, **options: numbers(min(n, 300), p, **options))
    monkeypatch.setattr(missing, "boosting_parameters", lambda _run: BOOSTING)
    monkeypatch.setattr(missing, "forest_parameters", lambda _run: FOREST)
    monkeypatch.setattr("benchmarks.timing.other_seconds", lambda: None)  # no sample is repeated
    return Run(n_threads=1, rounds=2, tritree_only=True)


@pytest.fixture
def real(monkeypatch, tmp_path):
    """Put a small table with missing values in the place of the real ones."""
    rng = np.random.default_rng(0)
    X = data.frame(rng.standard_normal((400, 3))).round(2)
    X = data.with_missing(X.assign(city=rng.choice(["a", "b", "c"], 400)), 0.1, seed=1)
    (tmp_path / "natural").mkdir()
    X.assign(y=rng.standard_normal(400)).to_csv(tmp_path / data.AMES_HOUSING, index=False)
    X.assign(y=rng.choice(["no", "yes"], 400)).to_csv(tmp_path / data.ADULT, index=False)
    monkeypatch.setattr(data, "DATA", tmp_path)
    return X


def test_the_goal_of_fits_is_for_the_default_strategy(small, monkeypatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(missing, "BOOSTING", ("LightGBM",))
    rows = list(missing.boosting_fit_missing(Run(n_threads=1, rounds=1)))
    assert [row.work for row in rows] == [f"300 x 20, {n} % missing, 100 trees" for n in (10, 30, 50)]
    for row in rows:
        assert [(each.what, each.goal) for each in row.verdicts] == [
            ("tritree boosting", 1.3),
            ("tritree boosting (mia)", None),
        ]
        assert all(name in row.notes[-1] for name in ("R²", "boosting (mia)", "LightGBM"))


def test_training_and_new_rows_have_the_same_missingness(small, monkeypatch) -> None:
    found: list[tuple[float, float]] = []
    monkeypatch.setattr(
        missing,
        "r_squared",
        lambda _candidates, _models, X, _y, _parameters: found.append(np.isnan(X).mean()) or "",
    )
    list(missing.boosting_fit_missing(small))
    list(missing.forest_fit_missing(small))
    np.testing.assert_allclose(found, [0.1, 0.3, 0.5, 0.3], atol=0.03)


def test_first_predictions_are_compared_with_the_models_own_fit(small) -> None:
    [boosting] = missing.boosting_first(small)
    forest, _ = missing.forest_first(small)
    for row, goal in ((boosting, 3.0), (forest, 2.0)):
        name = row.measurements[0].candidate.partition(",")[0]
        first, fit, grown = row.measurements
        assert [first.candidate, fit.candidate, grown.candidate] == [
            f"{name}, first time",
            f"{name}, fit",
            f"{name}, grown",
        ]
        assert (row.verdicts[0].value, row.verdicts[0].goal) == (first.median / fit.median, goal)


def test_the_first_prediction_is_also_judged_per_row_and_tree(small) -> None:
    [row] = missing.boosting_first(small)
    verdict = row.verdicts[-1]
    assert (verdict.unit, verdict.goal) == ("µs", 10.0)
    assert verdict.value == pytest.approx(1e6 * row.measurements[0].median / (100_000 * BOOSTING.n_trees))


def test_the_file_after_growth_is_compared_with_that_before(small) -> None:
    _, row = missing.forest_first(small)
    before, after = row.measurements
    assert (before.unit, after.unit) == ("B", "B")
    assert after.median > before.median > 0
    assert (row.verdicts[0].value, row.verdicts[0].goal) == (after.median / before.median, 3.0)


@pytest.mark.parametrize(
    ("tritree", "parameters"), [(TritreeBoosting(), BOOSTING), (TritreeForest(), FOREST)]
)
def test_every_call_predicts_another_row_with_a_model_that_has_not_grown(tritree, parameters) -> None:
    X, y = data.numbers(300, 4, seed=0)
    rows, _ = data.numbers(20, 4, seed=1, missing=0.3)
    model = tritree.fit(X, y, parameters)
    job = missing.unseen_row_job(tritree, model, rows, parameters, 5)
    states = [job.prepare() for _ in rows]
    predictions = [job.work(state)[0] for state in states]
    n_ungrown = model._model.n_ungrown  # of forests, also nodes whose evidence was not found
    for state in states:
        if np.isnan(state[1]).all():
            assert state[0].n_grown_ > 0 or state[0]._model.n_ungrown < n_ungrown
    np.testing.assert_array_equal(np.vstack([state[1] for state in states]), rows)
    assert model.n_grown_ == 0
    np.testing.assert_array_equal(predictions, tritree.predict(model, rows, parameters))


def test_one_row_is_judged_in_milliseconds(small) -> None:
    for row in missing.one_row_missing(small):
        assert (row.verdicts[0].unit, row.verdicts[0].goal) == ("ms", 5.0)
        assert row.verdicts[0].value == 1e3 * row.measurements[0].median


def test_real_tables_show_times_sizes_and_memory(small, real) -> None:
    rows = list(missing.real_tables(small))
    assert [row.work.split(",")[0] for row in rows] == ["adult"] * 4 + ["ames_housing"] * 4
    for times, sizes in zip(rows[::2], rows[1::2], strict=True):
        assert [each.unit for each in times.measurements] == ["s", "s"]
        expected = 2 if memory.obstacle() else 3
        assert [each.unit for each in sizes.measurements] == ["B"] * expected
        assert all(verdict.goal is None for verdict in (*times.verdicts, *sizes.verdicts))


def test_forests_predict_only_some_rows_of_a_real_table(small, real, monkeypatch) -> None:
    monkeypatch.setattr(missing, "MAX_FOREST_ROWS", 30)
    monkeypatch.setattr(memory, "obstacle", lambda: "memory is not measured in this test")
    works = [row.work for row in missing.real_tables(small)]
    assert works[:3:2] == ["adult, 200 x 4, tritree boosting", "adult, 30 x 4, tritree forest"]


def test_absent_tables_are_skipped_with_a_note(small, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    rows = list(missing.real_tables(small))
    assert all(not row.measurements and "TRITREE_DATA" in row.notes[0] for row in rows)
    assert len(rows) == 2


def test_a_target_of_two_classes_is_zero_or_one(real) -> None:
    X, y = data.real_table(data.ADULT, every=2)
    assert set(y) == {0.0, 1.0}
    assert len(y) == 200
    assert str(X["city"].dtype) == "category"
    np.testing.assert_array_equal(X.isna().to_numpy(), real.iloc[::2].isna().to_numpy())


@pytest.mark.skipif(memory.obstacle() is not None, reason="peak memory is read from /proc/self")
def test_memory_of_growing_is_measured_in_a_fresh_process(tmp_path) -> None:
    X, y = data.numbers(3_000, 8, seed=0)
    rows, _ = data.numbers(3_000, 8, seed=1, missing=0.3)
    peaks = []
    for each in (X, rows):
        memory.save_tables(tmp_path, X, y, each)
        peaks.append(memory.peak_of_prediction(TritreeForest(), tmp_path, FOREST))
    assert peaks[1] > peaks[0] >= 0
