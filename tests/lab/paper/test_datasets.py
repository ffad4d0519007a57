"""The paper's data sets are found by name, and read as its author or its text has them."""

from __future__ import annotations

import gzip
import os
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from data_paths import DATA

pd = pytest.importorskip("pandas")

from lab.paper.raw_rows import tables, texts  # noqa: E402

from tritree.lab.dataset import DatasetError  # noqa: E402
from tritree.lab.paper import datasets  # noqa: E402
from tritree.lab.paper.dataset_specs import SPECS  # noqa: E402
from tritree.lab.paper.datasets import NAMES, DatasetNotFoundError, available, load  # noqa: E402
from tritree.lab.store import cache_folder  # noqa: E402

HERE = (DATA / "paper" / "seeds.csv").exists()
with_files = pytest.mark.skipif(not HERE, reason="no data sets of the paper; set TRITREE_DATA")


@pytest.fixture(autouse=True)
def nothing_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder is named, the cache is empty, and few rows are expected."""
    monkeypatch.delenv("TRITREE_DATA", raising=False)
    monkeypatch.setenv("TRITREE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        spec = replace(SPECS[name], rows=len(tables(name)[1]))
        monkeypatch.setitem(SPECS, name, spec)  # type: ignore[arg-type]


def put(folder: Path, name: str, text: str, *, ending: str = ".csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    return path


@with_files
@pytest.mark.parametrize("name", NAMES)
def test_file_of_the_author_is_recognised(name: str) -> None:
    dataset = load(name, DATA)
    assert dataset.note == ""
    assert dataset.n_rows == len(dataset.X) == SPECS[name].rows
    assert (dataset.task == "classification") == (name in ("titanic", "lymphography"))
    assert not dataset.X.isna().any().any()
    text = [column for column, kind in SPECS[name].types.items() if kind == "text" and column != "y"]
    assert [column for column in dataset.X if dataset.X[column].dtype == "category"] == text


@with_files
def test_seeds_are_numbers_for_the_author_and_classes_in_the_text() -> None:
    as_author, as_text = load("seeds", DATA), load("seeds", DATA, as_author=False)
    assert (as_author.task, as_text.task) == ("regression", "classification")
    assert as_author.y.dtype == np.float64
    names = dict(zip(as_author.y.tolist(), as_text.y.tolist(), strict=True))
    assert names == {1: "Kama", 2: "Rosa", 3: "Canadian"}
    assert as_author.fingerprint != as_text.fingerprint


@with_files
def test_boston_is_a_regression_in_both_variants_and_a_note_mentions_the_text() -> None:
    as_author, as_text = load("boston_housing", DATA), load("boston_housing", DATA, as_author=False)
    assert as_author.task == as_text.task == "regression"
    assert "listed as a classification in the text" in as_text.note
    assert as_author.fingerprint == as_text.fingerprint


@with_files
def test_table_that_differs_from_the_authors_in_one_cell_has_a_note(tmp_path: Path) -> None:
    text = (DATA / "paper" / "seeds.csv").read_text()
    put(tmp_path, "seeds", text.replace("15.26", "15.27", 1))
    assert "differ from the author's table" in load("seeds", tmp_path).note


@with_files
def test_table_is_the_same_after_it_was_written_and_read_again(tmp_path: Path) -> None:
    for name in set(NAMES) - {"black_friday"}:
        first = load(name, DATA, as_author=False)
        put(tmp_path, name, first.X.assign(y=first.y).to_csv(index=False))
        assert load(name, tmp_path, as_author=False).fingerprint == first.fingerprint


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["raw", "clean"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.usefixtures("few")
def test_file_may_hold_the_raw_or_the_clean_table(name: str, form: str, ending: str, tmp_path: Path) -> None:
    put(tmp_path, name, texts(name)[form == "clean"], ending=ending)
    dataset = load(name, tmp_path, as_author=False)
    clean = tables(name)[1]
    assert dataset.y.tolist() == clean["y"].tolist()
    assert dataset.X.astype(object).values.tolist() == clean.drop(columns="y").astype(object).values.tolist()


@pytest.mark.usefixtures("few")
def test_file_with_row_numbers_a_mark_and_windows_line_ends_is_read(tmp_path: Path) -> None:
    rows = texts("titanic")[1].splitlines()
    text = "\ufeff" + "\r\n".join(["," + rows[0], *(f"{i},{row}" for i, row in enumerate(rows[1:]))])
    put(tmp_path, "titanic", text)
    assert load("titanic", tmp_path).y.tolist() == ["no", "yes"]


@pytest.mark.usefixtures("few")
def test_given_folder_comes_before_the_named_one_and_that_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = put(tmp_path / "cache", "seeds", texts("seeds")[1])
    assert available()["seeds"] == cached
    monkeypatch.setenv("TRITREE_DATA", str(tmp_path / "named"))
    in_subfolder = put(tmp_path / "named" / "paper", "seeds", texts("seeds")[1])
    assert available()["seeds"] == in_subfolder
    named = put(tmp_path / "named", "seeds", texts("seeds")[1], ending=".csv.gz")
    assert available()["seeds"] == named
    given = put(tmp_path / "given" / "paper", "seeds", texts("seeds")[1])
    assert available(tmp_path / "given")["seeds"] == given
    assert available(tmp_path / "given")["titanic"] is None
    put(tmp_path / "given", "titanic", "nothing of use")
    assert load("seeds", tmp_path / "given").n_rows == 3


def test_given_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"there is no folder .*nowhere"):
        load("seeds", tmp_path / "nowhere", download=False)
    with pytest.raises(DatasetNotFoundError, match=r"there is no folder .*nowhere"):
        available(tmp_path / "nowhere")


def test_unknown_name_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(
        DatasetError, match=r"no data set 'sedes' \(did you mean 'seeds'\?\); the paper's are auto_mpg, "
    ):
        load("sedes")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("a,b\n1,2\n", "its columns are 'a,b' instead of Area,Perimeter,.*,y"),
        (texts("seeds")[1], "3 rows instead of 199"),
        ('"unclosed\n1,2\n', "is not the data set|cannot be read"),
        ("\x00\x01\x02", "is not the data set|cannot be read"),
    ],
)
def test_unusable_file_is_an_error_that_names_it(text: str, message: str, tmp_path: Path) -> None:
    path = put(tmp_path, "seeds", text)
    with pytest.raises(DatasetError, match=message) as caught:
        load("seeds", tmp_path)
    assert str(path) in str(caught.value)


def test_truncated_compressed_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = put(tmp_path, "seeds", texts("seeds")[1] * 50, ending=".csv.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DatasetError, match=r"cannot be read .* put an intact file there"):
        load("seeds", tmp_path)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("15.26,", ",", "column 'Area' has 1 missing cell instead"),
        ("15.26,", "wide,", "column 'Area' holds 'wide' instead of numbers"),
        ("Kama", "", "column 'y' has 1 missing cell instead"),
        ("Kama", "1", "column 'y' holds '1' instead of one of Kama, Rosa, Canadian"),
    ],
)
def test_unusable_cell_is_an_error_that_names_file_and_column(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    put(tmp_path, "seeds", texts("seeds")[1].replace(old, new))
    with pytest.raises(DatasetError, match=f"seeds.csv' is not the data set Wheat seeds: {message}"):
        load("seeds", tmp_path)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/var/x"}, "/var/x/tritree"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/tritree"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/me/.cache/tritree"),
        ("linux", {}, "/home/me/.cache/tritree"),
        ("darwin", {"XDG_CACHE_HOME": "/var/x"}, "/home/me/Library/Caches/tritree"),
        ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/tritree/Cache"),
        ("win32", {}, "/home/me/AppData/Local/tritree/Cache"),
        ("linux", {"TRITREE_CACHE": "/my/own"}, "/my/own"),
        ("win32", {"TRITREE_CACHE": "/my/own"}, "/my/own"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths are written as POSIX has them")
def test_cache_is_where_the_system_has_caches(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TRITREE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in ({"HOME": "/home/me"} | variables).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert PurePosixPath(cache_folder()) == PurePosixPath(expected)


def test_error_of_an_absent_set_names_the_folder_the_user_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def message(data_dir: Any = None) -> str:
        return str(datasets._not_found("cement", data_dir, "no reason"))

    assert str(tmp_path / "cache" / "cement.csv") in message()
    monkeypatch.setenv("TRITREE_DATA", str(tmp_path / "named"))
    assert str(tmp_path / "named" / "cement.csv") in message()
    assert str(tmp_path / "given" / "cement.csv") in message(tmp_path / "given")
    assert "1,030 rows" in message()
    assert message().endswith("fine_aggregate,age,y")
