"""A run as a Markdown page: goals, setup, rankings, tests, and data sets on which other libraries win."""

from __future__ import annotations

from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmarks import environment
from benchmarks.accuracy.data import DATASETS
from benchmarks.accuracy.goals import GOALS, judge
from benchmarks.accuracy.methods import TRITREE
from benchmarks.accuracy.summary import other_libraries
from benchmarks.accuracy.tables import ROLES, role_of
from tritree.lab.ranks.significance import format_p

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.accuracy.experiments import Design, Outcome
    from benchmarks.accuracy.summary import Summary
    from tritree.lab import Dataset

__all__ = ["as_markdown", "goals"]


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
    parts += ["## Goals", "", _GOALS, *goals(summary), "", _TRIED]
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
Loss of tritree and of other libraries on tables as they are, and as fields go missing in three scenarios:

- as it is: no values are removed; only the table's own are missing;
- test only: the training data are as they are, and fields go missing afterwards;
- both: values go missing by the same mechanism in training and test;
- shift: values go missing by different mechanisms in training and test.

Gradient boosting is compared twice: with equal settings (number and depth of the trees, learning rate, rows per leaf;
all else is the library's default) and, as "(defaults)", with all defaults of each library. Forest is scikit-learn's
random forest, compared with tritree forest: the same number of trees, and all else their defaults. tritree tree is a
single tree. Categories are passed as each library supports them: as a categorical dtype to LightGBM, XGBoost and HistGB
(scikit-learn's HistGradientBoosting), as `cat_features` to CatBoost, as categorical columns to YDF, and as numbers to
scikit-learn's forest, which knows no categories.

The name of a library is followed by the treatment of missing values around it; without one, it is the library's own.

- mean: imputation of the mean, with missing indicators;
- iterative: imputation by regressions on the other columns;
- masked copies: five copies of the training table, four of them with cells removed at random;
- regularised alike: with tritree's default L2 regularisation and fraction of the columns per split;
- graft: the library's own model with third branches (`tritree.graft`) from the training rows; CatBoost then gets
  categories as numbers.

benchmarks/README.md has the details.
"""

_GOALS = """\
A rival is a method of another library: for tritree those with equal settings, for tritree (defaults) those with
defaults, for tritree forest scikit-learn's forest. Mean ranks are among these methods only. A data set's best rival has
the smallest loss on it, chosen afterwards from many, so a small difference may be chance: p is that of the corrected
resampled t-test over its folds, not adjusted.
"""

_TRIED = """\
What was tried where goals are missed, on development tables only, by the relative difference of the loss:

- Dropped: L2 regularisation counted in rows of a leaf or of the table (11 to 28 % worse on small tables), the same
  price for every split whatever its number of rows, a price that grows with the number of bins, half or more of the
  columns per split, and subsampling of rows. Small tables lose with each of them.
- Masked copies by default: 1 % worse as it is, 4 % worse with fields missing in the test only or in both, in about
  twice the time. They are 10 to 16 % better where missing values mean something in training and go missing at random
  later, so they are a parameter (`masked_copies`).
- 200 rounds instead of 100: 1.2 % better as it is, in twice the time. Tables with little noise gain, others do not.
- Nothing was fitted to the expected calibration error.
"""

_ROLES = {
    "development": "tritree's defaults are chosen on development tables, which favours tritree.",
    "judgement": "tritree's defaults are chosen on development tables only, never on judgement tables.",
}


_COLUMNS = """\
- mean rank: average rank over data sets, 1 is best; methods are ranked by their loss in each case (data set, mechanism,
  rate, seed).
- relative loss: loss divided by that of predicting the mean (or the class frequencies), median over cases. Above 1, a
  method is worse than a constant prediction.
- above the best: relative difference of the loss to the smallest of any method in the same case, median over cases.
- vs. tritree: relative difference of the method's loss to tritree's, median over data sets; negative if the method is
  better.
- won–lost: number of data sets on which tritree's loss is smaller, and larger, than the method's.
- p Holm: p of Wilcoxon's signed-rank test over data sets, tritree against the method, adjusted after Holm for all
  methods.
- Brier, ECE: Brier score and expected calibration error, means over the data sets with classes. The ECE is the mean
  difference between the probability of the predicted class and its accuracy, in ten bins of equal width; in small test
  sets it is above 0 even for perfect probabilities.
- fit, predict: seconds on one thread for one fold, medians over cases; in parentheses, the median of the ratio to
  tritree's. Imputation by regressions is computed once for all libraries, so it counts for the first one only.
"""


def _roles(datasets: Sequence[Dataset]) -> Iterator[str]:
    """Yield which tables the page is about."""
    numbers = {role: sum(role_of(dataset.name) == role for dataset in datasets) for role in ROLES}
    found = [role for role in ROLES if numbers[role]]
    yield f"**Tables: {' and '.join(f'{role} ({numbers[role]})' for role in found)}.**"
    yield from (_ROLES[role] for role in found)


def goals(summary: Summary) -> Iterator[str]:
    """Yield a line for each goal, yes or NO, and one for each of its bounds."""
    for goal in GOALS:
        bounds = judge(goal, summary)
        if not bounds:
            yield f"- {goal.name}: not judged, because the run lacks its cases or methods"
            continue
        met = "yes" if all(bound.met for bound in bounds) else "NO"
        yield f"- {goal.name}: **{met}**"
        for bound in bounds:
            yield f"    - {bound.name}: {'yes' if bound.met else 'NO'}; {bound.numbers}."


def _setup(design: Design, datasets: Sequence[Dataset], outcome: Outcome) -> Iterator[str]:
    parameters = design.parameters
    yield f"Written on {date.today():%Y-%m-%d}, commit {environment.commit()}."
    yield (
        f"Equal settings: {parameters.n_trees} trees of depth {parameters.max_depth}, "
        f"learning rate {parameters.learning_rate:g}, at least {parameters.min_samples_leaf} rows per leaf; "
        f"{design.folds} folds, {design.seeds} "
        f"seed{'s' if design.seeds > 1 else ''}; a seed draws its own folds and removed values. "
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
        paired = ["–"] * 3
        if line.method in pairs.index:
            pair = pairs.loc[line.method]
            paired = [
                _percent(pair["difference"], sign=True),
                f"{pair['won']}–{pair['lost']}",
                format_p(pair["p_holm"]),
            ]
        lines.append(
            [
                f"**{line.method}**" if line.method == TRITREE else line.method,
                f"{line.mean_rank:.2f}",
                f"{line.relative:.3f}",
                _percent(line.above),
                *paired,
                _number(line.brier),
                _number(line.calibration),
                f"{line.fit:.2g} s ({line.fit_ratio:.2g})",
                f"{line.predict:.2g} s ({line.predict_ratio:.2g})",
            ]
        )
    headings = ["method", "mean rank", "relative loss", "above the best", "vs. tritree", "won–lost", "p Holm"]
    return _table([*headings, "Brier", "ECE", "fit", "predict"], lines)


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
                f"{best['own']:.3f}",
                _percent(best["ratio"] - 1, sign=True),
            ]
        )
    if not lines:
        return [f"No other library has a smaller loss than tritree on any of the {n_datasets} data sets."]
    headings = ["data set", "methods ahead", "best of them", "its loss", "tritree's loss", "difference"]
    return [
        f"Another library has a smaller loss than tritree on {len(lines)} of {n_datasets} data sets. Losses are "
        "relative to the constant's, averaged over the cases; methods with defaults and forests count, too. "
        "With few folds, differences on single data sets may not be significant.",
        "",
        *_table(headings, lines),
    ]


def _percent(value: float, *, sign: bool = False) -> str:
    return f"{100 * value:+.1f} %" if sign else f"{100 * value:.1f} %"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    rows = [headings, ["---", *["---:"] * (len(headings) - 1)], *lines]
    return [f"| {' | '.join(cells)} |" for cells in rows]
