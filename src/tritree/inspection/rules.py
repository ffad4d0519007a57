"""Splits in words, as every view writes them."""

from __future__ import annotations

from typing import Any

from tritree.inspection.formatting import ThresholdFormat, as_label, as_name, as_percent, width_of

__all__ = ["WIDEST_LABEL", "Rules", "name_of"]

WIDEST_LABEL = 20  # columns of the terminal that one of several categories may take
_WIDEST_NAME = 30  # the same for a column's name,
_WIDEST_SET = 40  # for a list of categories,
_WIDEST_STAND_IN_SET = 16  # for a list within a line of surrogates,
_WIDEST_SURROGATES = 100  # and for that line


class Rules:
    """The splits of a tree in words."""

    def __init__(self, nodes: list[dict[str, Any]], digits: int) -> None:
        self._nodes = nodes
        by_column: dict[int, set[float]] = {}
        for node in nodes:
            if node["split"] is not None:
                for split in (node["split"], *node["split"]["surrogates"]):
                    if split["rule"] == "threshold":
                        by_column.setdefault(split["column"], set()).add(split["threshold"])
        self.thresholds = ThresholdFormat(by_column, digits)

    def branches(self, node: dict[str, Any]) -> list[tuple[str, str]]:
        """Return the branches of a node that has a split, with the rule that leads into each."""
        split = node["split"]
        left, right = (f"{name_of(split)} {side}" for side in self.sides(split))
        if split["missing_to"] == "both" and split["rule"] != "missing":
            left += f", and {as_percent(split['share'])} of each missing row"
            right += f", and {as_percent(1 - split['share'])} of each missing row"
        return [("left", left), ("right", right), ("third", self._third(node))]

    def sides(self, split: dict[str, Any]) -> tuple[str, str]:
        """Return what leads left and what leads right, without the name of the column."""
        left, right = self.conditions(split)
        missing_to = split["missing_to"]
        if missing_to == "surrogates" and not split["surrogates"]:
            missing_to = split["larger"]
        if split["rule"] == "missing":
            return left, right
        return left + " or missing" * (missing_to == "left"), right + " or missing" * (missing_to == "right")

    def surrogates(self, split: dict[str, Any]) -> str:
        """Return which other columns decide when the value is missing, in their order, as far as there is room."""
        begin, end = f"{name_of(split)} missing: by ", f", else {split['larger']}"
        room = _WIDEST_SURROGATES - width_of(begin + end)
        n_all = len(split["surrogates"])
        wide = [self._stand_in(surrogate, _WIDEST_STAND_IN_SET) for surrogate in split["surrogates"]]
        for n in range(n_all, 0, -1):
            text = ", ".join(wide[:n]) + _more(n_all - n)
            if width_of(text) <= room:
                return begin + text + end
        # one category tells more than a long line
        return begin + self._stand_in(split["surrogates"][0], 1) + _more(n_all - 1) + end

    def _stand_in(self, surrogate: dict[str, Any], width: int) -> str:
        """Return a surrogate with the side that its rows go to; both sides if a row may belong to neither."""
        below = surrogate["below"]
        above = "right" if below == "left" else "left"
        if surrogate["rule"] == "categories":
            where = {below: _listed(surrogate["left"], width), above: _listed(surrogate["right"], width)}
            return f"{name_of(surrogate)} (left {where['left']}; right {where['right']})"
        conditions = self.conditions(surrogate)
        return f"{name_of(surrogate)} (left {conditions[below != 'left']})"

    def conditions(self, split: dict[str, Any]) -> tuple[str, str]:
        """Return what holds for the column on the left and on the right."""
        if split["rule"] == "missing":
            return ("missing", "observed") if split["missing_to"] == "left" else ("observed", "missing")
        if split["rule"] == "threshold":
            threshold = self.thresholds.text(split["column"], split["threshold"])
            return f"< {threshold}", f"≥ {threshold}"
        if split["rule"] == "order":
            last, first = (as_label(split[s][i], _WIDEST_SET) for s, i in (("left", -1), ("right", 0)))
            return f"≤ {last}", f"≥ {first}"
        return _member(split["left"]), _member(split["right"])

    def _third(self, node: dict[str, Any]) -> str:
        name = name_of(node["split"])
        if not isinstance(node["third"], int):
            return f"{name} missing"
        split = self._nodes[node["third"]]["split"]
        if split is None:
            return f"{name} missing, no other column helps"
        return f"{name} missing, {name_of(split)} takes over"


def name_of(split: dict[str, Any]) -> str:
    """Return the name of the column that is split."""
    return as_name(split["name"], _WIDEST_NAME)


def _member(categories: list[Any]) -> str:
    if len(categories) == 1:
        return f"is {as_label(categories[0], _WIDEST_SET)}"
    return f"in {{{_listed(categories, _WIDEST_SET)}}}"


def _listed(categories: list[Any], width: int) -> str:
    """Return as many categories as fit, and how many more there are."""
    shown: list[str] = []
    for category in categories:
        text = as_label(category, WIDEST_LABEL)
        if shown and width_of(", ".join([*shown, text])) > width:
            break
        shown.append(text)
    return ", ".join(shown) + _more(len(categories) - len(shown))


def _more(n: int) -> str:
    return f", … {n:,} more" if n else ""
