"""The eight data sets of the paper by name, from a file or downloaded from OpenML."""

from __future__ import annotations

import os
import socket
import tempfile
import warnings
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pandas as pd
from sklearn.utils.fixes import parse_version

from tritree.errors import shortened, warn_caller
from tritree.lab.dataset import Dataset, DatasetError, Task, digest, suggestion, target_values
from tritree.lab.paper.dataset_specs import SPECS, VARIETIES, DatasetSpec
from tritree.lab.store import CACHE_VARIABLE, cache_folder
from tritree.output_files import write_atomically

#: Names of the paper's data sets, in the order of its table.
NAMES = tuple(SPECS)

#: Environment variable with a folder of data files; the folder and this subfolder of it are searched.
DATA_VARIABLE = "TRITREE_DATA"
_SUBFOLDER = "paper"
#: Seconds without a response after which a download is aborted.
TIMEOUT = 15.0
#: From pandas 3.1 on, numbers are read exactly by default, and this parameter is removed.
_EXACT = {"float_precision": "round_trip"} if parse_version(pd.__version__) < parse_version("3.1") else {}


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """A data set that is in no folder and cannot be downloaded; the message says where to put its file."""


def load(name: str, data_dir: Any = None, *, as_author: bool = True, download: bool = True) -> Dataset:
    """Return one of the paper's data sets.

    It is searched for in ``data_dir``, in the folder of the environment variable ``TRITREE_DATA`` (and in the subfolder
    ``paper`` of both), and in the user's cache, as ``<name>.csv`` or ``<name>.csv.gz``. The file is the clean table, or
    the published one, which is then cleaned. Otherwise the data set is downloaded from OpenML, cleaned, and kept in the
    cache. OpenML lacks two of the data sets; the error message says where they are published.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    data_dir : path, optional
        Folder with data files.
    as_author : bool, default=True
        Whether wheat seeds is a regression on 1, 2 and 3, as in the author's runs, or a classification, as in the
        paper's text. The text lists Boston Housing as a classification, too; its target is a price and no classes are
        given, so it is a regression either way, and its ``note`` says so.
    download : bool, default=True
        Whether downloading is allowed.

    Raises
    ------
    DatasetNotFoundError
        If the data set is not found and cannot be downloaded.
    DatasetError
        If the name is unknown, or a file is not the expected one.

    Examples
    --------
    >>> load("seeds", as_author=False)  # doctest: +SKIP
    Dataset('seeds', 199 rows x 7 columns, classification)
    """
    if name not in SPECS:
        raise DatasetError(
            f"there is no data set {name!r}{suggestion(name, NAMES)}; the paper's are {', '.join(NAMES)}"
        )
    path = _find(name, data_dir)
    if path is None and not download:
        raise _not_found(name, data_dir, "no file of it was found, and downloads are off")
    table = _download(name, data_dir) if path is None else _read(path, SPECS[name])
    return _as_dataset(name, table, as_author)


def available(data_dir: Any = None) -> dict[str, Path | None]:
    """Return the file of each of the paper's data sets, or None if ``load`` would have to download it.

    Parameters
    ----------
    data_dir : path, optional
        Folder with data files, searched first, as by ``load``.

    Examples
    --------
    >>> [name for name, path in available().items() if path is None]  # doctest: +SKIP
    []
    """
    return {name: _find(name, data_dir) for name in NAMES}


def _find(name: str, data_dir: Any) -> Path | None:
    given = [
        Path(named).expanduser()
        for named in (data_dir, os.environ.get(DATA_VARIABLE) or None)
        if named is not None
    ]
    if data_dir is not None and not given[0].is_dir():
        raise DatasetNotFoundError(f"there is no folder {str(given[0])!r} to look for data sets in")
    folders = [*(part for folder in given for part in (folder, folder / _SUBFOLDER)), cache_folder()]
    paths = (folder / f"{name}{ending}" for folder in folders for ending in (".csv", ".csv.gz"))
    return next((path for path in paths if path.is_file()), None)


def _not_found(name: str, data_dir: Any, reason: str) -> DatasetNotFoundError:
    """Return the error that says why a data set was not found, and which file to put where."""
    spec = SPECS[name]
    folder = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE) or cache_folder()
    path = Path(os.fspath(folder)).expanduser() / f"{name}.csv"
    page = "" if spec.openml is None else f" (https://www.openml.org/d/{spec.openml})"
    return DatasetNotFoundError(
        f"the data set {name!r} was not found: {reason}. Put it into {str(path)!r} (or .csv.gz): either the published "
        f"table as CSV with a header, which is {spec.source}{page}, or the clean one of {spec.rows:,} rows without "
        f"missing cells, the target last: {spec.header}"
    )


