"""Hypothesis strategies for small tables with the difficult cases of a split search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

#: A category that no training table holds.
UNKNOWN = 30

#: Values with many ties, and neighbours whose midpoint rounds down to the lower one.
GRID = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0)
NEIGHBOURS = (1.0, 1.0 + 2**-52, 1.0 + 2**-51, 2.0)

Column = list[float | int | None]
Row = list[float | int | None]


@dataclass(frozen=True)
class Problem:
    """A training table, its target and rows to predict; None is missing."""

    X: list[Row]
    y: list[Any]
    weight: list[float] | None
    categorical: list[int]
    X_test: list[Row]
    max_depth: int
    min_samples_leaf: int


def with_missing(values: st.SearchStrategy[Any], n: int, rate: int) -> st.SearchStrategy[Column]:
    """Return columns with about `rate` of ten cells missing."""
    if rate == 0:
        return st.lists(values, min_size=n, max_size=n)
    cell = st.tuples(st.integers(0, 9), values).map(lambda pair: None if pair[0] < rate else pair[1])
    return st.lists(cell, min_size=n, max_size=n)


@st.composite
def columns(draw: st.DrawFn, n: int, max_categories: int) -> tuple[str, Column]:
    """Return the type of a column, and its n cells."""
    kind = draw(
        st.sampled_from(["grid", "grid", "floats", "neighbours", "category", "category", "constant", "empty"])
    )
    rate = draw(st.sampled_from([0, 2, 2, 5]))
    match kind:
        case "grid":
            cells = draw(with_missing(st.sampled_from(GRID), n, rate))
        case "floats":
            cells = draw(with_missing(st.floats(-1e6, 1e6, width=32), n, rate))
        case "neighbours":
            cells = draw(with_missing(st.sampled_from(NEIGHBOURS), n, rate))
        case "category":
            cells = draw(with_missing(st.integers(0, max_categories - 1), n, rate))
        case "constant":
            cells = draw(with_missing(st.just(0.5), n, rate))
        case _:
            cells = [None] * n
    return kind, cells


def weights(n: int) -> st.SearchStrategy[list[float] | None]:
    """Return None, weights that include tiny ones and zeros (never only zeros), or weights over a wide range."""
    some = st.sampled_from([0.0, 2.0**-10, 0.25, 1.0, 1.0, 2.0, 3.0])
    wide = st.sampled_from([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0])
    lists = st.sampled_from([some, some, wide]).flatmap(lambda w: st.lists(w, min_size=n, max_size=n))
    return st.none() | lists.filter(any)


def regression_targets(n: int) -> st.SearchStrategy[list[float]]:
    """Return targets on a dyadic grid, some with a large offset, or of very different magnitude."""
    grid = st.lists(st.integers(-8, 8), min_size=n, max_size=n)
    offset = st.sampled_from([0.0, 0.0, 2.0**20, -1e9])
    level = st.tuples(grid, offset).map(lambda pair: [k / 4 + pair[1] for k in pair[0]])
    sizes = st.lists(st.sampled_from([2.0**-10, 1.0, 1.0, 2.0**10, 2.0**20]), min_size=n, max_size=n)
    mixed = st.tuples(grid, sizes).map(lambda pair: [k * size for k, size in zip(*pair, strict=True)])
    return level | level | mixed


def class_targets(n: int, n_classes: int) -> st.SearchStrategy[list[int]]:
    """Return class labels with all classes present."""
    rest = st.lists(st.integers(0, n_classes - 1), min_size=n - n_classes, max_size=n - n_classes)
    return rest.flatmap(lambda some: st.permutations([*range(n_classes), *some]))


def cells_to_predict(kind: str, column: Column, max_categories: int) -> st.SearchStrategy[Any]:
    """Return values that a row to predict may have in this column."""
    if kind == "category":
        return st.none() | st.integers(0, max_categories - 1) | st.just(UNKNOWN)
    seen = [v for v in column if v is not None]
    return st.none() | st.sampled_from([*GRID, *NEIGHBOURS, *seen])


def problems(task: str = "regression") -> st.SearchStrategy[Problem]:
    """Return problems: small irregular tables, and larger ones whose target depends on the columns."""
    return irregular_problems(task) | st.integers(0, 2**32 - 1).map(
        lambda seed: simulated_problem(task, seed)
    )


@st.composite
def irregular_problems(draw: st.DrawFn, task: str = "regression", max_rows: int = 30) -> Problem:
    """Return a table of up to four columns, a target, and rows with missing values and unknown categories."""
    n_classes = 0 if task == "regression" else draw(st.sampled_from([2, 3, 3]))
    n = draw(st.integers(max(1, n_classes), max_rows) | st.integers(max_rows // 2, max_rows))
    # all partitions of many categories of three classes are too many for the reference, see `many_categories`
    max_categories = draw(st.sampled_from([2, 4, 6] if n_classes == 3 else [2, 4, 6, 14]))
    table = draw(st.lists(columns(n, max_categories), min_size=1, max_size=4))
    X = [list(row) for row in zip(*(cells for _, cells in table), strict=True)]
    y: list[Any] = draw(class_targets(n, n_classes) if n_classes else regression_targets(n))
    weight = draw(weights(n))
    if weight is not None and not n_classes and draw(st.booleans()):
        y = [1e6 if w == 0 else v for v, w in zip(y, weight, strict=True)]  # an outlier of zero weight
    for copy, source in draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3)):
        X[copy] = list(X[source])  # duplicate rows with different targets
    test_cells = [cells_to_predict(kind, cells, max_categories) for kind, cells in table]
    to_predict = draw(st.lists(st.tuples(*test_cells).map(list), min_size=1, max_size=8))
    return Problem(
        X=X,
        y=y,
        weight=weight,
        categorical=[j for j, (kind, _) in enumerate(table) if kind == "category"],
        X_test=[*to_predict, [None] * len(table), *X[:5]],
        max_depth=draw(st.integers(1, 3)),
        min_samples_leaf=draw(st.integers(1, 4)),
    )


def simulated_problem(task: str, seed: int) -> Problem:
    """Return a table of 40 to 80 rows with numeric and categorical columns, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(40, 81)), int(rng.integers(2, 4))
    n_categories = int(rng.integers(2, 8 if task == "classification" else 14))
    numeric = rng.normal(size=(n, 2))
    numeric[:, 1] = np.round(numeric[:, 1] * 2) / 2
    categories = rng.integers(0, n_categories, size=(n, 2))
    signal = (
        numeric.sum(axis=1) + rng.normal(size=n_categories)[categories].sum(axis=1) + rng.normal(size=n) / 2
    )
    columns = [numeric[:, 0], categories[:, 0], numeric[:, 1], categories[:, 1]]
    missing = rng.random((n, 4)) < rng.choice([0.0, 0.1, 0.3, 0.6], size=4)

    def row(i: int, is_missing: Any) -> Row:
        cells = (
            None if cell_missing else column[i].item()
            for cell_missing, column in zip(is_missing, columns, strict=True)
        )
        return list(cells)

    X_test = [row(i, rng.random(4) < 0.3) for i in range(n // 2)]
    for cells in X_test[::5]:
        cells[1] = UNKNOWN
    if task == "classification":
        y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    else:
        y = signal if rng.random() < 0.5 else np.round(signal * 2) / 2
    weight = [None, rng.exponential(size=n), rng.integers(0, 3, size=n).astype(float)][rng.integers(3)]
    return Problem(
        X=[row(i, missing[i]) for i in range(n)],
        y=y.tolist(),
        weight=None if weight is None else weight.tolist(),
        categorical=[1, 3],
        X_test=X_test,
        max_depth=int(rng.integers(1, 4)),
        min_samples_leaf=int(rng.choice([1, 2, 5])),
    )


def many_categories(seed: int) -> Problem:
    """Return a table of three classes with enough categories to be split along the principal component.

    The tree has one split: nodes below it may have fewer categories, of which all partitions would be tried.
    """
    rng = np.random.default_rng(seed)
    n, n_categories = int(rng.integers(120, 200)), int(rng.integers(11, 15))
    categories = rng.permutation(np.arange(n) % n_categories)
    number = np.round(rng.normal(size=n), 1)
    class_probabilities = rng.dirichlet(np.ones(3), n_categories)
    y = [int(rng.choice(3, p=class_probabilities[c])) for c in categories]
    y[:3] = [0, 1, 2]
    missing = rng.random((n, 2)) < rng.choice([0.0, 0.2])
    X = [
        [None if cell_missing else cell.item() for cell_missing, cell in zip(is_missing, cells, strict=True)]
        for is_missing, cells in zip(missing, zip(categories, number, strict=True), strict=True)
    ]
    return Problem(
        X=X,
        y=y,
        weight=None if rng.random() < 0.5 else rng.exponential(size=n).tolist(),
        categorical=[0],
        X_test=[[c, v] for c in (*range(n_categories), UNKNOWN, None) for v in (-1.0, 1.0, None)],
        max_depth=1,
        min_samples_leaf=int(rng.choice([1, 5])),
    )
