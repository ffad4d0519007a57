"""Input without an end, or without lines, is refused with a reason, and nothing waits for ever."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import threading
from pathlib import Path

import pytest
from cli.program import PROGRAM, SECONDS, InProcess, environment

from tritree.cli import inputs
from tritree.cli.messages import UserError

has_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
has_zeros = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless device here")


@has_zeros
def test_endless_standard_input_without_lines_is_refused(tmp_path: Path) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        run = subprocess.run(
            [*PROGRAM, "missing", "-"],
            cwd=tmp_path,
            stdin=zeros,
            capture_output=True,
            timeout=SECONDS,
            env=environment(),
        )
    assert run.returncode == 1
    assert run.stderr.decode().startswith("tritree: the standard input has no line break in its first 64 MB")


@has_zeros
@pytest.mark.parametrize(
    "args", ["missing /dev/zero", "show /dev/zero", "show diabetes.tritree --rows /dev/zero"]
)
def test_device_is_refused(args: str, tritree: InProcess, model: Path) -> None:
    assert "'/dev/zero' is not a regular file; name a" in tritree(*args.split()).error_line


class Lines(io.RawIOBase):
    """A stream of lines that never ends."""

    def read(self, size: int = -1) -> bytes:
        return b"1,2\n" * (size // 4)


def test_endless_lines_are_refused_when_they_fill_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "memory", lambda: 100_000_000)
    with pytest.raises(
        UserError, match=r"the stream is larger than 50 MB, which is half of the memory .*use fewer rows"
    ):
        inputs.LimitedFile(Lines(), "the stream").read_all()


def test_file_larger_than_half_of_the_memory_is_refused(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = table.stat().st_size
    monkeypatch.setattr(inputs, "memory", lambda: 2 * size)
    tritree.good("missing", table)
    monkeypatch.setattr(inputs, "memory", lambda: 2 * size - 2)
    assert "half of the memory of this machine; use fewer rows" in tritree("missing", table).error_line


@pytest.mark.parametrize(("suffix", "module"), [("", None), (".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_file_without_lines_is_refused(
    suffix: str, module: object, tritree: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_MAX_LINE", 1_000_000)
    path = Path(f"zeros.csv{suffix}")
    with (module or io).open(path, "wb") as file:  # type: ignore[attr-defined]
        file.write(bytes(3_000_000))
    assert "has no line break in its first 1 MB" in tritree("missing", path).error_line


def test_small_file_that_unpacks_to_half_of_the_memory_is_refused(
    tritree: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 500_000))
    monkeypatch.setattr(inputs, "memory", lambda: 2_000_000)
    assert "'t.csv.gz' is larger than 1 MB" in tritree("missing", "t.csv.gz").error_line


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-be", "cp500"])
def test_lines_are_found_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_MAX_LINE", 100)
    text = ("a,b\n" + "1,2\n" * 1000).encode(encoding)
    assert inputs.LimitedFile(io.BytesIO(text), "the stream", encoding).read_all() == text


@has_pipes
@pytest.mark.parametrize("args", ["missing pipe", "show diabetes.tritree --rows pipe"])
def test_pipe_that_nobody_writes_to_is_refused(
    args: str, tritree: InProcess, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo("pipe")
    monkeypatch.setattr(inputs, "_PIPE_SECONDS", 0.1)
    assert tritree(*args.split()).error_line == (
        "tritree: no program writes to the pipe 'pipe'; start the one that should"
    )


@has_pipes
def test_model_cannot_be_a_pipe(tritree: InProcess) -> None:
    os.mkfifo("pipe")
    assert tritree("show", "pipe").error_line == "tritree: 'pipe' is not a regular file; name a model"


@has_pipes
def test_pipe_is_read_to_its_end(tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    monkeypatch.setattr(inputs, "_CHUNK", 100)  # in many parts
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(table.read_bytes()))
    writer.start()
    assert tritree.good("missing", "pipe").out == tritree.good("missing", table).out
    writer.join()
