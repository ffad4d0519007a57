"""An experiment runs each of its cells once, keeps what it has finished, and repeats itself to the last bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from tritree import TrinaryTreeRegressor
from tritree.lab.data import Dataset
from tritree.lab.experiment import Experiment
from tritree.lab.settings import in_both, in_test, shifted
from tritree.lab.store import Store
from tritree.lab.trial import Folds

COLUMNS = [
    "dataset",
    "setting",
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
    return Dataset.of(name, table, "y")


def small(**parameters: Any) -> Experiment:
    defaults: dict[str, Any] = {
        "datasets": [made()],
        "rates": [0.3],
        "methods": {"trinary": "trinary", "majority": "majority"},
        "depth": 2,
        "folds": Folds(4),
    }
    return Experiment(**(defaults | parameters))


def numbers(results: pd.DataFrame) -> pd.DataFrame:
    return results.drop(columns=["fit_seconds", "predict_seconds"])


def test_results_have_a_row_for_every_combination() -> None:
    experiment = small(datasets=[made(), made("other", "classification")], seeds=2, methods={"mia": "mia"})
    results = experiment.run(1)
    assert list(results) == COLUMNS
    assert len(results) == 2 * 2 * 2 * 1 * 2 * 4  # data sets, settings, rates with 0, methods, seeds, folds
    assert not results.duplicated(COLUMNS[:6]).any()
    assert (results.groupby(["dataset", "setting", "rate", "method", "seed"])["rows"].sum() == 200).all()
    assert results.attrs["about"]["depths"] == {"made": 2, "other": 2}


def test_loss_is_that_of_trees_fitted_by_hand() -> None:
    data, setting = made(), in_both("mcar")
    results = small(settings=[setting], seeds=[7], options={"min_samples_leaf": 5}).run(1)
    X, _ = setting.tables(data, 0.3, 7)
    assert X.isna().mean().to_numpy() == pytest.approx(0.3)
    for fold, (train, test) in enumerate(Folds(4).split(data)):
        tree = TrinaryTreeRegressor(missing="trinary", max_depth=2, min_samples_leaf=5)
        error = tree.fit(X.iloc[train], data.y[train]).predict(X.iloc[test]) - data.y[test]
        row = results[(results.method == "trinary") & (results.rate == 0.3) & (results.fold == fold)]
        assert row.loss.item() == pytest.approx(np.square(error).mean(), rel=1e-12)


def test_holes_in_test_only_leave_training_complete() -> None:
    data = made()
    for_training, for_test = in_test("mcar").tables(data, 0.5, 0)
    assert not for_training.isna().any().any()
    assert for_test.isna().mean().to_numpy() == pytest.approx(0.5)
    before, after = shifted("mcar", "mnar").tables(data, 0.5, 0)
    assert not before.isna().equals(after.isna())


def test_one_worker_and_two_say_the_same() -> None:
    pd.testing.assert_frame_equal(numbers(small().run(1)), numbers(small().run(2)))


def test_joblibs_backend_is_the_users_choice() -> None:
    with joblib.parallel_backend("threading"):
        results = small().run(2)
    pd.testing.assert_frame_equal(numbers(results), numbers(small().run(1)))


def test_what_is_in_the_store_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    first = small(store=path).run(1)
    more = small(store=path, rates=[0.3, 0.6]).run(1)
    again = more[more.rate.isin([0.0, 0.3])].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)  # the seconds, too
    with Store(path) as store:
        # without holes settings do not matter: 2 cells; then 2 settings, 2 rates, 2 methods
        assert len(store.keys()) == 2 + 2 * 2 * 2


def test_other_data_or_parameters_are_other_cells(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    small(store=path).run(1)
    with Store(path) as store:
        n_before = len(store.keys())
    small(store=path, depth=1).run(1)
    small(store=path, datasets=[made(n=180)]).run(1)
    small(store=path, options={"min_samples_leaf": 3}).run(1)
    with Store(path) as store:
        assert len(store.keys()) == 4 * n_before


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
        finished = store.keys()
    assert len(finished) > 5
    results = small(store=path, rates=[0.01, 0.02]).run(1)
    with Store(path) as store:
        assert finished < store.keys() or finished <= store.keys()
    pd.testing.assert_frame_equal(numbers(results), numbers(small(rates=[0.01, 0.02]).run(1)))


def test_any_estimator_is_just_another_row() -> None:
    methods = {
        "trinary": "trinary",
        "discard": "discard",
        "boosting": HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype"),
        "mean": DummyRegressor(),
    }
    results = small(methods=methods, settings=[in_both("mcar")]).run(1)
    assert set(results.method) == set(methods)
    assert np.isfinite(results.loss).all()


def test_method_that_fails_is_named_and_keeps_no_other_from_running() -> None:
    methods = {"linear": make_pipeline(SimpleImputer(), LinearRegression()), "trinary": "trinary"}
    with pytest.warns(UserWarning, match=r"cells could not be run and are left out: linear on made"):
        results = small(methods=methods).run(1)  # text is not for linear regression
    assert set(results.method) == {"trinary"}


def test_class_that_a_method_has_never_seen_costs_much_but_not_everything() -> None:
    data = made("classes", "classification")
    results = small(
        datasets=[data], methods={"constant": DummyClassifier(strategy="constant", constant="yes")}
    ).run(1)
    assert results.loss.between(1, 40).all()


def test_depth_is_tuned_unless_it_is_given() -> None:
    tuned = small(depth="tuned")
    tuned.run(1)
    assert tuned.depths["made"] in range(6)
    given = small(depth={"made": 3})
    given.run(1)
    assert given.depths == {"made": 3}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rates": [1.5]}, "between 0 and 1"),
        ({"seeds": 0}, "seeds"),
        ({"depth": -1}, "depth"),
        ({"methods": {"x": "y"}}, "a method is one of"),
    ],
    ids=["rates", "seeds", "depth", "methods"],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**parameters).run(1)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(terminal: bool) -> None:
    pytest.importorskip("rich")
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from test_experiment import small
        small().run(1)
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
    assert (b"cells" in seen) == terminal
