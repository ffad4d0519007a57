"""Iterations: staged predictions, early stopping, interruption and callbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boosting.tables import DIABETES, QUICK

from tritree import (
    TrinaryBoostingRegressor,
)


def test_staged_predictions_end_at_the_prediction() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(*DIABETES)
    stages = list(model.staged_predict(DIABETES[0]))
    assert len(stages) == model.n_iter_ == 15
    np.testing.assert_array_equal(stages[-1], model.predict(DIABETES[0]))


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


def test_no_progress_bar_is_shown_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    TrinaryBoostingRegressor(max_iter=2, verbose=True).fit(*DIABETES)
    assert capfd.readouterr() == ("", "")
