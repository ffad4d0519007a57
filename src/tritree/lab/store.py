"""SQLite store of results: every finished trial is written at once, so an interrupted experiment loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: Environment variable with the cache folder, in place of the system's.
CACHE_VARIABLE = "TRITREE_CACHE"

#: Version of the schema and of the descriptions in it. In format 1 trials were called cells, and the descriptions had
#: other names of methods and their parameters, so that none of its results would be found.
_FORMAT = 2
_COMMON_TABLES = {"about", "folds"}  # of all formats
# in one transaction: a crash leaves a complete schema or an empty file
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (key TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS folds (
    key TEXT NOT NULL REFERENCES trials (key), fold INTEGER NOT NULL, loss REAL NOT NULL, rows INTEGER NOT NULL,
    fit_seconds REAL NOT NULL, predict_seconds REAL NOT NULL, PRIMARY KEY (key, fold)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS depths (key TEXT PRIMARY KEY, description TEXT NOT NULL, depth INTEGER NOT NULL);
INSERT OR IGNORE INTO about VALUES ('format', '{_FORMAT}');
COMMIT;
"""


class StoreError(ValueError):
    """A file that cannot be used to store results; the message has the reason and the remedy."""


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
    """Mean loss over the test rows of a fold, their number, and the time for fitting and predicting."""

    fold: int
    loss: float
    rows: int
    fit_seconds: float
    predict_seconds: float


class Store:
    """Results by the key of their trial, and tuned depths, in an SQLite file; in memory if there is no path."""

    def __init__(self, path: Any = None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None and not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} to store results in")
        try:
            self._database = sqlite3.connect(":memory:" if self.path is None else self.path, timeout=30)
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
            if tables:
                self._check_format(tables)
            else:
                self._database.executescript(_SCHEMA)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as error:
            self.close()
            raise self._unusable(error) from error
        except StoreError:
            self.close()
            raise

    def _unusable(self, error: sqlite3.Error) -> StoreError:
        return StoreError(
            f"{self.path} cannot be used for results ({error}); name another file, or remove it"
        )

    def _check_format(self, tables: set[str]) -> None:
        """Raise a StoreError if the database is not a store of this format."""
        query = "SELECT value FROM about WHERE name = 'format'"
        version = self._database.execute(query).fetchone() if tables >= _COMMON_TABLES else None
        if version is None:
            raise StoreError(
                f"{self.path} is a database of something else (it has {min(tables)!r}) and was not changed; name "
                "another file for results"
            )
        if version[0] != str(_FORMAT):
            raise StoreError(
                f"{self.path} holds results in format {version[0]}, and this version of tritree uses format {_FORMAT}, "
                "with other names of methods and scenarios; the file was not changed. Name another file, and the "
                "experiment is run again"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def keys(self) -> set[str]:
        """Return the keys of the finished trials."""
        return {key for (key,) in self._database.execute("SELECT key FROM trials")}

    def put(self, key: str, description: dict[str, Any], results: Iterable[FoldResult]) -> None:
        """Store the results of a finished trial in one transaction, replacing earlier ones."""
        text = json.dumps(description, sort_keys=True)
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO trials VALUES (?, ?)", (key, text))
            self._database.execute("DELETE FROM folds WHERE key = ?", (key,))
            rows = [(key, *astuple(result)) for result in results]
            self._database.executemany("INSERT INTO folds VALUES (?, ?, ?, ?, ?, ?)", rows)

    def get(self, key: str) -> list[FoldResult]:
        """Return the results of a trial by fold; an empty list if it is not finished."""
        query = "SELECT fold, loss, rows, fit_seconds, predict_seconds FROM folds WHERE key = ? ORDER BY fold"
        return [FoldResult(*row) for row in self._database.execute(query, (key,))]

    def put_depth(self, description: Mapping[str, Any], depth: int) -> None:
        """Store a tuned depth by the description of its tuning."""
        row = key_of(description), json.dumps(description, sort_keys=True), depth
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO depths VALUES (?, ?, ?)", row)

    def depth(self, description: Mapping[str, Any]) -> int | None:
        """Return the tuned depth for a description, or None."""
        query = "SELECT depth FROM depths WHERE key = ?"
        found = self._database.execute(query, (key_of(description),)).fetchone()
        return None if found is None else int(found[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:
                yield
        except sqlite3.Error as error:
            raise StoreError(
                f"results cannot be written to {self.path} ({error}); what was written before is kept"
            ) from error
