"""A trial cross-validates a method: its loss, sample weights, caches and the tuned depth of trees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lab.small_experiment import made, small
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from tritree.lab import trial
from tritree.lab.dataset import Dataset
from tritree.lab.methods import Methods, fit_estimator
from tritree.lab.scenarios import in_both, in_test, shifted
from tritree.lab.trial import Folds
from tritree.metrics import mean_loss


class PredictColumn(LinearRegression):
    def predict(self, X: Any) -> Any:
        return super().predict(X)[:, None]


def test_predictions_in_a_column_are_compared_row_by_row() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40)}).assign(y=lambda t: 2 * t["a"])
    results = small(
        datasets=[Dataset.from_table("line", table, "y")], rates=[], methods={"line": PredictColumn()}
    ).run(1)
    assert results.loss.to_numpy() == pytest.approx(0, abs=1e-12)


def test_class_unseen_in_training_has_a_large_but_finite_loss() -> None:
    data = made("classes", "classification")
    results = small(
        datasets=[data], methods={"constant": DummyClassifier(strategy="constant", constant="yes")}
    ).run(1)
    assert results.loss.between(1, 40).all()


def steps(depth: int) -> Dataset:
    """Return a data set that trees of some depth fit, and deeper ones overfit."""
    rng = np.random.default_rng(depth)
    table = pd.DataFrame({"a": rng.uniform(size=400), "b": rng.normal(size=400)})
    table["y"] = np.floor(table["a"] * 2**depth) + rng.normal(scale=0.1, size=400)
    return Dataset.from_table(f"steps {depth}", table, "y")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_is_tuned_to_where_the_loss_stops_falling(depth: int) -> None:
    experiment = small(datasets=[steps(depth)], max_depth="tuned", rates=[], scenarios=[in_test()])
    experiment.run(1)
    assert experiment.depths == {f"steps {depth}": depth}


def test_specified_depth_is_not_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "tune_depth", None)
    experiment = small(max_depth={"made": 3})
    experiment.run(1)
    assert experiment.depths == {"made": 3}


def test_tuned_depth_is_kept_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.sqlite"
    parameters: dict[str, Any] = {"datasets": [steps(1)], "max_depth": "tuned", "store": path, "rates": []}
    small(**parameters).run(1)
    tuned = []
    monkeypatch.setattr(trial, "tune_depth", lambda dataset, *_: tuned.append(dataset.name) or 4)
    again = small(**parameters)
    again.run(1)
    assert again.depths == {"steps 1": 1}
    assert not tuned
    small(**parameters | {"options": {"min_samples_leaf": 3}}).run(1)
    small(**parameters | {"folds": Folds(3)}).run(1)
    small(**parameters | {"datasets": [steps(0)]}).run(1)
    assert tuned == ["steps 1", "steps 1", "steps 0"]


def test_caches_are_empty_after_a_run() -> None:
    small(scenarios=[in_test()]).run(1)
    assert not trial._models
    assert not trial._tables
    assert not any(cache.cache_info().currsize for cache in (trial._read, trial._split))


def test_methods_are_fitted_once_per_training_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits, really = [], trial.fit_estimator

    def counted(*args: Any) -> Any:
        fits.append(args)
        return really(*args)

    monkeypatch.setattr(trial, "fit_estimator", counted)
    scenarios = [in_test(), in_test("mnar", name="mnar"), in_both(), shifted("mcar", "mnar")]
    apart = [small(scenarios=[scenario], rates=[0.2], methods=["mia"]).run(1) for scenario in scenarios]
    fits.clear()
    together = small(scenarios=scenarios, rates=[0.2], methods=["mia"]).run(1)
    assert len(fits) == 2 * 4  # folds, of complete rows, and of rows with missing values
    columns = ["dataset", "scenario", "rate", "method", "seed", "fold", "loss"]
    expected = pd.concat(apart)[columns].drop_duplicates().sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(together[columns].sort_values(columns, ignore_index=True), expected)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("method", ["mia", "complete_case", "forest:mia", "boosting:mia"])
def test_row_of_weight_two_counts_as_two_rows(task: str, method: str) -> None:
    data = made(task=task)
    times = 1 + np.arange(data.n_rows) % 2
    weighted = replace(data, sample_weight=times.astype(float))
    rows = np.arange(data.n_rows)
    train, test = rows[:150], rows[150:]
    incomplete = data.X.mask(np.arange(data.n_rows)[:, None] % 5 == [0, 1, 2])
    options: dict[str, Any] = {"min_samples_leaf": 1}  # which counts rows, not weights
    if method.startswith("forest"):  # rows are drawn one by one
        options |= {"bootstrap": False, "trees": 2}
    estimator = Methods({"x": method}, **options).make("x", task, 1)
    if method.startswith("boosting"):  # penalties count rows, too
        estimator.set_params(split_penalty=0)
    twice = np.repeat(rows, times)
    losses = [
        mean_loss(
            fit_estimator(estimator, incomplete.iloc[of], data.y[of], task, one.weights_of(of)),
            incomplete.iloc[rows_of_test],
            data.y[rows_of_test],
            task,
            one.weights_of(rows_of_test),
        )
        for one, of, rows_of_test in (
            (weighted, train, test),
            (data, twice[twice < 150], twice[twice >= 150]),
        )
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_weights_are_used_in_training_tuning_and_loss(tmp_path: Path) -> None:
    data = made()
    heavy = replace(data, name="heavy", sample_weight=1.0 + 9 * (data.X["a"] > 0).to_numpy())
    same = replace(data, name="same", sample_weight=np.full(data.n_rows, 3.0))
    found = small(datasets=[data, heavy, same], max_depth="tuned").run(1).set_index("dataset")["loss"]
    np.testing.assert_allclose(found["same"], found["made"], rtol=1e-9)
    assert (found["heavy"].to_numpy() != found["made"].to_numpy()).all()


def test_method_that_accepts_no_weights_is_reported() -> None:
    data = replace(made(), sample_weight=np.ones(200))
    methods = {"mia": "mia", "chain": make_pipeline(SimpleImputer(), DummyRegressor())}
    with pytest.warns(UserWarning, match="chain on made.*sample_weight"):
        found = small(datasets=data, methods=methods).run(1)
    assert set(found["method"]) == {"mia"}
