"""``tritree show``, ``tritree export`` and ``tritree holes`` write what the library draws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes, flowers
from cli.running import InProcess

import tritree as library

BEGINNINGS = {
    "png": b"\x89PNG",
    "svg": b"<?xml",
    "pdf": b"%PDF",
    "html": b"<!DOCTYPE html>",
    "dot": b"digraph",
    "txt": b"trinary tree",
}


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_tree_is_drawn_in_the_format_of_the_ending(ending: str, tritree: InProcess, model: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tritree.good("show", model, "-o", f"tree.{ending}")
    assert run.out == ""
    assert f"'tree.{ending}'" in run.err
    assert Path(f"tree.{ending}").read_bytes().startswith(BEGINNINGS[ending])


def test_format_is_stronger_than_the_ending(tritree: InProcess, model: Path) -> None:
    tritree.good("show", model, "-o", "tree.txt", "--format", "dot")
    assert Path("tree.txt").read_text(encoding="utf-8").startswith("digraph")


def test_text_goes_to_the_standard_output(tritree: InProcess, model: Path) -> None:
    text = tritree.good("show", model).out
    ours = library.load(model).to_text()
    assert text.splitlines()[5:] == ours.splitlines()[5:]
    assert "grow_all" not in text


def test_dot_is_that_of_the_library_but_for_the_remarks(tritree: InProcess, model: Path) -> None:
    shown = tritree.good("show", model, "--format", "dot", "--max-nodes", 3).out.splitlines()
    theirs = library.load(model).to_dot(max_nodes=3).splitlines()
    [(ours, other)] = [pair for pair in zip(shown, theirs, strict=True) if pair[0] != pair[1]]
    assert "--max-nodes none draws everything" in ours
    assert "max_nodes=None draws everything" in other


def test_remarks_name_options_not_parameters(tritree: InProcess, model: Path) -> None:
    assert "--max-nodes none draws everything" in tritree.good("show", model, "--max-nodes", 3).out
    assert "a larger --max-depth draws more" in tritree.good("show", model, "--max-depth", 1).out
    assert "left out" not in tritree.good("show", model, "--max-nodes", "none").out


def test_rows_make_the_tree_grow_before_it_is_shown(tritree: InProcess, table: Path, model: Path) -> None:
    before, after = tritree.good("show", model).out, tritree.good("show", model, "--rows", table).out
    assert "grown on demand" not in before
    assert "grown on demand" in after


def test_page_starts_from_rows(tritree: InProcess, model: Path) -> None:
    diabetes().head(2).assign(age=77).to_csv("rows.csv", index=False)
    tritree.good("show", model, "-o", "tree.html", "--rows", "rows.csv")
    page = Path("tree.html").read_text(encoding="utf-8")
    assert "row 1" in page


def test_json_is_the_tree_as_data(tritree: InProcess, model: Path) -> None:
    tritree.good("export", model, "-o", "tree.json")
    ours = library.load(model).to_dict()
    assert json.loads(Path("tree.json").read_text()) == ours
    assert tritree.good("export", model, "--format", "json").json == ours
    assert "edges" in tritree.good("export", model, "--format", "json", "--spread").json


def test_onnx_model_predicts_the_same(tritree: InProcess, model: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    tritree.good("export", model, "-o", "tree.onnx")
    rows = diabetes().drop(columns=["id", "progress"])
    session = runtime.InferenceSession("tree.onnx")
    [theirs] = session.run(["prediction"], {"X": rows.to_numpy(dtype=np.float64)})
    assert np.array_equal(theirs.ravel(), library.load(model).predict(rows))


def test_holes_are_counted(tritree: InProcess, classes: Path) -> None:
    frame = flowers()
    told = tritree.good("holes", classes).out
    missing = frame.isna().sum()
    assert f"150 rows × 7 columns: {missing.sum()} cells" in told
    for name in ("petal length", "colour"):
        assert any(
            line.split() == [str(missing[name]), *line.split()[1:2], *name.split()]
            for line in told.splitlines()
        )
    data = tritree.good("holes", classes, "--json").json
    assert {column["name"]: column["missing"] for column in data["columns"]} == missing.to_dict()


def test_holes_are_drawn(tritree: InProcess, classes: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tritree.good("holes", classes, "--drop", "kind", "-o", "holes.png")
    assert Path("holes.png").read_bytes().startswith(BEGINNINGS["png"])
    assert "picture written to 'holes.png'" in run.err


def test_holes_of_dates_and_a_table_without_holes_are_told(tritree: InProcess) -> None:
    pytest.importorskip("pyarrow")
    dates = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    pd.DataFrame({"day": dates, "list": [[1], None, None], "x": [1, 2, 3]}).to_parquet("dates.parquet")
    columns = tritree.good("holes", "dates.parquet", "--json").json["columns"]
    assert [column["missing"] for column in columns] == [1, 2, 0]
    assert (
        "no cell is missing" in tritree.good("holes", "dates.parquet", "--drop", "day", "--drop", "list").out
    )
