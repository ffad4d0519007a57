"""Two builds of tritree are compared in fresh processes that alternate between them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich")

import tritree
from benchmarks import builds
from benchmarks.__main__ import main
from benchmarks.builds import Comparison
from tritree import _core


@pytest.fixture(scope="module")
def copied_build(tmp_path_factory) -> Path:
    """Return a folder with a copy of the installed package."""
    folder = tmp_path_factory.mktemp("build")
    shutil.copytree(
        Path(tritree.__file__).parent, folder / "tritree", ignore=shutil.ignore_patterns("__pycache__")
    )
    core = Path(_core.__file__)  # elsewhere in an editable install
    if not (folder / "tritree" / core.name).exists():
        shutil.copy(core, folder / "tritree")
    return folder


def test_a_ratio_is_that_of_the_medians() -> None:
    found = Comparison("case", "work", "tritree", "s", this=[1.0, 3.0, 2.0], other=[4.0, 4.0, 1.0])
    assert found.ratio == 0.5
    assert found.cells()[3:] == ("2.00 s", "4.00 s", "0.500", "0.25 – 2.00", "1.000")


def test_a_process_imports_the_build_it_is_given(copied_build, monkeypatch) -> None:
    monkeypatch.setenv(builds.BUILD, str(copied_build))
    code = "from benchmarks import builds; builds.activate(); print(builds.location(), __import__('tritree').__file__)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.count(str(copied_build)) == 2


def test_processes_alternate_between_the_builds(monkeypatch, tmp_path) -> None:
    order = []

    def run(_name, _options, folder):
        order.append("this" if folder is None else "other")
        measured = {
            "candidate": "tritree",
            "unit": "s",
            "median": 2.0 if folder is None else 1.0,
            "other_load": [0.0],
        }
        row = {"work": "work", "failed": False, "notes": [], "peak_memory": 8, "measurements": [measured]}
        return {"core": "a path", "rows": [row]}

    monkeypatch.setattr(builds, "_run", run)
    [(found, _, failed)] = builds.compare_builds(["fit-small"], tmp_path, [], 2)
    assert order == ["this", "other", "other", "this"]
    assert [(each.what, each.ratio) for each in found] == [("tritree", 2.0), ("peak memory", 1.0)]
    assert not failed


def test_against_reports_ratios_of_time_and_memory(copied_build, tmp_path, capsys) -> None:
    file = tmp_path / "out.json"
    arguments = ["one-row", "--quick", "--rounds", "1", "--threads", "1", "--json", str(file)]
    assert main(["--against", str(copied_build), *arguments]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["what"] for row in rows] == ["tritree", "peak memory"] * 2
    assert all(row["ratio"] > 0 for row in rows)
    assert str(copied_build) in capsys.readouterr().out.replace("\n", "")


def test_a_folder_that_does_not_exist_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--against", "nowhere"])
    assert "there is no folder nowhere" in capsys.readouterr().err
