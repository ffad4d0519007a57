"""Boosting comes back from its file as it was, and a file that was tampered with is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as deserialise

import tritree
from tritree import ModelFileError, TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.files import _read, _write


def make_frame(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n),
            "kind": pd.Categorical(random.choice(["oak", "elm", "ash"], size=n)),
            "age": random.integers(0, 50, size=n),
        }
    )
    y = frame["size"].to_numpy() + (frame["kind"] == "oak").to_numpy() * 2 + frame["age"].to_numpy() / 20
    return frame.mask(random.random(frame.shape) < 0.1), y


FRAME, Y = make_frame()
HOLED = FRAME.mask(np.random.default_rng(1).random(FRAME.shape) < 0.4)
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


def answers(model: Any, table: pd.DataFrame) -> np.ndarray:
    return model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_answers_and_grows_alike(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    answers(model, HOLED[:40])  # half grown
    model.save(tmp_path / "model.tritree")
    again = tritree.load(tmp_path / "model.tritree")
    assert type(again) is type(model)
    assert again.n_grown_ == model.n_grown_
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(answers(again, HOLED), answers(model, HOLED))
    assert again.n_grown_ == model.n_grown_


def test_file_without_background_answers_what_was_grown(tmp_path: Path) -> None:
    model = MODELS["numbers"]()
    expected = model.predict(HOLED)
    model.save(tmp_path / "with.tritree")
    model.save(tmp_path / "without.tritree", training_rows=False)
    again = tritree.load(tmp_path / "without.tritree")
    np.testing.assert_array_equal(again.predict(HOLED), expected)
    assert again._model.core.is_detached
    arrays = deserialise((tmp_path / "without.tritree").read_bytes())
    assert not len(arrays["rows.narrow"])
    with pytest.raises(ValueError, match="detach"):
        again.save(tmp_path / "again.tritree", training_rows=True)


def test_random_state_that_is_no_number_is_forgotten(tmp_path: Path) -> None:
    model = TrinaryBoostingRegressor(max_iter=2, random_state=np.random.RandomState(0)).fit(FRAME, Y)
    model.save(tmp_path / "model.tritree")
    assert tritree.load(tmp_path / "model.tritree").random_state is None


def craft(change: Any, tmp_path: Path, name: str = "numbers") -> Path:
    """Return a file with something changed in it and a checksum that fits."""
    import json

    path = tmp_path / "crafted.tritree"
    model = MODELS[name]()
    model.predict(HOLED)
    model.save(path)
    fields, arrays = _read(path)
    about = json.loads(json.dumps(fields._entries))
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(about, arrays)
    _write(path, json.dumps(about), arrays)
    return path


def put(name: str, place: Any, value: Any) -> Any:
    def change(_: Any, arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


def describe(name: str, value: Any) -> Any:
    def change(about: dict[str, Any], _: Any) -> None:
        part, _, entry = name.partition(".")
        if entry:
            about[part][entry] = value
        else:
            about[part] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("trees.left", 0, 10**6),
        put("trees.left", 0, 0),
        put("trees.third", 0, 2),
        put("trees.column", 0, 77),
        put("trees.missing_to", 0, 9),
        put("trees.value", -1, np.nan),
        put("trees.n_nodes", 0, 3),
        put("trees.n_fitted", 0, 10**6),
        put("trees.n_fitted", 0, 1),
        put("trees.larger", 0, 5),
        put("trees.set", slice(None), 10**9),
        put("trees.set", slice(None), 2**63 - 1),
        put("trees.set", slice(None), 2**63 - 4),
        put("rows.n_codes", 0, 70_000),
        put("rows.categorical", 0, 1),
        put("rows.edges", 0, np.inf),
        put("rows.narrow", 1, 200),
        describe("plan.max_depth", -1),
        describe("plan.missing", "surrogate"),
        describe("plan.l2", "none"),
        describe("plan", {}),
        describe("baseline", []),
        describe("baseline", ["x"]),
        describe("baseline", [0.0, 1.0]),
        describe("estimator", "boosting classifier"),
        describe("parameters.max_iter", -3),
    ],
)
def test_crafted_file_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(craft(change, tmp_path))


def drop(name: str) -> Any:
    def change(_: Any, arrays: dict[str, Any]) -> None:
        del arrays[name]

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("trees.share", 0, 0.0),
        put("trees.share", 0, 1.0),
        put("trees.share", 0, -0.5),
        put("trees.share", 0, np.nan),
        put("trees.weight", 0, -1.0),
        put("trees.weight", -1, np.inf),
        put("trees.missing_to", 0, 0),
        put("trees.missing_to", 0, 2),
        put("trees.missing_to", 0, 4),
        put("trees.third", 0, 1),
        put("trees.left", 0, 0),
        put("trees.right", 0, 10**6),
        drop("trees.share"),
        drop("trees.weight"),
        describe("plan.missing", "majority"),
        describe("plan.missing", "trinary"),
    ],
)
def test_crafted_file_of_rows_that_go_both_ways_is_refused(change: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        tritree.load(craft(change, tmp_path, "fractional"))


@pytest.mark.parametrize("to", [0, 1, 2])
def test_split_that_goes_one_way_only_under_fractional_is_refused(to: int, tmp_path: Path) -> None:
    def change(about: dict[str, Any], arrays: dict[str, Any]) -> None:
        put("trees.missing_to", 0, to)(about, arrays)
        put("trees.third", 0, arrays["trees.left" if to == 0 else "trees.right"][0])(about, arrays)

    with pytest.raises(ModelFileError):
        tritree.load(craft(change, tmp_path, "fractional"))


@pytest.mark.parametrize("name", ["numbers", "fractional"])
def test_file_that_is_put_together_again_is_loaded(name: str, tmp_path: Path) -> None:
    model = tritree.load(craft(lambda about, arrays: None, tmp_path, name))
    np.testing.assert_array_equal(model.predict(HOLED), MODELS[name]().predict(HOLED))
