"""A file that would cost more than a model of its size is refused before it does."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from serialization.samples import description_and_arrays, half_grown, mixed, write_file
from serialization.test_refusal import header_of, refusal

import tritree

Header = dict[str, Any]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Header, bytes]:
    """Return the header of a file, and the bytes after it."""
    path = tmp_path_factory.mktemp("whole") / "model"
    half_grown(*mixed(80)).save(path)
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def refusal_and_memory(path: Path, header: Header, rest: bytes) -> tuple[str, float]:
    """Return why a file is refused, and its memory as a multiple of the size of the file."""
    text = json.dumps(header).encode()
    path.write_bytes(header_of(len(text), text + rest))
    tracemalloc.start()
    try:
        reason = refusal(path)
        return reason, tracemalloc.get_traced_memory()[1] / len(text)
    finally:
        tracemalloc.stop()


def test_header_with_many_arrays_is_refused_before_it_is_parsed(
    parts: tuple[Header, bytes], tmp_path: Path
) -> None:
    empty = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    header = parts[0] | {f"trees.x{i}": empty for i in range(20_000)}
    reason, memory = refusal_and_memory(tmp_path / "model", header, parts[1])
    assert "list of arrays has 1" in reason
    assert "the limit is 20,000" in reason
    assert memory < 5


def test_number_of_trees_of_format_1_does_not_lift_the_limit(tmp_path: Path) -> None:
    description = json.dumps({"format": 1, "trees": [0] * 10_000})
    header = {"__metadata__": {"tritree": description, "sha256": ""}, "x" * 6_000_000: {}}
    reason, memory = refusal_and_memory(tmp_path / "model", header, b"")
    assert "the limit is 5,020,000" in reason
    assert memory < 5


def test_number_of_nodes_of_format_1_is_checked_before_memory_is_taken(tmp_path: Path) -> None:
    stored = Path(__file__).with_name("stored") / "format1_boosting_regressor.tritree"
    description, arrays = description_and_arrays(stored.read_bytes())
    arrays["trees.n_nodes"] = np.array([50_000_000, *arrays["trees.n_nodes"][1:]], np.int32)
    tracemalloc.start()
    try:
        reason = refusal(write_file(tmp_path / "model", description, arrays))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "do not match its description" in reason
    assert peak < 10_000_000


def test_header_with_many_metadata_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    header = {"__metadata__": {f"key {i}": "" for i in range(50_000)}}
    reason, memory = refusal_and_memory(tmp_path / "model", header, b"")
    assert "not a tritree model" in reason
    assert memory < 5


@pytest.mark.parametrize("nested", ["[]", "{}"])
def test_description_of_many_lists_or_objects_is_refused_before_it_is_parsed(
    nested: str, parts: tuple[Header, bytes], tmp_path: Path
) -> None:
    description = '{"format": 2, "x": [' + ", ".join([nested] * 20_000) + "]}"
    header = parts[0] | {"__metadata__": {"tritree": description, "sha256": ""}}
    reason, memory = refusal_and_memory(tmp_path / "model", header, parts[1])
    assert "objects and lists, more than a model has" in reason
    assert memory < 5


STRICT: dict[str, Callable[[str], str]] = {
    "a key that repeats": lambda text: '{"format": 2, ' + text[1:],
    "NaN is not JSON": lambda text: text.replace('"n_rows": 80', '"n_rows": NaN'),
    "-Infinity is not JSON": lambda text: text.replace('"n_rows": 80', '"n_rows": -Infinity'),
    "1e999 is too large": lambda text: text.replace('"n_rows": 80', '"n_rows": 1e999'),
}


@pytest.mark.parametrize("reason", STRICT)
def test_description_that_is_not_strict_json_is_refused(
    reason: str, parts: tuple[Header, bytes], tmp_path: Path
) -> None:
    description = parts[0]["__metadata__"]["tritree"]
    changed = STRICT[reason](description)
    header = parts[0] | {"__metadata__": {"tritree": changed, "sha256": ""}}
    assert changed != description
    assert reason in refusal_and_memory(tmp_path / "model", header, parts[1])[0]


def test_brackets_in_categories_do_not_count_as_lists(tmp_path: Path) -> None:
    labels = ["another"] * 8_000 + [f'[[[[[[[[[[{i}\\"' for i in range(2_000)]
    model = tritree.TrinaryTreeRegressor(max_depth=1).fit(pd.DataFrame({"label": labels}), range(10_000))
    model.save(tmp_path / "model")
    loaded = tritree.load(tmp_path / "model")
    assert loaded._encoder.columns[0].categories == tuple(sorted(set(labels)))
