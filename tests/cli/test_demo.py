"""``tritree demo`` shows the benefit in numbers, and writes everything that it lists."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from cli.program import InProcess

from tritree import load
from tritree.lab import Experiment

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")

FILES = {"robustness.png", "what-if.html", "breast-cancer.tritree", "breast-cancer.csv", "new-rows.csv"}


def test_demo_compares_models_and_writes_files_that_the_next_commands_read(
    tritree: InProcess, tmp_path: Path
) -> None:
    run = tritree.good("demo", "-o", "shown")
    losses = {
        name: [float(loss) for loss in numbers.split()]
        for name, numbers in re.findall(r"^(\w[\w ]*?) {2,}((?:\d\.\d{3}\s*)+)$", run.out, re.MULTILINE)
    }
    boosting = losses.pop("tritree boosting")
    assert boosting[-1] < 1.5 * boosting[0]
    assert all(boosting[-1] < other[-1] for other in losses.values())
    assert {"tritree tree", "HistGradientBoosting"} <= set(losses)
    assert {path.name for path in (tmp_path / "shown").iterdir()} == FILES
    assert all(f"  {name} " in run.out for name in FILES)
    assert load(tmp_path / "shown" / "breast-cancer.tritree").n_features_in_ == 30
    predict, explain, compare = re.findall(r"^  tritree (.+)$", run.out, re.MULTILINE)
    assert len(tritree.good(*shlex.split(predict)).out.splitlines()) == 21
    assert "is missing" in tritree.good(*shlex.split(explain)).out
    assert compare.startswith("compare shown/breast-cancer.csv --target diagnosis")


def test_demo_as_json(tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tritree.cli import demo

    monkeypatch.setattr(demo, "_RATES", (0.0, 0.5))  # to be quick
    some_rows = demo._read_table().iloc[::4, -12:]
    monkeypatch.setattr(demo, "_read_table", lambda: some_rows)
    run, shows_progress = Experiment.run, []

    def run_and_note(self: Experiment, *args: Any, progress: Any = None) -> Any:
        shows_progress.append(progress)
        return run(self, *args, progress=progress)

    monkeypatch.setattr(Experiment, "run", run_and_note)
    facts = json.loads(tritree.good("demo", "-o", "shown", "--json", "--quiet").out)
    assert shows_progress == [False]
    assert set(facts["files"]) == FILES
    assert facts["folder"] == "shown"
    assert set(facts["log_loss"]["tritree boosting"]) == {"0.0", "0.5"}
    model, table = "shown/breast-cancer.tritree", "shown/breast-cancer.csv"
    assert tritree.good("score", model, table, "--json").json["target"] == "diagnosis"
    assert tritree.good("predict", model, table).err == ""
