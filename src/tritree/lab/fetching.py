"""Where the paper's data sets are looked for, and how one that is nowhere gets into the user's cache."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError

from tritree.errors import warn_caller
from tritree.files import write_whole
from tritree.lab.cleaning import DataError
from tritree.lab.recipes import RECIPES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DataNotFoundError", "cache_folder", "download", "find", "how_to_get"]

#: The folders with data files, for those who keep them: it, and its subfolder of this name, are looked into.
DATA_VARIABLE = "TRITREE_DATA"
_SUBFOLDER = "paper"
#: The folder to keep downloaded files in, instead of the one that the system has for such things.
CACHE_VARIABLE = "TRITREE_CACHE"
#: The seconds that OpenML may keep silent before a download is given up.
SILENCE = 15.0


class DataNotFoundError(DataError, FileNotFoundError):
    """A data set that is on no folder and could not be downloaded; the message says where to put its file."""


def cache_folder() -> Path:
    r"""Return the folder in which downloaded data sets are kept.

    It is named by the environment variable ``TRITREE_CACHE``, or else is what the system has for files that can be
    made again: ``$XDG_CACHE_HOME/tritree`` or ``~/.cache/tritree``, ``~/Library/Caches/tritree`` on macOS,
    ``%LOCALAPPDATA%\tritree\Cache`` on Windows.
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
    # a relative path is to be ignored, says the XDG base directory specification
    return (base if base.is_absolute() else Path.home() / ".cache") / "tritree"


def find(name: str, data_dir: Any = None) -> Path | None:
    """Return the file of a data set: in ``data_dir``, in the folder named by TRITREE_DATA, or in the cache."""
    for folder in _folders(data_dir):
        for ending in (".csv", ".csv.gz"):
            path = folder / f"{name}{ending}"
            if path.is_file():
                return path
    return None


def _folders(data_dir: Any) -> Iterator[Path]:
    if data_dir is not None:
        given = Path(os.fspath(data_dir)).expanduser()
        if not given.is_dir():
            raise DataNotFoundError(f"there is no folder {str(given)!r} to look for data sets in")
        yield from (given, given / _SUBFOLDER)
    named = os.environ.get(DATA_VARIABLE)
    if named:
        yield from (Path(named).expanduser(), Path(named).expanduser() / _SUBFOLDER)
    yield cache_folder()


def how_to_get(name: str, data_dir: Any, reason: str) -> DataNotFoundError:
    """Return the error that says why a data set is not here, and which file to put where."""
    recipe = RECIPES[name]
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE) or cache_folder()
    path = Path(os.fspath(named)).expanduser() / f"{name}.csv"
    page = "" if recipe.openml is None else f" (https://www.openml.org/d/{recipe.openml})"
    return DataNotFoundError(
        f"the data set {name!r} is not here: {reason}. Put it into {str(path)!r} (or .csv.gz): either the published "
        f"table as CSV with a header, which is {recipe.source}{page}, or the cleaned one of {recipe.rows:,} rows "
        f"without missing cells, the response last: {recipe.header}"
    )


def download(name: str, data_dir: Any = None) -> Any:
    """Return the clean table of a data set, made of OpenML's; it is kept in the cache, whole or not at all."""
    recipe = RECIPES[name]
    if recipe.openml is None:
        raise how_to_get(name, data_dir, "it cannot be downloaded without an account")
    try:
        raw = _from_openml(recipe.openml)
    except Exception as error:  # whatever a network, a server or a damaged file can do to a reader
        raise how_to_get(name, data_dir, f"the download from OpenML failed ({_reason(error)})") from error
    try:
        table = recipe.clean(raw)
    except DataError as error:
        reason = f"OpenML's table {recipe.openml} is not what was expected ({error})"
        raise how_to_get(name, data_dir, reason) from error
    path = cache_folder() / f"{name}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, table.to_csv(index=False).encode())
    except OSError as error:
        warn_caller(
            f"{name!r} was downloaded but cannot be kept in {str(path)!r} ({error}); set {CACHE_VARIABLE}"
        )
    return table


def _from_openml(number: int) -> Any:
    """Return a table as OpenML has it."""
    from sklearn.datasets import fetch_openml

    # scikit-learn keeps what it downloads; in a folder of its own that goes away, nothing half done is met again
    with tempfile.TemporaryDirectory(prefix="tritree-") as folder, _impatient(), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of scikit-learn, that it tries again; the error at the end says it all
        found = fetch_openml(
            data_id=number,
            target_column=None,
            data_home=folder,
            as_frame=True,
            parser="liac-arff",
            n_retries=1,
        )
        return found.frame


@contextmanager
def _impatient() -> Iterator[None]:
    """Give up connections that keep silent; scikit-learn has no parameter for it, so it is the process's default."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _reason(error: Exception) -> str:
    if isinstance(error, URLError) and not isinstance(error, HTTPError):
        return str(error.reason)
    said = str(error) if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: {error}"
    lines = said.strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
