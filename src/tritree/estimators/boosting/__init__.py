"""Gradient boosting."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.encoder import column_errors
from tritree.errors import DataError, TargetError
from tritree.estimators.base import Rows, TrinaryClassifier, TrinaryEstimator, TrinaryRegressor
from tritree.estimators.boosting.viewing import BoostingViews
from tritree.estimators.callbacks import CallbackSupport, FitCallbacks, with_callbacks
from tritree.estimators.early_stopping import (
    EarlyStopping,
    ValidationScores,
    check_finite,
    split_validation,
)
from tritree.estimators.growing_model import BoostingModel, boosting_parameters
from tritree.estimators.losses import classification_loss, regression_loss
from tritree.progress import bar
from tritree.table import read_table
from tritree.target import read_classification_target
from tritree.validation import THIRD_BRANCHES, allowed_values, as_random_state, count_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.losses import Loss

__all__ = ["TrinaryBoostingClassifier", "TrinaryBoostingRegressor"]

_EXTREME = 1e140  # the squares of such targets, and of their inverses, cannot be added up over many rows
#: Arguments of other libraries, and what they are here.
_ELSEWHERE = {
    "eval_set": "pass validation rows as X_val and y_val: fit(X, y, X_val=..., y_val=...)",
    "eval_X": "pass validation rows as X_val and y_val",
    "eval_y": "pass validation rows as X_val and y_val",
    "eval_sample_weight": "pass weights of validation rows as sample_weight_val",
    "sample_weight_eval_set": "pass weights of validation rows as sample_weight_val",
    "early_stopping_rounds": "set n_iter_no_change when the estimator is created",
}


class BaseBoosting(CallbackSupport, BoostingViews, TrinaryEstimator):  # type: ignore[misc]
    """Base of both boosting estimators; the subclass chooses the loss."""

    _fixed_params: ClassVar[frozenset[str]] = frozenset(
        {
            *("loss", "quantile", "missing", "max_depth", "max_leaf_nodes", "min_samples_leaf", "max_bins"),
            *(
                "l2_regularization",
                "max_features",
                "categorical_features",
                "monotonic_cst",
                "background_rows",
            ),
            *("third_rows", "third_depth_extra", "max_third_nodes"),
        }
    )
    _model: BoostingModel

    def _make_loss(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:
        raise NotImplementedError

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
        **unknown: Any,
    ) -> Self:
        """Fit the estimator to a training table. Ctrl-C keeps the trees fitted so far.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The target: finite numbers in regression, class labels of one type in classification.
        sample_weight : array-like of shape (n_rows,), default=None
            Sample weights. If None, all samples have equal weight.
        X_val : table of shape (n_validation_rows, n_columns), default=None
            Validation rows, for early stopping and ``validation_scores_``.
        y_val : array-like of shape (n_validation_rows,), default=None
            Target of the validation rows.
        sample_weight_val : array-like of shape (n_validation_rows,), default=None
            Sample weights of the validation rows.
        **unknown : dict
            Nothing else is accepted; the error for an argument of another library, such as ``eval_set``, says what to
            use.

        Returns
        -------
        self
            The fitted estimator.
        """
        for name in unknown:
            remedy = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise TypeError(
                f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}{remedy}"
            )
        self._validate_params()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together; give both or neither")
        if X_val is None and sample_weight_val is not None:
            raise ValueError("sample_weight_val weighs the rows of X_val; give X_val and y_val, too")
        n_threads, continues = count_threads(self.n_jobs), self.warm_start and hasattr(self, "_model")
        if continues:
            self._check_warm_start("max_iter", self.n_iter_, "iterations")
        # kept if the fit continues: validation rows must not become training rows
        seed = self._model.seed if continues else int(as_random_state(self.random_state).randint(2**31 - 1))
        encoder, classes, rows = self._read_rows(X, y, sample_weight, self._encoder if continues else None)
        rows = replace(rows, weight=rescaled(rows.weight))
        if continues:
            self._check_same_classes(classes)
        loss = self._make_loss(self.get_params(deep=False), classes)
        scores = None
        with column_errors(encoder):
            if X_val is not None:
                validation = self._read_validation(X_val, y_val, sample_weight_val, encoder, classes)
                scores = ValidationScores(loss, validation)
            elif self.early_stopping not in (False, "auto"):
                check_finite(rows)
                fraction = self.validation_fraction
                rows, validation = split_validation(rows, fraction, seed, stratify=classes is not None)
                scores = ValidationScores(loss, validation)
            model, booster = self._start(
                rows, loss, encoder, seed, self._model if continues else None, n_threads
            )
            if scores is not None:
                with (
                    errors_about("X_val") if X_val is not None else nullcontext(),
                    column_errors(encoder),
                ):
                    scores.check(model, n_threads)
        fitted = {"_model": model, "_encoder": encoder, "_fit_params": self.get_params(deep=False)}
        if classes is not None:
            fitted["classes_"] = classes
        callbacks = FitCallbacks(self, self.max_iter, X, y, lambda: fitted)
        try:
            best = self._boost(lambda: callbacks.run(booster.boost), booster, model, rows, scores, n_threads)
        finally:
            if model.n_trees:  # also after Ctrl-C: the trees so far are complete
                self._set_fitted(model, encoder, classes)
                self.validation_scores_ = None if scores is None else np.array(scores.validation)
                self.train_scores_ = None if scores is None else np.array(scores.train)
                self.best_iteration_ = None
        self.best_iteration_ = best
        callbacks.end()
        return self

    def _set_fitted(self, model: BoostingModel, encoder: TableEncoder, classes: NDArray[Any] | None) -> None:  # type: ignore[override]
        super()._set_fitted(model, encoder, classes)
        self.validation_scores_ = self.train_scores_ = self.best_iteration_ = None

    def _start(
        self,
        rows: Rows,
        loss: Loss,
        encoder: TableEncoder,
        seed: int,
        model: BoostingModel | None,
        n_threads: int,
    ) -> tuple[BoostingModel, _core.Booster]:
        """Return the model, a new one or the one to continue, and what adds iterations to it."""
        data: Any = rows.columns
        raw = None
        if model is None:
            data = self._bin(rows, encoder, n_threads)
            parameters = boosting_parameters(self, encoder, seed, has_link=loss.adjust is not None)
            core = _core.Ensemble(data, parameters, loss.initial(rows.y, rows.weight).tolist())
            if self.missing in THIRD_BRANCHES:
                core.keep_background(data, rows.weight, min(int(self.background_rows), len(rows)), n_threads)
            model = BoostingModel(core, self.missing, len(encoder.columns), seed)
        else:
            sums, _ = model.predict(rows.columns, len(rows), n_threads)
            raw = np.ascontiguousarray(sums.T).ravel()
        booster = _core.Booster(
            data,
            model.core,
            loss.name,
            loss.quantile,
            rows.y,
            rows.weight,
            float(self.learning_rate),
            float(self.subsample),
            raw,
            n_threads,
        )
        return model, booster

    def _boost(
        self,
        iterate: Callable[[], bool],
        booster: _core.Booster,
        model: BoostingModel,
        rows: Rows,
        scores: ValidationScores | None,
        n_threads: int,
    ) -> int | None:
        """Run the iterations, and return the best one; ``iterate`` runs one and returns whether to stop."""
        first = model.n_iterations
        stopping = EarlyStopping(int(self.n_iter_no_change), float(self.tol))
        with bar(max(self.max_iter - first, 0), "iterations", shown=bool(self.verbose)) as advance:
            for n_iterations in range(first + 1, self.max_iter + 1):
                stop = iterate()
                advance()
                if scores is not None:
                    scores.add_train(rows, booster.raw())
                    score = scores.add(model, n_iterations, n_threads)
                    stop |= stopping.should_stop(score, n_iterations) and bool(self.early_stopping)
                if stop:
                    break
        if scores is None or not stopping.best_iteration:
            return None
        if self.early_stopping:
            model.core.keep_rounds(stopping.best_iteration)
        return stopping.best_iteration

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, encoder: TableEncoder, classes: NDArray[Any] | None
    ) -> Rows:
        with errors_about("X_val"):
            table = read_table(X)
        with errors_about("X_val and y_val"):
            found, target = self._read_target(y, table.n_rows)
        if classes is not None and found is not None:
            unknown = [label for label in found.tolist() if label not in classes.tolist()]
            if unknown:
                raise TargetError(
                    f"holds the class {unknown[0]!r}, which y does not",
                    "drop such rows",
                    value=unknown[0],
                    name="y_val",
                )
            target = np.searchsorted(classes, found)[target.astype(np.intp)].astype(np.float64)
        with errors_about("X_val and y_val"):
            weight = self._read_weights(classes, target, sample_weight)
        with errors_about("X_val"):
            refuse = self.unknown_category == "error"
            columns = encoder.encode(table, type(self).__name__, refuse_unknown=refuse)
        return Rows(columns, target, weight)

    @property
    def n_iter_(self) -> int:
        """Number of boosting iterations; those after the best one are dropped by early stopping."""
        check_is_fitted(self)
        return self._model.n_iterations

    @property
    def n_trees_(self) -> int:
        """Number of trees: one per iteration, or one per class and iteration for more than two classes."""
        check_is_fitted(self)
        return self._model.n_trees

    def _raw_predict(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the sums over trees, and the variance that missing values leave them, if it is measured."""
        check_is_fitted(self)
        return self._call_model(self._model.predict, X)

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        return self._values_of(*self._raw_predict(X))

    def _values_of(
        self, raw: NDArray[np.float64], variance: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the predictions of sums over trees."""
        # of the fit: parameters may have been changed since
        loss = self._make_loss(self._fit_params, getattr(self, "classes_", None))
        return loss.inverse_link(loss.adjusted(raw, variance))

    def _staged_values(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions after each iteration."""
        columns, n_rows, n_threads = self._encode(X)
        raw: Any = 0
        variance: Any = None
        for number in range(self.n_iter_):
            with column_errors(self._encoder):
                more, more_variance = self._model.predict(columns, n_rows, n_threads, (number, number + 1))
            raw = raw + more
            variance = (
                more_variance if variance is None or more_variance is None else variance + more_variance
            )
            yield self._values_of(raw, variance)


def rescaled(weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return weights whose mean is not far below 1, as the regularisation expects.

    A row of weight two counts as two rows; but weights that sum to 1 are fractions. They are doubled, which rounds
    nothing, until their mean is as near to 1 as possible. A mean of 1 but for rounding, as that of balanced classes,
    is left alone.

    Examples
    --------
    >>> rescaled(np.array([0.25, 0.75, 0.0])).tolist(), rescaled(np.array([0.99, 2.0])).tolist()
    ([0.5, 1.5, 0.0], [0.99, 2.0])
    """
    if weight is None or (mean := weight[weight > 0].mean()) >= 1:
        return weight
    return np.asarray(np.ldexp(weight, -round(np.log2(mean))))


@contextmanager
def errors_about(what: str) -> Iterator[None]:
    """Prefix errors about rows with the argument that holds them."""
    try:
        yield
    except DataError as error:
        error.argument = what
        raise
    except ValueError as error:
        raise ValueError(f"in {what}: {error}") from None


class TrinaryBoostingRegressor(TrinaryRegressor, BaseBoosting):
    """Gradient boosting regressor for tables with missing values, also where training had none.

    Trees are fitted one after the other, each to the gradient of the loss left by those before. A split whose column is
    missing in a row has a third branch: a small tree of the other columns, fitted to the predictions of the split's own
    left and right branches for training rows. The sum over trees then estimates the mean prediction of the model, given
    the observed values of the row. Third branches grow on demand.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "poisson", "gamma"}, default="squared_error"
        The loss function. "poisson" and "gamma" use a log link: trees add up to the logarithm of the prediction.
    quantile : float, default=0.5
        The quantile to predict, from 0 to 1, with ``loss="quantile"``. For a row with missing values, the prediction is
        the mean of the quantiles of the rows it may be, so that fewer rows than expected lie below a high quantile.
    missing : {"trinary_mia", "trinary", "mia", "majority", "fractional"}, default="trinary_mia"
        Strategy for missing values.

        - "trinary_mia": each split sends missing values left, right or to a third branch; to a side only if that is
          better by more than chance. A column without missing values in training has a third branch.
        - "trinary": missing values always take the third branch.
        - "mia": missing values join the side where they lower the loss more.
        - "majority": missing values join the side with more observed rows.
        - "fractional": a row is sent both ways, weighted by the fractions of the observed rows on either side, and
          predictions are averaged.
    learning_rate : float, default=0.1
        Learning rate: shrinks the contribution of each tree.
    max_iter : int, default=100
        Maximum number of boosting iterations.
    max_depth : int or None, default=6
        Maximum depth of each tree. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. If None, there is no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows on either side of a split; 2 in third branches.
    l2_regularization : float, default=10.0
        L2 regularisation of the leaf values. It is added to the sum of second derivatives of a leaf, which for
        "squared_error" is its number of rows: a leaf of 10 rows is shrunk by half. Weights are rescaled by a power of
        two if their mean is far below 1.
    subsample : float, default=1.0
        Fraction of the rows that each tree is fitted to, drawn anew in each iteration.
    max_features : int, float, {"sqrt", "log2"} or None, default=0.3
        Number of columns to consider for each split, drawn at random.

        - int: that many columns.
        - float: that fraction of the columns.
        - "sqrt", "log2": the square root, or the logarithm to base 2, of the number of columns.
        - None: all columns.

        With fewer than all, the model depends less on any one column that may be missing. Third branches always
        consider all columns.
    max_bins : int, default=255
        Maximum number of bins per numeric column; columns with more distinct values are binned by quantiles.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        The categorical columns. "from_dtype": text, categorical and boolean columns, except ordered categories, which
        are numeric in their order. None: no column. Otherwise a list of names or positions, or a boolean mask.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that were not seen in training. "no_information": the row takes the third
        branch, both branches or else the larger side, depending on the strategy; unlike a missing value, an unknown
        category never follows "missing against observed" splits. "error": raise an error.
    monotonic_cst : dict or array-like of int, default=None
        Monotonic constraints, by column name or one per column: 1 for increasing, -1 for decreasing, 0 for no
        constraint. They also hold on third branches.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop training when the validation score stops improving, and to drop the iterations after the best
        one. "auto": only if validation rows are passed to `fit`. True: if none are passed, some of the training rows
        are set aside.
    validation_fraction : float, default=0.1
        Fraction of the training rows to set aside for validation.
    n_iter_no_change : int, default=10
        Number of iterations without improvement after which to stop.
    tol : float, default=1e-7
        Minimum improvement of the validation score.
    background_rows : int, default=20_000
        Maximum number of training rows that are kept to grow third branches from.
    third_rows : int, default=1_000
        Maximum number of rows that each third branch is fitted to.
    third_depth_extra : int, default=0
        Additional depth of third branches. With 1 they have twice as many nodes, and are a little more accurate on some
        tables.
    max_third_nodes : int, default=100_000
        Maximum number of nodes that are grown on demand in each tree. Beyond, a row gets the mean of the node above the
        branch, so that its prediction depends on the rows predicted before; ``n_ungrown_hits_`` counts how often.
    warm_start : bool, default=False
        Whether `fit` continues with the trees of the previous call, up to ``max_iter`` iterations. Parameters of the
        trees must not change; learning rate, subsample and weights may.
    verbose : bool, default=False
        Whether to show a progress bar (requires rich: ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling, row subsampling and the validation split.
    n_jobs : int or None, default=None
        Number of threads. None means all cores, except in a process that shares them; see `TrinaryTreeRegressor`. -1
        means all cores, -2 all but one. The result does not depend on it.

    Attributes
    ----------
    n_iter_ : int
        Number of boosting iterations.
    validation_scores_ : ndarray or None
        Validation score after each iteration of the last call to `fit`: the negative mean loss, so that higher is
        better. None without validation rows.
    train_scores_ : ndarray or None
        The same of the training rows, of at most about 10,000 of them. None without validation rows.
    best_iteration_ : int or None
        The iteration with the best validation score, counted from 1. None without validation rows.
    n_trees_ : int
        Number of trees.
    n_nodes_ : int
        Number of nodes of all trees, grown so far.
    n_grown_ : int
        Number of nodes that were grown on demand, after fitting.
    n_ungrown_hits_ : int
        How often a row reached a third branch that could not be grown.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen in `fit`; only if the table has column names.

    See Also
    --------
    TrinaryBoostingClassifier : Gradient boosting classifier.
    TrinaryTreeRegressor : A single tree.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tritree import TrinaryBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TrinaryBoostingRegressor(max_depth=3, random_state=0).fit(X, y)
    >>> model.n_grown_
    0
    >>> rows = X[:3].copy()
    >>> rows[:, [2, 8]] = np.nan  # the two most important columns
    >>> model.predict(rows).shape
    (3,)
    >>> model.n_grown_ > 0  # third branches have grown, because rows needed them
    True
    """

    _allowed = allowed_values("boosting", "regressor")

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        quantile: float = 0.5,
        missing: str = "trinary_mia",
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 10.0,
        subsample: float = 1.0,
        max_features: Any = 0.3,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        background_rows: int = 20_000,
        third_rows: int = 1_000,
        third_depth_extra: int = 0,
        max_third_nodes: int = 100_000,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.missing = missing
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.monotonic_cst = monotonic_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.background_rows = background_rows
        self.third_rows = third_rows
        self.third_depth_extra = third_depth_extra
        self.max_third_nodes = max_third_nodes
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        _, target = super()._read_target(y, n_rows)
        refused = {"poisson": "negative", "gamma": "zero or negative"}.get(self.loss)
        wrong = target < 0 if self.loss == "poisson" else target <= 0
        if refused is not None and wrong.any():
            row = int(np.argmax(wrong))
            raise TargetError(
                f"holds {target[row]} in row {row}",
                f"loss={self.loss!r} is not for {refused} numbers",
                row=row,
                value=float(target[row]),
            )
        if n_rows and self.loss in ("squared_error", "poisson"):
            row, largest = int(np.abs(target).argmax()), float(np.abs(target).max())
            if largest > 0 and not 1 / _EXTREME < largest < _EXTREME:  # its square is no number
                size = "large" if largest > 1 else "small"
                raise TargetError(
                    f"holds {target[row]:g} in row {row}, the largest in size, which is too {size} for "
                    f"loss={self.loss!r}",
                    "give it in another unit",
                    row=row,
                    value=float(target[row]),
                )
        return None, target

    def _make_loss(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:  # noqa: ARG002
        return regression_loss(params["loss"], float(params["quantile"]))

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict the target of rows after each iteration; see `predict`."""
        for values in self._staged_values(X):
            yield values[:, 0]


class TrinaryBoostingClassifier(TrinaryClassifier, BaseBoosting):
    """Gradient boosting classifier for tables with missing values, also where training had none.

    Each iteration fits one tree for two classes, and one per class for more. `TrinaryBoostingRegressor` describes the
    third branches, and the parameters and attributes that are listed here without a description.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The loss function: the cross-entropy.
    missing : {"trinary_mia", "trinary", "mia", "majority", "fractional"}, default="trinary_mia"
        Strategy for missing values.
    learning_rate : float, default=0.1
        Learning rate: shrinks the contribution of each tree.
    max_iter : int, default=100
        Maximum number of boosting iterations.
    max_depth : int or None, default=6
        Maximum depth of each tree. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. If None, there is no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows on either side of a split; 2 in third branches.
    l2_regularization : float, default=10.0
        L2 regularisation of the leaf values. It is added to the sum of second derivatives of a leaf, at most a quarter
        per row for two classes. Weights are rescaled by a power of two if their mean is far below 1.
    monotonic_cst : dict or array-like of int, default=None
        Monotonic constraints on the probability of the second of two classes. Not supported for more classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; a class without an entry has weight 1. "balanced": inversely proportional to
        the class frequencies. None: all classes have weight 1. They are multiplied by ``sample_weight``.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop training when the validation score stops improving.
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling, row subsampling and the validation split.
    n_jobs : int or None, default=None
        Number of threads. None means all cores, except in a process that shares them; see `TrinaryTreeRegressor`. -1
        means all cores, -2 all but one. The result does not depend on it.
    subsample, max_features, max_bins, categorical_features, unknown_category, validation_fraction, \
n_iter_no_change, tol, background_rows, third_rows, third_depth_extra, max_third_nodes, warm_start, verbose
        See `TrinaryBoostingRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_, validation_scores_, train_scores_, best_iteration_, n_trees_, n_nodes_, n_grown_, n_ungrown_hits_, \
n_features_in_, feature_names_in_
        See `TrinaryBoostingRegressor`.

    See Also
    --------
    TrinaryBoostingRegressor : Gradient boosting regressor.
    TrinaryTreeClassifier : A single tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TrinaryBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict([[float("nan"), 3.0, 1.4, float("nan")]])
    array([0])
    """

    _allowed = allowed_values("boosting", "classifier")

    def __init__(
        self,
        *,
        loss: str = "log_loss",
        missing: str = "trinary_mia",
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 10.0,
        subsample: float = 1.0,
        max_features: Any = 0.3,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        monotonic_cst: Any = None,
        class_weight: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        background_rows: int = 20_000,
        third_rows: int = 1_000,
        third_depth_extra: int = 0,
        max_third_nodes: int = 100_000,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.missing = missing
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.background_rows = background_rows
        self.third_rows = third_rows
        self.third_depth_extra = third_depth_extra
        self.max_third_nodes = max_third_nodes
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        classes, numbers = read_classification_target(y, n_rows, type(self).__name__)
        return classes, numbers.astype(np.float64)

    def _make_loss(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:
        assert classes is not None
        if len(classes) < 2:
            raise TargetError(
                f"has one class only, {classes.tolist()[0]!r}", "a classifier needs at least two classes"
            )
        if len(classes) > 2 and params["monotonic_cst"] is not None:
            raise ValueError(f"monotonic_cst is for two classes, and y has {len(classes)}; leave it out")
        return classification_loss(len(classes))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the sums over trees: the log-odds of the second of two classes, or one column per class.

        `predict_proba` also takes into account the variance that missing values leave the sums. With three classes or
        more, another class may then be the most probable one, which is what `predict` returns.
        """
        raw, _ = self._raw_predict(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict class probabilities of rows after each iteration; see `predict_proba`."""
        yield from self._staged_values(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the most probable class of rows after each iteration; see `predict`."""
        for probabilities in self._staged_values(X):
            yield self.classes_[probabilities.argmax(axis=1)]
