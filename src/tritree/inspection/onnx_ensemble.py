"""Export of a sum or mean over trees as an ONNX model.

One tree ensemble of ONNX finds the leaf of every tree, as for a single tree, and a table behind it the values of the
leaves. They are added up tree by tree, as in the core, by an operator that guarantees the order: the last entry of a
cumulative sum. So the sum is the same to the last bit.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.onnx import (
    Column,
    Graph,
    TreeComparisons,
    add_classes,
    add_inputs,
    add_leaves,
    add_numbers,
    as_model,
    refuse_fractional,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from onnx import ModelProto

__all__ = ["draw_onnx_mean", "draw_onnx_sum"]


def draw_onnx_sum(
    trees: Iterable[dict[str, Any]], baseline: list[float], *, classes: list[Any] | None, link: str
) -> ModelProto:
    """Return the sum over trees as an ONNX model, given their descriptions.

    There is one tree per entry of ``baseline`` in each iteration; the values of a node are its contributions to the sum
    and to the variance of the sum. ``link`` is "identity", "log" (the exponential of the sum is predicted), or, with
    ``classes``, "logit" or "softmax".
    """
    graph = Graph()
    leaf, values = _add_trees(graph, trees)
    raw, variance = _add_sums(graph, leaf, values, baseline)
    if link == "log":
        half = graph.add("Mul", [variance, graph.constant("half", np.array(0.5))], "half the variance")
        raw = graph.add("Exp", [graph.add("Add", [raw, half], "adjusted sum")], "prediction of one column")
    if link in ("identity", "log"):
        add_numbers(graph, raw)
        return as_model(graph)
    assert classes is not None
    raw = _add_adjusted(graph, raw, variance, is_centred=link == "softmax")
    if link == "logit":
        second = graph.add("Sigmoid", [raw], "probability of the second class")
        first = graph.add(
            "Sub", [graph.constant("one", np.ones(1)), second], "probability of the first class"
        )
        probabilities = graph.add("Concat", [first, second], "probabilities", axis=1)
    else:
        probabilities = graph.add("Softmax", [raw], "probabilities", axis=1)
    add_classes(graph, classes, probabilities)
    return as_model(graph)


def draw_onnx_mean(trees: Iterable[dict[str, Any]], n_trees: int, *, classes: list[Any] | None) -> ModelProto:
    """Return the mean over trees as an ONNX model, given their descriptions."""
    graph = Graph()
    leaf, values = _add_trees(graph, trees)
    total = _add_last_sum(graph, _add_values(graph, leaf, values), n_trees)
    divisor = graph.constant("trees", np.array(float(n_trees)))
    if classes is None:
        add_numbers(graph, graph.add("Div", [total, divisor], "mean over trees"))
    else:
        add_classes(graph, classes, graph.add("Div", [total, divisor], "probabilities"))
    return as_model(graph)


def _add_trees(graph: Graph, trees: Iterable[dict[str, Any]]) -> tuple[str, list[NDArray[np.float64]]]:
    """Add the operator that finds leaves; return the name of their numbers, one column per tree, and their values."""
    lines, columns = [], None
    for tree in trees:
        refuse_fractional(tree["missing"], "to_dict()")
        columns = columns or [Column(position, **about) for position, about in enumerate(tree["columns"])]
        lines.append(TreeComparisons(tree["nodes"], columns))
    assert columns is not None
    leaf = add_leaves(graph, add_inputs(graph, columns), lines)
    return leaf, [np.array(tree.values) for tree in lines]


def _add_values(graph: Graph, leaf: str, values: list[NDArray[np.float64]]) -> str:
    """Add the lookup of the values of leaves; return their name, of shape (rows, trees, values of a leaf)."""
    firsts = np.array([0, *accumulate(map(len, values))][:-1], dtype=np.int64)
    place = graph.add("Add", [leaf, graph.constant("first leaves", firsts)], "place of the leaf")
    return graph.add("Gather", [graph.constant("values", np.concatenate(values)), place], "contributions")


def _add_sums(
    graph: Graph, leaf: str, values: list[NDArray[np.float64]], baseline: list[float]
) -> tuple[str, str]:
    """Add the sums over trees, one tree per output in each iteration; return the names of sums and variances."""
    for output, begin in enumerate(baseline):
        values[output] = values[output] + [begin, 0]  # where the sum starts: the first addition is done here
    n_iterations = len(values) // len(baseline)
    shape = graph.constant(
        "iterations and outputs", np.array([-1, n_iterations, 2 * len(baseline)], dtype=np.int64)
    )
    by_iteration = graph.add(
        "Reshape", [_add_values(graph, leaf, values), shape], "contributions by iteration"
    )
    both = _add_last_sum(graph, by_iteration, n_iterations)
    shape = graph.constant("outputs and both", np.array([-1, len(baseline), 2], dtype=np.int64))
    both = graph.add("Reshape", [both, shape], "sum and variance")
    raw, variance = (
        graph.add(
            "Gather", [both, graph.constant(f"{name} of both", np.array(place, dtype=np.int64))], name, axis=2
        )
        for place, name in enumerate(("sum", "signed variance"))
    )
    zero = graph.constant("zero", np.array(0.0))
    return raw, graph.add("Max", [variance, zero], "variance")


def _add_adjusted(graph: Graph, raw: str, variance: str, *, is_centred: bool) -> str:
    """Add the shrinkage of sums towards 0 by their variance; return their name."""
    if is_centred:
        mean = graph.add("ReduceMean", [raw], "mean sum", axes=[1])
        raw = graph.add("Sub", [raw, mean], "centred sum")
    scaled = graph.add("Mul", [variance, graph.constant("pi / 8", np.array(np.pi / 8))], "scaled variance")
    more = graph.add("Add", [scaled, graph.constant("1", np.array(1.0))], "scaled variance plus 1")
    return graph.add("Div", [raw, graph.add("Sqrt", [more], "divisor")], "adjusted sum")


def _add_last_sum(graph: Graph, terms: str, n_terms: int) -> str:
    """Add a sum over the second axis, term by term; return its name, one column per output."""
    sums = graph.add("CumSum", [terms, graph.constant("tree axis", np.array(1, dtype=np.int64))], "sums")
    last = graph.constant("last tree", np.array(n_terms - 1, dtype=np.int64))
    return graph.add("Gather", [sums, last], "sum over trees", axis=1)
