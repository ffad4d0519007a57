"""Boosting on a cluster: every worker boosts a part of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree import _core
from tritree.dask.base import DaskClassifier, DaskEstimator, DaskRegressor, refuse_parameters
from tritree.dask.distributed_booster import DistributedBooster
from tritree.dask.part import PartOptions
from tritree.dask.passes import sample_background
from tritree.dask.workers import check_memory
from tritree.estimators.base_boosting import rescaled
from tritree.estimators.boosting import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.estimators.growing_model import GrowingModel
from tritree.progress import bar
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH, as_random_state

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tritree.dask.passes import Blocks, TrainingData

__all__ = ["DaskTrinaryBoostingClassifier", "DaskTrinaryBoostingRegressor"]

#: What a row needs beside its bins, which are kept by row and by column, and their partitions: the target,
#: predictions, derivatives, and its place in the order of nodes.
BYTES_PER_ROW = 56


class DaskBoosting(DaskEstimator):
    """Base of both estimators."""

    def _refuse_unsupported(self, work: Any) -> None:
        refuse_parameters(work, {"masked_copies": 0, "warm_start": False})
        if work.early_stopping is True:
            raise ValueError("early_stopping=True is not supported on a cluster; set max_iter")
        if getattr(work, "loss", None) in ("absolute_error", "quantile"):
            raise ValueError(
                f"loss={work.loss!r} needs quantiles of residuals, and thus all rows of a leaf in one place; fit "
                f"{type(work).__name__} instead, or choose another loss"
            )

    def _fit(self, client: Any, work: Any, training: TrainingData) -> None:
        weight = rescaled(training.weight)
        n_rows, n_columns = len(training.y), len(training.encoder.columns)
        check_memory(client, n_rows * (4 * n_columns + BYTES_PER_ROW), f"boosting on {n_rows:,} rows")
        loss = work._make_loss(work._params(), training.classes)
        blocks = training.bin(work._max_bins())
        model = _model_without_trees(client, work, training, blocks, weight)
        options = PartOptions(
            loss.name,
            loss.quantile,
            float(work.learning_rate),
            float(work.subsample),
            int(work.max_iter),
            n_rows,
            work.n_jobs,
        )
        booster = DistributedBooster(client, blocks, training.y, weight, model.state(with_rows=True), options)
        try:
            _run(booster, int(work.max_iter), show_progress=bool(work.verbose))
        finally:  # also after Ctrl-C: the trees so far are complete
            if booster.n_iterations:
                model = _core.BoostedModel.from_state(booster.state)
                work._set_fitted(GrowingModel(model, "boosting"), training.encoder, training.classes)
                self._local = work


def _model_without_trees(
    client: Any, work: Any, training: TrainingData, blocks: Blocks, weight: NDArray[np.float64] | None
) -> _core.BoostedModel:
    """Return a model with its baseline and background rows."""
    seed = int(as_random_state(work.random_state).randint(2**31 - 1))
    parameters = work._growth_parameters(training.encoder, training.classes, seed)
    loss = work._make_loss(work._params(), training.classes)
    model = _core.BoostedModel(blocks.bins, parameters, loss.initial(training.y, weight).tolist())
    if work.missing in STRATEGIES_WITH_THIRD_BRANCH:
        n = min(int(work.background_rows), len(training.y))
        model.set_background(*sample_background(client, blocks, weight, n, model.params["seed"]), 1)
    return model


def _run(booster: DistributedBooster, max_iter: int, *, show_progress: bool) -> None:
    shown = 0
    with bar(max_iter, "iterations", shown=show_progress) as advance:

        def show(n_iterations: int) -> None:
            nonlocal shown
            advance(n_iterations - shown)
            shown = n_iterations

        booster.run(show)


class DaskTrinaryBoostingRegressor(DaskBoosting, DaskRegressor):
    """`TrinaryBoostingRegressor` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryBoostingRegressor`. Not supported are the losses ``"absolute_error"`` and ``"quantile"``,
        ``masked_copies``, ``warm_start`` and ``early_stopping=True``.
    """

    _local_class = TrinaryBoostingRegressor


class DaskTrinaryBoostingClassifier(DaskBoosting, DaskClassifier):
    """`TrinaryBoostingClassifier` on a cluster of Dask: the same model, to the last bit.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; if None, the one that was created last.
    **parameters
        Those of `TrinaryBoostingClassifier`. Not supported are ``masked_copies``, ``warm_start`` and
        ``early_stopping=True``.
    """

    _local_class = TrinaryBoostingClassifier
