"""The other libraries, each behind the interface of a contender.

Each is used the fastest public way that takes the user's own table, and set to do the same work: as many trees, the
same learning rate, no regularisation, the same depth, rows per leaf, bins and threads. Libraries are imported when
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from benchmarks.contender import Contender

if TYPE_CHECKING:
    from benchmarks.contender import Settings

__all__ = ["PEERS", "load"]


class HistGradientBoosting(Contender):
    """scikit-learn's gradient boosting; its threads are OpenMP's, limited for the whole run."""

    name = "HistGradientBoosting"
    modules = ("sklearn.ensemble",)
    note = "scikit-learn; one tree per class for classes"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if settings.n_classes else HistGradientBoostingRegressor
        return kind(
            max_iter=settings.trees,
            learning_rate=settings.rate,
            max_depth=settings.depth,
            max_leaf_nodes=settings.leaves,
            min_samples_leaf=settings.leaf,
            l2_regularization=0.0,
            max_bins=settings.bins,
            early_stopping=False,
            random_state=settings.seed,
        ).fit(X, y)


class DecisionTree(Contender):
    """scikit-learn's plain decision tree: exact, one thread."""

    name = "DecisionTree"
    modules = ("sklearn.tree",)
    note = "scikit-learn; does not bin, and has one thread only"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        # the loss is the one of tritree's classifier
        kind, loss = (
            (DecisionTreeClassifier, "entropy")
            if settings.n_classes
            else (DecisionTreeRegressor, "squared_error")
        )
        return kind(
            criterion=loss,
            max_depth=settings.depth,
            min_samples_leaf=settings.leaf,
            random_state=settings.seed,
        ).fit(X, y)


class RandomForest(Contender):
    """scikit-learn's forest, of trees of full depth."""

    name = "RandomForest"
    modules = ("sklearn.ensemble",)
    note = "scikit-learn; does not bin"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(
            n_estimators=settings.trees,
            max_depth=None,
            min_samples_leaf=settings.leaf,
            max_features=settings.features,
            random_state=settings.seed,
            n_jobs=settings.threads,
        ).fit(X, y)


class LightGBM(Contender):
    """LightGBM through its own training interface, the dataset made inside."""

    name = "LightGBM"
    modules = ("lightgbm",)
    note = "lightgbm.Dataset and lightgbm.train; one tree per class for classes"
    row_note = "Booster.predict"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        import lightgbm

        parameters: dict[str, Any] = {
            "objective": "regression",
            "learning_rate": settings.rate,
            "max_depth": settings.depth,
            "num_leaves": settings.leaves,
            "min_data_in_leaf": settings.leaf,
            "min_sum_hessian_in_leaf": 0.0,
            "lambda_l2": 0.0,
            "max_bin": settings.bins,
            "num_threads": settings.threads,
            "seed": settings.seed,
            "verbosity": -1,
            "force_col_wise": True,  # the faster of its two ways here, and spares it trying out both
            # categories: the best two sets for the response, as the others do it
            "cat_l2": 0.0,
            "cat_smooth": 0.0,
            "max_cat_to_onehot": 1,
            "max_cat_threshold": 10_000,
            "min_data_per_group": 1,
        }
        if settings.n_classes:
            parameters |= {"objective": "multiclass", "num_class": settings.n_classes}
        table = lightgbm.Dataset(X, y, params=parameters)
        return lightgbm.train(parameters, table, num_boost_round=settings.trees)


class XGBoost(Contender):
    """XGBoost with histograms, through its own training interface, the quantised table made inside."""

    name = "XGBoost"
    modules = ("xgboost",)
    note = "QuantileDMatrix and xgboost.train, hist; predicts with Booster.inplace_predict"
    row_note = "Booster.inplace_predict"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        import xgboost

        parameters = {
            "objective": "reg:squarederror",
            "tree_method": "hist",
            "learning_rate": settings.rate,
            "max_depth": settings.depth,
            "min_child_weight": settings.leaf,  # the hessian of squared error is one per row
            "reg_lambda": 0.0,
            "max_bin": settings.bins,
            "nthread": settings.threads,
            "seed": settings.seed,
            "verbosity": 0,
        }
        table = xgboost.QuantileDMatrix(X, y, max_bin=settings.bins, nthread=settings.threads)
        return xgboost.train(parameters, table, num_boost_round=settings.trees)

    def predict(self, model: Any, X: Any, settings: Settings) -> Any:  # noqa: ARG002
        return model.inplace_predict(X)


class YDF(Contender):
    """Yggdrasil Decision Forests; a NumPy table becomes a dict of columns inside."""

    name = "YDF"
    modules = ("ydf",)
    note = "GradientBoostedTreesLearner, columns discretised; imputes holes with the mean"
    row_note = "Model.predict of a dict of columns, or of the frame"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        import ydf

        learner = ydf.GradientBoostedTreesLearner(
            label="response",
            task=ydf.Task.REGRESSION,
            num_trees=settings.trees,
            shrinkage=settings.rate,
            max_depth=settings.depth + 1,  # YDF counts the root
            min_examples=settings.leaf,
            validation_ratio=0.0,
            early_stopping="NONE",
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=settings.bins,
            num_threads=settings.threads,
            random_seed=settings.seed,
        )
        return learner.train(self._columns(X) | {"response": y}, verbose=0)

    def predict(self, model: Any, X: Any, settings: Settings) -> Any:
        rows = self._columns(X) if hasattr(X, "ctypes") else X
        return model.predict(rows, num_threads=settings.threads)

    @staticmethod
    def _columns(X: Any) -> dict[str, Any]:
        if hasattr(X, "columns"):
            return {name: X[name].to_numpy() for name in X.columns}
        return {f"x{i}": X[:, i] for i in range(X.shape[1])}


class CatBoost(Contender):
    """CatBoost, its trees grown level by level but not symmetric, so that a leaf has rows enough."""

    name = "CatBoost"
    modules = ("catboost",)
    note = "grow_policy Depthwise, no bootstrap"

    def fit(self, X: Any, y: Any, settings: Settings) -> Any:
        import catboost

        return catboost.CatBoostRegressor(
            iterations=settings.trees,
            learning_rate=settings.rate,
            depth=settings.depth,
            grow_policy="Depthwise",
            min_data_in_leaf=settings.leaf,
            l2_leaf_reg=0.0,
            random_strength=0.0,
            bootstrap_type="No",
            boost_from_average=True,
            border_count=settings.bins,
            thread_count=settings.threads,
            random_seed=settings.seed,
            allow_writing_files=False,
            logging_level="Silent",
        ).fit(X, y)

    def predict(self, model: Any, X: Any, settings: Settings) -> Any:
        return model.predict(X, thread_count=settings.threads)


#: Every peer by its name.
PEERS: dict[str, Contender] = {
    kind.name: kind()
    for kind in (HistGradientBoosting, LightGBM, XGBoost, YDF, CatBoost, DecisionTree, RandomForest)
}


def load(*names: str) -> tuple[list[Contender], list[str]]:
    """Return the peers of these names that can be imported, imported, and a line for each that cannot."""
    found, absent = [], []
    for name in names:
        peer = PEERS[name]
        try:
            for module in peer.modules:
                importlib.import_module(module)
        except ImportError:
            absent.append(f"{name} is not installed, and left out.")
        else:
            found.append(peer)
    return found, absent
