"""The drawn tree shows what the tree does, and all of it can be read."""

from __future__ import annotations

import sys
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from models import STRATEGIES, TASKS, fitted, simulated, with_missing
from sklearn.datasets import load_iris

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor
from tritree.inspection.captions import TreeText

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.patches import Rectangle, StepPatch  # noqa: E402

from tritree.inspection.figure import draw_tree  # noqa: E402
from tritree.inspection.node_selection import select_nodes  # noqa: E402

N = 200
STEP = np.arange(N, dtype=float)
TWO_COLUMNS = np.column_stack([STEP, STEP // 50])


@pytest.fixture(autouse=True)
def _no_figure_is_left_open():
    yield
    plt.close("all")


def tree_of(missing="trinary", task="regression", missing_rate=0.2, **parameters):
    """A tree of two levels, with some of its third branches."""
    X, y = simulated(N, 4, missing=missing_rate, task=task)
    tree = fitted(X, y, missing=missing, **({"max_depth": 2} | parameters))
    tree.predict(with_missing(X[:2]))
    return tree


def words(ax):
    return [text.get_text() for text in ax.texts]


def caption(ax):
    """The lines at the left end below the picture, broken lines joined."""
    left = min(text.get_position()[0] for text in ax.texts)
    return " ".join(text.get_text() for text in ax.texts if text.get_position()[0] == left)


def boxes(ax):
    """The extent of every node's box on the axes, by the number of the node."""
    named = ((patch.get_gid() or "", patch) for patch in ax.patches)
    return {int(gid[5:]): patch.get_bbox() for gid, patch in named if gid.startswith("node-")}


def thirds(ax):
    """The lines of third branches, by the number of the node."""
    return {int(line.get_gid()[6:]): line for line in ax.lines if (line.get_gid() or "").startswith("third-")}


def inside(ax, box):
    """The words in a box, from top to bottom."""
    found = [
        (y, text.get_text()) for text in ax.texts for x, y in [text.get_position()] if box.contains(x, y)
    ]
    return [text for _, text in sorted(found)]


def above(ax, box):
    """The words over a box that lead to it, as one line."""
    middle, top = (box.x0 + box.x1) / 2, box.y0
    found = [(*text.get_position(), text.get_text()) for text in ax.texts]
    lines = [(y, text) for x, y, text in found if abs(x - middle) < 1e-6 and top - 0.7 < y < top]
    return " ".join(text for _, text in sorted(lines))


def assert_readable(ax):
    """All words are on the axes, and no two of them, nor words and a box around other words, overlap."""
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    extents = [(text.get_text(), text.get_window_extent()) for text in ax.texts if text.get_text()]
    for text, extent in extents:
        assert frame.x0 - 1 <= extent.x0 <= extent.x1 <= frame.x1 + 1, text
        assert frame.y0 - 1 <= extent.y0 <= extent.y1 <= frame.y1 + 1, text
    for (one, a), (other, b) in combinations(extents, 2):
        assert overlap(a, b) < 0.5, (one, other)
    for patch in ax.patches:
        if (patch.get_gid() or "").startswith("node-"):
            box = patch.get_window_extent()
            for text, extent in extents:
                within = (
                    box.x0 <= extent.x0
                    and extent.x1 <= box.x1
                    and box.y0 <= extent.y0
                    and extent.y1 <= box.y1
                )
                assert within or overlap(box, extent) < 0.5, text


def overlap(a, b):
    """How many pixels two extents share in the direction in which they share less."""
    return min(a.x1, b.x1) - max(a.x0, b.x0) if a.y0 + 0.5 < b.y1 and b.y0 + 0.5 < a.y1 else 0


@pytest.mark.parametrize("task", TASKS)
def test_every_node_shows_its_value_its_rows_and_its_question(task):
    tree = tree_of(task=task)
    ax, nodes = tree.plot(), tree.to_dict()["nodes"]
    values = TreeText(tree.to_dict(), range(len(nodes)))
    found = boxes(ax)
    assert sorted(found) == list(range(len(nodes)))
    for number, node in enumerate(nodes):
        data = inside(ax, found[number])
        if task == "regression":
            assert data[:2] == [f"mean {values.mean(node)}", f"{node['rows']} rows"]
        else:
            assert data[:2] == [values.best(node), f"{max(node['value']):.0%} of {node['rows']} rows"]
        assert data[2:] == ([] if node["split"] is None else [node["split"]["name"]])


@pytest.mark.parametrize("missing", STRATEGIES)
def test_conditions_are_above_the_nodes_they_lead_to(missing):
    tree = tree_of(missing)
    ax, nodes = tree.plot(), tree.to_dict()["nodes"]
    rules, found = TreeText(tree.to_dict()), boxes(ax)
    for node in nodes:
        if node["split"] is not None:
            for side, condition in zip(("left", "right"), rules.conditions(node["split"]), strict=True):
                if isinstance(node[side], int):
                    assert above(ax, found[node[side]]).startswith(condition)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_children_are_below_their_node_left_of_right(missing):
    tree = tree_of(missing)
    found = boxes(tree.plot())
    for number, node in enumerate(tree.to_dict()["nodes"]):
        if isinstance(node["left"], int) and isinstance(node["right"], int):
            left, right = found[node["left"]], found[node["right"]]
            assert left.y0 == right.y0 > found[number].y1
            assert left.x1 < right.x0
            assert left.x0 + right.x0 == pytest.approx(2 * found[number].x0)


def test_third_branches_are_dotted_to_the_right_at_the_same_height():
    tree = tree_of()
    ax, nodes = tree.plot(), tree.to_dict()["nodes"]
    found, lines = boxes(ax), thirds(ax)
    assert sorted(lines) == [number for number, node in enumerate(nodes) if node["third"] is not None]
    grown = [number for number, node in enumerate(nodes) if isinstance(node["third"], int)]
    assert grown
    for number in grown:
        (x0, x1), (y0, y1) = lines[number].get_data()
        assert lines[number].get_linestyle() == ":"
        assert y0 == y1
        assert (x0, x1) == pytest.approx((found[number].x1, found[nodes[number]["third"]].x0), abs=0.05)
        assert found[number].y0 == found[nodes[number]["third"]].y0


def test_only_third_branches_are_dotted():
    ax = tree_of("mia").plot()
    assert not thirds(ax)
    assert all(line.get_linestyle() != ":" for line in ax.lines)
    assert "dotted" not in caption(ax)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_default_figure_can_be_read_under_every_strategy(missing):
    assert_readable(tree_of(missing, "regression" if missing == "trinary_mia" else "classification").plot())


def test_largest_default_figure_can_be_read():
    ax = fitted(*simulated(400, 6)).grow_all().plot()
    assert len(boxes(ax)) == 31
    assert_readable(ax)


def test_long_names_and_many_categories_can_be_read():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 1_000)
    X = pd.DataFrame(
        {"the municipality in which a person lives": [f"municipality {c:02} of 40" for c in code]}
    )
    X['name\nwith $a$ and "quotes"'] = rng.normal(size=1_000)
    y = np.sin(code) + X.iloc[:, 1]
    ax = TrinaryTreeRegressor(missing="mia", max_depth=3).fit(X, y).plot()
    assert any(" more} or missing" in text for text in words(ax))
    assert "the municipality in …" in words(ax)
    assert_readable(ax)


def test_signs_of_formulas_in_names_are_letters():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"cost in $ or $": STEP, "都市": STEP // 50})
    with plt.rc_context({"text.usetex": True}):
        ax = TrinaryTreeRegressor(max_depth=1).fit(X, STEP).plot()
    assert "cost in $ or $" in words(ax)
    assert not any(text.get_parse_math() or text.get_usetex() for text in ax.texts)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e250, 1e307])
