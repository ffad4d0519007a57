"""The benchmark of tables larger than memory: a fit that reads Parquet batch by batch, in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import builds, data, memory
from benchmarks.results import Measurement, Row, Verdict, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.run import Run

__all__ = ["CASES", "write_table"]

N_COLUMNS, N_TREES, DEPTH = 20, 100, 6
#: Number of rows of a row group.
GROUP = 1_000_000
#: Seed of the rows that are predicted to show that models are the same.
NEW_ROWS_SEED = 1_000_003


def write_table(path: Path, n_rows: int, seed: int) -> None:
    """Write a table of numbers and its target to a Parquet file, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(N_COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in (*names, "y")])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for number, first in enumerate(range(0, n_rows, GROUP)):
            X, y = data.numbers(min(GROUP, n_rows - first), N_COLUMNS, seed=seed + number)
            writer.write_table(pa.Table.from_arrays([*map(pa.array, X.T), pa.array(y)], schema=schema))


def _fit_batches(path: Path, n_threads: int) -> Any:
    return _tritree(n_threads).fit(path, "y")


def _fit_on_scratch_disk(path: Path, n_threads: int) -> Any:
    return _tritree(n_threads).fit(path, "y", scratch=path.parent)


def _fit_in_memory(path: Path, n_threads: int) -> Any:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return _tritree(n_threads).fit(table.drop_columns("y"), table["y"].to_numpy())


def _tritree(n_threads: int) -> Any:
    from tritree import TrinaryBoostingRegressor

    return TrinaryBoostingRegressor(
        max_iter=N_TREES,
        max_depth=DEPTH,
        l2_regularization=0,
        max_features=1.0,
        random_state=0,
        n_jobs=n_threads,
    )


def _fit_xgboost(path: Path, n_threads: int) -> Any:
    import pyarrow.parquet as pq
    import xgboost

    class Groups(xgboost.DataIter):  # type: ignore[misc]
        """The row groups of a Parquet file."""

        def __init__(self, cache: str) -> None:
            self.file, self.number = pq.ParquetFile(path), 0
            super().__init__(cache_prefix=cache, on_host=False)

        def next(self, input_data: Callable[..., Any]) -> bool:
            if self.number == self.file.num_row_groups:
                return False
            table = self.file.read_row_group(self.number)
            y = table["y"].to_numpy()
            input_data(
                data=np.column_stack([column.to_numpy() for column in table.drop_columns("y")]), label=y
            )
            self.number += 1
            return True

        def reset(self) -> None:
            self.number = 0

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        matrix = xgboost.ExtMemQuantileDMatrix(Groups(f"{folder}/cache"), max_bin=255, nthread=n_threads)
        parameters = {"max_depth": DEPTH, "eta": 0.1, "lambda": 0, "nthread": n_threads, "max_bin": 255}
        return xgboost.train(parameters, matrix, num_boost_round=N_TREES)


CANDIDATES: dict[str, Callable[[Path, int], Any]] = {
    "tritree, batch by batch": _fit_batches,
    "tritree, in memory": _fit_in_memory,
    "tritree, scratch disk": _fit_on_scratch_disk,
    "XGBoost, external memory": _fit_xgboost,
}


def fit_out_of_core(run: Run) -> Iterator[Row]:
    """Boost 100 trees of depth 6 on 10,000,000 x 20 numbers in a Parquet file, read batch by batch."""
    n_rows = run.rows(10_000_000)
    row = Row("fit-out-of-core", f"{n_rows:,} x {N_COLUMNS}, 100 trees, reading included")
    if reason := memory.obstacle():
        row.notes.append(f"Skipped: {reason}.")
        yield row
        return
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CANDIDATES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, n_rows, run.seed)
        n_rounds = 1 if run.quick else min(run.rounds, 3)
        for number in range(n_rounds):
            for name in CANDIDATES:
                found[name].append(measure(name, path, run.n_threads))
            run.tick(number + 1, n_rounds)
    times = {name: Measurement(name, tuple(one["seconds"] for one in each)) for name, each in found.items()}
    peaks = {
        name: Measurement(f"{name}, memory", tuple(one["peak"] for one in each), "B")
        for name, each in found.items()
    }
    row.measurements += [*times.values(), *peaks.values()]
    batches, whole, scratch, xgboost = CANDIDATES
    row.verdicts += [
        *compare(times[batches], [times[whole]], 1.5, "time against in memory"),
        *compare(times[scratch], [times[batches]], None, "time on a scratch disk against in memory"),
        *compare(times[batches], [times[xgboost]], None, "time against XGBoost's external memory"),
        *compare(peaks[batches], [peaks[xgboost]], None, "memory against XGBoost's external memory"),
    ]
    same = len({one["predictions"] for name in (batches, whole, scratch) for one in found[name]}) == 1
    row.verdicts.append(
        Verdict("predictions that are equal to the last bit", float(same), 1.0, "", at_least=True)
    )
    yield row


def measure(name: str, path: Path, n_threads: int) -> dict[str, Any]:
    """Return time and peak memory of a fit in a fresh process, and a checksum of its predictions."""
    completed = subprocess.run(
        [sys.executable, "-m", "benchmarks.out_of_core", "measure", name, str(path), str(n_threads)],
        cwd=Path(__file__).resolve().parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(completed.stdout.splitlines()[-1])
    return result


def _measure(name: str, path: Path, n_threads: int) -> dict[str, Any]:
    import zlib

    import pandas as pd

    before, begin = memory.reset_peak(), time.perf_counter()
    model = CANDIDATES[name](path, n_threads)
    result = {"seconds": time.perf_counter() - begin, "peak": memory.peak() - before, "predictions": 0}
    if name.startswith("tritree"):
        X, _ = data.numbers(10_000, N_COLUMNS, seed=NEW_ROWS_SEED, missing=0.2)
        found = model.predict(pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)]))
        result["predictions"] = zlib.crc32(found.tobytes())
    return result


CASES = {"fit-out-of-core": fit_out_of_core}

if __name__ == "__main__":
    builds.activate()
    _command, *_arguments = sys.argv[1:]
    if _command == "write":  # path, number of rows
        write_table(Path(_arguments[0]), int(_arguments[1]), 0)
    else:
        print(json.dumps(_measure(_arguments[0], Path(_arguments[1]), int(_arguments[2]))))
