"""A sum over boosted trees as a standard ONNX model.

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

    from onnx import ModelProto

__all__ = ["draw_onnx_sum"]


def draw_onnx_sum(
    trees: Iterable[dict[str, Any]], baseline: list[float], *, classes: list[Any] | None, link: str
) -> ModelProto:
    """Return the sum over trees, each as ``describe`` tells it, as an ONNX model.

    There is one tree per entry of ``baseline`` in each round. ``link`` says what a sum means: "identity", "log" (its
    exponential is predicted), or, with ``classes``, "logit" or "softmax".
    """
    n_outputs, lines, columns = len(baseline), [], None
    for tree in trees:
        refuse_both_ways(tree["missing"], "to_dict() of its members")
        columns = columns or [Column(position, **about) for position, about in enumerate(tree["columns"])]
        lines.append(TreeLines(tree["nodes"], columns))
    assert columns is not None
    graph = Graph()
    leaf = add_leaves(graph, add_inputs(graph, columns), lines)
    raw = _add_sums(graph, leaf, lines, baseline)
    if link in ("identity", "log"):
        number = graph.add("Exp", [raw], "prediction of one column") if link == "log" else raw
        shape = graph.constant("all rows", np.array([-1], dtype=np.int64))
        graph.output(graph.add("Reshape", [number, shape], "prediction"), TensorProto.DOUBLE, ["rows"])
        return as_model(graph)
    assert classes is not None
    if n_outputs == 1:
        second = graph.add("Sigmoid", [raw], "share of the second class")
        first = graph.add("Sub", [graph.constant("one", np.ones(1)), second], "share of the first class")
        shares = graph.add("Concat", [first, second], "probabilities", axis=1)
    else:
        shares = graph.add("Softmax", [raw], "probabilities", axis=1)
    add_classes(graph, classes, shares)
    return as_model(graph)


def _add_sums(graph: Graph, leaf: str, trees: list[TreeLines], baseline: list[float]) -> str:
    """Add what adds the values of leaves up; return the name of the sums, one column per output."""
    n_outputs = len(baseline)
    values = [np.array(tree.values)[:, 0] for tree in trees]
    for output, begin in enumerate(baseline):
        values[output] = begin + values[output]  # where the sum begins: the first addition is done here
    firsts = np.array([0, *accumulate(map(len, values))][:-1], dtype=np.int64)
    place = graph.add("Add", [leaf, graph.constant("first leaves", firsts)], "place of the leaf")
    steps = graph.add("Gather", [graph.constant("values", np.concatenate(values)), place], "steps")
    rounds = len(trees) // n_outputs
    shape = graph.constant("rounds and outputs", np.array([-1, rounds, n_outputs], dtype=np.int64))
    by_round = graph.add("Reshape", [steps, shape], "steps by round")
    sums = graph.add("CumSum", [by_round, graph.constant("rounds", np.array(1, dtype=np.int64))], "sums")
    last = graph.constant("last round", np.array(rounds - 1, dtype=np.int64))
    return graph.add("Gather", [sums, last], "sum over trees", axis=1)
