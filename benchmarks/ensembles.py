"""The benchmarks of boosting and forests.

A fit takes many seconds, so there are few rounds, and later benchmarks predict with the models of boosting-fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.libraries import TritreeBoosting, TritreeForest, TritreeTree
from benchmarks.results import Row, Verdict, compare
from benchmarks.run import prediction_jobs, shape, with_verdicts
from benchmarks.timing import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from benchmarks.libraries import Candidate, Parameters
    from benchmarks.results import Measurement
    from benchmarks.run import Run

__all__ = [
    "BOOSTING",
    "CASES",
    "boosting_parameters",
    "boosting_table",
    "fit_jobs",
    "forest_parameters",
    "lightgbm",
    "new_rows",
    "r_squared",
]

BOOSTING = ("LightGBM", "XGBoost", "HistGradientBoosting")
#: Rows of the fit that warms up.
WARM_UP_ROWS = 1_000
#: Goal in seconds for the first prediction of rows with missing values, on two threads.
FIRST_SECONDS = 20.0


def boosting_fit(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on 1,000,000 x 20 numbers without missing values, learning rate 0.1, 255 bins."""
    X, y = boosting_table(run)
    others, absent = run.others(*BOOSTING)
    candidates, parameters = [TritreeBoosting(), *others], boosting_parameters(run)
    timed = run.time(fit_jobs(candidates, X, y, parameters, run.boosted), max_rounds=3)
    row = Row("boosting-fit", f"{shape(X)}, 100 trees", notes=absent)
    row.notes.append(r_squared(candidates, run.boosted, *new_rows(run), parameters))
    yield with_verdicts(row, timed, 1.2)


def boosting_predict(run: Run) -> Iterator[Row]:
    """Predict 1,000,000 complete rows with the models of boosting-fit."""
    X, y = boosting_table(run)
    others, absent = run.others(*BOOSTING)
    candidates, parameters = [TritreeBoosting(), *others], boosting_parameters(run)
    jobs = prediction_jobs(candidates, boosted(run, candidates, X, y), X, parameters)
    yield with_verdicts(
        Row("boosting-predict", f"{shape(X)}, 100 trees", notes=absent), run.time(jobs, max_rounds=5), 1.0
    )


def boosting_missing(run: Run) -> Iterator[Row]:
    """Predict 100,000 rows, 30 % missing, with the models of boosting-fit: with growth on demand, and again."""
    incomplete, _ = data.numbers(run.rows(100_000), 20, seed=run.seed + 1, missing=0.3)
    others, absent = run.others(*BOOSTING)
    candidates, parameters = [TritreeBoosting(), *others], boosting_parameters(run)
    models = boosted(run, candidates, *boosting_table(run))
    row = Row("boosting-missing", f"{shape(incomplete)}, 30 % missing, 100 trees", notes=absent)
    growth = run.time_growth(row, candidates, models, incomplete, parameters, max_rounds=3)
    row.verdicts.append(Verdict("first", growth.first.median, FIRST_SECONDS, "s", measured=growth.first))
    row.verdicts += compare(growth.again, lightgbm(growth.timed), 3.0, "again")
    if run.n_threads != 2:
        row.notes.append(f"The goal of {FIRST_SECONDS:g} s is for two threads; this run had {run.n_threads}.")
    yield row


def boosting_memory(run: Run) -> Iterator[Row]:
    """Measure the peak memory of boosting-fit above that of the table, also with 30 % missing, in fresh processes."""
    others, absent = run.others("LightGBM")
    for missing, name in ((0.0, ""), (0.3, "30 % missing, ")):
        X, y = boosting_table(run, missing)
        work = f"{shape(X)}, {X.nbytes / 2**20:,.0f} MiB, {name}100 trees"
        row = Row("boosting-memory", work, notes=list(absent))
        yield run.compare_memory(row, X, y, [TritreeBoosting(), *others], boosting_parameters(run), goal=1.2)


def forest_fit(run: Run) -> Iterator[Row]:
    """Fit forests of 100 trees of full depth on 100,000 x 20 numbers; max_features is 1.0 or 1/3."""
    X, y = data.numbers(run.rows(100_000), 20, seed=run.seed)
    others, absent = run.others("RandomForest")
    for features, name in ((1.0, "all columns"), (1 / 3, "a third of the columns")):
        parameters = forest_parameters(run, features)
        candidates, models = [TritreeForest(), *others], dict[str, Any]()
        timed = run.time(fit_jobs(candidates, X, y, parameters, models), max_rounds=2)
        row = Row("forest-fit", f"{shape(X)}, 100 trees, {name} per split", notes=list(absent))
        row.notes.append(r_squared(candidates, models, *new_rows(run), parameters))
        yield with_verdicts(row, timed, 0.5)


