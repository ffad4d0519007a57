"""On a terminal the program shows progress and colours, and Ctrl-C interrupts it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from cli.conftest import fill
from cli.program import run_on_terminal, without_control

pytest.importorskip("rich")
if sys.platform == "win32":
    pytest.skip("no pseudo-terminals here", allow_module_level=True)

COLOUR = "\x1b[1;31m"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path)
    return tmp_path


def test_progress_is_shown_and_erased(folder: Path) -> None:
    code, shown = run_on_terminal("fit", "diabetes.csv", "-y", "progress", "--drop", "id", cwd=folder)
    assert code == 0
    for step in ("reading 'diabetes.csv'", "fitting", "validating the model"):
        assert step in without_control(shown)
    pieces = shown.split("\x1b[2K")  # which erases a line
    summary, scores = next(piece for piece in pieces if "\r\nmissing" in piece), pieces[-1]
    for text, labels in (
        (summary, ["table", "missing", "task", "tree", "model"]),
        (scores, ["scores", "training", "held-out", "30%", "constant", "held-out"]),
    ):
        lines = [line.split() for line in without_control(text).split("\r\n")]
        assert [words[0] for words in lines if words][: len(labels)] == labels


def test_errors_are_coloured_unless_no_color_is_set(folder: Path) -> None:
    code, shown = run_on_terminal("fit", "no[bold]such.csv", "-y", "y", cwd=folder)
    assert code == 1
    assert shown == f"{COLOUR}tritree:\x1b[0m there is no file 'no[bold]such.csv'\r\n"
    code, shown = run_on_terminal("fit", "nosuch.csv", "-y", "y", cwd=folder, NO_COLOR="1")
    assert code == 1
    assert COLOUR not in shown


def test_warning_has_its_own_line_beside_a_progress_bar(folder: Path) -> None:
    code, shown = run_on_terminal("predict", "diabetes.tritree", "diabetes.csv", "-o", "p.csv", cwd=folder)
    assert code == 0
    ends = [line.rpartition("\r")[2] for line in without_control(shown).replace("\r\n", "\n").split("\n")]
    assert "tritree: warning: not in training, so ignored: 'id', 'progress'" in ends


def test_terminal_without_unicode_gets_ascii(folder: Path) -> None:
    code, shown = run_on_terminal(
        "fit", "diabetes.csv", "-y", "progress", "--drop", "id", cwd=folder, PYTHONIOENCODING="ascii"
    )
    assert code == 0
    assert shown.isascii()


def test_binary_figure_is_not_written_to_a_terminal(folder: Path) -> None:
    code, shown = run_on_terminal("show", "diabetes.tritree", "--format", "png", cwd=folder)
    assert code == 1
    assert "PNG is binary; name a file with -o" in shown


def test_ctrl_c_ends_with_130_and_one_line_and_keeps_existing_files(folder: Path) -> None:
    (folder / "m.tritree").write_text("an older model")
    waiting = "end it with Ctrl-D"
    code, shown = run_on_terminal(
        "fit", "-", "-y", "y", "-o", "m.tritree", cwd=folder, keys={waiting: b"\x03"}
    )
    assert code == 130
    assert "Traceback" not in shown
    assert without_control(shown).split("\r\n")[-2].endswith("tritree: interrupted")
    assert (folder / "m.tritree").read_text() == "an older model"


def test_ctrl_c_interrupts_long_growth(folder: Path) -> None:
    pytest.importorskip("onnx")
    many = ("export", "diabetes.tritree", "-o", "m.onnx", "--max-nodes", 100_000_000)
    code, shown = run_on_terminal(*many, cwd=folder, keys={"growing": b"\x03"})
    assert code == 130
    assert "Traceback" not in shown
    assert sorted(path.name for path in folder.iterdir()) == ["diabetes.csv", "diabetes.tritree"]


def test_program_without_typer_and_rich_says_so_in_one_line(folder: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    for name in ("typer", "rich"):
        line = f'raise ModuleNotFoundError("No module named {name!r}", name={name!r})\n'
        (absent / f"{name}.py").write_text(line)
    path = os.pathsep.join([str(absent), os.environ.get("PYTHONPATH", "")])
    code, shown = run_on_terminal("--help", cwd=folder, PYTHONPATH=path)
    assert code == 1
    assert shown.startswith("tritree: the command line needs typer")
    assert shown.endswith("pip install 'tritree[cli]'\r\n")


def test_interrupted_comparison_names_its_store_and_continues_from_there(folder: Path, cache: Path) -> None:
    options = ["-y", "progress", "--drop", "id", "-s", "all", "--depth", 2, "--folds", 2, "--n-jobs", 1]
    long = [*options, "--rates", "0.1,0.2,0.3,0.4,0.5", "--seeds", 100]
    code, shown = run_on_terminal("compare", "diabetes.csv", *long, cwd=folder, keys={"8/": b"\x03"})
    assert code == 130
    assert "Traceback" not in shown
    [store] = (cache / "compare").glob("*.sqlite")
    assert f"finished results are in '{store}'" in without_control(shown).replace("\r\n", "")
    assert without_control(shown).split("\r\n")[-2].endswith("tritree: interrupted")
    (folder / "diabetes.csv").rename(folder / "renamed.csv")
    code, shown = run_on_terminal(
        "compare", "renamed.csv", *options, "--rates", "0.1", "--seeds", 1, cwd=folder
    )
    assert code == 0
    # of 8 runs on the table as it is and 2 times 8 with values removed, at least the first 8 were stored
    assert max((int(total) for total in re.findall(r"\d/(\d+)", without_control(shown))), default=0) <= 16
    assert [store] == list((cache / "compare").glob("*.sqlite"))


def test_progress_bars_of_bias_count_formulas_then_tables(folder: Path) -> None:
    code, shown = run_on_terminal("lab", "bias", "--repeats", 20, "--n", 20, cwd=folder)
    assert code == 0
    assert without_control(shown).index("formulas") < without_control(shown).index("tables")


def test_table_can_be_typed(folder: Path) -> None:
    keys = {"end it with Ctrl-D": b"a,b\n1,2\n3,\n\x04"}
    code, shown = run_on_terminal("missing", "-", cwd=folder, keys=keys)
    assert code == 0
    assert "2 rows × 2 columns: 1 cell (25%) missing" in shown
