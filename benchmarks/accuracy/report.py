"""A run as a Markdown page: goals, setup, rankings, tests, and data sets on which other libraries win."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from benchmarks import environment
from benchmarks.accuracy.data import DATASETS
from benchmarks.accuracy.methods import TRITREE
from benchmarks.accuracy.summary import other_libraries
from benchmarks.accuracy.tables import ROLES, role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.accuracy.experiments import Design, Outcome
    from benchmarks.accuracy.summary import Summary
    from tritree.lab import Dataset

__all__ = ["as_markdown", "goals"]

TOLERANCE = 0.01  # relative to the best method, in "both"


def as_markdown(
    summary: Summary,
    design: Design,
    datasets: Sequence[Dataset],
    outcome: Outcome,
    pictures: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the page; ``pictures`` maps captions to paths."""
    parts = ["# Accuracy as fields go missing", "", _INTRODUCTION]
    parts += [*_roles(datasets), ""]
    parts += ["## Goals", "", *(f"- {line}" for line in goals(summary)), ""]
    for caption, path in pictures.items():
        parts += [f"![{caption}]({path})", ""]
    parts += ["## Setup", "", *_setup(design, datasets, outcome), ""]
    for group in summary.groups:
        parts += [f"## {group.capitalize()}", "", *_ranking(summary, group), ""]
        parts += [*_where_others_win(summary, group), ""]
    parts += ["## Columns", "", _COLUMNS]
    parts += [
        "## Tests of the mean ranks",
        "",
        *(f"- {note}" for note in summary.ranks.notes),
        "",
    ]
    return "\n".join(parts)


_INTRODUCTION = """\
Loss of tritree's boosting and of other libraries as fields go missing, in three scenarios:

- test only: the training data are complete, and fields go missing afterwards;
- both: values go missing by the same mechanism in training and test;
- shift: values go missing by different mechanisms in training and test.

The name of a library is followed by the treatment of missing values around it; without one, it is the library's own.

- mean: imputation of the mean, with missing indicators;
- iterative: imputation by regressions on the other columns;
- 1 % missing: one percent of the training cells are removed, so that the library has seen missing values;
- masked copies: five copies of the training table, four of them with cells removed at random;
- regularised alike: with tritree's default regularisation.

benchmarks/README.md has the details.
"""


_ROLES = {
    "development": "Defaults are chosen on development tables, which favours tritree.",
    "judgement": "No default is chosen on judgement tables.",
}


_COLUMNS = """\
- mean rank: average rank over data sets, 1 is best; methods are ranked by their loss in each case (data set, mechanism,
  rate, seed).
- relative loss: loss divided by that of predicting the mean (or the class frequencies), median over cases. Above 1, a
  method is worse than a constant prediction.
- above the best: relative difference of the loss to the smallest of any method in the same case, median over cases.
- worse than constant: fraction of cases with a relative loss above 1.
- vs. tritree: relative difference of the method's loss to tritree's, median over data sets; negative if the method is
  better.
- won–lost: number of data sets on which tritree's loss is smaller, and larger, than the method's.
- p: Wilcoxon's signed-rank test over data sets, tritree against the method; after Holm: adjusted for all methods.
"""


def _roles(datasets: Sequence[Dataset]) -> Iterator[str]:
    """Yield which tables the page is about."""
    numbers = {role: sum(role_of(dataset.name) == role for dataset in datasets) for role in ROLES}
    found = [role for role in ROLES if numbers[role]]
    yield f"**Tables: {' and '.join(f'{role} ({numbers[role]})' for role in found)}.**"
    yield from (_ROLES[role] for role in found)


def goals(summary: Summary) -> list[str]:
    """Return whether the goals are met, one line per scenario."""
    found = []
    for group in summary.groups:
        table = summary.ranking[summary.ranking["group"] == group]
        best = table.iloc[0]
        tritree = table[table["method"] == TRITREE].iloc[0]
        rank = int((table["mean_rank"] < tritree["mean_rank"]).sum()) + 1
        text = (
            f"{group}: tritree's mean rank is {tritree['mean_rank']:.2f}, rank {rank} of {len(table)}"
            + ("" if rank == 1 else f" (first is {best['method']}, {best['mean_rank']:.2f})")
            + ("" if rank == 1 else f"; its loss is {_difference(tritree['above_best_method'])} the first's")
            + ("" if rank == 1 else " (median over data sets)")
        )
        if group in ("test only", "shift"):
            text += f". Goal, the best mean rank: {'yes' if rank == 1 else 'NO'}"
        elif group == "both":
            met = tritree["above_best_method"] <= TOLERANCE
            text += f". Goal, within {TOLERANCE:.0%} of the best: {'yes' if met else 'NO'}"
        found.append(text + ".")
    return found


