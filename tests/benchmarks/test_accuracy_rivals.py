"""Every rival takes every table: categories, text, empty columns, holes it has never seen, two classes and many."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
from rival_tables import mixed, response
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.coding import MISSING, Coder, as_kind
from benchmarks.accuracy.rivals import CONSTANT, LIBRARIES, OURS, Rival, Size, installed, methods, named
from benchmarks.accuracy.ways import COPIES, WAYS, prepare

SMALL = Size(depth=3, trees=8, leaf=5)
TASKS = ("regression", "two classes", "many classes")


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of several libraries would wait for each other, as they do not in a run."""
    with threadpool_limits(1):
        yield


def made(task: str, library: str, way: str):
    pytest.importorskip(LIBRARIES[library].module)
    kind = "regression" if task == "regression" else "classification"
    return methods(kind, [library], [way], SMALL)[named(library, way)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rival_predicts_rows_with_holes_and_categories_it_has_never_seen(library, way, task) -> None:
    train, test = mixed(holes=0.0 if way == "" else 0.2), mixed(30, seed=1, holes=0.4)
    test["category"] = test["category"].cat.add_categories(["new"])
    test.loc[0, "category"] = "new"
    y = response(train, task)
    rival = made(task, library, way)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rival.fit(train, y)
        if task == "regression":
            found = rival.predict(test)
            assert found.shape == (30,)
        else:
            found = rival.predict_proba(test)
            assert found.shape == (30, len(set(y)))
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
            assert list(rival.classes_) == sorted(set(y))
            assert set(rival.predict(test)) <= set(y)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rival_learns_from_categories(library) -> None:
    # LightGBM wants a hundred rows of a category
    train = pd.DataFrame({"c": pd.Categorical(["a", "b", "c", "d"] * 120)})
    y = np.where(train["c"].isin(["a", "c"]), 5.0, 0.0)
    size = Size(depth=3, trees=100, learning_rate=0.3, leaf=5)
    pytest.importorskip(LIBRARIES[library].module)
    rival = methods("regression", [library], [""], size)[library]
    error = np.abs(rival.fit(train, y).predict(train.iloc[:4]) - y[:4])
    assert error.max() < 1.0


@pytest.mark.parametrize("task", TASKS)
def test_tritree_takes_the_same_tables(task) -> None:
    train, test = mixed(holes=0.2), mixed(30, seed=1, holes=0.4)
    y = response(train, task)
    kind = "regression" if task == "regression" else "classification"
    for name, method in methods(kind, [], [], SMALL).items():
        if name.startswith(OURS):
            method.fit(train, y)
            found = method.predict(test) if task == "regression" else method.predict_proba(test)
            assert np.isfinite(found).all()
    assert set(methods(kind, [], [], SMALL)) == {CONSTANT, OURS, f"{OURS} (majority)", f"{OURS} (mia)"}


def test_every_rival_is_told_the_same_size() -> None:
    said = {
        "LightGBM": ("n_estimators", "learning_rate", "max_depth", "min_child_samples"),
        "XGBoost": ("n_estimators", "learning_rate", "max_depth", "min_child_weight"),
        "CatBoost": ("iterations", "learning_rate", "depth", None),
        "HistGB": ("max_iter", "learning_rate", "max_depth", "min_samples_leaf"),
        "YDF": ("num_trees", "shrinkage", "max_depth", "min_examples"),
        "Forest": ("n_estimators", None, "max_depth", "min_samples_leaf"),
    }
    size = Size(depth=3, trees=77, learning_rate=0.21, leaf=9)
    wanted = (size.trees, size.learning_rate, size.depth, size.leaf)
    for library in installed(said)[0]:
        parameters = methods("regression", [library], [""], size)[library].estimator.get_params()
        for name, value in zip(said[library], wanted, strict=True):
            assert name is None or parameters[name] == value, (library, name)


def codes_of(table: pd.DataFrame):
    return Coder(table)(table)


def test_codes_keep_numbers_and_give_unseen_categories_as_missing() -> None:
    coder = Coder(pd.DataFrame({"n": [1.5, 2.0], "c": pd.Categorical(["b", "a"])}))
    codes = coder(pd.DataFrame({"n": [7.0, np.nan], "c": pd.Categorical(["a", "z"])}))
    np.testing.assert_array_equal(codes.values, [[7.0, 0.0], [np.nan, np.nan]])
    assert codes.categories == (0, 2)


def test_a_missing_category_is_a_name_of_its_own_where_a_library_refuses_holes() -> None:
    codes = codes_of(pd.DataFrame({"c": pd.Categorical(["a", None])}))
    assert as_kind(codes, "text")["c0"].tolist() == ["k0", MISSING]
    assert as_kind(codes, "columns")["c0"].tolist() == ["k0", ""]
    assert as_kind(codes, "frame")["c0"].isna().tolist() == [False, True]


def test_mean_and_indicator_fill_and_tell_where_training_had_holes() -> None:
    table = pd.DataFrame(
        {"n": [1.0, 3.0, np.nan], "c": pd.Categorical(["a", "b", "b"]), "whole": [1.0, 2.0, 3.0]}
    )
    codes, _, then = prepare("mean", codes_of(table), 0)
    np.testing.assert_array_equal(codes.values[:, 0], [1, 3, 2])
    np.testing.assert_array_equal(codes.values[:, 3], [0, 0, 1])
    assert codes.values.shape == (3, 4)  # one indicator: the other columns had no hole
    filled = then(codes_of(table).with_values(np.full((1, 3), np.nan)))
    np.testing.assert_array_equal(
        filled.values, [[2, 1, 2, 1]]
    )  # the mean, the most frequent, the mean, missing


def test_iterative_imputation_knows_what_other_columns_say_and_gives_categories_that_there_are() -> None:
    chance = np.random.default_rng(0)
    x = chance.normal(size=200)
    table = pd.DataFrame({"x": x, "twice": 2 * x, "c": pd.Categorical(np.where(x > 0, "p", "n"))})
    codes, _, then = prepare("iterative", codes_of(table), 0)
    filled = then(codes.with_values(np.array([[1.5, np.nan, np.nan], [np.nan, -2.0, np.nan]])))
    np.testing.assert_allclose(filled.values[:, :2], [[1.5, 3.0], [-1.0, -2.0]], atol=0.05)
    assert set(filled.values[:, 2]) <= {0.0, 1.0}


def test_injection_loses_about_one_percent_and_some_of_every_column() -> None:
    codes, _, _ = prepare("1 % holes", codes_of(pd.DataFrame(np.ones((5_000, 4)))), 0)
    lost = np.isnan(codes.values)
    assert 0.005 < lost.mean() < 0.015
    small, _, _ = prepare("1 % holes", codes_of(pd.DataFrame(np.ones((6, 4)))), 0)
    assert np.isnan(small.values).any(axis=0).all()


def test_masked_copies_are_one_whole_table_and_four_with_a_rate_per_row() -> None:
    table = pd.DataFrame(np.ones((400, 50)))
    codes, rows, _ = prepare("copies", codes_of(table), 0)
    share = np.isnan(codes.values).mean(axis=1)
    assert np.bincount(rows).tolist() == [COPIES] * 400
    assert not share[:400].any()
    masked = share[400:]
    assert masked.min() < 0.1
    assert masked.max() > 0.9
    assert 0.45 < masked.mean() < 0.55
    assert masked.std() > 0.2  # one rate for all rows would give 0.07


def test_libraries_get_the_same_masks() -> None:
    codes = codes_of(mixed(holes=0.2))
    first, again = (prepare("copies", codes, 0)[0].values for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_library_that_is_not_installed_is_left_out_and_named(monkeypatch) -> None:
    real = importlib.import_module

    def without_ydf(name: str):
        if name == "ydf":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without_ydf)
    found, absent = installed(["YDF", "HistGB"])
    assert found == ["HistGB"]
    assert absent == ["YDF is not installed, and left out."]


def test_results_of_another_way_or_edition_are_not_taken_up() -> None:
    from tritree.lab.methods import spelled

    estimator = methods("regression", ["HistGB"], [""], SMALL)["HistGB"].estimator
    said = {spelled(Rival(estimator, way, edition=edition)) for way in WAYS for edition in (1, 2)}
    assert len(said) == 2 * len(WAYS)


def test_some_libraries_are_held_back_as_much_as_tritree() -> None:
    found = methods("regression", ["HistGB"], WAYS, Size())
    ours = found[OURS].get_params()
    held_back = found["HistGB + copies, held back"].estimator.get_params()
    for name in ("l2_regularization", "max_features"):
        assert held_back[name] == ours[name if name in ours else f"estimator__{name}"]
