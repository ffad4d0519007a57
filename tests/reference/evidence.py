"""Evidence of forests, slowly: what the other values of a row say about its side of a split.

The structure of a tree is given, as `to_dict` returns it; everything about evidence is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reference.boosted_tree import splitmix64

Row = Sequence[float | int | None]

SAMPLE = 256
MIN_ROWS, MAX_COLUMNS, MAX_GROUPS, MIN_STATISTIC = 12, 10, 16, 4.0
MIN_PART = 1 / 8


def side_of(split: dict[str, Any], x: float | None) -> str | None:
    """Return the side of a split on which a value lies; None if it has none."""
    if x is None:
        return None
    if split["rule"] == "missing":
        return "right" if split["missing_to"] == "left" else "left"
    if split["rule"] == "categories":
        return next((side for side in ("left", "right") if x in split[side]), None)
    return "left" if x < split["threshold"] else "right"


def midpoint(low: float, high: float) -> float:
    found = low / 2 + high / 2 if abs(low) > 1e300 or abs(high) > 1e300 else (low + high) / 2
    return found if found > low else high


class ReferenceEvidence:
    """A tree whose evidence is found, and by which rows are predicted."""

    def __init__(
        self, tree: dict[str, Any], X: Sequence[Row], rows: Sequence[int], seed: int, weight: Any = None
    ) -> None:
        self.nodes, self.columns, self.X, self.weight = tree["nodes"], tree["columns"], X, weight
        #: The evidence of each node that sends rows both ways, as `to_dict` has it.
        self.evidence: dict[int, list[dict[str, Any]]] = {}
        #: Rows, and rows that lack the value, of each split.
        self.counts: dict[int, tuple[int, int]] = {}
        self._n_fitted = len(tree["nodes"]) - tree["n_grown"]
        self._visit(0, sorted(rows), seed, 0)

    def _ordered(self, number: int, rows: list[int]) -> list[int]:
        """Return the rows of a node as growth leaves them: those of fitted nodes are partitioned down to the leaves."""
        node = self.nodes[number]
        split = node["split"]
        if split is None or number >= self._n_fitted:
            return rows
        branches = [self._branch(split, row) for row in rows]
        parts = [
            [row for row, to in zip(rows, branches, strict=True) if to == branch]
            for branch in ("left", "right")
        ]
        rest = [row for row, to in zip(rows, branches, strict=True) if to not in ("left", "right")]
        return self._ordered(node["left"], parts[0]) + self._ordered(node["right"], parts[1]) + rest

    def _branch(self, split: dict[str, Any], row: int) -> str:
        return side_of(split, self.X[row][split["column"]]) or split["missing_to"]

    def _visit(
        self, number: int, rows: list[int], path: int, rank: int, ordered: list[int] | None = None
    ) -> None:
        node = self.nodes[number]
        split = node["split"]
        if split is None:
            return
        ordered = ordered or self._ordered(number, rows)
        sides = [side_of(split, self.X[row][split["column"]]) for row in rows]
        self.counts[number] = len(rows), sides.count(None)
        if split["missing_to"] == "both":
            self.evidence[number] = self._find(split, ordered, splitmix64(path, 2**64 - 1 - rank))
        for place, branch in enumerate(("left", "right")):
            own = [row for row in rows if self._branch(split, row) == branch]
            self._visit(node[branch], own, splitmix64(path, 1 + 2 * rank + place), 0)
        if split["missing_to"] == "third":
            self._visit(node["third"], rows, path, rank + 1, ordered)

    def _find(self, split: dict[str, Any], rows: list[int], seed: int) -> list[dict[str, Any]]:
        sample = []
        n = min(len(rows), SAMPLE)
        for part in range(n):
            begin, end = part * len(rows) // n, (part + 1) * len(rows) // n
            row = rows[begin + splitmix64(seed, part) % (end - begin)]
            side = side_of(split, self.X[row][split["column"]])
            if side is not None and (self.weight is None or self.weight[row] > 0):
                sample.append((row, side == "left"))
        found = []
        for j, known in enumerate(self.columns):
            values = [(self.X[row][j], left) for row, left in sample if self.X[row][j] is not None]
            total, left = len(values), sum(left for _, left in values)
            if len(sample) < MIN_ROWS or j == split["column"] or left in (0, total) or total < 8:
                continue
            groups = categories(values, known) if known["kind"] == "categorical" else intervals(values)
            share, statistic = left / total, 0.0
            for group in groups:
                expected = group["rows"] * share
                difference = group["left"] - expected
                statistic += difference * difference / (expected * (1 - share))
            statistic -= 2 * (len(groups) - 1.0)
            if len(groups) > 1 and statistic >= MIN_STATISTIC:
                entry = {"column": j, "name": known["name"], "rows": total, "left": left, "groups": groups}
                found.append((-statistic / total, j, entry))
        return [entry for _, _, entry in sorted(found, key=lambda item: item[:2])[:MAX_COLUMNS]]

    def parts(self, row: Row, number: int = 0, fraction: float = 1.0) -> Iterator[tuple[int, float]]:
        """Return the leaves of a row, from left to right, and what fraction of it is there."""
        split = self.nodes[number]["split"]
        if split is None:
            yield number, fraction
            return
        x = row[split["column"]]
        branch = side_of(split, x) or split["missing_branch" if x is None else "unseen_branch"]
        if branch != "both":
            yield from self.parts(row, self.nodes[number][branch], fraction)
            return
        left = left_fraction(split, self.evidence[number], lambda column: row[column], fraction)
        if left > 0:
            yield from self.parts(row, self.nodes[number]["left"], fraction * left)
        if left < 1:
            yield from self.parts(row, self.nodes[number]["right"], fraction * (1 - left))

    def predict(self, row: Row) -> list[float]:
        """Return the value of a row, one number per output."""
        value = [0.0] * len(self.nodes[0]["value"])
        for leaf, fraction in self.parts(row):
            for k, of_leaf in enumerate(self.nodes[leaf]["value"]):
                value[k] += fraction * of_leaf
        return value


def categories(values: Sequence[tuple[Any, bool]], known: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a group for each category that at least two rows have."""
    sides = {label: [left for x, left in values if x == label] for label in known["categories"]}
    return [
        {"category": label, "rows": len(of), "left": sum(of)} for label, of in sides.items() if len(of) > 1
    ]


