"""Threads, the tree's own or the caller's, change no bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from models import STRATEGIES, TASKS, answers, fitted, holed, same_bits, simulated


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_number_of_threads_changes_no_bit(missing: str, n_jobs: int) -> None:
    X, y = simulated(400, holes=0.2)
    rows = holed(X, 0.3)
    one = fitted(X, y, missing=missing, n_jobs=1).predict(rows)
    assert same_bits(one, fitted(X, y, missing=missing, n_jobs=n_jobs).predict(rows))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", ["trinary", "fractional", "surrogate"])
def test_number_of_threads_changes_no_bit_of_a_large_tree(missing: str, task: str) -> None:
    X, y = simulated(30_000, 6, holes=0.1, task=task)
    rows = holed(X[:5_000], 0.3)
    weight = np.random.default_rng(2).exponential(size=len(y))
    one = fitted(X, y, weight, missing=missing, max_depth=4, n_jobs=1)
    many = fitted(X, y, weight, missing=missing, max_depth=4, n_jobs=4)
    assert same_bits(answers(one, rows), answers(many, rows))


def test_threads_of_the_caller_get_what_one_thread_gets() -> None:
    X, y = simulated(2_000, 8)
    rows = holed(X, 0.4)
    expected = fitted(X, y, max_depth=4).predict(rows)
    model = fitted(X, y, max_depth=4)
    model.predict(rows[:50])  # half-grown from here
    parts = [np.random.default_rng(i).permutation(len(rows))[:500] for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: model.predict(rows[part]), parts))
    assert all(same_bits(answer, expected[part]) for answer, part in zip(found, parts, strict=True))