def test_huge_and_tiny_targets_can_be_read(scale):
    assert_readable(TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, (STEP - 50) / N * scale).plot())


def test_constant_target_is_one_box():
    ax = TrinaryTreeRegressor().fit(TWO_COLUMNS, np.full(N, 3.0)).plot()
    assert list(boxes(ax)) == [0]
    assert_readable(ax)


def test_one_class_is_one_box():
    ax = TrinaryTreeClassifier().fit(TWO_COLUMNS, np.full(N, "only")).plot()
    assert inside(ax, boxes(ax)[0]) == ["only", "100% of 200 rows"]


def test_axes_that_are_given_are_returned_and_no_figure_is_opened():
    _, (ax, other) = plt.subplots(1, 2)
    before, current = plt.get_fignums(), plt.gca()
    assert tree_of().plot(ax) is ax
    assert (plt.get_fignums(), plt.gca()) == (before, current)
    assert not other.texts


def test_one_new_figure_is_opened_if_no_axes_are_given():
    plt.figure()
    settings = dict(plt.rcParams)
    ax = tree_of().plot()
    assert len(plt.get_fignums()) == 2
    assert plt.gcf() is ax.figure
    assert dict(plt.rcParams) == settings


@pytest.mark.parametrize("size", [(3, 6), (8, 3), (30, 20)])
def test_letters_fit_the_axes_that_are_given(size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    tree_of(missing="mia").plot(ax)
    ax.set_title("a title")
    assert_readable(ax)


def test_letters_grow_when_one_zooms_in():
    ax = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP).plot()
    ax.figure.canvas.draw()
    before = ax.texts[0].get_window_extent().width
    low, high = ax.get_xlim()
    ax.set_xlim(low, (low + high) / 2)
    ax.set_ylim(*(np.array(ax.get_ylim()) / 2))
    ax.figure.canvas.draw()
    assert ax.texts[0].get_window_extent().width == pytest.approx(2 * before, rel=0.1)


