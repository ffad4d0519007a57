"""A file that is no model, or not one that can be trusted to be whole, is refused with a reason."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.samples import about_and_arrays, half_grown, mixed, same_tree, seal, write_file
from models import simulated
from safetensors.numpy import save as serialise

import tritree
from tritree import ModelFileError

About = dict[str, Any]
Arrays = dict[str, Any]
Craft = Callable[[About, Arrays], None]


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


def test_file_that_is_put_together_again_is_loaded(data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    again = tritree.load(write_file(path, about, arrays))
    assert same_tree(again, half_grown(*mixed(task="classification")))


def test_file_that_is_not_there_is_not_found(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tritree.load(path)


def test_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        tritree.load(tmp_path)


def header_of(size: int, rest: bytes = b"") -> bytes:
    return size.to_bytes(8, "little") + rest


STRANGERS = {
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


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_file_that_is_no_model_is_refused(stranger: bytes, path: Path) -> None:
    path.write_bytes(stranger)
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
        assert "damaged" in refusal(path) or "beginning" in refusal(path)


def test_longer_file_is_refused(data: bytes, path: Path) -> None:
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
    header["tree.left"] |= {"shape": [2**40], "data_offsets": [0, 2**42]}
    text = json.dumps(header).encode()
    path.write_bytes(header_of(len(text), text) + data[8 + size :])
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("version", [2, 10**9])
def test_file_of_a_newer_format_says_who_wrote_it_and_what_to_do(
    version: int, data: bytes, path: Path
) -> None:
    about, arrays = about_and_arrays(data)
    about |= {"format": version, "tritree": "9.8.7"}
    reason = refusal(write_file(path, about, arrays))
    assert f"'9.8.7' in format {version}" in reason
    assert "upgrade tritree" in reason


def test_file_of_a_format_that_never_was_is_refused(data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    assert "save the model again" in refusal(write_file(path, about | {"format": 0}, arrays))


@pytest.mark.parametrize(
    "about", ["", "{", "[]", "null", "1", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"]
)
def test_description_that_is_no_object_of_json_is_refused(about: str, data: bytes, path: Path) -> None:
    path.write_bytes(seal(about, about_and_arrays(data)[1]))
    assert refusal(path)


def test_absence_of_any_part_of_the_description_is_named(data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    for name in set(about) - {"tritree"}:  # which is for people, and messages
        rest = {other: value for other, value in about.items() if other != name}
        assert f"lacks {name!r}" in refusal(write_file(path, rest, arrays))


def test_absence_of_any_array_is_refused(data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    for name in arrays:
        rest = {other: array for other, array in arrays.items() if other != name}
        assert name.partition(".")[2] in refusal(write_file(path, about, rest))


# what lies behind the last item that is read does no harm
READ_AS_FAR_AS_NEEDED = {"tree.sets"}


@pytest.mark.parametrize("change", ["dtype", "shape", "one less", "one more"])
def test_array_of_another_shape_or_type_is_refused(change: str, data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    for name, array in arrays.items():
        changed = {
            "dtype": array.astype(np.float32 if array.dtype.itemsize != 4 else np.int64),
            "shape": array.reshape(1, -1),
            "one less": array[:-1],
            "one more": np.append(array, array[-1:] if array.size else np.zeros(1, array.dtype)),
        }[change]
        if (change == "one less" and not array.size) or (
            change == "one more" and name in READ_AS_FAR_AS_NEEDED
        ):
            continue
        assert "arrays do not fit" in refusal(write_file(path, about, arrays | {name: changed}))


# Files that are whole, and wrong


def change(arrays: Arrays, name: str, position: int, value: Any) -> None:
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value


def cycle(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.left", int(arrays["tree.left"][0]), 0)


def node_that_is_its_own_child(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.left", 0, 0)


def child_past_the_end(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.right", 0, len(arrays["tree.right"]))


def child_below_all_numbers(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.third", 0, -(2**31))


def two_parents(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.right", 0, arrays["tree.left"][0])


def depth_near_the_end_of_all_numbers(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.depth", 0, 2**31 - 2)


def leaf_as_deep_as_its_parent(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.depth", int(arrays["tree.left"][0]), 0)


def value_that_is_no_number(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.value", 0, np.nan)


def threshold_behind_all_ranks(about: About, arrays: Arrays) -> None:
    for name in ("tree.threshold", "growth.rung_threshold"):
        column = arrays[name.replace("threshold", "column")]
        arrays[name] = np.where(column == 2, 7.5, arrays[name])


def set_with_a_category_too_many(about: About, arrays: Arrays) -> None:
    for name in ("tree.sets", "growth.rung_sets"):
        arrays[name] = arrays[name] | np.uint64(1 << 63)


def column_past_the_end(about: About, arrays: Arrays) -> None:
    change(arrays, "tree.column", 0, 5)


def fewer_columns(about: About, arrays: Arrays) -> None:
    about["columns"].pop()
    about["names"].pop()


def no_columns(about: About, arrays: Arrays) -> None:
    about["columns"] = []


def columns_of_nothing(about: About, arrays: Arrays) -> None:
    about["columns"] = [None] * 5


def unknown_content(about: About, arrays: Arrays) -> None:
    about["columns"][0]["content"] = "dates"


def names_that_repeat(about: About, arrays: Arrays) -> None:
    about["names"][1] = about["names"][0]


def names_of_lists(about: About, arrays: Arrays) -> None:
    about["names"] = [[name] for name in about["names"]]


def text_and_number_names(about: About, arrays: Arrays) -> None:
    about["names"][0] = 1


def categories_out_of_order(about: About, arrays: Arrays) -> None:
    about["columns"][1]["categories"].reverse()


def categories_that_repeat(about: About, arrays: Arrays) -> None:
    about["columns"][1]["categories"][1] = about["columns"][1]["categories"][0]


def text_among_numbers(about: About, arrays: Arrays) -> None:
    about["columns"][3]["categories"][-1] = "five"


def number_that_is_none(about: About, arrays: Arrays) -> None:
    about["columns"][3]["categories"][-1] = float("nan")


def more_categories(about: About, arrays: Arrays) -> None:
    about["columns"][1]["categories"].append("žlutější")


def numbers_split_by_categories(about: About, arrays: Arrays) -> None:
    about["columns"][0] |= {"categories": [1, 2, 3]}


def categories_split_by_a_threshold(about: About, arrays: Arrays) -> None:
    about["columns"][1] |= {"categories": None, "order": about["columns"][1]["categories"]}


def fewer_classes(about: About, arrays: Arrays) -> None:
    about["classes"]["labels"].pop()


def classes_that_repeat(about: About, arrays: Arrays) -> None:
    about["classes"]["labels"] = [0, 0, 1]


def classes_beyond_their_type(about: About, arrays: Arrays) -> None:
    about["classes"] = {"type": "int8", "labels": [0, 1, 1000]}


def classes_of_code(about: About, arrays: Arrays) -> None:
    about["classes"]["type"] = "S3,(100000,100000)f8"


def regressor_with_classes(about: About, arrays: Arrays) -> None:
    about["estimator"] = "regressor"
    about["parameters"]["criterion"] = "squared_error"
    del about["parameters"]["class_weight"]


def unknown_estimator(about: About, arrays: Arrays) -> None:
    about["estimator"] = "os.system"


def unknown_parameter(about: About, arrays: Arrays) -> None:
    about["parameters"]["callback"] = "print"


def parameter_out_of_range(about: About, arrays: Arrays) -> None:
    about["parameters"]["min_samples_leaf"] = 0


def parameter_that_is_an_object(about: About, arrays: Arrays) -> None:
    about["parameters"]["n_jobs"] = {}


def unknown_strategy(about: About, arrays: Arrays) -> None:
    about["settings"]["missing"] = "nonsense"


def truth_for_a_number(about: About, arrays: Arrays) -> None:
    about["n_fitted"] = True


def number_beyond_all_types(about: About, arrays: Arrays) -> None:
    about["settings"]["max_depth"] = 10**100


def more_nodes_fitted_than_there_are(about: About, arrays: Arrays) -> None:
    about["n_fitted"] = len(arrays["tree.left"]) + 1


def absurd_number_of_rows(about: About, arrays: Arrays) -> None:
    about["n_rows"] = 2**62


def no_number_of_rows(about: About, arrays: Arrays) -> None:
    about["n_rows"] = None


def unknown_array(about: About, arrays: Arrays) -> None:
    arrays["code.pickle"] = np.zeros(3)


def importances_of_too_few_columns(about: About, arrays: Arrays) -> None:
    arrays["importances"] = np.ones(4)


def negative_importances(about: About, arrays: Arrays) -> None:
    arrays["importances"] = -np.ones(5)


CRAFTED: dict[Craft, str] = {
    cycle: "a child out of range",
    node_that_is_its_own_child: "a child out of range",
    child_past_the_end: "a child out of range",
    child_below_all_numbers: "a child out of range",
    two_parents: "a node with two parents",
    depth_near_the_end_of_all_numbers: "a depth of the root that is not 0",
    leaf_as_deep_as_its_parent: "a depth that does not follow",
    value_that_is_no_number: "does not fit its column",
    threshold_behind_all_ranks: "does not fit its column",
    set_with_a_category_too_many: "does not fit its column",
    column_past_the_end: "a column out of range",
    fewer_columns: "number of columns|column out of range",
    no_columns: "without columns",
    columns_of_nothing: "no object of JSON",
    unknown_content: "'dates'",
    names_that_repeat: "column names do not fit",
    names_of_lists: "neither text nor a number",
    text_and_number_names: "column names do not fit",
    categories_out_of_order: "'colour' are not in their order",
    categories_that_repeat: "'colour' are not in their order",
    text_among_numbers: "'shop' are not what it holds",
    number_that_is_none: "neither text nor a number",
    more_categories: "does not fit its column",
    numbers_split_by_categories: "does not fit its column",
    categories_split_by_a_threshold: "does not fit its column",
    fewer_classes: "classes do not fit",
    classes_that_repeat: "not in their order",
    classes_beyond_their_type: "not all of one type",
    classes_of_code: "unknown type",
    regressor_with_classes: "classes do not fit",
    unknown_estimator: "'os.system'",
    unknown_parameter: "another version",
    parameter_out_of_range: "min_samples_leaf must be",
    parameter_that_is_an_object: "'n_jobs'",
    unknown_strategy: "nonsense",
    truth_for_a_number: "'n_fitted'",
    number_beyond_all_types: "max_depth",
    more_nodes_fitted_than_there_are: "more nodes fitted than there are",
    absurd_number_of_rows: "wrong shape",
    no_number_of_rows: "not all there",
    unknown_array: "'code.pickle'",
    importances_of_too_few_columns: "one share per column",
    negative_importances: "one share per column",
}


@pytest.mark.parametrize("craft", CRAFTED, ids=lambda craft: craft.__name__)
def test_crafted_file_is_refused_with_its_reason(craft: Craft, data: bytes, path: Path) -> None:
    about, arrays = about_and_arrays(data)
    about = copy.deepcopy(about)
    craft(about, arrays)
    reason = refusal(write_file(path, about, arrays))
    assert any(words in reason for words in CRAFTED[craft].split("|")), reason
