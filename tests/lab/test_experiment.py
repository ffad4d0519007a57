"""An experiment runs each of its cells once, keeps what it has finished, and repeats itself to the last bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib._parallel_backends import MultiprocessingBackend
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tritree import TrinaryTreeRegressor
from tritree.lab import experiment as experiment_module
from tritree.lab import identity, trial
from tritree.lab.dataset import Dataset
from tritree.lab.experiment import Experiment
from tritree.lab.methods import Methods, fit_estimator
from tritree.lab.scenarios import Amputation, in_both, in_test, shifted
from tritree.lab.store import Store
from tritree.lab.trial import Folds

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


def made(name: str = "made", task: str = "regression", n: int = 200) -> Dataset:
    rng = np.random.default_rng(len(name))
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["x", "y"], n)})
    signal = table["a"] + (table["c"] == "x") * table["b"]
    table["y"] = signal if task == "regression" else np.where(signal > 0, "yes", "no")
    return Dataset.from_table(name, table, "y")


def small(**parameters: Any) -> Experiment:
    defaults: dict[str, Any] = {
        "datasets": [made()],
        "rates": [0.3],
        "methods": {"trinary": "trinary", "majority": "majority"},
        "max_depth": 2,
        "folds": Folds(4),
    }
    return Experiment(**(defaults | parameters))


def numbers(results: pd.DataFrame) -> pd.DataFrame:
    return results.drop(columns=["fit_seconds", "predict_seconds"])


def test_results_have_a_row_for_every_combination() -> None:
    experiment = small(datasets=[made(), made("other", "classification")], seeds=2, methods={"mia": "mia"})
    results = experiment.run(1)
    assert list(results) == COLUMNS
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


def test_name_of_a_data_set_makes_no_difference(tmp_path: Path) -> None:
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


def test_holes_in_test_only_leave_training_complete() -> None:
    data = made()
    for_training, for_test = in_test("mcar").tables(data, 0.5, 0)
    assert not for_training.isna().any().any()
    assert for_test.isna().mean().to_numpy() == pytest.approx(0.5)
    before, after = shifted("mcar", "mnar").tables(data, 0.5, 0)
    assert not before.isna().equals(after.isna())


def test_holes_are_in_the_columns_that_were_named() -> None:
    data = made()
    _, for_test = in_test("mcar", columns=["b"]).tables(data, 0.5, 0)
    assert for_test.isna().mean().tolist() == pytest.approx([0, 0.5, 0])
    before, after = shifted("mcar", Amputation("mnar", columns="a")).tables(data, 0.5, 0)
    assert before.isna().mean().tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert after.isna().mean().tolist() == pytest.approx([0.5, 0, 0])


def test_shift_has_a_direction() -> None:
    data = made()
    _, after = shifted("mcar", "im", direction="smallest").tables(data, 0.5, 0)
    assert after["a"].min() > data.X["a"].median()


def test_strength_is_passed_on() -> None:
    data, a = made(), made().X["a"]

    def mean_of_what_is_gone(strength: float) -> float:
        _, after = in_test("mnar", strength=strength).tables(data, 0.3, 0)
        return float(a[after["a"].isna()].mean())

    assert mean_of_what_is_gone(100) > mean_of_what_is_gone(1) + 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mechanism": "mcarr"}, "mechanism must be one of"),
        ({"direction": "up"}, "direction must be one of"),
        ({"mechanism": "mnar", "strength": -1}, "strength must be"),
        ({"columns": []}, "columns is empty"),
    ],
    ids=["mechanism", "direction", "strength", "columns"],
)
def test_holes_that_cannot_be_made_are_refused_at_once(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_test(**parameters)


def test_settings_are_told_in_full() -> None:
    scenarios = [in_test(columns=["a"]), shifted("mar", "mnar", direction="smallest", strength=1)]
    assert small(scenarios=scenarios).about()["scenarios"] == {
        "mcar_test": {"training": "complete", "test": {"mechanism": "mcar", "columns": ["a"]}},
        "mar → mnar": {
            "training": {"mechanism": "mar", "columns": "all", "strength": 1.0},
            "test": {"mechanism": "mnar", "columns": "all", "direction": "smallest", "strength": 1.0},
        },
    }


def test_other_columns_or_strength_are_other_cells(tmp_path: Path) -> None:
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


def test_one_worker_and_two_say_the_same() -> None:
    pd.testing.assert_frame_equal(numbers(small().run(1)), numbers(small().run(2)))


def test_joblibs_backend_is_the_users_choice() -> None:
    with joblib.parallel_backend("threading"):
        results = small().run(2)
    pd.testing.assert_frame_equal(numbers(results), numbers(small().run(1)))


class LikeRay(MultiprocessingBackend):
    """A backend that is not known to have its workers here, and gives results at its end only."""


class CountStored(RegressorMixin, BaseEstimator):
    """A method that predicts how many cells are stored while it runs."""

    def __init__(self, path: str) -> None:
        self.path = path

    def fit(self, X: Any, y: Any) -> CountStored:
        return self

    def predict(self, X: Any) -> Any:
        with Store(self.path) as store:
            return np.full(len(X), float(len(store.keys())))


@pytest.fixture(params=["multiprocessing", "like Ray"])
def gives_all_at_the_end(request: pytest.FixtureRequest) -> str:
    joblib.register_parallel_backend("like Ray", LikeRay)
    return str(request.param)


def test_backend_that_gives_all_results_at_its_end_will_do(gives_all_at_the_end: str) -> None:
    with joblib.parallel_backend(gives_all_at_the_end):
        results = small().run(2)
    pd.testing.assert_frame_equal(numbers(results), numbers(small().run(1)))


def test_cells_are_stored_before_the_last_of_them_has_run(
    gives_all_at_the_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_module, "_BATCH", 1)
    path = str(tmp_path / "results.sqlite")
    rates = [0.1, 0.2, 0.3, 0.4, 0.5]
    experiment = small(rates=rates, scenarios=[in_both()], methods={"count": CountStored(path)}, store=path)
    with joblib.parallel_backend(gives_all_at_the_end):
        results = experiment.run(2)
    # responses are about 0, so that the loss is the square of the number: 4 cells of 6 are there before the last two
    assert np.sqrt(results[results.rate == 0.5].loss).to_numpy() == pytest.approx(4, abs=1)


def test_what_is_in_the_store_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    first = small(store=path).run(1)
    more = small(store=path, rates=[0.3, 0.6]).run(1)
    again = more[more.rate.isin([0.0, 0.3])].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)  # the seconds, too
    with Store(path) as store:
        # without holes scenarios do not matter: 2 cells; then 2 scenarios, 2 rates, 2 methods
        assert len(store.keys()) == 2 + 2 * 2 * 2


def test_other_data_or_parameters_are_other_cells(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    small(store=path).run(1)
    with Store(path) as store:
        n_before = len(store.keys())
    small(store=path, max_depth=1).run(1)
    small(store=path, datasets=[made(n=180)]).run(1)
    small(store=path, options={"min_samples_leaf": 3}).run(1)
    with Store(path) as store:
        assert len(store.keys()) == 4 * n_before


def test_other_versions_are_other_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert count() == 6 + 4  # all: it also makes the holes
    assert results.attrs["about"]["versions"]["tritree"] == "2"


def test_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from test_experiment import small
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
    # to run a cell again would have taken other seconds
    seconds = [result.fit_seconds for cell in finished.values() for result in cell]
    had = (results.rate == 0) | ((results.rate == 0.01) & (results.scenario == "mcar"))
    assert results.fit_seconds[had].isin(seconds).all()
    pd.testing.assert_frame_equal(numbers(results), numbers(small(rates=[0.01, 0.9]).run(1)))


def test_any_estimator_is_just_another_row() -> None:
    methods = {
        "trinary": "trinary",
        "complete_case": "complete_case",
        "boosting": HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype"),
        "mean": DummyRegressor(),
    }
    results = small(methods=methods, scenarios=[in_both("mcar")]).run(1)
    assert set(results.method) == set(methods)
    assert np.isfinite(results.loss).all()


def test_method_that_fails_is_named_and_keeps_no_other_from_running() -> None:
    methods = {"linear": make_pipeline(SimpleImputer(), LinearRegression()), "trinary": "trinary"}
    with pytest.warns(UserWarning, match=r"trials failed and are left out: linear on made"):
        results = small(methods=methods).run(1)  # text is not for linear regression
    assert set(results.method) == {"trinary"}


def test_one_cell_that_fails_is_told_in_the_singular() -> None:
    methods = {"linear": make_pipeline(SimpleImputer(), LinearRegression())}
    with pytest.warns(UserWarning, match=r"^1 trial failed and is left out: linear"):
        small(methods=methods, rates=[], scenarios=[in_both()]).run(1)


class PredictNothing(RegressorMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> PredictNothing:
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


def test_method_that_predicts_no_number_keeps_no_other_from_running(tmp_path: Path) -> None:
    methods = {"nothing": PredictNothing(), "trinary": "trinary"}
    with pytest.warns(UserWarning, match=r"left out: nothing on made.*predictions in fold 0 are not numbers"):
        results = small(methods=methods, store=tmp_path / "results.sqlite").run(1)
    assert set(results.method) == {"trinary"}
    assert len(results) == 2 * 2 * 4  # scenarios, rates, folds


class PredictColumn(LinearRegression):
    def predict(self, X: Any) -> Any:
        return super().predict(X)[:, None]


def test_predictions_in_a_column_are_held_against_their_own_responses() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40)}).assign(y=lambda t: 2 * t["a"])
    results = small(
        datasets=[Dataset.from_table("line", table, "y")], rates=[], methods={"line": PredictColumn()}
    ).run(1)
    assert results.loss.to_numpy() == pytest.approx(0, abs=1e-12)


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
def test_libraries_beside_ours_are_just_other_rows(task: str) -> None:
    results = small(datasets=[made("made", task)], methods=peers(task), scenarios=[in_both()]).run(1)
    assert set(results.method) == set(peers(task))
    # they know more than the mean does, though XGBoost takes no text for a class
    means = results[(results.rate == 0) & (results.method != "trinary")].groupby("method").loss.mean()
    assert (means < (np.var(made().y) if task == "regression" else np.log(2))).all()


def test_class_that_a_method_has_never_seen_costs_much_but_not_everything() -> None:
    data = made("classes", "classification")
    results = small(
        datasets=[data], methods={"constant": DummyClassifier(strategy="constant", constant="yes")}
    ).run(1)
    assert results.loss.between(1, 40).all()


def steps(depth: int) -> Dataset:
    """Return a data set that takes trees of some depth, and for which deeper ones learn noise."""
    rng = np.random.default_rng(depth)
    table = pd.DataFrame({"a": rng.uniform(size=400), "b": rng.normal(size=400)})
    table["y"] = np.floor(table["a"] * 2**depth) + rng.normal(scale=0.1, size=400)
    return Dataset.from_table(f"steps {depth}", table, "y")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_is_tuned_to_where_the_loss_stops_falling(depth: int) -> None:
    experiment = small(datasets=[steps(depth)], max_depth="tuned", rates=[], scenarios=[in_test()])
    experiment.run(1)
    assert experiment.depths == {f"steps {depth}": depth}


def test_depth_is_not_tuned_if_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "tune_depth", None)
    given = small(max_depth={"made": 3})
    given.run(1)
    assert given.depths == {"made": 3}


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


def test_nothing_is_kept_in_memory_once_a_run_has_ended() -> None:
    small(scenarios=[in_test()]).run(1)
    assert not trial._models
    assert not trial._tables
    assert not any(kept.cache_info().currsize for kept in (trial._read, trial._split))


def test_methods_are_fitted_once_to_a_training_table_whatever_the_test(
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
    assert len(fits) == 2 * 4  # folds, of complete rows, and of rows with holes
    columns = ["dataset", "scenario", "rate", "method", "seed", "fold", "loss"]
    expected = pd.concat(apart)[columns].drop_duplicates().sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(together[columns].sort_values(columns, ignore_index=True), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rates": [1.5]}, "between 0 and 1"),
        ({"seeds": 0}, "seeds"),
        ({"max_depth": -1}, "depth"),
        ({"methods": {"x": "y"}}, "a method is one of"),
        ({"datasets": [made(), made(n=150)]}, "two data sets are called 'made'.*rename"),
        (
            {"scenarios": [in_both("im"), in_both("im", direction="smallest")]},
            "two scenarios are called 'im'.*name=",
        ),
        ({"seeds": [3, 3, 3]}, "three seeds are 3.*leave out"),
        (
            {"scenarios": [in_test(columns=["a", "bb"])]},
            "data set 'made': columns has 'bb'.*did you mean 'b'",
        ),
    ],
    ids=["rates", "seeds", "depth", "methods", "data sets", "scenarios", "seeds again", "columns"],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**parameters).run(1)


def test_run_that_is_interrupted_says_nothing_of_its_workers() -> None:
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from test_experiment import Store, made, small
        def interrupted(*_):  # Ctrl-C between two cells
            raise KeyboardInterrupt
        Store.put = interrupted
        try:
            small(datasets=[made(), made("other")], seeds=3).run(2)
        except KeyboardInterrupt:
            pass
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("parameters", "meant"),
    [
        ({"scenarios": ["im", "mcar_test"]}, {"scenarios": [in_both("im"), in_test("mcar")]}),
        ({"scenarios": "mnar"}, {"scenarios": [in_both("mnar")]}),
        ({"scenarios": in_test()}, {"scenarios": [in_test()]}),
        ({"folds": 5}, {"folds": Folds(5)}),
        ({"folds": np.int64(5)}, {"folds": Folds(5)}),
        ({"rates": 0.2}, {"rates": [0.0, 0.2]}),
        ({"rates": np.float32(0.5)}, {"rates": [0.0, 0.5]}),
        ({"rates": []}, {"rates": [0.0]}),
        (
            {"methods": ["trinary", "complete_case"]},
            {"methods": {"trinary": "trinary", "complete_case": "complete_case"}},
        ),
        ({"methods": "mia"}, {"methods": {"mia": "mia"}}),
        ({"seeds": np.int64(2)}, {"seeds": [0, 1]}),
    ],
    ids=lambda given: repr(given)[:40],
)
def test_arguments_may_be_given_in_short(parameters: dict[str, Any], meant: dict[str, Any]) -> None:
    experiment = small(**parameters)
    assert {name: getattr(experiment, name) for name in meant} == meant


def test_one_data_set_may_be_given_alone() -> None:
    dataset = made()
    assert small(datasets=dataset).datasets == [dataset]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scenarios": ["mcr"]}, "scenarios must hold results of in_both, .* 'mcar', 'im', .*got 'mcr'"),
        ({"scenarios": [0.3]}, "scenarios must hold .*got 0.3"),
        ({"scenarios": []}, "scenarios is empty"),
        ({"datasets": []}, "datasets is empty"),
        (
            {"datasets": [made().X]},
            r"got a DataFrame; make one with Dataset.from_table\(name, table, target\)",
        ),
        ({"datasets": made().X}, "got a DataFrame"),
        ({"datasets": "seeds"}, "got a str"),
        ({"methods": {}}, "methods is empty"),
        ({"methods": ["trinary", "my"]}, "method 'my' is 'my'; a method is one of"),
        (
            {"methods": [DummyRegressor()]},
            r"estimators in methods need names, .*\{'mine': DummyRegressor\(\)\}",
        ),
        ({"methods": 3}, "estimators in methods need names"),
        ({"rates": 30}, "got 30; 30 percent is 0.3"),
        ({"rates": "0.3"}, "rates must be between 0 and 1, got '0.3'"),
        ({"rates": [float("nan")]}, "rates must be between"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": "3"}, "a seed must be a whole number of at least 0, got '3'"),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"folds": "5"}, "folds must be a whole number"),
    ],
    ids=lambda given: repr(given)[:40],
)
def test_invalid_argument_is_named_with_a_remedy(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        small(**parameters)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(terminal: bool) -> None:
    pytest.importorskip("rich")
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from test_experiment import small
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
    twice = np.repeat(rows, times)
    losses = [
        trial.mean_loss(
            fit_estimator(estimator, incomplete.iloc[of], data.y[of], task, one.weights_of(of)),
            incomplete.iloc[asked],
            data.y[asked],
            task,
            one.weights_of(asked),
        )
        for one, of, asked in (
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


def test_method_that_takes_no_weights_is_named() -> None:
    data = replace(made(), sample_weight=np.ones(200))
    methods = {"mia": "mia", "chain": make_pipeline(SimpleImputer(), DummyRegressor())}
    with pytest.warns(UserWarning, match="chain on made.*sample_weight"):
        found = small(datasets=data, methods=methods).run(1)
    assert set(found["method"]) == {"mia"}
