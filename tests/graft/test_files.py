"""Files of grafted models: what was changed in them is refused, or loads as a model that can be used."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")

from graft.sources import as_table, random_codes, random_model
from serialization.mutations import craft_arrays, craft_description, damage
from serialization.samples import craft, describe, description_and_arrays, put
from serialization.usage import use

import tritree
from tritree import ModelFileError
from tritree.errors import GraftError
from tritree.graft import limits
from tritree.graft.models import graft_source
from tritree.graft.source import SourceColumn

MODELS: dict[str, dict[str, Any]] = {
    "regressor": {"link": "log"},
    "classifier": {"link": "logit", "classes": np.array(["no", "yes"])},
    "forest": {"link": "probability", "classes": np.arange(2), "n_outputs": 2, "baseline": np.full(2, 0.5)},
}


@cache
def robust(name: str) -> Any:
    model = random_model(3, n_trees=2, **MODELS[name])
    model.columns[0] = SourceColumn("x0", zero_is_missing=True)
    background = as_table(model, random_codes(model, 4, 60, 0.1))
    return graft_source(
        model, background, max_background=60, missing="auto", third_depth_extra=0, random_state=0, n_jobs=1
    )


def save(name: str, path: Path) -> Path:
    robust(name).save(path)
    return path


def test_categories_of_all_splits_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SET_SIZES", 1)
    with pytest.raises(GraftError, match="all splits together have more than 1 categories"):
        robust.__wrapped__("regressor")


@pytest.mark.parametrize("name", MODELS)
def test_saving_what_was_loaded_writes_the_same_bytes(name: str, tmp_path: Path) -> None:
    first = save(name, tmp_path / "model.tritree").read_bytes()
    tritree.load(tmp_path / "model.tritree").save(tmp_path / "again.tritree")
    assert (tmp_path / "again.tritree").read_bytes() == first


def test_zeros_are_still_missing_after_loading(tmp_path: Path) -> None:
    loaded = tritree.load(save("regressor", tmp_path / "model.tritree"))
    rows = as_table(random_model(3, n_trees=2), random_codes(random_model(3, n_trees=2), 5, 20))
    zero, missing = rows.assign(x0=0.0), rows.assign(x0=np.nan)
    np.testing.assert_array_equal(loaded.predict(zero), loaded.predict(missing))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (describe("parameters.link", "softmax"), "its classes do not match its trees"),
        (describe("parameters.link", "log"), "link must be one of"),
        (describe("parameters.missing", "mean"), "missing must be one of"),
        (describe("parameters.third_rows", 7), "third_rows of its trees is 2000, and its parameters say 7"),
        (describe("classes.labels", ["a", "b", "c"]), "its parameters do not match its classes"),
        (describe("classes", None), "its classes do not match its estimator"),
        (describe("columns.3.zero_is_missing", True), "zeros of column 'colour' cannot be missing"),
        (describe("columns.0.zero_is_missing", 1), "must be bool"),
        (describe("estimator", "graft"), "unknown estimator"),
        (describe("estimator", "boosting classifier"), "unknown parameters"),
        (put("trees.column", 0, 99), "column index out of range"),
        (put("trees.value", 0, np.nan), "value is not finite"),
        (put("trees.missing_to", 0, 3), "missing values sent to a branch"),
    ],
)
def test_inconsistent_file_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message):
        tritree.load(craft(save("classifier", tmp_path / "model.tritree"), change))


@pytest.mark.parametrize("kind", ["damaged", "description", "arrays"])
@pytest.mark.parametrize("name", MODELS)
def test_changed_file_is_refused_or_can_be_used(name: str, kind: str, tmp_path: Path) -> None:
    data = save(name, tmp_path / "model.tritree").read_bytes()
    description, arrays = description_and_arrays(data)
    rng, n_loaded = np.random.default_rng(0), 0
    for _ in range(40):
        changed = {
            "damaged": lambda: damage(data, rng),
            "description": lambda: craft_description(description, arrays, rng),
            "arrays": lambda: craft_arrays(description, arrays, rng),
        }[kind]()
        (tmp_path / "changed.tritree").write_bytes(changed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = tritree.load(tmp_path / "changed.tritree")
            except ModelFileError:
                continue
            n_loaded += 1
            use(loaded, tmp_path / "saved.tritree", plot=False)
    assert n_loaded < 40
