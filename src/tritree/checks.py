"""Numbers and truth values among the parameters, checked."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["check_number", "check_truth"]


def check_number(
    name: str, value: Any, least: float, most: float = math.inf, *, open_below: bool = False
) -> None:
    """Raise a ValueError unless the parameter is a finite number within its bounds."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if is_number and math.isfinite(value) and least <= value <= most and not (open_below and value == least):
        return
    lower = f"above {least:g}" if open_below else f"of at least {least:g}"
    upper = "" if most == math.inf else f" and at most {most:g}"
    raise ValueError(f"{name} must be a number {lower}{upper}, got {value!r}")


def check_truth(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
