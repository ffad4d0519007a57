"""The cases of the corpus: tables, estimators with their parameters, and rows to predict.

Tables and targets are made of uniform numbers by additions, multiplications and comparisons only, so that they are the
same on every machine.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tritree

__all__ = ["CASES", "Case", "Data"]

Floats = NDArray[np.float64]
Cells = NDArray[np.object_]

ESTIMATORS = {
    ("tree", "regressor"): tritree.TrinaryTreeRegressor,
    ("tree", "classifier"): tritree.TrinaryTreeClassifier,
    ("forest", "regressor"): tritree.TrinaryForestRegressor,
    ("forest", "classifier"): tritree.TrinaryForestClassifier,
    ("boosting", "regressor"): tritree.TrinaryBoostingRegressor,
    ("boosting", "classifier"): tritree.TrinaryBoostingClassifier,
}
TASKS = ("regressor", "classifier")
STRATEGIES = {
    "tree": ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"),
    "forest": ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"),
    "boosting": ("trinary_mia", "trinary", "mia", "majority", "fractional"),
}
SIZES = ["small", "medium", "large", "huge"]
#: The labels of each kind of categorical column, and one that training never sees.
LABELS: dict[str, tuple[list[Any], Any]] = {
    "text": (["blue", "green", "red", "žlutá"], "violet"),
    "street": ([f"street {k}" for k in range(14)], "street 99"),
    "code": ([0, 1, 2, 3, 5, 8], 99),
    "many_codes": (list(range(25)), 99),
    "boolean": ([False, True], None),
    "ordered": (SIZES, None),
}


@dataclass(frozen=True)
class Table:
    """What a table looks like."""

    n_rows: int
    kinds: tuple[str, ...]
    missing: float = 0.0
    container: str = "array"
    duplicates: bool = False

    @property
    def categorical_features(self) -> list[int] | None:
        """Which columns of numbers are categorical, in an array that does not tell."""
        found = [j for j, kind in enumerate(self.kinds) if kind in ("code", "many_codes")]
        return found if self.container == "array" and found else None


MIXED = ("number", "integer", "text", "ordered", "boolean", "code")
TABLES = {
    "complete": Table(300, ("number",) * 6),
    "missing_values": Table(300, (*("number",) * 5, "integer"), 0.25),
    "categories": Table(240, MIXED, 0.15, "frame"),
    "many_categories": Table(400, ("number", "street", "many_codes", "number"), 0.1, "frame"),
    "array_categories": Table(260, ("number", "code", "number", "many_codes"), 0.2),
    "constant_columns": Table(
        150,
        ("number", "integer", "constant", "empty", "number", "constant", "integer", "number"),
        0.4,
        duplicates=True,
    ),
    "complete_categories": Table(200, MIXED, 0.0, "frame"),
    "objects": Table(180, ("number", "text", "street", "boolean"), 0.1, "objects"),
    "small": Table(60, ("number",) * 4, 0.1),
    "large": Table(20_000, (*("number",) * 4, "integer", "code"), 0.1),
    "large_complete": Table(22_000, ("number",) * 5),
}
N_COMPLETE, N_INCOMPLETE = 20, 40


@dataclass(frozen=True)
class Data:
    """A training table, and rows to predict: without and with missing values."""

    X: Any
    y: NDArray[Any]
    sample_weight: Floats | None
    complete: Any
    incomplete: Any


@dataclass(frozen=True)
class Case:
    """An estimator, what it is fitted to, and what it predicts."""

    name: str
    family: str
    task: str
    table: str
    target: str
    weights: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Whether every branch of the tree is grown before it is detached or exported.
    grow_all: bool = False
    #: Whether the last rows are validation rows.
    validation: bool = False
    #: Parameters of a second fit.
    then: Mapping[str, Any] | None = None

    def data(self) -> Data:
        """Return the tables and the target."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return make_data(rng, TABLES[self.table], self.target, self.weights)

    def fitted(self, data: Data) -> Any:
        """Return the estimator, fitted."""
        model = ESTIMATORS[self.family, self.task](**self.parameters)
        if self.validation:
            n = len(data.y) - 60
            return model.fit(data.X[:n], data.y[:n], X_val=data.X[n:], y_val=data.y[n:])
        model.fit(data.X, data.y, sample_weight=data.sample_weight)
        if self.then is not None:
            model.set_params(**self.then).fit(data.X, data.y, sample_weight=data.sample_weight)
        return model


