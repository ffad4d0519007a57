"""A sum or a mean over trees as a standard ONNX model.

One tree ensemble of ONNX finds for each row the leaf of every tree, as in the model of a single tree, and a table
behind it the leaves' values. They are added up tree after tree, as the core does it, by an operator that has to do so:
a running sum, of which the last is taken. So the sum is the same to the last bit.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.inspection.onnx import (
    Column,
    Graph,
    TreeLines,
    add_classes,
    add_inputs,
    add_leaves,
    add_numbers,
    as_model,
    refuse_both_ways,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from onnx import ModelProto

__all__ = ["draw_onnx_mean", "draw_onnx_sum"]


def draw_onnx_sum(
    trees: Iterable[dict[str, Any]], baseline: list[float], *, classes: list[Any] | None, link: str
) -> ModelProto:
    """Return the sum over trees, each as ``describe`` tells it, as an ONNX model.

    There is one tree per entry of ``baseline`` in each round; a node's values are what it adds to the sum, and to the
    variance of the sum. ``link`` says what a sum means: "identity", "log" (its exponential is predicted), or, with
    ``classes``, "logit" or "softmax".
    """
    graph = Graph()
    leaf, values = _add_trees(graph, trees)
    raw, doubt = _add_sums(graph, leaf, values, baseline)
    if link == "log":
        half = graph.add("Mul", [doubt, graph.constant("half", np.array(0.5))], "half the doubt")
        raw = graph.add("Exp", [graph.add("Add", [raw, half], "settled sum")], "prediction of one column")
    if link in ("identity", "log"):
        add_numbers(graph, raw)
        return as_model(graph)
    assert classes is not None
    raw = _add_settled(graph, raw, doubt, is_centred=link == "softmax")
    if link == "logit":
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
        add_numbers(graph, graph.add("Div", [total, divisor], "mean over trees"))
    else:
        add_classes(graph, classes, graph.add("Div", [total, divisor], "probabilities"))
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


def _add_sums(
    graph: Graph, leaf: str, values: list[NDArray[np.float64]], baseline: list[float]
) -> tuple[str, str]:
    """Add what adds the values of leaves up, one tree per output in each round; return the names of sums and doubt."""
    for output, begin in enumerate(baseline):
        values[output] = values[output] + [begin, 0]  # where the sum begins: the first addition is done here
    rounds = len(values) // len(baseline)
    shape = graph.constant("rounds and outputs", np.array([-1, rounds, 2 * len(baseline)], dtype=np.int64))
    by_round = graph.add("Reshape", [_add_values(graph, leaf, values), shape], "steps by round")
    both = _add_last_sum(graph, by_round, rounds)
    shape = graph.constant("outputs and both", np.array([-1, len(baseline), 2], dtype=np.int64))
    both = graph.add("Reshape", [both, shape], "sum and variance")
    raw, variance = (
        graph.add(
            "Gather", [both, graph.constant(f"{name} of both", np.array(place, dtype=np.int64))], name, axis=2
        )
        for place, name in enumerate(("sum", "variance"))
    )
    zero = graph.constant("zero", np.array(0.0))
    return raw, graph.add("Max", [variance, zero], "doubt")


def _add_settled(graph: Graph, raw: str, doubt: str, *, is_centred: bool) -> str:
    """Add what draws sums to 0 as far as they are in doubt; return their name."""
    if is_centred:
        mean = graph.add("ReduceMean", [raw], "mean sum", axes=[1])
        raw = graph.add("Sub", [raw, mean], "centred sum")
    scaled = graph.add("Mul", [doubt, graph.constant("pi / 8", np.array(np.pi / 8))], "scaled doubt")
    more = graph.add("Add", [scaled, graph.constant("1", np.array(1.0))], "doubt and 1")
    return graph.add("Div", [raw, graph.add("Sqrt", [more], "divisor")], "settled sum")


def _add_last_sum(graph: Graph, steps: str, n_steps: int) -> str:
    """Add what adds steps up, one after the other; return the name of the sums, one column per output."""
    sums = graph.add("CumSum", [steps, graph.constant("rounds", np.array(1, dtype=np.int64))], "sums")
    last = graph.constant("last round", np.array(n_steps - 1, dtype=np.int64))
    return graph.add("Gather", [sums, last], "sum over trees", axis=1)
