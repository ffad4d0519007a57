"""Methods are made anew for each data set, and the plain baseline says no more than it knows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tritree import TrinaryTreeRegressor
from tritree.lab.identity import canonical_repr, package_versions
from tritree.lab.methods import CompleteCaseEstimator, Methods, fit_estimator

N = 60
TABLE = pd.DataFrame({"a": np.arange(N, dtype=float), "b": np.arange(N) % 7.0})
INCOMPLETE = TABLE.mask(np.arange(N)[:, None] % 3 == [0, 1])


def test_strategies_get_the_depth_and_the_options() -> None:
    tree = Methods({"x": "mia"}, split_on_missing=False).make("x", "regression", 3)
    wanted = {"missing": "mia", "max_depth": 3, "split_on_missing": False, "min_samples_leaf": 20}
    assert wanted.items() <= tree.get_params().items()


def test_criterion_is_for_classes_only() -> None:
    methods = Methods({"x": "trinary"}, criterion="gini")
    assert methods.make("x", "classification", 2).criterion == "gini"
    assert methods.make("x", "regression", 2).criterion == "squared_error"


def test_estimators_are_used_as_they_are() -> None:
    mine = DecisionTreeRegressor(max_depth=7)
    made = Methods({"mine": mine}).make("mine", "regression", 2)
    assert made is not mine
    assert made.max_depth == 7


def test_invalid_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method 'x' is 'trinay'; a method is one of 'trinary'"):
        Methods({"x": "trinay"})
    with pytest.raises(ValueError, match="an estimator with fit and predict"):
        Methods({"x": 3})


def test_incomplete_rows_get_the_training_mean() -> None:
    y = 3 * TABLE["a"].to_numpy() + 1
    model = CompleteCaseEstimator(LinearRegression()).fit(INCOMPLETE, y)
    predictions = model.predict(INCOMPLETE)
    incomplete = INCOMPLETE.isna().any(axis=1).to_numpy()
    np.testing.assert_allclose(predictions[incomplete], y.mean())
    np.testing.assert_allclose(predictions[~incomplete], y[~incomplete])


def test_incomplete_rows_get_the_class_frequencies() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high")
    model = CompleteCaseEstimator(DecisionTreeClassifier()).fit(INCOMPLETE, y)
    shares = model.predict_proba(INCOMPLETE)
    incomplete = INCOMPLETE.isna().any(axis=1).to_numpy()
    np.testing.assert_allclose(shares[incomplete], [[40 / 60, 20 / 60]] * incomplete.sum())
    assert (model.predict(INCOMPLETE)[~incomplete] == y[~incomplete]).all()


def test_class_that_complete_rows_lack_has_probability_0_there() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high").astype(object)
    y[0] = "rare"  # an incomplete row
    model = CompleteCaseEstimator(DecisionTreeClassifier()).fit(INCOMPLETE, y)
    shares = model.predict_proba(TABLE)
    assert shares.shape == (N, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares[:, list(model.classes_).index("rare")] == 0).all()


def test_without_a_complete_row_all_rows_get_the_mean() -> None:
    nothing = TABLE.assign(b=np.nan)
    model = CompleteCaseEstimator(LinearRegression()).fit(nothing, TABLE["a"])
    np.testing.assert_allclose(model.predict(TABLE), TABLE["a"].mean())


class OnlyNumbers(ClassifierMixin, BaseEstimator):
    """A classifier that takes 0, 1, 2 and so on for classes, and nothing else."""

    def fit(self, X: Any, y: Any) -> OnlyNumbers:
        if y.dtype.kind not in "iu" or set(y) != set(range(len(set(y)))):
            raise ValueError("Invalid classes")
        self.inner_ = DecisionTreeClassifier(max_depth=2).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize("classes", [("no", "yes", "maybe"), (1, 2, 3), (False, True), (5, 7)])
def test_classifier_that_accepts_only_numbers_gets_encoded_classes(classes: tuple[Any, ...]) -> None:
    y = np.array(classes)[np.arange(N) * len(classes) // N]
    model, plain = (
        fit_estimator(kind, TABLE, y, "classification")
        for kind in (OnlyNumbers(), DecisionTreeClassifier(max_depth=2))
    )
    assert list(model.classes_) == list(plain.classes_) == sorted(classes)
    np.testing.assert_array_equal(model.predict_proba(TABLE), plain.predict_proba(TABLE))


def test_classifier_that_accepts_labels_gets_them_unchanged() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high")
    model = fit_estimator(DummyClassifier(strategy="constant", constant="low"), TABLE, y, "classification")
    assert set(model.predict(TABLE)) == {"low"}


def test_class_that_complete_rows_lack_is_not_encoded() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high").astype(object)
    y[0] = "just one"  # an incomplete row; of all classes its number lies between those of the others
    shares = CompleteCaseEstimator(OnlyNumbers()).fit(INCOMPLETE, y).predict_proba(TABLE)
    np.testing.assert_array_equal(shares[:15], [[0, 0, 1]] * 15)
    np.testing.assert_array_equal(shares[25:], [[1, 0, 0]] * 35)


def test_both_errors_are_reported_if_encoded_classes_do_not_help() -> None:
    y = np.where(TABLE["a"] < 20, "low", "high")
    text = TABLE.assign(c="text")
    with pytest.raises(ValueError, match="Invalid classes; and with encoded class labels: could not convert"):
        fit_estimator(OnlyNumbers(), text, y, "classification")
    with pytest.raises(ValueError, match=r"^could not convert string to float: 'text'$"):
        fit_estimator(DecisionTreeClassifier(), text, y, "classification")


def test_different_methods_have_different_representations() -> None:
    zeros, other = np.zeros(3000), np.zeros(3000)
    other[1500] = 1  # which repr leaves out

    def times(factor: float) -> Callable[[Any], Any]:
        return lambda x: factor * x

    functions = [
        lambda x: x + 1,
        lambda x: x + 2,
        lambda x: x - 1,
        lambda x, by=1: x + by,
        lambda x, by=2: x + by,
        times(2),
        times(3),
        lambda x: (lambda y: y + 1)(x),
        lambda x: (lambda y: y + 2)(x),
        partial(np.clip, min=0),
        partial(np.clip, min=1),
        np.log1p,
        np.expm1,
        None,
    ]
    made = [FunctionTransformer(function) for function in functions]
    made += [FunctionTransformer(np.clip, kw_args={"min": array}) for array in (zeros, other, zeros.tolist())]
    made += [make_pipeline(StandardScaler(with_mean=mean), LinearRegression()) for mean in (True, False)]
    assert len({canonical_repr(one) for one in made}) == len(made)


def test_representation_omits_what_does_not_change_results() -> None:
    assert canonical_repr(RandomForestRegressor(n_jobs=1)) == canonical_repr(RandomForestRegressor(n_jobs=2))
    one, other = (make_pipeline(StandardScaler(), RandomForestRegressor(n_jobs=n)) for n in (1, 2))
    assert canonical_repr(one) == canonical_repr(other)
    assert canonical_repr(FunctionTransformer(lambda x: x + N)) == canonical_repr(
        FunctionTransformer(lambda x: x + N)
    )


def test_representation_of_a_function_includes_the_globals_it_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method = FunctionTransformer(lambda x: x + N)
    before = canonical_repr(method)
    monkeypatch.setitem(globals(), "N", N + 1)
    assert canonical_repr(method) != before


def test_mutually_recursive_functions_have_a_representation() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert "even" in canonical_repr(FunctionTransformer(even))


def test_representation_of_a_method_is_the_same_in_every_process() -> None:
    program = textwrap.dedent("""
        import numpy as np
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer
        from tritree import TrinaryTreeRegressor
        from tritree.lab.identity import canonical_repr
        near = lambda x, names={"a", "b", "c", "d"}: x if x in {"e", "f", "g", "h"} else np.log1p(x)
        transformer = FunctionTransformer(near, kw_args={"x": np.arange(5)})
        print(canonical_repr(make_pipeline(transformer, TrinaryTreeRegressor())))
    """)
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_versions_are_those_of_all_nested_packages() -> None:
    assert list(package_versions(TrinaryTreeRegressor())) == ["tritree"]
    method = CompleteCaseEstimator(make_pipeline(StandardScaler(), LinearRegression()))
    assert package_versions(method).items() >= {"sklearn": sklearn.__version__}.items()
    lightgbm = pytest.importorskip("lightgbm")
    boosting = make_pipeline(StandardScaler(), lightgbm.LGBMRegressor())
    assert list(package_versions(boosting)) == ["lightgbm", "sklearn", "tritree"]
