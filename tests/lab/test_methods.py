"""Methods are made anew for each data set, and the plain baseline says no more than it knows."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.lab.author import AuthorClassifier, AuthorRegressor
from tritree.lab.methods import DiscardIncomplete, Methods

N = 60
TABLE = pd.DataFrame({"a": np.arange(N, dtype=float), "b": np.arange(N) % 7.0})
HOLED = TABLE.mask(np.arange(N)[:, None] % 3 == [0, 1])


def test_strategies_get_the_depth_and_the_options() -> None:
    tree = Methods({"x": "mia"}, split_on_missing=False).make("x", "regression", 3)
    wanted = {"missing": "mia", "max_depth": 3, "split_on_missing": False, "min_samples_leaf": 20}
    assert wanted.items() <= tree.get_params().items()


def test_criterion_is_for_classes_only() -> None:
    methods = Methods({"x": "trinary"}, criterion="gini")
    assert methods.make("x", "classification", 2).criterion == "gini"
    assert methods.make("x", "regression", 2).criterion == "squared_error"


def test_trees_grow_as_the_authors_only_where_asked() -> None:
    for as_author, kinds in (
        (True, (AuthorRegressor, AuthorClassifier)),
        (False, (TrinaryTreeRegressor, TrinaryTreeClassifier)),
    ):
        methods = Methods({"x": "fractional"}, as_author=as_author)
        assert tuple(type(methods.make("x", task, 2)) for task in ("regression", "classification")) == kinds


def test_estimators_are_taken_as_they_are() -> None:
    mine = DecisionTreeRegressor(max_depth=7)
    made = Methods({"mine": mine}).make("mine", "regression", 2)
    assert made is not mine
    assert made.max_depth == 7


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method 'x' is 'trinay'; a method is one of 'trinary'"):
        Methods({"x": "trinay"})
    with pytest.raises(ValueError, match="an estimator with fit and predict"):
        Methods({"x": 3})


def test_incomplete_rows_get_the_training_mean() -> None:
    y = 3 * TABLE["a"].to_numpy() + 1
    model = DiscardIncomplete(LinearRegression()).fit(HOLED, y)
    answers = model.predict(HOLED)
    holes = HOLED.isna().any(axis=1).to_numpy()
    np.testing.assert_allclose(answers[holes], y.mean())
    np.testing.assert_allclose(answers[~holes], y[~holes])


def test_incomplete_rows_get_the_shares_of_the_classes() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high")
    model = DiscardIncomplete(DecisionTreeClassifier()).fit(HOLED, y)
    shares = model.predict_proba(HOLED)
    holes = HOLED.isna().any(axis=1).to_numpy()
    np.testing.assert_allclose(shares[holes], [[40 / 60, 20 / 60]] * holes.sum())
    assert (model.predict(HOLED)[~holes] == y[~holes]).all()


def test_class_that_complete_rows_lack_gets_nothing_there() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high").astype(object)
    y[0] = "rare"  # an incomplete row
    model = DiscardIncomplete(DecisionTreeClassifier()).fit(HOLED, y)
    shares = model.predict_proba(TABLE)
    assert shares.shape == (N, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares[:, list(model.classes_).index("rare")] == 0).all()


def test_without_a_complete_row_all_rows_get_the_mean() -> None:
    nothing = TABLE.assign(b=np.nan)
    model = DiscardIncomplete(LinearRegression()).fit(nothing, TABLE["a"])
    np.testing.assert_allclose(model.predict(TABLE), TABLE["a"].mean())


def brute_force(X: np.ndarray, y: np.ndarray, least: int) -> tuple[int, float]:
    """The column and threshold whose parts have the least loss, each cross-entropy times its rows."""

    def loss(labels: np.ndarray, shares: np.ndarray | None = None) -> float:
        if not len(labels):
            return 0.0
        own = np.bincount(labels, minlength=2) / len(labels)
        shares = own if shares is None else shares
        return -len(labels) * np.log(shares[labels]).sum()

    node = np.bincount(y) / len(y)
    best = (np.inf, -1, np.nan)
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        values = np.unique(X[seen, j])
        for low, high in itertools.pairwise(values):
            left, right = y[seen & (X[:, j] <= low)], y[seen & (X[:, j] > low)]
            if min(len(left), len(right)) >= least:
                best = min(best, (loss(left) + loss(right) + loss(y[~seen], node), j, (low + high) / 2))
    return best[1], best[2]


@pytest.mark.parametrize("seed", range(12))
def test_criterion_of_the_papers_runs_takes_the_split_it_should(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(80, 3)).astype(float)
    y = (X[:, 0] + rng.normal(scale=3, size=80) > 4).astype(int)
    X[rng.random(X.shape) < 0.25] = np.nan
    model = AuthorClassifier(missing="trinary", max_depth=1, min_samples_leaf=4)
    tree = model.fit(X, y).tree_
    assert (tree.column[0], tree.threshold[0]) == brute_force(X, y, 4)


@pytest.mark.parametrize(("kind", "splits"), [(TrinaryTreeRegressor, False), (AuthorRegressor, True)])
def test_missing_rows_count_on_both_sides_in_the_papers_runs_only(kind: type, splits: bool) -> None:
    # three observed on the left, seven on the right, ten missing: by their shares six and fourteen rows,
    # counted twice thirteen and seventeen
    X = np.array([[0.0]] * 3 + [[1.0]] * 7 + [[np.nan]] * 10)
    y = np.nan_to_num(X[:, 0], nan=0.7)
    tree = kind(missing="fractional", min_samples_leaf=7).fit(X, y)
    assert (tree.tree_.column[0] == 0) == splits
