"""Names of methods and scenarios: their order, their display form, and lists of names in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritree.inspection.formatting import as_name
from tritree.lab.methods import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The methods of tritree in the paper's order; those of forests and boosting are prefixed by the kind of model.
METHODS = ("majority", "mia", "fractional", "trinary", "trinary_mia", "surrogate", "complete_case")
_ALL_METHODS = METHODS + tuple(f"{kind}:{method}" for kind in MODELS for method in METHODS)
_SCENARIOS = ("mcar", "mcar_test", "im", "im_test", "mar", "mar_test", "mnar", "mnar_test", "predictive")

_IN_PAPER = ("Majority", "MIA", "FC", "Trinary", "TrinaryMIA", "Surrogate", "Complete case")
#: Methods as the paper writes them, with the kind of model appended.
DISPLAY_NAMES = dict(zip(METHODS, _IN_PAPER, strict=True))
DISPLAY_NAMES |= {f"{kind}:{name}": f"{DISPLAY_NAMES[name]} {kind}" for kind in MODELS for name in METHODS}
_MECHANISMS = {"mcar": "MCAR", "im": "IM", "mar": "MAR", "mnar": "MNAR", "predictive": "Predictive"}
_SHIFT = " → "

_MAX_LISTED = 4  # names in a sentence; the rest are counted
_MAX_WIDTH = 40  # letters of a name in a sentence


def parse_method(method: str) -> tuple[str, str] | None:
    """Return the kind of model and the strategy of a method of tritree; None for any other name.

    "boosting" alone is not parsed: the user may have given that name to another library's model.
    """
    kind, _, strategy = method.rpartition(":")
    return (kind or "tree", strategy) if method in _ALL_METHODS else None


def scenario_name(scenario: str) -> str:
    """Return a scenario as the paper writes it."""
    if _SHIFT in scenario:
        return _SHIFT.join(map(scenario_name, scenario.split(_SHIFT)))
    mechanism = scenario.removesuffix("_test")
    if mechanism not in _MECHANISMS:
        return scenario
    return _MECHANISMS[mechanism] + ("Test" if scenario.endswith("_test") else "")


def scenario_title(scenario: str) -> str:
    """Return a scenario in plain words, for readers who do not know the paper."""
    mechanism = scenario.removesuffix("_test")
    if mechanism not in _MECHANISMS:
        return scenario
    where = "in training and test" if mechanism == scenario else "in the test only"
    return f"values missing {where} ({scenario})"


def method_order(methods: Iterable[str]) -> list[str]:
    """Return the distinct methods: tritree's in the paper's order, kind by kind, then the others alphabetically."""
    return _ordered(methods, _ALL_METHODS)


def scenario_order(scenarios: Iterable[str]) -> list[str]:
    """Return the distinct scenarios: the paper's in its order, then the others alphabetically."""
    return _ordered(scenarios, _SCENARIOS)


def _ordered(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    position = {name: i for i, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (position.get(name, len(known)), name.casefold(), name))


def join_names(names: Sequence[str], verb: str = "") -> str:
    """Return names as an enumeration, of many only the first few; with the verb "is" or "has" in agreement.

    Examples
    --------
    >>> join_names(["a", "b"]), join_names(["a", "b", "c"], "is"), join_names(list("abcdef"))
    ('a and b', 'a, b and c are', 'a, b, c and 3 more')
    """
    shown = [as_name(name, _MAX_WIDTH) for name in names]
    if len(shown) > _MAX_LISTED:
        shown[_MAX_LISTED - 1 :] = [f"{len(shown) - _MAX_LISTED + 1} more"]
    joined = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
    verb = verb if len(names) == 1 else {"is": "are", "has": "have"}.get(verb, "")
    return f"{joined} {verb}" if verb else joined
