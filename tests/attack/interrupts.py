"""Ctrl-C at any time leaves an estimator that predicts the same, and a file that is the old or the new one."""

from __future__ import annotations

import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attack.whole_fits import FITS, assert_whole, estimators
from models import predictions, same_bits, simulated, with_missing

import tritree


def interrupted(call: Callable[[], Any], seconds: float) -> bool:
    """Call a function, and press Ctrl-C after some seconds; return whether that interrupted it."""
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            time.sleep(0)  # a signal that has arrived takes effect here
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.signal(signal.SIGALRM, previous)
    return False


def interrupted_growth(seed: int, folder: Path) -> None:
    """Interrupt growth on demand and growth in full: predictions are those of a model that nobody interrupted."""
    rng = np.random.default_rng(seed)
    X, y = simulated(800, 7, missing=0.1, seed=seed)
    rows = with_missing(X[:200], 0.4, seed=seed)
    kind = [tritree.TrinaryTreeRegressor, tritree.TrinaryForestRegressor][seed % 2]
    few = {"n_estimators": 5} if seed % 2 else {}
    model = kind(max_depth=4, random_state=0, n_jobs=int(rng.integers(1, 3)), **few).fit(X, y)
    expected = predictions(pickle.loads(pickle.dumps(model)), rows)
    for _ in range(4):
        grow = [lambda: model.predict(rows), lambda: model.grow_for(rows), _grow_some(model)][rng.integers(3)]
        interrupted(grow, rng.uniform(0, 0.05))
        model.save(folder / "model.tritree")  # checks the trees when it is loaded
        assert same_bits(tritree.load(folder / "model.tritree").predict(rows), expected), "loaded"
    assert same_bits(model.predict(rows), expected), "grown further"


def _grow_some(model: Any) -> Callable[[], None]:
    def grow() -> None:
        try:
            model.grow_all(max_nodes=model.n_nodes_ + 20_000)
        except tritree.GrowthLimitError:
            pass

    return grow


def interrupted_file(seed: int, folder: Path) -> None:
    """Interrupt save and load: the file is the old or the new one, and loads."""
    rng = np.random.default_rng(seed)
    path = folder / "model.tritree"
    models = [estimators(seed).fit(*FITS[name]) for name in ("a", "b")]
    models[0].save(path)
    begin = time.perf_counter()
    models[0].save(folder / "other.tritree")
    seconds = time.perf_counter() - begin
    for _ in range(6):
        interrupted(lambda: models[rng.integers(2)].save(path), rng.uniform(0, 1.1) * seconds)
        interrupted(lambda: tritree.load(path), rng.uniform(0, seconds))
        assert_whole(tritree.load(path), folder)


ATTACKS = (interrupted_growth, interrupted_file)
