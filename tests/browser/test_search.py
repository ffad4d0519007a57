"""Search finds columns, categories and node numbers, and brings nodes into sight."""

from __future__ import annotations

import re


def test_search_finds_the_nodes_that_split_on_a_column(page):
    nodes = page.nodes()
    column = next(j for j, known in enumerate(page.data()["columns"]) if known["name"] == "depth")
    splitting = [n for n, node in enumerate(nodes) if node["split"] and node["split"]["column"] == column]
    page.search("Depth", 0)
    assert page.text("#found") == f"{len(splitting)} found"
    page.search("Depth", 2)
    assert page.text("#found") == f"2 of {len(splitting)}"
    assert str(splitting[1]) in page.shown()
    assert "chosen" in page.node(splitting[1]).get_attribute("class")


def test_search_finds_a_category(page):
    page.search("green")
    assert re.fullmatch(r"1 of \d+", page.text("#found"))
    assert "green" in page.text("#card")


def test_search_for_a_number_begins_with_that_node(page):
    number = len(page.nodes()) - 1
    name = page.nodes()[number]["name"]
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

    nodes = page.nodes()
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
