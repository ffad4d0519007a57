"""The benchmark of clusters: fits on worker processes of Dask on this machine, each in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import builds, data, memory
from benchmarks.ensembles import boosting_parameters
from benchmarks.libraries import Candidate, LightGBM, Parameters, TritreeBoosting, XGBoost
from benchmarks.results import Row, Verdict, compare
from benchmarks.timing import LoadMonitor, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.results import Measurement
    from benchmarks.run import Run

__all__ = ["CASES"]

N_COLUMNS, MISSING = 20, 0.1
#: Partitions of the table, on any number of workers.
N_PARTITIONS = 8
#: Seed of the rows that are predicted.
NEW_ROWS_SEED = 1_000_003
#: Rows so few that exchanges dominate, and on how many workers.
FEW_ROWS, N_WORKERS = 2_000, (2, 4, 8)


class OnCluster(Candidate):
    """A library's boosting on a cluster."""

    def on_cluster(self, client: Any, X: Any, y: Any, parameters: Parameters) -> Any:
        """Return the model, fitted to arrays of Dask, as the one of the local candidate."""
        raise NotImplementedError


class TritreeOnCluster(OnCluster, TritreeBoosting):
    """``tritree.dask``."""

    def __init__(self) -> None:
        self.name, self.missing = "tritree.dask", self.default_missing  # type: ignore[misc]

    def on_cluster(self, client: Any, X: Any, y: Any, parameters: Parameters) -> Any:
        import tritree.dask

        local = self.make(tritree, parameters)
        model = tritree.dask.DaskTrinaryBoostingRegressor(client=client, **local.get_params())
        return model.fit(X, y).to_local()


class LightGBMOnCluster(OnCluster, LightGBM):
    """``lightgbm.dask``."""

    name = "lightgbm.dask"

    def on_cluster(self, client: Any, X: Any, y: Any, parameters: Parameters) -> Any:
        import lightgbm

        options = self.options(parameters)
        del options["num_threads"]  # those of the workers
        model = lightgbm.DaskLGBMRegressor(client=client, n_estimators=parameters.n_trees, **options)
        return model.fit(X, y).booster_


class XGBoostOnCluster(OnCluster, XGBoost):
    """``xgboost.dask``."""

    name = "xgboost.dask"

    def on_cluster(self, client: Any, X: Any, y: Any, parameters: Parameters) -> Any:
        import xgboost.dask

        table = xgboost.dask.DaskQuantileDMatrix(client, X, y, max_bin=parameters.max_bins)
        options = self.options(parameters)
        return xgboost.dask.train(client, options, table, num_boost_round=parameters.n_trees)["booster"]


LOCAL = "tritree, local"
CANDIDATES: dict[str, Candidate] = {
    each.name: each for each in (TritreeOnCluster(), LightGBMOnCluster(), XGBoostOnCluster())
} | {LOCAL: TritreeBoosting()}


