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
from data_paths import DATA

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
    assert run.out.splitlines()[1].startswith("Take ")
    for words in ("mcar_test", "trinary_mia", "discard", "interval"):
        assert words in run.out


def test_comparison_for_programs_has_every_method(tritree: InProcess, table: Path) -> None:
    found = compared(tritree, table, "--json").json
    assert {line["method"] for line in found["methods"]} >= {"trinary", "mia", "surrogate", "discard"}
    assert found["about"]["rates"] == [0.0, 0.3]
    assert found["rates"] == [0.3]


def test_comparison_answers_first_for_the_table_as_it_is(tritree: InProcess, table: Path) -> None:
    found = compared(tritree, table, "--json").json
    holes = pd.read_csv(table).drop(columns="progress").isna().to_numpy().mean()
    own = found["as_it_is"]
    assert own["missing_share"] == pytest.approx(holes)
    assert {line["scenario"] for line in own["methods"]} == {"as it is"}
    told = compared(tritree, table).out
    assert told.splitlines()[:2] == [
        f"The table as it is, with {100 * holes:.3g}% of its cells missing:",
        own["headline"],
    ]
    assert f"With 30% of the cells removed:\n{found['headline']}" in told
    assert told.count("corrected resampled") == 1


def test_comparison_for_programs_has_every_rate_with_the_table_as_it_is(
    tritree: InProcess, table: Path
) -> None:
    found = compared(tritree, table, "--json").json
    assert {line["rate"] for line in found["by_rate"]} == {0.0, 0.3}
    at_zero = {line["method"]: line["loss"] for line in found["by_rate"] if line["rate"] == 0}
    assert at_zero == pytest.approx({line["method"]: line["loss"] for line in found["as_it_is"]["methods"]})
    assert len(set(at_zero.values())) > 1


def test_comparison_of_a_table_without_holes_says_nothing_of_it_as_it_is(
    tritree: InProcess, tmp_path: Path
) -> None:
    diabetes().drop(columns="id").dropna().head(120).to_csv("whole.csv", index=False)
    assert compared(tritree, tmp_path / "whole.csv", "--json").json["as_it_is"] is None
    assert compared(tritree, tmp_path / "whole.csv").out.startswith("With 30% of the cells removed:")


def test_comparison_can_be_of_the_table_as_it_is_alone(tritree: InProcess, table: Path) -> None:
    run = compared(tritree, table, "--rates", 0)
    assert run.out.startswith("The table as it is")
    assert "removed" not in run.out
    found = compared(tritree, table, "--rates", 0, "--json").json
    assert found["methods"] == found["as_it_is"]["methods"]


def test_trees_are_compared_as_they_will_be_fitted(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = pd.DataFrame({"code": np.arange(90) % 5, "flag": [True, False, True] * 30, "y": list("ab") * 45})
    codes.to_csv("codes.csv", index=False)
    asked = []
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: asked.append(self))
    options = ["--categorical", "code", "--numeric", "flag", "--min-samples-leaf", 7, "--criterion", "gini"]
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", "codes.csv", "-y", "y", *options)
    [experiment] = asked
    kinds = experiment.datasets[0].X.dtypes.astype(str)
    assert kinds.to_dict() == {"code": "category", "flag": "float64"}
    assert experiment.options == {"min_samples_leaf": 7, "criterion": "gini"}


def test_criterion_of_another_task_is_not_compared(tritree: InProcess, table: Path) -> None:
    run = tritree("compare", table, "-y", "progress", "--criterion", "gini")
    assert run.code == 1
    assert "--criterion gini is not for a regression" in run.complaint


def test_dropped_column_is_no_reason_to_warn(tritree: InProcess, tmp_path: Path) -> None:
    diabetes().head(120).drop(columns="id").to_csv(
        "counted.csv"
    )  # pandas counts the rows in a column without a name
    for command in (["fit"], ["compare", "--rates", 0, "--folds", 3, "--depth", 1, "--n-jobs", 1]):
        run = tritree.good(command[0], "counted.csv", "-y", "progress", "--drop", "Unnamed: 0", *command[1:])
        assert "counts the rows" not in run.err


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
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: asked.append(self.scenarios))
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", table, "-y", "progress", "--columns", "bmi", "--columns", "s5")
    [scenarios] = asked
    assert [scenario.test.columns for scenario in scenarios] == [("bmi", "s5")] * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-y", "progres"], "progress"),
        (["-y", "progress", "--report", "nowhere/found.html"], "no folder"),
        (["-y", "progress", "--store", "nowhere/runs.sqlite"], "no folder"),
    ],
    ids=["response", "report", "store"],
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


def test_picture_of_the_bias_that_cannot_be_is_told_without_an_option_that_is_not_there(
    tritree: InProcess,
) -> None:
    complaint = tritree("lab", "bias", "-o", "bias.xyz").complaint
    assert "may be .png, .svg, .pdf" in complaint
    assert "--format" not in complaint


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
        assert found["not_compared"]
        lines = [*found["order"], *found["curves"]]
        assert {line["paper"] for line in lines} == {None}
        assert {line["rate"] for line in found["curves"]} == {0.0, 0.2}
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
    assert run.code == 2
    assert "cement" in run.complaint
