"""One plain dict of a grown tree: the only thing that views read, so that they cannot disagree."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tritree.encoder import ColumnEncoder, TableEncoder
    from tritree.inspection.arrays import TreeArrays

__all__ = ["add_spread", "describe"]

UNGROWN = -2


class Branch(IntEnum):
    """Where a split sends the rows whose value is missing, by the core's numbers."""

    LEFT = 0
    RIGHT = 1
    THIRD = 2
    BOTH = 3
    SURROGATES = 4

    @property
    def word(self) -> str:
        """Return the branch in the words of a description."""
        return self.name.lower()


def describe(
    tree: TreeArrays,
    encoder: TableEncoder,
    classes: Sequence[Any] | None,
    *,
    missing: str,
    n_grown: int,
    detached: bool = False,
) -> dict[str, Any]:
    """Return the tree as plain data.

    ``detached`` tells that the training rows are gone, so that a branch that is not grown answers with the value of
    its node.

    ``nodes`` is a list indexed by node number. A node has ``depth``, ``rows``, ``weight``, ``loss``, ``value`` (a
    list: the mean, or the class shares) and ``split``, which is None in a leaf. A split has

    - ``column`` and ``name``; ``rule`` is "threshold" (with ``threshold``; left is below it), "order" (ordered
      categories: ``left`` and ``right`` list them), "categories" (``left`` and ``right`` list those seen in the node)
      or "missing" (missing against observed: missing goes to ``missing_to``, observed to the other side);
    - ``missing_to``: "left", "right", "third", "both" or "surrogates"; ``larger``: "left" or "right";
      ``share``: the share of a missing row that goes left under "both";
    - ``surrogates``: splits of the same shape, best first, each with ``below``, the branch that their left stands for.

    ``left``, ``right`` and ``third`` of a node are node numbers, None where there is no such branch and "ungrown"
    where it has not been grown.

    `add_spread` adds how the responses are spread.
    """
    names = encoder.feature_names or [f"x{j}" for j in range(len(encoder.columns))]
    columns = [_describe_column(name, learned) for name, learned in zip(names, encoder.columns, strict=True)]
    nodes = [_describe_node(tree, node, columns) for node in range(len(tree.column))]
    return {
        "format": 1,
        "task": "regression" if classes is None else "classification",
        "missing": missing,
        "classes": None if classes is None else [_plain(label) for label in classes],
        "columns": columns,
        "nodes": nodes,
        "n_grown": n_grown,
        "detached": detached,
        "n_leaves": sum(node["split"] is None for node in nodes),
        "n_ungrown": sum(
            node[branch] == "ungrown" for node in nodes for branch in ("left", "right", "third")
        ),
    }


def add_spread(tree: dict[str, Any], numbers: Sequence[int], spread: Mapping[str, NDArray[Any]]) -> None:
    """Add to a description how the responses of the training rows are spread in some of its nodes.

    The tree gets ``edges``, those of the bins of the response, beyond which lie few and which the outermost bins take;
    None in classification, where a node's value says it all. Each of the nodes gets ``spread``, the share of its weight
    per bin, None where that is not known: of nodes grown on demand, once the training rows are gone.
    """
    edges = spread["edges"].tolist()
    tree["edges"] = edges or None
    if not edges:
        return
    for number, shares in zip(numbers, spread["shares"].reshape(len(numbers), -1), strict=True):
        tree["nodes"][number]["spread"] = None if np.isnan(shares[0]) else shares.astype(float).tolist()


def _describe_column(name: str, learned: ColumnEncoder) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "numeric" if learned.categories is None else "categorical",
        "categories": None if learned.categories is None else list(learned.categories),
        "order": None if learned.order is None else [_plain(label) for label in learned.order],
    }


def _describe_node(tree: TreeArrays, node: int, columns: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "depth": int(tree.depth[node]),
        "rows": int(tree.rows[node]),
        "weight": float(tree.weight[node]),
        "loss": float(tree.loss[node]),
        "value": tree.value[node].tolist(),
        "split": None if tree.column[node] < 0 else _describe_split(tree, node, columns),
        "left": _child(tree.left[node]),
        "right": _child(tree.right[node]),
        "third": _child(tree.third[node]),
    }


def _child(number: np.int32) -> int | str | None:
    return int(number) if number >= 0 else "ungrown" if number == UNGROWN else None


def _describe_split(tree: TreeArrays, node: int, columns: list[dict[str, Any]]) -> dict[str, Any]:
    sets = _sets(tree.sets, int(tree.set_begin[node]), int(tree.set_words[node]))
    split = _describe_rule(int(tree.column[node]), float(tree.threshold[node]), sets, columns)
    split["missing_to"] = Branch(int(tree.missing_to[node])).word
    split["larger"] = Branch(int(tree.larger[node])).word
    split["share"] = float(tree.share[node])
    surrogates = range(int(tree.surrogate_begin[node]), int(tree.surrogate_begin[node + 1]))
    split["surrogates"] = [_describe_surrogate(tree, i, columns) for i in surrogates]
    return split


def _describe_surrogate(tree: TreeArrays, i: int, columns: list[dict[str, Any]]) -> dict[str, Any]:
    sets = _sets(tree.sets, int(tree.surrogate_set_begin[i]), int(tree.surrogate_set_words[i]))
    rule = _describe_rule(int(tree.surrogate_column[i]), float(tree.surrogate_threshold[i]), sets, columns)
    return rule | {"below": Branch(int(tree.surrogate_below[i])).word}


def _sets(words: NDArray[np.uint64], begin: int, count: int) -> tuple[list[int], list[int]]:
    """Return the category numbers that go left and those that go right."""
    if not count:
        return [], []
    bits = np.unpackbits(words[begin : begin + 2 * count].view(np.uint8), bitorder="little").reshape(2, -1)
    left, right = (np.flatnonzero(side).tolist() for side in bits)
    return left, right


def _describe_rule(
    column: int, threshold: float, sets: tuple[list[int], list[int]], columns: list[dict[str, Any]]
) -> dict[str, Any]:
    known = columns[column]
    rule: dict[str, Any] = {"column": column, "name": known["name"]}
    if threshold == -np.inf:
        return rule | {"rule": "missing"}
    if known["kind"] == "categorical":
        left, right = ([known["categories"][number] for number in side] for side in sets)
        if not left or not right:
            return rule | {"rule": "missing"}
        return rule | {"rule": "categories", "left": left, "right": right}
    if known["order"] is not None:
        first_right = int(np.ceil(threshold))
        order = known["order"]
        return rule | {
            "rule": "order",
            "threshold": threshold,
            "left": order[:first_right],
            "right": order[first_right:],
        }
    return rule | {"rule": "threshold", "threshold": threshold}


def _plain(label: Any) -> Any:
    """Return a label as a plain Python object."""
    return label.item() if isinstance(label, np.generic) else label
