"""Export of trees as an ONNX model, which other programs run without Python.

One tree ensemble of ONNX finds the leaf of every tree, and a table behind it the values of the leaves. They are added
up tree by tree, as in the core, by an operator that guarantees the order: the last entry of a cumulative sum. So the
sum is the same to the last bit.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.onnx_trees import Column, TreeComparisons

try:
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError as error:
    raise ImportError(
        f"to_onnx() needs the package onnx, which cannot be imported ({error}); pip install tritree[onnx]"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, ValueInfoProto

#: The versions of the operators used; ai.onnx.ml 3 is the first whose thresholds are doubles.
_OPSETS = {"": 15, "ai.onnx.ml": 3}
_IR_VERSION = 8
#: The number of a text that is not a category of training.
_UNSEEN = -2.0
_CLASS_TYPES = {
    str: TensorProto.STRING,
    bool: TensorProto.BOOL,
    int: TensorProto.INT64,
    float: TensorProto.DOUBLE,
}


def tree_to_onnx(tree: dict[str, Any]) -> ModelProto:
    """Return a tree as an ONNX model, given its description."""
    return mean_to_onnx([tree], tree["classes"])


def mean_to_onnx(trees: Iterable[dict[str, Any]], classes: list[Any] | None) -> ModelProto:
    """Return the mean over trees as an ONNX model, given their descriptions."""
    graph = _Graph()
    leaf, values = graph.add_trees(trees)
    total = graph.add_last_sum(graph.add_values(leaf, values), len(values))
    divisor = graph.constant("trees", float(len(values)))
    if classes is None:
        return graph.regression(graph.add("Div", [total, divisor], "mean over trees"))
    return graph.classification(classes, graph.add("Div", [total, divisor], "probabilities"))


def sum_to_onnx(
    trees: Iterable[dict[str, Any]], classes: list[Any] | None, baseline: list[float], link: str
) -> ModelProto:
    """Return the sum over trees as an ONNX model, given their descriptions.

    There is one tree per entry of ``baseline`` in each iteration; the values of a node are its contributions to the sum
    and to the variance of the sum. ``link`` is "identity", "log" (the exponential of the sum is predicted), "expit"
    (the logistic function), or, with ``classes``, "logit", "softmax", "sigmoid_each" or "probability".
    """
    graph = _Graph()
    leaf, values = graph.add_trees(trees)
    has_variance = any(of_tree[:, 1].any() for of_tree in values)
    raw, variance = _add_sums(graph, leaf, values, baseline)
    if link == "log":
        half = graph.add("Mul", [variance, graph.constant("half", 0.5)], "half the variance")
        raw = graph.add("Exp", [graph.add("Add", [raw, half], "adjusted sum")], "prediction of one column")
    if has_variance and link not in ("log", "identity", "probability"):
        # else predictions use the sums as they are, and centring large ones would lose digits
        raw = _add_adjusted(graph, raw, variance, is_centred=link == "softmax")
    if classes is None:
        return graph.regression(graph.add("Sigmoid", [raw], "of one column") if link == "expit" else raw)
    if link == "softmax":
        return graph.classification(classes, graph.add("Softmax", [raw], "probabilities", axis=1))
    if link == "sigmoid_each":
        return graph.classification(classes, graph.add("Sigmoid", [raw], "probabilities"))
    if link == "probability":
        # those of rows that are far from all others may all be zero: then they are equal
        least = graph.constant("smallest number", np.finfo(np.float64).tiny)
        positive = graph.add("Max", [raw, least], "positive estimates")
        total = graph.add("ReduceSum", [positive, graph.constant("class axis", [1])], "total", keepdims=1)
        return graph.classification(classes, graph.add("Div", [positive, total], "probabilities"))
    second = graph.add("Sigmoid", [raw], "probability of the second class")
    first = graph.add("Sub", [graph.constant("one", [1.0]), second], "probability of the first class")
    return graph.classification(classes, graph.add("Concat", [first, second], "probabilities", axis=1))


def _add_sums(
    graph: _Graph, leaf: str, values: list[NDArray[np.float64]], baseline: list[float]
) -> tuple[str, str]:
    """Add the sums over trees, one tree per output in each iteration; return the names of sums and variances."""
    for output, begin in enumerate(baseline):
        values[output] = values[output] + [begin, 0]  # where the sum starts: the first addition is done here
    n_outputs, n_iterations = len(baseline), len(values) // len(baseline)
    shape = graph.constant("iterations and outputs", [-1, n_iterations, 2 * n_outputs])
    terms = graph.add("Reshape", [graph.add_values(leaf, values), shape], "contributions by iteration")
    both = graph.add_last_sum(terms, n_iterations)
    both = graph.add(
        "Reshape", [both, graph.constant("outputs and both", [-1, n_outputs, 2])], "sum and variance"
    )
    raw, variance = (
        graph.add("Gather", [both, graph.constant(f"{name} of both", place)], name, axis=2)
        for place, name in enumerate(("sum", "signed variance"))
    )
    return raw, graph.add("Max", [variance, graph.constant("zero", 0.0)], "variance")


def _add_adjusted(graph: _Graph, raw: str, variance: str, *, is_centred: bool) -> str:
    """Add the shrinkage of sums towards 0 by their variance; return their name."""
    if is_centred:
        raw = graph.add("Sub", [raw, graph.add("ReduceMean", [raw], "mean sum", axes=[1])], "centred sum")
    scaled = graph.add("Mul", [variance, graph.constant("pi / 8", np.pi / 8)], "scaled variance")
    more = graph.add("Add", [scaled, graph.constant("1", 1.0)], "scaled variance plus 1")
    return graph.add("Div", [raw, graph.add("Sqrt", [more], "divisor")], "adjusted sum")


def _read_columns(described: list[dict[str, Any]]) -> list[Column]:
    """Return the columns of a description; raise a ValueError if ONNX cannot store their text."""
    columns = [Column(**column) for column in described]
    if any(column.is_text for column in columns):  # else there is one input, and names are not stored
        _check_text("the column names", [column.name for column in columns])
    for column in columns:
        if column.is_text:
            _check_text(f"the categories of column {column.name!r}", column.labels)
    return columns


def _check_text(subject: str, texts: list[str]) -> None:
    """Raise a ValueError if a text cannot be encoded, as one that was read from a damaged file."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{subject} include {text!r}, which is not valid Unicode (a lone surrogate), so ONNX cannot store it; "
                "rename it and fit again"
            ) from None


