"""Why a row gets its prediction from many trees: what each column has moved in their sum, or in their mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tritree.inspection.explain import ABSENT, MISSING, NEVER_SEEN
from tritree.inspection.formatting import as_label, as_name, count, number_format
from tritree.inspection.rules import WIDEST_LABEL
from tritree.inspection.telling import signed, told_as_html, told_as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tritree.inspection.explain import Cell
    from tritree.inspection.moves import Moves

__all__ = ["Answers", "EnsembleExplanation", "explain_rows"]

_MOST_COLUMNS = 20  # that are told one by one
_WIDEST_NAME = 30


@dataclass(frozen=True)
class EnsembleExplanation:
    """Why a row gets its prediction; printed, it tells what each column has moved.

    ``start + sum(contributions.values()) + rounding == value`` holds bit for bit: all but the last are whole multiples
    of one power of two, so that none of their sums is rounded, whatever their order.

    Attributes
    ----------
    prediction : object
        The predicted number, or the predicted class.
    explained : object
        The class that is explained; None in regression.
    value : float
        Of boosting the sum over trees: what ``decision_function`` returns for the class (its negative for the first of
        two classes), or in regression what is predicted, or its logarithm where the loss is "poisson" or "gamma". Of a
        forest the mean over trees: the predicted number, or the probability of the class.
    answer : float
        What the value means: the predicted number, or the probability of the explained class.
    start : float
        What the roots of the trees add up to, or their mean: the same for every row.
    contributions : dict
        By column, what the steps at its splits have added. A step to a third branch, to a side where missing values
        go, or both ways is a contribution of the column that is missing; one that a surrogate has decided is the
        surrogate's.
        Columns that were not asked for are not there.
    rounding : float
        What double precision has lost in adding the trees up, about 1e-16 of the numbers involved.
    states : dict
        By column of ``contributions``, what the row has there: "observed", "missing", "column absent" or "never seen in
        training".
    cells : dict
        By column of ``contributions``, the value; None where there is none.
    n_asked : dict
        By column of ``contributions``, in how many trees it was asked for.
    n_trees : int
        The trees that were added up.
    combined : str
        How they are combined: "sum" or "mean".
    what : str
        What the value is, in words.
    doubt : float
        The standard deviation of the value, given what is observed of the row, where the answer depends on it: that of
        boosting for classes, counts or positive numbers. The more of the row is missing, the nearer is a probability
        to those of all rows. 0 where nothing is left open, or it makes no difference.
    """

    prediction: Any
    explained: Any
    value: float
    answer: float
    start: float
    contributions: dict[str, float]
    rounding: float
    states: dict[str, str]
    cells: dict[str, Any]
    n_asked: dict[str, int]
    n_trees: int
    combined: str
    what: str
    doubt: float = 0.0

    @property
    def missing(self) -> dict[str, float]:
        """Return the contributions of the columns that are missing in the row."""
        return {
            name: moved
            for name, moved in self.contributions.items()
            if self.states[name] in (MISSING, ABSENT)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return told_as_text(*self._told())

    def _repr_html_(self) -> str:
        return told_as_html(*self._told())

    def plot(self, ax: Any = None) -> Any:
        """Return an ``Axes`` with what each column has moved, from the start to the sum or mean over trees.

        Needs matplotlib (``pip install tritree[plot]``).
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import plot_moves

        check_axes(ax)
        told, rest = self._ranked()
        moved = [(self._named(name), step) for name, step in told if step]
        moved += [(count(len(rest), "other column"), moved) for moved in [sum(rest.values())] if rest]
        return plot_moves(moved, self.start, self.value, self.what, f"{self.combined} over trees", ax)

    def _ranked(self) -> tuple[list[tuple[str, float]], dict[str, float]]:
        """Return the columns that have moved most, and the others."""
        ranked = sorted(self.contributions.items(), key=lambda item: -abs(item[1]))
        return ranked[:_MOST_COLUMNS], dict(ranked[_MOST_COLUMNS:])

    def _named(self, name: str) -> str:
        """Return a column with what the row has there."""
        shown, state, cell = as_name(name, _WIDEST_NAME), self.states[name], self.cells[name]
        if state in (MISSING, ABSENT):
            return f"{shown} is missing" if state == MISSING else f"{shown}, {ABSENT}"
        value = f"{cell:,.6g}" if isinstance(cell, float) else as_label(cell, WIDEST_LABEL)
        return f"{shown} = {value}" + (f", {NEVER_SEEN}" if state == NEVER_SEEN else "")

    def _told(self) -> tuple[str, list[list[str]], str]:
        """Return the headline, what each column has moved as a table with its headings, and what the sum means."""
        told, rest = self._ranked()
        is_share = self.explained is not None and self.combined == "mean"
        numbers = [self.start, self.value, *self.contributions.values()]
        say = "{:.1%}".format if is_share else number_format(numbers, 4)
        table = [["", "trees", "moved by"], ["all rows", f"{self.n_trees:,}", say(self.start)]]
        for name, moved in told:
            table.append([self._named(name), f"{self.n_asked[name]:,}", signed(moved, say)])
        if rest:
            table.append([f"… {count(len(rest), 'more column')}", "", signed(sum(rest.values()), say)])
        if self.explained is not None:
            answer = f"{self.answer:.1%}"
        else:
            answer = (
                say(self.value) if self.answer == self.value else number_format([self.answer], 4)(self.answer)
            )
        meaning = "" if self.answer == self.value else f": {answer}"
        doubt = f" ± {say(self.doubt)}" if self.doubt else ""
        return self._headline(answer), table, f"{self.what} {say(self.value)}{doubt}{meaning}"

    def _headline(self, answer: str) -> str:
        if self.explained is None:
            return f"predicts {answer}"
        label = as_label(self.prediction, WIDEST_LABEL)
        if self.explained == self.prediction:
            return f"predicts {label}, {answer}"
        return f"predicts {label}; why {as_label(self.explained, WIDEST_LABEL)} has {answer}"


