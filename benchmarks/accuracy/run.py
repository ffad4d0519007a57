"""The experiments, run one after the other; what is in the store is not run again."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.plan import experiments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.accuracy.plan import Plan
    from tritree.lab import Dataset, Experiment

__all__ = ["Outcome", "run"]


@dataclass
class Outcome:
    """The results so far, a line per fold, and what kept some from being there."""

    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: list[str] = field(default_factory=list)
    finished: bool = True


def run(plan: Plan, datasets: Sequence[Dataset], store: Any, *, jobs: int, progress: bool | None) -> Outcome:
    """Return the results of a plan; Ctrl-C ends it with those of the sets that were finished."""
    outcome, tables, told = Outcome(), [], ""
    try:
        for experiment in experiments(plan, datasets, store):
            if (name := experiment.datasets[0].name) != told:
                told = name
                print(name, file=sys.stderr, flush=True)
            with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
                warnings.simplefilter("always", UserWarning)
                table = experiment.run(jobs, progress=progress)
            outcome.notes += [
                str(w.message) for w in caught if "cells could not be run" in str(w.message)
            ] + list(_absent(experiment, table))
            table.attrs = {}  # pandas would compare and copy them at every step
            tables.append(table)
    except KeyboardInterrupt:
        outcome.finished = False
    if tables:
        outcome.results = pd.concat(tables, ignore_index=True).drop_duplicates(
            ["dataset", "scenario", "rate", "method", "seed", "fold"], ignore_index=True
        )
    return outcome


def _absent(experiment: Experiment, table: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each method that lacks cells, so that nobody takes it for one that was not tried."""
    n_all = len(experiment.scenarios) * len(experiment.rates) * len(list(experiment.seeds))  # type: ignore[arg-type]
    there = table[["scenario", "rate", "seed", "method"]].drop_duplicates()["method"].value_counts()
    for method in experiment.methods:
        if n_absent := n_all - int(there.get(method, 0)):
            yield f"{method} on {experiment.datasets[0].name}: {n_absent} of {n_all} cells failed."
