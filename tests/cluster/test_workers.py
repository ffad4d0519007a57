"""Workers that are processes, and that die, come late, or have too little memory."""

import itertools
import random
import signal
import threading
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from models import assert_equal_models
from process_cluster import ProcessCluster

from tritree import TrinaryBoostingClassifier
from tritree.dask import DaskTrinaryBoostingClassifier, boosting, distributed_booster, workers

OPTIONS = {"max_depth": 3, "random_state": 0, "background_rows": 500, "n_jobs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(2_000, 4)), columns=list("abcd"))
    signal = table.a + table.b * table.c
    table = table.mask(rng.random(table.shape) < 0.2)
    table["label"] = np.where(signal > 0, "high", "low")
    return table


@pytest.fixture(scope="module")
def frame(table):
    return dd.from_pandas(table, npartitions=5)


@pytest.fixture
def cluster(request):
    n_workers = getattr(request, "param", 2)
    with ProcessCluster(n_workers) as cluster:
        yield cluster


def local_model(table, max_iter):
    local = TrinaryBoostingClassifier(max_iter=max_iter, **OPTIONS).fit(
        table.drop(columns="label"), table.label
    )
    return local._model.core


class Iterations:
    """Calls a function after each complete iteration that is reported."""

    def __init__(self, monkeypatch, react):
        run = distributed_booster.DistributedBooster._run_exchanges

        def run_and_react(self, on_iterations):
            def report(n):
                react(n)
                on_iterations(n)

            run(self, report)

        monkeypatch.setattr(distributed_booster.DistributedBooster, "_run_exchanges", run_and_react)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("cluster", [3], indirect=True)
def test_killed_workers_do_not_change_a_bit(seed, cluster, table, frame):
    """Ten workers are killed, each at a random moment, and replaced."""
    rng, done = random.Random(seed), threading.Event()
    n_killed = 0

    def kill_and_replace():
        nonlocal n_killed
        while n_killed < 10 and not done.wait(rng.uniform(0.1, 1.5)):
            cluster.kill_worker(rng.randrange(len(cluster.workers)))
            cluster.workers.append(cluster.add_worker())
            n_killed += 1

    killer = threading.Thread(target=kill_and_replace)
    killer.start()
    n_fits = 0
    try:
        while killer.is_alive():
            fitted = DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=8, **OPTIONS)
            fitted.fit(frame, "label")
            assert_equal_models(fitted.to_local()._model.core, local_model(table, 8))
            n_fits += 1
    finally:
        done.set()
        killer.join()
    assert n_killed == 10
    assert n_fits > 0


def test_a_worker_that_joins_late_is_used(cluster, table, frame, monkeypatch):
    monkeypatch.setattr(distributed_booster, "_MIN_SECONDS_BETWEEN_STARTS", 0.0)
    monkeypatch.setattr(distributed_booster, "_SERIES_SECONDS", 0.05)
    started = []
    start = distributed_booster.DistributedBooster._start

    def record(self):
        start(self)
        started.append(len(self._parts))

    def add_worker(n_iterations):
        if len(cluster.workers) == 2 and n_iterations >= 1:
            cluster.workers.append(cluster.add_worker())
            cluster.client.wait_for_workers(3, timeout=60)

    monkeypatch.setattr(distributed_booster.DistributedBooster, "_start", record)
    Iterations(monkeypatch, add_worker)
    fitted = DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=10, **OPTIONS).fit(frame, "label")
    assert started == [2, 3]
    assert_equal_models(fitted.to_local()._model.core, local_model(table, 10))


def test_all_workers_are_lost_at_once(cluster, table, frame, monkeypatch):
    monkeypatch.setattr(distributed_booster, "_SERIES_SECONDS", 0.05)

    def kill_all(n_iterations):
        if n_iterations >= 2 and len(cluster.workers) == 2:
            cluster.kill_worker(0)
            cluster.kill_worker(0)
            cluster.workers.append(cluster.add_worker())

    Iterations(monkeypatch, kill_all)
    fitted = DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=6, **OPTIONS).fit(frame, "label")
    assert_equal_models(fitted.to_local()._model.core, local_model(table, 6))


def test_interrupts_keep_the_trees_so_far(cluster, table, frame, monkeypatch):
    monkeypatch.setattr(distributed_booster, "_SERIES_SECONDS", 0.05)

    def interrupt(n_iterations):
        if n_iterations >= 2:
            signal.raise_signal(signal.SIGINT)

    Iterations(monkeypatch, interrupt)
    estimator = DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=200, **OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(frame, "label")
    assert 2 <= estimator.n_iter_ < 200
    assert_equal_models(estimator.to_local()._model.core, local_model(table, estimator.n_iter_))


def test_interrupts_do_not_wait_for_exchanges_that_are_submitted(cluster, table, frame, monkeypatch):
    def result(future, check):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return wait_for_result(future, check)

    wait_for_result, calls = distributed_booster.result, itertools.count()
    monkeypatch.setattr(distributed_booster, "result", result)
    estimator = DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=200, **OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(frame, "label")
    assert_equal_models(estimator.to_local()._model.core, local_model(table, estimator.n_iter_))
    assert estimator.set_params(max_iter=2).fit(frame, "label").n_iter_ == 2  # no worker is still waiting


def test_parts_end_with_the_fit(cluster, frame):
    def part_threads():
        return [thread.name for thread in threading.enumerate() if thread.name == "tritree part"]

    DaskTrinaryBoostingClassifier(client=cluster.client, max_iter=2, **OPTIONS).fit(frame, "label")
    deadline = time.monotonic() + 10
    while any(names := cluster.client.run(part_threads).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(names)


def test_too_little_memory_is_an_error(cluster, frame, monkeypatch):
    monkeypatch.setattr(boosting, "BYTES_PER_ROW", 2_000_000)
    with pytest.raises(
        MemoryError, match=r"needs about 3\.7. GiB, and the workers have all together 2\.00 GiB"
    ):
        DaskTrinaryBoostingClassifier(client=cluster.client, **OPTIONS).fit(frame, "label")


def test_paused_workers_are_an_error(frame, monkeypatch):
    monkeypatch.setattr(workers, "MAX_WAIT_SECONDS", 5.0)
    with (
        ProcessCluster(1, memory_limit="100MiB") as cluster,
        pytest.raises(MemoryError, match="all workers have been paused for 5 seconds"),
    ):
        DaskTrinaryBoostingClassifier(client=cluster.client, **OPTIONS).fit(frame, "label")


def test_a_cluster_without_workers_is_an_error(cluster, frame, monkeypatch):
    monkeypatch.setattr(workers, "MAX_WAIT_SECONDS", 1.0)
    while cluster.workers:
        cluster.kill_worker(0)
    with pytest.raises(RuntimeError, match="the cluster has had no worker for 1 seconds"):
        DaskTrinaryBoostingClassifier(client=cluster.client, **OPTIONS).fit(frame, "label")
