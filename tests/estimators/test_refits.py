"""A method works on one whole fit, whatever other threads fit, detach or grow meanwhile."""

from __future__ import annotations

import inspect
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tritree
from tritree.encoder import TableEncoder

ESTIMATORS = {
    "tree": (tritree.TrinaryTreeRegressor, tritree.TrinaryTreeClassifier),
    "forest": (tritree.TrinaryForestRegressor, tritree.TrinaryForestClassifier),
    "boosting": (tritree.TrinaryBoostingRegressor, tritree.TrinaryBoostingClassifier),
}
SIZES = {"tree": {}, "forest": {"n_estimators": 3}, "boosting": {"max_iter": 3}}


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a table whose columns, categories and classes, and their order, depend on the seed."""
    rng = np.random.default_rng(seed)
    categories = np.array(["a", "b", "c"]) if seed else np.array(["c", "d", "e", "f"])
    X = pd.DataFrame({"x": rng.normal(size=300), "kind": rng.choice(categories, 300)})
    y = X["x"] + (X["kind"] == "c") * (-1 if seed else 1)
    labels = np.where(y > 0.3, "high", "low") if seed else np.digitize(y, [-0.5, 0.5]).astype(str)
    return (X if seed else X[["kind", "x"]]), y.to_numpy(), labels


def fitted(family: str, task: int, seed: int = 0) -> Any:
    X, *targets = table(seed)
    return ESTIMATORS[family][task](**SIZES[family], random_state=0).fit(X, targets[task])


ROWS = pd.DataFrame({"x": [0.2, np.nan, -1.0], "kind": ["c", "a", None]})


def as_arrays(results: Any) -> list[np.ndarray]:
    return [np.asarray(result) for result in results]


METHODS: dict[str, Callable[[Any], list[np.ndarray]]] = {
    "predict": lambda model: as_arrays([model.predict(ROWS)]),
    "apply": lambda model: as_arrays([model.apply(ROWS)]),
    "missing_reliance": lambda model: as_arrays([model.missing_reliance(ROWS)]),
    "explain": lambda model: as_arrays(map(str, model.explain(ROWS))),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", [0, 1])
@pytest.mark.parametrize("family", ESTIMATORS)
def test_refit_in_the_middle_of_a_method_does_not_change_its_result(
    family: str, task: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = METHODS[method](fitted(family, task))
    model, other = fitted(family, task), table(1)
    match = TableEncoder.match

    def refit_then_match(self: TableEncoder, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(TableEncoder, "match", match)
        model.fit(other[0], other[1 + task])
        return match(self, *args, **options)

    monkeypatch.setattr(TableEncoder, "match", refit_then_match)
    found = METHODS[method](model)
    assert model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["x", "kind"], "the model was not fitted again"
    assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("family", ESTIMATORS)
def test_refit_in_the_middle_of_save_does_not_change_the_file(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = fitted(family, 1), table(1)
    model.save(tmp_path / "expected")
    get_state = tritree.serialization.get_state

    def get_state_then_refit(*args: Any) -> Any:
        state = get_state(*args)
        model.fit(other[0], other[2])
        return state

    monkeypatch.setattr(tritree.serialization, "get_state", get_state_then_refit)
    model.save(tmp_path / "found")
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("family", ESTIMATORS)
def test_parameters_changed_during_a_fit_do_not_matter(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fitted(family, 0)
    X, y, _ = table(0)
    model = ESTIMATORS[family][0](**SIZES[family], random_state=0)
    fit_encoder = TableEncoder.fit.__func__

    def change_then_fit(cls: Any, *args: Any) -> Any:
        model.set_params(missing="mia", max_depth=1)
        return fit_encoder(cls, *args)

    monkeypatch.setattr(TableEncoder, "fit", classmethod(change_then_fit))
    model.fit(X, y)
    assert np.array_equal(model.predict(ROWS), expected.predict(ROWS))
    assert model._fit_params["missing"] == expected.missing


def test_trees_of_an_ensemble_are_those_of_the_fit_that_they_were_taken_from() -> None:
    for family in ("forest", "boosting"):
        model = fitted(family, 0)
        expected = [tree.to_text() for tree in np.ravel(model.estimators_)]
        trees = model.estimators_
        model.set_params(**dict.fromkeys(SIZES[family], 1)).fit(*table(1)[:2])
        assert [tree.to_text() for tree in np.ravel(trees)] == expected


def test_warm_start_does_not_change_the_trees_that_others_predict_with() -> None:
    X, y, _ = table(0)
    model = tritree.TrinaryBoostingRegressor(max_iter=3, warm_start=True, random_state=0).fit(X, y)
    stages = model.staged_predict(X)
    model.set_params(max_iter=6).fit(X, y)
    assert len(list(stages)) == 3
    assert len(list(model.staged_predict(X))) == 6


@pytest.mark.threads
@pytest.mark.parametrize("task", [0, 1])
@pytest.mark.parametrize("family", ESTIMATORS)
def test_predictions_while_another_thread_refits_are_those_of_one_fit(family: str, task: int) -> None:
    tables = [table(0), table(1)]
    expected = [fitted(family, task, seed).predict(ROWS).tolist() for seed in (0, 1)]
    model, stop = fitted(family, task), threading.Event()

    def refit() -> None:
        for number in range(1, 41):
            X, *targets = tables[number % 2]
            model.fit(X, targets[task])
        stop.set()

    with ThreadPoolExecutor(1) as pool:
        fits, found = pool.submit(refit), []
        while not stop.is_set() or not found:
            found.append(model.predict(ROWS).tolist())
        fits.result()
    assert all(prediction in expected for prediction in found)


@pytest.mark.threads
@pytest.mark.parametrize("family", ESTIMATORS)
def test_files_and_pickles_made_while_another_thread_detaches_are_whole(family: str, tmp_path: Path) -> None:
    path, expected = tmp_path / "model", fitted(family, 0)
    complete = expected.save(path) or path.read_bytes()
    expected.detach().save(path)
    detached = path.read_bytes()
    for number in range(20):
        model = fitted(family, 0)
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(model.detach)
            if number % 2:
                pickle.loads(pickle.dumps(model)).save(path)
            else:
                model.save(path)
            work.result()
        assert path.read_bytes() in (complete, detached)


def test_public_methods_run_on_a_snapshot_or_read_the_fitted_state_once() -> None:
    reads_once = {
        "apply",
        "decision_function",
        "detach",
        "fit",
        "grow_all",
        "grow_for",
        "predict",
        "predict_proba",
    }
    delegate = {"get_depth", "get_n_leaves", "plot", "predict_log_proba", "to_dot", "to_html"}
    for estimator in (kind for pair in ESTIMATORS.values() for kind in pair):
        functions = inspect.getmembers(estimator, inspect.isfunction)
        own = {name for name, f in functions if f.__module__.startswith("tritree") and name[0] != "_"}
        snapshots = {name for name in own if hasattr(getattr(estimator, name), "__wrapped__")}
        assert own - snapshots <= reads_once | delegate
