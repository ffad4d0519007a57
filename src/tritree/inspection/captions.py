"""Splits, nodes and trees in words and numbers, as all views write them."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tritree.inspection.formatting import (
    ThresholdFormat,
    as_label,
    as_name,
    as_percent,
    count,
    number_format,
    width_of,
)
from tritree.inspection.node_selection import grown
from tritree.validation import check_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tritree.inspection.node_selection import Selection

# widths in terminal columns
_WIDEST_SET = 40  # of a list of categories
_WIDEST_SURROGATE_SET = 16  # of a list in a line of surrogates
_WIDEST_SURROGATES = 100  # of that line
_MAX_EVIDENCE = 3  # columns of evidence that are named
_WIDEST_HEADING = 12  # of a class that heads a column of probabilities
_MAX_CLASSES = 6  # classes up to which all probabilities are shown


@dataclass(frozen=True)
class Terms:
    """The terms that differ between a single tree, a tree of a forest and a boosted tree."""

    #: The value of a node, if it is one number.
    value: str
    #: The value that the tree predicts for a row.
    prediction: str
    #: The third branch.
    third: str
    #: The method that grows ungrown branches, and what it does.
    grow: str
    grows: str


_TREE = Terms(
    value="mean",
    prediction="Prediction",
    third="all rows of the node, for those whose value is missing",
    grow="tree.grow_all()",
    grows="grows them all",
)
_OF_FOREST = replace(_TREE, prediction="Prediction of this tree")
_BOOSTED = Terms(
    value="value",
    prediction="Contribution to the sum",
    third="estimates what the left and right branches would predict, for rows whose value is missing",
    grow="model.grow_for(rows)",
    grows="grows those that rows need",
)


def terms_of(tree: dict[str, Any]) -> Terms:
    """Return the terms for the description of a tree."""
    if "ensemble" not in tree:
        return _TREE
    return _BOOSTED if "sum" in tree["ensemble"] else _OF_FOREST


@dataclass(frozen=True)
class Hints:
    """Remedies that views suggest, in terms of the interface: by default in Python."""

    #: How to grow the ungrown branches of a single tree, and of a tree that grows with its model.
    grow_tree: str = "grow_all() grows them all"
    grow_model: str = "grow_for(rows) grows those that rows need"
    #: How to draw nodes left out because of ``max_nodes`` and ``max_depth``, and all digits of thresholds.
    max_nodes: str = "max_nodes=None draws everything"
    max_depth: str = "a larger max_depth draws more"
    digits: str = "digits=17 shows them in full"
    #: Why branches of a detached tree are not grown.
    detached: str = "not grown before detach()"


_hints: ContextVar[Hints] = ContextVar("hints", default=Hints())  # noqa: B039 - it is frozen


@contextmanager
def use_hints(hints: Hints) -> Iterator[None]:
    """Let views that are drawn in the block give these hints."""
    token = _hints.set(hints)
    try:
        yield
    finally:
        _hints.reset(token)


class TreeText:
    """The splits and nodes of a tree in words and numbers.

    Numbers of the nodes that are shown have a common format, so that they can be compared. Values have ``digits``
    significant digits; for thresholds see `ThresholdFormat`, which trees shown together may share.
    """

    def __init__(
        self,
        tree: dict[str, Any],
        shown: Iterable[int] = (0,),
        digits: int = 4,
        thresholds: ThresholdFormat | None = None,
    ) -> None:
        check_int("digits", digits, 1)
        self._tree, self._nodes, self._labels = tree, tree["nodes"], tree["classes"]
        self.terms = terms_of(tree)
        self.is_boosted = self.terms is _BOOSTED
        self._thresholds = thresholds or ThresholdFormat(_thresholds_of(self._nodes), int(digits))
        nodes = [self._nodes[number] for number in shown]
        #: Whether the weight of some node differs from its number of rows.
        self.has_weights = not all(map(_has_unit_weights, nodes))
        #: The classes, if all probabilities are shown; None in regression, and with many classes.
        self.classes: list[str] | None = None
        if self._labels is not None and len(self._labels) <= _MAX_CLASSES:
            self.classes = [as_label(label, _WIDEST_HEADING) for label in self._labels]
        self._label_texts = [as_label(label) for label in self._labels or ()]
        self._mean_text = number_format([node["value"][0] for node in nodes], digits)
        weights = [node.get("weight", float(node["rows"])) for node in nodes]
        whole = all(weight.is_integer() and weight < 1e15 for weight in weights)
        self._weight_text = "{:,.0f}".format if whole else number_format(weights, digits)

    # ---- splits

    def branches(self, node: dict[str, Any]) -> list[tuple[str, str]]:
        """Return the branches of an inner node, each with its rule."""
        split = node["split"]
        left, right = (f"{name_of(split)} {side}" for side in self.sides(split))
        if split["missing_to"] == "both" and split["rule"] != "missing" and "evidence" not in split:
            left += f", and {as_percent(split['left_fraction'])} of each missing row"
            right += f", and {as_percent(1 - split['left_fraction'])} of each missing row"
        third = f"{name_of(split)} missing{self.next_split(node)}"
        return [("left", left), ("right", right), ("third", third)]

    def sides(self, split: dict[str, Any]) -> tuple[str, str]:
        """Return the rules of the left and right branch, without the name of the column."""
        left, right = self.conditions(split)
        if split["rule"] == "missing":
            return left, right
        missing_to = split["missing_branch"]
        return left + " or missing" * (missing_to == "left"), right + " or missing" * (missing_to == "right")

    def missing_rule(self, split: dict[str, Any]) -> str:
        """Return what the branches do not say about a missing value: that surrogates decide, or that the row stays."""
        if split["surrogates"]:
            return self._surrogates(split)
        if "evidence" in split:
            names = [name_of(evidence) for evidence in (split["evidence"] or ())[:_MAX_EVIDENCE]]
            return f"{name_of(split)} missing: both ways" + (f", by {', '.join(names)}" if names else "")
        return f"{name_of(split)} missing: stays" if split["missing_branch"] == "none" else ""

    def _surrogates(self, split: dict[str, Any]) -> str:
        """Return the surrogates that decide when the value is missing, in their order, as far as there is space."""
        otherwise = "stays" if split["larger_side"] == "none" else split["larger_side"]
        begin, end = f"{name_of(split)} missing: by ", f", else {otherwise}"
        space = _WIDEST_SURROGATES - width_of(begin + end)
        n_all = len(split["surrogates"])
        texts = [self._surrogate(surrogate, _WIDEST_SURROGATE_SET) for surrogate in split["surrogates"]]
        for n in range(n_all, 0, -1):
            text = ", ".join(texts[:n]) + _more(n_all - n)
            if width_of(text) <= space:
                return begin + text + end
        # one surrogate with few categories is more useful than a long line
        return begin + self._surrogate(split["surrogates"][0], 1) + _more(n_all - 1) + end

    def _surrogate(self, surrogate: dict[str, Any], width: int) -> str:
        """Return a surrogate with the condition for left, of categories also for right: some are in neither set."""
        if surrogate["rule"] == "categories":
            left, right = (_listed(surrogate[side], width) for side in ("left", "right"))
            return f"{name_of(surrogate)} (left {left}; right {right})"
        return f"{name_of(surrogate)} (left {self.conditions(surrogate)[surrogate['below'] != 'left']})"

    def conditions(self, split: dict[str, Any]) -> tuple[str, str]:
        """Return the conditions on the column for left and right, without missing values."""
        if split["rule"] == "missing":
            return ("missing", "observed") if split["missing_to"] == "left" else ("observed", "missing")
        if split["rule"] == "threshold":
            threshold = split.get("threshold_text") or self._thresholds.text(
                split["column"], split["threshold"]
            )
            return f"< {threshold}", f"≥ {threshold}"
        if split["rule"] == "order":
            last, first = (as_label(split[s][i], _WIDEST_SET) for s, i in (("left", -1), ("right", 0)))
            return f"≤ {last}", f"≥ {first}"
        return _one_of(split["left"]), _one_of(split["right"])

    def next_split(self, node: dict[str, Any]) -> str:
        """Return what the third branch of a node does, to be appended to a rule; nothing if it is not grown."""
        if not isinstance(node["third"], int):
            return ""
        split = self._nodes[node["third"]]["split"]
        return ", no further split" if split is None else f", then {name_of(split)}"

    # ---- nodes

    def weight(self, node: dict[str, Any]) -> str:
        """Return the total weight of the training rows of a node."""
        return self._weight_text(node["weight"])

    def mean(self, node: dict[str, Any]) -> str:
        """Return the value of a node, in regression."""
        return self._mean_text(node["value"][0])

    def best(self, node: dict[str, Any]) -> str:
        """Return the most probable class of a node."""
        return self._label_texts[best_class(node)]

    def probabilities(self, node: dict[str, Any]) -> list[str]:
        """Return the probabilities of all classes, or only the largest if there are many classes."""
        value = node["value"]
        return [f"{p:.1%}" for p in (value if self.classes else [value[best_class(node)]])]

    def ungrown(self, node: dict[str, Any]) -> str:
        """Return the note on an ungrown branch of a node."""
        if not self._tree["detached"]:
            return "not grown yet"
        if self._labels is None:
            return f"not grown: predicts {self.mean(node)}"
        return f"not grown: predicts {self.best(node)}, {node['value'][best_class(node)]:.1%}"

    def hidden_nodes(self, number: int) -> str:
        """Return the note on the nodes below a node whose branches are not shown."""
        size, stack = 0, grown(self._nodes[number])
        while stack:
            size += 1
            stack.extend(grown(self._nodes[stack.pop()]))
        return f"… {count(size, 'node')} below"

    # ---- the tree

    def notes(self) -> list[str]:
        """Return notes on weights, rows that stay, ungrown branches and rounded thresholds.

        All splits must have been formatted.
        """
        lines, hints, tree = [], _hints.get(), self._tree
        is_fractional = tree["missing"] == "fractional"
        if self.has_weights and is_fractional:
            counted = "counts on both sides in rows, and by its fractions in weight"
            lines.append(f"a row whose value is missing {counted}")
        if self.has_weights and not (is_fractional and _has_unit_weights(self._nodes[0])):
            what = "means" if self._labels is None else "class probabilities"
            lines.append(f"{what} are weighted, rows are counted")
        if any(node["split"] is not None and node["split"]["larger_side"] == "none" for node in self._nodes):
            lines.append(
                "a row that stays, because both children have as many rows, gets the value of the node"
            )
        if tree["n_ungrown"] and tree["detached"]:
            lines.append(f"a branch {hints.detached} predicts the value of its node")
        elif tree["n_ungrown"]:
            grow = hints.grow_model if self.is_boosted else hints.grow_tree
            lines.append(f"a branch not grown yet is grown when a row needs it; {grow}")
        if self._thresholds.rounded:
            lines.append(f"thresholds with many digits are rounded; {hints.digits}")
        return lines

    def omitted_nodes(self, selection: Selection) -> list[str]:
        """Return a line on the nodes that are not shown and how to see them, if there are any."""
        n_omitted = len(self._nodes) - len(selection.drawn)
        if not n_omitted:
            return []
        verb = "is" if n_omitted == 1 else "are"
        remedy = ", ".join(getattr(_hints.get(), limit) for limit in sorted(selection.limits))
        return [f"… {count(n_omitted, 'node')} {verb} left out: {remedy}"]


def _thresholds_of(nodes: Iterable[dict[str, Any]]) -> dict[int, set[float]]:
    """Return the thresholds of splits by column; those of dates have texts of their own."""
    by_column: dict[int, set[float]] = {}
    for node in nodes:
        if node["split"] is not None:
            for split in (node["split"], *node["split"]["surrogates"]):
                if split["rule"] == "threshold" and "threshold_text" not in split:
                    by_column.setdefault(split["column"], set()).add(split["threshold"])
    return by_column


def headline(tree: dict[str, Any]) -> str:
    """Return a title: the kind of tree, its size and how far it is grown."""
    target = "regression" if tree["classes"] is None else f"{len(tree['classes'])} classes"
    kind = f"{tree['missing']} tree, {target}"
    if "ensemble" in tree:
        place = tree["ensemble"]
        boosting = place.get("model", f"{tree['missing']} boosting")
        of = (
            f"{boosting}, contributions to {place['sum']}"
            if "sum" in place
            else f"{tree['missing']} forest, {target}"
        )
        kind = f"tree {place['tree']} of {place['n_trees']:,}, {of}"
    parts = [count(len(tree["nodes"]), "node"), count(tree["n_leaves"], "leaf", "leaves")]
    if tree["n_grown"]:
        parts.append(f"{tree['n_grown']:,} grown on demand")
    if tree["n_ungrown"]:
        branches = count(tree["n_ungrown"], "branch", "branches")
        parts.append(f"{branches} {_hints.get().detached if tree['detached'] else 'not grown yet'}")
    return f"{kind}: {', '.join(parts)}"


def other_side(side: str) -> str:
    """Return the opposite of "left" and "right"."""
    return "right" if side == "left" else "left"


def name_of(split: dict[str, Any]) -> str:
    """Return the name of the column of a split."""
    return as_name(split["name"])


def _one_of(categories: list[Any]) -> str:
    if len(categories) == 1:
        return f"is {as_label(categories[0], _WIDEST_SET)}"
    return f"in {{{_listed(categories, _WIDEST_SET)}}}"


def _listed(categories: list[Any], width: int) -> str:
    """Return as many categories as fit, and how many more there are."""
    shown: list[str] = []
    for category in categories:
        text = as_label(category)
        if shown and width_of(", ".join([*shown, text])) > width:
            break
        shown.append(text)
    return ", ".join(shown) + _more(len(categories) - len(shown))


def _more(n: int) -> str:
    return f", … {n:,} more" if n else ""


def _has_unit_weights(node: dict[str, Any]) -> bool:
    """Return whether the weight of a node equals its number of rows, as far as is known."""
    return bool(abs(node.get("weight", node["rows"]) - node["rows"]) <= 1e-9 * node["rows"])


def best_class(node: Mapping[str, Any]) -> int:
    """Return the number of the most probable class, the first one of ties."""
    value = node["value"]
    return max(range(len(value)), key=value.__getitem__)
