"""A tree as a standard ONNX model, which other programs run without Python.

The tree ensemble of ONNX has nodes that ask "is x < t?", and NaN is not. A split of three or more ways becomes a chain
of such questions: each yes leads to a branch, and the last no, which is all that is left for a missing value, to where
the split sends what is missing. The ensemble finds the number of the leaf, and a table behind it the leaf's values: so
they keep their double precision, which the ensemble's own output does not have.

onnxruntime lets several answers lead to one node, but the first it follows to that node must be a no. It follows noes
first, so that the order of the questions here is the right one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

__all__ = ["draw_onnx"]

#: The versions of the operators used; ai.onnx.ml 3 is the first whose thresholds are doubles.
_OPSETS = {"": 15, "ai.onnx.ml": 3}
_IR_VERSION = 8
#: A text that is none of the categories of training
_NEVER_SEEN = -2.0
#: Leaves are numbered by the ensemble in single precision.
_MOST_LEAVES = 2**24

Bounds = list[tuple[float, str]]


def draw_onnx(description: dict[str, Any]) -> ModelProto:
    """Return a grown tree, as ``describe`` tells it, as an ONNX model."""
    if description["missing"] == "fractional":
        raise ValueError(
            "a tree with missing='fractional' follows both branches of a split where a value is missing, which a tree "
            "ensemble of ONNX cannot do; use another strategy, or to_dict() and a program of your own"
        )
    from onnx import checker, helper

    columns = [_Column(position, column) for position, column in enumerate(description["columns"])]
    graph = _Graph(columns)
    ensemble = _Ensemble(description, columns)
    graph.add(
        "TreeEnsembleRegressor", [graph.matrix()], "leaf number", domain="ai.onnx.ml", **ensemble.attributes()
    )
    graph.add("Cast", ["leaf number"], "leaf column", to=_types().INT64)
    graph.add("Reshape", ["leaf column", graph.constant("all rows", np.array([-1]))], "leaf")
    if description["classes"] is None:
        values = graph.constant("values", np.array(ensemble.values)[:, 0])
        graph.add("Gather", [values, "leaf"], "prediction", output=(_types().DOUBLE, ["rows"]))
    else:
        _add_classes(graph, description["classes"], np.array(ensemble.values))
    model = helper.make_model(
        graph.build(),
        producer_name="tritree",
        producer_version=version("tritree"),
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, number) for domain, number in _OPSETS.items()],
    )
    checker.check_model(model)
    return model


def _types() -> Any:
    from onnx import TensorProto

    return TensorProto


def _add_classes(graph: _Graph, classes: list[Any], values: NDArray[np.float64]) -> None:
    labels = np.array(classes, dtype=object if isinstance(classes[0], str) else None)
    kinds = {"O": _types().STRING, "b": _types().BOOL, "i": _types().INT64, "f": _types().DOUBLE}
    if labels.dtype.kind not in kinds or len(set(map(type, classes))) != 1:
        raise ValueError(f"classes like {classes[0]!r} cannot be labels in ONNX; fit to text or numbers")
    shares = graph.constant("values", values)
    graph.add("Gather", [shares, "leaf"], "probabilities", output=(_types().DOUBLE, ["rows", len(classes)]))
    graph.add("ArgMax", [graph.name("probabilities")], "class number", axis=1, keepdims=0)
    graph.add(
        "Gather",
        [graph.constant("classes", labels), "class number"],
        "label",
        output=(kinds[labels.dtype.kind], ["rows"]),
    )


@dataclass(frozen=True)
class _Column:
    """A column as the model reads it."""

    position: int
    about: dict[str, Any]

    @cached_property
    def labels(self) -> list[Any] | None:
        """The known labels of a categorical or ordered column."""
        known: list[Any] | None = (
            self.about["categories"] if self.about["order"] is None else self.about["order"]
        )
        return known

    @property
    def is_text(self) -> bool:
        """Whether the model is given text, which it looks up among the labels."""
        return bool(self.labels) and isinstance(self.labels[0], str)  # type: ignore[index]

    def bounds(self, sides: dict[Any, str], otherwise: str) -> Bounds:
        """Return what lies below which value: the sides of labels, and something else between and beside them."""
        assert self.labels is not None
        found: Bounds = []
        if self.is_text:  # labels are numbered, and nothing lies between them
            found.append((-0.5, otherwise))
            found += [(i + 0.5, sides.get(label, otherwise)) for i, label in enumerate(self.labels)]
        else:
            for label in sorted(self.labels):
                found.append((float(label), otherwise))
                found.append((math.nextafter(float(label), math.inf), sides.get(label, otherwise)))
        return _joined([*found, (math.inf, otherwise)])


def _joined(bounds: Bounds) -> Bounds:
    """Return the bounds without those that have the same on both sides."""
    return [
        bound
        for bound, behind in zip(bounds, [*bounds[1:], (math.inf, "")], strict=True)
        if bound[1] != behind[1]
    ]


class _Ensemble:
    """The arrays of ONNX's tree ensemble."""

    def __init__(self, description: dict[str, Any], columns: list[_Column]) -> None:
        self._columns = columns
        self._nodes = description["nodes"]
        self.values: list[list[float]] = []  # of each leaf
        # per question: column, bound, where yes leads; no leads to the next. A leaf is (number of leaf,).
        self._lines: list[tuple[Any, ...]] = []
        self._no: dict[int, Any] = {}  # where the last no of a chain leads, by its line
        self._head: dict[Any, int] = {}  # the first line of a node, or of a part of its chain
        for node in range(len(self._nodes)):
            self._add_node(node)
        if len(self.values) > _MOST_LEAVES:
            raise ValueError(
                f"the tree has {len(self.values):,} leaves; an ONNX model holds at most {_MOST_LEAVES:,}"
            )

    def _add_node(self, number: int) -> None:
        node = self._nodes[number]
        if node["split"] is None:
            self._add_leaf(number, node["value"])
            return
        for branch in ("left", "right", "third"):
            if node[branch] == "ungrown":  # the tree is detached: the node itself answers
                self._add_leaf((number, branch), node["value"])
        split = node["split"]
        to = {b: (number, b) if node[b] == "ungrown" else node[b] for b in ("left", "right", "third")}
        larger = to[split["larger"]]
        asked = [*((number, k) for k in range(len(split["surrogates"]))), larger]
        to["surrogates"] = asked[0]
        to["missing"] = to[split["missing_to"]]
        to["unseen"] = larger if split["missing_to"] in ("left", "right") else to["missing"]
        self._add_chain(number, split, to)
        for (here, onward), surrogate in zip(pairwise(asked), split["surrogates"], strict=True):
            sides = {"left": to["left"], "right": to["right"], "unseen": onward, "missing": onward}
            if surrogate["rule"] != "categories" and surrogate["below"] == "right":
                sides |= {"left": to["right"], "right": to["left"]}
            self._add_chain(here, surrogate, sides)

    def _add_leaf(self, key: Any, value: list[float]) -> None:
        self._head[key] = len(self._lines)
        self._lines.append((len(self.values),))
        self.values.append(value)

    def _add_chain(self, key: Any, split: dict[str, Any], to: dict[str, Any]) -> None:
        self._head[key] = len(self._lines)
        bounds = self._bounds(split)
        while len(bounds) > 1 and to[bounds[-1][1]] == to["missing"]:
            bounds.pop()  # the last no leads there anyway
        for bound, side in bounds:
            self._lines.append((split["column"], bound, to[side]))
        self._no[len(self._lines) - 1] = to["missing"]

    def _bounds(self, split: dict[str, Any]) -> Bounds:
        """Return which side lies below which value."""
        column = self._columns[split["column"]]
        if split["rule"] == "missing":
            return [(math.inf, "right" if split["missing_to"] == "left" else "left")]
        if split["rule"] == "threshold" or (split["rule"] == "order" and column.is_text):
            return [(float(split["threshold"]), "left"), (math.inf, "right")]
        sides = dict.fromkeys(split["left"], "left") | dict.fromkeys(split["right"], "right")
        return column.bounds(sides, "missing" if split["rule"] == "order" else "unseen")

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the operator."""
        from onnx import helper

        n = len(self._lines)
        leaves = [i for i, line in enumerate(self._lines) if len(line) == 1]
        bounds = np.array([0.0 if len(line) == 1 else line[1] for line in self._lines])

        def doubles(name: str, array: NDArray[np.float64]) -> TensorProto:
            return helper.make_tensor(name, _types().DOUBLE, array.shape, array)

        return {
            "n_targets": 1,
            "nodes_treeids": [0] * n,
            "nodes_nodeids": list(range(n)),
            "nodes_modes": ["LEAF" if len(line) == 1 else "BRANCH_LT" for line in self._lines],
            "nodes_featureids": [0 if len(line) == 1 else line[0] for line in self._lines],
            "nodes_values_as_tensor": doubles("bounds", bounds),
            "nodes_truenodeids": [0 if len(line) == 1 else self._head[line[2]] for line in self._lines],
            "nodes_falsenodeids": [
                0 if len(line) == 1 else self._head[self._no[i]] if i in self._no else i + 1
                for i, line in enumerate(self._lines)
            ],
            "target_treeids": [0] * len(leaves),
            "target_nodeids": leaves,
            "target_ids": [0] * len(leaves),
            "target_weights_as_tensor": doubles("leaf numbers", np.arange(len(leaves), dtype=np.float64)),
        }


class _Graph:
    """The graph of an ONNX model while it is put together. Names of its own do not clash with those of columns."""

    def __init__(self, columns: list[_Column]) -> None:
        self._columns = columns
        self._taken = {column.about["name"] for column in columns}
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def name(self, name: str) -> str:
        """Return a name that no column has."""
        while name in self._taken:
            name += "_"
        return name

    def add(
        self, operator: str, inputs: list[str], output_name: str, *, output: Any = None, **attributes: Any
    ) -> str:
        """Add a node, whose output may be one of the model's (then with its type and shape); return its name."""
        from onnx import helper

        found = self.name(output_name)
        inputs = [name if name in self._taken else self.name(name) for name in inputs]
        self._nodes.append(helper.make_node(operator, inputs, [found], **attributes))
        if output is not None:
            self._outputs.append(helper.make_tensor_value_info(found, *output))
        return found

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a table that nodes read; return its name."""
        from onnx import helper, numpy_helper

        name = self.name(name)
        if array.dtype == object:
            texts = [text.encode() for text in array.tolist()]
            self._constants.append(helper.make_tensor(name, _types().STRING, array.shape, texts))
        else:
            self._constants.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self) -> str:
        """Add the inputs; return the name of the array of numbers that the ensemble reads."""
        from onnx import helper

        if not any(column.is_text for column in self._columns):
            self._inputs.append(
                helper.make_tensor_value_info("X", _types().DOUBLE, ["rows", len(self._columns)])
            )
            return "X"
        return self.add("Concat", list(self._numbers()), "X", axis=1)

    def _numbers(self) -> Iterator[str]:
        """Add an input for each column; return the names of the columns as numbers."""
        from onnx import helper

        for column in self._columns:
            name = column.about["name"]
            kind = _types().STRING if column.is_text else _types().DOUBLE
            self._inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
            if column.is_text:
                assert column.labels is not None
                keys, values = list(column.labels), [float(i) for i in range(len(column.labels))]
                if "" not in column.labels:  # ONNX has no missing text: an empty one stands for it
                    keys.append("")
                    values.append(math.nan)
                unknown = _NEVER_SEEN if column.about["order"] is None else math.nan
                found = self.add(
                    "LabelEncoder",
                    [name],
                    f"number of {name}",
                    domain="ai.onnx.ml",
                    keys_strings=keys,
                    values_floats=values,
                    default_float=unknown,
                )
                yield self.add("Cast", [found], f"{name} as a number", to=_types().DOUBLE)
            else:
                yield name

    def build(self) -> Any:
        """Return the graph."""
        from onnx import helper

        return helper.make_graph(self._nodes, "tritree", self._inputs, self._outputs, self._constants)
