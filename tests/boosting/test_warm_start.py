"""A fit that continues has the trees of the one before it, and more like them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from boosting.tables import QUICK
from sklearn.datasets import load_diabetes

import tritree
import tritree.estimators.base_boosting as boosting
from tritree import TrinaryBoostingRegressor
from tritree.estimators.encoded_rows import EncodedRows

X, Y = load_diabetes(return_X_y=True)


def started(**parameters: Any) -> TrinaryBoostingRegressor:
    given = {"max_iter": 5, "max_depth": 2, "warm_start": True} | parameters
    return TrinaryBoostingRegressor(**given).fit(X, Y)


@pytest.mark.parametrize(
    "changed",
    [
        {"loss": "poisson"},
        {"missing": "majority"},
        {"max_depth": 8},
        {"max_features": 1.0},
        {"min_samples_leaf": 1},
        {"l2_regularization": 0},
        {"max_third_nodes": 1},
        {"monotonic_cst": [1] + [0] * 9},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_parameters_that_trees_share_must_not_change(changed: dict[str, Any]) -> None:
    (name,) = changed
    with pytest.raises(ValueError, match=f"which had {name}=.* set warm_start=False"):
        started().set_params(max_iter=10, **changed).fit(X, Y)


def test_learning_rate_may_change() -> None:
    slow, fast = (
        started(random_state=0).set_params(max_iter=10, learning_rate=rate).fit(X, Y).predict(X)
        for rate in (0.1, 0.5)
    )
    assert np.mean((Y - fast) ** 2) < np.mean((Y - slow) ** 2)


def test_fewer_iterations_than_fitted_are_refused() -> None:
    with pytest.raises(ValueError, match="max_iter=3 is less than the 5 iterations of the fitted model"):
        started().set_params(max_iter=3).fit(X, Y)


def test_rows_set_aside_stay_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    aside = []
    split = boosting.split_validation

    def watched(*args: Any, **kwargs: Any) -> tuple[EncodedRows, EncodedRows]:
        found = split(*args, **kwargs)
        aside.append(found[1].y)
        return found

    monkeypatch.setattr(boosting, "split_validation", watched)
    model = started(early_stopping=True)  # random_state=None
    model.set_params(max_iter=10).fit(X, Y)
    np.testing.assert_array_equal(*aside)


def test_loaded_model_continues_like_the_one_saved(tmp_path: Any) -> None:
    model = started(random_state=None, early_stopping=True)
    model.save(tmp_path / "model.tritree")
    again = tritree.load(tmp_path / "model.tritree")
    for one in (model, again):
        one.set_params(max_iter=9).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    with pytest.raises(ValueError, match="which had max_depth=2"):
        again.set_params(max_iter=12, max_depth=3).fit(X, Y)


def test_parameters_set_after_the_fit_do_not_change_what_it_predicts() -> None:
    model = started(random_state=0)
    before = model.predict(X)
    model.set_params(loss="poisson", missing="mia", max_depth=9)
    np.testing.assert_array_equal(model.predict(X), before)
    assert "logarithm" not in str(model.explain(X[:1])[0])


def test_model_whose_parameters_are_not_those_of_its_fit_is_not_saved(tmp_path: Any) -> None:
    model = started().set_params(loss="gamma")
    with pytest.raises(ValueError, match="loss was 'squared_error' in fit and is 'gamma' now"):
        model.save(tmp_path / "model.tritree")


def test_warm_start_continues_as_if_it_had_never_stopped() -> None:
    whole = TrinaryBoostingRegressor(**QUICK).fit(X, Y)
    parts = TrinaryBoostingRegressor(**(QUICK | {"max_iter": 6}), warm_start=True).fit(X, Y)
    parts.set_params(max_iter=15).fit(X, Y)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


def test_warm_start_may_continue_with_other_rows() -> None:
    frame = pd.DataFrame({"a": np.arange(200.0), "b": ["x", "y"] * 100})
    model = TrinaryBoostingRegressor(max_iter=5, warm_start=True, random_state=0).fit(frame, frame["a"])
    other = frame.assign(b=["z", "y"] * 100)  # a category that the first fit has not seen
    assert model.set_params(max_iter=9).fit(other, other["a"]).n_iter_ == 9


def test_iterations_that_do_not_improve_the_validation_score_are_dropped() -> None:
    model = started(random_state=0)
    worse = -Y  # what is learned from it makes the predictions of the validation rows worse
    model.set_params(max_iter=12, early_stopping=True).fit(X, worse, X_val=X, y_val=Y)
    assert (model.n_iter_, model.best_iteration_) == (5, 5)
    assert len(model.validation_scores_) == 7
