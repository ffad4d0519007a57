"""What the estimators promise beyond scikit-learn's checks."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import joblib
import numpy as np
import pytest
from models import STRATEGIES, WITH_THIRD_BRANCHES, with_missing
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tritree import (
    GrowthLimitError,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# ---- fitting and predicting


@pytest.mark.parametrize("missing", STRATEGIES)
def test_regressor_beats_the_mean_and_predicts_rows_with_missing_values(diabetes, missing):
    X, y = diabetes
    tree = TrinaryTreeRegressor(missing=missing, max_depth=3).fit(X, y)
    assert tree.score(X, y) > 0.4
    assert tree.score(with_missing(X), y) > 0.1
    assert np.isfinite(tree.predict(np.full((2, 10), np.nan))).all()


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_class_probabilities_add_up_to_one(iris, missing, criterion):
    X, y = iris
    tree = TrinaryTreeClassifier(missing=missing, criterion=criterion, min_samples_leaf=5).fit(X, y)
    shares = tree.predict_proba(with_missing(X))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(tree.predict(with_missing(X)), tree.classes_[shares.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(tree.predict_log_proba(with_missing(X)), np.log(shares))
    assert tree.score(X, y) > 0.9


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", "c"]),
        np.array([10, 20, 30]),
        np.array([-1.0, 0.0, 1.0]),
        np.array(["x", "yy", "z"], dtype=object),
    ],
)
def test_classes_may_be_labels_of_any_type(iris, labels):
    X, y = iris
    tree = TrinaryTreeClassifier().fit(X, labels[y])
    np.testing.assert_array_equal(tree.classes_, labels)
    assert set(tree.predict(X)) <= set(labels)


def test_boolean_classes_stay_boolean(iris):
    X, y = iris
    assert TrinaryTreeClassifier().fit(X, y == 0).predict(X).dtype == bool


def test_no_depth_limit_grows_deeper_than_the_default(diabetes):
    X, y = diabetes
    shallow = TrinaryTreeRegressor(min_samples_leaf=2).fit(X, y)
    deep = TrinaryTreeRegressor(max_depth=None, min_samples_leaf=2).fit(X, y)
    assert shallow.get_depth() == 5 < deep.get_depth()


def test_column_vector_target_warns_as_scikit_learn_does(diabetes):
    X, y = diabetes
    with pytest.warns(DataConversionWarning):
        TrinaryTreeRegressor().fit(X, y[:, None])


@pytest.mark.parametrize("n_jobs", [1, 2, -1, -2, None])
def test_number_of_threads_does_not_change_predictions(diabetes, n_jobs):
    X, y = diabetes
    expected = TrinaryTreeRegressor(n_jobs=1).fit(X, y).predict(with_missing(X))
    np.testing.assert_array_equal(
        TrinaryTreeRegressor(n_jobs=n_jobs).fit(X, y).predict(with_missing(X)), expected
    )


def test_weights_move_the_mean(diabetes):
    X, y = diabetes
    weight = np.where(y > 150, 3.0, 1.0)
    tree = TrinaryTreeRegressor(max_depth=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(tree.predict(X[:1]), np.average(y, weights=weight))


# ---- parameters


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        ("missing", "drop", "missing must be one of 'trinary', .* got 'drop'"),
        ("criterion", "absolute_error", "criterion must be one of 'squared_error', got 'absolute_error'"),
        ("max_depth", -1, "max_depth must be an integer of at least 0, or None"),
        ("max_depth", 2.5, "max_depth must be an integer"),
        ("min_samples_leaf", 0, "min_samples_leaf must be an integer of at least 1"),
        ("min_samples_leaf", True, "min_samples_leaf must be an integer"),
        ("max_bins", 1, "max_bins must be an integer of at least 2 and at most 65,534"),
        ("max_bins", 65_535, "max_bins must be"),
        ("max_surrogates", -1, "max_surrogates must be"),
        ("split_on_missing", "yes", "split_on_missing must be True or False, got 'yes'"),
        ("n_jobs", 0, "n_jobs must be"),
        ("categorical_features", "all", "categorical_features must be 'from_dtype'"),
        ("categorical_features", ["age"], "the table has no column names; give positions"),
        ("categorical_features", [10], "the position 10; the table's columns are 0 to 9"),
        ("categorical_features", [True, False], "2 booleans for a table of 10 columns"),
    ],
)
def test_wrong_parameter_is_named_with_what_it_may_be(diabetes, parameter, value, says):
    with pytest.raises(ValueError, match=says):
        TrinaryTreeRegressor(**{parameter: value}).fit(*diabetes)


def test_numpy_numbers_are_parameters_too(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor(
        max_depth=np.int64(2), min_samples_leaf=np.int32(30), split_on_missing=np.bool_(False)
    )
    assert tree.fit(X, y).get_depth() == 2


# ---- state


def test_failed_fit_leaves_the_earlier_fit_usable(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    before, attributes = tree.predict(with_missing(X)), dict(vars(tree))
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="column 2 holds inf in row 3"):
        tree.fit(bad, y)
    with pytest.raises(ValueError, match="y is missing in row 0"):
        tree.fit(X[:, :4], np.full(len(y), np.nan))
    assert vars(tree) == attributes
    np.testing.assert_array_equal(tree.predict(with_missing(X)), before)


def test_refit_without_names_forgets_the_names(diabetes):
    pd = pytest.importorskip("pandas")
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(pd.DataFrame(X).add_prefix("column "), y)
    assert tree.feature_names_in_[0] == "column 0"
    assert not hasattr(tree.fit(X, y), "feature_names_in_")


def test_predicting_changes_nothing_one_can_see_in_the_estimator(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    before = dict(vars(tree))
    tree.predict(with_missing(X))
    _ = tree.feature_importances_
    assert tree.n_grown_ > 0
    assert vars(tree) == before


@pytest.mark.parametrize("attribute", ["tree_", "n_nodes_", "n_grown_", "feature_importances_"])
def test_attributes_of_a_fit_do_not_exist_before_it(attribute):
    assert not hasattr(TrinaryTreeRegressor(), attribute)


@pytest.mark.parametrize("method", ["grow_all", "detach", "to_text", "get_depth", "get_n_leaves"])
def test_methods_before_fit_raise(method):
    with pytest.raises(NotFittedError):
        getattr(TrinaryTreeClassifier(), method)()


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_of_a_half_grown_tree_predict_the_same(diabetes, missing, again):
    X, y = diabetes
    tree = TrinaryTreeRegressor(missing=missing).fit(with_missing(X, 0.1), y)
    tree.predict(with_missing(X[:20]))
    copied = again(tree)
    np.testing.assert_array_equal(copied.predict(with_missing(X)), tree.predict(with_missing(X)))


def test_joblib_round_trip_predicts_the_same(diabetes, tmp_path):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    joblib.dump(tree, tmp_path / "tree.joblib")
    for mode in (None, "r"):
        loaded = joblib.load(tmp_path / "tree.joblib", mmap_mode=mode)
        np.testing.assert_array_equal(loaded.predict(with_missing(X)), tree.predict(with_missing(X)))


def test_scikit_learn_tools_take_the_estimator(diabetes):
    X, y = diabetes
    X = with_missing(X)
    search = GridSearchCV(TrinaryTreeRegressor(), {"missing": list(STRATEGIES)}, cv=2).fit(X, y)
    assert search.best_params_["missing"] in STRATEGIES
    pipeline = make_pipeline(FunctionTransformer(), TrinaryTreeRegressor())
    assert cross_val_score(pipeline, X, y, cv=3, n_jobs=2).shape == (3,)
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


# ---- growth


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_rows_with_missing_values_grow_the_tree_and_complete_rows_do_not(diabetes, missing):
    X, y = diabetes
    tree = TrinaryTreeRegressor(missing=missing).fit(X, y)
    fitted = tree.n_nodes_
    tree.predict(X)
    assert (tree.n_nodes_, tree.n_grown_) == (fitted, 0)
    tree.predict(with_missing(X))
    assert tree.n_nodes_ == fitted + tree.n_grown_ > fitted


@pytest.mark.parametrize("missing", STRATEGIES)
def test_fully_grown_tree_predicts_the_same(diabetes, missing):
    X, y = diabetes
    lazy = TrinaryTreeRegressor(missing=missing, max_depth=2).fit(with_missing(X, 0.1), y)
    full = clone(lazy).fit(with_missing(X, 0.1), y).grow_all()
    np.testing.assert_array_equal(lazy.predict(with_missing(X)), full.predict(with_missing(X)))
    nodes = full.n_nodes_
    assert full.grow_all(max_nodes=1).n_nodes_ == nodes, "nothing is left to grow, so no limit is passed"


def test_growth_limit_is_an_error_that_keeps_what_was_grown():
    X, y = load_breast_cancer(return_X_y=True)
    tree = TrinaryTreeClassifier().fit(X, y)
    fitted, before = tree.n_nodes_, tree.predict_proba(with_missing(X))
    with pytest.raises(
        GrowthLimitError,
        match=r"nodes and .* branches still to grow.*max_nodes=2,000; in full it may have up to [0-9,]+ nodes",
    ):
        tree.grow_all(max_nodes=2_000)
    assert issubclass(GrowthLimitError, RuntimeError)
    assert tree.n_nodes_ > fitted
    np.testing.assert_array_equal(tree.predict_proba(with_missing(X)), before)


def test_interrupted_growth_leaves_a_tree_that_predicts_the_same(diabetes, monkeypatch):
    X, y = diabetes
    tree = TrinaryTreeRegressor(max_depth=4).fit(X, y)
    before = tree.predict(with_missing(X))
    fitted = tree.n_nodes_

    class Interrupt:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def __call__(self, nodes, ungrown):
            raise KeyboardInterrupt

    monkeypatch.setattr("tritree.estimators.growing_model.growth_progress", lambda _max_nodes: Interrupt())
    with pytest.raises(KeyboardInterrupt):
        tree.grow_all()
    assert tree.n_nodes_ > fitted
    np.testing.assert_array_equal(tree.predict(with_missing(X)), before)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_growth_shows_itself_on_a_terminal_and_nowhere_else(diabetes, capsys, monkeypatch, on_terminal):
    pytest.importorskip("rich")
    tree = TrinaryTreeRegressor(max_depth=2).fit(*diabetes)
    monkeypatch.setattr("sys.stderr.isatty", lambda: on_terminal)
    tree.grow_all()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("nodes" in printed.err) == on_terminal


@pytest.mark.parametrize("max_nodes", [0, 1.5, None, "many"])
def test_growth_limit_must_be_a_number_of_nodes(diabetes, max_nodes):
    with pytest.raises(ValueError, match="max_nodes must be an integer of at least 1"):
        TrinaryTreeRegressor().fit(*diabetes).grow_all(max_nodes=max_nodes)


def test_detached_tree_predicts_the_node_value_for_ungrown_branches_and_warns_once(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y).detach()
    nothing_known = np.full((3, X.shape[1]), np.nan)
    with pytest.warns(UngrownBranchWarning, match=r"call grow_for\(\) before that, .* or grow_all\(\)"):
        np.testing.assert_allclose(tree.predict(nothing_known), y.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.predict(nothing_known)
        tree.predict(X)
    assert tree.n_grown_ == 0
    with pytest.raises(RuntimeError, match="fit again"):
        tree.grow_all()


def test_grown_then_detached_tree_predicts_as_before_without_a_word(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor(max_depth=2).fit(X, y).grow_all()
    before = tree.predict(with_missing(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tree.detach().predict(with_missing(X)), before)


def test_detached_tree_is_smaller_when_pickled(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    size = len(pickle.dumps(tree))
    tree.detach()
    assert len(pickle.dumps(tree)) < size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict(X), tree.predict(X))


@pytest.mark.threads
def test_many_threads_may_predict_at_once(diabetes):
    X, y = diabetes
    quiet = TrinaryTreeRegressor(n_jobs=1).fit(X, y)
    expected = [quiet.predict(with_missing(X, seed=seed)) for seed in range(8)]
    shared = TrinaryTreeRegressor(n_jobs=2).fit(X, y)
    found = [None] * 8

    def ask(seed):
        found[seed] = shared.predict(with_missing(X, seed=seed))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert shared.n_nodes_ == quiet.n_nodes_


# ---- the tree


@pytest.mark.parametrize("missing", STRATEGIES)
def test_apply_gives_the_leaf_whose_value_is_predicted(diabetes, missing):
    X, y = diabetes
    tree = TrinaryTreeRegressor(missing=missing).fit(X, y)
    rows = X if missing == "fractional" else with_missing(X)
    leaves = tree.apply(rows)
    arrays = tree.tree_
    assert (arrays.column[leaves] == -1).all()
    np.testing.assert_array_equal(arrays.value[leaves, 0], tree.predict(rows))


def test_flat_arrays_have_one_entry_per_node(diabetes):
    tree = TrinaryTreeRegressor().fit(*diabetes)
    arrays = tree.tree_
    for field in (
        "column",
        "threshold",
        "left",
        "right",
        "third",
        "missing_to",
        "depth",
        "rows",
        "weight",
        "loss",
    ):
        assert len(getattr(arrays, field)) == tree.n_nodes_, field
    assert arrays.value.shape == (tree.n_nodes_, 1)
    assert tree.get_n_leaves() == (arrays.column == -1).sum()


@pytest.mark.parametrize("missing", STRATEGIES)
def test_importances_are_normalised_and_find_the_column_that_matters(missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    tree = TrinaryTreeRegressor(missing=missing).fit(with_missing(X, 0.1), np.sign(X[:, 2]))
    importances = tree.feature_importances_
    assert importances.argmax() == 2
    assert (importances >= 0).all()
    np.testing.assert_allclose(importances.sum(), 1)


def test_importances_of_a_single_leaf_are_zero(diabetes):
    X, y = diabetes
    np.testing.assert_array_equal(
        TrinaryTreeRegressor(max_depth=0).fit(X, y).feature_importances_, np.zeros(10)
    )


def test_importances_after_detach_must_have_been_computed_before(diabetes):
    tree = TrinaryTreeRegressor().fit(*diabetes)
    computed = clone(tree).fit(*diabetes)
    expected = computed.feature_importances_
    np.testing.assert_array_equal(computed.detach().feature_importances_, expected)
    tree.detach()
    with pytest.raises(AttributeError, match=r"access it once before detach\(\)"):
        _ = tree.feature_importances_


def test_importances_survive_pickling_of_a_detached_tree(diabetes):
    tree = TrinaryTreeRegressor().fit(*diabetes)
    expected = tree.feature_importances_
    copied = pickle.loads(pickle.dumps(tree.detach()))
    np.testing.assert_array_equal(copied.feature_importances_, expected)


# ---- the snapshot


def test_arrays_are_copied_once_while_nothing_grows(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    arrays = tree.tree_
    tree.predict(X)
    tree.get_depth(), tree.get_n_leaves(), tree.to_text()
    assert tree.tree_ is arrays
    assert tree.detach().tree_ is arrays


def test_arrays_do_not_change_when_the_tree_grows(diabetes):
    X, y = diabetes
    tree = TrinaryTreeRegressor().fit(X, y)
    before, nodes = tree.tree_, tree.n_nodes_
    tree.predict(with_missing(X))
    assert len(before.column) == nodes < tree.n_nodes_ == len(tree.tree_.column)
    assert tree.get_n_leaves() == (tree.tree_.column < 0).sum() > (before.column < 0).sum()


def test_arrays_are_not_pickled_with_the_model(diabetes):
    tree = TrinaryTreeRegressor().fit(*diabetes)
    size = len(pickle.dumps(tree))
    arrays = tree.tree_
    assert len(pickle.dumps(tree)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).tree_.value, arrays.value)


@pytest.mark.parametrize(
    ("max_depth", "min_samples_leaf", "size"),
    [(3, 1, r"up to [0-9,]+ nodes"), (None, 1, "far more"), (None, 200, r"up to 361 nodes")],
)
def test_growth_limit_error_has_the_size_of_the_fully_grown_tree(max_depth, min_samples_leaf, size):
    X, y = load_diabetes(return_X_y=True)
    tree = (
        TrinaryTreeRegressor(max_depth=max_depth, min_samples_leaf=min_samples_leaf)
        .fit(X, y)
        .set_params(max_depth=1)
    )
    with pytest.raises(GrowthLimitError, match=rf"in full it may have {size}"):
        tree.grow_all(max_nodes=tree.n_nodes_ + 1)
