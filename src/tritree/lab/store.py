"""Results on disk: every finished cell of an experiment is kept at once, so that a killed run loses nothing."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FoldResult", "Store", "StoreError"]

_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS folds (
    key TEXT NOT NULL REFERENCES cells (key), fold INTEGER NOT NULL, loss REAL NOT NULL, rows INTEGER NOT NULL,
    fit_seconds REAL NOT NULL, predict_seconds REAL NOT NULL, PRIMARY KEY (key, fold)
) WITHOUT ROWID;
"""


class StoreError(ValueError):
    """A file of results that cannot be used; the message says why and what to do."""


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
            self._prepare()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path} cannot be used for results ({error}); name another file, or remove it"
            ) from error

    def _prepare(self) -> None:
        with self._base:
            self._base.executescript(_SCHEMA)
            self._base.execute("INSERT OR IGNORE INTO about VALUES ('format', ?)", (str(_FORMAT),))
        [(version,)] = self._base.execute("SELECT value FROM about WHERE name = 'format'")
        if version != str(_FORMAT):
            raise StoreError(
                f"{self.path} holds results in format {version}, and this tritree reads {_FORMAT}; name another file"
            )
        # the results of a cell are written in one step: a crash leaves all of them, or none
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")

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

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._base:
                yield
        except sqlite3.Error as error:
            raise StoreError(
                f"results cannot be written to {self.path} ({error}); what was written before is kept"
            ) from error
