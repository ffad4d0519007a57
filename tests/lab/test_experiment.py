"""An experiment runs every combination once, in parallel, with any method, and reports those that fail."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib._parallel_backends import MultiprocessingBackend
from lab.small_experiment import made, numbers, small
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tritree import TrinaryTreeRegressor
from tritree.lab import experiment as experiment_module
from tritree.lab.scenarios import in_both
from tritree.lab.store import Store
from tritree.lab.trial import Folds
from tritree.metrics import METRICS

COLUMNS = [
    "dataset",
    "scenario",
    "rate",
    "method",
    "seed",
    "fold",
    "loss",
    "rows",
    "fit_seconds",
    "predict_seconds",
]


def test_results_have_a_row_for_every_combination() -> None:
    experiment = small(datasets=[made(), made("other", "classification")], seeds=2, methods={"mia": "mia"})
    results = experiment.run(1)
    metrics = [name for names in METRICS.values() for name in names]
    assert list(results) == COLUMNS + metrics
    assert len(results) == 2 * 2 * 2 * 1 * 2 * 4  # data sets, scenarios, rates with 0, methods, seeds, folds
    assert not results.duplicated(COLUMNS[:6]).any()
    assert (results.groupby(["dataset", "scenario", "rate", "method", "seed"])["rows"].sum() == 200).all()
    assert results.attrs["about"]["depths"] == {"made": 2, "other": 2}


def test_loss_is_that_of_trees_fitted_by_hand() -> None:
    data, scenario = made(), in_both("mcar")
    results = small(scenarios=[scenario], seeds=[7], options={"min_samples_leaf": 5}).run(1)
    X, _ = scenario.tables(data, 0.3, 7)
    assert X.isna().mean().to_numpy() == pytest.approx(0.3)
    for fold, (train, test) in enumerate(Folds(4).split(data)):
        tree = TrinaryTreeRegressor(missing="trinary", max_depth=2, min_samples_leaf=5)
        error = tree.fit(X.iloc[train], data.y[train]).predict(X.iloc[test]) - data.y[test]
        row = results[(results.method == "trinary") & (results.rate == 0.3) & (results.fold == fold)]
        assert row.loss.item() == pytest.approx(np.square(error).mean(), rel=1e-12)


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    pd.testing.assert_frame_equal(numbers(small().run(1)), numbers(small().run(2)))


def test_joblibs_backend_is_the_users_choice() -> None:
    with joblib.parallel_backend("threading"):
        results = small().run(2)
    pd.testing.assert_frame_equal(numbers(results), numbers(small().run(1)))


class LikeRay(MultiprocessingBackend):
    """A backend not known to be local, which returns all results at once."""


class CountStored(RegressorMixin, BaseEstimator):
    """A method that predicts the number of stored trials."""

    def __init__(self, path: str) -> None:
        self.path = path

    def fit(self, X: Any, y: Any) -> CountStored:
        return self

    def predict(self, X: Any) -> Any:
        with Store(self.path) as store:
            return np.full(len(X), float(len(store.keys())))


@pytest.fixture(params=["multiprocessing", "like Ray"])
def backend_without_generator(request: pytest.FixtureRequest) -> str:
    joblib.register_parallel_backend("like Ray", LikeRay)
    return str(request.param)


def test_backend_may_return_all_results_at_once(backend_without_generator: str) -> None:
    with joblib.parallel_backend(backend_without_generator):
        results = small().run(2)
    pd.testing.assert_frame_equal(numbers(results), numbers(small().run(1)))


def test_trials_are_stored_before_the_last_of_them_has_run(
    backend_without_generator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_module, "_BATCH", 1)
    path = str(tmp_path / "results.sqlite")
    rates = [0.1, 0.2, 0.3, 0.4, 0.5]
    experiment = small(rates=rates, scenarios=[in_both()], methods={"count": CountStored(path)}, store=path)
    with joblib.parallel_backend(backend_without_generator):
        results = experiment.run(2)
    # targets are about 0, so the loss is the square of the prediction: 4 of 6 trials are stored before the last two
    assert np.sqrt(results[results.rate == 0.5].loss).to_numpy() == pytest.approx(4, abs=1)


def test_any_estimator_can_be_a_method() -> None:
    methods = {
        "trinary": "trinary",
        "complete_case": "complete_case",
        "boosting": HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype"),
        "mean": DummyRegressor(),
    }
    results = small(methods=methods, scenarios=[in_both("mcar")]).run(1)
    assert set(results.method) == set(methods)
    assert np.isfinite(results.loss).all()


def test_failing_method_is_reported_and_the_others_run() -> None:
    methods = {"linear": make_pipeline(SimpleImputer(), LinearRegression()), "trinary": "trinary"}
    with pytest.warns(UserWarning, match=r"trials failed and are left out: linear on made"):
        results = small(methods=methods).run(1)  # text is not for linear regression
    assert set(results.method) == {"trinary"}


def test_single_failed_trial_is_reported_in_the_singular() -> None:
    methods = {"linear": make_pipeline(SimpleImputer(), LinearRegression())}
    with pytest.warns(UserWarning, match=r"^1 trial failed and is left out: linear"):
        small(methods=methods, rates=[], scenarios=[in_both()]).run(1)


class PredictNaN(RegressorMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> PredictNaN:
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


def test_method_that_predicts_nan_is_reported_and_the_others_run(tmp_path: Path) -> None:
    methods = {"nothing": PredictNaN(), "trinary": "trinary"}
    with pytest.warns(UserWarning, match=r"left out: nothing on made.*predictions in fold 0 are not numbers"):
        results = small(methods=methods, store=tmp_path / "results.sqlite").run(1)
    assert set(results.method) == {"trinary"}
    assert len(results) == 2 * 2 * 4  # scenarios, rates, folds


def peers(task: str) -> dict[str, Any]:
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    kind = "Regressor" if task == "regression" else "Classifier"
    last = LinearRegression() if task == "regression" else LogisticRegression()
    return {
        "trinary": "trinary",
        "LightGBM": getattr(lightgbm, f"LGBM{kind}")(n_estimators=5, n_jobs=1, verbose=-1),
        "XGBoost": getattr(xgboost, f"XGB{kind}")(n_estimators=5, n_jobs=1, enable_categorical=True),
        "imputer": make_pipeline(
            make_column_transformer(
                (SimpleImputer(), ["a", "b"]),
                (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["c"]),
            ),
            last,
        ),
    }


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_other_libraries_are_methods_like_any_other(task: str) -> None:
    results = small(datasets=[made("made", task)], methods=peers(task), scenarios=[in_both()]).run(1)
    assert set(results.method) == set(peers(task))
    # better than the mean, though XGBoost refuses text as classes
    means = results[(results.rate == 0) & (results.method != "trinary")].groupby("method").loss.mean()
    assert (means < (np.var(made().y) if task == "regression" else np.log(2))).all()


def test_interrupted_run_prints_nothing_about_its_workers() -> None:
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from lab.small_experiment import made, small
        from tritree.lab.store import Store
        def interrupted(*_):  # Ctrl-C between two trials
            raise KeyboardInterrupt
        Store.put = interrupted
        try:
            small(datasets=[made(), made("other")], seeds=3).run(2)
        except KeyboardInterrupt:
            pass
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(terminal: bool) -> None:
    pytest.importorskip("rich")
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from lab.small_experiment import small
        small(max_depth="tuned").run(1)
    """)
    ours, theirs = os.openpty() if terminal else os.pipe()
    run = subprocess.Popen([sys.executable, "-c", program], stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:
        pass  # the other end of the terminal is gone
    assert run.wait(60) == 0
    os.close(ours)
    assert (b"trials" in seen) == terminal
    assert (b"tune the depth" in seen) == terminal
