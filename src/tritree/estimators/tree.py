"""The two estimators, behind scikit-learn's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import RegressorMixin

from tritree.estimators.classifier import ShareClassifier
from tritree.estimators.views import ViewableTree
from tritree.target import read_classification_target, read_regression_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TrinaryTreeClassifier", "TrinaryTreeRegressor"]


class TrinaryTreeRegressor(RegressorMixin, ViewableTree):  # type: ignore[misc]
    """A decision tree for a numeric response that learns from tables with holes, and predicts any row.

    Parameters
    ----------
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        How missing values are handled.

        - "trinary": a row whose value is missing takes the third branch, where all rows of the node are split by
          the next best column.
        - "trinary_mia": per split the best of sending missing left, right or to a third branch.
        - "mia": missing joins the side where it lowers the loss more.
        - "majority": missing joins the side with more observed rows.
        - "fractional": a row goes both ways, weighted by the observed rows on either side.
        - "surrogate": another column that splits alike stands in, as in R's rpart.
    criterion : {"squared_error"}, default="squared_error"
        The loss that splits lower.
    max_depth : int or None, default=5
        The most left and right turns from the root to a leaf; None for no limit. Third branches do not count.
    min_samples_leaf : int, default=20
        The fewest rows on either side of a split. Rows are counted, weights are not.
    max_bins : int or None, default=None
        The most distinct values of a numeric column that are told apart; more are binned by their quantiles. None
        tells all apart, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categorical. "from_dtype": text, category and boolean columns, except that ordered
        categories are numeric in their order. None: no column. Otherwise a list of names or positions, or one
        boolean per column.
    unknown_category : {"no_information", "error"}, default="no_information"
        What a category is to prediction that training never saw. "no_information": it tells nothing, so its row takes
        the third branch, both branches, the surrogates' advice, or else the larger side, as the strategy has it;
        it does not mean what a missing value means. "error": an error that names it.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also try the split of missing against observed.
    max_surrogates : int, default=5
        The most surrogates per split under "surrogate".
    n_jobs : int or None, default=None
        Threads to use: a number, -1 for all processors, -2 for all but one. None is all processors as well, except in
        a process that shares them with others of its kind: what OMP_NUM_THREADS allows (joblib sets it for its
        workers), and one in a process pool. The result does not depend on it.

    Attributes
    ----------
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names; only if the table had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Each column's share of the reduction of the training loss, by the rows that really pass through its splits.
    tree_ : Tree
        The tree as flat arrays, one per field, as it is now.
    n_nodes_ : int
        Nodes of the tree as it is now.
    n_grown_ : int
        Nodes that were grown on demand, after fitting.

    See Also
    --------
    TrinaryTreeClassifier : The same for classes.

    Examples
    --------
    The tree is fitted to complete rows and meets holes when it predicts.

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tritree import TrinaryTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y)
    >>> tree.n_grown_
    0
    >>> row = X[:1].copy()
    >>> row[0, 2] = np.nan  # the body mass index, on which the tree splits first
    >>> tree.predict(row).shape
    (1,)
    >>> tree.n_grown_ > 0  # the third branch has grown, because a row needed it
    True
    """

    _criteria = ("squared_error",)

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "squared_error",
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            missing=missing,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            max_bins=max_bins,
            categorical_features=categorical_features,
            unknown_category=unknown_category,
            split_on_missing=split_on_missing,
            max_surrogates=max_surrogates,
            n_jobs=n_jobs,
        )

    def _read_response(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        return None, read_regression_target(y, n_rows, type(self).__name__)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator, fitted: the tree is grown as far as a binary tree would be.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The response, finite numbers.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same. Weights are resolved to about 1e-12 of the largest: beside it, a
            row that counts less than that counts nothing.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted response of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._values(X)[:, 0]


class TrinaryTreeClassifier(ShareClassifier, ViewableTree):
    """A decision tree for classes that learns from tables with holes, and predicts any row.

    Parameters
    ----------
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        How missing values are handled.

        - "trinary": a row whose value is missing takes the third branch, where all rows of the node are split by
          the next best column.
        - "trinary_mia": per split the best of sending missing left, right or to a third branch.
        - "mia": missing joins the side where it lowers the loss more.
        - "majority": missing joins the side with more observed rows.
        - "fractional": a row goes both ways, weighted by the observed rows on either side.
        - "surrogate": another column that splits alike stands in, as in R's rpart.
    criterion : {"entropy", "gini"}, default="entropy"
        The loss that splits lower: cross-entropy, or the Gini impurity.
    max_depth : int or None, default=5
        The most left and right turns from the root to a leaf; None for no limit. Third branches do not count.
    min_samples_leaf : int, default=20
        The fewest rows on either side of a split. Rows are counted, weights are not.
    max_bins : int or None, default=None
        The most distinct values of a numeric column that are told apart; more are binned by their quantiles. None
        tells all apart, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categorical. "from_dtype": text, category and boolean columns, except that ordered
        categories are numeric in their order. None: no column. Otherwise a list of names or positions, or one
        boolean per column.
    unknown_category : {"no_information", "error"}, default="no_information"
        What a category is to prediction that training never saw. "no_information": it tells nothing, so its row takes
        the third branch, both branches, the surrogates' advice, or else the larger side, as the strategy has it;
        it does not mean what a missing value means. "error": an error that names it.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also try the split of missing against observed.
    max_surrogates : int, default=5
        The most surrogates per split under "surrogate".
    n_jobs : int or None, default=None
        Threads to use: a number, -1 for all processors, -2 for all but one. None is all processors as well, except in
        a process that shares them with others of its kind: what OMP_NUM_THREADS allows (joblib sets it for its
        workers), and one in a process pool. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in sorted order.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names; only if the table had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Each column's share of the reduction of the training loss, by the rows that really pass through its splits.
    tree_ : Tree
        The tree as flat arrays, one per field, as it is now.
    n_nodes_ : int
        Nodes of the tree as it is now.
    n_grown_ : int
        Nodes that were grown on demand, after fitting.

    See Also
    --------
    TrinaryTreeRegressor : The same for a numeric response.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TrinaryTreeClassifier(max_depth=2).fit(X, y)
    >>> nothing_known = [[float("nan")] * 4]
    >>> tree.predict_proba(nothing_known).round(3)  # the shares of the classes at the root
    array([[0.333, 0.333, 0.333]])
    """

    _criteria: ClassVar[tuple[str, ...]] = ("entropy", "gini")

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "entropy",
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            missing=missing,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            max_bins=max_bins,
            categorical_features=categorical_features,
            unknown_category=unknown_category,
            split_on_missing=split_on_missing,
            max_surrogates=max_surrogates,
            n_jobs=n_jobs,
        )

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
        return read_classification_target(y, n_rows, type(self).__name__)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator, fitted: the tree is grown as far as a binary tree would be.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The classes, labels of any one type.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same. Weights are resolved to about 1e-12 of the largest: beside it, a
            row that counts less than that counts nothing.
        """
        return self._fit(X, y, sample_weight)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> y = np.where(X[:, 0] < 40, "early", "late")
        >>> tree = TrinaryTreeClassifier(max_depth=1).fit(X, y)
        >>> tree.predict_proba([[10.0], [90.0], [np.nan]])
        array([[1. , 0. ],
               [0. , 1. ],
               [0.4, 0.6]])
        """
        return self._values(X)
