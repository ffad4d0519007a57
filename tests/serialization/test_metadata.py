"""Metadata that the user gives to ``save`` come back from ``load``; what a file cannot hold is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import fitted, simulated
from serialization.mutations import VALUES, nested
from serialization.samples import craft, describe, description_and_arrays
from serialization.test_refusal import refusal
from sklearn.base import clone

import tritree
from tritree import ModelFileError

METADATA = {
    "source": "žlutá.csv",
    "rows": 100,
    "share": 0.5,
    "final": True,
    "note": None,
    "read": {"na": ["?", "-"]},
    "": "",
}
X, Y = simulated(60, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tritree"


@pytest.fixture
def model() -> Any:
    return fitted(X, Y, max_depth=1)


@pytest.mark.parametrize("task", ["Regressor", "Classifier"])
@pytest.mark.parametrize("family", ["Tree", "Forest", "Boosting"])
def test_metadata_come_back_in_all_estimators(family: str, task: str, path: Path) -> None:
    few = {"Tree": {}, "Forest": {"n_estimators": 2}, "Boosting": {"max_iter": 2}}[family]
    target = Y if task == "Regressor" else Y > 0
    model = getattr(tritree, f"Trinary{family}{task}")(max_depth=2, **few).fit(X, target)
    assert model.metadata_ == {}
    model.save(path, metadata=METADATA)
    loaded = tritree.load(path)
    assert loaded.metadata_ == METADATA
    assert list(loaded.metadata_) == list(METADATA)
    assert loaded.fit(X, target).metadata_ == {}


def test_file_without_metadata_has_an_empty_dict_and_no_entry(model: Any, path: Path) -> None:
    model.save(path)
    assert tritree.load(path).metadata_ == {}
    assert "metadata" not in description_and_arrays(path.read_bytes())[0]


def test_loaded_model_keeps_its_metadata_unless_others_are_given(model: Any, path: Path) -> None:
    model.save(path, metadata=METADATA)
    tritree.load(path).save(path)
    assert tritree.load(path).metadata_ == METADATA
    tritree.load(path).save(path, metadata={"other": 1})
    assert tritree.load(path).metadata_ == {"other": 1}
    tritree.load(path).save(path, metadata={})
    assert tritree.load(path).metadata_ == {}


def test_saving_with_metadata_twice_writes_the_same_bytes(model: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        model.save(tmp_path / name, metadata=METADATA)
    tritree.load(tmp_path / "a").save(tmp_path / "c")
    contents = {(tmp_path / name).read_bytes() for name in "abc"}
    assert len(contents) == 1


def test_saving_does_not_change_the_metadata_of_the_model(model: Any, path: Path) -> None:
    model.save(path, metadata=METADATA)
    assert model.metadata_ == {}


def test_pickle_keeps_metadata_and_clone_does_not(model: Any, path: Path) -> None:
    model.save(path, metadata=METADATA)
    loaded = tritree.load(path)
    assert pickle.loads(pickle.dumps(loaded)).metadata_ == METADATA
    assert clone(loaded).fit(X, Y).metadata_ == {}


def test_unfitted_estimator_has_no_metadata() -> None:
    assert not hasattr(tritree.TrinaryTreeRegressor(), "metadata_")


cyclic: dict[str, Any] = {}
cyclic["a"] = cyclic

REFUSED: dict[str, tuple[Any, str]] = {
    "list": ([1], "metadata must be a dict, not list"),
    "text": ("a", "metadata must be a dict, not str"),
    "key": ({1: "a"}, "metadata has the key 1; keys must be text"),
    "inner key": ({"a": {None: 1}}, r"metadata\['a'\] has the key None"),
    "set": ({"a": [{1}]}, r"metadata\['a'\]\[0\] is of type set; use text, plain numbers"),
    "tuple": ({"a": (1, 2)}, "is of type tuple"),
    "number of NumPy": ({"a": np.float64(1)}, "is of type float64"),
    "array": ({"a": np.arange(3)}, "is of type ndarray"),
    "path": ({"a": Path("a")}, "use text"),
    "nan": ({"a": float("nan")}, r"metadata\['a'\] is nan, which JSON cannot hold; use None"),
    "infinity": ({"a": -float("inf")}, "is -inf"),
    "large integer": ({"a": 10**5000}, "beyond 2"),
    "nested": ({"a": nested(30)}, "nested too deeply; the limit is 20 levels"),
    "cyclic": (cyclic, "nested too deeply"),
    "too long": ({"a": "x" * 1_000_000}, "1,000,009 characters as JSON; the limit is 1,000,000"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_metadata_that_a_file_cannot_hold_are_refused_before_anything_is_written(
    name: str, model: Any, path: Path
) -> None:
    metadata, reason = REFUSED[name]
    with pytest.raises(ValueError, match=reason):
        model.save(path, metadata=metadata)
    assert not path.exists()


@pytest.mark.parametrize("place", ["metadata", "metadata.inner", "metadata.inner.0"])
def test_hostile_metadata_are_refused_or_harmless(place: str, model: Any, path: Path) -> None:
    for value in VALUES:
        model.save(path, metadata={"inner": [0, 1]})
        try:
            loaded = tritree.load(craft(path, describe(place, value)))
        except ModelFileError:
            continue
        loaded.save(path)
        assert tritree.load(path).metadata_ == loaded.metadata_


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "'metadata' of the description must be dict, not list"),
        ({"a": nested(30)}, "nested too deeply"),
        ({"a": 10**40}, "beyond 2**64"),
        ({"a": "x" * 1_000_000}, "the limit is 1,000,000"),
    ],
)
def test_file_with_invalid_metadata_is_refused_with_a_reason(
    value: Any, reason: str, model: Any, path: Path
) -> None:
    model.save(path)
    assert reason in refusal(craft(path, describe("metadata", value)))
