"""Model files of format 1, brought into the current format.

Loading checks the result. Here is checked only what the conversion would hide: dtypes that it changes, and lengths of
arrays that it joins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["upgrade"]

Arrays = dict[str, "NDArray[Any]"]

#: Growth parameters that trees and forests did not have in format 1. Frozen, as are all tables here: never add a later
#: parameter, whose default the core knows.
_TREE_DEFAULTS = {
    "max_leaf_nodes": 0,
    "max_features": 1.0,
    "max_third_nodes": 2**63 - 1,
    "l2": 0.0,
    "monotonic": [],
    "third_depth_extra": 0,
    "third_rows": 1000,
    "estimates_variance": False,
}
_BOOSTING_DEFAULTS = {
    "criterion": "squared_error",
    "n_classes": 0,
    "split_on_missing": True,
    "max_surrogates": 5,
    "keep_best_split_only": False,
}
#: The growth parameters of boosting in format 1, by their names of today.
_BOOSTING_KEYS = {
    *("missing", "max_depth", "max_leaf_nodes", "min_samples_leaf", "max_features", "max_third_nodes", "l2"),
    *("monotonic", "third_depth_extra", "third_rows", "estimates_variance", "seed"),
}
#: Arrays that have other names now.
_TREE_NAMES = {
    "larger": "larger_side",
    "share": "left_fraction",
    "doubt": "variance",
    "begin": "first_right_bin",
    "words": "sets",
}
_DATA_NAMES = {
    "column_is_categorical": "categorical",
    "column_n_codes": "n_bins",
    "codes_narrow": "bins8",
    "codes_wide": "bins16",
    "code_smallest": "bin_min",
    "code_largest": "bin_max",
    "y": "y",
    "labels": "labels",
    "sample_weight": "weight",
}
#: Names of ladders (base) and their splits (rung); those that are not listed lose their prefix.
_LADDER_NAMES = {
    "place_base": "position_ladder",
    "place_rung": "position_rank",
    "base_unusable": "used_columns",
    "base_partial": "first_split_only",
    "rung_share": "left_fraction",
    "rung_missing_alone": "missing_vs_observed",
    "rung_larger": "larger_side",
    "rung_low": "threshold_bin",
}
_BIN_NAMES = {"n_codes": "n_bins", "narrow": "bins8", "wide": "bins16"}
_NO_CHILD, _UNGROWN, _THIRD = np.int32(-1), np.int32(-2), 2


def upgrade(description: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Return the description and the arrays of a file as the current format has them."""
    groups: dict[str, Arrays] = {}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ModelFileError(f"array {name[:40]!r} has the wrong shape")
        group, _, entry = name.rpartition(".")
        groups.setdefault(group, {})[entry] = array
    importances = groups.pop("", {})
    try:
        is_boosting = description["estimator"].startswith("boosting")
        new, parts = (_upgrade_boosting if is_boosting else _upgrade_trees)(description, groups)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ModelFileError("its arrays do not match its description") from error
    if groups:
        raise ModelFileError(f"unknown arrays {next(iter(groups))[:40]!r}")
    upgraded = {
        f"{part}.{name}": array for part in parts for name, array in parts[part].items() if array.size
    }
    return description | new | {"format": 2}, upgraded | importances


def _renamed(arrays: Arrays, names: Mapping[str, str]) -> Arrays:
    return {names.get(name, name): array for name, array in arrays.items()}


def _check_lengths(lengths: Sequence[int]) -> None:
    if len(set(lengths)) > 1:
        raise ModelFileError("arrays of different lengths")


# ---- single trees and forests


