"""Estimators that are fitted on a cluster of Dask, and predict there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from tritree import _core
from tritree.dask.part import PartOptions
from tritree.dask.partitions import find_partitions
from tritree.dask.passes import TrainingPartitions, sample_background
from tritree.dask.prediction import predict_lazily
from tritree.dask.rounds import Rounds
from tritree.dask.workers import check_memory, find_client, wait_for_workers
from tritree.estimators.base_boosting import rescaled
from tritree.estimators.boosting import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.estimators.growing_model import GrowingModel
from tritree.progress import bar
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH, as_random_state

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DaskTrinaryBoostingClassifier", "DaskTrinaryBoostingRegressor"]


def _init_with_client(local_class: type[Any]) -> Callable[..., None]:
    """Return a constructor with the parameters of the local estimator, and ``client``."""
    parameters = list(inspect.signature(local_class).parameters.values())
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, client, *parameters])

    def __init__(self: Any, **given: Any) -> None:  # noqa: N807 - it becomes the constructor
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


class DaskBoosting(BaseEstimator):  # type: ignore[misc]
    """Base of both estimators: the parameters of the local one, and a client."""

    _local_class: ClassVar[type[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_local_class" in vars(cls):
            cls.__init__ = _init_with_client(cls._local_class)  # type: ignore[method-assign]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on the workers of the cluster. Ctrl-C keeps the trees fitted so far.

        The model is that of the local estimator, to the last bit, however the table is partitioned, and whatever
        happens to the workers meanwhile.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            Training table. Its partitions are read twice; persist them if they are expensive to compute.
        y : dask.dataframe.Series, dask.array.Array or str
            The target, partitioned as ``X`` is, or the name of its column in ``X``.
        sample_weight : dask.dataframe.Series, dask.array.Array or str, default=None
            Sample weights. If None, all samples have equal weight.

        Returns
        -------
        self
            The fitted estimator.
        """
        work = self._local_class(**self._local_params())
        work._validate_params()
        _refuse_parameters(work)
        client = find_client(self.client)
        wait_for_workers(client)
        training = TrainingPartitions(client, find_partitions(X, y, sample_weight))
        encoder, target, weights = training.learn(work._encoder_options())
        classes, values = target.read(work._read_target)
        weight = rescaled(work._read_weights(classes, values, weights.values() if weights else None))
        check_memory(client, len(values), len(encoder.columns))
        loss = work._make_loss(work._params(), classes)
        seed = int(as_random_state(work.random_state).randint(2**31 - 1))
        parameters = work._growth_parameters(encoder, classes, seed)
        blocks = training.bin(encoder, work._max_bins())
        core = _core.BoostedModel(blocks.bins, parameters, loss.initial(values, weight).tolist())
        if work.missing in STRATEGIES_WITH_THIRD_BRANCH:
            n = min(int(work.background_rows), len(values))
            core.set_background(*sample_background(client, blocks, weight, n, core.params["seed"]), 1)
        options = PartOptions(
            loss.name,
            loss.quantile,
            float(work.learning_rate),
            float(work.subsample),
            int(work.max_iter),
            len(values),
            work.n_jobs if work.n_jobs is None or work.n_jobs > 0 else None,
        )
        rounds = Rounds(client, blocks, values, weight, core.state(with_rows=True), options)
        shown = 0
        with bar(work.max_iter, "iterations", shown=bool(work.verbose)) as advance:

            def show(n_iterations: int) -> None:
                nonlocal shown
                advance(n_iterations - shown)
                shown = n_iterations

            try:
                rounds.run(show)
            finally:  # also after Ctrl-C: the trees so far are complete
                if rounds.n_iterations:
                    model = _core.BoostedModel.from_state(rounds.state)
                    work._set_fitted(GrowingModel(model, "boosting"), encoder, classes)
                    self._local = work
        return self

    def _local_params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        del params["client"]
        return params

    def __sklearn_is_fitted__(self) -> bool:
        return "_local" in vars(self)

    def __getattr__(self, name: str) -> Any:
        # the fitted attributes of the local estimator
        if name.endswith("_") and not name.startswith("_") and "_local" in vars(self):
            return getattr(self._local, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}" + _not_fitted_hint(name))

    def _fitted_local(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self._local

    def to_local(self) -> Any:
        """Return the fitted local estimator, which needs no cluster."""
        return self._fitted_local()._snapshot()

    def save(self, path: Any, **options: Any) -> None:
        """Save the fitted local estimator; `tritree.load` returns it. The options are those of its ``save``."""
        self._fitted_local().save(path, **options)

    def predict(self, X: Any) -> Any:
        """Return the predictions lazily: a series or an array of Dask, partitioned as ``X`` is.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            Rows to predict; a table in memory is predicted at once.
        """
        return predict_lazily(self._fitted_local(), "predict", X)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # it belongs to this process


class DaskTrinaryBoostingRegressor(RegressorMixin, DaskBoosting):  # type: ignore[misc]
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


class DaskTrinaryBoostingClassifier(ClassifierMixin, DaskBoosting):  # type: ignore[misc]
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

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes lazily: a frame with a column per class, or an array.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            Rows to predict; a table in memory is predicted at once.
        """
        return predict_lazily(self._fitted_local(), "predict_proba", X)


def _refuse_parameters(work: Any) -> None:
    """Raise a ValueError for a parameter that needs all rows in one place."""
    if getattr(work, "loss", None) in ("absolute_error", "quantile"):
        raise ValueError(
            f"loss={work.loss!r} needs quantiles of residuals, and thus all rows of a leaf in one place; fit "
            f"{type(work).__name__} instead, or choose another loss"
        )
    for name, value in {"masked_copies": 0, "warm_start": False}.items():
        if getattr(work, name) != value:
            raise ValueError(f"{name}={getattr(work, name)!r} is not supported on a cluster; leave it out")
    if work.early_stopping is True:
        raise ValueError("early_stopping=True is not supported on a cluster; set max_iter")


def _not_fitted_hint(name: str) -> str:
    return "; it is there after fit" if name.endswith("_") else ""
