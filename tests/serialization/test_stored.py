"""Files that earlier versions wrote are read by this one.

The files in stored/ are never rewritten, whatever becomes of the format: a version that cannot read them breaks the
models of its users. A new format gets files of its own beside them, by make_stored.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corpus.measure import probe
from models import predictions, same_bits
from serialization import make_stored

import tritree

STORED = sorted(make_stored.STORED.glob("*.tritree"))

pytestmark = pytest.mark.filterwarnings("ignore")  # some models have no rows to grow from, and say so


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def rows_of(rows: Any) -> Any:
    """Return a frame if the columns have names, else an array."""
    return pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows, dtype=np.float64)


def assert_as_stored(model: Any, stored: dict[str, Any]) -> None:
    """Check that the predictions of a model are those that were stored, to the bit."""
    found, before = predictions(model, rows_of(stored["rows"])), np.array(stored["predictions"])
    # the last bits of exponentials and logarithms differ between machines
    is_same_machine = stored.get("probe") in (None, probe())
    np.testing.assert_allclose(found, before, rtol=0 if is_same_machine else 1e-12, atol=0)
    assert same_bits(found, before) or not is_same_machine


def test_there_are_stored_files() -> None:
    assert {path.stem for path in STORED} >= {f"format1_{name}" for name in make_stored.MODELS}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_predicts_what_it_did(path: Path) -> None:
    assert_as_stored(tritree.load(path), expected(path))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_saved_again_predicts_what_it_did(path: Path, tmp_path: Path) -> None:
    stored = expected(path)
    model = tritree.load(path)
    model.save(tmp_path / "before.tritree")
    assert_as_stored(model, stored)
    model.save(tmp_path / "after.tritree")
    for name in ("before", "after"):
        assert_as_stored(tritree.load(tmp_path / f"{name}.tritree"), stored)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_grows_as_it_did(path: Path) -> None:
    stored = expected(path)
    model = tritree.load(path)
    assert model.n_nodes_ == stored["n_nodes"]
    predictions(model, rows_of(stored["rows"]))
    assert model.n_nodes_ == stored["n_nodes_after"]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_has_the_classes_it_had(path: Path) -> None:
    classes = getattr(tritree.load(path), "classes_", None)
    assert (None if classes is None else classes.tolist()) == expected(path)["classes"]


def test_stored_files_are_never_rewritten() -> None:
    model, rows = make_stored.surrogate_classifier()
    before = {path: path.read_bytes() for path in make_stored.STORED.iterdir()}
    with pytest.raises(FileExistsError, match="must stay as it is"):
        make_stored.write("format1_surrogate_classifier", model, rows)
    assert before == {path: path.read_bytes() for path in make_stored.STORED.iterdir()}