class _Graph:
    """Builder of an ONNX model; everything added gets a unique name, which is returned."""

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

    def constant(self, name: str, values: Any) -> str:
        """Add an array that nodes read: float64, int64 or text."""
        name = self._name(name)
        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = self._name(name)
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    # ---- inputs

    def _input(self, name: str, kind: int, width: int, note: str) -> str:
        name = self._name(name)
        self._inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width], note))
        return name

    def _add_inputs(self, columns: list[Column]) -> str:
        """Add the inputs of the model; return the name of the array of numbers that the ensemble reads."""
        if not any(column.is_text for column in columns):
            return self._input("X", TensorProto.DOUBLE, len(columns), "NaN is missing")
        inputs = []  # before anything else is added, so that they keep their names
        for position, column in enumerate(columns):
            name = column.name or f"x{position}"  # ONNX ignores inputs with an empty name
            while not column.name and any(name == other.name for other in columns):
                name += "_"
            kind, missing = (
                (TensorProto.STRING, repr(column.missing)) if column.is_text else (TensorProto.DOUBLE, "NaN")
            )
            unit = "" if column.time is None else f"{column.time['kind']} in microseconds, "
            inputs.append(self._input(name, kind, 1, f"{unit}{missing} is missing"))
        numbers = [self._add_number(column, name) for column, name in zip(columns, inputs, strict=True)]
        return self.add("Concat", numbers, "X", axis=1)

    def _add_number(self, column: Column, name: str) -> str:
        """Add the lookup of text among the labels; return the name of the positions."""
        if not column.is_text:
            return name
        found = self.add(
            "LabelEncoder",
            [name],
            f"number of {name}",
            domain="ai.onnx.ml",
            keys_strings=[*column.labels, column.missing],
            values_floats=[*map(float, range(len(column.labels))), math.nan],
            default_float=_UNSEEN if column.categories else math.nan,
        )
        return self.add("Cast", [found], f"{name} as a number", to=TensorProto.DOUBLE)

    # ---- trees

    def add_trees(self, trees: Iterable[dict[str, Any]]) -> tuple[str, list[NDArray[np.float64]]]:
        """Add inputs and the operator that finds leaves; return the name of their numbers, and their values by tree."""
        parts: list[dict[str, Any]] = []
        values: list[NDArray[np.float64]] = []
        columns: list[Column] = []
        for tree in trees:
            if tree["missing"] == "fractional":
                raise ValueError(
                    "a tree with missing='fractional' follows both branches of a split if a value is missing, which a "
                    "tree ensemble of ONNX cannot do; use another strategy, or to_dict() and your own code"
                )
            columns = columns or _read_columns(tree["columns"])
            comparisons = TreeComparisons(tree["nodes"], columns)
            parts.append(comparisons.attributes(len(parts)))
            values.append(np.array(comparisons.values))
        joined: dict[str, Any] = {name: [item for part in parts for item in part[name]] for name in parts[0]}
        for name in ("nodes_values_as_tensor", "target_weights_as_tensor"):
            joined[name] = numpy_helper.from_array(np.array(joined[name], dtype=np.float64), name)
        joined |= {"domain": "ai.onnx.ml", "n_targets": len(parts)}
        leaf = self.add("TreeEnsembleRegressor", [self._add_inputs(columns)], "leaf number", **joined)
        leaf = self.add("Cast", [leaf], "leaf column", to=TensorProto.INT64)
        return leaf, values

    def add_values(self, leaf: str, values: list[NDArray[np.float64]]) -> str:
        """Add the lookup of the values of leaves; return their name, of shape (rows, trees, values of a leaf)."""
        firsts = [0, *accumulate(map(len, values))][:-1]
        place = self.add("Add", [leaf, self.constant("first leaves", firsts)], "place of the leaf")
        return self.add("Gather", [self.constant("values", np.concatenate(values)), place], "contributions")

    def add_last_sum(self, terms: str, n_terms: int) -> str:
        """Add a sum over the second axis, term by term; return its name, one column per output."""
        sums = self.add("CumSum", [terms, self.constant("tree axis", 1)], "sums")
        return self.add("Gather", [sums, self.constant("last tree", n_terms - 1)], "sum over trees", axis=1)

    # ---- outputs

    def _output(self, name: str, kind: int, shape: list[Any]) -> None:
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def regression(self, numbers: str) -> ModelProto:
        """Return the model that predicts one number for each row."""
        prediction = self.add("Reshape", [numbers, self.constant("rows alone", [-1])], "prediction")
        self._output(prediction, TensorProto.DOUBLE, ["rows"])
        return self._model()

    def classification(self, classes: list[Any], probabilities: str) -> ModelProto:
        """Return the model that predicts classes, given the name of their probabilities."""
        kind = type(classes[0])
        if kind not in _CLASS_TYPES or (kind is int and max(classes) >= 2**63):
            raise ValueError(
                f"classes like {classes[-1]!r} cannot be labels in ONNX; fit to text, booleans or numbers up to 2**63"
            )
        best = self.add("ArgMax", [probabilities], "class number", axis=1, keepdims=0)
        if kind is str:
            _check_text("the classes of y", classes)
        labels = self.constant("classes", np.array(classes, dtype=object if kind is str else None))
        self._output(self.add("Gather", [labels, best], "label"), _CLASS_TYPES[kind], ["rows"])
        self._output(probabilities, TensorProto.DOUBLE, ["rows", len(classes)])
        return self._model()

    def _model(self) -> ModelProto:
        model = helper.make_model(
            helper.make_graph(self._nodes, "tritree", self._inputs, self._outputs, self._constants),
            producer_name="tritree",
            producer_version=version("tritree"),
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid(domain, opset) for domain, opset in _OPSETS.items()],
        )
        checker.check_model(model)
        return model
