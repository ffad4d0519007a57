"""The parameters of an estimator, checked and as the core takes them."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass, fields
from functools import cache
from numbers import Integral
from typing import Any, Self

import joblib
import numpy as np

from tritree import _core
from tritree.encoder import MAX_CATEGORIES
from tritree.errors import ParameterError

__all__ = [
    "STRATEGIES",
    "THIRD_BRANCHES",
    "UNKNOWN_CATEGORY",
    "Parameters",
    "check_choice",
    "check_int",
    "count_threads",
]

#: How missing values may be handled.
STRATEGIES = ("trinary", "trinary_mia", "mia", "majority", "fractional", "surrogate")
#: Those whose trees go on growing when rows need it.
THIRD_BRANCHES = ("trinary", "trinary_mia")
#: What a category that training never saw may be to prediction.
UNKNOWN_CATEGORY = ("no_information", "error")

_NO_LIMIT = 2**31 - 1
_MOST_THREADS = 256


def count_threads(n_jobs: Any) -> int:
    """Return how many threads to use.

    A number is taken as it is; -1 is all processors, -2 all but one, and so on. None is all processors, too, unless
    this process has to share them: OMP_NUM_THREADS says how many it may use (joblib sets it for its workers), and
    without it a process that multiprocessing started, as those of a pool are, uses one.
    """
    if n_jobs is None:
        return _share_of_processors()
    if not _is_int(n_jobs) or n_jobs == 0:
        raise ParameterError(
            "n_jobs",
            "a number of threads, -1 for all processors, -2 for all but one and so on",
            n_jobs,
            none_means="all processors",
        )
    return min(int(n_jobs), _MOST_THREADS) if n_jobs > 0 else max(1, _processors() + 1 + int(n_jobs))


def _share_of_processors() -> int:
    allowed = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if allowed.isdecimal() and int(allowed) > 0:
        return min(int(allowed), _processors())
    return 1 if multiprocessing.parent_process() is not None else _processors()


def _processors() -> int:
    """Return how many processors this process may use; joblib's count, which knows containers, is asked for once."""
    return min(_core.hardware_threads(), _limit_of_container())


@cache
def _limit_of_container() -> int:
    return int(joblib.cpu_count())


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of one fit; checked when made."""

    missing: Any
    criterion: Any
    max_depth: Any
    min_samples_leaf: Any
    max_bins: Any
    unknown_category: Any
    split_on_missing: Any
    max_surrogates: Any
    n_jobs: Any

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Return the parameters of an estimator that grows such trees, one or many."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def check(self, criteria: tuple[str, ...]) -> None:
        """Raise a ValueError naming the first parameter that cannot be, and what it may be."""
        check_choice("missing", self.missing, STRATEGIES)
        check_choice("criterion", self.criterion, criteria)
        check_int("max_depth", self.max_depth, 0, or_none="no limit")
        check_int("min_samples_leaf", self.min_samples_leaf, 1)
        check_int("max_bins", self.max_bins, 2, MAX_CATEGORIES, or_none="every distinct value")
        check_choice("unknown_category", self.unknown_category, UNKNOWN_CATEGORY)
        check_int("max_surrogates", self.max_surrogates, 0)
        if not isinstance(self.split_on_missing, (bool, np.bool_)):
            raise ParameterError("split_on_missing", "True or False", self.split_on_missing)
        count_threads(self.n_jobs)

    @property
    def n_bins(self) -> int:
        """Return the most codes a column may have."""
        return MAX_CATEGORIES if self.max_bins is None else int(self.max_bins)

    def settings(self, n_classes: int, **options: Any) -> _core.Settings:
        """Return the settings of the core; ``n_classes`` is 0 in regression. ``options`` take precedence."""
        settings: dict[str, Any] = {
            "missing": self.missing,
            "criterion": self.criterion,
            "n_classes": n_classes,
            "max_depth": _NO_LIMIT if self.max_depth is None else min(int(self.max_depth), _NO_LIMIT),
            "min_samples_leaf": min(int(self.min_samples_leaf), _NO_LIMIT),
            "split_on_missing": bool(self.split_on_missing),
            "max_surrogates": min(int(self.max_surrogates), _NO_LIMIT),
        }
        return _core.Settings(**(settings | options))


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless the parameter is one of its choices."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, f"one of {', '.join(map(repr, choices))}", value)


def check_int(
    name: str, value: Any, least: int, most: int | None = None, *, or_none: str | None = None
) -> None:
    """Raise a ValueError unless the parameter is a whole number within its bounds."""
    if value is None and or_none is not None:
        return
    if not _is_int(value) or value < least or (most is not None and value > most):
        upper = "" if most is None else f" and at most {most:,}"
        raise ParameterError(name, f"a whole number of at least {least}{upper}", value, none_means=or_none)
