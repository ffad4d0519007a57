"""A loaded boosting model is the saved one, and inconsistent files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as deserialise
from serialization.samples import craft, describe, drop, put, trees_frame

import tritree
from tritree import ModelFileError, TrinaryBoostingClassifier, TrinaryBoostingRegressor

FRAME, Y = trees_frame(300)
INCOMPLETE = FRAME.mask(np.random.default_rng(1).random(FRAME.shape) < 0.4)
MODELS: dict[str, Any] = {
    "numbers": lambda: TrinaryBoostingRegressor(max_iter=8, random_state=0).fit(FRAME, Y),
    "bounds": lambda: TrinaryBoostingRegressor(
        max_iter=8, random_state=0, monotonic_cst={"size": 1}, missing="trinary"
    ).fit(FRAME, Y),
    "two": lambda: TrinaryBoostingClassifier(
        max_iter=8, random_state=0, class_weight={"no": 1.0, "yes": 3.0}
    ).fit(FRAME, np.where(Y > 2, "yes", "no")),
    "three": lambda: TrinaryBoostingClassifier(max_iter=4, random_state=0).fit(FRAME, np.digitize(Y, [1, 2])),
    "mia": lambda: TrinaryBoostingRegressor(max_iter=8, random_state=0, missing="mia").fit(FRAME, Y),
    "fractional": lambda: TrinaryBoostingRegressor(max_iter=8, random_state=0, missing="fractional").fit(
        FRAME, Y
    ),
}


def predictions(model: Any, table: pd.DataFrame) -> np.ndarray:
    return model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_predicts_and_grows_alike(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    predictions(model, INCOMPLETE[:40])  # grows some of the branches
    model.save(tmp_path / "model.tritree")
    again = tritree.load(tmp_path / "model.tritree")
    assert type(again) is type(model)
    assert again.n_grown_ == model.n_grown_
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(predictions(again, INCOMPLETE), predictions(model, INCOMPLETE))
    assert again.n_grown_ == model.n_grown_


def test_file_without_background_rows_predicts_what_was_grown(tmp_path: Path) -> None:
    model = MODELS["numbers"]()
    expected = model.predict(INCOMPLETE)
    model.save(tmp_path / "with.tritree")
    model.save(tmp_path / "without.tritree", training_rows=False)
    again = tritree.load(tmp_path / "without.tritree")
    np.testing.assert_array_equal(again.predict(INCOMPLETE), expected)
    assert again._model.core.is_detached
    arrays = deserialise((tmp_path / "without.tritree").read_bytes())
    assert "bins.bins8" not in arrays
    assert "bins.bins16" not in arrays
    with pytest.raises(ValueError, match="detach"):
        again.save(tmp_path / "again.tritree", training_rows=True)


def test_random_state_that_is_not_an_integer_is_not_saved(tmp_path: Path) -> None:
    model = TrinaryBoostingRegressor(max_iter=2, random_state=np.random.RandomState(0)).fit(FRAME, Y)
    model.save(tmp_path / "model.tritree")
    assert tritree.load(tmp_path / "model.tritree").random_state is None


def crafted(change: Any, tmp_path: Path, name: str = "numbers") -> Path:
    """Return the path of the file of a model after a change."""
    path = tmp_path / "crafted.tritree"
    model = MODELS[name]()
    model.predict(INCOMPLETE)
    model.save(path)
    return craft(path, change)


def numeric_splits(arrays: Any) -> Any:
    return (arrays["trees.column"] >= 0) & (arrays["trees.set_begin"] < 0)


def categorical_splits(arrays: Any) -> Any:
    return arrays["trees.set_begin"] >= 0


@pytest.mark.parametrize(
    "change",
    [
        put("trees.left", 0, 10**6),
        put("trees.left", 0, 0),
        put("trees.third", 0, 2),
        put("trees.first_right_bin", numeric_splits, 60_000),
        put("trees.threshold", numeric_splits, 123.0),
        put("trees.depth", 1, 2),
        put("trees.rows", 0, -1),
        put("trees.set_words", categorical_splits, 2),
        put("trees.set_words", categorical_splits, 2**31 - 1),
        put("trees.n_words", 0, 2**62),
        lambda description, arrays: arrays.update({"data.x": np.ones(3)}),
        lambda description, arrays: arrays.update({"ladders.column": np.full(3, 9)}),
        lambda description, arrays: arrays.update({"distributions.edges": np.ones(3)}),
        lambda description, arrays: arrays.update(
            {"trees.surrogate_begin": np.zeros(arrays["trees.n_nodes"].sum() + 8, np.int32)}
        ),
        put("trees.column", 0, 77),
        put("trees.missing_to", 0, 9),
        put("trees.value", -1, np.nan),
        put("trees.n_nodes", 0, 3),
        put("trees.n_fitted", 0, 10**6),
        put("trees.n_fitted", 0, 1),
        put("trees.larger_side", 0, 5),
        put("trees.set_begin", categorical_splits, 10**9),
        put("trees.set_begin", categorical_splits, 2**63 - 1),
        put("trees.set_begin", categorical_splits, 2**63 - 4),
        put("bins.n_bins", 0, 70_000),
        put("bins.categorical", 0, 1),
        put("bins.edges", 0, np.inf),
        put("bins.bins8", 1, 200),
        describe("growth_parameters.max_depth", -1),
        describe("growth_parameters.missing", "surrogate"),
        describe("growth_parameters.l2", "none"),
        describe("growth_parameters.monotonic", [1]),
        describe("growth_parameters.n_classes", 3),
        describe("growth_parameters.estimates_variance", True),
        describe("growth_parameters", {}),
        describe("baseline", []),
        describe("baseline", ["x"]),
        describe("baseline", [10**400]),
        describe("baseline", [float("nan")]),
        describe("baseline", [0.0, 1.0]),
        describe("estimator", "boosting classifier"),
        describe("parameters.max_iter", -3),
        describe("parameters.l2_regularization", 10**400),
    ],
)
def test_crafted_file_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(crafted(change, tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        put("trees.left_fraction", 0, 0.0),
        put("trees.left_fraction", 0, 1.0),
        put("trees.left_fraction", 0, -0.5),
        put("trees.left_fraction", 0, np.nan),
        put("trees.weight", 0, -1.0),
        put("trees.weight", -1, np.inf),
        put("trees.missing_to", 0, 0),
        put("trees.missing_to", 0, 2),
        put("trees.missing_to", 0, 4),
        put("trees.third", 0, 1),
        put("trees.left", 0, 0),
        put("trees.right", 0, 10**6),
        drop("trees.left_fraction"),
        drop("trees.weight"),
        describe("growth_parameters.missing", "majority"),
        describe("growth_parameters.missing", "trinary"),
    ],
)
def test_crafted_file_of_a_fractional_model_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(crafted(change, tmp_path, "fractional"))


@pytest.mark.parametrize("to", [0, 1, 2])
def test_fractional_split_that_sends_missing_to_one_branch_is_refused(to: int, tmp_path: Path) -> None:
    def change(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        put("trees.missing_to", 0, to)(description, arrays)
        put("trees.third", 0, arrays["trees.left" if to == 0 else "trees.right"][0])(description, arrays)

    with pytest.raises(ModelFileError):
        tritree.load(crafted(change, tmp_path, "fractional"))


@pytest.mark.parametrize("name", ["numbers", "fractional"])
def test_file_reassembled_from_its_parts_is_loaded(name: str, tmp_path: Path) -> None:
    model = tritree.load(crafted(lambda description, arrays: None, tmp_path, name))
    np.testing.assert_array_equal(model.predict(INCOMPLETE), MODELS[name]().predict(INCOMPLETE))


@pytest.mark.parametrize(
    "change",
    [
        describe("parameters.monotonic_cst", {"size": 1}),
        describe("parameters.class_weight", {"pairs": ["ab"]}),
        describe("parameters.class_weight", {"pairs": [["a", 1.0, 2.0]]}),
        describe("parameters.class_weight", {"pairs": [[["a"], 1.0]]}),
        describe("classes", {"type": "int64", "labels": [0]}),
    ],
)
def test_crafted_file_of_a_model_of_three_classes_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(crafted(change, tmp_path, "three"))
