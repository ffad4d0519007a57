"""What views call things: the value of a node is a mean, or a step in the sum over boosted trees."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Hints", "Words", "current_hints", "is_boosted", "use_hints", "words_of"]


@dataclass(frozen=True)
class Words:
    """The words that differ between a tree, one of a forest, and a boosted one."""

    #: What the number of a node is, where it is one number.
    value: str
    #: What the tree says of a row.
    answer: str
    #: What a third branch is.
    third: str
    #: What grows branches that are not there, whose method that is, and how much it grows.
    grow: str
    owner: str
    grows: str


_TREE = Words(
    value="mean",
    answer="Prediction",
    third="all rows of the node, for those whose value is missing",
    grow="grow_all()",
    owner="tree",
    grows="grows them all",
)
_OF_FOREST = replace(_TREE, answer="Prediction of this tree")
_BOOSTED = Words(
    value="step",
    answer="Step in the sum",
    third="fitted to what left and right say of rows of the node, for those whose value is missing",
    grow="grow_for(rows)",
    owner="model",
    grows="grows those that rows need",
)


def words_of(tree: dict[str, Any]) -> Words:
    """Return the words for a tree, as ``describe`` tells it."""
    if is_boosted(tree):
        return _BOOSTED
    return _OF_FOREST if "member" in tree else _TREE


def is_boosted(tree: dict[str, Any]) -> bool:
    """Return whether a tree, as ``describe`` tells it, adds steps to a sum."""
    return "sum" in tree.get("member", ())


@dataclass(frozen=True)
class Hints:
    """What views suggest to their reader, in terms of the interface: by default in Python."""

    #: How to grow the branches that are not grown yet, of one tree and of a tree that grows with its model.
    grow_tree: str = "grow_all() grows them all"
    grow_model: str = "grow_for(rows) grows those that rows need"
    #: How to draw nodes that are left out because of ``max_nodes`` and ``max_depth``, and all digits of thresholds.
    max_nodes: str = "max_nodes=None draws everything"
    max_depth: str = "a larger max_depth draws more"
    digits: str = "digits=17 shows them in full"
    #: What keeps ungrown branches of a detached tree from growing.
    detached: str = "not grown before detach()"


_hints: ContextVar[Hints] = ContextVar("hints", default=Hints())  # noqa: B039 - it is frozen


def current_hints() -> Hints:
    """Return the hints that views give."""
    return _hints.get()


@contextmanager
def use_hints(hints: Hints) -> Iterator[None]:
    """Let views that are drawn in the block give these hints."""
    token = _hints.set(hints)
    try:
        yield
    finally:
        _hints.reset(token)
