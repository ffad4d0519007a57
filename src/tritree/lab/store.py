"""SQLite store of results: every finished trial is written at once, so an interrupted experiment loses nothing.

Results are never read from a damaged file: it is checked when it is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tritree.errors import warn_caller
from tritree.output_files import check_output_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: Environment variable with the cache folder, in place of the system's.
CACHE_VARIABLE = "TRITREE_CACHE"

#: Version of the schema and of the descriptions in it. In format 1 trials were called cells, and the descriptions had
#: other names of methods and their parameters, so that none of its results would be found. Format 2 had no checksum,
#: format 3 no metrics.
FORMAT = 4
# a trial is one row, with all its folds or not there
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (key TEXT PRIMARY KEY, description TEXT NOT NULL, folds TEXT NOT NULL);
CREATE TABLE depths (key TEXT PRIMARY KEY, description TEXT NOT NULL, depth INTEGER NOT NULL);
"""
_RESULTS = ("trials", "depths")  # the tables with results
_TABLES = {"about", *_RESULTS}
_CHECKSUM_BITS = 128
#: To wait for other processes, which write for a few milliseconds, and to wait before saying so.
_LOCK_SECONDS, _SILENT_SECONDS = 30.0, 2.0

_RUN_AGAIN = "name another file, or remove it, and the experiment is run again"
#: What to do about errors of SQLite.
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another process has locked it: wait until that has ended, or name another file",
    sqlite3.SQLITE_CANTOPEN: "make it and its folder writable, or name another file",
    sqlite3.SQLITE_CORRUPT: _RUN_AGAIN,
    sqlite3.SQLITE_FULL: "make room on the disk: finished trials are kept, and the experiment continues from there",
    sqlite3.SQLITE_READONLY: "make it and its folder writable, or name another file",
}


