"""A process that is killed at any time leaves the old or the new file, and results from which a run continues."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from attack.whole_fits import FITS, assert_whole, estimators
from lab.small_experiment import numbers, small

import tritree
from tritree.lab.store import Store

_TESTS = Path(__file__).parents[1]
_SAVE = """
from attack.whole_fits import FITS, estimators
models = [estimators({kind}).fit(*FITS[name]) for name in ("b", "a")]
print("ready", flush=True)
while True:
    for model in models:
        model.save({path!r})
"""
_EXPERIMENT = """
from lab.small_experiment import small
print("ready", flush=True)
small(store={path!r}, rates=[0.1, 0.2, 0.3, 0.4, 0.5], seeds=40).run(1)
"""


def killed(program: str, seconds: float) -> None:
    """Run a program, and kill it some seconds after it is ready."""
    setup = f"import sys, warnings; sys.path.insert(0, {str(_TESTS)!r}); warnings.simplefilter('ignore')"
    process = subprocess.Popen([sys.executable, "-c", f"{setup}\n{program}"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        assert process.poll() is None, "it ended before it was killed"
    finally:
        process.kill()
        process.communicate()


def killed_save(seed: int, folder: Path) -> None:
    """Kill a process that saves one model over another, again and again."""
    path = folder / "model.tritree"
    estimators(seed).fit(*FITS["a"]).save(path)
    killed(_SAVE.format(kind=seed, path=str(path)), np.random.default_rng(seed).uniform(0, 0.05))
    assert_whole(tritree.load(path), folder)


def killed_experiment(seed: int, folder: Path) -> None:
    """Kill an experiment: what it has stored stays, and a new run has the results of one that nobody killed."""
    path = folder / "results.sqlite"
    killed(_EXPERIMENT.format(path=str(path)), np.random.default_rng(seed).uniform(0, 1))
    with Store(path) as store:
        finished = {key: store.get(key) for key in store.keys()}
    results = small(store=path, rates=[0.1, 0.5]).run(1)
    with Store(path) as store:
        assert {key: store.get(key) for key in finished} == finished, "stored results have changed"
    pd.testing.assert_frame_equal(numbers(results), numbers(small(rates=[0.1, 0.5]).run(1)))


ATTACKS = (killed_save, killed_experiment)