def intervals(values: Sequence[tuple[Any, bool]]) -> list[dict[str, Any]]:
    """Return intervals of numbers with about as many rows each."""
    numbers = sorted({x for x, _ in values})
    n_groups = min(MAX_GROUPS, len(values) // 4)
    ends = {(group + 1) * len(values) // n_groups for group in range(n_groups)}
    groups: list[dict[str, Any]] = []
    begin, seen = None, 0
    own: list[bool] = []
    for i, number in enumerate(numbers):
        before = seen
        own += [left for x, left in values if x == number]
        seen = sum(x <= number for x, _ in values)
        if any(before < end <= seen for end in ends):
            groups.append({"from": begin, "rows": len(own), "left": sum(own)})
            own = []
            if i + 1 < len(numbers):
                begin = midpoint(number, numbers[i + 1])
    return groups


def left_fraction(
    split: dict[str, Any], evidence: Sequence[dict[str, Any]], value_of: Callable[[int], Any], fraction: float
) -> float:
    """Return the fraction of a row that goes left, given the value of each of its columns, None if missing."""
    odds = split["left_fraction"] / (1 - split["left_fraction"])
    for entry in evidence:
        group = group_of(entry["groups"], value_of(entry["column"]))
        if group is not None:
            share = entry["left"] / entry["rows"]
            ratio = (group["left"] + share) / (group["rows"] - group["left"] + (1 - share))
            odds = min(max(odds * (ratio * ((1 - share) / share)), 2.0**-60), 2.0**60)
    left = odds / (1 + odds)
    return float(left >= 0.5) if fraction * min(left, 1 - left) < MIN_PART else left


def group_of(groups: Sequence[dict[str, Any]], x: float | None) -> dict[str, Any] | None:
    """Return the group in which a value lies; None if it lies in none."""
    if x is None:
        return None
    if "category" in groups[0]:
        return next((group for group in groups if group["category"] == x), None)
    return [group for group in groups if group["from"] is None or group["from"] <= x][-1]
