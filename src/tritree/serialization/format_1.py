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

_DEFAULTS = {
    "criterion": "squared_error",
    "n_classes": 0,
    "max_leaf_nodes": 0,
    "max_features": 1.0,
    "split_on_missing": True,
    "max_surrogates": 5,
    "max_third_nodes": 2**63 - 1,
    "keep_best_split_only": False,
    "l2": 0.0,
    "monotonic": [],
    "third_depth_extra": 0,
    "third_rows": 1000,
    "estimates_variance": False,
}
_TREE_NAMES = {"larger": "larger_side", "share": "left_fraction"}
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
_LADDER_NAMES = {
    "place_base": "position_ladder",
    "place_rung": "position_rank",
    "base_unusable": "used_columns",
    "base_center": "center",
    "base_sum_scale": "sum_scale",
    "base_square_scale": "square_scale",
    "base_weight_scale": "weight_scale",
    "rung_column": "column",
    "rung_gain": "gain",
    "rung_threshold": "threshold",
    "rung_share": "left_fraction",
    "rung_missing_alone": "missing_vs_observed",
    "rung_missing_to": "missing_to",
    "rung_larger": "larger_side",
    "rung_low": "threshold_bin",
    "rung_sets": "sets",
}
_SETTINGS = {
    *("missing", "criterion", "n_classes", "max_depth", "min_samples_leaf", "split_on_missing"),
    "max_surrogates",
}
_PLAN = {
    *(
        "missing",
        "max_depth",
        "max_leaf_nodes",
        "min_samples_leaf",
        "l2",
        "max_features",
        "monotonic",
        "seed",
    ),
    *("third_depth_extra", "third_rows", "max_third_nodes", "measures_doubt"),
}
#: Of the arrays that are converted; the others are checked when the result is loaded.
_DTYPES = {
    **dict.fromkeys(("base_unusable_begin", "base_ladder_begin"), np.int32),
    **dict.fromkeys(("n_nodes", "n_words", "left", "right", "third"), np.int32),
    **dict.fromkeys(("trees.column", "trees.begin"), np.uint16),
    "trees.missing_to": np.int8,
    "trees.set": np.int64,
    "rows.edges": np.float64,
    "rows.n_codes": np.uint32,
    "rows.categorical": np.uint8,
}
_NO_CHILD, _UNGROWN, _THIRD = -1, -2, 2


