"""A file that cannot be used for results raises a StoreError, and never gives other results than those written."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lab.small_experiment import small

from tritree.lab import store as store_module
from tritree.lab.store import FoldResult, Store, StoreError

RESULTS = [FoldResult(fold, fold / 7, 5, 0.01, 0.02) for fold in range(3)]
PAGE = 4096
Damage = Callable[[bytearray, random.Random], None]


def flip_a_bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def change_the_header(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(120)] = rng.randrange(256)


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(1, len(data)) :]


def zero_a_page(data: bytearray, rng: random.Random) -> None:
    begin = PAGE * rng.randrange(len(data) // PAGE)
    data[begin : begin + PAGE] = bytes(PAGE)


def swap_pages(data: bytearray, rng: random.Random) -> None:
    a, b = (slice(begin, begin + PAGE) for begin in rng.sample(range(0, len(data), PAGE), 2))
    data[a], data[b] = data[b], data[a]


def zero_a_part(data: bytearray, rng: random.Random) -> None:
    begin = rng.randrange(len(data))
    data[begin : begin + 500] = bytes(len(data[begin : begin + 500]))


def content(path: Path) -> Any:
    """Return all that a store holds."""
    with Store(path) as store:
        return {key: store.get(key) for key in store.keys()}, sorted(store._rows("SELECT * FROM depths"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of a small experiment, of several pages."""
    path = tmp_path_factory.mktemp("store") / "results.sqlite"
    small(store=path, rates=[0.1, 0.2, 0.3, 0.4], max_depth="tuned").run(1)
    return path


@pytest.mark.parametrize(
    "damage", [flip_a_bit, change_the_header, truncate, zero_a_page, swap_pages, zero_a_part]
)
def test_damaged_copy_has_all_results_or_is_refused(damage: Damage, results: Path, tmp_path: Path) -> None:
    written, data = content(results), results.read_bytes()
    rng, copy, errors = random.Random(0), tmp_path / "copy.sqlite", []
    for _ in range(100):
        damaged = bytearray(data)
        damage(damaged, rng)
        copy.write_bytes(damaged)
        try:
            assert content(copy) == written
        except StoreError as error:
            errors.append(error)
    assert len(errors) >= 10
    assert all(str(copy) in str(error) and "name another file" in str(error) for error in errors)


def test_finished_results_are_in_one_file(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.put("a", {}, RESULTS)
        assert [file.name for file in tmp_path.iterdir()] == ["results.sqlite"]


def test_lost_trial_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.put("a", {}, RESULTS)
        store.put("b", {}, RESULTS)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM trials WHERE key = 'a'")
    with pytest.raises(StoreError, match="not those that were written"):
        Store(path)


def test_store_whose_tables_are_lost_is_not_taken_for_an_empty_one(results: Path, tmp_path: Path) -> None:
    data = bytearray(results.read_bytes())
    data[103:105] = bytes(2)  # the number of entries in the schema
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"):
        Store(copy)
    assert copy.read_bytes() == data


@pytest.fixture
def half_written(tmp_path: Path) -> Iterator[Path]:
    """Return a store that another connection has locked."""
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.put("a", {}, RESULTS)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield path


def test_locked_store_is_refused_after_a_while(half_written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_LOCK_SECONDS", 0.1)
    monkeypatch.setattr(store_module, "_SILENT_SECONDS", 0.01)
    with (
        pytest.warns(UserWarning, match="another process has locked .*; waiting up to"),
        pytest.raises(StoreError, match=r"locked\); another process .* wait"),
    ):
        Store(half_written)


@pytest.mark.parametrize("table", ["about", "trials", "depths"])
def test_store_that_lost_a_table_is_damaged(table: str, results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(results.read_bytes())
    with closing(sqlite3.connect(copy)) as database:
        database.execute(f"DROP TABLE {table}")
    with pytest.raises(StoreError, match=rf"is damaged \(its table '{table}' is lost\)"):
        Store(copy)


def test_store_that_cannot_be_written_is_refused_when_it_is_opened(results: Path, tmp_path: Path) -> None:
    data = bytearray(results.read_bytes())
    data[18] = 3  # the version needed to write it: SQLite opens it for reading only, whoever runs this
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(data)
    with pytest.raises(StoreError, match=r"readonly .*; make it and its folder writable"):
        Store(copy)


def test_full_disk_keeps_what_was_finished(tmp_path: Path) -> None:
    path, finished = tmp_path / "results.sqlite", set()
    with Store(path) as store:
        store._database.execute("PRAGMA max_page_count = 20")

        def put_until_full() -> None:
            for key in map(str, range(1000)):
                store.put(key, {"text": "x" * 500}, RESULTS)
                finished.add(key)

        with pytest.raises(StoreError, match=r"full\); make room"):
            put_until_full()
    assert len(finished) > 10
    with Store(path) as store:
        assert store.keys() == finished
        assert all(store.get(key) == RESULTS for key in finished)


@pytest.mark.parametrize("make", [Path.mkdir, getattr(os, "mkfifo", None)], ids=["folder", "pipe"])
def test_folder_or_pipe_is_refused_at_once(make: Any, tmp_path: Path) -> None:
    if make is None:
        pytest.skip("no named pipes here")
    make(tmp_path / "results.sqlite")
    with pytest.raises(StoreError, match=r"results.sqlite' is .*; name another file"):
        Store(tmp_path / "results.sqlite")
