"""The text of a tree says what the tree does."""

from __future__ import annotations

import re
from inspect import signature

import numpy as np
import pytest
from models import STRATEGIES, with_missing
from sklearn.datasets import load_iris

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor, UngrownBranchWarning
from tritree.inspection.describe import describe_tree
from tritree.inspection.formatting import width_of
from tritree.inspection.text import tree_to_text

N = 200
rng = np.random.default_rng(0)
STEP = np.arange(N, dtype=float)
TWO_COLUMNS = np.column_stack([STEP, STEP // 50])


def drawn(tree, **options):
    """The lines of the nodes: those below the headline, the legend and the headings."""
    lines = tree.to_text(**options).splitlines()
    return [line for line in lines[lines.index("") + 2 :] if not line.startswith("…")]


def described(tree, **more):
    """The description of a tree of numbers without names."""
    classes = getattr(tree, "classes_", None)
    return describe_tree(
        tree.tree_, tree._encoder, classes, missing=tree.missing, n_grown=tree.n_grown_, **more
    )


def test_whole_drawing_of_a_tree_that_has_grown_on_demand():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0))
    tree.predict([[np.nan, 0.0]])
    assert tree.to_text() == "\n".join(
        [
            "trinary tree, regression: 5 nodes, 3 leaves, 2 grown on demand, 2 branches not grown yet",
            "● leaf   fraction: of the parent's rows   "
            "┄ third branch: all rows of the node, for those whose value is missing",
            "a branch not grown yet is grown when a row needs it; grow_all() grows them all",
            "",
            "                        rows  fraction   mean",
            "all rows                 200            2.200",
            "├─ x0 < 79.5              80       40%  1.000  ●",
            "├─ x0 ≥ 79.5             120       60%  3.000  ●",
            "╰┄ x0 missing, then x1   200      100%  2.200",
            "   ├─ x1 < 1.5           100       50%  1.400  ●",
            "   ├─ x1 ≥ 1.5          not grown yet",
            "   ╰┄ x1 missing        not grown yet",
        ]
    )


def test_third_branch_without_another_column_says_so():
    tree = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None], STEP)
    tree.predict([[np.nan]])
    assert any("x0 missing, no further split" in line for line in drawn(tree))


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


def test_fractional_shows_the_part_of_a_missing_row_on_either_side():
    tree = TrinaryTreeRegressor(missing="fractional", max_depth=1).fit(
        STEP[:, None], (STEP < 50).astype(float)
    )
    assert "x0 < 49.5, and 25% of each missing row" in drawn(tree)[1]
    assert "x0 ≥ 49.5, and 75% of each missing row" in drawn(tree)[2]
    assert "weight" not in tree.to_text()


def test_fractional_shows_weights_that_add_up_where_rows_count_twice():
    X = np.where(np.arange(N) % 10 == 0, np.nan, STEP)[:, None]
    tree = TrinaryTreeRegressor(missing="fractional", max_depth=1).fit(X, (STEP < 50).astype(float))
    text = tree.to_text()
    assert "a row whose value is missing counts on both sides in rows, and by its fractions in weight" in text
    assert "are weighted" not in text
    assert re.search(r"rows +weight +fraction +mean$", text, re.MULTILINE)
    cells = [re.findall(r" ([\d.]+) +([\d.]+) +(\d+)% ", line)[0] for line in drawn(tree)[1:]]
    rows, weights, fractions = (sum(map(float, column)) for column in zip(*cells, strict=True))
    assert (rows, weights, fractions) == (N + N // 10, N, 100)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_weights_are_shown_and_named_if_there_are_any(missing):
    plain = TrinaryTreeRegressor(missing=missing, max_depth=1).fit(TWO_COLUMNS, STEP)
    assert "weight" not in plain.to_text()
    tree = TrinaryTreeRegressor(missing=missing, max_depth=1).fit(TWO_COLUMNS, STEP, 1 + STEP % 2)
    assert tree.to_text().count("means are weighted, rows are counted") == 1
    assert re.search(r"all rows +200 +300 +", tree.to_text())


def test_detached_tree_says_what_its_ungrown_branches_predict():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0)).detach()
    text = tree_to_text(described(tree, detached=True))
    assert "1 branch not grown before detach()" in text.splitlines()[0]
    assert re.search(r"x0 missing +not grown: predicts 2\.200$", text, re.MULTILINE)
    with pytest.warns(UngrownBranchWarning):
        np.testing.assert_allclose(tree.predict([[np.nan, 0.0]]), 2.2)
    assert "yet" not in text


def test_detached_tree_of_classes_predicts_the_best_class():
    tree = TrinaryTreeClassifier(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, "low", "high")).detach()
    text = tree_to_text(described(tree, detached=True))
    assert re.search(r"x0 missing +not grown: predicts high, 60\.0%$", text, re.MULTILINE)


def test_surrogates_are_listed_in_their_order():
    X = np.column_stack([STEP, -STEP, rng.permutation(STEP)])
    tree = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, (STEP < 80).astype(float))
    assert re.search(r"┊  x0 missing: by x1 \(left ≥ -79.5\).*, else right$", tree.to_text(), re.MULTILINE)


