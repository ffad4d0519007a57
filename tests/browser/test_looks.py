"""The page has room on every screen and on paper, and is open to keyboards and readers of screens."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from tritree import TrinaryTreeClassifier, TrinaryTreeRegressor

SIZES = {390: 844, 768: 1024, 1400: 900}


def diabetes():
    """A regression tree with names of several words and a category, and rows with missing values."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[["age", "sex", "bmi", "bp", "s5", "s6"]].rename(
        columns={"s5": "log triglycerides", "s6": "blood sugar"}
    )
    X["sex"] = X["sex"].map({1.0: "female", 2.0: "male"})
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    return TrinaryTreeRegressor(max_depth=3).fit(X, y), X.head(20)


def wine():
    """A class tree of many columns, and complete rows."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[y]
    return TrinaryTreeClassifier(max_depth=3, min_samples_leaf=5).fit(X, labels), X.iloc[::40]


@pytest.fixture(scope="module")
def sources():
    """The pages as text, drawn once."""
    return {make.__name__: tree.to_html(rows=rows) for make in (diabetes, wine) for tree, rows in [make()]}


def overflow(page):
    """By how many pixels the document is wider than the screen."""
    return page.run(
        "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
    )


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", ["diabetes", "wine"])
def test_page_is_no_wider_than_the_screen(open_page, sources, screenshots, name, width):
    page = open_page(sources[name], width=width, height=SIZES[width])
    for scheme in ("light", "dark"):
        page.emulate(dark=scheme == "dark")
        page.screenshot(screenshots / f"{name}_{width}_{scheme}.png")
        assert overflow(page) <= 0
    if name == "diabetes":
        page.click_box(0)
        for scheme in ("light", "dark"):
            page.emulate(dark=scheme == "dark")
            page.screenshot(screenshots / f"{name}_{width}_{scheme}_card.png")
        assert overflow(page) <= 0


@pytest.mark.parametrize("width", SIZES)
def test_every_control_can_be_reached(open_page, sources, width):
    page = open_page(sources["wine"], width=width, height=SIZES[width])
    hidden = page.run(
        """
        const controls = [...document.querySelectorAll("button, input, select, summary")];
        return controls.filter((control) => control.checkVisibility()).filter((control) => {
          control.scrollIntoView({ block: "center" });
          const { left, top, width, height } = control.getBoundingClientRect();
          const hit = document.elementFromPoint(left + width / 2, top + height / 2);
          return !(control === hit || control.contains(hit));
        }).map((control) => control.id || control.getAttribute("aria-label") || control.textContent);
        """
    )
    assert hidden == []


def test_controls_are_large_enough_for_fingers_on_a_phone(open_page, sources):
    page = open_page(sources["diabetes"], width=390, height=844)
    sizes = page.run(
        "return [...document.querySelectorAll('header button, .cell button, .all button, select')]"
        ".map((control) => control.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 38


def test_light_and_dark_follow_the_reader_and_can_be_switched(open_page, sources):
    ground = "return getComputedStyle(document.body).backgroundColor"
    page = open_page(sources["diabetes"])
    light = page.run(ground)
    page.emulate(dark=True)
    dark = page.run(ground)
    assert light != dark
    page.click("#theme")
    assert page.run(ground) == light
    page.click("#theme")
    assert page.run(ground) == dark


# the least contrast of texts with what is behind them, as WCAG counts it, with the text that has it
CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const channels = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const luminance = (colour) => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = channels(colour).slice(0, 3).map((c) => linear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const found = [];
const compare = (element, behind, colour) => found.push([ratio(behind, luminance(colour)), element.textContent]);
for (const g of document.querySelectorAll("g.node:not(.placeholder)")) {
  const behind = luminance(getComputedStyle(g.querySelector("rect.box")).fill);
  for (const text of g.querySelectorAll("text.value, text.column")) compare(text, behind, getComputedStyle(text).fill);
}
const ground = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (channels(colour)[3] === 255) return luminance(colour);
  }
};
for (const element of document.querySelectorAll("h1, h2, label, button, .from, .value, .then, .warn, #hint"))
  if (element.checkVisibility()) compare(element, ground(element), getComputedStyle(element).color);
return found.sort((a, b) => a[0] - b[0])[0];
"""


@pytest.mark.parametrize("name", ["diabetes", "wine"])
def test_texts_stand_out_from_what_is_behind_them(open_page, sources, name):
    page = open_page(sources[name])
    for dark in (False, True):
        page.emulate(dark=dark)
        contrast, text = page.run(CONTRAST)
        assert contrast >= 4.5, text


