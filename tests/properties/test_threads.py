"""The number of threads, of the tree or of the caller, changes no bit of the predictions."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import pytest
from models import STRATEGIES, TASKS, fitted, predictions, same_bits, simulated, with_missing

from tritree import _core

pytestmark = pytest.mark.threads


@pytest.mark.parametrize("n_jobs", [2, 4, 100])  # more than any test machine has, too
@pytest.mark.parametrize("missing", STRATEGIES)
def test_number_of_threads_changes_no_bit(missing: str, n_jobs: int) -> None:
    X, y = simulated(400, missing=0.2)
    rows = with_missing(X, 0.3)
    one = fitted(X, y, missing=missing, n_jobs=1).predict(rows)
    assert same_bits(one, fitted(X, y, missing=missing, n_jobs=n_jobs).predict(rows))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", ["trinary", "fractional", "surrogate"])
def test_number_of_threads_changes_no_bit_of_a_large_tree(missing: str, task: str) -> None:
    X, y = simulated(30_000, 6, missing=0.1, task=task)
    rows = with_missing(X[:5_000], 0.3)
    weight = np.random.default_rng(2).exponential(size=len(y))
    one = fitted(X, y, weight, missing=missing, max_depth=4, n_jobs=1)
    many = fitted(X, y, weight, missing=missing, max_depth=4, n_jobs=4)
    assert same_bits(predictions(one, rows), predictions(many, rows))


def test_concurrent_predictions_of_one_model_are_those_of_one_thread() -> None:
    X, y = simulated(2_000, 8)
    rows = with_missing(X, 0.4)
    expected = fitted(X, y, max_depth=4).predict(rows)
    model = fitted(X, y, max_depth=4)
    model.predict(rows[:50])  # partly grown
    parts = [np.random.default_rng(i).permutation(len(rows))[:500] for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: model.predict(rows[part]), parts))
    assert all(same_bits(prediction, expected[part]) for prediction, part in zip(found, parts, strict=True))


def test_concurrent_fits_of_different_models_are_those_of_one_thread() -> None:
    tables = [simulated(3_000, 6, missing=0.1, seed=seed) for seed in range(12)]

    def learn(table: Any) -> Any:
        return fitted(*table, n_jobs=2).predict(with_missing(table[0]))

    expected = [learn(table) for table in tables]
    with ThreadPoolExecutor(6) as pool:
        assert all(map(same_bits, pool.map(learn, tables), expected))


def test_the_first_infinite_value_is_named_with_any_number_of_threads() -> None:
    X, y = simulated(20_000, 6)
    model = fitted(X, y, n_jobs=4)
    bad = X.copy()
    bad[700:, 2:] = np.inf  # in nearly every block of rows, and in several columns
    for _ in range(10):
        with pytest.raises(ValueError, match="column 2 holds inf in row 700;"):
            model.predict(bad)
        with pytest.raises(ValueError, match="column 2 holds inf in row 700;"):
            fitted(bad, y, n_jobs=4)


def fit_and_send(model: Any, X: Any, y: Any, sender: Any) -> None:
    """Predict with the inherited model and fit another one in a child process."""
    rows = with_missing(X)
    sender.send((model.predict(rows), fitted(X, y, n_jobs=2).predict(rows)))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="fork is not available")
def test_forked_child_fits_and_predicts() -> None:
    X, y = simulated(20_000, 6)
    model = fitted(X, y, n_jobs=2)  # creates the thread pool of the parent, whose threads the child lacks
    model.predict(X[:5_000])
    context: Any = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=fit_and_send, args=(model, X, y, sender))
    child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        inherited, own = receiver.recv()
    finally:
        child.kill()
        child.join()
    expected = model.predict(with_missing(X))
    assert same_bits(inherited, expected)
    assert same_bits(own, expected)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="fork is not available")
def test_child_forked_while_a_thread_grows_the_tree_predicts_with_it() -> None:
    X, y = simulated(20_000, 8)
    rows = with_missing(X[:2_000], 0.4)
    expected = fitted(X, y, max_depth=4).predict(rows)
    model = fitted(X, y, max_depth=4)
    thread = threading.Thread(target=model.grow_all)
    context: Any = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    thread.start()
    time.sleep(0.01)  # the growth has started
    child = context.Process(target=lambda: sender.send(model.predict(rows)))
    child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert same_bits(receiver.recv(), expected)
    finally:
        child.kill()
        child.join()
        thread.join()


class Counter:
    """A thread that counts, and releases the GIL after each step."""

    def __init__(self) -> None:
        self.count = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._done.is_set():
            self.count += 1
            time.sleep(1e-4)

    def __enter__(self) -> Self:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(100)  # a thread then runs only if another one releases the GIL
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        sys.setswitchinterval(self._interval)
        self._thread.join()

    def watch(self, call: Any, progress: list[int]) -> Any:
        """Return the function; each call appends the increase of the count to ``progress``."""

        def counted(*arguments: Any) -> Any:
            before = self.count
            result = call(*arguments)
            progress.append(self.count - before)
            return result

        return counted


def test_other_python_threads_run_while_a_tree_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated(300_000, 4)
    steps: dict[str, list[int]] = {"BinnedColumns": [], "add_trees": []}
    with Counter() as counter:
        for owner, name in ((_core, "BinnedColumns"), (_core.LadderModel, "add_trees")):
            monkeypatch.setattr(owner, name, counter.watch(getattr(owner, name), steps[name]))
        for _ in range(3):  # on a busy machine the other thread may not be scheduled for a while
            fitted(X, y, n_jobs=1)
    assert sum(steps["BinnedColumns"]) > 0
    assert sum(steps["add_trees"]) > 0


def test_other_python_threads_run_while_a_tree_predicts() -> None:
    X, y = simulated(300_000, 4)
    model = fitted(X[:1_000], y[:1_000], n_jobs=1)
    columns = list(X.T)
    predicting: list[int] = []
    applying: list[int] = []
    with Counter() as counter:
        for _ in range(20):
            counter.watch(model._model.core.predict, predicting)(columns, len(X), 0, 1, 1)
            counter.watch(model._model.core.apply, applying)(columns, len(X), 1)
    assert sum(predicting) > 0
    assert sum(applying) > 0
