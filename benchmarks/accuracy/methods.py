"""The methods that are compared: tritree and other libraries, as scikit-learn estimators of frames."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass, field
from functools import cache
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
    "BOOSTING",
    "CONSTANT",
    "DEFAULTS",
    "FORESTS",
    "GRAFT",
    "GRAFTED_FROM",
    "GRAFTS",
    "LIBRARIES",
    "REGULARISED_ALIKE",
    "TREES",
    "TRITREE",
    "TRITREE_DEFAULTS",
    "TRITREE_FOREST",
    "TRITREE_TREE",
    "Hyperparameters",
    "TreatedEstimator",
    "family_of",
    "installed",
    "is_rival",
    "method_name",
    "methods",
]

_DEFAULTS = " (defaults)"  # ends the names of methods with all defaults of their library
#: tritree's boosting with the settings that all libraries share, with all its defaults, its forest, and a single tree.
TRITREE = "tritree"
TRITREE_DEFAULTS = TRITREE + _DEFAULTS
TRITREE_FOREST = f"{TRITREE} forest"
TRITREE_TREE = f"{TRITREE} tree"
#: Masked copies with the same regularisation as tritree's default.
REGULARISED_ALIKE = "masked copies, regularised alike"
#: The library's own model, with third branches from the training rows.
GRAFT = "graft"
#: The parameter `missing` by the names of treatments that graft; the first is the default.
GRAFTS = {GRAFT: "auto", "graft third": "third"}

#: The families of methods: boosting with equal settings, boosting with each library's defaults, forests, single trees.
BOOSTING, DEFAULTS, FORESTS, TREES = "boosting", "defaults", "forests", "trees"

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


class GraftedEstimator(LibraryEstimator):
    """A library's estimator, fitted as it is and then grafted; the background rows are those of training.

    ``missing`` is the parameter of `tritree.graft`, and ``revision`` distinguishes stored results of different versions
    of tritree's code; the other parameters are those of `LibraryEstimator`.
    """

    def __init__(
        self,
        estimator: Any,
        table_format: TableFormat = "frame",
        max_categories: int | None = None,
        missing: str = "auto",
        revision: str = "",
    ) -> None:
        super().__init__(estimator, table_format, max_categories)
        self.missing = missing
        self.revision = revision

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the grafted estimator."""
        from tritree import graft

        super().fit(X, y, sample_weight)
        if hasattr(self, "columns_"):  # not with a single class
            table = self.encoder_.transform(X).select(self.columns_)
            self.model_ = graft(
                self.model_, self._in_format(table), missing=self.missing, random_state=0, n_jobs=1
            )
        return self

    # by which the cache of fitted models estimates its memory

    @property
    def n_nodes_(self) -> int:
        """Number of nodes, which grows while a model predicts."""
        return int(self.model_.n_nodes_)

    @property
    def background_rows(self) -> int:
        """Maximum number of background rows."""
        return 20_000


