"""A file that is not a model, damaged or inconsistent is refused with a reason."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import simulated
from safetensors.numpy import save as serialise
from serialization.samples import description_and_arrays, half_grown, mixed, same_tree, seal, write_file

import tritree
from tritree import ModelFileError

Description = dict[str, Any]
Arrays = dict[str, Any]
Craft = Callable[[Description, Arrays], None]


def stored(model: Any, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return stored(half_grown(*mixed(task="classification")), tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tritree"


def refusal(path: Path) -> str:
    """Return why a file is refused, without its path."""
    with pytest.raises(ModelFileError) as error:
        tritree.load(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_file_reassembled_from_its_parts_is_loaded(data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    again = tritree.load(write_file(path, description, arrays))
    assert same_tree(again, half_grown(*mixed(task="classification")))


def test_absent_file_is_not_found(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tritree.load(path)


def test_folder_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        tritree.load(tmp_path)


def header_of(size: int, rest: bytes = b"") -> bytes:
    return size.to_bytes(8, "little") + rest


OTHER_FILES = {
    "empty file": b"",
    "few bytes": b"\0\0\0",
    "text": b"a,b,c\n1,2,3\n" * 100,
    "zeros": bytes(1000),
    "pickle": pickle.dumps({"a": np.arange(1000)}),
    "header larger than any memory": header_of(2**63, b"{}"),
    "header without an end": header_of(100, b"{" * 100),
    "nested header": header_of(200_000, b"[" * 200_000),
    "header that is a list": header_of(2, b"[]"),
    "safetensors of another program": serialise({"weight": np.zeros((3, 3))}),
    "safetensors with other metadata": serialise({"weight": np.zeros(3)}, metadata={"format": "pt"}),
    "safetensors of no arrays": serialise({}, metadata={"tritree": "{}", "sha256": ""}),
}


@pytest.mark.parametrize("other", OTHER_FILES.values(), ids=OTHER_FILES)
def test_file_that_is_not_a_model_is_refused(other: bytes, path: Path) -> None:
    path.write_bytes(other)
    assert refusal(path)


def test_pickle_of_a_model_is_refused_and_not_run(path: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    path.write_bytes(pickle.dumps([half_grown(*simulated(100, 2)), Trap()]))
    assert "not a tritree model" in refusal(path)
    assert not (tmp_path / "ran").exists()


def test_truncated_file_is_refused(data: bytes, path: Path) -> None:
    for size in [*range(0, 64, 3), *range(64, len(data), 997), len(data) - 1]:
        path.write_bytes(data[:size])
        assert "damaged" in refusal(path) or "truncated" in refusal(path)
    assert (
        refusal(path)
        == f"damaged or truncated: it has {len(data) - 1:,} bytes, and its arrays end at {len(data):,}"
    )


def test_file_with_trailing_bytes_is_refused(data: bytes, path: Path) -> None:
    path.write_bytes(data + b"\0")
    assert "damaged" in refusal(path)


def test_altered_array_does_not_match_the_checksum(data: bytes, path: Path) -> None:
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "do not match its checksum" in refusal(path)


def test_altered_description_does_not_match_the_checksum(data: bytes, path: Path) -> None:
    assert data.count(b"green") == 1
    path.write_bytes(data.replace(b"green", b"blues"))
    assert "do not match its checksum" in refusal(path)


def test_array_that_reaches_beyond_the_file_is_refused(data: bytes, path: Path) -> None:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["trees.left"] |= {"shape": [2**40], "data_offsets": [0, 2**42]}
    text = json.dumps(header).encode()
    path.write_bytes(header_of(len(text), text) + data[8 + size :])
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("version", [3, 10**9])
def test_error_about_a_newer_format_names_the_writer_and_the_remedy(
    version: int, data: bytes, path: Path
) -> None:
    description, arrays = description_and_arrays(data)
    description |= {"format": version, "tritree": "9.8.7"}
    reason = refusal(write_file(path, description, arrays))
    assert f"'9.8.7' in format {version}" in reason
    assert "upgrade tritree" in reason


def test_file_of_an_unknown_format_is_refused(data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    assert "save the model again" in refusal(write_file(path, description | {"format": 0}, arrays))


@pytest.mark.parametrize(
    "description", ["", "{", "[]", "null", "1", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"]
)
def test_description_that_is_not_a_json_object_is_refused(description: str, data: bytes, path: Path) -> None:
    path.write_bytes(seal(description, description_and_arrays(data)[1]))
    assert refusal(path)


def test_missing_entry_of_the_description_is_named(data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    for name in set(description) - {"tritree"}:  # which is for people, and messages
        rest = {other: value for other, value in description.items() if other != name}
        assert f"has no entry {name!r}" in refusal(write_file(path, rest, arrays))


def test_missing_array_is_refused(data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    for name in arrays:
        rest = {other: array for other, array in arrays.items() if other != name}
        assert "arrays are inconsistent" in refusal(write_file(path, description, rest))


@pytest.mark.parametrize("part", ["trees", "ladders", "data"])
def test_missing_part_is_refused(part: str, data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    rest = {name: array for name, array in arrays.items() if not name.startswith(f"{part}.")}
    assert re.search("trees is absent|incomplete", refusal(write_file(path, description, rest)))


@pytest.mark.parametrize("name", ["bins.n_bins", "bins.x", "bins", "tree.left", "growth.y", "trees", ""])
def test_array_of_another_family_or_format_is_refused(name: str, data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    refusal(write_file(path, description, arrays | {name: np.zeros(3)}))


@pytest.mark.parametrize("change", ["dtype", "shape", "one less", "one more"])
def test_array_of_another_shape_or_dtype_is_refused(change: str, data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    for name, array in arrays.items():
        changed = {
            "dtype": array.astype(np.float32 if array.dtype.itemsize != 4 else np.int64),
            "shape": array.reshape(1, -1),
            "one less": array[:-1],
            "one more": np.append(array, array[-1:]),
        }[change]
        assert "arrays are inconsistent" in refusal(write_file(path, description, arrays | {name: changed}))


# Files with a valid checksum and wrong contents


def change(arrays: Arrays, name: str, position: int, value: Any) -> None:
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value


def cycle(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.left", int(arrays["trees.left"][0]), 0)


def node_that_is_its_own_child(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.left", 0, 0)


def child_past_the_end(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.right", 0, len(arrays["trees.right"]))


def child_below_all_indices(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.third", 0, -(2**31))


def two_parents(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.right", 0, arrays["trees.left"][0])


def depth_near_the_largest_integer(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.depth", 0, 2**31 - 2)


def leaf_as_deep_as_its_parent(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.depth", int(arrays["trees.left"][0]), 0)


def nan_value(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.value", 0, np.nan)


def threshold_beyond_all_ranks(description: Description, arrays: Arrays) -> None:
    for name in ("trees.threshold", "ladders.threshold"):
        column = arrays[name.replace("threshold", "column")]
        arrays[name] = np.where(column == 2, 7.5, arrays[name])


def set_with_an_unknown_category(description: Description, arrays: Arrays) -> None:
    for name in ("trees.sets", "ladders.sets"):
        arrays[name] = arrays[name].copy()
        arrays[name][::2] |= np.uint64(1 << 63)  # of the left side, which has one word


def column_past_the_end(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.column", 0, 5)


def fewer_columns(description: Description, arrays: Arrays) -> None:
    description["columns"].pop()
    description["names"].pop()


def no_columns(description: Description, arrays: Arrays) -> None:
    description["columns"] = []


def columns_that_are_null(description: Description, arrays: Arrays) -> None:
    description["columns"] = [None] * 5


def unknown_column_type(description: Description, arrays: Arrays) -> None:
    description["columns"][0]["content"] = "colours"


def parameters_that_the_trees_were_not_grown_by(description: Description, arrays: Arrays) -> None:
    description["parameters"]["min_samples_leaf"] += 1


def names_that_repeat(description: Description, arrays: Arrays) -> None:
    description["names"][1] = description["names"][0]


def names_of_lists(description: Description, arrays: Arrays) -> None:
    description["names"] = [[name] for name in description["names"]]


def text_and_number_names(description: Description, arrays: Arrays) -> None:
    description["names"][0] = 1


def categories_out_of_order(description: Description, arrays: Arrays) -> None:
    description["columns"][1]["categories"].reverse()


def categories_that_repeat(description: Description, arrays: Arrays) -> None:
    description["columns"][1]["categories"][1] = description["columns"][1]["categories"][0]


def text_among_numbers(description: Description, arrays: Arrays) -> None:
    description["columns"][3]["categories"][-1] = "five"


def nan_category(description: Description, arrays: Arrays) -> None:
    description["columns"][3]["categories"][-1] = float("nan")


def more_categories(description: Description, arrays: Arrays) -> None:
    description["columns"][1]["categories"].append("žlutější")


def numbers_split_by_categories(description: Description, arrays: Arrays) -> None:
    description["columns"][0] |= {"categories": [1, 2, 3]}


def categories_split_by_a_threshold(description: Description, arrays: Arrays) -> None:
    description["columns"][1] |= {"categories": None, "order": description["columns"][1]["categories"]}


def fewer_classes(description: Description, arrays: Arrays) -> None:
    description["classes"]["labels"].pop()


def classes_that_repeat(description: Description, arrays: Arrays) -> None:
    description["classes"]["labels"] = [0, 0, 1]


def classes_beyond_their_type(description: Description, arrays: Arrays) -> None:
    description["classes"] = {"type": "int8", "labels": [0, 1, 1000]}


def classes_of_an_unsupported_dtype(description: Description, arrays: Arrays) -> None:
    description["classes"]["type"] = "S3,(100000,100000)f8"


def regressor_with_classes(description: Description, arrays: Arrays) -> None:
    description["estimator"] = "regressor"
    description["parameters"]["criterion"] = "squared_error"
    del description["parameters"]["class_weight"]


def unknown_estimator(description: Description, arrays: Arrays) -> None:
    description["estimator"] = "os.system"


def unknown_parameter(description: Description, arrays: Arrays) -> None:
    description["parameters"]["callback"] = "print"


def parameter_out_of_range(description: Description, arrays: Arrays) -> None:
    description["parameters"]["min_samples_leaf"] = 0


def parameter_that_is_an_object(description: Description, arrays: Arrays) -> None:
    description["parameters"]["n_jobs"] = {}


def unknown_strategy(description: Description, arrays: Arrays) -> None:
    description["growth_parameters"]["missing"] = "nonsense"


def boolean_instead_of_a_number(description: Description, arrays: Arrays) -> None:
    description["n_rows"] = True


def number_beyond_64_bits(description: Description, arrays: Arrays) -> None:
    description["growth_parameters"]["max_depth"] = 10**100


def more_nodes_fitted_than_there_are(description: Description, arrays: Arrays) -> None:
    change(arrays, "trees.n_fitted", 0, len(arrays["trees.left"]) + 1)


def absurd_number_of_rows(description: Description, arrays: Arrays) -> None:
    description["n_rows"] = 2**62


def no_number_of_rows(description: Description, arrays: Arrays) -> None:
    description["n_rows"] = None


def unknown_array(description: Description, arrays: Arrays) -> None:
    arrays["code.pickle"] = np.zeros(3)


def importances_of_too_few_columns(description: Description, arrays: Arrays) -> None:
    arrays["importances"] = np.ones(4)


def negative_importances(description: Description, arrays: Arrays) -> None:
    arrays["importances"] = -np.ones(5)


CRAFTED: dict[Craft, str] = {
    cycle: "child out of range",
    node_that_is_its_own_child: "child out of range",
    child_past_the_end: "child out of range",
    child_below_all_indices: "child out of range",
    two_parents: "node with two parents",
    depth_near_the_largest_integer: "depth of the root is not 0",
    leaf_as_deep_as_its_parent: "depth does not follow",
    nan_value: "value is not finite",
    threshold_beyond_all_ranks: "does not match its column",
    set_with_an_unknown_category: "does not match its column",
    column_past_the_end: "column index out of range",
    fewer_columns: "do not match the columns|column index out of range",
    no_columns: "no columns",
    columns_that_are_null: "not a JSON object",
    unknown_column_type: "'colours'",
    parameters_that_the_trees_were_not_grown_by: "min_samples_leaf of its trees is",
    names_that_repeat: "column names do not match",
    names_of_lists: "must be text or numbers",
    text_and_number_names: "column names do not match",
    categories_out_of_order: "'colour' are not sorted",
    categories_that_repeat: "'colour' are not sorted",
    text_among_numbers: "'shop' do not match its type",
    nan_category: "NaN is not JSON",
    more_categories: "categories do not match",
    numbers_split_by_categories: "categories do not match",
    categories_split_by_a_threshold: "categories do not match",
    fewer_classes: "classes do not match",
    classes_that_repeat: "not sorted",
    classes_beyond_their_type: "do not have the dtype",
    classes_of_an_unsupported_dtype: "unknown dtype",
    regressor_with_classes: "classes do not match",
    unknown_estimator: "'os.system'",
    unknown_parameter: "another version",
    parameter_out_of_range: "min_samples_leaf must be",
    parameter_that_is_an_object: "'n_jobs'",
    unknown_strategy: "nonsense",
    boolean_instead_of_a_number: "'n_rows'",
    number_beyond_64_bits: "max_depth",
    more_nodes_fitted_than_there_are: "wrong number of fitted nodes",
    absurd_number_of_rows: "wrong shape",
    no_number_of_rows: "incomplete",
    unknown_array: "'code.pickle'",
    importances_of_too_few_columns: "one number per column",
    negative_importances: "finite numbers of at least 0",
}


@pytest.mark.parametrize("craft", CRAFTED, ids=lambda craft: craft.__name__)
def test_crafted_file_is_refused_with_its_reason(craft: Craft, data: bytes, path: Path) -> None:
    description, arrays = description_and_arrays(data)
    description = copy.deepcopy(description)
    craft(description, arrays)
    reason = refusal(write_file(path, description, arrays))
    assert any(words in reason for words in CRAFTED[craft].split("|")), reason