def _setup(design: Design, datasets: Sequence[Dataset], outcome: Outcome) -> Iterator[str]:
    parameters = design.parameters
    yield (
        f"{parameters.n_trees} trees of depth {parameters.max_depth}, learning rate {parameters.learning_rate:g}, "
        f"at least {parameters.min_samples_leaf} rows per leaf; {design.folds} folds, {design.seeds} "
        f"seed{'s' if design.seeds > 1 else ''}. "
        + ", ".join(f"{name} {version}" for name, version in environment.versions().items())
        + "."
    )
    if not outcome.finished:
        yield "**Incomplete:** the run was interrupted."
    yield ""
    yield "Data sets: " + "; ".join(_describe(dataset) for dataset in datasets) + "."
    roles = {role_of(name) for name in design.datasets}
    if left_out := [name for name in DATASETS if role_of(name) in roles and name not in design.datasets]:
        yield f"Not run: {', '.join(left_out)}."
    if outcome.notes:
        yield ""
        yield from (f"- {note}" for note in outcome.notes)


def _describe(dataset: Dataset) -> str:
    task = "regression" if dataset.task == "regression" else f"{len(set(dataset.y.tolist()))} classes"
    note = f" ({dataset.note})" if dataset.note else ""
    return f"{dataset.name}, {dataset.n_rows:,} x {dataset.X.shape[1]}, {task}{note}"


def _ranking(summary: Summary, group: str) -> list[str]:
    table = summary.ranking[summary.ranking["group"] == group]
    pairs = summary.paired_tests[summary.paired_tests["group"] == group].set_index("method")
    lines = []
    for line in table.itertuples():
        own = [
            f"**{line.method}**" if line.method == TRITREE else line.method,
            f"{line.mean_rank:.2f}",
            f"{line.relative:.3f}",
            _percent(line.above),
            f"{line.worse:.0%}",
        ]
        pair = pairs.loc[line.method] if line.method in pairs.index else None
        paired = (
            ["–"] * 4
            if pair is None
            else [
                _percent(pair["difference"], sign=True),
                f"{pair['won']}–{pair['lost']}",
                _p_value(pair["p"]),
                _p_value(pair["p_holm"]),
            ]
        )
        lines.append([*own, *paired])
    headings = ["method", "mean rank", "relative loss", "above the best", "worse than constant"]
    return _table([*headings, "vs. tritree", "won–lost", "p", "after Holm"], lines)


def _where_others_win(summary: Summary, group: str) -> list[str]:
    """Return a table of the data sets on which another library has a smaller loss than tritree."""
    table = summary.per_dataset[summary.per_dataset["group"] == group]
    table = table[table["method"].isin(other_libraries(table["method"]))]
    lines, n_datasets = [], table["dataset"].nunique()
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
                f"{best['other']:.3f}",
                f"{best['tritree']:.3f}",
                _percent(best["ratio"] - 1, sign=True),
            ]
        )
    if not lines:
        return [f"No other library has a smaller loss than tritree on any of the {n_datasets} data sets."]
    headings = ["data set", "methods ahead", "best of them", "its loss", "tritree's loss", "difference"]
    return [
        f"Another library has a smaller loss than tritree on {len(lines)} of {n_datasets} data sets. Losses are "
        "relative to the constant's, averaged over the cases. With few folds, differences on single data sets may not "
        "be significant.",
        "",
        *_table(headings, lines),
    ]


def _percent(value: float, *, sign: bool = False) -> str:
    return f"{100 * value:+.1f} %" if sign else f"{100 * value:.1f} %"


def _difference(fraction: float) -> str:
    return f"{_percent(abs(fraction))} {'above' if fraction >= 0 else 'below'}"


def _p_value(p: Any) -> str:
    return "–" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    rows = [headings, ["---", *["---:"] * (len(headings) - 1)], *lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]
