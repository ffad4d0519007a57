"""Random forests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from tritree import _core
from tritree.errors import warn_caller
from tritree.estimators.base import TrinaryEstimator
from tritree.estimators.bootstrap import BootstrapSamples, predict_out_of_bag
from tritree.estimators.fitted_state import check_same_classes, fitted_attribute
from tritree.estimators.forest_views import ForestViews
from tritree.estimators.growing_model import GrowingModel, growth_parameters
from tritree.estimators.tasks import TrinaryClassifier, TrinaryRegressor
from tritree.progress import bar
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH, allowed_values, as_random_state, count_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.encoded_rows import EncodedRows
    from tritree.estimators.fitted_state import FittedState

__all__ = ["TrinaryForestClassifier", "TrinaryForestRegressor"]


# Maximum number of rows of a node that its surrogates, or evidence, are found on: with 128, surrogates are about as
# accurate, and evidence is with 1,024.
_SURROGATE_ROWS = 256


class BaseForest(ForestViews, TrinaryEstimator):
    """Base of both forests."""

    _max_target = 1e300  # predictions of the trees are added up

    def _fit(self, X: Any, y: Any, sample_weight: Any, scratch: Any) -> None:
        self._validate_params()
        fitted = self._state_to_continue("n_estimators", "trees")
        encoder, classes, rows = self._read_rows(
            X,
            y,
            sample_weight,
            None if fitted is None else fitted.encoder,
            "oob_score=True" if self.oob_score else None,
            scratch,
        )
        self._fit_rows(encoder, classes, rows, fitted)

    def _fit_rows(
        self,
        encoder: TableEncoder,
        classes: NDArray[Any] | None,
        rows: EncodedRows,
        fitted: FittedState | None = None,
    ) -> None:
        """Fit trees to rows; ``fitted`` is what they are added to."""
        n_threads = count_threads(self.n_jobs)
        binned = self._bin(rows, encoder, n_threads)
        if fitted is not None:
            check_same_classes(classes, fitted.classes)
            core = _copy_for_warm_start(fitted.model, binned, rows)
            if core.n_trees == self.n_estimators:
                warn_caller("warm_start adds no trees, since n_estimators has not been increased")
        else:
            parameters = self._growth_parameters(encoder, classes)
            core = _core.LadderModel(binned, rows.y, rows.weight, parameters)
        first = core.n_trees
        seeds = as_random_state(self.random_state).randint(1, 2**31 - 1, size=int(self.n_estimators))
        seeds[:first] = core.seeds
        samples = BootstrapSamples(seeds, len(rows), self._n_samples_bootstrap(len(rows)), rows.weight)
        batch = 16 * n_threads  # the samples of all trees may not fit into memory
        scores: dict[str, Any] = {}
        try:
            with bar(len(seeds) - first, "trees", shown=bool(self.verbose)) as advance:
                for begin in range(first, len(seeds), batch):
                    numbers = range(begin, min(begin + batch, len(seeds)))
                    in_bags = [
                        drawn for number in numbers if (drawn := samples.rows(number)) is not None
                    ] or None
                    core.add_trees(seeds[list(numbers)].tolist(), in_bags, n_threads, advance)
            if self.oob_score:
                scores = self._score_out_of_bag(rows.y, predict_out_of_bag(core, rows, samples, n_threads))
        except KeyboardInterrupt:  # the trees so far are complete
            if core.n_trees:
                self._set_trees(core, encoder, classes, scores)
            raise
        self._set_trees(core, encoder, classes, scores)

    def _growth_parameters(
        self,
        encoder: TableEncoder,
        classes: NDArray[Any] | None,
        seed: int = 0,  # noqa: ARG002
    ) -> _core.GrowthParameters:
        return growth_parameters(
            self,
            len(encoder.columns),
            0 if classes is None else len(classes),
            max_third_nodes=min(int(self.max_third_nodes), 2**62),
            keep_best_split_only=True,
            surrogate_rows=_SURROGATE_ROWS,
            min_missing_third=float(self.min_missing_third),
        )

    def _set_trees(
        self,
        core: _core.LadderModel,
        encoder: TableEncoder,
        classes: NDArray[Any] | None,
        scores: Mapping[str, Any],
    ) -> None:
        if self.missing not in STRATEGIES_WITH_THIRD_BRANCH:
            core.detach()  # nothing grows after the fit
        self._set_fitted(GrowingModel(core, "forest"), encoder, classes, **scores)

    def _n_samples_bootstrap(self, n_rows: int) -> int | None:
        """Return how many rows are drawn for each tree; None if it is fitted to all of them."""
        if not self.bootstrap:
            return None
        return n_rows if self.max_samples is None else max(1, round(self.max_samples * n_rows))

    def _predict_out_of_bag(
        self, X: Any, y: Any, sample_weight: Any = None, chosen: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return out-of-bag predictions of the training rows, in which cells may have been removed.

        If ``chosen`` is not None, only the rows at these positions have a prediction; rows without one are NaN.
        """
        fitted = self._fitted
        _, _, rows = self._read_rows(X, y, sample_weight, fitted.encoder)
        core: _core.LadderModel = fitted.model.core
        n_drawn = self._n_samples_bootstrap(len(rows))
        samples = BootstrapSamples(np.asarray(core.seeds), len(rows), n_drawn, rows.weight)
        return predict_out_of_bag(core, rows, samples, count_threads(self.n_jobs), chosen)

    def _score_out_of_bag(self, target: NDArray[Any], values: NDArray[np.float64]) -> dict[str, Any]:
        """Return the out-of-bag attributes; rows without a prediction are NaN."""
        raise NotImplementedError

    oob_score_ = fitted_attribute("oob_score_", "Score on out-of-bag predictions: R², or the accuracy.")

    @property
    def n_trees_(self) -> int:
        """Number of trees."""
        return self._model.n_trees

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The normalised total reduction of the training loss by each column, the mean over trees.

        A split counts with the training rows of its tree that pass through it, also in third branches. Computed when
        first accessed, in copies of the trees in which the branches are grown that training rows with missing values
        reach.
        """
        return self._model.importances(count_threads(self.n_jobs))


def _copy_for_warm_start(
    fitted: GrowingModel, binned: _core.BinnedColumns, rows: EncodedRows
) -> _core.LadderModel:
    """Return a copy of a fitted forest to add trees to; raise a ValueError unless it shares the training rows."""
    if fitted.missing in STRATEGIES_WITH_THIRD_BRANCH and fitted.is_detached:
        raise ValueError(
            "warm_start adds trees that share the training rows, which are gone (detach(), or a file saved without "
            "them); set warm_start=False"
        )
    try:
        core: _core.LadderModel = fitted.core.copy_with_rows(binned, rows.y, rows.weight)
    except ValueError:
        raise ValueError(
            "warm_start adds trees that share the training rows of the first fit, and X, y or sample_weight have "
            "changed; pass the same, or set warm_start=False"
        ) from None
    return core


class TrinaryForestRegressor(TrinaryRegressor, BaseForest):
    """A random forest regressor for tables with missing values.

    The mean of many `TrinaryTreeRegressor`, each fitted to rows drawn with replacement, with a random choice of columns
    for each split. Third branches are fitted to the target, as in a single tree.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees in the forest.
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        Strategy for missing values; see `TrinaryTreeRegressor`. With "surrogate", nothing is grown after the
        fit; surrogates are found on samples of the rows, and ranked by the fraction of rows that they send the same
        way.
    criterion : {"squared_error"}, default="squared_error"
        The function to measure the quality of a split.
    max_depth : int or None, default=None
        Maximum depth of the trees. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. A third branch gets the leaf budget of
        the two branches that it replaces. If None, there is no limit.
    min_samples_leaf : int, default=3
        Minimum number of rows on either side of a split. A row that was drawn twice counts twice.
    max_features : int, float, {"sqrt", "log2"} or None, default=0.5
        Number of columns to consider for each split, drawn at random.

        - int: that many columns.
        - float: that fraction of the columns.
        - "sqrt", "log2": the square root, or the logarithm to base 2, of the number of columns.
        - None: all columns.

        If no column drawn can split a node, more are drawn. Third branches always consider all columns.
    bootstrap : bool, default=True
        Whether each tree is fitted to rows drawn with replacement. If False, each tree is fitted to all rows.
    max_samples : float or None, default=None
        Fraction of the rows to draw for each tree. If None, as many rows are drawn as there are.
    oob_score : bool, default=False
        Whether to score the forest on out-of-bag predictions.
    max_bins : int or None, default=255
        Maximum number of bins per numeric column; columns with more distinct values are binned by quantiles. If None,
        every distinct value is a bin, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        The categorical columns; see `TrinaryTreeRegressor`.
    parse_dates : bool, default=True
        Whether text columns of dates are read as dates; see `TrinaryTreeRegressor`.
    date_parts : list of str, dict or None, default=None
        Parts of dates to add as columns; see `TrinaryTreeRegressor`.
    drop_identifiers : bool, default=True
        Whether text columns that identify rows are left out; see `TrinaryTreeRegressor`.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that were not seen in training; see `TrinaryTreeRegressor`.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    category_penalty : float, default=1.0
        How much more a split of k > 2 categories must gain; see `TrinaryTreeRegressor`.
    max_surrogates : int, default=5
        Maximum number of surrogates per split, with ``missing="surrogate"``.
    min_missing_third : float, default=0.35
        Minimum fraction of the training rows of a node that lack the value of its split, for the split to have a third
        branch, with "trinary" and "trinary_mia". At other splits, rows that lack the value go both ways, in parts that
        their other values suggest: first predictions are then many times as fast, and about as accurate. 0 gives
        every split a third branch.
    max_third_nodes : int, default=100_000
        Maximum number of nodes that are grown on demand in each tree. Beyond this limit, a row gets the value of
        the node above the branch, so that its prediction depends on the rows predicted before; ``n_ungrown_hits_``
        counts how often. `grow_all` is not limited by it. With ``max_leaf_nodes``, third branches are grown as a whole,
        and the last one may exceed it.
    warm_start : bool, default=False
        Whether `fit` adds trees to those of the previous call, up to ``n_estimators``. The training rows, and the
        parameters that trees grow by, must not change.
    verbose : bool, default=False
        Whether to show a progress bar (requires rich: ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the rows of each tree (``bootstrap`` is True by default) and for column sampling (by default
        splits consider all columns).
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None may be fewer; see `TrinaryTreeRegressor`. The result does not depend on it.

    Attributes
    ----------
    oob_score_ : float
        R² of the out-of-bag predictions; only if ``oob_score`` is True. Not stored in model files.
    oob_prediction_ : ndarray of shape (n_rows,)
        Mean prediction of the trees that were not fitted to a row, NaN if all were; only if ``oob_score`` is True. Not
        stored in model files.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total reduction of the training loss by each column, the mean over trees.
    n_trees_ : int
        Number of trees.
    estimators_ : sequence of TrinaryTreeRegressor
        The trees; each is a copy that is made when it is accessed.
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
    TrinaryForestClassifier : A random forest classifier.
    TrinaryBoostingRegressor : Gradient boosting, which is often more accurate.

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

    _allowed = allowed_values("forest", "regressor")

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        missing: str = "trinary",
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 3,
        max_features: Any = 0.5,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        max_bins: int | None = 255,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        category_penalty: float = 1.0,
        max_surrogates: int = 5,
        min_missing_third: float = 0.35,
        max_third_nodes: int = 100_000,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.parse_dates = parse_dates
        self.date_parts = date_parts
        self.drop_identifiers = drop_identifiers
        self.unknown_category = unknown_category
        self.split_on_missing = split_on_missing
        self.category_penalty = category_penalty
        self.max_surrogates = max_surrogates
        self.min_missing_third = min_missing_third
        self.max_third_nodes = max_third_nodes
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _score_out_of_bag(self, target: NDArray[Any], values: NDArray[np.float64]) -> dict[str, Any]:
        found = ~np.isnan(values[:, 0])
        score = float(r2_score(target[found], values[found, 0]))
        return {"oob_score_": score, "oob_prediction_": values[:, 0]}

    oob_prediction_ = fitted_attribute("oob_prediction_", "Out-of-bag predictions of the training rows.")


class TrinaryForestClassifier(TrinaryClassifier, BaseForest):
    """A random forest classifier for tables with missing values.

    The mean of the class probabilities of many `TrinaryTreeClassifier`, each fitted to rows drawn with replacement,
    with a random choice of columns for each split.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees in the forest.
    missing : {"trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate"}, default="trinary"
        Strategy for missing values; see `TrinaryTreeRegressor`. With "surrogate", nothing is grown after the
        fit; surrogates are found on samples of the rows, and ranked by the fraction of rows that they send the same
        way.
    criterion : {"entropy", "log_loss", "gini"}, default="entropy"
        The function to measure the quality of a split: the cross-entropy ("entropy" and "log_loss" are the same), or
        the Gini impurity.
    max_depth : int or None, default=None
        Maximum depth of the trees. If None, there is no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree, which is then grown best-first. A third branch gets the leaf budget of
        the two branches that it replaces. If None, there is no limit.
    min_samples_leaf : int, default=5
        Minimum number of rows on either side of a split. A row that was drawn twice counts twice.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of columns to consider for each split, drawn at random.

        - int: that many columns.
        - float: that fraction of the columns.
        - "sqrt", "log2": the square root, or the logarithm to base 2, of the number of columns.
        - None: all columns.

        If no column drawn can split a node, more are drawn. Third branches always consider all columns.
    bootstrap : bool, default=True
        Whether each tree is fitted to rows drawn with replacement. If False, each tree is fitted to all rows.
    max_samples : float or None, default=None
        Fraction of the rows to draw for each tree. If None, as many rows are drawn as there are.
    oob_score : bool, default=False
        Whether to score the forest on out-of-bag predictions.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; a class without an entry has weight 1. "balanced": inversely proportional to
        the class frequencies. None: all classes have weight 1. They are multiplied by ``sample_weight``.
    max_bins : int or None, default=255
        Maximum number of bins per numeric column; columns with more distinct values are binned by quantiles. If None,
        every distinct value is a bin, up to 65,534 per column.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        The categorical columns; see `TrinaryTreeRegressor`.
    parse_dates : bool, default=True
        Whether text columns of dates are read as dates; see `TrinaryTreeRegressor`.
    date_parts : list of str, dict or None, default=None
        Parts of dates to add as columns; see `TrinaryTreeRegressor`.
    drop_identifiers : bool, default=True
        Whether text columns that identify rows are left out; see `TrinaryTreeRegressor`.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that were not seen in training; see `TrinaryTreeRegressor`.
    split_on_missing : bool, default=True
        Whether "mia" and "trinary_mia" also consider splits of missing against observed values.
    category_penalty : float, default=1.0
        How much more a split of k > 2 categories must gain; see `TrinaryTreeRegressor`.
    max_surrogates : int, default=5
        Maximum number of surrogates per split, with ``missing="surrogate"``.
    min_missing_third : float, default=0.35
        Minimum fraction of the training rows of a node that lack the value of its split, for the split to have a third
        branch, with "trinary" and "trinary_mia". At other splits, rows that lack the value go both ways, in parts that
        their other values suggest: first predictions are then many times as fast, and about as accurate. 0 gives
        every split a third branch.
    max_third_nodes : int, default=100_000
        Maximum number of nodes that are grown on demand in each tree. Beyond this limit, a row gets the value of
        the node above the branch, so that its prediction depends on the rows predicted before; ``n_ungrown_hits_``
        counts how often. `grow_all` is not limited by it. With ``max_leaf_nodes``, third branches are grown as a whole,
        and the last one may exceed it.
    warm_start : bool, default=False
        Whether `fit` adds trees to those of the previous call, up to ``n_estimators``. The training rows, and the
        parameters that trees grow by, must not change.
    verbose : bool, default=False
        Whether to show a progress bar (requires rich: ``pip install tritree[progress]``).
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the rows of each tree (``bootstrap`` is True by default) and for column sampling
        (``max_features`` is "sqrt" by default).
    n_jobs : int or None, default=None
        None (default) means all cores. Otherwise the number of threads, -1 for all cores, -2 for all but one. In a
        process that shares the cores, None may be fewer; see `TrinaryTreeRegressor`. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    oob_score_ : float
        Accuracy of the out-of-bag predictions; only if ``oob_score`` is True. Not stored in model files.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Class probabilities predicted by the trees that were not fitted to a row, NaN if all were; only if
        ``oob_score`` is True. Not stored in model files.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total reduction of the training loss by each column, the mean over trees.
    n_trees_ : int
        Number of trees.
    estimators_ : sequence of TrinaryTreeClassifier
        The trees; each is a copy that is made when it is accessed.
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
    TrinaryForestRegressor : A random forest regressor.
    TrinaryBoostingClassifier : Gradient boosting, which is often more accurate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tritree import TrinaryForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = TrinaryForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[float("nan"), 3.0, 1.4, float("nan")]])
    array([0])
    """

    _allowed = allowed_values("forest", "classifier")

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        missing: str = "trinary",
        criterion: str = "entropy",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 5,
        max_features: Any = "sqrt",
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        class_weight: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = "from_dtype",
        parse_dates: bool = True,
        date_parts: Any = None,
        drop_identifiers: bool = True,
        unknown_category: str = "no_information",
        split_on_missing: bool = True,
        category_penalty: float = 1.0,
        max_surrogates: int = 5,
        min_missing_third: float = 0.35,
        max_third_nodes: int = 100_000,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.missing = missing
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
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
        self.min_missing_third = min_missing_third
        self.max_third_nodes = max_third_nodes
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _score_out_of_bag(self, target: NDArray[Any], values: NDArray[np.float64]) -> dict[str, Any]:
        found = ~np.isnan(values[:, 0])
        score = float(accuracy_score(target[found], values[found].argmax(axis=1)))
        return {"oob_score_": score, "oob_decision_function_": values}

    oob_decision_function_ = fitted_attribute(
        "oob_decision_function_", "Out-of-bag class probabilities of the training rows."
    )
