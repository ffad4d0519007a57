"""The kinds of models that ``tritree fit`` makes and ``tritree compare`` compares, and what each of them is told."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tritree.cli.fit_options import BY_MODEL
from tritree.cli.messages import Mendable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["experiment_options", "make_estimator", "method_names", "options_named"]

#: The options that a kind takes, and the parameters that they are
_COMMON = {
    "--strategy": "missing",
    "--max-depth": "max_depth",
    "--min-samples-leaf": "min_samples_leaf",
    "--max-bins": "max_bins",
    "--unknown-category": "unknown_category",
    "--n-jobs": "n_jobs",
}
_OF_TREES = {
    "--criterion": "criterion",
    "--no-split-on-missing": "split_on_missing",
    "--max-surrogates": "max_surrogates",
}
_TAKEN = {
    "tree": _COMMON | _OF_TREES,
    "forest": _COMMON | _OF_TREES | {"--trees": "n_estimators"},
    "boosting": _COMMON | {"--trees": "max_iter", "--learning-rate": "learning_rate"},
}


def make_estimator(kind: str, task: str, options: Mapping[str, Any], given: Collection[str]) -> Any:
    """Return an estimator of a kind for a task, not fitted; ``given`` are the options that the command line has."""
    from tritree.estimators.boosting.parameters import MISSING as BOOSTED

    taken = _TAKEN[kind]
    parameters: dict[str, Any] = {}
    for option, value in options.items():
        _check_taken(option, [kind], given)
        if option in taken and not _is_silent(option, value):
            parameters[taken[option]] = not value if option == "--no-split-on-missing" else value
    if kind != "tree":
        parameters["random_state"] = 0  # the same table and options give the same model
    strategy = parameters.get("missing")
    if kind == "boosting" and strategy is not None and strategy not in BOOSTED:
        raise _not_for(strategy, kind)
    estimator = _class_of(kind, task)
    _check_criterion(parameters.get("criterion"), estimator, task)
    return estimator(**parameters)


def method_names(kinds: Sequence[str], strategies: Sequence[str] | None) -> list[str]:
    """Return what an experiment compares, by name: kinds of models, with all of their strategies or those named."""
    from tritree.lab.kinds import strategies_of
    from tritree.lab.ranks.names import METHODS

    names = []
    for kind in dict.fromkeys(kinds):
        having = [name for name in METHODS if name in strategies_of(kind)]
        found = [name for name in having if not strategies or name in strategies]
        if not found:
            raise _not_for(" and ".join(strategies or ()), kind)
        names += [name if kind == "tree" else f"{kind}:{name}" for name in found]
    return names


def experiment_options(
    kinds: Sequence[str], task: str, options: Mapping[str, Any], given: Collection[str]
) -> dict[str, Any]:
    """Return the options of an experiment that compares kinds of models; ``given`` are those the command line has."""
    names = {"--criterion": "criterion", "--min-samples-leaf": "min_samples_leaf"}
    names |= {"--trees": "trees", "--learning-rate": "learning_rate"}
    if options["--depth"] == 0 and "boosting" in kinds:
        raise Mendable("--depth 0 is not for --model boosting; use 1 or more")
    found = {}
    for option, name in names.items():
        value = options[option]
        _check_taken(option, kinds, given)
        if any(option in _TAKEN[kind] for kind in kinds) and not _is_silent(option, value):
            found[name] = value
    _check_criterion(found.get("criterion"), _class_of("tree", task), task)
    return found


@contextmanager
def options_named(kind: str) -> Iterator[None]:
    """Word complaints about what a parameter is with the option that sets it, and with none for None."""
    try:
        yield
    except ValueError as error:
        for option, name in _TAKEN[kind].items():
            if str(error).startswith(f"{name} must be "):
                words = str(error).removeprefix(name).replace("None", "none")
                raise Mendable(f"{option}{words}") from error
        raise


def _is_silent(option: str, value: Any) -> bool:
    """Return whether nothing was said, and the kind of model decides."""
    return (value is None and option in ("--strategy", "--criterion")) or value == BY_MODEL


def _check_taken(option: str, kinds: Sequence[str], given: Collection[str]) -> None:
    """Raise a Mendable if an option was given that is for none of some kinds."""
    if option in given and not any(option in _TAKEN[kind] for kind in kinds):
        raise Mendable(f"{option} is not for {_named(kinds)}; leave it out")


def _not_for(strategy: str, kind: str) -> Mendable:
    """Return what is said of a strategy that a kind does not have; trees and forests have them all."""
    from tritree.estimators.boosting.parameters import MISSING as BOOSTED

    remedy = f"use {', '.join(BOOSTED[:-1])} or {BOOSTED[-1]}"
    return Mendable(f"--strategy {strategy} is not for --model {kind}; {remedy}")


def _named(kinds: Sequence[str]) -> str:
    return " or ".join(f"--model {kind}" for kind in dict.fromkeys(kinds))


def _check_criterion(criterion: str | None, estimator: Any, task: str) -> None:
    """Raise a Mendable if a loss is not for the task."""
    if criterion is not None and criterion not in estimator._criteria:
        fitting = " or ".join(estimator._criteria)
        raise Mendable(f"--criterion {criterion} is not for a {task}; use {fitting}, or another --task")


def _class_of(kind: str, task: str) -> Any:
    import tritree

    name = {"tree": "Tree", "forest": "Forest", "boosting": "Boosting"}[kind]
    return getattr(tritree, f"Trinary{name}{'Regressor' if task == 'regression' else 'Classifier'}")
