"""Traversal agrees with the reference, row by row and step by step, and ends where the core's rows end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted
from forest.grown import grown
from reference.traversal import ends, path

from tritree.inspection.contributions import missing_reliance
from tritree.inspection.traversal import end_nodes, paths
from tritree.validation import BOOSTING_STRATEGIES, STRATEGIES

KINDS = ("regression", "three classes")


def assert_agrees(tree: Any, rows: Any) -> None:
    """Compare the traversal of one tree with the reference."""
    read, arrays = rows, tree._arrays_now()
    nodes = tree.to_dict()["nodes"]
    found = paths(arrays, read.columns, read.n_rows)
    assert [[tuple(step) for step in steps] for steps in found] == [
        path(nodes, cells) for cells in read.cells
    ]
    expected = {node for cells in read.cells for node in ends(nodes, cells)}
    assert set(end_nodes(arrays, read.columns, read.n_rows).tolist()) == expected


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_take_the_paths_of_the_reference(kind: str, missing: str, training: Any) -> None:
    forest = grown(kind, training, missing=missing, n_estimators=2)
    rows = forest._read_cells(ROWS)
    assert_agrees(forest.estimators_[0], rows)  # with ungrown branches
    forest.predict(ROWS)
    assert_agrees(forest.estimators_[1], rows)


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_rows_of_boosting_take_the_paths_of_the_reference(missing: str, training: Any) -> None:
    model = boosted("regression", training, missing=missing, max_iter=4)
    rows = model._read_cells(ROWS)
    assert_agrees(model.estimators_[0, 0], rows)
    model.predict(ROWS)
    assert_agrees(model.estimators_[3, 0], rows)


@pytest.mark.parametrize("missing", [name for name in BOOSTING_STRATEGIES if name != "fractional"])
def test_paths_end_where_apply_says(missing: str) -> None:
    model = boosted("regression", HOLED, missing=missing, max_iter=3)
    leaves, rows = model.apply(ROWS), model._read_cells(ROWS)
    for tree, expected in zip(model._model.trees(), leaves.T, strict=True):
        found = [path[-1].to for path in paths(tree, rows.columns, rows.n_rows)]
        assert found == expected.tolist()


def test_reliance_of_a_boosted_tree_is_its_part_in_that_of_the_model() -> None:
    model = boosted("regression", HOLED, max_iter=4)
    expected = model.missing_reliance(ROWS)
    by_tree = [tree.missing_reliance(ROWS) for tree in model.estimators_.ravel()]
    np.testing.assert_allclose(np.mean(by_tree, axis=0), expected, rtol=1e-12)
    rows = model._read_cells(ROWS)
    arrays = model.estimators_[0, 0]._arrays_now()
    np.testing.assert_array_equal(missing_reliance(arrays, rows.columns, rows.n_rows), by_tree[0])
