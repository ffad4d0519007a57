"""Explanations of predictions: the path of a row through a tree, or the contributions of columns over many trees."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from tritree.inspection.captions import TreeText, best_class, name_of, other_side
from tritree.inspection.formatting import align, as_label, as_name, as_percent, count, number_format
from tritree.inspection.rows import ABSENT, MISSING, OBSERVED, UNSEEN
from tritree.inspection.traversal import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tritree.inspection.contributions import Contributions
    from tritree.inspection.rows import Cell, Rows
    from tritree.inspection.traversal import PathStep
    from tritree.inspection.tree_arrays import TreeArrays

_MAX_COLUMNS = 20  # columns listed one by one


class _Printed:
    """An explanation as text and in a notebook: a headline, a table with its headings, and a summary."""

    def _report(self) -> tuple[str, list[list[str]], str]:
        raise NotImplementedError

    def __str__(self) -> str:
        headline, table, summary = self._report()
        return "\n".join([headline, "", *align(table), "", summary])

    def _repr_html_(self) -> str:
        headline, table, summary = self._report()
        cell = '<{0} style="text-align:{1};padding:0.1em 0.8em 0.1em 0;white-space:nowrap">{2}</{0}>'
        body = ""
        for tag, line in zip(["th", *["td"] * len(table)], table, strict=False):
            first, *others = map(html.escape, line)
            cells = [cell.format(tag, "left", first), *(cell.format(tag, "right", text) for text in others)]
            body += f"<tr>{''.join(cells)}</tr>"
        return (
            f'<div style="overflow-x:auto"><p><b>{html.escape(headline)}</b></p>'
            f"<table>{body}</table><p>{html.escape(summary)}</p></div>"
        )


def _ranked(contributions: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return contributions by column, the largest first."""
    return sorted(contributions.items(), key=lambda item: -abs(item[1]))


def _signed(value: float, text_of: Callable[[float], str]) -> str:
    """Return a contribution with its sign; nothing if it rounds to zero."""
    size = text_of(abs(value))
    return "" if size == text_of(0.0) else f"{'+' if value > 0 else '-'}{size}"


def _value_text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else as_label(value)


# ------------------------------------------------------------------------------------------------------------ one tree


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the path of a row, from a node to one of its children."""

    #: The node, and the child; None if the branch is not grown, or the row stays in the node.
    node: int
    to: int | None
    #: The column of the node's split, and the row's value: its state and the value itself.
    column: str
    state: str
    value: Any
    #: "left", "right" or "third"; "none" if the row stays.
    branch: str
    #: Why the row takes the branch, in words.
    reason: str
    #: The column that decides: that of a surrogate, where one replaces a missing value.
    decided_by: str
    #: Fraction of the row that takes the step: less than 1 where a row goes both ways.
    fraction: float
    #: Number of training rows of the child.
    rows: int
    #: Values of the node and of the child: the mean, or the class probabilities.
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def contribution(self) -> tuple[float, ...]:
        """Contribution of the step to the prediction."""
        return tuple(
            self.fraction * (after - before) for before, after in zip(self.before, self.after, strict=True)
        )


@dataclass(frozen=True)
class Explanation(_Printed):
    """Explanation of a prediction by one tree; ``print`` shows the path in words.

    Attributes
    ----------
    prediction : object
        The predicted number or class.
    value : tuple of float
        The predicted number, or the class probabilities.
    base_value : tuple of float
        The value of the root, where the path starts.
    root_rows : int
        Number of training rows of the root.
    path : tuple of Step
        The steps from the root to a leaf, or to the node in which the row stays.
    contributions : dict
        The contribution of each column. The base value and all contributions add up to the value.
    classes : tuple or None
        The classes, in the order of the probabilities.
    value_name : str
        What the value is: "mean", "value" for a boosted tree.
    """

    prediction: Any
    value: tuple[float, ...]
    base_value: tuple[float, ...]
    root_rows: int
    path: tuple[Step, ...]
    contributions: dict[str, tuple[float, ...]]
    classes: tuple[Any, ...] | None = None
    value_name: str = "mean"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        path = [asdict(step) | {"contribution": step.contribution} for step in self.path]
        return asdict(self) | {"path": path}

    def _report(self) -> tuple[str, list[list[str]], str]:
        k, name = self._explained()
        if self.classes is None:
            text_of = number_format([self.base_value[0], self.value[0], *(s.after[0] for s in self.path)], 4)
            headline = f"predicts {text_of(self.value[0])}"
        else:
            text_of = "{:.1%}".format
            headline = f"predicts {as_label(self.prediction)}, {text_of(self.value[k])}"
        base_value = text_of(self.base_value[k])
        table = [["", "rows", name, "contribution"], ["all rows", f"{self.root_rows:,}", base_value, ""]]
        for step in self.path:
            part = "" if step.fraction == 1 else f", {as_percent(step.fraction)} of the row"
            contribution = _signed(step.contribution[k], text_of)
            table.append([step.reason + part, f"{step.rows:,}", text_of(step.after[k]), contribution])
        ranked = _ranked({column: values[k] for column, values in self.contributions.items()})
        parts = [f", {column} {text}" for column, c in ranked if (text := _signed(c, text_of))]
        return headline, table, f"base value {base_value}{''.join(parts)}: f(x) = {text_of(self.value[k])}"

    def _explained(self) -> tuple[int, str]:
        """Return the index of the value that is printed, and its name."""
        if self.classes is None:
            return 0, self.value_name
        return self.classes.index(self.prediction), f"probability of {as_label(self.prediction)}"

    def plot(self, ax: Any = None) -> Any:
        """Plot the contributions of the columns, from the base value to the prediction; return the ``Axes``.

        Needs matplotlib (``pip install tritree[plot]``).
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import draw_contributions

        check_axes(ax)
        k, name = self._explained()
        ranked = _ranked({column: values[k] for column, values in self.contributions.items() if values[k]})
        named = [(as_name(column), contribution) for column, contribution in ranked]
        return draw_contributions(named, self.base_value[k], self.value[k], name, ax)


