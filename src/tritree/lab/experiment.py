"""Experiments: data sets, settings, rates, methods and seeds, every combination of them cross-validated."""

from __future__ import annotations

import sys
import tempfile
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd

from tritree.lab.methods import Methods
from tritree.lab.settings import in_both, in_test
from tritree.lab.store import Store
from tritree.lab.trial import Folds, Trial, run_trial
from tritree.lab.tuning import tuned_depth
from tritree.parameters import STRATEGIES, check_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tritree.lab.data import Dataset
    from tritree.lab.settings import Setting
    from tritree.lab.store import FoldResult

__all__ = ["RATES", "Experiment"]

#: The shares of cells that are removed, if no others are asked for.
RATES = tuple(round(0.1 * i, 1) for i in range(10))

TUNED = "tuned"
_LOCAL = ("LokyBackend", "ThreadingBackend", "MultiprocessingBackend", "SequentialBackend")


@dataclass
class Experiment:
    """What is compared, on which data, with which holes.

    Parameters
    ----------
    datasets : sequence of Dataset
        See `tritree.lab.data`.
    settings : sequence of Setting, default=mcar in training and test, mcar in test only
        Where the holes are; see `tritree.lab.settings`.
    rates : sequence of float
        Shares of cells that are removed. 0 is added, because the excess loss needs it.
    methods : mapping, default=the six strategies
        By name: a strategy, "discard" or an estimator of scikit-learn's kind.
    seeds : int or sequence of int, default=1
        How many times holes are made, or with which seeds.
    depth : "tuned", int, None or mapping from data set to depth, default="tuned"
        The depth of trees. "tuned" takes the depth at which a majority tree on the complete data set stops improving,
        at most 5, as the paper did.
    folds : Folds
        How rows are parted; ten folds unless another number is given.
    options : dict
        Further parameters of the trees, such as ``min_samples_leaf``.
    store : str, path-like or None, default=None
        The file that keeps every finished cell. A run that was stopped goes on from there; None keeps them in memory.
    """

    datasets: Sequence[Dataset]
    settings: Sequence[Setting] = field(default_factory=lambda: (in_both("mcar"), in_test("mcar")))
    rates: Sequence[float] = RATES
    methods: Mapping[str, Any] = field(default_factory=lambda: {name: name for name in STRATEGIES})
    seeds: int | Sequence[int] = 1
    depth: Any = TUNED
    folds: Folds = field(default_factory=Folds)
    options: Mapping[str, Any] = field(default_factory=dict)
    store: Any = None

    def __post_init__(self) -> None:
        self.rates = sorted({0.0, *map(float, self.rates)})
        if not 0 <= self.rates[0] <= self.rates[-1] <= 1:
            raise ValueError(f"rates must be shares between 0 and 1, got {self.rates}")
        if isinstance(self.seeds, int):
            check_int("seeds", self.seeds, 1)
            self.seeds = range(self.seeds)
        self._methods = Methods(self.methods, **self.options)
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
            One row per data set, setting, rate, method, seed and fold: ``loss`` is the mean over the ``rows`` of the
            fold, the squared error or the cross-entropy. ``attrs["about"]`` tells how it was run.
        """
        with Store(self.store) as store, ExitStack() as stack:
            trials = self._trials()
            finished = store.keys()
            waiting = {trial.key: trial for trial in trials if trial.key not in finished}
            sources = self._sources(stack, waiting.values())
            show = stack.enter_context(_progress(len(waiting), progress))
            failed = []
            for key, results in _run(waiting, sources, n_jobs):
                if isinstance(results, str):
                    failed.append((waiting[key], results))
                else:
                    store.put(key, waiting[key].description(), results)
                show()
            _tell_failed(failed)
            return self._tidy(trials, store)

    def _trials(self) -> list[Trial]:
        """Return every cell; those that share a table with holes, or a fit to complete rows, are neighbours."""
        for dataset in self.datasets:
            if dataset.name not in self.depths:
                self.depths[dataset.name] = self._depth_of(dataset)
        return [
            Trial(
                dataset=dataset.name,
                fingerprint=dataset.fingerprint,
                task=dataset.task,
                setting=setting,
                rate=rate,
                method=name,
                estimator=self._methods.make(name, dataset.task, self.depths[dataset.name]),
                seed=int(seed),
                folds=self.folds,
            )
            for dataset in self.datasets
            for setting in self.settings
            for rate, seed, name in self._order(setting)
        ]

    def _order(self, setting: Setting) -> Iterator[tuple[float, int, str]]:
        tables = list(product(self.rates, self.seeds))  # type: ignore[arg-type]
        names = self._methods.names
        if setting.train is None:
            return ((rate, seed, name) for name, (rate, seed) in product(names, tables))
        return ((rate, seed, name) for (rate, seed), name in product(tables, names))

    def _depth_of(self, dataset: Dataset) -> int | None:
        depth = self.depth.get(dataset.name, TUNED) if hasattr(self.depth, "get") else self.depth
        if depth != TUNED:
            check_int("depth", depth, 0, or_none="no limit")
            return None if depth is None else int(depth)
        if not any(map(self._methods.wants_depth, self._methods.names)):
            return None
        return tuned_depth(dataset, self._methods, self.folds)

    def _sources(self, stack: ExitStack, trials: Iterable[Trial]) -> dict[str, Any]:
        """Return the data sets by name as cells get them: as files where the workers are on this machine.

        A worker then reads a table once, instead of being sent it with every cell.
        """
        needed = {trial.dataset for trial in trials}
        sets = {dataset.name: dataset for dataset in self.datasets if dataset.name in needed}
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
            (trial.dataset, trial.setting.name, trial.rate, trial.method, trial.seed, *_listed(result))
            for trial in trials
            for result in store.get(trial.key)
        ]
        names = ["dataset", "setting", "rate", "method", "seed", "fold", "loss", "rows"]
        table = pd.DataFrame(rows, columns=[*names, "fit_seconds", "predict_seconds"])
        table.attrs["about"] = self.about()
        return table

    def about(self) -> dict[str, Any]:
        """Return how the experiment is run, as plain data."""
        import sklearn

        from tritree import __version__

        return {
            "datasets": [dataset.name for dataset in self.datasets],
            "settings": [setting.name for setting in self.settings],
            "rates": list(self.rates),
            "methods": self._methods.names,
            "seeds": list(self.seeds),  # type: ignore[arg-type]
            "folds": f"{self.folds.n}, seed {self.folds.seed}",
            "depths": dict(self.depths),
            "options": {name: repr(value) for name, value in self.options.items()},
            "versions": {
                "tritree": __version__,
                "Python": ".".join(map(str, sys.version_info[:3])),
                "NumPy": np.__version__,
                "pandas": pd.__version__,
                "scikit-learn": sklearn.__version__,
            },
        }


def _listed(result: FoldResult) -> tuple[Any, ...]:
    return result.fold, result.loss, result.rows, result.fit_seconds, result.predict_seconds


def _run(
    trials: Mapping[str, Trial], sources: Mapping[str, Any], n_jobs: int | None
) -> Iterator[tuple[str, list[FoldResult] | str]]:
    """Yield the results of cells as they come in, or what kept one from running."""
    if not trials:
        return
    run = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    tasks = (joblib.delayed(_attempt)(key, trial, sources[trial.dataset]) for key, trial in trials.items())
    with warnings.catch_warnings():
        # what a worker keeps for its next cell looks like a leak to joblib, which starts it anew then
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        yield from run(tasks)


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
    where = f"{trial.method} on {trial.dataset}, {trial.setting.name} at {trial.rate:.0%}"
    more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
    warnings.warn(
        f"{len(failed):,} cells could not be run and are left out: {where} ({reason}){more}",
        stacklevel=3,
    )


def _progress(total: int, wanted: bool | None) -> Any:
    """Return a context that gives a function to call after each cell; it moves a bar where one is wanted."""
    from tritree.lab.progress import bar

    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty()
    return bar(total, "cells", shown=wanted and total > 0)
