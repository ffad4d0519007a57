"""The text of a tree says what the tree does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.parameters import STRATEGIES
from tritree.views.text import draw_text

N = 200
rng = np.random.default_rng(0)
STEP = np.arange(N, dtype=float)
TWO_COLUMNS = np.column_stack([STEP, STEP // 50])


def drawn(tree, **options):
    """The lines below the headline, the legend and the headings."""
    return tree.to_text(**options).splitlines()[4:]


def test_whole_drawing_of_a_tree_that_has_grown_on_demand():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0))
    tree.predict([[np.nan, 0.0]])
    assert tree.to_text() == "\n".join(
        [
            "trinary tree, mean response: 5 nodes, 3 leaves, 2 grown on demand, 2 branches not grown yet",
            "● leaf   ┄ third branch: all rows of the node, for those whose value is missing",
            "",
            "                              rows  share   mean",
            "all rows                       200         2.200",
            "├─ x0 < 79.5                    80    40%  1.000  ●",
            "├─ x0 ≥ 79.5                   120    60%  3.000  ●",
            "╰┄ x0 missing, x1 takes over   200   100%  2.200",
            "   ├─ x1 < 1.5                 100    50%  1.400  ●",
            "   ├─ x1 ≥ 1.5                not grown yet",
            "   ╰┄ x1 missing              not grown yet",
        ]
    )


def test_third_branch_without_another_column_says_so():
    tree = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None], STEP)
    tree.predict([[np.nan]])
    assert any("x0 missing, no other column helps" in line for line in drawn(tree))


def test_branch_that_is_not_grown_says_so():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    assert drawn(tree)[-1].split("missing")[1].strip() == "not grown yet"
    assert "not grown yet" not in tree.grow_all().to_text()


@pytest.mark.parametrize("missing", ["majority", "mia"])
def test_side_that_takes_missing_is_marked(missing):
    X = np.where(rng.random((N, 1)) < 0.2, np.nan, STEP[:, None])
    tree = TrinaryTreeRegressor(missing=missing, max_depth=1, split_on_missing=False).fit(X, STEP)
    assert sum("or missing" in line for line in drawn(tree)) == 1


def test_missing_against_observed_is_drawn_as_such():
    X = np.where(np.arange(N) < 50, np.nan, rng.normal(size=N))[:, None]
    tree = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(X, np.isnan(X[:, 0]).astype(float))
    lines = drawn(tree)
    assert "x0 missing" in lines[1]
    assert "x0 observed" in lines[2]


def test_missing_against_observed_of_a_categorical_column_is_drawn_as_such():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": [None] * 50 + ["red", "blue", "green"] * 50})
    tree = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(X, X["colour"].isna().astype(float))
    lines = drawn(tree)
    assert "colour missing" in lines[1]
    assert "colour observed" in lines[2]


def test_fractional_shows_the_share_of_a_missing_row_on_either_side():
    tree = TrinaryTreeRegressor(missing="fractional", max_depth=1).fit(
        STEP[:, None], (STEP < 50).astype(float)
    )
    assert "x0 < 49.5, missing with 25%" in drawn(tree)[1]
    assert "x0 ≥ 49.5, missing with 75%" in drawn(tree)[2]


def test_surrogates_are_listed_in_their_order():
    X = np.column_stack([STEP, -STEP, rng.permutation(STEP)])
    tree = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, (STEP < 80).astype(float))
    assert re.search(r"┊  x0 missing: left where x1 ≥ -79.5.*, else right$", tree.to_text(), re.MULTILINE)


def test_many_categories_are_shortened():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"city": [f"city {i % 40:02}" for i in range(N * 4)]})
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, X["city"].str[-2:].astype(float))
    lines = drawn(tree)
    assert "city in {city 00, city 01, city 02, city 03, … 16 more}" in lines[1]
    assert max(map(len, lines)) < 110


def test_long_names_are_shortened_and_line_breaks_removed():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a name\nof " + "very " * 30 + "many words": STEP})
    lines = drawn(TrinaryTreeRegressor(max_depth=1).fit(X, STEP))
    assert len(lines) == 4
    assert "a name of very very very very…" in lines[1]


def test_classes_show_the_best_and_all_shares():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    text = TrinaryTreeClassifier(max_depth=2).fit(X, names[y]).to_text()
    assert re.search(r"rows +share +class +setosa +versicolor +virginica$", text, re.MULTILINE)
    assert re.search(r"x2 < 2.45 +50 +33% +setosa +100.0% +0.0% +0.0% +●$", text, re.MULTILINE)


def test_many_classes_show_the_best_alone():
    X, y = STEP[:, None], (STEP // 20).astype(int)
    text = TrinaryTreeClassifier(max_depth=1).fit(X, y).to_text()
    assert re.search(r"rows +share +class +its share$", text, re.MULTILINE)


def test_tree_of_one_node_is_one_line():
    assert len(drawn(TrinaryTreeRegressor(max_depth=0).fit(TWO_COLUMNS, STEP))) == 1


@pytest.mark.parametrize("missing", STRATEGIES)
def test_whole_tree_has_a_line_per_node(missing):
    X = rng.normal(size=(N, 4))
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    tree = TrinaryTreeRegressor(missing=missing, max_depth=2).fit(holed, X[:, 0]).grow_all()
    lines = [line for line in drawn(tree) if "┊" not in line]
    assert len(lines) == tree.n_nodes_
    assert sum(line.endswith("●") for line in lines) == tree.get_n_leaves()


def test_depth_and_number_of_nodes_can_be_limited():
    X = rng.normal(size=(N, 3))
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=5).fit(X, X.sum(axis=1))
    assert len(drawn(tree, max_depth=1)) == 3
    assert "nodes below" in tree.to_text(max_depth=1)
    assert len(drawn(tree, max_nodes=9)) <= 9
    assert drawn(tree, max_nodes=10**9) == drawn(tree)


def test_digits_set_how_exact_numbers_are():
    tree = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None] / 7, STEP * 1e6)
    assert "x0 < 14.21" in tree.to_text()
    assert "x0 < 14.214" in tree.to_text(digits=5)
    assert "99,500,000" in tree.to_text()


def test_a_long_ladder_is_drawn_without_recursion():
    width = 1_200
    leaf = {"depth": 0, "rows": 1, "weight": 1.0, "loss": 0.0, "value": [0.0], "split": None}
    nodes = [
        leaf
        | {
            "split": {"column": 0, "name": "a", "rule": "threshold", "threshold": 0.5, "missing_to": "third"}
            | {"larger": "left", "share": 0.5, "surrogates": []},
            "left": "ungrown",
            "right": "ungrown",
            "third": i + 1,
        }
        for i in range(width)
    ]
    nodes.append(leaf | {"left": None, "right": None, "third": None})
    tree = {"missing": "trinary", "classes": None, "columns": [], "nodes": nodes}
    text = draw_text(tree | {"n_grown": 0, "n_leaves": 1, "n_ungrown": 2 * width})
    assert len(text.splitlines()) == 4 + 3 * width + 1