def upgrade(description: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Return the description and the arrays of a file as the current format has them."""
    for name, array in arrays.items():
        dtype = _DTYPES.get(name, _DTYPES.get(name.rpartition(".")[2], array.dtype))
        if array.ndim != 1 or array.dtype != dtype:
            raise ModelFileError(f"array {name[:40]!r} has the wrong shape or dtype")
    try:
        if description["estimator"].startswith("boosting"):
            new, parts = _upgrade_boosting(description, arrays)
        elif description["estimator"].startswith("forest"):
            new, parts = _upgrade_forest(description, arrays)
        else:
            new, parts = _upgrade_tree(description, arrays)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ModelFileError("its arrays do not match its description") from error
    if "importances" in arrays:
        parts["importances"] = arrays["importances"]
    return description | new | {"format": 2}, parts


def _named(part: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {f"{part}.{name}": array for name, array in arrays.items() if array.size}


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({array.dtype for array in arrays}) > 1:
        raise TypeError("arrays of different dtypes")
    return np.concatenate(arrays)


def _integers(values: Sequence[Any], dtype: Any) -> NDArray[Any]:
    if any(type(value) is not int for value in values):
        raise TypeError("not an integer")
    return np.array(values, dtype)


def _check_names(arrays: Arrays, known: Sequence[str]) -> None:
    for name in arrays:
        if name != "importances" and not name.startswith(tuple(known)):
            raise ModelFileError(f"unknown array {name[:40]!r}")


# ---- single trees and forests


def _upgrade_tree(description: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    _check_names(arrays, ("tree.", "spread.", "growth."))
    growth = _part(arrays, "growth.")
    new = _join_trees(
        [description["settings"]],
        [description["n_fitted"]],
        [_part(arrays, "tree.")],
        [_part(arrays, "spread.")],
        [growth],
    )
    if growth:
        new |= _named("data", {new_name: growth[name] for name, new_name in _DATA_NAMES.items()})
    return {"growth_parameters": _parameters(description["settings"]), "n_rows": description["n_rows"]}, new


def _upgrade_forest(description: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    trees = description["trees"]
    known = [f"{number}.{part}." for number in range(len(trees)) for part in ("tree", "spread", "growth")]
    _check_names(arrays, [*known, "codes.", "table."])
    settings = [tree["settings"] for tree in trees]
    parts = [
        [_part(arrays, f"{number}.{part}.") for number in range(len(trees))]
        for part in ("tree", "spread", "growth")
    ]
    new = _join_trees(settings, [tree["n_fitted"] for tree in trees], *parts)
    if description["n_rows"] is not None:
        codes = _part(arrays, "codes.")
        new |= _named("data", {_DATA_NAMES[name]: array for name, array in codes.items()})
        target = "labels" if settings[0]["n_classes"] else "y"
        new |= _named("data", {target: arrays["table.response"]})
        if "table.weight" in arrays:
            new["data.weight"] = arrays["table.weight"]
    elif any(parts[2]):
        raise ModelFileError("its training rows are missing")
    parameters = [_parameters(own) for own in settings]
    if any(own != parameters[0] for own in parameters):
        raise ModelFileError("its trees have different growth parameters")
    return {"growth_parameters": parameters[0], "n_rows": description["n_rows"]}, new


def _parameters(settings: dict[str, Any]) -> dict[str, Any]:
    if not settings.keys() >= _SETTINGS:
        raise ModelFileError("its growth parameters are incomplete")
    names = {"max_grown": "max_third_nodes"}
    own = {names.get(name, name): value for name, value in settings.items() if name != "seed"}
    # trees of forests have seeds of their own, and kept the best split of a node only
    return _DEFAULTS | own | {"seed": 0, "keep_best_split_only": settings.get("seed", 0) != 0}


def _join_trees(
    settings: Sequence[dict[str, Any]],
    n_fitted: Sequence[int],
    trees: Sequence[Arrays],
    distributions: Sequence[Arrays],
    growths: Sequence[Arrays],
) -> Arrays:
    """Return the arrays of trees, one tree after the other."""
    for tree in trees:
        n_nodes = len(tree["column"])
        for name, array in tree.items():
            is_per_node = name != "sets" and not name.startswith("surrogate_")
            if is_per_node and (len(array) % n_nodes if name == "value" else len(array) != n_nodes):
                raise ModelFileError("arrays of different lengths")
        if len(tree["surrogate_begin"]) != n_nodes + 1:
            raise ModelFileError("arrays of different lengths")
    joined = {_TREE_NAMES.get(name, name): _joined([tree[name] for tree in trees]) for name in trees[0]}
    joined |= {
        "n_nodes": np.array([len(tree["column"]) for tree in trees], np.int32),
        "n_fitted": _integers(n_fitted, np.int32),
        "n_surrogates": np.array([len(tree["surrogate_column"]) for tree in trees], np.int32),
        "n_words": np.array([len(tree["sets"]) for tree in trees], np.int64),
        "seed": _integers([own.get("seed", 0) for own in settings], np.uint64),
    }
    new = _named("trees", joined)
    if any(distributions):
        new |= _named(
            "distributions",
            {
                "edges": _joined([own["edges"] for own in distributions]),
                "fractions": _joined([own["shares"] for own in distributions]),
                "n_nodes": np.array([len(own["shares"]) // 16 for own in distributions], np.int64),
            },
        )
    if any(growths):
        new |= _named("ladders", _join_ladders(growths))
    return new


def _join_ladders(growths: Sequence[Arrays]) -> Arrays:
    joined = {new: _joined([growth[name] for growth in growths]) for name, new in _LADDER_NAMES.items()}
    n_ladders = [len(growth["base_center"]) for growth in growths]
    in_bags = [growth.get("in_bag", np.empty(0, np.uint32)) for growth in growths]
    partial = [
        growth.get("base_partial", np.zeros(n, np.int8)) for growth, n in zip(growths, n_ladders, strict=True)
    ]
    return joined | {
        "used_columns_begin": _join_begins(growths, "base_unusable_begin", "base_unusable"),
        "splits_begin": _join_begins(growths, "base_ladder_begin", "rung_column"),
        "first_split_only": _joined(partial),
        "n_ladders": np.array(n_ladders, np.int64),
        "n_in_bag": np.array([len(rows) for rows in in_bags], np.int64),
        "in_bag": _joined(in_bags),
    }


def _join_begins(growths: Sequence[Arrays], name: str, entries: str) -> NDArray[np.int64]:
    lengths = []
    for growth in growths:
        begin = growth[name].astype(np.int64)
        if begin[0] != 0 or begin[-1] != len(growth[entries]):
            raise ModelFileError("array offsets do not match")
        lengths.append(np.diff(begin))
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])


# ---- boosting


def _upgrade_boosting(description: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    _check_names(arrays, ("trees.", "rows."))
    trees, rows, plan = _part(arrays, "trees."), _part(arrays, "rows."), dict(description["plan"])
    if plan.keys() != _PLAN:
        raise ModelFileError("its growth parameters are incomplete")
    n_nodes = trees["n_nodes"].astype(np.int64)
    if (n_nodes < 0).any() or n_nodes.sum() != len(trees["column"]):
        raise ModelFileError("arrays of different lengths")
    for name in ("begin", "missing_to", "left", "right", "third", "set"):
        if len(trees[name]) != len(trees["column"]):
            raise ModelFileError("arrays of different lengths")
    here = np.concatenate([np.arange(n) for n in n_nodes]) if len(n_nodes) else np.empty(0, np.int64)
    is_leaf, goes_third = trees["missing_to"] == _NO_CHILD, trees["missing_to"] == _THIRD
    left, right = (np.where(is_leaf, _NO_CHILD, trees[side]).astype(np.int32) for side in ("left", "right"))
    third = np.where(goes_third, np.where(trees["third"] == here, _UNGROWN, trees["third"]), _NO_CHILD)
    third = third.astype(np.int32)
    column = trees["column"].astype(np.int32)
    categorical, n_bins = rows["categorical"].astype(bool), rows["n_codes"].astype(np.int64)
    has_sets = ~is_leaf & categorical[column]
    new = {
        "n_nodes": trees["n_nodes"],
        "n_fitted": trees["n_fitted"],
        "n_surrogates": np.zeros(len(n_nodes), np.int32),
        "n_words": trees["n_words"].astype(np.int64),
        "seed": np.zeros(len(n_nodes), np.uint64),
        "column": np.where(is_leaf, _NO_CHILD, column).astype(np.int32),
        "threshold": _thresholds(column, trees["begin"], ~is_leaf & ~categorical[column], rows, categorical),
        "left": left,
        "right": right,
        "third": third,
        "missing_to": trees["missing_to"],
        "larger_side": trees["larger"],
        "depth": _depths(left, right, third, n_nodes),
        "rows": trees["rows"],
        "value": trees["value"],
        "first_right_bin": trees["begin"],
        "gain": trees["gain"],
        "variance": trees["doubt"],
        "low": trees["low"],
        "high": trees["high"],
        "sets": trees["words"],
    }
    if has_sets.any():
        new["set_begin"] = np.where(has_sets, trees["set"], -1)
        new["set_words"] = np.where(has_sets, -(-n_bins[column] // 64), 0).astype(np.int32)
    if "share" in trees:
        new |= {"left_fraction": trees["share"], "weight": trees["weight"]}
    bins = {
        "n_bins": rows["n_codes"],
        "categorical": rows["categorical"],
        "edges": rows["edges"],
        "bins8": rows["narrow"],
        "bins16": rows["wide"],
        "weight": rows["weight"],
    }
    plan["estimates_variance"] = plan.pop("measures_doubt")
    return {"growth_parameters": _DEFAULTS | plan, "n_rows": None}, _named("trees", new) | _named(
        "bins", bins
    )


def _thresholds(
    column: NDArray[np.int32],
    first_right_bin: NDArray[Any],
    is_numeric: NDArray[np.bool_],
    rows: Arrays,
    categorical: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the bin edges below which values go left; -inf for missing against observed."""
    n_edges = np.where(categorical, 0, np.maximum(rows["n_codes"].astype(np.int64) - 1, 0))
    first_edge = np.cumsum(n_edges) - n_edges
    threshold = np.full(len(column), np.nan)
    threshold[is_numeric & (first_right_bin == 0)] = -np.inf
    split = np.flatnonzero(is_numeric & (first_right_bin > 0))
    threshold[split] = rows["edges"][first_edge[column[split]] + first_right_bin[split] - 1]
    return threshold


def _depths(
    left: NDArray[np.int32], right: NDArray[np.int32], third: NDArray[np.int32], n_nodes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the depths of nodes; a child comes after its parent, and a third branch is as deep as its node."""
    depth = np.zeros(len(left), np.int32)
    begin = 0
    for n in n_nodes.tolist():
        own = depth[begin : begin + n]
        for node in range(n):
            for children, more in ((left, 1), (right, 1), (third, 0)):
                child = int(children[begin + node])
                if node < child < n:
                    own[child] = own[node] + more
        begin += n
    return depth
