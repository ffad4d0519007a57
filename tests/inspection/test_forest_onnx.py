"""onnxruntime predicts with exported forests what they predict, to the last bit, as far as they are grown."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, KINDS, ROWS, TABLE
from forest import grown as forests

from tritree import (
    GrowthLimitError,
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    UngrownBranchWarning,
    UngrownExportWarning,
    load,
)

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from inspection.test_onnx import EXPORTED, feed, learnable, mixed_frame, rows_to_predict, run, target  # noqa: E402

NUMBERS = np.random.default_rng(2).normal(size=(400, 4))
SIGNAL = NUMBERS[:, 0] + NUMBERS[:, 1] * (NUMBERS[:, 2] > 0)
WITH_HOLES = np.where(np.random.default_rng(3).random(NUMBERS.shape) < 0.3, np.nan, NUMBERS)
#: Forests in which every split has a third branch, as in their ONNX models.
QUICK: dict[str, Any] = {"n_estimators": 7, "random_state": 0, "n_jobs": 1, "min_missing_third": 0}
grown = partial(forests.grown, min_missing_third=0)


def assert_same(forest: Any, X: Any) -> None:
    """Check that the exported model predicts the rows as the forest does."""
    found = run(forest.to_onnx(), X)
    if not hasattr(forest, "classes_"):
        np.testing.assert_array_equal(found[0], forest.predict(X))
        return
    label, probabilities = found
    np.testing.assert_array_equal(probabilities, forest.predict_proba(X))
    np.testing.assert_array_equal(label, forest.predict(X))


@pytest.mark.parametrize("n_classes", [0, 2, 3, 5])
@pytest.mark.parametrize("missing", EXPORTED)
def test_numbers_are_predicted_the_same(missing: str, n_classes: int) -> None:
    if n_classes:
        y = np.digitize(SIGNAL, np.quantile(SIGNAL, np.arange(1, n_classes) / n_classes))
        forest: Any = TrinaryForestClassifier(missing=missing, **QUICK).fit(WITH_HOLES, y)
    else:
        forest = TrinaryForestRegressor(missing=missing, max_features=0.5, **QUICK).fit(WITH_HOLES, SIGNAL)
    assert_same(forest.grow_for(WITH_HOLES), WITH_HOLES)


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_with_text_are_predicted_the_same(kind: str, training: Any) -> None:
    assert_same(grown(kind, training).grow_for(ROWS), ROWS)


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("kind", KINDS)
def test_splits_that_send_rows_both_ways_have_third_branches_in_the_exported_model(
    kind: str, training: Any
) -> None:
    forest = forests.grown(kind, training)
    *_, found = run(forest.to_onnx(rows=ROWS), ROWS)
    np.testing.assert_array_equal(
        found.reshape(len(ROWS), -1), forests.predictions(grown(kind, training), ROWS)
    )


@pytest.mark.parametrize("missing", EXPORTED)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_every_kind_of_column_and_what_training_never_saw(task: str, missing: str) -> None:
    frame = mixed_frame(missing_rate=0.1)
    kind: Any = TrinaryForestRegressor if task == "regression" else TrinaryForestClassifier
    forest = kind(missing=missing, max_depth=4, **QUICK).fit(learnable(frame), target(frame, task))
    rows = rows_to_predict()
    expected = learnable(rows)
    exported = forest.grow_for(expected).to_onnx()
    found = run(exported, rows)
    assert len(feed(exported, rows)) == rows.shape[1]
    if task == "regression":
        np.testing.assert_array_equal(found[0], forest.predict(expected))
    else:
        np.testing.assert_array_equal(found[1], forest.predict_proba(expected))
        np.testing.assert_array_equal(found[0], forest.predict(expected))


def test_branch_that_is_not_grown_predicts_its_node() -> None:
    forest = TrinaryForestRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    forest.detach()
    with pytest.warns(UngrownExportWarning, match="the training rows are gone"):
        exported = forest.to_onnx()
    with pytest.warns(UngrownBranchWarning):
        expected = forest.predict(WITH_HOLES)
    np.testing.assert_array_equal(run(exported, WITH_HOLES)[0], expected)


def test_forest_of_a_file_without_rows_is_exported(tmp_path: Any) -> None:
    forest = TrinaryForestClassifier(**QUICK).fit(NUMBERS, SIGNAL > 0).grow_for(WITH_HOLES)
    forest.save(tmp_path / "forest.tritree", training_rows=False)
    other = load(tmp_path / "forest.tritree")
    np.testing.assert_array_equal(run(other.to_onnx(), WITH_HOLES)[1], forest.predict_proba(WITH_HOLES))


def test_export_grows_nothing() -> None:
    forest = TrinaryForestRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    forest.to_onnx()
    assert forest.n_grown_ == 0


def test_many_trees_in_one_batch_and_row_by_row_are_the_same() -> None:
    forest = TrinaryForestRegressor(n_estimators=60, random_state=0).fit(NUMBERS, SIGNAL)
    exported = forest.to_onnx(rows=NUMBERS)
    together = run(exported, NUMBERS)[0]
    np.testing.assert_array_equal(together, forest.predict(NUMBERS))
    np.testing.assert_array_equal([run(exported, row[None])[0][0] for row in NUMBERS[:5]], together[:5])


def test_trees_without_splits_are_exported() -> None:
    forest = TrinaryForestRegressor(**QUICK).fit(np.zeros((50, 2)), np.arange(50.0))
    assert_same(forest, np.array([[1.0, np.nan], [0.0, 0.0]]))


def test_class_labels_keep_their_type() -> None:
    forest = TrinaryForestClassifier(**QUICK).fit(NUMBERS, SIGNAL > 0)
    label, _ = run(forest.to_onnx(), NUMBERS)
    assert label.dtype == bool


def test_too_many_nodes_are_refused_with_a_remedy() -> None:
    forest = TrinaryForestRegressor(**QUICK).fit(NUMBERS, SIGNAL)
    with pytest.raises(
        GrowthLimitError, match=r"more than max_nodes=20; pass max_nodes=\d+ or more, or fit fewer"
    ):
        forest.to_onnx(max_nodes=20)


def test_fractional_is_refused_with_what_to_do() -> None:
    forest = TrinaryForestRegressor(missing="fractional", **QUICK).fit(NUMBERS, SIGNAL)
    with pytest.raises(ValueError, match=r"follows both branches .* use another strategy, or to_dict"):
        forest.to_onnx()