def fit_dask(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on a cluster of Dask: 1,000,000 x 20 numbers, and so few that exchanges dominate."""
    others, absent = run.others("LightGBM", "XGBoost")
    modules = {"tritree", *(each.module for each in others)}
    names = [name for name, each in CANDIDATES.items() if each.module in modules]
    if reason := _obstacle():
        yield Row("fit-dask", "all", notes=[f"Skipped: {reason}."])
        return
    yield from _many_rows(run, names, absent)
    for n_workers in (2,) if run.quick else N_WORKERS:
        yield _few_rows(run, [name for name in names if name != LOCAL], n_workers)


def _obstacle() -> str | None:
    """Return why nothing can be measured; None if it can."""
    return memory.obstacle() if find_spec("distributed") else "Dask is not installed"


def _many_rows(run: Run, names: list[str], absent: list[str]) -> Iterator[Row]:
    """Yield the rows of fits whose time is that of histograms: time, and peak memory."""
    n_rows = run.rows(1_000_000)
    work = f"{n_rows:,} x {N_COLUMNS}, 10 % missing, 100 trees, 2 workers"
    n_rounds = 1 if run.quick else min(run.rounds, 3)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(n_rounds):
        for name in names:
            parameters = replace(boosting_parameters(run), n_threads=2 if name == LOCAL else 1)
            found[name] += _in_a_fresh_process(name, n_rows, 2, parameters, [100])
        run.tick(number + 1, n_rounds)
    row = Row("fit-dask", work, _measurements(found, "seconds", "s"), notes=absent)
    row.verdicts += _compared(row.measurements)
    models = {one["model"] for name in (names[0], LOCAL) for one in found[name]}
    row.verdicts.append(
        Verdict("models that are equal to the last bit", float(len(models) == 1), 1.0, "", at_least=True)
    )
    scores = ", ".join(f"{name} {each[0]['score']:.3f}" for name, each in found.items())
    row.notes.append(f"R² on 10,000 new rows: {scores}.")
    yield row
    row = Row("fit-dask", f"{work}: memory of a worker", _measurements(found, "peak", "B"))
    row.verdicts += _compared(row.measurements)
    row.notes.append(f"{LOCAL}: memory of its one process, with all rows.")
    yield row


def _few_rows(run: Run, names: list[str], n_workers: int) -> Row:
    """Return the row of fits whose time is that of messages: the time of a tree, and its exchanges."""
    n_trees = [5, 25] if run.quick else [10, 110]
    parameters = replace(boosting_parameters(run), n_threads=1)
    row = Row("fit-dask", f"{FEW_ROWS:,} x {N_COLUMNS}, 10 % missing, {n_workers} workers: a tree")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(1 if run.quick else min(run.rounds, 3)):
        for name in names:
            few, many = _in_a_fresh_process(name, FEW_ROWS, n_workers, parameters, n_trees)
            per_tree = {
                key: (many[key] - few[key]) / (n_trees[1] - n_trees[0]) for key in (*PER_TREE, "seconds")
            }
            found[name].append({**per_tree, "other_load": many["other_load"]})
    row.measurements += _measurements(found, "seconds", "s")
    row.verdicts += _compared(row.measurements)
    for key, (what, unit) in PER_TREE.items():
        row.verdicts.append(
            Verdict(what, float(np.median([one[key] for one in found[names[0]]])), None, unit)
        )
    row.notes.append(
        f"Differences of fits with {n_trees[1]} and with {n_trees[0]} trees, divided by their number."
    )
    return row


def _measurements(found: dict[str, list[dict[str, Any]]], key: str, unit: str) -> list[Measurement]:
    return [
        # other processes do not change memory
        measurement(name, [(one[key], one["other_load"] if unit == "s" else None) for one in each], unit)
        for name, each in found.items()
    ]


def _compared(measurements: list[Measurement]) -> list[Verdict]:
    """Return the ratios of ``tritree.dask`` to each of the others."""
    own, *others = measurements
    return [
        verdict for other in others for verdict in compare(own, [other], None, f"against {other.candidate}")
    ]


#: What is counted besides time of the trees of ``tritree.dask``, and its unit.
PER_TREE = {
    "exchanges": ("exchanges", ""),
    "bytes": ("numbers that a worker sends", "B"),
    "processor": ("processor time of client and scheduler", "s"),
}


def _in_a_fresh_process(
    name: str, n_rows: int, n_workers: int, parameters: Parameters, n_trees: list[int]
) -> list[dict[str, Any]]:
    """Return what `_measure` does, with the load by other processes meanwhile."""
    options = {"n_rows": n_rows, "n_workers": n_workers, "parameters": asdict(parameters), "n_trees": n_trees}
    monitor = LoadMonitor()
    completed = subprocess.run(
        [sys.executable, "-m", "benchmarks.cluster", name, json.dumps(options)],
        cwd=Path(__file__).resolve().parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    load = monitor.load()
    return [{**found, "other_load": load} for found in json.loads(completed.stdout.splitlines()[-1])]


# ---- in the fresh process


def _measure(
    name: str, n_rows: int, n_workers: int, parameters: Parameters, n_trees: list[int]
) -> list[dict[str, Any]]:
    """Return what was measured of a fit for each number of trees, the R² of its model, and the checksum of its file."""
    candidate = CANDIDATES[name]
    X, y = data.numbers(10_000, N_COLUMNS, seed=NEW_ROWS_SEED, missing=MISSING)
    fits = [replace(parameters, n_trees=n) for n in n_trees]
    if isinstance(candidate, OnCluster):
        measured = _fit_on_cluster(candidate, n_rows, n_workers, fits)
    else:
        measured = _fit_here(candidate, n_rows, fits)
    for model, found in measured:
        left = y - candidate.predict(model, X, parameters)
        found["score"] = 1 - float(np.mean(left**2) / np.var(y))
        if isinstance(candidate, TritreeBoosting):
            found["model"] = _checksum(model)
    return [found for _, found in measured]


def _fit_here(candidate: Candidate, n_rows: int, fits: list[Parameters]) -> list[tuple[Any, dict[str, Any]]]:
    seed = fits[0].seed
    partitions = [_partition(n_rows, seed, number) for number in range(N_PARTITIONS)]
    X, y = (np.concatenate(parts) for parts in zip(*partitions, strict=True))
    del partitions
    candidate.fit(X[:1000], y[:1000], fits[0])
    measured = []
    for parameters in fits:
        before, begin = memory.reset_peak(), time.perf_counter()
        model = candidate.fit(X, y, parameters)
        measured.append((model, {"seconds": time.perf_counter() - begin, "peak": memory.peak() - before}))
    return measured


def _partition(n_rows: int, seed: int, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return data.numbers(n_rows // N_PARTITIONS, N_COLUMNS, seed=seed + number, missing=MISSING)


def _fit_on_cluster(
    candidate: OnCluster, n_rows: int, n_workers: int, fits: list[Parameters]
) -> list[tuple[Any, dict[str, Any]]]:
    measured = []
    with _cluster(n_workers) as client:
        client.run(_count_exchanges)
        small = _arrays(client, FEW_ROWS, fits[0].seed)
        candidate.on_cluster(client, *small, replace(fits[0], n_trees=2))
        X, y = _arrays(client, n_rows, fits[0].seed)
        for parameters in fits:
            client.run(_counted_exchanges)
            before, begin = client.run(memory.reset_peak), (time.perf_counter(), time.process_time())
            model = candidate.on_cluster(client, X, y, parameters)
            end = time.perf_counter(), time.process_time()  # the scheduler is in this process
            after = client.run(memory.peak)
            exchanges, n_bytes = max(client.run(_counted_exchanges).values())
            found = {
                "seconds": end[0] - begin[0],
                "peak": max(after[worker] - before[worker] for worker in after),
                "exchanges": exchanges,
                "bytes": n_bytes,
                "processor": end[1] - begin[1],
            }
            measured.append((model, found))
    return measured


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    """Yield a client of worker processes with one thread each, whose memory is not limited."""
    distributed: Any = import_module("distributed")  # its functions have no types
    with (
        distributed.LocalCluster(
            n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(builds.activate)
        yield client


def _arrays(client: Any, n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return the table and the target as arrays of Dask, whose partitions are on the workers."""
    da: Any = import_module("dask.array")
    dask: Any = import_module("dask")
    distributed: Any = import_module("distributed")
    n = n_rows // N_PARTITIONS
    parts = [
        dask.delayed(_partition, nout=2)(n_rows, seed, number, dask_key_name=f"partition-{n_rows}-{number}")
        for number in range(N_PARTITIONS)
    ]
    X = da.concatenate([da.from_delayed(own, (n, N_COLUMNS), np.float64) for own, _ in parts])
    y = da.concatenate([da.from_delayed(target, (n,), np.float64) for _, target in parts])
    persisted: tuple[Any, Any] = client.persist([X, y])
    distributed.wait(persisted)
    return persisted


def _count_exchanges() -> None:
    """Count on this worker the exchanges of tritree, and the bytes that it sends."""
    from tritree.dask.part import BoostingPart

    own = BoostingPart.advance

    def advance(self: Any, step: int, answer: Any) -> Any:
        numbers = own(self, step, answer)
        if numbers.how:
            counted[0] += 1
            counted[1] += numbers.values.nbytes
        return numbers

    counted = [0, 0]
    BoostingPart.counted = counted  # type: ignore[attr-defined]
    BoostingPart.advance = advance  # type: ignore[method-assign]


def _counted_exchanges() -> list[int]:
    """Return the counts since the last call."""
    from tritree.dask.part import BoostingPart

    counted: list[int] = BoostingPart.counted  # type: ignore[attr-defined]
    found, counted[:] = list(counted), [0, 0]
    return found


def _checksum(model: Any) -> int:
    """Return the checksum of the file of a model, without the number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tritree"
        model.set_params(n_jobs=None).save(path)
        return zlib.crc32(path.read_bytes())


CASES = {"fit-dask": fit_dask}

if __name__ == "__main__":
    builds.activate()
    _name, _options = sys.argv[1:]
    _given = json.loads(_options)
    _given["parameters"] = Parameters(**_given["parameters"])
    print(json.dumps(_measure(_name, **_given)))
