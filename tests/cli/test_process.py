"""The program as a subprocess: exit codes, pipes, failing streams, streams without Unicode, absent packages."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import fill, flowers
from cli.program import PROGRAM, SECONDS, environment, run_program

import tritree as library

COMMANDS = (
    "demo",
    "fit",
    "graft",
    "predict",
    "score",
    "explain",
    "show",
    "importance",
    "info",
    "export",
    "missing",
    "compare",
    "lab paper",
    "lab bias",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, its model, and a table of many rows."""
    path = tmp_path_factory.mktemp("streams")
    fill(path)
    return path


def test_help_of_every_command_has_examples(folder: Path) -> None:
    script = (
        "import sys; from tritree.cli.main import main; "
        f"sys.exit(sum(main([*name.split(), '--help']) for name in {COMMANDS!r}))"
    )
    run = run_program(cwd=folder, program=[sys.executable, "-c", script], COLUMNS="200")
    assert run.code == 0
    _, *examples = run.out.split("Examples:")
    for name, shown in zip(COMMANDS, examples, strict=True):
        assert f"tritree {name}" in shown.partition("Usage:")[0]


def commands_of_the_program() -> dict[str, Any]:
    """Return the examples of each command."""
    from tritree.cli.app import COMMANDS as OF_PROGRAM

    lab = {True: "lab ", False: ""}
    return {f"{lab[panel == 'lab']}{function.__name__}": examples for panel, function, examples in OF_PROGRAM}


def test_list_of_commands_is_complete() -> None:
    assert list(commands_of_the_program()) == list(COMMANDS)


def command_of_the_program(name: str) -> Any:
    import typer

    from tritree.cli.app import make_app

    command: Any = typer.main.get_command(make_app())
    for part in name.split():
        command = command.commands[part]
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(name: str) -> None:
    for parameter in command_of_the_program(name).params:
        assert parameter.help.endswith("."), parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_a_command_can_be_parsed(name: str) -> None:
    command = command_of_the_program(name)
    for text, _ in commands_of_the_program()[name]:
        _, given = re.split(rf"\btritree {name}\b", text)
        with command.make_context(name, shlex.split(re.split(" [<>|] ", given)[0])):
            pass  # an option that is not there would have been refused


def test_help_fits_on_80_columns_with_all_names_in_full(folder: Path) -> None:
    run = run_program("fit", "--help", cwd=folder, COLUMNS="80")
    assert max(map(len, run.out.splitlines())) <= 80
    assert "…" not in run.out
    for option in ("--skip-missing-target", "--no-split-on-missing", "--min-samples-leaf"):
        assert option in run.out


def test_program_without_arguments_shows_its_help(folder: Path) -> None:
    run = run_program(cwd=folder)
    assert run.code == 0
    assert all(f" {name.split()[0]} " in run.out for name in COMMANDS)


def test_version_is_printed(folder: Path) -> None:
    assert run_program("--version", cwd=folder).out == f"tritree {library.__version__}\n"


def test_entry_point_runs_the_program(folder: Path) -> None:
    beside = Path(sysconfig.get_path("scripts")) / ("tritree.exe" if os.name == "nt" else "tritree")
    found = str(beside) if beside.exists() else shutil.which("tritree")
    if found is None:
        pytest.skip("the program is not installed here: no tritree among the scripts")
    assert run_program("--version", cwd=folder, program=[found]).out == f"tritree {library.__version__}\n"


def test_table_is_read_from_the_standard_input_and_predictions_go_to_the_standard_output(
    folder: Path,
) -> None:
    data = (folder / "diabetes.csv").read_bytes()
    fitted = run_program(
        *("fit", "-", "-y", "progress", "--drop", "id", "-o", "piped.tritree", "--json"),
        cwd=folder,
        stdin=data,
    )
    assert fitted.code == 0, fitted
    assert fitted.err == ""
    assert json.loads(fitted.out)["rows"] == 442
    run = run_program("predict", "piped.tritree", "-", "--keep", "id", cwd=folder, stdin=data)
    assert run.code == 0
    lines = run.out.splitlines()
    assert lines[0] == "id,prediction"
    assert len(lines) == 443
    assert run.err == ""


