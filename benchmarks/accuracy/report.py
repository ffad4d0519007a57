"""A run as a page of text: how it was made, the reach, the standings, the tests, and where rivals win."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from benchmarks import environment
from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.rivals import OURS
from benchmarks.accuracy.summary import COMPLETE, rivals_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.accuracy.plan import Plan
    from benchmarks.accuracy.run import Outcome
    from benchmarks.accuracy.summary import Summary
    from tritree.lab import Dataset

__all__ = ["as_markdown", "reaches"]

NEAR = 0.01  # of the best, in "both"


def as_markdown(
    summary: Summary,
    plan: Plan,
    datasets: Sequence[Dataset],
    outcome: Outcome,
    pictures: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the page; ``pictures`` are what they show and where they are."""
    parts = ["# Accuracy as fields go missing", "", _COMPARED]
    parts += ["## The reach", "", *(f"- {line}" for line in reaches(summary)), ""]
    for shown, path in pictures.items():
        parts += [f"![{shown}]({path})", ""]
    parts += ["## How it was made", "", *_made(plan, datasets, outcome), ""]
    for group in summary.groups:
        parts += [f"## {group.capitalize()}", "", *_standings(summary, group), ""]
        parts += [*_where_rivals_win(summary, group), ""]
    parts += ["## What the columns mean", "", _MEANING]
    parts += [
        "## What the laboratory says of its mean ranks",
        "",
        *(f"- {note}" for note in summary.ranks.notes),
        "",
    ]
    return "\n".join(parts)


_COMPARED = """\
How much tritree's boosting and other libraries lose where fields are missing, in three scenarios:

- test only: training is as it is, and fields go missing afterwards;
- both: the same holes in training and test;
- shift: training's holes come about in another way than the test's.

Behind the name of a library stands what is done about missing values around it; if nothing does, it is as it comes.

- mean: they are filled with the mean, and a column tells where;
- iterative: they are filled with what the other columns say;
- 1 % holes: so many of training's cells are lost, so that the library has seen holes;
- copies: training has five copies of the table, four of them with cells lost at random;
- held back: it is regularised as tritree is by default.

"Reach" is what tritree is meant to achieve. benchmarks/README.md tells the rest.
"""


_MEANING = """\
- mean rank: 1 is best, over data sets; methods are ranked by their loss in each case (data set, mechanism, rate, seed).
- relative loss: the loss divided by that of always saying the mean (or the shares of the classes); the median over
  cases. Above 1 a method does worse than if it knew nothing.
- above the best: by how much a loss is above the least of any method in the same case; the median.
- beside tritree: by how much the method's loss is above tritree's, the median over data sets; below 0 it wins.
- won, lost: data sets on which tritree's loss is less, or more, than the method's.
- p: Wilcoxon's signed-rank test over data sets, tritree against the method; then after Holm, for all methods.
- worse than nothing: the share of cases in which it loses more than the constant.
"""


def reaches(summary: Summary) -> list[str]:
    """Return whether tritree has reached what it is meant to, a line per scenario."""
    found = []
    for group in summary.groups:
        table = summary.standings[summary.standings["group"] == group]
        best = table.iloc[0]
        ours = table[table["method"] == OURS].iloc[0]
        place = int((table["mean_rank"] < ours["mean_rank"]).sum()) + 1
        said = (
            f"{group}: tritree's mean rank is {ours['mean_rank']:.2f}, place {place} of {len(table)}"
            + ("" if place == 1 else f" (first is {best['method']}, {best['mean_rank']:.2f})")
            + ("" if place == 1 else f"; its loss is {_beside(ours['above_best_method'])} that one's")
            + ("" if place == 1 else ", the median over data sets")
        )
        if group in ("test only", "shift"):
            said += f". Reach, the best mean rank: {'yes' if place == 1 else 'NO'}"
        elif group == "both":
            said += f". Reach, within {NEAR:.0%} of the best: {'yes' if ours['above_best_method'] <= NEAR else 'NO'}"
        found.append(said + ".")
    return found


