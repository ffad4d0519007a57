"""What an experiment is given, read as it was meant: one in place of several, names in place of what they stand for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from tritree.lab.ampute import MECHANISMS
from tritree.lab.dataset import Dataset
from tritree.lab.scenarios import Scenario, in_both, in_test
from tritree.lab.trial import Folds
from tritree.validation import check_int

__all__ = ["datasets_of", "folds_of", "methods_of", "rates_of", "scenarios_of", "seeds_of"]

_TEST = "_test"  # how names of scenarios end that have holes in the test only


def datasets_of(given: Any) -> list[Dataset]:
    """Return the data sets, also if it is one that was given; a table alone does not say what to predict."""
    found = _several("datasets", given, Dataset)
    for one in found:
        if not isinstance(one, Dataset):
            raise TypeError(
                f"datasets must hold data sets, got a {type(one).__name__}; make one with "
                "Dataset.of(name, table, response)"
            )
    return found


def scenarios_of(given: Any) -> list[Scenario]:
    """Return the scenarios; one may be given by its name in the results, such as "mcar" or "mcar_test".

    Examples
    --------
    >>> [scenario.name for scenario in scenarios_of(["mcar", "im_test"])]
    ['mcar', 'im_test']
    """
    return [_scenario_of(one) for one in _several("scenarios", given, (Scenario, str))]


def _scenario_of(one: Any) -> Scenario:
    if isinstance(one, Scenario):
        return one
    mechanism = one.removesuffix(_TEST) if isinstance(one, str) else None
    if mechanism not in MECHANISMS:
        names = ", ".join(repr(name) for name in MECHANISMS)
        raise ValueError(
            f"scenarios must hold what in_both, in_test or shifted make, or one of {names}, with {_TEST!r} after it "
            f"for holes in the test only; got {one!r}"
        )
    return in_test(mechanism) if one.endswith(_TEST) else in_both(mechanism)


def rates_of(given: Any) -> list[float]:
    """Return the rates in order, 0 among them.

    Examples
    --------
    >>> rates_of(0.1 + 0.2)
    [0.0, 0.3]
    """
    found = {0.0}
    for rate in _several("rates", given, Real, or_none=True):
        share = float(rate) if isinstance(rate, Real) else math.nan
        if not 0 <= share <= 1:
            hint = f"; {share:g} percent is {share / 100:g}" if 1 < share <= 100 else ""
            raise ValueError(f"rates must be shares between 0 and 1, got {rate!r}{hint}")
        found.add(round(share, 9))
    return sorted(found)


def methods_of(given: Any) -> dict[str, Any]:
    """Return the methods by name; strategies may be given by their names alone.

    Examples
    --------
    >>> methods_of(["trinary", "mia"])
    {'trinary': 'trinary', 'mia': 'mia'}
    """
    if isinstance(given, Mapping):
        methods = dict(given)
    else:
        names = _several("methods", given, str)
        unnamed = [one for one in names if not isinstance(one, str)]
        if unnamed:
            raise TypeError(
                f"methods must name what is no strategy, as in {{'mine': {type(unnamed[0]).__name__}()}}; got a list"
            )
        methods = {name: name for name in names}
    if not methods:
        raise ValueError("methods is empty; name at least one")
    return methods


def seeds_of(given: Any) -> list[int]:
    """Return the seeds; a number is how many of them.

    Examples
    --------
    >>> seeds_of(3), seeds_of([7])
    ([0, 1, 2], [7])
    """
    if isinstance(given, Integral):
        check_int("seeds", given, 1)
        return list(range(int(given)))
    seeds = _several("seeds", given, Integral)
    for seed in seeds:
        check_int("a seed", seed, 0)
    return [int(seed) for seed in seeds]


def folds_of(given: Any) -> Folds:
    """Return how rows are parted; a number is how many folds.

    Examples
    --------
    >>> folds_of(5)
    Folds(n=5, seed=11)
    """
    return given if isinstance(given, Folds) else Folds(given)


def _several(name: str, given: Any, kind: type | tuple[type, ...], *, or_none: bool = False) -> list[Any]:
    """Return what was given as a list, also if it is one of its kind; an empty one is refused unless it may be."""
    # a table is a sequence of its columns' names, which nobody means
    is_one = isinstance(given, (kind, str)) or hasattr(given, "columns")
    if is_one or not isinstance(given, Iterable):
        return [given]
    found = list(given)
    if not found and not or_none:
        raise ValueError(f"{name} is empty; give at least one")
    return found
