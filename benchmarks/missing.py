"""The benchmarks of boosting and forests with missing values: in training, in first predictions, and on real tables."""

from __future__ import annotations

import copy
import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.ensembles import (
    BOOSTING,
    boosting_parameters,
    boosting_table,
    fit_jobs,
    forest_parameters,
    new_rows,
    r_squared,
)
from benchmarks.libraries import TritreeBoosting, TritreeForest
from benchmarks.results import Measurement, Row, Verdict, compare
from benchmarks.run import fitted, shape, with_verdicts
from benchmarks.timing import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.libraries import Candidate, Parameters
    from benchmarks.run import Run

__all__ = ["CASES"]

#: Goal in milliseconds for the prediction of one row with a new combination of missing values.
ONE_ROW_MILLISECONDS = 5.0
#: Goal in microseconds for the first prediction, per row and tree.
FIRST_MICROSECONDS = 10.0
#: Maximum number of rows of a real table that forests predict: a model may grow millions of nodes, about 1 KB each.
MAX_FOREST_ROWS = 2_000


def boosting_fit_missing(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on 1,000,000 x 20 numbers, 10, 30 or 50 % missing, by `trinary_mia` and `mia`."""
    others, absent = run.others(*BOOSTING)
    for missing in (0.1, 0.3, 0.5):
        X, y = boosting_table(run, missing)
        candidates, models = [TritreeBoosting(), TritreeBoosting("mia"), *others], dict[str, Any]()
        parameters = boosting_parameters(run)
        timed = run.time(fit_jobs(candidates, X, y, parameters, models), max_rounds=2)
        row = Row(
            "boosting-fit-missing",
            f"{shape(X)}, {100 * missing:.0f} % missing, 100 trees",
            notes=list(absent),
        )
        row.notes.append(r_squared(candidates, models, *new_rows(run, missing=missing), parameters))
        yield with_verdicts(row, timed, 1.3, first_only=True)


def boosting_first(run: Run) -> Iterator[Row]:
    """Boost 100 trees on 100,000 complete rows; predict as many with 30 % missing: with growth on demand, and again."""
    n_rows, parameters = run.rows(100_000), boosting_parameters(run)
    others, absent = run.others(*BOOSTING)
    row = Row("boosting-first", f"{n_rows:,} x 20, 30 % missing, 100 trees", notes=absent)
    first = first_prediction(run, row, [TritreeBoosting(), *others], n_rows, n_rows, parameters, 3.0)[0]
    each = 1e6 * first.median / (n_rows * parameters.n_trees)
    row.verdicts.append(Verdict("first, a row and tree", each, FIRST_MICROSECONDS, "µs", measured=first))
    yield row


def forest_first(run: Run) -> Iterator[Row]:
    """Fit a forest to 20,000 complete rows, then predict 10,000, 30 % missing: with growth on demand, and again."""
    n_rows, parameters = run.rows(10_000), forest_parameters(run)
    others, absent = run.others("RandomForest")
    row = Row("forest-first", f"{n_rows:,} x 20, 30 % missing, 100 trees", notes=absent)
    tritree = TritreeForest()
    _, before, after = first_prediction(run, row, [tritree, *others], 2 * n_rows, n_rows, parameters, 2.0)
    yield row
    yield file_sizes(Row("forest-first", f"{row.work}, size of the file"), tritree, before, after, 3.0)


def first_prediction(
    run: Run,
    row: Row,
    candidates: list[Candidate],
    n_training: int,
    n_rows: int,
    parameters: Parameters,
    goal: float,
) -> tuple[Measurement, Any, Any]:
    """Add first and later predictions to the row, the first compared with the model's own fit.

    Return the measurement of the first prediction, and the model before and after it.
    """
    tritree = candidates[0]
    X, y = data.numbers(n_training, 20, seed=run.seed)
    incomplete, _ = new_rows(run, n_rows=n_rows, missing=0.3)
    [own_fit] = fit_jobs([tritree], X, y, parameters, {}).values()
    name = f"{tritree.name}, fit"
    models = fitted(candidates, X, y, parameters)
    growth = run.time_growth(
        row, candidates, models, incomplete, parameters, beside={name: own_fit}, max_rounds=3
    )
    row.verdicts += compare(growth.first, [growth.timed[name]], goal, "first")
    others = [growth.timed[each.name] for each in candidates[1:]]
    row.verdicts += compare(growth.again, others, None, "again")
    return growth.first, growth.fitted, growth.grown


def file_sizes(row: Row, tritree: Candidate, before: Any, after: Any, goal: float | None) -> Row:
    """Return the row with the sizes of the saved model before and after its first prediction."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for model, when in ((before, "before"), (after, "after")):
            path = Path(folder, "model.tritree")
            model.save(path)
            sizes.append(Measurement(f"{tritree.name}, file {when}", (float(path.stat().st_size),), "B"))
    row.measurements += sizes
    row.verdicts += compare(sizes[1], sizes[:1], goal, "file after / before")
    return row


def one_row_missing(run: Run) -> Iterator[Row]:
    """Predict one row with a combination of missing values that the model has not seen; 100 trees."""
    works: tuple[tuple[Candidate, int, Parameters], ...] = (
        (TritreeBoosting(), 100_000, boosting_parameters(run)),
        (TritreeForest(), 20_000, forest_parameters(run)),
    )
    for tritree, n_rows, parameters in works:
        X, y = data.numbers(run.rows(n_rows), 20, seed=run.seed)
        model = tritree.fit(X, y, parameters)
        job = unseen_row_job(
            tritree, model, new_rows(run, missing=0.3)[0], parameters, 5 if run.quick else 10
        )
        timed = run.time({tritree.name: job}, max_rounds=3)
        row = Row("one-row-missing", f"1 x 20, 30 % missing, {tritree.name} fitted to {shape(X)}")
        [found] = timed.values()
        row.measurements.append(found)
        row.verdicts.append(Verdict("", 1e3 * found.median, ONE_ROW_MILLISECONDS, "ms", measured=found))
        row.notes.append(
            "Each call has another row and a copy of the model without third branches, the slowest case."
        )
        yield row


def unseen_row_job(
    tritree: Candidate, model: Any, rows: NDArray[np.float64], parameters: Parameters, calls: int
) -> Job:
    """Return the job of predicting one row, another one in each call, with a copy of the model that has not grown."""
    place = itertools.cycle(range(len(rows)))

    def prepare() -> tuple[Any, NDArray[np.float64]]:
        i = next(place)
        return copy.deepcopy(model), rows[i : i + 1]

    return Job(lambda state: tritree.predict(state[0], state[1], parameters), prepare, calls=calls)


def forest_fit_missing(run: Run) -> Iterator[Row]:
    """Fit forests of 100 trees of full depth on 20,000 x 20 numbers with 30 % of the cells missing."""
    X, y = data.numbers(run.rows(20_000), 20, seed=run.seed, missing=0.3)
    others, absent = run.others("RandomForest")
    candidates, models = [TritreeForest(), TritreeForest("mia"), *others], dict[str, Any]()
    parameters = forest_parameters(run)
    timed = run.time(fit_jobs(candidates, X, y, parameters, models), max_rounds=2)
    row = Row("forest-fit-missing", f"{shape(X)}, 30 % missing, 100 trees", notes=absent)
    new = new_rows(run, n_rows=2_000, missing=0.3)  # few, since new combinations grow third branches
    row.notes.append(r_squared(candidates, models, *new, parameters))
    yield with_verdicts(row, timed, 0.5, first_only=True)


def real_tables(run: Run) -> Iterator[Row]:
    """Predict the other half of a real table with missing values: time, memory and file size after growing."""
    others, absent = run.others("LightGBM")
    works: tuple[tuple[list[Candidate], Parameters, int | None, list[str]], ...] = (
        ([TritreeBoosting(), *others], boosting_parameters(run), None, absent),
        # scikit-learn's forest has no categories
        ([TritreeForest()], forest_parameters(run), MAX_FOREST_ROWS, []),
    )
    for path in (data.ADULT, data.AMES_HOUSING):
        table = data.real_table(path, every=10 if run.quick else 1)
        if table is None:
            yield Row("real-tables", path.name, notes=[data.skipped(path)])
            continue
        X, y = table
        half = np.random.default_rng(run.seed).permutation(len(y)) % 2 == 0
        X, y, other_half = X[half], y[half], data.with_missing(X[~half], 0.3, seed=run.seed)
        for candidates, parameters, max_rows, notes in works:
            tritree, rows = candidates[0], other_half[:max_rows]
            work = f"{path.name.partition('.')[0]}, {shape(rows)}, {tritree.name}"
            row = Row("real-tables", work, notes=list(notes))
            models = fitted(candidates, X, y, parameters)
            growth = run.time_growth(row, candidates, models, rows, parameters, max_rounds=3)
            for found, what in ((growth.first, "first"), (growth.again, "again")):
                row.verdicts.append(Verdict(what, found.median, None, "s", measured=found))
            row.notes.append(
                f"Missing in training: {fraction_missing(X):.1%} of the cells; in the rows to predict, where 30 % were "
                f"removed at random: {fraction_missing(rows):.1%}."
            )
            yield row
            sizes = file_sizes(
                Row("real-tables", f"{work}, size"), tritree, growth.fitted, growth.grown, None
            )
            yield run.add_growth_memory(sizes, tritree, X, y, rows, parameters)


def fraction_missing(table: Any) -> float:
    """Return the fraction of missing cells of a frame."""
    return float(table.isna().to_numpy().mean())


#: The benchmarks by name, in the order in which they run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "boosting-fit-missing": boosting_fit_missing,
    "boosting-first": boosting_first,
    "one-row-missing": one_row_missing,
    "forest-first": forest_first,
    "forest-fit-missing": forest_fit_missing,
    "real-tables": real_tables,
}
