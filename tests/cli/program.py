"""Running the program: in this process, as a subprocess, and on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-m", "tritree"]
SECONDS = 120  # timeout of a run


@dataclass(frozen=True)
class Run:
    """The result of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error_line(self) -> str:
        """Return the error, which must be the only line beside warnings."""
        assert self.out == "", self
        lines = [line for line in self.err.splitlines() if "warning:" not in line]
        assert len(lines) == 1, self
        assert "Traceback" not in self.err
        return lines[0]


class InProcess:
    """The program run in this process, which saves the time for imports."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *args: object) -> Run:
        from tritree.cli.main import main

        self._capfd.readouterr()
        code = main([str(arg) for arg in args])
        return Run(code, *self._capfd.readouterr())

    def good(self, *args: object) -> Run:
        """Return a run that must succeed."""
        run = self(*args)
        assert run.code == 0, run
        return run


def environment(**changes: str) -> dict[str, str]:
    """Return the environment variables without those that force colours or widths."""
    forced = (
        "NO_COLOR",
        "FORCE_COLOR",
        "PY_COLORS",
        "GITHUB_ACTIONS",
        "COLUMNS",
        "PYTHONIOENCODING",
        "PYTHONWARNINGS",
    )
    others = {name: value for name, value in os.environ.items() if name not in forced}
    return others | {"MPLBACKEND": "agg", "TERM": "xterm-256color"} | changes


def run_program(
    *args: object, cwd: Path, stdin: bytes | None = None, program: list[str] | None = None, **changes: str
) -> Run:
    """Run the program as a subprocess."""
    process = subprocess.run(
        [*(program or PROGRAM), *map(str, args)],
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=SECONDS,
        env=environment(**changes),
    )
    return Run(process.returncode, process.stdout.decode(), process.stderr.decode())


def run_on_terminal(
    *args: object, cwd: Path, keys: dict[str, bytes] | None = None, **changes: str
) -> tuple[int, str]:
    """Return the exit code and the output on a pseudo-terminal; ``keys`` are typed when a text is shown."""
    import pty
    import select
    import time

    pid, terminal = pty.fork()
    if pid == 0:  # the program
        os.chdir(cwd)
        os.execve(sys.executable, [*PROGRAM, *map(str, args)], environment(**changes))
    shown, waiting, until = b"", dict(keys or {}), time.monotonic() + SECONDS
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
        for text in [text for text in waiting if text.encode() in shown]:
            os.write(terminal, waiting.pop(text))
    else:
        os.kill(pid, 9)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def without_control(shown: str) -> str:
    """Return the output on a terminal without control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
