"""The reader of scikit-learn: trees that predict as the library does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from graft.random_models import as_numbers, check, error_in_ulps
from graft.reference import raw_predictions
from scipy.special import expit, softmax
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tritree.errors import GraftError
from tritree.graft import sklearn as reader


def random_rows(seed: int = 0, n_rows: int = 100, n_columns: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def with_missing(X: np.ndarray, column: int = 0) -> np.ndarray:
    X = X.copy()
    X[::3, column] = np.nan
    return X


def sums(model: Any, X: Any) -> np.ndarray:
    """Return the raw predictions of the trees that were read."""
    source = reader.read(model)
    return raw_predictions(source, as_numbers(source, X))


def learned(model: Any, column: int) -> set[int]:
    """Return what is known of the directions of all splits of a column."""
    return {
        int(value)
        for tree in reader.read(model).trees
        for value in tree.missing_learned[tree.column == column]
    }


@pytest.mark.parametrize("seed", range(40))
def test_random_models_predict_as_the_library_does(seed: int) -> None:
    check("sklearn", seed)


# ---- raw scores


@pytest.mark.parametrize(
    ("loss", "link"),
    [
        *((loss, "identity") for loss in ("squared_error", "absolute_error")),
        ("gamma", "log"),
        ("poisson", "log"),
    ],
)
def test_link_of_the_sums_gives_the_predictions(loss: str, link: str) -> None:
    X = random_rows()
    model = HistGradientBoostingRegressor(loss=loss, max_iter=3).fit(X, np.exp(X[:, 0]))
    assert reader.read(model).link == link
    raw = sums(model, X)[:, 0]
    np.testing.assert_allclose(np.exp(raw) if link == "log" else raw, model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, GradientBoostingClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_has_its_labels_and_probabilities(kind: Any, n_classes: int) -> None:
    X = random_rows()
    y = np.array(["no", "yes", "maybe"])[np.digitize(X[:, 0], [0, 0.5][: n_classes - 1])]
    size = {"max_iter": 2} if kind is HistGradientBoostingClassifier else {"n_estimators": 2}
    model = kind(**size).fit(X, y)
    source = reader.read(model)
    assert source.classes is not None
    assert source.classes.tolist() == sorted(set(y))
    assert source.link == ("logit" if n_classes == 2 else "softmax")
    raw = sums(model, X)
    found = softmax(raw, axis=1) if n_classes > 2 else np.column_stack([expit(-raw), expit(raw)])
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)


def test_exponential_loss_has_half_the_log_odds() -> None:
    X = random_rows()
    model = GradientBoostingClassifier(loss="exponential", n_estimators=2).fit(X, X[:, 0] > 0.3)
    np.testing.assert_allclose(expit(sums(model, X)[:, 0]), model.predict_proba(X)[:, 1], rtol=1e-12)


@pytest.mark.parametrize("init", ["zero", None, DummyClassifier(strategy="prior")])
def test_constant_before_the_first_tree_is_the_baseline(init: Any) -> None:
    X = random_rows()
    model = GradientBoostingClassifier(init=init, n_estimators=1).fit(X, X[:, 0] > 0.3)
    assert (reader.read(model).baseline[0] == 0) == (init == "zero")
    assert error_in_ulps(reader.read(model), X).max() <= 1


@pytest.mark.parametrize("init", [LinearRegression()])
def test_other_models_before_the_first_tree_are_refused(init: Any) -> None:
    X = random_rows()
    model = GradientBoostingRegressor(init=init, n_estimators=1).fit(X, X[:, 0])
    with pytest.raises(
        GraftError, match=r"its init, LinearRegression\(\), is no constant; fit it with init=None"
    ):
        reader.read(model)


def test_forest_is_the_mean_of_its_trees_with_the_probability_of_each_class() -> None:
    X = random_rows()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = RandomForestClassifier(n_estimators=3, max_depth=3).fit(X, y)
    source = reader.read(model)
    assert (source.link, len(source.trees), source.n_outputs) == ("probability", 9, 3)
    np.testing.assert_allclose(sums(model, X), model.predict_proba(X), rtol=1e-12)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y > 0)
    np.testing.assert_allclose(sums(tree, X), tree.predict_proba(X), rtol=1e-12)


# ---- comparisons


def test_trees_compare_values_as_float32() -> None:
    model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [0.2]], [0, 1])  # the threshold is 0.1000000015
    threshold = float(model.tree_.threshold[0])
    values = [[threshold], [0.1], [float(np.float32(0.1))], [0.10000000521], [0.1000000053]]
    assert sums(model, values)[:, 0].tolist() == model.predict(values).tolist() == [0, 0, 0, 0, 1]


def test_histogram_based_boosting_compares_values_as_double() -> None:
    X = np.repeat([[0.0], [0.2]], 30, axis=0)
    model = HistGradientBoostingRegressor(max_iter=1).fit(X, X[:, 0])
    threshold = float(model._predictors[0][0].nodes["num_threshold"][0])
    values = np.array([[threshold], [np.nextafter(threshold, 1)]])
    left, right = sums(model, values)[:, 0]
    assert left < right
    np.testing.assert_allclose([left, right], model.predict(values), rtol=1e-15)


def test_missing_against_observed_values_has_the_threshold_minus_infinity() -> None:
    X = np.array([[np.nan]] * 40 + [[1.0]] * 40 + [[2.0]] * 40)
    y = np.isnan(X[:, 0]).astype(float)
    for model in (
        HistGradientBoostingRegressor(max_iter=1).fit(X, y),
        DecisionTreeRegressor(max_depth=1).fit(X, y),
    ):
        (tree,) = reader.read(model).trees
        assert tree.threshold[0] == -np.inf
        assert tree.missing_left[0]
        assert error_in_ulps(reader.read(model), np.array([[1.0], [np.nan]])).max() <= 1


# ---- directions of missing values


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=20),
        RandomForestRegressor(n_estimators=10, random_state=0),
        DecisionTreeRegressor(),
    ],
)
def test_direction_is_learned_where_it_is_not_that_of_the_larger_child(model: Any) -> None:
    X = random_rows(n_rows=300)
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    model.fit(X, y)
    assert learned(model, 0) == learned(model, 1) == {0}  # all are, so nothing was missing
    model.fit(with_missing(X), y)
    assert 1 in learned(model, 0)
    assert learned(model, 1) == {-1}


def test_direction_is_not_learned_where_it_is_drawn_or_missing_values_are_refused() -> None:
    X = random_rows()
    extra = ExtraTreesRegressor(n_estimators=3).fit(with_missing(X), X[:, 0])
    assert learned(extra, 0) == {0}
    boosted = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    assert learned(boosted, 0) == {0}


@pytest.mark.parametrize(("with_nan", "expected"), [(True, 1), (False, 0)])
def test_categories_tell_whether_values_were_missing(with_nan: bool, expected: int) -> None:
    codes = np.random.default_rng(0).integers(0, 5, 200).astype(float)
    y = np.sin(3 * codes)
    if with_nan:
        codes[:40] = np.nan
    model = HistGradientBoostingRegressor(categorical_features=[0], max_iter=2).fit(codes[:, None], y)
    assert learned(model, 0) == {expected}


# ---- columns


def mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 200)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=200),
            "c": pd.Categorical.from_codes(codes, ["d", "a", "c", "b"]),
            "z": rng.normal(size=200),
        }
    )
    return table, np.sin(3 * codes) + table["x"].to_numpy() - table["z"].to_numpy()


def test_columns_are_in_the_order_of_the_table_though_the_trees_see_categories_first() -> None:
    table, y = mixed_table()
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype").fit(table, y)
    source = reader.read(model)
    assert [column.name for column in source.columns] == ["x", "c", "z"]
    assert [column.categories for column in source.columns] == [None, ("a", "b", "c", "d"), None]
    assert error_in_ulps(source, table).max() <= 1


def test_unknown_categories_go_where_missing_values_go() -> None:
    table, y = mixed_table()
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=["c"]).fit(table, y)
    table["c"] = pd.Categorical(["new"] * len(table))
    source = reader.read(model)
    assert error_in_ulps(source, table).max() <= 1
    for tree in source.trees:
        np.testing.assert_array_equal(tree.unknown_left, tree.missing_left)


def test_columns_without_names_have_none() -> None:
    X = random_rows()
    assert [column.name for column in reader.read(DecisionTreeRegressor().fit(X, X[:, 0])).columns] == [
        None,
        None,
    ]


# ---- models that are refused


def test_models_that_cannot_be_grafted_are_refused_with_a_remedy() -> None:
    X = random_rows()
    y = X[:, 0]
    search = GridSearchCV(DecisionTreeRegressor(), {"max_depth": [1]}, cv=2)
    broken = DecisionTreeRegressor().fit(X, y)
    broken.tree_ = None
    broken._sklearn_version = "1.2.0"
    for message, model in (
        (
            r"graft pipeline\[-1\], with the rows",
            make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(X, y),
        ),
        ("graft its best_estimator_", search.fit(X, y)),
        (
            "AdaBoostRegressor is no model of .*; pass gradient",
            AdaBoostRegressor().fit(X, y),
        ),
        ("not fitted; call fit", RandomForestRegressor()),
        ("predicts 2 targets", DecisionTreeRegressor().fit(X, X)),
        (r"scikit-learn that fitted it \(1.2.0\)", broken),
    ):
        with pytest.raises(GraftError, match=message):
            reader.read(model)
