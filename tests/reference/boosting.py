"""Reference implementation of boosting: every tree and third branch grown straight from its definition.

Nothing is shared between branches. Predictions agree with the core bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from reference.boosted_tree import (
    THIRD_MIN_GAIN,
    THIRD_MIN_SAMPLES_LEAF,
    CoarseBins,
    Grower,
    GrowthParameters,
    Node,
    Row,
    average_leaves,
    branch_of,
    content_order,
    leaves_of,
    ordered_sum,
    shift_by,
    shrink,
    splitmix64,
    subsample_rows,
)


def exact_mean(values: list[float], weight: list[float] | None) -> float:
    """Return the mean of numbers; sums are rounded once, so that their order does not matter."""
    if weight is None:
        return math.fsum(values) / len(values)
    return math.fsum(w * v for w, v in zip(weight, values, strict=True)) / math.fsum(weight)


class ReferenceBoosting:
    """Boosting by squared error, with third branches grown on demand."""

    def __init__(
        self,
        parameters: GrowthParameters,
        rows: list[Row],
        y: list[float],
        learning_rate: float,
        max_iter: int,
        weight: list[float] | None = None,
    ) -> None:
        if weight is not None:
            mean = exact_mean([w for w in weight if w > 0], None)
            while mean < 0.5**0.5:
                mean, weight = 2 * mean, [2 * w for w in weight]
        self.parameters, self.background, self.weight = parameters, rows, weight
        self.background_order = content_order(rows, weight, parameters)
        # of background rows, with mean 1
        self.relative_weights = None
        if weight is not None:
            mean = ordered_sum([weight[i] for i in self.background_order]) / len(weight)
            self.relative_weights = [w / mean for w in weight]
        self.baseline = self.initial_prediction(y)
        self.trees: list[Node] = []
        self.is_trained = False  # branches grown in training have no variance
        self.current_tree = 0
        raw = [self.baseline] * len(y)
        for number in range(max_iter):
            root = Node(
                splitmix64(parameters.seed, number),
                0,
                list(range(len(parameters.n_bins))),
                -math.inf,
                math.inf,
            )
            gradient, self.hessian = self.derivatives(raw, y)
            samples = subsample_rows(len(rows), parameters, number)
            root = self.fit(root, gradient, samples)
            shrink(root, learning_rate)
            leaves = self.rows_of_leaves(root, samples)
            for leaf, own in leaves:
                if not parameters.monotonic:
                    terms = [(raw[i], y[i], leaf.value, self.weights_of(y)[i]) for i in own]
                    leaf.value *= largest_safe_step(lambda step, terms=terms: self.increase(terms, step))
            self.finish_tree(root)
            self.limit_tree(root, leaves, raw, y)
            self.trees.append(root)
            raw = [r + self.predict_tree(root, row) for r, row in zip(raw, rows, strict=True)]
        self.is_trained = True

    def rows_of_leaves(self, root: Node, samples: list[int]) -> list[tuple[Node, list[int]]]:
        """Return the leaves with the sampled rows that reach them by left and right branches only."""
        found: dict[int, tuple[Node, list[int]]] = {}
        for i in samples:
            node = root
            while node.column is not None and (to := branch_of(node, self.background[i])) != "third":
                node = node.left if to == "left" else node.right
            if node.column is None:
                found.setdefault(id(node), (node, []))[1].append(i)
        return list(found.values())

    def limit_tree(
        self, root: Node, leaves: list[tuple[Node, list[int]]], raw: list[float], y: list[float]
    ) -> None:
        """Halve the values of a tree while rows that are in no leaf raise the loss of the training rows."""
        in_leaves = {i for _, own in leaves for i in own}
        weights = self.weights_of(y)

        def terms(rows: Iterable[int]) -> list[tuple[float, float, float, float]]:
            return [(raw[i], y[i], self.predict_tree(root, self.background[i]), weights[i]) for i in rows]

        others = terms(i for i in range(len(y)) if i not in in_leaves)
        by_leaf = [terms(own) for _, own in leaves]

        def increase(step: float) -> float:
            found = self.increase(others, step)
            return found if found <= 0 else found + sum(self.increase(own, step) for own in by_leaf)

        if others and (step := largest_safe_step(increase)) < 1:
            scale_tree(root, step)

    def increase(self, terms: list[tuple[float, float, float, float]], factor: float) -> float:
        """Return by how much the loss of rows rises, given raw prediction, target, step and weight of each."""
        found = [w * self.increase_of_row(r, t, factor * step) for r, t, step, w in terms]
        total = math.fsum(found)
        return 0.0 if abs(total) <= 1e-12 * math.fsum(map(abs, found)) else total

    def increase_of_row(self, raw: float, y: float, step: float) -> float:
        return step * (step / 2 + raw - y)

    def initial_prediction(self, y: list[float]) -> float:
        """Return the constant that boosting starts from."""
        return exact_mean(y, self.weight)

    def derivatives(self, raw: list[float], y: list[float]) -> tuple[list[float], list[float] | None]:
        """Return the gradients, and the hessians unless all are 1."""
        return [w * (r - t) for w, r, t in zip(self.weights_of(y), raw, y, strict=True)], self.weight

    def weights_of(self, y: list[float]) -> list[float]:
        return [1.0] * len(y) if self.weight is None else self.weight

    def fit(self, root: Node, gradient: list[float], samples: list[int]) -> Node:
        """Return a tree fitted to the gradients of the sampled rows."""
        grower = Grower(
            self.parameters, self.background, gradient, self.hessian, self.parameters.min_samples_leaf
        )
        if not self.trees:
            self.initial_hessian = grower.total_hessian
        ratio = grower.total_hessian / self.initial_hessian if self.initial_hessian else 1.0
        l2 = self.parameters.l2 * math.sqrt(min(ratio, 1.0))
        grower.grow(root, samples, l2, self.parameters.max_depth)
        return root

    def finish_tree(self, root: Node) -> None:
        """Set the values and the background rows of all nodes."""
        average_leaves(root)
        self.assign_background_rows(root, self.background_order, root, 1.0)

    def predict(self, row: Row) -> float:
        total = self.baseline
        for number, tree in enumerate(self.trees):
            self.current_tree = number
            total += self.predict_tree(tree, row)
        return total

    def variance(self, row: Row) -> float:
        """Return the variance of the prediction that is due to missing values."""
        found = []
        for number, tree in enumerate(self.trees):
            self.current_tree = number
            found.append(self.leaf_of(tree, row).variance)
        return ordered_sum(found)

    def predict_tree(self, node: Node, row: Row) -> float:
        return self.leaf_of(node, row).value

    def leaf_of(self, node: Node, row: Row) -> Node:
        while node.column is not None:
            to = branch_of(node, row)
            if to == "third":
                if node.third is None:
                    node.third = self.grow_third(node)
                node = node.third
            else:
                node = node.left if to == "left" else node.right
        return node

    def assign_background_rows(
        self, node: Node, rows: list[int], root: Node, n_rows_per_row: float
    ) -> list[int]:
        """Set the background rows of a node and of those below it, in the order of the leaves."""
        node.root, node.n_rows_per_row = root, n_rows_per_row
        if node.column is not None:
            sides = [branch_of(node, self.background[i]) for i in rows]
            parts = {
                name: [i for i, to in zip(rows, sides, strict=True) if to == name]
                for name in ("left", "right", "third")
            }
            rows = (
                self.assign_background_rows(node.left, parts["left"], root, n_rows_per_row)
                + self.assign_background_rows(node.right, parts["right"], root, n_rows_per_row)
                + parts["third"]
            )
        node.rows = rows
        return rows

    def grow_third(self, node: Node) -> Node:
        """Return the third branch: a tree on the other columns, fitted to the predictions of left and right."""
        parameters = self.parameters
        rows = [i for i in node.rows if branch_of(node, self.background[i]) != "third"]
        n_rows_per_row = node.n_rows_per_row
        if len(node.columns) == len(parameters.n_bins):  # a node of the fitted tree
            start = node.path % len(self.background)
            order = self.background_order
            chosen = [i for i in order[start:] + order[:start] if i in rows][: parameters.third_rows]
            n_rows_per_row = len(rows) / len(chosen) if chosen else 1.0
            rows = [i for i in rows if i in chosen]
        columns = [c for c in node.columns if c != node.column]
        third = Node(splitmix64(node.path, 2), node.depth, columns, node.low, node.high, value=node.value)
        if not rows:
            return third
        targets = []
        for i in rows:
            row = self.background[i]
            targets.append(
                self.predict_tree(node.left if branch_of(node, row) == "left" else node.right, row)
            )
        weight = None if self.relative_weights is None else [self.relative_weights[i] for i in rows]
        each = weight or [1.0] * len(rows)
        weights = ordered_sum(each)
        center = (
            ordered_sum([w * t for w, t in zip(each, targets, strict=True)]) / weights if weights else 0.0
        )
        third.low, third.high = third.low - center, third.high - center
        coarse = CoarseBins(replace(parameters, min_gain=self.third_min_gain(node.root) / n_rows_per_row))
        local = [coarse.row(self.background[i]) for i in rows]
        gradient = [(center - t) * w for w, t in zip(each, targets, strict=True)]
        grower = Grower(
            coarse.parameters,
            local,
            gradient,
            weight,
            min(parameters.min_samples_leaf, THIRD_MIN_SAMPLES_LEAF),
        )
        grower.grow(third, list(range(len(rows))), 0.0, parameters.max_depth + parameters.third_depth_extra)
        coarse.refine(third)
        shift_by(third, center)
        average_leaves(third)
        self.assign_background_rows(third, rows, node.root, n_rows_per_row)
        if self.is_trained:
            self.compute_variance(third, self.trees[self.current_tree], self.trees[: self.current_tree])
        return third

    def third_min_gain(self, root: Node) -> float:
        """Return the smallest gain of a split of a third branch, for all background rows."""
        if self.parameters.split_penalty == 0:
            return 0.0
        leaves = leaves_of(root)
        n_rows = sum(leaf.n_rows for leaf in leaves)
        mean = math.fsum(leaf.n_rows * leaf.value for leaf in leaves) / n_rows
        variance = math.fsum(leaf.n_rows * (leaf.value - mean) ** 2 for leaf in leaves) / n_rows
        return THIRD_MIN_GAIN * variance * len(self.background)

    def compute_variance(self, node: Node, tree: Node, before: list[Node]) -> None:
        """Set the variances of the nodes of a third branch."""
        own = [self.predict_tree(tree, self.background[i]) for i in node.rows]
        previous = [
            ordered_sum([self.predict_tree(t, self.background[i]) for t in before]) for i in node.rows
        ]
        both = [a + 2 * b for a, b in zip(own, previous, strict=True)]
        weight = [1.0 if self.relative_weights is None else self.relative_weights[i] for i in node.rows]
        n, weights = float(len(node.rows)), ordered_sum(weight)
        if n >= 2 and weights > 0:
            mean = ordered_sum([w * a for w, a in zip(weight, own, strict=True)]) / weights
            mean_sum = ordered_sum([w * b for w, b in zip(weight, both, strict=True)]) / weights
            parts = [w * (a - mean) * (b - mean_sum) for w, a, b in zip(weight, own, both, strict=True)]
            node.variance = ordered_sum(parts) / weights * (n / (n - 1))
        if node.column is not None:
            self.compute_variance(node.left, tree, before)
            self.compute_variance(node.right, tree, before)


class ReferenceBinaryBoosting(ReferenceBoosting):
    """Boosting by the log-loss of two classes, 0 and 1; predictions are log-odds."""

    def initial_prediction(self, y: list[float]) -> float:
        probability = exact_mean(y, self.weight)
        return float(np.log(probability) - np.log1p(-probability))

    def derivatives(self, raw: list[float], y: list[float]) -> tuple[list[float], list[float] | None]:
        weights, probabilities = self.weights_of(y), [sigmoid(r) for r in raw]
        return (
            [w * (p - t) for w, p, t in zip(weights, probabilities, y, strict=True)],
            [w * (p * (1 - p)) for w, p in zip(weights, probabilities, strict=True)],
        )

    def increase_of_row(self, raw: float, y: float, step: float) -> float:
        return math.log1p(sigmoid(raw) * math.expm1(step)) - y * step


def largest_safe_step(increase: Callable[[float], float]) -> float:
    """Return the largest of 1, 1/2, 1/4, … at which nothing increases."""
    return next((0.5**k for k in range(64) if increase(0.5**k) <= 0), 0.0)


def scale_tree(node: Node, factor: float) -> None:
    node.value, node.low, node.high = node.value * factor, node.low * factor, node.high * factor
    for child in (node.left, node.right, node.third):
        if child is not None:
            scale_tree(child, factor)


def sigmoid(log_odds: float) -> float:
    """Return the probability of class 1."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    e = math.exp(log_odds)
    return e / (1 + e)
