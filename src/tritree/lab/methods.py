"""What an experiment compares: the models of tritree, any estimator of scikit-learn, and one plain baseline."""

from __future__ import annotations

import sys
from functools import cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Self

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tritree.lab.kinds import (
    DISCARD,
    KINDS,
    TREE_CLASSES,
    Asked,
    asked,
    check_options,
    make_model,
    strategies_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["DiscardIncomplete", "Methods", "fitted", "spelled", "versions_of"]


def fitted(estimator: Any, X: Any, y: NDArray[Any], task: str, weights: Any = None) -> Any:
    """Return a copy of an estimator fitted to some rows; it has ``predict``, or ``predict_proba`` and ``classes_``.

    Some classifiers take 0, 1, 2 and so on only. One that refuses the classes as they are gets their numbers.
    """
    weighed = {} if weights is None else {"sample_weight": weights}
    try:
        return clone(estimator).fit(X, y, **weighed)
    except (TypeError, ValueError) as error:
        if task == "regression":
            raise
        refused = error
    try:
        return _ByNumber(estimator, X, y, **weighed)
    except Exception as error:
        first, second = (str(one).strip().partition("\n")[0] for one in (refused, error))
        if first == second:
            raise refused from None
        raise ValueError(f"{first}; and with numbers for classes: {second}") from error


class _ByNumber:
    """A classifier that has learned the numbers of classes in place of the classes."""

    def __init__(self, estimator: Any, X: Any, y: NDArray[Any], **weighed: Any) -> None:
        classes, numbers = np.unique(y, return_inverse=True)
        self._model = clone(estimator).fit(X, numbers, **weighed)
        self.classes_ = classes[np.asarray(self._model.classes_, dtype=np.intp)]

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        return self._model.predict_proba(X)


class DiscardIncomplete(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from complete rows only, and has nothing to say of the others.

    Rows without holes are predicted by ``estimator``, fitted to the complete rows of training; all others get the
    training mean, or the shares of the classes in training. If too few rows are complete to fit it, so do all.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the estimator fitted to the complete rows."""
        y = np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        complete = ~_has_holes(X)
        self.is_classifier_ = hasattr(self.estimator, "predict_proba")
        if self.is_classifier_:
            self.classes_, numbers = np.unique(y, return_inverse=True)
            counts = np.bincount(numbers, weights)
            self.answer_ = counts / counts.sum()
        else:
            self.answer_ = np.array([np.average(y, weights=weights)])
        rows = np.flatnonzero(complete)
        enough = len(rows) > 0 and (not self.is_classifier_ or len(np.unique(y[rows])) > 1)
        task = "classification" if self.is_classifier_ else "regression"
        counted = None if weights is None else weights[rows]
        enough = enough and (counted is None or bool(counted.any()))
        self.estimator_ = fitted(self.estimator, _rows(X, rows), y[rows], task, counted) if enough else None
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted numbers, or classes."""
        if self.is_classifier_:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return self._answers(X)[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        return self._answers(X)

    def _answers(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        missing = _has_holes(X)
        answers = np.tile(self.answer_, (len(missing), 1))
        rows = np.flatnonzero(~missing)
        if self.estimator_ is None or not len(rows):
            return answers
        if not self.is_classifier_:
            answers[rows, 0] = self.estimator_.predict(_rows(X, rows))
            return answers
        known = np.searchsorted(self.classes_, self.estimator_.classes_)  # it may not have seen all classes
        answers[rows] = 0
        answers[np.ix_(rows, known)] = self.estimator_.predict_proba(_rows(X, rows))
        return answers


def _has_holes(X: Any) -> NDArray[np.bool_]:
    return np.asarray(np.asarray(pd.isna(X)).any(axis=1))


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class Methods:
    """The methods by name, each an estimator that is yet to be fitted.

    A method is a model of tritree, by its name, or an estimator of scikit-learn's kind: "mia" is a tree,
    "boosting:mia" and "forest:mia" are what they say, "discard" in place of a strategy is the baseline. Models get the
    depth given and those of the options that are theirs; an estimator is taken as it is. ``tree_classes`` are the
    regressor and the classifier of single trees.
    """

    def __init__(
        self, methods: Mapping[str, Any], *, tree_classes: tuple[Any, Any] = TREE_CLASSES, **options: Any
    ) -> None:
        self._methods = dict(methods)
        self._models = {name: _model(name, method) for name, method in methods.items()}
        self._tree_classes = tree_classes
        self._options = options
        check_options(options, {model.kind for model in self._models.values() if model is not None})

    @property
    def names(self) -> list[str]:
        """Return the names of the methods, as they were given."""
        return list(self._methods)

    @property
    def of_others(self) -> dict[str, Any]:
        """Return the methods that are estimators, as they were given."""
        return {name: self._methods[name] for name, model in self._models.items() if model is None}

    def kind(self, name: str) -> str | None:
        """Return what kind of model a method is; None if it is an estimator that was given."""
        model = self._models[name]
        return None if model is None else model.kind

    def make(self, name: str, task: str, depth: Any) -> Any:
        """Return a method as an estimator for a task."""
        model = self._models[name]
        if model is None:
            return clone(self._methods[name])
        made = make_model(model, task, depth, self._options, self._tree_classes)
        return DiscardIncomplete(made) if model.strategy == DISCARD else made

    def tree(self, strategy: str, task: str, depth: int | None) -> Any:
        """Return a tree of one of the strategies."""
        return make_model(Asked("tree", strategy), task, depth, self._options, self._tree_classes)


def _model(name: str, method: Any) -> Asked | None:
    """Return the model that a method asks for; None if it is an estimator. What is neither is refused."""
    if not isinstance(method, str):
        if hasattr(method, "fit") and hasattr(method, "predict"):
            return None
    elif (model := asked(method)) is not None:
        return model
    kind, _, strategy = method.partition(":") if isinstance(method, str) else ("", "", "")
    if kind in KINDS:
        names = ", ".join(map(repr, strategies_of(kind)))
        raise ValueError(f"method {name!r} is {method!r}, and {kind} has no {strategy!r}; it has {names}")
    names = ", ".join(map(repr, strategies_of("tree")))
    raise ValueError(
        f"method {name!r} is {method!r}; a method is one of {names}, these after 'forest:' or 'boosting:', or an "
        "estimator with fit and predict"
    )


# What a method is, as text: a result is found again by it.


def spelled(value: Any) -> str:
    """Return a method with all its parameters, however it was put together; the same in every process.

    Where ``repr`` would leave out the middle of an array, or tell an address, the content's hash stands in its place.
    ``n_jobs`` is left out: it makes no difference.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> spelled(DummyRegressor())
    "sklearn.dummy.DummyRegressor(constant=None, quantile=None, strategy='mean')"
    """
    if _is_estimator(value):
        parameters = sorted(value.get_params(deep=False).items())
        said = ", ".join(f"{name}={spelled(part)}" for name, part in parameters if name != "n_jobs")
        return f"{_called(type(value))}({said})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(spelled, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{spelled(name)}: {spelled(part)}' for name, part in value.items())})"
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex, np.generic)):
        return repr(value)
    if isinstance(value, type):
        return _called(value)
    if isinstance(value, (set, frozenset)):
        return f"set({', '.join(sorted(map(spelled, value)))})"
    if isinstance(value, FunctionType):
        parts = [_code(value), value.__defaults__, value.__kwdefaults__, list(_used(value))]
        return f"{_called(value)}({spelled(parts)})"
    if isinstance(value, partial):
        return f"partial({spelled([value.func, value.args, value.keywords])})"
    return f"{_called(type(value))}:{_hashed(value)}"


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _called(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _code(value: FunctionType | CodeType) -> list[Any]:
    """Return what a function does; where it stands in its file makes no difference."""
    code = value.__code__ if isinstance(value, FunctionType) else value
    constants = [_code(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    return [code.co_code, constants, code.co_names, code.co_varnames]


def _used(function: FunctionType) -> Iterator[Any]:
    """Yield what a function knows from around it: of the function it was made in, and of its file."""
    inner = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    outer = [function.__globals__.get(name) for name in function.__code__.co_names]
    for part in (*inner, *outer):
        if isinstance(part, FunctionType):
            yield _code(part)  # and no farther: functions may know each other
        else:
            yield part.__name__ if isinstance(part, ModuleType) else _hashed(part)


def _hashed(value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except (
        Exception
    ):  # what cannot be pickled; with an address in it, it is run again, and never taken for another
        return repr(value)


def versions_of(method: Any) -> dict[str, str]:
    """Return the versions of the packages that a method is made of, tritree among them.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> sorted(versions_of({"mean": DummyRegressor()}))
    ['sklearn', 'tritree']
    """
    packages = {"tritree"} | {package for part in _parts(method) if (package := _package(part))}
    return {name: version for name in sorted(packages) if (version := _version(name)) is not None}


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and all that it is made of."""
    yield value
    inner: Iterable[Any] = ()
    if _is_estimator(value):
        inner = value.get_params(deep=False).values()
    elif isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, (list, tuple)):
        inner = value
    for part in inner:
        yield from _parts(part)


def _package(value: Any) -> str:
    if not _is_estimator(value) and not isinstance(value, FunctionType):
        return ""
    named = value if isinstance(value, FunctionType) else type(value)
    return str(named.__module__).partition(".")[0]


@cache
def _version(package: str) -> str | None:
    """Return the version of an imported package; None if it has none, as what comes with Python."""
    found = getattr(sys.modules.get(package), "__version__", None)
    return None if found is None else str(found)
