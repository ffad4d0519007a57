"""The benchmarks of boosting and forests.

Fits take many seconds each, so there are few rounds of them, and what boosting-fit has fitted is what the benchmarks
after it predict with.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.measure import Job
from benchmarks.ours import Boosting, Forest
from benchmarks.peers import load
from benchmarks.results import Row, Verdict, compare
from benchmarks.run import judged, prediction_jobs, shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from benchmarks.contender import Contender, Settings
    from benchmarks.run import Run

__all__ = ["CASES"]

BOOSTING = ("LightGBM", "XGBoost", "HistGradientBoosting")
#: Rows that a fit of many seconds is warmed up with.
FEW = 1_000
#: Seconds that the first prediction of rows with holes may take on two threads.
FIRST_SECONDS = 20.0


def boosting_fit(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on 1,000,000 x 20 numbers without holes, learning rate 0.1, 255 bins."""
    X, y = boosting_table(run)
    peers, absent = load(*BOOSTING)
    contenders, settings = [Boosting(), *peers], boosting_settings(run)
    timed = run.time(fit_jobs(contenders, X, y, settings, run.boosted), most_rounds=3)
    row = Row("boosting-fit", f"{shape(X)}, 100 trees", notes=absent)
    row.notes.append(explained(run, contenders, run.boosted, settings))
    yield judged(row, timed, 1.2)


def boosting_predict(run: Run) -> Iterator[Row]:
    """Predict 1,000,000 complete rows with what boosting-fit fits."""
    X, y = boosting_table(run)
    peers, absent = load(*BOOSTING)
    contenders, settings = [Boosting(), *peers], boosting_settings(run)
    jobs = prediction_jobs(contenders, boosted(run, contenders, X, y), X, settings)
    yield judged(
        Row("boosting-predict", f"{shape(X)}, 100 trees", notes=absent), run.time(jobs, most_rounds=5), 1.0
    )


def boosting_holes(run: Run) -> Iterator[Row]:
    """Predict 100,000 rows with 30 % holes with what boosting-fit fits: growing on demand, and again when grown."""
    ours, settings = Boosting(), boosting_settings(run)
    holes, _ = data.numbers(run.rows(100_000), 20, seed=run.seed + 1, holes=0.3)
    peers, absent = load(*BOOSTING)
    models = dict(boosted(run, [ours, *peers], *boosting_table(run)))
    fitted = models[ours.name]  # stays as it is: what grows are copies
    models[ours.name] = grown = copy.deepcopy(fitted)
    jobs = prediction_jobs([ours, *peers], models, holes, settings)
    jobs = {"tritree boosting, grown": jobs.pop(ours.name)} | jobs
    jobs["tritree boosting, first time"] = Job(
        lambda model: model.predict(holes),
        prepare=lambda: copy.deepcopy(fitted),
        warm_up=lambda: copy.deepcopy(fitted).predict(holes[:1]),
    )
    timed = run.time(jobs, most_rounds=3)
    first, again = timed["tritree boosting, first time"], timed["tritree boosting, grown"]
    row = Row("boosting-holes", f"{shape(holes)}, 30 % holes, 100 trees", list(timed.values()), notes=absent)
    row.verdicts.append(Verdict("first", first.median, FIRST_SECONDS, "s", ours=first))
    row.verdicts += compare(again, [timed[name] for name in ("LightGBM",) if name in timed], 3.0, "again")
    row.notes.append(
        f"{fitted.n_nodes_:,} nodes when fitted, {grown.n_nodes_:,} after the first prediction; "
        f"cut short {grown.n_cut_short_:,} times."
    )
    if run.threads != 2:
        row.notes.append(f"The {FIRST_SECONDS:g} s are meant for two threads; here were {run.threads}.")
    yield row


def boosting_memory(run: Run) -> Iterator[Row]:
    """Measure the peak resident memory of boosting-fit above the table itself, each fit in a fresh process."""
    X, y = boosting_table(run)
    peers, absent = load("LightGBM")
    row = Row("boosting-memory", f"{shape(X)}, {X.nbytes / 2**20:,.0f} MiB, 100 trees", notes=absent)
    yield run.compare_memory(row, X, y, [Boosting(), *peers], boosting_settings(run), reach=1.2)


def forest_fit(run: Run) -> Iterator[Row]:
    """Grow a forest of 100 trees of full depth on 100,000 x 20 numbers, with all columns and with a third of them."""
    X, y = data.numbers(run.rows(100_000), 20, seed=run.seed)
    peers, absent = load("RandomForest")
    for features, name in ((1.0, "all columns"), (1 / 3, "a third of the columns")):
        settings = run.settings(trees=100, leaf=1, features=features)
        contenders, models = [Forest(), *peers], dict[str, Any]()
        timed = run.time(fit_jobs(contenders, X, y, settings, models), most_rounds=2)
        row = Row("forest-fit", f"{shape(X)}, 100 trees, {name} for a split", notes=list(absent))
        row.notes.append(explained(run, contenders, models, settings))
        yield judged(row, timed, 0.5)


def boosting_table(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the table that all benchmarks of boosting fit."""
    return data.numbers(run.rows(1_000_000), 20, seed=run.seed)


def boosting_settings(run: Run) -> Settings:
    """Return what boosting is asked to do."""
    return run.settings(trees=100, rate=0.1)


def fit_jobs(
    contenders: Iterable[Contender], X: Any, y: Any, settings: Settings, models: dict[str, Any]
) -> dict[str, Job]:
    """Return per contender the job of fitting, which leaves its last model in ``models``."""

    def job(contender: Contender) -> Job:
        def forget() -> None:  # so that the clock does not run while the model before is let go
            models.pop(contender.name, None)

        def fit(_: None) -> None:
            models[contender.name] = contender.fit(X, y, settings)

        return Job(fit, forget, warm_up=lambda: contender.fit(X[:FEW].copy(), y[:FEW].copy(), settings))

    return {contender.name: job(contender) for contender in contenders}


def boosted(run: Run, contenders: Iterable[Contender], X: Any, y: Any) -> dict[str, Any]:
    """Return the contenders' models of the table: those of boosting-fit if it was run, and fitted here if not."""
    for contender in contenders:
        if contender.name not in run.boosted:
            run.boosted[contender.name] = contender.fit(X, y, boosting_settings(run))
    return run.boosted


def explained(run: Run, contenders: Iterable[Contender], models: dict[str, Any], settings: Settings) -> str:
    """Return the share of the variance of other rows that each model explains: the work is to be the same."""
    X, y = data.numbers(10_000, 20, seed=run.seed + 1)
    left = {
        each.name: np.square(y - each.predict(models[each.name], X, settings)).mean() for each in contenders
    }
    shares = ", ".join(f"{name} {1 - loss / y.var():.3f}" for name, loss in left.items())
    return f"R² of 10,000 other rows: {shares}."


#: The benchmarks by their names, in the order they are run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "boosting-fit": boosting_fit,
    "boosting-predict": boosting_predict,
    "boosting-holes": boosting_holes,
    "boosting-memory": boosting_memory,
    "forest-fit": forest_fit,
}
