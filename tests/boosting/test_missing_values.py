"""Boosting learns from and predicts rows with missing values, and grows third branches on demand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from boosting.tables import DIABETES, QUICK, coarse, coarse_target
from models import with_missing
from sklearn.model_selection import KFold

from tritree import (
    TrinaryBoostingRegressor,
    UngrownBranchWarning,
    load,
)
from tritree.validation import BOOSTING_STRATEGIES


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_predictions_with_missing_values_are_far_better_than_with_majority(loss: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6)) @ (np.eye(6) + 0.5)
    y = X[:, 0] * 2 + np.abs(X[:, 1]) + X[:, 2]
    errors = {}
    for missing in ("trinary_mia", "majority"):
        losses = []
        for train, test in KFold(3).split(X):
            model = TrinaryBoostingRegressor(loss=loss, missing=missing, max_iter=60, random_state=0)
            losses.append(
                np.mean(
                    (model.fit(X[train], y[train]).predict(with_missing(X[test], 0.4, seed=0)) - y[test]) ** 2
                )
            )
        errors[missing] = np.mean(losses)
    assert errors["trinary_mia"] < 0.6 * errors["majority"]


def test_row_without_any_value_is_predicted_about_the_mean() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    predicted = model.predict(np.full((1, 10), np.nan))[0]
    assert predicted == pytest.approx(model.predict(DIABETES[0]).mean(), rel=0.02)


def test_complete_rows_grow_nothing() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    model.predict(DIABETES[0])
    assert model.n_grown_ == 0


def test_training_rows_with_missing_values_are_learned_from() -> None:
    X, y = DIABETES
    rows = with_missing(X, 0.3, seed=0)
    for missing in BOOSTING_STRATEGIES:
        model = TrinaryBoostingRegressor(missing=missing, max_iter=60, random_state=0).fit(rows, y)
        assert model.score(rows, y) > 0.5, missing


def fraction_sent_third(model: TrinaryBoostingRegressor, columns: set[int]) -> float:
    """Return the fraction of splits on some columns that send missing values third, third branches left out."""
    trees = [model.estimators_.flat[i].to_dict() for i in range(model.n_iter_)]
    nodes = [node for tree in trees for node in tree["nodes"][: len(tree["nodes"]) - tree["n_grown"]]]
    splits = [node["split"] for node in nodes if node["split"] is not None]
    return float(np.mean([split["missing_to"] == "third" for split in splits if split["column"] in columns]))


def test_values_missing_at_random_join_no_side() -> None:
    X = coarse()
    model = TrinaryBoostingRegressor(**QUICK).fit(with_missing(X, 0.3, seed=0), coarse_target(X))
    assert fraction_sent_third(model, set(range(5))) > 0.9


def test_informative_missing_values_join_a_side() -> None:
    X = coarse()
    y = coarse_target(X)
    X[X[:, 0] > 25, 0] = np.nan
    assert fraction_sent_third(TrinaryBoostingRegressor(**QUICK).fit(X, y), {0}) < 0.2


def test_growth_has_a_limit_and_counts_how_often_it_was_met() -> None:
    model = TrinaryBoostingRegressor(max_third_nodes=50, **QUICK).fit(*DIABETES)
    with pytest.warns(UngrownBranchWarning, match="raise max_third_nodes"):
        model.predict(with_missing(DIABETES[0], 0.5, seed=0))
    assert model.n_ungrown_hits_ > 0
    # a branch that is begun is grown to its end
    assert 15 * 50 <= model.n_grown_ <= 15 * (50 + 15)


def test_detached_models_predict_rows_like_those_grown_for() -> None:
    Z = with_missing(DIABETES[0], 0.3, seed=0)
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
