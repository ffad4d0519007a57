"""In a notebook the fitted tree is a page in a frame of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

PAGE = "<!DOCTYPE html><html><head><meta charset=utf-8></head><body>{}<p id=after>after</p></body></html>"


def fitted():
    X = np.random.default_rng(0).normal(size=(300, 2))
    return TrinaryTreeRegressor(missing="majority", max_depth=2).fit(X, X @ [2.0, 1.0])


def enter(page):
    """Switch to the frame of the output."""
    page.driver.switch_to.frame(page.one("iframe"))
    page.settle()


def test_prediction_moves_in_the_frame(open_page):
    model = fitted()
    page = open_page(PAGE.format(model._repr_html_()))
    enter(page)
    typical = [column["typical"] for column in page.data()["columns"]]
    assert page.value() == pytest.approx(model.predict([typical]).tolist(), rel=1e-12)
    page.click(page.cell(0).find_element("css selector", "button"))
    assert page.value() == pytest.approx(model.predict([[np.nan, typical[1]]]).tolist(), rel=1e-12)
    page.click_box(0)
    assert page.one("#card").is_displayed()


def test_frame_and_notebook_cannot_reach_one_another(open_page):
    page = open_page(PAGE.format(fitted()._repr_html_()))
    page.expected = ("Blocked a frame",)
    assert page.run("return document.querySelector('iframe').contentDocument") is None
    enter(page)
    assert page.run("try { return parent.document.title } catch { return 'refused' }") == "refused"
    assert page.run("return window.origin") == "null"
    assert page.run("try { return String(localStorage) } catch { return 'refused' }") == "refused"


def test_frame_fits_into_a_narrow_cell(open_page):
    page = open_page(PAGE.format(fitted()._repr_html_()), width=600, height=800)
    overflow = (
        "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
    )
    assert page.run(overflow) <= 0
    enter(page)
    assert page.run(overflow) <= 0


def test_two_outputs_do_not_disturb_one_another(open_page):
    first, second = fitted()._repr_html_(), fitted()._repr_html_()
    page = open_page(PAGE.format(first + second))
    frames = page.all("iframe")
    assert len(frames) == 2
    for frame in frames:
        page.driver.switch_to.default_content()
        page.driver.switch_to.frame(frame)
        page.settle()
        assert page.shown()
    page.driver.switch_to.default_content()
    page.driver.switch_to.frame(frames[0])
    before = page.value()
    field = page.cell(0).find_element("css selector", "input")
    seen = set()
    for value in ("-9", "9"):
        field.clear()
        field.send_keys(value)
        seen.add(page.value()[0])
    assert len(seen) == 2
    page.driver.switch_to.default_content()
    page.driver.switch_to.frame(frames[1])
    assert page.value() == before


def test_frame_makes_no_requests(open_page):
    page = open_page(PAGE.format(fitted()._repr_html_()))
    enter(page)
    page.click("#all-missing")
    page.driver.switch_to.default_content()
    requests = page.requests()
    allowed = (page.url, "about:srcdoc")
    assert [url for url in requests if url not in allowed and not url.startswith("data:")] == []


def test_before_fitting_it_is_the_diagram_of_scikit_learn(open_page):
    page = open_page(PAGE.format(TrinaryTreeClassifier(max_depth=3)._repr_html_()))
    assert page.all("iframe") == []
    assert page.all(".sk-top-container") != []
    assert "TrinaryTreeClassifier" in page.text("body")


def test_looking_at_a_tree_grows_nothing():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = TrinaryTreeRegressor(max_depth=3).fit(X, X.sum(axis=1))
    before = model.n_nodes_
    bundle = model._repr_mimebundle_()
    assert model.n_nodes_ == before
    assert bundle["text/html"] == model._repr_html_()
    assert bundle["text/plain"] == repr(model)