def make_data(rng: np.random.Generator, table: Table, target: str, weights: str) -> Data:
    """Return a table of the kind, a target that depends on all of its columns, and rows to predict."""
    n_all = table.n_rows + N_COMPLETE + N_INCOMPLETE
    cells = np.empty((n_all, len(table.kinds)), dtype=object)
    signal = np.zeros(n_all)
    for j, kind in enumerate(table.kinds):
        cells[:, j], effect = column(rng, kind, n_all)
        signal += effect * (1.0 + j % 3)
    if isinstance(cells[0, 0], float) and isinstance(cells[0, -1], float):
        signal += cells[:, 0].astype(np.float64) * cells[:, -1].astype(np.float64)
    if table.duplicates:
        cells[: table.n_rows] = cells[np.arange(table.n_rows) // 3]
        signal[: table.n_rows] = signal[np.arange(table.n_rows) // 3]
    signal += rng.random(n_all) * 2 - 1

    training, to_predict = cells[: table.n_rows], cells[table.n_rows :]
    is_missing = rng.random(training.shape) < table.missing
    is_missing[:, 1] = False  # complete in training; missing in some rows to predict
    is_missing |= np.array([kind == "empty" for kind in table.kinds])
    y = signal[: table.n_rows] + 1.5 * is_missing[:, 0]  # that a value is missing is informative
    training[is_missing] = None
    complete, incomplete = to_predict[:N_COMPLETE], to_predict[N_COMPLETE:]
    make_incomplete(rng, incomplete, table.kinds)
    return Data(
        as_table(training, table),
        make_target(y, target),
        make_weights(rng, table.n_rows, weights),
        as_table(complete, table),
        as_table(incomplete, table),
    )


def column(rng: np.random.Generator, kind: str, n: int) -> tuple[Any, Floats]:
    """Return the values of a column, and their effects on the target."""
    uniform = rng.random(n)
    if kind in LABELS:
        labels, _ = LABELS[kind]
        codes = (uniform * len(labels)).astype(np.intp)
        return np.array(labels, dtype=object)[codes], (rng.random(len(labels)) * 3)[codes]
    if kind == "constant":
        return np.full(n, 2.5), np.zeros(n)
    values = np.floor(uniform * 7) if kind == "integer" else uniform * 4 - 2
    return values, values * (rng.random() - 0.3) + (values > 0.5)


def make_incomplete(rng: np.random.Generator, cells: Cells, kinds: tuple[str, ...]) -> None:
    """Take values out of rows to predict, and put unknown categories into some."""
    is_missing = rng.random(cells.shape) < 0.3
    is_missing[:10] = False
    is_missing[:5, 1] = True
    is_missing[-1] = True
    for j, kind in enumerate(kinds):
        if kind in LABELS and LABELS[kind][1] is not None:
            cells[5 + j % 2 : 30 : 2, j] = LABELS[kind][1]
    cells[is_missing] = None


def make_target(signal: Floats, kind: str) -> NDArray[Any]:
    """Return a target of the kind."""
    n_classes = {"two": 2, "three": 3, "five": 5, "text": 3, "boolean": 2}.get(kind)
    if n_classes is not None:
        n = len(signal)
        bounds = np.sort(signal)[[n * k // n_classes + n // 20 for k in range(1, n_classes)]]
        codes = np.searchsorted(bounds, signal, side="right")
        labels = {"text": ["low", "high", "middle"], "boolean": [False, True]}.get(kind, range(n_classes))
        return np.array(labels)[codes]
    return {
        "number": signal,
        "tiny": signal * 1e-8,
        "huge": signal * 1e8,
        "counts": np.floor(np.maximum(signal, 0)),
        "positive": np.abs(signal) + 0.1,
    }[kind]


def make_weights(rng: np.random.Generator, n: int, kind: str) -> Floats | None:
    """Return sample weights of the kind."""
    uniform = rng.random(n)
    if kind == "unweighted":
        return None
    return {
        "random_weights": uniform + 0.01,
        "integer_weights": np.floor(uniform * 4) + 1,
        "some_zero_weights": np.where(uniform < 0.2, 0.0, uniform),
        "small_weights": uniform * 1e-3,
    }[kind]


def as_table(cells: Cells, table: Table) -> Any:
    """Return cells, None where a value is missing, as the table that estimators are given."""
    if table.container == "array":
        return cells.astype(np.float64)
    if table.container == "objects":
        return cells.copy()
    types = {
        "number": "float64",
        "integer": "float64",
        "code": "category",
        "many_codes": "category",
        "boolean": "boolean",
        "ordered": pd.CategoricalDtype(SIZES, ordered=True),
    }
    return pd.DataFrame(
        {f"{kind}_{j}": pd.Series(cells[:, j], dtype=types.get(kind)) for j, kind in enumerate(table.kinds)}
    )


# Parameters by a name for them; the grid goes through them in turn

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "tree": {
        "depth_5": {"min_samples_leaf": 5},
        "depth_3": {"max_depth": 3, "min_samples_leaf": 8},
        "deep": {"max_depth": None, "min_samples_leaf": 3},
        "bins_16": {"max_bins": 16, "max_depth": 4, "min_samples_leaf": 4},
        "depth_1": {"max_depth": 1, "min_samples_leaf": 1},
        "bins_255": {"max_bins": 255, "min_samples_leaf": 15},
        "bins_4": {"max_bins": 4, "min_samples_leaf": 2},
    },
    "forest": {
        "sqrt": {"max_features": "sqrt"},
        "all_features": {"max_features": 1.0, "min_samples_leaf": 10},
        "depth_3": {"max_depth": 3},
        "no_bootstrap": {"bootstrap": False, "max_features": 0.5},
        "half_samples": {"max_samples": 0.5, "min_samples_leaf": 2},
        "all_bins": {"max_bins": None, "max_depth": 6},
        "bins_16": {"max_bins": 16, "max_features": "log2"},
    },
    "boosting": {
        "depth_6": {},
        "all_features": {"max_features": 1.0, "max_depth": 3},
        "leaves_6": {"max_leaf_nodes": 6, "max_depth": None},
        "subsample": {"subsample": 0.6},
        "no_l2": {"l2_regularization": 0.0, "max_depth": 4},
        "bins_16": {"max_bins": 16, "max_depth": 3},
        "fast": {"learning_rate": 0.8, "max_depth": 2},
    },
}
COMMON: dict[str, dict[str, Any]] = {
    "tree": {},
    "forest": {"n_estimators": 4, "random_state": 7, "min_missing_third": 0},
    "boosting": {"max_iter": 7, "min_samples_leaf": 6, "random_state": 7},
}
WEIGHTS = ("unweighted", "random_weights", "integer_weights", "some_zero_weights")
CLASSES = ("two", "three", "five")


def case(
    family: str, task: str, missing: str, table: str, note: str, target: str = "", **options: Any
) -> Case:
    """Return a case whose name says what it is made of; options that are no field of it are parameters."""
    weights = options.pop("weights", "unweighted")
    target = target or ("number" if task == "regressor" else "three")
    fields = {name: options.pop(name) for name in ("grow_all", "validation", "then") if name in options}
    label = f"{target}_classes" if task == "classifier" else target
    parts = [family, task, missing, table, label, *([weights] if weights != "unweighted" else []), note]
    name = "-".join(parts)
    parameters = {"missing": missing, "n_jobs": 1 + zlib.crc32(name.encode()) % 2} | COMMON[family]
    if (categorical := TABLES[table].categorical_features) is not None:
        parameters["categorical_features"] = categorical
    return Case(name, family, task, table, target, weights, parameters | options, **fields)


def grid() -> Iterator[Case]:
    """Yield every strategy on six tables; the other parameters take turns."""
    tables = tuple(TABLES)[:6]
    combinations = [(f, t, m) for f in STRATEGIES for t in TASKS for m in STRATEGIES[f]]
    for i, ((family, task, missing), (j, table)) in enumerate(
        itertools.product(combinations, enumerate(tables))
    ):
        turn = i // len(tables) + j
        note, options = list(OPTIONS[family].items())[i % 7]
        options = options | {"weights": WEIGHTS[(turn + i // 24) % 4]}
        target = CLASSES[turn % 3] if task == "classifier" else "number"
        if task == "classifier" and family != "boosting":
            options["criterion"] = ("entropy", "gini")[turn // 3 % 2]
            note = f"{options['criterion']}-{note}"
        if family == "tree" and options.get("max_depth") in (1, 3):
            options["grow_all"] = True
        yield case(family, task, missing, table, note, target, **options)


def families() -> Iterator[Case]:
    """Yield what all families have in common, beyond the grid."""
    for family, strategies in STRATEGIES.items():
        for k, missing in enumerate(strategies):
            yield case(family, TASKS[k % 2], missing, "complete_categories", "unseen_categories")
            yield case(family, TASKS[(k + 1) % 2], missing, "small", "few_rows", min_samples_leaf=2)
        for missing in (strategies[0], "mia", "fractional"):
            for target in ("tiny", "huge"):
                yield case(family, "regressor", missing, "missing_values", "scaled", target)
        for missing, target in ((strategies[1], "text"), ("majority", "boolean"), ("fractional", "text")):
            yield case(family, "classifier", missing, "missing_values", "labels", target)
        named = ["integer_1", "text_2", "ordered_3", "boolean_4"]
        yield case(family, "regressor", strategies[0], "categories", "named", categorical_features=named)
        for task in TASKS:
            yield case(family, task, strategies[0], "objects", "plain_array", min_samples_leaf=4)
            yield case(
                family, task, strategies[0], "missing_values", "little_in_all", weights="small_weights"
            )
            yield case(
                family,
                task,
                strategies[1],
                "missing_values",
                "large_leaves",
                min_samples_leaf=60,
                weights="some_zero_weights",
            )


def trees_and_forests() -> Iterator[Case]:
    """Yield what only single trees and forests have."""
    for family, task in itertools.product(("tree", "forest"), TASKS):
        for missing in ("mia", "trinary_mia"):
            yield case(family, task, missing, "missing_values", "no_split_on_missing", split_on_missing=False)
        for n in (0, 1):
            yield case(family, task, "surrogate", "missing_values", f"surrogates_{n}", max_surrogates=n)
        yield case(family, task, "trinary", "missing_values", "depth_0", max_depth=0)
    for (missing, task), table in itertools.product(
        (("trinary", "regressor"), ("trinary", "classifier"), ("trinary_mia", "regressor")),
        ("complete", "missing_values", "categories", "many_categories"),
    ):
        yield case("forest", task, missing, table, "evidence", min_missing_third=0.3)
    for missing in ("trinary", "surrogate"):
        for class_weight in ("balanced", {0: 1.0, 1: 2.5, 2: 0.25}):
            note = "balanced" if class_weight == "balanced" else "class_weights"
            weights = "random_weights" if missing == "surrogate" else "unweighted"
            yield case(
                "forest",
                "classifier",
                missing,
                "categories",
                note,
                class_weight=class_weight,
                weights=weights,
            )
    yield case("forest", "regressor", "trinary", "complete", "out_of_bag", oob_score=True, n_estimators=12)
    for i, missing in enumerate(STRATEGIES["tree"]):
        table = ("missing_values", "categories", "complete")[i % 3]
        for family, task in (("tree", TASKS[i % 2]), ("forest", TASKS[1 - i % 2])):
            yield case(family, task, missing, table, "leaves_7", max_leaf_nodes=7, max_depth=None)


def boosting() -> Iterator[Case]:
    """Yield what only boosting has."""
    targets = {"absolute_error": "number", "quantile": "number", "poisson": "counts", "gamma": "positive"}
    for i, ((loss, target), missing) in enumerate(itertools.product(targets.items(), STRATEGIES["boosting"])):
        options: dict[str, Any] = {"quantile": 0.8} if loss == "quantile" else {}
        table = ("missing_values", "categories", "complete")[i % 3]
        yield case(
            "boosting",
            "regressor",
            missing,
            table,
            loss,
            target,
            loss=loss,
            weights=WEIGHTS[i % 4],
            **options,
        )
    for q in (0.0, 0.1):
        yield case(
            "boosting", "regressor", "trinary", "complete", f"quantile_{q}", loss="quantile", quantile=q
        )
    both = [("boosting", task, missing) for task in TASKS for missing in ("trinary_mia", "mia", "fractional")]
    overfits: dict[str, Any] = {"learning_rate": 1.0, "l2_regularization": 0.0, "n_iter_no_change": 2}
    for i, start in enumerate(both):
        table = ("missing_values", "categories")[i % 2]
        yield case(*start, table, "early_stopping", early_stopping=True, max_iter=12, **overfits)
        yield case(*start, "missing_values", "validation_rows", validation=True, **overfits)
        yield case(
            *start,
            table,
            "warm_start",
            warm_start=True,
            max_iter=3,
            then={"max_iter": 6, "learning_rate": 0.3},
        )
    for missing in ("trinary_mia", "mia", "trinary"):
        by_position = [1, 0, -1, 0, 0, 1]
        start = ("boosting", "regressor", missing)
        yield case(*start, "missing_values", "monotonic", monotonic_cst=by_position, max_features=1.0)
        yield case(*start, "categories", "monotonic", monotonic_cst={"number_0": 1, "ordered_3": -1})
        start = ("boosting", "classifier", missing)
        yield case(*start, "missing_values", "monotonic", "two", monotonic_cst=by_position)
        for class_weight in ("balanced", {0: 1.0, 1: 2.5, 2: 0.25}):
            note = "balanced" if class_weight == "balanced" else "class_weights"
            weights = "integer_weights" if missing == "mia" else "unweighted"
            yield case(*start, "categories", note, class_weight=class_weight, weights=weights)
    variations: dict[str, dict[str, Any]] = {
        "depth_1": {"max_depth": 1},
        "no_depth_limit": {"max_depth": None, "min_samples_leaf": 2},
        "leaves_3": {"max_leaf_nodes": 3},
        "slow": {"learning_rate": 0.01},
        "full_steps": {"learning_rate": 1.0, "l2_regularization": 0.0},
        "much_l2": {"l2_regularization": 100.0},
        "few_background_rows": {"background_rows": 50, "third_rows": 20},
        "deeper_third_branches": {"third_depth_extra": 2, "max_depth": 2},
        "bins_4": {"max_bins": 4},
    }
    for note, options in variations.items():
        for task, table in (("regressor", "complete"), ("classifier", "missing_values")):
            yield case("boosting", task, "trinary_mia", table, note, **options)


def large() -> Iterator[Case]:
    """Yield tables large enough for threads to share the work."""
    few = {"max_depth": 4, "n_jobs": 2}
    yield case("tree", "regressor", "trinary", "large", "two_threads", **few)
    yield case("tree", "classifier", "trinary_mia", "large", "two_threads", max_bins=255, **few)
    yield case("forest", "regressor", "mia", "large", "two_threads", n_estimators=3, max_depth=6, n_jobs=2)
    yield case("forest", "classifier", "trinary", "large", "two_threads", n_estimators=3, **few)
    yield case("boosting", "regressor", "trinary_mia", "large", "two_threads", max_iter=5, n_jobs=2)
    yield case("boosting", "classifier", "trinary", "large_complete", "two_threads", max_iter=3, n_jobs=2)
    yield case("boosting", "regressor", "fractional", "large", "two_threads", max_iter=3, n_jobs=2)


CASES = {case.name: case for case in [*grid(), *families(), *trees_and_forests(), *boosting(), *large()]}
