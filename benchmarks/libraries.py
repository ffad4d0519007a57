"""The models that are measured: tritree's and those of other libraries, behind ``fit`` and ``predict``.

Each library is used through its fastest public interface that takes the user's own table, and does the same work: the
same number of trees, learning rate, depth, samples per leaf, bins and threads, and no regularisation. Libraries are
imported when first used.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "OTHER_LIBRARIES",
    "TRITREE_MODELS",
    "Candidate",
    "Parameters",
    "TritreeBoosting",
    "TritreeForest",
    "TritreeTree",
    "load",
]


@dataclass(frozen=True)
class Parameters:
    """Hyperparameters that all candidates share. The defaults are those of a single tree."""

    n_threads: int
    max_depth: int = 6  # ignored by forests, whose trees grow to full depth
    min_samples_leaf: int = 20
    max_bins: int | None = 255
    n_trees: int = 1
    learning_rate: float = 1.0
    max_features: float = 1.0  # fraction of the columns considered at each split; forests only
    n_classes: int = 0  # 0: regression
    seed: int = 0

    @property
    def max_leaves(self) -> int:
        """Maximum number of leaves of a tree of this depth."""
        return int(2**self.max_depth)


class Candidate:
    """A model that is measured: an estimator of a module of a library.

    ``row_note`` names the method that predicts a single row, where it is not ``predict``.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    row_note: ClassVar[str] = "predict"

    def load(self) -> Any:
        """Return the imported module, or raise an ImportError."""
        return importlib.import_module(self.module)

    def make(self, library: Any, parameters: Parameters) -> Any:
        """Return the estimator, which is not fitted yet; ``library`` is the imported module."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, parameters: Parameters) -> Any:
        """Return the fitted model; converting the table for the library is part of it."""
        return self.make(self.load(), parameters).fit(X, y)

    def predict(self, model: Any, X: Any, parameters: Parameters) -> Any:  # noqa: ARG002
        """Return the predictions for the rows."""
        return model.predict(X)


class TritreeModel(Candidate):
    """A model of tritree; a strategy for missing values other than its default is part of its name."""

    module = "tritree"
    model: ClassVar[str]
    default_missing: ClassVar[str]

    def __init__(self, missing: str | None = None) -> None:
        self.missing = missing or self.default_missing
        is_default = self.missing == self.default_missing
        self.name = self.model if is_default else f"{self.model} ({missing})"  # type: ignore[misc]


class TritreeTree(TritreeModel):
    """A single tree."""

    model, default_missing = "tritree", "trinary"

    def make(self, library: Any, parameters: Parameters) -> Any:  # noqa: D102
        kind = library.TrinaryTreeClassifier if parameters.n_classes else library.TrinaryTreeRegressor
        return kind(
            missing=self.missing,
            max_depth=parameters.max_depth,
            min_samples_leaf=parameters.min_samples_leaf,
            max_bins=parameters.max_bins,
            n_jobs=parameters.n_threads,
        )


class TritreeBoosting(TritreeModel):
    """Gradient boosting without regularisation, as in the other libraries."""

    model, default_missing = "tritree boosting", "trinary_mia"

    def make(self, library: Any, parameters: Parameters) -> Any:  # noqa: D102
        return library.TrinaryBoostingRegressor(
            missing=self.missing,
            max_iter=parameters.n_trees,
            learning_rate=parameters.learning_rate,
            max_depth=parameters.max_depth,
            min_samples_leaf=parameters.min_samples_leaf,
            l2_regularization=0.0,
            max_features=1.0,
            max_bins=parameters.max_bins,
            random_state=parameters.seed,
            n_jobs=parameters.n_threads,
        )


class Forest(Candidate):
    """A forest of trees grown to full depth."""

    estimator: ClassVar[str]

    def make(self, library: Any, parameters: Parameters) -> Any:
        return getattr(library, self.estimator)(
            n_estimators=parameters.n_trees,
            max_depth=None,
            min_samples_leaf=parameters.min_samples_leaf,
            max_features=parameters.max_features,
            random_state=parameters.seed,
            n_jobs=parameters.n_threads,
            **self.further_parameters(parameters),
        )

    def further_parameters(self, parameters: Parameters) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters that only this library has."""
        return {}