def test_letters_keep_their_places_at_any_resolution(tmp_path):
    ax = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP).plot()
    for name in ("tree.png", "tree.svg", "tree.pdf"):
        ax.figure.savefig(tmp_path / name, dpi=300)
        assert (tmp_path / name).stat().st_size > 1_000
    assert_readable(ax)


def test_branch_that_is_not_grown_says_so_and_how_to_grow_it():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    ax = tree.plot()
    assert words(ax)[:2] == ["missing", "not grown yet"]
    assert thirds(ax)[0].get_linestyle() == ":"
    assert "grow_all() grows them all" in caption(ax)
    assert "not grown" not in " ".join(words(tree.grow_all().plot()))


def test_child_that_is_not_grown_has_its_condition_and_no_box():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0))
    tree.predict([[np.nan, 0.0]])
    ax = tree.plot()
    assert len(boxes(ax)) == 5
    assert words(ax).count("not grown yet") == 2
    assert {"< 1.5", "≥ 1.5"} <= set(words(ax))


def test_detached_tree_says_what_branches_predict_that_were_not_grown():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, np.where(STEP < 80, 1.0, 3.0)).detach()
    ax = tree.plot()
    assert words(ax)[:3] == ["missing", "not grown:", "predicts 2.200"]
    assert "not grown before detach() predicts the value of its node" in caption(ax)
    assert_readable(ax)


def test_detached_tree_of_classes_with_long_names_can_be_read():
    y = np.where(STEP < 80, "a class that has a very long name", "another such class, just as long")
    ax = TrinaryTreeClassifier(max_depth=1).fit(TWO_COLUMNS, y).detach().plot()
    assert "not grown: predicts" in " ".join(words(ax))
    assert_readable(ax)


@pytest.mark.parametrize("options", [{"max_nodes": 5}, {"max_depth": 1}])
def test_what_is_left_out_is_mentioned_as_in_the_text(options):
    tree = tree_of("mia", max_depth=3)
    ax, lines = tree.plot(**options), tree.to_text(**options).splitlines()
    assert lines[-1] in caption(ax)
    notes = sorted(line[line.index("…") :] for line in lines[:-1] if line.endswith(" below"))
    assert sorted(text for text in words(ax) if text.endswith(" below")) == notes
    assert_readable(ax)


def test_everything_is_drawn_if_there_is_no_limit():
    tree = fitted(*simulated(N, 3), max_depth=2).grow_all()
    assert tree.n_nodes_ > 31
    ax = tree.plot(max_nodes=None)
    assert len(boxes(ax)) == tree.n_nodes_
    assert "left out" not in caption(ax)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 0}, "digits must be an integer of at least 1, got 0"),
        ({"max_depth": -1}, r"max_depth must be an integer of at least 0, or None \(draws every depth\)"),
        ({"max_nodes": 0}, r"max_nodes must be an integer of at least 1, or None \(draws everything\)"),
    ],
)
def test_option_that_cannot_be_is_refused_before_a_figure_is_opened(options, message):
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    with pytest.raises(ValueError, match=message):
        tree.plot(**options)
    assert not plt.get_fignums()