# Paper


def test_page_prints_as_pdf(open_page, sources, screenshots):
    page = open_page(sources["diabetes"])
    printed = base64.b64decode(page.command("Page.printToPDF", {"printBackground": True})["data"])
    (screenshots / "diabetes.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 5_000


def test_all_nodes_shown_are_on_paper_and_the_view_is_as_before_afterwards(open_page, sources):
    page = open_page(sources["diabetes"])
    page.press("M", "U")
    page.click("#larger")
    nodes, view, shown = len(page.data()["nodes"]), page.view(), page.shown()
    assert len(shown) < nodes  # most are out of sight
    page.run(
        "window.onPaper = 0;"
        "const count = () => { window.onPaper = Math.max(window.onPaper, document.querySelectorAll('g.node').length) };"
        "window.addEventListener('beforeprint', count); window.addEventListener('afterprint', count, true)"
    )
    page.command("Page.printToPDF")
    page.settle()
    assert page.run("return window.onPaper") == nodes
    assert page.view() == view
    assert page.shown() == shown


def test_paper_is_white_in_the_dark(open_page, sources):
    page = open_page(sources["diabetes"], dark=True)
    page.click("#theme")  # light
    page.click("#theme")  # dark, because it was asked for
    page.emulate(dark=True, media="print")
    ground, ink = page.run(
        "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    )
    assert (ground, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
    page.run("delete document.documentElement.dataset.theme")
    ground, ink = page.run(
        "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    )
    assert (ground, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")


# Keyboards and readers of screens


def test_every_field_has_a_label_and_every_button_a_name(open_page, sources):
    page = open_page(sources["wine"])
    page.open_unused()
    page.click_box(0)
    named = {"textbox", "searchbox", "spinbutton", "combobox", "slider", "button", "treeitem", "tree"}
    tree = page.command("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored") and node.get("role", {}).get("value") in named
    ]
    assert {"searchbox", "spinbutton", "combobox", "slider", "button", "treeitem"} <= {
        role for role, _ in found
    }
    assert [role for role, name in found if not name.strip()] == []
    buttons = [name for role, name in found if role == "button"]
    assert {"Zoom in", "Zoom out", "Fit", "Close", "Reset", "All missing"} <= set(buttons)
    assert len(set(buttons)) == len(buttons)  # so that "missing" says of what


def test_nodes_tell_their_level_and_whether_they_are_open(open_page, sources):
    page = open_page(sources["diabetes"])
    nodes = page.data()["nodes"]
    items = page.run(
        "return [...document.querySelectorAll('[role=treeitem]')].map((g) => [g.dataset.key,"
        "g.getAttribute('aria-label'), g.getAttribute('aria-level'), g.getAttribute('aria-expanded')])"
    )
    assert len(items) >= 3
    for key, label, level, expanded in items:
        node = nodes[int(key)]
        assert f"{node['rows']:,} rows, {node['shown']}" in label
        assert level == str(node["depth"] + 1)
        assert (expanded is None) == (node["split"] is None)
    states = {key: expanded for key, _, _, expanded in items}
    assert states["0"] == "true"


def test_focus_of_a_node_can_be_seen(open_page, sources):
    from selenium.webdriver import Keys

    page = open_page(sources["diabetes"])
    look = (
        "const style = getComputedStyle(document.querySelector(`g.node[data-key='${arguments[0]}'] rect.box`));"
        "return [style.stroke, style.strokeWidth, style.strokeDasharray]"
    )
    page.run("document.getElementById('theme').focus()")  # the control before the tree
    before = page.run(look, "0")
    page.press(Keys.TAB)
    assert page.focused() == "0"
    assert page.run(look, "0") != before
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == str(page.data()["nodes"][0]["left"])
    assert page.run(look, page.focused())[1] == "4px"


def test_every_control_shows_its_focus(open_page, sources):
    from selenium.webdriver import Keys

    page = open_page(sources["diabetes"])
    page.run("document.getElementById('search').focus()")
    seen = []
    for _ in range(12):
        page.press(Keys.TAB)
        outline, key = page.run(
            "const here = document.activeElement;"
            "return [getComputedStyle(here).outlineStyle, here.dataset.key || null]"
        )
        seen.append(outline)
        assert outline != "none" or key is not None
    assert len(seen) == 12
