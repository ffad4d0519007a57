"""``tritree export`` writes what the library exports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.conftest import diabetes, rows_with_missing
from cli.program import InProcess

import tritree as library


def test_json_is_the_tree_as_data(tritree: InProcess, model: Path) -> None:
    tritree.good("export", model, "-o", "tree.json")
    expected = library.load(model).to_dict()
    assert json.loads(Path("tree.json").read_text()) == expected
    assert tritree.good("export", model, "--format", "json").json == expected
    assert "edges" in tritree.good("export", model, "--format", "json", "--distribution").json


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_json_of_an_ensemble_has_all_trees(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    assert tritree.good("export", model, "--format", "json").json == library.load(model).to_dict()


def test_onnx_model_predicts_the_same(tritree: InProcess, model: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    tritree.good("export", model, "-o", "tree.onnx")
    rows = diabetes().drop(columns=["id", "progress"])
    session = runtime.InferenceSession("tree.onnx")
    [predicted] = session.run(["prediction"], {"X": rows.to_numpy(dtype=np.float64)})
    assert np.array_equal(predicted.ravel(), library.load(model).predict(rows))


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_ensemble_is_explained_and_exported(
    kind: str, tritree: InProcess, patients_table: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("onnx")
    model = request.getfixturevalue(kind)
    assert "row 3 predicts" in tritree.good("explain", model, patients_table, "3").out
    assert tritree.good("explain", model, patients_table, "3", "--json").json[0]["contributions"]
    tritree.good("export", model, "-o", "model.onnx")
    assert Path("model.onnx").stat().st_size > 100


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_ensemble_is_exported_with_the_branches_that_rows_need(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = request.getfixturevalue(kind)
    rows = rows_with_missing()
    rows.to_csv("new.csv", index=False)
    assert "warning" not in tritree.good("export", model, "-o", "model.onnx", "--rows", "new.csv").err
    session = runtime.InferenceSession("model.onnx")
    found = np.ravel(session.run(None, {"X": rows.to_numpy(np.float64)})[0])
    loaded = library.load(model)
    if kind == "forest":
        loaded = loaded._with_model(loaded._model.with_third_branches())
    np.testing.assert_allclose(found, loaded.predict(rows), rtol=1e-4)


def test_export_without_rows_warns_with_numbers_and_names_the_option(
    tritree: InProcess, patients_table: Path
) -> None:
    pytest.importorskip("onnx")
    tritree.good("fit", patients_table, "-y", "progress", "-m", "forest", "--trees", 3)
    message = tritree.good("export", f"{patients_table.stem}.tritree", "-o", "m.onnx", "--max-nodes", 700).err
    assert "branches for missing values are not grown" in message
    assert "% of their standard deviation" in message
    assert "growth stopped at 700 nodes; raise --max-nodes, or name rows" in message
    assert "()" not in message


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_one_tree_of_an_ensemble_is_exported_with_the_branches_that_rows_need(
    kind: str, tritree: InProcess, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    rows_with_missing().to_csv("new.csv", index=False)
    args = ("export", model, "--tree", 0, "-f", "json")
    before, after = (tritree.good(*args, *more).json["nodes"] for more in ((), ("--rows", "new.csv")))
    if kind == "boosting":
        assert len(before) < len(after)
    else:  # whose evidence is found
        assert len(before) == len(after)
        assert not any(node["split"]["evidence"] for node in before if node["split"])
        assert any(node["split"]["evidence"] for node in after if node["split"])


def test_limit_that_rows_exceed_is_named_with_the_rows_it_costs(tritree: InProcess, boosting: Path) -> None:
    pytest.importorskip("onnx")
    rows_with_missing().to_csv("new.csv", index=False)
    size = library.load(boosting).n_nodes_
    args = ("export", boosting, "-o", "x.onnx", "--rows", "new.csv", "--max-nodes")
    message = tritree.good(*args, size + 20).err
    assert "rows reach a third branch that is not grown" in message
    assert f"growth stopped at {size + 20:,} nodes; raise --max-nodes, or use fewer rows" in message
    assert (
        f"more than --max-nodes {size - 1:,}; raise --max-nodes, or fit fewer"
        in tritree(*args, size - 1).error_line
    )


def test_rows_cannot_grow_a_model_without_training_rows(tritree: InProcess, patients_table: Path) -> None:
    pytest.importorskip("onnx")
    rows_with_missing().to_csv("new.csv", index=False)
    tritree.good(
        *("fit", patients_table, "-y", "progress", "-m", "forest"),
        *("--trees", 3, "-o", "m.tritree", "--no-training-rows"),
    )
    run = tritree.good("export", "m.tritree", "-o", "m.onnx", "--rows", "new.csv")
    assert (
        "no training rows to grow it from; fit without --no-training-rows, pass similar rows to fit --grow-for, or "
        "grow every branch with --grow-all"
    ) in run.err


def test_distribution_of_targets_in_a_tree_of_a_forest_is_exported(tritree: InProcess, forest: Path) -> None:
    tree = tritree.good("export", forest, "--tree", 1, "-f", "json", "--distribution").json
    assert tree["ensemble"] == {"tree": 1, "n_trees": 4}
    assert sum(tree["nodes"][0]["distribution"]) == pytest.approx(1)
