"""The kinds of models that ``tritree fit`` makes, and what each of them is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tritree.cli.fit_options import BY_MODEL
from tritree.cli.messages import Mendable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["make_estimator"]

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
#: What options are that were not given
_SILENT = {"--trees": 100, "--learning-rate": 0.1, "--no-split-on-missing": False, "--max-surrogates": 5}


def make_estimator(kind: str, task: str, options: Mapping[str, Any]) -> Any:
    """Return an estimator of a kind for a task, not fitted, given what the command line says."""
    from tritree.boosting.parameters import MISSING as BOOSTED

    taken, parameters = _TAKEN[kind], {}
    for option, value in options.items():
        if (value is None and option in ("--strategy", "--criterion")) or value == BY_MODEL:
            continue
        if option in taken:
            parameters[taken[option]] = not value if option == "--no-split-on-missing" else value
        elif value != _SILENT.get(option):
            raise Mendable(f"{option} is not for --model {kind}; leave it out")
    if kind != "tree":
        parameters["random_state"] = 0  # the same table and options give the same model
    strategy = parameters.get("missing")
    if kind == "boosting" and strategy is not None and strategy not in BOOSTED:
        raise Mendable(
            f"--strategy {strategy} is not for --model boosting; use {', '.join(BOOSTED[:-1])} or {BOOSTED[-1]}"
        )
    estimator = _class_of(kind, task)
    criterion = parameters.get("criterion")
    if criterion is not None and criterion not in estimator._criteria:
        fitting = " or ".join(estimator._criteria)
        raise Mendable(f"--criterion {criterion} is not for a {task}; use {fitting}, or another --task")
    return estimator(**parameters)


def _class_of(kind: str, task: str) -> Any:
    import tritree

    name = {"tree": "Tree", "forest": "Forest", "boosting": "Boosting"}[kind]
    return getattr(tritree, f"Trinary{name}{'Regressor' if task == 'regression' else 'Classifier'}")