@dataclass(frozen=True)
class Answers:
    """What rows are predicted, and which of the sums or means over trees is explained."""

    #: The classes; None in regression.
    classes: list[Any] | None
    #: The predicted numbers or classes.
    predictions: Sequence[Any]
    #: The predicted numbers, or the probabilities of all classes, one column each.
    values: NDArray[np.float64]
    #: The number of the class that is explained, 0 in regression.
    chosen: NDArray[np.intp]


def explain_rows(
    moves: Moves,
    cells: Sequence[Sequence[Cell]],
    names: Sequence[str],
    answers: Answers,
    *,
    n_trees: int,
    combined: str,
    what: Sequence[str],
    doubt: NDArray[np.float64] | None = None,
) -> list[EnsembleExplanation]:
    """Return why rows get their predictions; ``what`` the sums or means are is told by the number of the class."""
    found = []
    for row, number in enumerate(answers.chosen.tolist()):
        explanation = EnsembleExplanation(
            prediction=answers.predictions[row],
            explained=None if answers.classes is None else answers.classes[number],
            answer=float(answers.values[row, number]),
            n_trees=n_trees,
            combined=combined,
            what=what[number],
            doubt=0.0 if doubt is None else float(doubt[row]),
            **_terms(moves, row, cells[row], names),
        )
        found.append(explanation)
    return found


def _terms(moves: Moves, row: int, cells: Sequence[Cell], names: Sequence[str]) -> dict[str, Any]:
    """Return what a row's sum is made of, and what the row has in the columns that were asked for."""
    asked = moves.asked[row].nonzero()[0].tolist()
    return {
        "value": float(moves.total[row]),
        "start": float(moves.start[row]),
        "rounding": float(moves.rounding[row]),
        "contributions": {names[j]: float(moves.moved[row, j]) for j in asked},
        "states": {names[j]: cells[j].state for j in asked},
        "cells": {names[j]: cells[j].value for j in asked},
        "n_asked": {names[j]: int(moves.asked[row, j]) for j in asked},
    }
