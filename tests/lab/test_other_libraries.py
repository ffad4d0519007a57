"""Other libraries are compared with their defaults, on the columns that tritree learns from."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lab.small_experiment import made, numbers, small
from mixed_tables import mixed, target
from sklearn import metrics

from tritree.lab.dataset import Dataset
from tritree.lab.encoding import Encoder, in_format
from tritree.lab.methods import Methods
from tritree.lab.other_libraries import LIBRARIES
from tritree.lab.scenarios import in_test
from tritree.lab.trial import Folds

TASKS = ("regression", "two classes", "many classes")


def make(name: str, task: str) -> Any:
    if name != "hist":
        pytest.importorskip(LIBRARIES[name].module, reason=f"{name} is not installed")
    kind = "regression" if task == "regression" else "classification"
    estimator = LIBRARIES[name].make(kind)
    if name == "catboost":
        estimator.estimator.set_params(iterations=20)  # 1,000 by default
    return estimator


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_tables_of_all_types_are_learned_from_and_predicted(name: str, task: str) -> None:
    train, test = mixed(missing=0.2), mixed(30, seed=1, missing=0.4)
    train["when"] = pd.date_range("2021-03-01", periods=len(train))
    test["when"] = pd.date_range("2021-04-01", periods=len(test))
    test["text"] = test["text"].where(test.index > 0, "never seen")
    y = target(train, task)
    weights = 1.0 + np.arange(len(y)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(name, task).fit(train, y, weights)
        found = model.predict(test) if task == "regression" else model.predict_proba(test)
    assert np.isfinite(found).all()
    if task != "regression":
        assert found.shape == (30, len(set(y)))
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
        assert list(model.classes_) == sorted(set(y))


@pytest.mark.parametrize("name", LIBRARIES)
def test_single_class_is_predicted_for_every_row(name: str) -> None:
    train = mixed(missing=0.2)
    model = make(name, "two classes").fit(train, ["only"] * len(train))
    assert model.predict_proba(train).tolist() == [[1.0]] * len(train)
    assert set(model.predict(train)) == {"only"}


def test_fold_of_xgboost_is_that_of_the_library_itself() -> None:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    data = made(task="classification")
    results = small(
        datasets=data, methods=["xgboost"], scenarios=[in_test()], seeds=[3], folds=Folds(4, 2)
    ).run(1)
    train, test = Folds(4, 2).split(data)[1]
    _, with_missing = in_test().tables(data, 0.3, 3)
    y = data.y == "yes"
    model = xgboost.XGBClassifier(enable_categorical=True, random_state=0, n_jobs=1, verbosity=0)
    model.fit(data.X.iloc[train], y[train])
    for rate, table in ((0.0, data.X), (0.3, with_missing)):
        expected = model.predict_proba(table.iloc[test])[:, 1].astype(float)
        [line] = results[(results["rate"] == rate) & (results["fold"] == 1)].to_dict("records")
        assert line["log_loss"] == pytest.approx(metrics.log_loss(y[test], expected), rel=1e-6)
        assert line["roc_auc"] == pytest.approx(metrics.roc_auc_score(y[test], expected))
        assert line["accuracy"] == pytest.approx(metrics.accuracy_score(y[test], expected > 0.5))
        assert line["brier_score"] == pytest.approx(metrics.brier_score_loss(y[test], expected))
        assert line["loss"] == line["log_loss"]


def test_fold_of_hist_is_that_of_scikit_learn_itself() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    data = made()
    results = small(datasets=data, methods=["hist"], rates=[]).run(1)
    train, test = Folds(4).split(data)[2]
    model = HistGradientBoostingRegressor(random_state=0).fit(data.X.iloc[train], data.y[train])
    predicted = model.predict(data.X.iloc[test])
    line = results[results["fold"] == 2].iloc[0]
    assert line["rmse"] == pytest.approx(metrics.root_mean_squared_error(data.y[test], predicted))
    assert line["mae"] == pytest.approx(metrics.mean_absolute_error(data.y[test], predicted))
    assert line["r2"] == pytest.approx(metrics.r2_score(data.y[test], predicted))
    assert line["loss"] == pytest.approx(line["rmse"] ** 2)


def test_catboost_gets_missing_categories_as_their_own() -> None:
    pytest.importorskip("catboost", reason="catboost is not installed")
    X = pd.DataFrame({"c": ["a", None] * 60})
    y = np.where(X["c"].isna(), 1.0, 0.0)
    model = make("catboost", "regression").fit(X, y)
    low, high = model.predict(X.iloc[:2])
    assert high - low > 0.1


def test_identifiers_and_empty_columns_are_left_out_and_dates_are_numbers() -> None:
    X = pd.DataFrame(
        {
            "name": [f"row {i}" for i in range(40)],
            "empty": np.nan,
            "when": pd.date_range("2020-01-01", periods=40),
            "flag": [True, False] * 20,
            "kind": list("ab") * 20,
        }
    )
    with pytest.warns(UserWarning, match="identifier"):
        encoder = Encoder(X)
    table = encoder.transform(X)
    assert table.categories == (0, 0, 2)
    np.testing.assert_array_equal(np.diff(table.values[:, 0]), np.full(39, 86_400e6))
    np.testing.assert_array_equal(table.values[:2, 1:], [[1, 0], [0, 1]])
    assert in_format(table, "frame", max_categories=1).dtypes.astype(str).tolist() == ["float64"] * 3


def test_column_with_too_many_categories_for_a_library_is_numeric() -> None:
    X = pd.DataFrame({"code": pd.Categorical([f"k{i % 300}" for i in range(900)])})
    y = np.arange(900) % 300 / 300
    assert np.isfinite(make("hist", "regression").fit(X, y).predict(X)).all()


def test_library_that_is_absent_is_reported_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"lightgbm cannot be imported .*; pip install lightgbm"):
        small(methods=["mia", "lightgbm"])


def test_libraries_are_imported_only_when_they_are_used() -> None:
    import subprocess

    script = (
        "import sys, tritree.lab, tritree.cli.compare; from tritree.lab.methods import Methods; "
        "Methods({'mia': 'mia', 'hist': 'hist'}); "
        "sys.exit(any(name in sys.modules for name in ('lightgbm', 'xgboost', 'catboost')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_results_of_a_library_depend_neither_on_processes_nor_on_the_run() -> None:
    first, again = (small(methods=["hist", "constant"]).run(n_jobs) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(numbers(first), numbers(again))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_constant_predicts_the_weighted_mean_or_class_fractions(task: str) -> None:
    data = made(task=task)
    weights = np.arange(data.n_rows, dtype=float)
    model = Methods({"constant": "constant"}).make("constant", task, None).fit(data.X, data.y, weights)
    if task == "regression":
        assert model.predict(data.X)[0] == pytest.approx(np.average(data.y, weights=weights))
    else:
        fractions = [np.average(data.y == label, weights=weights) for label in model.classes_]
        assert model.predict_proba(data.X)[0] == pytest.approx(fractions)


def test_data_set_drops_identifiers_and_reads_dates() -> None:
    table = pd.DataFrame(
        {
            "id": [f"{i}x" for i in range(60)],
            "day": pd.date_range("2020-01-01", periods=60).strftime("%d.%m.%Y"),
            "y": np.arange(60.0),
        }
    )
    with pytest.warns(UserWarning, match="different values|read as dates") as caught:
        data = Dataset.from_table("days", table, "y")
    assert [type(one.message).__name__ for one in caught] == ["IdentifierWarning", "DateTextWarning"]
    assert list(data.X) == ["day"]
    assert (np.diff(data.X["day"]) == 86_400e6).all()
