"""The tree can be moved, zoomed, folded and searched, by mouse and by keys, and a node tells what it holds."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor, UngrownBranchWarning


@pytest.fixture
def page(open_page, small_source):
    return open_page(small_source)


def nodes_of(page):
    return page.data()["nodes"]


def on_way(page, key):
    return "on" in page.node(key).get_attribute("class").split()


def off_way(page):
    """The number of the root's daughter that the row does not go to; it has daughters itself."""
    root = nodes_of(page)[0]
    return next(child for child in (root["left"], root["right"]) if not on_way(page, child))


def third_of(page, number=0):
    return nodes_of(page)[number]["third"]


def focus_tree(page):
    """Put the focus into the tree as the tab key does."""
    page.run("document.querySelector('g.node[tabindex=\"0\"]').focus()")


def wheel(page, delta, x=300, y=200):
    page.run(
        "document.getElementById('tree').dispatchEvent(new WheelEvent('wheel', { deltaY: arguments[0],"
        "clientX: arguments[1], clientY: arguments[2], bubbles: true, cancelable: true }))",
        delta,
        x,
        y,
    )
    page.settle()


# Moving


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
    assert len(page.shown()) == len(nodes_of(page))


def test_far_nodes_are_not_in_the_document(page):
    page.press("M", "U")
    everything = len(nodes_of(page))
    assert 0 < len(page.shown()) < everything


# Folding


def test_third_branches_are_folded_at_first_unless_the_row_takes_them(page):
    way = set(page.run("return [...document.querySelectorAll('g.node.on')].map((g) => g.dataset.key)"))
    thirds = {str(node["third"]) for node in nodes_of(page) if isinstance(node["third"], int)}
    assert page.shown() & thirds <= way


def test_pill_unfolds_a_third_branch_and_folds_it_again(page):
    third = str(third_of(page))
    assert third not in page.shown()
    page.click('g.node[data-key="0"] .pill.third')
    assert third in page.shown()
    page.click(f'g.node[data-key="{third}"] .pill.open')
    assert third not in page.shown()


def test_pill_unfolds_daughters(page):
    page.click('g.node[data-key="0"] .pill.third')
    third = third_of(page)
    daughters = {str(nodes_of(page)[third][side]) for side in ("left", "right")}
    assert not daughters & page.shown()
    page.click(f'g.node[data-key="{third}"] .pill.children')
    assert daughters <= page.shown()


def test_folded_daughters_are_counted(page):
    page.click('g.node[data-key="0"] .pill.third')
    third = third_of(page)

    def size(number):
        node = nodes[number]
        return 1 + sum(size(node[side]) for side in ("left", "right", "third") if isinstance(node[side], int))

    nodes = nodes_of(page)
    expected = size(nodes[third]["left"]) + size(nodes[third]["right"])
    assert page.text(f'g.node[data-key="{third}"] .pill.children text') == f"▾ {expected}"


def test_double_click_folds_daughters_and_unfolds_them(page):
    number = off_way(page)
    daughter = str(nodes_of(page)[number]["left"])
    assert daughter in page.shown()
    page.click_box(number, twice=True)
    assert daughter not in page.shown()
    page.click_box(number, twice=True)
    assert daughter in page.shown()


def test_folded_node_stays_where_it_is(page):
    number = off_way(page)
    before = page.one(f'g.node[data-key="{number}"] rect.box').rect
    page.click_box(number, twice=True)
    after = page.one(f'g.node[data-key="{number}"] rect.box').rect
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1)


def test_path_of_the_row_can_be_folded_and_comes_back_with_another_row(page):
    focus_tree(page)
    page.press("\ue007")
    assert page.shown() == {"0"}
    page.click("#all-missing")
    assert str(third_of(page)) in page.shown()


def test_way_of_a_row_with_holes_is_unfolded(page):
    page.click("#all-missing")
    ends = [key for key in page.shown() if on_way(page, key)]
    assert str(third_of(page)) in ends
    assert page.run("return document.getElementById('third-taken').getAttribute('d')") != ""


@pytest.mark.parametrize("by", ["button", "key"])
def test_all_third_branches_unfold_and_fold(page, by):
    third = str(third_of(page))
    act = (lambda: page.click("#fold")) if by == "button" else (lambda: page.press("M"))
    act()
    assert third in page.shown()
    assert page.one("#fold").get_attribute("aria-pressed") == "true"
    act()
    assert third not in page.shown()
    assert page.one("#fold").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("by", ["button", "key"])
