"""Results in a store survive a killed process, complete or not at all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from tritree.lab.store import FoldResult, Store, StoreError

METRICS = {"r2": None, "rmse": 0.3, "mae": 1 / 3}
RESULTS = [FoldResult(fold, fold / 10, 5, 0.01, 0.02, METRICS) for fold in range(3)]


def test_results_are_found_after_reopening(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.put("a", {"method": "trinary"}, RESULTS)
    with Store(tmp_path / "results.sqlite") as store:
        assert store.keys() == {"a"}
        assert store.get("a") == RESULTS
        assert store.get("b") == []


def test_results_put_again_replace_the_earlier_ones() -> None:
    store = Store()
    store.put("a", {}, RESULTS)
    store.put("a", {}, RESULTS[:1])
    assert store.get("a") == RESULTS[:1]


def _write_until_killed(path: Path, ready: multiprocessing.synchronize.Event) -> None:
    with Store(path) as store:
        for i in range(100_000):
            store.put(f"trial {i}", {}, RESULTS)
            if i == 20:
                ready.set()


def test_killed_writer_leaves_complete_trials_only(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    writer = context.Process(target=_write_until_killed, args=(tmp_path / "results.sqlite", ready))
    writer.start()
    assert ready.wait(60)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with Store(tmp_path / "results.sqlite") as store:
        keys = store.keys()
        assert len(keys) > 20
        assert all(store.get(key) == RESULTS for key in keys)
        store.put("later", {}, RESULTS)


def test_two_processes_may_write_to_one_file(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as one, Store(tmp_path / "results.sqlite") as other:
        one.put("a", {}, RESULTS)
        other.put("b", {}, RESULTS)
        assert one.keys() == other.keys() == {"a", "b"}


def test_file_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 100)
    with pytest.raises(StoreError, match=r"table.csv cannot be used for results .*name another file"):
        Store(path)
    assert path.read_text().startswith("a,b")


def test_other_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "customers.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE customers (name TEXT)")
        database.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"customers.sqlite is an SQLite database of another program.*name another file"
    ):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["customers.sqlite"]


def test_empty_file_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    path.touch()
    with Store(path) as store:
        assert store.keys() == set()


def test_tuned_depth_is_found_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.put_depth({"data": "a", "folds": 3}, 2)
    with Store(path) as store:
        assert store.depth({"folds": 3, "data": "a"}) == 2
        assert store.depth({"data": "a", "folds": 4}) is None
        assert store.keys() == set()


def test_file_of_format_1_is_refused_with_a_remedy_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE cells (key TEXT PRIMARY KEY, description TEXT NOT NULL);
            CREATE TABLE folds (key TEXT NOT NULL REFERENCES cells (key), fold INTEGER NOT NULL, loss REAL NOT NULL);
            CREATE TABLE depths (key TEXT PRIMARY KEY, description TEXT NOT NULL, depth INTEGER NOT NULL);
            INSERT INTO about VALUES ('format', '1');
        """)
    database.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"format 1, .* uses format 4; .*name another file"):
        Store(path)
    assert path.read_bytes() == before


def test_absent_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no folder .*nowhere"):
        Store(tmp_path / "nowhere" / "results.sqlite")


def test_results_of_another_format_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    database.close()
    with pytest.raises(StoreError, match="format 99"):
        Store(path)
