"""The estimators: scikit-learn's interface in front, the flow from table to tree behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tritree import _core
from tritree.codec import Codec, infinite_values_named
from tritree.parameters import Parameters, check_int, count_threads
from tritree.response import check_weights, read_classes, read_numbers
from tritree.table import Table, read_table
from tritree.tree import GrowingTree
from tritree.views.describe import describe
from tritree.views.text import MAX_NODES, draw_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TrinaryTreeClassifier", "TrinaryTreeRegressor"]


class _BaseTrinaryTree(BaseEstimator):  # type: ignore[misc]
    """What both estimators share; the subclass reads the response."""

    _criteria: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str,
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        parameters = self._checked_parameters()
        table = read_table(X)
        codec, columns = Codec.learn(table, self.categorical_features)
        classes, response = self._read_response(y, table.n_rows)
        weight = check_weights(sample_weight, table.n_rows)
        settings = parameters.settings(0 if classes is None else len(classes))
        n_threads = count_threads(self.n_jobs)
        with infinite_values_named(codec):
            codes = _core.Codes(columns, codec.n_categories, parameters.n_bins, n_threads)
        model = _core.Model(codes, response, weight, settings, n_threads)

        # nothing is assigned before this line, so that a fit that failed leaves an earlier one as it was
        self._tree = GrowingTree(model)
        self._codec = codec
        self._missing = self.missing
        self.n_features_in_ = table.n_columns
        if classes is not None:
            self.classes_ = classes
        if codec.names is not None:
            self.feature_names_in_ = np.asarray(codec.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _checked_parameters(self) -> Parameters:
        parameters = Parameters(
            missing=self.missing,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_bins=self.max_bins,
            split_on_missing=self.split_on_missing,
            max_surrogates=self.max_surrogates,
            n_jobs=self.n_jobs,
        )
        parameters.check(self._criteria)
        return parameters

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        raise NotImplementedError

    def _encode(self, X: Any) -> tuple[list[_core.Column | None], int, int]:
        """Return what the core asks of a table to predict: its columns, its rows and the threads to use."""
        check_is_fitted(self)
        table: Table = read_table(X)
        return self._codec.encode(table, type(self).__name__), table.n_rows, count_threads(self.n_jobs)

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the rows, one column per output."""
        request = self._encode(X)
        with infinite_values_named(self._codec):
            return self._tree.predict(*request)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the node each row ends in.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes or without.

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices into the arrays of ``tree_``; under "fractional" the leaf with the largest share of the row.

        Notes
        -----
        A node keeps the number it was given. The numbers depend on the order in which branches were grown, so that
        two trees that predict the same may number their nodes differently.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 30)
        >>> leaves = tree.apply([[10.0], [90.0]])
        >>> leaves
        array([1, 2], dtype=int32)
        >>> tree.tree_.value[leaves, 0]
        array([0., 1.])
        """
        request = self._encode(X)
        with infinite_values_named(self._codec):
            return self._tree.apply(*request)

    def get_depth(self) -> int:
        """Return the depth of the tree as it is now: the most left and right turns down to a node."""
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree as it is now."""
        return int((self.tree_.column < 0).sum())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of the reduction of the training loss.

        A split counts with the training rows that really pass through it, third branches included. Rows that come
        to a third branch are only some of those it was grown from, and its splits may raise their loss; a column
        whose splits raise the loss of the rows passing through them, all in all, counts as zero. Computed when it
        is first asked for, because it may have to grow what training rows with holes reach.
        """
        check_is_fitted(self)
        return self._tree.importances(count_threads(self.n_jobs))

    @property
    def tree_(self) -> _core.Tree:
        """The tree as flat arrays, one per field, as it is now."""
        check_is_fitted(self)
        return self._tree.snapshot()

    @property
    def n_nodes_(self) -> int:
        """Nodes of the tree as it is now."""
        check_is_fitted(self)
        return self._tree.model.n_nodes

    @property
    def n_grown_(self) -> int:
        """Nodes that were grown on demand, after fitting."""
        check_is_fitted(self)
        return self._tree.model.n_grown

    def grow_all(self, max_nodes: int = 1_000_000) -> Self:
        """Return the estimator with every third branch grown, reached by a row or not.

        Predictions do not change by it. A progress line shows itself on a terminal if rich is installed; Ctrl-C
        keeps what was grown.

        Parameters
        ----------
        max_nodes : int, default=1_000_000
            The most nodes the tree may get.

        Raises
        ------
        GrowthLimitError
            If the tree would pass ``max_nodes``. What was grown stays.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y)
        >>> tree.n_nodes_
        7
        >>> tree.grow_all().n_nodes_
        355
        >>> -2 in tree.tree_.third  # nothing is left to grow
        False
        """
        check_is_fitted(self)
        check_int("max_nodes", max_nodes, 1)
        self._tree.grow_all(max_nodes, count_threads(self.n_jobs))
        return self

    def detach(self) -> Self:
        """Return the estimator without the training rows.

        From now on a third branch that was not grown answers with the value of the node it belongs to; the first
        time that happens a `CutShortWarning` says so.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import load_diabetes
        >>> from tritree import TrinaryTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = TrinaryTreeRegressor(max_depth=2).fit(X, y).grow_all()
        >>> before = len(pickle.dumps(tree))
        >>> len(pickle.dumps(tree.detach())) < before
        True
        """
        check_is_fitted(self)
        self._tree.model.detach()
        return self

    def to_text(
        self, *, max_depth: int | None = None, max_nodes: int | None = MAX_NODES, digits: int = 4
    ) -> str:
        """Return the grown tree as text, with its third branches.

        Parameters
        ----------
        max_depth : int or None, default=None
            Draw nodes down to this depth only.
        max_nodes : int or None, default=1_000
            Draw at most this many nodes, those nearest to the root; None draws everything.
        digits : int, default=4
            Significant digits of values, and of thresholds that are not whole numbers, halves or short decimals.

        Examples
        --------
        >>> import numpy as np
        >>> from tritree import TrinaryTreeRegressor
        >>> X = np.column_stack([np.arange(100.0), np.arange(100) // 10])
        >>> tree = TrinaryTreeRegressor(max_depth=1).fit(X, X[:, 0] >= 35)
        >>> answer = tree.predict([[np.nan, 9.0]])
        >>> print(tree.to_text())
        trinary tree, mean response: 5 nodes, 3 leaves, 2 grown on demand, 2 branches not grown yet
        ● leaf ...
        <BLANKLINE>
                                      rows  share   mean
        all rows                       100         0.650
        ├─ x0 < 34.5                    35    35%  0.000  ●
        ├─ x0 ≥ 34.5                    65    65%  1.000  ●
        ╰┄ x0 missing, x1 takes over   100   100%  0.650
           ├─ x1 < 3.5                not grown yet
           ├─ x1 ≥ 3.5                  60    60%  1.000  ●
           ╰┄ x1 missing              not grown yet
        """
        check_is_fitted(self)
        description = describe(
            self._tree.snapshot(),
            self._codec,
            getattr(self, "classes_", None),
            missing=self._missing,
            n_grown=self._tree.model.n_grown,
            detached=self._tree.model.is_detached,
        )
        return draw_text(description, max_depth=max_depth, max_nodes=max_nodes, digits=digits)


class TrinaryTreeRegressor(RegressorMixin, _BaseTrinaryTree):  # type: ignore[misc]
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
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also try the split of missing against observed.
    max_surrogates : int, default=5
        The most surrogates per split under "surrogate".
    n_jobs : int or None, default=None
        Threads to use; None and -1 mean all processors. The result does not depend on it.

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
            split_on_missing=split_on_missing,
            max_surrogates=max_surrogates,
            n_jobs=n_jobs,
        )

    def _read_response(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        return None, read_numbers(y, n_rows, type(self).__name__)

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


class TrinaryTreeClassifier(ClassifierMixin, _BaseTrinaryTree):  # type: ignore[misc]
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
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also try the split of missing against observed.
    max_surrogates : int, default=5
        The most surrogates per split under "surrogate".
    n_jobs : int or None, default=None
        Threads to use; None and -1 mean all processors. The result does not depend on it.

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

    _criteria = ("entropy", "gini")

    def __init__(
        self,
        *,
        missing: str = "trinary",
        criterion: str = "entropy",
        max_depth: int | None = 5,
        min_samples_leaf: int = 20,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
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
            split_on_missing=split_on_missing,
            max_surrogates=max_surrogates,
            n_jobs=n_jobs,
        )

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
        return read_classes(y, n_rows, type(self).__name__)

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

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class for each row; see `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, the first of equals; see `predict_proba`."""
        # the rows first: they also tell that nothing was fitted
        best = self.predict_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted
