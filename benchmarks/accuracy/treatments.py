"""Treatments of missing values around a library: imputation, or missing values added to the training data.

A treatment takes the encoded training table and returns the table to fit, the indices of its rows in the training table
(a row may occur several times), and the transformation of rows to predict.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tritree.lab.encoding import EncodedTable

    Transform = Callable[[EncodedTable], EncodedTable]
    Treated = tuple[EncodedTable, NDArray[np.intp], Transform]

__all__ = ["N_COPIES", "TREATMENTS", "apply_treatment"]

N_COPIES = 5  # of the training table
N_NEAREST_FEATURES = 15  # for the imputation of a column, in tables with more columns
MAX_ITER = 10


def apply_treatment(treatment: str, table: EncodedTable, seed: int) -> Treated:
    """Return the table to fit, the indices of its rows, and the transformation of rows to predict."""
    return TREATMENTS[treatment](table, np.random.default_rng(seed))


def untreated(table: EncodedTable, rng: np.random.Generator) -> Treated:  # noqa: ARG001
    """Leave the table unchanged."""
    return table, np.arange(len(table.values)), _unchanged


def mean_and_indicator(table: EncodedTable, rng: np.random.Generator) -> Treated:  # noqa: ARG001
    """Impute the mean or the most frequent category; add indicators of columns with missing values in training."""
    fill = np.array([_most_typical(table.values[:, i], n) for i, n in enumerate(table.categories)])
    incomplete = np.flatnonzero(np.isnan(table.values).any(axis=0))

    def filled(rows: EncodedTable) -> EncodedTable:
        missing = np.isnan(rows.values)
        values = np.hstack([np.where(missing, fill, rows.values), missing[:, incomplete]])
        return rows.with_values(values, n_numeric=len(incomplete))

    return filled(table), np.arange(len(table.values)), filled


def iterative(table: EncodedTable, rng: np.random.Generator) -> Treated:  # noqa: ARG001
    """Impute by iterated regressions on the other columns; categories are treated as ordinal numbers."""
    fitted, imputer = _cached(("fit", table.values), lambda: _fitted_imputer(table.values))

    def filled(rows: EncodedTable) -> EncodedTable:
        values = _cached(("transform", table.values, rows.values), lambda: imputer.transform(rows.values))
        return rows.with_values(_round_categories(values, rows.categories))

    return (
        table.with_values(_round_categories(fitted, table.categories)),
        np.arange(len(table.values)),
        filled,
    )


def masked_copies(table: EncodedTable, rng: np.random.Generator) -> Treated:
    """Fit copies of the table; in each row a fraction of the cells, drawn uniformly from [0, 1], is removed.

    The first copy stays complete: libraries do better so if few cells are missing, and no worse if many are.
    """
    n_rows, n_columns = table.values.shape
    rows = np.tile(np.arange(n_rows), N_COPIES)
    rates = rng.random((len(rows), 1))
    rates[:n_rows] = 0.0
    removed = rng.random((len(rows), n_columns)) < rates
    return table.with_values(np.where(removed, np.nan, table.values[rows])), rows, _unchanged


#: The treatments by the name that follows the library's; "" is the library's own treatment.
TREATMENTS: dict[str, Callable[[EncodedTable, np.random.Generator], Treated]] = {
    "": untreated,
    "mean": mean_and_indicator,
    "iterative": iterative,
    "masked copies": masked_copies,
}


def _unchanged(rows: EncodedTable) -> EncodedTable:
    return rows


def _most_typical(values: NDArray[np.float64], n_categories: int) -> float:
    """Return the mean of a column, or its most frequent category; 0 if nothing is observed."""
    observed = values[~np.isnan(values)]
    if not len(observed):
        return 0.0
    if n_categories:
        return float(np.bincount(observed.astype(np.intp)).argmax())
    return float(observed.mean())


def _fitted_imputer(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - which makes the next line possible
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(
        max_iter=MAX_ITER,
        # by default it stops after one iteration on complete data, and does a single one in prediction
        tol=0.0,
        n_nearest_features=N_NEAREST_FEATURES if values.shape[1] > N_NEAREST_FEATURES else None,
        keep_empty_features=True,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence
        return imputer.fit_transform(values), imputer


def _round_categories(values: NDArray[np.float64], categories: tuple[int, ...]) -> NDArray[np.float64]:
    """Return imputed values, those of categorical columns rounded to existing categories."""
    values = values.copy()
    for i, n in enumerate(categories):
        if n:
            values[:, i] = np.clip(np.round(values[:, i]), 0, n - 1)
    return values


# Recent imputations, because the libraries fit the same table one after the other.

_CACHE_SIZE = 96
_cache: OrderedDict[bytes, Any] = OrderedDict()


def _cached(key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
    """Return the cached result for equal arrays, or compute it."""
    digest = hashlib.blake2b(digest_size=16)
    for part in key:
        digest.update(repr(part).encode() if isinstance(part, str) else f"{part.shape}".encode())
        if not isinstance(part, str):
            digest.update(np.ascontiguousarray(part).data)
    name = digest.digest()
    if name not in _cache:
        _cache[name] = compute()
        if len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    _cache.move_to_end(name)
    return _cache[name]
