"""Methods of an experiment: models of tritree and of other libraries by name, estimators, complete-case analysis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.validation import check_is_fitted

from tritree.estimators.boosting import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.estimators.forest import TrinaryForestClassifier, TrinaryForestRegressor
from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.inspection.formatting import count
from tritree.lab.other_libraries import LIBRARIES
from tritree.validation import BOOSTING_STRATEGIES, STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

#: The models of tritree.
MODELS = ("tree", "forest", "boosting")
#: Complete-case analysis, in place of a strategy.
COMPLETE_CASE = "complete_case"
#: The constant prediction of the mean target, or of the class fractions: the baseline of all methods.
CONSTANT = "constant"
#: The depth of a model that keeps the default of its estimator.
DEFAULT_DEPTH = "default"
#: The regressor and the classifier of single trees.
TREE_CLASSES: tuple[Any, Any] = (TrinaryTreeRegressor, TrinaryTreeClassifier)

_MIN_SAMPLES_LEAF = 20  # of a single tree; forests and boosting keep their default
_CLASSES: dict[str, tuple[Any, Any]] = {
    "tree": TREE_CLASSES,
    "forest": (TrinaryForestRegressor, TrinaryForestClassifier),
    "boosting": (TrinaryBoostingRegressor, TrinaryBoostingClassifier),
}
_WITH_COPIES = re.compile(r"(.+) \+ ([1-9]\d?|100) masked cop(?:y|ies)")
#: The parameter that the option ``trees`` sets.
_N_TREES = {"forest": "n_estimators", "boosting": "max_iter"}


class MethodSpec(NamedTuple):
    """A model of tritree with its strategy, or "complete_case" in place of one; and the masked copies of boosting."""

    model: str
    strategy: str
    masked_copies: int = 0


def method_spec(name: str) -> MethodSpec | None:
    """Return the model and the strategy of a method's name, or None if it is not one of tritree's.

    A strategy alone is that of a single tree; a model alone has its default strategy. Boosting may be followed by
    masked copies, as `with_masked_copies` writes them.
    """
    if copied := _WITH_COPIES.fullmatch(name):
        spec, n_copies = method_spec(copied[1]), int(copied[2])
        if spec is None or spec.model != "boosting" or spec.strategy == COMPLETE_CASE or spec.masked_copies:
            return None
        # a method has one name
        is_name = name == with_masked_copies(copied[1], n_copies)
        return spec._replace(masked_copies=n_copies) if is_name else None
    model, colon, strategy = name.partition(":")
    if not colon and model in MODELS:
        strategy = _CLASSES[model][0]().missing
    elif not colon:
        model, strategy = "tree", name
    return MethodSpec(model, strategy) if model in MODELS and strategy in strategies_of(model) else None


def with_masked_copies(name: str, n_copies: int) -> str:
    """Return the name of a method of boosting with ``n_copies`` masked copies."""
    return f"{name} + {count(n_copies, 'masked copy', 'masked copies')}" if n_copies else name


def strategies_of(model: str) -> tuple[str, ...]:
    """Return the strategies of a model, "complete_case" last."""
    return (*(BOOSTING_STRATEGIES if model == "boosting" else STRATEGIES), COMPLETE_CASE)


class Methods:
    """The methods of an experiment by name.

    A method is the name of a model of tritree (see `method_spec`), the name of another library, "constant", or a
    scikit-learn estimator. Models of tritree get the depth, and those of the ``options`` that are parameters of theirs;
    ``trees`` is the number of trees of a forest and the maximum number of boosting iterations. Other libraries have
    their own defaults. ``tree_classes`` are the regressor and the classifier of single trees.
    """

    def __init__(
        self, methods: Mapping[str, Any], *, tree_classes: tuple[Any, Any] = TREE_CLASSES, **options: Any
    ) -> None:
        self._methods = dict(methods)
        self._specs = {name: _check_method(name, method) for name, method in methods.items()}
        self._classes = _CLASSES | {"tree": tree_classes}
        self._options = options
        _check_options(options, {spec.model for spec in self._specs.values() if spec is not None})

    @property
    def names(self) -> list[str]:
        """Return the names of the methods."""
        return list(self._methods)

    @property
    def estimators(self) -> dict[str, Any]:
        """Return the methods that are no models of tritree, as estimators."""
        return {
            name: self.make(name, "regression", None) for name, spec in self._specs.items() if spec is None
        }

    def model_of(self, name: str) -> str | None:
        """Return the model of a method, or None if it is no model of tritree."""
        spec = self._specs[name]
        return None if spec is None else spec.model

    def make(self, name: str, task: str, depth: Any) -> Any:
        """Return a method as an unfitted estimator for a task; ``depth`` may be `DEFAULT_DEPTH`."""
        spec, method = self._specs[name], self._methods[name]
        if spec is None:
            return _make_baseline_or_library(method, task) if isinstance(method, str) else clone(method)
        if spec.strategy == COMPLETE_CASE:
            return CompleteCaseEstimator(self._make(MethodSpec(spec.model, "trinary"), task, depth))
        return self._make(spec, task, depth)

    def tree(self, strategy: str, task: str, depth: int | None) -> Any:
        """Return a single tree with a strategy."""
        return self._make(MethodSpec("tree", strategy), task, depth)

    def _make(self, spec: MethodSpec, task: str, depth: Any) -> Any:
        model, strategy, n_copies = spec
        estimator = self._classes[model][task != "regression"]
        parameters: dict[str, Any] = {"n_jobs": 1}
        parameters |= {"min_samples_leaf": _MIN_SAMPLES_LEAF} if model == "tree" else {"random_state": 0}
        for option, value in self._options.items():
            name = _parameter(option, model)
            if name in estimator._get_param_names() and not (name == "criterion" and task == "regression"):
                parameters[name] = value
        if depth != DEFAULT_DEPTH:
            parameters["max_depth"] = depth
        if n_copies:
            parameters["masked_copies"] = n_copies
        return estimator(missing=strategy, **parameters)


def _make_baseline_or_library(method: str, task: str) -> Any:
    if method == CONSTANT:
        return DummyRegressor() if task == "regression" else DummyClassifier(strategy="prior")
    return LIBRARIES[method].make(task)


def size_parameters(estimator: Any) -> dict[str, Any]:
    """Return the number of trees, learning rate, depth and leaf size of an estimator, as far as it has them."""
    model = getattr(estimator, "estimator", estimator)  # of complete-case analysis
    names = (*_N_TREES.values(), "learning_rate", "max_depth", "min_samples_leaf")
    return {name: value for name, value in model.get_params().items() if name in names}


def _check_method(name: str, method: Any) -> MethodSpec | None:
    """Return the spec of a model of tritree, or None for another method; raise an error if there is no such method."""
    if not isinstance(method, str) and hasattr(method, "fit") and hasattr(method, "predict"):
        return None
    if method == CONSTANT:
        return None
    if isinstance(method, str) and method in LIBRARIES:
        LIBRARIES[method].load()  # now, not in the middle of an experiment
        return None
    spec = method_spec(method) if isinstance(method, str) else None
    if spec is not None:
        return spec
    model, _, strategy = str(method).partition(":")
    if model in MODELS:
        names = ", ".join(map(repr, strategies_of(model)))
        raise ValueError(f"method {name!r} is {method!r}, and {model} has no {strategy!r}; it has {names}")
    names, libraries = (", ".join(map(repr, found)) for found in (strategies_of("tree"), LIBRARIES))
    raise ValueError(
        f"method {name!r} is {method!r}; a method is one of {names}, these after 'forest:' or 'boosting:' (and "
        f"before {with_masked_copies('', 4)!r} for boosting), a model of another library ({libraries}), {CONSTANT!r}, "
        "or an estimator with fit and predict"
    )


def _parameter(option: str, model: str) -> str:
    return _N_TREES.get(model, option) if option == "trees" else option


def _check_options(options: Collection[str], models: Collection[str]) -> None:
    """Raise a ValueError if an option is not a parameter of any of the models."""
    for option in options:
        having = [
            model
            for model, classes in _CLASSES.items()
            if any(_parameter(option, model) in one._get_param_names() for one in classes)
        ]
        if not having:
            raise ValueError(
                f"options has {option!r}, which is not a parameter of a tree, a forest or boosting"
            )
        if models and not set(having) & set(models):
            raise ValueError(
                f"options has {option!r}, which is for {' and '.join(having)}, and methods has none; leave it out, or "
                "add one"
            )


def fit_estimator(estimator: Any, X: Any, y: NDArray[Any], task: str, sample_weight: Any = None) -> Any:
    """Return a fitted clone of an estimator; it has ``predict``, or ``predict_proba`` and ``classes_``.

    A classifier that refuses the class labels gets them encoded as 0, 1, 2, …, because some accept nothing else.
    """
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return clone(estimator).fit(X, y, **weights)
    except (TypeError, ValueError) as error:
        if task == "regression":
            raise
        refused = error
    try:
        return _LabelEncodedClassifier(estimator, X, y, **weights)
    except Exception as error:
        first, second = (str(one).strip().partition("\n")[0] for one in (refused, error))
        if first == second:
            raise refused from None
        raise ValueError(f"{first}; and with encoded class labels: {second}") from error


class _LabelEncodedClassifier:
    """A classifier fitted to encoded class labels."""

    def __init__(self, estimator: Any, X: Any, y: NDArray[Any], **weights: Any) -> None:
        classes, encoded = np.unique(y, return_inverse=True)
        self._model = clone(estimator).fit(X, encoded, **weights)
        self.classes_ = classes[np.asarray(self._model.classes_, dtype=np.intp)]

    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities."""
        return self._model.predict_proba(X)


