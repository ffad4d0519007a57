"""Small parts of sentences: lists of names, shares, chances."""

from __future__ import annotations

import math

from tritree.inspection.formatting import as_name

__all__ = ["be", "chance", "have", "listed"]

_MOST_NAMED = 4  # names in a sentence; of more the number is told
_WIDEST = 40  # letters of a name


def listed(names: list[str]) -> str:
    """Return names as a part of a sentence, the number of them if they are many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdef"))
    ('a', 'a, b and c', 'a, b, c and 3 more')
    """
    names = [as_name(name, _WIDEST) for name in names]
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def be(names: list[str]) -> str:
    """Return the verb that goes with names."""
    return "is" if len(names) == 1 else "are"


def have(names: list[str]) -> str:
    """Return the verb that goes with names."""
    return "has" if len(names) == 1 else "have"


def chance(p: float, *, equals: bool = False) -> str:
    """Return a p-value with three decimals, and what is less as less.

    Examples
    --------
    >>> chance(0.03125), chance(0.0002), chance(0.5, equals=True), chance(0.0002, equals=True)
    ('0.031', '<0.001', 'p = 0.500', 'p < 0.001')
    """
    if math.isnan(p):
        return "–"
    if p < 0.0005:
        return "p < 0.001" if equals else "<0.001"
    return f"{'p = ' if equals else ''}{p:.3f}"
