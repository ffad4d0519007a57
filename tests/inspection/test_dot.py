"""The graph says what the tree does, and Graphviz takes it whatever the names are."""

from __future__ import annotations

import warnings
from inspect import signature

import numpy as np
import pytest
from dots import needs_dot, positions, read_dot, run_dot, svg_lines
from models import STRATEGIES, TASKS, simulated, with_missing

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.inspection.dot import tree_to_dot

N = 200
STEP = np.arange(N, dtype=float)
TWO_COLUMNS = np.column_stack([STEP, STEP // 50])


def grown_on_demand():
    """A tree of five nodes, two of its branches not grown."""
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0))
    tree.predict([[np.nan, 0.0]])
    return tree


def fitted(task, missing, **parameters):
    """A tree of two levels that has met rows with missing values."""
    X, y = simulated(N, 4, missing=0.1, task=task)
    kind = TrinaryTreeRegressor if task == "regression" else TrinaryTreeClassifier
    tree = kind(**({"missing": missing, "max_depth": 2} | parameters)).fit(X, y)
    tree.predict(with_missing(X[:20]))
    return tree


def test_graph_has_nodes_rules_and_third_branches():
    graph = read_dot(grown_on_demand().to_dot())
    assert graph.nodes == {
        "n0": ["200 rows", "mean 2.200"],
        "n1": ["80 rows", "mean 1.000"],
        "n2": ["120 rows", "mean 3.000"],
        "n3": ["200 rows", "mean 2.200"],
        "n4": ["100 rows", "mean 1.400"],
        "n3_right": ["not grown yet"],
        "n3_third": ["not grown yet"],
    }
    assert graph.edges == {
        ("n0", "n1"): "x0 < 79.5",
        ("n0", "n2"): "x0 ≥ 79.5",
        ("n0", "n3"): "x0 missing, then x1",
        ("n3", "n4"): "x1 < 1.5",
        ("n3", "n3_right"): "x1 ≥ 1.5",
        ("n3", "n3_third"): "x1 missing",
    }
    assert graph.dotted == graph.same_height == {("n0", "n3"), ("n3", "n3_third")}


def test_title_says_what_the_tree_is_and_how_to_grow_the_rest():
    title = read_dot(grown_on_demand().to_dot()).title
    assert title[0].startswith("trinary tree, regression: 5 nodes")
    assert "dotted: third branch" in title[1]
    assert "grow_all()" in title[2]


def test_ungrown_branches_are_dashed_and_tell_what_they_predict_once_detached():
    tree = grown_on_demand().detach()
    assert read_dot(tree.to_dot()).nodes["n3_third"] == ["not grown: predicts 2.200"]
    assert tree.to_dot().count("style=dashed") == 2


def test_classes_show_the_best_and_all_probabilities():
    tree = TrinaryTreeClassifier(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, "low", "high"))
    assert read_dot(tree.to_dot()).nodes["n0"] == ["200 rows", "class high", "high 60.0%", "low 40.0%"]


def test_many_classes_show_the_best_alone():
    tree = TrinaryTreeClassifier(max_depth=1).fit(STEP[:, None], (STEP // 20).astype(int))
    assert read_dot(tree.to_dot()).nodes["n0"] == ["200 rows", "class 0", "10.0%"]


def test_weights_are_shown_if_there_are_any():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP, 1 + STEP % 2)
    graph = read_dot(tree.to_dot())
    assert graph.nodes["n0"][:2] == ["200 rows", "weight 300"]
    assert "means are weighted, rows are counted" in graph.title


def test_surrogates_hang_beside_their_node():
    X = np.column_stack([STEP, -STEP])
    tree = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, (STEP < 80).astype(float))
    graph = read_dot(tree.to_dot())
    assert " ".join(graph.nodes["n0_missing"]) == "x0 missing: by x1 (left ≥ -79.5), else right"
    assert ("n0", "n0_missing") in graph.dotted & graph.same_height


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"max_nodes": 3}, "max_nodes=None draws everything"),
        ({"max_depth": 1}, "a larger max_depth draws more"),
    ],
)
def test_what_is_left_out_is_mentioned_at_its_node_and_in_the_title(options, remedy):
    X, y = simulated(N, 3)
    tree = TrinaryTreeRegressor(missing="mia", min_samples_leaf=5).fit(X, y)
    graph = read_dot(tree.to_dot(**options))
    drawn = [name for name in graph.nodes if "_" not in name]
    assert graph.title[-1] == f"… {tree.n_nodes_ - len(drawn)} nodes are left out: {remedy}"
    below = {name: lines for name, lines in graph.nodes.items() if name.endswith("_more")}
    assert set(below) == {"n1_more", "n2_more"}
    assert all(lines[0].endswith("nodes below") for lines in below.values())
    assert "left out" not in tree.to_dot(max_nodes=None)


def test_no_more_than_two_hundred_nodes_are_drawn_unless_asked_for():
    tree = TrinaryTreeRegressor(missing="mia", max_depth=None, min_samples_leaf=1).fit(STEP[:, None], STEP)
    assert signature(tree.to_dot).parameters["max_nodes"].default == 200 < tree.n_nodes_
    assert len([name for name in read_dot(tree.to_dot()).nodes if "_" not in name]) <= 200
    assert len(read_dot(tree.to_dot(max_nodes=None)).nodes) == tree.n_nodes_


