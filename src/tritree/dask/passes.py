"""The passes over a table of Dask before boosting: what is learned of it, its bins, and its background rows."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import delayed
from dask.sizeof import sizeof

from tritree import _core
from tritree.dask.partitions import find_partitions, partition_errors, read_partition
from tritree.dask.workers import results, wait_for_workers
from tritree.errors import DataError, SampleWeightError, TargetError
from tritree.out_of_core.summary import (
    ColumnValues,
    TableSummary,
    encode_columns,
    find_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.dask.partitions import Partition
    from tritree.encoder import EncoderOptions, TableEncoder

__all__ = ["Blocks", "TrainingData", "read_training", "sample_background"]

_CHANGED = "is not what it was when it was first read; it must not change during fit"
#: How many results are merged by one task.
_FAN_IN = 8
#: How many rows one task samples background rows from, about.
_ROWS_PER_SAMPLE = 50_000_000


#: Hashes of rows, the rows, and their weights.
_HashedRows = tuple["NDArray[np.uint64]", "NDArray[np.int64]", "NDArray[np.float64] | None"]


@dataclass(frozen=True)
class Blocks:
    """The binned rows of a table: futures of `_core.BinnedColumns`, in the order of the table."""

    futures: list[Any]
    n_rows: list[int]
    #: The bins of the whole table, without rows.
    bins: _core.BinnedColumns


@dataclass(frozen=True)
class TrainingData:
    """What is known of a training table before its rows are binned."""

    partitions: TrainingPartitions
    encoder: TableEncoder
    classes: NDArray[Any] | None
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    def bin(self, max_bins: int) -> Blocks:
        """Return the binned rows, which stay on the cluster."""
        return self.partitions.bin(self.encoder, max_bins)


def read_training(client: Any, local: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Return a training table of Dask as a local estimator reads it."""
    partitions = find_partitions(X, y, sample_weight)
    wait_for_workers(client)
    training = TrainingPartitions(client, partitions)
    encoder, target, weights = training.learn(local._encoder_options())
    with training.row_errors():
        classes, values = target.read(local._read_target)
        weight = local._read_weights(classes, values, weights.values() if weights else None)
    return TrainingData(training, encoder, classes, values, weight)


class TrainingPartitions:
    """A training table whose partitions are read by the workers of a cluster."""

    def __init__(self, client: Any, partitions: Sequence[Partition]) -> None:
        self._client, self._partitions = client, list(partitions)
        self._summary: TableSummary | None = None

    def learn(self, options: EncoderOptions) -> tuple[TableEncoder, ColumnValues, ColumnValues]:
        """Return the encoder of the columns, the target and the weights, which may be empty."""
        read = [_summarise(p, options.categorical_features) for p in self._partitions]
        merged = _reduce(
            [_without_values(one, p.number) for one, p in zip(read, self._partitions, strict=True)]
        )
        computed = self._client.compute([merged, *(_values_of(one) for one in read)])
        summary, *values = results(self._client, computed)
        kept = [(p, own) for p, own in zip(self._partitions, values, strict=True) if own is not None]
        if summary is None:
            raise ValueError("X has no rows")
        self._partitions = [partition for partition, _ in kept]
        self._n_rows = [len(target) for _, (target, _) in kept]
        self._summary = summary[0]
        target, weights = ColumnValues(TargetError), ColumnValues(SampleWeightError)
        for partition, (its_target, its_weights) in kept:
            with partition_errors(f"partition {partition.number}"):
                target.merge(its_target)
                weights.merge(its_weights)
        return self._summary.encoder(options), target, weights

    def bin(self, encoder: TableEncoder, max_bins: int) -> Blocks:
        """Return the binned rows, which stay on the cluster."""
        assert self._summary is not None
        bounds = find_bounds(self._summary, encoder, self, max_bins)
        recipe = delayed((encoder, bounds))
        binned = [_bin(p, n_rows, recipe) for p, n_rows in zip(self._partitions, self._n_rows, strict=True)]
        futures = self._client.compute(binned)
        heads = results(self._client, self._client.map(_without_rows, futures, pure=False))
        bins = _core.BinnedColumns.join(heads)
        for column in range(len(bins.n_bins)):
            smallest, largest = bins.bounds(column)
            if (smallest > largest).any():
                raise ValueError(f"X {_CHANGED}")
        return Blocks(futures, self._n_rows, bins)

    @contextmanager
    def row_errors(self) -> Iterator[None]:
        """Say in errors about a row of the target or the weights in which partition it is."""
        try:
            yield
        except DataError as error:
            if error.row is not None:
                number = int(np.searchsorted(np.cumsum(self._n_rows), error.row, side="right"))
                error.argument = (
                    f"partition {self._partitions[number].number}, rows counted over all partitions"
                )
            raise

    def count(self, encoder: TableEncoder, positions: set[int]) -> _core.TableCounts:
        """Count the values of some encoded columns."""
        shared = delayed(encoder)
        merged = _reduce([_count_encoded(p, shared, positions) for p in self._partitions])
        counts: _core.TableCounts = results(self._client, [self._client.compute(merged)])[0][0]
        return counts

    def column(self, encoder: TableEncoder, position: int) -> NDArray[Any]:
        """Return an encoded column."""
        shared = delayed(encoder)
        parts = [_encoded_column(p, shared, position) for p in self._partitions]
        return np.concatenate(results(self._client, self._client.compute(parts)))


