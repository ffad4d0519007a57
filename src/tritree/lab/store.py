"""Results on disk: every finished cell of an experiment is kept at once, so that a killed run loses nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["FoldResult", "Store", "StoreError", "key_of"]

_FORMAT = 1
_TABLES = {"about", "cells", "folds"}  # by which a file of ours is known
_LATER_TABLES = {"depths"}
# in one step: a crash leaves a file that is ready, or an empty one
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS folds (
    key TEXT NOT NULL REFERENCES cells (key), fold INTEGER NOT NULL, loss REAL NOT NULL, rows INTEGER NOT NULL,
    fit_seconds REAL NOT NULL, predict_seconds REAL NOT NULL, PRIMARY KEY (key, fold)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS depths (key TEXT PRIMARY KEY, description TEXT NOT NULL, depth INTEGER NOT NULL);
INSERT OR IGNORE INTO about VALUES ('format', '{_FORMAT}');
COMMIT;
"""


class StoreError(ValueError):
    """A file of results that cannot be used; the message says why and what to do."""


def key_of(description: Mapping[str, Any]) -> str:
    """Return a short text that tells a description, which is plain data, from all others."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What one fold of one cell has come to: the mean loss of its test rows, and how long it took."""

    fold: int
    loss: float
    rows: int
    fit_seconds: float
    predict_seconds: float


class Store:
    """The results by the key of their cell, in a file of SQLite; in memory without a path."""

    def __init__(self, path: Any = None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None and not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} to keep results in")
        try:
            self._base = sqlite3.connect(":memory:" if self.path is None else self.path, timeout=30)
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._base.close()
            raise self._unusable(error) from error
        except StoreError:
            self._base.close()
            raise

    def _unusable(self, error: sqlite3.Error) -> StoreError:
        return StoreError(
            f"{self.path} cannot be used for results ({error}); name another file, or remove it"
        )

    def _prepare(self) -> None:
        found = {name for (name,) in self._base.execute("SELECT name FROM sqlite_master")}
        if found:
            self._check_ours(found)
        if not found >= _TABLES | _LATER_TABLES:
            self._base.executescript(_SCHEMA)
        # the results of a cell are written in one step: a crash leaves all of them, or none
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")

    def _check_ours(self, found: set[str]) -> None:
        """Raise if a database that is there already was not made here, or in another format."""
        query = "SELECT value FROM about WHERE name = 'format'"
        version = self._base.execute(query).fetchone() if found >= _TABLES else None
        if version is None:
            raise StoreError(
                f"{self.path} is a database of something else (it has {min(found)!r}) and was left as it is; name "
                "another file for results"
            )
        if version[0] != str(_FORMAT):
            raise StoreError(
                f"{self.path} holds results in format {version[0]}, and this tritree reads {_FORMAT}; name another file"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def keys(self) -> set[str]:
        """Return the keys of the cells that are finished."""
        return {key for (key,) in self._base.execute("SELECT key FROM cells")}

    def put(self, key: str, description: dict[str, Any], results: Iterable[FoldResult]) -> None:
        """Keep the results of a finished cell; those it may have had before are replaced."""
        text = json.dumps(description, sort_keys=True)
        with self._writing():
            self._base.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", (key, text))
            self._base.execute("DELETE FROM folds WHERE key = ?", (key,))
            rows = [(key, *astuple(result)) for result in results]
            self._base.executemany("INSERT INTO folds VALUES (?, ?, ?, ?, ?, ?)", rows)

    def get(self, key: str) -> list[FoldResult]:
        """Return the results of a cell, fold by fold; none if it is not finished."""
        query = "SELECT fold, loss, rows, fit_seconds, predict_seconds FROM folds WHERE key = ? ORDER BY fold"
        return [FoldResult(*row) for row in self._base.execute(query, (key,))]

    def put_depth(self, description: Mapping[str, Any], depth: int) -> None:
        """Keep a depth that was tuned as described."""
        text = json.dumps(description, sort_keys=True)
        with self._writing():
            self._base.execute(
                "INSERT OR REPLACE INTO depths VALUES (?, ?, ?)", (key_of(description), text, depth)
            )

    def depth(self, description: Mapping[str, Any]) -> int | None:
        """Return the depth that was tuned as described; None if none was."""
        found = self._base.execute(
            "SELECT depth FROM depths WHERE key = ?", (key_of(description),)
        ).fetchone()
        return None if found is None else int(found[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._base:
                yield
        except sqlite3.Error as error:
            raise StoreError(
                f"results cannot be written to {self.path} ({error}); what was written before is kept"
            ) from error