def test_all_daughters_unfold_and_fold(open_page, by):
    X = np.random.default_rng(0).normal(size=(500, 3))
    page = open_page(
        TrinaryTreeRegressor(missing="majority", max_depth=6, min_samples_leaf=5).fit(X, X.sum(axis=1))
    )
    act = (lambda: page.click("#unfold")) if by == "button" else (lambda: page.press("U"))
    everything, at_first = len(nodes_of(page)), len(page.shown())
    assert at_first < everything
    act()
    page.press("f")
    assert len(page.shown()) == everything
    act()
    assert len(page.shown()) == at_first


# Keys


def test_arrows_walk_as_nodes_are_drawn(page):
    from selenium.webdriver import Keys

    nodes = nodes_of(page)
    left, right = nodes[0]["left"], nodes[0]["right"]
    page.press("M")
    focus_tree(page)
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


def test_arrow_right_passes_all_third_branches_to_the_sister(page):
    from selenium.webdriver import Keys

    nodes = nodes_of(page)
    page.press("M")
    focus_tree(page)
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
    third = third_of(page)
    page.click_box(third)
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(nodes_of(page)[third]["left"])


def test_enter_folds_daughters_and_m_the_third_branch(page):
    from selenium.webdriver import Keys

    focus_tree(page)
    number = off_way(page)
    page.press(Keys.ARROW_DOWN)
    if page.focused() != str(number):
        page.press(Keys.ARROW_RIGHT)
    assert page.focused() == str(number)
    daughter, third = (str(nodes_of(page)[number][side]) for side in ("left", "third"))
    for key, child in ((Keys.ENTER, daughter), (Keys.SPACE, daughter), ("m", third), ("m", third)):
        before = child in page.shown()
        page.press(key)
        assert (child in page.shown()) is not before
        assert page.focused() == str(number)


def test_focus_stays_in_the_tree_when_it_is_drawn_anew(page):
    from selenium.webdriver import Keys

    focus_tree(page)
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
    assert page.focused() == str(nodes_of(page)[0]["left"])


