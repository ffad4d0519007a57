"""The design of a run, data sets, settings, methods, folds and seeds, and how its trials are run."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.data import GROUPS
from benchmarks.accuracy.methods import GRAFT, LIBRARIES, Hyperparameters, methods
from benchmarks.accuracy.treatments import TREATMENTS
from tritree.lab import Folds, Scenario, in_both, in_test, shifted
from tritree.lab.store import Store, StoreError
from tritree.lab.trial import Trial, clear_caches, run_trial
from tritree.progress import bar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from tritree.lab import Dataset

__all__ = [
    "AS_IT_IS",
    "MECHANISMS",
    "QUICK_DATASETS",
    "RATES",
    "SCENARIOS",
    "Design",
    "Grid",
    "Outcome",
    "make_scenario",
    "quick",
    "run",
    "split_name",
    "trials_of",
]

#: The setting in which no values are removed: only the table's own are missing.
AS_IT_IS = "as it is"
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


#: The settings of a full run, beside the table as it is.
SETTINGS = (
    Grid(("test only",), ("mcar",), (0.1, 0.3, 0.5)),
    Grid(("test only",), ("mar", "mnar", "im"), (0.3,)),
    Grid(("both",), ("mcar", "mnar"), (0.3,)),
    Grid(("shift",), MECHANISMS, (0.3,)),
)


@dataclass(frozen=True)
class Design:
    """The design of a run: what is combined with what. Each seed draws other folds and removes other values."""

    datasets: tuple[str, ...] = GROUPS["development"]
    grids: tuple[Grid, ...] = SETTINGS
    libraries: tuple[str, ...] = tuple(LIBRARIES)
    treatments: tuple[str, ...] = (*TREATMENTS, GRAFT)
    folds: int = 3
    seeds: int = 2
    parameters: Hyperparameters = Hyperparameters()  # noqa: RUF009 - immutable
    #: Maximum number of rows of a data set; larger ones are sampled.
    rows: int = 1_500

    def settings(self) -> list[tuple[Scenario, float]]:
        """Return scenarios with their rates, each once; the first is the table as it is."""
        found = dict.fromkeys(
            (make_scenario(scenario, mechanism), rate)
            for grid in self.grids
            for scenario, mechanism, rate in product(grid.scenarios, grid.mechanisms, grid.rates)
        )
        return [(Scenario(AS_IT_IS, None, None), 0.0), *found]


def quick() -> Design:
    """Return a design that takes a few minutes."""
    return Design(
        datasets=QUICK_DATASETS,
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
    >>> split_name("test only: mcar"), split_name("as it is")
    (('test only', 'mcar'), ('as it is', 'none'))
    """
    scenario, _, mechanism = name.partition(_SEPARATOR)
    return scenario, mechanism or "none"


def trials_of(design: Design, dataset: Dataset, seed: int) -> list[Trial]:
    """Return the trials of a data set and seed; those that share a fitted method are neighbours."""
    by_name = methods(dataset.task, design.libraries, design.treatments, design.parameters)
    settings = design.settings()
    made = [
        Trial(
            dataset=dataset.name,
            fingerprint=dataset.fingerprint,
            task=dataset.task,
            scenario=scenario,
            rate=rate,
            method=name,
            estimator=estimator,
            seed=seed,
            folds=Folds(design.folds, Folds().seed + seed),
        )
        for name, estimator in by_name.items()
        for scenario, rate in settings
    ]
    order = {key: i for i, key in enumerate(dict.fromkeys((trial.method, trial.training) for trial in made))}
    return sorted(made, key=lambda trial: order[trial.method, trial.training])


@dataclass
class Outcome:
    """The results so far, one line per fold, and notes on what is missing."""

    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: list[str] = field(default_factory=list)
    finished: bool = True


