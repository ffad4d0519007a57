"""A loaded forest is the saved one, and inconsistent files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serialization.samples import craft, put, trees_frame

import tritree
from tritree import ModelFileError, TrinaryForestClassifier, TrinaryForestRegressor, UngrownBranchWarning

FRAME, Y = trees_frame(200)
INCOMPLETE = FRAME.mask(np.random.default_rng(1).random(FRAME.shape) < 0.4)
QUICK: dict[str, Any] = {"n_estimators": 4, "random_state": 0, "max_features": 0.5}
STRATEGIES = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate")


def make(missing: str = "trinary", weight: Any = None) -> TrinaryForestRegressor:
    return TrinaryForestRegressor(missing=missing, **QUICK).fit(FRAME, Y, weight)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_loaded_forest_predicts_and_grows_alike(missing: str, tmp_path: Path) -> None:
    forest = make(missing, np.linspace(0.5, 2, len(Y)))
    forest.predict(INCOMPLETE[:40])  # grows some of the branches
    forest.save(tmp_path / "forest.tritree")
    again = tritree.load(tmp_path / "forest.tritree")
    assert again.get_params() == forest.get_params()
    np.testing.assert_array_equal(again.predict(INCOMPLETE), forest.predict(INCOMPLETE))
    assert again.n_grown_ == forest.n_grown_


def test_loaded_forest_has_its_classes_and_weights(tmp_path: Path) -> None:
    labels = np.where(Y > 2, "high", "low")
    forest = TrinaryForestClassifier(class_weight={"high": 2.0, "low": 1.0}, **QUICK).fit(FRAME, labels)
    forest.save(tmp_path / "forest.tritree")
    again = tritree.load(tmp_path / "forest.tritree")
    np.testing.assert_array_equal(again.predict(INCOMPLETE), forest.predict(INCOMPLETE))
    assert again.class_weight == {"high": 2.0, "low": 1.0}


def test_file_without_training_rows_predicts_what_was_grown(tmp_path: Path) -> None:
    few = INCOMPLETE.iloc[:3]
    forest = make().grow_for(few)
    forest.save(tmp_path / "with.tritree")
    forest.save(tmp_path / "without.tritree", training_rows=False)
    again = tritree.load(tmp_path / "without.tritree")
    np.testing.assert_array_equal(again.predict(few), forest.predict(few))
    assert (tmp_path / "without.tritree").stat().st_size < (tmp_path / "with.tritree").stat().st_size
    with pytest.warns(UngrownBranchWarning):
        again.predict(INCOMPLETE)
    with pytest.raises(ValueError, match="training_rows=True"):
        again.save(tmp_path / "again.tritree", training_rows=True)


def crafted(change: Any, tmp_path: Path) -> Path:
    """Return the path of the file of a forest after a change."""
    path = tmp_path / "crafted.tritree"
    forest = make().grow_for(INCOMPLETE)
    assert forest.feature_importances_.sum() > 0  # so that they are saved, too
    forest.save(path)
    return craft(path, change)


def first_of(tree: int) -> Any:
    """Return a function that finds the first node of a tree in the arrays of a file."""
    return lambda arrays: arrays["trees.n_nodes"][:tree].sum()


@pytest.mark.parametrize(
    "change",
    [
        put("trees.left", 0, 10**6),
        put("trees.column", first_of(1), 55),
        put("trees.value", first_of(2), np.nan),
        put("trees.n_nodes", 0, 1),
        put("trees.n_nodes", 0, -1),
        put("trees.n_nodes", 3, 2**31 - 1),
        put("trees.n_words", 0, 2**62),
        put("trees.n_surrogates", 0, 1),
        put("trees.n_fitted", 0, 10**6),
        put("ladders.in_bag", 0, 10**6),
        put("ladders.in_bag", -1, 0),
        put("ladders.n_in_bag", 0, 10**6),
        put("ladders.n_in_bag", 0, -1),
        put("ladders.n_ladders", 0, 2**62),
        put("ladders.n_ladders", 0, 0),
        put("ladders.position_ladder", 1, 10**6),
        put("data.bins8", 0, 255),
        put("data.n_bins", 1, 9),
        put("data.y", 0, np.inf),
        put("importances", 0, np.nan),
        put("importances", 0, -1.0),
        lambda description, arrays: arrays.update(importances=np.ones(99)),
        lambda description, arrays: arrays.update({"importances.more": np.ones(3)}),
        lambda description, arrays: arrays.pop("data.y"),
        lambda description, arrays: arrays.pop("trees.left"),
        lambda description, arrays: arrays.pop("trees.seed"),
        lambda description, arrays: arrays.update({"trees.n_nodes": arrays["trees.n_nodes"][:-1]}),
        lambda description, arrays: description.update(n_rows=None),
        lambda description, arrays: description.update(n_rows=10),
        lambda description, arrays: description.update(estimator="forest classifier"),
        lambda description, arrays: description.update(estimator="regressor"),
        lambda description, arrays: description["growth_parameters"].update(max_features=0.0),
        lambda description, arrays: description["growth_parameters"].update(monotonic=[1, 0, 0]),
        lambda description, arrays: description["growth_parameters"].update(estimates_variance=True),
        lambda description, arrays: description["growth_parameters"].pop("l2"),
    ],
)
def test_crafted_file_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(crafted(change, tmp_path))


def test_file_reassembled_from_its_parts_is_loaded(tmp_path: Path) -> None:
    forest = tritree.load(crafted(lambda description, arrays: None, tmp_path))
    np.testing.assert_array_equal(forest.predict(INCOMPLETE), make().predict(INCOMPLETE))
