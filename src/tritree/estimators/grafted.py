"""Models of other libraries whose splits have third branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from tritree import _core
from tritree.estimators.losses import LINKS
from tritree.estimators.sums import ClassifierOfSums, EstimatorOfSums, RegressorOfSums
from tritree.validation import allowed_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder

__all__ = ["GraftedClassifier", "GraftedRegressor"]

# A third of that of boosting. On four tables with 30 % of the values missing, the losses of grafted forests and of
# XGBoost are 0 to 5 % lower than with all of it, and models have 1.2 to 1.7 times the nodes.
_SPLIT_PENALTY = 0.1


class BaseGrafted(EstimatorOfSums):
    """Base of both grafted estimators, which `tritree.graft` makes."""

    _size_remedy = "graft a model of fewer or smaller trees"

    def __init__(
        self,
        *,
        library: str = "",
        link: str = "identity",
        missing: str = "auto",
        max_depth: int = 6,
        third_rows: int = 2_000,
        third_depth_extra: int = 0,
        max_third_nodes: int = 100_000,
        unknown_category: str = "no_information",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.library = library
        self.link = link
        self.missing = missing
        self.max_depth = max_depth
        self.third_rows = third_rows
        self.third_depth_extra = third_depth_extra
        self.max_third_nodes = max_third_nodes
        self.unknown_category = unknown_category
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **unknown: Any) -> NoReturn:  # noqa: ARG002
        """Raise a TypeError: a grafted model is not fitted to a target, but made by `tritree.graft`."""
        raise TypeError(
            f"{type(self).__name__} cannot be fitted: tritree.graft(model, X) makes it from a fitted model of another "
            "library; fit that one, and graft it again"
        )

    def __sklearn_clone__(self) -> Self:
        """Return the model itself: it cannot be fitted again, so that a copy without its trees would be of no use."""
        return self._snapshot()

    def _growth_parameters(
        self,
        encoder: TableEncoder,  # noqa: ARG002
        classes: NDArray[Any] | None,
        seed: int = 0,
    ) -> _core.GrowthParameters:
        adjust = LINKS[self._link_name(self._params(), classes)].adjust
        names = ("max_depth", "third_rows", "third_depth_extra", "max_third_nodes")
        sizes: dict[str, Any] = {name: min(int(getattr(self, name)), 2**29) for name in names}
        return _core.GrowthParameters(
            **sizes,
            missing="trinary_mia",
            min_samples_leaf=2,
            split_penalty=_SPLIT_PENALTY,
            estimates_variance=adjust is not None and self.missing != "keep",
            seed=seed,
        )

    def _link_name(self, params: Mapping[str, Any], classes: NDArray[Any] | None) -> str:
        link = str(params["link"])
        if classes is None:
            return "expit" if link == "logit" else link
        if link == "logit" and len(classes) != 2:
            raise ValueError(f"link='logit' is for two classes, and there are {len(classes)}")
        return link

    @property
    def n_kept_splits_(self) -> int:
        """Number of splits that send missing values where the source does."""
        return sum(int(np.count_nonzero(_missing_to(tree) < 2)) for tree in self._model.trees())

    @property
    def n_third_splits_(self) -> int:
        """Number of splits with a third branch."""
        return sum(int(np.count_nonzero(_missing_to(tree) == 2)) for tree in self._model.trees())

    # ---- views

    @property
    def _loss_name(self) -> str:
        return ""

    @property
    def _origin(self) -> dict[str, str]:
        return {"model": f"grafted {self._fit_params['library']}".rstrip()}


def _missing_to(tree: _core.Tree) -> NDArray[np.int8]:
    """Return where the splits of the source send missing values."""
    missing_to = tree.missing_to[: tree.n_fitted]
    return missing_to[tree.column[: tree.n_fitted] >= 0]


class GraftedRegressor(RegressorOfSums, BaseGrafted):
    """A regressor of another library, or a model that predicts a number, with third branches for missing values.

    `tritree.graft` makes it. Rows without missing values get the predictions of the source; others an estimate of its
    mean prediction, given the values that are observed. It cannot be fitted, and a clone of it is the same model.

    Parameters
    ----------
    library : str, default=""
        The library of the source.
    link : {"identity", "log", "logit"}, default="identity"
        How sums over trees become predictions: as they are, by the exponential or by the logistic function.
    missing : {"auto", "third", "keep"}, default="auto"
        Which splits have third branches; see `tritree.graft`.
    max_depth : int, default=6
        Maximum depth of third branches: that of the deepest tree of the source.
    third_rows : int, default=2_000
        Maximum number of background rows that each third branch is fitted to.
    third_depth_extra : int, default=0
        Additional depth of third branches.
    max_third_nodes : int, default=100_000
        Maximum number of nodes that are grown on demand in each tree; see `TrinaryBoostingRegressor`.
    unknown_category : {"no_information", "error"}, default="no_information"
        How `predict` treats categories that neither the source nor the background rows have. "no_information": the row
        takes the third branch, or goes where the source sends unknown categories. "error": raise an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of background rows.
    n_jobs : int or None, default=None
        Number of threads; see `TrinaryBoostingRegressor`.

    Attributes
    ----------
    n_kept_splits_ : int
        Number of splits that send missing values where the source does.
    n_third_splits_ : int
        Number of splits with a third branch.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The normalised total gain of the splits on each column, as the source records it; otherwise of how much they
        lower the sum of squares of what their trees predict for the background rows.
    n_iter_, n_trees_, estimators_, n_nodes_, n_grown_, n_ungrown_hits_, n_features_in_, feature_names_in_, metadata_
        See `TrinaryBoostingRegressor`.

    See Also
    --------
    tritree.graft : Make a grafted model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from tritree import graft
    >>> X, y = load_diabetes(return_X_y=True)
    >>> robust = graft(GradientBoostingRegressor(random_state=0).fit(X, y), X, random_state=0)
    >>> rows = X[:2].copy()
    >>> rows[:, 2] = np.nan
    >>> robust.predict(rows).shape
    (2,)
    """

    _allowed = allowed_values("graft", "regressor")


class GraftedClassifier(ClassifierOfSums, BaseGrafted):
    """A classifier of another library with third branches for missing values.

    `tritree.graft` makes it. `GraftedRegressor` describes it, and the parameters that are listed here without a
    description.

    Parameters
    ----------
    link : {"logit", "softmax", "sigmoid_each", "probability"}, default="logit"
        How sums over trees become class probabilities. "sigmoid_each": by the logistic function for each class, so that
        they need not add up to 1. "probability": they are probabilities already, as those of forests.
    library, missing, max_depth, third_rows, third_depth_extra, max_third_nodes, unknown_category, random_state, n_jobs
        See `GraftedRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_kept_splits_, n_third_splits_, feature_importances_, n_iter_, n_trees_, estimators_, n_nodes_, n_grown_, \
n_ungrown_hits_, n_features_in_, feature_names_in_, metadata_
        See `GraftedRegressor`.

    See Also
    --------
    tritree.graft : Make a grafted model.
    """

    _allowed = allowed_values("graft", "classifier")

    def __init__(
        self,
        *,
        library: str = "",
        link: str = "logit",
        missing: str = "auto",
        max_depth: int = 6,
        third_rows: int = 2_000,
        third_depth_extra: int = 0,
        max_third_nodes: int = 100_000,
        unknown_category: str = "no_information",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            library=library,
            link=link,
            missing=missing,
            max_depth=max_depth,
            third_rows=third_rows,
            third_depth_extra=third_depth_extra,
            max_third_nodes=max_third_nodes,
            unknown_category=unknown_category,
            random_state=random_state,
            n_jobs=n_jobs,
        )
