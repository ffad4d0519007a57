"""Columns that identify rows are not learned from, and a warning names them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tritree import (
    IdentifierWarning,
    TrinaryBoostingClassifier,
    TrinaryForestClassifier,
    TrinaryTreeClassifier,
)

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame({"x": RNG.normal(size=N), "kind": RNG.choice(list("abc"), N)})
Y = X["x"] + RNG.normal(size=N) > 0
NAMES = [f"Mr. {number}" for number in range(N)]
CABINS = np.array([f"C{number}" for number in RNG.integers(0, 600, N)])


@pytest.mark.parametrize(
    "model",
    [TrinaryTreeClassifier(), TrinaryForestClassifier(n_estimators=3), TrinaryBoostingClassifier(max_iter=3)],
)
def test_text_that_is_different_in_almost_every_row_is_left_out(model: Any) -> None:
    for column in (NAMES, CABINS):
        with pytest.warns(
            IdentifierWarning, match="column 'name' .* left out as an identifier; set drop_identifiers"
        ):
            model.set_params(random_state=0).fit(X.assign(name=column), Y)
        assert model.n_features_in_ == 3
        assert model.feature_importances_[2] == 0
        other = X.assign(name=list(reversed(column)))
        assert np.array_equal(model.predict(other), model.predict(X.assign(name=column)))


def test_identifiers_are_used_if_asked_for() -> None:
    table = X.assign(name=NAMES)
    for parameters in ({"drop_identifiers": False}, {"categorical_features": ["kind", "name"]}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = TrinaryTreeClassifier(min_samples_leaf=1, **parameters).fit(table, Y)
        assert tree.feature_importances_[2] > 0


def test_categories_with_several_rows_each_are_kept() -> None:
    cities = RNG.choice([f"city {number}" for number in range(123)], N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TrinaryTreeClassifier().fit(X.assign(city=cities), Y)


def test_table_without_anything_else_predicts_the_frequencies() -> None:
    with pytest.warns(IdentifierWarning):
        tree = TrinaryTreeClassifier().fit(pd.DataFrame({"name": NAMES}), Y)
    assert tree.predict_proba(pd.DataFrame({"name": ["new"]})).tolist() == [[1 - Y.mean(), Y.mean()]]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", np.arange(N) + 7),
        ("number", np.arange(N)[::-1]),
        ("number", RNG.permutation(N)),
        ("number", np.repeat(np.arange(N), 2)[10 : N + 10] + np.arange(N)),
        ("passenger_id", RNG.permutation(10**6)[:N]),
        ("PassengerId", RNG.permutation(10**6)[:N]),
    ],
)
def test_whole_numbers_like_identifiers_get_a_notice_and_are_used(name: str, values: Any) -> None:
    table = X.assign(**{name: values})
    with pytest.warns(
        IdentifierWarning, match=f"column '{name}' .* looks like an identifier; drop it if it is one"
    ):
        tree = TrinaryTreeClassifier().fit(table, Y)
    assert not tree._encoder.columns[2].categories


@pytest.mark.parametrize(
    "values", [RNG.integers(0, 90, N), RNG.permutation(10**6)[:N], np.sort(RNG.integers(0, 99, N))]
)
def test_other_whole_numbers_get_no_notice(values: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TrinaryTreeClassifier().fit(X.assign(income=values), Y)
