"""Experiments: cross-validation of every combination of data set, scenario, missing rate, method and seed."""

from __future__ import annotations

import math
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import astuple, dataclass, field
from itertools import islice, product
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import joblib
import numpy as np
import pandas as pd

from tritree.inspection.formatting import count
from tritree.lab.ampute import MECHANISMS
from tritree.lab.dataset import Dataset
from tritree.lab.identity import package_versions
from tritree.lab.methods import DEFAULT_DEPTH, TREE_CLASSES, Methods, size_parameters
from tritree.lab.scenarios import Scenario, in_both, in_test
from tritree.lab.store import Store
from tritree.lab.trial import TUNED, Folds, Trial, clear_caches, run_trial, tune_depths
from tritree.metrics import METRICS
from tritree.progress import bar
from tritree.validation import STRATEGIES, check_int

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tritree.lab.store import FoldResult

#: Default missing rates.
RATES = tuple(round(0.1 * i, 1) for i in range(10))

_TEST_SUFFIX = "_test"  # of the names of scenarios with missing values in the test only
_LOCAL_BACKENDS = ("LokyBackend", "ThreadingBackend", "MultiprocessingBackend", "SequentialBackend")
_BATCH = 4  # trials per worker, for backends that return results all at once


class FailedTrialsWarning(UserWarning):
    """Trials that failed and are left out of the results.

    Attributes
    ----------
    failed : list of (Trial, str)
        The trials with the messages of their errors.
    """

    def __init__(self, failed: list[tuple[Trial, str]]) -> None:
        super().__init__(failed)
        self.failed = failed

    def __str__(self) -> str:
        trial, reason = self.failed[0]
        n = len(self.failed)
        where = f"{trial.method} on {trial.dataset}, {trial.scenario.name} at {trial.rate:.0%}"
        more = f", and {n - 1:,} more" if n > 1 else ""
        verb = "is" if n == 1 else "are"
        return f"{count(n, 'trial')} failed and {verb} left out: {where} ({reason}){more}"


