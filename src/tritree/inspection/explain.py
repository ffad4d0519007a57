"""Why a row gets its prediction: its path, turn by turn, and what each turn has moved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from tritree.encoder import MISSING as NO_CATEGORY
from tritree.inspection.formatting import as_label, as_percent, number_format
from tritree.inspection.rules import WIDEST_LABEL, Rules, name_of
from tritree.inspection.telling import signed, told_as_html, told_as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tritree.columns import TypedColumn
    from tritree.encoder import ColumnEncoder

__all__ = ["Cell", "Explanation", "Turn", "explain_row", "read_cells", "side_of"]

OBSERVED, MISSING, ABSENT = "observed", "missing", "column absent"
NEVER_SEEN, NOT_HERE = "never seen in training", "never seen in this node"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row has in a column."""

    #: "observed", "missing", "column absent" or "never seen in training".
    state: str
    #: The value as the user knows it; None where there is none.
    value: Any = None
    #: What a threshold is compared with: the value itself, or its place in the order of ordered categories.
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn on a row's path."""

    #: The node where it is taken, and the one that it leads to; None if that was not grown.
    node: int
    to: int | None
    #: The column that the node splits, and what the row has there: its state and its value.
    column: str
    state: str
    value: Any
    #: "left", "right" or "third".
    branch: str
    #: Why, in words.
    reason: str
    #: The column that decided: another one if it stood in for a missing value.
    decided_by: str
    #: How much of the row takes the turn: less than 1 where it goes both ways.
    weight: float
    #: Training rows behind the branch.
    rows: int
    #: What the node says, and what the branch says: the mean, or the class shares.
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def moved(self) -> tuple[float, ...]:
        """Return by how much the turn has moved the prediction."""
        return tuple(
            self.weight * (after - before) for before, after in zip(self.before, self.after, strict=True)
        )


