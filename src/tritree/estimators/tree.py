"""Single decision trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree import _core
from tritree.estimators.base import TrinaryEstimator
from tritree.estimators.growing_model import GrowingModel, growth_parameters
from tritree.estimators.tasks import TrinaryClassifier, TrinaryRegressor
from tritree.estimators.tree_views import TreeViews
from tritree.validation import (
    STRATEGIES_WITH_THIRD_BRANCH,
    allowed_values,
    as_random_state,
    column_fraction,
    count_threads,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.encoded_rows import EncodedRows

__all__ = ["TrinaryTreeClassifier", "TrinaryTreeRegressor"]


class BaseTree(TreeViews, TrinaryEstimator):
    """Base of both trees."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, scratch: Any) -> None:
        self._validate_params()
        self._fit_rows(*self._read_rows(X, y, sample_weight, scratch=scratch))

    def _fit_rows(self, encoder: TableEncoder, classes: NDArray[Any] | None, rows: EncodedRows) -> None:
        """Fit a tree to rows."""
        n_columns, n_threads = len(encoder.columns), count_threads(self.n_jobs)
        draws_columns = column_fraction(self.max_features, n_columns) < 1
        parameters = self._growth_parameters(encoder, classes)
        seed = int(as_random_state(self.random_state).randint(1, 2**31 - 1)) if draws_columns else 0
        core = _core.LadderModel(self._bin(rows, encoder, n_threads), rows.y, rows.weight, parameters)
        core.add_trees([seed], None, n_threads)
        if self.missing not in STRATEGIES_WITH_THIRD_BRANCH:
            core.detach()  # nothing grows after the fit
        self._set_fitted(GrowingModel(core, "tree"), encoder, classes)

    def _growth_parameters(
        self,
        encoder: TableEncoder,
        classes: NDArray[Any] | None,
        seed: int = 0,  # noqa: ARG002
    ) -> _core.GrowthParameters:
        n_classes = 0 if classes is None else len(classes)
        return growth_parameters(self, len(encoder.columns), n_classes, **self._core_options())

    def _core_options(self) -> dict[str, Any]:
        """Return growth parameters of the core that take precedence over those of the estimator.

        None here: `tritree.lab.paper` overrides this to repeat runs that deviate from the paper's definitions.
        """
        return {}

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The normalised total reduction of the training loss by each column.

        A split counts with the training rows that pass through it, also in third branches. The rows that reach a third
        branch are only some of those it was fitted to, so its splits may raise their loss; a column whose splits raise
        the loss in total has importance 0. Computed when first accessed, in a copy of the tree in which the branches
        are grown that training rows with missing values reach.
        """
        return self._model.importances(count_threads(self.n_jobs))


class TrinaryTreeRegressor(TrinaryRegressor, BaseTree):
    """A decision tree regressor for tables with missing values.

    Parameters
    ----------
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        Strategy for missing values.

        - "trinary": a row whose value is missing takes the third branch, which is fitted to all rows of the node using
          the other columns.
        - "trinary_mia": each split sends missing values left, right or to a third branch, whichever is best.
        - "mia": missing values join the side where they lower the loss more.
        - "majority": missing values join the side with more observed rows.
        - "fractional": a row is sent both ways, weighted by the fractions of the observed rows on either side.
        - "surrogate": the most similar split of another column decides, as in R's rpart.
    criterion : {"squared_error"}, default="squared_error"
        The function to measure the quality of a split.
    max_depth : int or None, default=5
        Maximum depth of the tree. If None, there is no limit. Third branches do not add to the depth.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of the tree, which is then grown best-first. A third branch gets the leaf budget of
        the two branches that it replaces. If None, there is no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows on either side of a split. Rows are counted regardless of their weights.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of columns to consider for each split, drawn at random.

        - int: that many columns.
        - float: that fraction of the columns.
        - "sqrt", "log2": the square root, or the logarithm to base 2, of the number of columns.
        - None: all columns.

        If no column drawn can split a node, more are drawn. Third branches always consider all columns.
    max_bins : int or None, default=None
        Maximum number of bins per numeric column; columns with more distinct values are binned by quantiles. If None,
        every distinct value is a bin, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        The categorical columns. "from_dtype": text, categorical and boolean columns, except ordered categories, which
        are numeric in their order. None: no column. Otherwise a list of names or positions, or a boolean mask.
    parse_dates : bool, default=True
        Whether a text column is read as dates if at least 99 % of its cells are dates, or times of day, of one format.
        Columns with a dtype of dates, durations or times are always numeric, in their order.
    date_parts : list of str, dict or None, default=None
        Parts of dates to add as columns of their own: "year", "month", "day", "weekday" (0 is Monday), "dayofyear",
        "hour", "minute". A list is for all columns of dates, a dict has the list of each column.
    drop_identifiers : bool, default=True
        Whether text columns with fewer than two rows per value on average are left out, with an `IdentifierWarning`:
        they identify rows, and nothing can be learned from them. Columns named in ``categorical_features`` are kept.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that were not seen in training. "no_information": the row takes the third
        branch, both branches, the surrogate or else the larger side, depending on the strategy; unlike a missing value,
        an unknown category never follows "missing against observed" splits. "error": raise an error.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    category_penalty : float, default=0.0
        How much more a split of k > 2 categories must gain: this number times (k - 2) times the loss of the node per
        row. Categories are ordered by the rows that the split is judged by, so that chance gains with each of them.
    max_surrogates : int, default=5
        Maximum number of surrogates per split, with ``missing="surrogate"``.
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling. By default nothing is random, because splits consider all columns (``max_features``).
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None is what OMP_NUM_THREADS allows (joblib sets it for its workers), or 1 in a
        process pool. The result does not depend on it.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen in `fit`; only if the table has column names.
    metadata_ : dict
        Metadata of the model file that the estimator was loaded from; empty after `fit`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total reduction of the training loss by each column.
    tree_ : Tree
        The tree as flat arrays, one per field, as it is now.
    n_nodes_ : int
        Number of nodes grown so far.
    n_grown_ : int
        Number of nodes that were grown on demand, after fitting.
    n_ungrown_hits_ : int
        How often a row reached a third branch that could not be grown.

    See Also
    --------
    TrinaryTreeClassifier : A decision tree classifier.
    TrinaryForestRegressor : A random forest of such trees.

    Examples
    --------
    The tree is fitted to complete rows and grows a third branch when a row lacks a value.

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tritree import TrinaryTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y)
    >>> tree.n_grown_
    0
    >>> row = X[:1].copy()
    >>> row[0, 2] = np.nan  # the body mass index, the column of the first split
    >>> tree.predict(row).shape
    (1,)
    >>> tree.n_grown_ > 0
    True
    """

    _allowed = allowed_values("tree", "regressor")

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "squared_error",
        max_depth: int | None = 5,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        max_features: Any = None,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        category_penalty: float = 0.0,
        max_surrogates: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.parse_dates = parse_dates
        self.date_parts = date_parts
        self.drop_identifiers = drop_identifiers
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.category_penalty = category_penalty
        self.max_surrogates = max_surrogates
        self.random_state = random_state
        self.n_jobs = n_jobs


class TrinaryTreeClassifier(TrinaryClassifier, BaseTree):
    """A decision tree classifier for tables with missing values.

    Parameters
    ----------
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        Strategy for missing values.

        - "trinary": a row whose value is missing takes the third branch, which is fitted to all rows of the node using
          the other columns.
        - "trinary_mia": each split sends missing values left, right or to a third branch, whichever is best.
        - "mia": missing values join the side where they lower the loss more.
        - "majority": missing values join the side with more observed rows.
        - "fractional": a row is sent both ways, weighted by the fractions of the observed rows on either side.
        - "surrogate": the most similar split of another column decides, as in R's rpart.
    criterion : {"entropy", "log_loss", "gini"}, default="entropy"
        The function to measure the quality of a split: the cross-entropy ("entropy" and "log_loss" are the same), or
        the Gini impurity.
    max_depth : int or None, default=5
        Maximum depth of the tree. If None, there is no limit. Third branches do not add to the depth.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of the tree, which is then grown best-first. A third branch gets the leaf budget of
        the two branches that it replaces. If None, there is no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows on either side of a split. Rows are counted regardless of their weights.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of columns to consider for each split, drawn at random.

        - int: that many columns.
        - float: that fraction of the columns.
        - "sqrt", "log2": the square root, or the logarithm to base 2, of the number of columns.
        - None: all columns.

        If no column drawn can split a node, more are drawn. Third branches always consider all columns.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; a class without an entry has weight 1. "balanced": inversely proportional to
        the class frequencies. None: all classes have weight 1. They are multiplied by ``sample_weight``.
    max_bins : int or None, default=None
        Maximum number of bins per numeric column; columns with more distinct values are binned by quantiles. If None,
        every distinct value is a bin, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        The categorical columns. "from_dtype": text, categorical and boolean columns, except ordered categories, which
        are numeric in their order. None: no column. Otherwise a list of names or positions, or a boolean mask.
    parse_dates : bool, default=True
        Whether a text column is read as dates if at least 99 % of its cells are dates, or times of day, of one format.
        Columns with a dtype of dates, durations or times are always numeric, in their order.
    date_parts : list of str, dict or None, default=None
        Parts of dates to add as columns of their own: "year", "month", "day", "weekday" (0 is Monday), "dayofyear",
        "hour", "minute". A list is for all columns of dates, a dict has the list of each column.
    drop_identifiers : bool, default=True
        Whether text columns with fewer than two rows per value on average are left out, with an `IdentifierWarning`:
        they identify rows, and nothing can be learned from them. Columns named in ``categorical_features`` are kept.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that were not seen in training. "no_information": the row takes the third
        branch, both branches, the surrogate or else the larger side, depending on the strategy; unlike a missing value,
        an unknown category never follows "missing against observed" splits. "error": raise an error.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    category_penalty : float, default=0.0
        How much more a split of k > 2 categories must gain: this number times (k - 2) times the loss of the node per
        row. Categories are ordered by the rows that the split is judged by, so that chance gains with each of them.
    max_surrogates : int, default=5
        Maximum number of surrogates per split, with ``missing="surrogate"``.
    random_state : int, RandomState instance or None, default=None
        Seed for column sampling. By default nothing is random, because splits consider all columns (``max_features``).
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None is what OMP_NUM_THREADS allows (joblib sets it for its workers), or 1 in a
        process pool. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen in `fit`; only if the table has column names.
    metadata_ : dict
        Metadata of the model file that the estimator was loaded from; empty after `fit`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total reduction of the training loss by each column.
    tree_ : Tree
        The tree as flat arrays, one per field, as it is now.
    n_nodes_ : int
        Number of nodes grown so far.
    n_grown_ : int
        Number of nodes that were grown on demand, after fitting.
    n_ungrown_hits_ : int
        How often a row reached a third branch that could not be grown.

    See Also
    --------
    TrinaryTreeRegressor : A decision tree regressor.
    TrinaryForestClassifier : A random forest of such trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TrinaryTreeClassifier(max_depth=2).fit(X, y)
    >>> nothing_observed = [[float("nan")] * 4]
    >>> tree.predict_proba(nothing_observed).round(3)  # the class frequencies at the root
    array([[0.333, 0.333, 0.333]])
    """

    _allowed = allowed_values("tree", "classifier")

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "entropy",
        max_depth: int | None = 5,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        max_features: Any = None,
        class_weight: Any = None,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        category_penalty: float = 0.0,
        max_surrogates: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.parse_dates = parse_dates
        self.date_parts = date_parts
        self.drop_identifiers = drop_identifiers
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.category_penalty = category_penalty
        self.max_surrogates = max_surrogates
        self.random_state = random_state
        self.n_jobs = n_jobs