class TritreeEstimator(BaseEstimator):  # type: ignore[misc]
    """A model of tritree; ``revision`` distinguishes stored results of different versions of its code."""

    def __init__(self, estimator: Any, revision: str = "") -> None:
        self.estimator = estimator
        self.revision = revision

    def fit(self, X: Any, y: Any) -> Self:
        """Return the fitted estimator."""
        self.model_ = clone(self.estimator).fit(X, y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    # by which the cache of fitted models estimates its memory

    @property
    def n_nodes_(self) -> int:
        """Number of nodes, which grows while a model predicts."""
        return int(self.model_.n_nodes_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self.model_.n_features_in_)

    @property
    def background_rows(self) -> int:
        """Parameter of boosting, which other models do not have."""
        return int(self.estimator.background_rows)

    def predict(self, X: Any) -> Any:
        """Return the predicted values or classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of ``classes_``."""
        return self.model_.predict_proba(X)


@dataclass(frozen=True)
class Candidate:
    """A library with the hyperparameters that all share, and those of the same regularisation as tritree's default.

    ``treatments`` are the treatments of missing values that it is run with; ``with_defaults`` says whether it is also
    run with all its defaults. ``graft_format`` is the format of the tables that a grafted model takes, None if the
    library cannot be grafted.
    """

    library: Library
    hyperparameters: Callable[[bool, Hyperparameters], dict[str, Any]]
    regularisation: Mapping[str, Any] = field(default_factory=dict)
    treatments: tuple[str, ...] = tuple(TREATMENTS)
    with_defaults: bool = True
    graft_format: TableFormat | None = None

    def make(self, task: str, parameters: Hyperparameters) -> Any:
        """Return the estimator of the library, which is not fitted yet."""
        return self.library.make_model(task, **self.hyperparameters(task == "classification", parameters))

    def treated(self, estimator: Any, treatment: str = "") -> TreatedEstimator:
        """Return the estimator with a treatment of missing values."""
        return TreatedEstimator(estimator, treatment, self.library.table_format, self.library.max_categories)

    def methods(self, task: str, parameters: Hyperparameters) -> dict[str, Any]:
        """Return the library with each of its treatments, by treatment; "" is the library's own."""
        found = {name: self.treated(self.make(task, parameters), name) for name in self.treatments}
        if self.regularisation:
            # separates the effect of the regularisation from that of the treatment of missing values
            estimator = self.make(task, parameters).set_params(**self.regularisation)
            found[REGULARISED_ALIKE] = self.treated(estimator, "masked copies")
        if self.graft_format is not None:
            model, most = self.make(task, parameters), self.library.max_categories
            for name, missing in GRAFTS.items():
                found[name] = GraftedEstimator(model, self.graft_format, most, missing, digest_of_tritree())
        return found


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
    return {"n_estimators": parameters.n_trees}  # forests need deep trees, as their defaults are


def _tree(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {"max_depth": parameters.max_depth}


def _tritree(_: bool, parameters: Hyperparameters) -> dict[str, Any]:
    return {
        "max_iter": parameters.n_trees,
        "learning_rate": parameters.learning_rate,
        "max_depth": parameters.max_depth,
        "min_samples_leaf": parameters.min_samples_leaf,
    }


_SEED_AND_THREAD = {"random_state": 0, "n_jobs": 1}
#: tritree's models by name of the method, each with the strategies that it is run with beside its default.
_TRITREE_MODELS = {
    TRITREE: (
        Candidate(Library("tritree", "TrinaryBoosting", "tritree", parameters=_SEED_AND_THREAD), _tritree),
        ("majority", "mia"),
    ),
    TRITREE_FOREST: (
        Candidate(Library("tritree", "TrinaryForest", "tritree", parameters=_SEED_AND_THREAD), _forest),
        ("trinary",),
    ),
    TRITREE_TREE: (Candidate(Library("tritree", "TrinaryTree", "tritree"), _tree), ("trinary",)),
}
_YDF = Library("benchmarks.accuracy.ydf_estimator", "YDF", "ydf", "columns")
_FOREST = Library("sklearn.ensemble", "RandomForest", "scikit-learn", "numbers", _SEED_AND_THREAD)
#: The other libraries by name.
LIBRARIES = {
    "LightGBM": Candidate(
        OF_PROGRAM["lightgbm"],
        _lightgbm,
        {"reg_lambda": 10.0, "feature_fraction_bynode": 0.3},
        graft_format="frame",
    ),
    "XGBoost": Candidate(
        OF_PROGRAM["xgboost"],
        _xgboost,
        {"reg_lambda": 10.0, "colsample_bynode": 0.3},
        graft_format="frame",
    ),
    # splits of its categorical features cannot be grafted
    "CatBoost": Candidate(
        OF_PROGRAM["catboost"], _catboost, {"l2_leaf_reg": 10.0, "rsm": 0.3}, graft_format="numbers"
    ),
    "HistGB": Candidate(
        OF_PROGRAM["hist"], _hist, {"l2_regularization": 10.0, "max_features": 0.3}, graft_format="frame"
    ),
    "YDF": Candidate(_YDF, _ydf, treatments=("", "masked copies"), with_defaults=False),
    "Forest": Candidate(_FOREST, _forest, with_defaults=False, graft_format="numbers"),
}
#: The libraries that can be grafted by the names of the grafted methods.
GRAFTED_FROM = {
    f"{name} + {graft}": name for graft in GRAFTS for name, known in LIBRARIES.items() if known.graft_format
}


def family_of(method: str) -> str:
    """Return the family of a method: methods of one family are compared with each other.

    Examples
    --------
    >>> family_of("LightGBM + mean"), family_of("LightGBM (defaults)"), family_of("Forest + mean")
    ('boosting', 'defaults', 'forests')
    """
    if method.endswith(_DEFAULTS):
        return DEFAULTS
    if method.startswith(("Forest", TRITREE_FOREST)):
        return FORESTS
    return TREES if method.startswith(TRITREE_TREE) else BOOSTING


def is_rival(method: str) -> bool:
    """Return whether a method is that of another library, without help of tritree."""
    return not method.startswith((TRITREE, CONSTANT)) and method not in GRAFTED_FROM


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
    found: dict[str, Any] = {CONSTANT: constant} | _tritree_methods(task, parameters)
    candidates = {name: LIBRARIES[name] for name in libraries}
    treated = {name: known.methods(task, parameters) for name, known in candidates.items()}
    chosen = set(treatments)
    if "masked copies" in chosen:
        chosen.add(REGULARISED_ALIKE)
    for treatment in (*TREATMENTS, REGULARISED_ALIKE, *GRAFTS):
        for name, by_treatment in treated.items():
            if treatment in chosen and treatment in by_treatment:
                found[method_name(name, treatment)] = by_treatment[treatment]
    for name, known in candidates.items():
        if known.with_defaults and "" in chosen:
            found[name + _DEFAULTS] = known.treated(known.library.make_model(task))
    return found


def _tritree_methods(task: str, parameters: Hyperparameters) -> dict[str, TritreeEstimator]:
    """Return tritree's models with their default strategy and with others, and boosting with all its defaults."""
    found = {}
    for name, (known, strategies) in _TRITREE_MODELS.items():
        found[name] = model = known.make(task, parameters)
        for strategy in strategies:
            if strategy != model.missing:
                found[f"{name} ({strategy})"] = clone(model).set_params(missing=strategy)
    found[TRITREE_DEFAULTS] = _TRITREE_MODELS[TRITREE][0].library.make_model(task)
    return {name: TritreeEstimator(model, digest_of_tritree()) for name, model in found.items()}


@cache
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
