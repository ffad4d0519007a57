"""Inconsistent files of format 1 are refused as those of the current format are.

Names of arrays and entries are those of format 1, which are no longer used elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serialization.make_stored import STORED
from serialization.samples import describe, description_and_arrays, drop, put, write_file

import tritree
from tritree import ModelFileError

TREE, FOREST, BOOSTING, FRACTIONAL = (
    "trinary_regressor",
    "forest_classifier",
    "boosting_classifier",
    "boosting_fractional",
)
FILES = sorted(path.stem.removeprefix("format1_") for path in STORED.glob("format1_*.tritree"))


def parts_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    description, arrays = description_and_arrays((STORED / f"format1_{name}.tritree").read_bytes())
    return description, {key: array.copy() for key, array in arrays.items()}


def refuse(path: Path, description: Any, arrays: Any) -> None:
    write_file(path, description, arrays)
    with pytest.raises(ModelFileError):
        tritree.load(path)


def swap_last_entry(name: str) -> Any:
    """Return a change that moves the last entry of an array from the first tree to the second."""

    def change(_: Any, arrays: dict[str, Any]) -> None:
        first, second = arrays[f"0.{name}"], arrays[f"1.{name}"]
        arrays[f"0.{name}"], arrays[f"1.{name}"] = first[:-1], np.concatenate([first[-1:], second])

    return change


CRAFTED: dict[str, list[Any]] = {
    TREE: [
        put("tree.left", 0, 0),
        put("tree.left", 0, 10**6),
        put("tree.right", 0, -1),
        put("tree.third", 0, -(2**31)),
        put("tree.depth", 0, 2**31 - 2),
        put("tree.value", 0, np.nan),
        put("tree.column", 0, 5),
        put("tree.share", 0, np.nan),
        put("tree.larger", 0, 2),
        put("tree.missing_to", 0, 3),
        put("tree.sets", 0, 2**64 - 1),
        put("growth.rung_low", slice(None), 60_000),
        put("growth.rung_threshold", slice(None), np.nan),
        put("growth.rung_missing_to", 0, 1),
        put("growth.base_weight_scale", 0, 0.0),
        put("growth.base_unusable_begin", 0, 1),
        put("growth.base_ladder_begin", -1, 10**6),
        put("growth.base_ladder_begin", 1, -1),
        put("growth.place_base", 1, 10**6),
        put("growth.codes_narrow", 0, 255),
        put("growth.column_n_codes", 1, 9),
        put("growth.y", 0, np.inf),
        drop("tree.left"),
        drop("tree.surrogate_begin"),
        drop("growth.y"),
        drop("growth.base_center"),
        describe("n_rows", None),
        describe("n_rows", 2**62),
        describe("n_rows", True),
        describe("n_fitted", True),
        describe("n_fitted", "7"),
        describe("n_fitted", 7.0),
        describe("n_fitted", [7]),
        describe("n_fitted", 10**6),
        describe("n_fitted", 10**30),
        describe("settings", {}),
        describe("settings", None),
        describe("settings", [["missing", "trinary"]]),
        describe("settings.missing", "nonsense"),
        describe("settings.missing", "mia"),
        describe("settings.max_depth", 10**100),
        describe("settings.seed", "0"),
        describe("settings.seed", -1),
        describe("settings.n_classes", 2),
        describe("estimator", None),
        describe("estimator", "classifier"),
        describe("estimator", "forest regressor"),
        describe("estimator", "boosting regressor"),
        lambda description, arrays: description["settings"].pop("max_surrogates"),
        lambda description, arrays: arrays.update({"code.pickle": np.zeros(3)}),
        lambda description, arrays: arrays.update({"trees.left": np.zeros(3)}),
        lambda description, arrays: arrays.update(importances=np.full(3, np.nan)),
    ],
    FOREST: [
        put("0.tree.left", 0, 10**6),
        put("1.tree.column", 0, 55),
        put("2.tree.value", 0, np.nan),
        put("0.growth.in_bag", 0, 10**6),
        put("0.growth.in_bag", -1, 0),
        put("0.growth.place_base", 1, 10**6),
        put("1.growth.base_ladder_begin", -1, 10**6),
        put("codes.column_n_codes", 1, 9),
        put("codes.codes_narrow", 0, 255),
        put("table.response", 0, 3),
        drop("table.response"),
        drop("codes.column_n_codes"),
        drop("2.tree.left"),
        drop("1.growth.base_center"),
        swap_last_entry("tree.left"),
        swap_last_entry("tree.value"),
        swap_last_entry("tree.surrogate_begin"),
        swap_last_entry("growth.rung_column"),
        describe("n_rows", None),
        describe("n_rows", 10),
        describe("trees", None),
        describe("trees", []),
        describe("trees", [None] * 3),
        describe("trees", {"0": {}}),
        describe("trees.0.n_fitted", 10**6),
        describe("trees.1.n_fitted", None),
        describe("trees.0.settings.max_features", 0.0),
        describe("trees.1.settings.missing", "mia"),
        describe("trees.2.settings.n_classes", 0),
        describe("trees.1.settings.seed", 2**64),
        describe("trees.1.settings.seed", None),
        describe("estimator", "forest regressor"),
        describe("estimator", "classifier"),
        lambda description, arrays: description["trees"].pop(),
        lambda description, arrays: description["trees"].append(description["trees"][0]),
    ],
    BOOSTING: [
        put("trees.left", 0, 10**6),
        put("trees.left", 0, 0),
        put("trees.third", 0, 2),
        put("trees.third", 0, -(2**31)),
        put("trees.column", 0, 77),
        put("trees.begin", slice(None), 60_000),
        put("trees.missing_to", 0, 9),
        put("trees.value", -1, np.nan),
        put("trees.doubt", 0, np.inf),
        put("trees.n_nodes", 0, 3),
        put("trees.n_nodes", 0, -1),
        put("trees.n_fitted", 0, 10**6),
        put("trees.n_fitted", 0, 1),
        put("trees.n_words", 0, 10**6),
        put("trees.larger", 0, 5),
        put("rows.n_codes", 0, 70_000),
        put("rows.n_codes", 0, 2**32 - 1),
        put("rows.categorical", 0, 1),
        put("rows.edges", 0, np.inf),
        put("rows.narrow", 1, 200),
        drop("trees.doubt"),
        drop("trees.n_nodes"),
        drop("rows.edges"),
        drop("rows.n_codes"),
        describe("plan", {}),
        describe("plan", None),
        describe("plan.max_depth", -1),
        describe("plan.missing", "surrogate"),
        describe("plan.l2", "none"),
        describe("plan.monotonic", [1]),
        describe("plan.measures_doubt", False),
        describe("plan.measures_doubt", "yes"),
        describe("plan.n_classes", 3),
        describe("plan.unknown", 3),
        describe("baseline", []),
        describe("baseline", ["x"]),
        describe("baseline", [0.0, 1.0]),
        describe("estimator", "boosting regressor"),
        describe("estimator", "forest classifier"),
        lambda description, arrays: description["plan"].pop("l2"),
        lambda description, arrays: arrays.update({"bins.edges": np.zeros(3)}),
    ],
    "boosting_regressor": [
        put("trees.set", slice(None), 10**9),
        put("trees.set", slice(None), 2**63 - 1),
        put("trees.set", slice(None), 2**63 - 4),
        put("trees.words", slice(None), 2**64 - 1),
        drop("trees.words"),
    ],
    FRACTIONAL: [
        put("trees.share", 0, 0.0),
        put("trees.share", 0, 1.0),
        put("trees.share", 0, np.nan),
        put("trees.weight", 0, -1.0),
        put("trees.weight", -1, np.inf),
        put("trees.missing_to", 0, 0),
        put("trees.missing_to", 0, 2),
        put("trees.missing_to", 0, 4),
        drop("trees.share"),
        drop("trees.weight"),
        describe("plan.missing", "majority"),
        describe("plan.missing", "trinary"),
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in CRAFTED.items() for change in changes]
)
def test_crafted_file_is_refused(name: str, change: Any, tmp_path: Path) -> None:
    description, arrays = parts_of(name)
    change(description, arrays)
    refuse(tmp_path / "crafted", description, arrays)


@pytest.mark.parametrize("name", CRAFTED)
def test_file_reassembled_from_its_parts_is_loaded(name: str, tmp_path: Path) -> None:
    assert tritree.load(write_file(tmp_path / "same", *parts_of(name))).n_features_in_ > 0


# the number of sampled rows is not stored, and what follows the last category set is not read
OF_ANY_LENGTH = ("in_bag", "sets")
OPTIONAL = ("growth.in_bag", "growth.base_partial", "table.weight", "importances")


@pytest.mark.parametrize("change", ["dtype", "shape", "first only", "one less", "one more"])
@pytest.mark.parametrize("name", FILES)
def test_array_of_another_shape_or_dtype_is_refused(name: str, change: str, tmp_path: Path) -> None:
    description, arrays = parts_of(name)
    for key, array in arrays.items():
        if not array.size or ("one" in change.split() and key.endswith(OF_ANY_LENGTH)):
            continue
        changed = {
            "dtype": array.astype(np.float32 if array.dtype.itemsize != 4 else np.int64),
            "shape": array.reshape(1, -1),
            "first only": array[:1] if len(array) > 1 else array[:0],
            "one less": array[:-1],
            "one more": np.append(array, array[-1:]),
        }[change]
        refuse(tmp_path / "crafted", description, arrays | {key: changed})


@pytest.mark.parametrize("name", FILES)
def test_file_without_an_entry_that_format_1_has_is_refused(name: str, tmp_path: Path) -> None:
    description, arrays = parts_of(name)
    for entry in set(description) - {"tritree"}:
        rest = {other: value for other, value in description.items() if other != entry}
        refuse(tmp_path / "crafted", rest, arrays)


@pytest.mark.parametrize("name", FILES)
def test_file_without_an_array_that_has_entries_is_refused(name: str, tmp_path: Path) -> None:
    description, arrays = parts_of(name)
    for key in [key for key, array in arrays.items() if array.size and not key.endswith(OPTIONAL)]:
        rest = {other: array for other, array in arrays.items() if other != key}
        refuse(tmp_path / "crafted", description, rest)