@pytest.mark.parametrize("kind", ["gzip", "parquet", "excel", "semicolons", "arff"])
def test_tables_of_any_format_are_read_from_a_pipe(kind: str, folder: Path) -> None:
    import gzip
    import io

    buffer = io.BytesIO()
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        flowers().to_parquet(buffer)
    elif kind == "excel":
        pytest.importorskip("openpyxl")
        flowers().to_excel(buffer, index=False)
    elif kind == "arff":
        buffer.write(gzip.compress(b"% flowers\n@relation f\n@attribute x real\n@data\n" + b"1\n" * 150))
    else:
        separators = {"sep": ";", "decimal": ","} if kind == "semicolons" else {}
        buffer.write(gzip.compress(flowers().to_csv(index=False, **separators).encode()))
    run = run_program("missing", "-", "--json", cwd=folder, stdin=buffer.getvalue())
    assert run.code == 0, run
    assert json.loads(run.out)["n_rows"] == 150
    assert ("the standard input is read with --separator ';' --decimal ," in run.err) == (
        kind == "semicolons"
    )


def test_empty_standard_input_is_an_error(folder: Path) -> None:
    run = run_program("missing", "-", cwd=folder, stdin=b"")
    assert run.code == 1
    assert run.error_line == "tritree: the standard input is empty"


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_closed_pipe_is_no_error(folder: Path) -> None:
    command = [*PROGRAM, "show", "diabetes.tritree", "--rows", "diabetes.csv", "--max-nodes", "none"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    process.stdout.close()  # as head does
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert b"Broken" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
def test_full_disk_is_an_error_in_one_line(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [*PROGRAM, "show", "diabetes.tritree"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=SECONDS,
        )
    assert process.returncode == 1
    assert process.stderr.decode().splitlines() == [
        "tritree: cannot write to the standard output: No space left on device"
    ]


def test_stream_without_unicode_gets_ascii(folder: Path) -> None:
    run = run_program("show", "diabetes.tritree", cwd=folder, PYTHONIOENCODING="ascii")
    assert run.code == 0
    assert run.out.isascii()
    assert "|- " in run.out
    assert ">= " in run.out
    helped = run_program("fit", "--help", cwd=folder, PYTHONIOENCODING="ascii")
    assert helped.code == 0
    assert helped.out.isascii()
    wrong = run_program("fit", "tür.csv", "-y", "é", cwd=folder, PYTHONIOENCODING="ascii")
    assert wrong.code == 1
    assert wrong.error_line == r"tritree: there is no file 't\xfcr.csv'"


def test_result_in_a_pipe_has_no_colours_and_no_bars(folder: Path) -> None:
    run = run_program("predict", "diabetes.tritree", "diabetes.csv", cwd=folder)
    assert "\x1b" not in run.out + run.err
    assert run.err == "tritree: warning: not in training, so ignored: 'id', 'progress'\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [(("show", "diabetes.tritree"), 0), (("show", "nosuch.tritree"), 1), (("show",), 2), (("nonsense",), 2)],
)
def test_exit_codes_are_those_of_the_process(args: tuple[str, ...], code: int, folder: Path) -> None:
    assert run_program(*args, cwd=folder).code == code


def test_program_without_typer_says_so_in_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run = run_program("--help", cwd=folder, PYTHONPATH=path)
    assert run.code == 1
    assert "needs typer" in run.error_line
    assert run.error_line.endswith("pip install 'tritree[cli]'")


def test_table_from_the_standard_input_can_be_compared(folder: Path, cache: Path) -> None:
    data = (folder / "diabetes.csv").read_bytes()
    options = ["--drop", "id", "--rates", "0.3", "--seeds", 1, "--folds", 3, "-s", "mia", "--json"]
    run = run_program("compare", "-", "-y", "progress", *options, cwd=folder, stdin=data)
    assert run.code == 0, run
    assert run.err == ""
    found = json.loads(run.out)
    assert found["about"]["datasets"] == ["the standard input"]
    assert Path(found["about"]["store"]).parent == cache / "compare"


def test_bias_writes_its_table_and_no_messages(folder: Path) -> None:
    run = run_program("lab", "bias", "--repeats", 20, "--n", 20, cwd=folder)
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("q = 0.1")


def test_demo_takes_less_than_half_a_minute(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    begin = time.monotonic()
    run = run_program("demo", cwd=tmp_path, MPLBACKEND="module://no_such_backend")  # a file needs no window
    assert run.code == 0, run
    assert time.monotonic() - begin < 30
    assert (tmp_path / "tritree-demo" / "robustness.png").read_bytes().startswith(b"\x89PNG")


def test_help_imports_no_heavy_packages(folder: Path) -> None:
    script = (
        "import sys, tritree; before = set(sys.modules); "
        "from tritree.cli.main import main; main(['--help']); "
        "print('\\n', [name for name in ('numpy', 'pandas', 'sklearn', 'matplotlib', 'scipy') "
        "if name in set(sys.modules) - before])"
    )
    run = run_program(cwd=folder, program=[sys.executable, "-c", script])
    assert run.out.splitlines()[-1].strip() == "[]"
