"""A data set that is nowhere is downloaded once, whole or not at all; what can go wrong is message in one error."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")

from lab.paper.openml import REDIRECT, Server  # noqa: E402
from lab.paper.raw_rows import tables, texts  # noqa: E402

from tritree.lab.paper import datasets  # noqa: E402
from tritree.lab.paper.dataset_specs import SPECS  # noqa: E402
from tritree.lab.paper.datasets import DatasetNotFoundError, available, load  # noqa: E402

ATTRIBUTES = {f"V{i}": "numeric" for i in range(1, 8)} | {"Class": "{1,2,3}"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no other folder to look into."""
    monkeypatch.delenv("TRITREE_DATA", raising=False)
    monkeypatch.setenv("TRITREE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def expect(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Expect as many rows as there are in the made-up table."""
    spec = replace(SPECS[name], rows=len(tables(name)[1]), digest=None)
    monkeypatch.setitem(SPECS, name, spec)  # type: ignore[arg-type]


@pytest.fixture
def openml(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """OpenML with wheat seeds."""
    expect(monkeypatch, "seeds")
    with Server(ATTRIBUTES, texts("seeds")[0].splitlines()[1:]) as server:
        server.is_openml(monkeypatch)
        yield server


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_downloaded_table_is_cleaned_and_kept(openml: Server, cache: Path) -> None:
    seeds = load("seeds")
    assert seeds.X["Area"].tolist() == [15.26, 17.63, 13.07]
    assert seeds.y.tolist() == [1, 2, 3]
    assert files_in(cache) == ["seeds.csv"]
    assert (cache / "seeds.csv").read_text() == texts("seeds")[1]
    assert available()["seeds"] == cache / "seeds.csv"
    assert any(path.endswith("/1499") for path in openml.requests)


def test_second_call_makes_no_request(openml: Server) -> None:
    first = load("seeds")
    openml.requests.clear()
    assert load("seeds").fingerprint == first.fingerprint
    assert openml.requests == []


def test_local_file_is_read_without_a_request(openml: Server, tmp_path: Path) -> None:
    (tmp_path / "seeds.csv").write_text(texts("seeds")[1])
    load("seeds", tmp_path)
    assert openml.requests == []


def test_nothing_is_downloaded_with_download_false(openml: Server, cache: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="downloads are off"):
        load("seeds", download=False)
    assert openml.requests == []
    assert not cache.exists()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (500, "HTTP Error 500"),
        (404, "HTTP Error 404"),
        (412, "Dataset with data_id 1499 not found"),
        ("cut", "the download from OpenML failed"),
    ],
)
def test_faulty_server_is_one_error_with_a_remedy(
    openml: Server, cache: Path, fault: Any, message: str
) -> None:
    openml.fault = fault
    with pytest.raises(DatasetNotFoundError, match=message) as caught:
        load("seeds")
    message = str(caught.value)
    assert f"Put it into '{cache / 'seeds.csv'}'" in message
    assert "Area,Perimeter,Compactness" in message
    assert "\n" not in message
    assert not cache.exists()
    openml.fault = None
    assert load("seeds").n_rows == 3  # and nothing is left behind that stands in the way


def test_silent_server_is_a_timeout(openml: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "TIMEOUT", 0.1)
    openml.fault = "silent"
    start = time.monotonic()
    with pytest.raises(DatasetNotFoundError, match="timed out"):
        load("seeds")
    assert time.monotonic() - start < 10
    assert socket.getdefaulttimeout() is None
    assert not cache.exists()


def test_download_that_stalls_is_aborted(
    openml: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "TIMEOUT", 0.2)
    openml.fault = "half"
    with pytest.raises(DatasetNotFoundError, match="timed out"):
        load("seeds")
    assert not cache.exists()


def test_missing_network_is_reported_without_the_message_of_a_library(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server({}, []) as server:
        server.is_openml(monkeypatch)  # and gone by the time it is asked
    with pytest.raises(DatasetNotFoundError, match=r"failed \(.*[Rr]efused.*\)") as caught:
        load("seeds")
    assert "urlopen" not in str(caught.value)


@pytest.mark.parametrize("change", ["rows", "columns"])
def test_unexpected_table_is_an_error_that_names_the_expected_one(
    openml: Server, cache: Path, change: str
) -> None:
    if change == "rows":
        openml.lines.append(openml.lines[0])
        expected = r"OpenML's table 1499 is not the expected one \(4 rows instead of 3"
    else:
        openml.attributes = {f"W{name}": kind for name, kind in openml.attributes.items()}
        expected = r"is not the expected one \(the raw table lacks 'v1'"
    with pytest.raises(DatasetNotFoundError, match=expected):
        load("seeds")
    assert not cache.exists()


@pytest.mark.parametrize("name", ["black_friday", "life_expectancy"])
def test_error_names_the_source_of_a_data_set_that_openml_lacks(
    name: str, openml: Server, cache: Path
) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"https://www\.kaggle\.com/") as caught:
        load(name)
    assert str(cache / f"{name}.csv") in str(caught.value)
    assert openml.requests == []


def test_unwritable_cache_is_only_a_warning(
    openml: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in_the_way").write_text("a file")
    monkeypatch.setenv("TRITREE_CACHE", str(tmp_path / "in_the_way"))
    with pytest.warns(UserWarning, match="cannot be kept in .* set TRITREE_CACHE"):
        assert load("seeds").n_rows == 3


def test_quoted_names_of_passengers_are_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expect(monkeypatch, "titanic")
    raw = tables("titanic")[0]
    numbers = {"PassengerId", "Survived", "Pclass", "Age", "SibSp", "Parch", "Fare"}
    attributes = {column: "numeric" if column in numbers else "string" for column in raw}
    lines = [
        "1,0,3,'Braund, Mr. Owen',male,22,1,0,'A/5 21171',7.25,?,S",
        r"2,1,1,'O\'Dwyer, Mrs. John',female,38,1,2,'PC 17599',71.2833,C85,C",
        "6,0,3,'Moran, Mr. James',male,?,0,0,330877,8.4583,?,Q",
        "62,1,1,'Icard, Miss. Amelie',female,38,0,0,113572,80,B28,?",
    ]
    with Server(attributes, lines) as server:
        server.is_openml(monkeypatch)
        titanic = load("titanic")
    assert titanic.y.tolist() == ["no", "yes"]
    assert titanic.X["n_family"].tolist() == [1, 3]
    assert titanic.X["Sex"].tolist() == ["male", "female"]


KILLED = """
import re, sys
{redirect}
from dataclasses import replace
from tritree.lab.paper.dataset_specs import SPECS
from tritree.lab.paper.datasets import load
SPECS["seeds"] = replace(SPECS["seeds"], rows=3)
load("seeds")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_download_leaves_no_file_in_the_cache(openml: Server, cache: Path) -> None:
    openml.fault = "half"
    code = KILLED.format(redirect=REDIRECT.format(address=openml.address))
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path})
    try:
        assert openml.half_sent.wait(60)
    finally:
        process.kill()
        process.wait(10)
    assert process.returncode == -signal.SIGKILL
    assert not cache.exists()
    openml.fault = None
    assert load("seeds").n_rows == 3
