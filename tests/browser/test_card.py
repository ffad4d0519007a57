"""The card of a node shows what it holds."""

from __future__ import annotations

import numpy as np
import pytest

from tritree import TrinaryTreeClassifier


def test_card_says_what_a_node_holds(page, small_tree):
    model = small_tree[0]
    page.click_box(0)
    root = model.to_dict()["nodes"][0]
    card = page.one("#card").text
    assert page.text("#card h2") == "Node 0"
    assert page.text("#card p") == "All rows"
    lines = dict(zip(page.texts("#card dt"), page.texts("#card dd"), strict=True))
    assert lines["Training rows"] == "400"
    assert lines["Depth"] == "0"
    assert float(lines["Mean"]) == pytest.approx(root["value"][0], abs=5e-4)
    assert float(lines["Loss (squared error)"].replace(",", "")) == pytest.approx(root["loss"], rel=1e-3)
    for word in ("Left: height < ", "Right: height ≥ ", "Third: height missing, "):
        assert word in card
    assert page.one("#card svg path").get_attribute("d").count("M") == len(page.nodes()[0]["distribution"])


def test_card_says_how_a_node_is_reached(page):
    nodes = page.nodes()
    left = nodes[0]["left"]
    child = nodes[left]["right"]
    page.click_box(child)
    reached = page.text("#card p")
    assert reached == f"{nodes[0]['rules']['left']}, then {nodes[left]['rules']['right']}"


def test_card_of_a_class_tree_has_the_probabilities(open_page):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    page = open_page(TrinaryTreeClassifier(max_depth=2).fit(X, y))
    page.click_box(0)
    probabilities = dict(zip(page.texts("#card .name"), page.texts("#card .number"), strict=True))
    assert probabilities == {label: f"{np.mean(y == label):.1%}" for label in ("ant", "bee", "cat")}


def test_card_does_not_hide_its_node(page):
    from selenium.webdriver import Keys

    covered = """
    const placeOf = (selector) => document.querySelector(selector).getBoundingClientRect();
    const a = placeOf("#card"), b = placeOf("g.node.chosen rect.box");
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    """
    page.focus_tree()
    for width in (390, 768, 1400):
        page.resize(width, 800)
        page.settle(2)
        for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_UP):
            page.press(key)
            assert not page.run(covered)


def test_escape_and_the_cross_close_the_card(page):
    from selenium.webdriver import Keys

    page.click_box(0)
    assert page.one("#card").is_displayed()
    page.press(Keys.ESCAPE)
    assert not page.one("#card").is_displayed()
    page.click_box(0)
    page.click("#card .close")
    assert not page.one("#card").is_displayed()
    assert page.focused() == "0"


def test_step_of_the_path_leads_to_its_node(page):
    page.click("#all-missing")
    page.click("#path button")
    assert page.one("#card").is_displayed()
    assert "chosen" in page.node(page.third()).get_attribute("class")
