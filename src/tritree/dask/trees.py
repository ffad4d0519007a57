"""Single trees and forests on a cluster: partitions are binned where they are, and one worker grows the trees.

Third branches of these grow from all training rows, not from a sample. So the worker that grows the trees has the bins
of all rows, one byte per cell, and each worker that predicts rows with missing values gets a copy.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from tritree import _core
from tritree.dask.base import DaskClassifier, DaskEstimator, DaskRegressor, refuse_parameters
from tritree.dask.part import threads_of_worker
from tritree.dask.partitions import delayed_partitions
from tritree.dask.workers import check_memory, find_client, results, roomiest_worker
from tritree.estimators.encoded_rows import EncodedRows
from tritree.estimators.forest import TrinaryForestClassifier, TrinaryForestRegressor
from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tritree.dask.passes import Blocks, TrainingData
    from tritree.encoder import TableEncoder

__all__ = [
    "DaskTrinaryForestClassifier",
    "DaskTrinaryForestRegressor",
    "DaskTrinaryTreeClassifier",
    "DaskTrinaryTreeRegressor",
]

#: What a row needs beside its bins: target, weight, and its place in the order of nodes.
BYTES_PER_ROW = 32
#: How often the trees are grown anew because their worker died.
_MAX_ATTEMPTS = 10


class DaskTrees(DaskEstimator):
    """Base of trees and forests; ``_grown`` is the future of a local estimator with all training rows."""

    def _refuse_unsupported(self, work: Any) -> None:
        refuse_parameters(work, {"warm_start": False, "oob_score": False})

    def _fit(self, client: Any, work: Any, training: TrainingData) -> None:
        n_rows = len(training.y)
        needed = n_rows * (2 * len(training.encoder.columns) + BYTES_PER_ROW)
        check_memory(client, needed, f"a tree on {n_rows:,} rows", on_one_worker=True)
        blocks = training.bin(work._max_bins())
        self._local, self._grown = _grow_on_a_worker(client, work, training, blocks)

    def grow_for(self, X: Any) -> Self:
        """Grow the third branches that rows need, on the worker that has grown the trees.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, dask.array.Array or table
            Rows with missing values where they are expected.

        Returns
        -------
        self
            The estimator.
        """
        self._fitted_local()
        if "_grown" not in vars(self):
            raise ValueError("the training rows are gone, since this estimator was pickled; fit it again")
        client, grown = find_client(self.client), self._grown
        for part in delayed_partitions(X) if hasattr(X, "to_delayed") else [X]:
            rows = client.compute(part) if hasattr(X, "to_delayed") else part
            grown = client.submit(_grow_for, grown, rows, pure=False)
        with _lost_rows():
            (self._local,) = results(client, [client.submit(_without_rows, grown, pure=False)])
        self._grown = grown
        return self

    def to_local(self, *, training_rows: bool = True) -> Any:
        """Return the fitted local estimator, with the third branches that are grown so far.

        Parameters
        ----------
        training_rows : bool, default=True
            Whether it gets the binned training rows, one byte per cell, from which other third branches grow. Without
            them, it is as after `detach`.
        """
        local = self._fitted_local()
        if not training_rows or "_grown" not in vars(self):
            return local._snapshot()
        with _lost_rows():
            (found,) = results(find_client(self.client), [self._grown])
        return found

    def _predicting(self) -> Any:
        return vars(self).get("_grown", self._fitted_local())

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_grown", None)  # the rows stay on the cluster
        return state


@contextmanager
def _lost_rows() -> Iterator[None]:
    """Say what it means that the future of an estimator is cancelled."""
    try:
        yield
    except CancelledError:
        raise RuntimeError("the training rows were lost with their worker; fit again") from None


def _grow_on_a_worker(client: Any, work: Any, training: TrainingData, blocks: Blocks) -> tuple[Any, Any]:
    """Return the fitted estimator without rows, and the future of the one that has them."""
    for attempt in range(_MAX_ATTEMPTS):
        try:
            (target,) = client.scatter([(training.y, training.weight)], hash=False)
            grown = client.submit(
                _fit,
                work,
                training.encoder,
                training.classes,
                blocks.futures,
                target,
                workers=[roomiest_worker(client)],
                allow_other_workers=True,
                pure=False,
            )
            (local,) = results(client, [client.submit(_without_rows, grown, pure=False)])
        except (CancelledError, OSError, TimeoutError):  # the target was lost with its worker
            if attempt + 1 == _MAX_ATTEMPTS:
                raise
        else:
            return local, grown
    raise AssertionError("unreachable")


# ---- on the workers


def _fit(
    work: Any,
    encoder: TableEncoder,
    classes: NDArray[Any] | None,
    blocks: Sequence[_core.BinnedColumns],
    target: tuple[NDArray[Any], NDArray[np.float64] | None],
) -> Any:
    """Return the fitted estimator with the rows of all blocks."""
    fitted, n_jobs = work._snapshot(), work.n_jobs
    fitted.n_jobs = threads_of_worker(n_jobs)
    fitted._fit_rows(encoder, classes, EncodedRows((), *target, _core.BinnedColumns.join(blocks)))
    fitted.n_jobs = n_jobs
    return fitted


def _grow_for(fitted: Any, rows: Any) -> Any:
    # growing changes no prediction, so the same object may go on
    return fitted.grow_for(rows) if len(rows) else fitted


def _without_rows(fitted: Any) -> Any:
    """Return a copy of an estimator without training rows."""
    copy, state = fitted._snapshot(), fitted._fitted
    model = state.model.copy()
    model.detach()
    copy._fitted_state = replace(state, model=model)
    return copy


# ---- the estimators


class DaskTrinaryTreeRegressor(DaskTrees, DaskRegressor):
    """`TrinaryTreeRegressor` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryTreeRegressor`.
    """

    _local_class = TrinaryTreeRegressor


class DaskTrinaryTreeClassifier(DaskTrees, DaskClassifier):
    """`TrinaryTreeClassifier` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryTreeClassifier`.
    """

    _local_class = TrinaryTreeClassifier


class DaskTrinaryForestRegressor(DaskTrees, DaskRegressor):
    """`TrinaryForestRegressor` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryForestRegressor`. Not supported are ``warm_start`` and ``oob_score``.
    """

    _local_class = TrinaryForestRegressor


class DaskTrinaryForestClassifier(DaskTrees, DaskClassifier):
    """`TrinaryForestClassifier` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryForestClassifier`. Not supported are ``warm_start`` and ``oob_score``.
    """

    _local_class = TrinaryForestClassifier