class TritreeForest(TritreeModel, Forest):
    """tritree's forest."""

    model, default_missing, estimator = "tritree forest", "trinary", "TrinaryForestRegressor"

    def further_parameters(self, parameters: Parameters) -> dict[str, Any]:  # noqa: D102
        return {"missing": self.missing, "max_bins": parameters.max_bins}


class RandomForest(Forest):
    """scikit-learn's forest, which does not bin."""

    name, module, estimator = "RandomForest", "sklearn.ensemble", "RandomForestRegressor"


#: tritree's models by name.
TRITREE_MODELS: dict[str, Candidate] = {
    each.name: each for each in (TritreeTree(), TritreeBoosting(), TritreeForest())
}


class HistGradientBoosting(Candidate):
    """scikit-learn's gradient boosting; its OpenMP threads are limited for the whole run."""

    name = "HistGradientBoosting"
    module = "sklearn.ensemble"

    def make(self, library: Any, parameters: Parameters) -> Any:
        kind = "Classifier" if parameters.n_classes else "Regressor"
        return getattr(library, f"HistGradientBoosting{kind}")(
            max_iter=parameters.n_trees,
            learning_rate=parameters.learning_rate,
            max_depth=parameters.max_depth,
            max_leaf_nodes=parameters.max_leaves,
            min_samples_leaf=parameters.min_samples_leaf,
            l2_regularization=0.0,
            max_bins=parameters.max_bins,
            early_stopping=False,
            random_state=parameters.seed,
        )


class DecisionTree(Candidate):
    """scikit-learn's decision tree: exact, not binned, one thread."""

    name = "DecisionTree"
    module = "sklearn.tree"

    def make(self, library: Any, parameters: Parameters) -> Any:
        kind = library.DecisionTreeClassifier if parameters.n_classes else library.DecisionTreeRegressor
        return kind(
            criterion="entropy" if parameters.n_classes else "squared_error",  # as in tritree's trees
            max_depth=parameters.max_depth,
            min_samples_leaf=parameters.min_samples_leaf,
            random_state=parameters.seed,
        )


class LightGBM(Candidate):
    """LightGBM: ``lightgbm.Dataset`` and ``lightgbm.train``; one tree per class for classification."""

    name = "LightGBM"
    module = "lightgbm"
    row_note = "Booster.predict"

    @staticmethod
    def options(parameters: Parameters) -> dict[str, Any]:
        """Return the parameters of LightGBM."""
        options: dict[str, Any] = {
            "objective": "regression",
            "learning_rate": parameters.learning_rate,
            "max_depth": parameters.max_depth,
            "num_leaves": parameters.max_leaves,
            "min_data_in_leaf": parameters.min_samples_leaf,
            "min_sum_hessian_in_leaf": 0.0,
            "lambda_l2": 0.0,
            "max_bin": parameters.max_bins,
            "num_threads": parameters.n_threads,
            "seed": parameters.seed,
            "verbosity": -1,
            "force_col_wise": True,  # the faster layout here, and saves timing both
            # the best partition of the categories by mean target, without regularisation, as in the other libraries
            "cat_l2": 0.0,
            "cat_smooth": 0.0,
            "max_cat_to_onehot": 1,
            "max_cat_threshold": 10_000,
            "min_data_per_group": 1,
        }
        if parameters.n_classes:
            options |= {"objective": "multiclass", "num_class": parameters.n_classes}
        return options

    def fit(self, X: Any, y: Any, parameters: Parameters) -> Any:
        lightgbm, options = self.load(), self.options(parameters)
        table = lightgbm.Dataset(X, y, params=options)
        return lightgbm.train(options, table, num_boost_round=parameters.n_trees)


