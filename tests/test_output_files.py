"""Writing a file removes what killed writers have left in its folder, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tritree import output_files
from tritree.output_files import write_atomically

LEFTOVER = ".tritree.0123456789abcdef.tmp"
TWO_HOURS = 7200
KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tritree.output_files import write_atomically
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"new")
"""


def make_old(path: Path) -> None:
    then = time.time() - TWO_HOURS
    os.utime(path, (then, then), follow_symlinks=False)


def old_file(folder: Path, name: str = LEFTOVER) -> Path:
    path = folder / name
    path.write_bytes(b"half of")
    make_old(path)
    return path


def write_beside(path: Path) -> None:
    write_atomically(path.parent / "model", b"new")
    assert (path.parent / "model").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_old_file_of_a_killed_writer_is_removed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(tmp_path / "model")])
    (left,) = tmp_path.iterdir()
    make_old(left)
    write_beside(left)
    assert done.returncode == -signal.SIGKILL
    assert not left.exists()


def test_young_file_stays(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    os.utime(path)
    write_beside(path)
    assert path.exists()


@pytest.mark.skipif(output_files.fcntl is None, reason="Windows has no such locks")
def test_old_file_of_a_living_writer_stays(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    with path.open("rb") as file:
        output_files._lock(file.fileno())
        write_beside(path)
    assert path.exists()


def test_file_is_locked_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_write(handle: int) -> None:
        monkeypatch.undo()
        (path,) = tmp_path.iterdir()
        make_old(path)
        write_atomically(tmp_path / "other", b"")

    monkeypatch.setattr(os, "fsync", other_write)
    write_atomically(tmp_path / "model", b"new")
    assert (tmp_path / "model").read_bytes() == b"new"


@pytest.mark.parametrize(
    "name",
    [
        "model.tmp",
        ".tritree.tmp",
        ".tritree.0123456789ABCDEF.tmp",
        ".tritree.0123456789abcde.tmp",
        ".tritree.0123456789abcdef.tmp.bak",
        "x.tritree.0123456789abcdef.tmp",
    ],
)
def test_file_of_another_name_stays(name: str, tmp_path: Path) -> None:
    path = old_file(tmp_path, name)
    write_beside(path)
    assert path.exists()


def link(path: Path) -> None:
    path.symlink_to(old_file(path.parent, "notes"))
    make_old(path)


def folder(path: Path) -> None:
    path.mkdir()
    make_old(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)
    make_old(path)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes need rights on Windows")
@pytest.mark.parametrize("make", [link, folder, pipe])
def test_what_is_not_a_regular_file_stays(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(path := tmp_path / LEFTOVER)
    write_beside(path)
    assert path.is_symlink() or path.exists()
    assert make is not link or path.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no user numbers")
def test_file_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, user = old_file(tmp_path), os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    write_beside(path)
    assert path.exists()


def test_folder_that_cannot_be_listed_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "scandir", refuse)
    write_beside(tmp_path / "any")
