"""Children and third branches can be folded, and the path of the row is unfolded."""

from __future__ import annotations

import numpy as np
import pytest

from tritree import TrinaryTreeRegressor


def test_third_branches_are_folded_at_first_unless_the_row_takes_them(page):
    way = set(page.run("return [...document.querySelectorAll('g.node.on')].map((g) => g.dataset.key)"))
    thirds = {str(node["third"]) for node in page.nodes() if isinstance(node["third"], int)}
    assert page.shown() & thirds <= way


def test_pill_unfolds_a_third_branch_and_folds_it_again(page):
    third = str(page.third())
    assert third not in page.shown()
    page.click('g.node[data-key="0"] .pill.third')
    assert third in page.shown()
    page.click(f'g.node[data-key="{third}"] .pill.open')
    assert third not in page.shown()


def test_pill_unfolds_children(page):
    page.click('g.node[data-key="0"] .pill.third')
    third = page.third()
    children = {str(page.nodes()[third][side]) for side in ("left", "right")}
    assert not children & page.shown()
    page.click(f'g.node[data-key="{third}"] .pill.children')
    assert children <= page.shown()


def test_folded_children_are_counted(page):
    page.click('g.node[data-key="0"] .pill.third')
    third = page.third()

    def size(number):
        node = nodes[number]
        return 1 + sum(size(node[side]) for side in ("left", "right", "third") if isinstance(node[side], int))

    nodes = page.nodes()
    expected = size(nodes[third]["left"]) + size(nodes[third]["right"])
    assert page.text(f'g.node[data-key="{third}"] .pill.children text') == f"▾ {expected}"


def test_double_click_folds_children_and_unfolds_them(page):
    number = page.off_path()
    child = str(page.nodes()[number]["left"])
    assert child in page.shown()
    page.click_box(number, twice=True)
    assert child not in page.shown()
    page.click_box(number, twice=True)
    assert child in page.shown()


def test_folded_node_stays_where_it_is(page):
    number = page.off_path()
    before = page.one(f'g.node[data-key="{number}"] rect.box').rect
    page.click_box(number, twice=True)
    after = page.one(f'g.node[data-key="{number}"] rect.box').rect
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1)


def test_path_of_the_row_can_be_folded_and_comes_back_with_another_row(page):
    page.focus_tree()
    page.press("\ue007")
    assert page.shown() == {"0"}
    page.click("#all-missing")
    assert str(page.third()) in page.shown()


def test_path_of_a_row_with_missing_values_is_unfolded(page):
    page.click("#all-missing")
    ends = [key for key in page.shown() if page.is_on_path(key)]
    assert str(page.third()) in ends
    assert page.run("return document.getElementById('third-taken').getAttribute('d')") != ""


@pytest.mark.parametrize("by", ["button", "key"])
def test_all_third_branches_unfold_and_fold(page, by):
    third = str(page.third())
    act = (lambda: page.click("#fold")) if by == "button" else (lambda: page.press("M"))
    act()
    assert third in page.shown()
    assert page.one("#fold").get_attribute("aria-pressed") == "true"
    act()
    assert third not in page.shown()
    assert page.one("#fold").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("by", ["button", "key"])
def test_all_children_unfold_and_fold(open_page, by):
    X = np.random.default_rng(0).normal(size=(500, 3))
    page = open_page(
        TrinaryTreeRegressor(missing="majority", max_depth=6, min_samples_leaf=5).fit(X, X.sum(axis=1))
    )
    act = (lambda: page.click("#unfold")) if by == "button" else (lambda: page.press("U"))
    everything, at_first = len(page.nodes()), len(page.shown())
    assert at_first < everything
    act()
    page.press("f")
    assert len(page.shown()) == everything
    act()
    assert len(page.shown()) == at_first