def test_digits_set_how_exact_numbers_are():
    tree = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None] / 7, STEP)
    assert {"< 14.21", "mean 99.5"} <= set(words(tree.plot()))
    assert {"< 14.214", "mean 99.50"} <= set(words(tree.plot(digits=5)))


def test_side_that_takes_missing_is_marked():
    X = np.where(np.arange(N) % 5 == 0, np.nan, STEP)[:, None]
    tree = TrinaryTreeRegressor(missing="majority", max_depth=1).fit(X, STEP)
    ax = tree.plot()
    assert sum("or missing" in above(ax, box) for box in boxes(ax).values()) == 1


def test_missing_against_observed_is_drawn_as_such():
    X = np.where(np.arange(N) < 50, np.nan, STEP)[:, None]
    ax = TrinaryTreeRegressor(missing="mia", max_depth=1).fit(X, np.isnan(X[:, 0])).plot()
    assert [above(ax, boxes(ax)[number]) for number in (1, 2)] == ["missing", "observed"]


def test_fractional_shows_the_part_of_a_missing_row_on_either_side():
    ax = TrinaryTreeRegressor(missing="fractional", max_depth=1).fit(STEP[:, None], STEP < 50).plot()
    texts = [above(ax, boxes(ax)[number]) for number in (1, 2)]
    assert texts == ["< 49.5 and 25% of missing", "≥ 49.5 and 75% of missing"]


def test_surrogates_are_named_as_far_as_there_is_room():
    X = np.column_stack([STEP, -STEP, STEP + 1, STEP * 2])
    ax = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, STEP < 80).plot()
    assert inside(ax, boxes(ax)[0])[-2:] == ["x0", "or x1, x2, x3"]
    assert "surrogates; where the value is missing, the first that is observed decides" in caption(ax)
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(X, columns=["a", "a name that has no room in a box", "b", "c"])
    ax = TrinaryTreeRegressor(missing="surrogate", max_depth=1).fit(X, STEP < 80).plot()
    assert inside(ax, boxes(ax)[0])[-2:] == ["a", "or 3 surrogates"]


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_shown_if_there_are_any(task):
    X, y = simulated(N, 2, task=task)
    ax = fitted(X, y, 1 + STEP % 2, missing="mia", max_depth=1).plot()
    assert inside(ax, boxes(ax)[0])[1] == "200 rows"
    assert inside(ax, boxes(ax)[0])[2].endswith("weight 300")
    assert "are weighted, rows are counted" in caption(ax)
    assert_readable(ax)


def test_bars_are_the_spread_of_the_targets():
    tree = tree_of("mia")
    ax, data = tree.plot(), tree.to_dict(distribution=True)
    bars = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    assert len(bars) == len(boxes(ax)) == tree.n_nodes_
    for number, box in boxes(ax).items():
        [bar] = [bar for bar in bars if box.contains(bar.get_data().edges[0], bar.get_data().baseline)]
        heights = bar.get_data().baseline - bar.get_data().values
        fractions = np.array(data["nodes"][number]["distribution"])
        np.testing.assert_allclose(heights / heights.max(), fractions / fractions.max(), atol=1e-6)
    assert "distribution of the target" in caption(ax)


def test_target_whose_spread_is_not_known_has_its_standard_deviation():
    X, y = simulated(N, 2)
    tree = fitted(X, y, 1 + STEP, missing="mia", max_depth=0)
    data = tree.to_dict()
    ax = draw_tree(data, select_nodes(data["nodes"], None, 31))
    root = tree.to_dict()["nodes"][0]
    deviation = sqrt(np.average((y - np.average(y, weights=1 + STEP)) ** 2, weights=1 + STEP))
    assert sqrt(root["loss"] / root["weight"]) == pytest.approx(deviation)
    assert not any(isinstance(patch, StepPatch) for patch in ax.patches)
    low, high = (f"{root['value'][0] + sign * deviation:.3f}" for sign in (-1, 1))
    assert f"from {low} to {high}: standard deviation of the target" in caption(ax)