class StoreError(ValueError):
    """A file that cannot be used to store results.

    Attributes
    ----------
    path : Path or None
        The file; None if results are stored in memory.
    problem, remedy : str
        What is wrong with it, and what to do.
    """

    def __init__(self, path: Path | None, problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.path, self.problem, self.remedy = path, problem, remedy

    def __str__(self) -> str:
        return f"{'the store' if self.path is None else self.path} {self.problem}; {self.remedy}"


def cache_folder() -> Path:
    r"""Return the user's cache folder, for downloaded data sets and results.

    It is the environment variable ``TRITREE_CACHE`` or the system's folder for caches: ``$XDG_CACHE_HOME/tritree`` or
    ``~/.cache/tritree``, ``~/Library/Caches/tritree`` on macOS, ``%LOCALAPPDATA%\tritree\Cache`` on Windows.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "tritree" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tritree"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # the XDG base directory specification says to ignore relative paths
    return (base if base.is_absolute() else Path.home() / ".cache") / "tritree"


def key_of(description: Mapping[str, Any]) -> str:
    """Return a hash of a description, which is plain data."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class FoldResult:
    """Mean loss over the test rows of a fold, their number, the time for fitting and predicting, and the metrics."""

    fold: int
    loss: float
    rows: int
    fit_seconds: float
    predict_seconds: float
    #: See `tritree.metrics.METRICS`; None for a metric that is not defined in this fold. Those of classification also
    #: hold the expected calibration error, unless an earlier version stored them.
    metrics: dict[str, float | None] = field(default_factory=dict)


def _checksum(table: str, row: tuple[Any, ...]) -> int:
    return int.from_bytes(hashlib.sha256(repr((table, *row)).encode()).digest()[: _CHECKSUM_BITS // 8])


class Store:
    """Results by the key of their trial, and tuned depths, in an SQLite file; in memory if there is no path.

    The file has a checksum: the sum of the checksums of all rows, which each transaction updates. Finished trials are
    in this file alone; the journal that a killed process leaves only undoes what it had begun.
    """

    def __init__(self, path: Any = None) -> None:
        self.path = None if path is None else Path(path)
        file = ":memory:"
        if self.path is not None:
            try:  # SQLite would wait for the other end of a named pipe
                file = str(check_output_path(self.path, "results"))
            except OSError as error:
                raise StoreError(
                    self.path, f"cannot be used for results ({error})", "name another file"
                ) from error
        with self._errors():
            self._database = sqlite3.connect(file, timeout=_LOCK_SECONDS, isolation_level=None)
        try:
            with self._transaction():
                self._create_or_check()
            with self._errors():  # not WAL, where a file that is lost takes finished trials with it
                self._database.execute("PRAGMA journal_mode = DELETE")
        except BaseException:
            self.close()
            raise

    def _create_or_check(self) -> None:
        """Create the tables in an empty file; raise a StoreError if another file is no undamaged store."""
        tables = {str(name) for (name,) in self._rows("SELECT name FROM sqlite_master")}
        if tables:
            self._check_format(tables)
        if self._rows("PRAGMA page_count") != [(0,)]:
            [(found,), *_] = self._rows("PRAGMA integrity_check(1)")
            if found != "ok":
                raise self._damaged(found.splitlines()[-1])  # after a heading
        if tables:
            total = sum(
                _checksum(name, row) for name in _RESULTS for row in self._rows(f"SELECT * FROM {name}")
            )
            if f"{total % 2**_CHECKSUM_BITS:x}" != self._about("checksum"):
                raise self._damaged("its results are not those that were written")
            return
        for statement in _SCHEMA.strip().splitlines():
            self._database.execute(statement)
        about = [("format", str(FORMAT)), ("checksum", "0")]
        self._database.executemany("INSERT INTO about VALUES (?, ?)", about)

    def _check_format(self, tables: set[str]) -> None:
        """Raise a StoreError if the database is not a store of this format."""
        if len(tables & _TABLES) < 2:  # format 1 had two of them
            problem = (
                f"is an SQLite database of another program (it has {min(tables)!r}), and was not changed"
            )
            raise StoreError(self.path, problem, "name another file for results")
        version = self._about("format") if "about" in tables else None
        lost = _TABLES - tables
        if version is None or (version == str(FORMAT) and lost):
            raise self._damaged(f"its table {min(lost)!r} is lost" if lost else "its format is lost")
        if version != str(FORMAT):
            problem = (
                f"holds results in format {version}, and this version of tritree uses format {FORMAT}; it was not "
                "changed"
            )
            raise StoreError(self.path, problem, _RUN_AGAIN)

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(self.path, f"is damaged ({reason})", _RUN_AGAIN)

    def _about(self, name: str) -> str | None:
        found = self._rows("SELECT value FROM about WHERE name = ?", name)
        return found[0][0] if found else None

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._database.execute(query, values).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def keys(self) -> set[str]:
        """Return the keys of the finished trials."""
        return {key for (key,) in self._rows("SELECT key FROM trials")}

    def put(self, key: str, description: dict[str, Any], results: Iterable[FoldResult]) -> None:
        """Store the results of a finished trial, replacing earlier ones."""
        folds = [astuple(result) for result in results]
        self._write("trials", key, json.dumps(description, sort_keys=True), json.dumps(folds))

    def get(self, key: str) -> list[FoldResult]:
        """Return the results of a trial by fold; an empty list if it is not finished."""
        found = self._rows("SELECT folds FROM trials WHERE key = ?", key)
        return [FoldResult(*fold) for (folds,) in found for fold in json.loads(folds)]

    def put_depth(self, description: Mapping[str, Any], depth: int) -> None:
        """Store a tuned depth by the description of its tuning."""
        self._write("depths", key_of(description), json.dumps(description, sort_keys=True), depth)

    def depth(self, description: Mapping[str, Any]) -> int | None:
        """Return the tuned depth for a description, or None."""
        found = self._rows("SELECT depth FROM depths WHERE key = ?", key_of(description))
        return int(found[0][0]) if found else None

    def _write(self, table: str, *row: Any) -> None:
        """Write a row, which begins with its key, in a transaction that updates the checksum of the file."""
        with self._transaction():
            replaced = self._rows(f"SELECT * FROM {table} WHERE key = ?", row[0])
            total = int(self._about("checksum") or "0", 16)
            total += _checksum(table, row) - sum(_checksum(table, other) for other in replaced)
            self._database.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row)
            checksum = f"{total % 2**_CHECKSUM_BITS:x}"
            self._database.execute("UPDATE about SET value = ? WHERE name = 'checksum'", (checksum,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._begin()
            with self._database:
                yield

    def _begin(self) -> None:
        """Begin to write, which fails at once in a file that cannot be written; say so if another process locks it."""
        try:
            self._wait_for_lock(_SILENT_SECONDS)
            self._database.execute("BEGIN IMMEDIATE")
            self._wait_for_lock(_LOCK_SECONDS)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            warn_caller(
                f"another process has locked {self.path}; waiting up to {_LOCK_SECONDS:.0f} seconds for it"
            )
            self._wait_for_lock(_LOCK_SECONDS)
            self._database.execute("BEGIN IMMEDIATE")

    def _wait_for_lock(self, seconds: float) -> None:
        self._database.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of SQLite as StoreErrors."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # the latter for damaged text in SQLite's own message
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details
            remedy = _REMEDIES.get(code, "name another file, or remove it")
            raise StoreError(self.path, f"cannot be used for results ({error})", remedy) from error
