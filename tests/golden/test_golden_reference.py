"""The reference implementation reproduces the worked cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_paths import case_name, golden_cases
from golden.rpart import as_read_by_r, prune_useless_splits
from numpy.typing import NDArray
from reference.splits import Node
from reference.tree import ReferenceTree

TREES = golden_cases("trees.json")
RPART = golden_cases("surrogate_rpart.json")
RPART_NA = golden_cases("surrogate_rpart_na.json")


def reference_of(case: dict[str, Any]) -> ReferenceTree:
    return ReferenceTree(
        missing=case["missing"],
        task=case["table"]["task"],
        max_depth=case["max_depth"],
        min_samples_leaf=case["min_samples_leaf"],
        split_on_missing=case.get("split_on_missing", True),
        max_surrogates=case.get("max_surrogates", 5),
        categorical=case["table"]["categorical_columns"],
    )


@pytest.mark.skipif(not TREES, reason="no worked cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", TREES, ids=case_name)
def test_reference_predicts_the_worked_cases(case: dict[str, Any]) -> None:
    table = case["table"]
    reference = reference_of(case).fit(table["X"], table["y"], table["sample_weight"])
    np.testing.assert_allclose(reference.predict(table["X_test"]), case["prediction"], rtol=0, atol=1e-9)


@pytest.mark.skipif(not RPART, reason="no rpart cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", RPART, ids=case_name)
def test_reference_predicts_as_rpart(case: dict[str, Any]) -> None:
    X, y, X_test = as_read_by_r(case)
    reference = reference_of(case).fit(X, y)
    if case["table"]["task"] == "classification":
        undo_useless_splits(reference.root)
    np.testing.assert_allclose(reference.predict(X_test), case["prediction"], rtol=0, atol=1e-9)


@pytest.mark.skipif(not RPART_NA, reason="no rpart cases; set TRITREE_GOLDEN")
@pytest.mark.parametrize("case", RPART_NA, ids=case_name)
def test_reference_predicts_as_rpart_without_pruning(case: dict[str, Any]) -> None:
    table = case["table"]
    reference = reference_of(case).fit(table["X"], table["y"])
    np.testing.assert_allclose(reference.predict(table["X_test"]), case["prediction"], rtol=0, atol=1e-9)


def undo_useless_splits(root: Node) -> None:
    """Make leaves of the nodes whose splits rpart undoes."""
    nodes = list(root.nodes())
    number = {id(node): i for i, node in enumerate(nodes)}
    children = [
        (number[id(node.branches["left"])], number[id(node.branches["right"])]) if node.split else None
        for node in nodes
    ]
    weights: NDArray[np.float64] = np.array(
        [[float(v) * len(node.rows) for v in node.value] for node in nodes]
    )
    remaining = prune_useless_splits(children, weights)
    for node in nodes:
        below = [number[id(branch)] for branch in node.branches.values()]
        if any(remaining[child] != child for child in below):
            node.split = None
