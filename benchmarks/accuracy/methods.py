"""The methods that are compared: tritree's boosting and other libraries, as scikit-learn estimators of frames."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from benchmarks.accuracy import ydf_estimator
from benchmarks.accuracy.encoding import Encoder, in_format
from benchmarks.accuracy.treatments import TREATMENTS, apply_treatment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from benchmarks.accuracy.encoding import TableFormat

__all__ = [
    "CONSTANT",
    "LIBRARIES",
    "REGULARISED_ALIKE",
    "TRITREE",
    "Hyperparameters",
    "TreatedEstimator",
    "installed",
    "method_name",
    "methods",
]

#: tritree with its default strategy, and the constant prediction of the mean or the class frequencies.
TRITREE, CONSTANT = "tritree", "constant"
#: Strategies of tritree by name of the method.
_STRATEGIES = {TRITREE: "trinary_mia", f"{TRITREE} (majority)": "majority", f"{TRITREE} (mia)": "mia"}
#: Masked copies with the same regularisation as tritree's default.
REGULARISED_ALIKE = "masked copies, regularised alike"

#: To be increased when a change here or in the treatments changes predictions: stored results are then not reused.
REVISION = 1


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters that all methods share."""

    max_depth: int = 4
    n_trees: int = 150
    learning_rate: float = 0.1
    min_samples_leaf: int = 20


class TreatedEstimator(BaseEstimator):  # type: ignore[misc]
    """A library's estimator with a treatment of missing values.

    Parameters
    ----------
    estimator : estimator
        Estimator of the library.
    treatment : str
        Name of the treatment; see ``TREATMENTS``.
    table_format : {"frame", "text", "columns", "numbers"}
        Format of the tables that the estimator takes.
    seed : int
        Seed of the treatment.
    revision : int or str
        Distinguishes stored results of different versions of this code.
    """

    def __init__(
        self,
        estimator: Any,
        treatment: str = "",
        table_format: TableFormat = "frame",
        seed: int = 0,
        revision: int | str = REVISION,
    ) -> None:
        self.estimator = estimator
        self.treatment = treatment
        self.table_format = table_format
        self.seed = seed
        self.revision = revision

    def fit(self, X: Any, y: Any) -> Self:
        """Return the estimator, fitted to a frame; classes may have any type."""
        y = np.asarray(y)
        self.encoder_ = Encoder(X)
        table, rows, self.transform_ = apply_treatment(self.treatment, self.encoder_.transform(X), self.seed)
        # some libraries refuse columns without observed values
        self.columns_ = np.flatnonzero(~np.isnan(table.values).all(axis=0))
        table = table.select(self.columns_)
        if hasattr(self.estimator, "predict_proba"):
            self.classes_, y = np.unique(y, return_inverse=True)
        options = {}
        if self.table_format == "text":
            options["cat_features"] = [f"c{i}" for i, n in enumerate(table.categories) if n]
        self.model_ = clone(self.estimator).fit(in_format(table, self.table_format), y[rows], **options)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted values or classes."""
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return np.asarray(self.model_.predict(self._table(X)), dtype=np.float64).ravel()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of ``classes_``."""
        probabilities = np.zeros((len(X), len(self.classes_)))
        probabilities[:, np.asarray(self.model_.classes_, dtype=np.intp)] = self.model_.predict_proba(
            self._table(X)
        )
        return probabilities

    def _table(self, X: Any) -> Any:
        return in_format(self.transform_(self.encoder_.transform(X)).select(self.columns_), self.table_format)


