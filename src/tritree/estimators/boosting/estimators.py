"""The boosting estimators, after scikit-learn's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from tritree.errors import TargetError
from tritree.estimators.boosting.base import BaseTrinaryBoosting
from tritree.estimators.boosting.callbacks import with_callbacks
from tritree.estimators.boosting.losses import REGRESSION_LOSSES, class_loss, regression_loss
from tritree.estimators.classifier import ShareClassifier
from tritree.target import read_classification_target, read_regression_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tritree.estimators.boosting.losses import Loss

__all__ = ["TrinaryBoostingClassifier", "TrinaryBoostingRegressor"]

_EXTREME = 1e140  # the squares of such responses, and of their inverses, cannot be added up over many rows


def _refuse_extreme(y: NDArray[np.float64], loss: str) -> None:
    """Raise a ValueError if the squares of numbers are beyond what a double can hold."""
    row, most = int(np.abs(y).argmax()), float(np.abs(y).max())
    if most > 0 and not 1 / _EXTREME < most < _EXTREME:
        too = "large" if most > 1 else "small"
        raise TargetError(
            f"holds {y[row]:g} in row {row}, the largest in size, which is too {too} for loss={loss!r}",
            "give it in another unit",
            row=row,
            value=float(y[row]),
        )


class TrinaryBoostingRegressor(RegressorMixin, BaseTrinaryBoosting):  # type: ignore[misc]
    """Gradient boosting for a number that learns from tables with holes, and stays right when fields go missing.

    Trees are fitted one after the other, each to what those before have left of the loss. A split whose column is
    missing in a row to predict has a third branch: a small tree of the other columns that is fitted to what the
    split's own left and right branches say of training rows. So the sum over trees estimates what the whole model
    would say on average, given what is observed of the row. Third branches are grown when a row first needs them.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "poisson", "gamma"}, default="squared_error"
        What is lowered. "poisson" and "gamma" predict the exponential of the sum over trees: its mean, where missing
        values leave the sum open.
    quantile : float, default=0.5
        The quantile that ``loss="quantile"`` predicts, from 0 to 1. Where values are missing, the answer is the mean of
        those that the row may have: fewer rows than should be lie below a high one.
    missing : {"trinary_mia", "trinary", "mia", "majority", "fractional"}, default="trinary_mia"
        How missing values are handled.

        - "trinary_mia": per split the best of sending missing left, right or to a third branch, to a side if that is
          better by more than chance; a column without holes in training has a third branch.
        - "trinary": always a third branch.
        - "mia": missing joins the side where it lowers the loss more.
        - "majority": missing joins the side with more observed rows.
        - "fractional": a row goes both ways, weighted by the observed rows on either side; answers are averaged.
    learning_rate : float, default=0.1
        What each tree's answers are multiplied by.
    max_iter : int, default=100
        The most rounds; a round adds one tree.
    max_depth : int or None, default=6
        The most left and right turns from the root to a leaf; None for no limit.
    max_leaf_nodes : int or None, default=None
        The most leaves of a tree, the most useful splits first; None for no limit.
    min_samples_leaf : int, default=20
        The fewest rows on either side of a split. Third branches need two.
    l2_regularization : float, default=10.0
        By how much the answers of leaves with few rows are drawn to zero: with ``squared_error`` those of 10 rows to
        half. With other losses second derivatives are added up in place of rows, a quarter at most for a row of two
        classes. A row of weight two is two rows; weights are doubled until their mean is not far below 1.
    subsample : float, default=1.0
        The share of rows, drawn anew in each round, that a tree is fitted to.
    max_features : float, default=0.3
        The share of columns, drawn anew in each node, that a split may use. Less than 1 spreads what the trees know
        over more columns, so that they are missed less. Third branches may use all.
    max_bins : int, default=255
        The most distinct values of a numeric column that are told apart; more are binned by their quantiles.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categorical. "from_dtype" takes those that their library calls so, and text. A list has names
        or positions, or one truth value per column. None takes all columns as numbers, text and booleans excepted.
    unknown_category : {"no_information", "error"}, default="no_information"
        What a category is to prediction that training never saw. "no_information": it tells nothing, so its row takes
        the third branch, both branches, or else the larger side, as the strategy has it; it does not mean what a
        missing value means. "error": an error that names it.
    monotonic_cst : dict or array-like of int, default=None
        For a column 1 if answers must not fall as it rises, -1 if they must not rise, 0 if it is free: by name, or a
        list with one entry per column. It holds on third branches as well.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when rounds have stopped to help, and to keep those up to the best. "auto" does so if
        rows to validate with are given to `fit`; True sets some of the training rows aside if not.
    validation_fraction : float, default=0.1
        The share of rows that are set aside.
    n_iter_no_change : int, default=10
        After how many rounds without a lower loss to stop.
    tol : float, default=1e-7
        By how much a loss must be lower to count.
    background_rows : int, default=20_000
        The most training rows that are kept to grow third branches from.
    third_rows : int, default=1_000
        The most of these that one third branch is fitted to.
    third_depth_extra : int, default=0
        By how much third branches may be deeper than the tree: 1 makes them twice as large, and answers a little better
        on some tables.
    max_third_nodes : int, default=100_000
        A tree whose third branches have so many nodes grows no more of them. A row then gets the mean of the node, and
        what it gets depends on what was asked for before; ``n_cut_short_`` counts how often.
    warm_start : bool, default=False
        Whether `fit` goes on with the trees that are there until there are ``max_iter`` rounds. What trees have in
        common must stay as it was (loss, strategy, size); learning rate, subsample and weights may change.
    verbose : bool, default=False
        Whether to show a progress bar (needs rich, ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Of everything that is random.
    n_jobs : int or None, default=None
        Threads to use: None or -1 for all processors, -2 for all but one. Results do not depend on it.

    Attributes
    ----------
    n_iter_ : int
        Rounds that were kept.
    validation_loss_ : ndarray or None
        The mean loss of the validation rows after each round.
    n_nodes_, n_grown_, n_cut_short_ : int
        Nodes of all trees, those of third branches among them, and how often one could not be grown.
    n_features_in_ : int
        Columns seen in training.
    feature_names_in_ : ndarray
        Their names, if they are text.

    See Also
    --------
    TrinaryTreeRegressor : One tree.

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
    >>> rows[:, [2, 8]] = np.nan  # the two columns that tell most
    >>> model.predict(rows).shape
    (3,)
    >>> model.n_grown_ > 0  # third branches have grown, because rows needed them
    True
    """

    _losses = REGRESSION_LOSSES

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
        max_features: float = 0.3,
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

    def _read_response(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        numbers = read_regression_target(y, n_rows, type(self).__name__)
        least = {"poisson": "negative", "gamma": "zero or negative"}.get(self.loss)
        bad = numbers < 0 if self.loss == "poisson" else numbers <= 0
        if least is not None and bad.any():
            row = int(np.argmax(bad))
            raise TargetError(
                f"holds {numbers[row]} in row {row}",
                f"loss={self.loss!r} is not for {least} numbers",
                row=row,
                value=float(numbers[row]),
            )
        if n_rows and self.loss in ("squared_error", "poisson"):
            _refuse_extreme(numbers, self.loss)
        return None, numbers

    def _loss_of(self, parameters: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:  # noqa: ARG002
        return regression_loss(parameters["loss"], float(parameters["quantile"]))

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
    ) -> Self:
        """Return the estimator, fitted. Ctrl-C keeps the trees so far.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The response, finite numbers.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same.
        X_val, y_val, sample_weight_val : default=None
            Rows to validate with.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted response of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.
        """
        return self._loss_answer(*self._sums(X))[:, 0]

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the predicted response of each row after each round; see `predict`."""
        for answers in self._staged_answers(X):
            yield answers[:, 0]


class TrinaryBoostingClassifier(ShareClassifier, BaseTrinaryBoosting):
    """Gradient boosting for classes that learns from tables with holes, and stays right when fields go missing.

    It lowers the cross-entropy: one tree per round for two classes, one per class for more. What third branches are is
    told at `TrinaryBoostingRegressor`.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The cross-entropy.
    class_weight : dict, "balanced" or None, default=None
        What the rows of a class count: by class, or so that all classes count the same.
    missing, learning_rate, max_iter, max_depth, max_leaf_nodes, min_samples_leaf, l2_regularization, subsample, \
max_features, max_bins, categorical_features, unknown_category, early_stopping, validation_fraction, \
n_iter_no_change, tol, background_rows, third_rows, third_depth_extra, max_third_nodes, warm_start, verbose, \
random_state, n_jobs
        As in `TrinaryBoostingRegressor`.
    monotonic_cst : dict or array-like of int, default=None
        As there; about the probability of the second of two classes. Not for more of them.

    Attributes
    ----------
    classes_ : ndarray
        The classes in sorted order.
    n_iter_, validation_loss_, n_nodes_, n_grown_, n_cut_short_, n_features_in_, feature_names_in_
        As in `TrinaryBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TrinaryBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict([[float("nan"), 3.0, 1.4, float("nan")]])
    array([0])
    """

    _losses = ("log_loss",)

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
        max_features: float = 0.3,
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

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        classes, numbers = read_classification_target(y, n_rows, type(self).__name__)
        return classes, numbers.astype(np.float64)

    def _loss_of(self, parameters: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:
        assert classes is not None
        if len(classes) < 2:
            raise TargetError(
                f"has one class only, {classes.tolist()[0]!r}", "a classifier needs at least two classes"
            )
        if len(classes) > 2 and parameters["monotonic_cst"] is not None:
            raise ValueError(f"monotonic_cst is for two classes, and y has {len(classes)}; leave it out")
        return class_loss(len(classes))

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
    ) -> Self:
        """Return the estimator, fitted. Ctrl-C keeps the trees so far.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The classes, labels of any one type.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same.
        X_val, y_val, sample_weight_val : default=None
            Rows to validate with.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the sum over trees: the log-odds of the second of two classes, or one column per class.

        `predict_proba` takes into account what missing values leave open of it. With three classes or more, another
        class may then be the most probable one, which is what `predict` returns.
        """
        raw, _ = self._sums(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, columns in the order of ``classes_``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.
        """
        return self._loss_answer(*self._sums(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the probability of each class for each row after each round; see `predict_proba`."""
        yield from self._staged_answers(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the most probable class of each row after each round; see `predict`."""
        for shares in self.staged_predict_proba(X):
            yield self.classes_[shares.argmax(axis=1)]
