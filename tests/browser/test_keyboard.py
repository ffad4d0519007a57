"""The tree can be read with the keyboard alone."""

from __future__ import annotations


def test_arrows_move_as_nodes_are_drawn(page):
    from selenium.webdriver import Keys

    nodes = page.nodes()
    left, right = nodes[0]["left"], nodes[0]["right"]
    page.press("M")
    page.focus_tree()
    assert page.focused() == "0"
    steps = [
        (Keys.ARROW_DOWN, left),
        (Keys.ARROW_RIGHT, nodes[left]["third"]),
        (Keys.ARROW_LEFT, left),
        (Keys.ARROW_UP, 0),
        (Keys.ARROW_RIGHT, nodes[0]["third"]),
        (Keys.ARROW_DOWN, nodes[nodes[0]["third"]]["left"]),
        (Keys.ARROW_UP, nodes[0]["third"]),
        (Keys.ARROW_LEFT, 0),
        (Keys.ARROW_UP, 0),
    ]
    for key, expected in steps:
        page.press(key)
        assert page.focused() == str(expected)
    page.press("M")
    for key, expected in [(Keys.ARROW_DOWN, left), (Keys.ARROW_RIGHT, right), (Keys.ARROW_LEFT, left)]:
        page.press(key)
        assert page.focused() == str(expected)


def test_arrow_right_passes_all_third_branches_to_the_sibling(page):
    from selenium.webdriver import Keys

    nodes = page.nodes()
    page.press("M")
    page.focus_tree()
    page.press(Keys.ARROW_DOWN)
    number = nodes[0]["left"]
    while isinstance(nodes[number]["third"], int):
        page.press(Keys.ARROW_RIGHT)
        number = nodes[number]["third"]
        assert page.focused() == str(number)
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() == str(nodes[0]["right"])
    page.press(Keys.ARROW_LEFT)
    assert page.focused() == str(number)


def test_arrow_down_unfolds(page):
    from selenium.webdriver import Keys

    page.click('g.node[data-key="0"] .pill.third')
    third = page.third()
    page.click_box(third)
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(page.nodes()[third]["left"])


def test_enter_folds_children_and_m_the_third_branch(page):
    from selenium.webdriver import Keys

    page.focus_tree()
    number = page.off_path()
    page.press(Keys.ARROW_DOWN)
    if page.focused() != str(number):
        page.press(Keys.ARROW_RIGHT)
    assert page.focused() == str(number)
    left, third = (str(page.nodes()[number][side]) for side in ("left", "third"))
    for key, child in ((Keys.ENTER, left), (Keys.SPACE, left), ("m", third), ("m", third)):
        before = child in page.shown()
        page.press(key)
        assert (child in page.shown()) is not before
        assert page.focused() == str(number)


def test_focus_stays_in_the_tree_when_it_is_drawn_anew(page):
    from selenium.webdriver import Keys

    page.focus_tree()
    page.press(Keys.ARROW_DOWN)
    here = page.focused()
    for key in ("M", "U", "U", "M", "f", "-", "-", "-", "-", "-", "-", "+", "+", "+", "+", Keys.ESCAPE):
        page.press(key)
        assert page.focused() == here


def test_clicked_node_has_the_focus(page):
    from selenium.webdriver import Keys

    page.click_box(0)
    assert page.focused() == "0"
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(page.nodes()[0]["left"])


def test_exactly_one_node_can_be_tabbed_to_whatever_is_folded(page):
    from selenium.webdriver import Keys

    def reachable():
        return page.run(
            "return [...document.querySelectorAll('g.node[tabindex=\"0\"]')].map((g) => g.dataset.key)"
        )

    page.focus_tree()
    page.press("m", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    deep = page.focused()
    assert reachable() == [deep]
    page.click(f'g.node[data-key="{page.third()}"] .pill.open')
    assert deep not in page.shown()
    assert reachable() == ["0"]


def test_slash_goes_to_the_search_and_escape_back(page):
    from selenium.webdriver import Keys

    page.click_box(0)
    page.press("/")
    assert page.run("return document.activeElement.id") == "search"
    page.press("/f+-MU")  # which are text there
    assert page.one("#search").get_property("value") == "/f+-MU"
    page.press(Keys.ESCAPE)
    assert page.one("#search").get_property("value") == ""
    assert page.focused() == "0"
