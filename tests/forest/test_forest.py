"""Forests grow the trees they should, and predict their mean."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models import with_missing
from reference.boosted_tree import splitmix64
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from tritree import (
    ColumnMatchWarning,
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
    load,
)

DIABETES: Any = load_diabetes(return_X_y=True)
CANCER: Any = load_breast_cancer(return_X_y=True)
IRIS: Any = load_iris(return_X_y=True)
STRATEGIES = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate")
#: Surrogates of forests are found in another way, see `test_forest_surrogates`.
AS_IN_TREES = STRATEGIES[:-1]
QUICK: dict[str, Any] = {"min_missing_third": 0, "n_estimators": 6, "random_state": 0}


def bag_of(forest: Any, number: int, n_rows: int) -> np.ndarray:
    """Return the rows that a tree of a forest was grown from, drawn as the forest draws them."""
    seeds = np.random.RandomState(forest.random_state).randint(1, 2**31 - 1, size=forest.n_estimators)
    return np.sort(np.random.RandomState(seeds[number]).randint(0, n_rows, size=n_rows))


# --------------------------------------------------------------------------------------------------------- the trees


@pytest.mark.parametrize("missing", AS_IN_TREES)
def test_tree_of_a_forest_is_a_tree_grown_from_the_rows_drawn(missing: str) -> None:
    X, y = with_missing(DIABETES[0], 0.15, seed=0), DIABETES[1]
    Z = with_missing(DIABETES[0], 0.4, 1)
    settings: dict[str, Any] = {"missing": missing, "max_depth": 4, "min_samples_leaf": 8, "max_bins": None}
    forest = TrinaryForestRegressor(max_features=1.0, **settings, **QUICK).fit(X, y)
    columns = [np.ascontiguousarray(column) for column in Z.T]
    for number in range(3):
        rows = bag_of(forest, number, len(y))
        tree = TrinaryTreeRegressor(**settings).fit(X[rows], y[rows])
        found, _ = forest._model.core.predict(columns, len(Z), number, number + 1, 1)
        np.testing.assert_allclose(found[:, 0], tree.predict(Z), rtol=1e-12)


@pytest.mark.parametrize("missing", AS_IN_TREES)
def test_forest_of_one_tree_with_all_rows_is_that_tree(missing: str) -> None:
    X, y = with_missing(CANCER[0], 0.1, seed=0), CANCER[1]
    common: dict[str, Any] = {"missing": missing, "max_depth": 3, "max_bins": 255}
    forest = TrinaryForestClassifier(
        n_estimators=1, bootstrap=False, max_features=1.0, min_missing_third=0, **common
    ).fit(X, y)
    tree = TrinaryTreeClassifier(min_samples_leaf=5, **common).fit(X, y)
    Z = with_missing(CANCER[0], 0.4, 1)
    np.testing.assert_array_equal(forest.predict_proba(Z), tree.predict_proba(Z))


def drawn_columns(path: int, n_columns: int, n: int) -> list[int]:
    """Return the columns that the core draws for a node: the first n of a shuffle."""
    columns = list(range(n_columns))
    for i in range(n):
        other = i + splitmix64(splitmix64(path, 0), i) % (n_columns - i)
        columns[i], columns[other] = columns[other], columns[i]
    return sorted(columns[:n])


def test_split_is_the_best_of_the_columns_drawn_and_third_branches_use_all() -> None:
    X, y = DIABETES
    settings: dict[str, Any] = {"max_depth": 1, "min_samples_leaf": 5, "max_bins": None}
    forest = TrinaryForestRegressor(bootstrap=False, max_features=0.3, **settings, **QUICK).fit(X, y)
    seeds = np.random.RandomState(0).randint(1, 2**31 - 1, size=6)
    roots = set()
    for number, seed in enumerate(seeds):
        some = drawn_columns(int(seed), 10, 3)
        best = TrinaryTreeRegressor(**settings).fit(X[:, some], y).tree_
        tree = forest._model.core.tree(number)
        root = some[best.column[0]]
        assert (tree.column[0], tree.threshold[0]) == (root, best.threshold[0])
        # the third branch is the best tree without that column, whatever was drawn
        Z = X.copy()
        Z[:, root] = np.nan
        others = [j for j in range(10) if j != root]
        expected = TrinaryTreeRegressor(**settings).fit(X[:, others], y).predict(X[:, others])
        columns = [np.ascontiguousarray(column) for column in Z.T]
        found, _ = forest._model.core.predict(columns, len(Z), number, number + 1, 1)
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
        roots.add(root)
    assert len(roots) > 1


def test_columns_are_drawn_until_one_splits_the_node() -> None:
    X = np.array([[i >> bit & 1 for bit in range(6)] for i in range(64)], dtype=float)
    y = X @ [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    forest = TrinaryForestRegressor(
        bootstrap=False, max_features=0.2, max_depth=None, min_samples_leaf=1, **QUICK
    ).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), y)  # one row in each leaf


def test_forest_keeps_little_beside_its_nodes() -> None:
    X = np.random.default_rng(0).normal(size=(2_000, 40))
    forest = TrinaryForestRegressor(max_features=1.0, min_samples_leaf=1, **QUICK).fit(X, X[:, 0] * X[:, 1])
    one = TrinaryTreeRegressor(max_depth=None, min_samples_leaf=1).fit(X, X[:, 0] * X[:, 1])
    per_node = len(pickle.dumps(forest)) / forest.n_nodes_
    assert (
        3 * per_node < len(pickle.dumps(one)) / one.n_nodes_
    )  # which has a split of every column in reserve


# ------------------------------------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia", "fractional"])
def test_threads_and_the_order_of_rows_to_predict_change_nothing(missing: str) -> None:
    X, y = with_missing(DIABETES[0], 0.1, seed=0), DIABETES[1]
    Z = with_missing(DIABETES[0], 0.4, 1)
    one = TrinaryForestRegressor(missing=missing, max_features=0.5, n_jobs=1, **QUICK).fit(X, y)
    two = TrinaryForestRegressor(missing=missing, max_features=0.5, n_jobs=2, **QUICK).fit(X, y)
    expected = one.predict(Z)
    begins = range(0, len(Z), 17)
    in_parts = np.concatenate([two.predict(Z[i : i + 17]) for i in reversed(begins)][::-1])
    np.testing.assert_array_equal(in_parts, expected)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
@pytest.mark.parametrize("missing", ["trinary", "mia"])
def test_copies_predict_and_grow_alike(again: Any, missing: str) -> None:
    Z = with_missing(DIABETES[0], 0.4, seed=0)
    forest = TrinaryForestRegressor(missing=missing, max_features=0.4, **QUICK).fit(*DIABETES)
    forest.predict(Z[:50])  # grows some of the branches
    other = again(forest)
    assert other.n_grown_ == forest.n_grown_
    np.testing.assert_array_equal(other.predict(Z), forest.predict(Z))


def test_table_is_pickled_once_for_all_trees() -> None:
    few = TrinaryForestRegressor(n_estimators=2, max_depth=1, random_state=0).fit(*DIABETES)
    many = TrinaryForestRegressor(n_estimators=12, max_depth=1, random_state=0).fit(*DIABETES)
    table = len(pickle.dumps(few._model.core.state(with_rows=True)["data"]))
    assert len(pickle.dumps(many)) - len(pickle.dumps(few)) < 5 * table


# ---------------------------------------------------------------------------------------------------- what users see


def test_out_of_bag_predictions_are_those_of_trees_that_were_not_fitted_to_a_row() -> None:
    X, y = with_missing(DIABETES[0], 0.2, seed=0), DIABETES[1]
    forest = TrinaryForestRegressor(n_estimators=12, oob_score=True, random_state=0).fit(X, y)
    row = 17
    columns = [np.ascontiguousarray(column[row : row + 1]) for column in X.T]
    predicted = [
        forest._model.core.predict(columns, 1, number, number + 1, 1)[0][0, 0]
        for number in range(forest.n_trees_)
        if row not in bag_of(forest, number, len(y))
    ]
    assert forest.oob_prediction_[row] == pytest.approx(np.mean(predicted), rel=1e-12)
    assert 0.2 < forest.oob_score_ < 0.6


def test_rows_drawn_for_every_tree_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="drawn for every tree"):
        forest = TrinaryForestClassifier(n_estimators=1, oob_score=True, random_state=0).fit(*IRIS)
    assert np.isnan(forest.oob_decision_function_).any()


def test_predictions_with_missing_values_are_far_better_than_with_majority() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6)) @ (np.eye(6) + 0.5)
    y = X[:, 0] * 2 + np.abs(X[:, 1]) + X[:, 2]
    loss = {}
    for missing in ("trinary", "majority"):
        forest = TrinaryForestRegressor(n_estimators=20, missing=missing, random_state=0).fit(
            X[:1000], y[:1000]
        )
        loss[missing] = np.mean((forest.predict(with_missing(X[1000:], 0.4, seed=0)) - y[1000:]) ** 2)
    assert loss["trinary"] < 0.7 * loss["majority"]


def test_growth_has_a_limit_and_counts_how_often_it_was_met() -> None:
    forest = TrinaryForestRegressor(max_third_nodes=20, **QUICK).fit(*DIABETES)
    with pytest.warns(UngrownBranchWarning, match="raise max_third_nodes"):
        predicted = forest.predict(with_missing(DIABETES[0], 0.5, seed=0))
    assert np.isfinite(predicted).all()
    assert forest.n_ungrown_hits_ > 0
    assert 0 < max(len(tree.column) - tree.n_fitted for tree in forest._model.trees()) <= 20


def test_detached_forest_predicts_rows_like_those_grown_for() -> None:
    Z = with_missing(DIABETES[0], 0.3, seed=0)
    expected = TrinaryForestRegressor(**QUICK).fit(*DIABETES).predict(Z)
    forest = TrinaryForestRegressor(**QUICK).fit(*DIABETES).grow_for(Z).detach()
    np.testing.assert_array_equal(forest.predict(Z), expected)
    with pytest.warns(
        UngrownBranchWarning, match=r"or a file saved without them.*call grow_for\(\) before that"
    ):
        forest.predict(np.full((1, 10), np.nan))


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_forest_without_training_rows_raises_where_it_cannot_grow(missing: str, tmp_path: Path) -> None:
    nothing = np.full((1, 10), np.nan)
    forest = TrinaryForestRegressor(missing=missing, **QUICK).fit(*DIABETES)
    forest.save(tmp_path / "forest.tritree", training_rows=False)
    for without in (load(tmp_path / "forest.tritree"), forest.detach()):
        with pytest.raises(
            RuntimeError, match=r"can no longer be grown.*call grow_for\(\) before detach\(\)"
        ):
            without.grow_for(nothing)
        assert without.grow_for(DIABETES[0]) is without  # these rows need nothing that is not there


def test_forest_without_third_branches_has_nothing_to_grow() -> None:
    forest = TrinaryForestRegressor(missing="mia", **QUICK).fit(*DIABETES).detach()
    assert forest.grow_for(np.full((1, 10), np.nan)) is forest


def test_importances_add_up_to_one_and_find_what_matters() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    forest = TrinaryForestRegressor(**QUICK).fit(X, 3 * X[:, 1])
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.feature_importances_.argmax() == 1


def test_classes_may_be_text_and_have_weights() -> None:
    labels = np.array(["setosa", "versicolor", "virginica"])[IRIS[1]]
    forest = TrinaryForestClassifier(class_weight={"setosa": 1, "versicolor": 1, "virginica": 50}, **QUICK)
    weighted = forest.fit(IRIS[0], labels).predict_proba(IRIS[0])
    plain = TrinaryForestClassifier(**QUICK).fit(IRIS[0], labels).predict_proba(IRIS[0])
    np.testing.assert_allclose(weighted.sum(axis=1), 1)
    assert weighted[:, 2].mean() > plain[:, 2].mean()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_features": 0}, "max_features must be an integer of at least 1"),
        ({"max_features": 1.5}, "a float above 0 and at most 1 .*got 1.5$"),
        ({"max_features": "all"}, r"'sqrt' or 'log2', or None \(all columns\), got 'all'$"),
        ({"max_samples": 2}, "max_samples"),
        (
            {"max_samples": 0.1, "bootstrap": False},
            "max_samples=0.1 .*set bootstrap=True, or max_samples=None",
        ),
        ({"verbose": "no"}, "verbose must be True or False, got 'no'"),
        ({"random_state": -1}, "random_state must be an integer of at least 0 .*got -1"),
        ({"random_state": "a"}, "random_state must be an integer .*or None, got 'a'"),
        ({"bootstrap": "yes"}, "bootstrap must be True or False"),
        ({"bootstrap": False, "oob_score": True}, "set bootstrap=True"),
        ({"missing": "mean"}, "missing must be one of"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrinaryForestRegressor(**parameters).fit(*DIABETES)


def test_unfitted_forest_raises() -> None:
    with pytest.raises(NotFittedError):
        TrinaryForestRegressor().predict(DIABETES[0])


CHECKED = [
    TrinaryForestRegressor(n_estimators=3, min_samples_leaf=1),
    TrinaryForestClassifier(n_estimators=5),
    TrinaryForestClassifier(n_estimators=5, missing="fractional"),
]
FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "rows are counted, weights are not, and rows are drawn at random",
    "check_class_weight_classifiers": "leaves may weigh nearly nothing, where the check expects a bound",
}


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return what cannot hold, each with its reason."""
    is_classifier = isinstance(estimator, TrinaryForestClassifier)
    return {name: why for name, why in FAILURES.items() if is_classifier or "classifiers" not in name}


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_fit_without_out_of_bag_score_forgets_the_earlier_one() -> None:
    forest = TrinaryForestRegressor(n_estimators=20, oob_score=True, random_state=0).fit(*DIABETES)
    forest.set_params(oob_score=False).fit(*DIABETES)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_prediction_")


