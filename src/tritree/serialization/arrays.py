"""The arrays of a model file: the state of the core's model, written and read, with every split checked.

================  ==================================================================================================
arrays            what they hold
================  ==================================================================================================
trees.*           the nodes of all trees, those of one tree after those of another
ladders.*, data.* what single trees and forests grow third branches from: ladders, binned training rows and target
bins.*            the bins of boosting, and its binned background rows
distributions.*   histograms of the training target in nodes, if the training rows are not in the file
importances       feature importances of a tree or a forest, if they were computed
================  ==================================================================================================
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tritree import _core
from tritree.errors import ModelFileError
from tritree.estimators.growing_model import GrowingModel
from tritree.serialization.description import JsonObject, first_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder

__all__ = ["check_growth_parameters", "get_state", "restore_model"]

Array: TypeAlias = "NDArray[Any]"
Arrays = dict[str, Array]

_LADDER_PARTS, _BOOSTING_PARTS = ("trees", "ladders", "data", "distributions"), ("trees", "bins")
_LARGEST_FLOAT = sys.float_info.max
#: Growth parameters that do not follow from those of the estimator: the seed is drawn, trees of a forest that are saved
#: one by one keep the limits of their forest, trees of the paper's runs are loaded as ordinary ones, and forests of
#: earlier versions have surrogates that were found on all rows.
_MAY_DIFFER = frozenset(
    {
        "seed",
        "keep_best_split_only",
        "max_third_nodes",
        "surrogate_rows",
        "min_missing_third",
        "as_in_paper_runs",
    }
)
#: What the core raises if a state is inconsistent.
_STATE_ERRORS = (ValueError, TypeError, RuntimeError, OverflowError, KeyError)


# ---- writing


def get_state(model: GrowingModel, training_rows: bool | None) -> tuple[dict[str, Any], Arrays]:
    """Return the entries for the description of a model, and its arrays.

    If ``training_rows`` is None, they are included if there is something left to grow from them.
    """
    if training_rows is None:
        training_rows = not model.is_detached and (not model.is_single or model.n_ungrown > 0)
    if model.is_single and not (training_rows or model.is_detached or model.n_ungrown):
        model.importances(1)  # they need the training rows; where all is grown, computing them grows nothing
    state = model.core.state(with_rows=training_rows)  # without rows if the model is detached meanwhile
    parts = {part: entries for part, entries in state.items() if part in _LADDER_PARTS + _BOOSTING_PARTS}
    arrays = {f"{part}.{name}": array for part in parts for name, array in parts[part].items()}
    if model.importances_ is not None and model.kind != "boosting" and np.isfinite(model.importances_).all():
        arrays["importances"] = model.importances_
    entries = {"growth_parameters": state["params"], "n_rows": state.get("n_rows")}
    if "baseline" in state:
        entries["baseline"] = state["baseline"]
    return entries, arrays


# ---- reading


def restore_model(
    description: JsonObject, arrays: Arrays, encoder: TableEncoder, n_classes: int
) -> GrowingModel:
    """Return the trees of a file, with every array and every index in them checked."""
    family = description.get("estimator", str).partition(" ")[0]
    kind: Any = {"forest": "forest", "boosting": "boosting", "graft": "boosting"}.get(family, "tree")
    importances = arrays.pop("importances", None)
    if importances is not None:
        _check_importances(importances, len(encoder.columns))
    parts: dict[str, Arrays] = {}
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        if part not in (_BOOSTING_PARTS if kind == "boosting" else _LADDER_PARTS) or not entry:
            raise ModelFileError(f"unknown array {name[:40]!r}")
        parts.setdefault(part, {})[entry] = array
    growth_parameters = description.get("growth_parameters", dict)
    growth_parameters.pop("missing_counts_on_both_sides", None)  # of earlier versions, for the paper only
    state: dict[str, Any] = {"params": growth_parameters, **parts}
    if kind == "boosting":
        baseline = description.get("baseline", list)
        # an integer may be too large for a float
        if any(type(value) not in (int, float) or abs(value) > _LARGEST_FLOAT for value in baseline):
            raise ModelFileError("'baseline' must be finite numbers")
        state["baseline"] = list(map(float, baseline))
    else:
        n_rows = description.get_or_none("n_rows", int)
        if not (n_rows is not None) == ("ladders" in parts) == ("data" in parts):
            raise ModelFileError("its training rows are incomplete")
        state |= {"n_columns": len(encoder.columns), "n_rows": n_rows}
        if state["params"].get("n_classes") != n_classes:
            raise ModelFileError("its classes do not match its trees")
    core_class = _core.BoostedModel if kind == "boosting" else _core.LadderModel
    try:
        core = core_class.from_state(state)
    except _STATE_ERRORS as error:
        raise ModelFileError(f"its arrays are inconsistent: {first_line(error)}") from error
    if kind == "tree" and core.n_trees != 1:
        raise ModelFileError("its arrays do not match its trees")
    model = GrowingModel(core, kind, importances=importances)
    _check_model(model, parts, encoder)
    return model


def check_growth_parameters(
    estimator: Any, encoder: TableEncoder, classes: Array | None, model: GrowingModel
) -> None:
    """Raise a ModelFileError unless the trees were grown by the parameters of the estimator."""
    try:
        expected = estimator._growth_parameters(encoder, classes).to_dict()
    except _STATE_ERRORS as error:
        raise ModelFileError(f"its parameters do not match its columns: {first_line(error)}") from error
    if model.kind == "boosting" and model.n_outputs != estimator._n_outputs(estimator._params(), classes):
        raise ModelFileError("its classes do not match its trees")
    found = model.core.params
    for name, value in expected.items():
        if name not in _MAY_DIFFER and found[name] != value:
            raise ModelFileError(f"{name} of its trees is {found[name]!r}, and its parameters say {value!r}")


# ---- checks that need the encoder; everything else is checked by the core


def _check_model(model: GrowingModel, parts: Mapping[str, Arrays], encoder: TableEncoder) -> None:
    """Raise a ModelFileError unless every split, grown or to be grown, is possible for its column."""
    for part in ("data", "bins"):
        if part in parts:
            _check_bins(encoder, parts[part])
    for tree in model.trees():
        is_split = tree.column >= 0
        _check_splits(
            encoder,
            tree.column[is_split],
            tree.threshold[is_split],
            tree.set_begin[is_split],
            tree.set_words[is_split],
            tree.sets,
        )
        _check_splits(
            encoder,
            tree.surrogate_column,
            tree.surrogate_threshold,
            tree.surrogate_set_begin,
            tree.surrogate_set_words,
            tree.sets,
        )
        _check_evidence(encoder, tree)
    if "ladders" in parts:
        _check_candidates(parts["ladders"], encoder)


def _check_importances(importances: Array, n_columns: int) -> None:
    if importances.dtype != np.float64 or importances.shape != (n_columns,):
        raise ModelFileError("its importances are not one number per column")
    if not (np.isfinite(importances).all() and (importances >= 0).all()):
        raise ModelFileError("its importances are not finite numbers of at least 0")
    if importances.any() and abs(importances.sum() - 1) > 1e-6:
        raise ModelFileError("its importances do not add up to 1")


def _check_bins(encoder: TableEncoder, bins: Arrays) -> None:
    """Raise a ModelFileError unless binned rows have the columns and categories of the encoder."""
    n_categories, n_bins = np.array(encoder.n_categories), bins["n_bins"]
    if len(n_bins) != len(n_categories):
        raise ModelFileError("its columns do not match its training rows")
    expected = n_categories >= 0
    if ((bins["categorical"] != 0) != expected).any() or (n_bins != n_categories)[expected].any():
        raise ModelFileError("its categories do not match its training rows")


def _check_evidence(encoder: TableEncoder, tree: _core.Tree) -> None:
    """Raise a ModelFileError unless the groups of evidence are intervals of numbers, or categories of the column."""
    counts = np.diff(tree.evidence_group_end, prepend=0)
    n_categories = np.repeat(np.array(encoder.n_categories)[tree.evidence_column], counts)
    is_first = np.zeros(len(tree.evidence_key), dtype=bool)
    is_first[tree.evidence_group_end - counts] = True
    key = tree.evidence_key
    is_interval = (key == -np.inf) == is_first
    if not np.where(n_categories < 0, is_interval, (key >= 0) & (key < n_categories)).all():
        raise ModelFileError("evidence does not match its column")


def _check_candidates(ladders: Arrays, encoder: TableEncoder) -> None:
    """Raise a ModelFileError unless the splits of ladders, from which third branches grow, are possible."""
    column = ladders.get("column", np.empty(0, np.int32))
    n_categories = np.array(encoder.n_categories)[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    begin = np.where(n_categories < 0, -1, np.cumsum(2 * words) - 2 * words)
    sets = ladders.get("sets", np.empty(0, np.uint64))
    _check_splits(encoder, column, ladders.get("threshold", np.empty(0)), begin, words, sets)


def _check_splits(
    encoder: TableEncoder, column: Array, threshold: Array, set_begin: Array, set_words: Array, sets: Array
) -> None:
    """Raise a ModelFileError unless columns are split as they can be: at a threshold, between ranks, or by sets.

    The threshold of a split of missing against observed is -inf. A set has one bit per category.
    """
    n_categories = np.array(encoder.n_categories)[column]
    n_ranks = np.array([-1 if c.order is None else len(c.order) for c in encoder.columns])[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    is_valid = ((set_begin < 0) == (n_categories < 0)).all() and (set_words == words).all()
    if is_valid:
        end = np.where(n_ranks < 0, np.inf, n_ranks)
        is_between = ((n_ranks < 0) | (threshold > 0)) & (np.ceil(threshold) < end)
        has_sets = words > 0
        begin, words, n_categories = set_begin[has_sets], words[has_sets], n_categories[has_sets]
        unused_bits = ~(
            np.uint64(2**64 - 1) >> (64 * words - n_categories).astype(np.uint64)
        )  # of the last word
        has_unknown = any((sets[begin + side * words - 1] & unused_bits).any() for side in (1, 2))
        is_valid = ((threshold == -np.inf) | is_between | (set_begin >= 0)).all() and not has_unknown
    if not is_valid:
        raise ModelFileError("a split does not match its column")
