"""Branches that are not grown, or left out of the page, are shown as such."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tritree import TrinaryTreeRegressor, UngrownBranchWarning


def ungrown():
    """A tree with its third branches still to be grown, and a table like that of training."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return TrinaryTreeRegressor(max_depth=2).fit(frame, X @ [3.0, 2.0, 1.0]), frame


def test_branch_not_grown_yet_says_how_to_grow_it(open_page):
    model, _ = ungrown()
    page = open_page(model._to_page(max_nodes=300, compact=True))
    assert page.text('g.node[data-key="0"] .pill.third text') == "not grown"
    assert "tree.grow_all()" in page.text('g.node[data-key="0"] .pill.third title')
    page.click('g.node[data-key="0"] .pill.third')
    assert "tree.grow_all()" in page.text("#card .warn")


def test_row_that_needs_a_branch_not_grown_yet_has_a_warning(open_page):
    model, _ = ungrown()
    root = model.to_dict()["nodes"][0]["value"]
    page = open_page(model._to_page(max_nodes=300, compact=True))
    assert page.all("#prediction .warn") == []
    page.click("#all-missing")
    assert "not grown yet" in page.text("#prediction .warn")
    assert "tree.grow_all()" in page.text("#prediction .warn")
    assert page.value() == root


def test_row_that_needs_a_branch_lost_with_the_training_rows_gets_what_predict_gives(open_page):
    model, frame = ungrown()
    model.detach()
    page = open_page(model)
    page.click("#all-missing")
    with pytest.warns(UngrownBranchWarning):
        expected = model.predict(frame.head(1) * np.nan)
    assert page.value() == pytest.approx(expected.tolist(), rel=1e-12)
    assert "never grown" in page.text("#prediction .warn")
    assert "predict" in page.text("#prediction .warn")


def test_child_not_grown_is_drawn_as_such(open_page):
    model, frame = ungrown()
    row = frame.head(1).assign(a=np.nan)
    model.predict(row)  # grows one child of the root's third branch
    page = open_page(model._to_page(max_nodes=300, compact=True))
    page.click('g.node[data-key="0"] .pill.third')
    page.click(f'g.node[data-key="{page.third()}"] .pill.children')
    page.press("f")
    placeholders = page.all("g.node.placeholder")
    assert len(placeholders) == 1
    assert "not grown yet" in placeholders[0].get_attribute("aria-label")
    page.click("g.node.placeholder rect.box")
    assert "not grown yet" in page.text("#card .warn")


def test_keys_pass_a_child_that_is_not_there(open_page):
    from selenium.webdriver import Keys

    model, frame = ungrown()
    split = model.grow_all().to_dict()["nodes"]
    third = split[0]["third"]
    model, frame = ungrown()
    threshold = split[third]["split"]["threshold"]
    model.predict(frame.head(1).assign(a=np.nan, **{split[third]["split"]["name"]: threshold + 1}))
    page = open_page(model._to_page(max_nodes=300, compact=True))
    page.click('g.node[data-key="0"] .pill.third')
    number = page.nodes()[0]["third"]
    assert page.nodes()[number]["left"] == "ungrown"
    page.click_box(number)
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(page.nodes()[number]["right"])


@pytest.mark.parametrize("detached", [False, True])
def test_branch_left_out_of_the_page_says_so(open_page, detached):
    model, _ = ungrown()
    model.grow_all()
    if detached:
        model.detach()
    page = open_page(model, max_nodes=9)
    page.click("#all-missing")
    warning = page.text("#prediction .warn")
    assert "not in this page" in warning
    assert "max_nodes" in warning
    assert "never grown" not in warning


def test_children_left_out_of_the_page_are_drawn_as_such(open_page):
    model, _ = ungrown()
    page = open_page(model, max_nodes=1)
    placeholders = page.all("g.node.placeholder")
    assert len(placeholders) == 2
    assert all("max_nodes" in placeholder.get_attribute("aria-label") for placeholder in placeholders)
    assert "not in this page" in page.text("#prediction .warn")


def test_rows_that_a_page_lists_are_predicted_in_full_where_there_is_room(open_page):
    model, frame = ungrown()
    rows = frame.head(3).mask(np.array([[True, False, False], [False, True, False], [True, True, True]]))
    expected = model.predict(rows)
    page = open_page(model, rows=rows, max_nodes=30)
    for i in range(3):
        page.run(
            "const rows = document.getElementById('rows'); rows.value = arguments[0];"
            "rows.dispatchEvent(new Event('change'))",
            i + 1,
        )
        assert page.all("#prediction .warn") == []
        assert page.value() == pytest.approx([expected[i]], rel=1e-12)