def _upgrade_trees(
    description: dict[str, Any], groups: dict[str, Arrays]
) -> tuple[dict[str, Any], dict[str, Arrays]]:
    is_forest = description["estimator"].startswith("forest")
    entries = description["trees"] if is_forest else [description]
    prefixes = [f"{number}." for number in range(len(entries))] if is_forest else [""]
    trees, distributions, growths = (
        [groups.pop(f"{prefix}{group}", {}) for prefix in prefixes] for group in ("tree", "spread", "growth")
    )
    settings = [entry["settings"] for entry in entries]
    parameters = [_growth_parameters(own) for own in settings]
    if any(own != parameters[0] for own in parameters):
        raise ModelFileError("its trees have different growth parameters")
    for tree in trees:
        n_nodes = len(tree["column"])
        per_node = [
            name for name in tree if name not in ("value", "sets") and not name.startswith("surrogate_")
        ]
        _check_lengths([n_nodes, len(tree["surrogate_begin"]) - 1, *(len(tree[name]) for name in per_node)])
        if len(tree["value"]) % n_nodes:
            raise ModelFileError("arrays of different lengths")
    parts = {"trees": _renamed(_joined(trees, tuple(trees[0])), _TREE_NAMES)}
    parts["trees"] |= {
        "n_nodes": np.array([len(tree["column"]) for tree in trees], np.int32),
        "n_fitted": _integers([entry["n_fitted"] for entry in entries], np.int32),
        "n_surrogates": np.array([len(tree["surrogate_column"]) for tree in trees], np.int32),
        "n_words": np.array([len(tree["sets"]) for tree in trees], np.int64),
        "seed": _integers([own.get("seed", 0) for own in settings], np.uint64),
    }
    if any(distributions):
        parts["distributions"] = _renamed(
            _joined(distributions, ("edges", "shares")), {"shares": "fractions"}
        )
        n_nodes_each = [len(own["shares"]) // 16 for own in distributions]
        parts["distributions"]["n_nodes"] = np.array(n_nodes_each, np.int64)
    if any(growths):
        parts["ladders"] = _join_ladders(growths)
    if description["n_rows"] is not None:
        data = growths[0] | groups.pop("codes", {})  # trees of a forest share their rows
        if is_forest:
            table = groups.pop("table")
            data["labels" if settings[0]["n_classes"] else "y"] = table["response"]
            data["sample_weight"] = table.get("weight", data["sample_weight"])
        parts["data"] = {new: data[name] for name, new in _DATA_NAMES.items()}
    return {"growth_parameters": parameters[0], "n_rows": description["n_rows"]}, parts


def _growth_parameters(settings: dict[str, Any]) -> dict[str, Any]:
    names = {"max_grown": "max_third_nodes"}
    own = {names.get(name, name): value for name, value in settings.items()}
    # trees of forests have seeds of their own, and kept the best split of a node only
    return _TREE_DEFAULTS | own | {"seed": 0, "keep_best_split_only": settings.get("seed", 0) != 0}


def _joined(trees: Sequence[Arrays], names: Sequence[str]) -> Arrays:
    """Return the arrays of these names, those of one tree after those of another."""
    if any(tree[name].dtype != trees[0][name].dtype for tree in trees for name in names):
        raise TypeError("arrays of different dtypes")
    return {name: np.concatenate([tree[name] for tree in trees]) for name in names}


def _integers(values: Sequence[Any], dtype: Any) -> NDArray[Any]:
    if any(type(value) is not int for value in values):
        raise TypeError("not an integer")
    return np.array(values, dtype)


def _join_ladders(growths: Sequence[Arrays]) -> Arrays:
    n_ladders = [len(growth["base_center"]) for growth in growths]
    for growth, n in zip(growths, n_ladders, strict=True):  # arrays that single trees do not have
        growth.setdefault("in_bag", np.empty(0, np.uint32))
        growth.setdefault("base_partial", np.zeros(n, np.int8))
    own = [name for name in growths[0] if name not in _DATA_NAMES and not name.endswith("_begin")]
    names = {name: name.removeprefix("base_").removeprefix("rung_") for name in own} | _LADDER_NAMES
    return _renamed(_joined(growths, own), names) | {
        "used_columns_begin": _join_begins(growths, "base_unusable_begin", "base_unusable"),
        "splits_begin": _join_begins(growths, "base_ladder_begin", "rung_column"),
        "n_ladders": np.array(n_ladders, np.int64),
        "n_in_bag": np.array([len(growth["in_bag"]) for growth in growths], np.int64),
    }


def _join_begins(growths: Sequence[Arrays], name: str, entries: str) -> NDArray[np.int64]:
    lengths = []
    for growth in growths:
        begin = growth[name]
        if begin.dtype != np.int32 or begin[0] != 0 or begin[-1] != len(growth[entries]):
            raise ModelFileError("array offsets do not match")
        lengths.append(np.diff(begin))
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])


