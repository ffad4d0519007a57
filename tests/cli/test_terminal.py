"""On a terminal the program shows its progress and colours, wherever these are wanted, and Ctrl-C ends it in order."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli.conftest import fill
from cli.running import run_on_terminal, without_control

pytest.importorskip("rich")
if sys.platform == "win32":
    pytest.skip("no pseudo-terminals here", allow_module_level=True)

COLOUR = "\x1b[1;31m"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path)
    return tmp_path


def test_progress_is_shown_and_goes_away(folder: Path) -> None:
    code, shown = run_on_terminal("fit", "diabetes.csv", "-y", "progress", "--drop", "id", cwd=folder)
    assert code == 0
    for step in ("reading 'diabetes.csv'", "fitting the tree", "measuring the tree"):
        assert step in without_control(shown)
    end = shown.rpartition("\x1b[2K")[2]  # after the last line was erased
    assert [line.split()[0] for line in end.split("\r\n") if line] == [
        "table",
        "holes",
        "task",
        "tree",
        "fit",
        "model",
    ]


def test_errors_are_coloured_unless_that_is_not_wanted(folder: Path) -> None:
    code, shown = run_on_terminal("fit", "no[bold]such.csv", "-y", "y", cwd=folder)
    assert code == 1
    assert shown == f"{COLOUR}tritree:\x1b[0m there is no file 'no[bold]such.csv'\r\n"
    code, shown = run_on_terminal("fit", "nosuch.csv", "-y", "y", cwd=folder, NO_COLOR="1")
    assert code == 1
    assert COLOUR not in shown


def test_warning_stands_on_a_line_of_its_own_beside_a_bar(folder: Path) -> None:
    code, shown = run_on_terminal("predict", "diabetes.tritree", "diabetes.csv", "-o", "p.csv", cwd=folder)
    assert code == 0
    ends = [line.rpartition("\r")[2] for line in without_control(shown).replace("\r\n", "\n").split("\n")]
    assert "tritree: warning: not in training, so ignored: 'id', 'progress'" in ends


def test_terminal_without_unicode_is_no_obstacle(folder: Path) -> None:
    code, shown = run_on_terminal(
        "fit", "diabetes.csv", "-y", "progress", "--drop", "id", cwd=folder, PYTHONIOENCODING="ascii"
    )
    assert code == 0
    assert shown.isascii()


def test_picture_is_not_thrown_at_a_terminal(folder: Path) -> None:
    code, shown = run_on_terminal("show", "diabetes.tritree", "--format", "png", cwd=folder)
    assert code == 1
    assert "PNG is nothing to be read on a terminal; name a file with -o" in shown


def test_ctrl_c_ends_with_130_and_one_line_and_leaves_what_was_there(folder: Path) -> None:
    (folder / "m.tritree").write_text("what was there")
    waiting = "end it with Ctrl-D"
    code, shown = run_on_terminal(
        "fit", "-", "-y", "y", "-o", "m.tritree", cwd=folder, keys={waiting: b"\x03"}
    )
    assert code == 130
    assert "Traceback" not in shown
    assert without_control(shown).split("\r\n")[-2].endswith("tritree: interrupted")
    assert (folder / "m.tritree").read_text() == "what was there"


def test_ctrl_c_ends_long_growth_in_order(folder: Path) -> None:
    pytest.importorskip("onnx")
    many = ("export", "diabetes.tritree", "-o", "m.onnx", "--max-nodes", 100_000_000)
    code, shown = run_on_terminal(*many, cwd=folder, keys={"growing": b"\x03"})
    assert code == 130
    assert "Traceback" not in shown
    assert sorted(path.name for path in folder.iterdir()) == ["diabetes.csv", "diabetes.tritree"]


def test_table_can_be_typed(folder: Path) -> None:
    keys = {"end it with Ctrl-D": b"a,b\n1,2\n3,\n\x04"}
    code, shown = run_on_terminal("holes", "-", cwd=folder, keys=keys)
    assert code == 0
    assert "2 rows × 2 columns: 1 cell (25%) missing" in shown
