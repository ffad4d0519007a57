"""tritree's boosting and its rivals, each an estimator of scikit-learn's kind that takes any frame."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from benchmarks.accuracy.coding import Coder, as_kind
from benchmarks.accuracy.ways import WAYS, prepare
from benchmarks.accuracy.ydf_model import YDFClassifier, YDFRegressor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from benchmarks.accuracy.coding import Kind

__all__ = ["CONSTANT", "HELD_BACK", "LIBRARIES", "OURS", "Rival", "Size", "installed", "methods", "named"]

#: tritree as it is meant to be used, and what always says the mean, or the shares of the classes.
OURS, CONSTANT = "tritree", "constant"
_OTHER_STRATEGIES = ("majority", "mia")
#: What a library with copies is called that is held back as much as tritree.
HELD_BACK = "copies, held back"

#: Raised when something here or in the ways changes what a rival predicts: results of before are then not taken up.
EDITION = 1


@dataclass(frozen=True)
class Size:
    """What all have alike."""

    depth: int = 4
    trees: int = 150
    learning_rate: float = 0.1
    leaf: int = 20


class Rival(BaseEstimator):  # type: ignore[misc]
    """A library's estimator, fitted to a frame by one of the ways to deal with missing values.

    Parameters
    ----------
    estimator : estimator
        Of the library, set as it is to be.
    way : str
        What is done about missing values around it; see ``WAYS``.
    kind : {"frame", "text", "columns", "numbers"}
        The kind of table it takes.
    seed : int
        Of what is random in a way.
    edition : int or str
        What results depend on beside all this.
    """

    def __init__(
        self,
        estimator: Any,
        way: str = "",
        kind: Kind = "frame",
        seed: int = 0,
        edition: int | str = EDITION,
    ) -> None:
        self.estimator = estimator
        self.way = way
        self.kind = kind
        self.seed = seed
        self.edition = edition

    def fit(self, X: Any, y: Any) -> Self:
        """Return the rival fitted to a frame; classes may be anything."""
        y = np.asarray(y)
        self.coder_ = Coder(X)
        codes, rows, self.prepare_ = prepare(self.way, self.coder_(X), self.seed)
        # a column without any value tells nothing, and some libraries refuse it
        self.chosen_ = np.flatnonzero(~np.isnan(codes.values).all(axis=0))
        codes = codes.of_columns(self.chosen_)
        if hasattr(self.estimator, "predict_proba"):
            self.classes_, y = np.unique(y, return_inverse=True)
        options = {}
        if self.kind == "text":
            options["cat_features"] = [f"c{i}" for i, n in enumerate(codes.categories) if n]
        self.model_ = clone(self.estimator).fit(as_kind(codes, self.kind), y[rows], **options)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted numbers, or classes."""
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return np.asarray(self.model_.predict(self._table(X)), dtype=np.float64).ravel()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of ``classes_``."""
        shares = np.zeros((len(X), len(self.classes_)))
        shares[:, np.asarray(self.model_.classes_, dtype=np.intp)] = self.model_.predict_proba(self._table(X))
        return shares

    def _table(self, X: Any) -> Any:
        return as_kind(self.prepare_(self.coder_(X)).of_columns(self.chosen_), self.kind)


class Ours(BaseEstimator):  # type: ignore[misc]
    """tritree's boosting, which takes frames itself; ``edition`` tells one state of its code from another."""

    def __init__(self, estimator: Any, edition: str = "") -> None:
        self.estimator = estimator
        self.edition = edition

    def fit(self, X: Any, y: Any) -> Self:
        """Return the estimator fitted."""
        self.model_ = clone(self.estimator).fit(X, y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted numbers, or classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of ``classes_``."""
        return self.model_.predict_proba(X)


# How each library is told to do the same. All else is as the library has it.


def _lightgbm(is_class: bool, size: Size) -> Any:
    import lightgbm

    return (lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor)(
        n_estimators=size.trees,
        learning_rate=size.learning_rate,
        max_depth=size.depth,
        num_leaves=2**size.depth,
        min_child_samples=size.leaf,
        random_state=0,
        n_jobs=1,
        verbosity=-1,
    )


def _xgboost(is_class: bool, size: Size) -> Any:
    import xgboost

    return (xgboost.XGBClassifier if is_class else xgboost.XGBRegressor)(
        n_estimators=size.trees,
        learning_rate=size.learning_rate,
        max_depth=size.depth,
        # it counts second derivatives, not rows: these are 1 a row for numbers; for classes there is no such count
        min_child_weight=1 if is_class else size.leaf,
        tree_method="hist",
        enable_categorical=True,
        random_state=0,
        n_jobs=1,
    )


def _catboost(is_class: bool, size: Size) -> Any:
    import catboost

    # its trees are symmetric, and know no least number of rows in a leaf
    return (catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor)(
        iterations=size.trees,
        learning_rate=size.learning_rate,
        depth=size.depth,
        random_seed=0,
        thread_count=1,
        allow_writing_files=False,
        logging_level="Silent",
    )


def _hist(is_class: bool, size: Size) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return (HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor)(
        max_iter=size.trees,
        learning_rate=size.learning_rate,
        max_depth=size.depth,
        max_leaf_nodes=2**size.depth,
        min_samples_leaf=size.leaf,
        early_stopping=False,
        categorical_features="from_dtype",
        random_state=0,
    )


def _ydf(is_class: bool, size: Size) -> Any:
    import ydf

    return (YDFClassifier if is_class else YDFRegressor)(
        num_trees=size.trees,
        shrinkage=size.learning_rate,
        max_depth=size.depth,
        min_examples=size.leaf,
        version=ydf.__version__,
    )


def _forest(is_class: bool, size: Size) -> Any:
    return _any_forest(is_class, size, size.depth)


def _deep_forest(is_class: bool, size: Size) -> Any:
    # a forest is meant to have deep trees: one of boosting's depth alone would be no fair rival
    return _any_forest(is_class, size, None)


def _any_forest(is_class: bool, size: Size, depth: int | None) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return (RandomForestClassifier if is_class else RandomForestRegressor)(
        n_estimators=size.trees, max_depth=depth, min_samples_leaf=size.leaf, random_state=0, n_jobs=1
    )


@dataclass(frozen=True)
class Library:
    """A library: what must be importable, the table it takes, and what makes its estimator."""

    module: str
    kind: Kind
    make: Callable[[bool, Size], Any]
    #: What holds it back as much as tritree is by default; empty if it has no such parameters.
    held_back: Mapping[str, Any] = field(default_factory=dict)


#: The rivals by their names.
LIBRARIES = {
    "LightGBM": Library("lightgbm", "frame", _lightgbm, {"reg_lambda": 10.0, "feature_fraction_bynode": 0.3}),
    "XGBoost": Library("xgboost", "frame", _xgboost, {"reg_lambda": 10.0, "colsample_bynode": 0.3}),
    "CatBoost": Library("catboost", "text", _catboost, {"l2_leaf_reg": 10.0, "rsm": 0.3}),
    "HistGB": Library("sklearn.ensemble", "frame", _hist, {"l2_regularization": 10.0, "max_features": 0.3}),
    "YDF": Library("ydf", "columns", _ydf),
    "Forest": Library("sklearn.ensemble", "numbers", _forest),
    "Deep forest": Library("sklearn.ensemble", "numbers", _deep_forest),
}


def installed(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return those of the libraries that can be imported, and a line for each that cannot."""
    found, absent = [], []
    for name in names:
        try:
            importlib.import_module(LIBRARIES[name].module)
        except ImportError:
            absent.append(f"{name} is not installed, and left out.")
        else:
            found.append(name)
    return found, absent


def named(library: str, way: str) -> str:
    """Return what a library with a way is called.

    Examples
    --------
    >>> named("LightGBM", ""), named("LightGBM", "copies")
    ('LightGBM', 'LightGBM + copies')
    """
    return f"{library} + {way}" if way else library


def methods(task: str, libraries: Iterable[str], ways: Iterable[str], size: Size) -> dict[str, Any]:
    """Return all methods by name for a task; libraries with the same way stand together, so that they share tables."""
    is_class = task == "classification"
    found: dict[str, Any] = {CONSTANT: DummyClassifier() if is_class else DummyRegressor()}
    found[OURS] = Ours(_tritree(is_class, size, "trinary_mia"), state_of_tritree())
    for missing in _OTHER_STRATEGIES:
        found[f"{OURS} ({missing})"] = Ours(_tritree(is_class, size, missing), state_of_tritree())
    libraries = list(libraries)
    for way in WAYS:
        for library in libraries if way in ways else ():
            known = LIBRARIES[library]
            found[named(library, way)] = Rival(known.make(is_class, size), way, known.kind)
    # so that it can be told what is due to holding back, and what to the treatment of holes
    for library in libraries if "copies" in ways else ():
        known = LIBRARIES[library]
        if known.held_back:
            estimator = known.make(is_class, size).set_params(**known.held_back)
            found[named(library, HELD_BACK)] = Rival(estimator, "copies", known.kind)
    return found


def _tritree(is_class: bool, size: Size, missing: str) -> Any:
    from tritree import TrinaryBoostingClassifier, TrinaryBoostingRegressor

    return (TrinaryBoostingClassifier if is_class else TrinaryBoostingRegressor)(
        missing=missing,
        max_iter=size.trees,
        learning_rate=size.learning_rate,
        max_depth=size.depth,
        min_samples_leaf=size.leaf,
        random_state=0,
        n_jobs=1,
    )


def state_of_tritree() -> str:
    """Return a digest of the code that boosting runs: a version in development is many, and results are of one."""
    import tritree
    from tritree import _core

    package = Path(tritree.__file__).parent
    subpackages = ("cli", "inspection", "lab")  # do not take part in fits and predictions
    sources = (
        path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in subpackages
    )
    files = [Path(_core.__file__), *sorted(sources)]
    found = hashlib.blake2b(digest_size=8)
    for path in files:
        found.update(path.read_bytes())
    return found.hexdigest()
