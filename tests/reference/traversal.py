"""Traversal of one row, node by node, by the rules of the description: the reference of traversal and of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from reference.evidence import left_fraction

__all__ = ["Taken", "ends", "path", "steps"]


class Taken(NamedTuple):
    """A branch that a row takes at a node."""

    branch: str
    #: Fraction of the part of the row that is at the node.
    fraction: float
    #: Position of the column that decides.
    decided_by: int
    lacks_value: bool


def side_of(split: dict[str, Any], cell: Any) -> str | None:
    """Return the side of a split on which a cell lies; None if it has no usable value."""
    if cell.is_missing:
        return None
    if split["rule"] == "missing":
        return "right" if split["missing_to"] == "left" else "left"
    if split["rule"] == "categories":
        return next((side for side in ("left", "right") if cell.value in split[side]), None)
    return "left" if cell.number < split["threshold"] else "right"


def steps(split: dict[str, Any], cells: Sequence[Any], part: float = 1.0) -> list[Taken]:
    """Return the branches that a part of a row takes at a split."""
    column = split["column"]
    side = side_of(split, cells[column])
    if side is not None:
        return [Taken(side, 1.0, column, False)]
    if split["missing_to"] == "third":
        return [Taken("third", 1.0, column, True)]
    if split["missing_to"] == "both" and "evidence" in split:
        return by_evidence(split, cells, part)
    if split["missing_to"] == "both":
        fractions = (("left", split["left_fraction"]), ("right", 1 - split["left_fraction"]))
        return [Taken(side, fraction, column, True) for side, fraction in fractions]
    if split["missing_to"] == "surrogates":
        for surrogate in split["surrogates"]:
            side = side_of(surrogate, cells[surrogate["column"]])
            if side is not None:
                is_reversed = surrogate["rule"] != "categories" and surrogate["below"] == "right"
                taken = {"left": "right", "right": "left"}[side] if is_reversed else side
                return [Taken(taken, 1.0, surrogate["column"], True)]
        return [Taken(split["larger_side"], 1.0, column, True)]
    return [Taken(split["missing_to" if cells[column].is_missing else "larger_side"], 1.0, column, True)]


def by_evidence(split: dict[str, Any], cells: Sequence[Any], part: float) -> list[Taken]:
    """Return the branches that a part of a row takes where evidence decides: none if it is not known."""
    column = split["column"]
    if split["evidence"] is None:
        return [Taken("both", 1.0, column, True)]

    def value_of(j: int) -> Any:
        if cells[j].is_missing:
            return None
        groups = next(entry["groups"] for entry in split["evidence"] if entry["column"] == j)
        return cells[j].value if "category" in groups[0] else cells[j].number

    left = left_fraction(split, split["evidence"], value_of, part)
    fractions = (("left", left), ("right", 1 - left))
    return [Taken(side, fraction, column, True) for side, fraction in fractions if fraction > 0]


def path(nodes: Sequence[dict[str, Any]], cells: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the steps of a row as (node, child or None, branch, fraction of the row, lacks_value, decided_by)."""
    found, stack = [], [(0, 1.0)]
    while stack:
        number, part = stack.pop()
        if nodes[number]["split"] is None:
            continue
        for taken in steps(nodes[number]["split"], cells, part):
            child = nodes[number].get(taken.branch)  # there is no branch "none": the row stays
            to = child if isinstance(child, int) else None
            fraction = part * taken.fraction
            found.append((number, to, taken.branch, fraction, taken.lacks_value, taken.decided_by))
            if to is not None:
                stack.append((to, fraction))
    return found


def ends(nodes: Sequence[dict[str, Any]], cells: Sequence[Any]) -> dict[int, float]:
    """Return the nodes in which a row ends, from left to right, with the fraction of the row."""
    found: dict[int, float] = {}
    stack = [(0, 1.0)]
    while stack:
        number, part = stack.pop()
        node = nodes[number]
        if node["split"] is None:
            found[number] = part
            continue
        for taken in reversed(steps(node["split"], cells, part)):
            child = node.get(taken.branch)
            if isinstance(child, int):
                stack.append((child, part * taken.fraction))
            else:
                found[number] = part
    return found