def explain_paths(tree: dict[str, Any], arrays: TreeArrays, rows: Rows) -> list[Explanation]:
    """Return the explanations of predictions by a tree, given its description, grown as far as the rows need."""
    text, of_rows = TreeText(tree), paths(arrays, rows.columns, rows.n_rows)
    return [_explain_path(tree, text, *of_row) for of_row in zip(rows.cells, of_rows, strict=True)]


def _explain_path(
    tree: dict[str, Any], text: TreeText, cells: Sequence[Cell], path: Sequence[PathStep]
) -> Explanation:
    nodes, classes, root = tree["nodes"], tree["classes"], tree["nodes"][0]
    steps, ends = [], [] if path else [(1.0, root["value"])]
    terms: dict[str, list[tuple[float, ...]]] = {}
    for taken in path:
        node = nodes[taken.node]
        child = node if taken.to is None else nodes[taken.to]
        if taken.to is None or child["split"] is None:
            ends.append((taken.fraction, child["value"]))
        cell, reason = cells[node["split"]["column"]], _reason(taken, nodes, text, cells)
        step = Step(
            node=taken.node,
            to=taken.to,
            column=node["split"]["name"],
            state=cell.state,
            value=cell.value,
            branch=taken.branch,
            reason=reason + ", not grown: the node predicts" * (taken.to is None and taken.branch != "none"),
            decided_by=tree["columns"][taken.decided_by]["name"],
            fraction=taken.fraction,
            rows=child["rows"],
            before=tuple(node["value"]),
            after=tuple(child["value"]),
        )
        steps.append(step)
        terms.setdefault(step.decided_by, []).append(step.contribution)
    value = tuple(fsum(fraction * end[k] for fraction, end in ends) for k in range(len(root["value"])))
    return Explanation(
        prediction=value[0] if classes is None else classes[best_class({"value": value})],
        value=value,
        base_value=tuple(root["value"]),
        root_rows=root["rows"],
        path=tuple(steps),
        contributions={c: tuple(map(fsum, zip(*found, strict=True))) for c, found in terms.items()},
        classes=None if classes is None else tuple(classes),
        value_name=text.terms.value,
    )


