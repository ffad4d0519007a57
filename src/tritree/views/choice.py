"""Which nodes of a tree a view has room for: those nearest to the root."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

__all__ = ["BRANCHES", "Choice", "choose", "grown"]

BRANCHES = ("left", "right", "third")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is drawn of a tree: nodes, those of them whose branches are drawn, and what the others are left out for."""

    drawn: list[int]
    open: set[int]
    limits: set[str]


def choose(nodes: list[dict[str, Any]], max_depth: int | None, max_nodes: int | None) -> Choice:
    """Return the nodes nearest to the root, a third branch one step from its node; all branches of a node or none."""
    choice = Choice([0], set(), set())
    queue = deque([0])
    while queue:
        number = queue.popleft()
        children = grown(nodes[number])
        if max_depth is not None and any(nodes[child]["depth"] > max_depth for child in children):
            choice.limits.add("max_depth")
            continue
        if max_nodes is not None and len(choice.drawn) + len(children) > max_nodes:
            choice.limits.add("max_nodes")
            break
        choice.open.add(number)
        choice.drawn.extend(children)
        queue.extend(children)
    # those still waiting are drawn, and what has nothing to hide needs no note that it does
    choice.open.update(number for number in queue if not grown(nodes[number]))
    return choice


def grown(node: dict[str, Any]) -> list[int]:
    """Return the numbers of a node's branches, those that are grown."""
    return [node[branch] for branch in BRANCHES if isinstance(node[branch], int)]