def _made(plan: Plan, datasets: Sequence[Dataset], outcome: Outcome) -> Iterator[str]:
    size = plan.size
    yield (
        f"{size.trees} trees of depth {size.depth}, learning rate {size.learning_rate:g}, at least {size.leaf} rows in "
        f"a leaf; {plan.folds} folds, {plan.seeds} seed{'s' if plan.seeds > 1 else ''}. "
        + ", ".join(f"{name} {version}" for name, version in environment.versions().items())
        + "."
    )
    if not outcome.finished:
        yield "**Not all was run:** the run was ended; what is missing is not shown."
    yield ""
    yield "Data sets: " + "; ".join(_told(dataset) for dataset in datasets) + "."
    if left_out := [name for name in SETS if name not in plan.sets]:
        yield f"Not run: {', '.join(left_out)}."
    if outcome.notes:
        yield ""
        yield from (f"- {note}" for note in outcome.notes)


def _told(dataset: Dataset) -> str:
    kind = "numbers" if dataset.task == "regression" else f"{len(set(dataset.y.tolist()))} classes"
    note = f" ({dataset.note})" if dataset.note else ""
    return f"{dataset.name}, {dataset.n_rows:,} x {dataset.X.shape[1]}, {kind}{note}"


def _standings(summary: Summary, group: str) -> list[str]:
    table = summary.standings[summary.standings["group"] == group]
    pairs = summary.pairs[summary.pairs["group"] == group].set_index("method")
    lines = []
    for line in table.itertuples():
        own = [
            f"**{line.method}**" if line.method == OURS else line.method,
            f"{line.mean_rank:.2f}",
            f"{line.relative:.3f}",
            _share(line.above),
            f"{line.worse:.0%}",
        ]
        pair = pairs.loc[line.method] if line.method in pairs.index else None
        beside = (
            ["–"] * 4
            if pair is None
            else [
                _share(pair["difference"], sign=True),
                f"{pair['won']}–{pair['lost']}",
                _chance(pair["p"]),
                _chance(pair["p_holm"]),
            ]
        )
        lines.append([*own, *beside])
    headings = ["method", "mean rank", "relative loss", "above the best", "worse than nothing"]
    return _table([*headings, "beside tritree", "won–lost", "p", "after Holm"], lines)


def _where_rivals_win(summary: Summary, group: str) -> list[str]:
    """Return a table of the data sets on which any rival has less loss than tritree."""
    table = summary.singles[summary.singles["group"] == group]
    table = table[table["method"].isin(rivals_only(table["method"]))]
    lines, n_sets = [], table["dataset"].nunique()
    for dataset, part in table.groupby("dataset"):
        wins = part[part["ratio"] < 1].sort_values("ratio")
        if wins.empty:
            continue
        best = wins.iloc[0]
        lines.append(
            [
                str(dataset),
                f"{len(wins)} of {len(part)}",
                str(best["method"]),
                f"{best['theirs']:.3f}",
                f"{best['ours']:.3f}",
                _share(best["ratio"] - 1, sign=True),
            ]
        )
    if not lines:
        return [f"No rival has less loss than tritree on any of the {n_sets} data sets."]
    headings = ["data set", "rivals ahead", "the best of them", "its loss", "tritree's", "difference"]
    what = "rival configurations" if group != COMPLETE else "rival configurations (no holes were added)"
    return [
        f"Where rivals win: {len(lines)} of {n_sets} data sets have {what} with less loss than tritree. Losses "
        "are relative to the constant's, means over the cases. A few folds cannot tell how much of a difference on one "
        "data set is chance.",
        "",
        *_table(headings, lines),
    ]


def _share(value: float, *, sign: bool = False) -> str:
    return f"{100 * value:+.1f} %" if sign else f"{100 * value:.1f} %"


def _beside(share: float) -> str:
    return f"{_share(abs(share))} {'above' if share >= 0 else 'below'}"


def _chance(p: Any) -> str:
    return "–" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    rows = [headings, ["---", *["---:"] * (len(headings) - 1)], *lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]
