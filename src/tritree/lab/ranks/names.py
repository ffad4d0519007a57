"""What methods and scenarios are called, and the order in which they are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritree.lab.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "METHODS",
    "PAPER_NAMES",
    "SCENARIOS",
    "kind_of",
    "method_order",
    "paper_name",
    "scenario_name",
    "scenario_order",
]

#: The methods that tritree knows, in the paper's order; those of forests and boosting have their kind before them.
METHODS = ("majority", "mia", "fractional", "trinary", "trinary_mia", "surrogate", "discard")
_ALL_METHODS = METHODS + tuple(f"{kind}:{method}" for kind in KINDS for method in METHODS)
#: The scenarios of the paper, in its order, and then those of the lab.
SCENARIOS = ("mcar", "mcar_test", "im", "im_test", "mar", "mar_test", "mnar", "mnar_test", "predictive")

#: What the paper calls the methods, and what it might have called the rest.
PAPER_NAMES = {
    "majority": "Majority",
    "mia": "MIA",
    "fractional": "FC",
    "trinary": "Trinary",
    "trinary_mia": "TrinaryMIA",
    "surrogate": "Surrogate",
    "discard": "Discard",
}
PAPER_NAMES |= {f"{kind}:{method}": f"{PAPER_NAMES[method]} {kind}" for kind in KINDS for method in METHODS}
_MECHANISMS = {"mcar": "MCAR", "im": "IM", "mar": "MAR", "mnar": "MNAR", "predictive": "Predictive"}
_SHIFT = " → "


def paper_name(method: str) -> str:
    """Return what the paper calls a method; one that it does not know keeps its name.

    Examples
    --------
    >>> paper_name("fractional"), paper_name("boosting:mia"), paper_name("LightGBM")
    ('FC', 'MIA boosting', 'LightGBM')
    """
    return PAPER_NAMES.get(method, method)


def kind_of(method: str) -> tuple[str, str] | None:
    """Return the kind of model and the strategy that a name tells; None if it is a name of the user's own.

    Whoever calls a method "boosting" may mean that of another library.

    Examples
    --------
    >>> kind_of("mia"), kind_of("boosting:mia"), kind_of("boosting")
    (('tree', 'mia'), ('boosting', 'mia'), None)
    """
    if method not in _ALL_METHODS:
        return None
    kind, _, strategy = method.rpartition(":")
    return kind or "tree", strategy


def scenario_name(scenario: str) -> str:
    """Return a scenario as the paper writes it.

    Examples
    --------
    >>> scenario_name("mcar_test"), scenario_name("mcar → mnar"), scenario_name("as in production")
    ('MCARTest', 'MCAR → MNAR', 'as in production')
    """
    if _SHIFT in scenario:
        return _SHIFT.join(map(scenario_name, scenario.split(_SHIFT)))
    mechanism, is_test = scenario.removesuffix("_test"), scenario.endswith("_test")
    if mechanism not in _MECHANISMS:
        return scenario
    return _MECHANISMS[mechanism] + ("Test" if is_test else "")


def method_order(methods: Iterable[str]) -> list[str]:
    """Return the methods once each: those of the paper in its order, kind by kind, then the others by the alphabet."""
    return _ordered(methods, _ALL_METHODS)


def scenario_order(scenarios: Iterable[str]) -> list[str]:
    """Return the scenarios once each: those of the paper in its order, then the others by the alphabet."""
    return _ordered(scenarios, SCENARIOS)


def _ordered(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    place = {name: i for i, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (place.get(name, len(known)), name.casefold(), name))
