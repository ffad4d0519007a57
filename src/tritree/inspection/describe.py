"""Description of a tree as one plain dict: views read nothing else, so they cannot disagree."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tritree.columns import ColumnType
from tritree.dates import TimeFormat
from tritree.inspection.tree_arrays import UNGROWN, Branch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tritree.encoder import ColumnEncoder, TableEncoder
    from tritree.inspection.tree_arrays import TreeArrays


def describe_tree(
    tree: TreeArrays,
    encoder: TableEncoder,
    classes: Sequence[Any] | None,
    *,
    missing: str,
    n_grown: int = 0,
    detached: bool = False,
    values: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return a tree as plain data.

    ``detached`` means that the training rows are gone, so that an ungrown branch predicts the value of its node.
    ``values`` are shown instead of the values of the nodes.

    ``nodes`` is a list indexed by node number. A node has ``depth``, ``rows``, ``weight``, ``loss``, ``value`` (a
    list: the mean, or the class probabilities) and ``split``, which is None in a leaf. A split has

    - ``column`` and ``name``; ``rule`` is "threshold" (with ``threshold``; left is below it; of dates, durations and
      times in microseconds, and ``threshold_text`` has it as text), "order" (ordered categories: ``left`` and
      ``right`` list them), "categories" (``left`` and ``right`` list those seen in the node)
      or "missing" (missing against observed: missing goes to ``missing_to``, observed to the other side);
    - ``missing_to``, how missing values are handled: "left", "right", "third", "both" or "surrogates";
      ``missing_branch`` and ``unseen_branch``, where missing values and unseen categories go, in the same words;
      ``larger_side``: "left" or "right", where a row goes if no surrogate decides, or "none": it stays in the node,
      which predicts (so may ``missing_branch`` and ``unseen_branch`` be, if there are no surrogates);
      ``left_fraction``: the fraction of a row with a missing value that goes left under "both";
    - ``evidence``: under "both", except with the strategy "fractional", what changes that fraction; None if it was
      not found yet: a row that needs it stays in the node, which predicts. A list with one item per column:
      ``column`` and ``name``; ``rows`` of a sample of the node, and how many of them go ``left``; ``groups`` of values,
      each with ``rows``, ``left``, and ``from``, the smallest number (None for the first group), or ``category``.
      Each column multiplies the odds of going left by (l + q) / (r - l + 1 - q) · (1 - q) / q, where r and l
      are the rows of the group of the row and those that go left, and q is left / rows of the column. A part of a row
      smaller than 1/8 is not followed, but joins the other one;
    - ``surrogates``: splits of the same form, best first, each with ``below``: the branch that their left side means.

    ``left``, ``right`` and ``third`` of a node are node numbers, None if there is no such branch and "ungrown" if it
    has not been grown.

    `add_distribution` adds the distribution of the target.
    """
    names = encoder.feature_names or [f"x{j}" for j in range(len(encoder.columns))]
    columns = [_describe_column(name, learned) for name, learned in zip(names, encoder.columns, strict=True)]
    fields = {
        "depth": tree.depth.tolist(),
        "rows": tree.rows.tolist(),
        "weight": tree.weight.tolist(),
        "loss": tree.loss.tolist(),
        "value": (tree.value if values is None else values).tolist(),
        "split": _describe_splits(tree, columns, weighs_evidence=missing != "fractional"),
    }
    for branch in ("left", "right", "third"):
        children = getattr(tree, branch).tolist()
        fields[branch] = [n if n >= 0 else "ungrown" if n == UNGROWN else None for n in children]
    nodes = [dict(zip(fields, node, strict=True)) for node in zip(*fields.values(), strict=True)]
    return {
        "format": 1,
        "task": "regression" if classes is None else "classification",
        "missing": missing,
        "classes": None if classes is None else [_plain(label) for label in classes],
        "columns": columns,
        "nodes": nodes,
        "n_grown": n_grown,
        "detached": detached,
        "n_leaves": sum(node["split"] is None for node in nodes),
        "n_ungrown": sum(fields[branch].count("ungrown") for branch in ("left", "right", "third")),
    }


def add_distribution(
    tree: dict[str, Any], numbers: Sequence[int], distribution: Mapping[str, NDArray[Any]]
) -> None:
    """Add to a description the distribution of the target in some nodes.

    The tree gets ``edges``, the bin edges; the outermost bins also hold the few values beyond them. They are None in
    classification, where the value of a node is its distribution. Each of the nodes gets ``distribution``, the fraction
    of its weight per bin; None if it is unknown: for nodes grown on demand, once the training rows are gone.
    """
    edges = distribution["edges"].tolist()
    tree["edges"] = edges or None
    if not edges:
        return
    for number, bins in zip(numbers, distribution["fractions"].reshape(len(numbers), -1), strict=True):
        tree["nodes"][number]["distribution"] = None if np.isnan(bins[0]) else bins.astype(float).tolist()


