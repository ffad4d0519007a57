"""The base of both boosting estimators: the fit, iteration by iteration."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tritree import _core
from tritree.encoder import column_errors
from tritree.errors import DataError, TargetError
from tritree.estimators.callbacks import CallbackSupport, FitCallbacks, with_callbacks
from tritree.estimators.early_stopping import (
    EarlyStopping,
    ValidationScores,
    check_finite,
    split_validation,
)
from tritree.estimators.encoded_rows import EncodedRows
from tritree.estimators.fitted_state import FittedState, check_same_classes, fitted_attribute
from tritree.estimators.growing_model import GrowingModel, boosting_parameters
from tritree.estimators.losses import exact_sum
from tritree.estimators.sums import EstimatorOfSums
from tritree.progress import bar
from tritree.table import read_table
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH, as_random_state, count_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.losses import Loss

__all__ = ["BaseBoosting"]

_ARGUMENT_HINTS = {
    "eval_set": "pass validation rows as X_val and y_val: fit(X, y, X_val=..., y_val=...)",
    "eval_X": "pass validation rows as X_val and y_val",
    "eval_y": "pass validation rows as X_val and y_val",
    "eval_sample_weight": "pass weights of validation rows as sample_weight_val",
    "sample_weight_eval_set": "pass weights of validation rows as sample_weight_val",
    "early_stopping_rounds": "set n_iter_no_change when the estimator is created",
    "eval_metric": "validation rows are scored by the loss; set loss when the estimator is created",
    "callbacks": "pass them to set_callbacks() of the estimator, which scikit-learn 1.9 or later has",
    "verbose": "set verbose when the estimator is created",
}


class BaseBoosting(CallbackSupport, EstimatorOfSums):  # type: ignore[misc]
    """Base of both boosting estimators; the subclass chooses the loss."""

    _argument_hints = _ARGUMENT_HINTS
    # sums of weighted gradients are squared
    _max_target = 1e100
    _max_weight = 1e30
    _default_attributes: ClassVar = {
        "validation_scores_": None,
        "train_scores_": None,
        "best_iteration_": None,
    }

    @property
    def _bins_rows(self) -> bool:  # type: ignore[override]
        return not self.masked_copies  # otherwise it is larger than the table

    def _make_loss(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:
        raise NotImplementedError

    def _link_name(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> str:
        return self._make_loss(params, classes).link.name

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        scratch: Any = None,
        **unknown: Any,
    ) -> Self:
        """Fit the estimator to a training table. Ctrl-C keeps the trees fitted so far.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads. A table larger
            than memory is read batch by batch: the path of Parquet files, a dataset of pyarrow, a lazy frame of polars,
            or an iterable of frames.
        y : array-like of shape (n_rows,) or str
            The target: numbers up to 1e100 in regression, class labels of one type in classification. The name of its
            column if the table is read batch by batch; likewise ``sample_weight``.
        sample_weight : array-like of shape (n_rows,) or str, default=None
            Sample weights, at most 1e30. If None, all samples have equal weight.
        X_val : table of shape (n_validation_rows, n_columns), default=None
            Validation rows, for early stopping and ``validation_scores_``.
        y_val : array-like of shape (n_validation_rows,), default=None
            Target of the validation rows.
        sample_weight_val : array-like of shape (n_validation_rows,), default=None
            Sample weights of the validation rows.
        scratch : str or path-like, default=None
            A folder for temporary files that hold the binned table instead of memory, if it is read batch by batch: two
            bytes per cell, four if a column has more than 255 bins. They have no names, so nothing is left of them,
            however the process ends. The model is the same.
        **unknown : dict
            Nothing else is accepted; the error for an argument of another library, such as ``eval_set``, says what to
            use.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_arguments(X_val, y_val, sample_weight_val, unknown)
        with self._fitting() as work:
            work._fit_iterations(self, X, y, sample_weight, X_val, y_val, sample_weight_val, scratch)
        return self

    def _fit_iterations(
        self,
        estimator: BaseBoosting,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
        scratch: Any,
    ) -> None:
        """Fit a snapshot of an estimator, whose callbacks are called."""
        self._validate_params()
        n_threads = count_threads(self.n_jobs)
        before = self._state_to_continue("max_iter", "iterations")
        if before is None:
            seed = int(as_random_state(self.random_state).randint(2**31 - 1))
        else:
            seed = before.model.core.params["seed"]  # validation rows must not become training rows
        splits = X_val is None and self.early_stopping not in (False, "auto")
        encoder, classes, rows = self._read_rows(
            X,
            y,
            sample_weight,
            None if before is None else before.encoder,
            "early_stopping=True without X_val and y_val" if splits else None,
            scratch,
        )
        rows = replace(rows, weight=rescaled(rows.weight))
        if before is not None:
            check_same_classes(classes, before.classes)
        loss = self._make_loss(self._params(), classes)
        scores = None
        with column_errors(encoder):
            if X_val is not None:
                validation = self._read_validation(X_val, y_val, sample_weight_val, encoder, classes)
                scores = ValidationScores(loss, validation)
            elif splits:
                check_finite(rows)
                fraction = self.validation_fraction
                rows, validation = split_validation(rows, fraction, seed, stratify=classes is not None)
                scores = ValidationScores(loss, validation)
            parameters = self._growth_parameters(encoder, classes, seed)
            model, booster = self._start(
                rows, loss, encoder, parameters, None if before is None else before.model, n_threads
            )
            # the booster has what it needs of them
            scored = None if scores is None else replace(rows, columns=(), binned=None)
            del rows
            if scores is not None:
                with (
                    prefix_errors("X_val") if X_val is not None else nullcontext(),
                    column_errors(encoder),
                ):
                    scores.check(model, n_threads)
        fitted = FittedState(model, encoder, classes, self._params(), self._default_attributes)
        callbacks = FitCallbacks(estimator, self.max_iter, X, y, lambda: {"_fitted_state": fitted})
        best = None
        try:
            best = self._boost(
                lambda: callbacks.run(booster.boost),
                booster,
                model,
                scored,
                scores,
                n_threads,
            )
        finally:
            if model.n_trees:  # also after Ctrl-C: the trees so far are complete
                attributes = {} if scores is None else scores.attributes()
                self._set_fitted(model, encoder, classes, **attributes, best_iteration_=best)
        callbacks.end()

    def _check_arguments(
        self, X_val: Any, y_val: Any, sample_weight_val: Any, unknown: Mapping[str, Any]
    ) -> None:
        """Raise an error if arguments of `fit` are unknown, or do not belong together."""
        self._refuse_arguments(unknown)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be passed together")
        if X_val is None and sample_weight_val is not None:
            raise ValueError("sample_weight_val requires X_val and y_val")

    validation_scores_ = fitted_attribute(
        "validation_scores_", "Negative mean loss of the validation rows after each iteration, or None."
    )
    train_scores_ = fitted_attribute(
        "train_scores_", "Negative mean loss of the training rows after each iteration, or None."
    )
    best_iteration_ = fitted_attribute(
        "best_iteration_", "The iteration with the best validation score; None without validation rows."
    )

    def _start(
        self,
        rows: EncodedRows,
        loss: Loss,
        encoder: TableEncoder,
        parameters: _core.GrowthParameters,
        model: GrowingModel | None,
        n_threads: int,
    ) -> tuple[GrowingModel, _core.Booster]:
        """Return the model, a new one or the one to continue, and what adds iterations to it."""
        n_copies = int(self.masked_copies)
        y, weight = rows.y, rows.weight
        if n_copies:
            y = np.tile(y, n_copies + 1)
            weight = None if weight is None else np.tile(weight, n_copies + 1)
        options = (loss.name, loss.quantile, y, weight, float(self.learning_rate), float(self.subsample))
        if model is not None:
            if n_copies:
                raise ValueError(
                    f"warm_start cannot continue a model with masked_copies={n_copies}; fit all iterations at once"
                )
            model = model.copy()  # others may go on to predict with the trees so far
            sums, _ = model.predict(rows.columns, len(rows), n_threads)
            raw = np.ascontiguousarray(sums.T).ravel()
            return model, _core.Booster.resume(rows.columns, raw, model.core, *options, n_threads)
        binned = self._bin(rows, encoder, n_threads)
        core = _core.BoostedModel(binned, parameters, loss.initial(rows.y, rows.weight).tolist())
        if self.missing in STRATEGIES_WITH_THIRD_BRANCH:
            core.keep_background(binned, rows.weight, min(int(self.background_rows), len(rows)), n_threads)
        if n_copies:
            binned = binned.with_masked_copies(n_copies, parameters.to_dict()["seed"], n_threads)
        return GrowingModel(core, "boosting"), _core.Booster(binned, core, *options, n_threads)

    def _growth_parameters(
        self, encoder: TableEncoder, classes: NDArray[Any] | None, seed: int = 0
    ) -> _core.GrowthParameters:
        link = self._make_loss(self._params(), classes).link
        return boosting_parameters(self, encoder, seed, nonlinear_link=link.adjust is not None)

    def _boost(
        self,
        iterate: Callable[[], bool],
        booster: _core.Booster,
        model: GrowingModel,
        rows: EncodedRows | None,
        scores: ValidationScores | None,
        n_threads: int,
    ) -> int | None:
        """Run the iterations, and return the best one; ``iterate`` runs one and returns whether to stop."""
        first = model.n_iterations
        stopping = EarlyStopping(int(self.n_iter_no_change), float(self.tol))
        if scores is not None and first:  # iterations that warm_start adds must improve the model
            stopping.should_stop(scores.score(model, first, n_threads), first)
        with bar(max(self.max_iter - first, 0), "iterations", shown=bool(self.verbose)) as advance:
            for n_iterations in range(first + 1, self.max_iter + 1):
                stop = iterate()
                advance()
                if scores is not None and rows is not None:
                    raw = booster.raw().reshape(model.core.n_outputs, -1)
                    scores.add_train(rows, raw[:, : len(rows)])  # without masked copies
                    score = scores.add(model, n_iterations, n_threads)
                    stop |= stopping.should_stop(score, n_iterations) and bool(self.early_stopping)
                if stop:
                    break
        if scores is None or not stopping.best_iteration:
            return None
        if self.early_stopping:
            model.core.keep_iterations(stopping.best_iteration)
        return stopping.best_iteration

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, encoder: TableEncoder, classes: NDArray[Any] | None
    ) -> EncodedRows:
        with prefix_errors("X_val"):
            table = read_table(X)
        with prefix_errors("X_val and y_val"):
            found, target = self._read_target(y, table.n_rows)
        if classes is not None and found is not None:
            unknown = [label for label in found.tolist() if label not in classes.tolist()]
            if unknown:
                raise TargetError(
                    f"holds the class {unknown[0]!r}, which y does not",
                    "drop such rows",
                    value=unknown[0],
                    subject="y_val",
                )
            target = np.searchsorted(classes, found)[target.astype(np.intp)].astype(np.float64)
        with prefix_errors("X_val and y_val"):
            weight = self._read_weights(classes, target, sample_weight)
        with prefix_errors("X_val"):
            refuse = self.unknown_category == "error"
            columns = encoder.encode(table, type(self).__name__, refuse_unknown=refuse)
        return EncodedRows(columns, target, weight)


def rescaled(weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return weights scaled by a power of two (exact) so that the mean is near 1, if it is below 1.

    The regularisation expects a row of weight two to count as two rows, but weights that sum to 1 are fractions. A mean
    of 1 but for rounding, as that of balanced classes, is left alone.

    Examples
    --------
    >>> rescaled(np.array([0.25, 0.75, 0.0])).tolist(), rescaled(np.array([0.99, 2.0])).tolist()
    ([0.5, 1.5, 0.0], [0.99, 2.0])
    """
    if weight is None:
        return weight
    positive = weight[weight > 0]
    if (mean := exact_sum(positive) / len(positive)) >= 1:
        return weight
    return np.asarray(np.ldexp(weight, -round(np.log2(mean))))


@contextmanager
def prefix_errors(what: str) -> Iterator[None]:
    """Prefix errors about rows with the argument that holds them."""
    try:
        yield
    except DataError as error:
        error.argument = what
        raise
    except ValueError as error:
        raise ValueError(f"in {what}: {error}") from None
