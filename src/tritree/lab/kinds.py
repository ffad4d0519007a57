"""The models that an experiment makes by itself, and their names: one tree, a forest or boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tritree.estimators.boosting import TrinaryBoostingClassifier, TrinaryBoostingRegressor
from tritree.estimators.forest import TrinaryForestClassifier, TrinaryForestRegressor
from tritree.estimators.tree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.validation import BOOSTING_STRATEGIES, STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "DISCARD",
    "KINDS",
    "OWN_DEPTH",
    "TREE_CLASSES",
    "Asked",
    "asked",
    "check_options",
    "facts_of",
    "make_model",
    "strategies_of",
]

#: The kinds of models, in the order in which they are listed.
KINDS = ("tree", "forest", "boosting")
#: The baseline that learns from complete rows only, in place of a strategy.
DISCARD = "discard"
#: The depth of a model that has one of its own.
OWN_DEPTH = "own"

_MIN_SAMPLES_LEAF = 20  # of a tree; forests and boosting have their own
#: The regressor and the classifier of single trees.
TREE_CLASSES: tuple[Any, Any] = (TrinaryTreeRegressor, TrinaryTreeClassifier)
_CLASSES: dict[str, tuple[Any, Any]] = {
    "tree": TREE_CLASSES,
    "forest": (TrinaryForestRegressor, TrinaryForestClassifier),
    "boosting": (TrinaryBoostingRegressor, TrinaryBoostingClassifier),
}
#: What each kind calls the number of its trees.
_TREES = {"forest": "n_estimators", "boosting": "max_iter"}


class Asked(NamedTuple):
    """A model that was asked for: its kind, and a strategy or "discard"."""

    kind: str
    strategy: str


def asked(name: str) -> Asked | None:
    """Return the model that a name asks for; None if there is no such model.

    A strategy alone is that of a tree, a kind alone has the strategy that its estimators have.

    Examples
    --------
    >>> asked("mia")
    Asked(kind='tree', strategy='mia')
    >>> asked("boosting:mia")
    Asked(kind='boosting', strategy='mia')
    >>> asked("boosting")
    Asked(kind='boosting', strategy='trinary_mia')
    """
    kind, colon, strategy = name.partition(":")
    if not colon and kind in KINDS:
        strategy = _CLASSES[kind][0]().missing
    elif not colon:
        kind, strategy = "tree", name
    return Asked(kind, strategy) if kind in KINDS and strategy in strategies_of(kind) else None


def strategies_of(kind: str) -> tuple[str, ...]:
    """Return what a kind of model may do about missing values, "discard" last."""
    return (*(BOOSTING_STRATEGIES if kind == "boosting" else STRATEGIES), DISCARD)


def make_model(
    model: Asked,
    task: str,
    depth: Any,
    options: Mapping[str, Any],
    tree_classes: tuple[Any, Any] = TREE_CLASSES,
) -> Any:
    """Return an estimator, not fitted: of the options it gets those that are parameters of its own.

    ``trees`` is the number of trees of a forest, and of rounds of boosting. ``criterion`` is for classes only.
    ``depth`` may be `OWN_DEPTH`.
    """
    classes = tree_classes if model.kind == "tree" else _CLASSES[model.kind]
    kind = classes[task != "regression"]
    own: dict[str, Any] = (
        {"min_samples_leaf": _MIN_SAMPLES_LEAF} if model.kind == "tree" else {"random_state": 0}
    )
    for option, value in options.items():
        name = _parameter(option, model.kind)
        if name in kind._get_param_names() and not (name == "criterion" and task == "regression"):
            own[name] = value
    if depth != OWN_DEPTH:
        own["max_depth"] = depth
    strategy = "trinary" if model.strategy == DISCARD else model.strategy
    return kind(missing=strategy, **({"n_jobs": 1} | own))


def facts_of(estimator: Any) -> dict[str, Any]:
    """Return what a model is made of, in a few numbers: its trees, how deep they are, and how they grow."""
    model = getattr(estimator, "estimator", estimator)  # that of the baseline
    names = (*_TREES.values(), "learning_rate", "max_depth", "min_samples_leaf")
    return {name: value for name, value in model.get_params().items() if name in names}


def _parameter(option: str, kind: str) -> str:
    return _TREES.get(kind, option) if option == "trees" else option


def check_options(options: Collection[str], kinds: Collection[str]) -> None:
    """Raise a ValueError if there is an option that none of some kinds of models has."""
    for option in options:
        having = [kind for kind in KINDS if _parameter(option, kind) in _parameters(kind)]
        if not having:
            raise ValueError(f"options has {option!r}, which is no parameter of a tree, a forest or boosting")
        if kinds and not set(having) & set(kinds):
            raise ValueError(
                f"options has {option!r}, which is for {' and '.join(having)}, and methods has none such; leave it "
                "out, or add one"
            )


def _parameters(kind: str) -> set[str]:
    return {name for one in _CLASSES[kind] for name in one._get_param_names()}