class TritreeEstimator(BaseEstimator):  # type: ignore[misc]
    """tritree's boosting; ``revision`` distinguishes stored results of different versions of its code."""

    def __init__(self, estimator: Any, revision: str = "") -> None:
        self.estimator = estimator
        self.revision = revision

    def fit(self, X: Any, y: Any) -> Self:
        """Return the fitted estimator."""
        self.model_ = clone(self.estimator).fit(X, y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted values or classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of ``classes_``."""
        return self.model_.predict_proba(X)


@dataclass(frozen=True)
class Library:
    """A library: its module, the name of its estimators, the format of its tables, and its parameters."""

    module: str
    estimator: str  # without Classifier or Regressor
    table_format: TableFormat
    parameters: Callable[[bool, Hyperparameters], dict[str, Any]]
    #: Parameters of the same regularisation as tritree's default; empty if there are none.
    regularisation: Mapping[str, Any] = field(default_factory=dict)

    def make(self, is_class: bool, parameters: Hyperparameters) -> Any:
        """Return the estimator, which is not fitted yet."""
        module = ydf_estimator if self.module == "ydf" else importlib.import_module(self.module)
        kind = getattr(module, f"{self.estimator}{'Classifier' if is_class else 'Regressor'}")
        return kind(**self.parameters(is_class, parameters))


# The same hyperparameters in each library; all others are the library's defaults.


def _lightgbm(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "n_estimators": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "num_leaves": 2**parameters.max_depth,
        "min_child_samples": parameters.min_samples_leaf,
        "random_state": 0,
        "n_jobs": 1,
        "verbosity": -1,
    }


def _xgboost(is_class: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "n_estimators": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        # sums second derivatives, which are 1 per row in regression only
        "min_child_weight": 1 if is_class else parameters.min_samples_leaf,
        "tree_method": "hist",
        "enable_categorical": True,
        "random_state": 0,
        "n_jobs": 1,
    }


def _catboost(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    # its trees are symmetric and have no minimum number of rows per leaf
    return {
        "iterations": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "depth": parameters.max_depth,
        "random_seed": 0,
        "thread_count": 1,
        "allow_writing_files": False,
        "logging_level": "Silent",
    }


def _hist(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "max_iter": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "max_leaf_nodes": 2**parameters.max_depth,
        "min_samples_leaf": parameters.min_samples_leaf,
        "early_stopping": False,
        "categorical_features": "from_dtype",
        "random_state": 0,
    }


def _ydf(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "num_trees": parameters.n_trees,
        "shrinkage": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "min_examples": parameters.min_samples_leaf,
        "version": importlib.import_module("ydf").__version__,
    }


def _forest(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "n_estimators": parameters.n_trees,
        "max_depth": parameters.max_depth,
        "min_samples_leaf": parameters.min_samples_leaf,
        "random_state": 0,
        "n_jobs": 1,
    }


def _deep_forest(is_class: bool, parameters: Hyperparameters) -> dict[str, Any]:
    # forests need deep trees: one of boosting's depth alone would not be a fair comparison
    return _forest(is_class, parameters) | {"max_depth": None}


def _tritree(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "max_iter": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "min_samples_leaf": parameters.min_samples_leaf,
        "random_state": 0,
        "n_jobs": 1,
    }


_TRITREE_BOOSTING = Library("tritree", "TrinaryBoosting", "frame", _tritree)
_HIST_GB, _FOREST = ("sklearn.ensemble", "HistGradientBoosting"), ("sklearn.ensemble", "RandomForest")
#: The other libraries by name.
LIBRARIES = {
    "LightGBM": Library(
        "lightgbm", "LGBM", "frame", _lightgbm, {"reg_lambda": 10.0, "feature_fraction_bynode": 0.3}
    ),
    "XGBoost": Library("xgboost", "XGB", "frame", _xgboost, {"reg_lambda": 10.0, "colsample_bynode": 0.3}),
    "CatBoost": Library("catboost", "CatBoost", "text", _catboost, {"l2_leaf_reg": 10.0, "rsm": 0.3}),
    "HistGB": Library(*_HIST_GB, "frame", _hist, {"l2_regularization": 10.0, "max_features": 0.3}),
    "YDF": Library("ydf", "YDF", "columns", _ydf),
    "Forest": Library(*_FOREST, "numbers", _forest),
    "Deep forest": Library(*_FOREST, "numbers", _deep_forest),
}


def installed(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the libraries that are installed, and a note for each that is not."""
    found, absent = [], []
    for name in names:
        try:
            importlib.import_module(LIBRARIES[name].module)
        except ImportError:
            absent.append(f"{name} is not installed and was skipped.")
        else:
            found.append(name)
    return found, absent


def method_name(library: str, treatment: str) -> str:
    """Return the name of a library with a treatment.

    Examples
    --------
    >>> method_name("LightGBM", ""), method_name("LightGBM", "masked copies")
    ('LightGBM', 'LightGBM + masked copies')
    """
    return f"{library} + {treatment}" if treatment else library


def methods(
    task: str, libraries: Iterable[str], treatments: Iterable[str], parameters: Hyperparameters
) -> dict[str, Any]:
    """Return the methods by name. Libraries with the same treatment are adjacent, so that they share imputed tables."""
    is_class = task == "classification"
    found: dict[str, Any] = {CONSTANT: DummyClassifier() if is_class else DummyRegressor()}
    for name, missing in _STRATEGIES.items():
        estimator = _TRITREE_BOOSTING.make(is_class, parameters).set_params(missing=missing)
        found[name] = TritreeEstimator(estimator, digest_of_tritree())
    libraries = list(libraries)
    for treatment in TREATMENTS:
        for library in libraries if treatment in treatments else ():
            known = LIBRARIES[library]
            found[method_name(library, treatment)] = TreatedEstimator(
                known.make(is_class, parameters), treatment, known.table_format
            )
    # separates the effect of the regularisation from that of the treatment of missing values
    for library in libraries if "masked copies" in treatments else ():
        known = LIBRARIES[library]
        if known.regularisation:
            estimator = known.make(is_class, parameters).set_params(**known.regularisation)
            found[method_name(library, REGULARISED_ALIKE)] = TreatedEstimator(
                estimator, "masked copies", known.table_format
            )
    return found


def digest_of_tritree() -> str:
    """Return a digest of tritree's code, which changes between releases."""
    import tritree
    from tritree import _core

    package = Path(tritree.__file__).parent
    subpackages = ("cli", "inspection", "lab")  # do not take part in fits and predictions
    sources = (
        path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in subpackages
    )
    files = [Path(_core.__file__), *sorted(sources)]
    digest = hashlib.blake2b(digest_size=8)
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