# ---- boosting


def _upgrade_boosting(
    description: dict[str, Any], groups: dict[str, Arrays]
) -> tuple[dict[str, Any], dict[str, Arrays]]:
    trees, rows, plan = groups.pop("trees"), groups.pop("rows"), dict(description["plan"])
    plan["estimates_variance"] = plan.pop("measures_doubt")
    if plan.keys() != _BOOSTING_KEYS:
        raise ModelFileError("its growth parameters are incomplete")
    dtypes = {"n_nodes": np.int32, "column": np.uint16, "set": np.int64, "n_words": np.int32}
    for name, dtype in dtypes.items():
        if trees[name].dtype != dtype:
            raise ModelFileError(f"array 'trees.{name}' has the wrong dtype")
    n_nodes, set_begin = trees["n_nodes"].astype(np.int64), trees.pop("set")
    per_node = ("column", "begin", "missing_to", "left", "right", "third")
    _check_lengths([int(n_nodes.sum()), len(set_begin), *(len(trees[name]) for name in per_node)])
    first = np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)  # node of the same tree
    is_leaf, goes_third = trees["missing_to"] == _NO_CHILD, trees["missing_to"] == _THIRD
    column, is_categorical = trees["column"].astype(np.int32), rows["categorical"].astype(bool)
    has_sets = ~is_leaf & is_categorical[column]
    # an ungrown third branch was the node itself
    is_ungrown = trees["third"] == np.arange(len(first)) - first
    third = np.where(goes_third, np.where(is_ungrown, _UNGROWN, trees["third"]), _NO_CHILD)
    new = _renamed(trees, _TREE_NAMES) | {
        "n_surrogates": np.zeros(len(n_nodes), np.int32),
        "n_words": trees["n_words"].astype(np.int64),
        "seed": np.zeros(len(n_nodes), np.uint64),
        "column": np.where(is_leaf, _NO_CHILD, column),
        "threshold": _thresholds(column, trees["begin"], ~is_leaf & ~is_categorical[column], rows),
        "left": np.where(is_leaf, _NO_CHILD, trees["left"]),
        "right": np.where(is_leaf, _NO_CHILD, trees["right"]),
        "third": third,
    }
    new["depth"] = _depths(new, first)
    if has_sets.any():
        n_words = -(-rows["n_codes"].astype(np.int64) // 64)
        new["set_begin"] = np.where(has_sets, set_begin, -1)
        new["set_words"] = np.where(has_sets, n_words[column], 0).astype(np.int32)
    if not rows.keys() >= {"narrow", "wide", "weight"}:
        raise ModelFileError("its background rows are incomplete")
    bins = _renamed(rows, _BIN_NAMES)
    return {"growth_parameters": _BOOSTING_DEFAULTS | plan, "n_rows": None}, {"trees": new, "bins": bins}


def _thresholds(
    column: NDArray[np.int32], first_right_bin: NDArray[Any], is_numeric: NDArray[np.bool_], rows: Arrays
) -> NDArray[np.float64]:
    """Return the bin edges below which values go left; -inf for missing against observed."""
    n_edges = np.where(rows["categorical"] != 0, 0, np.maximum(rows["n_codes"].astype(np.int64) - 1, 0))
    first_edge = np.cumsum(n_edges) - n_edges
    threshold = np.full(len(column), np.nan)
    threshold[is_numeric & (first_right_bin == 0)] = -np.inf
    split = np.flatnonzero(is_numeric & (first_right_bin > 0))
    threshold[split] = rows["edges"][first_edge[column[split]] + first_right_bin[split] - 1]
    return threshold


def _depths(trees: Arrays, first: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the depths of nodes; a child comes after its parent, and a third branch is as deep as its node."""
    depth = np.zeros(len(first), np.int32)
    for node in range(len(first)):
        for branch, more in (("left", 1), ("right", 1), ("third", 0)):
            if (child := trees[branch][node]) > 0:
                depth[first[node] + child] = depth[node] + more
    return depth