@dataclass(frozen=True)
class Explanation:
    """Why a row gets its prediction; printed, it tells the path in words.

    Attributes
    ----------
    prediction : object
        The predicted number, or the predicted class.
    value : tuple of float
        The predicted number, or the shares of the classes.
    start : tuple of float
        What the root says: where the path starts.
    start_rows : int
        The training rows behind it.
    turns : tuple of Turn
        The path.
    contributions : dict
        By column, how far its turns have moved the value. The start and all contributions add up to the value.
    classes : tuple or None
        The classes, in the order of the shares.
    """

    prediction: Any
    value: tuple[float, ...]
    start: tuple[float, ...]
    start_rows: int
    turns: tuple[Turn, ...]
    contributions: dict[str, tuple[float, ...]]
    classes: tuple[Any, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return asdict(self) | {"turns": [asdict(turn) | {"moved": turn.moved} for turn in self.turns]}

    def __str__(self) -> str:
        return told_as_text(*self._told())

    def _repr_html_(self) -> str:
        return told_as_html(*self._told())

    def _told(self) -> tuple[str, list[list[str]], str]:
        """Return the headline, the path as a table with its headings, and what each column has moved."""
        best = 0 if self.classes is None else self.classes.index(self.prediction)
        if self.classes is None:
            seen = [self.start[0], self.value[0], *(turn.after[0] for turn in self.turns)]
            what, say = "mean", number_format(seen, 4)
            headline = f"predicts {say(self.value[0])}"
        else:
            label = as_label(self.prediction, WIDEST_LABEL)
            what, say = f"share of {label}", "{:.1%}".format
            headline = f"predicts {label}, {say(self.value[best])}"
        table = [
            ["", "rows", what, "moved by"],
            ["all rows", f"{self.start_rows:,}", say(self.start[best]), ""],
        ]
        for turn in self.turns:
            part = "" if turn.weight == 1 else f", {as_percent(turn.weight)} of the row"
            moved = signed(turn.moved[best], say)
            table.append([turn.reason + part, f"{turn.rows:,}", say(turn.after[best]), moved])
        ranked = sorted(self.contributions.items(), key=lambda item: -abs(item[1][best]))
        parts = [f", {column} {text}" for column, moved in ranked if (text := signed(moved[best], say))]
        return (
            headline,
            table,
            f"{say(self.start[best])} at the root{''.join(parts)}: {say(self.value[best])}",
        )

    def plot(self, ax: Any = None) -> Any:
        """Return an ``Axes`` with what each column has moved, from the root's value to the prediction.

        Needs matplotlib (``pip install tritree[plot]``).
        """
        from tritree.inspection.axes import check_axes
        from tritree.inspection.plots import plot_explanation

        check_axes(ax)
        return plot_explanation(self, ax)


def read_cells(
    learned: ColumnEncoder, column: TypedColumn | None, values: NDArray[Any] | None, n_rows: int
) -> list[Cell]:
    """Return what the rows of a table have in a column of training, given its values as the core takes them."""
    if column is None or values is None:
        return [Cell(ABSENT if column is None else MISSING)] * n_rows
    cells = []
    for row, value in enumerate(values.tolist()):
        if value != value or (learned.categories is not None and value == NO_CATEGORY):
            cells.append(Cell(MISSING))
        elif learned.categories is None:
            cells.append(Cell(OBSERVED, learned.value(column, row), float(value)))
        else:
            seen = OBSERVED if value >= 0 else NEVER_SEEN
            cells.append(Cell(seen, learned.value(column, row)))
    return cells


def explain_row(
    tree: dict[str, Any], rules: Rules, cells: Sequence[Cell], classes: Sequence[Any] | None
) -> Explanation:
    """Return why a row gets its prediction, given the tree as ``describe`` tells it, grown as far as the row needs."""
    nodes, turns, ends = tree["nodes"], [], []
    stack = [(0, 1.0)]
    while stack:
        number, weight = stack.pop()
        node = nodes[number]
        if node["split"] is None:
            ends.append((weight, node["value"]))
            continue
        for branch, share, decided_by, reason in _ways(node, rules, cells, nodes):
            to = node[branch] if isinstance(node[branch], int) else None
            behind = node if to is None else nodes[to]
            turns.append(_turn(number, to, node, behind, branch, weight * share, cells, decided_by, reason))
            if to is None:
                ends.append((weight * share, node["value"]))
            else:
                stack.append((to, weight * share))
    value = tuple(fsum(weight * end[k] for weight, end in ends) for k in range(len(nodes[0]["value"])))
    best = max(range(len(value)), key=value.__getitem__)
    return Explanation(
        prediction=value[0] if classes is None else classes[best],
        value=value,
        start=tuple(nodes[0]["value"]),
        start_rows=nodes[0]["rows"],
        turns=tuple(turns),
        contributions=_contributions(turns),
        classes=None if classes is None else tuple(classes),
    )


def _turn(
    number: int,
    to: int | None,
    node: Mapping[str, Any],
    behind: Mapping[str, Any],
    branch: str,
    weight: float,
    cells: Sequence[Cell],
    decided_by: str,
    reason: str,
) -> Turn:
    cell = cells[node["split"]["column"]]
    if to is None:
        reason += ", which was not grown: the node itself answers"
    return Turn(
        node=number,
        to=to,
        column=node["split"]["name"],
        state=cell.state,
        value=cell.value,
        branch=branch,
        reason=reason,
        decided_by=decided_by,
        weight=weight,
        rows=behind["rows"],
        before=tuple(node["value"]),
        after=tuple(behind["value"]),
    )


def _contributions(turns: Sequence[Turn]) -> dict[str, tuple[float, ...]]:
    terms: dict[str, list[tuple[float, ...]]] = {}
    for turn in turns:
        terms.setdefault(turn.decided_by, []).append(turn.moved)
    return {column: tuple(map(fsum, zip(*moved, strict=True))) for column, moved in terms.items()}


def _ways(
    node: dict[str, Any], rules: Rules, cells: Sequence[Cell], nodes: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, float, str, str]]:
    """Yield the branches that a row takes: each with its share, the column that decided, and why."""
    split = node["split"]
    name, cell = split["name"], cells[split["column"]]
    side, state = side_of(split, cell)
    if side is not None:
        yield side, 1.0, name, f"{_shown(split, cell)} {_condition(rules, split, side)}"
        return
    lacking = f"{name_of(split)} is missing" if state == MISSING else f"{_shown(split, cell)}, {state}"
    missing_to, larger = split["missing_to"], split["larger"]
    if missing_to == "third":
        yield "third", 1.0, name, f"{lacking}: third branch{_successor(node, nodes)}"
    elif missing_to == "both":
        for side, share in (("left", split["share"]), ("right", 1 - split["share"])):
            yield (
                side,
                share,
                name,
                f"{lacking}: {side} with {as_percent(share)} ({_condition(rules, split, side)})",
            )
    elif missing_to == "surrogates":
        for surrogate in split["surrogates"]:
            stand_in = cells[surrogate["column"]]
            theirs, _ = side_of(surrogate, stand_in)
            if theirs is None:
                continue
            straight = surrogate["rule"] == "categories" or surrogate["below"] == "left"
            side = theirs if straight else "right" if theirs == "left" else "left"
            shown = f"{_shown(surrogate, stand_in)} {_condition(rules, surrogate, theirs)}"
            yield side, 1.0, surrogate["name"], f"{lacking}: {shown} stands in, {side}"
            return
        yield larger, 1.0, name, f"{lacking}, and no stand-in is known: {larger}, the larger side"
    elif state in (MISSING, ABSENT):
        yield missing_to, 1.0, name, f"{lacking}: {missing_to}, where its missing values go"
    else:
        yield larger, 1.0, name, f"{lacking}: {larger}, the larger side"


def side_of(split: dict[str, Any], cell: Cell) -> tuple[str | None, str]:
    """Return the side of a split on which a cell lies, None if that is not known, and then why."""
    if cell.state in (MISSING, ABSENT):
        return None, cell.state
    if split["rule"] == "missing":
        return ("right" if split["missing_to"] == "left" else "left"), OBSERVED
    if split["rule"] == "categories":
        if cell.state == NEVER_SEEN:
            return None, NEVER_SEEN
        side = "left" if cell.value in split["left"] else "right" if cell.value in split["right"] else None
        return side, OBSERVED if side else NOT_HERE
    assert cell.number is not None
    return ("left" if cell.number < split["threshold"] else "right"), OBSERVED


def _condition(rules: Rules, split: dict[str, Any], side: str) -> str:
    if split["rule"] == "missing":
        return "is observed"
    return rules.conditions(split)[side != "left"]


def _shown(split: dict[str, Any], cell: Cell) -> str:
    """Return a column and the row's value in it."""
    name = name_of(split)
    if cell.state == ABSENT:
        return name
    if split["rule"] == "missing":
        return name
    value = f"{cell.value:,.6g}" if isinstance(cell.value, float) else as_label(cell.value, WIDEST_LABEL)
    return f"{name} = {value}"


def _successor(node: dict[str, Any], nodes: Sequence[dict[str, Any]]) -> str:
    if not isinstance(node["third"], int):
        return ""  # nobody knows
    split = nodes[node["third"]]["split"]
    return ", no other column helps" if split is None else f", {name_of(split)} takes over"
