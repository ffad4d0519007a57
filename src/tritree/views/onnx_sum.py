"""A sum or a mean over trees as a standard ONNX model.

One tree ensemble of ONNX finds for each row the leaf of every tree, as in the model of a single tree, and a table
behind it the leaves' values. They are added up tree after tree, as the core does it, by an operator that has to do so:
a running sum, of which the last is taken. So the sum is the same to the last bit.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.views.onnx import (
    Column,
    Graph,
    TreeLines,
    add_classes,
    add_inputs,
    add_leaves,
    as_model,
    refuse_both_ways,
)

try:
    from onnx import TensorProto
except ImportError as error:
    raise ImportError(
        f"to_onnx() needs the package onnx, which cannot be imported ({error}); pip install tritree[onnx]"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from onnx import ModelProto

__all__ = ["draw_onnx_mean", "draw_onnx_sum"]


def draw_onnx_sum(
    trees: Iterable[dict[str, Any]], baseline: list[float], *, classes: list[Any] | None, link: str
) -> ModelProto:
    """Return the sum over trees, each as ``describe`` tells it, as an ONNX model.

    There is one tree per entry of ``baseline`` in each round. ``link`` says what a sum means: "identity", "log" (its
    exponential is predicted), or, with ``classes``, "logit" or "softmax".
    """
    graph = Graph()
    leaf, values = _add_trees(graph, trees)
    raw = _add_sums(graph, leaf, values, baseline)
    if link in ("identity", "log"):
        return _of_numbers(
            graph, graph.add("Exp", [raw], "prediction of one column") if link == "log" else raw
        )
    assert classes is not None
    if len(baseline) == 1:
        second = graph.add("Sigmoid", [raw], "share of the second class")
        first = graph.add("Sub", [graph.constant("one", np.ones(1)), second], "share of the first class")
        shares = graph.add("Concat", [first, second], "probabilities", axis=1)
    else:
        shares = graph.add("Softmax", [raw], "probabilities", axis=1)
    add_classes(graph, classes, shares)
    return as_model(graph)


def draw_onnx_mean(trees: Iterable[dict[str, Any]], n_trees: int, *, classes: list[Any] | None) -> ModelProto:
    """Return the mean over trees, each as ``describe`` tells it, as an ONNX model."""
    graph = Graph()
    leaf, values = _add_trees(graph, trees)
    total = _add_last_sum(graph, _add_values(graph, leaf, values), n_trees)
    divisor = graph.constant("trees", np.array(float(n_trees)))
    if classes is None:
        return _of_numbers(graph, graph.add("Div", [total, divisor], "mean over trees"))
    add_classes(graph, classes, graph.add("Div", [total, divisor], "probabilities"))
    return as_model(graph)


def _of_numbers(graph: Graph, numbers: str) -> ModelProto:
    """Return the model whose prediction is one column of numbers."""
    shape = graph.constant("all rows", np.array([-1], dtype=np.int64))
    graph.output(graph.add("Reshape", [numbers, shape], "prediction"), TensorProto.DOUBLE, ["rows"])
    return as_model(graph)


def _add_trees(graph: Graph, trees: Iterable[dict[str, Any]]) -> tuple[str, list[NDArray[np.float64]]]:
    """Add what finds the leaves of rows; return the name of their numbers, one column per tree, and their values."""
    lines, columns = [], None
    for tree in trees:
        refuse_both_ways(tree["missing"], "to_dict() of its members")
        columns = columns or [Column(position, **about) for position, about in enumerate(tree["columns"])]
        lines.append(TreeLines(tree["nodes"], columns))
    assert columns is not None
    leaf = add_leaves(graph, add_inputs(graph, columns), lines)
    return leaf, [np.array(tree.values) for tree in lines]


def _add_values(graph: Graph, leaf: str, values: list[NDArray[np.float64]]) -> str:
    """Add what looks the values of leaves up; return their name, of shape (rows, trees, values of a leaf)."""
    firsts = np.array([0, *accumulate(map(len, values))][:-1], dtype=np.int64)
    place = graph.add("Add", [leaf, graph.constant("first leaves", firsts)], "place of the leaf")
    return graph.add("Gather", [graph.constant("values", np.concatenate(values)), place], "steps")


def _add_sums(graph: Graph, leaf: str, values: list[NDArray[np.float64]], baseline: list[float]) -> str:
    """Add what adds the values of leaves up, one tree per output in each round; return the name of the sums."""
    for output, begin in enumerate(baseline):
        values[output] = begin + values[output]  # where the sum begins: the first addition is done here
    rounds = len(values) // len(baseline)
    shape = graph.constant("rounds and outputs", np.array([-1, rounds, len(baseline)], dtype=np.int64))
    by_round = graph.add("Reshape", [_add_values(graph, leaf, values), shape], "steps by round")
    return _add_last_sum(graph, by_round, rounds)


def _add_last_sum(graph: Graph, steps: str, n_steps: int) -> str:
    """Add what adds steps up, one after the other; return the name of the sums, one column per output."""
    sums = graph.add("CumSum", [steps, graph.constant("rounds", np.array(1, dtype=np.int64))], "sums")
    last = graph.constant("last round", np.array(n_steps - 1, dtype=np.int64))
    return graph.add("Gather", [sums, last], "sum over trees", axis=1)
