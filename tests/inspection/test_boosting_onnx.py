"""onnxruntime predicts with exported boosting what the model predicts, as far as it is grown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE, boosted

from tritree import (
    GrowthLimitError,
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    UngrownBranchWarning,
    UngrownExportWarning,
)
from tritree.validation import BOOSTING_STRATEGIES, REGRESSION_LOSSES

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from inspection.test_onnx import feed, learnable, mixed_frame, rows_to_predict, run, target  # noqa: E402

NUMBERS = np.random.default_rng(2).normal(size=(400, 4))
SIGNAL = NUMBERS[:, 0] + NUMBERS[:, 1] * (NUMBERS[:, 2] > 0)
WITH_HOLES = np.where(np.random.default_rng(3).random(NUMBERS.shape) < 0.3, np.nan, NUMBERS)
#: A row that goes both ways has no place in ONNX.
EXPORTED = [missing for missing in BOOSTING_STRATEGIES if missing != "fractional"]
QUICK: dict[str, Any] = {"max_iter": 10, "max_depth": 3, "min_samples_leaf": 5, "random_state": 0}


def assert_same(model: Any, X: Any) -> None:
    """Check that the exported model predicts the rows as the model does."""
    found = run(model.to_onnx(), X)
    if not hasattr(model, "classes_"):
        # sums are the same; an exponential is not everywhere computed to the last bit
        few = 0 if model.loss not in ("poisson", "gamma") else 1e-15
        np.testing.assert_allclose(found[0], model.predict(X), rtol=few, atol=0)
        return
    label, probabilities = found
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize("missing", EXPORTED)
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_regression_of_every_loss_predicts_the_same(loss: str, missing: str) -> None:
    y = np.exp(SIGNAL / 2) if loss in ("poisson", "gamma") else SIGNAL
    model = TrinaryBoostingRegressor(loss=loss, missing=missing, **QUICK).fit(WITH_HOLES, y)
    assert_same(model.grow_for(WITH_HOLES), WITH_HOLES)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classes_are_predicted_the_same(n_classes: int) -> None:
    y = np.digitize(SIGNAL, np.quantile(SIGNAL, np.arange(1, n_classes) / n_classes))
    model = TrinaryBoostingClassifier(**QUICK).fit(NUMBERS, y)
    assert_same(model.grow_for(WITH_HOLES), WITH_HOLES)


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_with_text_are_predicted_the_same(kind: str, training: Any) -> None:
    assert_same(boosted(kind, training).grow_for(ROWS), ROWS)


@pytest.mark.parametrize("missing", EXPORTED)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_every_kind_of_column_and_what_training_never_saw(task: str, missing: str) -> None:
    frame = mixed_frame(missing_rate=0.1)
    kind = TrinaryBoostingRegressor if task == "regression" else TrinaryBoostingClassifier
    model = kind(missing=missing, **QUICK).fit(learnable(frame), target(frame, task))
    rows = rows_to_predict()
    expected = learnable(rows)
    model.grow_for(expected)
    exported = model.to_onnx()
    found = run(exported, rows)
    assert len(feed(exported, rows)) == rows.shape[1]
    if task == "regression":
        np.testing.assert_array_equal(found[0], model.predict(expected))
    else:
        np.testing.assert_allclose(found[1], model.predict_proba(expected), rtol=1e-12)
        np.testing.assert_array_equal(found[0], model.predict(expected))


def test_branch_that_is_not_grown_predicts_its_node() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    model.detach()
    with pytest.warns(UngrownExportWarning, match="the training rows are gone"):
        exported = model.to_onnx()
    with pytest.warns(UngrownBranchWarning):
        expected = model.predict(WITH_HOLES)
    np.testing.assert_array_equal(run(exported, WITH_HOLES)[0], expected)


def test_export_grows_nothing() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    model.to_onnx()
    assert model.n_grown_ == 0


def test_many_trees_in_one_batch_and_row_by_row_are_the_same() -> None:
    model = TrinaryBoostingRegressor(max_iter=150, random_state=0).fit(NUMBERS, SIGNAL)
    exported = model.to_onnx(rows=NUMBERS)
    together = run(exported, NUMBERS)[0]
    np.testing.assert_array_equal(together, model.predict(NUMBERS))
    np.testing.assert_array_equal([run(exported, row[None])[0][0] for row in NUMBERS[:5]], together[:5])


def test_trees_without_splits_are_exported() -> None:
    model = TrinaryBoostingRegressor(max_iter=3).fit(np.zeros((50, 2)), np.arange(50.0))
    assert_same(model, np.array([[1.0, np.nan], [0.0, 0.0]]))


def test_class_labels_keep_their_type() -> None:
    model = TrinaryBoostingClassifier(**QUICK).fit(NUMBERS, SIGNAL > 0)
    label, _ = run(model.to_onnx(), NUMBERS)
    assert label.dtype == bool


def test_fractional_is_refused_with_what_to_do() -> None:
    model = TrinaryBoostingRegressor(missing="fractional", **QUICK).fit(NUMBERS, SIGNAL)
    with pytest.raises(ValueError, match=r"follows both branches .* use another strategy, or to_dict"):
        model.to_onnx()


def test_too_many_nodes_are_refused_with_a_remedy() -> None:
    model = TrinaryBoostingRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    with pytest.raises(
        GrowthLimitError, match=r"more than max_nodes=20; pass max_nodes=\d+ or more, or fit fewer"
    ):
        model.to_onnx(max_nodes=20)


def test_large_scores_lose_no_digits() -> None:
    rng = np.random.default_rng(321)
    X = rng.normal(size=(120, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=120), [-0.5, 0.5])
    weight = 10 ** rng.uniform(-9, 9, 120)  # scores of rows with tiny weights move far
    model = TrinaryBoostingClassifier(
        missing="mia", learning_rate=0.5, l2_regularization=0, split_penalty=0, **QUICK
    )
    model.fit(X, y, sample_weight=weight)
    assert np.abs(model.decision_function(X)).max() > 1e7
    np.testing.assert_allclose(run(model.to_onnx(), X)[1], model.predict_proba(X), rtol=1e-12, atol=1e-15)
