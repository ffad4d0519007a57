"""Third branches of grafted trees equal those of the reference implementation of boosting, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graft.sources import as_table, random_codes, random_model
from reference.boosted_tree import GrowthParameters, Node, Row, splitmix64
from reference.boosting import ReferenceBoosting

from tritree.graft.models import graft_source


def reference_of(robust: Any) -> ReferenceBoosting:
    """Return the reference with the trees and the background rows of a graft, and without third branches."""
    core = robust._model.core
    state = core.state(with_rows=True)
    bins, growth = state["bins"], state["params"]
    reference = object.__new__(ReferenceBoosting)
    reference.parameters = GrowthParameters(
        n_bins=bins["n_bins"].tolist(),
        categorical=(bins["categorical"] != 0).tolist(),
        missing="trinary_mia",
        **{
            name: growth[name]
            for name in ("max_depth", "min_samples_leaf", "split_penalty", "category_penalty")
        },
        **{name: growth[name] for name in ("third_depth_extra", "third_rows", "seed")},
    )
    background = (bins["bins8"] if "bins8" in bins else bins["bins16"]).reshape(-1, len(bins["n_bins"]))
    missing = bins["n_bins"].astype(int)
    reference.background = [
        [None if value == top else value for value, top in zip(row, missing.tolist(), strict=True)]
        for row in background.tolist()
    ]
    reference.background_order = list(range(len(background)))
    reference.weight = reference.relative_weights = None
    reference.is_trained = True
    reference.baseline = core.baseline[0]
    reference.trees = []
    for number in range(core.n_trees):
        tree = core.tree(number)
        root = node_of(tree, 0, splitmix64(growth["seed"], number), reference.parameters)
        reference.assign_background_rows(root, reference.background_order, root, 1.0)
        reference.trees.append(root)
        reference.current_tree = number
        for row in reference.background:  # the variance of a branch depends on what they get
            reference.predict_tree(root, row)
    return reference


def node_of(tree: Any, number: int, path: int, parameters: GrowthParameters) -> Node:
    columns = list(range(len(parameters.n_bins)))
    node = Node(path, int(tree.depth[number]), columns, -np.inf, np.inf)
    node.n_rows, node.value = int(tree.rows[number]), float(tree.value[number, 0])
    if tree.column[number] < 0:
        return node
    node.column = int(tree.column[number])
    n_bins = parameters.n_bins[node.column]
    if parameters.categorical[node.column]:
        begin, words = tree.set_begin[number], tree.set_words[number]
        bits = np.unpackbits(tree.sets[begin : begin + 2 * words].view(np.uint8), bitorder="little")
        node.left_bins, node.right_bins = (set(np.flatnonzero(s).tolist()) for s in bits.reshape(2, -1))
    else:
        first_right = int(tree.first_right_bin[number])
        node.left_bins, node.right_bins = set(range(first_right)), set(range(first_right, n_bins))
    node.missing_to = ("left", "right", "third")[tree.missing_to[number]]
    node.larger_side = ("left", "right")[tree.larger_side[number]]
    node.left = node_of(tree, int(tree.left[number]), splitmix64(path, 0), parameters)
    node.right = node_of(tree, int(tree.right[number]), splitmix64(path, 1), parameters)
    return node


def rows_of(robust: Any, X: Any) -> list[Row]:
    """Return rows as bins."""
    columns = robust._read_cells(X).columns
    edges_of = iter(np.split(*edges_and_ends(robust)))
    bins = []
    for values, n_categories in zip(columns, robust._encoder.n_categories, strict=True):
        edges = next(edges_of)
        if n_categories < 0:
            found = np.searchsorted(edges, values, side="right").tolist()
            bins.append([None if np.isnan(v) else b for v, b in zip(values, found, strict=True)])
        else:
            bins.append([None if code < 0 else code for code in values.tolist()])
    return [list(row) for row in zip(*bins, strict=True)]


def edges_and_ends(robust: Any) -> tuple[np.ndarray, np.ndarray]:
    bins = robust._model.core.state(with_rows=False)["bins"]
    sizes = np.where(bins["categorical"] != 0, 0, bins["n_bins"].astype(int) - 1)
    return bins["edges"], np.cumsum(sizes)[:-1]


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
@pytest.mark.parametrize("with_categories", [False, True])
@pytest.mark.parametrize("missing", ["auto", "third"])
def test_third_branches_are_those_of_the_reference(
    missing: str, with_categories: bool, missing_rate: float
) -> None:
    for seed in range(4):
        model = random_model(seed, with_categories=with_categories, link="logit")
        background = as_table(model, random_codes(model, seed + 1, 150, missing_rate))
        robust = graft_source(
            model,
            background,
            max_background=1000,
            missing=missing,
            third_depth_extra=0,
            random_state=0,
            n_jobs=1,
        )
        reference = reference_of(robust)
        X = as_table(model, random_codes(model, seed + 2, 40, 0.4))
        rows = rows_of(robust, X)
        sums, variance = robust._raw_predict(X)
        assert sums[:, 0].tolist() == [reference.predict(row) for row in rows]
        np.testing.assert_allclose(variance[:, 0], [reference.variance(row) for row in rows], atol=1e-14)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_neither_the_order_of_growth_nor_threads_change_predictions(n_outputs: int) -> None:
    fields = {"link": "softmax", "classes": np.arange(3)} if n_outputs > 1 else {"link": "logit"}
    model = random_model(0, n_outputs=n_outputs, n_trees=5, with_categories=False, **fields)
    background = as_table(model, random_codes(model, 1, 300, 0.2))
    X = as_table(model, random_codes(model, 2, 30, 0.4))
    found = []
    for n_jobs in (1, 4):
        robust = graft_source(
            model,
            background,
            max_background=300,
            missing="third",
            third_depth_extra=0,
            random_state=0,
            n_jobs=n_jobs,
        )
        raw, variance = robust._raw_predict(X)
        found.append((raw, variance))
        robust.grow_all()
        found.append(robust._raw_predict(X))
        one_by_one = [robust._raw_predict(X[i : i + 1]) for i in range(len(X))]
        found.append(tuple(np.concatenate(parts) for parts in zip(*one_by_one, strict=True)))
    for raw, variance in found[1:]:
        np.testing.assert_array_equal(raw, found[0][0])
        np.testing.assert_array_equal(variance, found[0][1])
