"""A file with a number that no model has is refused with a reason, in all families."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import simulated
from serialization.samples import Arrays, craft, describe, half_grown, mixed, put
from serialization.test_refusal import refusal

import tritree

Change = Callable[[Any, Arrays], None]


@cache
def model(kind: str) -> Any:
    X, y = mixed(80, task="classification" if "classifier" in kind else "regression")
    few = {"max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
    match kind:
        case "boosting":
            return tritree.TrinaryBoostingRegressor(max_iter=2, monotonic_cst={"number": 1}, **few).fit(X, y)
        case "boosting classifier":
            return tritree.TrinaryBoostingClassifier(max_iter=2, **few).fit(X, y)
        case "weighted boosting":
            return tritree.TrinaryBoostingRegressor(max_iter=2, **few).fit(X, y, sample_weight=np.arange(80))
        case "forest":
            return tritree.TrinaryForestRegressor(n_estimators=2, **few).fit(X, y)
        case "surrogate":
            return half_grown(*simulated(80, 3, missing=0.1), missing="surrogate")
        case "mia":
            return half_grown(X, y, missing="mia")
        case "without rows":
            grown = half_grown(X, y, max_depth=2).grow_all()
            assert grown.feature_importances_.any()
            return grown.detach()
        case _:
            return half_grown(X, y)


def first_split(name: str, *, categorical: bool) -> Callable[[Arrays], int]:
    """Return a function that finds the first split of a kind among nodes, candidates or surrogates."""

    def find(arrays: Arrays) -> int:
        is_split = arrays[name.rpartition("threshold")[0] + "column"] >= 0
        return int(np.flatnonzero(is_split & (np.isnan(arrays[name]) == categorical))[0])

    return find


def first_set(side: int, value: Callable[[Arrays, int], int]) -> Change:
    """Return a change of the left or the right set of the first categorical split, on its ladder, too."""

    def change(_: Any, arrays: Arrays) -> None:
        node = first_split("trees.threshold", categorical=True)(arrays)
        begin = int(arrays["trees.set_begin"][node])
        old = arrays["trees.sets"][begin : begin + 2].copy()
        arrays["trees.sets"][begin + side] = value(arrays, begin)
        sets = arrays.get("ladders.sets", arrays["trees.sets"]).reshape(-1, 2)
        sets[(sets == old).all(axis=1)] = arrays["trees.sets"][begin : begin + 2]

    return change


def leaf_with_a_set(_: Any, arrays: Arrays) -> None:
    leaf, split = np.argmax(arrays["trees.column"] < 0), np.argmax(arrays["trees.set_begin"] >= 0)
    for name in ("trees.set_begin", "trees.set_words"):
        arrays[name][leaf] = arrays[name][split]


def fewer_rows_in_a_leaf(_: Any, arrays: Arrays) -> None:
    arrays["trees.rows"][np.argmax(arrays["trees.column"] < 0)] -= 1


def all_weights_zero(_: Any, arrays: Arrays) -> None:
    arrays["bins.weight"][:] = 0


def values_near_the_largest(_: Any, arrays: Arrays) -> None:
    arrays["trees.value"][:] = 1.5e308
    arrays["trees.low"][:] = -np.inf
    arrays["trees.high"][:] = np.inf


def swapped_bounds(_: Any, arrays: Arrays) -> None:
    node = int(np.argmax(np.isfinite(arrays["trees.low"])))
    arrays["trees.high"][node] = arrays["trees.low"][node] - 1


def infinite_numeric_threshold(name: str, value: float) -> Change:
    return put(name, first_split(name, categorical=False), value)


CHANGES: dict[str, tuple[str, Change, str]] = {
    "negative proportion": ("classifier", put("trees.value", 0, -0.1), "proportions do not add up"),
    "proportions above 1": ("classifier", put("trees.value", 0, 1.0), "proportions do not add up"),
    "infinite threshold": ("tree", infinite_numeric_threshold("trees.threshold", np.inf), "is not finite"),
    "missing against observed": (
        "tree",
        infinite_numeric_threshold("trees.threshold", -np.inf),
        "threshold is not finite",
    ),
    "threshold of categories": (
        "tree",
        put("trees.threshold", first_split("trees.threshold", categorical=True), 0.5),
        "categorical split with a threshold",
    ),
    "empty left set": ("tree", first_set(0, lambda a, b: 0), "without categories on one side"),
    "empty right set": ("mia", first_set(1, lambda a, b: 0), "without categories on one side"),
    "sets that overlap": ("mia", first_set(0, lambda a, b: a["trees.sets"][b + 1] | 1), "category on both"),
    "set of a leaf": ("tree", leaf_with_a_set, "category set of a leaf"),
    "more rows than the parent": ("tree", put("trees.rows", 1, 80), "more rows than the parent has"),
    "other rows": ("tree", fewer_rows_in_a_leaf, "other rows than its own"),
    "other bins": ("tree", put("data.bins8", slice(0, 80), 0), "other rows than its own"),
    "too many rows": ("boosting", put("trees.rows", 0, 2**62), "number of rows out of range"),
    "fitted nodes": ("forest", put("trees.n_fitted", 0, 2), "wrong number of fitted nodes"),
    "fitted nodes of surrogates": ("surrogate", put("trees.n_fitted", 0, 1), "number of fitted nodes"),
    "infinite surrogate": (
        "surrogate",
        infinite_numeric_threshold("trees.surrogate_threshold", -np.inf),
        "threshold is not finite",
    ),
    "surrogate on the same column": (
        "surrogate",
        lambda d, a: put("trees.surrogate_column", 0, a["trees.column"][0])(d, a),
        "without a column of its own",
    ),
    "infinite gain": ("boosting", put("trees.gain", 0, np.inf), "gain out of range"),
    "negative gain": ("boosting", put("trees.gain", 0, -1.0), "gain out of range"),
    "bounds out of order": ("boosting", swapped_bounds, "bounds of values out of order"),
    "infinite lower bound": ("boosting", put("trees.low", 0, np.inf), "bounds of values out of order"),
    "infinite sums": ("boosting", values_near_the_largest, "sums of values are not finite"),
    "scores whose variance overflows": ("boosting classifier", put("trees.value", 0, 1e200), "not finite"),
    "no weights": ("weighted boosting", all_weights_zero, "all weights are zero"),
    "fractions above 1": ("without rows", put("distributions.fractions", 0, 1.0), "fractions do not add up"),
    "importances above 1": ("without rows", put("importances", 0, 2.0), "importances do not add up to 1"),
    "scale of another node": ("tree", put("ladders.sum_scale", 1, 1e-3), "fixed-point scale out of range"),
    "numbers among ordered text": (
        "tree",
        describe("columns.2.order", ["small", 1, "large"]),
        "categories of column 'size' do not match its type",
    ),
    "ordered categories that repeat": (
        "tree",
        describe("columns.2.order", ["small", "small", "large"]),
        "categories of column 'size' repeat",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_number_that_no_model_has_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    kind, change, reason = CHANGES[name]
    model(kind).save(path := tmp_path / "model")
    tritree.load(path)
    assert reason in refusal(craft(path, change))
