"""Trees as readers find them, checked and brought into the order that `SourceTree` promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tritree.errors import GraftError
from tritree.graft.source import SourceTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_DEPTH", "in_order"]

#: Maximum depth of a tree. The time to read a tree is proportional to its depth.
MAX_DEPTH = 10_000


def in_order(tree: SourceTree, n_columns: int, where: str) -> SourceTree:
    """Return a tree level by level, without nodes that no row reaches.

    Parameters
    ----------
    tree : SourceTree
        Nodes in any order, node 0 is the root. In leaves, only ``column`` and ``value`` matter. A threshold may be inf:
        the children of the split are then exchanged, so that it becomes -inf.
    n_columns : int
        Number of columns of the model.
    where : str
        How a message refers to the tree, such as ``"tree 3"``.

    Raises
    ------
    GraftError
        If the nodes are not a tree, a split has no such column or no threshold, or a leaf no finite value.
    """
    nodes = _levels(tree, where)
    column = tree.column[nodes]
    is_split = column >= 0
    splits = nodes[is_split]
    is_numeric = is_split & ~np.isin(nodes, list(tree.left_categories))
    threshold = np.where(is_numeric, tree.threshold[nodes], 0.0)
    value = np.where(is_split, 0.0, tree.value[nodes])
    for problem, is_wrong, found in (
        (f"splits column {{}}, but the model has {n_columns} columns", column >= n_columns, column),
        ("splits at {}", np.isnan(threshold), threshold),
        ("is a leaf with the value {}", ~np.isfinite(value), value),
    ):
        if is_wrong.any():
            first = int(np.flatnonzero(is_wrong)[0])
            raise GraftError(f"{where}: node {nodes[first]} {problem.format(found[first])}")
    exchanged = np.isposinf(threshold)
    left, right = np.zeros((2, len(nodes)), np.int32)
    # levels list the children of one split after the other
    left[is_split] = 2 * np.arange(len(splits)) + 1
    right[is_split] = left[is_split] + 1
    position = {int(node): new for new, node in enumerate(nodes) if int(node) in tree.left_categories}
    return SourceTree(
        column=np.where(is_split, column, -1).astype(np.int32),
        threshold=np.where(exchanged, -np.inf, threshold),
        left=np.where(exchanged, right, left),
        right=np.where(exchanged, left, right),
        missing_left=is_split & (tree.missing_left[nodes] != exchanged),
        missing_learned=np.where(is_split, tree.missing_learned[nodes], 0).astype(np.int8),
        value=value,
        left_categories={
            new: tree.left_categories[node] for node, new in position.items() if column[new] >= 0
        },
        unknown_left=tree.unknown_left[nodes] if len(tree.unknown_left) else np.zeros(len(nodes), bool),
        gain=np.where(is_split, tree.gain[nodes], 0.0) if len(tree.gain) else tree.gain,
    )


def _levels(tree: SourceTree, where: str) -> NDArray[np.intp]:
    """Return the nodes below the root level by level, the children of a split next to each other."""
    n_nodes = len(tree)
    if n_nodes == 0:
        raise GraftError(f"{where} has no nodes")
    level = np.zeros(1, np.intp)
    levels: list[NDArray[np.intp]] = []
    seen = np.zeros(n_nodes, bool)
    while len(level):
        if ((level < 0) | (level >= n_nodes)).any():
            raise GraftError(f"{where}: a split has a child beyond the {n_nodes} nodes of the tree")
        if seen[level].any() or len(np.unique(level)) < len(level):
            raise GraftError(f"{where} is not a tree: a node has two parents, or is its own ancestor")
        seen[level] = True
        if len(levels) > MAX_DEPTH:
            raise GraftError(f"{where} is deeper than {MAX_DEPTH:,} levels")
        levels.append(level)
        splits = level[tree.column[level] >= 0]
        level = np.stack([tree.left[splits], tree.right[splits]], axis=1).ravel().astype(np.intp)
    return np.concatenate(levels)
