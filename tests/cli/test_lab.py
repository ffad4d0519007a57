"""``tritree lab`` reproduces the experiments of the paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.program import InProcess
from data_paths import DATA

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")

from tritree.lab.figures import plot_curves

needs_data = pytest.mark.skipif(
    not (DATA / "paper" / "seeds.csv").exists(), reason="no data sets of the paper; set TRITREE_DATA"
)


def fail(*_: object, **__: object) -> None:
    raise AssertionError("this was run already")


def test_bias_is_written_as_text_json_and_figure(tritree: InProcess, tmp_path: Path) -> None:
    run = tritree.good("lab", "bias", "--repeats", 20, "-o", "bias.png")
    assert "trinary" in run.out
    assert (tmp_path / "bias.png").stat().st_size > 1_000
    lines = tritree.good("lab", "bias", "--repeats", 20, "--json").json
    assert {line["parameter"] for line in lines} == {"a", "b"}


def test_unknown_figure_format_of_bias_does_not_suggest_format_option(
    tritree: InProcess,
) -> None:
    error_line = tritree("lab", "bias", "-o", "bias.xyz").error_line
    assert "use .png, .svg, .pdf" in error_line
    assert "--format" not in error_line


@needs_data
def test_part_of_the_experiment_reproduces_the_losses_of_the_author(
    tritree: InProcess, tmp_path: Path
) -> None:
    options = ["--data-dir", DATA, "--datasets", "seeds,lymphography", "--rates", "0.2", "--seeds", 1]
    run = tritree.good("lab", "paper", *options, "--json")
    losses = {line["dataset"]: line["loss"] for line in json.loads(run.out)["losses"]}
    np.testing.assert_allclose([losses["seeds"], losses["lymphography"]], [0.2818, 72.3873], atol=5.1e-5)
    assert {"figure2.png", "paper.html"} <= {path.name for path in tmp_path.iterdir()}


@needs_data
def test_paper_continues_from_the_store_in_its_folder(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    tritree.good("lab", "paper", *options, "-o", "new")
    monkeypatch.setattr("tritree.lab.experiment.run_trial", fail)
    run = tritree.good("lab", "paper", *options, "-o", "new")
    assert run.out.splitlines()[-3:] == [
        "figure new/figure2.png",
        "report new/paper.html",
        "store  new/paper.sqlite",
    ]
    assert "warning" not in run.err


@needs_data
def test_figure_and_report_have_the_requested_measure(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def plot(*args: Any, **options: Any) -> Any:
        drawn.append((options["measure"], options["reference"]))
        return plot_curves(*args, **options)

    monkeypatch.setattr("tritree.lab.figures.plot_curves", plot)
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    for variant, text in (
        ("text", "loss at rate 0, averaged"),
        ("author", "loss at rate 0, minus 1, averaged"),
    ):
        found = tritree.good("lab", "paper", *options, "--as", variant, "--json").json
        assert text in (tmp_path / "paper.html").read_text(encoding="utf-8")
        assert found["not_compared"]
        lines = [*found["order"], *found["curves"]]
        assert {line["paper"] for line in lines} == {None}
        assert {line["rate"] for line in found["curves"]} == {0.0, 0.2}
    # one data set is not held against means of eight in the figure, either
    assert drawn == [("ratio", None), ("excess", None)]


@needs_data
def test_figure_that_cannot_be_written_leaves_the_existing_one(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "figure2.png").write_text("an older figure")
    monkeypatch.setattr("tritree.output_files.write_atomically", full)
    options = ["--data-dir", DATA, "--datasets", "seeds", "--rates", "0.2", "--seeds", 1, "--n-jobs", 1]
    assert "cannot write 'figure2.png': No space left" in tritree("lab", "paper", *options).error_line
    assert (tmp_path / "figure2.png").read_text() == "an older figure"


def test_unknown_data_set_is_named(tritree: InProcess) -> None:
    run = tritree("lab", "paper", "--datasets", "cemnt")
    assert run.code == 2
    assert "cement" in run.error_line
