"""The tables that are learned from: the paper's, some with holes of their own, and those that scikit-learn has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets

from benchmarks.data import DATA
from tritree.lab import Dataset
from tritree.lab.data import NAMES, DataError, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["NATURAL", "PAPER", "SETS", "SKLEARN", "load_set", "load_sets", "sampled"]

#: The eight data sets of the paper.
PAPER = NAMES
#: Tables with holes of their own, which stay in training and test in every scenario.
NATURAL = ("adult", "ames_housing", "horse_colic", "titanic_full")
#: What comes with scikit-learn, but for those with fewer than 100 rows, or that would be fetched.
SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
#: Every set by its name.
SETS = (*PAPER, *NATURAL, *SKLEARN)

_SAMPLE_SEED = 0


def load_sets(names: Sequence[str], rows: int) -> tuple[list[Dataset], list[str]]:
    """Return the sets of these names, and a line for each whose file is not there."""
    found, absent = [], []
    for name in names:
        try:
            found.append(sampled(load_set(name), rows))
        except (DataError, OSError) as error:
            absent.append(f"{name} is left out: {str(error).splitlines()[0]}")
    return found, absent


def load_set(name: str) -> Dataset:
    """Return one of ``SETS``; wheat seeds are classes, as the paper's text has them."""
    if name in PAPER:
        return load(name, DATA, as_author=False, download=False)
    if name in SKLEARN:
        return _of_sklearn(name)
    if name not in NATURAL:
        raise DataError(f"there is no data set {name!r}; there are {', '.join(SETS)}")
    table = pd.read_csv(_file_of(name), keep_default_na=False, na_values=[""])
    return Dataset.of(name, table, "y")


def _file_of(name: str) -> Path:
    places = [DATA / "natural" / f"{name}{ending}" for ending in (".csv", ".csv.gz")]
    for path in places:
        if path.exists():
            return path
    raise DataError(f"there is no file {places[0]}; TRITREE_DATA names the folder that has natural/")


def _of_sklearn(name: str) -> Dataset:
    found: Any = getattr(sklearn_datasets, f"load_{name}")(as_frame=True)
    table, labels = found.data, found.target
    if name != "diabetes":
        labels = np.asarray(found.target_names)[found.target.to_numpy()].astype(str)
    return Dataset.of(name, table.assign(y=labels), "y")


def sampled(dataset: Dataset, rows: int) -> Dataset:
    """Return a data set of at most so many rows, drawn at random; its note says of how many. 0 draws none.

    Examples
    --------
    >>> import pandas as pd
    >>> whole = Dataset.of("squares", pd.DataFrame({"x": range(9), "y": [i * i for i in range(9)]}), "y")
    >>> sampled(whole, 4).note
    '4 of its 9 rows, drawn at random'
    """
    if not rows or dataset.n_rows <= rows:
        return dataset
    chosen = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(dataset.n_rows, rows, replace=False))
    note = f"{rows:,} of its {dataset.n_rows:,} rows, drawn at random"
    X = dataset.X.iloc[chosen].reset_index(drop=True)
    note = " ".join(filter(None, (dataset.note, note)))
    return replace(dataset, X=X, y=dataset.y[chosen], note=note)
