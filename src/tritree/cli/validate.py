"""Validation: the scores of a model on rows that it was not fitted to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.cli.messages import UserError
from tritree.cli.scores import (
    choose,
    constant_scores,
    metrics_of,
    remove_cells,
    removed_label,
    score_rows,
    take,
)
from tritree.inspection.formatting import count
from tritree.validation import STRATEGIES_WITH_THIRD_BRANCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tritree.cli.scores import Metrics, Rows
    from tritree.cli.training import TrainingData

#: Fraction of the rows to hold out, and the maximum number of them, unless an option says otherwise.
_TEST_SIZE, _MAX_HELD_OUT = 0.25, 50_000
#: Maximum number of rows from which cells are removed. A row may need third branches that no other row needs, and those
#: of 1,000 rows take longer to grow than boosting takes to fit, and much longer in a forest.
_MAX_REMOVED = {"tree": 50_000, "boosting": 2_000, "forest": 500}
_LABELS = {
    "held_out": "held-out rows",
    "cross_validation": "cross-validated",
    "out_of_bag": "out-of-bag",
}


@dataclass(frozen=True)
class Validation:
    """How a model is validated: a forest out of bag and others on held-out rows, unless an option is given."""

    #: Fraction of the rows to hold out; None if not given.
    test_size: float | None = None
    #: Number of folds of cross-validation; None if not given.
    folds: int | None = None
    #: Fraction of the cells to remove in a second score; 0 for none.
    removed_fraction: float = 0.3
    seed: int = 0


def validate(model: Any, kind: str, data: TrainingData, options: Validation) -> dict[str, Any]:
    """Return the scores of a fitted model on rows that it was not fitted to, as plain data.

    In a forest, the trees that were not fitted to a row predict it. Else the scores are those of a model that is fitted
    to a part of the rows. Raise a UserError if there are too few rows.
    """
    is_out_of_bag = kind == "forest" and options.test_size is None and options.folds is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has issued them already
        if is_out_of_bag:
            return {"method": "out_of_bag", "folds": None} | _score_out_of_bag(model, data, options)
        max_removed = max(1, _max_removed(model, kind) // (options.folds or 1))
        scores = []
        for train, test in ((take(data, rows) for rows in split) for split in _splits(data, options)):
            part = _fit_part(model, train)
            found = score_rows(part, test, options.removed_fraction, options.seed, max_removed)
            scores.append(found | {"constant": constant_scores(part, train, test)})
    method = "held_out" if options.folds is None else "cross_validation"
    return {"method": method, "folds": options.folds} | _mean(scores)


def _score_out_of_bag(model: Any, data: TrainingData, options: Validation) -> dict[str, Any]:
    is_single = _is_single(data)

    def score(features: Any, chosen: Rows | None) -> tuple[int, Metrics]:
        predicted = model._predict_out_of_bag(features, data.target, data.weights, chosen)
        found = np.flatnonzero(~np.isnan(predicted[:, 0]) & ~is_single)
        return len(found), metrics_of(model, take(data, found), predicted[found])

    try:
        n_rows, unchanged = score(data.features, None)
    except ValueError as error:
        raise UserError(
            "every row was drawn for every tree, so none is out of bag; use more --trees, or --test-size 0.25"
        ) from error
    scores = {"rows": n_rows, "unchanged": unchanged, "removed_fraction": options.removed_fraction}
    scores |= {"removed_rows": None, "removed": None, "constant": constant_scores(model, data, data)}
    if options.removed_fraction:
        chosen = choose(len(data.target), _max_removed(model, "forest"), options.seed)
        n_rows, removed = score(remove_cells(data.features, options.removed_fraction, options.seed), chosen)
        scores |= {"removed_rows": n_rows, "removed": removed}
    return scores


def _max_removed(model: Any, kind: str) -> int:
    is_slow = model.missing in (*STRATEGIES_WITH_THIRD_BRANCH, "fractional")
    return _MAX_REMOVED[kind if is_slow else "tree"]


def _fit_part(model: Any, train: TrainingData) -> Any:
    from sklearn.base import clone

    part = clone(model)
    part.unknown_category = "no_information"  # the other rows may have categories that these lack
    return part.fit(train.features, train.target, train.weights)


def _splits(data: TrainingData, options: Validation) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows to fit to and the rows to score, stratified by class; a class of one row is only fitted to."""
    from sklearn.model_selection import KFold, StratifiedKFold

    is_single = _is_single(data)
    rows, single = np.flatnonzero(~is_single), np.flatnonzero(is_single)
    if not len(rows):
        raise UserError("every class has only one row")
    labels = None if data.task == "regression" else np.unique(data.target[rows], return_inverse=True)[1]
    if options.folds is None:
        splits = [_hold_out(len(rows), labels, options)]
    else:
        _check_folds(options.folds, len(rows), labels)
        make_folds = KFold if labels is None else StratifiedKFold
        splits = make_folds(options.folds, shuffle=True, random_state=options.seed).split(rows, labels)
    for train, test in splits:
        yield np.concatenate([rows[train], single]), rows[test]


