"""What can be done about missing values around a library: fill them, or show some to training.

Every way takes the training rows as numbers and returns the rows to fit, which rows of the table they are (one may be
there several times), and what is to be done with rows to predict.
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

    from benchmarks.accuracy.coding import Codes

    Prepare = Callable[[Codes], Codes]
    Prepared = tuple[Codes, NDArray[np.intp], Prepare]

__all__ = ["COPIES", "INJECTED", "WAYS", "prepare"]

COPIES = 5  # of the training table
INJECTED = 0.01  # share of cells
NEAREST = 15  # columns that a column is imputed from, where a table has more
MAX_ITER = 10


def prepare(way: str, codes: Codes, seed: int) -> Prepared:
    """Return the rows to fit, which rows they are, and what is done to rows to predict."""
    return WAYS[way](codes, np.random.default_rng(seed))


def as_it_is(codes: Codes, chance: np.random.Generator) -> Prepared:  # noqa: ARG001
    """Leave the table as it is."""
    return codes, np.arange(len(codes.values)), _same


def mean_and_indicator(codes: Codes, chance: np.random.Generator) -> Prepared:  # noqa: ARG001
    """Fill with the mean, or the most frequent category, and tell where, if training has holes in the column."""
    fill = np.array([_usual(codes.values[:, i], n) for i, n in enumerate(codes.categories)])
    holed = np.flatnonzero(np.isnan(codes.values).any(axis=0))

    def filled(rows: Codes) -> Codes:
        missing = np.isnan(rows.values)
        values = np.hstack([np.where(missing, fill, rows.values), missing[:, holed]])
        return rows.with_values(values, more_numbers=len(holed))

    return filled(codes), np.arange(len(codes.values)), filled


def iterative(codes: Codes, chance: np.random.Generator) -> Prepared:  # noqa: ARG001
    """Fill with what a regression on the other columns says, over and over; categories are numbers meanwhile."""
    fitted, imputer = _recent(
        ("fit", codes.values), lambda: _fitted_imputer(codes.values)
    )  # libraries share it, which take turns with the same table

    def filled(rows: Codes) -> Codes:
        values = _recent(("transform", codes.values, rows.values), lambda: imputer.transform(rows.values))
        return rows.with_values(_whole(values, rows.categories))

    return (
        codes.with_values(_whole(fitted, codes.categories)),
        np.arange(len(codes.values)),
        filled,
    )


def injected(codes: Codes, chance: np.random.Generator) -> Prepared:
    """Lose a few of training's cells, at least one of each column, so that the library has seen holes."""
    lost = chance.random(codes.values.shape) < INJECTED
    never = np.flatnonzero(~lost.any(axis=0))
    lost[chance.integers(len(lost), size=len(never)), never] = True
    return (
        codes.with_values(np.where(lost, np.nan, codes.values)),
        np.arange(len(codes.values)),
        _same,
    )


def masked_copies(codes: Codes, chance: np.random.Generator) -> Prepared:
    """Learn from copies of the table, in each row of which a share of the cells, drawn evenly from 0 to 1, is lost.

    The first copy stays whole: rivals do better so where few cells are missing, and no worse where many are.
    """
    n_rows, n_columns = codes.values.shape
    rows = np.tile(np.arange(n_rows), COPIES)
    share = chance.random((len(rows), 1))
    share[:n_rows] = 0.0
    lost = chance.random((len(rows), n_columns)) < share
    return codes.with_values(np.where(lost, np.nan, codes.values[rows])), rows, _same


#: The ways by what they are called behind a library's name; "" is the library as it is.
WAYS: dict[str, Callable[[Codes, np.random.Generator], Prepared]] = {
    "": as_it_is,
    "mean": mean_and_indicator,
    "iterative": iterative,
    "1 % holes": injected,
    "copies": masked_copies,
}


def _same(rows: Codes) -> Codes:
    return rows


def _usual(values: NDArray[np.float64], n_categories: int) -> float:
    """Return the mean of a column, or its most frequent category; 0 where nothing is observed."""
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
        # by default it would stop after one round on complete rows, and go once only over rows to predict
        tol=0.0,
        n_nearest_features=NEAREST if values.shape[1] > NEAREST else None,
        keep_empty_features=True,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        return imputer.fit_transform(values), imputer


def _whole(values: NDArray[np.float64], categories: tuple[int, ...]) -> NDArray[np.float64]:
    """Return imputed values with those of categories rounded to one that there is."""
    values = values.copy()
    for i, n in enumerate(categories):
        if n:
            values[:, i] = np.clip(np.round(values[:, i]), 0, n - 1)
    return values


# What was imputed last, because the libraries are asked for the same table one after the other.

_MOST_KEPT = 96
_kept: OrderedDict[bytes, Any] = OrderedDict()


def _recent(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return what was made for equal arrays before, or make it."""
    name = hashlib.blake2b(digest_size=16)
    for part in key:
        name.update(repr(part).encode() if isinstance(part, str) else f"{part.shape}".encode())
        if not isinstance(part, str):
            name.update(np.ascontiguousarray(part).data)
    digest = name.digest()
    if digest not in _kept:
        _kept[digest] = make()
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(digest)
    return _kept[digest]
