"""Random source models, made by hand, with rows for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tritree.graft.source import SourceColumn, SourceModel, SourceTree

CUTS = (-np.inf, np.inf, -1.0, -0.5, 0.0, 0.25, 1.0)


def random_tree(
    random: np.random.RandomState, columns: list[SourceColumn], max_depth: int, *, with_infinite: bool = True
) -> SourceTree:
    """Return a tree with numeric and categorical splits, some of which send all observed values to one side."""
    nodes: list[dict[str, Any]] = []
    sets: dict[int, frozenset[int]] = {}
    level = [0]
    nodes.append({})
    for depth in range(max_depth + 1):
        following = []
        for node in level:
            leaf = depth == max_depth or random.uniform() < 0.2
            column = -1 if leaf else random.randint(len(columns))
            nodes[node] = {"column": column, "threshold": np.nan, "left": -1, "right": -1, "value": 0.0}
            nodes[node] |= {"missing_left": bool(random.randint(2)), "unknown_left": bool(random.randint(2))}
            nodes[node] |= {"missing_learned": random.randint(-1, 2), "gain": float(random.uniform())}
            if leaf:
                nodes[node]["value"] = float(random.normal())
                continue
            categories = columns[column].categories
            if categories is None:
                nodes[node]["threshold"] = float(random.choice(CUTS[0 if with_infinite else 2 :]))
                if nodes[node]["threshold"] == -np.inf:
                    nodes[node]["missing_left"] = True
            else:
                sets[node] = frozenset(code for code in range(len(categories)) if random.randint(2))
            for side in ("left", "right"):
                nodes[node][side] = len(nodes)
                following.append(len(nodes))
                nodes.append({})
        level = following
    kinds = {"column": np.int32, "left": np.int32, "right": np.int32, "missing_learned": np.int8}
    kinds |= {"missing_left": np.bool_, "unknown_left": np.bool_}
    arrays = {
        name: np.array([node[name] for node in nodes], kinds.get(name, np.float64)) for name in nodes[0]
    }
    return SourceTree(**arrays, left_categories=sets)


def random_model(
    seed: int,
    *,
    n_outputs: int = 1,
    n_trees: int = 3,
    max_depth: int = 4,
    with_categories: bool = True,
    **fields: Any,
) -> SourceModel:
    """Return a model of three numeric columns, and one of text and one of numeric categories."""
    random = np.random.RandomState(seed)
    columns = [SourceColumn(f"x{j}") for j in range(3)]
    if with_categories:
        columns += [SourceColumn("colour", ("red", "blue", "green")), SourceColumn("size", (3, 1, 2))]
    trees = [random_tree(random, columns, max_depth) for _ in range(n_trees * n_outputs)]
    fields = {"library": "Test", "link": "identity", "baseline": random.normal(size=n_outputs)} | fields
    return SourceModel(columns=columns, trees=trees, **fields)


def random_codes(model: SourceModel, seed: int, n_rows: int, missing_rate: float = 0.0) -> np.ndarray:
    """Return rows as `reference` takes them: numbers, some of them at thresholds, and codes of categories."""
    random = np.random.RandomState(seed)
    rows = random.choice([*CUTS[2:], -2.0, 2.0, -0.1], size=(n_rows, len(model.columns)))
    for j, column in enumerate(model.columns):
        if column.categories is not None:
            rows[:, j] = random.randint(len(column.categories), size=n_rows)
    rows[random.uniform(size=rows.shape) < missing_rate] = np.nan
    return rows


def as_table(model: SourceModel, codes: np.ndarray) -> Any:
    """Return rows as a frame with the categories themselves; the code -1 is an unknown category."""
    import pandas as pd

    table = {}
    for j, column in enumerate(model.columns):
        if column.categories is None:
            table[column.name] = codes[:, j]
        else:
            is_text = isinstance(column.categories[0], str)
            labels = [*column.categories, "unknown" if is_text else 99]
            missing = None if is_text else np.nan
            cells = [missing if np.isnan(code) else labels[int(code)] for code in codes[:, j]]
            table[column.name] = pd.Series(cells, dtype=object if is_text else float)
    return pd.DataFrame(table)
