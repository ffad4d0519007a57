"""Boosting learns, stops early, continues and predicts as users expect."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from tritree import (
    ColumnError,
    ColumnMatchWarning,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    UngrownBranchWarning,
    load,
)
from tritree.validation import BOOSTING_STRATEGIES

DIABETES: Any = load_diabetes(return_X_y=True)
CANCER: Any = load_breast_cancer(return_X_y=True)
IRIS: Any = load_iris(return_X_y=True)
QUICK = {"max_iter": 15, "max_depth": 3, "random_state": 0}


def with_missing(X: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted() -> TrinaryBoostingRegressor:
    return TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)


# ------------------------------------------------------------------------- beside an independent implementation


def coarse(seed: int = 0) -> np.ndarray:
    """Return a table whose columns have few values, which everyone bins alike."""
    random = np.random.default_rng(seed)
    return random.integers(0, 40, size=(600, 5)).astype(float)


def response(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=len(X))
    return X[:, 0] / 10 + np.sin(X[:, 1] / 6) + (X[:, 2] > 20) * X[:, 3] / 20 + noise / 3


@pytest.mark.parametrize("missing", ["trinary_mia", "mia"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma", "quantile"])
def test_regression_on_complete_rows_is_scikit_learns(loss: str, missing: str) -> None:
    X = coarse()
    y = np.exp(response(X) / 2) if loss in ("poisson", "gamma") else response(X)
    common = {"loss": loss, "quantile": 0.8, "max_iter": 12, "learning_rate": 0.2, "l2_regularization": 1.5}
    ours = TrinaryBoostingRegressor(max_depth=4, missing=missing, max_features=1.0, **common).fit(X, y)
    theirs = HistGradientBoostingRegressor(
        max_depth=4, max_leaf_nodes=None, early_stopping=False, **common
    ).fit(X, y)
    # their derivatives are in single precision, and so are near ties decided
    assert np.mean(np.isclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)) > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_complete_rows_are_scikit_learns(n_classes: int) -> None:
    X = coarse()
    y = np.digitize(response(X), np.quantile(response(X), np.arange(1, n_classes) / n_classes))
    common: dict[str, Any] = {"max_iter": 12, "learning_rate": 0.2, "l2_regularization": 1.5, "max_depth": 4}
    ours = TrinaryBoostingClassifier(max_features=1.0, **common).fit(X, y)
    theirs = HistGradientBoostingClassifier(max_leaf_nodes=None, early_stopping=False, **common).fit(X, y)
    close = np.isclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4).all(axis=1)
    assert np.mean(close) > 0.99


# ------------------------------------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_threads_and_the_order_of_rows_asked_for_change_nothing(missing: str) -> None:
    X, y = DIABETES
    X, Z = with_missing(X, 0.1), with_missing(X, 0.5, 1)
    one = TrinaryBoostingRegressor(missing=missing, n_jobs=1, subsample=0.8, max_features=0.5, **QUICK).fit(
        X, y
    )
    two = TrinaryBoostingRegressor(missing=missing, n_jobs=2, subsample=0.8, max_features=0.5, **QUICK).fit(
        X, y
    )
    expected = one.predict(Z)
    one_by_one = np.concatenate([two.predict(Z[i : i + 1]) for i in range(len(Z) - 1, -1, -1)])[::-1]
    np.testing.assert_array_equal(one_by_one, expected)


@pytest.mark.parametrize("is_classes", [False, True])
@pytest.mark.parametrize("missing", ["trinary_mia", "trinary", "mia", "majority"])
def test_many_rows_give_the_same_predictions_with_one_two_and_three_threads(
    missing: str, is_classes: bool
) -> None:
    # a node's rows are counted, parted and summed in parts of 4,096 to 65,536: fewer are one thread's work
    random = np.random.default_rng(0)
    X = random.normal(size=(70_000, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X))
    X, Z = with_missing(X, 0.2), with_missing(X, 0.5, 1)
    how = {"missing": missing, "max_iter": 5, "max_features": 0.5, "random_state": 0}

    def predictions(n_jobs: int) -> list[np.ndarray]:
        if is_classes:
            model = TrinaryBoostingClassifier(n_jobs=n_jobs, **how).fit(X, y > 0)
            return [model.predict_proba(rows) for rows in (X, Z)]
        model = TrinaryBoostingRegressor(n_jobs=n_jobs, **how).fit(X, y)
        return [model.predict(rows) for rows in (X, Z)]

    one, two, three = (predictions(n_jobs) for n_jobs in (1, 2, 3))
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(three, one)


def test_many_threads_may_predict_at_once(fitted: TrinaryBoostingRegressor) -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    Z = with_missing(DIABETES[0], 0.4)
    expected = fitted.predict(Z)
    found: dict[int, np.ndarray] = {}

    def ask(number: int) -> None:
        order = np.random.default_rng(number).permutation(len(Z))
        found[number] = model.predict(Z[order])[np.argsort(order)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for predictions in found.values():
        np.testing.assert_array_equal(predictions, expected)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_predict_and_grow_alike(again: Any) -> None:
    X, y = DIABETES
    Z = with_missing(X, 0.4)
    model = TrinaryBoostingRegressor(monotonic_cst=[0, 0, 1] + [0] * 7, **QUICK).fit(X, y)
    model.predict(Z[:50])  # half grown
    other = again(model)
    assert other.n_grown_ == model.n_grown_
    np.testing.assert_array_equal(other.predict(Z), model.predict(Z))


# ----------------------------------------------------------------------------------------------- holes at predict time


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_predictions_with_missing_values_are_far_better_than_with_majority(loss: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6)) @ (np.eye(6) + 0.5)
    y = X[:, 0] * 2 + np.abs(X[:, 1]) + X[:, 2]
    errors = {}
    for missing in ("trinary_mia", "majority"):
        lost = []
        for train, test in KFold(3).split(X):
            model = TrinaryBoostingRegressor(loss=loss, missing=missing, max_iter=60, random_state=0)
            lost.append(
                np.mean((model.fit(X[train], y[train]).predict(with_missing(X[test], 0.4)) - y[test]) ** 2)
            )
        errors[missing] = np.mean(lost)
    assert errors["trinary_mia"] < 0.6 * errors["majority"]


def test_row_without_any_value_is_predicted_about_the_mean(fitted: TrinaryBoostingRegressor) -> None:
    answer = fitted.predict(np.full((1, 10), np.nan))[0]
    assert answer == pytest.approx(fitted.predict(DIABETES[0]).mean(), rel=0.02)


def test_complete_rows_grow_nothing(fitted: TrinaryBoostingRegressor) -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    model.predict(DIABETES[0])
    assert model.n_grown_ == 0


def test_training_rows_with_missing_values_are_learned_from() -> None:
    X, y = DIABETES
    rows = with_missing(X, 0.3)
    for missing in BOOSTING_STRATEGIES:
        model = TrinaryBoostingRegressor(missing=missing, max_iter=60, random_state=0).fit(rows, y)
        assert model.score(rows, y) > 0.5, missing


def share_that_goes_third(model: TrinaryBoostingRegressor, columns: set[int]) -> float:
    """Return how many of the splits on some columns send missing values third, those in third branches left out."""
    trees = [model.estimators_.flat[i].to_dict() for i in range(model.n_iter_)]
    nodes = [node for tree in trees for node in tree["nodes"][: len(tree["nodes"]) - tree["n_grown"]]]
    splits = [node["split"] for node in nodes if node["split"] is not None]
    return float(np.mean([split["missing_to"] == "third" for split in splits if split["column"] in columns]))


def test_values_missing_at_random_join_no_side() -> None:
    X = coarse()
    model = TrinaryBoostingRegressor(**QUICK).fit(with_missing(X, 0.3), response(X))
    assert share_that_goes_third(model, set(range(5))) > 0.9


def test_informative_missing_values_join_a_side() -> None:
    X = coarse()
    y = response(X)
    X[X[:, 0] > 25, 0] = np.nan
    assert share_that_goes_third(TrinaryBoostingRegressor(**QUICK).fit(X, y), {0}) < 0.2


def test_growth_has_a_limit_and_counts_how_often_it_was_met() -> None:
    model = TrinaryBoostingRegressor(max_third_nodes=50, **QUICK).fit(*DIABETES)
    with pytest.warns(UngrownBranchWarning, match="raise max_third_nodes"):
        model.predict(with_missing(DIABETES[0], 0.5))
    assert model.n_ungrown_hits_ > 0
    # a branch that is begun is grown to its end
    assert 15 * 50 <= model.n_grown_ <= 15 * (50 + 15)


def test_detached_models_predict_rows_like_those_grown_for() -> None:
    Z = with_missing(DIABETES[0], 0.3)
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    expected = model.predict(Z)
    other = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES).grow_for(Z).detach()
    np.testing.assert_array_equal(other.predict(Z), expected)
    with pytest.warns(
        UngrownBranchWarning, match=r"or a file saved without them.*call grow_for\(\) before that"
    ):
        other.predict(np.full((1, 10), np.nan))


@pytest.mark.parametrize("missing", ["trinary", "trinary_mia"])
def test_model_without_training_rows_raises_where_it_cannot_grow(missing: str, tmp_path: Path) -> None:
    nothing = np.full((1, 10), np.nan)
    model = TrinaryBoostingRegressor(missing=missing, **QUICK).fit(*DIABETES)
    model.save(tmp_path / "model.tritree", training_rows=False)
    for without in (load(tmp_path / "model.tritree"), model.detach()):
        with pytest.raises(
            RuntimeError, match=r"can no longer be grown.*call grow_for\(\) before detach\(\)"
        ):
            without.grow_for(nothing)
        assert without.grow_for(DIABETES[0]) is without  # these rows need nothing that is not there


@pytest.mark.parametrize("missing", ["mia", "majority", "fractional"])
def test_model_without_third_branches_has_nothing_to_grow(missing: str) -> None:
    model = TrinaryBoostingRegressor(missing=missing, **QUICK).fit(*DIABETES).detach()
    assert model.grow_for(np.full((1, 10), np.nan)) is model


def test_background_may_be_some_of_the_rows() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 4))
    y = X[:, 0] + X[:, 1]
    model = TrinaryBoostingRegressor(background_rows=300, random_state=0).fit(X, y)
    Z = X.copy()
    Z[:, 2] = np.nan
    assert np.corrcoef(model.predict(Z), y)[0, 1] > 0.98


# --------------------------------------------------------------------------------------------- constraints and weights


@pytest.mark.parametrize("direction", [1, -1])
def test_monotonic_constraints_hold_with_missing_values_elsewhere(direction: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 4))
    y = direction * X[:, 0] + np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + random.normal(size=800)
    model = TrinaryBoostingRegressor(monotonic_cst=[direction, 0, 0, 0], max_iter=50, random_state=0)
    model.fit(with_missing(X, 0.1), y)
    rows = with_missing(random.normal(size=(60, 4)), 0.5)
    steps = np.linspace(-3, 3, 40)
    for row in rows:
        path = np.tile(row, (40, 1))
        path[:, 0] = steps
        assert (direction * np.diff(model.predict(path)) >= -1e-12).all()


def test_constraints_are_given_by_name() -> None:
    frame = pd.DataFrame(DIABETES[0], columns=[f"c{j}" for j in range(10)])
    named = TrinaryBoostingRegressor(monotonic_cst={"c2": 1}, **QUICK).fit(frame, DIABETES[1])
    listed = TrinaryBoostingRegressor(monotonic_cst=[0, 0, 1] + [0] * 7, **QUICK).fit(frame, DIABETES[1])
    np.testing.assert_array_equal(named.predict(frame), listed.predict(frame))


def test_rows_of_weight_zero_do_not_count() -> None:
    X, y = DIABETES
    weight = (np.arange(len(y)) % 2).astype(float)
    spoiled = np.where(weight > 0, y, 1e4)
    model = TrinaryBoostingRegressor(min_samples_leaf=1, **QUICK).fit(X, spoiled, weight)
    assert model.predict(X).max() < 1000


def test_balanced_classes_raise_the_rare_one() -> None:
    X, y = CANCER
    rare = np.flatnonzero((y == 1) | (np.arange(len(y)) % 8 == 0))
    plain = TrinaryBoostingClassifier(max_iter=5, random_state=0).fit(X[rare], y[rare])
    balanced = TrinaryBoostingClassifier(max_iter=5, class_weight="balanced", random_state=0).fit(
        X[rare], y[rare]
    )
    assert balanced.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()


# ------------------------------------------------------------------------------------------------------------ rounds


def test_staged_predictions_end_at_the_prediction(fitted: TrinaryBoostingRegressor) -> None:
    stages = list(fitted.staged_predict(DIABETES[0]))
    assert len(stages) == fitted.n_iter_ == 15
    np.testing.assert_array_equal(stages[-1], fitted.predict(DIABETES[0]))


def test_warm_start_continues_as_if_it_had_never_stopped() -> None:
    X, y = DIABETES
    whole = TrinaryBoostingRegressor(**QUICK).fit(X, y)
    parts = TrinaryBoostingRegressor(**(QUICK | {"max_iter": 6}), warm_start=True).fit(X, y)
    parts.set_params(max_iter=15).fit(X, y)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


def test_warm_start_may_continue_with_other_rows() -> None:
    frame = pd.DataFrame({"a": np.arange(200.0), "b": ["x", "y"] * 100})
    model = TrinaryBoostingRegressor(max_iter=5, warm_start=True, random_state=0).fit(frame, frame["a"])
    other = frame.assign(b=["z", "y"] * 100)  # a category that the first fit has not seen
    assert model.set_params(max_iter=9).fit(other, other["a"]).n_iter_ == 9


@pytest.mark.parametrize("given", [True, False])
def test_iterations_after_the_best_one_are_dropped(given: bool) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), random.normal(size=400)  # nothing to be learned
    model = TrinaryBoostingRegressor(max_iter=200, early_stopping=True, random_state=0, n_iter_no_change=5)
    model.fit(X, y, **({"X_val": X[:50], "y_val": -y[:50]} if given else {}))
    assert model.n_iter_ < 100
    assert len(model.validation_scores_) == len(model.train_scores_) <= model.n_iter_ + 5
    assert np.argmax(model.validation_scores_) + 1 == model.best_iteration_ == model.n_iter_


def test_validation_rows_are_scored_without_early_stopping() -> None:
    X, y = DIABETES
    model = TrinaryBoostingRegressor(early_stopping=False, **QUICK).fit(X, y, X_val=X, y_val=y)
    assert len(model.validation_scores_) == model.n_iter_ == model.best_iteration_ == 15
    assert (np.diff(model.validation_scores_) > 0).all()
    np.testing.assert_allclose(model.train_scores_, model.validation_scores_)  # the same rows


def test_ctrl_c_keeps_the_trees_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    from tritree.estimators import callbacks

    run = callbacks.FitCallbacks.run
    iterations = iter(range(100))

    def interrupted(self: Any, *args: Any) -> bool:
        if next(iterations) == 4:
            raise KeyboardInterrupt
        return run(self, *args)

    monkeypatch.setattr(callbacks.FitCallbacks, "run", interrupted)
    model = TrinaryBoostingRegressor(**QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*DIABETES)
    assert model.n_iter_ == 4
    assert model.predict(DIABETES[0]).std() > 0


def test_fit_that_failed_leaves_the_earlier_one() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    expected = model.predict(DIABETES[0])
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=0).fit(*DIABETES)
    np.testing.assert_array_equal(model.predict(DIABETES[0]), expected)


def test_callbacks_of_scikit_learn_see_every_iteration() -> None:
    callback = pytest.importorskip("sklearn.callback")
    seen: list[float] = []

    class Watcher:
        def setup(self, estimator: Any, context: Any) -> None: ...
        def teardown(self, estimator: Any, context: Any) -> None: ...
        def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...
        def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
            seen.append(fitted_estimator.score(*DIABETES))
            return len(seen) >= 6

    assert isinstance(Watcher(), callback.FitCallback)
    model = TrinaryBoostingRegressor(**QUICK).set_callbacks(Watcher()).fit(*DIABETES)
    assert model.n_iter_ == 6
    assert (np.diff(seen[:6]) > 0).all()


# ---------------------------------------------------------------------------------------------------------- tables


def test_frames_are_matched_by_name_and_absent_columns_are_missing() -> None:
    frame = pd.DataFrame(DIABETES[0], columns=list("abcdefghij"))
    model = TrinaryBoostingRegressor(**QUICK).fit(frame, DIABETES[1])
    expected = model.predict(frame.assign(c=np.nan))
    with pytest.warns(ColumnMatchWarning, match="'c'"):
        np.testing.assert_array_equal(model.predict(frame[list("jihgfedba")]), expected)


def test_categories_are_learned_and_unknown_ones_have_no_information() -> None:
    random = np.random.default_rng(0)
    kind = random.choice(["oak", "elm", "ash", "fir"], size=400)
    y = np.select([kind == "oak", kind == "elm", kind == "ash"], [1.0, 5.0, 2.0], 9.0)
    frame = pd.DataFrame({"kind": kind, "noise": random.normal(size=400)})
    model = TrinaryBoostingRegressor(
        max_iter=60, l2_regularization=0.0, max_features=1.0, random_state=0
    ).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=0.1)
    unknown, nothing = (model.predict(pd.DataFrame({"kind": [k], "noise": [0.0]}))[0] for k in ("yew", None))
    assert unknown == nothing
    with pytest.raises(ColumnError, match="yew"):
        model.set_params(unknown_category="error").predict(pd.DataFrame({"kind": ["yew"], "noise": [0.0]}))


def test_more_categories_than_a_byte_holds() -> None:
    random = np.random.default_rng(0)
    number = random.integers(0, 900, size=6000)
    frame = pd.DataFrame({"kind": pd.Categorical([f"k{n}" for n in number]), "x": random.normal(size=6000)})
    y = (number % 2) * 3.0 + frame["x"]
    model = TrinaryBoostingRegressor(max_iter=60, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert np.isfinite(model.predict(frame.assign(x=np.nan))).all()


def test_three_classes_with_labels() -> None:
    X, y = IRIS
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TrinaryBoostingClassifier(max_iter=20, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.95
    np.testing.assert_allclose(model.predict_proba(with_missing(X, 0.5)).sum(axis=1), 1)
    assert model.decision_function(X).shape == (150, 3)


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"learning_rate": 0}, "learning_rate must be a number above 0, got 0"),
        ({"max_iter": 0}, "max_iter"),
        ({"loss": "huber"}, "loss must be one of 'squared_error'"),
        ({"missing": "surrogate"}, "missing must be one of 'trinary_mia'"),
        ({"subsample": 1.5}, "subsample must be a number above 0 and at most 1"),
        ({"early_stopping": "yes"}, "early_stopping must be True, False or 'auto', got 'yes'"),
        ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries, X has 10 columns"),
        ({"monotonic_cst": [2] + [0] * 9}, "must be 1, -1 or 0, got 2"),
        ({"monotonic_cst": {"bmi": 1}}, "X has none"),
        ({"monotonic_cst": {0: 1}}, "a dict, which goes by column names, and X has none; give a list"),
        ({"validation_fraction": 1}, "validation_fraction must be a number above 0 and below 1, got 1"),
        ({"quantile": 2}, "quantile"),
        ({"monotonic_cst": "weight"}, r"one entry per column, got 'weight'; write \{'weight': 1\}"),
        ({"monotonic_cst": 1}, "one entry per column, got 1;"),
        ({"max_features": 0}, "max_features must be a whole number of at least 1"),
        ({"max_features": 1.5}, r"a float above 0 and at most 1 .*, or None \(all columns\), got 1.5"),
        ({"warm_start": "no"}, "warm_start must be True or False, got 'no'"),
        ({"verbose": "no"}, "verbose must be True or False, got 'no'"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0 .*got -1"),
        ({"random_state": "a"}, "random_state must be a whole number .*or None, got 'a'"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrinaryBoostingRegressor(**parameters).fit(*DIABETES)


def test_sizes_may_be_larger_than_any_table() -> None:
    names = ("max_depth", "max_leaf_nodes", "background_rows", "third_rows", "max_third_nodes")
    X, y = DIABETES
    model = TrinaryBoostingRegressor(max_iter=2, random_state=0, **dict.fromkeys(names, 10**30)).fit(X, y)
    assert model.predict(np.where(X < 0, np.nan, X)).std() > 0
    assert TrinaryBoostingRegressor(min_samples_leaf=10**30, max_iter=2).fit(X, y).n_nodes_ == 2


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize(("scale", "word"), [(1e200, "large"), (1e-200, "small")])
def test_targets_whose_squares_overflow_are_refused(loss: str, scale: float, word: str) -> None:
    X, y = DIABETES
    with pytest.raises(
        ValueError, match=f"y holds 3.46e.* too {word} for loss='{loss}'; give it in another unit"
    ):
        TrinaryBoostingRegressor(loss=loss).fit(X, y * scale)
    assert TrinaryBoostingRegressor(max_iter=2).fit(X, y * 0).predict(X).any() == 0


@pytest.mark.parametrize("number", [1.5, "a", None])
def test_tree_is_chosen_by_an_integer(number: Any) -> None:
    with pytest.raises(ValueError, match="tree must be an integer, got"):
        TrinaryBoostingRegressor(max_iter=2).fit(*DIABETES).plot(tree=number)


def test_no_progress_bar_is_shown_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    TrinaryBoostingRegressor(max_iter=2, verbose=True).fit(*DIABETES)
    assert capfd.readouterr() == ("", "")


def test_booleans_may_be_of_numpy() -> None:
    model = TrinaryBoostingRegressor(max_iter=1, warm_start=np.True_, verbose=np.False_).fit(*DIABETES)
    assert model.set_params(max_iter=2).fit(*DIABETES).n_iter_ == 2


def test_targets_that_the_loss_is_not_for_are_refused() -> None:
    X, y = DIABETES
    with pytest.raises(
        ValueError, match=r"y holds -1\.0 in row 3; loss='poisson' is not for negative numbers"
    ):
        TrinaryBoostingRegressor(loss="poisson").fit(X, np.where(np.arange(len(y)) == 3, -1.0, y))
    with pytest.raises(ValueError, match="loss='gamma' is not for zero or negative"):
        TrinaryBoostingRegressor(loss="gamma").fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="y is zero in every row"):
        TrinaryBoostingRegressor(loss="poisson").fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="one class only, 'a'"):
        TrinaryBoostingClassifier().fit(X, ["a"] * len(y))


def test_infinite_values_are_named() -> None:
    X = DIABETES[0].copy()
    X[7, 3] = np.inf
    with pytest.raises(ColumnError, match="inf in row 7"):
        TrinaryBoostingRegressor(**QUICK).fit(X, DIABETES[1])
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    with pytest.raises(ColumnError, match="inf in row 7"):
        model.predict(X)


def test_unfitted_model_raises() -> None:
    with pytest.raises(NotFittedError):
        TrinaryBoostingRegressor().predict(DIABETES[0])