@dataclass
class Experiment:
    """Comparison of methods on data sets with missing values.

    Parameters
    ----------
    datasets : Dataset or sequence of them
        Data sets with distinct names; see `Dataset`.
    scenarios : Scenario, str or sequence of these, default=mcar in training and test, mcar in test only
        Where and how values go missing; see `in_both`, `in_test` and `shifted`. "mcar" is short for
        ``in_both("mcar")``, "mcar_test" for ``in_test("mcar")``, and so on for the other mechanisms.
    rates : float or sequence of float
        Missing rates. 0 is always added: the excess loss is relative to it.
    methods : mapping or sequence of str, default=the six strategies
        Models of tritree and scikit-learn estimators by name. "mia" is a single tree with that strategy, "forest:mia" a
        forest, "boosting:mia" gradient boosting; "forest" and "boosting" alone have their default strategy;
        "complete_case" in place of a strategy is fitted to complete rows only; "boosting + 4 masked copies" is
        boosting with ``masked_copies=4``. "lightgbm", "xgboost", "catboost" and "hist" (HistGradientBoosting of
        scikit-learn) have the defaults of these libraries; "constant" predicts the mean or the class fractions. These
        may be passed as a list of names.
    seeds : int or sequence of int, default=1
        Number of repetitions of the amputation, or its seeds.
    max_depth : "tuned", int, None or mapping from data set to one of these, default="tuned"
        Maximum depth of the trees. "tuned" is the depth at which a majority tree on the complete data set stops
        improving, at most 5, as in the paper; forests and boosting then keep their default.
    folds : Folds or int
        Cross-validation, or its number of folds; 10 by default.
    options : dict
        Further parameters of trees, forests and boosting, such as ``min_samples_leaf`` or ``learning_rate``; each is
        passed to the models that have it. ``trees`` is the number of trees of forests, and of boosting iterations.
    store : str, path-like or None, default=None
        SQLite file for the results of finished trials, from which an interrupted experiment continues. If None, they
        are kept in memory. Results of other versions of tritree, or of an estimator's package, are not reused.
    """

    # parameters with several accepted forms are normalised in __post_init__
    datasets: Any
    scenarios: Any = field(default_factory=lambda: (in_both("mcar"), in_test("mcar")))
    rates: Any = RATES
    methods: Any = STRATEGIES
    seeds: int | Sequence[int] = 1
    max_depth: Any = TUNED
    folds: Any = field(default_factory=Folds)
    options: Mapping[str, Any] = field(default_factory=dict)
    store: Any = None
    #: Regressor and classifier of single trees; the reproduction of the paper has others.
    _tree_classes: ClassVar[tuple[Any, Any]] = TREE_CLASSES

    def __post_init__(self) -> None:
        self.rates, self.seeds = _as_rates(self.rates), _as_seeds(self.seeds)
        self.datasets = _as_datasets(self.datasets)
        self.scenarios = [_as_scenario(one) for one in _as_list("scenarios", self.scenarios, (Scenario, str))]
        self.methods = _as_methods(self.methods)
        self.folds = self.folds if isinstance(self.folds, Folds) else Folds(self.folds)
        names = [dataset.name for dataset in self.datasets]
        _check_unique("data sets are called", "rename", names)
        remedy = "give in_both, in_test or shifted a name= for"
        _check_unique("scenarios are called", remedy, [scenario.name for scenario in self.scenarios])
        _check_unique("seeds are", "leave out", self.seeds)
        for scenario, dataset in product(self.scenarios, self.datasets):
            scenario.check(dataset)
        self._methods = Methods(self.methods, tree_classes=self._tree_classes, **self.options)
        by_name = (
            self.max_depth if isinstance(self.max_depth, Mapping) else dict.fromkeys(names, self.max_depth)
        )
        self._specified_depths = {name: _as_depth(by_name.get(name, TUNED)) for name in names}
        #: Maximum depth of single trees by data set; known after `run`.
        self.depths: dict[str, int | None] = {}

    def run(self, n_jobs: int | None = -1, *, progress: bool | None = None) -> pd.DataFrame:
        """Run the trials that are not in the store, and return all results.

        Parameters
        ----------
        n_jobs : int or None, default=-1
            Number of trials run in parallel by joblib, each on one thread: -1 uses all cores, None one. Within a
            ``joblib.parallel_config`` for Dask or Ray, trials are spread over a cluster.
        progress : bool or None, default=None
            Whether to show a progress bar; if None, on a terminal only.

        Returns
        -------
        pandas.DataFrame
            One line per data set, scenario, rate, method, seed and fold: ``loss`` is the mean squared error or
            cross-entropy over the ``rows`` test rows of the fold, followed by the metrics of `tritree.metrics.METRICS`,
            which are NaN if not defined there. ``attrs["about"]`` describes the experiment.

        Warns
        -----
        FailedTrialsWarning
            If trials raised an error; they are left out of the results.
        """
        shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
        with Store(self.store) as store, ExitStack() as stack:
            stack.callback(clear_caches)
            trials = self._trials(store, shown)
            finished = store.keys()
            waiting = {trial.key: trial for trial in trials if trial.key not in finished}
            sources = self._sources(stack, waiting.values())
            done = stack.enter_context(bar(len(waiting), "trials", shown=shown and bool(waiting)))
            failed = []
            # closed here, not by the garbage collector: on Ctrl-C the workers end before the traceback is printed
            for key, results in stack.enter_context(closing(_run_trials(waiting, sources, n_jobs))):
                if isinstance(results, str):
                    failed.append((waiting[key], results))
                else:
                    store.put(key, waiting[key].description(), results)
                done()
            if failed:
                warnings.warn(FailedTrialsWarning(failed), stacklevel=2)
            return self._as_table(trials, store)

    def _trials(self, store: Store, shown: bool) -> list[Trial]:
        """Return all trials, those at rate 0 first, so that an interrupted experiment can compare all methods early.

        Trials that share a fitted method are neighbours, and so are those that share a table.
        """
        self.depths = self._depths(store, shown)
        trials = [
            Trial(
                dataset=dataset.name,
                fingerprint=dataset.fingerprint,
                task=dataset.task,
                scenario=scenario,
                rate=rate,
                method=name,
                estimator=self._make(name, dataset),
                seed=seed,
                folds=self.folds,
            )
            for dataset in self.datasets
            for scenario in self.scenarios
            for rate, seed, name in product(self.rates, self.seeds, self._methods.names)  # type: ignore[arg-type]
        ]
        groups: dict[tuple[Any, ...], int] = {}
        position = {name: number for number, name in enumerate(self._methods.names)}

        def order(trial: Trial) -> tuple[int, int]:
            group = (trial.fingerprint, trial.rate == 0, trial.training)
            return groups.setdefault(group, len(groups)), position[trial.method]

        return sorted(trials, key=order)

    def _depths(self, store: Store, shown: bool) -> dict[str, int | None]:
        """Return the depth of each data set's trees, tuned where this was specified and there are trees."""
        specified = self._specified_depths
        has_trees = any(self._methods.model_of(name) == "tree" for name in self._methods.names)
        to_tune = [dataset for dataset in self.datasets if has_trees and specified[dataset.name] == TUNED]
        tuned = tune_depths(to_tune, self._methods, self.folds, store, shown=shown)
        depths = {name: depth for name, depth in specified.items() if depth != TUNED}
        return depths | {dataset.name: tuned[dataset.fingerprint] for dataset in to_tune}

    def _make(self, method: str, dataset: Dataset) -> Any:
        """Return a method for a data set; a tuned depth applies to single trees only."""
        depth = self._specified_depths[dataset.name]
        if depth == TUNED:
            is_tree = self._methods.model_of(method) == "tree"
            depth = self.depths[dataset.name] if is_tree else DEFAULT_DEPTH
        return self._methods.make(method, dataset.task, depth)

    def _sources(self, stack: ExitStack, trials: Iterable[Trial]) -> dict[str, Any]:
        """Return the data sets by fingerprint; as paths of pickles if the workers are on this machine.

        A worker then reads a data set once, instead of receiving it with every trial.
        """
        needed = {trial.fingerprint for trial in trials}
        sets = {dataset.fingerprint: dataset for dataset in self.datasets if dataset.fingerprint in needed}
        backend, _ = joblib.parallel.get_active_backend()
        if type(backend).__name__ not in _LOCAL_BACKENDS:
            return sets
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tritree-lab-")))
        return {
            name: str(joblib.dump(dataset, folder / f"{number}.joblib")[0])
            for number, (name, dataset) in enumerate(sets.items())
        }

    def _as_table(self, trials: Sequence[Trial], store: Store) -> pd.DataFrame:
        rows = [
            (trial.dataset, trial.scenario.name, trial.rate, trial.method, trial.seed, *astuple(result))
            for trial in trials
            for result in store.get(trial.key)
        ]
        names = ["dataset", "scenario", "rate", "method", "seed"]
        names += ["fold", "loss", "rows", "fit_seconds", "predict_seconds", "metrics"]
        table = pd.DataFrame(rows, columns=names)
        tasks = {dataset.task for dataset in self.datasets}
        metrics = [metric for task in METRICS if task in tasks for metric in METRICS[task]]
        found = pd.DataFrame(table.pop("metrics").tolist(), columns=metrics, dtype=np.float64)
        table = pd.concat([table, found], axis=1)
        table.attrs["about"] = self.about()
        return table

    def about(self) -> dict[str, Any]:
        """Return a description of the experiment as plain data."""
        import sklearn

        versions = package_versions(self._methods.estimators)
        return {
            "datasets": [dataset.name for dataset in self.datasets],
            "scenarios": {scenario.name: scenario.to_dict() for scenario in self.scenarios},
            "rates": list(self.rates),
            "methods": self._methods.names,
            "seeds": list(self.seeds),  # type: ignore[arg-type]
            "folds": f"{self.folds.n}, seed {self.folds.seed}",
            "depths": dict(self.depths),
            "options": {name: repr(value) for name, value in self.options.items()},
            "models": {  # other than single trees, which the depths and options describe
                model: size_parameters(self._make(name, self.datasets[0]))
                for name in self._methods.names
                if (model := self._methods.model_of(name)) not in (None, "tree")
            },
            "versions": {
                "tritree": versions.pop("tritree"),
                "Python": ".".join(map(str, sys.version_info[:3])),
                "NumPy": np.__version__,
                "pandas": pd.__version__,
                "scikit-learn": sklearn.__version__,
                **{name: version for name, version in versions.items() if name != "sklearn"},
            },
        }


