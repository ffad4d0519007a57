"""The methods that are compared: tritree's boosting and other libraries, as scikit-learn estimators of frames."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from benchmarks.accuracy.treatments import TREATMENTS, apply_treatment
from tritree.lab.methods import CONSTANT
from tritree.lab.other_libraries import LIBRARIES as OF_PROGRAM
from tritree.lab.other_libraries import Library, LibraryEstimator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tritree.lab.encoding import EncodedTable, TableFormat

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

#: tritree with its default strategy.
TRITREE = "tritree"
#: Strategies of tritree by name of the method.
_STRATEGIES = {TRITREE: "trinary_mia", f"{TRITREE} (majority)": "majority", f"{TRITREE} (mia)": "mia"}
#: Masked copies with the same regularisation as tritree's default.
REGULARISED_ALIKE = "masked copies, regularised alike"

#: To be increased when a change here or in the treatments changes predictions: stored results are then not reused.
REVISION = 2


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters that all methods share."""

    max_depth: int = 4
    n_trees: int = 150
    learning_rate: float = 0.1
    min_samples_leaf: int = 20


class TreatedEstimator(LibraryEstimator):
    """A library's estimator with a treatment of missing values.

    Parameters
    ----------
    estimator, table_format, max_categories
        See `LibraryEstimator`.
    treatment : str
        Name of the treatment; see ``TREATMENTS``.
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
        max_categories: int | None = None,
        seed: int = 0,
        revision: int | str = REVISION,
    ) -> None:
        super().__init__(estimator, table_format, max_categories)
        self.treatment = treatment
        self.seed = seed
        self.revision = revision

    def _training_table(self, table: EncodedTable) -> tuple[EncodedTable, NDArray[np.intp]]:
        table, rows, self.transform_ = apply_treatment(self.treatment, table, self.seed)
        return table, rows

    def _transform(self, table: EncodedTable) -> EncodedTable:
        return self.transform_(table)


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
class Candidate:
    """A library with the hyperparameters that all share, and those of the same regularisation as tritree's default."""

    library: Library
    hyperparameters: Callable[[bool, Hyperparameters], dict[str, Any]]
    regularisation: Mapping[str, Any] = field(default_factory=dict)

    def make(self, task: str, parameters: Hyperparameters) -> Any:
        """Return the estimator of the library, which is not fitted yet."""
        return self.library.make_model(task, **self.hyperparameters(task == "classification", parameters))

    def treated(self, estimator: Any, treatment: str) -> TreatedEstimator:
        """Return the estimator with a treatment of missing values."""
        return TreatedEstimator(estimator, treatment, self.library.table_format, self.library.max_categories)


# The same hyperparameters in each library; all others are the library's defaults.


def _lightgbm(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "n_estimators": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "num_leaves": 2**parameters.max_depth,
        "min_child_samples": parameters.min_samples_leaf,
    }


def _xgboost(is_class: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "n_estimators": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        # sums second derivatives, which are 1 per row in regression only
        "min_child_weight": 1 if is_class else parameters.min_samples_leaf,
        "tree_method": "hist",
    }


def _catboost(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    # its trees are symmetric and have no minimum number of rows per leaf
    return {
        "iterations": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "depth": parameters.max_depth,
    }


def _hist(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "max_iter": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "max_leaf_nodes": 2**parameters.max_depth,
        "min_samples_leaf": parameters.min_samples_leaf,
        "early_stopping": False,
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
    }


_SEED_AND_THREAD = {"random_state": 0, "n_jobs": 1}
_TRITREE_BOOSTING = Candidate(
    Library("tritree", "TrinaryBoosting", "tritree", "frame", _SEED_AND_THREAD), _tritree
)
_YDF = Library("benchmarks.accuracy.ydf_estimator", "YDF", "ydf", "columns")
_FOREST = Library("sklearn.ensemble", "RandomForest", "scikit-learn", "numbers", _SEED_AND_THREAD)
#: The other libraries by name.
LIBRARIES = {
    "LightGBM": Candidate(
        OF_PROGRAM["lightgbm"], _lightgbm, {"reg_lambda": 10.0, "feature_fraction_bynode": 0.3}
    ),
    "XGBoost": Candidate(OF_PROGRAM["xgboost"], _xgboost, {"reg_lambda": 10.0, "colsample_bynode": 0.3}),
    "CatBoost": Candidate(OF_PROGRAM["catboost"], _catboost, {"l2_leaf_reg": 10.0, "rsm": 0.3}),
    "HistGB": Candidate(OF_PROGRAM["hist"], _hist, {"l2_regularization": 10.0, "max_features": 0.3}),
    "YDF": Candidate(_YDF, _ydf),
    "Forest": Candidate(_FOREST, _forest),
    "Deep forest": Candidate(_FOREST, _deep_forest),
}


def installed(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the libraries that are installed, and a note for each that is not."""
    found, absent = [], []
    for name in names:
        try:
            LIBRARIES[name].library.load()
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
    constant = DummyClassifier() if task == "classification" else DummyRegressor()
    found: dict[str, Any] = {CONSTANT: constant}
    for name, missing in _STRATEGIES.items():
        estimator = _TRITREE_BOOSTING.make(task, parameters).set_params(missing=missing)
        found[name] = TritreeEstimator(estimator, digest_of_tritree())
    libraries = list(libraries)
    for treatment in TREATMENTS:
        for library in libraries if treatment in treatments else ():
            known = LIBRARIES[library]
            found[method_name(library, treatment)] = known.treated(known.make(task, parameters), treatment)
    # separates the effect of the regularisation from that of the treatment of missing values
    for library in libraries if "masked copies" in treatments else ():
        known = LIBRARIES[library]
        if known.regularisation:
            estimator = known.make(task, parameters).set_params(**known.regularisation)
            found[method_name(library, REGULARISED_ALIKE)] = known.treated(estimator, "masked copies")
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
