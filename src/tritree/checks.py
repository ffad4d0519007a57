"""Numbers and truth values among the parameters, checked."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tritree.errors import ParameterError

__all__ = ["check_max_features", "check_number", "check_truth", "check_verbose", "random_source"]


def check_number(
    name: str,
    value: Any,
    least: float,
    most: float = math.inf,
    *,
    open_below: bool = False,
    open_above: bool = False,
    or_else: str = "",
) -> None:
    """Raise a ValueError unless the parameter is a finite number within its bounds; ``or_else``: what else may be."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if is_number and math.isfinite(value) and least <= value <= most:
        at_open_end = (open_below and value == least) or (open_above and value == most)
        if not at_open_end:
            return
    lower = f"above {least:g}" if open_below else f"of at least {least:g}"
    upper = "" if most == math.inf else f" and {'below' if open_above else 'at most'} {most:g}"
    raise ParameterError(name, f"a number {lower}{upper}{or_else}", value)


def check_max_features(value: Any, words: tuple[str, ...] = ()) -> None:
    """Raise a ValueError unless the parameter is a share of the columns, or one of the words for it."""
    if isinstance(value, str) and value in words:
        return
    or_else = f", {' or '.join(map(repr, words))}" if words else ""
    try:
        check_number("max_features", value, 0, 1, open_below=True, or_else=or_else)
    except ParameterError as error:
        if isinstance(value, Integral) and int(value) > 1:
            error.hint = "give the share of the columns, not their number: 3 of 10 columns is 0.3"
        raise


def check_truth(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(name, "True or False", value)


def check_verbose(value: Any) -> None:
    """Raise a ValueError unless the parameter is True or False, or a number as in scikit-learn."""
    if not isinstance(value, Integral):
        check_truth("verbose", value)


def random_source(random_state: Any) -> np.random.RandomState:
    """Return what draws random numbers, or raise a ValueError that names the parameter."""
    try:
        source: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        raise ParameterError(
            "random_state",
            "a whole number of at least 0 and at most 4,294,967,295 (2**32 - 1), a RandomState of NumPy, or None",
            random_state,
        ) from None
    return source
