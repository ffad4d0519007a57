"""The number of threads, alone and where processes share the cores."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from models import fitted, same_bits, simulated, with_missing

from tritree import TrinaryTreeRegressor, _core
from tritree.validation import count_threads

PROCESSORS = min(_core.hardware_threads(), joblib.cpu_count())


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_default_is_all_cores():
    assert count_threads(None) == PROCESSORS


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (3, 3), (-1, PROCESSORS), (-1_000, 1)])
def test_given_number_of_threads_is_used(n_jobs, expected):
    assert count_threads(n_jobs) == expected


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_anything_but_a_number_of_threads_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a number of threads"):
        TrinaryTreeRegressor(n_jobs=n_jobs).fit(np.arange(50.0)[:, None], np.arange(50.0))


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [("1", 1), ("100000", PROCESSORS), ("1,4", 1), ("", PROCESSORS), ("x", PROCESSORS)],
)
def test_environment_limits_the_default_only(monkeypatch, allowed, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    assert count_threads(None) == expected
    assert count_threads(7) == 7


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_process_of_a_pool_takes_one_thread_by_default(method):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(count_threads, [None, 2], timeout=60)) == [1, 2]


def test_workers_of_joblib_share_the_cores():
    n_workers = 2
    taken = joblib.Parallel(n_jobs=n_workers)(joblib.delayed(count_threads)(None) for _ in range(n_workers))
    assert taken == [max(1, PROCESSORS // n_workers)] * n_workers


def count_helpers() -> int:
    """Return how many threads this process has that are not Python's own: callers, and those of other libraries."""
    return sum(1 for _ in Path("/proc/self/task").iterdir()) - threading.active_count()


# not marked `threads`: with ThreadSanitizer two or three more are counted, and it is not known whose they are
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are not listed here")
def test_many_callers_do_not_make_many_threads():
    X, y = simulated(20_000, 6)
    expected = fitted(X, y, n_jobs=2).predict(with_missing(X))
    most, done = 0, threading.Event()

    def count() -> None:
        # threads of the pool never end, so two counts in a row include all of them; another thread may be ending
        nonlocal most
        last = count_helpers()
        while not done.wait(0.002):
            now = count_helpers()
            most, last = max(most, min(last, now)), now

    counter = threading.Thread(target=count)
    counter.start()
    before = count_helpers()
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: fitted(X, y, n_jobs=2).predict(with_missing(X)), range(12)))
        done.set()  # before the callers end: Python forgets a thread a moment earlier than the system does
        counter.join()
        most = max(most, min(count_helpers() for _ in range(3)))
    assert most <= before + 1  # one helper that was not there yet, however many callers
    assert all(same_bits(predicted, expected) for predicted in found)
