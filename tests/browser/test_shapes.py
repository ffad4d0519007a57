"""Trees and tables of unusual shapes make pages that work."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

N = 400
STEP = np.arange(N, dtype=float)
rng = np.random.default_rng(0)


def type_into(page, column, value):
    """Give a cell a value as if it was pasted."""
    page.run(
        "const input = document.getElementById(`cell-${arguments[0]}`); input.value = arguments[1];"
        "input.dispatchEvent(new Event('input', { bubbles: true }))",
        column,
        value,
    )
    page.settle()


def overlapping(page, selector="rect.box"):
    """Return how many pairs of boxes, or of something else, lie on one another."""
    return page.run(
        """
        const places = [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect());
        return places.flatMap((a, i) => places.slice(i + 1).filter((b) =>
          a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5)).length;
        """,
        selector,
    )


def texts_outside(page):
    """Return the texts that stick out of their node's box."""
    return page.run(
        """
        return [...document.querySelectorAll("g.node")].flatMap((g) => {
          const box = g.querySelector("rect.box").getBoundingClientRect();
          return [...g.querySelectorAll("text.value, text.rows, text.column")]
            .map((text) => [text.getBoundingClientRect(), text.textContent])
            .filter(([place]) => place.right > box.right || place.left < box.left).map(([_, text]) => text);
        });
        """
    )


def test_single_node_says_that_every_row_gets_the_same(open_page):
    page = open_page(TrinaryTreeRegressor().fit(STEP[:, None], np.ones(N)))
    assert page.shown() == {"0"}
    assert page.value() == [1.0]
    assert "single node" in page.text("#path")
    page.open_unused()
    type_into(page, 0, "5")
    assert page.value() == [1.0]
    page.press("M", "U", "f", "+")
    page.click_box(0)
    page.press("\ue015", "\ue007", "m")  # down, enter, m: there is nowhere to go
    assert page.shown() == {"0"}
    assert page.text("#card h2") == "Leaf 0"


def test_single_class_has_the_whole_probability(open_page):
    page = open_page(TrinaryTreeClassifier().fit(STEP[:, None], np.zeros(N, dtype=int)))
    assert page.value() == [1.0]
    assert page.text("#prediction .value") == "0"