def _reason(step: PathStep, nodes: Sequence[dict[str, Any]], text: TreeText, cells: Sequence[Cell]) -> str:
    """Return why a row takes a branch, in words."""
    node, side = nodes[step.node], step.branch
    split = node["split"]
    cell = cells[split["column"]]
    if not step.lacks_value:
        return f"{_observed(split, cell)} {_condition(text, split, side)}"
    state = "not seen in this node" if cell.state == OBSERVED else cell.state
    lacking = f"{name_of(split)} is missing" if state == MISSING else f"{_observed(split, cell)}, {state}"
    if side == "third":
        return f"{lacking}: third branch{text.next_split(node)}"
    if split["missing_to"] == "both":
        if side == "both":
            return f"{lacking}: both ways"
        if "evidence" in split:
            return f"{lacking}: {side}, as its other values suggest ({_condition(text, split, side)})"
        fraction = split["left_fraction"] if side == "left" else 1 - split["left_fraction"]
        return f"{lacking}: {side} with {as_percent(fraction)} ({_condition(text, split, side)})"
    if step.decided_by != split["column"]:
        surrogate = next(s for s in split["surrogates"] if s["column"] == step.decided_by)
        condition = _condition(text, surrogate, side if surrogate["below"] == "left" else other_side(side))
        return f"{lacking}: {side} by surrogate {_observed(surrogate, cells[step.decided_by])} {condition}"
    if side == "none":
        return f"{lacking}, and no surrogate is observed: stays, as both children have as many rows"
    if split["missing_to"] == "surrogates":
        return f"{lacking}, and no surrogate is observed: {side}, the larger child"
    return f"{lacking}: {side}, the {'default direction' if cell.is_missing else 'larger child'}"


def _condition(text: TreeText, split: dict[str, Any], side: str) -> str:
    return "is observed" if split["rule"] == "missing" else text.conditions(split)[side != "left"]


def _observed(split: dict[str, Any], cell: Cell) -> str:
    """Return a column with the row's value, where there is one and the split compares it."""
    has_value = cell.state != ABSENT and split["rule"] != "missing"
    return f"{name_of(split)} = {_value_text(cell.value)}" if has_value else name_of(split)


# ---------------------------------------------------------------------------------------------------------- many trees