def test_exactly_one_node_can_be_tabbed_to_whatever_is_folded(page):
    from selenium.webdriver import Keys

    def reachable():
        return page.run(
            "return [...document.querySelectorAll('g.node[tabindex=\"0\"]')].map((g) => g.dataset.key)"
        )

    focus_tree(page)
    page.press("m", Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    deep = page.focused()
    assert reachable() == [deep]
    page.click(f'g.node[data-key="{third_of(page)}"] .pill.open')
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


# Searching


def test_search_finds_the_nodes_that_ask_for_a_column(page):
    nodes = nodes_of(page)
    column = next(j for j, known in enumerate(page.data()["columns"]) if known["name"] == "depth")
    asking = [n for n, node in enumerate(nodes) if node["split"] and node["split"]["column"] == column]
    page.search("Depth", 0)
    assert page.text("#found") == f"{len(asking)} found"
    page.search("Depth", 2)
    assert page.text("#found") == f"2 of {len(asking)}"
    assert str(asking[1]) in page.shown()
    assert "chosen" in page.node(asking[1]).get_attribute("class")


def test_search_finds_a_category(page):
    page.search("green")
    assert re.fullmatch(r"1 of \d+", page.text("#found"))
    assert "green" in page.text("#card")


def test_search_for_a_number_begins_with_that_node(page):
    number = len(nodes_of(page)) - 1
    name = nodes_of(page)[number]["name"]
    assert str(number) not in page.shown()
    page.search(name)
    assert str(number) in page.shown()
    assert page.text("#card h2").split()[-1] == name


def test_search_finds_no_words_between_names(page):
    page.search("TAKES", 0)
    assert page.text("#found") == "0 found"


def test_search_goes_round_and_back(page):
    from selenium.webdriver import Keys

    page.search("colour", 0)
    total = int(page.text("#found").split()[0])
    assert total > 2
    field = page.one("#search")
    field.send_keys(*[Keys.ENTER] * total)
    assert page.text("#found") == f"{total} of {total}"
    field.send_keys(Keys.ENTER)
    assert page.text("#found") == f"1 of {total}"
    field.send_keys(Keys.SHIFT, Keys.ENTER)
    assert page.text("#found") == f"{total} of {total}"


def test_every_node_found_comes_into_sight(page):
    from selenium.webdriver import Keys

    page.search("colour", 0)
    field = page.one("#search")
    for _ in range(6):
        field.send_keys(Keys.ENTER)
        page.settle()
        inside = page.run(
            "const area = document.getElementById('tree').getBoundingClientRect();"
            "const box = document.querySelector('g.node.chosen rect.box').getBoundingClientRect();"
            "return box.left >= area.left && box.right <= area.right"
            " && box.top >= area.top && box.bottom <= area.bottom"
        )
        assert inside


def test_node_found_stays_when_something_is_folded_or_the_search_is_left(page):
    from selenium.webdriver import Keys

    nodes = nodes_of(page)
    number = next(
        n
        for n in range(len(nodes) - 1, 0, -1)
        if nodes[n]["split"] and isinstance(nodes[n]["left"], int) and str(n) not in page.shown()
    )
    page.search(nodes[number]["name"])
    page.click(f'g.node[data-key="{number}"] .pill.children')
    page.click("#fit")  # what is out of sight is not in the document
    assert {str(number), str(nodes[number]["left"])} <= page.shown()
    page.one("#search").send_keys(Keys.ESCAPE)
    page.settle()
    assert str(number) in page.shown()


# A node's card


def test_card_tells_what_a_node_holds(page, small_tree):
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
    assert page.one("#card svg path").get_attribute("d").count("M") == len(nodes_of(page)[0]["distribution"])


def test_card_tells_how_a_node_is_reached(page):
    nodes = nodes_of(page)
    left = nodes[0]["left"]
    daughter = nodes[left]["right"]
    page.click_box(daughter)
    reached = page.text("#card p")
    assert reached == f"{nodes[0]['rules']['left']}, then {nodes[left]['rules']['right']}"


def test_card_of_a_class_tree_has_the_shares(open_page):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    page = open_page(TrinaryTreeClassifier(max_depth=2).fit(X, y))
    page.click_box(0)
    shares = dict(zip(page.texts("#card .name"), page.texts("#card .number"), strict=True))
    assert shares == {label: f"{np.mean(y == label):.1%}" for label in ("ant", "bee", "cat")}


def test_card_does_not_hide_its_node(page):
    from selenium.webdriver import Keys

    covered = """
    const placeOf = (selector) => document.querySelector(selector).getBoundingClientRect();
    const a = placeOf("#card"), b = placeOf("g.node.chosen rect.box");
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    """
    focus_tree(page)
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


def test_turn_of_the_path_leads_to_its_node(page):
    page.click("#all-missing")
    page.click("#path button")
    assert page.one("#card").is_displayed()
    assert "chosen" in page.node(third_of(page)).get_attribute("class")


# Branches that are not here


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


def test_row_that_needs_a_branch_not_grown_yet_is_told_so(open_page):
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


def test_daughter_not_grown_is_drawn_as_such(open_page):
    model, frame = ungrown()
    row = frame.head(1).assign(a=np.nan)
    model.predict(row)  # grows one daughter of the root's third branch
    page = open_page(model._to_page(max_nodes=300, compact=True))
    page.click('g.node[data-key="0"] .pill.third')
    page.click(f'g.node[data-key="{third_of(page)}"] .pill.children')
    page.press("f")
    ghosts = page.all("g.node.placeholder")
    assert len(ghosts) == 1
    assert "not grown yet" in ghosts[0].get_attribute("aria-label")
    page.click("g.node.placeholder rect.box")
    assert "not grown yet" in page.text("#card .warn")


def test_keys_pass_a_daughter_that_is_not_there(open_page):
    from selenium.webdriver import Keys

    model, frame = ungrown()
    split = model.grow_all().to_dict()["nodes"]
    third = split[0]["third"]
    model, frame = ungrown()
    threshold = split[third]["split"]["threshold"]
    model.predict(frame.head(1).assign(a=np.nan, **{split[third]["split"]["name"]: threshold + 1}))
    page = open_page(model._to_page(max_nodes=300, compact=True))
    page.click('g.node[data-key="0"] .pill.third')
    number = nodes_of(page)[0]["third"]
    assert nodes_of(page)[number]["left"] == "ungrown"
    page.click_box(number)
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(nodes_of(page)[number]["right"])


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


def test_daughters_left_out_of_the_page_are_drawn_as_such(open_page):
    model, _ = ungrown()
    page = open_page(model, max_nodes=1)
    ghosts = page.all("g.node.placeholder")
    assert len(ghosts) == 2
    assert all("max_nodes" in ghost.get_attribute("aria-label") for ghost in ghosts)
    assert "not in this page" in page.text("#prediction .warn")


def test_rows_that_a_page_lists_are_answered_in_full_where_there_is_room(open_page):
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
