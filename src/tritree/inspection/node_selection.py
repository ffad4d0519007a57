"""Which nodes of a tree a view has room for: those nearest to the root."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BRANCHES", "Choice", "choose", "choose_by_holes", "grown"]

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


def choose_by_holes(
    nodes: list[dict[str, Any]], max_nodes: int | None, wanted: Iterable[int] = ()
) -> list[int]:
    """Return the nodes that rows with the fewest missing values come to, a child after its parent.

    Nodes with no third branch above them come first, nearest to the root, then those with one, and so on; but the
    ``wanted`` nodes and all above them come before any other. So the nodes answer rows with up to so many holes.
    """
    above = {child: number for number, node in enumerate(nodes) for child in grown(node)}
    first: set[int] = set()
    for number in wanted:
        while number not in first:
            first.add(number)
            number = above.get(number, 0)
    chosen: list[int] = []
    heap = [(0, 0, 0, 0)]  # not wanted, third branches above, steps from the root, number
    while heap and (max_nodes is None or len(chosen) < max_nodes):
        _, thirds, steps, number = heappop(heap)
        chosen.append(number)
        for child in grown(nodes[number]):
            further = thirds + (child == nodes[number]["third"])
            heappush(heap, (child not in first, further, steps + 1, child))
    return chosen
