"""A tree and its nodes in words and numbers, as every view writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import as_label, count, number_format
from tritree.inspection.node_selection import grown
from tritree.inspection.rules import WIDEST_LABEL
from tritree.inspection.words import current_hints, is_boosted

if TYPE_CHECKING:
    from tritree.inspection.node_selection import Choice
    from tritree.inspection.rules import Rules

__all__ = ["Values", "best_of", "headline", "hidden", "left_out", "remarks", "weighs_its_rows"]

_MOST_CLASSES = 6  # classes whose shares are all shown
_WIDEST_HEADING = 12  # columns of the terminal that a class may take where it heads its shares


class Values:
    """What the nodes of a tree hold, as text: all alike, so that they can be compared."""

    def __init__(self, tree: dict[str, Any], drawn: list[int], digits: int) -> None:
        nodes = [tree["nodes"][number] for number in drawn]
        self._detached = tree["detached"]
        self._labels = tree["classes"]
        #: Whether some node weighs anything else than its rows.
        self.has_weights = any(not weighs_its_rows(node) for node in nodes)
        #: The classes whose shares are all shown; None in regression, and where there are too many.
        self.classes: list[str] | None = None
        if self._labels is not None and len(self._labels) <= _MOST_CLASSES:
            self.classes = [as_label(label, _WIDEST_HEADING) for label in self._labels]
        self._mean_text = number_format([node["value"][0] for node in nodes], digits)
        weights = [node.get("weight", float(node["rows"])) for node in nodes]
        whole = all(weight.is_integer() and weight < 1e15 for weight in weights)
        self._weight_text = "{:,.0f}".format if whole else number_format(weights, digits)

    def rows(self, node: dict[str, Any]) -> str:
        """Return how many training rows a node has."""
        return f"{node['rows']:,}"

    def weight(self, node: dict[str, Any]) -> str:
        """Return what they weigh."""
        return self._weight_text(node["weight"])

    def mean(self, node: dict[str, Any]) -> str:
        """Return the mean response of a node, in regression."""
        return self._mean_text(node["value"][0])

    def best(self, node: dict[str, Any]) -> str:
        """Return the most probable class of a node."""
        return as_label(self._labels[best_of(node)], WIDEST_LABEL)

    def shares(self, node: dict[str, Any]) -> list[str]:
        """Return the shares of all classes, or that of the most probable one alone if these are too many."""
        value = node["value"]
        return [f"{share:.1%}" for share in (value if self.classes else [value[best_of(node)]])]

    def ungrown(self, node: dict[str, Any]) -> str:
        """Return what there is to say about a branch of a node that is not grown."""
        if not self._detached:
            return "not grown yet"
        if self._labels is None:
            return f"not grown: answers {self.mean(node)}"
        return f"not grown: answers {self.best(node)}, {node['value'][best_of(node)]:.1%}"


def weighs_its_rows(node: dict[str, Any]) -> bool:
    """Return whether every row of a node has counted as one, as far as is known."""
    return bool(abs(node.get("weight", node["rows"]) - node["rows"]) <= 1e-9 * node["rows"])


def best_of(node: dict[str, Any]) -> int:
    """Return the number of the most probable class, the first of equals."""
    value = node["value"]
    return max(range(len(value)), key=value.__getitem__)


def headline(tree: dict[str, Any]) -> str:
    """Return what kind of tree it is and how far it is grown."""
    says = "mean response" if tree["classes"] is None else f"{len(tree['classes'])} classes"
    kind = f"{tree['missing']} tree, {says}"
    if "member" in tree:
        member = tree["member"]
        of = f"boosting, steps in {member['sum']}" if is_boosted(tree) else f"forest, {says}"
        kind = f"tree {member['number']} of {member['of']:,}, {tree['missing']} {of}"
    parts = [count(len(tree["nodes"]), "node"), count(tree["n_leaves"], "leaf", "leaves")]
    if tree["n_grown"]:
        parts.append(f"{tree['n_grown']:,} grown on demand")
    if tree["n_ungrown"]:
        branches = count(tree["n_ungrown"], "branch", "branches")
        parts.append(f"{branches} {current_hints().detached if tree['detached'] else 'not grown yet'}")
    return f"{kind}: {', '.join(parts)}"


def remarks(tree: dict[str, Any], values: Values, rules: Rules) -> list[str]:
    """Return what a reader must know of the numbers and of branches that are not there; the rules must be written."""
    lines = _remarks_on_weights(tree, values)
    hints = current_hints()
    if tree["n_ungrown"]:
        lines.append(
            f"a branch that was {hints.detached} answers with the value of its node"
            if tree["detached"]
            else "a branch that is not grown yet grows when a row to predict needs it; "
            f"{hints.grow_model if is_boosted(tree) else hints.grow_tree}"
        )
    if rules.thresholds.rounded:
        lines.append(f"thresholds with many digits are rounded; {hints.digits}")
    return lines


def _remarks_on_weights(tree: dict[str, Any], values: Values) -> list[str]:
    if not values.has_weights:
        return []
    lines, is_fractional = [], tree["missing"] == "fractional"
    if is_fractional:
        lines.append("a row whose value is missing counts on both sides in rows, and by its parts in weight")
    if not (is_fractional and weighs_its_rows(tree["nodes"][0])):
        lines.append(
            f"{'means' if tree['classes'] is None else 'class shares'} are weighted, rows are counted"
        )
    return lines


def hidden(nodes: list[dict[str, Any]], number: int) -> str:
    """Return how many nodes there are below one whose branches are not drawn."""
    size, stack = 0, grown(nodes[number])
    while stack:
        size += 1
        stack.extend(grown(nodes[stack.pop()]))
    return f"… {count(size, 'node')} below"


def left_out(tree: dict[str, Any], choice: Choice) -> list[str]:
    """Return a line that tells what is not drawn and how to see it, if there is such."""
    n_left_out = len(tree["nodes"]) - len(choice.drawn)
    if not n_left_out:
        return []
    verb = "is" if n_left_out == 1 else "are"
    remedy = ", ".join(getattr(current_hints(), limit) for limit in sorted(choice.limits))
    return [f"… {count(n_left_out, 'node')} {verb} left out: {remedy}"]