def _describe_column(name: str, learned: ColumnEncoder) -> dict[str, Any]:
    return {
        "name": name,
        "kind": _kind(learned),
        "categories": None if learned.categories is None else list(learned.categories),
        "order": None if learned.order is None else [_plain(label) for label in learned.order],
        "time": None if learned.time is None or learned.part is not None else asdict(learned.time),
    }


def _kind(learned: ColumnEncoder) -> str:
    if learned.type is ColumnType.IDENTIFIER:
        return "identifier"
    return "numeric" if learned.categories is None else "categorical"


def _describe_splits(
    tree: TreeArrays, columns: list[dict[str, Any]], *, weighs_evidence: bool
) -> list[dict[str, Any] | None]:
    """Return the split of each node, None for leaves."""
    words = {branch.value: branch.word for branch in Branch}
    fields = ("missing_to", "missing_branch", "unseen_branch", "larger_side")
    branches = {field: [words[branch] for branch in getattr(tree, field).tolist()] for field in fields}
    splits: list[dict[str, Any] | None] = [None] * len(tree.column)
    columns_of, thresholds = tree.column.tolist(), tree.threshold.tolist()
    fractions, surrogate_begin = tree.left_fraction.tolist(), tree.surrogate_begin.tolist()
    for node in np.flatnonzero(tree.column >= 0).tolist():
        sets = _sets(tree.sets, tree.set_begin[node], tree.set_words[node])
        split = _describe_rule(columns_of[node], thresholds[node], sets, columns)
        split |= {field: of_nodes[node] for field, of_nodes in branches.items()}
        split["left_fraction"] = fractions[node]
        if weighs_evidence and split["missing_to"] == "both":
            begin, end = int(tree.evidence_begin[node]), int(tree.evidence_end[node])
            found = range(begin, end) if begin != UNGROWN else None
            split["evidence"] = (
                None if found is None else [_describe_evidence(tree, i, columns) for i in found]
            )
        surrogates = range(surrogate_begin[node], surrogate_begin[node + 1])
        split["surrogates"] = [_describe_surrogate(tree, i, columns) for i in surrogates]
        splits[node] = split
    return splits


def _describe_evidence(tree: TreeArrays, i: int, columns: list[dict[str, Any]]) -> dict[str, Any]:
    column = int(tree.evidence_column[i])
    known = columns[column]
    begin, end = (int(tree.evidence_group_end[i - 1]) if i else 0), int(tree.evidence_group_end[i])
    groups = []
    for key, rows, left in zip(
        tree.evidence_key[begin:end].tolist(),
        tree.evidence_group_rows[begin:end].tolist(),
        tree.evidence_group_left[begin:end].tolist(),
        strict=True,
    ):
        if known["kind"] == "categorical":
            group = {"category": known["categories"][int(key)]}
        else:
            group = {"from": None if key == -np.inf else key}
        groups.append(group | {"rows": rows, "left": left})
    totals = {"rows": int(tree.evidence_rows[i]), "left": int(tree.evidence_left[i])}
    return {"column": column, "name": known["name"]} | totals | {"groups": groups}


def _describe_surrogate(tree: TreeArrays, i: int, columns: list[dict[str, Any]]) -> dict[str, Any]:
    sets = _sets(tree.sets, tree.surrogate_set_begin[i], tree.surrogate_set_words[i])
    rule = _describe_rule(int(tree.surrogate_column[i]), float(tree.surrogate_threshold[i]), sets, columns)
    # both sides of categories are listed as they are
    is_reversed = rule["rule"] != "categories" and tree.surrogate_below[i] == Branch.RIGHT
    return rule | {"below": "right" if is_reversed else "left"}


def _sets(words: NDArray[np.uint64], begin: Any, count: Any) -> list[list[int]]:
    """Return the numbers of the categories that go left, and of those that go right."""
    if not count:
        return [[], []]
    bits = np.unpackbits(words[begin : begin + 2 * count].view(np.uint8), bitorder="little").reshape(2, -1)
    return [np.flatnonzero(side).tolist() for side in bits]


def _describe_rule(
    column: int, threshold: float, sets: list[list[int]], columns: list[dict[str, Any]]
) -> dict[str, Any]:
    known = columns[column]
    rule: dict[str, Any] = {"column": column, "name": known["name"]}
    if threshold == -np.inf:
        return rule | {"rule": "missing"}
    if known["kind"] == "categorical":
        left, right = ([known["categories"][number] for number in side] for side in sets)
        if not left or not right:
            return rule | {"rule": "missing"}
        return rule | {"rule": "categories", "left": left, "right": right}
    if known["order"] is None:
        rule |= {"rule": "threshold", "threshold": threshold}
        if known["time"] is not None:
            rule["threshold_text"] = TimeFormat(**known["time"]).write_threshold(threshold)
        return rule
    order, first_right = known["order"], int(np.ceil(threshold))
    sides = {"left": order[:first_right], "right": order[first_right:]}
    return rule | {"rule": "order", "threshold": threshold} | sides


def _plain(label: Any) -> Any:
    """Return a label as a plain Python object."""
    return label.item() if isinstance(label, np.generic) else label