def test_twelve_classes_have_distinct_colours_or_are_counted(open_page):
    labels = np.array([f"class {k:02d}" for k in range(12)])
    y = labels[np.minimum(STEP // 30, 11).astype(int)]
    model = TrinaryTreeClassifier(max_depth=4, min_samples_leaf=5).fit(np.column_stack([STEP, STEP % 7]), y)
    page = open_page(model)
    assert len(page.value()) == 12
    page.click_box(0)
    for place in ("#prediction", "#card"):
        names, probabilities = page.texts(f"{place} .name"), page.texts(f"{place} .number")
        assert page.text(f"{place} .rest") == f"{12 - len(names)} other classes"
        assert sum(float(probability.rstrip("%")) for probability in probabilities) == pytest.approx(
            100, abs=1
        )
    expected = model.predict_proba(np.array([[17.0, 3.0]]))[0]
    type_into(page, 0, "17")
    type_into(page, 1, "3")
    np.testing.assert_allclose(page.value(), expected, rtol=1e-12)


def test_forty_long_categories_stay_in_their_boxes(open_page):
    labels = np.array([f"category number {k:02d} with a {'very ' * 12}long label" for k in range(40)])
    codes = rng.integers(0, 40, N)
    name = "a column whose name is " + "much " * 30 + "too long"
    frame = pd.DataFrame({name: labels[codes], "other": STEP})
    model = TrinaryTreeRegressor(max_depth=3, min_samples_leaf=5).fit(frame, codes % 7 + STEP / 1000)
    page = open_page(model, width=390, height=844)
    assert (
        page.run(
            "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
        )
        <= 0
    )
    page.press("M", "U")
    assert texts_outside(page) == []
    page.search(labels[39][:25])
    assert page.text("#found").startswith("1 of ")
    assert labels[39] in page.text("#card")  # in full
    for k in (0, 20, 39):
        type_into(page, 0, str(k))
        row = pd.DataFrame({name: [labels[k]], "other": [page.data()["columns"][1]["typical"]]})
        assert page.value() == pytest.approx(model.predict(row).tolist(), rel=1e-12)


def test_three_hundred_columns_make_a_page_with_few_inputs(open_page):
    X = rng.normal(size=(N, 300))
    model = TrinaryTreeRegressor(max_depth=3).fit(X, X[:, :5] @ np.arange(1.0, 6.0))
    page = open_page(model, rows=X[:2])
    n_shown = len(page.all("#cells .cell"))
    assert n_shown == len(page.data()["used"])
    unused = 300 - n_shown
    if unused:
        assert page.text("#unused summary").startswith(f"{unused} column")
        page.click("#unused summary")
        assert len(page.all("#unused-cells .cell")) == unused
    assert page.value() == pytest.approx(model.predict(X[:1]).tolist(), rel=1e-12)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_values_far_from_one_can_be_given(open_page, size):
    X = ((STEP - 200) * size)[:, None]
    model = TrinaryTreeRegressor(max_depth=3).fit(X, STEP)
    page = open_page(model)
    for x in (-150.0 * size, 3.0 * size, 160.5 * size):
        type_into(page, 0, repr(x))
        assert page.value() == pytest.approx(model.predict([[x]]).tolist(), rel=1e-12)
    assert texts_outside(page) == []


@pytest.mark.parametrize(
    "size",
    [1e-300, 1e12, 1e300],
)
def test_targets_far_from_one_are_shown(open_page, size):
    y = (STEP - 199.5) * size
    model = TrinaryTreeRegressor(missing="fractional", max_depth=3).fit(STEP[:, None], y)
    page = open_page(model)
    assert texts_outside(page) == []
    page.click("#all-missing")  # a mean of several leaves, written by the page itself
    [expected] = model.predict([[np.nan]])
    assert page.value() == pytest.approx([expected], rel=1e-9, abs=1e-12 * size)
    type_into(page, 0, "17")
    assert float(page.text("#prediction .value").replace(",", "")) == pytest.approx(
        model.predict([[17.0]])[0], rel=1e-3
    )
    page.click_box(0)
    assert max(map(len, page.texts("#card dd"))) < 20
    colours = page.run(
        "return [...document.querySelectorAll('rect.box')].map((box) => getComputedStyle(box).fill)"
    )
    assert "rgb(0, 0, 0)" not in colours  # the colour of a box whose colour could not be computed


def test_weights_are_shown(open_page):
    weight = rng.uniform(0.5, 1.5, N)
    X = np.column_stack([STEP, rng.normal(size=N)])
    model = TrinaryTreeRegressor(max_depth=2).fit(X, STEP % 50, sample_weight=weight)
    page = open_page(model, rows=X[:1])
    page.click_box(0)
    lines = dict(zip(page.texts("#card dt"), page.texts("#card dd"), strict=True))
    assert lines["Training rows"] == "400"
    assert float(lines["Weight"]) == pytest.approx(weight.sum(), rel=1e-5)
    assert page.value() == pytest.approx(model.predict(X[:1]).tolist(), rel=1e-12)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_far_from_one_are_written_short(open_page, weight):
    model = TrinaryTreeRegressor(max_depth=2).fit(STEP[:, None], STEP, sample_weight=np.full(N, weight))
    page = open_page(model)
    page.click_box(0)
    assert max(map(len, page.texts("#card dd"))) < 20


def test_boxes_do_not_lie_on_one_another_whatever_is_unfolded(open_page, small_tree):
    page = open_page(small_tree[0])
    page.press("M", "U", "f")
    assert len(page.shown()) == len(page.data()["nodes"])
    assert overlapping(page) == 0
    page.press("U")
    assert overlapping(page) == 0


@pytest.mark.parametrize("missing", ["fractional", "mia"])
def test_conditions_do_not_run_into_one_another(open_page, missing):
    labels = np.array([f"a rather long label {k}" for k in range(9)])
    codes = rng.integers(0, 9, N)
    frame = pd.DataFrame({"some label": labels[codes], "number": rng.normal(size=N)}).mask(
        rng.random((N, 2)) < 0.2
    )
    page = open_page(
        TrinaryTreeRegressor(missing=missing, max_depth=3, min_samples_leaf=5).fit(frame, codes % 5)
    )
    page.click("#all-missing")  # under "fractional" every node is on the path, and written in bold
    assert overlapping(page, "text.condition") == 0


def test_tree_without_third_branches_offers_none(open_page):
    page = open_page(TrinaryTreeRegressor(missing="mia", max_depth=2).fit(STEP[:, None], STEP))
    assert not page.one("#fold").is_displayed()


def test_deep_and_narrow_tree_is_drawn(open_page):
    x = np.arange(300.0)
    model = TrinaryTreeRegressor(missing="majority", min_samples_leaf=1, max_depth=300).fit(
        x[:, None], 2.0**x
    )
    assert model.get_depth() > 20
    page = open_page(model)
    page.press("U", "f")
    assert len(page.shown()) == len(page.data()["nodes"])
    assert overlapping(page) == 0


def test_column_without_values_and_column_names_that_are_numbers_are_taken(open_page):
    frame = pd.DataFrame({0: np.nan, 1: STEP, 2: rng.choice(["a", "b"], N)})
    model = TrinaryTreeRegressor(max_depth=2).fit(frame, STEP)
    page = open_page(model, rows=frame.head(2))
    page.open_unused()
    assert page.value() == pytest.approx(model.predict(frame.head(1)).tolist(), rel=1e-12)
    type_into(page, 0, "3")  # which changes nothing
    assert page.value() == pytest.approx(model.predict(frame.head(1)).tolist(), rel=1e-12)


def test_letters_of_any_script_are_shown(open_page):
    names = ["größe", "身長", "عمر", "👩‍👩‍👧 family", "e\u0301tat"]
    frame = pd.DataFrame({name: rng.normal(size=N) for name in names})
    y = np.where(frame["身長"] > 0, "да", "нет")
    model = TrinaryTreeClassifier(max_depth=2).fit(frame, y)
    page = open_page(model)
    page.open_unused()
    assert sorted(page.texts(".cell .name")) == sorted(names)
    assert page.text("#prediction .value") in {"да", "нет"}
    page.search("身長")
    assert page.text("#found").startswith("1 of ")


def test_rows_of_a_list_are_called_by_their_number(open_page):
    model = TrinaryTreeRegressor(max_depth=1).fit(STEP[:, None], STEP)
    page = open_page(model, rows=[[1.0], [np.nan]])
    assert page.texts("#rows option") == ["typical values", "row 0", "row 1"]


def test_absent_column_is_missing_in_the_rows(open_page):
    frame = pd.DataFrame({"a": STEP, "b": rng.normal(size=N)})
    model = TrinaryTreeRegressor(max_depth=2).fit(frame, STEP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = open_page(model, rows=frame[["b"]].head(1))
        expected = model.predict(frame[["b"]].head(1))
    assert page.cell(0).find_element("css selector", "button").get_attribute("aria-pressed") == "true"
    assert page.value() == pytest.approx(expected.tolist(), rel=1e-12)
