"""Selection of the nodes that a view shows: those nearest to the root, or those that most rows need."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Iterable

BRANCHES = ("left", "right", "third")


@dataclass(frozen=True, slots=True)
class Selection:
    """The nodes drawn, those of them whose branches are drawn, and the limits that exclude the others."""

    drawn: list[int]
    open: set[int]
    limits: set[str]


def select_nodes(nodes: list[dict[str, Any]], max_depth: int | None, max_nodes: int | None) -> Selection:
    """Return the nodes nearest to the root, with all branches of a node or none; a third branch is one step away."""
    check_int("max_depth", max_depth, 0, or_none="draws every depth")
    check_int("max_nodes", max_nodes, 1, or_none="draws everything")
    selection = Selection([0], set(), set())
    queue = deque([0])
    while queue:
        number = queue.popleft()
        children = grown(nodes[number])
        if max_depth is not None and any(nodes[child]["depth"] > max_depth for child in children):
            selection.limits.add("max_depth")
            continue
        if max_nodes is not None and len(selection.drawn) + len(children) > max_nodes:
            selection.limits.add("max_nodes")
            break
        selection.open.add(number)
        selection.drawn.extend(children)
        queue.extend(children)
    # nodes still in the queue are drawn; those without children hide nothing
    selection.open.update(number for number in queue if not grown(nodes[number]))
    return selection


def grown(node: dict[str, Any]) -> list[int]:
    """Return the numbers of the grown children of a node."""
    return [node[branch] for branch in BRANCHES if isinstance(node[branch], int)]


def select_by_missing(
    nodes: list[dict[str, Any]], max_nodes: int | None, first: Iterable[int] = ()
) -> list[int]:
    """Return the nodes that rows with the fewest missing values reach, children after their parents.

    Nodes with no third branch above them precede those with one, and so on; within a group, those nearest to the root
    come first. The nodes ``first`` and all above them precede all others.
    """
    parent = {child: number for number, node in enumerate(nodes) for child in grown(node)}
    preferred: set[int] = set()
    for number in first:
        while number not in preferred:
            preferred.add(number)
            number = parent.get(number, 0)
    selected: list[int] = []
    heap = [(False, 0, 0, 0)]  # not preferred, third branches above, steps from the root, number
    while heap and (max_nodes is None or len(selected) < max_nodes):
        _, thirds, steps, number = heappop(heap)
        selected.append(number)
        for child in grown(nodes[number]):
            n_thirds = thirds + (child == nodes[number]["third"])
            heappush(heap, (child not in preferred, n_thirds, steps + 1, child))
    return selected
