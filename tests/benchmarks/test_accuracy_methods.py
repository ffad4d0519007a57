"""Every method takes all tables: categories, text, empty columns, new missing values, two classes and many."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
from mixed_tables import mixed, target
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.methods import (
    CONSTANT,
    GRAFT,
    GRAFTED_FROM,
    LIBRARIES,
    TRITREE,
    TRITREE_DEFAULTS,
    TRITREE_FOREST,
    TRITREE_TREE,
    Hyperparameters,
    TreatedEstimator,
    family_of,
    installed,
    is_rival,
    method_name,
    methods,
)
from benchmarks.accuracy.treatments import N_COPIES, TREATMENTS, apply_treatment
from tritree.lab.encoding import MISSING, Encoder, in_format

SMALL = Hyperparameters(max_depth=3, n_trees=8, min_samples_leaf=5)
TASKS = ("regression", "two classes", "many classes")


@pytest.fixture(autouse=True)
def one_thread():
    """Limit all libraries to one thread, as in a run."""
    with threadpool_limits(1):
        yield


def make(task: str, library: str, treatment: str):
    if not installed([library])[0]:
        pytest.skip(f"{library} is not installed")
    kind = "regression" if task == "regression" else "classification"
    return methods(kind, [library], [treatment], SMALL)[method_name(library, treatment)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("library", "treatment"),
    [
        *((name, way) for name in LIBRARIES for way in LIBRARIES[name].treatments),
        *((library, name.removeprefix(f"{library} + ")) for name, library in GRAFTED_FROM.items()),
    ],
)
def test_a_method_predicts_rows_with_new_missing_values_and_categories(library, treatment, task) -> None:
    train, test = mixed(missing=0.0 if treatment == "" else 0.2), mixed(30, seed=1, missing=0.4)
    test["category"] = test["category"].cat.add_categories(["new"])
    test.loc[0, "category"] = "new"
    y = target(train, task)
    method = make(task, library, treatment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.fit(train, y)
        if task == "regression":
            found = method.predict(test)
            assert found.shape == (30,)
        else:
            found = method.predict_proba(test)
            assert found.shape == (30, len(set(y)))
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
            assert list(method.classes_) == sorted(set(y))
            assert set(method.predict(test)) <= set(y)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", sorted(set(GRAFTED_FROM.values())))
def test_a_grafted_library_predicts_complete_rows_as_the_library_does(library, task) -> None:
    train, test = mixed(200), mixed(30, seed=1)
    y = target(train, task)
    train, test = (table[["number", "whole", "flag"]] for table in (train, test))  # what all take as numbers
    grafted, own = (make(task, library, way).fit(train, y) for way in (GRAFT, ""))
    predict = "predict" if task == "regression" else "predict_proba"
    np.testing.assert_allclose(getattr(grafted, predict)(test), getattr(own, predict)(test), rtol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_method_learns_from_categories(library) -> None:
    # LightGBM needs a hundred rows per category
    train = pd.DataFrame({"c": pd.Categorical(["a", "b", "c", "d"] * 120)})
    y = np.where(train["c"].isin(["a", "c"]), 5.0, 0.0)
    parameters = Hyperparameters(max_depth=3, n_trees=100, learning_rate=0.3, min_samples_leaf=5)
    if not installed([library])[0]:
        pytest.skip(f"{library} is not installed")
    method = methods("regression", [library], [""], parameters)[library]
    error = np.abs(method.fit(train, y).predict(train.iloc[:4]) - y[:4])
    assert error.max() < 1.0


@pytest.mark.parametrize("task", TASKS)
def test_tritree_takes_the_same_tables(task) -> None:
    train, test = mixed(missing=0.2), mixed(30, seed=1, missing=0.4)
    y = target(train, task)
    kind = "regression" if task == "regression" else "classification"
    for name, method in methods(kind, [], [], SMALL).items():
        if name.startswith(TRITREE):
            method.fit(train, y)
            found = method.predict(test) if task == "regression" else method.predict_proba(test)
            assert np.isfinite(found).all()


def test_tritree_is_run_as_boosting_with_equal_settings_and_defaults_as_forest_and_as_tree() -> None:
    found = methods("regression", [], [], SMALL)
    strategies = {f"{TRITREE} (majority)", f"{TRITREE} (mia)"}
    assert set(found) == {CONSTANT, TRITREE, TRITREE_DEFAULTS, TRITREE_FOREST, TRITREE_TREE} | strategies
    tritree, of_defaults = found[TRITREE].estimator, found[TRITREE_DEFAULTS].estimator
    assert (tritree.max_iter, tritree.max_depth) == (SMALL.n_trees, SMALL.max_depth)
    untouched = type(of_defaults)().get_params() | {"random_state": 0, "n_jobs": 1}
    assert of_defaults.get_params() == untouched
    forest = found[TRITREE_FOREST].estimator
    assert forest.get_params() == type(forest)(n_estimators=8, random_state=0, n_jobs=1).get_params()
    assert found[TRITREE_TREE].estimator.max_depth == SMALL.max_depth


def test_methods_with_defaults_change_no_hyperparameter_of_their_library() -> None:
    given = {"random_state", "random_seed", "n_jobs", "thread_count", "verbosity", "logging_level"}
    given |= {"enable_categorical", "categorical_features", "allow_writing_files"}
    for library in installed(["LightGBM", "XGBoost", "CatBoost", "HistGB"])[0]:
        for task in ("regression", "classification"):
            found = methods(task, [library], [""], SMALL)[f"{library} (defaults)"]
            assert found.treatment == ""
            own = type(found.estimator)().get_params()
            changed = {name for name, value in found.estimator.get_params().items() if own.get(name) != value}
            assert {name for name in changed if own.get(name) == own.get(name)} <= given  # XGBoost's NaN


def test_forests_have_the_same_number_of_trees_and_their_own_defaults() -> None:
    found = methods("classification", ["Forest"], [""], SMALL)["Forest"].estimator
    assert found.get_params() == type(found)(n_estimators=8, random_state=0, n_jobs=1).get_params()


def test_every_method_is_in_one_family_and_only_other_libraries_are_rivals() -> None:
    found = methods("regression", installed(LIBRARIES)[0], TREATMENTS, SMALL)
    families = {name: family_of(name) for name in found if name != CONSTANT}
    assert {name for name in families if families[name] == "forests"} == {
        TRITREE_FOREST,
        *(method_name("Forest", treatment) for treatment in TREATMENTS),
    }
    assert families[TRITREE_DEFAULTS] == "defaults"
    assert families[TRITREE_TREE] == "trees"
    assert (
        families[TRITREE] == families["HistGB + masked copies"] == families[f"{TRITREE} (mia)"] == "boosting"
    )
    assert not any(map(is_rival, (CONSTANT, TRITREE, TRITREE_DEFAULTS, TRITREE_FOREST, f"{TRITREE} (mia)")))
    assert not any(map(is_rival, GRAFTED_FROM))
    assert all(map(is_rival, ("Forest", "HistGB", "HistGB (defaults)")))


def test_every_method_has_the_same_hyperparameters() -> None:
    parameter_names = {
        "LightGBM": ("n_estimators", "learning_rate", "max_depth", "min_child_samples"),
        "XGBoost": ("n_estimators", "learning_rate", "max_depth", "min_child_weight"),
        "CatBoost": ("iterations", "learning_rate", "depth", None),
        "HistGB": ("max_iter", "learning_rate", "max_depth", "min_samples_leaf"),
        "YDF": ("num_trees", "shrinkage", "max_depth", "min_examples"),
        "Forest": ("n_estimators", None, None, None),
    }
    shared = Hyperparameters(max_depth=3, n_trees=77, learning_rate=0.21, min_samples_leaf=9)
    expected = (
        shared.n_trees,
        shared.learning_rate,
        shared.max_depth,
        shared.min_samples_leaf,
    )
    for library in installed(parameter_names)[0]:
        parameters = methods("regression", [library], [""], shared)[library].estimator.get_params()
        for name, value in zip(parameter_names[library], expected, strict=True):
            assert name is None or parameters[name] == value, (library, name)


def encoded(table: pd.DataFrame):
    return Encoder(table).transform(table)


def test_encoding_keeps_numbers_and_makes_unknown_categories_missing() -> None:
    encoder = Encoder(pd.DataFrame({"n": [1.5, 2.0], "c": pd.Categorical(["b", "a"])}))
    table = encoder.transform(pd.DataFrame({"n": [7.0, np.nan], "c": pd.Categorical(["a", "z"])}))
    np.testing.assert_array_equal(table.values, [[7.0, 0.0], [np.nan, np.nan]])
    assert table.categories == (0, 2)


def test_missing_is_a_category_if_a_library_refuses_missing_values_in_text() -> None:
    table = encoded(pd.DataFrame({"c": pd.Categorical(["a", None])}))
    assert in_format(table, "text")["c0"].tolist() == ["k0", MISSING]
    assert in_format(table, "columns")["c0"].tolist() == ["k0", ""]
    assert in_format(table, "frame")["c0"].isna().tolist() == [False, True]


def test_mean_imputation_adds_indicators_of_columns_with_missing_training_values() -> None:
    table = pd.DataFrame(
        {"n": [1.0, 3.0, np.nan], "c": pd.Categorical(["a", "b", "b"]), "complete": [1.0, 2.0, 3.0]}
    )
    treated, _, transform = apply_treatment("mean", encoded(table), 0)
    np.testing.assert_array_equal(treated.values[:, 0], [1, 3, 2])
    np.testing.assert_array_equal(treated.values[:, 3], [0, 0, 1])
    assert treated.values.shape == (3, 4)  # one indicator: the other columns are complete
    filled = transform(encoded(table).with_values(np.full((1, 3), np.nan)))
    np.testing.assert_array_equal(
        filled.values, [[2, 1, 2, 1]]
    )  # the mean, the most frequent, the mean, missing


def test_iterative_imputation_uses_the_other_columns_and_returns_existing_categories() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pd.DataFrame({"x": x, "twice": 2 * x, "c": pd.Categorical(np.where(x > 0, "p", "n"))})
    treated, _, transform = apply_treatment("iterative", encoded(table), 0)
    filled = transform(treated.with_values(np.array([[1.5, np.nan, np.nan], [np.nan, -2.0, np.nan]])))
    np.testing.assert_allclose(filled.values[:, :2], [[1.5, 3.0], [-1.0, -2.0]], atol=0.05)
    assert set(filled.values[:, 2]) <= {0.0, 1.0}


def test_masked_copies_are_one_complete_table_and_four_with_a_rate_per_row() -> None:
    table = pd.DataFrame(np.ones((400, 50)))
    treated, rows, _ = apply_treatment("masked copies", encoded(table), 0)
    rates = np.isnan(treated.values).mean(axis=1)
    assert np.bincount(rows).tolist() == [N_COPIES] * 400
    assert not rates[:400].any()
    masked = rates[400:]
    assert masked.min() < 0.1
    assert masked.max() > 0.9
    assert 0.45 < masked.mean() < 0.55
    assert masked.std() > 0.2  # one rate for all rows would give 0.07


def test_libraries_get_the_same_masks() -> None:
    table = encoded(mixed(missing=0.2))
    first, again = (apply_treatment("masked copies", table, 0)[0].values for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_library_that_is_not_installed_is_skipped_with_a_note(monkeypatch) -> None:
    real = importlib.import_module

    def without_ydf(name: str):
        if "ydf" in name:
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without_ydf)
    found, absent = installed(["YDF", "HistGB"])
    assert found == ["HistGB"]
    assert absent == ["YDF is not installed and was skipped."]


def test_stored_results_of_another_treatment_or_revision_are_not_reused() -> None:
    from tritree.lab.identity import canonical_repr

    estimator = methods("regression", ["HistGB"], [""], SMALL)["HistGB"].estimator
    spellings = {
        canonical_repr(TreatedEstimator(estimator, treatment, revision=revision))
        for treatment in TREATMENTS
        for revision in (1, 2)
    }
    assert len(spellings) == 2 * len(TREATMENTS)


def test_regularised_alike_has_the_same_regularisation_as_tritree() -> None:
    found = methods("regression", ["HistGB"], TREATMENTS, Hyperparameters())
    tritree = found[TRITREE].get_params()
    alike = found["HistGB + masked copies, regularised alike"].estimator.get_params()
    for name in ("l2_regularization", "max_features"):
        assert alike[name] == tritree[name if name in tritree else f"estimator__{name}"]


def test_stored_results_depend_on_the_code_of_tritree_for_its_own_and_grafted_models_only(
    monkeypatch,
) -> None:
    from tritree.lab.identity import canonical_repr

    def described() -> dict[str, str]:
        found = methods("regression", ["LightGBM", "Forest"], (*TREATMENTS, GRAFT), SMALL)
        return {name: canonical_repr(method) for name, method in found.items()}

    before = described()
    monkeypatch.setattr("benchmarks.accuracy.methods.digest_of_tritree", lambda: "changed")
    after = described()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.startswith(TRITREE) or name in GRAFTED_FROM}


def test_the_cache_of_fitted_models_knows_the_size_of_those_of_tritree() -> None:
    from tritree.lab.trial import _size

    train = mixed()
    y = target(train, "regression")
    found = methods("regression", [], [], SMALL)
    for name in (TRITREE, TRITREE_FOREST, TRITREE_TREE):
        method = found[name].fit(train, y)
        assert _size(method) == _size(method.model_) > 0
    assert _size(make("regression", "LightGBM", GRAFT).fit(train, y)) > 0