def test_fit_without_out_of_bag_rows_raises_and_keeps_the_earlier_forest() -> None:
    forest = TrinaryForestRegressor(n_estimators=2, random_state=0).fit(*DIABETES)
    before = forest.predict(DIABETES[0])
    forest.set_params(oob_score=True, max_samples=1.0)
    with pytest.raises(ValueError, match="no out-of-bag prediction; raise n_estimators"):
        forest.fit(DIABETES[0][:1], DIABETES[1][:1])
    np.testing.assert_array_equal(forest.predict(DIABETES[0]), before)


@contextmanager
def interrupts_after_three(*_: Any, **__: Any) -> Iterator[Callable[[], None]]:
    """Stand in for the progress bar, and interrupt the fit when a third tree is finished."""
    steps = itertools.count(1)

    def advance() -> None:
        if next(steps) == 3:
            raise KeyboardInterrupt

    yield advance


@pytest.mark.parametrize("missing", ["trinary", "mia"])
def test_ctrl_c_keeps_the_trees_so_far(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    common: dict[str, Any] = {"missing": missing, "random_state": 0, "n_jobs": 1}
    monkeypatch.setattr("tritree.estimators.forest.bar", interrupts_after_three)
    forest = TrinaryForestRegressor(n_estimators=9, **common)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(*DIABETES)
    monkeypatch.undo()
    # trees do not depend on how many there are to be; their seeds do not, either
    seeds = np.random.RandomState(0).randint(1, 2**31 - 1, size=9)
    assert seeds[:3].tolist() == np.random.RandomState(0).randint(1, 2**31 - 1, size=3).tolist()
    whole = TrinaryForestRegressor(n_estimators=3, **common).fit(*DIABETES)
    assert forest.n_trees_ == 3
    np.testing.assert_array_equal(forest.predict(DIABETES[0]), whole.predict(DIABETES[0]))
    assert forest._model.is_detached == (missing == "mia")


def test_ctrl_c_with_several_threads_keeps_the_first_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tritree.estimators.forest.bar", interrupts_after_three)
    forest = TrinaryForestRegressor(n_estimators=40, random_state=0, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(*DIABETES)
    monkeypatch.undo()
    assert 1 <= forest.n_trees_ <= 5  # a tree that others have overtaken was finished, too
    whole = TrinaryForestRegressor(n_estimators=forest.n_trees_, random_state=0).fit(*DIABETES)
    np.testing.assert_array_equal(forest.predict(DIABETES[0]), whole.predict(DIABETES[0]))


@pytest.mark.parametrize("missing", STRATEGIES)
def test_forest_may_have_more_trees_than_are_grown_at_a_time(missing: str) -> None:
    X, y = with_missing(DIABETES[0], 0.1, seed=0), DIABETES[1]
    forest = TrinaryForestRegressor(n_estimators=40, missing=missing, max_depth=2, random_state=0, n_jobs=1)
    assert forest.fit(X, y).n_trees_ == 40
    assert forest._model.is_detached == (missing not in ("trinary", "trinary_mia"))


def test_progress_advances_once_per_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[None] = []
    monkeypatch.setattr(
        "tritree.estimators.forest.bar", lambda *_, **__: nullcontext(lambda: steps.append(None))
    )
    for n_trees in (1, 3, 17):
        TrinaryForestRegressor(n_estimators=n_trees, random_state=0, n_jobs=1).fit(*DIABETES)
        assert len(steps) == n_trees
        steps.clear()


def test_warm_start_with_an_absent_column_says_that_the_rows_have_changed() -> None:
    frame = pd.DataFrame({"a": np.arange(60.0), "b": ["x", "y"] * 30})
    forest = TrinaryForestRegressor(n_estimators=2, warm_start=True, random_state=0).fit(frame, frame["a"])
    for absent in ("a", "b"):
        with (
            pytest.warns(ColumnMatchWarning, match=absent),
            pytest.raises(ValueError, match="X, y or sample_weight have changed"),
        ):
            forest.set_params(n_estimators=4).fit(frame.drop(columns=absent), frame["a"])
