"""Random models of other libraries, read and compared with the library's own predictions.

``python tests/graft/random_models.py xgboost --n 1000`` stops at the first model that differs, and prints its seed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from graft.reference import leaf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tritree.graft.source import SourceModel

LIBRARIES = ("xgboost", "lightgbm", "sklearn", "catboost")


def make(library: str, seed: int) -> tuple[Any, Any, Any]:
    """Return a random model of a library, complete rows, and rows with missing values if the model takes them."""
    return import_module(f"graft.random_{library}").make(seed)


def read(library: str, model: Any, X: Any = None) -> SourceModel:
    """Return the model as its reader has it."""
    reader = import_module(f"tritree.graft.{library}").read
    return reader(model, X) if library in ("xgboost", "lightgbm") else reader(model)


def as_numbers(source: SourceModel, X: Any) -> NDArray[np.float64]:
    """Return a table as `graft.reference` takes it: the codes of categories, -1 for unknown ones."""
    numbers = []
    for j, column in enumerate(source.columns):
        values = X.iloc[:, j].astype(object).to_numpy() if hasattr(X, "iloc") else np.asarray(X)[:, j]
        if column.categories is not None:
            codes = {category: code for code, category in enumerate(column.categories)}
            # NaN is the only value that does not equal itself
            values = [np.nan if value is None or value != value else codes.get(value, -1) for value in values]
        numbers.append(np.asarray(values, np.float64))
    return np.column_stack(numbers)


def error_in_ulps(source: SourceModel, X: Any) -> NDArray[np.float64]:
    """Return how far the sums of the trees are from the source's own, in float32 ulps of the largest partial sum."""
    assert source.raw is not None
    expected = np.asarray(source.raw(X), np.float64).reshape(-1, source.n_outputs)
    table = as_numbers(source, X)
    values = [[tree.value[leaf_of(tree, row, source.columns)] for tree in source.trees] for row in table]
    terms = np.concatenate(
        [np.tile(source.baseline, (len(table), 1)), np.array(values).reshape(len(table), -1)], axis=1
    ).reshape(len(table), -1, source.n_outputs)
    sums = np.cumsum(terms, axis=1)
    ulp = np.spacing(np.maximum(np.abs(sums).max(axis=1), np.finfo(np.float32).tiny).astype(np.float32))
    error = np.abs(sums[:, -1] - expected)
    if source.float32_sums:  # in the order of the trees
        single = np.cumsum(terms.astype(np.float32), axis=1, dtype=np.float32)[:, -1]
        error = np.minimum(error, np.abs(single.astype(np.float64) - expected))
    return error / ulp


def check(library: str, seed: int) -> Counter[str]:
    """Raise an AssertionError if a random model predicts otherwise than its trees; return what was checked."""
    model, complete, missing = make(library, seed)
    source = read(library, model, complete)
    for what, X in (("complete rows", complete), ("rows with missing values", missing)):
        if X is not None:
            worst = error_in_ulps(source, X).max()
            assert worst <= 1, f"{library}, seed {seed}: {what} differ by {worst:.3g} ulps"
    splits = sum(int((tree.column >= 0).sum()) for tree in source.trees)
    by_category = sum(len(tree.left_categories) for tree in source.trees)
    return Counter(
        models=1,
        models_with_missing_values=missing is not None,
        trees=len(source.trees),
        splits=splits,
        splits_by_category=by_category,
        rows=len(complete) + (0 if missing is None else len(missing)),
    )


def main() -> None:
    """Check random models of a library, and print what they were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--n", type=int, default=1000, help="number of models")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads cost more than such small models gain
    total: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.first + arguments.n):
        try:
            total += check(arguments.library, seed)
        except Exception:
            print(f"{arguments.library}, seed {seed}:")
            raise
    print(
        arguments.library, *(f"{count:,} {what.replace('_', ' ')}" for what, count in total.items()), sep=", "
    )


if __name__ == "__main__":
    main()
