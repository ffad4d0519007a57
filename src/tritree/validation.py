"""Parameter validation: which estimator takes which parameter, which values are allowed, and the errors for others."""

from __future__ import annotations

import math
import multiprocessing
import os
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from tritree import _core
from tritree.encoder import MAX_CATEGORIES
from tritree.errors import ParameterError, name_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tritree.encoder import TableEncoder

__all__ = [
    "BOOSTING_STRATEGIES",
    "MAY_CHANGE_AFTER_FIT",
    "REGRESSION_LOSSES",
    "STRATEGIES",
    "STRATEGIES_WITH_THIRD_BRANCH",
    "UNKNOWN_CATEGORY_OPTIONS",
    "OneOf",
    "allowed_values",
    "as_random_state",
    "check_choice",
    "check_int",
    "column_fraction",
    "count_threads",
    "monotonic_directions",
    "validate",
]

#: How trees and forests may handle missing values.
STRATEGIES = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate")
#: How boosting may handle missing values.
BOOSTING_STRATEGIES = ("trinary_mia", "trinary", "mia", "majority", "fractional")
#: The strategies whose trees have third branches, which grow on demand.
STRATEGIES_WITH_THIRD_BRANCH = ("trinary", "trinary_mia")
#: How `predict` may treat categories that were not seen in training.
UNKNOWN_CATEGORY_OPTIONS = ("no_information", "error")
#: The losses of boosting in regression.
REGRESSION_LOSSES = ("squared_error", "absolute_error", "quantile", "poisson", "gamma")

_MAX_THREADS = 256


# ---- allowed values


@dataclass(frozen=True)
class OneOf:
    """One of several strings."""

    options: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> None:
        """Raise a ValueError unless the value is one of the options."""
        if not isinstance(value, str) or value not in self.options:
            raise ParameterError(name, f"one of {', '.join(map(repr, self.options))}", value)


@dataclass(frozen=True)
class Integer:
    """An integer within bounds; or None, if ``none``, its meaning, is not None."""

    low: int
    high: int | None = None
    none: str | None = None

    def __call__(self, name: str, value: Any) -> None:
        """Raise a ValueError unless the value is an integer within the bounds, or None if that is allowed."""
        if value is None and self.none is not None:
            return
        if not _is_int(value) or value < self.low or (self.high is not None and value > self.high):
            upper = "" if self.high is None else f" and at most {self.high:,}"
            raise ParameterError(
                name, f"an integer of at least {self.low}{upper}", value, none_means=self.none
            )


@dataclass(frozen=True)
class Number:
    """A finite number within bounds, which may be excluded; or None, if ``none``, its meaning, is not None."""

    low: float
    high: float = math.inf
    exclusive_low: bool = False
    exclusive_high: bool = False
    none: str | None = None

    def __call__(self, name: str, value: Any) -> None:
        """Raise a ValueError unless the value is a finite number within the bounds, or None if that is allowed."""
        if value is None and self.none is not None:
            return
        if _is_real(value) and _is_finite(value):
            too_low = value <= self.low if self.exclusive_low else value < self.low
            too_high = value >= self.high if self.exclusive_high else value > self.high
            if not (too_low or too_high):
                return
        lower = f"above {self.low:g}" if self.exclusive_low else f"of at least {self.low:g}"
        upper = f" and {'below' if self.exclusive_high else 'at most'} {self.high:g}"
        bounds = lower if self.high == math.inf else lower + upper
        raise ParameterError(name, f"a number {bounds}", value, none_means=self.none)


def _boolean(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(name, "True or False", value)


def _verbosity(name: str, value: Any) -> None:
    if not isinstance(value, Integral):  # scikit-learn's verbose may be a number
        _boolean(name, value)


def _boolean_or_auto(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)) and (not isinstance(value, str) or value != "auto"):
        raise ParameterError(name, "True, False or 'auto'", value)


def _number_of_features(name: str, value: Any) -> None:
    is_word = value is None or (isinstance(value, str) and value in ("sqrt", "log2"))
    is_count = _is_int(value) and value >= 1
    is_fraction = _is_real(value) and not isinstance(value, Integral) and 0 < value <= 1
    if not (is_word or is_count or is_fraction):
        raise ParameterError(
            name,
            "an integer of at least 1 (columns), a float above 0 and at most 1 (a fraction of the columns), 'sqrt' "
            "or 'log2'",
            value,
            none_means="all columns",
        )


def _random_state(name: str, value: Any) -> None:
    try:
        check_random_state(value)
    except ValueError:
        raise ParameterError(
            name,
            "an integer of at least 0 and at most 4,294,967,295 (2**32 - 1), a RandomState of NumPy, or None",
            value,
        ) from None


def _threads(name: str, value: Any) -> None:
    if value is not None and (not _is_int(value) or value == 0):
        raise ParameterError(
            name,
            "a number of threads, -1 for all cores, -2 for all but one and so on",
            value,
            none_means="all cores",
        )


