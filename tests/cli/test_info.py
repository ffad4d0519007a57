"""``tritree info`` and ``tritree importance`` describe a model file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes
from cli.program import InProcess

import tritree as library
from tritree.serialization import FORMAT_VERSION


def test_info_has_what_fit_was_told(tritree: InProcess, model: Path) -> None:
    facts = tritree.good("info", model, "--json").json
    loaded = library.load(model)
    assert facts["kind"] == "tree"
    assert (facts["target"], facts["dropped"], facts["task"]) == ("progress", ["id"], "regression")
    assert (facts["format"], facts["tritree"]) == (FORMAT_VERSION, library.__version__)
    assert facts["bytes"] == model.stat().st_size
    assert facts["nodes"] == loaded.n_nodes_
    assert facts["parameters"] == json.loads(json.dumps(loaded.get_params()))
    assert facts["changed_parameters"] == ["max_depth"]
    assert facts["training_rows"]
    text = tritree.good("info", model).out
    assert "regression of progress" in text
    assert "max_depth=3" in text
    assert "with training rows" in text


@pytest.mark.parametrize("kind", ["tree", "forest", "boosting"])
def test_columns_have_types_and_the_range_of_their_splits(kind: str, tritree: InProcess) -> None:
    n = 300
    days = pd.date_range("2021-01-01", periods=n)
    pd.DataFrame(
        {
            "id": [f"C{i:04}" for i in range(n)],
            "day": days.strftime("%Y-%m-%d"),
            "size": np.arange(n) % 7,
            "colour": np.array(["red", "blue", "green"])[np.arange(n) % 3],
            "flag": np.arange(n) % 2 == 0,
            "same": 1,
            "y": np.arange(n) + 50.0 * (np.arange(n) % 7),
        }
    ).to_csv("t.csv", index=False)
    few = () if kind == "tree" else ("--trees", 40)
    tritree.good("fit", "t.csv", "-y", "y", "-m", kind, *few, "-q")
    columns = {
        column["name"]: column for column in tritree.good("info", "t.tritree", "--json").json["columns"]
    }
    assert {name: column["type"] for name, column in columns.items()} == {
        "id": "identifiers",
        "day": "dates",
        "size": "numbers",
        "colour": "categorical",
        "flag": "categorical",
        "same": "numbers",
    }
    assert columns["colour"]["categories"] == ["blue", "green", "red"]
    assert columns["flag"]["categories"] == [False, True]
    assert columns["same"]["thresholds"] is None
    first, last = columns["day"]["thresholds"]
    assert "2021-01-01" < first <= last < "2021-10-28"
    low, high = columns["size"]["thresholds"]
    assert 0 < low <= high < 6
    text = tritree.good("info", "t.tritree").out
    assert f"split from {first} to {last}" in text or f"split at {first}" in text


def test_file_without_training_rows_says_so(tritree: InProcess, table: Path) -> None:
    tritree.good("fit", table, "-y", "progress", "--no-training-rows", "-q")
    assert "without training rows" in tritree.good("info", "diabetes.tritree").out


def test_model_saved_from_python_has_no_target(tritree: InProcess) -> None:
    frame = diabetes()
    library.TrinaryTreeRegressor().fit(frame[["bmi"]].to_numpy(), frame["progress"]).save("m.tritree")
    facts = tritree.good("info", "m.tritree", "--json").json
    assert facts["target"] is None
    assert [column["name"] for column in facts["columns"]] == ["x0"]
    assert "all have their defaults" in tritree.good("info", "m.tritree").out


@pytest.mark.parametrize("kind", ["tree", "forest", "boosting"])
def test_importances_are_those_of_the_library(kind: str, tritree: InProcess, patients_table: Path) -> None:
    few = () if kind == "tree" else ("--trees", 3)
    tritree.good("fit", patients_table, "-y", "progress", "-m", kind, *few, "-q")
    model = library.load("patients.tritree")
    found = tritree.good("importance", "patients.tritree", "--json").json
    expected = dict(zip(model.feature_names_in_, model.feature_importances_.tolist(), strict=True))
    assert {entry["column"]: entry["importance"] for entry in found} == pytest.approx(expected)
    values = [entry["importance"] for entry in found]
    assert values == sorted(values, reverse=True)
    first, *_ = tritree.good("importance", "patients.tritree").out.splitlines()
    assert first.split() == [found[0]["column"], f"{values[0]:.1%}", "━" * 30]


def test_columns_beyond_the_limit_are_summed_up(tritree: InProcess, model: Path) -> None:
    found = tritree.good("importance", model, "--json").json
    used = [entry["importance"] for entry in found if entry["importance"] > 0]
    lines = tritree.good("importance", model, "--max-columns", 1).out.splitlines()
    assert lines[1] == f"{len(used) - 1} more columns: {sum(used[1:]):.1%}"
    assert lines[2] == f"{len(found) - len(used)} columns without importance"


def test_tree_without_splits_has_no_importances(tritree: InProcess) -> None:
    pd.DataFrame({"x": [1, 1, 1], "y": [0.5, 1, 2]}).to_csv("t.csv", index=False)
    tritree.good("fit", "t.csv", "-y", "y", "-q")
    assert "no column has importance" in tritree.good("importance", "t.tritree").out


def test_importances_can_be_drawn(tritree: InProcess, model: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tritree.good("importance", model, "-o", "importance.png")
    assert run.out == ""
    assert Path("importance.png").read_bytes().startswith(b"\x89PNG")


def test_commands_that_write_files_describe_them_as_json(
    tritree: InProcess, model: Path, table: Path
) -> None:
    for args, facts in (
        (("show", model, "-o", "tree.txt"), {"format": "text"}),
        (("export", model, "-o", "tree.json"), {"format": "json"}),
        (("predict", model, table, "-o", "p.csv"), {"format": "csv", "rows": 442, "columns": ["prediction"]}),
    ):
        for replaced in (False, True):
            run = tritree.good(*args, "--json")
            expected = {"output": args[-1], "bytes": Path(str(args[-1])).stat().st_size, "replaced": replaced}
            assert run.json == expected | facts
            assert run.err == ""
