"""The benchmarks of boosting and forests.

A fit takes many seconds, so there are few rounds, and later benchmarks predict with the models of boosting-fit.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.libraries import TritreeBoosting, TritreeForest
from benchmarks.results import Row, Verdict, compare
from benchmarks.run import prediction_jobs, shape, with_verdicts
from benchmarks.timing import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from benchmarks.libraries import Candidate, Parameters
    from benchmarks.run import Run

__all__ = ["CASES"]

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
    row.notes.append(r_squared(run, candidates, run.boosted, parameters))
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
    tritree, parameters = TritreeBoosting(), boosting_parameters(run)
    incomplete, _ = data.numbers(run.rows(100_000), 20, seed=run.seed + 1, missing=0.3)
    others, absent = run.others(*BOOSTING)
    models = dict(boosted(run, [tritree, *others], *boosting_table(run)))
    fitted = models[tritree.name]  # never grows: predictions use copies
    models[tritree.name] = grown = copy.deepcopy(fitted)
    jobs = prediction_jobs([tritree, *others], models, incomplete, parameters)
    jobs = {"tritree boosting, grown": jobs.pop(tritree.name)} | jobs
    jobs["tritree boosting, first time"] = Job(
        lambda model: model.predict(incomplete),
        prepare=lambda: copy.deepcopy(fitted),
        warm_up=lambda: copy.deepcopy(fitted).predict(incomplete[:1]),
    )
    timed = run.time(jobs, max_rounds=3)
    first, again = timed["tritree boosting, first time"], timed["tritree boosting, grown"]
    row = Row(
        "boosting-missing",
        f"{shape(incomplete)}, 30 % missing, 100 trees",
        list(timed.values()),
        notes=absent,
    )
    row.verdicts.append(Verdict("first", first.median, FIRST_SECONDS, "s", measured=first))
    row.verdicts += compare(again, [timed[name] for name in ("LightGBM",) if name in timed], 3.0, "again")
    row.notes.append(f"{fitted.n_nodes_:,} nodes when fitted, {grown.n_nodes_:,} after the first prediction.")
    if run.n_threads != 2:
        row.notes.append(f"The goal of {FIRST_SECONDS:g} s is for two threads; this run had {run.n_threads}.")
    yield row


def boosting_memory(run: Run) -> Iterator[Row]:
    """Measure the peak resident memory of boosting-fit above that of the table, each fit in a fresh process."""
    X, y = boosting_table(run)
    others, absent = run.others("LightGBM")
    row = Row("boosting-memory", f"{shape(X)}, {X.nbytes / 2**20:,.0f} MiB, 100 trees", notes=absent)
    yield run.compare_memory(row, X, y, [TritreeBoosting(), *others], boosting_parameters(run), goal=1.2)


def forest_fit(run: Run) -> Iterator[Row]:
    """Fit forests of 100 trees of full depth on 100,000 x 20 numbers; max_features is 1.0 or 1/3."""
    X, y = data.numbers(run.rows(100_000), 20, seed=run.seed)
    others, absent = run.others("RandomForest")
    for features, name in ((1.0, "all columns"), (1 / 3, "a third of the columns")):
        parameters = run.parameters(n_trees=100, min_samples_leaf=1, max_features=features)
        candidates, models = [TritreeForest(), *others], dict[str, Any]()
        timed = run.time(fit_jobs(candidates, X, y, parameters, models), max_rounds=2)
        row = Row("forest-fit", f"{shape(X)}, 100 trees, {name} per split", notes=list(absent))
        row.notes.append(r_squared(run, candidates, models, parameters))
        yield with_verdicts(row, timed, 0.5)


def boosting_table(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the table of all boosting benchmarks."""
    return data.numbers(run.rows(1_000_000), 20, seed=run.seed)


def boosting_parameters(run: Run) -> Parameters:
    """Return the hyperparameters of boosting."""
    return run.parameters(n_trees=100, learning_rate=0.1)


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
    run: Run, candidates: Iterable[Candidate], models: dict[str, Any], parameters: Parameters
) -> str:
    """Return R² of each model on rows not used for training, which shows that all did the same work."""
    X, y = data.numbers(10_000, 20, seed=run.seed + 1)
    losses = {
        each.name: np.square(y - each.predict(models[each.name], X, parameters)).mean() for each in candidates
    }
    scores = ", ".join(f"{name} {1 - loss / y.var():.3f}" for name, loss in losses.items())
    return f"R² on 10,000 new rows: {scores}."


#: The benchmarks by name, in the order in which they run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "boosting-fit": boosting_fit,
    "boosting-predict": boosting_predict,
    "boosting-missing": boosting_missing,
    "boosting-memory": boosting_memory,
    "forest-fit": forest_fit,
}
