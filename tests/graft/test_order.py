"""Trees are brought into order level by level, and what is no tree is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graft.reference import raw_predictions
from graft.sources import random_tree
from hypothesis import given
from hypothesis import strategies as st

from tritree.errors import GraftError
from tritree.graft import order
from tritree.graft.order import in_order
from tritree.graft.source import SourceColumn, SourceModel, SourceTree

COLUMNS = [SourceColumn(), SourceColumn(categories=("a", "b", "c")), SourceColumn()]
ROWS = [
    [number, code, other]
    for number in (-2, -0.5, 0.1, 3, np.nan)
    for code in (-1, 0, 1, 2, np.nan)
    for other in (-0.7, 0.3, np.nan)
]


def shuffled(tree: SourceTree, seed: int) -> SourceTree:
    """Return the tree with its nodes in random order behind the root, and with nodes that no row reaches."""
    rng = np.random.default_rng(seed)
    n = len(tree)
    nodes = np.concatenate([[0], rng.permutation(np.arange(1, n)), rng.integers(0, n, 3)])
    position = {int(node): new for new, node in reversed(list(enumerate(nodes)))}
    moved = {
        name: getattr(tree, name)[nodes]
        for name in ("column", "threshold", "missing_left", "missing_learned")
    }
    moved |= {name: getattr(tree, name)[nodes] for name in ("value", "unknown_left", "gain")}
    for side in ("left", "right"):
        moved[side] = np.array(
            [position.get(int(child), -1) for child in getattr(tree, side)[nodes]], np.int32
        )
    sets = {
        new: tree.left_categories[int(node)]
        for new, node in enumerate(nodes)
        if int(node) in tree.left_categories
    }
    return SourceTree(**moved, left_categories=sets)


def predictions(tree: SourceTree) -> np.ndarray:
    return raw_predictions(SourceModel("test", COLUMNS, [tree], np.zeros(1), "identity"), ROWS)


@given(st.integers(0, 10_000))
def test_tree_in_order_predicts_the_same(seed: int) -> None:
    tree = random_tree(np.random.RandomState(seed), COLUMNS, 4)
    found = in_order(shuffled(tree, seed), len(COLUMNS), "the tree")
    assert len(found) == len(tree)
    np.testing.assert_array_equal(predictions(found), predictions(tree))


@given(st.integers(0, 10_000))
def test_children_come_after_their_parents_and_no_threshold_is_infinity(seed: int) -> None:
    tree = random_tree(np.random.RandomState(seed), COLUMNS, 4)
    found = in_order(shuffled(tree, seed), len(COLUMNS), "the tree")
    splits = np.flatnonzero(found.column >= 0)
    assert (np.minimum(found.left, found.right)[splits] > splits).all()
    assert not np.isposinf(found.threshold).any()


def stump(**fields: Any) -> SourceTree:
    tree = SourceTree(
        column=np.array([0, -1, -1], np.int32),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1], np.int32),
        right=np.array([2, -1, -1], np.int32),
        missing_left=np.zeros(3, bool),
        missing_learned=np.zeros(3, np.int8),
        value=np.array([0.0, 1, 2]),
    )
    return replace(
        tree, **{name: np.array(values, getattr(tree, name).dtype) for name, values in fields.items()}
    )


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (stump(column=[], threshold=[], left=[], right=[]), "tree 7 has no nodes"),
        (stump(left=[0, -1, -1]), "tree 7 is not a tree"),
        (stump(left=[2, -1, -1]), "tree 7 is not a tree"),
        (stump(left=[-1, -1, -1]), "tree 7: a split has a child beyond the 3 nodes"),
        (stump(right=[3, -1, -1]), "tree 7: a split has a child beyond the 3 nodes"),
        (stump(column=[2, -1, -1]), "tree 7: node 0 splits column 2, but the model has 2 columns"),
        (stump(threshold=[np.nan, 0, 0]), "tree 7: node 0 splits at nan"),
        (stump(value=[0, np.inf, 0]), "tree 7: node 1 is a leaf with the value inf"),
    ],
)
def test_what_is_no_tree_is_refused(tree: SourceTree, message: str) -> None:
    with pytest.raises(GraftError, match=message):
        in_order(tree, 2, "tree 7")


def test_depth_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MAX_DEPTH", 0)
    with pytest.raises(GraftError, match="deeper than 0 levels"):
        in_order(stump(), 2, "tree 7")
