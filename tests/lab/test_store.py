"""Results on disk outlive whoever wrote them, and are whole or not there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from tritree.lab.store import FoldResult, Store, StoreError

RESULTS = [FoldResult(fold, fold / 10, 5, 0.01, 0.02) for fold in range(3)]


def test_cell_is_there_after_it_was_put(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.put("a", {"method": "trinary"}, RESULTS)
    with Store(tmp_path / "results.sqlite") as store:
        assert store.keys() == {"a"}
        assert store.get("a") == RESULTS
        assert store.get("b") == []


def test_cell_put_again_replaces_what_it_was() -> None:
    store = Store()
    store.put("a", {}, RESULTS)
    store.put("a", {}, RESULTS[:1])
    assert store.get("a") == RESULTS[:1]


def _write_until_killed(path: Path, ready: multiprocessing.synchronize.Event) -> None:
    with Store(path) as store:
        for i in range(100_000):
            store.put(f"cell {i}", {}, RESULTS)
            if i == 20:
                ready.set()


def test_killed_writer_leaves_whole_cells_only(tmp_path: Path) -> None:
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


def test_two_runs_may_write_to_one_file(tmp_path: Path) -> None:
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


def test_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "customers.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE customers (name TEXT)")
        base.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    base.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"customers.sqlite is a database of something else.*name another file"
    ):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["customers.sqlite"]


def test_empty_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    path.touch()
    with Store(path) as store:
        assert store.keys() == set()


def test_tuned_depth_is_there_after_it_was_put(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.put_depth({"data": "a", "folds": 3}, 2)
    with Store(path) as store:
        assert store.depth({"folds": 3, "data": "a"}) == 2
        assert store.depth({"data": "a", "folds": 4}) is None
        assert store.keys() == set()


def test_file_from_before_depths_were_kept_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.put("a", {}, RESULTS)
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE depths")
    base.close()
    with Store(path) as store:
        assert store.get("a") == RESULTS
        assert store.depth({}) is None


def test_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no folder .*nowhere"):
        Store(tmp_path / "nowhere" / "results.sqlite")


def test_results_of_another_format_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    base.close()
    with pytest.raises(StoreError, match="format 99"):
        Store(path)