def test_surrogates_of_categories_say_where_each_side_goes():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": STEP, "b": np.where(STEP < 78, "x", np.where(STEP < 150, "y", "z"))})
    tree = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, STEP < 80)
    assert "┊  a missing: by b (left x; right y, z), else right" in drawn(tree)[1]


def test_line_of_surrogates_has_an_end():
    pd = pytest.importorskip("pandas")
    side = np.where(STEP < 78, "on the left hand side", "on the right hand side")
    words = {f"column with long name {i}": [f"{s} {k % 9}" for k, s in enumerate(side)] for i in range(5)}
    X = pd.DataFrame({"a": STEP} | words)
    tree = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, STEP < 80)
    assert "… 4 more, else right" in drawn(tree)[1]
    assert len(drawn(tree)[1]) < 160
    numeric = pd.DataFrame({f"column {i}": STEP for i in range(6)})
    line = drawn(TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(numeric, STEP))[1]
    assert 80 < len(line) <= 103
    assert "… 3 more, else" in line


def test_many_categories_are_shortened():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"city": [f"city {i % 40:02}" for i in range(N * 4)]})
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, X["city"].str[-2:].astype(float))
    lines = drawn(tree)
    assert "city in {city 00, city 01, city 02, city 03, … 16 more}" in lines[1]
    assert max(map(len, lines)) < 110


def test_numbers_of_more_categories_have_separators():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"name": [f"{i:05}" for i in range(4000)]})
    tree = TrinaryTreeRegressor(max_depth=1, drop_identifiers=False).fit(X, np.arange(4000.0))
    assert "… 1,994 more}" in drawn(tree)[1]


def test_odd_categories_are_quoted():
    pd = pytest.importorskip("pandas")
    odd = ["", " a", "b, c", "nan", "two\nlines"]
    X = pd.DataFrame({"colour": np.repeat([*odd, "red"], 40)})
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, X["colour"] == "red")
    assert r'colour in {"", " a", "b, c", "nan", "two\nlines"}' in drawn(tree)[1]
    assert "colour is red" in drawn(tree)[2]


def test_wide_characters_keep_the_numbers_in_columns():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"都市": np.repeat(["東京", "e\u0301toile", "plain", "ascii"], 50)})
    lines = drawn(TrinaryTreeRegressor(min_samples_leaf=5).fit(X, STEP), digits=4)
    ends = {width_of(line.rstrip(" ●")) for line in lines if "grown" not in line}
    assert len(ends) == 1


def test_long_names_are_shortened_and_line_breaks_escaped():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a name\nof " + "very " * 30 + "many words": STEP})
    lines = drawn(TrinaryTreeRegressor(max_depth=1).fit(X, STEP))
    assert len(lines) == 4
    assert r'"a name\nof very very very v…" <' in lines[1]


def test_classes_show_the_best_and_all_probabilities():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    text = TrinaryTreeClassifier(max_depth=2).fit(X, names[y]).to_text()
    assert re.search(r"rows +fraction +class +setosa +versicolor +virginica$", text, re.MULTILINE)
    assert re.search(r"x2 < 2.45 +50 +33% +setosa +100.0% +0.0% +0.0% +●$", text, re.MULTILINE)


def test_many_classes_show_the_best_alone():
    X, y = STEP[:, None], (STEP // 20).astype(int)
    text = TrinaryTreeClassifier(max_depth=1).fit(X, y).to_text()
    assert re.search(r"rows +fraction +class +probability$", text, re.MULTILINE)


def test_tree_of_one_node_is_one_line_without_a_fraction_of_what_is_above():
    tree = TrinaryTreeRegressor(max_depth=0).fit(TWO_COLUMNS, STEP)
    assert tree.to_text().splitlines()[1:] == [
        "● leaf",
        "",
        "          rows   mean",
        "all rows   200  99.50  ●",
    ]


def test_legend_says_how_to_grow_what_is_not_grown():
    how = "a branch not grown yet is grown when a row needs it; grow_all() grows them all"
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    assert tree.to_text().splitlines()[2] == how
    assert how not in tree.grow_all().to_text()
    assert how not in TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP).detach().to_text()


@pytest.mark.parametrize("missing", STRATEGIES)
def test_whole_tree_has_a_line_per_node(missing):
    X = rng.normal(size=(N, 4))
    tree = TrinaryTreeRegressor(missing=missing, max_depth=2).fit(with_missing(X, 0.1), X[:, 0]).grow_all()
    lines = [line for line in drawn(tree) if "┊" not in line]
    assert len(lines) == tree.n_nodes_
    assert sum(line.endswith("●") for line in lines) == tree.get_n_leaves()