def _read(path: Path, spec: DatasetSpec) -> Any:
    """Return the clean table from a file with the clean or the raw one."""
    try:
        columns = list(pd.read_csv(path, nrows=0, encoding="utf-8-sig"))
        named = [column for column in columns if not str(column).startswith("Unnamed: ")]  # not row numbers
        is_clean = named == list(spec.types)
        if not is_clean and spec.missing_columns(columns):
            raise DatasetError(
                f"its columns are {shortened(','.join(map(str, columns)), 300)} instead of {spec.header}"
            )
        # Exact in every digit, so that a table has one fingerprint. Text is read as categories at once: Black Friday
        # takes 0.11 s of processor time so, 0.15 s by way of text, and 0.19 s with pyarrow's engine.
        table = pd.read_csv(
            path,
            usecols=list(spec.types if is_clean else spec.raw_columns(columns)),
            dtype={name: "category" for name in columns if spec.types.get(name) == "text"},
            **_EXACT,
            encoding="utf-8-sig",
        )
        return spec.convert(table) if is_clean else spec.clean(table)
    except DatasetError as error:
        raise DatasetError(f"{str(path)!r} is not the data set {spec.title}: {error}") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DatasetError(
            f"{str(path)!r} cannot be read ({error}); remove it or put an intact file there"
        ) from error


def _as_dataset(name: str, table: Any, as_author: bool) -> Dataset:
    """Return a clean table as in the runs behind the paper's figure, or as in its text."""
    spec = SPECS[name]
    X, y = table.drop(columns="y"), table["y"]
    notes = []
    if spec.digest is not None and digest(X, y.to_numpy()) != spec.digest:
        notes.append("values or order of rows differ from the author's table; losses may differ from his")
    task: Task = "classification" if spec.classes else "regression"
    if name == "seeds" and as_author:
        task = "regression"
        y = y.astype(str).map({variety: float(number) for number, variety in VARIETIES.items()})
    if name == "boston_housing" and not as_author:
        notes.append("listed as a classification in the text, which gives no classes; run as a regression")
    return Dataset(name, spec.title, X, target_values(y, task), task, "; ".join(notes))


def _download(name: str, data_dir: Any) -> Any:
    """Return the clean table made from OpenML's, and write it to the cache."""
    spec = SPECS[name]
    if spec.openml is None:
        raise _not_found(name, data_dir, "it cannot be downloaded without an account")
    try:
        raw = _fetch_openml(spec.openml)
    except Exception as error:  # of the network, the server or the reader
        raise _not_found(name, data_dir, f"the download from OpenML failed ({_reason(error)})") from error
    try:
        table = spec.clean(raw)
    except DatasetError as error:
        reason = f"OpenML's table {spec.openml} is not the expected one ({error})"
        raise _not_found(name, data_dir, reason) from error
    path = cache_folder() / f"{name}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, table.to_csv(index=False).encode())
    except OSError as error:
        warn_caller(
            f"{name!r} was downloaded but cannot be kept in {str(path)!r} ({error}); set {CACHE_VARIABLE}"
        )
    return table


def _fetch_openml(number: int) -> Any:
    from sklearn.datasets import fetch_openml

    options = {"target_column": None, "as_frame": True, "parser": "liac-arff", "n_retries": 1}
    # a temporary data_home, because scikit-learn would find a partial download again
    with (
        tempfile.TemporaryDirectory(prefix="tritree-") as folder,
        warnings.catch_warnings(),
        ExitStack() as stack,
    ):
        warnings.simplefilter("ignore")  # of scikit-learn, about retries; the final error is enough
        stack.callback(socket.setdefaulttimeout, socket.getdefaulttimeout())
        socket.setdefaulttimeout(TIMEOUT)  # of the process; scikit-learn has no parameter for it
        return fetch_openml(data_id=number, data_home=folder, **options).frame


def _reason(error: Exception) -> str:
    if isinstance(error, URLError) and not isinstance(error, HTTPError):
        return str(error.reason)
    text = str(error) if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: {error}"
    lines = text.strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
