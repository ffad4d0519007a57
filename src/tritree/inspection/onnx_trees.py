"""Trees as comparisons of ONNX's tree ensemble.

The nodes of a tree ensemble of ONNX compare "x < t", which is false for NaN. A split becomes a search among its bounds:
each true branch leads to what lies below a bound, and the last false branch, which only a missing value reaches, to
where the split sends missing values. The ensemble finds the number of the leaf, and a table behind it the values of the
leaf, which thus keep their double precision; the output of the ensemble itself is in single precision.

Several branches lead to one node, which onnxruntime allows for the sake of LightGBM's categories: any number of true
branches, and one false branch if that is followed first. It follows false branches first, so the order of the
comparisons here is the right one. Every node must be reachable, and paths must not be long, because it follows them by
recursion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import other_side

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

#: Leaves are numbered by the ensemble in single precision.
_MAX_LEAVES = 2**24
#: onnxruntime loads a path of comparisons by recursion; with a stack of 8 MB, 12,000 of them made it crash.
_MAX_STEPS = 1_000
#: A search among more bounds is binary.
_MAX_LINEAR = 8


@dataclass(frozen=True)
class Column:
    """A column as the model reads it."""

    name: str
    kind: str
    categories: list[Any] | None
    order: list[Any] | None
    #: How dates and times, which are microseconds, are written; None for other columns.
    time: dict[str, Any] | None

    @cached_property
    def labels(self) -> list[Any]:
        """The known labels of a categorical or ordered column."""
        return self.order or self.categories or []

    @cached_property
    def is_text(self) -> bool:
        """Whether the input is text, which is looked up among the labels."""
        return self.kind == "identifier" or (bool(self.labels) and isinstance(self.labels[0], str))

    @cached_property
    def missing(self) -> str:
        """The text that stands for a missing value: the empty string, unless that is a label."""
        text = ""
        while text in self.labels:
            text += "_"
        return text

    def bounds(self, split: dict[str, Any]) -> list[tuple[float, str]]:
        """Return upper bounds in ascending order, each with the side of the values below it."""
        if split["rule"] == "missing":
            observed = other_side(split["missing_to"])
            if self.is_text or not self.order:
                return [(math.inf, observed)]
            sides = dict.fromkeys(self.order, observed)  # other numbers are missing, like other text
        elif split["rule"] == "threshold" or (split["rule"] == "order" and self.is_text):
            return [(float(split["threshold"]), "left"), (math.inf, "right")]
        else:
            sides = dict.fromkeys(split["left"], "left") | dict.fromkeys(split["right"], "right")
        other = "missing" if self.order else "unseen"
        if self.is_text:  # labels are numbered, and nothing lies between them
            found = [
                (-0.5, other),
                *((i + 0.5, sides.get(label, other)) for i, label in enumerate(self.labels)),
            ]
        else:
            found = []
            for label in sorted(self.labels):
                above = math.nextafter(float(label), math.inf)
                found += [(float(label), other), (above, sides.get(label, other))]
        return [*found, (math.inf, other)]


@dataclass(slots=True)
class _OnnxNode:
    """A comparison of the ensemble, or a leaf."""

    column: int = 0
    bound: float = 0.0
    if_true: Hashable = None
    if_false: Hashable = None  # None is the next node
    leaf: int | None = None


class TreeComparisons:
    """A tree as comparisons of ONNX's tree ensemble, and the values of its leaves."""

    def __init__(self, nodes: list[dict[str, Any]], columns: list[Column]) -> None:
        self._columns = columns
        self._onnx_nodes: list[_OnnxNode] = []
        self._first_nodes: dict[Hashable, int] = {}  # the first comparison of a node, or of a part of it
        self.values: list[list[float]] = []
        for number, node in enumerate(nodes):
            if node["split"] is None:
                self._add_leaf(number, node["value"])
            else:
                self._add_split(number, node)
        if len(self.values) > _MAX_LEAVES:
            raise ValueError(
                f"the tree has {len(self.values):,} leaves; an ONNX model holds at most {_MAX_LEAVES:,}"
            )

    def _add_leaf(self, key: Hashable, value: list[float]) -> None:
        self._first_nodes[key] = len(self._onnx_nodes)
        self._onnx_nodes.append(_OnnxNode(leaf=len(self.values)))
        self.values.append(value)

    def _add_split(self, number: int, node: dict[str, Any]) -> None:
        split = node["split"]
        to = {branch: node[branch] for branch in ("left", "right", "third")}
        ends = [branch for branch in to if to[branch] == "ungrown"]
        ends += ["none"] * (split["larger_side"] == "none")
        to |= {branch: (number, branch) for branch in ends}
        # the surrogates in their order, then the larger child, or the end of the path
        fallbacks = [*((number, k) for k in range(len(split["surrogates"]))), to[split["larger_side"]]]
        to["surrogates"] = fallbacks[0]
        to["missing"], to["unseen"] = to[split["missing_branch"]], to[split["unseen_branch"]]
        self._add_search(number, split, to)
        for (here, onward), surrogate in zip(pairwise(fallbacks), split["surrogates"], strict=True):
            sides = {"left": to["left"], "right": to["right"], "unseen": onward, "missing": onward}
            if surrogate["below"] == "right":
                sides |= {"left": to["right"], "right": to["left"]}
            self._add_search(here, surrogate, sides)
        for branch in ends:  # in an ungrown branch of a detached tree, or if the row stays, the node predicts
            self._add_leaf((number, branch), node["value"])

    def _add_search(self, key: Hashable, split: dict[str, Any], to: dict[str, Any]) -> None:
        """Add the comparisons that send a value, or a missing one, where the split does."""
        self._first_nodes[key] = len(self._onnx_nodes)
        column = split["column"]
        bounds = [(bound, to[side]) for bound, side in self._columns[column].bounds(split)]
        # drop bounds between values with the same destination; NaN comes after the last
        parts = pairwise([*bounds, (math.nan, to["missing"])])
        self._search(column, [here for here, behind in parts if here[1] != behind[1]], to["missing"])

    def _search(self, column: int, bounds: Sequence[tuple[float, Hashable]], otherwise: Hashable) -> None:
        if len(bounds) <= _MAX_LINEAR:
            self._onnx_nodes += [_OnnxNode(column, bound, to) for bound, to in bounds]
            self._onnx_nodes[-1].if_false = otherwise
            return
        middle = len(bounds) // 2
        lower, nowhere = object(), object()
        self._onnx_nodes.append(_OnnxNode(column, bounds[middle - 1][0], lower))
        self._search(column, bounds[middle:], otherwise)
        self._first_nodes[lower] = len(self._onnx_nodes)
        self._search(column, bounds[:middle], nowhere)
        # the last false branch is never taken, but must lead to a node of its own
        self._first_nodes[nowhere] = len(self._onnx_nodes)
        self._onnx_nodes.append(_OnnxNode(leaf=0))

    def attributes(self, tree: int) -> dict[str, Any]:
        """Return the attributes of the operator for this tree, given its number."""
        nodes, first = self._onnx_nodes, self._first_nodes
        leaves = [i for i, node in enumerate(nodes) if node.leaf is not None]
        if_true = [first[node.if_true] if node.leaf is None else 0 for node in nodes]
        if_false = [
            0 if node.leaf is not None else i + 1 if node.if_false is None else first[node.if_false]
            for i, node in enumerate(nodes)
        ]
        _check_steps(if_true, if_false)
        return {
            "nodes_treeids": [tree] * len(nodes),
            "nodes_nodeids": list(range(len(nodes))),
            "nodes_modes": ["BRANCH_LT" if node.leaf is None else "LEAF" for node in nodes],
            "nodes_featureids": [node.column for node in nodes],
            "nodes_values_as_tensor": [node.bound for node in nodes],
            "nodes_missing_value_tracks_true": [0] * len(nodes),
            "nodes_truenodeids": if_true,
            "nodes_falsenodeids": if_false,
            "target_treeids": [tree] * len(leaves),
            "target_nodeids": leaves,
            "target_ids": [tree] * len(leaves),
            "target_weights_as_tensor": [nodes[i].leaf for i in leaves],
        }


def _check_steps(if_true: list[int], if_false: list[int]) -> None:
    """Raise a ValueError if a path is so long that onnxruntime would crash; branches lead to later nodes, or to 0."""
    steps = [0] * len(if_true)
    for node, branches in enumerate(zip(if_true, if_false, strict=True)):
        for to in branches:
            steps[to] = max(steps[to], steps[node] + 1)
    longest = max(steps[1:], default=0)
    if longest > _MAX_STEPS:
        raise ValueError(
            f"the tree has up to {longest:,} comparisons on the path to a leaf, and onnxruntime crashes with many; "
            f"at most {_MAX_STEPS:,} are exported: fit with a lower max_depth or a higher min_samples_leaf"
        )
