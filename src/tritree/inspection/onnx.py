"""A tree as a standard ONNX model, which other programs run without Python.

The tree ensemble of ONNX has nodes that ask "is x < t?", and NaN is not. A split becomes a search among its bounds:
each yes leads on to what lies below a bound, and the last no, which is all that is left for a missing value, to where
the split sends what is missing. The ensemble finds the number of the leaf, and a table behind it the leaf's values: so
they keep their double precision, which the ensemble's own output does not have.

Several answers lead to one node, which onnxruntime allows for the sake of LightGBM's categories: any number of yeses,
and one no if that is the first to be followed. It follows noes first, so that the order of the questions here is the
right one. Every node must be reached, and paths must not be long, because it follows them by recursion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

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
    "TreeLines",
    "add_classes",
    "add_inputs",
    "add_leaves",
    "add_numbers",
    "as_model",
    "draw_onnx",
    "refuse_both_ways",
]

#: The versions of the operators used; ai.onnx.ml 3 is the first whose thresholds are doubles.
_OPSETS = {"": 15, "ai.onnx.ml": 3}
_IR_VERSION = 8
#: A text that is none of the categories of training
_NEVER_SEEN = -2.0
#: Leaves are numbered by the ensemble in single precision.
_MOST_LEAVES = 2**24
#: onnxruntime loads a path of questions by recursion; in a stack of 8 MB, 12,000 of them made it crash.
_MOST_STEPS = 1_000
#: A search of more bounds is halved.
_MOST_IN_A_ROW = 8


def draw_onnx(description: dict[str, Any]) -> ModelProto:
    """Return a grown tree, as ``describe`` tells it, as an ONNX model."""
    refuse_both_ways(description["missing"], "to_dict()")
    columns = [Column(position, **about) for position, about in enumerate(description["columns"])]
    lines = TreeLines(description["nodes"], columns)
    graph = Graph()
    leaf = add_leaves(graph, add_inputs(graph, columns), [lines])
    leaf = graph.add("Reshape", [leaf, graph.constant("all rows", np.array([-1], dtype=np.int64))], "leaf")
    values = np.array(lines.values)
    if description["classes"] is None:
        table = graph.constant("values", values[:, 0])
        add_numbers(graph, graph.add("Gather", [table, leaf], "value of the leaf"))
    else:
        shares = graph.add("Gather", [graph.constant("values", values), leaf], "probabilities")
        add_classes(graph, description["classes"], shares)
    return as_model(graph)


def add_numbers(graph: Graph, numbers: str) -> None:
    """Add the output of a regression: one number for each row."""
    shape = graph.constant("rows alone", np.array([-1], dtype=np.int64))
    graph.output(graph.add("Reshape", [numbers, shape], "prediction"), TensorProto.DOUBLE, ["rows"])


def refuse_both_ways(missing: str, instead: str) -> None:
    """Raise a ValueError if the strategy of a tree cannot be expressed."""
    if missing == "fractional":
        raise ValueError(
            "a tree with missing='fractional' follows both branches of a split where a value is missing, which a tree "
            f"ensemble of ONNX cannot do; use another strategy, or {instead} and a program of your own"
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


def add_leaves(graph: Graph, matrix: str, trees: Sequence[TreeLines]) -> str:
    """Add what finds the leaves of rows; return the name of their numbers, one column per tree."""
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
        """Whether the model is given text, which it looks up among the labels."""
        return bool(self.labels) and isinstance(self.labels[0], str)

    @cached_property
    def missing(self) -> str:
        """The text that stands for a missing one, which ONNX does not have: an empty one, if that is no label."""
        text = ""
        while text in self.labels:
            text += "_"
        return text

    def add_input(self, graph: Graph, names: set[str]) -> str:
        """Add the column to the inputs of the model; return its name, that of no other column."""
        name = self.name or f"x{self.position}"  # what has an empty name is not there, to ONNX
        while not self.name and name in names:
            name += "_"
        if self.is_text:
            return graph.input(name, TensorProto.STRING, 1, f"{self.missing!r} is missing")
        return graph.input(name, TensorProto.DOUBLE, 1, "NaN is missing")

    def add_number(self, graph: Graph, name: str) -> str:
        """Add what turns text into its position among the labels; return the name of the numbers."""
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
        """Return which side of a split lies below which value, in ascending order."""
        if split["rule"] == "missing":
            observed = "right" if split["missing_to"] == "left" else "left"
            if self.is_text or not self.order:
                return [(math.inf, observed)]
            sides = dict.fromkeys(self.order, observed)  # another number is missing, as another text is
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
class _Line:
    """A question of the ensemble, or a leaf of it."""

    column: int = 0
    bound: float = 0.0
    yes: Hashable = None
    no: Hashable = None  # None is the next line
    leaf: int | None = None


class TreeLines:
    """The lines of a tree in ONNX's tree ensemble, and the values of its leaves."""

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
        if len(self.values) > _MOST_LEAVES:
            raise ValueError(
                f"the tree has {len(self.values):,} leaves; an ONNX model holds at most {_MOST_LEAVES:,}"
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
        larger = to[split["larger"]]
        # whom to ask where a value is missing, and where nobody knows
        asked = [*((number, k) for k in range(len(split["surrogates"]))), larger]
        to["surrogates"] = asked[0]
        to["missing"] = to[split["missing_to"]]
        to["unseen"] = larger if split["missing_to"] in ("left", "right") else to["missing"]
        self._add_search(number, split, to)
        for (here, onward), surrogate in zip(pairwise(asked), split["surrogates"], strict=True):
            sides = {"left": to["left"], "right": to["right"], "unseen": onward, "missing": onward}
            if surrogate["rule"] != "categories" and surrogate["below"] == "right":
                sides |= {"left": to["right"], "right": to["left"]}
            self._add_search(here, surrogate, sides)
        for branch in ungrown:  # the tree is detached: the node itself answers
            self._add_leaf((number, branch), node["value"])

    def _add_search(self, key: Hashable, split: dict[str, Any], to: dict[str, Any]) -> None:
        """Add the questions that send a value, or a missing one, where the split does."""
        self._heads[key] = len(self._lines)
        column = split["column"]
        bounds = [(bound, to[side]) for bound, side in self._columns[column].bounds(split)]
        # a bound between two parts that go the same way is none; NaN lies behind the last
        parts = pairwise([*bounds, (math.nan, to["missing"])])
        self._search(column, [here for here, behind in parts if here[1] != behind[1]], to["missing"])

    def _search(self, column: int, bounds: Sequence[tuple[float, Hashable]], otherwise: Hashable) -> None:
        if len(bounds) <= _MOST_IN_A_ROW:
            self._lines += [_Line(column, bound, to) for bound, to in bounds]
            self._lines[-1].no = otherwise
            return
        middle = len(bounds) // 2
        lower, nowhere = object(), object()
        self._lines.append(_Line(column, bounds[middle - 1][0], lower))
        self._search(column, bounds[middle:], otherwise)
        self._heads[lower] = len(self._lines)
        self._search(column, bounds[:middle], nowhere)
        # the last no of these is never said, but must lead to a line of its own
        self._heads[nowhere] = len(self._lines)
        self._lines.append(_Line(leaf=0))

    def attributes(self, tree: int) -> dict[str, Any]:
        """Return the part of a tree, by its number, in the attributes of the operator."""
        lines, heads = self._lines, self._heads
        leaves = [i for i, line in enumerate(lines) if line.leaf is not None]
        yes = [heads[line.yes] if line.leaf is None else 0 for line in lines]
        no = [
            0 if line.leaf is not None else i + 1 if line.no is None else heads[line.no]
            for i, line in enumerate(lines)
        ]
        _check_steps(yes, no)
        return {
            "nodes_treeids": [tree] * len(lines),
            "nodes_nodeids": list(range(len(lines))),
            "nodes_modes": ["BRANCH_LT" if line.leaf is None else "LEAF" for line in lines],
            "nodes_featureids": [line.column for line in lines],
            "nodes_values_as_tensor": [line.bound for line in lines],
            "nodes_missing_value_tracks_true": [0] * len(lines),
            "nodes_truenodeids": yes,
            "nodes_falsenodeids": no,
            "target_treeids": [tree] * len(leaves),
            "target_nodeids": leaves,
            "target_ids": [tree] * len(leaves),
            "target_weights_as_tensor": [lines[i].leaf for i in leaves],
        }


def _attributes(trees: Sequence[TreeLines]) -> dict[str, Any]:
    """Return the attributes of the operator that finds the leaf of each tree."""
    parts = [tree.attributes(number) for number, tree in enumerate(trees)]
    joined: dict[str, Any] = {name: [item for part in parts for item in part[name]] for name in parts[0]}
    for name in ("nodes_values_as_tensor", "target_weights_as_tensor"):
        joined[name] = numpy_helper.from_array(np.array(joined[name], dtype=np.float64), name)
    return {"n_targets": len(trees)} | joined


def _check_steps(yes: list[int], no: list[int]) -> None:
    """Raise a ValueError if a path is so long that onnxruntime would crash; answers lead to later lines, or to 0."""
    steps = [0] * len(yes)
    for line, ways in enumerate(zip(yes, no, strict=True)):
        for to in ways:
            steps[to] = max(steps[to], steps[line] + 1)
    longest = max(steps[1:], default=0)
    if longest > _MOST_STEPS:
        raise ValueError(
            f"the tree asks up to {longest:,} questions on the way to a leaf; onnxruntime crashes where they are many, "
            f"so that a model may have {_MOST_STEPS:,}: fit with a lower max_depth or a higher min_samples_leaf"
        )


class Graph:
    """The graph of an ONNX model while it is put together; whatever is added gets a name of its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def _name(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
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
        """Make what was added an output of the model."""
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def build(self) -> GraphProto:
        """Return the graph."""
        return helper.make_graph(self._nodes, "tritree", self._inputs, self._outputs, self._constants)
