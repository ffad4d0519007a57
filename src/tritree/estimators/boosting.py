"""Gradient boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import TargetError
from tritree.estimators.base_boosting import BaseBoosting
from tritree.estimators.losses import classification_loss, regression_loss
from tritree.estimators.sums import ClassifierOfSums, RegressorOfSums
from tritree.target import read_classification_target
from tritree.validation import allowed_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.estimators.losses import Loss

__all__ = ["TrinaryBoostingClassifier", "TrinaryBoostingRegressor"]


class TrinaryBoostingRegressor(RegressorOfSums, BaseBoosting):
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
        The quantile to predict, between 0 and 1, with ``loss="quantile"``. For a row with missing values, the
        prediction is the mean of the quantiles of the rows it may be, so that fewer rows than expected lie below a high
        quantile.
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
        Learning rate: shrinks the contribution of each tree. At most 100, usually from 0.01 to 1.
    max_iter : int, default=100
        Maximum number of boosting iterations.
    max_depth : int or None, default=6
        Maximum depth of each tree. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. If None, there is no limit.
    min_samples_leaf : int, default=10
        Minimum number of rows on either side of a split; 2 in third branches.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    l2_regularization : float, default=10.0
        L2 regularisation of the leaf values. It is added to the sum of second derivatives of a leaf, which for
        "squared_error" is its number of rows: a leaf of 10 rows is shrunk by half. Where that sum falls as the model
        is fitted, the regularisation falls with its square root. Weights are rescaled by a power of two if their mean
        is far below 1.
    split_penalty : float, default=0.3
        How much more than by chance a split must gain: this number times φ log(n / (2 ``min_samples_leaf``)), where n
        is the number of rows of the node and φ = Σ gradient² / Σ second derivative, the gain that chance gives to one
        parameter on average. The more thresholds there are to choose from, the larger is the gain of the best one by
        chance. 0: no penalty.
    category_penalty : float, default=0.5
        How much more a split of k > 2 categories must gain: this number times φ (k - 2). Categories are ordered by the
        rows that the split is judged by, so that chance gains with each of them. 0: no penalty.
    subsample : float, default=1.0
        Fraction of the rows that each tree is fitted to, drawn anew in each iteration.
    masked_copies : int, default=0
        Number of copies of the training table that trees are fitted to in addition. In each row of a copy a fraction of
        the cells, drawn uniformly from 0 to 1, is missing at random. They help if values that are missing in training
        tell something about the target that they will not tell later; otherwise they cost some accuracy. While the
        model is fitted, they take one byte per cell (two in columns of more than 255 bins or categories). With 4
        copies and ``missing="mia"`` the fit takes four to five times as long, and much longer with third branches if
        the table is complete, because rows of the copies need them. Not supported with ``warm_start``.
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
    parse_dates : bool, default=True
        Whether text columns of dates are read as dates; see `TrinaryTreeRegressor`.
    date_parts : list of str, dict or None, default=None
        Parts of dates to add as columns; see `TrinaryTreeRegressor`.
    drop_identifiers : bool, default=True
        Whether text columns that identify rows are left out; see `TrinaryTreeRegressor`.
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
    third_rows : int, default=2_000
        Maximum number of rows that each third branch is fitted to.
    third_depth_extra : int, default=0
        Additional depth of third branches. With 1 they have twice as many nodes, and are a little more accurate on some
        tables.
    max_third_nodes : int, default=100_000
        Maximum number of nodes that are grown on demand in each tree. Beyond this limit, a row gets the mean of
        the node above the branch, so that its prediction depends on the rows predicted before; ``n_ungrown_hits_``
        counts how often.
    warm_start : bool, default=False
        Whether `fit` continues with the trees of the previous call, up to ``max_iter`` iterations. Parameters of the
        trees must not change; learning rate, subsample and weights may.
    verbose : bool, default=False
        Whether to show a progress bar (requires rich: ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling (``max_features`` is 0.3 by default), row subsampling and the validation split.
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None may be fewer; see `TrinaryTreeRegressor`. The result does not depend on it.

    Attributes
    ----------
    n_iter_ : int
        Number of boosting iterations.
    validation_scores_ : ndarray or None
        Validation score after each iteration of the last call to `fit`: the negative mean loss, so that higher is
        better. None without validation rows. Not stored in model files.
    train_scores_ : ndarray or None
        The same of the training rows, of at most about 10,000 of them. None without validation rows. Not stored in
        model files.
    best_iteration_ : int or None
        The iteration with the best validation score, counted from 1. None without validation rows. Not stored in model
        files.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total gain of the splits on each column, without third branches.
    n_trees_ : int
        Number of trees.
    estimators_ : ndarray of shape (n_iter_, n_outputs) of BoostedTree
        The trees, as views of the model. There is one output, or with more than two classes one per class.
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
    metadata_ : dict
        Metadata of the model file that the estimator was loaded from; empty after `fit`.

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
        min_samples_leaf: int = 10,
        split_on_missing: bool = True,
        l2_regularization: float = 10.0,
        split_penalty: float = 0.3,
        category_penalty: float = 0.5,
        subsample: float = 1.0,
        masked_copies: int = 0,
        max_features: Any = 0.3,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        background_rows: int = 20_000,
        third_rows: int = 2_000,
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
        self.split_on_missing = split_on_missing
        self.l2_regularization = l2_regularization
        self.split_penalty = split_penalty
        self.category_penalty = category_penalty
        self.subsample = subsample
        self.masked_copies = masked_copies
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.parse_dates = parse_dates
        self.date_parts = date_parts
        self.drop_identifiers = drop_identifiers
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
        required = {"poisson": "of at least 0", "gamma": "above 0"}.get(self.loss)
        wrong = target < 0 if self.loss == "poisson" else target <= 0
        if required is not None and wrong.any():
            row = int(np.argmax(wrong))
            raise TargetError(
                f"holds {target[row]} in row {row}",
                f"loss={self.loss!r} requires targets {required}",
                row=row,
                value=float(target[row]),
            )
        if n_rows and self.loss in ("squared_error", "poisson"):
            row, largest = int(np.abs(target).argmax()), float(np.abs(target).max())
            if 0 < largest < 1 / self._max_target:  # its square is zero
                raise TargetError(
                    f"holds {target[row]:g} in row {row}, the largest in absolute value, which is too small for "
                    f"loss={self.loss!r}",
                    "give it in another unit",
                    row=row,
                    value=float(target[row]),
                )
        return None, target

    def _make_loss(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> Loss:  # noqa: ARG002
        return regression_loss(params["loss"], float(params["quantile"]))


class TrinaryBoostingClassifier(ClassifierOfSums, BaseBoosting):
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
        Learning rate: shrinks the contribution of each tree. At most 100, usually from 0.01 to 1.
    max_iter : int, default=100
        Maximum number of boosting iterations.
    max_depth : int or None, default=6
        Maximum depth of each tree. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. If None, there is no limit.
    min_samples_leaf : int, default=10
        Minimum number of rows on either side of a split; 2 in third branches.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    l2_regularization : float, default=10.0
        L2 regularisation of the leaf values. It is added to the sum of second derivatives of a leaf, at most a quarter
        per row for two classes; for more classes it is scaled to weigh as many rows. It is lowered as the model becomes
        surer, with the square root of the mean second derivative, so that well separated classes can get probabilities
        near 0 and 1. Weights are rescaled by a power of two if their mean is far below 1.
    monotonic_cst : dict or array-like of int, default=None
        Monotonic constraints on the probability of the second of two classes. Not supported for more classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; a class without an entry has weight 1. "balanced": inversely proportional to
        the class frequencies. None: all classes have weight 1. They are multiplied by ``sample_weight``.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop training when the validation score stops improving.
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling (``max_features`` is 0.3 by default), row subsampling and the validation split.
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None may be fewer; see `TrinaryTreeRegressor`. The result does not depend on it.
    split_penalty, category_penalty, subsample, masked_copies, max_features, max_bins, categorical_features, \
parse_dates, date_parts, drop_identifiers, unknown_category, validation_fraction, n_iter_no_change, tol, \
background_rows, third_rows, third_depth_extra, max_third_nodes, warm_start, verbose
        See `TrinaryBoostingRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_, validation_scores_, train_scores_, best_iteration_, feature_importances_, n_trees_, estimators_, \
n_nodes_, n_grown_, n_ungrown_hits_, n_features_in_, feature_names_in_, metadata_
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
        min_samples_leaf: int = 10,
        split_on_missing: bool = True,
        l2_regularization: float = 10.0,
        split_penalty: float = 0.3,
        category_penalty: float = 0.5,
        subsample: float = 1.0,
        masked_copies: int = 0,
        max_features: Any = 0.3,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        monotonic_cst: Any = None,
        class_weight: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        background_rows: int = 20_000,
        third_rows: int = 2_000,
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
        self.split_on_missing = split_on_missing
        self.l2_regularization = l2_regularization
        self.split_penalty = split_penalty
        self.category_penalty = category_penalty
        self.subsample = subsample
        self.masked_copies = masked_copies
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.parse_dates = parse_dates
        self.date_parts = date_parts
        self.drop_identifiers = drop_identifiers
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