def test_bar_of_classes_has_their_probabilities():
    X, y = load_iris(return_X_y=True)
    tree = TrinaryTreeClassifier(max_depth=2, missing="mia").fit(X, y)
    ax = tree.plot()
    parts = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    for number, box in boxes(ax).items():
        bar = [part for part in parts if box.contains(*part.get_xy())]
        probabilities = [
            probability for probability in tree.to_dict()["nodes"][number]["value"] if probability
        ]
        widths = [part.get_width() for part in bar]
        assert np.array(widths) / sum(widths) == pytest.approx(probabilities)
    key = [part for part in parts if not any(box.contains(*part.get_xy()) for box in boxes(ax).values())]
    assert len({part.get_facecolor() for part in key}) == 3


def test_classes_beyond_the_colours_are_grey():
    y = (STEP // (N / 15)).astype(int)
    ax = TrinaryTreeClassifier(missing="mia", max_depth=3, min_samples_leaf=5).fit(STEP[:, None], y).plot()
    assert "3 other classes" in words(ax)
    assert_readable(ax)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("task", TASKS)
def test_letters_stand_out_from_what_is_behind_them(style, task):
    with plt.style.context(style):
        ax = tree_of(task=task).plot()
    fills = {int(p.get_gid()[5:]): p.get_facecolor() for p in ax.patches if p.get_gid()}
    for text in ax.texts:
        x, y = text.get_position()
        behind = [fills[number] for number, box in boxes(ax).items() if box.contains(x, y)]
        ground = behind[0] if behind else ax.figure.get_facecolor()
        assert contrast(to_rgb(text.get_color()), to_rgb(ground)) > 4.5


def contrast(one, other):
    """The contrast of two colours as the WCAG measures it: 4.5 is enough for text."""
    light = sorted(
        0.05
        + np.dot(
            [0.2126, 0.7152, 0.0722],
            [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour],
        )
        for colour in (one, other)
    )
    return light[1] / light[0]


def test_colour_shows_the_value():
    tree = TrinaryTreeRegressor(missing="mia", max_depth=2).fit(TWO_COLUMNS, STEP)
    ax, nodes = tree.plot(), tree.to_dict()["nodes"]
    light = {int(p.get_gid()[5:]): sum(p.get_facecolor()[:3]) for p in ax.patches if p.get_gid()}
    by_value = sorted(light, key=lambda number: nodes[number]["value"])
    assert sorted(light, key=lambda number: -light[number]) == by_value


def test_long_ladder_is_drawn_within_what_matplotlib_can_save():
    width = 115
    split = {"column": 0, "name": "a", "rule": "threshold", "threshold": 0.5, "missing_to": "third"} | {
        "missing_branch": "third",
        "unseen_branch": "third",
    }
    split |= {"larger_side": "left", "left_fraction": 0.5, "surrogates": []}
    leaf = {"depth": 0, "rows": 1, "weight": 1.0, "loss": 0.0, "value": [0.0], "split": None}
    inner = leaf | {"split": split, "left": "ungrown", "right": "ungrown"}
    nodes = [inner | {"third": i + 1} for i in range(width)]
    nodes.append(leaf | {"left": None, "right": None, "third": None})
    tree = {"missing": "trinary", "classes": None, "columns": [], "nodes": nodes, "detached": False}
    tree |= {"n_grown": 0, "n_leaves": 1, "n_ungrown": 2 * width}
    ax = draw_tree(tree, select_nodes(nodes, None, None))
    assert len(boxes(ax)) == width + 1
    assert max(ax.figure.get_size_inches()) == pytest.approx(200)


def test_caption_can_be_left_out():
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    texts = {
        caption: " ".join(t.get_text() for t in tree.plot(caption=caption).texts) for caption in (True, False)
    }
    assert "trinary tree, regression" in texts[True]
    assert "trinary tree, regression" not in texts[False]
    assert "x0" in texts[False]


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    tree = TrinaryTreeRegressor(max_depth=1).fit(TWO_COLUMNS, STEP)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("axes", "figure"):
        monkeypatch.delitem(sys.modules, f"tritree.inspection.{name}", raising=False)
    with pytest.raises(ImportError, match=r"plots need matplotlib.*pip install tritree\[plot\]"):
        tree.plot()