def test_larger_means_and_surer_classes_have_a_stronger_fill():
    def fills(tree):
        rows = [line for line in tree.to_dot().splitlines() if "fillcolor" in line]
        return [sum(int(row.partition('fillcolor="#')[2][i : i + 2], 16) for i in (0, 2, 4)) for row in rows]

    tree = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(STEP[:, None], STEP)
    root, low, high = fills(tree)
    assert low > root > high
    root, low, high = fills(TrinaryTreeClassifier(missing="mia", max_depth=1).fit(STEP[:, None], STEP < 100))
    assert root > max(low, high)


@pytest.mark.parametrize(
    "target", [STEP * 1e300, np.zeros(N), STEP * 1e-300], ids=["huge", "constant", "tiny"]
)
def test_any_target_has_a_fill(target):
    assert read_dot(TrinaryTreeRegressor(max_depth=2).fit(TWO_COLUMNS, target).to_dot())
    centred = TrinaryTreeRegressor(max_depth=2).fit(TWO_COLUMNS, target - target.mean())
    assert "nan" not in centred.to_dot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 0}, "digits must be an integer of at least 1"),
        ({"max_depth": -1}, "max_depth must be an integer of at least 0"),
        ({"max_nodes": 0}, "max_nodes must be an integer of at least 1"),
    ],
)
def test_option_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        grown_on_demand().to_dot(**options)


# ------------------------------------------------------------------------------------------ what Graphviz makes of it


@needs_dot
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_graphviz_draws_every_label_as_it_was_meant(task, missing):
    text = fitted(task, missing).to_dot()
    graph = read_dot(text)
    labels = [*graph.title, *(line for lines in graph.nodes.values() for line in lines)]
    seen = svg_lines(text)
    for line in labels:
        assert line.strip() in seen
    for rule in graph.edges.values():
        assert rule in " ".join(seen)


@needs_dot
@pytest.mark.parametrize("missing", STRATEGIES)
def test_children_are_below_left_before_right_and_the_third_is_to_the_right_at_the_same_height(missing):
    text = fitted("regression", missing, max_depth=3, min_samples_leaf=5).to_dot()
    graph, at = read_dot(text), positions(text)
    for tail, head in graph.same_height:
        assert at[head][1] == at[tail][1]
        assert at[head][0] > at[tail][0]
    below = {}
    for tail, head in graph.edges:
        if (tail, head) not in graph.same_height:
            assert at[head][1] < at[tail][1]
            below.setdefault(tail, []).append(head)
    for left, right in below.values():
        assert at[left][0] < at[right][0]


@needs_dot
@pytest.mark.parametrize("make", ["single", "all", "partly", "detached", "limited"])
def test_graphviz_takes_a_tree_however_far_it_is_grown(make):
    tree = fitted("classification", "trinary", max_depth=0 if make == "single" else 2)
    if make == "all":
        tree.grow_all()
    if make == "detached":
        tree.detach()
    text = tree.to_dot(max_nodes=5) if make == "limited" else tree.to_dot(max_nodes=None)
    assert set(positions(text)) == set(read_dot(text).nodes)


EVIL = [
    'quo"te',
    '"',
    "back\\slash",
    "end\\",
    '\\"',
    "\\n\\l\\r",
    "\\N \\G \\E \\T \\H \\L",
    "<b>bold</b>",
    "<",
    "&amp; &#65; & &lt;",
    "a -> b; }",
    "{x|y}",
    "// no /* comment */ # here",
    "two\nlines",
    "tab\there",
    "nul\0",
    "Größe 東京 🌳",
    "\u202eright to left",
    "$x^2$ %d {0}",
]


@needs_dot
@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_names_categories_and_classes_are_shown_as_they_are(name):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({name: [name, "plain", "other"] * 50})
    tree = TrinaryTreeClassifier(max_depth=1).fit(table, np.where(table[name] == name, name, "no"))
    text = tree.to_dot()
    graph = read_dot(text)
    assert set(graph.edges) == {("n0", "n1"), ("n0", "n2"), ("n0", "n0_third")}
    assert not any(sign in text for sign in "\0\t\u202e")
    seen = " ".join(svg_lines(text))
    for expected in (*graph.edges.values(), *graph.nodes["n0"]):
        assert expected in seen
        assert all(rule in tree.to_text() for rule in graph.edges.values())


@needs_dot
def test_a_long_ladder_is_taken():
    X = np.random.default_rng(0).normal(size=(60, 80))
    tree = TrinaryTreeRegressor(max_depth=1).fit(X, X.sum(axis=1))
    tree.predict(np.full((1, 80), np.nan))
    run_dot(tree.to_dot(max_nodes=None), "plain")


def test_graph_of_a_detached_tree_without_third_branches_has_no_word_of_growth():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "grow" not in tree_to_dot(fitted("regression", "mia").to_dict())
