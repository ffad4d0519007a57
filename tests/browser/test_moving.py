"""The tree can be moved and zoomed, by mouse, touch and keys."""

from __future__ import annotations

import pytest


def wheel(page, delta, x=300, y=200):
    page.run(
        "document.getElementById('tree').dispatchEvent(new WheelEvent('wheel', { deltaY: arguments[0],"
        "clientX: arguments[1], clientY: arguments[2], bubbles: true, cancelable: true }))",
        delta,
        x,
        y,
    )
    page.settle()


def test_wheel_zooms_about_the_pointer(page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    box = page.one('g.node[data-key="0"] rect.box')
    scale = page.view()[2]
    before = box.rect
    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(box), 0, -200).perform()
    page.settle()
    after = page.one('g.node[data-key="0"] rect.box').rect
    assert page.view()[2] > scale
    for side, length in (("x", "width"), ("y", "height")):
        middle = before[side] + before[length] / 2
        assert after[side] + after[length] / 2 == pytest.approx(middle, abs=2)


def test_wheel_zooms_out_as_far_as_it_zoomed_in(page):
    before = page.view()
    wheel(page, -300)
    assert page.view() != pytest.approx(before)
    wheel(page, 300)
    assert page.view() == pytest.approx(before)


def test_zoom_has_limits(page):
    for _ in range(3):
        wheel(page, -5000)
    assert page.view()[2] == pytest.approx(3)
    for _ in range(3):
        wheel(page, 10000)
    assert page.view()[2] == pytest.approx(0.02)
    page.click("#fit")
    assert "0" in page.shown()


def test_buttons_and_keys_zoom(page):
    for larger, smaller in ((lambda: page.click("#larger"), lambda: page.click("#smaller")),
                            (lambda: page.press("+"), lambda: page.press("-"))):  # fmt: skip
        scale = page.view()[2]
        larger()
        assert page.view()[2] == pytest.approx(1.25 * scale)
        smaller()
        assert page.view()[2] == pytest.approx(scale)


def test_dragging_the_ground_moves_the_tree(page):
    x, y, scale = page.view()
    page.drag(page.one("#tree"), 120, 80)
    assert page.view() == pytest.approx((x + 120, y + 80, scale))


def test_dragging_a_node_moves_the_tree_and_chooses_nothing(page):
    x, y, scale = page.view()
    page.drag(page.one('g.node[data-key="0"] rect.box'), -80, 40)
    assert page.view() == pytest.approx((x - 80, y + 40, scale))
    assert not page.one("#card").is_displayed()


def test_two_fingers_zoom(page):
    scale = page.view()[2]
    page.run(
        """
        const at = (type, pointerId, clientX, clientY) => document.getElementById("tree").dispatchEvent(
          new PointerEvent(type, { pointerId, pointerType: "touch", clientX, clientY, bubbles: true, button: 0 }));
        at("pointerdown", 11, 300, 300); at("pointerdown", 12, 400, 300);
        at("pointermove", 11, 250, 300); at("pointermove", 12, 450, 300);
        at("pointerup", 11, 250, 300); at("pointerup", 12, 450, 300);
        at("pointermove", 12, 900, 900);
        """
    )
    page.settle()
    assert page.view()[2] == pytest.approx(2 * scale)


@pytest.mark.parametrize("by", ["button", "key"])
def test_fit_brings_everything_into_sight(page, by):
    page.press("M", "U")
    page.click("#fit") if by == "button" else page.press("f")
    boxes = page.run(
        "const area = document.getElementById('tree').getBoundingClientRect();"
        "return [...document.querySelectorAll('rect.box')].map((box) => box.getBoundingClientRect()).filter((box) =>"
        "box.left < area.left || box.right > area.right || box.top < area.top || box.bottom > area.bottom).length"
    )
    assert boxes == 0
    assert len(page.shown()) == len(page.nodes())


def test_far_nodes_are_not_in_the_document(page):
    page.press("M", "U")
    everything = len(page.nodes())
    assert 0 < len(page.shown()) < everything
