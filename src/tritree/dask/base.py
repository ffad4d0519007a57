"""What all estimators of Dask have in common: the parameters of the local ones, a client, and predictions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from tritree.dask.passes import read_training
from tritree.dask.prediction import predict_lazily
from tritree.dask.workers import find_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritree.dask.passes import TrainingData

__all__ = ["DaskClassifier", "DaskEstimator", "DaskRegressor", "refuse_parameters"]


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


class DaskEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators of Dask; ``_local`` is the fitted local one."""

    _local_class: ClassVar[type[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_local_class" in vars(cls):
            cls.__init__ = _init_with_client(cls._local_class)  # type: ignore[method-assign]

    def _unfitted_local(self) -> Any:
        """Return a local estimator with the same parameters, which are valid."""
        params: dict[str, Any] = self.get_params(deep=False)
        del params["client"]
        local = self._local_class(**params)
        local._validate_params()
        return local

    def _fitted_local(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self._local

    def __sklearn_is_fitted__(self) -> bool:
        return "_local" in vars(self)

    def __getattr__(self, name: str) -> Any:
        # the fitted attributes of the local estimator
        is_fitted_attribute = name.endswith("_") and not name.startswith("_")
        if is_fitted_attribute and "_local" in vars(self):
            return getattr(self._local, name)
        hint = "; call fit first" if is_fitted_attribute and "_local" not in vars(self) else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # it belongs to this process

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on the workers of the cluster. Ctrl-C keeps the trees that boosting has so far.

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
        work = self._unfitted_local()
        self._refuse_unsupported(work)
        client = find_client(self.client)
        self._fit(client, work, read_training(client, work, X, y, sample_weight))
        return self

    def _refuse_unsupported(self, work: Any) -> None:
        """Raise a ValueError for a parameter that needs all rows in one place."""
        raise NotImplementedError

    def _fit(self, client: Any, work: Any, training: TrainingData) -> None:
        """Set ``_local``; ``work`` is the local estimator to fit."""
        raise NotImplementedError

    def save(self, path: Any, **options: Any) -> None:
        """Save the fitted local estimator; `tritree.load` returns it. The options are those of its ``save``."""
        self.to_local().save(path, **options)

    def to_local(self) -> Any:
        """Return the fitted local estimator, which needs no cluster."""
        return self._fitted_local()._snapshot()

    def _predicting(self) -> Any:
        """Return the local estimator, or the future of one, that predicts on the workers."""
        return self._fitted_local()

    def predict(self, X: Any) -> Any:
        """Return the predictions lazily: a series or an array of Dask, partitioned as ``X`` is.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            Rows to predict; a table in memory is predicted at once.
        """
        return predict_lazily(self._fitted_local(), self._predicting(), "predict", X)


class DaskRegressor(RegressorMixin, DaskEstimator):  # type: ignore[misc]
    """Base of the regressors."""


class DaskClassifier(ClassifierMixin, DaskEstimator):  # type: ignore[misc]
    """Base of the classifiers."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes lazily: a frame with a column per class, or an array.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            Rows to predict; a table in memory is predicted at once.
        """
        return predict_lazily(self._fitted_local(), self._predicting(), "predict_proba", X)


def refuse_parameters(local: Any, unsupported: dict[str, Any]) -> None:
    """Raise a ValueError for a parameter that has another value than the one that is supported."""
    for name, supported in unsupported.items():
        if (value := getattr(local, name, supported)) != supported:
            raise ValueError(f"{name}={value!r} is not supported on a cluster; leave it out")
