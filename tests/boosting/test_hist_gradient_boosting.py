"""On complete rows, boosting predicts as scikit-learn's histogram gradient boosting does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boosting.tables import coarse, coarse_target
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss

from tritree import (
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
)

#: Scikit-learn's defaults, without what it does not have.
PLAIN: dict[str, Any] = {"max_features": 1.0, "min_samples_leaf": 20, "split_penalty": 0.0}


@pytest.mark.parametrize("missing", ["trinary_mia", "mia"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_regression_on_complete_rows_is_scikit_learns(loss: str, missing: str) -> None:
    X = coarse()
    y = np.exp(coarse_target(X) / 2) if loss in ("poisson", "gamma") else coarse_target(X)
    common = {"loss": loss, "quantile": 0.8, "max_iter": 12, "learning_rate": 0.2, "l2_regularization": 1.5}
    model = TrinaryBoostingRegressor(max_depth=4, missing=missing, **PLAIN, **common).fit(X, y)
    expected = HistGradientBoostingRegressor(
        max_depth=4, max_leaf_nodes=None, early_stopping=False, **common
    ).fit(X, y)
    # scikit-learn's derivatives are in single precision, which decides near ties
    assert np.mean(np.isclose(model.predict(X), expected.predict(X), rtol=1e-4, atol=1e-4)) > 0.99


def test_quantile_regression_fits_complete_rows_as_well_as_scikit_learns() -> None:
    # leaf values are interpolated quantiles in both, but here steps that would raise the loss are halved
    X = coarse()
    y = coarse_target(X)
    common: dict[str, Any] = {"loss": "quantile", "quantile": 0.8, "max_iter": 12, "learning_rate": 0.2}
    common |= {"l2_regularization": 1.5, "max_depth": 4}
    model = TrinaryBoostingRegressor(**PLAIN, **common).fit(X, y)
    expected = HistGradientBoostingRegressor(max_leaf_nodes=None, early_stopping=False, **common).fit(X, y)
    losses = [mean_pinball_loss(y, each.predict(X), alpha=0.8) for each in (model, expected)]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_complete_rows_are_scikit_learns(n_classes: int) -> None:
    X = coarse()
    y = np.digitize(coarse_target(X), np.quantile(coarse_target(X), np.arange(1, n_classes) / n_classes))
    common: dict[str, Any] = {"max_iter": 12, "learning_rate": 0.2, "l2_regularization": 0.0, "max_depth": 4}
    model = TrinaryBoostingClassifier(**PLAIN, **common).fit(X, y)
    expected = HistGradientBoostingClassifier(max_leaf_nodes=None, early_stopping=False, **common).fit(X, y)
    close = np.isclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-4).all(axis=1)
    assert np.mean(close) > 0.99
