"""What is run: sets, scenarios, mechanisms, rates, methods, folds and seeds, as experiments of the laboratory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.rivals import LIBRARIES, Size, methods
from benchmarks.accuracy.ways import WAYS
from tritree.lab import Experiment, Folds, in_both, in_test, shifted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tritree.lab import Dataset
    from tritree.lab.scenarios import Scenario

__all__ = [
    "FAMILIES",
    "MECHANISMS",
    "QUICK_SETS",
    "RATES",
    "Part",
    "Plan",
    "experiments",
    "quick",
    "scenario",
]

#: Where holes are: in test only, alike in both, or made in another way in test than in training.
FAMILIES = ("test only", "both", "shift")
#: How the holes of the test come about.
MECHANISMS = ("mcar", "mar", "mnar", "im")
RATES = (0.1, 0.3, 0.5)
#: Few enough for a few minutes, and of every kind: numbers, two classes, three; categories; holes of their own.
QUICK_SETS = ("auto_mpg", "boston_housing", "cement", "titanic", "seeds", "horse_colic")

_BETWEEN = ": "  # family and mechanism in the name of a scenario


@dataclass(frozen=True)
class Part:
    """Scenarios that are tried at the same rates."""

    families: tuple[str, ...] = FAMILIES
    mechanisms: tuple[str, ...] = MECHANISMS
    rates: tuple[float, ...] = RATES


@dataclass(frozen=True)
class Plan:
    """All that is to be run."""

    sets: tuple[str, ...] = SETS
    parts: tuple[Part, ...] = (Part(),)
    libraries: tuple[str, ...] = tuple(LIBRARIES)
    ways: tuple[str, ...] = tuple(WAYS)
    folds: int = 3
    seeds: int = 1
    size: Size = Size()  # noqa: RUF009 - it cannot be changed
    #: The most rows of a set; more are sampled.
    rows: int = 2_000


def quick() -> Plan:
    """Return a plan of a few minutes."""
    return Plan(
        sets=QUICK_SETS,
        libraries=tuple(
            name for name in LIBRARIES if name != "Deep forest"
        ),  # which takes a third of the time
        parts=(
            Part(("test only",), ("mcar",), (0.5,)),
            Part(("both",), ("mcar",), (0.3,)),
            Part(("shift",), ("mnar",), (0.3,)),
        ),
    )


def scenario(family: str, mechanism: str) -> Scenario:
    """Return the scenario of a family in which the test's holes come about by a mechanism.

    In "shift" training's holes are made completely at random, or, where the test's are, by their own value.

    Examples
    --------
    >>> scenario("shift", "im").to_dict()["training"]["mechanism"], scenario("shift", "mcar").name
    ('mcar', 'shift: mcar')
    """
    name = f"{family}{_BETWEEN}{mechanism}"
    if family == "test only":
        return in_test(mechanism, name=name)
    if family == "both":
        return in_both(mechanism, name=name)
    if family == "shift":
        return shifted("mnar" if mechanism == "mcar" else "mcar", mechanism, name=name)
    raise ValueError(f"there is no scenario {family!r}; there are {', '.join(FAMILIES)}")


def parted_name(name: str) -> tuple[str, str]:
    """Return the family and the mechanism that a scenario is called after.

    Examples
    --------
    >>> parted_name("test only: mcar")
    ('test only', 'mcar')
    """
    family, _, mechanism = name.partition(_BETWEEN)
    return family, mechanism


def experiments(plan: Plan, datasets: Sequence[Dataset], store: Any) -> Iterator[Experiment]:
    """Yield the experiments: one set after the other, so that one that is stopped has some of them whole."""
    for dataset in datasets:
        made = methods(dataset.task, plan.libraries, plan.ways, plan.size)
        for part in plan.parts:
            yield Experiment(
                datasets=[dataset],
                scenarios=[scenario(family, how) for family in part.families for how in part.mechanisms],
                rates=part.rates,
                methods=made,
                seeds=plan.seeds,
                depth=plan.size.depth,
                folds=Folds(plan.folds),
                store=store,
            )
