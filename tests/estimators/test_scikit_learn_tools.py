"""The tools of scikit-learn take the estimators: pipelines, searches, metadata routing, meta-estimators."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from models import STRATEGIES, simulated, with_missing
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

X, Y = simulated(300, 4, missing=0.2)
LABELS = np.where(np.digitize(Y, np.quantile(Y, [0.4])), "high", "low")
WEIGHT = np.where(Y > 0, 5.0, 1.0)


def regressor(**parameters: Any) -> TrinaryTreeRegressor:
    return TrinaryTreeRegressor(**({"max_depth": 3, "min_samples_leaf": 10} | parameters))


def classifier(**parameters: Any) -> TrinaryTreeClassifier:
    return TrinaryTreeClassifier(**({"max_depth": 3, "min_samples_leaf": 10} | parameters))


def mixed_frame() -> Any:
    pd = pytest.importorskip("pandas")
    colours = np.array(["red", "green", "blue"])[np.arange(300) % 3]
    return pd.DataFrame(X, columns=list("abcd")).assign(colour=colours)


# ---- pipelines


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_column_transformer_that_keeps_frames_keeps_text_categorical(library: str) -> None:
    pytest.importorskip(library)
    frame, y = mixed_frame(), Y + 8 * (np.arange(300) % 3 == 1)
    rest = make_column_transformer(
        (StandardScaler(), list("abcd")), remainder="passthrough", verbose_feature_names_out=False
    )
    pipeline = make_pipeline(rest, regressor()).set_output(transform=library)
    if library == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c", "d", "colour"]
    assert "colour is green" in pipeline[-1].to_text()
    # to scale a column moves its thresholds, not its rows
    np.testing.assert_allclose(pipeline.predict(frame), regressor().fit(frame, y).predict(frame))


def test_column_transformer_that_makes_arrays_gives_its_columns_by_position() -> None:
    frame = mixed_frame()
    encode = ColumnTransformer(
        [("colour", OneHotEncoder(sparse_output=False), ["colour"])], remainder="passthrough"
    )
    pipeline = make_pipeline(encode, regressor()).fit(frame, Y)
    assert pipeline[-1].n_features_in_ == 7
    assert not hasattr(pipeline[-1], "feature_names_in_")
    assert len(pipeline.predict(frame)) == 300


def test_imputer_before_the_tree_leaves_nothing_to_grow() -> None:
    pipeline = make_pipeline(SimpleImputer(), regressor()).fit(X, Y)
    pipeline.predict(X)
    assert pipeline[-1].n_grown_ == 0


@pytest.mark.parametrize("missing", STRATEGIES)
def test_pipeline_is_pickled_with_its_tree(missing: str) -> None:
    pipeline = make_pipeline(StandardScaler(), regressor(missing=missing)).fit(X, Y)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(with_missing(X)), pipeline.predict(with_missing(X)))


# ---- searches and cross-validation


def test_search_over_strategies_within_a_pipeline_keeps_the_best_one() -> None:
    pipeline = make_pipeline(FunctionTransformer(), classifier())
    grid = {
        "trinarytreeclassifier__missing": STRATEGIES,
        "trinarytreeclassifier__criterion": ["entropy", "gini"],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, LABELS)
    best = search.cv_results_["mean_test_score"].argmax()
    assert len(search.cv_results_["params"]) == 12
    assert search.best_params_ == search.cv_results_["params"][best]
    assert search.best_estimator_[-1].missing == search.best_params_["trinarytreeclassifier__missing"]
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_wrong_strategy_in_a_search_raises() -> None:
    search = GridSearchCV(regressor(), {"missing": ["drop"]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="missing must be one of"):
        search.fit(X, Y)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_scores_do_not_depend_on_the_number_of_processes(make: Any) -> None:
    y = Y if make is regressor else LABELS
    alone = cross_val_score(make(), X, y, cv=4)
    np.testing.assert_array_equal(cross_val_score(make(), X, y, cv=4, n_jobs=2), alone)
    assert alone.mean() > 0.3


def test_cross_validation_splits_frames_with_text() -> None:
    frame = mixed_frame()
    probabilities = cross_val_predict(classifier(), frame, LABELS, cv=3, method="predict_proba")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert cross_val_score(classifier(), frame, LABELS, scoring="roc_auc", cv=3).min() > 0.6


def test_importance_of_columns_by_permutation_finds_the_first() -> None:
    model = regressor().fit(X, Y)
    assert permutation_importance(model, X, Y, n_repeats=2, random_state=0).importances_mean.argmax() == 0


# ---- weights


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_requested_weights_reach_the_tree_in_a_pipeline(routing: Any) -> None:
    pipeline = make_pipeline(FunctionTransformer(), regressor().set_fit_request(sample_weight=True))
    pipeline.fit(X, Y, sample_weight=WEIGHT)
    expected = regressor().fit(X, Y, sample_weight=WEIGHT).predict(X)
    np.testing.assert_array_equal(pipeline.predict(X), expected)
    assert not np.array_equal(expected, regressor().fit(X, Y).predict(X))


def test_weights_that_are_not_requested_do_not_reach_the_tree(routing: Any) -> None:
    pipeline = make_pipeline(regressor().set_fit_request(sample_weight=False))
    with pytest.raises(TypeError, match="unexpected argument"):
        pipeline.fit(X, Y, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="not explicitly set as requested or not requested"):
        make_pipeline(regressor()).fit(X, Y, sample_weight=WEIGHT)


def test_weights_are_split_with_the_rows_in_cross_validation(routing: Any) -> None:
    model = regressor().set_fit_request(sample_weight=True)
    error = make_scorer(mean_squared_error, greater_is_better=False).set_score_request(sample_weight=True)
    found = cross_validate(
        model, X, Y, cv=2, scoring=error, params={"sample_weight": WEIGHT}, return_estimator=True
    )
    second_half = slice(150, None)
    expected = regressor().fit(X[second_half], Y[second_half], WEIGHT[second_half])
    np.testing.assert_array_equal(found["estimator"][0].predict(X), expected.predict(X))
    first_error = mean_squared_error(Y[:150], expected.predict(X[:150]), sample_weight=WEIGHT[:150])
    assert -found["test_score"][0] == pytest.approx(first_error)


def test_score_takes_requested_weights(routing: Any) -> None:
    model = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"missing": ["trinary", "mia"]}, cv=2)
    search.fit(X, LABELS, sample_weight=WEIGHT)
    weighted = search.best_estimator_.score(X, LABELS, sample_weight=WEIGHT)
    assert search.score(X, LABELS, sample_weight=WEIGHT) == weighted
    assert weighted != search.best_estimator_.score(X, LABELS)


def test_weights_reach_the_tree_by_the_name_of_its_step_without_routing() -> None:
    pipeline = make_pipeline(FunctionTransformer(), regressor())
    pipeline.fit(X, Y, trinarytreeregressor__sample_weight=WEIGHT)
    expected = regressor().fit(X, Y, sample_weight=WEIGHT).predict(X)
    np.testing.assert_array_equal(pipeline.predict(X), expected)


# ---- copies


def test_clone_has_the_parameters_and_not_the_tree() -> None:
    fitted = regressor(missing="mia", categorical_features=[0], unknown_category="error").fit(
        np.nan_to_num(X), Y
    )
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    assert set(vars(copied)) == set(copied.get_params())


def test_clone_keeps_metadata_requests(routing: Any) -> None:
    model = clone(regressor().set_fit_request(sample_weight=True))
    assert model.get_metadata_routing().fit.requests["sample_weight"] is True


def test_frozen_tree_is_not_fitted_again_and_goes_on_growing() -> None:
    model = regressor().fit(X, Y)
    expected = regressor().fit(X, Y).predict(with_missing(X))
    frozen = clone(FrozenEstimator(model)).fit(X, -Y)
    before = model.n_nodes_
    np.testing.assert_array_equal(frozen.predict(with_missing(X)), expected)
    assert model.n_nodes_ > before


# ---- consumers


@pytest.mark.parametrize("ensemble", [False, True])
def test_calibration_takes_a_classifier_and_rows_with_missing_values(ensemble: bool) -> None:
    model = CalibratedClassifierCV(classifier(), cv=3, ensemble=ensemble).fit(X, LABELS)
    probabilities = model.predict_proba(with_missing(X))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, LABELS) > 0.7


def test_frozen_classifier_is_calibrated_on_other_rows() -> None:
    fitted = FrozenEstimator(classifier().fit(X[:150], LABELS[:150]))
    model = CalibratedClassifierCV(fitted).fit(X[150:], LABELS[150:])
    assert model.score(X, LABELS) > 0.7


def test_vote_of_strategies_is_their_mean() -> None:
    trees = [(missing, regressor(missing=missing)) for missing in STRATEGIES]
    vote = VotingRegressor(trees, n_jobs=2).fit(X, Y)
    expected = np.mean([clone(tree).fit(X, Y).predict(with_missing(X)) for _, tree in trees], axis=0)
    np.testing.assert_allclose(vote.predict(with_missing(X)), expected)


def test_bagging_and_stacking_predict_rows_with_missing_values() -> None:
    bag = BaggingClassifier(classifier(), n_estimators=3, random_state=0).fit(X, LABELS)
    stack = StackingClassifier([("tree", classifier())], LogisticRegression(), cv=2).fit(X, LABELS)
    for model in (bag, stack):
        assert model.score(with_missing(X), LABELS) > 0.6


def test_one_tree_per_target_takes_several_targets() -> None:
    model = MultiOutputRegressor(regressor()).fit(X, np.column_stack([Y, -Y]))
    found = model.predict(with_missing(X))
    np.testing.assert_allclose(found[:, 0], -found[:, 1])


# ---- representations


@pytest.mark.parametrize("make", [regressor, classifier])
def test_repr_shows_what_differs_from_the_defaults(make: Any) -> None:
    name = type(make()).__name__
    assert repr(make(missing="mia")) == f"{name}(max_depth=3, min_samples_leaf=10, missing='mia')"
    assert repr(type(make())()) == f"{name}()"


@pytest.mark.parametrize("make", [regressor, classifier])
def test_html_shows_the_parameters_before_fitting_and_the_tree_after_it(make: Any) -> None:
    model = make(missing="surrogate")
    unfitted = model._repr_html_()
    fitted = model.fit(X, LABELS if make is classifier else Y)._repr_html_()
    for page in (unfitted, fitted):
        assert type(model).__name__ in page
        assert "surrogate" in page
    assert "<span>Not fitted</span>" in unfitted
    assert fitted.startswith("<iframe")


def test_html_of_a_pipeline_shows_the_tree_within() -> None:
    page = make_pipeline(StandardScaler(), regressor())._repr_html_()
    assert "StandardScaler" in page
    assert "TrinaryTreeRegressor" in page


def test_feature_names_pass_through_a_pipeline_to_the_tree() -> None:
    pytest.importorskip("pandas")
    frame = mixed_frame()
    pipeline = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), regressor()).fit(frame, Y)
    assert pipeline[:-1].get_feature_names_out().tolist() == pipeline[-1].feature_names_in_.tolist()