@dataclass(frozen=True)
class EnsembleExplanation(_Printed):
    """Explanation of a prediction by many trees; ``print`` shows the contribution of each column.

    ``base_value + sum(contributions.values()) + rounding == value`` holds bit for bit: all but the last are multiples
    of one power of two, so that none of their sums is rounded, whatever their order.

    Attributes
    ----------
    prediction : object
        The predicted number or class.
    explained_class : object
        The class that is explained; None in regression.
    value : float
        Of boosting the sum over trees: what ``decision_function`` returns for the class (its negative for the first of
        two classes), or in regression the prediction, or its logarithm if the loss is "poisson" or "gamma". Of a
        forest the mean over trees: the predicted number, or the probability of the class.
    predicted_value : float
        The predicted number, or the probability of the explained class.
    base_value : float
        Sum or mean of the values of the roots: the same for every row.
    contributions : dict
        The contribution of each column: the changes of the value at its splits. At a split whose value is missing, the
        change is a contribution of the missing column, or of the surrogate that decides. Columns that no split on the
        paths uses are left out.
    rounding : float
        Rounding error of the sum over trees, about 1e-16 of the numbers involved.
    states : dict
        The state of the row's value by column: "observed", "missing", "column absent" or "not seen in training".
    values : dict
        The row's value by column; None if it is not observed.
    n_trees_used : dict
        The number of trees in which a column is used, by column.
    n_trees : int
        Number of trees.
    aggregation : str
        How the trees are combined: "sum" or "mean".
    value_name : str
        What the value is, in words.
    std : float
        Standard deviation of the value given the observed columns, where the prediction depends on it: in boosting with
        classes, counts or positive targets. The larger it is, the nearer is a probability to those of all rows. 0 if
        nothing is missing, or if it makes no difference.
    """

    prediction: Any
    explained_class: Any
    value: float
    predicted_value: float
    base_value: float
    contributions: dict[str, float]
    rounding: float
    states: dict[str, str]
    values: dict[str, Any]
    n_trees_used: dict[str, int]
    n_trees: int
    aggregation: str
    value_name: str
    std: float = 0.0

    @property
    def missing_contributions(self) -> dict[str, float]:
        """Contributions of the columns that are missing in the row."""
        return {name: c for name, c in self.contributions.items() if self.states[name] in (MISSING, ABSENT)}

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return asdict(self)

    def plot(self, ax: Any = None) -> Any:
        """Plot the contributions of the columns, from the base value to the value; return the ``Axes``.

        Needs matplotlib (``pip install tritree[plot]``).
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import draw_contributions

        check_axes(ax)
        ranked = _ranked(self.contributions)
        bars = [
            (self._named(name), contribution) for name, contribution in ranked[:_MAX_COLUMNS] if contribution
        ]
        if rest := ranked[_MAX_COLUMNS:]:
            bars.append((count(len(rest), "other column"), sum(contribution for _, contribution in rest)))
        return draw_contributions(bars, self.base_value, self.value, self.value_name, ax)

    def _named(self, name: str) -> str:
        """Return a column with the row's value."""
        shown, state = as_name(name), self.states[name]
        if state == MISSING:
            return f"{shown} is missing"
        if state == ABSENT:
            return f"{shown}, {ABSENT}"
        return f"{shown} = {_value_text(self.values[name])}" + f", {UNSEEN}" * (state == UNSEEN)

    def _report(self) -> tuple[str, list[list[str]], str]:
        ranked = _ranked(self.contributions)
        is_probability = self.explained_class is not None and self.aggregation == "mean"
        numbers = [self.base_value, self.value, *self.contributions.values()]
        text_of = "{:.1%}".format if is_probability else number_format(numbers, 4)
        table = [["", "trees", "contribution"], ["base value", f"{self.n_trees:,}", text_of(self.base_value)]]
        for name, contribution in ranked[:_MAX_COLUMNS]:
            table.append([self._named(name), f"{self.n_trees_used[name]:,}", _signed(contribution, text_of)])
        if rest := ranked[_MAX_COLUMNS:]:
            total = sum(contribution for _, contribution in rest)
            table.append([f"… {count(len(rest), 'more column')}", "", _signed(total, text_of)])
        is_value = self.predicted_value == self.value
        if self.explained_class is not None:
            predicted = f"{self.predicted_value:.1%}"
        else:
            predicted = (text_of if is_value else number_format([self.predicted_value], 4))(
                self.predicted_value
            )
        std = f" ± {text_of(self.std)}" if self.std else ""
        meaning = "" if is_value else f": {predicted}"
        return (
            self._headline(predicted),
            table,
            f"f(x) = {text_of(self.value)}{std}, {self.value_name}{meaning}",
        )

    def _headline(self, predicted: str) -> str:
        if self.explained_class is None:
            return f"predicts {predicted}"
        label = as_label(self.prediction)
        if self.explained_class == self.prediction:
            return f"predicts {label}, {predicted}"
        return f"predicts {label}; probability of {as_label(self.explained_class)}: {predicted}"


def explain_contributions(
    contributions: Contributions,
    cells: Sequence[Sequence[Cell]],
    names: Sequence[str],
    classes: Sequence[Any] | None,
    values: NDArray[np.float64],
    chosen: NDArray[np.intp],
    *,
    n_trees: int,
    aggregation: str,
    value_names: Sequence[str],
) -> list[EnsembleExplanation]:
    """Return the explanations of rows.

    ``values`` are the predicted numbers, or the probabilities of all classes; ``chosen`` is the number of the class
    that is explained; ``value_names`` are the names of the sums or means, one per class.
    """
    found = []
    for row, k in enumerate(chosen.tolist()):
        used = contributions.n_trees_used[row].nonzero()[0].tolist()
        found.append(
            EnsembleExplanation(
                prediction=float(values[row, 0]) if classes is None else classes[values[row].argmax()],
                explained_class=None if classes is None else classes[k],
                value=float(contributions.total[row]),
                predicted_value=float(values[row, k]),
                base_value=float(contributions.base_value[row]),
                contributions={names[j]: float(contributions.by_column[row, j]) for j in used},
                rounding=float(contributions.rounding[row]),
                states={names[j]: cells[row][j].state for j in used},
                values={names[j]: cells[row][j].value for j in used},
                n_trees_used={names[j]: int(contributions.n_trees_used[row, j]) for j in used},
                n_trees=n_trees,
                aggregation=aggregation,
                value_name=value_names[k],
                std=float(contributions.std[row]),
            )
        )
    return found
