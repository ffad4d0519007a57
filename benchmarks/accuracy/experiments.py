"""The experiments: data sets, scenarios, mechanisms, rates, methods, folds and seeds, and how they are run."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.data import GROUPS
from benchmarks.accuracy.methods import LIBRARIES, Hyperparameters, methods
from benchmarks.accuracy.treatments import TREATMENTS
from tritree.lab import Experiment, Folds, in_both, in_test, shifted
from tritree.lab.experiment import FailedTrialsWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritree.lab import Dataset
    from tritree.lab.scenarios import Scenario

__all__ = [
    "MECHANISMS",
    "QUICK_DATASETS",
    "RATES",
    "SCENARIOS",
    "Design",
    "Grid",
    "Outcome",
    "experiments",
    "make_scenario",
    "quick",
    "run",
    "split_name",
]

#: Values are missing in the test only, in training and test alike, or by different mechanisms.
SCENARIOS = ("test only", "both", "shift")
#: Missingness mechanisms of the test data.
MECHANISMS = ("mcar", "mar", "mnar", "im")
RATES = (0.1, 0.3, 0.5)
#: Few enough for a few minutes, with regression, two and three classes, categories, and original missing values.
QUICK_DATASETS = ("auto_mpg", "boston_housing", "cement", "titanic", "seeds", "horse_colic")

_SEPARATOR = ": "  # of scenario and mechanism in a name


@dataclass(frozen=True)
class Grid:
    """All combinations of these scenarios, mechanisms and rates."""

    scenarios: tuple[str, ...] = SCENARIOS
    mechanisms: tuple[str, ...] = MECHANISMS
    rates: tuple[float, ...] = RATES


@dataclass(frozen=True)
class Design:
    """The design of a run: what is combined with what."""

    datasets: tuple[str, ...] = GROUPS["development"]
    grids: tuple[Grid, ...] = (Grid(),)
    libraries: tuple[str, ...] = tuple(LIBRARIES)
    treatments: tuple[str, ...] = tuple(TREATMENTS)
    folds: int = 3
    seeds: int = 1
    parameters: Hyperparameters = Hyperparameters()  # noqa: RUF009 - immutable
    #: Maximum number of rows of a data set; larger ones are sampled.
    rows: int = 2_000


def quick() -> Design:
    """Return a design that takes a few minutes."""
    return Design(
        datasets=QUICK_DATASETS,
        libraries=tuple(name for name in LIBRARIES if name != "Deep forest"),  # a third of the time
        grids=(
            Grid(("test only",), ("mcar",), (0.5,)),
            Grid(("both",), ("mcar",), (0.3,)),
            Grid(("shift",), ("mnar",), (0.3,)),
        ),
    )


def make_scenario(scenario: str, mechanism: str) -> Scenario:
    """Return the scenario in which values of the test data go missing by a mechanism.

    In "shift", values of the training data go missing completely at random, or by their own value if those of the test
    do so completely at random.

    Examples
    --------
    >>> make_scenario("shift", "im").to_dict()["training"]["mechanism"], make_scenario("shift", "mcar").name
    ('mcar', 'shift: mcar')
    """
    name = f"{scenario}{_SEPARATOR}{mechanism}"
    if scenario == "test only":
        return in_test(mechanism, name=name)
    if scenario == "both":
        return in_both(mechanism, name=name)
    if scenario == "shift":
        return shifted("mnar" if mechanism == "mcar" else "mcar", mechanism, name=name)
    raise ValueError(f"unknown scenario {scenario!r}; choose from {', '.join(SCENARIOS)}")


def split_name(name: str) -> tuple[str, str]:
    """Return scenario and mechanism.

    Examples
    --------
    >>> split_name("test only: mcar")
    ('test only', 'mcar')
    """
    scenario, _, mechanism = name.partition(_SEPARATOR)
    return scenario, mechanism


def experiments(design: Design, datasets: Sequence[Dataset], store: Any) -> Iterator[Experiment]:
    """Yield the experiments, one data set after the other: an interrupted run has finished some data sets."""
    for dataset in datasets:
        by_name = methods(dataset.task, design.libraries, design.treatments, design.parameters)
        for grid in design.grids:
            yield Experiment(
                datasets=[dataset],
                scenarios=[make_scenario(name, how) for name in grid.scenarios for how in grid.mechanisms],
                rates=grid.rates,
                methods=by_name,
                seeds=design.seeds,
                max_depth=design.parameters.max_depth,
                folds=Folds(design.folds),
                store=store,
            )


@dataclass
class Outcome:
    """The results so far, one line per fold, and notes on what is missing."""

    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: list[str] = field(default_factory=list)
    finished: bool = True


def run(
    design: Design, datasets: Sequence[Dataset], store: Any, *, jobs: int, progress: bool | None
) -> Outcome:
    """Return the results of a design, stored ones included; after Ctrl-C, those of the finished data sets."""
    outcome, tables, current = Outcome(), [], ""
    try:
        for experiment in experiments(design, datasets, store):
            if (name := experiment.datasets[0].name) != current:
                current = name
                print(name, file=sys.stderr, flush=True)
            with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
                warnings.simplefilter("always", UserWarning)
                table = experiment.run(jobs, progress=progress)
            outcome.notes += [
                str(w.message) for w in caught if issubclass(w.category, FailedTrialsWarning)
            ] + list(_failures(experiment, table))
            table.attrs = {}  # pandas would compare and copy them at every step
            tables.append(table)
    except KeyboardInterrupt:
        outcome.finished = False
    if tables:
        outcome.results = pd.concat(tables, ignore_index=True).drop_duplicates(
            ["dataset", "scenario", "rate", "method", "seed", "fold"], ignore_index=True
        )
    return outcome


def _failures(experiment: Experiment, table: pd.DataFrame) -> Iterator[str]:
    """Yield a note for each method that failed in some trials."""
    n_trials = len(experiment.scenarios) * len(experiment.rates) * len(list(experiment.seeds))  # type: ignore[arg-type]
    trials = table[["scenario", "rate", "seed", "method"]].drop_duplicates()["method"].value_counts()
    for method in experiment.methods:
        if n_failed := n_trials - int(trials.get(method, 0)):
            yield f"{method} on {experiment.datasets[0].name}: {n_failed} of {n_trials} trials failed."
