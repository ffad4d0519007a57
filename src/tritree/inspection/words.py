"""What views call things: the value of a node is a mean, or a step in the sum over boosted trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Words", "is_boosted", "words_of"]


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