def _is_single(data: TrainingData) -> NDArray[np.bool_]:
    """Return which rows are the only ones of their class: a model that is not fitted to them cannot know it."""
    if data.task == "regression":
        return np.zeros(len(data.target), dtype=bool)
    _, codes, n_rows = np.unique(data.target, return_inverse=True, return_counts=True)
    return np.asarray(n_rows[codes] == 1)


def _hold_out(n_rows: int, labels: NDArray[Any] | None, options: Validation) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    size = options.test_size or min(_TEST_SIZE, _MAX_HELD_OUT / max(n_rows, 1))
    try:
        train, test = train_test_split(
            np.arange(n_rows), test_size=size, random_state=options.seed, stratify=labels
        )
    except ValueError as error:
        classes = "" if labels is None else f" of {count(int(labels.max()) + 1, 'class', 'classes')}"
        remedies = ["use more rows"]
        if options.test_size is not None:
            remedies.append("another --test-size")
        if n_rows > 1:
            remedies.append("--cv 2")
        raise UserError(
            f"{100 * size:.3g}% of {count(n_rows, 'row')}{classes} cannot be held out; {', or '.join(remedies)}"
        ) from error
    return train, test


def _check_folds(folds: int, n_rows: int, labels: NDArray[Any] | None) -> None:
    of_what = "rows"
    if labels is not None:
        n_rows, of_what = int(np.bincount(labels).max()), "rows of the largest class"
    if n_rows < folds:
        raise UserError(f"there are {n_rows:,} {of_what}, too few for --cv {folds}")


def _mean(scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the means of the metrics over folds, and the sums of the numbers of rows."""
    found = dict(scores[0])
    for name, value in found.items():
        values = [part[name] for part in scores]
        if isinstance(value, dict):
            found[name] = {key: _mean_defined([part[key] for part in values]) for key in value}
        elif name in ("rows", "removed_rows") and value is not None:
            found[name] = sum(values)
    return found


def _mean_defined(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


# ---- text


def validation_lines(scores: dict[str, Any]) -> dict[str, Metrics]:
    """Return the metrics of a validation by their labels."""
    lines = {_LABELS[scores["method"]]: scores["unchanged"]}
    if scores["removed"] is not None:
        lines[removed_label(scores)] = scores["removed"]
    return lines


def validation_notes(scores: dict[str, Any], n_rows: int) -> list[str]:
    """Return what a reader has to know about the scores of a validation."""
    all_rows = "the model in the file is fitted to all rows"
    notes = {
        "held_out": f"held-out rows: {scores['rows']:,} of {n_rows:,}; {all_rows}",
        "cross_validation": f"cross-validated: mean of {scores['folds']} folds; {all_rows}",
        "out_of_bag": "out-of-bag: each row is predicted by the trees that were not fitted to it",
    }
    found = [notes[scores["method"]]]
    if scores["removed"] is not None and scores["removed_rows"] < scores["rows"]:
        found.append(f"cells are removed at random, from {scores['removed_rows']:,} of these rows")
    loss, name = ("rmse", "RMSE") if "rmse" in scores["unchanged"] else ("log_loss", "log loss")
    if scores["unchanged"][loss] >= scores["constant"][loss]:
        found.append(
            f"caution: the {name} is no lower than that of a constant prediction; try another --model, or a lower "
            "--max-depth"
        )
    return found
