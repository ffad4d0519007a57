"""Two tables that differ in the order of columns, categories and classes, and what belongs to a fit of each."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from models import predictions, same_bits

import tritree


def _table(seed: int, order: list[str], colours: list[str], classes: list[str]) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    colour, number, width = rng.integers(0, len(colours), 400), rng.normal(size=400), rng.normal(size=400)
    signal = colour + 2 * number + width * (colour == 1) + rng.normal(size=400) / 4
    frame = pd.DataFrame(
        {"colour": np.array(colours, dtype=object)[colour], "number": number, "width": width}
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    edges = np.quantile(signal, np.arange(1, len(classes)) / len(classes))
    return frame[order], np.array(classes)[np.digitize(signal, edges)]


#: Training tables by name. A colour of one is unknown to the other, or has another position.
FITS = {
    "a": _table(0, ["colour", "number", "width"], ["blue", "green", "red"], ["a0", "a1", "a2"]),
    "b": _table(1, ["width", "colour", "number"], ["red", "azure", "blue", "dun"], ["b0", "b1"]),
}
#: Rows to predict, complete ones first.
_COMPLETE = pd.concat([table.dropna().head(20) for table, _ in FITS.values()], ignore_index=True)
ROWS = pd.concat(
    [_COMPLETE, _COMPLETE.mask(np.random.default_rng(2).random(_COMPLETE.shape) < 0.4)], ignore_index=True
)

_KINDS = (
    (tritree.TrinaryTreeClassifier, {"max_depth": 3}, None),
    (tritree.TrinaryForestClassifier, {"n_estimators": 20, "max_depth": 4}, "n_estimators"),
    (tritree.TrinaryBoostingClassifier, {"max_iter": 15, "max_depth": 3}, "max_iter"),
)


def estimators(number: int) -> Any:
    """Return an estimator that is not fitted; the number chooses among three."""
    kind, parameters, _ = _KINDS[number % len(_KINDS)]
    return kind(random_state=0, n_jobs=1, **parameters)


@cache
def expected(kind: int, name: str, size: int) -> Any:
    """Return the predictions of a fit that nobody disturbed, with a number of trees or iterations."""
    model = estimators(kind)
    if size_name := _KINDS[kind][2]:
        model.set_params(**{size_name: size})
    return predictions(model.fit(*FITS[name]), ROWS)


@cache
def rows_without_third_branches(kind: int) -> list[int]:
    """Return the numbers of the rows that both fits predict without a third branch, so that `detach` is no matter.

    Complete rows may need one, too: where a node has not seen their colour.
    """
    found = set(range(len(ROWS)))
    for table, y in FITS.values():
        model = estimators(kind).fit(table, y).detach()
        for row in range(len(ROWS)):
            before = model.n_ungrown_hits_
            model.predict(ROWS.iloc[[row]])
            if model.n_ungrown_hits_ > before:
                found.discard(row)
    return sorted(found)


def assert_whole(model: Any, folder: Path) -> None:
    """Check that the estimator is one of the two fits, or its first trees, and so are its copies."""
    model.save(folder / "whole.tritree")
    for other in (model, pickle.loads(pickle.dumps(model)), tritree.load(folder / "whole.tritree")):
        kind = next(i for i, (found, *_) in enumerate(_KINDS) if type(other) is found)
        name = str(other.classes_[0])[0]
        assert list(other.classes_) == sorted(set(FITS[name][1]))
        assert list(other.feature_names_in_) == list(FITS[name][0]), "the columns of another fit"
        assert other.n_features_in_ == 3
        size = getattr(other, "n_iter_", getattr(other, "n_trees_", 1))  # boosting has both
        assert same_bits(predictions(other, ROWS), expected(kind, name, size)), "a mixture of two fits"
        assert set(other.predict(ROWS)) <= set(other.classes_)
