"""The commands of the laboratory run their experiments, write what they promise, and say what is wrong in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.conftest import diabetes
from cli.running import InProcess
from places import DATA

from tritree import load
from tritree.lab import Experiment

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")

from tritree.lab.figures import plot_panels

needs_data = pytest.mark.skipif(
    not (DATA / "paper" / "seeds.csv").exists(), reason="no data sets of the paper; set TRITREE_DATA"
)


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


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("this was run already")


@pytest.mark.parametrize("store", [["--store", "runs.sqlite"], []], ids=["named", "in the cache"])
def test_comparison_goes_on_from_its_store_and_writes_a_report(
    tritree: InProcess,
    table: Path,
    tmp_path: Path,
    cache: Path,
    store: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = compared(tritree, table, "--json", "--n-jobs", 1, *store).json
    kept = tmp_path / "runs.sqlite" if store else next((cache / "compare").glob("*.sqlite"))
    assert Path(first["about"]["store"]) == kept
    renamed = table.rename(tmp_path / "other.csv")
    monkeypatch.setattr("tritree.lab.experiment.run_trial", refuse)
    again = compared(tritree, renamed, "--n-jobs", 1, *store, "--report", "found.html")
    assert again.out.splitlines()[-3:] == [
        "table  other.csv: 150 rows, 10 columns; regression: progress holds 107 different numbers",
        f"parts  {kept}",
        "report found.html",
    ]
    assert "warning" not in again.err
    assert "<!DOCTYPE html>" in (tmp_path / "found.html").read_text(encoding="utf-8")


def test_cache_that_cannot_be_written_is_told_and_is_no_obstacle(
    tritree: InProcess, table: Path, cache: Path
) -> None:
    (cache / "compare").write_text("no folder")
    run = compared(tritree, table, "--json")
    assert run.json["about"]["store"] is None
    assert "finished parts are not kept on disk" in run.err
    assert "--store" in run.err


@pytest.mark.parametrize(
    ("values", "task"), [([1, 2, 3], "classification"), ([0.5, 1, 2], "regression"), (list("abc"), None)]
)
def test_comparison_takes_the_task_that_fit_does(
    tritree: InProcess, values: list[object], task: str | None
) -> None:
    frame = pd.DataFrame({"x": range(90), "y": values * 30})
    frame.to_csv("grades.csv", index=False)
    options = ["--rates", 0.3, "--seeds", 1, "--folds", 3, "--depth", 1, "--n-jobs", 1, "--json"]
    compared = tritree.good("compare", "grades.csv", "-y", "y", *options).json["about"]["task"]
    assert compared == tritree.good("fit", "grades.csv", "-y", "y", "--json").json["task"]
    assert compared == (task or "classification")


def test_rows_without_a_response_can_be_left_out_of_a_comparison(tritree: InProcess, tmp_path: Path) -> None:
    frame = diabetes().drop(columns="id").head(150)
    frame.loc[:9, "progress"] = None
    frame.to_csv("some.csv", index=False)
    run = compared(tritree, tmp_path / "some.csv", "--skip-missing-response")
    assert "some.csv: 140 rows" in run.out


def test_comparison_that_failed_at_every_rate_recommends_nothing(tritree: InProcess, tmp_path: Path) -> None:
    diabetes()[["age", "progress"]].to_csv("one.csv", index=False)
    options = ["--rates", 0.3, "--seeds", 1, "--folds", 3, "--depth", 1, "--n-jobs", 1]
    run = tritree("compare", "one.csv", "-y", "progress", "--mechanism", "mar", *options)
    assert run.code == 1
    assert "no method could be run with cells removed" in run.complaint
    assert "needs a column that stays whole" in run.err


def test_holes_are_made_in_the_columns_that_are_named(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: asked.append(self.settings))
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", table, "-y", "progress", "--columns", "bmi", "--columns", "s5")
    [settings] = asked
    assert [setting.test.columns for setting in settings] == [("bmi", "s5")] * 2


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


@needs_data
def test_part_of_the_papers_experiment_comes_out_as_its_author_had_it(
    tritree: InProcess, tmp_path: Path
) -> None:
    options = ["--data-dir", DATA, "--datasets", "seeds,lymphography", "--rates", "0.2", "--seeds", 1]
    run = tritree.good("lab", "paper", *options, "--json")
    losses = {line["dataset"]: line["loss"] for line in json.loads(run.out)["losses"]}
    np.testing.assert_allclose([losses["seeds"], losses["lymphography"]], [0.2818, 72.3873], atol=5.1e-5)
    assert {"figure2.png", "paper.html"} <= {path.name for path in tmp_path.iterdir()}


@needs_data
def test_paper_goes_on_from_the_file_in_its_folder(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    tritree.good("lab", "paper", *options, "-o", "new")
    monkeypatch.setattr("tritree.lab.experiment.run_trial", refuse)
    run = tritree.good("lab", "paper", *options, "-o", "new")
    assert run.out.splitlines()[-3:] == [
        "figure new/figure2.png",
        "report new/paper.html",
        "parts  new/paper.sqlite",
    ]
    assert "warning" not in run.err


@needs_data
def test_figure_and_report_are_read_as_asked_for(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def plot(*args: Any, **options: Any) -> Any:
        asked.append((options["reading"], options["reference"]))
        return plot_panels(*args, **options)

    monkeypatch.setattr("tritree.lab.figures.plot_panels", plot)
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    for reading, words in (("text", "loss at rate 0;"), ("author", "loss at rate 0, less 1;")):
        found = tritree.good("lab", "paper", *options, "--as", reading, "--json").json
        assert words in (tmp_path / "paper.html").read_text(encoding="utf-8")
        assert found["order"] is found["curves"] is None
        assert found["not_compared"]
    # one data set is not held against means of eight in the figure, either
    assert asked == [("text", None), ("author", None)]


@needs_data
def test_picture_that_cannot_be_written_leaves_what_was_there(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "figure2.png").write_text("what was there")
    monkeypatch.setattr("tritree.files.write_whole", full)
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    assert "cannot write 'figure2.png': No space left" in tritree("lab", "paper", *options).complaint
    assert (tmp_path / "figure2.png").read_text() == "what was there"


def test_unknown_data_set_is_named(tritree: InProcess) -> None:
    run = tritree("lab", "paper", "--datasets", "cemnt")
    assert run.code == 1
    assert "cement" in run.complaint