class CompleteCaseEstimator(BaseEstimator):  # type: ignore[misc]
    """Complete-case analysis: an estimator that is fitted to complete rows, and predicts only those.

    Incomplete rows get the training mean, or the class frequencies of training; so do all rows if there are too few
    complete ones to fit ``estimator``.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator fitted to the complete rows."""
        y = np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        self.is_classifier_ = hasattr(self.estimator, "predict_proba")
        if self.is_classifier_:
            self.classes_, encoded = np.unique(y, return_inverse=True)
            counts = np.bincount(encoded, weights)
            self.default_ = counts / counts.sum()
        else:
            self.default_ = np.array([np.average(y, weights=weights)])
        rows = np.flatnonzero(~_is_incomplete(X))
        some = None if weights is None else weights[rows]
        enough = len(np.unique(y[rows])) > 1 if self.is_classifier_ else len(rows) > 0
        self.estimator_ = None
        if enough and (some is None or some.any()):
            task = "classification" if self.is_classifier_ else "regression"
            self.estimator_ = fit_estimator(self.estimator, _rows(X, rows), y[rows], task, some)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted values or classes."""
        if self.is_classifier_:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return self._predict(X)[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities."""
        return self._predict(X)

    def _predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        incomplete = _is_incomplete(X)
        predictions = np.tile(self.default_, (len(incomplete), 1))
        rows = np.flatnonzero(~incomplete)
        if self.estimator_ is None or not len(rows):
            return predictions
        if not self.is_classifier_:
            predictions[rows, 0] = self.estimator_.predict(_rows(X, rows))
            return predictions
        # the complete rows may lack some classes
        known = np.searchsorted(self.classes_, self.estimator_.classes_)
        predictions[rows] = 0
        predictions[np.ix_(rows, known)] = self.estimator_.predict_proba(_rows(X, rows))
        return predictions


def _is_incomplete(X: Any) -> NDArray[np.bool_]:
    return np.asarray(np.asarray(pd.isna(X)).any(axis=1))


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
