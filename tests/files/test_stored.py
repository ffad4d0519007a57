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
from files import make_stored
from models import answers

import tritree

STORED = sorted(make_stored.STORED.glob("*.tritree"))


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def rows_of(rows: Any) -> Any:
    """Return a frame if the columns have names, else an array."""
    return pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows, dtype=np.float64)


def test_there_are_stored_files() -> None:
    assert {path.stem for path in STORED} >= {"format1_trinary_regressor", "format1_surrogate_classifier"}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_predicts_what_it_did(path: Path) -> None:
    stored = expected(path)
    found = answers(tritree.load(path), rows_of(stored["rows"]))
    # what is grown on demand is computed here, perhaps by another compiler
    np.testing.assert_allclose(found, stored["predictions"], rtol=1e-12)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_file_grows_as_it_did(path: Path) -> None:
    stored = expected(path)
    model = tritree.load(path)
    assert model.n_nodes_ == stored["n_nodes"]
    answers(model, rows_of(stored["rows"]))
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
