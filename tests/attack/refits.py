"""Whatever disturbs a fit, and whoever asks meanwhile: predictions, pickles and files belong to one whole fit."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from attack.interrupts import interrupted
from attack.whole_fits import FITS, ROWS, assert_whole, estimators, expected, rows_without_third_branches
from models import predictions, same_bits

import tritree

_SOURCES = str(Path(tritree.__file__).parent)
_SECONDS = 0.4  # of threads that use one estimator at once


def interrupted_at_line(call: Callable[[], Any], number: int) -> int:
    """Call a function, with Ctrl-C before a line of tritree; return how many lines ran."""
    n_lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n_lines
        if not frame.f_code.co_filename.startswith(_SOURCES):
            return None
        if event == "line":
            n_lines += 1
            if n_lines == number:
                raise KeyboardInterrupt
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(previous)
    return n_lines


def interrupted_fit(seed: int, folder: Path) -> None:
    """Interrupt a second fit, to another table: the estimator is that of the first, or of the second."""
    rng = np.random.default_rng(seed)
    model = estimators(seed)
    first, second = rng.permutation(["a", "b"])
    model.fit(*FITS[first])
    begin = time.perf_counter()
    estimators(seed).fit(*FITS[second])
    interrupted(lambda: model.fit(*FITS[second]), rng.uniform(0, 1.1) * (time.perf_counter() - begin))
    assert_whole(model, folder)


def fit_interrupted_at_a_line(seed: int, folder: Path) -> None:
    """Interrupt a second fit before a random line of Python: every one is reached sooner or later."""
    rng = np.random.default_rng(seed)
    model = estimators(seed)
    first, second = rng.permutation(["a", "b"])
    model.fit(*FITS[first])
    n_lines = interrupted_at_line(lambda: estimators(seed).fit(*FITS[second]), 0)
    # half of the time among the last lines, which hand over the result
    earliest = 1 if rng.random() < 0.5 else max(1, n_lines - 60)
    interrupted_at_line(lambda: model.fit(*FITS[second]), int(rng.integers(earliest, n_lines + 1)))
    assert_whole(model, folder)


def fit_beside_other_threads(seed: int, folder: Path) -> None:
    """Fit to two tables in turns while threads predict, save, pickle and grow the same estimator."""
    model = estimators(seed)
    _run_beside(model, seed % 3, list(range(len(ROWS))), lambda: model.grow_for(ROWS), folder)


def detach_beside_other_threads(seed: int, folder: Path) -> None:
    """Drop the training rows in a thread, too: rows that need no third branch are predicted as before."""
    model = estimators(seed)
    _run_beside(model, seed % 3, rows_without_third_branches(seed % 3), model.detach, folder)


def _run_beside(model: Any, kind: int, numbers: list[int], other: Callable[[], Any], folder: Path) -> None:
    """Let threads fit, predict, save and pickle an estimator, and do the other thing, at once.

    Raise the first fault that one of them finds in the predictions of the rows with these numbers.
    """
    model.fit(*FITS["a"])
    size = getattr(model, "n_iter_", getattr(model, "n_trees_", 1))
    rows, whole = ROWS.iloc[numbers], [expected(kind, name, size)[numbers] for name in FITS]
    faults: list[BaseException] = []
    end = time.monotonic() + _SECONDS

    def check(found: Any) -> None:
        predicted = predictions(found, rows)
        assert any(same_bits(predicted, right) for right in whole), "a mixture of two fits"

    def check_labels() -> None:
        labels = {str(label)[0] for label in model.predict(rows)}
        assert len(labels) == 1, f"labels of two fits: {labels}"

    def save(number: int) -> None:
        path = folder / f"model {number}.tritree"
        model.save(path)
        check(tritree.load(path))

    def repeat(step: Callable[[], Any]) -> None:
        try:
            while time.monotonic() < end and not faults:
                step()
        except BaseException as error:
            faults.append(error)

    def refit() -> None:
        for name in ("b", "a"):
            model.fit(*FITS[name])

    steps = [refit, lambda: check(model), check_labels, lambda: save(0), lambda: save(1), other]
    steps.append(lambda: check(pickle.loads(pickle.dumps(model))))
    threads = [threading.Thread(target=repeat, args=(step,)) for step in steps]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns often
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if faults:
        raise faults[0]


ATTACKS = (
    interrupted_fit,
    fit_interrupted_at_a_line,
    fit_beside_other_threads,
    detach_beside_other_threads,
)