def _string(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ParameterError(name, "text", value)


def _checked_in_fit(_name: str, _value: Any) -> None:
    """Allow anything: what is allowed depends on the columns or the classes, which `fit` compares it with."""


def _is_int(value: Any) -> bool:
    # the type is compared first, since checks of abstract classes are slow
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


# ---- the table

_FRACTION = Number(0, 1, exclusive_low=True)

#: Parameter, the estimators that take it ("tree", "forest", "boosting", of these "regressor" or "classifier" if only
#: one of both does), allowed values.
_PARAMETERS: tuple[tuple[str, str, Callable[[str, Any], None]], ...] = (
    ("missing", "tree forest", OneOf(STRATEGIES)),
    ("missing", "boosting", OneOf(BOOSTING_STRATEGIES)),
    ("criterion", "tree forest regressor", OneOf(("squared_error",))),
    ("criterion", "tree forest classifier", OneOf(("entropy", "log_loss", "gini"))),
    ("loss", "boosting regressor", OneOf(REGRESSION_LOSSES)),
    ("loss", "boosting classifier", OneOf(("log_loss",))),
    ("missing", "graft", OneOf(("auto", "third", "keep"))),
    ("library", "graft", _string),
    ("link", "graft regressor", OneOf(("identity", "log", "logit"))),
    ("link", "graft classifier", OneOf(("logit", "softmax", "sigmoid_each", "probability"))),
    ("max_depth", "graft", Integer(0)),
    ("quantile", "boosting regressor", Number(0, 1)),
    ("n_estimators", "forest", Integer(1)),
    ("learning_rate", "boosting", Number(0, 100, exclusive_low=True)),
    ("max_iter", "boosting", Integer(1)),
    ("max_depth", "tree forest", Integer(0, none="no limit")),
    ("max_depth", "boosting", Integer(1, none="no limit")),
    ("max_leaf_nodes", "tree forest boosting", Integer(2, none="no limit")),
    ("min_samples_leaf", "tree forest boosting", Integer(1)),
    ("l2_regularization", "boosting", Number(0)),
    ("split_penalty", "boosting", Number(0)),
    ("category_penalty", "tree forest boosting", Number(0)),
    ("subsample", "boosting", _FRACTION),
    ("masked_copies", "boosting", Integer(0, 100)),
    ("max_features", "tree forest boosting", _number_of_features),
    ("bootstrap", "forest", _boolean),
    ("max_samples", "forest", Number(0, 1, exclusive_low=True, none="as many rows as there are")),
    ("oob_score", "forest", _boolean),
    ("class_weight", "tree forest boosting classifier", _checked_in_fit),
    ("max_bins", "tree forest", Integer(2, MAX_CATEGORIES, none="every distinct value")),
    ("max_bins", "boosting", Integer(2, MAX_CATEGORIES)),
    ("categorical_features", "tree forest boosting", _checked_in_fit),
    ("parse_dates", "tree forest boosting", _boolean),
    ("date_parts", "tree forest boosting", _checked_in_fit),
    ("drop_identifiers", "tree forest boosting", _boolean),
    ("unknown_category", "tree forest boosting graft", OneOf(UNKNOWN_CATEGORY_OPTIONS)),
    ("split_on_missing", "tree forest boosting", _boolean),
    ("max_surrogates", "tree forest", Integer(0)),
    ("monotonic_cst", "boosting", _checked_in_fit),
    ("early_stopping", "boosting", _boolean_or_auto),
    ("validation_fraction", "boosting", Number(0, 1, exclusive_low=True, exclusive_high=True)),
    ("n_iter_no_change", "boosting", Integer(1)),
    ("tol", "boosting", Number(0)),
    ("background_rows", "boosting", Integer(1)),
    ("third_rows", "boosting graft", Integer(1)),
    ("third_depth_extra", "boosting graft", Integer(0)),
    ("min_missing_third", "forest", Number(0, 1)),
    ("max_third_nodes", "forest boosting graft", Integer(0)),
    ("warm_start", "forest boosting", _boolean),
    ("verbose", "forest boosting", _verbosity),
    ("random_state", "tree forest boosting graft", _random_state),
    ("n_jobs", "tree forest boosting graft", _threads),
)

#: The parameters that may change after `fit`. A fitted model depends on all others, which must be as they were if it is
#: saved, or fitted further.
MAY_CHANGE_AFTER_FIT = frozenset(
    {
        *("n_estimators", "oob_score", "learning_rate", "max_iter", "subsample", "class_weight"),
        *("early_stopping", "validation_fraction", "n_iter_no_change", "tol"),
        *("unknown_category", "warm_start", "verbose", "random_state", "n_jobs"),
    }
)


def allowed_values(family: str, task: str) -> dict[str, Callable[[str, Any], None]]:
    """Return the parameters of an estimator with their checks; e.g. of a "tree" "regressor"."""
    found = {}
    for name, taken_by, check in _PARAMETERS:
        of = set(taken_by.split())
        if family in of and (task in of or not of & {"regressor", "classifier"}):
            found[name] = check
    return found


def validate(values: Mapping[str, Any], allowed: Mapping[str, Callable[[str, Any], None]]) -> None:
    """Raise a ValueError that names the first parameter with a wrong value, the value, and what is allowed."""
    for name, value in values.items():
        allowed[name](name, value)
    if not values.get("bootstrap", True):
        if values["max_samples"] is not None:
            raise ValueError(
                f"max_samples={values['max_samples']!r} is a fraction of the rows to draw, and bootstrap=False draws "
                "none; set bootstrap=True, or max_samples=None"
            )
        if values["oob_score"]:
            raise ValueError("oob_score needs rows that a tree has not seen; set bootstrap=True")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless an argument is one of its choices."""
    OneOf(choices)(name, value)


def check_int(
    name: str, value: Any, minimum: int, maximum: int | None = None, *, or_none: str | None = None
) -> None:
    """Raise a ValueError unless an argument is an integer within its bounds; ``or_none`` says what None means."""
    Integer(minimum, maximum, or_none)(name, value)


# ---- values as they are used


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return NumPy's generator for a random_state."""
    _random_state("random_state", random_state)
    generator: np.random.RandomState = check_random_state(random_state)
    return generator


def column_fraction(max_features: Any, n_columns: int) -> float:
    """Return the fraction of the columns that a split may use.

    Examples
    --------
    >>> column_fraction(3, 10), column_fraction("sqrt", 16), column_fraction(None, 10), column_fraction(0.3, 10)
    (0.3, 0.25, 1.0, 0.3)
    """
    if max_features is None:
        return 1.0
    if isinstance(max_features, str):
        n = math.sqrt(n_columns) if max_features == "sqrt" else math.log2(n_columns)
        return max(1, int(n)) / n_columns
    if not isinstance(max_features, Integral):
        return float(max_features)
    n_features = min(int(max_features), n_columns)
    fraction = n_features / n_columns
    # the core truncates the product, which rounding may have made smaller
    return math.nextafter(fraction, 1) if int(fraction * n_columns) < n_features else fraction


def count_threads(n_jobs: Any) -> int:
    """Return how many threads to use.

    A number is taken as it is; -1 is all cores, -2 all but one, and so on. None is all cores, too, unless
    this process has to share them: OMP_NUM_THREADS limits it (joblib sets it for its workers), and without it a
    process that multiprocessing started, as those of a pool are, uses one.
    """
    _threads("n_jobs", n_jobs)
    if n_jobs is None:
        return _available_cores()
    return min(int(n_jobs), _MAX_THREADS) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _available_cores() -> int:
    allowed = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if allowed.isdecimal() and int(allowed) > 0:
        return min(int(allowed), _cores())
    return 1 if multiprocessing.parent_process() is not None else _cores()


def _cores() -> int:
    """Return how many cores this process may use; joblib's count, which knows containers, is cached."""
    return min(_core.hardware_threads(), _limit_of_container())


@cache
def _limit_of_container() -> int:
    return int(joblib.cpu_count())


_DIRECTIONS = {1: 1, -1: -1, 0: 0, "increasing": 1, "decreasing": -1, None: 0}


def monotonic_directions(monotonic_cst: Any, encoder: TableEncoder) -> list[int]:
    """Return per column 1 if predictions must not fall with it, -1 if they must not rise, else 0; [] if all are 0."""
    if monotonic_cst is None:
        return []
    inputs = [column for column in encoder.columns if column.part is None]
    names = [name_column(column.name) for column in inputs]
    if hasattr(monotonic_cst, "items"):
        if encoder.column_names is None:
            raise ValueError(
                "monotonic_cst is a dict of column names, and X has none; pass a list with one entry per "
                "column"
            )
        unknown = [name for name in monotonic_cst if name not in encoder.column_names]
        if unknown:
            raise ValueError(f"monotonic_cst has {unknown[0]!r}, which is not a column of X")
        values = [monotonic_cst.get(key, 0) for key in encoder.column_names]
    else:
        array = np.asarray(monotonic_cst, dtype=object)
        if array.ndim == 0:  # a string would be taken for a list of its letters
            example = monotonic_cst if isinstance(monotonic_cst, str) else "name"
            raise ParameterError(
                "monotonic_cst",
                "a dict of column names or a list with one entry per column",
                monotonic_cst,
                hint=f"write {{{example!r}: 1}} if predictions must not fall with the column, -1 if they must not rise",
            )
        values = list(array.tolist())
        if len(values) != len(names):
            raise ValueError(
                f"monotonic_cst has {len(values)} entries, X has {len(names)} columns; give one for each"
            )
    found = {}
    for name, column, value in zip(names, inputs, values, strict=True):
        if isinstance(value, (list, dict)) or value not in _DIRECTIONS:
            raise ParameterError(f"monotonic_cst of {name}", "1, -1 or 0", value)
        if _DIRECTIONS[value] and column.categories is not None and column.order is None:
            raise ValueError(f"monotonic_cst constrains {name}, whose categories have no order; set it to 0")
        found[column.name] = _DIRECTIONS[value]
    directions = [found[column.name] if column.part is None else 0 for column in encoder.columns]
    return directions if any(directions) else []
