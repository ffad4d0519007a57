"""The branches for missing values and unseen categories that views show are those that the core's rows take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boosting.tables import HOLED, ROWS, TABLE, boosted
from forest.grown import grown

from tritree.inspection.traversal import Traversal
from tritree.inspection.tree_arrays import Branch
from tritree.validation import BOOSTING_STRATEGIES, STRATEGIES

#: Rows without any value, with unseen categories only, and with one column of either.
CASES = {
    "all missing": ROWS.mask(np.ones(ROWS.shape, dtype=bool)),
    "unseen": TABLE.head(100).assign(city="Nowhere"),
    "unseen, the rest missing": ROWS.mask(np.ones(ROWS.shape, dtype=bool)).assign(city="Nowhere"),
    "some": ROWS,
}


def assert_core_agrees(tree: Any, rows: Any) -> set[str]:
    """Compare the branches with decision paths, step by step; return which branches were compared."""
    expected = {"missing": tree.missing_branch, "unseen": tree.unseen_branch}
    compared = set()
    for steps in Traversal(tree, rows.columns, rows.n_rows).all_steps():
        columns = tree.column[steps.node]
        for row, node, branch, column, by, lacks_value in zip(
            steps.row, steps.node, steps.branch, columns, steps.decided_by, steps.lacks_value, strict=True
        ):
            if not lacks_value:
                continue
            kind = "missing" if rows.cells[row][column].is_missing else "unseen"
            found = Branch(int(expected[kind][node]))
            if found is Branch.BOTH:
                assert branch in (Branch.LEFT, Branch.RIGHT)
            elif found is Branch.SURROGATES:
                # the first surrogate that is observed decides, else the row goes to the larger side
                assert by != column or branch == tree.larger_side[node]
            else:
                assert by == column
                assert branch == found
            compared.add(f"{kind}: {found.word}")
    return compared


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", STRATEGIES)
def test_branches_are_those_of_decision_paths(missing: str, training: Any) -> None:
    forest = grown("regression", training, missing=missing, n_estimators=6, category_penalty=0)
    compared = set()
    for rows in CASES.values():
        forest.predict(rows)
        read = forest._read_cells(rows)
        compared |= set().union(*(assert_core_agrees(tree, read) for tree in forest._model.trees()))
    own = {
        "trinary": "both" if training is TABLE else "third",
        "fractional": "both",
        "surrogate": "surrogates",
    }
    if missing in own:
        assert {f"missing: {own[missing]}", f"unseen: {own[missing]}"} <= compared
    else:
        assert any(word.startswith("unseen") for word in compared)
        assert {"missing: left", "missing: right", "missing: third", "missing: both"} & compared


@pytest.mark.parametrize("training", [TABLE, HOLED], ids=["complete", "missing values"])
@pytest.mark.parametrize("missing", BOOSTING_STRATEGIES)
def test_branches_of_boosting_are_those_of_decision_paths(missing: str, training: Any) -> None:
    model = boosted("regression", training, missing=missing, split_penalty=0, category_penalty=0)
    compared = set()
    for rows in CASES.values():
        model.predict(rows)
        read = model._read_cells(rows)
        compared |= set().union(*(assert_core_agrees(tree, read) for tree in model._model.trees()))
    assert len(compared) >= 2


def test_split_without_surrogates_sends_missing_values_to_the_larger_side() -> None:
    tree = next(iter(grown("regression", HOLED, missing="surrogate", max_surrogates=0)._model.trees()))
    splits = tree.column >= 0
    np.testing.assert_array_equal(tree.missing_branch[splits], tree.larger_side[splits])
    np.testing.assert_array_equal(tree.unseen_branch[splits], tree.larger_side[splits])


def test_leaf_has_no_branches() -> None:
    tree = next(iter(grown("regression")._model.trees()))
    assert (
        set(tree.missing_branch[tree.column < 0]) == set(tree.unseen_branch[tree.column < 0]) == {Branch.NONE}
    )
