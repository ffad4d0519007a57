"""The forests, after scikit-learn's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from tritree.estimators.classifier import ShareClassifier
from tritree.estimators.forest.base import BaseTrinaryForest
from tritree.target import read_classification_target, read_regression_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TrinaryForestClassifier", "TrinaryForestRegressor"]


class TrinaryForestRegressor(RegressorMixin, BaseTrinaryForest):  # type: ignore[misc]
    """A random forest for a number that learns from tables with holes, and predicts any row.

    Its trees are those of `TrinaryTreeRegressor`, each grown from rows drawn with replacement and with a random share
    of the columns for each split. A third branch is fitted to the response, as in a single tree, and may use all
    columns.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        How missing values are handled; see `TrinaryTreeRegressor`.
    criterion : {"squared_error"}, default="squared_error"
        The loss that splits lower.
    max_depth : int or None, default=None
        The most left and right turns from the root to a leaf; None for no limit.
    min_samples_leaf : int, default=5
        The fewest rows on either side of a split; a row that was drawn twice is two.
    max_features : float, "sqrt" or "log2", default=1.0
        The share of columns, drawn anew in each node, that a split may use; or the root, or the logarithm, of their
        number.
    bootstrap : bool, default=True
        Whether each tree is grown from rows drawn with replacement; if not, from all of them.
    max_samples : float or None, default=None
        The rows that are drawn, as a share of all; None draws as many as there are.
    oob_score : bool, default=False
        Whether to answer each training row by the trees that have not seen it.
    max_bins : int or None, default=255
        The most distinct values of a numeric column that are told apart; None tells all apart, up to 65,534.
    categorical_features, unknown_category, split_on_missing, max_surrogates
        As in `TrinaryTreeRegressor`.
    max_third_nodes : int, default=100_000
        The most nodes that may be grown on demand in one tree. Beyond, a row gets the value of the node, and what it
        gets depends on what was asked for before; ``n_cut_short_`` counts how often.
    verbose : bool, default=False
        Whether to show a progress bar (needs rich, ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Of the rows and columns that are drawn.
    n_jobs : int or None, default=None
        Threads to use: None or -1 for all processors, -2 for all but one. Results do not depend on it.

    Attributes
    ----------
    oob_score_ : float
        The R² of the out-of-bag predictions, if asked for.
    oob_prediction_ : ndarray
        What the trees that have not seen a training row say of it; NaN if all have.
    feature_importances_ : ndarray
        Each column's share of the reduction of the training loss, averaged over trees.
    n_nodes_, n_grown_, n_cut_short_ : int
        Nodes of all trees, those grown on demand among them, and how often one could not be grown.
    n_features_in_ : int
        Columns seen in training.
    feature_names_in_ : ndarray
        Their names, if they are text.

    See Also
    --------
    TrinaryBoostingRegressor : Trees that are fitted one after the other, which is often better.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tritree import TrinaryForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = TrinaryForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> rows = X[:3].copy()
    >>> rows[:, 2] = np.nan
    >>> forest.predict(rows).shape
    (3,)
    """

    _criteria: ClassVar[tuple[str, ...]] = ("squared_error",)

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        missing: str = "trinary",
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        max_bins: int | None = 255,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        max_third_nodes: int = 100_000,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.max_third_nodes = max_third_nodes
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_response(self, y: Any, n_rows: int) -> tuple[None, NDArray[np.float64]]:
        return None, read_regression_target(y, n_rows, type(self).__name__)

    def _keep_out_of_bag(self, answers: NDArray[np.float64]) -> None:
        self.oob_prediction_ = answers[:, 0]

    def _score_of(self, y: NDArray[Any], values: NDArray[np.float64]) -> float:
        return float(r2_score(y, values[:, 0]))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator, fitted.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The response, finite numbers.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same. Weights do not change how likely a row is drawn.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted response of each row: the mean of what the trees say.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.
        """
        return self._values(X)[:, 0]


class TrinaryForestClassifier(ShareClassifier, BaseTrinaryForest):
    """A random forest for classes that learns from tables with holes, and predicts any row.

    Its trees are those of `TrinaryTreeClassifier`; a row's probabilities are the mean of the class shares in the leaves
    that it comes to.

    Parameters
    ----------
    criterion : {"entropy", "gini"}, default="entropy"
        The loss that splits lower.
    max_features : float, "sqrt" or "log2", default="sqrt"
        As in `TrinaryForestRegressor`.
    class_weight : dict, "balanced" or None, default=None
        What the rows of a class count: by class, or so that all classes count the same.
    n_estimators, missing, max_depth, min_samples_leaf, bootstrap, max_samples, oob_score, max_bins, \
categorical_features, unknown_category, split_on_missing, max_surrogates, max_third_nodes, verbose, random_state, n_jobs
        As in `TrinaryForestRegressor`.

    Attributes
    ----------
    classes_ : ndarray
        The classes in sorted order.
    oob_score_ : float
        The share of training rows that the trees that have not seen them put into the right class, if asked for.
    oob_decision_function_ : ndarray
        Their probabilities of the classes; NaN if all trees have seen a row.
    feature_importances_, n_nodes_, n_grown_, n_cut_short_, n_features_in_, feature_names_in_
        As in `TrinaryForestRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = TrinaryForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[float("nan"), 3.0, 1.4, float("nan")]])
    array([0])
    """

    _criteria: ClassVar[tuple[str, ...]] = ("entropy", "gini")

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        missing: str = "trinary",
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        max_features: Any = "sqrt",
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        class_weight: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        max_surrogates: int = 5,
        max_third_nodes: int = 100_000,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.max_surrogates = max_surrogates
        self.max_third_nodes = max_third_nodes
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_response(self, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
        return read_classification_target(y, n_rows, type(self).__name__)

    def _keep_out_of_bag(self, answers: NDArray[np.float64]) -> None:
        self.oob_decision_function_ = answers

    def _score_of(self, y: NDArray[Any], values: NDArray[np.float64]) -> float:
        return float(accuracy_score(y, values.argmax(axis=1)))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator, fitted.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A NumPy array, a frame of pandas, polars or pyarrow, or anything else that narwhals reads.
        y : array-like of shape (n_rows,)
            The classes, labels of any one type.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts; None for the same. Weights do not change how likely a row is drawn.
        """
        return self._fit(X, y, sample_weight)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, columns in the order of ``classes_``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features_in_)
            Rows, with holes anywhere. A frame is matched by column names: order does not matter, an absent column
            counts as missing.
        """
        return self._values(X)
