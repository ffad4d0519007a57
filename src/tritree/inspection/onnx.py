"""Export of a tree as an ONNX model, which other programs run without Python.

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
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.traversal import missing_branch, observed_side, unknown_branch

try:
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError as error:
    raise ImportError(
        f"to_onnx() needs the package onnx, which cannot be imported ({error}); pip install tritree[onnx]"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

__all__ = [
    "Column",
    "Graph",
    "TreeComparisons",
    "add_classes",
    "add_inputs",
    "add_leaves",
    "add_numbers",
    "as_model",
    "draw_onnx",
    "refuse_fractional",
]

#: The versions of the operators used; ai.onnx.ml 3 is the first whose thresholds are doubles.
_OPSETS = {"": 15, "ai.onnx.ml": 3}
_IR_VERSION = 8
#: A text that is not a category of training.
_NEVER_SEEN = -2.0
#: Leaves are numbered by the ensemble in single precision.
_MAX_LEAVES = 2**24
#: onnxruntime loads a path of comparisons by recursion; with a stack of 8 MB, 12,000 of them made it crash.
_MAX_STEPS = 1_000
#: A search among more bounds is binary.
_MAX_LINEAR = 8


def draw_onnx(description: dict[str, Any]) -> ModelProto:
    """Return a tree as an ONNX model, given its description."""
    refuse_fractional(description["missing"], "to_dict()")
    columns = [Column(position, **about) for position, about in enumerate(description["columns"])]
    lines = TreeComparisons(description["nodes"], columns)
    graph = Graph()
    leaf = add_leaves(graph, add_inputs(graph, columns), [lines])
    leaf = graph.add("Reshape", [leaf, graph.constant("all rows", np.array([-1], dtype=np.int64))], "leaf")
    values = np.array(lines.values)
    if description["classes"] is None:
        table = graph.constant("values", values[:, 0])
        add_numbers(graph, graph.add("Gather", [table, leaf], "value of the leaf"))
    else:
        probabilities = graph.add("Gather", [graph.constant("values", values), leaf], "probabilities")
        add_classes(graph, description["classes"], probabilities)
    return as_model(graph)


def add_numbers(graph: Graph, numbers: str) -> None:
    """Add the output of a regression: one number for each row."""
    shape = graph.constant("rows alone", np.array([-1], dtype=np.int64))
    graph.output(graph.add("Reshape", [numbers, shape], "prediction"), TensorProto.DOUBLE, ["rows"])


def refuse_fractional(missing: str, instead: str) -> None:
    """Raise a ValueError if ONNX cannot express the strategy of a tree."""
    if missing == "fractional":
        raise ValueError(
            "a tree with missing='fractional' follows both branches of a split if a value is missing, which a tree "
            f"ensemble of ONNX cannot do; use another strategy, or {instead} and your own code"
        )


def as_model(graph: Graph) -> ModelProto:
    """Return the model of a graph, checked."""
    model = helper.make_model(
        graph.build(),
        producer_name="tritree",
        producer_version=version("tritree"),
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, opset) for domain, opset in _OPSETS.items()],
    )
    checker.check_model(model)
    return model


def add_inputs(graph: Graph, columns: list[Column]) -> str:
    """Add the inputs of the model; return the name of the array of numbers that the ensemble reads."""
    if not any(column.is_text for column in columns):
        return graph.input("X", TensorProto.DOUBLE, len(columns), "NaN is missing")
    # before anything else is added, so that they keep their names
    names = {column.name for column in columns}
    inputs = [column.add_input(graph, names) for column in columns]
    numbers = [column.add_number(graph, name) for column, name in zip(columns, inputs, strict=True)]
    return graph.add("Concat", numbers, "X", axis=1)


def add_leaves(graph: Graph, matrix: str, trees: Sequence[TreeComparisons]) -> str:
    """Add the operator that finds the leaves of rows; return the name of their numbers, one column per tree."""
    found = graph.add(
        "TreeEnsembleRegressor", [matrix], "leaf number", domain="ai.onnx.ml", **_attributes(trees)
    )
    return graph.add("Cast", [found], "leaf column", to=TensorProto.INT64)


def add_classes(graph: Graph, classes: list[Any], probabilities: str) -> None:
    """Add the outputs of a classification, given the name of the probabilities of its classes."""
    kinds = {
        str: TensorProto.STRING,
        bool: TensorProto.BOOL,
        int: TensorProto.INT64,
        float: TensorProto.DOUBLE,
    }
    kind = type(classes[0])
    if kind not in kinds or (kind is int and max(classes) >= 2**63):
        raise ValueError(
            f"classes like {classes[-1]!r} cannot be labels in ONNX; fit to text, booleans or numbers up to 2**63"
        )
    best = graph.add("ArgMax", [probabilities], "class number", axis=1, keepdims=0)
    labels = graph.constant("classes", np.array(classes, dtype={str: object, int: np.int64}.get(kind)))
    graph.output(graph.add("Gather", [labels, best], "label"), kinds[kind], ["rows"])
    graph.output(probabilities, TensorProto.DOUBLE, ["rows", len(classes)])


@dataclass(frozen=True)
class Column:
    """A column as the model reads it."""

    position: int
    name: str
    kind: str
    categories: list[Any] | None
    order: list[Any] | None

    @cached_property
    def labels(self) -> list[Any]:
        """The known labels of a categorical or ordered column."""
        return self.order or self.categories or []

    @cached_property
    def is_text(self) -> bool:
        """Whether the input is text, which is looked up among the labels."""
        return bool(self.labels) and isinstance(self.labels[0], str)

    @cached_property
    def missing(self) -> str:
        """The text that stands for a missing value: the empty string, unless that is a label."""
        text = ""
        while text in self.labels:
            text += "_"
        return text

    def add_input(self, graph: Graph, names: set[str]) -> str:
        """Add the column to the inputs of the model; return its unique name."""
        name = self.name or f"x{self.position}"  # ONNX ignores inputs with an empty name
        while not self.name and name in names:
            name += "_"
        if self.is_text:
            return graph.input(name, TensorProto.STRING, 1, f"{self.missing!r} is missing")
        return graph.input(name, TensorProto.DOUBLE, 1, "NaN is missing")

    def add_number(self, graph: Graph, name: str) -> str:
        """Add the lookup of text among the labels; return the name of the positions."""
        if not self.is_text:
            return name
        found = graph.add(
            "LabelEncoder",
            [name],
            f"number of {name}",
            domain="ai.onnx.ml",
            keys_strings=[*self.labels, self.missing],
            values_floats=[*map(float, range(len(self.labels))), math.nan],
            default_float=math.nan if self.order else _NEVER_SEEN,
        )
        return graph.add("Cast", [found], f"{name} as a number", to=TensorProto.DOUBLE)

    def bounds(self, split: dict[str, Any]) -> list[tuple[float, str]]:
        """Return upper bounds in ascending order, each with the side of the values below it."""
        if split["rule"] == "missing":
            observed = observed_side(split)
            if self.is_text or not self.order:
                return [(math.inf, observed)]
            sides = dict.fromkeys(self.order, observed)  # other numbers are missing, like other text
        elif split["rule"] == "threshold" or (split["rule"] == "order" and self.is_text):
            return [(float(split["threshold"]), "left"), (math.inf, "right")]
        else:
            sides = dict.fromkeys(split["left"], "left") | dict.fromkeys(split["right"], "right")
        other = "missing" if self.order else "unknown"
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
class _Line:
    """A comparison of the ensemble, or a leaf."""

    column: int = 0
    bound: float = 0.0
    if_true: Hashable = None
    if_false: Hashable = None  # None is the next line
    leaf: int | None = None


class TreeComparisons:
    """A tree as comparisons of ONNX's tree ensemble, and the values of its leaves."""

    def __init__(self, nodes: list[dict[str, Any]], columns: list[Column]) -> None:
        self._columns = columns
        self._lines: list[_Line] = []
        self._heads: dict[Hashable, int] = {}  # the first line of a node, or of a part of it
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
        self._heads[key] = len(self._lines)
        self._lines.append(_Line(leaf=len(self.values)))
        self.values.append(value)

    def _add_split(self, number: int, node: dict[str, Any]) -> None:
        split = node["split"]
        ungrown = [branch for branch in ("left", "right", "third") if node[branch] == "ungrown"]
        to = {
            branch: (number, branch) if branch in ungrown else node[branch]
            for branch in ("left", "right", "third")
        }
        larger = to[split["larger_side"]]
        # the surrogates in their order, then the larger child
        fallbacks = [*((number, k) for k in range(len(split["surrogates"]))), larger]
        to["surrogates"] = fallbacks[0]
        to["missing"], to["unknown"] = to[missing_branch(split)], to[unknown_branch(split)]
        self._add_search(number, split, to)
        for (here, onward), surrogate in zip(pairwise(fallbacks), split["surrogates"], strict=True):
            sides = {"left": to["left"], "right": to["right"], "unknown": onward, "missing": onward}
            if surrogate["rule"] != "categories" and surrogate["below"] == "right":
                sides |= {"left": to["right"], "right": to["left"]}
            self._add_search(here, surrogate, sides)
        for branch in ungrown:  # of a detached tree: the node predicts
            self._add_leaf((number, branch), node["value"])

    def _add_search(self, key: Hashable, split: dict[str, Any], to: dict[str, Any]) -> None:
        """Add the comparisons that send a value, or a missing one, where the split does."""
        self._heads[key] = len(self._lines)
        column = split["column"]
        bounds = [(bound, to[side]) for bound, side in self._columns[column].bounds(split)]
        # drop bounds between values with the same destination; NaN comes after the last
        parts = pairwise([*bounds, (math.nan, to["missing"])])
        self._search(column, [here for here, behind in parts if here[1] != behind[1]], to["missing"])

    def _search(self, column: int, bounds: Sequence[tuple[float, Hashable]], otherwise: Hashable) -> None:
        if len(bounds) <= _MAX_LINEAR:
            self._lines += [_Line(column, bound, to) for bound, to in bounds]
            self._lines[-1].if_false = otherwise
            return
        middle = len(bounds) // 2
        lower, nowhere = object(), object()
        self._lines.append(_Line(column, bounds[middle - 1][0], lower))
        self._search(column, bounds[middle:], otherwise)
        self._heads[lower] = len(self._lines)
        self._search(column, bounds[:middle], nowhere)
        # the last false branch is never taken, but must lead to a line of its own
        self._heads[nowhere] = len(self._lines)
        self._lines.append(_Line(leaf=0))

    def attributes(self, tree: int) -> dict[str, Any]:
        """Return the attributes of the operator for this tree, given its number."""
        lines, heads = self._lines, self._heads
        leaves = [i for i, line in enumerate(lines) if line.leaf is not None]
        if_true = [heads[line.if_true] if line.leaf is None else 0 for line in lines]
        if_false = [
            0 if line.leaf is not None else i + 1 if line.if_false is None else heads[line.if_false]
            for i, line in enumerate(lines)
        ]
        _check_steps(if_true, if_false)
        return {
            "nodes_treeids": [tree] * len(lines),
            "nodes_nodeids": list(range(len(lines))),
            "nodes_modes": ["BRANCH_LT" if line.leaf is None else "LEAF" for line in lines],
            "nodes_featureids": [line.column for line in lines],
            "nodes_values_as_tensor": [line.bound for line in lines],
            "nodes_missing_value_tracks_true": [0] * len(lines),
            "nodes_truenodeids": if_true,
            "nodes_falsenodeids": if_false,
            "target_treeids": [tree] * len(leaves),
            "target_nodeids": leaves,
            "target_ids": [tree] * len(leaves),
            "target_weights_as_tensor": [lines[i].leaf for i in leaves],
        }


def _attributes(trees: Sequence[TreeComparisons]) -> dict[str, Any]:
    """Return the attributes of the operator that finds the leaf of each tree."""
    parts = [tree.attributes(number) for number, tree in enumerate(trees)]
    joined: dict[str, Any] = {name: [item for part in parts for item in part[name]] for name in parts[0]}
    for name in ("nodes_values_as_tensor", "target_weights_as_tensor"):
        joined[name] = numpy_helper.from_array(np.array(joined[name], dtype=np.float64), name)
    return {"n_targets": len(trees)} | joined


def _check_steps(if_true: list[int], if_false: list[int]) -> None:
    """Raise a ValueError if a path is so long that onnxruntime would crash; branches lead to later lines, or to 0."""
    steps = [0] * len(if_true)
    for line, branches in enumerate(zip(if_true, if_false, strict=True)):
        for to in branches:
            steps[to] = max(steps[to], steps[line] + 1)
    longest = max(steps[1:], default=0)
    if longest > _MAX_STEPS:
        raise ValueError(
            f"the tree has up to {longest:,} comparisons on the path to a leaf, and onnxruntime crashes with many; "
            f"at most {_MAX_STEPS:,} are exported: fit with a lower max_depth or a higher min_samples_leaf"
        )


class Graph:
    """Builder of the graph of an ONNX model; everything added gets a unique name."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def _name(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def input(self, name: str, kind: int, width: int, note: str) -> str:
        """Add an input of a number of columns; return its name."""
        name = self._name(name)
        self._inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width], note))
        return name

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a table that nodes read; return its name."""
        name = self._name(name)
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = self._name(name)
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def output(self, name: str, kind: int, shape: list[Any]) -> None:
        """Make a value an output of the model."""
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def build(self) -> GraphProto:
        """Return the graph."""
        return helper.make_graph(self._nodes, "tritree", self._inputs, self._outputs, self._constants)