# Parameters in their accepted forms


def _as_datasets(value: Any) -> list[Dataset]:
    datasets = _as_list("datasets", value, Dataset)
    for one in datasets:
        if not isinstance(one, Dataset):
            raise TypeError(
                f"datasets must hold data sets, got a {type(one).__name__}; make one with "
                "Dataset.from_table(name, table, target)"
            )
    return datasets


def _as_scenario(value: Any) -> Scenario:
    if isinstance(value, Scenario):
        return value
    mechanism = value.removesuffix(_TEST_SUFFIX) if isinstance(value, str) else None
    if mechanism not in MECHANISMS:
        raise ValueError(
            f"scenarios must hold results of in_both, in_test or shifted, or one of "
            f"{', '.join(map(repr, MECHANISMS))}, followed by {_TEST_SUFFIX!r} for the test only; got {value!r}"
        )
    return in_test(mechanism) if value.endswith(_TEST_SUFFIX) else in_both(mechanism)


def _as_rates(value: Any) -> list[float]:
    """Return sorted missing rates with 0, rounded: 0.1 + 0.2 is 0.3."""
    rates = {0.0}
    for one in _as_list("rates", value, Real, may_be_empty=True):
        rate = float(one) if isinstance(one, Real) else math.nan
        if not 0 <= rate <= 1:
            hint = f"; {rate:g} percent is {rate / 100:g}" if 1 < rate <= 100 else ""
            raise ValueError(f"rates must be between 0 and 1, got {one!r}{hint}")
        rates.add(round(rate, 9))
    return sorted(rates)