def sample_background(
    client: Any, blocks: Blocks, weight: NDArray[np.float64] | None, n: int, seed: int
) -> tuple[_core.BinnedColumns, NDArray[np.float64] | None]:
    """Return at most ``n`` rows with their weights, sampled as from the table in one place."""
    ends = np.cumsum(blocks.n_rows)
    n_samples = 1 + int(ends[-1]) // _ROWS_PER_SAMPLE
    weights = [None] * len(ends) if weight is None else np.split(weight, ends[:-1])
    hashes = client.map(_hash_rows, blocks.futures, weights, seed=seed, n_samples=n_samples, pure=False)
    samples = []
    for sample in range(n_samples):  # equal hashes are in one sample
        of_sample = client.map(itemgetter(sample), hashes, pure=False)
        samples.append(client.submit(_sample, of_sample, n, pure=False))
    samples = results(client, samples)
    keys, numbers, rows = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    chosen = np.argsort(keys)[:n]
    numbers, rows = numbers[chosen], rows[chosen]
    by_block = np.argsort(numbers, kind="stable")
    taken = results(
        client,
        [
            client.submit(_take, blocks.futures[number], rows[numbers == number], pure=False)
            for number in np.unique(numbers)
        ],
    )
    order = np.empty_like(by_block)
    order[by_block] = np.arange(len(by_block))
    first_rows = ends - blocks.n_rows
    own_weight = None if weight is None else weight[first_rows[numbers] + rows]
    return _core.BinnedColumns.join(taken).take(order), own_weight


# ---- on the workers


def _size_of_binned(binned: _core.BinnedColumns) -> int:
    return binned.n_rows * sum(1 if n <= 255 else 2 for n in binned.n_bins)


sizes: Any = sizeof  # which has no types
sizes.register(_core.BinnedColumns, _size_of_binned)