def categories_boosting(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on 200,000 rows of three columns of 5,000 categories each."""
    n = run.rows(200_000)
    X, y = data.categories(n + 10_000, 5_000, seed=run.seed, n_columns=3)
    others, absent = run.others("LightGBM")
    candidates, parameters, models = (
        [TritreeBoosting(), *others],
        boosting_parameters(run),
        dict[str, Any](),
    )
    timed = run.time(fit_jobs(candidates, X[:n], y[:n], parameters, models), max_rounds=3)
    row = Row("categories-boosting", f"{shape(X[:n])}, 5,000 categories each, 100 trees", notes=absent)
    row.notes.append(r_squared(candidates, models, X[n:], y[n:], parameters))
    yield with_verdicts(row, timed, 1.0)


def fit_wide(run: Run) -> Iterator[Row]:
    """Fit one tree and boost 10 on 20,000 x 1,000 and 5,000 x 5,000 numbers, depth 6, 255 bins."""
    others, absent = run.others("LightGBM")
    works: tuple[tuple[Candidate, Parameters, str, int], ...] = (
        (TritreeTree(), run.parameters(), "one tree", 5),
        (TritreeBoosting(), run.parameters(n_trees=10, learning_rate=0.1), "10 trees", 3),
    )
    for n_rows, n_columns in ((20_000, 1_000), (5_000, 5_000)):
        X, y = data.numbers(run.rows(n_rows), n_columns, seed=run.seed)
        new = new_rows(run, n_rows=2_000, n_columns=n_columns)
        for tritree, parameters, name, max_rounds in works:
            candidates, models = [tritree, *others], dict[str, Any]()
            timed = run.time(fit_jobs(candidates, X, y, parameters, models), max_rounds)
            row = Row("fit-wide", f"{shape(X)}, {name}", notes=list(absent))
            row.notes.append(r_squared(candidates, models, *new, parameters))
            yield with_verdicts(row, timed, 0.7)


def boosting_table(run: Run, missing: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the large table of the boosting benchmarks, a fraction ``missing`` of its cells missing."""
    return data.numbers(run.rows(1_000_000), 20, seed=run.seed, missing=missing)


def new_rows(
    run: Run, *, n_rows: int = 10_000, n_columns: int = 20, missing: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows like those of `data.numbers` that are not used for training."""
    return data.numbers(n_rows, n_columns, seed=run.seed + 1, missing=missing)


def boosting_parameters(run: Run) -> Parameters:
    """Return the hyperparameters of boosting."""
    return run.parameters(n_trees=100, learning_rate=0.1)


def forest_parameters(run: Run, max_features: float = 1.0) -> Parameters:
    """Return the hyperparameters of forests."""
    return run.parameters(n_trees=100, min_samples_leaf=1, max_features=max_features)


def lightgbm(timed: dict[str, Measurement]) -> list[Measurement]:
    """Return the measurement of LightGBM; empty without it."""
    return [timed[name] for name in ("LightGBM",) if name in timed]


def fit_jobs(
    candidates: Iterable[Candidate], X: Any, y: Any, parameters: Parameters, models: dict[str, Any]
) -> dict[str, Job]:
    """Return the fitting jobs by candidate; each stores its last model in ``models``."""

    def job(candidate: Candidate) -> Job:
        def forget() -> None:  # the previous model is freed before the clock starts
            models.pop(candidate.name, None)

        def fit(_: None) -> None:
            models[candidate.name] = candidate.fit(X, y, parameters)

        return Job(
            fit,
            forget,
            warm_up=lambda: candidate.fit(X[:WARM_UP_ROWS].copy(), y[:WARM_UP_ROWS].copy(), parameters),
        )

    return {candidate.name: job(candidate) for candidate in candidates}


def boosted(run: Run, candidates: Iterable[Candidate], X: Any, y: Any) -> dict[str, Any]:
    """Return the models by candidate: those of boosting-fit if it was run, otherwise fitted here."""
    for candidate in candidates:
        if candidate.name not in run.boosted:
            run.boosted[candidate.name] = candidate.fit(X, y, boosting_parameters(run))
    return run.boosted


def r_squared(
    candidates: Iterable[Candidate], models: dict[str, Any], X: Any, y: Any, parameters: Parameters
) -> str:
    """Return R² of each model on rows not used for training, which shows that all did the same work."""
    losses = {
        each.name: np.square(y - each.predict(models[each.name], X, parameters)).mean() for each in candidates
    }
    scores = ", ".join(f"{name} {1 - loss / y.var():.3f}" for name, loss in losses.items())
    return f"R² on {len(y):,} new rows: {scores}."


#: The benchmarks by name, in the order in which they run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "boosting-fit": boosting_fit,
    "boosting-predict": boosting_predict,
    "boosting-missing": boosting_missing,
    "boosting-memory": boosting_memory,
    "forest-fit": forest_fit,
    "categories-boosting": categories_boosting,
    "fit-wide": fit_wide,
}