def test_depth_and_number_of_nodes_can_be_limited():
    X = rng.normal(size=(N, 3))
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=5).fit(X, X.sum(axis=1))
    assert len(drawn(tree, max_depth=0)) == 1
    assert len(drawn(tree, max_depth=1)) == 3
    assert "nodes below" in tree.to_text(max_depth=1)
    for most in range(1, 20):
        assert len(drawn(tree, max_nodes=most)) == most - (most % 2 == 0)
    assert drawn(tree, max_nodes=10**9) == drawn(tree)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"max_nodes": 3}, "max_nodes=None draws everything"),
        ({"max_depth": 1}, "a larger max_depth draws more"),
        ({"max_depth": 2, "max_nodes": 6}, "max_nodes=None draws everything"),
    ],
)
def test_last_line_says_what_is_left_out_and_how_to_see_it(options, remedy):
    X = rng.normal(size=(N, 3))
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=5).fit(X, X.sum(axis=1))
    left_out = tree.n_nodes_ - len(drawn(tree, **options))
    assert tree.to_text(**options).splitlines()[-1] == f"… {left_out} nodes are left out: {remedy}"
    assert "left out" not in tree.to_text(max_nodes=None)


def test_a_thousand_nodes_are_drawn_unless_more_are_asked_for():
    X = np.arange(3000.0)[:, None]
    tree = TrinaryTreeRegressor(missing="mia", max_depth=None, min_samples_leaf=1).fit(X, X[:, 0])
    lines = tree.to_text().splitlines()
    assert signature(tree.to_text).parameters["max_nodes"].default == 1000
    assert lines[-1] == "… 5,000 nodes are left out: max_nodes=None draws everything"
    assert len(tree_to_text(described(tree), max_nodes=None).splitlines()) == 4 + tree.n_nodes_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 0}, "digits must be an integer of at least 1, got 0"),
        ({"digits": 2.5}, "digits must be an integer of at least 1, got 2.5"),
        ({"max_depth": -1}, r"max_depth must be an integer of at least 0, or None \(draws every depth\)"),
        ({"max_nodes": 0}, r"max_nodes must be an integer of at least 1, or None \(draws everything\)"),
    ],
)
def test_option_that_cannot_be_is_refused(options, message):
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    with pytest.raises(ValueError, match=message):
        tree.to_text(**options)


def test_digits_set_how_exact_numbers_are():
    tree = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None] / 7, STEP * 1e6)
    assert "x0 < 14.21 " in tree.to_text()
    assert "x0 < 14.214 " in tree.to_text(digits=5)
    assert "x0 < 14.214285714285715 " in tree.to_text(digits=17)
    assert "99,500,000" in tree.to_text()


def test_legend_owns_up_to_rounded_thresholds():
    rounded = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None] / 7, STEP)
    assert "rounded; digits=17 shows them in full" in rounded.to_text()
    assert "rounded" not in rounded.to_text(digits=17)
    assert "rounded" not in TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP).to_text()


@pytest.mark.parametrize(
    "values",
    [
        1900 + STEP // 2,
        20200101 + STEP,
        100 + STEP / 1000,
        np.round(9.99 + 37.01 * STEP, 2),
        (100 + STEP / 1000).astype(np.float32),
    ],
    ids=["years", "days", "thousandths", "cents", "float32"],
)
def test_printed_thresholds_part_the_training_rows_as_the_tree_does(values):
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=1, max_depth=4).fit(
        values[:, None], rng.random(N)
    )
    text = tree.to_text(max_nodes=None).replace(",", "")
    printed = sorted({float(number) for number in re.findall(r"x0 < (\S+)", text)})
    real = sorted(set(tree.tree_.threshold[tree.tree_.column >= 0]))
    values = np.unique(values).astype(float)
    np.testing.assert_array_equal(np.searchsorted(values, printed), np.searchsorted(values, real))


def test_huge_and_tiny_numbers_have_exponents():
    for scale in (1e250, 1e-250):
        tree = TrinaryTreeRegressor(max_depth=1).fit(
            (STEP * scale / 7)[:, None], (STEP // 100) * scale / 1e40
        )
        assert max(map(len, drawn(tree))) < 60


def test_a_long_ladder_is_drawn_without_recursion():
    width = 1_200
    leaf = {"depth": 0, "rows": 1, "weight": 1.0, "loss": 0.0, "value": [0.0], "split": None}
    nodes = [
        leaf
        | {
            "split": {"column": 0, "name": "a", "rule": "threshold", "threshold": 0.5, "missing_to": "third"}
            | {"missing_branch": "third", "unseen_branch": "third"}
            | {"larger_side": "left", "left_fraction": 0.5, "surrogates": []},
            "left": "ungrown",
            "right": "ungrown",
            "third": i + 1,
        }
        for i in range(width)
    ]
    nodes.append(leaf | {"left": None, "right": None, "third": None})
    tree = {"missing": "trinary", "classes": None, "columns": [], "nodes": nodes}
    text = tree_to_text(
        tree | {"n_grown": 0, "n_leaves": 1, "n_ungrown": 2 * width, "detached": False}, max_nodes=None
    )
    assert len(text.splitlines()) == 5 + 3 * width + 1


def test_the_largest_weights_that_add_up_are_written_with_an_exponent():
    weight = np.linspace(0.1, 1, N) / N * 1.7e308
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP, sample_weight=weight)
    assert drawn(tree)[0].split()[-2].endswith("e307")