def _on_partition(task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task that gets the features and roles of a partition, once Dask has read it; None if it has no rows."""

    def start(partition: Partition, *args: Any) -> Any:
        return delayed(run)(
            partition.number, partition.features, list(partition.roles), partition.dtypes, *args
        )

    def run(number: int, features: Any, roles: list[Any], dtypes: Any, *args: Any) -> Any:
        with partition_errors(f"partition {number}"):
            read = read_partition(features, tuple(roles), dtypes)
            return None if read is None else task(*read, *args)

    run.__name__ = task.__name__.lstrip("_")
    return start


@_on_partition
def _summarise(table: Any, roles: Any, categorical_features: Any) -> TableSummary:
    summary = TableSummary(table, categorical_features)
    summary.add(table, roles, 1)
    return summary


@_on_partition
def _count_encoded(
    table: Any, _: Any, encoder: TableEncoder, positions: set[int]
) -> tuple[_core.TableCounts, str]:
    counts = _core.TableCounts(len(encoder.columns))
    encoded = encode_columns(encoder, table)
    chosen = [values if k in positions else None for k, values in enumerate(encoded)]
    counts.add(chosen, table.n_rows, 1)
    return counts, ""


@_on_partition
def _encoded_column(table: Any, _: Any, encoder: TableEncoder, position: int) -> Any:
    return encode_columns(encoder, table)[position]


@_on_partition
def _bin(
    table: Any, _: Any, n_rows: int, recipe: tuple[TableEncoder, list[NDArray[np.uint64]]]
) -> _core.BinnedColumns:
    encoder, bounds = recipe
    if table.n_rows != n_rows:
        raise ValueError(f"the partition {_CHANGED}")
    binner = _core.TableBinner(n_rows, bounds, encoder.n_categories)
    binner.append(encode_columns(encoder, table), n_rows, 1)
    return binner.finish(every_bin_occurs=False)


@delayed  # type: ignore[untyped-decorator]
def _values_of(summary: TableSummary | None) -> tuple[ColumnValues, ColumnValues] | None:
    return None if summary is None else (summary.target, summary.weights)


@delayed  # type: ignore[untyped-decorator]
def _without_values(summary: TableSummary | None, number: int) -> tuple[TableSummary, str] | None:
    return None if summary is None else (summary.without_values(), f"partition {number}")


def _reduce(delayed_parts: list[Any]) -> Any:
    """Return what the parts, in their order, are merged to."""
    while len(delayed_parts) > 1:
        delayed_parts = [
            _merge(delayed_parts[i : i + _FAN_IN]) for i in range(0, len(delayed_parts), _FAN_IN)
        ]
    return delayed_parts[0]


@delayed  # type: ignore[untyped-decorator]
def _merge(parts: list[tuple[Any, str] | None]) -> tuple[Any, str] | None:
    """Merge summaries, or counts, each with the name of its partitions for messages."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    merged, name = deepcopy(found[0])  # what other tasks return may be used again
    for other, its_name in found[1:]:
        with partition_errors(its_name):
            merged.merge(other)
    return merged, name if len(found) == 1 else f"{name} or a later one"


def _without_rows(binned: _core.BinnedColumns) -> _core.BinnedColumns:
    return binned.take(np.empty(0, np.int64))


def _hash_rows(
    binned: _core.BinnedColumns, weight: NDArray[np.float64] | None, seed: int, n_samples: int
) -> list[_HashedRows]:
    """Return hashes of rows, the rows and their weights, divided by their hashes into parts."""
    hashes = binned.hash_rows(seed, 1)
    part = (hashes >> np.uint64(32)) % np.uint64(n_samples)
    parts = [np.flatnonzero(part == k) for k in range(n_samples)]
    return [(hashes[rows], rows, None if weight is None else weight[rows]) for rows in parts]


def _sample(
    hashed: list[_HashedRows], n: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of sampled rows, the numbers of their blocks, and their positions in these."""
    hashes, rows, weights = zip(*hashed, strict=True)
    numbers = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    weight = None if weights[0] is None else np.concatenate(weights)
    keys, chosen = _core.sample_by_hash(np.concatenate(hashes), weight, n)
    return keys, numbers[chosen], np.concatenate(rows)[chosen]


def _take(binned: _core.BinnedColumns, rows: NDArray[np.int64]) -> _core.BinnedColumns:
    return binned.take(rows)
