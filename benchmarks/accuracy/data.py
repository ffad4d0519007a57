"""The data sets: those of the paper, some with original missing values, and those of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets

from benchmarks.data import DATA
from tritree.lab import Dataset
from tritree.lab.dataset import DatasetError
from tritree.lab.paper.datasets import NAMES, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DATASETS", "NATURAL", "PAPER", "SKLEARN", "load_dataset", "load_datasets", "sampled"]

#: The eight data sets of the paper.
PAPER = NAMES
#: Data sets with missing values of their own, which stay in training and test in all scenarios.
NATURAL = ("adult", "ames_housing", "horse_colic", "titanic_full")
#: Data sets that are part of scikit-learn, except those with fewer than 100 rows.
SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
#: All data sets by name.
DATASETS = (*PAPER, *NATURAL, *SKLEARN)

_SAMPLE_SEED = 0


def load_datasets(names: Sequence[str], rows: int) -> tuple[list[Dataset], list[str]]:
    """Return the data sets, and a note for each whose file is absent."""
    found, absent = [], []
    for name in names:
        try:
            found.append(sampled(load_dataset(name), rows))
        except (DatasetError, OSError) as error:
            absent.append(f"{name} was skipped: {str(error).splitlines()[0]}")
    return found, absent


def load_dataset(name: str) -> Dataset:
    """Return one of ``DATASETS``; wheat seeds are classes, as in the paper's text."""
    if name in PAPER:
        return load(name, DATA, as_author=False, download=False)
    if name in SKLEARN:
        return _of_sklearn(name)
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
