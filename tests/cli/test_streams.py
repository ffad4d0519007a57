"""Output that cannot be written is an error, and never a traceback; a closed pipe is none."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import fill
from cli.program import PROGRAM, SECONDS, environment, run_program

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")

#: Every command that writes a result to the standard output, but the two that take long.
COMMANDS = (
    "",
    "--version",
    "fit --help",
    "fit diabetes.csv -y progress --drop id -o m.tritree",
    "fit diabetes.csv -y progress --drop id -o m.tritree --json",
    "predict diabetes.tritree diabetes.csv",
    "predict diabetes.tritree diabetes.csv --json",
    "explain diabetes.tritree diabetes.csv 0",
    "explain diabetes.tritree diabetes.csv 0 --json",
    "show diabetes.tritree",
    "show diabetes.tritree --format svg",
    "export diabetes.tritree --format json",
    "missing diabetes.csv",
    "missing diabetes.csv --json",
    "compare diabetes.csv -y progress --drop id --rates 0.3 --seeds 1 --folds 2 --depth 1 -s mia",
    "compare diabetes.csv -y progress --drop id --rates 0.3 --seeds 1 --folds 2 --depth 1 -s mia --json",
    "lab",
    "lab bias --n 20 --repeats 20",
    "lab bias --n 20 --repeats 20 --json",
)

#: Run each command with another standard output, and write [code, messages] of each as JSON.
SCRIPT = """
import json, os, sys, tempfile
from tritree.cli.main import main
kind, *commands = sys.argv[1:]
result, found, messages = os.dup(1), [], tempfile.TemporaryFile()
os.dup2(messages.fileno(), 2)
for command in commands:
    if kind == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    elif kind == "pipe":
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        os.close(writer)
        os.close(reader)
    else:
        os.close(1)
        sys.stdout = None
    messages.seek(0)
    messages.truncate()
    code = main(command.split())
    messages.seek(0)
    found.append([code, messages.read().decode()])
os.write(result, json.dumps(found).encode())
os._exit(0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams")
    fill(path)
    return path


def run_all(kind: str, folder: Path, cache: Path) -> dict[str, tuple[int, list[str]]]:
    """Return the exit code of each command, and its messages but warnings."""
    program = [sys.executable, "-c", SCRIPT, kind]
    run = run_program(*COMMANDS, cwd=folder, program=program, TRITREE_CACHE=str(cache))
    return {
        command: (code, [line for line in text.splitlines() if "warning:" not in line])
        for command, (code, text) in zip(COMMANDS, json.loads(run.out), strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "reason"), [("full", "No space left on device"), ("closed", "Bad file descriptor")]
)
def test_every_command_reports_that_its_result_cannot_be_written(
    kind: str, reason: str, folder: Path, cache: Path
) -> None:
    expected = (1, [f"tritree: cannot write to the standard output: {reason}"])
    assert run_all(kind, folder, cache) == dict.fromkeys(COMMANDS, expected)


def test_every_command_ends_quietly_if_its_reader_has_gone(folder: Path, cache: Path) -> None:
    assert run_all("pipe", folder, cache) == dict.fromkeys(COMMANDS, (0, []))


def test_program_with_a_closed_standard_output_ends_with_an_error(folder: Path) -> None:
    command = [*PROGRAM, "show", "diabetes.tritree"]
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    run = run_program(cwd=folder, program=shell)
    assert (run.code, run.error_line) == (
        1,
        "tritree: cannot write to the standard output: Bad file descriptor",
    )


def test_file_is_written_even_if_all_standard_streams_are_closed(folder: Path) -> None:
    command = [*PROGRAM, "predict", "diabetes.tritree", "diabetes.csv", "-o", "p.csv"]
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
    assert run_program(cwd=folder, program=shell).code == 0
    assert len((folder / "p.csv").read_text().splitlines()) == 443


def test_output_waits_for_a_pipe_that_does_not_block(folder: Path) -> None:
    command = [*PROGRAM, "predict", "diabetes.tritree", "diabetes.csv", "--append", "--json"]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(
        command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, env=environment()
    ) as run:
        os.close(writer)
        select.select([reader], [], [], SECONDS)
        time.sleep(0.1)  # it is full by now
        with os.fdopen(reader, "rb") as pipe:
            written = pipe.read()
        assert run.wait(SECONDS) == 0
    assert len(written) > 65536
    assert len(json.loads(written)) == 442


def test_messages_that_cannot_be_written_cost_no_result(folder: Path) -> None:
    command = [*PROGRAM, "predict", "diabetes.tritree", "diabetes.csv"]  # warns of a column
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=full, timeout=SECONDS, env=environment()
        )
    assert run.returncode == 0
    assert len(run.stdout.splitlines()) == 443


def test_file_on_a_full_disk_is_named_and_not_written_in_part(folder: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    script = f"{limited}import sys; from tritree.cli.main import main; sys.exit(main(sys.argv[1:]))"
    before = set(folder.iterdir())
    for args in (
        ("predict", "diabetes.tritree", "diabetes.csv", "-o", "full.csv"),
        ("fit", "diabetes.csv", "-y", "progress", "-o", "full.tritree"),
    ):
        run = run_program(*args, cwd=folder, program=[sys.executable, "-c", script])
        assert run.code == 1
        assert run.error_line == f"tritree: cannot write '{args[-1]}': File too large"
    assert set(folder.iterdir()) == before