def _as_methods(value: Any) -> dict[str, Any]:
    """Return methods by name, also from a list of names."""
    if not isinstance(value, Mapping):
        names = _as_list("methods", value, str)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(
                    f"estimators in methods need names, as in {{'mine': {type(name).__name__}()}}; got a list"
                )
        value = dict(zip(names, names, strict=True))
    if not value:
        raise ValueError("methods is empty; name at least one")
    return dict(value)


def _as_seeds(value: Any) -> list[int]:
    """Return seeds, also from their number."""
    if isinstance(value, Integral):
        check_int("seeds", value, 1)
        return list(range(int(value)))
    seeds = _as_list("seeds", value, Integral)
    for seed in seeds:
        check_int("a seed", seed, 0)
    return [int(seed) for seed in seeds]


def _as_depth(value: Any) -> Any:
    if value == TUNED:
        return value
    check_int("max_depth", value, 0, or_none="no limit")
    return None if value is None else int(value)


def _as_list(
    name: str, value: Any, kind: type | tuple[type, ...], *, may_be_empty: bool = False
) -> list[Any]:
    """Return a parameter as a list, also if it is a single item of its kind."""
    # iterating over a frame would give its column names
    is_single = isinstance(value, (kind, str)) or hasattr(value, "columns")
    if is_single or not isinstance(value, Iterable):
        return [value]
    items = list(value)
    if not items and not may_be_empty:
        raise ValueError(f"{name} is empty; give at least one")
    return items


def _check_unique(what: str, remedy: str, names: Sequence[Any]) -> None:
    """Raise a ValueError if a name occurs twice: the results could not be distinguished."""
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        number = {2: "two", 3: "three"}.get(times, str(times))
        raise ValueError(
            f"{number} {what} {name!r}, so that results could not be distinguished; {remedy} all but one"
        )


# Trials in parallel


def _run_trials(
    trials: Mapping[str, Trial], sources: Mapping[str, Any], n_jobs: int | None
) -> Generator[tuple[str, list[FoldResult] | str]]:
    """Yield the key of each trial with its results, or with the error's message, as they finish."""
    tasks = (
        joblib.delayed(_try_trial)(key, trial, sources[trial.fingerprint]) for key, trial in trials.items()
    )
    backend, _ = joblib.parallel.get_active_backend()
    with warnings.catch_warnings():
        # joblib takes the caches of a worker for a memory leak and restarts it
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        # trials aborted by Ctrl-C are run when the experiment continues
        warnings.filterwarnings("ignore", message=r"\d+ tasks (which were still|have been successfully)")
        if not trials:
            return
        if getattr(backend, "supports_return_generator", False):
            yield from joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
            return
        # multiprocessing and Ray return results all at once: in small batches, so that they can be stored in between
        size = _BATCH * joblib.effective_n_jobs(n_jobs)
        with joblib.Parallel(n_jobs, batch_size=1) as run:
            while batch := list(islice(tasks, size)):
                yield from run(batch)


def _try_trial(key: str, trial: Trial, source: Any) -> tuple[str, list[FoldResult] | str]:
    """Return the results of a trial, or the message of its error, so that other trials go on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # every fold would repeat them
            return key, run_trial(trial, source)
    except Exception as error:
        return key, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
