"""The arrays of a model file: the state of the core's trees, written and read, with every split checked.

======================  =======================================================================================
arrays                  what they hold
======================  =======================================================================================
tree.*                  the nodes of a single tree, one entry per node
spread.*                histograms of the training target in nodes, if the training rows are not in the file
growth.*                what is needed to grow third branches: binned training rows, target, ladders
<number>.tree.* …       the same of a tree of a forest; its rows and target are in codes.* and table.*
trees.*, rows.*         the nodes of all trees of boosting, and the binned background rows
importances             feature importances of a tree or a forest, if they were computed
======================  =======================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.errors import ModelFileError
from tritree.estimators.growing_model import BinnedRows, BoostingModel, ForestModel, TreeModel
from tritree.serialization.description import JsonObject, first_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tritree.encoder import TableEncoder
    from tritree.estimators.growing_model import GrowingModel

__all__ = ["get_state", "restore_model"]

Arrays = dict[str, "NDArray[Any]"]

#: The parts of a tree's state that are arrays; the rest of it is in the description.
_TREE_PARTS = ("tree", "spread", "growth")
_BOOSTING_PARTS = ("trees", "rows")
#: What the core raises if a state is inconsistent.
_STATE_ERRORS = (ValueError, TypeError, RuntimeError, OverflowError, KeyError)


# ---- writing


def get_state(model: GrowingModel, training_rows: bool | None) -> tuple[dict[str, Any], Arrays]:
    """Return the entries for the description of a model, and its arrays.

    If ``training_rows`` is None, they are included if there is something left to grow from them.
    """
    if isinstance(model, BoostingModel):
        return _get_boosting_state(model, training_rows)
    if isinstance(model, ForestModel):
        state, arrays = _get_forest_state(model, training_rows)
    else:
        assert isinstance(model, TreeModel)
        state, arrays = _get_tree_state(model, training_rows)
    if model.importances_ is not None:
        arrays["importances"] = model.importances_
    return state, arrays


def _get_tree_state(model: TreeModel, training_rows: bool | None) -> tuple[dict[str, Any], Arrays]:
    tree = model.core
    if training_rows is None:
        training_rows = not tree.is_detached and tree.n_ungrown > 0
    if not training_rows and not tree.is_detached and tree.n_ungrown == 0:
        model.importances(
            1
        )  # they need the training rows; where everything is grown, computing them grows nothing
    state = tree.__getstate__()
    if not training_rows:
        state.pop("growth", None)
        if (spread := tree.lasting_spread())["edges"].size:
            state["spread"] = spread
    entries = {
        "settings": state["settings"],
        "n_fitted": state["n_fitted"],
        "n_rows": state["growth"]["n_rows"] if "growth" in state else None,
    }
    return entries, _name_arrays(state, _TREE_PARTS)


def _get_forest_state(model: ForestModel, training_rows: bool | None) -> tuple[dict[str, Any], Arrays]:
    rows = None if training_rows is False else model.rows
    trees, n_rows = [], None
    arrays: Arrays = {}
    for number, tree in enumerate(model.cores):
        state = tree.member_state()
        if rows is None:
            state.pop("growth", None)
        trees.append({"settings": state["settings"], "n_fitted": state["n_fitted"]})
        arrays |= {f"{number}.{name}": array for name, array in _name_arrays(state, _TREE_PARTS).items()}
    if rows is not None:
        codes = rows.codes.__getstate__()
        n_rows = codes.pop("n_rows")
        arrays |= {f"codes.{name}": array for name, array in codes.items()}
        arrays["table.response"] = rows.target
        if rows.weight is not None:
            arrays["table.weight"] = rows.weight
    return {"trees": trees, "n_rows": n_rows}, arrays


def _get_boosting_state(model: BoostingModel, training_rows: bool | None) -> tuple[dict[str, Any], Arrays]:
    state = model.core.state(with_background=training_rows is not False)
    return {name: state[name] for name in ("plan", "baseline")}, _name_arrays(state, _BOOSTING_PARTS)


def _name_arrays(state: Mapping[str, Any], parts: tuple[str, ...]) -> Arrays:
    return {
        f"{part}.{name}": array
        for part in parts
        for name, array in state.get(part, {}).items()
        if isinstance(array, np.ndarray)
    }


# ---- reading


def restore_model(
    description: JsonObject, arrays: Arrays, encoder: TableEncoder, n_classes: int
) -> GrowingModel:
    """Return the trees of a file, with every array and every index in them checked."""
    kind = description.get("estimator", str)
    if kind.startswith("boosting"):
        return _restore_boosting(description, arrays, encoder, n_classes)
    importances = _read_importances(arrays, len(encoder.columns))
    arrays = {name: array for name, array in arrays.items() if name != "importances"}
    if kind.startswith("forest"):
        return _restore_forest(description, arrays, encoder, n_classes, importances)
    parts = _group(arrays, _TREE_PARTS)
    n_rows = description.get_or_none("n_rows", int)
    if (n_rows is None) != ("growth" not in parts):
        raise ModelFileError("its training rows are incomplete")
    model = TreeModel(_restore_tree(description, parts, n_rows, None, encoder, n_classes))
    model.importances_ = importances
    return model


def _group(arrays: Arrays, known_parts: tuple[str, ...] | None = None) -> dict[str, Arrays]:
    """Return the arrays by the part of their names before the first dot."""
    parts: dict[str, Arrays] = {}
    for name, array in arrays.items():
        part, _, entry = name.partition(".")
        if known_parts is not None and part not in known_parts:
            raise ModelFileError(f"unknown array {name[:40]!r}")
        parts.setdefault(part, {})[entry] = array
    return parts


def _restore_tree(
    description: JsonObject,
    parts: Mapping[str, Arrays],
    n_rows: int | None,
    rows: BinnedRows | None,
    encoder: TableEncoder,
    n_classes: int,
) -> _core.Model:
    """Return a tree: a single one, which has ``n_rows`` training rows itself, or one that shares ``rows``."""
    settings = description.get("settings", dict)
    if settings.get("n_classes") != n_classes:
        raise ModelFileError("its classes do not match its trees")
    state: dict[str, Any] = {
        "settings": settings,
        "n_columns": len(encoder.columns),
        "n_fitted": description.get("n_fitted", int),
        **parts,
    }
    if "growth" in parts:
        state["growth"] = parts["growth"] | {"n_rows": n_rows}
    tree = _core.Model.__new__(_core.Model)
    try:
        if rows is None:
            tree.__setstate__(state)
        else:
            tree.__setstate__(state, rows.codes, rows.target, rows.weight)
    except _STATE_ERRORS as error:
        raise ModelFileError(f"its arrays are inconsistent: {first_line(error)}") from error
    _check_tree(tree.tree(), parts.get("growth", {}), encoder)
    return tree


def _restore_forest(
    description: JsonObject,
    arrays: Arrays,
    encoder: TableEncoder,
    n_classes: int,
    importances: NDArray[np.float64] | None,
) -> ForestModel:
    parts, trees = _group(arrays), description.get("trees", list)
    if not trees or set(parts) - {"codes", "table"} != {str(number) for number in range(len(trees))}:
        raise ModelFileError("its arrays do not match its trees")
    rows = _restore_rows(description, parts, encoder, n_classes)
    models = []
    for number, tree in enumerate(trees):
        parts_of_tree = _group(parts[str(number)], _TREE_PARTS)
        if rows is None and "growth" in parts_of_tree:
            raise ModelFileError("its training rows are missing")
        # the rows are shared, a tree itself has none
        models.append(
            _restore_tree(JsonObject(tree, f"tree {number}"), parts_of_tree, 0, rows, encoder, n_classes)
        )
    return ForestModel(models, rows, importances)


def _restore_rows(
    description: JsonObject, parts: Mapping[str, Arrays], encoder: TableEncoder, n_classes: int
) -> BinnedRows | None:
    """Return the training rows that the trees of a forest share; None if the file has none."""
    n_rows = description.get_or_none("n_rows", int)
    if not (n_rows is not None) == ("codes" in parts) == ("table" in parts):
        raise ModelFileError("its training rows are incomplete")
    if n_rows is None:
        return None
    codes = _core.Codes.__new__(_core.Codes)
    try:
        codes.__setstate__(parts["codes"] | {"n_rows": n_rows})
    except _STATE_ERRORS as error:
        raise ModelFileError(f"its training rows are inconsistent: {first_line(error)}") from error
    _check_bins(encoder, np.array(codes.n_codes), parts["codes"]["column_is_categorical"])
    target, weight = parts["table"].get("response"), parts["table"].get("weight")
    if target is None or not _is_vector(target, np.int32 if n_classes else np.float64, n_rows):
        raise ModelFileError("its target does not match its training rows")
    if weight is not None and (not _is_vector(weight, np.float64, n_rows) or (weight < 0).any()):
        raise ModelFileError("its sample weights do not match its training rows")
    return BinnedRows(codes, target, weight)


def _is_vector(array: NDArray[Any], dtype: Any, n_rows: int) -> bool:
    """Return whether an array holds one finite number per row."""
    return array.dtype == dtype and array.shape == (n_rows,) and bool(np.isfinite(array).all())


def _restore_boosting(
    description: JsonObject, arrays: Arrays, encoder: TableEncoder, n_classes: int
) -> BoostingModel:
    plan, baseline = description.get("plan", dict), description.get("baseline", list)
    if any(type(value) not in (int, float) for value in baseline):
        raise ModelFileError("'baseline' must be numbers")
    state: dict[str, Any] = {
        "plan": plan,
        "baseline": list(map(float, baseline)),
        **{part: {} for part in _BOOSTING_PARTS},
        **_group(arrays, _BOOSTING_PARTS),
    }
    try:
        core = _core.Ensemble.from_state(state)
    except _STATE_ERRORS as error:
        raise ModelFileError(f"its arrays are inconsistent: {first_line(error)}") from error
    if core.n_outputs != (n_classes if n_classes > 2 else 1):
        raise ModelFileError("its classes do not match its trees")
    _check_bins(encoder, state["rows"]["n_codes"], state["rows"]["categorical"])
    return BoostingModel(core, plan["missing"], len(encoder.columns), int(plan["seed"]))


def _read_importances(arrays: Arrays, n_columns: int) -> NDArray[np.float64] | None:
    importances = arrays.get("importances")
    if importances is None:
        return None
    if not _is_vector(importances, np.float64, n_columns) or (importances < 0).any():
        raise ModelFileError("its importances are not one number per column, at least 0")
    return importances


# ---- checks that need the encoder; everything else is checked by the core


def _check_bins(encoder: TableEncoder, n_bins: NDArray[Any], is_categorical: NDArray[Any]) -> None:
    """Raise a ModelFileError unless training rows have the columns and categories of the encoder."""
    n_categories = np.array(encoder.n_categories)
    if len(n_bins) != len(n_categories):
        raise ModelFileError("its columns do not match its training rows")
    expected = n_categories >= 0
    if ((is_categorical != 0) != expected).any() or (n_bins != n_categories)[expected].any():
        raise ModelFileError("its categories do not match its training rows")


def _check_tree(tree: _core.Tree, growth: Arrays, encoder: TableEncoder) -> None:
    """Raise a ModelFileError unless every split of a tree, grown or to be grown, is possible for its column."""
    if len(growth.get("column_n_codes", ())):  # a forest holds them for all of its trees
        _check_bins(encoder, growth["column_n_codes"], growth["column_is_categorical"])
    if not (_are_splits_valid(tree, encoder) and _are_candidates_valid(growth, encoder)):
        raise ModelFileError("a split does not match its column, or a value is not finite")


def _are_splits_valid(tree: _core.Tree, encoder: TableEncoder) -> bool:
    """Return whether all splits and surrogates are possible for their columns, and all values finite."""
    is_split = tree.column >= 0
    splits = (tree.threshold[is_split], tree.set_begin[is_split], tree.set_words[is_split], tree.sets)
    surrogates = (tree.surrogate_threshold, tree.surrogate_set_begin, tree.surrogate_set_words, tree.sets)
    return (
        _are_rules_valid(encoder, tree.column[is_split], *splits)
        and _are_rules_valid(encoder, tree.surrogate_column, *surrogates)
        and not np.isinf(tree.surrogate_threshold).any()  # surrogates never split missing against observed
        and bool(np.isin(tree.surrogate_below, (0, 1)).all() and np.isfinite(tree.value).all())
    )


def _are_candidates_valid(growth: Arrays, encoder: TableEncoder) -> bool:
    """Return whether the splits of the ladders, from which third branches grow, are possible for their columns."""
    if "rung_column" not in growth:
        return True
    column, threshold = growth["rung_column"], growth["rung_threshold"]
    n_categories = np.array(encoder.n_categories)[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    begin = np.where(n_categories < 0, -1, np.cumsum(2 * words) - 2 * words)
    return _are_rules_valid(encoder, column, threshold, begin, words, growth["rung_sets"])


def _are_rules_valid(
    encoder: TableEncoder,
    column: NDArray[Any],
    threshold: NDArray[Any],
    set_begin: NDArray[Any],
    set_words: NDArray[Any],
    sets: NDArray[Any],
) -> bool:
    """Return whether columns are split as they can be: at a threshold, between ranks, or by sets of categories.

    The threshold of a split of missing against observed is -inf. A set has one bit per category.
    """
    n_categories = np.array(encoder.n_categories)[column]
    n_ranks = np.array([-1 if c.order is None else len(c.order) for c in encoder.columns])[column]
    words = np.where(n_categories < 0, 0, (n_categories + 63) // 64)
    if ((set_begin < 0) != (n_categories < 0)).any() or (set_words != words).any():
        return False
    end = np.where(n_ranks < 0, np.inf, n_ranks)
    is_between = (threshold == -np.inf) | ((n_ranks < 0) | (threshold > 0)) & (np.ceil(threshold) < end)
    has_sets = words > 0
    begin, words, n_categories = set_begin[has_sets], words[has_sets], n_categories[has_sets]
    unused_bits = ~(np.uint64(2**64 - 1) >> (64 * words - n_categories).astype(np.uint64))  # of the last word
    has_unknown = any((sets[begin + side * words - 1] & unused_bits).any() for side in (1, 2))
    return bool((is_between | (set_begin >= 0)).all()) and not has_unknown
