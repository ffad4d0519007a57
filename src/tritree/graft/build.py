"""From a source model and background rows to a model of the core, whose splits have third branches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree import _core
from tritree.errors import GraftError, name_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritree.graft.columns import GraftColumns
    from tritree.graft.nodes import Nodes
    from tritree.graft.source import SourceModel

__all__ = ["Bins", "GraftPlan", "build_core", "kept_splits", "make_bins", "make_plan", "rows_of_nodes"]

#: Bins that third branches tell apart: columns with fewer thresholds get further ones.
_MIN_BINS = 64
#: Maximum number of bins of a column of the core.
_MAX_BINS = 65_534
#: Fraction of the background rows that must lack a column for a learned direction to be kept.
_MIN_MISSING = 0.1
_LEFT, _RIGHT, _THIRD, _NONE = 0, 1, 2, -1
_UNGROWN = -2


# ---- bins


@dataclass(frozen=True)
class Bins:
    """The bins of all columns, and those of the background rows."""

    #: Per column the edges, None if it is categorical. The bin of a value is the number of edges up to it.
    edges: list[NDArray[np.float64] | None]
    n_bins: NDArray[np.uint32]
    #: A row per background row. Missing values have bin ``n_bins``.
    rows: NDArray[np.uint16]

    def state(self, *, with_rows: bool) -> dict[str, NDArray[Any]]:
        """Return the bins as the core reads them."""
        is_categorical = np.array([edges is None for edges in self.edges])
        state: dict[str, NDArray[Any]] = {
            "n_bins": self.n_bins,
            "categorical": is_categorical.astype(np.uint8),
            "edges": np.concatenate([np.empty(0), *(edges for edges in self.edges if edges is not None)]),
        }
        if with_rows:
            # a categorical column has one more bin, of unknown categories
            is_narrow = (self.n_bins + is_categorical).max() <= 255
            state["bins8" if is_narrow else "bins16"] = self.rows.astype(
                np.uint8 if is_narrow else np.uint16
            ).ravel()
        return state


def make_bins(source: SourceModel, nodes: Nodes, columns: GraftColumns) -> Bins:
    """Return the bins of background rows: their edges are all thresholds of the trees, so cuts are exact."""
    edges: list[NDArray[np.float64] | None] = []
    rows = np.empty((columns.n_rows, len(columns.values)), np.uint16)
    n_bins = np.zeros(len(columns.values), np.uint32)
    described = zip(nodes.by_column(len(n_bins)), columns.values, columns.encoder.n_categories, strict=True)
    for j, (splits, values, n_categories) in enumerate(described):
        if n_categories >= 0:
            edges.append(None)
            n_bins[j] = n_categories
            rows[:, j] = np.where(values < 0, n_categories, values)
            continue
        own = _edges(nodes.threshold[splits], values)
        if len(own) >= _MAX_BINS:
            raise GraftError(
                f"{source.library} splits {name_column(columns.encoder.columns[j].name)} at {len(own):,} thresholds, "
                f"and at most {_MAX_BINS - 1:,} are supported",
                "graft fewer trees, or fit the model to rounded values",
            )
        edges.append(own)
        n_bins[j] = len(own) + 1
        found = np.searchsorted(own, values, side="right")
        rows[:, j] = np.where(np.isnan(values), n_bins[j], found)
    return Bins(edges, n_bins, rows)


def _edges(thresholds: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the thresholds of a column, and if they are few also quantiles of its values, for third branches."""
    edges = np.unique(thresholds[np.isfinite(thresholds)])
    room = _MIN_BINS - 1 - len(edges)
    observed = np.sort(values[~np.isnan(values)]).astype(np.float64)
    if room <= 0 or not len(observed):
        return edges
    quantiles = np.unique(observed[np.arange(1, room + 1) * len(observed) // (room + 1)])
    return np.union1d(edges, quantiles[quantiles > observed[0]])


# ---- which splits get third branches


def kept_splits(nodes: Nodes, missing: str, missing_shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the splits that keep the source's direction of missing values.

    ``missing_shares`` has the fraction of the background rows that lack each column. A direction that follows from few
    rows says less than the other columns do. Where no row lacks the column, the source's word counts.
    """
    if missing != "auto":
        return np.full(len(nodes), missing == "keep")
    shares = missing_shares[nodes.column]
    is_often = shares >= _MIN_MISSING
    is_learned = (nodes.missing_learned == 1) & (is_often | (shares == 0))
    return np.asarray(is_learned | ((nodes.missing_learned == -1) & is_often))


def _only_useful(
    nodes: Nodes, keeps: NDArray[np.bool_], n_left: NDArray[np.int64], n_categories: NDArray[np.int64]
) -> tuple[Nodes, NDArray[np.bool_]]:
    """Return the nodes without splits that send all observed values to one side, and missing values as well.

    Those that keep the direction of missing values become splits of missing against observed, with missing left.
    Where missing values have no direction, the mean over what they may be is that of the other side.
    """
    is_categorical = nodes.category_set >= 0
    no_left = np.where(is_categorical, n_left == 0, nodes.threshold == -np.inf) & nodes.is_split
    no_right = np.where(is_categorical, n_left == n_categories, nodes.threshold == np.inf) & nodes.is_split
    no_left &= ~(no_right & nodes.missing_left)  # no category is known: all go where missing values do
    no_right &= ~no_left
    observed = np.where(no_left, nodes.right, np.where(no_right, nodes.left, -1))
    goes_apart = keeps & (nodes.missing_left == no_left)
    is_useless = (no_left | no_right) & ~goes_apart
    threshold = np.where((no_left | no_right) & ~is_categorical, -np.inf, nodes.threshold)
    nodes = replace(nodes.with_sides_exchanged(no_right & goes_apart), threshold=threshold)
    found, numbers = nodes.replaced_by(np.where(is_useless, observed, -1))
    return found, keeps[numbers]


# ---- the core's model


@dataclass(frozen=True)
class GraftPlan:
    """What the trees of the core are made of."""

    #: The name of the library of the source.
    library: str
    nodes: Nodes
    #: Splits that keep the direction of missing values; all others have a third branch.
    keeps: NDArray[np.bool_]
    #: Whether each category goes left, of each set.
    sets: Sequence[NDArray[np.bool_]]
    baseline: list[float]
    bins: Bins


def make_plan(
    source: SourceModel, nodes: Nodes, sets: Sequence[NDArray[np.bool_]], bins: Bins, keeps: NDArray[np.bool_]
) -> GraftPlan:
    """Return the plan of a graft in which some splits keep the direction of missing values."""
    n_left, n_categories = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    categorical = np.flatnonzero(nodes.category_set >= 0)
    for node, number in zip(categorical, nodes.category_set[categorical].tolist(), strict=True):
        n_left[node], n_categories[node] = np.count_nonzero(sets[number]), len(sets[number])
    nodes, keeps = _only_useful(nodes, keeps, n_left, n_categories)
    return GraftPlan(source.library, nodes, keeps, sets, source.baseline.tolist(), bins)


def build_core(
    plan: GraftPlan, parameters: _core.GrowthParameters, *, rows: NDArray[np.int64] | None = None
) -> _core.BoostedModel:
    """Return the model of the core; without ``rows``, the number of background rows of each node, it cannot grow."""
    has_third = bool((plan.nodes.is_split & ~plan.keeps).any())
    trees = _tree_arrays(plan, np.zeros(len(plan.nodes), np.int64) if rows is None else rows)
    if parameters.to_dict()["estimates_variance"]:
        trees["variance"] = np.zeros(len(plan.nodes))
    state = {
        "params": parameters.to_dict(),
        "baseline": plan.baseline,
        "trees": trees,
        "bins": plan.bins.state(with_rows=rows is not None and has_third),
    }
    try:
        return _core.BoostedModel.from_state(state)
    except ValueError as error:  # such as sums beyond all floats
        raise GraftError(f"the trees of {plan.library} cannot be grafted: {error}") from error


def _tree_arrays(plan: GraftPlan, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the trees as the core reads them; an array has the nodes of one tree after those of another."""
    nodes = plan.nodes
    is_split, first = nodes.is_split, nodes.first
    sizes = np.diff(np.append(first, len(nodes))).astype(np.int32)
    depth = np.zeros(len(nodes), np.int32)
    for number, level in enumerate(nodes.levels()):
        depth[level] = number
    value = _mean_values(nodes, rows)
    gain = nodes.gain if nodes.gain.any() else _gains(nodes, value, rows)
    missing_to = np.where(plan.keeps, np.where(nodes.missing_left, _LEFT, _RIGHT), _THIRD)
    # where unknown categories go; of numbers it means nothing
    is_larger_left = np.where(
        nodes.category_set >= 0, nodes.unknown_left, rows[nodes.left] >= rows[nodes.right]
    )
    first_right_bin = np.zeros(len(nodes), np.uint16)
    for own, edges in zip(nodes.by_column(len(plan.bins.edges)), plan.bins.edges, strict=True):
        if edges is not None:
            finite = own[np.isfinite(nodes.threshold[own])]
            first_right_bin[finite] = np.searchsorted(edges, nodes.threshold[finite]) + 1

    def of_splits(values: Any, otherwise: int, dtype: str) -> NDArray[Any]:
        return np.where(is_split, values, otherwise).astype(dtype)

    return {
        "n_nodes": sizes,
        "n_fitted": sizes,
        "n_surrogates": np.zeros(len(sizes), np.int32),
        "seed": np.zeros(len(sizes), np.uint64),
        "column": nodes.column,
        "threshold": nodes.threshold,
        "left": of_splits(nodes.left - first[nodes.tree], _NONE, "int32"),
        "right": of_splits(nodes.right - first[nodes.tree], _NONE, "int32"),
        "third": of_splits(np.where(plan.keeps, _NONE, _UNGROWN), _NONE, "int32"),
        "missing_to": of_splits(missing_to, _NONE, "int8"),
        "larger_side": of_splits(np.where(is_larger_left, _LEFT, _RIGHT), _NONE, "int8"),
        "depth": depth,
        "rows": rows,
        "value": value,
        "first_right_bin": first_right_bin,
        "gain": np.where(is_split, gain, 0.0),
        **_category_sets(plan),
    }


def _category_sets(plan: GraftPlan) -> dict[str, NDArray[Any]]:
    """Return the sets of categories as the core has them: a bit per category that goes left, then right."""
    nodes = plan.nodes
    categorical = np.flatnonzero(nodes.category_set >= 0)
    n_words = np.zeros(nodes.tree[-1] + 1, np.int64)
    if not len(categorical):
        return {"n_words": n_words}
    begin, count = np.full(len(nodes), -1, np.int64), np.zeros(len(nodes), np.int32)
    words: list[NDArray[np.uint64]] = []
    for node, number in zip(categorical.tolist(), nodes.category_set[categorical].tolist(), strict=True):
        goes_left = plan.sets[number]
        if goes_left.all():  # of missing against observed, whose sides were exchanged
            goes_left = ~goes_left
        tree = nodes.tree[node]
        both = np.zeros((2, -(-len(goes_left) // 64) * 64), bool)
        both[:, : len(goes_left)] = goes_left, ~goes_left
        packed = np.packbits(both, axis=1, bitorder="little").view(np.uint64)
        begin[node], count[node] = n_words[tree], packed.shape[1]
        n_words[tree] += packed.size
        words.append(packed.ravel())
    return {"n_words": n_words, "set_begin": begin, "set_words": count, "sets": np.concatenate(words)}


# ---- node statistics


def rows_of_nodes(
    nodes: Nodes, core: _core.BoostedModel, columns: GraftColumns, n_threads: int
) -> NDArray[np.int64]:
    """Return the number of background rows of each node; those that a third branch takes are not below its node."""
    rows = np.zeros(len(nodes), np.int64)
    for ends in columns.leaves(core, n_threads):
        for tree, begin in enumerate(nodes.first.tolist()):
            count = np.bincount(ends[:, tree])
            rows[begin : begin + len(count)] += count
    for level in reversed(list(nodes.levels())):
        splits = level[nodes.is_split[level]]
        rows[splits] += rows[nodes.left[splits]] + rows[nodes.right[splits]]
    return rows


def _mean_values(nodes: Nodes, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values of the nodes: of a split, the mean over its background rows; without rows, over its leaves."""
    value = np.where(nodes.is_split, 0.0, nodes.value)
    for level in reversed(list(nodes.levels())):
        splits = level[nodes.is_split[level]]
        left, right = nodes.left[splits], nodes.right[splits]
        n_left, n_right = rows[left].astype(np.float64), rows[right].astype(np.float64)
        n = n_left + n_right
        share = np.divide(n_left, n, out=np.full(len(n), 0.5), where=n > 0)
        value[splits] = value[left] * share + value[right] * (1 - share)
    return value


def _gains(nodes: Nodes, value: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much each split lowers the sum of squares of what its tree predicts for the background rows."""
    left, right = nodes.left, nodes.right
    n_left, n_right = rows[left].astype(np.float64), rows[right].astype(np.float64)
    n = np.maximum(n_left + n_right, 1)
    with np.errstate(over="ignore"):
        gain = n_left * n_right / n * np.square(value[left] - value[right])
    return np.where(nodes.is_split & np.isfinite(gain), gain, 0.0)
