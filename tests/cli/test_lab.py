"""The commands of the laboratory run their experiments, write what they promise, and say what is wrong in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.conftest import diabetes
from cli.running import InProcess
from places import DATA

from tritree import load

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    diabetes().drop(columns="id").head(150).to_csv(path, index=False)
    return path


def compared(tritree: InProcess, table: Path, *more: object) -> object:
    return tritree.good(
        "compare", table, "-y", "progress", "--rates", "30%", "--seeds", 1, "--folds", 3, "--depth", 2, *more
    )


def test_demo_leaves_a_figure_a_report_a_page_and_a_model(tritree: InProcess, tmp_path: Path) -> None:
    run = tritree.good("demo", "-o", "shown")
    assert "Take " in run.out
    names = {"comparison.png", "report.html", "tree.html", "diabetes.tritree"}
    assert {path.name for path in (tmp_path / "shown").iterdir()} == names
    assert load(tmp_path / "shown" / "diabetes.tritree").n_features_in_ == 10


def test_comparison_names_a_method_and_says_how_sure_it_is(tritree: InProcess, table: Path) -> None:
    run = compared(tritree, table)
    assert run.out.startswith(("Take ", "There is"))
    for words in ("mcar_test", "trinary_mia", "discard", "interval"):
        assert words in run.out


def test_comparison_for_programs_has_every_method(tritree: InProcess, table: Path) -> None:
    found = compared(tritree, table, "--json").json
    assert {line["method"] for line in found["methods"]} >= {"trinary", "mia", "surrogate", "discard"}
    assert found["about"]["rates"] == [0.0, 0.3]


def test_comparison_goes_on_from_its_store_and_writes_a_report(
    tritree: InProcess, table: Path, tmp_path: Path
) -> None:
    first = compared(tritree, table, "--json", "--store", "runs.sqlite").json
    again = compared(tritree, table, "--json", "--store", "runs.sqlite", "--report", "found.html").json
    assert first["methods"] == again["methods"]
    assert "<!DOCTYPE html>" in (tmp_path / "found.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-y", "progres"], "progress"),
        (["-y", "progress", "--rates", "high"], "--rates takes shares"),
        (["-y", "progress", "--rates", "30"], "30 percent is 0.3"),
        (["-y", "progress", "--depth", "deep"], "--depth takes a whole number"),
        (["-y", "progress", "--report", "nowhere/found.html"], "no folder"),
        (["-y", "progress", "--store", "nowhere/runs.sqlite"], "no folder"),
    ],
    ids=["response", "rates", "percent", "depth", "report", "store"],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    tritree: InProcess, table: Path, options: list[str], words: str
) -> None:
    run = tritree("compare", table, *options)
    assert run.code == 1
    assert words in run.complaint


def test_bias_is_told_as_text_as_data_and_as_a_picture(tritree: InProcess, tmp_path: Path) -> None:
    run = tritree.good("lab", "bias", "--repeats", 20, "-o", "bias.png")
    assert "trinary" in run.out
    assert (tmp_path / "bias.png").stat().st_size > 1_000
    lines = tritree.good("lab", "bias", "--repeats", 20, "--json").json
    assert {line["parameter"] for line in lines} == {"a", "b"}


@pytest.mark.skipif(
    not (DATA / "paper" / "seeds.csv").exists(), reason="no data sets of the paper; set TRITREE_DATA"
)
def test_part_of_the_papers_experiment_comes_out_as_its_author_had_it(
    tritree: InProcess, tmp_path: Path
) -> None:
    options = ["--data-dir", DATA, "--datasets", "seeds,lymphography", "--rates", "0.2", "--seeds", 1]
    run = tritree.good("lab", "paper", *options, "--json")
    losses = {line["dataset"]: line["loss"] for line in json.loads(run.out)["losses"]}
    np.testing.assert_allclose([losses["seeds"], losses["lymphography"]], [0.2818, 72.3873], atol=5.1e-5)
    assert {"figure2.png", "paper.html"} <= {path.name for path in tmp_path.iterdir()}


def test_unknown_data_set_is_named(tritree: InProcess) -> None:
    run = tritree("lab", "paper", "--datasets", "cemnt")
    assert run.code == 1
    assert "cement" in run.complaint