@dataclass
class _Unit:
    """The trials of a data set and seed, which run one after the other, because they share fitted methods."""

    dataset: Dataset
    seed: int
    trials: list[Trial]
    #: Messages of failed trials by method.
    failed: dict[str, list[str]] = field(default_factory=dict)

    @property
    def n_cells(self) -> int:
        return int(self.dataset.X.size)

    def notes(self) -> Iterator[str]:
        """Yield a note for each method that failed in some trials."""
        n_trials = len(self.trials) // len({trial.method for trial in self.trials})
        for method, messages in self.failed.items():
            where = f"{method} on {self.dataset.name}, seed {self.seed}"
            yield f"{where}: {len(messages)} of {n_trials} trials failed ({messages[0]})."


def run(
    design: Design, datasets: Sequence[Dataset], store: Any, *, jobs: int, progress: bool | None
) -> Outcome:
    """Return the results of a design, stored ones included; after Ctrl-C, those of the finished data sets and seeds."""
    units = [
        _Unit(dataset, seed, trials_of(design, dataset, seed))
        for dataset, seed in product(datasets, range(design.seeds))
    ]
    shown = sys.stderr.isatty() if progress is None else progress
    done: set[tuple[str, int]] = set()
    outcome = Outcome()
    with ExitStack() as stack:
        if store is None:
            store = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store.sqlite"
        advance = stack.enter_context(bar(len(units), "data sets and seeds", shown=shown))
        try:
            for unit in stack.enter_context(closing(_finished(units, store, jobs))):
                done.add((unit.dataset.name, unit.seed))
                outcome.notes += unit.notes()
                advance()
        except KeyboardInterrupt:
            outcome.finished = False
        outcome.results = _as_table([one for one in units if (one.dataset.name, one.seed) in done], store)
    return outcome


def _finished(units: Iterable[_Unit], store: Any, jobs: int) -> Generator[_Unit]:
    """Yield units as they finish; the largest run first, so that no processor is idle for long at the end."""
    with Store(store) as opened:
        stored = opened.keys()
    waiting = []
    for unit in units:
        left = [trial for trial in unit.trials if trial.key not in stored]
        if left:
            waiting.append((unit, left))
        else:
            yield unit
    waiting.sort(key=lambda item: -item[0].n_cells)
    tasks = (joblib.delayed(_run_unit)(unit, left, store) for unit, left in waiting)
    yield from joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=jobs)(tasks)


def _run_unit(unit: _Unit, trials: Iterable[Trial], store: Any) -> _Unit:
    """Return the unit after its trials; each is stored when it is finished, and the others go on if one fails."""
    begin = time.perf_counter()
    with Store(store) as opened, threadpool_limits(1), warnings.catch_warnings(), ExitStack() as stack:
        stack.callback(clear_caches)
        warnings.simplefilter("ignore")  # every fold would repeat them
        for trial in trials:
            try:
                opened.put(trial.key, trial.description(), run_trial(trial, unit.dataset))
            except StoreError:
                raise
            except Exception as error:
                message = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
                unit.failed.setdefault(trial.method, []).append(message)
    seconds = time.perf_counter() - begin
    print(f"{unit.dataset.name}, seed {unit.seed}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return unit


def _as_table(units: Iterable[_Unit], store: Any) -> pd.DataFrame:
    """Return the stored results of the units, one line per fold.

    Trials with the same training data share fitted methods: all of them have the seconds of the fit.
    """
    with Store(store) as opened:
        lines = [
            {
                "dataset": trial.dataset,
                "scenario": trial.scenario.name,
                "rate": trial.rate,
                "method": trial.method,
                "seed": trial.seed,
                "training": repr(trial.training),
            }
            | {name: part for name, part in asdict(result).items() if name != "metrics"}
            | result.metrics
            for unit in units
            for trial in unit.trials
            for result in opened.get(trial.key)
        ]
    if not lines:
        return pd.DataFrame()
    table = pd.DataFrame(lines)
    fits = table.groupby(["dataset", "method", "seed", "training", "fold"])["fit_seconds"]
    return table.assign(fit_seconds=fits.transform("max")).drop(columns="training")