class XGBoost(Candidate):
    """XGBoost: ``QuantileDMatrix`` and ``xgboost.train`` with ``tree_method="hist"``."""

    name = "XGBoost"
    module = "xgboost"
    row_note = "Booster.inplace_predict"

    @staticmethod
    def options(parameters: Parameters) -> dict[str, Any]:
        """Return the parameters of XGBoost."""
        return {
            "objective": "reg:squarederror",
            "tree_method": "hist",
            "learning_rate": parameters.learning_rate,
            "max_depth": parameters.max_depth,
            "min_child_weight": parameters.min_samples_leaf,  # the hessian of squared error is one per row
            "reg_lambda": 0.0,
            "max_bin": parameters.max_bins,
            "nthread": parameters.n_threads,
            "seed": parameters.seed,
            "verbosity": 0,
        }

    def fit(self, X: Any, y: Any, parameters: Parameters) -> Any:
        xgboost, options = self.load(), self.options(parameters)
        table = xgboost.QuantileDMatrix(X, y, max_bin=parameters.max_bins, nthread=parameters.n_threads)
        return xgboost.train(options, table, num_boost_round=parameters.n_trees)

    def predict(self, model: Any, X: Any, parameters: Parameters) -> Any:  # noqa: ARG002
        return model.inplace_predict(X)


class YDF(Candidate):
    """Yggdrasil Decision Forests with discretised columns; missing values are imputed with the mean."""

    name = "YDF"
    module = "ydf"
    row_note = "Model.predict of a dict of columns, or of the frame"

    def fit(self, X: Any, y: Any, parameters: Parameters) -> Any:
        ydf = self.load()
        learner = ydf.GradientBoostedTreesLearner(
            label="target",
            task=ydf.Task.REGRESSION,
            num_trees=parameters.n_trees,
            shrinkage=parameters.learning_rate,
            max_depth=parameters.max_depth + 1,  # YDF counts the root
            min_examples=parameters.min_samples_leaf,
            validation_ratio=0.0,
            early_stopping="NONE",
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=parameters.max_bins,
            num_threads=parameters.n_threads,
            random_seed=parameters.seed,
        )
        return learner.train(self._columns(X) | {"target": y}, verbose=0)

    def predict(self, model: Any, X: Any, parameters: Parameters) -> Any:
        rows = self._columns(X) if hasattr(X, "ctypes") else X
        return model.predict(rows, num_threads=parameters.n_threads)

    @staticmethod
    def _columns(X: Any) -> dict[str, Any]:
        if hasattr(X, "columns"):
            return {name: X[name].to_numpy() for name in X.columns}
        return {f"x{i}": X[:, i] for i in range(X.shape[1])}


class CatBoost(Candidate):
    """CatBoost with depthwise growth, so that ``min_data_in_leaf`` applies, and without bootstrap."""

    name = "CatBoost"
    module = "catboost"

    def make(self, library: Any, parameters: Parameters) -> Any:
        return library.CatBoostRegressor(
            iterations=parameters.n_trees,
            learning_rate=parameters.learning_rate,
            depth=parameters.max_depth,
            grow_policy="Depthwise",
            min_data_in_leaf=parameters.min_samples_leaf,
            l2_leaf_reg=0.0,
            random_strength=0.0,
            bootstrap_type="No",
            boost_from_average=True,
            border_count=parameters.max_bins,
            thread_count=parameters.n_threads,
            random_seed=parameters.seed,
            allow_writing_files=False,
            logging_level="Silent",
        )

    def predict(self, model: Any, X: Any, parameters: Parameters) -> Any:
        return model.predict(X, thread_count=parameters.n_threads)


#: Models of the other libraries by name.
OTHER_LIBRARIES: dict[str, Candidate] = {
    kind.name: kind()
    for kind in (HistGradientBoosting, LightGBM, XGBoost, YDF, CatBoost, DecisionTree, RandomForest)
}


def load(*names: str) -> tuple[list[Candidate], list[str]]:
    """Import other libraries; return those that are installed, and a note for each that is not."""
    found, absent = [], []
    for name in names:
        library = OTHER_LIBRARIES[name]
        try:
            library.load()
        except ImportError:
            absent.append(f"{name} is not installed and was skipped.")
        else:
            found.append(library)
    return found, absent
