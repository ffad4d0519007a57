"""Experiments: data sets, scenarios, rates, methods and seeds, every combination of them cross-validated."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import joblib
import numpy as np
import pandas as pd

from tritree.inspection.formatting import count
from tritree.lab import given
from tritree.lab.kinds import OWN_DEPTH, TREE_CLASSES, facts_of
from tritree.lab.methods import Methods, versions_of
from tritree.lab.scenarios import in_both, in_test
from tritree.lab.store import Store
from tritree.lab.trial import Folds, Trial, forget, run_trial
from tritree.lab.tuning import TUNED, given_depths, tuned_depths
from tritree.progress import bar
from tritree.validation import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from tritree.lab.dataset import Dataset
    from tritree.lab.store import FoldResult

__all__ = ["RATES", "Experiment"]

#: The shares of cells that are removed, if no others are asked for.
RATES = tuple(round(0.1 * i, 1) for i in range(10))

_LOCAL = ("LokyBackend", "ThreadingBackend", "MultiprocessingBackend", "SequentialBackend")
_AT_ONCE = 4  # cells per worker that are run, and then stored, where they cannot be had one by one


@dataclass
class Experiment:
    """What is compared, on which data, with which holes.

    Parameters
    ----------
    datasets : Dataset or sequence of them
        See `tritree.lab.data`. Each has a name of its own, and so has each scenario.
    scenarios : Scenario, str or sequence of these, default=mcar in training and test, mcar in test only
        Where the holes are; see `tritree.lab.scenarios`. "mcar" is short for ``in_both("mcar")``, "mcar_test" for
        ``in_test("mcar")``, and so are the other mechanisms.
    rates : float or sequence of float
        Shares of cells that are removed. 0 is added, because the excess loss needs it.
    methods : mapping or sequence of str, default=the six strategies
        By name: a model of tritree or an estimator of scikit-learn's kind. "mia" is a tree of that strategy,
        "forest:mia" a forest, "boosting:mia" boosted trees; "forest" and "boosting" alone have their default strategy,
        and "discard" in place of a strategy learns from complete rows only. These may be listed by their names alone.
    seeds : int or sequence of int, default=1
        How many times holes are made, or with which seeds.
    depth : "tuned", int, None or mapping from data set to depth, default="tuned"
        The depth of trees. "tuned" takes the depth at which a majority tree on the complete data set stops improving,
        at most 5, as the paper did; forests and boosting then have the depth that their estimators have.
    folds : Folds or int
        How rows are parted, or into how many folds; ten unless another number is given.
    options : dict
        Further parameters of trees, forests and boosting, such as ``min_samples_leaf`` or ``learning_rate``: each
        goes to the models that have it. ``trees`` is how many of them a forest has, or rounds of boosting.
    store : str, path-like or None, default=None
        The file that keeps every finished cell. A run that was stopped goes on from there; None keeps them in memory.
        What another version of tritree, or of the package of an estimator, has made is not taken up.
    """

    # what may be given in several forms is a list, or the like, once the experiment is made
    datasets: Any
    scenarios: Any = field(default_factory=lambda: (in_both("mcar"), in_test("mcar")))
    rates: Any = RATES
    methods: Any = STRATEGIES
    seeds: int | Sequence[int] = 1
    depth: Any = TUNED
    folds: Any = field(default_factory=Folds)
    options: Mapping[str, Any] = field(default_factory=dict)
    store: Any = None
    _tree_classes: ClassVar[tuple[Any, Any]] = TREE_CLASSES

    def __post_init__(self) -> None:
        self.rates, self.seeds = given.rates_of(self.rates), given.seeds_of(self.seeds)
        self.datasets, self.scenarios = given.datasets_of(self.datasets), given.scenarios_of(self.scenarios)
        self.methods, self.folds = given.methods_of(self.methods), given.folds_of(self.folds)
        _check_once("data sets are called", "rename", [dataset.name for dataset in self.datasets])
        _check_once(
            "scenarios are called",
            "give in_both, in_test or shifted a name= for",
            [s.name for s in self.scenarios],
        )
        _check_once("seeds are", "leave out", self.seeds)
        for scenario, dataset in product(self.scenarios, self.datasets):
            scenario.check(dataset)
        self._methods = Methods(self.methods, tree_classes=self._tree_classes, **self.options)
        #: Depths of trees by data set; known after `run`.
        self.depths: dict[str, int | None] = {}

    def run(self, n_jobs: int | None = -1, *, progress: bool | None = None) -> pd.DataFrame:
        """Return the results as a tidy table, running what is not in the store yet.

        Parameters
        ----------
        n_jobs : int or None, default=-1
            Cells that run at the same time, each on one thread: through joblib, so that its backend for Dask or Ray
            spreads them over a cluster.
        progress : bool or None, default=None
            Whether to show a bar with the time left; None shows it on a terminal.

        Returns
        -------
        pandas.DataFrame
            One row per data set, scenario, rate, method, seed and fold: ``loss`` is the mean over the ``rows`` of the
            fold, the squared error or the cross-entropy. ``attrs["about"]`` tells how it was run.
        """
        shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
        with Store(self.store) as store, ExitStack() as stack:
            stack.callback(forget)
            trials = self._trials(store, shown)
            finished = store.keys()
            waiting = {trial.key: trial for trial in trials if trial.key not in finished}
            sources = self._sources(stack, waiting.values())
            done = stack.enter_context(bar(len(waiting), "cells", shown=shown and bool(waiting)))
            failed = []
            # closed here, not whenever it is collected: on Ctrl-C its workers end before anything else is said
            for key, results in stack.enter_context(closing(_run(waiting, sources, n_jobs))):
                if isinstance(results, str):
                    failed.append((waiting[key], results))
                else:
                    store.put(key, waiting[key].description(), results)
                done()
            _tell_failed(failed)
            return self._tidy(trials, store)

    def _trials(self, store: Store, shown: bool) -> list[Trial]:
        """Return every cell; those that share a fitted method are neighbours, and then those that share its table.

        Those without holes come first, of all methods: what was stopped has something to compare early on.
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
                estimator=self._made(name, dataset),
                seed=seed,
                folds=self.folds,
            )
            for dataset in self.datasets
            for scenario in self.scenarios
            for rate, seed, name in product(self.rates, self.seeds, self._methods.names)  # type: ignore[arg-type]
        ]
        groups: dict[tuple[Any, ...], int] = {}
        place = {name: number for number, name in enumerate(self._methods.names)}

        def order(trial: Trial) -> tuple[int, int]:
            group = (trial.fingerprint, trial.rate == 0, trial.training)
            return groups.setdefault(group, len(groups)), place[trial.method]

        return sorted(trials, key=order)

    def _depths(self, store: Store, shown: bool) -> dict[str, int | None]:
        """Return the depth of each data set's trees: as it was given, or tuned; none where nothing needs it."""
        given = given_depths(self.depth, self.datasets)
        wanted = any(self._methods.kind(name) == "tree" for name in self._methods.names)
        tuning = [dataset for dataset in self.datasets if wanted and given[dataset.name] == TUNED]
        tuned = tuned_depths(tuning, self._methods, self.folds, store, shown=shown)
        found = {dataset.name: tuned[dataset.fingerprint] for dataset in tuning}
        return {name: depth for name, depth in given.items() if depth != TUNED} | found

    def _made(self, method: str, dataset: Dataset) -> Any:
        """Return a method for a data set; a tuned depth is that of one tree, and other models have their own."""
        depth = given_depths(self.depth, [dataset])[dataset.name]
        if depth == TUNED:
            depth = self.depths[dataset.name] if self._methods.kind(method) == "tree" else OWN_DEPTH
        return self._methods.make(method, dataset.task, depth)

    def _sources(self, stack: ExitStack, trials: Iterable[Trial]) -> dict[str, Any]:
        """Return the data sets by fingerprint as cells get them: as files where the workers are on this machine.

        A worker then reads a table once, instead of being sent it with every cell.
        """
        needed = {trial.fingerprint for trial in trials}
        sets = {dataset.fingerprint: dataset for dataset in self.datasets if dataset.fingerprint in needed}
        backend, _ = joblib.parallel.get_active_backend()
        if type(backend).__name__ not in _LOCAL:
            return sets
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tritree-lab-")))
        return {
            name: str(joblib.dump(dataset, folder / f"{number}.joblib")[0])
            for number, (name, dataset) in enumerate(sets.items())
        }

    def _tidy(self, trials: Sequence[Trial], store: Store) -> pd.DataFrame:
        rows = [
            (trial.dataset, trial.scenario.name, trial.rate, trial.method, trial.seed, *_listed(result))
            for trial in trials
            for result in store.get(trial.key)
        ]
        names = ["dataset", "scenario", "rate", "method", "seed", "fold", "loss", "rows"]
        table = pd.DataFrame(rows, columns=[*names, "fit_seconds", "predict_seconds"])
        table.attrs["about"] = self.about()
        return table

    def about(self) -> dict[str, Any]:
        """Return how the experiment is run, as plain data."""
        import sklearn

        versions = versions_of(self._methods.of_others)
        return {
            "datasets": [dataset.name for dataset in self.datasets],
            "scenarios": {scenario.name: scenario.to_dict() for scenario in self.scenarios},
            "rates": list(self.rates),
            "methods": self._methods.names,
            "seeds": list(self.seeds),  # type: ignore[arg-type]
            "folds": f"{self.folds.n}, seed {self.folds.seed}",
            "depths": dict(self.depths),
            "options": {name: repr(value) for name, value in self.options.items()},
            "models": {  # of a tree, the depths and options tell
                kind: facts_of(self._made(name, self.datasets[0]))
                for name in self._methods.names
                if (kind := self._methods.kind(name)) not in (None, "tree")
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


def _check_once(what: str, remedy: str, names: Sequence[Any]) -> None:
    """Raise a ValueError if a name is there twice: results could not be told apart by it."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        times = {2: "two", 3: "three"}.get(n := names.count(twice[0]), str(n))
        raise ValueError(
            f"{times} {what} {twice[0]!r}, and results could not be told apart; {remedy} all but one"
        )


def _listed(result: FoldResult) -> tuple[Any, ...]:
    return result.fold, result.loss, result.rows, result.fit_seconds, result.predict_seconds


def _run(
    trials: Mapping[str, Trial], sources: Mapping[str, Any], n_jobs: int | None
) -> Generator[tuple[str, list[FoldResult] | str]]:
    """Yield the results of cells as they come in, or what kept one from running."""
    tasks = (
        joblib.delayed(_attempt)(key, trial, sources[trial.fingerprint]) for key, trial in trials.items()
    )
    backend, _ = joblib.parallel.get_active_backend()
    with warnings.catch_warnings():
        # what a worker keeps for its next cell looks like a leak to joblib, which starts it anew then
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        # what Ctrl-C leaves undone is run when the experiment goes on
        warnings.filterwarnings("ignore", message=r"\d+ tasks (which were still|have been successfully)")
        if not trials:
            return
        if getattr(backend, "supports_return_generator", False):
            yield from joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
            return
        # multiprocessing and Ray give all results at their end: a few cells at a time, so that these are kept
        some = _AT_ONCE * joblib.effective_n_jobs(n_jobs)
        with joblib.Parallel(n_jobs, batch_size=1) as run:
            while part := list(islice(tasks, some)):
                yield from run(part)


def _attempt(key: str, trial: Trial, source: Any) -> tuple[str, list[FoldResult] | str]:
    """Return the results of a cell; one that fails keeps no other from running."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what every fold would say again
            return key, run_trial(trial, source)
    except Exception as error:
        return key, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _tell_failed(failed: Sequence[tuple[Trial, str]]) -> None:
    if not failed:
        return
    trial, reason = failed[0]
    where = f"{trial.method} on {trial.dataset}, {trial.scenario.name} at {trial.rate:.0%}"
    more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    warnings.warn(
        f"{count(len(failed), 'cell')} could not be run and {'is' if len(failed) == 1 else 'are'} left out: {where} "
        f"({reason}){more}",
        stacklevel=3,
    )
